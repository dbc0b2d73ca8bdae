"""How far from its exact value is every figure of every parameter set?  One row each, in standard errors of lanes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from simspec.claims.agreement.case import Case, Quantity, System
from simspec.model.identity import canonical_json
from simspec.run.dispatch import run_jobs
from simspec.run.engine import Job
from simspec.run.progress import Progress
from simspec.stats.counts import Counts
from simspec.stats.intervals import student

if TYPE_CHECKING:
    import pandas as pd

FALSE_ALARM = 1e-6
"""Upper limit for the probability that any figure of a sound engine leaves its bound, over all of them."""
CERTAIN = 1e-9
"""What rounding may do where nothing is random."""


def agreed(
    systems: Sequence[System], rounds: int, seed: int = 1, progress: Progress | None = None, threads: int | None = None
) -> pd.DataFrame:
    """A row per system, parameter set and figure.

    Parameters
    ----------
    systems : sequence of System
    rounds : int
        Rounds per set, at least.
    seed : int
        Of the first set; the next ones have those that follow.
    progress : Progress, optional
    threads : int, optional
        Changes no number.

    Returns
    -------
    DataFrame
        Columns system … inside; ``z`` is (simulated − exact) in standard errors, ``bound`` what it may be at most.

    Examples
    --------
    >>> from simspec.claims.agreement.chains import drafted
    >>> rows = agreed(drafted()[3:], 5000)
    >>> sorted(set(rows.quantity)), bool(rows.inside.all())
    (['speed-up', 'tokens per round'], True)
    """
    import pandas as pd

    level = 1.0 - FALSE_ALARM / sum(len(own.cases) * len(own.quantities) for own in systems)
    rows, number = list[dict[str, Any]](), seed
    for own in systems:
        rows += _rows_of(own, level, rounds, number, progress, threads)
        number += len(own.cases)
    return pd.DataFrame(rows)


def _rows_of(
    system: System, level: float, rounds: int, seed: int, progress: Progress | None, threads: int | None
) -> Iterator[dict[str, Any]]:
    if progress is not None:
        progress.begin(f"{system.line}: {system.name}", 0)
    played = _played(system.cases, rounds, seed, progress, threads)
    for number, (case, counts) in enumerate(zip(system.cases, played, strict=True)):
        for quantity in system.quantities:
            yield _row(system, case, quantity, counts, level) | {"seed": (seed + number) % 2**64}


def _played(
    cases: Sequence[Case], rounds: int, seed: int, progress: Progress | None, threads: int | None
) -> Iterable[Counts]:
    """Every set has a seed of its own, so that no two share their random words."""
    jobs = [Job(case.simulation, (case.kappa,), rounds, (seed + i) % 2**64) for i, case in enumerate(cases)]
    for job, tallies in run_jobs(jobs, threads, progress):
        yield Counts.of(tallies, job.simulation.fresh)


def _row(system: System, case: Case, quantity: Quantity, counts: Counts, level: float) -> dict[str, Any]:
    seen, exact = quantity.seen(case, counts), quantity.exact(case)
    value, error = float(seen.value[0]), float(seen.error[0])
    off, bound = value - exact, student(level, counts.units)
    certain = error * bound <= CERTAIN  # nothing is random but rounding
    return {
        "line": system.line, "system": system.name, "quantity": quantity.name, "edge": case.edge,
        "scheme": canonical_json(case.scheme.identity()), "process": canonical_json(case.process.identity()),
        "kappa": case.kappa, "price": str(case.price), "exact_by": system.exact_by, "exact": exact, "simulated": value,
        "error": 0.0 if certain else error, "z": 0.0 if certain and abs(off) <= CERTAIN else off / max(error, CERTAIN),
        "bound": bound, "rounds": int(counts.total("n")[0]), "units": counts.units,
        "inside": abs(off) <= (CERTAIN if certain else bound * error),
    }  # fmt: skip
