"""Claims C46–C49: do a mean confidence, a geometric mean of heads, or α = 1 stand for other ways to decode faster?

Windows are simulated where a process of the engine describes them; schemes it does not play are judged by two exact
routes, one of them an enumeration.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from simspec import theory
from simspec.claims.claim import Claim, above, below, formula, integer, untestable
from simspec.claims.quantity import Difference, Formula, Speedup, SpeedupGain
from simspec.claims.setup import STANDARD
from simspec.claims.window_quantity import WindowShare
from simspec.model import DiscreteMixture, Iid, Position
from simspec.theory import article
from simspec.theory.law import FloatArray

BRANCHES = (0.4, 0.9)
HEADS = {
    "falling .8, .6, .5, .4": (0.8, 0.6, 0.5, 0.4),
    "falling .6, .42, .3, .22": (0.6, 0.42, 0.3, 0.22),
    "rising .4, .5, .6, .8": (0.4, 0.5, 0.6, 0.8),
    "falling .85, .8, .75, .7, .62": (0.85, 0.8, 0.75, 0.7, 0.62),
}
"""Acceptance of head i, given that the heads before it were accepted."""


def claims() -> list[Claim]:
    """Rows of C46–C49."""
    return [*_mean_confidence(), *_candidates(), *_geometric(), *_threshold(), *_diffusion()]


def _mean_confidence() -> list[Claim]:
    row = partial(Claim, "C46", "6.1")
    mean = sum(BRANCHES) / 2
    branch = DiscreteMixture(alphas=BRANCHES, weights=(0.5, 0.5))
    statement = "The expected branch confidence may stand for alpha."
    rows = [
        untestable(
            "C46",
            "6.1",
            "acceptance as a continuous score",
            "In lookahead decoding acceptance is a continuous score rather than a yes or no.",
            "what the method does is a matter of its definition",
            "Fu et al. (2024) verify n-grams token by token against the target, a yes or no each: with 15 of them "
            "and rate "
            f".5, a good step makes {theory.lookahead_step(0.5, 4, 15).mean_tokens:.4f} tokens.",
        )
    ]
    for kappa in (2, 4, 6, 8):
        own = WindowShare(branch, kappa, "accepted per window")
        plug = theory.expected_accepted(mean, kappa)
        rows.append(
            row(
                f"a branch has rate .4 or .9 for a whole window of kappa = {kappa}: E[A]",
                statement,
                formula(plug),
                own,
                f"E[A] is convex in the rate, so the mean rate .65 gives {plug:.4f}, {plug / own.exact() - 1:.1%}: the "
                f"truth is E[A] = {own.exact():.5f}.",
            )
        )
    four = WindowShare(Iid(alpha=mean), 4, "accepted per window")
    rows.append(
        row(
            "a rate .4 or .9 drawn anew at every position, kappa = 4: E[A]",
            statement,
            formula(theory.expected_accepted(mean, 4)),
            four,
            f"Rates drawn anew and independently at every position do act like their mean: E[A] = {four.exact():.4f}.",
        )
    )
    return rows


def _best_of(alpha: float, gamma: int, candidates: int) -> float:
    """E[tokens] of the best of G candidates by adding one candidate after the other to the law of the best."""
    one = np.array([alpha**j * (1 - alpha) for j in range(gamma)] + [alpha**gamma])
    best = one
    for _ in range(candidates - 1):
        joint = np.outer(best, one)
        best = np.array([joint[j, : j + 1].sum() + joint[:j, j].sum() for j in range(gamma + 1)])
    return 1.0 + float(best @ np.arange(gamma + 1))


def _candidates() -> list[Claim]:
    row = partial(Claim, "C46", "6.1")
    single = theory.lookahead_step(0.5, 4, 1).mean_tokens
    rows = []
    for candidates in (7, 15):
        own = theory.lookahead_step(0.5, 4, candidates).mean_tokens
        rows.append(
            row(
                f"{candidates} candidates verified side by side, rate .5, 4 tokens each: E[tokens] of a good step",
                "A single window with the mean branch confidence describes lookahead decoding.",
                formula(single),
                Formula(
                    partial(_step_tokens, candidates),
                    again=partial(_best_of, 0.5, 4, candidates),
                ),
                "The longest of G candidates is kept, E[tokens] = (g + 1) - sum of (1 - alpha^i)^G: a single one has "
                f"{single:.4f}, {candidates} have {own:.4f}.",
            )
        )
    return rows


def _step_tokens(candidates: int) -> float:
    return theory.lookahead_step(0.5, 4, candidates).mean_tokens


def geometric(rates: Sequence[float]) -> float:
    """The article's mean rate of heads."""
    return math.prod(rates) ** (1 / len(rates))


