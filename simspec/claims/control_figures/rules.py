"""How are controllers defined, as functions of the rounds so far?  Their third writing, for the exact law of histories.

Each rule takes the rounds as (drafted, accepted) and answers with κ; it shares nothing with kernel and twin.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simspec import theory
from simspec.model import Cost
from simspec.model.policies import BatchTable, Goodput, Heuristic, Policy, Rolling, Schedule, Steps, Ucb
from simspec.theory import article
from simspec.theory.policy_histories import History

COST = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
CODED = Cost(c_d=0.1, c_v=0.5, c_r=1.0)
"""The article's prices, which its formula reads."""
PLAN = (5, 0, 3, 1, 2, 4, 0, 7, 1, 1, 2, 2)


def heuristic(rounds: History) -> int:
    """Two up after a full round, one down after another, from 3, between 1 and 7."""
    kappa = 3
    for drafted, accepted in rounds:
        kappa = min(7, kappa + 2) if accepted == drafted else max(1, kappa - 1)
    return kappa


def planned(rounds: History) -> int:
    """By output position."""
    return PLAN[min(_tokens(rounds), len(PLAN) - 1)]


def by_batch(rounds: History) -> int:
    """By a batch that shrinks with the position."""
    return (0, 2, 2, 5, 5)[min(_tokens(rounds), 4)]


def _tokens(rounds: History) -> int:
    return sum(accepted + 1 for _, accepted in rounds)


def _rolled(rounds: History, smoothing: float = 0.85) -> float:
    estimate = 0.7
    for drafted, accepted in rounds:
        for verdict in [1] * accepted + [0] * (accepted < drafted):
            estimate = article.ewma_step(estimate, verdict, smoothing)
    return estimate


def corrected(rounds: History) -> int:
    """The best κ at the rolling estimate."""
    return 3 if not rounds else int(theory.plug_in_kappas(np.array([_rolled(rounds)]), COST, 7)[0])


def as_written(rounds: History) -> int:
    """λ = .85, equation (12) as coded, guard at .25, lowered to the shortest."""
    if not rounds:
        return 3
    estimate = _rolled(rounds)
    kappa = 7 if estimate >= 1 else min(7, max(1, round(article.kappa_star_as_coded(estimate, CODED.c_d))))
    return article.guard_settles_at(estimate, kappa)


def stepped(rounds: History) -> int:
    """Candidates 1, 3, 6 after every round: down at or below c − ¾, else up above c − ½."""
    own, kappa, average = (1, 3, 6), 3, 2.0
    for _, accepted in rounds:
        average = 0.8 * average + 0.2 * accepted
        lower = [c for c in own if c <= kappa]
        while len(lower) > 1 and average <= lower[-2] - 0.75:
            lower.pop()
        if lower[-1] == kappa:
            while kappa < 6 and average > kappa - 0.5:
                kappa = own[own.index(kappa) + 1]
        else:
            kappa = lower[-1]
    return kappa


def goodput(rounds: History) -> int:
    """Rates per depth: accepted over examined, begun with one draft of .7, older rounds at .9 each."""
    if not rounds:
        return 3
    examined, kept = [1.0] * 7, [0.7] * 7
    for drafted, accepted in rounds:
        for j in range(7):
            examined[j] = 0.9 * examined[j] + (j < accepted + (accepted < drafted))
            kept[j] = 0.9 * kept[j] + (j < accepted)
    rates = (a / b for a, b in zip(kept, examined, strict=True))
    alive = [1.0, *itertools.accumulate(rates, lambda x, y: x * y)]
    speed = [sum(alive[: k + 1]) / (COST.base(k) + COST.c_r * (1 - alive[k])) for k in range(8)]
    return max(range(1, 8), key=lambda k: speed[k])


def bounded(rounds: History, window: int = 1000) -> int:
    """UCB on tokens − Ŝ·cost over κ = 1 … 3, of the last rounds; what was cut counts nowhere."""
    kappa, seen = 1, list[tuple[int, int, float]]()
    for drafted, accepted in rounds:
        if drafted == kappa:
            seen = [*seen, (kappa, accepted + 1, COST.of_round(kappa, accepted < drafted))][-window:]
        if not seen:
            continue
        speed = sum(t for _, t, _ in seen) / sum(c for _, _, c in seen)
        index = {}
        for arm in (1, 2, 3):
            own = [t - speed * c for k, t, c in seen if k == arm]
            index[arm] = sum(own) / len(own) + math.sqrt(math.log(len(seen)) / len(own)) if own else math.inf
        highest = max(index.values())
        kappa = min(arm for arm in index if index[arm] >= highest - 1e-9)
    return kappa


_BOUNDS: dict[str, Any] = {"first": 3, "lowest": 1, "highest": 7}
RULES: dict[str, tuple[Policy, Callable[[History], int]]] = {
    "+2/−1 heuristic": (Heuristic(**_BOUNDS), heuristic),
    "table by position": (Schedule(kappas=PLAN), planned),
    "table by batch": (BatchTable(table=((1, 4, 5), (5, 8, 2), (9, 64, 0)), batches=(9, 8, 6, 3, 1)), by_batch),
    "rolling estimate, best κ": (Rolling(**_BOUNDS, cost=COST), corrected),
    "the article's loop": (Rolling(**_BOUNDS, rule="article", cost=CODED, guard=0.25), as_written),
    "SGLang steps": (Steps(candidates=(1, 3, 6), first=3, warm_up=0, interval=1), stepped),
    "goodput": (Goodput(**_BOUNDS, keep=0.9, cost=COST), goodput),
    "UCB1": (Ucb(first=1, lowest=1, highest=3, width=1.0, cost=COST), bounded),
}
"""Name → what the engine plays, and the rule."""
