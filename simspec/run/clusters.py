"""Where are the workers of other machines?  At a Dask scheduler, or beside this process under MPI."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from simspec.model import ParameterError, SimspecError
from simspec.run.workers import KEPT, PATIENCE, Say, Workers
from simspec.text import plural

_MPI_COMMAND = "mpiexec -n 3 python -m mpi4py.futures -m simspec run FILE --executor mpi"
ANSWER_SECONDS = 10
"""How long a scheduler may not answer."""
_LOOKED_FOR = ("connecting", "closing")
"""What Dask calls a client whose scheduler may come back, or which is about to give up."""


class _Dask(Workers):
    """Workers of a scheduler that come, go and come back."""

    def __init__(self, client: Any, scheduler: str, say: Say) -> None:
        pool = client.get_executor(pure=False)
        super().__init__(lambda: pool, 0, say, "dask", near=False)
        self._client, self._scheduler, self._tell = client, scheduler, say
        self._answer = _by_value()
        self._looked = 0.0
        self._look()

    @property
    def ahead(self) -> int:
        """How many handfuls may be under way at a time; more when workers have come."""
        if time.monotonic() - self._looked > PATIENCE:
            self._look()
        return 4 * max(1, self.many)

    def close(self) -> None:
        """Drop what is under way; the workers are not ours to end."""
        if self._client.status == "running":
            self._pool.shutdown(wait=False)

    def _look(self) -> None:
        """Say when workers have come, and when all are gone; an error once the scheduler is given up.

        What is under way when it is lost is cancelled by Dask, but not what is given out while it is looked for.
        """
        status = self._client.status
        if status in _LOOKED_FOR:
            return
        if status != "running":
            raise self._gone()
        try:
            many = sum(self._client.nthreads().values())
        except (OSError, AttributeError):  # it went between the two lines
            return
        if many != self.many or not self._looked:
            there = f"{plural(many, 'thread')} of workers" if many else "no worker is there; waiting for one"
            self._tell(f"scheduler {self._scheduler}: {there}")
        self.many, self._looked = many, time.monotonic()

    def _renew(self, error: Exception) -> None:
        if self._client.status == "connecting":
            self._tell(f"scheduler {self._scheduler} does not answer; tried again for {ANSWER_SECONDS} s")
        while self._client.status in _LOOKED_FOR:
            time.sleep(0.1)
        if self._client.status != "running":
            raise self._gone()

    def _gone(self) -> SimspecError:
        return SimspecError(f"executor dask: scheduler {self._scheduler} no longer answers; {KEPT}")


def _by_value() -> Callable[..., Any]:
    """`answer` for workers without simspec, which would end without a word if they were sent a function of ours."""

    def answer(*question: Any) -> Any:  # a function inside a function is sent as it stands, not by its name
        from simspec.run.workers import answer

        return answer(*question)

    return answer


@contextlib.contextmanager
def dask(_many: int, scheduler: str | None, say: Say) -> Iterator[Workers]:
    """Workers of a Dask scheduler.

    Raises
    ------
    ParameterError
        Dask is not installed, or nothing answers at the address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ParameterError("executor", "executor = dask needs the package distributed: pip install 'simspec[dask]'") \
            from None  # fmt: skip
    say(f"asking the scheduler {scheduler}")
    with _quiet():
        try:
            client = Client(scheduler, timeout=ANSWER_SECONDS, set_as_default=False)
        except Exception as error:  # of any kind, where another service has the port
            told = " ".join(str(error).split()) or type(error).__name__
            raise ParameterError("scheduler", f"scheduler = {scheduler!r}: nothing answers there ({told})") from None
        try:
            own = _Dask(client, str(scheduler), say)
            try:
                yield own
            finally:
                own.close()
        finally:
            client.close()


_LOGS = ("distributed.client", "distributed.core", "distributed.batched", "tornado.application")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What Dask logs of lost connections, in dozens of lines, is said by us in one."""
    before = {name: logging.getLogger(name).level for name in _LOGS}
    for name in _LOGS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


@contextlib.contextmanager
def mpi(_many: int, _scheduler: str | None, say: Say) -> Iterator[Workers]:
    """The other processes of an MPI run.

    Raises
    ------
    ParameterError
        mpi4py is not installed, or this process was not started by ``mpi4py.futures`` under ``mpiexec``.
    """
    if "mpi4py.futures" not in sys.orig_argv:  # before MPI begins, which would wait for the others at the end
        told = f"executor = mpi has no processes to play; start it as {_MPI_COMMAND}"
        raise ParameterError("executor", told)
    try:
        from mpi4py import MPI
        from mpi4py.futures import MPIPoolExecutor
    except (ImportError, RuntimeError) as error:  # RuntimeError: there is no MPI below it
        told = "executor = mpi needs the package mpi4py and an MPI: pip install 'simspec[mpi]'"
        raise ParameterError("executor", f"{told} ({' '.join(str(error).split())})") from None
    many = MPI.COMM_WORLD.Get_size() - 1
    if many < 1:
        told = f"executor = mpi has 1 process, which plans; start more, e.g. {_MPI_COMMAND}"
        raise ParameterError("executor", told)
    say(f"mpi: {plural(many, 'worker')}")
    own = Workers(MPIPoolExecutor, many, say, "mpi", near=False)
    try:
        yield own
    finally:
        own.close()
