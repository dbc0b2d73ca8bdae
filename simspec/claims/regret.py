"""Claim C45: how fast does the loss of an adaptive κ grow, for the rolling estimate and for a rule that learns?

Regret is what a rule spends beyond the best fixed κ for the same tokens, in plain target steps.
"""

from __future__ import annotations

import functools
import math
from functools import partial

import numpy as np

from simspec import theory
from simspec.claims.claim import Claim, Says, below, formula, untestable
from simspec.claims.loops import GRID, PLUG_IN, SMOOTHING, best, steady_truth
from simspec.claims.policy_quantity import RegretSlope
from simspec.claims.quantity import Formula
from simspec.claims.setup import STANDARD, USUAL, step_alpha
from simspec.model import Drift
from simspec.model.policies import Policy, Rolling, Thompson, Ucb
from simspec.theory.law import FloatArray

EXPLORED = 8
"""Draft length while exploring: one long draft informs about every shorter one."""
SHORT, LONG = 256, 4096
"""Rounds between which the growth of regret is taken."""


def claims() -> list[Claim]:
    """Rows of C45."""
    row = partial(Claim, "C45", "5.2")
    slope, learned = _rolling_slope(), _learning_slope()
    apart = {kappa: windows_apart(kappa) for kappa in (3, 5)}
    statement = "An adaptive kappa comes within a regret of O(sqrt T), slope 1/2 (at most .6)."
    return [
        untestable(
            "C45",
            "5.2",
            "the source",
            "Sun et al. 2024 give an online algorithm for kappa*_i with regret O(sqrt T).",
            "a statement about the literature; reference 6 is Big Little Decoder, which has no online algorithm",
            "Regret bounds for speculative decoding stand in Hou et al. (2025), BanditSpec, arXiv 2505.15141; that "
            f"such a rate can be had at a constant alpha is shown by exploring first, slope {learned:.3f}.",
        ),
        row(
            "the words: growth of sqrt T when T grows fourfold",
            "Regret O(sqrt T) is linear regret.",
            formula(4.0),
            Formula(lambda: math.sqrt(4.0)),
            f"sqrt T is sublinear: it grows by {math.sqrt(4.0):.0f}.",
        ),
        row(
            "a rule that learns: sqrt(T) rounds with kappa = 8, then kappa* of accepted over examined; alpha = .7, "
            "beta = .1: slope of log regret from 256 to 4,096 rounds",
            statement,
            below(0.6),
            Formula(_learning_slope, again=partial(_learning_slope, True)),
            f"Where alpha is constant a rule that stops moving does: its regret is {learning_regret(SHORT):.1f} plain "
            f"target steps after {SHORT} rounds and {learning_regret(LONG):.1f} after {LONG:,}, slope {learned:.3f}.",
        ),
        row(
            "kappa* of the article's own rolling estimate, lambda = .85, alpha = .7, beta = .1: slope of log regret "
            "from 256 to 1,024 tokens",
            statement,
            below(0.6),
            Formula(_rolling_slope),
            "This estimate never settles, though kappa = 4 could be told from 5 and 3 after "
            f"{apart[5]:,.0f} and {apart[3]:,.0f} rounds of each at one standard error: its regret is linear, slope "
            f"{slope:.3f}.",
        ),
        row(
            "kappa* of the article's own rolling estimate, lambda = .85, alpha = .7, beta = .1: regret per token in "
            "the long run",
            "The regret per token vanishes.",
            Says(-0.001, 0.001),
            Formula(_per_token, again=lambda: (rolling_regret(1024) - rolling_regret(256)) / 768, tolerance=GRID),
            f"It stays at {_per_token():.4f} plain target steps, {1 - steady_truth(PLUG_IN, USUAL) / best(0.7):.2%} of "
            "the speed.",
        ),
        *_played(statement),
    ]


PLAYED: dict[str, Policy] = {
    "kappa* of the rolling estimate, lambda = .85": Rolling(highest=EXPLORED),
    "UCB1 over kappa = 1 to 4, the lengths of BanditSpec": Ucb(first=1, highest=4),
    "Thompson sampling of the rate, kappa = 1 to 8": Thompson(highest=EXPLORED),
}
MARKS = (10_000, 100_000)


