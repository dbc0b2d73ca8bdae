"""What does a token cost in one short unit, exactly?  The whole law of a lane of few rounds, and of one request."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from simspec import theory
from simspec.model import BetaMixture, Cost, DiscreteMixture, Drift, Hmm, Markov, Process
from simspec.theory.hidden import hmm_chain
from simspec.theory.lanes import DraftChain, window_start_law
from simspec.theory.law import FloatArray
from simspec.theory.requests import request_shares


def token_cost_quantile(process: Process, kappa: int, cost: Cost, rounds: int, share: float) -> float:
    """The smallest cost per token that so many of all units reach or stay below.

    Parameters
    ----------
    process : Process
        Of fresh windows (a unit is one of them), a carried chain of two states or a hidden Markov model (a unit has
        ``rounds`` windows), or one with requests of fixed length, cut at their end (a unit is a request).
    cost : Cost
        Without tables.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> token_cost_quantile(Iid(alpha=0.5), 1, Cost(c_d=0.5, c_r=0.25), 1, 0.4)  # 1.5 for two tokens, 1.75 for one
    0.75
    """
    values, chances = _law(process, kappa, cost, rounds)
    order = np.argsort(values)
    reached = np.cumsum(chances[order])
    at = int(np.searchsorted(reached, share * reached[-1] - 1e-12))
    return float(values[order][at])


def _law(process: Process, kappa: int, cost: Cost, rounds: int) -> tuple[FloatArray, FloatArray]:
    """Costs per token, and how likely they are."""
    if process.unit == "window":
        chances = theory.window(process, kappa).pmf_accepted
        accepted = np.arange(kappa + 1)
        return (cost.base(kappa) + cost.c_r * (accepted < kappa)) / (accepted + 1.0), chances
    if process.unit == "lane":
        held = lane_law(chain_of(process), kappa, rounds)
        accepted, rejected = np.nonzero(held)
        spent = rounds * cost.base(kappa) + cost.c_r * rejected
        return spent / (rounds + accepted), held[accepted, rejected]
    rates, weights = _rates(process, kappa)
    requests = request_law(rates, weights, kappa)
    counts = np.array(list(requests))
    spent = counts @ np.array([cost.c0, cost.c_d + cost.c_v, cost.c_r])
    return spent / len(rates), np.array(list(requests.values()))


def chain_of(process: Process) -> DraftChain:
    """What one draft does to the state; the outcomes of a two-state chain are states that always, or never, accept."""
    if isinstance(process, Markov):
        up, down = process.alpha + process.rho * (1.0 - process.alpha), process.alpha * (1.0 - process.rho)
        both = process.steps_after_reject, process.steps_after_full
        moves = ((up, 1.0 - up), (down, 1.0 - down))
        return hmm_chain(
            Hmm(P=moves, alphas=(1.0, 0.0), start="carry", steps_after_reject=both[0], steps_after_full=both[1])
        )
    assert isinstance(process, Hmm)  # no other process with lanes is asked for
    return hmm_chain(process)


def lane_law(chain: DraftChain, kappa: int, rounds: int) -> FloatArray:
    """Chance of so many accepted drafts and rejections in one lane, (κ·rounds + 1, rounds + 1).

    Examples
    --------
    >>> half = np.full((2, 2), 0.25)
    >>> lane_law(DraftChain(half, half, half), 1, 1)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    starts = window_start_law(chain, kappa)
    held = np.zeros((len(starts), kappa * rounds + 1, rounds + 1))
    held[:, 0, 0] = starts
    for _ in range(rounds):
        after, reached = np.zeros_like(held), held
        for accepted in range(kappa):
            ended = np.tensordot(chain.reject.T, reached, 1)
            after[:, accepted:, 1:] += ended[:, : ended.shape[1] - accepted, :-1]
            reached = np.tensordot((chain.accept if accepted < kappa - 1 else chain.last).T, reached, 1)
        after[:, kappa:] += reached[:, : reached.shape[1] - kappa]
        held = after
    law: FloatArray = held.sum(axis=0)
    return law


def _rates(process: Process, kappa: int) -> tuple[FloatArray, FloatArray]:
    """Acceptance rate by position and kind of request, (tokens, kinds), and how likely a kind is."""
    if isinstance(process, Drift):
        return np.array(process.rates())[:, None], np.ones(1)
    assert isinstance(process, (BetaMixture, DiscreteMixture))  # no other process has requests
    rates, weights = request_shares(process, kappa)
    return np.broadcast_to(rates, (int(process.request_tokens or 1), len(rates))), weights


def request_law(rates: FloatArray, weights: FloatArray, kappa: int) -> dict[tuple[int, int, int], float]:
    """Chance of so many rounds, drafts and rejections until all tokens are out; the last drafts are cut to fit.

    Examples
    --------
    >>> request_law(np.full((2, 1), 0.5), np.ones(1), 3)
    {(1, 1, 0): 0.5, (2, 1, 1): 0.5}
    """
    tokens = len(rates)
    ways: list[dict[tuple[int, int, int], FloatArray]] = [
        defaultdict(lambda: np.zeros(len(weights))) for _ in range(tokens + 1)
    ]
    ways[0][0, 0, 0] = weights
    for i in range(tokens):
        drafts = min(kappa, tokens - 1 - i)
        for (rounds, drafted, rejected), chance in ways[i].items():
            alive = chance
            for accepted in range(drafts):
                ended = alive * (1.0 - rates[i + accepted])
                place = rounds + 1, drafted + drafts, rejected + 1
                ways[i + accepted + 1][place] = ways[i + accepted + 1][place] + ended
                alive = alive * rates[i + accepted]
            place = rounds + 1, drafted + drafts, rejected
            ways[i + drafts + 1][place] = ways[i + drafts + 1][place] + alive
    return {place: float(chance.sum()) for place, chance in ways[tokens].items()}
