"""What does any rule that chooses κ do along one short generation?  All histories of its rounds, listed.

The rule is a Python function of the rounds so far.  Nothing is put on a grid and no two histories are merged, so that
every state a rule may keep is covered.  What a process hides is carried along as a belief (`simspec.theory.verdicts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from simspec.model.cost import Cost
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.model.mixture import BetaMixture, DiscreteMixture
from simspec.model.process import Process
from simspec.model.serving import NORMAL, Serving
from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_whole
from simspec.theory.verdicts import KAPPA_LIMIT, ByState, Verdicts, verdicts

History = tuple[tuple[int, int], ...]
"""The rounds so far, each as (drafted, accepted)."""
Choice = Callable[[History], int] | Callable[[History, int], int]
Asked = tuple[int, ...]

HISTORY_TOKENS_LIMIT = 16
"""Longest generation whose histories are all listed: their number doubles with every token."""
HISTORY_KAPPA_LIMIT = KAPPA_LIMIT
HISTORIES_LIMIT = 2**18
"""Most histories that are listed."""


@dataclass(frozen=True, eq=False)
class PolicyLaw:
    """One generation of N tokens, or N rounds of a lane, under a rule.

    Attributes
    ----------
    pmf_rounds : array, shape (N + 1,)
        P(r rounds), r = 0 … N.
    expected_counts : array
        ``[drafted, accepted]``: expected number of rounds.
    mean_rounds, mean_drafted, mean_accepted : float
        Rounds, drafts made, drafts accepted (before surplus tokens are discarded).
    mean_tokens : float
        Tokens kept: the length of the generation, or what the rounds emit.
    mean_flips, mean_wakes : float
        Rounds that asked for another κ than the round before, and rounds that drafted after one that had asked for
        κ = 0.
    mean_cost, var_cost : float
        Cost of all rounds, in plain target steps.
    speedup : float
        Expected tokens over expected cost.
    endings : tuple of (float, History)
        Every history of the whole generation with its probability; they add up to 1.
    """

    pmf_rounds: FloatArray
    expected_counts: FloatArray
    mean_rounds: float
    mean_drafted: float
    mean_accepted: float
    mean_tokens: float
    mean_flips: float
    mean_wakes: float
    mean_cost: float
    var_cost: float
    speedup: float
    endings: tuple[tuple[float, History], ...]

    def mean(self, figure: Callable[[History], float]) -> float:
        """Expectation of any figure of the whole history, e.g. of the last estimate."""
        return float(sum(chance * figure(history) for chance, history in self.endings))


def enumerate_policy(
    process: Process, policy: Choice, cost: Cost, *, tokens: int | None = None, rounds: int | None = None,
    longest: int | None = None, serving: Serving = NORMAL, foresees: bool = False,
) -> PolicyLaw:  # fmt: skip
    """Exact law of one short generation, or of the first rounds of a lane, under any rule that chooses κ.

    Parameters
    ----------
    process : Process
        Any process with an exact route.  `Drift` and requests of fixed length bring their N ≤ 16; with ``truncate`` a
        draft is cut to what is needed.
    policy : callable
        ``policy(rounds)``: the next κ, 0 to 64, after the rounds so far, each (drafted, accepted); a cut draft counts
        as what was drafted.  It is asked with ``()`` first.
    cost : Cost
        The prices of a round, and of changes of κ.
    tokens : int, optional
        Where a process has no end: the generation ends with the round that brings it to so many tokens, 1 to 16; drafts
        are not cut and surplus tokens are discarded.  For requests of geometric length: given that it is this.
    rounds : int, optional
        Where a process has no end, instead: so many rounds, 1 to 16, as a lane of a simulation plays them.
    longest : int, optional
        The longest draft that the rule may choose.  Needed where windows depend on those before: a lane begins in the
        long run of windows of that length.  Also by shares of rounds, and by processes of a user's own.
    serving : Serving
        Under which conditions the rule runs, one request at a time: it is told of all rounds but the last ``delay``,
        and a stale drafter rejects what it would have had accepted with probability 1 − stale_factor.
    foresees : bool
        Whether the rule knows the coming round: it is called ``policy(rounds, run)``, the run being what would be
        accepted of a draft without end, at most ``longest`` and at most what is needed.

    Returns
    -------
    PolicyLaw

    Raises
    ------
    ParameterError
        If the end is not said, or said twice, or too far; if ``longest`` is needed and missing; if there is no exact
        route; or if the rule asks for something else than a κ.

    References
    ----------
    docs/theory.md section 8; the article's Figure 1 is such a rule.  Belief over hidden states: the forward algorithm
    (Rabiner 1989, equations 18 to 20).

    Examples
    --------
    Two up after a full round, one down after another, from κ = 2:

    >>> def heuristic(rounds):
    ...     kappa = 2
    ...     for drafted, accepted in rounds:
    ...         kappa = max(1, kappa + 2 if accepted == drafted else kappa - 1)
    ...     return kappa
    >>> from simspec.model.drift import Drift
    >>> flat = Drift(shape="linear", alpha_start=0.5, alpha_end=0.5, tokens=4)
    >>> found = enumerate_policy(flat, heuristic, Cost(c_d=0.1))
    >>> found.mean_rounds, round(found.speedup, 4), len(found.endings)
    (2.75, 1.3115, 6)

    Three rounds on a hidden state that persists:

    >>> from simspec.model.chains import Hmm
    >>> slow = Hmm(P=[[0.9, 0.1], [0.1, 0.9]], alphas=[0.9, 0.3], start="carry")
    >>> found = enumerate_policy(slow, heuristic, Cost(c_d=0.1), rounds=3, longest=6)
    >>> round(found.mean_tokens, 4), round(found.speedup, 4)
    (5.6446, 1.5554)
    """
    end = _end(process, tokens, rounds)
    if longest is not None:
        check_whole("longest", longest, 0, KAPPA_LIMIT)
        process.check_kappa(longest)
    most = min(KAPPA_LIMIT if bound is None else bound for bound in (longest, process.longest_draft))
    source = verdicts(process, longest)
    _check_conditions(serving, foresees, source)
    asked = _Rule(policy, most, serving.delay)
    endings = list[tuple[float, History, Asked]]()
    listed = _Listing(source, asked, end, serving, foresees)
    for ending in listed.endings(source.start, (), (), 0, 0):
        endings.append(ending)
        if len(endings) > HISTORIES_LIMIT:
            told = f"{end} has more than {HISTORIES_LIMIT:,} histories"
            raise ParameterError(end.key, f"{told}; allowed: a nearer end, or shorter drafts")
    return _law(endings, end, cost)


def _check_conditions(serving: Serving, foresees: bool, source: Verdicts) -> None:
    if serving.batch > 1:
        told = f"batch = {serving.batch} serves several requests"
        raise ParameterError("serving", f"{told}; allowed: 1 (simspec.theory.enumerate_batch lists batches)")
    if foresees and serving.delay:
        told = f"delay = {serving.delay} has no effect on a rule that foresees"
        raise ParameterError("serving", f"{told}; allowed: 0")
    if foresees and isinstance(source, ByState):
        told = "foresees: a state that moves with every draft has moved on where a foreseen draft ends"
        raise ParameterError("process", f"{told}; allowed: processes whose windows have a law when they start")


@dataclass(frozen=True)
class _End:
    """When a history ends: at so many tokens, or after so many rounds; ``key`` is what to change."""

    key: str
    tokens: int = 0
    rounds: int = 0
    truncate: bool = False

    def __str__(self) -> str:
        return f"{self.key} = {self.tokens or self.rounds}"


def _end(process: Process, tokens: int | None, rounds: int | None) -> _End:
    own = {"process.tokens": process.n_tokens} if isinstance(process, Drift) else {}
    if isinstance(process, (BetaMixture, DiscreteMixture)) and process.by_request and not process.geometric:
        own = {"process.request_tokens": process.request_tokens or 0}
    given = {key: value for key, value in (("tokens", tokens), ("rounds", rounds)) if value is not None}
    for key, length in own.items():
        if given:
            told = f"{next(iter(given))} has no meaning: {process.type} has requests of {length} tokens"
            raise ParameterError(next(iter(given)), f"{told}; leave it out")
        check_whole(key, length, 1, HISTORY_TOKENS_LIMIT)
        return _End(key, tokens=length, truncate=bool(getattr(process, "truncate", False)))
    random = process.unit == "generation"
    if set(given) not in ({"tokens"}, {"rounds"}) or (random and rounds is not None):
        said = " and ".join(given) or "no end"
        told = f"{said} given, and {process.type} {'ends at random' if random else 'has no end of its own'}"
        allowed = "tokens = its length" if random else "either tokens or rounds"
        raise ParameterError("tokens", f"{told}; allowed: {allowed}, 1 to {HISTORY_TOKENS_LIMIT}")
    for key, value in given.items():
        check_whole(key, value, 1, HISTORY_TOKENS_LIMIT)
    return _End(next(iter(given)), tokens=tokens or 0, rounds=rounds or 0)


@dataclass(frozen=True)
class _Rule:
    """A rule whose answers are looked at."""

    policy: Callable[..., int]
    most: int
    delay: int

    def __call__(self, history: History, *run: int) -> int:
        known = history[: max(0, len(history) - self.delay)]
        kappa = self.policy(known, *run)
        if isinstance(kappa, bool) or not isinstance(kappa, (int, np.integer)) or not 0 <= kappa <= self.most:
            told = f"policy asks for {kappa!r} after {list(known)}"
            raise ParameterError("policy", f"{told}; allowed: a whole number from 0 to {self.most}")
        return int(kappa)


@dataclass(frozen=True)
class _Listing:
    """All continuations of a history that have a chance.

    ``mass`` is that of the history by what is hidden, ``asked`` are the κ asked for, ``stale`` the rounds to come in
    which the drafter is stale.
    """

    source: Verdicts
    rule: _Rule
    end: _End
    serving: Serving
    foresees: bool

    def endings(
        self, mass: FloatArray, history: History, asked: Asked, position: int, stale: int
    ) -> Iterator[tuple[float, History, Asked]]:
        end = self.end
        if len(history) == end.rounds if end.rounds else position >= end.tokens:
            yield float(mass.sum()), history, asked
            return
        needed = end.tokens - 1 - position if end.truncate else self.rule.most
        rounds = self._foreseen if self.foresees else self._played
        for kappa, drafted, accepted, after in rounds(mass, history, position, needed, stale > 0):
            left = stale - (stale > 0 and drafted > 0) if kappa else self.serving.stale_rounds
            so_far = (*history, (drafted, accepted)), (*asked, kappa)
            yield from self.endings(after, *so_far, position + accepted + 1, left)

    def _played(
        self, mass: FloatArray, history: History, position: int, needed: int, stale: bool
    ) -> Iterator[tuple[int, int, int, FloatArray]]:
        """Outcomes of one round: κ asked for, drafts, accepted length, and the mass at the start of the next."""
        kappa = self.rule(history)
        drafted = min(kappa, needed)
        for accepted in range(drafted):
            mass, rejected = self._draft(mass, position, accepted, stale)
            if rejected.any():
                yield kappa, drafted, accepted, self.source.after_reject(rejected)
            if not mass.any():
                return
        yield kappa, drafted, drafted, self.source.after_full(mass)

    def _foreseen(
        self, mass: FloatArray, history: History, position: int, needed: int, stale: bool
    ) -> Iterator[tuple[int, int, int, FloatArray]]:
        """The same where the rule knows the run: the mass is split by it, not by the verdicts."""
        most = min(self.rule.most, needed)
        for run in range(most + 1):
            mass, own = self._draft(mass, position, run, stale) if run < most else (mass, mass)
            if not own.any():
                continue
            kappa = self.rule(history, run)
            drafted = min(kappa, needed)
            after = self.source.after_full if run >= drafted else self.source.after_reject
            yield kappa, drafted, min(run, drafted), after(own)

    def _draft(self, mass: FloatArray, position: int, depth: int, stale: bool) -> tuple[FloatArray, FloatArray]:
        kept, rejected = self.source.draft(mass, position, depth)
        if not stale:
            return kept, rejected
        good = kept * self.serving.stale_factor
        return good, rejected + (kept - good)


def _law(endings: list[tuple[float, History, Asked]], end: _End, cost: Cost) -> PolicyLaw:
    longest = max(drafted for _, history, _ in endings for drafted, _ in history)
    last = end.tokens or end.rounds
    rounds, counts = np.zeros(last + 1), np.zeros((longest + 1, longest + 1))
    spent, squared, flips, wakes = 0.0, 0.0, 0.0, 0.0
    for chance, history, asked in endings:
        rounds[len(history)] += chance
        price = 0.0
        for drafted, kept in history:
            counts[drafted, kept] += chance
            price += cost.base(drafted) + cost.c_r * (kept < drafted)
        flipped = sum(a != b for a, b in pairwise(asked))
        woken = sum(before == 0 and drafted > 0 for before, (drafted, _) in zip(asked, history[1:], strict=False))
        price += cost.c_switch * flipped + cost.c_wake * woken
        flips, wakes = flips + chance * flipped, wakes + chance * woken
        spent, squared = spent + chance * price, squared + chance * price**2
    accepted = float(counts.sum(axis=0) @ np.arange(longest + 1))
    tokens = float(end.tokens or accepted + end.rounds)
    return PolicyLaw(
        pmf_rounds=rounds,
        expected_counts=counts,
        mean_rounds=float(rounds @ np.arange(last + 1)),
        mean_drafted=float(counts.sum(axis=1) @ np.arange(longest + 1)),
        mean_accepted=accepted,
        mean_tokens=tokens,
        mean_flips=flips,
        mean_wakes=wakes,
        mean_cost=spent,
        var_cost=max(squared - spent**2, 0.0),
        speedup=tokens / spent,
        endings=tuple((chance, history) for chance, history, _ in endings),
    )
