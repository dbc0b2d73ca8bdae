"""What does a comparison know of one run?  Its rounds, or only a mean, and how they are cut and matched."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec import theory
from simspec.advice.ab.faults import Fault
from simspec.evidence.block import alpha_from_mean
from simspec.evidence.line_means import LineMeans
from simspec.evidence.observed import LOG_LINE, STRETCHES, Ints, Observed
from simspec.evidence.source import Source, Unknown
from simspec.model import Iid
from simspec.model.errors import ParameterError
from simspec.stats.ab_tests import Outcomes
from simspec.stats.intervals import ratio
from simspec.text import number, plural

USUAL = 0.95
"""A draft length that at least this share of rounds were offered is the run's κ; else κ varies."""
FEW_UNITS = 10
"""Requests, or log lines, whose spread is poorly known."""


@dataclass(frozen=True, eq=False)
class Run:
    """One run.

    Attributes
    ----------
    name : str
        As the user calls it.
    observed : Observed or None
        Its rounds; None where only a mean is known.
    emitted : float or None
        E, tokens per round as it ran.
    error : float
        Standard error of E where only a mean is known, from the spread of i.i.d. drafts; else NaN.
    kappa : int or None
        Draft length of at least 95% of rounds; None where it varies or is not known.
    rounds : int
    counted : str
        What ``rounds`` counts; log lines where each prints a mean without its number of rounds.
    speeds : tuple of float
        Measured tok/s, one per repeat.
    base : float or None
        tok/s without speculation.
    per_request : bool
        Speeds are of one request, as a log gives them that counts the requests running; else of the whole run.
    at_once : float or None
        Requests that ran at once behind such speeds.
    faults : tuple of Fault
        Those seen while reading.
    notes : tuple of str
        How it was read, and what its error rests on.
    source : Source or None
    """

    name: str
    observed: Observed | None = None
    emitted: float | None = None
    error: float = math.nan
    kappa: int | None = None
    rounds: int = 0
    speeds: tuple[float, ...] = ()
    base: float | None = None
    per_request: bool = False
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
    source: Source | None = None
    counted: str = "round"
    at_once: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        own = self.observed
        return {
            "name": self.name, "rounds": self.rounds, "kappa": self.kappa, "emitted": self.emitted,
            "unit": None if own is None else own.unit, "groups": None if own is None else own.groups,
            "speeds": list(self.speeds), "base": self.base, "notes": list(self.notes),
        }  # fmt: skip


def of_rounds(name: str, own: Observed, notes: tuple[str, ...] = (), **more: Any) -> Run:
    """A run from its rounds."""
    if own.rounds == 0:
        raise ParameterError("rounds", f"{name}: holds no round with a draft")
    emitted = 1.0 + float(own.accepted @ own.count) / own.rounds
    return Run(name, own, emitted, kappa=usual_kappa(own), rounds=own.rounds, notes=(*notes, *_cautions(own)), **more)


def _cautions(own: Observed) -> Iterator[str]:
    """What its error rests on, and what is not in it."""
    if not own.clustered:
        yield (
            "rounds are taken as independent, since nothing tells requests apart: where requests differ the true error "
            "is larger, 1.4 to 5 times for E in the sets of results/intervals"
        )
    elif own.unit in STRETCHES:
        yield f"{own.unit}s are taken as independent; neighbours share requests, so that errors may be low"
    if own.clustered and own.groups < FEW_UNITS:
        yield f"only {plural(own.groups, own.unit)}: the error between so few is itself uncertain, intervals are wide"
    if own.left_out:
        yield f"{own.left_out:,} further rounds are counted by simspec fit and not used here"
    if own.missing:
        yield f"{plural(own.missing, 'draft')} counted as offered were cut short; deep rates read low by that share"


def of_mean(name: str, emitted: float, kappa: int, rounds: int, notes: tuple[str, ...] = (), **more: Any) -> Run:
    """A run of which only E is known: i.i.d. drafts lend it their spread."""
    alpha = alpha_from_mean(emitted - 1.0, kappa)
    if isinstance(alpha, Unknown):
        raise ParameterError("emitted", f"{name}: E = {emitted:g} does not fit κ = {kappa}; allowed: 1 to {kappa + 1}")
    variance = theory.window(Iid(alpha=min(1.0, alpha)), kappa).var_accepted
    error = math.sqrt(variance / (rounds - 1)) if rounds > 1 else math.inf
    spread = (
        f"only a mean is known: its error is that of i.i.d. drafts with α = {number(alpha, 3)} "
        f"(standard deviation {number(math.sqrt(variance), 2)} per round); drafts of mixed difficulty spread more"
    )
    return Run(name, None, emitted, error, kappa, rounds, notes=(*notes, spread), **more)