def _played(statement: str) -> list[Claim]:
    """Rules whose regret no formula gives, played for long; ten million rounds are in results/control."""
    rows = []
    for name, policy in PLAYED.items():
        learns = not isinstance(policy, Rolling)
        rows.append(
            Claim(
                "C45",
                "5.2",
                f"{name}; alpha = .7, beta = .1: slope of log regret from 10,000 to 100,000 rounds",
                statement,
                below(0.6),
                RegretSlope(USUAL, policy.told((STANDARD,)), STANDARD, MARKS),
                f"A rule that weighs all it has seen settles, as exploring first does (slope {_learning_slope():.3f}): "
                "a regret like a square root, or less, can be had at a constant alpha."
                if learns
                else "A memory of 12 drafts never settles, and regret is linear: every token goes on costing "
                f"{_per_token():.4f} plain target steps more.",
            )
        )
    return rows


@functools.cache
def rolling_regret(tokens: int) -> float:
    """Cost of a generation under the controller beyond that of the best fixed κ in the long run, α = .7."""
    level = Drift(shape="linear", alpha_start=0.7, alpha_end=0.7, tokens=tokens)
    spent = theory.controller_generation(level, PLUG_IN.rule(), STANDARD, SMOOTHING, 0.7)
    return spent.mean_cost - tokens / best(0.7)


def _rolling_slope() -> float:
    return math.log(rolling_regret(1024) / rolling_regret(256)) / math.log(4)


def _per_token() -> float:
    return 1 / steady_truth(PLUG_IN, USUAL) - 1 / best(0.7)


def windows_apart(kappa: int) -> float:
    """Windows of each of two κ after which the gap S(4) − S(κ) is one standard error wide (α = .7)."""
    gap = theory.speedup(USUAL, 4, STANDARD) - theory.speedup(USUAL, kappa, STANDARD)
    spread = sum(theory.window(USUAL, own).var_accepted / STANDARD.base(own) ** 2 for own in (4, kappa))
    return spread / gap**2


def _learning_slope(by_verdict: bool = False) -> float:
    grown = learning_regret(LONG, by_verdict) / learning_regret(SHORT, by_verdict)
    return math.log(grown) / math.log(LONG / SHORT)


@functools.cache
def learning_regret(rounds: int, by_verdict: bool = False) -> float:
    """Regret of exploring √T rounds and keeping κ*(accepted/examined) for the rest, α = .7.

    ``by_verdict`` takes the second way to every part: single verdicts in place of window laws, sums of powers in place
    of mean lengths, and the steps of κ* in place of a search over all κ.
    """
    explored = math.isqrt(rounds)
    law = _verdicts_one_by_one(explored) if by_verdict else _verdicts_by_window(explored)
    accepted, rejected = np.nonzero(law)
    seen = accepted / (accepted + rejected)
    if by_verdict:
        steps = [step_alpha(kappa, STANDARD) for kappa in range(1, 20)]  # from kappa to kappa + 1
        kappas = 1 + np.searchsorted(steps, seen)
    else:
        kappas = PLUG_IN.rule()(seen)
    lost = np.array([_lost(kappa, by_verdict) for kappa in range(21)])
    kept = float(law[accepted, rejected] @ lost[kappas])
    return explored * float(lost[EXPLORED]) + (rounds - explored) * kept


def _lost(kappa: int, by_sums: bool) -> float:
    """What one round of κ drafts costs beyond its tokens at the best κ, α = .7."""
    if by_sums:
        most = max(sum(0.7**j for j in range(k + 1)) / (1 + 0.1 * k) for k in range(21))
        return 1 + 0.1 * kappa - sum(0.7**j for j in range(kappa + 1)) / most
    return STANDARD.base(kappa) - theory.window(USUAL, kappa).mean_tokens / best(0.7)


def _verdicts_by_window(rounds: int) -> FloatArray:
    """[accepted, rejected] of ``rounds`` windows: their laws, one convolved with the next."""
    pmf = theory.window(USUAL, EXPLORED).pmf_accepted
    law: FloatArray = np.zeros((rounds * EXPLORED + 1, rounds + 1))
    law[0, 0] = 1.0
    for _ in range(rounds):
        after = np.zeros_like(law)
        for length in range(EXPLORED):
            after[length:, 1:] += pmf[length] * law[: len(law) - length, :-1]
        after[EXPLORED:] += pmf[EXPLORED] * law[:-EXPLORED]
        law = after
    return law


def _verdicts_one_by_one(rounds: int) -> FloatArray:
    """The same, verdict after verdict."""
    law: FloatArray = np.zeros((rounds * EXPLORED + 1, rounds + 1))
    law[0, 0] = 1.0
    for _ in range(rounds):
        alive, stopped = law, np.zeros_like(law)
        for _ in range(EXPLORED):
            stopped[:, 1:] += 0.3 * alive[:, :-1]
            alive = np.vstack([np.zeros((1, rounds + 1)), 0.7 * alive[:-1]])
        law = stopped + alive
    return law
