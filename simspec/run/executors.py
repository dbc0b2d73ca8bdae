"""Where are chunks played?  Anything with ``submit`` will do; a lost worker costs time and changes no number."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from simspec.model import ParameterError, SimspecError
from simspec.run.processors import default_threads
from simspec.run.progress import Progress

KINDS = ("threads", "processes", "dask", "mpi")
LOST = {"KilledWorker", "CommClosedError", "FutureCancelledError"}
TRIES = 5
"""How often in a row a handful of chunks may be lost with its worker before the run gives up."""


class Workers:
    """An executor that is asked again for what was lost.

    Parameters
    ----------
    make : callable
        Makes an executor; called again when all of its workers are lost.
    many : int
        Workers at a time.
    say : callable, optional
        Told in one line when work was lost.
    """

    def __init__(
        self, make: Callable[[], Executor], many: int, say: Callable[[str], None] | None = None, kind: str = "threads"
    ) -> None:
        self._make, self._say, self.kind, self.ahead = make, say, kind, 4 * many
        self._pool = make()
        self._asked: dict[Future[Any], tuple[Callable[..., Any], tuple[Any, ...]]] = {}

    def submit(self, do: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Begin something; its arguments are kept until its result was taken."""
        try:
            future = self._pool.submit(do, *arguments)
        except BrokenExecutor as error:
            self._renew(error)
            future = self._pool.submit(do, *arguments)
        self._asked[future] = do, arguments
        return future

    def result(self, future: Future[Any]) -> Any:
        """What came of it, begun again on other workers as often as `TRIES` if its worker was lost.

        Raises
        ------
        SimspecError
            It was lost every time.
        """
        do, arguments = self._asked.pop(future)
        for left in range(TRIES - 1, -1, -1):
            try:
                return future.result()
            except Exception as error:
                if not lost(error):
                    raise
                if not left:
                    raise SimspecError(
                        f"executor {self.kind}: the same chunks were lost with their worker {TRIES} times in a row "
                        f"({type(error).__name__}); what was played is kept, the same command continues"
                    ) from None
                if isinstance(error, BrokenExecutor):
                    self._renew(error)
                elif self._say is not None:
                    self._say(f"a worker was lost ({type(error).__name__}); its chunks are played again")
                future = self._pool.submit(do, *arguments)
        raise AssertionError("every try returns or raises")

    def _renew(self, error: Exception) -> None:
        """New workers in place of lost ones, unless another handful already saw to it."""
        if not getattr(self._pool, "_broken", True):
            return
        if self._say is not None:
            self._say(f"a worker was lost ({type(error).__name__}); its chunks are played again")
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._make()

    def close(self) -> None:
        """End the workers; what they have begun is waited for, the rest dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def lost(error: Exception) -> bool:
    """Whether an error tells of workers and not of what they did.

    Examples
    --------
    >>> lost(BrokenExecutor()), lost(ValueError())
    (True, False)
    """
    names = {base.__name__ for base in type(error).__mro__}  # of packages that may not be there
    return isinstance(error, BrokenExecutor) or bool(names & LOST)


@contextlib.contextmanager
def threads_only(many: int) -> Iterator[Workers]:
    """Threads of this process: kernels let go of the interpreter, so that one process keeps all processors busy."""
    workers = Workers(lambda: ThreadPoolExecutor(many, thread_name_prefix="simspec"), many)
    try:
        yield workers
    finally:
        workers.close()


@dataclass(frozen=True)
class Crew:
    """Who plays; changes no number.

    Parameters
    ----------
    kind : str
        ``"threads"``, ``"processes"`` (of this machine), ``"dask"`` or ``"mpi"``.
    many : int, optional
        Threads or processes, by default as many as this process may use; a Dask cluster and MPI have their own number.
    scheduler : str, optional
        Address of a Dask scheduler, e.g. ``tcp://10.0.0.1:8786``.

    Raises
    ------
    ParameterError
        There is no such kind, or a number or an address that it has no use for.
    """

    kind: str = "threads"
    many: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError("executor", f"executor = {self.kind!r} is unknown; allowed: {', '.join(KINDS)}")
        many = self.many
        if many is not None and (isinstance(many, bool) or not isinstance(many, int) or many < 1):
            raise ParameterError(
                "threads", f"threads = {many!r} is out of range; allowed: a whole number of at least 1"
            )
        if (self.scheduler is None) == (self.kind == "dask"):
            told = "needs --scheduler ADDRESS, e.g. tcp://10.0.0.1:8786" if self.kind == "dask" else "has no scheduler"
            raise ParameterError("scheduler", f"executor = {self.kind} {told}")

    @contextlib.contextmanager
    def workers(self, progress: Progress | None = None) -> Iterator[Workers]:
        """Have them ready; ``progress`` is told in one line when some are lost.

        Raises
        ------
        ParameterError
            A package is missing, or nothing answers at the address.
        """
        say = None if progress is None else progress.note
        make = {"threads": _threads, "processes": _processes, "dask": _dask, "mpi": _mpi}[self.kind]
        with make(self.many or default_threads(), self.scheduler, say) as own:
            yield own


_Say = Callable[[str], None] | None


@contextlib.contextmanager
def _closing(own: Workers) -> Iterator[Workers]:
    try:
        yield own
    finally:
        own.close()


def _threads(many: int, _scheduler: str | None, _say: _Say) -> contextlib.AbstractContextManager[Workers]:
    return threads_only(many)


def _processes(many: int, _scheduler: str | None, say: _Say) -> contextlib.AbstractContextManager[Workers]:
    import multiprocessing

    context = multiprocessing.get_context("spawn")  # a forked process shares locks of threads that it has not
    return _closing(
        Workers(lambda: ProcessPoolExecutor(many, mp_context=context, initializer=_serve), many, say, "processes")
    )


def _serve() -> None:
    """How a worker begins: it leaves Ctrl-C to the first process, and ends with that, however it ends."""
    import multiprocessing
    import os
    import signal
    import threading

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    first = multiprocessing.parent_process()
    assert first is not None, "workers are begun by multiprocessing"

    def end() -> None:
        first.join()
        os._exit(1)  # each worker holds the pipe of its orders open for the others: it would wait for ever

    threading.Thread(target=end, name="simspec-end", daemon=True).start()


@contextlib.contextmanager
def _dask(_many: int, scheduler: str | None, say: _Say) -> Iterator[Workers]:
    try:
        from distributed import Client
    except ImportError:
        raise ParameterError("executor", "executor = dask needs the package distributed: pip install 'simspec[dask]'") \
            from None  # fmt: skip
    try:
        client = Client(scheduler, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise ParameterError("scheduler", f"scheduler = {scheduler!r}: nothing answers there ({error})") from None
    try:
        many = sum(client.nthreads().values())
        if not many:
            raise ParameterError("scheduler", f"scheduler = {scheduler!r} has no workers; start some and try again")
        pool = client.get_executor(pure=False, retries=TRIES)
        own = Workers(lambda: pool, many, say, "dask")
        try:
            yield own
        finally:
            pool.shutdown(wait=False)
    finally:
        client.close()


@contextlib.contextmanager
def _mpi(_many: int, _scheduler: str | None, say: _Say) -> Iterator[Workers]:
    try:
        from mpi4py import MPI
        from mpi4py.futures import MPIPoolExecutor
    except ImportError:
        raise ParameterError(
            "executor", "executor = mpi needs the package mpi4py: pip install 'simspec[mpi]'"
        ) from None
    many = MPI.COMM_WORLD.Get_size() - 1
    if many < 1:
        command = " ".join(sys.argv[:1])
        raise ParameterError(
            "executor", f"executor = mpi needs workers; start it as mpiexec -n 4 python -m mpi4py.futures -m {command}"
        )
    own = Workers(MPIPoolExecutor, many, say, "mpi")
    try:
        yield own
    finally:
        own.close()
