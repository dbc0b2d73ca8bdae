"""What is one parameter set of a system, which figures are held against each other, and what makes the exact one?"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from simspec import theory
from simspec.model import Cost, Process, Scheme, Simulation
from simspec.model.schemes import Chain
from simspec.stats.counts import Counts
from simspec.stats.intervals import Ratio, ratio
from simspec.stats.point import speedups
from simspec.theory import SchemeLaw

PRICE = Cost(c_d=0.07, c_v=0.01, c_r=0.2)
"""In plain target steps: a usual draft, a usual width, and a rollback so that rejections are priced."""
CHAIN = Chain()


@dataclass(frozen=True)
class Case:
    """One parameter set.

    Attributes
    ----------
    process : Process
    kappa : int
    scheme : Scheme
    edge : str
        What is at its limit, in words; empty at a usual place.
    price : Cost
        At which the speed-up is asked for.
    """

    process: Process
    kappa: int
    scheme: Scheme = CHAIN
    edge: str = ""
    price: Cost = PRICE

    @property
    def simulation(self) -> Simulation:
        return Simulation(self.process, self.scheme)

    @functools.cached_property
    def law(self) -> SchemeLaw:
        """The exact means of the scheme."""
        return theory.scheme_law(self.scheme, self.process, self.kappa)

    def under(self, scheme: Scheme) -> Case:
        """The same set drafted and verified in another way.

        Examples
        --------
        >>> from simspec.model import Iid
        >>> Case(Iid(alpha=0.5), 2).under(Chain(heads=2)).scheme.heads
        2
        """
        return replace(self, scheme=scheme)


@dataclass(frozen=True)
class Quantity:
    """A figure of a case, asked of the exact route and of what was played at its κ alone."""

    name: str
    exact: Callable[[Case], float]
    seen: Callable[[Case, Counts], Ratio]


def _tokens(case: Case, counts: Counts) -> Ratio:
    return ratio(counts.by_unit("tokens"), counts.by_unit("n"), counts.weight)


def _speed(case: Case, counts: Counts) -> Ratio:
    return speedups(counts, case.scheme.priced(case.price))


def _lost(case: Case, counts: Counts) -> Ratio:
    assert counts.kinds is not None  # of schemes but chains
    return ratio(counts.kinds.lost_by_unit, counts.by_unit("tokens"), counts.weight)


def _loss(case: Case) -> float:
    assert case.law.loss is not None  # such a scheme counts what it loses
    return case.law.loss


def _foresight(case: Case, counts: Counts) -> Ratio:
    """Drafts that are right are made and no others, which pays where each is cheaper than the token it brings."""
    each = case.price.drafting(1) + case.price.target_pass(1) - case.price.target_pass(0)
    spent = case.price.target_pass(0) * counts.by_unit("n") + each * counts.by_unit("accepted")
    return ratio(counts.by_unit("tokens"), spent, counts.weight)


TOKENS = Quantity("tokens per round", lambda case: case.law.mean_tokens, _tokens)
SPEED = Quantity("speed-up", lambda case: case.law.speedup(case.price), _speed)
LOST = Quantity("share of tokens lost", _loss, _lost)
"""By the measure of the scheme, which rounds count."""
USUAL = (TOKENS, SPEED)


def tokens_by(exact: Callable[[Case], float]) -> Quantity:
    """Tokens per round, the exact value from elsewhere than the law of the scheme."""
    return replace(TOKENS, exact=exact)


def speed_by(exact: Callable[[Case], float]) -> Quantity:
    """Speed-up, the exact value from elsewhere than the law of the scheme."""
    return replace(SPEED, exact=exact)


def foresight_by(exact: Callable[[Case], float]) -> Quantity:
    """Speed-up if the draft knew what will be accepted, from rounds whose drafts are all judged."""
    return Quantity("speed-up with foresight", exact, _foresight)


@dataclass(frozen=True)
class System:
    """A system on its parameter sets.

    Attributes
    ----------
    line : str
        The row of the list of systems it belongs to.
    name : str
    exact_by : str
        How the exact value is found, in words.
    cases : tuple of Case
        At least five, edges among them.
    quantities : tuple of Quantity
    """

    line: str
    name: str
    exact_by: str
    cases: tuple[Case, ...]
    quantities: tuple[Quantity, ...] = field(default=USUAL)
