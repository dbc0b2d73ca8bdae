"""What is one published figure beside the model's?  Inputs with their rounding, what follows, what is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simspec import theory
from simspec.claims.lab import CHAIN, Lab, Need
from simspec.model import Cost, Process, Scheme
from simspec.stats.intervals import ratio
from simspec.stats.point import speedups

TOKENS = "tokens per round"
SPEED = "speed-up"
UNIT = (1.0, 0.1, 0.01, 0.001, 0.0001)
"""One unit of the last digit, by the number of decimals."""
ROUNDING = 1e-9


class Given(NamedTuple):
    """A figure as its source prints it; ``unit`` is one of its last digit, ``sign`` whether the prediction rises."""

    value: float
    unit: float = 0.0
    sign: int = 1


class Span(NamedTuple):
    """A prediction, and the least and the largest that its inputs allow."""

    value: float | None
    low: float
    high: float


class Seen(NamedTuple):
    """A simulated value, its standard error, rounds and independent units."""

    value: float
    error: float
    rounds: int
    units: int


def spread(function: Callable[..., float], *given: Given) -> Span:
    """A prediction that is monotone in each input, with what rounding of the inputs leaves open.

    Examples
    --------
    >>> spread(lambda a, b: a / b, Given(0.6, 0.02), Given(0.5, 0.0, -1))
    Span(value=1.2, low=1.18, high=1.22)
    """
    ends = [function(*(g.value + side * g.sign * g.unit / 2 for g in given)) for side in (-1, 0, 1)]
    return Span(float(ends[1]), float(ends[0]), float(ends[2]))


def between(low: float, high: float) -> Span:
    """An input is not published: all that the prediction can be."""
    return Span(None, low, high)


def chained(*rates: float) -> float:
    """E[tokens] of a round of drafts with these rates by depth, each given the drafts before; a rate is at most 1."""
    return 1.0 + theory.expected_accepted_heads([min(rate, 1.0) for rate in rates])


def alpha_of_tokens(tokens: float, kappa: int) -> float:
    """The α at which a window of κ independent drafts makes so many tokens: the root of 1 + α + … + α^κ = tokens.

    Examples
    --------
    >>> round(alpha_of_tokens(1 + 0.7 + 0.7**2, 2), 12)
    0.7
    """
    roots = np.roots([*[1.0] * kappa, 1.0 - tokens])
    return float(next(root.real for root in roots if abs(root.imag) < ROUNDING and root.real >= 0.0))


def alpha_of_best_speed(speed: float, cost: Cost, most: int) -> float:
    """The α whose best κ up to ``most`` has this speed: S grows with α at every κ, so the least over κ of its α.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> cost = Cost(c_d=0.1)
    >>> round(alpha_of_best_speed(theory.optimum(Iid(alpha=0.7), cost, 16).best_speedup, cost, 16), 9)
    0.7
    """
    passes = [cost.target_pass(kappa) + cost.drafting(kappa) for kappa in range(1, most + 1)]
    return min(alpha_of_tokens(speed * spent, kappa) for kappa, spent in enumerate(passes, 1))


@dataclass(frozen=True)
class Played:
    """The rounds that stand for a prediction: tokens per round, or the speed-up at a cost."""

    process: Process
    kappa: int
    scheme: Scheme = CHAIN
    cost: Cost | None = None

    @property
    def need(self) -> Need:
        """What a lab must play."""
        return Need(self.process, (self.kappa,), scheme=self.scheme)

    def exact(self) -> float:
        """By the exact law of the scheme."""
        law = theory.scheme_law(self.scheme, self.process, self.kappa)
        return law.mean_tokens if self.cost is None else law.speedup(self.cost)

    def observe(self, lab: Lab) -> Seen:
        """Simulated value, its standard error, and what is behind it."""
        counts = lab.counts(self.process, self.scheme)
        at = counts.kappas.index(self.kappa)
        if self.cost is None:
            own = ratio(counts.by_unit("tokens"), counts.by_unit("n"), counts.weight)
        else:
            own = speedups(counts, self.scheme.priced(self.cost))
        return Seen(float(own.value[at]), float(own.error[at]), int(counts.total("n")[at]), counts.units)


@dataclass(frozen=True)
class Predicted:
    """One published figure beside the model's.

    Attributes
    ----------
    system, inputs : str
        What was run, and what was taken from the source.
    quantity : str
    span : Span
        Prediction, and all that the inputs allow: their rounding, or an input that nobody published.
    published, unit : float
        As printed, and one of its last digit.
    missing : str
        The input that the model lacks; empty where it has all.
    played : Played, optional
        Rounds that simulate it.
    """

    system: str
    inputs: str
    quantity: str
    span: Span
    published: float
    unit: float
    missing: str = ""
    played: Played | None = None

    @property
    def predicted(self) -> float | None:
        """The prediction; None where the inputs leave only a range."""
        return self.span.value

    @property
    def difference(self) -> float:
        """Predicted less published; from the nearer end of a range, 0 inside it."""
        if self.span.value is not None:
            return self.span.value - self.published
        return min(max(self.published, self.span.low), self.span.high) - self.published

    @property
    def holds(self) -> bool:
        """Whether the printed figure and what the inputs allow meet, each within its rounding."""
        half = self.unit / 2 * (1.0 + ROUNDING)
        return self.span.low <= self.published + half and self.span.high >= self.published - half


@dataclass(frozen=True)
class Group:
    """Rows of one kind.

    Attributes
    ----------
    title : str
    source : str
        Paper and table, or repository and commit.
    model : str
        What the prediction is, in words.
    rows : tuple of Predicted
    finding : str
        What comes out, in words; numbers are in the table.
    """

    title: str
    source: str
    model: str
    rows: tuple[Predicted, ...]
    finding: str
