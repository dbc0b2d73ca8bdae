"""What ran in a stretch of a log: its draft lengths, and its acceptance as the choice of κ takes it?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.advice.acceptance import Acceptance, acceptance_of_numbers
from simspec.evidence.changes.course import ROUND, Course
from simspec.evidence.changes.stretches import Stretch
from simspec.evidence.observed import Observed


@dataclass(frozen=True, eq=False)
class Part:
    """One stretch.

    Attributes
    ----------
    kappas : tuple of float
        Draft lengths seen, in order; the least and the longest where sums over a batch make them no whole numbers.
    tokens : float
        Tokens that came out of it, the bonus tokens counted.
    acceptance : Acceptance or None
        As `simspec.recommend` takes it; None where only means are known and κ is not one whole number.
    """

    kappas: tuple[float, ...]
    tokens: float
    acceptance: Acceptance | None


def part_of_rounds(observed: Observed, course: Course, own: Stretch) -> Part:
    """Of the rounds of a stretch.

    Examples
    --------
    >>> from simspec.evidence.changes.course import course_of
    >>> seen = Observed.in_order([[2] * 400], [[2, 0] * 200])
    >>> own = part_of_rounds(seen, course_of(seen), Stretch(0, 100, 100, 150, 100, 0.66, (0.5, 0.8), 0.66, 2.0))
    >>> own.kappas, own.tokens, own.acceptance.rounds
    ((2,), 200.0, 100)
    """
    if course.unit == ROUND and observed.ordered:
        rows = slice(own.first, own.end)
        offsets = np.unique(np.clip(observed.offsets, own.first, own.end) - own.first)
        columns = (observed.drafted[rows], observed.accepted[rows], observed.count[rows])
        seen = Observed(*columns, offsets, observed.unit, observed.ordered)
    else:
        seen = observed.take(np.arange(own.first, own.end))
    tokens = float((seen.count * (seen.accepted + 1)).sum())
    acceptance = Acceptance(
        kappa=seen.kappas[0] if len(seen.kappas) == 1 else None,
        emitted=tokens / seen.rounds,
        emitted_interval=None,
        survival=None,
        mean_drafted=own.mean_kappa,
        observed=seen,
        origin="a stretch of the log",
        rounds=seen.rounds,
    )
    return Part(seen.kappas, tokens, acceptance)


def part_of_lines(course: Course, own: Stretch) -> Part:
    """Of lines that print means."""
    rounds, accepted = (float(column[own.first : own.end].sum()) for column in (course.rounds, course.accepted))
    kappas = tuple(np.unique((course.drafted / course.rounds)[own.first : own.end]).tolist())
    if any(kappa != int(kappa) for kappa in kappas):
        kappas = (kappas[0], kappas[-1])
    acceptance = None
    if len(kappas) == 1 and kappas[0] == int(kappas[0]):
        emitted = min(1.0 + accepted / rounds, kappas[0] + 1.0)
        acceptance = acceptance_of_numbers(kappa=int(kappas[0]), emitted=emitted, rounds=int(rounds))
    return Part(kappas, accepted + rounds, acceptance)