def _geometric() -> list[Claim]:
    row = partial(Claim, "C47", "6.2")
    rows = []
    for name, rates in HEADS.items():
        heads, mean = Position(alphas=rates), geometric(rates)
        own, rule = WindowShare(heads, len(rates), "accepted per window"), theory.expected_accepted(mean, len(rates))
        rows.append(
            row(
                f"heads {name}: E[A]",
                "alpha is to be replaced by the geometric mean of the heads' rates.",
                formula(rule),
                own,
                f"E[A] is the sum of the products of the first j rates: the geometric mean {mean:.4f} gives {rule:.4f} "
                f"({rule / own.exact() - 1:+.1%}), the truth is {own.exact():.5f}.",
            )
        )
    rates = HEADS["falling .8, .6, .5, .4"]
    rejecting = WindowShare(Position(alphas=rates), 4, "windows with a rejection")
    least, most, errors = _scan_of_heads()
    return [
        *rows,
        row(
            "heads falling .8, .6, .5, .4: share of rounds with a rejection",
            "alpha is to be replaced by the geometric mean of the heads' rates.",
            formula(1 - geometric(rates) ** 4),
            rejecting,
            f"P(all heads accepted) is the only thing the geometric mean gets right: {1 - rejecting.exact():.4f}.",
        ),
        row(
            "all 495 non-increasing rows of 4 heads from .1, .2 to .9: largest of rule minus truth, E[A]",
            "The geometric mean errs in either direction.",
            above(1e-6),
            Formula(lambda: _scan_of_heads()[1], again=lambda: _scan_of_heads(by_outcomes=True)[1]),
            f"For falling heads it never exceeds the truth ({errors} of 495 are exact); it misses by up to "
            f"{-least:.3f} "
            f"tokens, and exceeds it by {max(0.0, most):.3f} at most.",
        ),
    ]


def _scan_of_heads(by_outcomes: bool = False) -> tuple[float, float, int]:
    """Least and largest error of the rule over non-increasing heads, and how many have none."""
    errors = []
    for rates in itertools.combinations_with_replacement(tuple(0.1 * i for i in range(9, 0, -1)), 4):
        truth = _listed_heads(rates) if by_outcomes else theory.expected_accepted_heads(rates)
        errors.append(theory.expected_accepted(geometric(rates), 4) - truth)
    return min(errors), max(errors), sum(abs(error) < 1e-9 for error in errors)


def _listed_heads(rates: Sequence[float]) -> float:
    """E[A] by listing all outcomes of all heads."""
    mean = 0.0
    for outcome in itertools.product((0, 1), repeat=len(rates)):
        chance = math.prod(rate if ok else 1 - rate for rate, ok in zip(rates, outcome, strict=True))
        mean += chance * (outcome.index(0) if 0 in outcome else len(rates))
    return mean


def _threshold() -> list[Claim]:
    row = partial(Claim, "C48", "6.2")
    rates = HEADS["falling .8, .6, .5, .4"]
    heads = Position(alphas=rates)
    grown = [WindowShare(heads, kappa, "accepted per window").exact() for kappa in (2, 3, 4)]
    rule = [theory.expected_accepted(geometric(rates[:kappa]), kappa) for kappa in (2, 3, 4)]
    priced = SpeedupGain(heads, 3, 2, STANDARD)
    return [
        row(
            "heads .8, .6, .5 and a fourth of .4: E[A] with it minus E[A] without",
            "Heads below alpha_c drag the whole down.",
            below(0.0),
            Difference(WindowShare(heads, 4, "accepted per window"), WindowShare(heads, 3, "accepted per window")),
            "A head adds the product of all rates up to its own and takes nothing away: E[A] = "
            + ", ".join(f"{value:.3f}" for value in grown)
            + " with 2, 3, 4 heads, while the geometric rule says "
            + ", ".join(f"{value:.3f}" for value in rule)
            + f"; the gain is {grown[2] - grown[1]:.3f}.",
        ),
        row(
            "the article's rule for the same heads: E[A] at the geometric mean with 4 heads minus with 3",
            "Heads below alpha_c drag the whole down.",
            below(0.0),
            Formula(
                lambda: rule[2] - rule[1],
                again=lambda: float(_geometric_sum(rates) - _geometric_sum(rates[:3])),
            ),
            f"It is the rule that falls, by {rule[1] - rule[2]:.4f}; E[A] rises by {grown[2] - grown[1]:.3f}.",
        ),
        row(
            "at a cost of .1 per head: S with heads .8, .6, .5 minus S with .8, .6",
            "A head of rate .5, below alpha_c = .74, costs speed.",
            below(0.0),
            priced,
            "A head pays while the product of the rates up to it is worth its cost: S changes by "
            f"{priced.exact():+.4f}.",
        ),
        untestable(
            "C48",
            "6.2",
            "independence of the heads",
            "Medusa's verdicts are kappa independent events.",
            "needs Medusa's joint verdicts; its paper prints each head's own accuracy",
            "Heads are made to depend on one another in Hydra (Ankner et al. 2024, arXiv 2402.05109). If they were "
            f"independent, E[A] of .8, .6, .5, .4 would be {grown[2]:.4f}.",
        ),
    ]


