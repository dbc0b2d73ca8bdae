"""What does a log say in the order of time?  Accepted drafts above what drafts of these positions get over all of it.

A draft is compared with drafts at its own position only: rates by position differ, and a longer κ reaches deeper, so
that a change of κ alone would otherwise look like one of acceptance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.evidence.line_course import LineCourse
from simspec.evidence.observed import ENGINE, LOG_LINE, NO_UNIT, REQUEST, SPAN, Floats, Observed
from simspec.evidence.source import Unknown
from simspec.text import plural

_Columns = tuple[Floats, Floats, Floats, Floats, Floats, Floats]
ROUND = "round"
_HALVINGS = 40
LEAST = 40
"""Blocks below which nothing is looked for: a detector would never tell."""
SMALLEST = 8
"""Rounds that a block holds at least: its sum has begun to look normal."""
NO_TIME = Unknown("the rounds are counted by engine, which is no order of time")
NO_ORDER = Unknown("the source holds sums over the whole run: nothing in it has an order")
ALIKE = Unknown("every examined draft had the same outcome: nothing varies")
FEW_REQUESTS = (
    "{requests} are too few to set against each other: their rounds are looked at one after the other, and a change "
    "may be another request rather than another time"
)
NO_REQUESTS = (
    "requests are not told apart (--request): where they differ, a change may be another request rather than another "
    "time"
)


@dataclass(frozen=True, eq=False)
class Course:
    """Units (rounds, requests or log lines) in the order of the file.

    Attributes
    ----------
    unit : str
        What a unit is: ``"round"`` (or a span of them), ``"request"``, ``"log line"``, ``"scrape interval"`` or
        ``"iteration"``.
    rounds, accepted, examined, drafted : float array (units,)
        Rounds of each, and their drafts: accepted, examined (accepted, or the first one rejected), offered.
    excess : float array (units,)
        Accepted drafts less those that as many drafts at the same positions get over the whole log.
    spread : float array (units,)
        Variance of ``excess`` if verdicts were independent.
    notes : tuple of str
        What is taken for granted.
    names : tuple of str, or None
        What the source calls its units.
    begins : tuple of (file, line), or None
        Where each unit stands.
    """

    unit: str
    rounds: Floats
    accepted: Floats
    examined: Floats
    drafted: Floats
    excess: Floats
    spread: Floats
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    begins: tuple[tuple[str, int], ...] | None = None

    @property
    def blurred(self) -> bool:
        """Whether a change may lie inside a unit."""
        return self.unit != REQUEST and float(self.rounds.max()) > 1.0

    def round_at(self, unit: int) -> int:
        """Number, from 1, of the first round of a unit."""
        return int(self.rounds[:unit].sum()) + 1


def course_of(observed: Observed) -> Course | Unknown:
    """Units in order, with their excess over the whole log; an `Unknown` where there is no order, or too little.

    Examples
    --------
    >>> own = course_of(Observed.in_order([[2, 2] * 200], [[2, 0] * 200]))
    >>> own.unit, own.excess[:2].round(2).tolist(), own.examined[:2].tolist()
    ('round', [0.5, -0.5], [2.0, 1.0])
    """
    if observed.unit == ENGINE:
        return NO_TIME
    by_round = observed.ordered and (observed.unit == NO_UNIT or observed.groups < LEAST)
    if not by_round and not observed.clustered:
        return NO_ORDER
    if observed.rounds < LEAST * SMALLEST:
        return Unknown(
            f"{plural(observed.rounds, 'round')} with a draft; where acceptance changes can be told from "
            f"{LEAST * SMALLEST} on"
        )
    if not by_round and observed.groups < LEAST:
        return Unknown(
            f"{plural(observed.groups, observed.unit)}; where acceptance changes can be told from {LEAST} on"
        )
    rows = _of_rows(observed)
    if rows[-1].sum() == 0.0:
        return ALIKE
    if not by_round:
        rows = _by_group(observed, rows)
    unit = ROUND if by_round or observed.unit == SPAN else observed.unit
    names = None if by_round else observed.names
    return Course(unit, *rows, _notes(observed, by_round), names, observed.begins)


def course_of_lines(own: LineCourse) -> Course | Unknown:
    """Lines that print means: α of each is that of i.i.d. drafts with its mean at its κ.

    Examples
    --------
    >>> lines = LineCourse(np.full(50, 4.0), np.full(50, 100.0), np.full(50, 177.31), (("a.log", 1),) * 50, "log line")
    >>> course_of_lines(lines).reason
    'every line has the same rate: nothing varies'
    """
    if len(own.rounds) < LEAST:
        return Unknown(f"{plural(len(own.rounds), own.unit)}; where acceptance changes can be told from {LEAST} on")
    alpha = _alphas(own.accepted / own.rounds, own.kappa)
    examined = np.where(alpha > 0.0, own.accepted / np.maximum(alpha, 1e-300), own.rounds)
    whole = own.accepted.sum() / examined.sum()
    excess = own.accepted - whole * examined
    if np.abs(excess).max() <= 1e-9 * examined.max():
        return Unknown("every line has the same rate: nothing varies")
    notes = ["α of a line is that of i.i.d. drafts with the mean it prints, at its κ"] + [own.says] * bool(own.says)
    if own.without_kappa:
        notes.append(f"{plural(own.without_kappa, own.unit)} whose κ is not told are left out")
    drafted, spread = own.rounds * own.kappa, examined * whole * (1.0 - whole)
    return Course(
        own.unit, own.rounds, own.accepted, examined, drafted, excess, spread, tuple(notes), begins=own.begins
    )  # fmt: skip


def _alphas(mean: Floats, kappa: Floats) -> Floats:
    """The i.i.d. α whose rounds of κ drafts accept so many on average, by bisection."""
    low, high = np.zeros_like(mean), np.ones_like(mean)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        total = -middle * np.expm1(kappa * np.log(middle)) / (1.0 - middle)
        low, high = np.where(total < mean, middle, low), np.where(total < mean, high, middle)
    return np.asarray((low + high) / 2.0)


def _of_rows(observed: Observed) -> _Columns:
    """Rounds, accepted, examined, drafted, excess and its variance, of each row."""
    seen = observed.examined()
    rate = np.divide(observed.reached(), seen, out=np.zeros(len(seen)), where=seen > 0)
    expected, variance = (np.concatenate([[0.0], np.cumsum(own)]) for own in (rate, rate * (1.0 - rate)))
    examined = np.minimum(observed.accepted + 1, observed.drafted)
    times = observed.count.astype(np.float64)
    excess = (observed.accepted - expected[examined]) * times
    return (
        times,
        observed.accepted * times,
        examined * times,
        observed.drafted * times,
        excess,
        variance[examined] * times,
    )


def _by_group(observed: Observed, rows: _Columns) -> _Columns:
    one, two, three, four, five, six = (
        np.asarray(np.bincount(observed.group, own, observed.groups), np.float64) for own in rows
    )
    return one, two, three, four, five, six


def _notes(observed: Observed, by_round: bool) -> tuple[str, ...]:
    notes = []
    if by_round and observed.unit == REQUEST:
        notes.append(FEW_REQUESTS.format(requests=plural(observed.groups, "request")))
    elif by_round:
        notes.append(NO_REQUESTS)
    elif observed.unit == REQUEST:
        notes.append("requests are taken in the order of the file")
    elif observed.unit == LOG_LINE:
        notes.append("neighbouring lines share requests")
    elif observed.unit == SPAN:
        notes.append(
            "rounds are more than are kept one by one: sums over spans of them are looked at, whatever request"
        )
    if observed.left_out:
        notes.append(f"{observed.left_out:,} rounds of the source are not looked at: see simspec fit")
    return tuple(notes)
