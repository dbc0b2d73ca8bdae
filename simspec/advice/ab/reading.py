"""How is a run read?  From a log, a table of rounds, rounds in memory, or figures typed in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simspec.advice.ab.figures import run_of_figures
from simspec.advice.ab.run import Run, of_lines, of_mean, of_rounds, rises
from simspec.advice.acceptance import Acceptance, acceptance_of_source
from simspec.evidence.kappa_seen import which_kappa
from simspec.evidence.observed import Observed
from simspec.evidence.readers.base import Options
from simspec.evidence.recognise import read_one
from simspec.evidence.source import POOLED, Source, Unknown
from simspec.model.errors import ParameterError

PER_REQUEST = "tokens_per_s_per_request"
SPEEDS = ("output_tok_s", PER_REQUEST)
ENDS_LEFT_OUT = 5
BY_LINE = (
    "speed: lines of the log stand for repeats (of five or more without the first and last, which may hold idle time); "
    "neighbours share requests, so that its error may be low"
)


def run_of(given: Any, name: str, level: float = 0.95, kappa: int | None = None) -> Run:
    """A run from whatever holds one.

    Parameters
    ----------
    given : str, Path, sequence of these, Source, Observed or Acceptance
        A file, several files of one source (also as one text, with commas), or figures such as
        ``"kappa=7 rounds=4816 accepted=12208"``.
    name : str
        ``"A"`` or ``"B"``, where nothing names it better.
    level : float
    kappa : int, optional
        Draft length, for files that do not hold it.

    Raises
    ------
    ParameterError
        It cannot be read, is more than one source, or figures contradict each other.

    Examples
    --------
    >>> own = run_of("k=3 drafted=483 tokens=161", "A")
    >>> own.rounds, own.emitted, own.observed.reached().tolist()
    (161, 1.0, [0, 0, 0])
    >>> own = run_of("kappa=7, drafts=4816, accepted=12208", "A")
    >>> round(own.emitted, 2), round(own.error, 3), own.observed is None
    (3.53, 0.034, True)
    """
    if isinstance(given, Run):
        return given
    if isinstance(given, Observed):
        return of_rounds(name, given)
    if isinstance(given, Acceptance):
        return _of_acceptance(name, given)
    if isinstance(given, Source):
        return _of_source(given, level, kappa)
    if isinstance(given, str) and "=" in given and not Path(given).exists():
        return run_of_figures(given, name)
    files = _files(given) if isinstance(given, (str, Path)) else list(given)
    sources = read_one(files, Options(level, kappa))
    if len(sources) != 1:
        found = ", ".join(f"{source.shape} in {', '.join(source.files)}" for source in sources)
        raise ParameterError("files", f"{name}: {len(sources)} sources ({found}); allowed: one per run")
    return _of_source(sources[0], level, kappa)


def _files(given: str | Path) -> list[str | Path]:
    """One file, or several of one run with commas between them, such as two scrapes."""
    if isinstance(given, Path) or Path(given).exists():
        return [given]
    return [name for name in given.split(",") if name] or [given]


def _of_acceptance(name: str, own: Acceptance) -> Run:
    if own.observed is not None:
        return of_rounds(name, own.observed, source=own.source)
    if own.emitted is None or own.kappa is None or not own.rounds:
        raise ParameterError(
            "rounds", f"{name}: without a number of rounds nothing can be tested; give rounds and kappa"
        )
    return of_mean(name, own.emitted, own.kappa, own.rounds, source=own.source)


def _of_source(source: Source, level: float, kappa: int | None) -> Run:
    name = ", ".join(source.files) or source.shape
    name = f"{len(source.files)} files pooled as one log: {name}" if source.pieces else name
    told, speeds = _speeds(source)
    lines = _by_line(source) if told == PER_REQUEST else ()
    if len(lines) > 1:
        speeds = tuple(speed for speed, _ in lines)
    more: dict[str, Any] = {"speeds": speeds, "per_request": told == PER_REQUEST, "source": source}
    more["at_once"] = sum(running for _, running in lines) / len(lines) if lines else None
    broken = [text for text, own in source.identities.items() if own.broken and "never rises" in text]
    if broken:
        more["faults"] = (rises(source.identities[broken[0]].first_broken or ""),)
    if isinstance(source.observed, Observed) and source.observed.rounds:
        return of_rounds(name, source.observed, (BY_LINE,) if len(lines) > 1 else (), **more)
    reason = source.observed.reason if isinstance(source.observed, Unknown) else "it holds no round"
    own = _mean_of(source, level, kappa)
    if own.line_means is not None:
        if own.kappa is None:
            raise ParameterError("kappa", f"{name}: {which_kappa(source)}")
        return of_lines(name, own.line_means, own.kappa, **more)
    if own.kappa is None or own.emitted is None or not own.rounds:
        raise ParameterError("files", f"{name}: nothing can be tested without rounds or their number and κ: {reason}")
    return of_mean(name, own.emitted, own.kappa, own.rounds, (f"its rounds are not told: {reason}",), **more)


def _mean_of(source: Source, level: float, kappa: int | None) -> Acceptance:
    """E of a source that tells no rounds; what the error says to type in is said in the words of this command."""
    try:
        return acceptance_of_source(source, level, kappa)
    except ParameterError as error:
        if error.key == "kappa":
            raise
        told = error.message.partition("; type ")[0]
        raise ParameterError("files", f"{told}; figures can stand for it: 'kappa=N rounds=N emitted=E'") from None


def _by_line(source: Source) -> tuple[tuple[float, int], ...]:
    """tok/s per running request, and requests running, of each line of a log at a steady batch."""
    rows = [row for row in source.body.get("windows", ()) if row.get("generation_tok_s") and row.get("running")]
    rows = rows[1:-1] if len(rows) >= ENDS_LEFT_OUT else rows
    return tuple((row["generation_tok_s"] / row["running"], row["running"]) for row in rows)


def _speeds(source: Source) -> tuple[str, tuple[float, ...]]:
    """Name of the figure that tells the speed, and the speed."""
    for block in (source.body.get(name) for name in POOLED):
        found = [name for name in SPEEDS if isinstance(block, dict) and isinstance(block.get(name), float)]
        if found and isinstance(block, dict):
            return found[0], (block[found[0]],)
    return "", ()