def of_lines(name: str, own: LineMeans, kappa: int, **more: Any) -> Run:
    """A run of which only means of log lines are known: the lines lend it their spread.

    Examples
    --------
    >>> own = of_lines("A", LineMeans(50, 2.16, 2.16, 0.007), 3)
    >>> own.emitted, own.error, error_of(own), own.counted
    (2.16, 0.007, (0.007, 50), 'log line')
    """
    return Run(name, None, own.emitted, own.error, kappa, own.lines, notes=(own.says,), counted=LOG_LINE, **more)


def rises(seen: str) -> Fault:
    """The fault of a survival curve that goes up."""
    says = f"survival rises with depth ({seen}): no chain of drafts can do that, since S_j counts rounds that accept "
    says += "drafts 1 … j; rates of examined drafts were printed, or drafts were replayed and counted again"
    return Fault("SURVIVAL_RISES", says, True)


def usual_kappa(observed: Observed) -> int | None:
    """Longest draft that at least 95% of rounds were offered, if nothing longer was offered.

    Examples
    --------
    >>> usual_kappa(Observed.in_order([[4] * 40 + [2]], [[1] * 41])), usual_kappa(Observed.in_order([[5, 3]], [[1, 1]]))
    (4, None)
    """
    if observed.rounds == 0:
        return None
    kappa = observed.kappa_max
    return kappa if observed.count[observed.drafted == kappa].sum() >= USUAL * observed.rounds else None


def outcomes_of(observed: Observed, kappa: int) -> Ints:
    """Rounds that were offered ``kappa`` drafts or more, by group and accepted length up to kappa, (groups, kappa + 1).

    Examples
    --------
    >>> outcomes_of(Observed.in_order([[4, 4], [4, 1]], [[3, 0], [4, 1]]), 2).tolist()
    [[1, 0, 1], [0, 0, 1]]
    """
    kept = observed.drafted >= kappa
    flat = observed.group[kept] * (kappa + 1) + np.minimum(observed.accepted[kept], kappa)
    counts = np.bincount(flat, observed.count[kept], observed.groups * (kappa + 1))
    return counts.reshape(observed.groups, kappa + 1).astype(np.int64)


def sides(runs: tuple[Observed, Observed], kappa: int, pairs: bool = False) -> tuple[Outcomes, Outcomes]:
    """Rounds of each run by independent unit, cut at ``kappa``; units without a round are left out, pairs together."""
    counts = [outcomes_of(own, kappa) for own in runs]
    held = [own.sum(axis=1) > 0 for own in counts]
    if pairs:
        held = [np.logical_and(*held)] * 2
    first, second = (_units(*of) for of in zip(runs, counts, held, strict=True))
    return first, second


def _units(run: Observed, counts: Ints, kept: NDArray[np.bool_]) -> Outcomes:
    own = counts[kept]
    return Outcomes(own) if run.clustered and len(own) > 1 else Outcomes.alone(own.sum(axis=0))


def error_of(run: Run) -> tuple[float, int]:
    """Standard error of E as it ran, and the independent units behind it."""
    own = run.observed
    if own is None:
        return run.error, run.rounds
    if own.clustered:
        rounds = np.bincount(own.group, own.count, own.groups)
        found = ratio(np.bincount(own.group, own.count * own.accepted, own.groups)[None], rounds[None])
    else:
        found = ratio(own.accepted[None], np.ones((1, len(own.count))), own.count)
    return float(found.error[0]), found.units


def common(a: Observed, b: Observed) -> Sequence[str]:
    """Names of the requests that both runs hold, where they are at least half of each; else none.

    Examples
    --------
    >>> from dataclasses import replace
    >>> one = replace(Observed.in_order([[2], [2]], [[1], [2]]), names=("x", "y"))
    >>> common(one, one), common(one, replace(one, names=("x", "z")))
    (('x', 'y'), ('x',))
    """
    if a.names is None or b.names is None or not (a.clustered and b.clustered):
        return ()
    known = set(b.names)
    if len(set(a.names)) < len(a.names) or len(known) < len(b.names):
        return ()
    both = tuple(name for name in a.names if name in known)
    return both if len(both) >= max(1, 0.5 * max(len(a.names), len(b.names))) else ()
