"""What does a rule do to requests that are served together?  All histories of a small batch of short ones, listed.

A batch makes its rounds in lock step.  A request that ends is replaced at once; only the first request of every place
counts, the others are company.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.model.mixture import DiscreteMixture
from simspec.theory.law import FloatArray
from simspec.theory.policy_histories import HISTORY_KAPPA_LIMIT
from simspec.theory.ranges import check_whole

BatchRound = tuple[tuple[int, int], ...]
"""One round of a batch: (drafted, accepted) by place."""
BatchChoice = Callable[[tuple[BatchRound, ...]], int]
"""κ of all places after the rounds so far."""
OwnChoice = Callable[[tuple[tuple[int, int], ...]], int]
"""κ of one place after the rounds of its request so far."""

BATCH_HISTORIES_LIMIT = 3_000_000
"""Rounds in the tree of histories: a minute or two."""


@dataclass(frozen=True, eq=False)
class BatchLaw:
    """A batch of requests under a rule; means are over the places, each until its first request is out.

    Attributes
    ----------
    expected_counts : array
        ``[drafted, accepted]``: expected rounds of a request.
    expected_steps : array, last axis 2
        ``[largest, rejected]``: expected rounds of a request in steps with so many drafts at most, and with a rejection
        at any place.
    mean_rounds, mean_flips : float
        Rounds of a request, and how often κ was another one than in the round before.
    own_cost, step_cost : float
        What the rounds of a request would cost by themselves, and what the steps cost: a step is as long as its longest
        place, max over the drafts and c_r if any place rejects.
    speedup : float
        N over ``step_cost``.
    straggling : float
        1 − own_cost/step_cost, the share of the time that is spent waiting for other places.
    """

    expected_counts: FloatArray
    expected_steps: FloatArray
    mean_rounds: float
    mean_flips: float
    own_cost: float
    step_cost: float
    speedup: float
    straggling: float


@dataclass(frozen=True)
class _Place:
    """What stands at one place of a batch."""

    rates: tuple[float, ...]
    position: int = 0
    counts: bool = True
    rounds: tuple[tuple[int, int], ...] = ()
    last: int | None = None


@dataclass
class _Sums:
    """What is added up along the tree, over all places."""

    counts: FloatArray
    steps: FloatArray
    flips: float = 0.0
    visited: int = 0
    longest: int = field(default=0)


def enumerate_batch(
    process: Drift | DiscreteMixture, policy: BatchChoice | OwnChoice, cost: Cost, batch: int = 2, shares: bool = True
) -> BatchLaw:
    """Exact means of short requests that are served together, under any rule.

    Parameters
    ----------
    process : Drift or DiscreteMixture
        Requests of N tokens: rates by position, or a rate that each request draws; with ``truncate`` a draft is cut to
        what its request needs.
    policy : callable
        With ``shares``: ``policy(rounds)`` is the next κ of all places, after the rounds of the batch, each a tuple of
        (drafted, accepted) by place.  Without: the next κ of one place, after the rounds (drafted, accepted) of the
        request that it serves now.  Asked with ``()`` first; 0 to 64.
    cost : Cost
        The prices of a round.
    batch : int
        Places, 1 to 4.
    shares : bool
        Whether all places have one κ.

    Returns
    -------
    BatchLaw

    Raises
    ------
    ParameterError
        If there are too many histories, a change of κ has a price, or the rule asks for something else than a κ.

    References
    ----------
    docs/serving.md, "Requests that are served together".

    Examples
    --------
    One draft for two requests of two tokens, each accepted with ½ (N = 2 needs one draft, then none): a request is out
    after one round or two, and while one place drafts its first token again the other is slowed down.

    >>> flat = Drift(shape="table", alphas=[0.5, 0.5])
    >>> own = enumerate_batch(flat, lambda rounds: 1, Cost(c_d=0.5))
    >>> own.mean_rounds, own.own_cost, own.step_cost, round(own.straggling, 4)
    (1.5, 2.0, 2.125, 0.0588)
    """
    check_whole("batch", batch, 1, 4)
    cost.check_changes_are_free("enumerate_batch")
    classes, tokens, truncate = _requests(process)
    top = HISTORY_KAPPA_LIMIT + 1
    sums = _Sums(np.zeros((top, top)), np.zeros((top, 2)))
    tree = _Tree(classes, tokens, truncate, policy, shares, sums)
    for chance, places in tree.begins([None] * batch):
        tree.grow(chance, places, ())
    end = sums.longest + 1
    counts, steps = sums.counts[:end, :end] / batch, sums.steps[:end] / batch
    price = np.array([[cost.base(drafted) + cost.c_r * rejected for rejected in (0, 1)] for drafted in range(end)])
    drafted, accepted = np.indices(counts.shape)
    own = float((counts * np.where(accepted < drafted, price[drafted, 1], price[drafted, 0])).sum())
    spent = float((steps * price).sum())
    return BatchLaw(
        expected_counts=counts,
        expected_steps=steps,
        mean_rounds=float(counts.sum()),
        mean_flips=sums.flips / batch,
        own_cost=own,
        step_cost=spent,
        speedup=tokens / spent,
        straggling=1.0 - own / spent,
    )


def _requests(process: Drift | DiscreteMixture) -> tuple[list[tuple[float, tuple[float, ...]]], int, bool]:
    """(share, rates by position) of every class of requests, N, and whether the last drafts are cut."""
    if isinstance(process, Drift):
        return [(1.0, tuple(process.rates()))], process.n_tokens, process.truncate
    mixed = isinstance(process, DiscreteMixture) and process.weights_of in ("requests", "tokens")
    if not mixed or process.geometric or process.request_tokens is None:
        told = "allowed: drift, or discrete_mixture with request_tokens and weights of requests"
        raise ParameterError("process", f"{process} has no requests of fixed length; {told}")
    n = process.request_tokens
    own = zip(process.shares(), process.alphas, strict=True)
    return [(share, (rate,) * n) for share, rate in own if share > 0.0], n, process.truncate


@dataclass(frozen=True, eq=False)
class _Tree:
    """The tree of histories of a batch."""

    classes: list[tuple[float, tuple[float, ...]]]
    tokens: int
    truncate: bool
    policy: Callable[..., int]
    shares: bool
    sums: _Sums

    def begins(self, places: list[_Place | None]) -> Iterator[tuple[float, list[_Place]]]:
        """Every way to fill the empty places with requests; of those that replace another, none counts."""
        first = all(place is None for place in places)
        options = [
            [(1.0, place)]
            if place is not None
            else [(share, _Place(rates, counts=first)) for share, rates in self.classes]
            for place in places
        ]
        for own in itertools.product(*options):
            yield float(np.prod([share for share, _ in own])), [place for _, place in own]

    def grow(self, chance: float, places: list[_Place], rounds: tuple[BatchRound, ...]) -> None:
        """Add what all continuations of a history have a chance to add."""
        self.sums.visited += 1
        if self.sums.visited > BATCH_HISTORIES_LIMIT:
            told = f"more than {BATCH_HISTORIES_LIMIT:,} rounds in all histories"
            raise ParameterError("process", f"{told}; allowed: fewer tokens, places or drafts")
        kappas = self._asked(places, rounds)
        drafts = [
            min(kappa, self.tokens - 1 - place.position) if self.truncate else kappa
            for kappa, place in zip(kappas, places, strict=True)
        ]
        self.sums.longest = max(self.sums.longest, *drafts)
        for place, kappa in zip(places, kappas, strict=True):
            self.sums.flips += chance * (place.counts and place.last is not None and place.last != kappa)
        options = [list(_verdicts(place, drafted)) for place, drafted in zip(places, drafts, strict=True)]
        for verdicts in itertools.product(*options):
            own = chance * float(np.prod([share for share, _ in verdicts]))
            outcome = tuple((drafted, accepted) for drafted, (_, accepted) in zip(drafts, verdicts, strict=True))
            self._enter(own, places, outcome)
            self._go_on(own, places, kappas, outcome, rounds)

    def _enter(self, chance: float, places: list[_Place], outcome: BatchRound) -> None:
        largest = max(drafted for drafted, _ in outcome)
        rejected = int(any(accepted < drafted for drafted, accepted in outcome))
        for place, (drafted, accepted) in zip(places, outcome, strict=True):
            if place.counts:
                self.sums.counts[drafted, accepted] += chance
                self.sums.steps[largest, rejected] += chance

    def _go_on(
        self,
        chance: float,
        places: list[_Place],
        kappas: list[int],
        outcome: BatchRound,
        rounds: tuple[BatchRound, ...],
    ) -> None:
        after: list[_Place | None] = []
        for place, kappa, (drafted, accepted) in zip(places, kappas, outcome, strict=True):
            here = place.position + accepted + 1
            own = _Place(place.rates, here, place.counts, (*place.rounds, (drafted, accepted)), kappa)
            after.append(own if here < self.tokens else None)
        if any(place is not None and place.counts for place in after):
            history = (*rounds, outcome) if self.shares else ()
            for share, filled in self.begins(after):
                self.grow(chance * share, filled, history)

    def _asked(self, places: list[_Place], rounds: tuple[BatchRound, ...]) -> list[int]:
        if self.shares:
            return [_kappa(self.policy(rounds), rounds)] * len(places)
        return [_kappa(self.policy(place.rounds), place.rounds) for place in places]


def _verdicts(place: _Place, drafted: int) -> Iterator[tuple[float, int]]:
    """(chance, accepted length) of one round at one place, those that have a chance."""
    alive, last = 1.0, len(place.rates) - 1
    for accepted in range(drafted):
        rate = place.rates[min(place.position + accepted, last)]
        if alive * (1.0 - rate) > 0.0:
            yield alive * (1.0 - rate), accepted
        alive *= rate
    if alive > 0.0:
        yield alive, drafted


def _kappa(asked: object, history: object) -> int:
    kappa = int(asked) if isinstance(asked, (int, np.integer)) and not isinstance(asked, bool) else -1
    if not 0 <= kappa <= HISTORY_KAPPA_LIMIT:
        told = f"policy asks for {asked!r} after {history}"
        raise ParameterError("policy", f"{told}; allowed: a whole number from 0 to {HISTORY_KAPPA_LIMIT}")
    return kappa
