"""What if a worker is lost, is another version, or goes wrong?  Its work is given out again, or a line says why not."""

from __future__ import annotations

import functools
import importlib.metadata
import pickle
import platform
import traceback
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, wait
from typing import Any

from simspec.kernels.words import STREAM_VERSION
from simspec.model import SimspecError

TRIES = 5
"""How often a handful of chunks may be lost with its worker before the run gives up."""
PATIENCE = 1.0
"""Seconds between two looks at workers that do not answer."""
LOST = {"KilledWorker", "CommClosedError", "ClosedClientError"}
"""Errors of packages that may not be there which tell of a worker and not of its work."""
KEPT = "what was played is kept, the same command continues"

Say = Callable[[str], None]
_Reply = tuple[tuple[str, int], str, bytes, str]


class Asked:
    """Some work that was given out, and where it is now.

    Attributes
    ----------
    what : tuple
        A function of some module and its arguments.
    losses : int
        How often it was lost with its worker.
    """

    def __init__(self, what: tuple[Callable[..., Any], tuple[Any, ...]], future: Future[Any]) -> None:
        self.what, self.future, self.losses = what, future, 0


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
    kind : str
        What messages call it.
    near : bool
        Its workers are threads of this process: nothing is packed, and errors are raised as they are.
    """

    def __init__(
        self, make: Callable[[], Executor], many: int, say: Say | None = None, kind: str = "threads", near: bool = True
    ) -> None:
        self._make, self.many, self._say, self.kind, self.near = make, many, say, kind, near
        self._pool = make()
        self._open: dict[Asked, None] = {}
        self._answer: Callable[..., _Reply] = answer

    @property
    def ahead(self) -> int:
        """How many handfuls may be under way at a time."""
        return 4 * self.many

    def submit(self, do: Callable[..., Any], *arguments: Any) -> Asked:
        """Begin something.

        Raises
        ------
        SimspecError
            It cannot be sent.
        """
        what = do, arguments
        try:
            future = self._begin(what)
        except Exception as error:
            if not lost(error):
                raise
            self._again(error)
            future = self._begin(what)
        asked = Asked(what, future)
        self._open[asked] = None
        return asked

    def result(self, asked: Asked) -> Any:
        """What came of it, begun again on other workers as often as `TRIES` if its worker was lost.

        Raises
        ------
        SimspecError
            It was lost every time, or a worker of another process went wrong or is another version.
        """
        while True:
            try:
                reply = self._wait(asked.future)
                break
            except Exception as error:
                if not lost(error):
                    raise self._wrong(error) from error
                if asked.losses + 1 == TRIES:
                    told = f"the same chunks were lost with their worker {TRIES} times in a row ({type(error).__name__}"
                    raise SimspecError(f"executor {self.kind}: {told}); {KEPT}") from None
                self._again(error)
        del self._open[asked]
        return reply if self.near else self._opened(*reply)

    def close(self) -> None:
        """End the workers; what they have begun is waited for, the rest dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _begin(self, what: tuple[Callable[..., Any], tuple[Any, ...]]) -> Future[Any]:
        if self.near:
            return self._pool.submit(what[0], *what[1])
        try:
            packed = pickle.dumps(what)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise SimspecError(f"executor {self.kind}: cannot be sent to a worker ({error}); {_BY_NAME}") from None
        return self._pool.submit(self._answer, version(), packed)

    def _wait(self, future: Future[Any]) -> Any:
        while not wait([future], None if self.near else PATIENCE).done:
            self._look()
        return future.result()

    def _look(self) -> None:
        """Called now and then while nothing comes; says what is the matter."""

    def _again(self, error: Exception) -> None:
        """Give out again, and at once, all that was lost; the pool is a new one where it was broken."""
        if self._say is not None:
            self._say(f"a worker was lost ({type(error).__name__}); its chunks are played again")
        self._renew(error)
        for asked in self._open:
            if asked.future.done() and (asked.future.cancelled() or lost(asked.future.exception())):
                asked.losses += 1
                asked.future = self._begin(asked.what)

    def _renew(self, error: Exception) -> None:
        """New workers in place of lost ones."""
        if isinstance(error, BrokenExecutor):
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = self._make()

    def _wrong(self, error: Exception) -> Exception:
        """What is raised for what a worker raised: that it could not even read the question."""
        if self.near or isinstance(error, SimspecError):
            return error
        told = f"a worker cannot play ({_line(error)}); allowed: workers that can import simspec {version()[0]}"
        return SimspecError(f"executor {self.kind}: {told}; {KEPT}")

    def _opened(self, theirs: tuple[str, int], host: str, packed: bytes, wrong: str) -> Any:
        if theirs != version():
            told = "a worker on {} has simspec {} (stream version {}), and this is {} ({})"
            told = told.format(host, *theirs, *version())
            raise SimspecError(f"executor {self.kind}: {told}; allowed: the same everywhere; {KEPT}")
        if wrong:
            raise SimspecError(f"executor {self.kind}: a worker on {host} failed with {wrong}; {KEPT}")
        return pickle.loads(packed)


_BY_NAME = "allowed: policies, schemes and processes of your own from a module that workers can import"


@functools.cache
def version() -> tuple[str, int]:
    """What has to be the same on every worker: versions of simspec and of its random words."""
    return importlib.metadata.version("simspec"), STREAM_VERSION


def answer(theirs: tuple[str, int], packed: bytes) -> _Reply:
    """What a worker of another process does with a message: its version, its host, the result, what went wrong.

    Question and answer are packed here and not by the executor, so that one that cannot be read is said and kills
    nobody, and is not even looked at between different versions.

    Examples
    --------
    >>> pickle.loads(answer(version(), pickle.dumps((max, (3, 4))))[2])
    4
    >>> answer(version(), pickle.dumps((divmod, (1, 0))))[3].startswith("ZeroDivisionError")
    True
    """
    own, host = version(), platform.node()
    if own != theirs:
        return own, host, b"", ""
    try:
        do, arguments = pickle.loads(packed)
    except (AttributeError, ImportError) as error:
        return own, host, b"", f"{_line(error)}; {_BY_NAME}"
    try:
        return own, host, pickle.dumps(do(*arguments)), ""
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return own, host, b"", f"{_line(error)} at {last.filename}:{last.lineno}"


def _line(error: BaseException) -> str:
    """An error in one line."""
    return " ".join("".join(traceback.format_exception_only(error)).split())


def lost(error: BaseException | None) -> bool:
    """Whether an error tells of workers and not of what they did.

    Examples
    --------
    >>> lost(BrokenExecutor()), lost(ValueError()), lost(None)
    (True, False, False)
    """
    names = {base.__name__ for base in type(error).__mro__}
    return isinstance(error, BrokenExecutor | CancelledError) or bool(names & LOST)