def _geometric_sum(rates: Sequence[float]) -> float:
    mean = float(np.exp(np.mean(np.log(rates))))
    return sum(mean**j for j in range(1, len(rates) + 1))


def schedule_steps(tokens: int, steps: int) -> int:
    """Denoising steps with a fixed schedule: tokens/steps are unmasked in each, one more in the first ones."""
    left, played = tokens, 0
    while left > 0:
        left -= tokens // steps + (played < tokens % steps)
        played += 1
    return played


def unmasking_steps(tokens: int, confident: float) -> float:
    """Mean steps if every masked token is confident independently, and at least one is unmasked per step."""
    mean = np.zeros(tokens + 1)
    for left in range(1, tokens + 1):
        chances = [math.comb(left, k) * confident**k * (1 - confident) ** (left - k) for k in range(left + 1)]
        later = chances[0] * mean[left - 1] + sum(chances[k] * mean[left - k] for k in range(1, left + 1))
        mean[left] = 1.0 + later
    return float(mean[tokens])


def _steps_by_matrix(tokens: int, confident: float) -> float:
    """The same by the fundamental matrix of the absorbing chain."""
    moves: FloatArray = np.zeros((tokens, tokens))  # row, column: left − 1
    for left in range(1, tokens + 1):
        for k in range(left + 1):
            after = left - max(k, 1)
            if after > 0:
                moves[left - 1, after - 1] += math.comb(left, k) * confident**k * (1 - confident) ** (left - k)
    return float(np.linalg.solve(np.eye(tokens) - moves, np.ones(tokens))[-1])


def _diffusion() -> list[Claim]:
    row = partial(Claim, "C49", "6.3")
    steps, mean = schedule_steps(128, 128), unmasking_steps(16, 0.3)
    right = theory.speedup(Iid(alpha=1.0), 4, STANDARD)
    return [
        row(
            "LLaDA's default schedule, 128 tokens in 128 steps: number of steps",
            "All masked tokens are accepted at once.",
            integer(1),
            Formula(lambda: float(schedule_steps(128, 128)), again=lambda: float(sum(1 for _ in _unmasked(128, 128)))),
            f"Its schedule unmasks 128/128 = 1 token per step, as many passes as one token at a time: {steps} steps.",
        ),
        row(
            "unmasking all confident tokens, 16 tokens, each confident with .3: mean number of steps",
            "All masked tokens are accepted at once.",
            integer(1),
            Formula(partial(unmasking_steps, 16, 0.3), again=partial(_steps_by_matrix, 16, 0.3)),
            "Nothing is verified, so there is no acceptance rate; it takes "
            f"{mean:.3f} steps, {16 / mean:.2f} tokens each.",
        ),
        row(
            "the article's rho at alpha = 1, reading R1, kappa = 4, beta = .1",
            "alpha = 1 is the fast extreme of the framework.",
            above(1.0),
            Formula(lambda: article.rho_r1(4, 1.0, 0.1), again=lambda: 4 / article.latency_r1(4, 1.0, 0.1)),
            f"The article's formula gives 1/(1 + beta) = {article.rho_r1(4, 1.0, 0.1):.4f}, slower than plain "
            "decoding; "
            f"(kappa + 1)/(1 + beta kappa) = {right:.4f} is right.",
        ),
        row(
            "throughput at alpha = 1, kappa = 4, beta = .1",
            "At alpha = 1 the article's rho is the speed-up.",
            formula(article.rho_r1(4, 1.0, 0.1)),
            Speedup(Iid(alpha=1.0), 4, STANDARD),
            f"Every round makes kappa + 1 tokens at cost 1 + beta kappa: S = {right:.4f}.",
        ),
    ]


def _unmasked(tokens: int, steps: int) -> list[int]:
    """Tokens unmasked per step of the schedule."""
    whole, more = divmod(tokens, steps)
    return [whole + 1] * more + [whole] * (steps - more)
