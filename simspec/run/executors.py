"""Where are chunks played?  Anything with ``submit`` will do; a lost worker costs time and changes no number."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from simspec.model import ParameterError, SimspecError
from simspec.run.clusters import dask, mpi
from simspec.run.processors import default_threads
from simspec.run.progress import Progress
from simspec.run.workers import Say, Workers, version

FAILED = 1
"""How Python ends after an error of its own; one that was killed ends otherwise."""


@contextlib.contextmanager
def threads_only(many: int) -> Iterator[Workers]:
    """Threads of this process: kernels let go of the interpreter, so that one process keeps all processors busy."""
    with _closing(Workers(lambda: ThreadPoolExecutor(many, thread_name_prefix="simspec"), many)) as workers:
        yield workers


@dataclass(frozen=True)
class Crew:
    """Who plays; changes no number.

    Parameters
    ----------
    executor : str or concurrent.futures.Executor
        ``"threads"``, ``"processes"`` (of this machine), ``"dask"`` or ``"mpi"``; or any executor of your own, which is
        not shut down.  Workers in other processes need simspec of the same version, and the files of traces at the
        same path.
    many : int, optional
        Threads or processes, by default as many as this process may use; a Dask cluster and MPI have their own number.
        Of an executor of your own: how many workers it has, four times as much is given to it at once.
    scheduler : str, optional
        Address of a Dask scheduler, e.g. ``tcp://10.0.0.1:8786``.

    Raises
    ------
    ParameterError
        There is no such kind, or a number or an address that it has no use for.

    Examples
    --------
    >>> import simspec, tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> table = {"name": "tiny", "windows": 10_000, "kappa": [4], "process": {"type": "iid", "alpha": 0.7}}
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
    ...     simspec.sweep(table, folder + "/tiny", crew=simspec.Crew(pool)).estimates["windows"].tolist()
    [10000]
    """

    executor: str | Executor = "threads"
    many: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        own = isinstance(self.executor, Executor)
        if not own and self.executor not in tuple(KINDS):
            told = f"executor = {self.executor!r} is unknown; allowed: {', '.join(KINDS)}"
            raise ParameterError("executor", f"{told}, or in Python a concurrent.futures.Executor")
        many = self.many
        if many is not None and (isinstance(many, bool) or not isinstance(many, int) or many < 1):
            raise ParameterError(
                "threads", f"threads = {many!r} is out of range; allowed: a whole number of at least 1"
            )
        if (self.scheduler is None) == (self.executor == "dask"):
            needs = self.executor == "dask"
            told = "needs --scheduler ADDRESS, e.g. tcp://10.0.0.1:8786" if needs else "has no scheduler"
            raise ParameterError("scheduler", f"executor = {_name(self.executor)} {told}")

    @contextlib.contextmanager
    def workers(self, progress: Progress | None = None) -> Iterator[Workers]:
        """Have them ready; ``progress`` is told in one line who they are, and when some are lost.

        Raises
        ------
        ParameterError
            A package is missing, or nothing answers at the address.
        """
        say: Say = (lambda _: None) if progress is None else progress.note
        many = self.many or default_threads()
        own = self.executor
        made = _own(own, many, say) if isinstance(own, Executor) else KINDS[own](many, self.scheduler, say)
        with made as workers:
            yield workers


def _name(executor: str | Executor) -> str:
    return executor if isinstance(executor, str) else type(executor).__name__


@contextlib.contextmanager
def _closing(own: Workers) -> Iterator[Workers]:
    try:
        yield own
    finally:
        own.close()


class _Own(Workers):
    """A user's executor: theirs to start, to mend and to end."""

    def close(self) -> None:
        """Leave it as it was."""
        for asked in self._open:
            asked.future.cancel()

    def _renew(self, error: Exception) -> None:
        told = f"its workers were lost ({type(error).__name__}), and it is not simspec's to start others"
        raise SimspecError(f"executor {self.kind}: {told}; what was played is kept, a run with a new one continues")


def _own(executor: Executor, many: int, say: Say) -> contextlib.AbstractContextManager[Workers]:
    near = isinstance(executor, ThreadPoolExecutor)
    return _closing(_Own(lambda: executor, many, say, _name(executor), near))


class _Processes(Workers):
    """Processes of this machine; new ones take their place, unless they end by themselves before they begin."""

    def __init__(self, many: int, say: Say) -> None:
        self._first: list[BaseProcess] = []
        context = multiprocessing.get_context("spawn")  # a forked process shares locks of threads that it has not

        def make() -> Executor:
            if any(process.exitcode == FAILED for process in self._first):
                told = "processes end before they begin, since each reads the script that starts them; allowed: a file"
                raise SimspecError(f'executor processes: {told} whose own code stands below if __name__ == "__main__"')
            say(f"starting {many} process{'' if many == 1 else 'es'}, which takes a second or two")
            others = multiprocessing.active_children()
            pool = ProcessPoolExecutor(many, mp_context=context, initializer=_begin)
            pool.submit(version)  # which starts one of them
            self._first = [process for process in multiprocessing.active_children() if process not in others]
            return pool

        super().__init__(make, many, say, "processes", near=False)


def _processes(many: int, _scheduler: str | None, say: Say) -> contextlib.AbstractContextManager[Workers]:
    return _closing(_Processes(many, say))


def _begin() -> None:
    """What a process does first: leave Ctrl-C to the first one, and see to it that it does not outlive that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


KINDS: dict[str, Callable[[int, str | None, Say], contextlib.AbstractContextManager[Workers]]] = {
    "threads": lambda many, _scheduler, _say: threads_only(many),
    "processes": _processes,
    "dask": dask,
    "mpi": mpi,
}
"""Name of an executor → what has so many workers ready, those of a scheduler, and says who they are."""
