"""Claims C42, C43 and C53: why are verdicts dependent, does α fall along an output, and can ρ_A be derived?"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial

import numpy as np

from simspec import theory
from simspec.claims.claim import Claim, Says, above, below, untestable
from simspec.claims.lab import Lab, Need, Observed
from simspec.claims.quantity import BestKappa, Formula, Speedup, difference
from simspec.claims.random_pairs import Words, random_chain
from simspec.claims.setup import KAPPAS, STANDARD
from simspec.claims.window_quantity import WindowShare
from simspec.model import Drift, Iid, Position, Process, TokenChain
from simspec.stats.intervals import ratio, standard_error, student
from simspec.theory.law import WindowLaw

PAIR = TokenChain(target=((0.9, 0.1), (0.2, 0.8)), draft=((0.7, 0.3), (0.7, 0.3)))
"""A draft that looks at nothing, and a target with two contexts: α = .7."""
WIDE = TokenChain(target=((0.8, 0.2), (0.2, 0.8)), draft=((0.6, 0.4), (0.85, 0.15)))
LONG = 48
"""Draft length at which practically every round ends with a rejection, so that all verdicts along the text are seen."""
EAGLE_RATES = (0.79, 0.74, 0.72, 0.73)
"""Conditional rates by draft position of chain drafts, Vicuna-7B: Li, Wei, Zhang, Zhang (2024), EAGLE, Table 2."""
FALLING = Drift(shape="linear", alpha_start=0.85, alpha_end=0.62, tokens=1024)
MEAN_RATE = 0.735


@dataclass(frozen=True)
class NeighbourCorrelation:
    """Correlation of the verdicts on two successive examined drafts, (a − α)/(1 − α).

    a is the rate right after an accepted draft of the same window, α that of all examined drafts.
    """

    process: Process
    kappa: int

    @property
    def needs(self) -> tuple[Need, ...]:
        return (Need(self.process, (self.kappa,)),)

    def exact(self) -> float:
        law: WindowLaw = theory.window(self.process, self.kappa)
        after = (law.mean_accepted - 1.0 + law.p_zero_accepted) / (law.mean_accepted - law.p_full)
        rate = law.mean_accepted / law.mean_examined
        return (after - rate) / (1.0 - rate)

    def observe(self, lab: Lab, level: float) -> Observed:
        counts = lab.counts(self.process)
        at = counts.kappas.index(self.kappa)
        names = ("n", "accepted", "rejected", "zero")
        n, accepted, rejected, zero = (counts.by_unit(name)[at] for name in names)
        after = ratio(accepted - n + zero, accepted - n + rejected, counts.weight)
        rate = ratio(accepted, accepted + rejected, counts.weight)
        a, alpha = float(after.value), float(rate.value)
        influence = after.influence / (1.0 - alpha) + (a - 1.0) / (1.0 - alpha) ** 2 * rate.influence
        half = student(level, counts.units) * float(standard_error(influence, counts.weight))
        return Observed.around((a - alpha) / (1.0 - alpha), half, int(counts.total("n")[at]))


def listed_correlation(pair: TokenChain, before: int = 64) -> float:
    """Lag-1 correlation along the text by listing: two positions after ``before`` steps of the target from token 0."""
    target, draft = np.array(pair.target), np.array(pair.draft)
    law = np.eye(len(target))[0]
    for _ in range(before):
        law = law @ target
    both = one = 0.0
    tokens = range(len(target))
    for c, x, y in itertools.product(tokens, repeat=3):
        keep_x, keep_y = min(target[c, x], draft[c, x]), min(target[x, y], draft[x, y])
        both += law[c] * keep_x * keep_y
        one += law[c] * keep_x * target[x, y]
    return float((both - one * one) / (one * (1.0 - one)))


def claims() -> list[Claim]:
    """Rows of C42, C43 and C53."""
    return [*_eagle(), *_drift(), *_derived()]


def _eagle() -> list[Claim]:
    row = partial(Claim, "C42", "5.1")
    mean = WindowShare(Position(alphas=EAGLE_RATES), 4, "accepted per window")
    found, reading = theory.acceptance_correlation(PAIR, 2), theory.acceptance_correlation(WIDE, 2)
    printed_rates = ", ".join(f"{rate:.2f}" for rate in EAGLE_RATES)
    return [
        untestable(
            "C42",
            "5.1",
            "EAGLE and other drafts that read the target's states",
            "Successive verdicts on their drafts are dependent.",
            "needs their verdicts; EAGLE's paper prints rates by position, which dependence and position explain alike",
            f"The chain rates it prints are {printed_rates}: one step down, then flat; they make {mean.exact():.4f} "
            "accepted tokens at kappa = 4.",
        ),
        untestable(
            "C42",
            "5.1",
            "the cause, for EAGLE itself",
            "EAGLE's draft reads the target's hidden states, and therefore its successive verdicts are dependent.",
            "needs EAGLE's verdicts with and without that input",
            "Hidden states are no necessary cause: a draft that reads nothing at all can have "
            f"rho_A(1) = {found.rho[0]:.4f} (next rows).",
        ),
        row(
            "a draft that reads the context, target with two contexts: correlation rho_A(1) of neighbouring verdicts",
            "A draft that reads the target's state has dependent verdicts.",
            above(0.01),
            NeighbourCorrelation(WIDE, LONG),
            "If it is better in one context than in the other and contexts last, it does: rho_A(1) = "
            f"{reading.rho[0]:.4f}, rho_A(2) = {reading.rho[1]:.4f}.",
        ),
        row(
            "a draft that looks at nothing, target with two contexts: correlation rho_A(1) of neighbouring verdicts",
            "Only drafts like EAGLE's need a correction (2.3); without hidden states verdicts are independent.",
            Says(-0.01, 0.01),
            NeighbourCorrelation(PAIR, LONG),
            "As soon as the target's contexts differ, a draft with one fixed law has correlated verdicts: rho_A(1) = "
            f"{found.rho[0]:.4f}, rho_A(2) = {found.rho[1]:.4f}.",
        ),
    ]


def _drift() -> list[Claim]:
    row = partial(Claim, "C43", "5.2")
    first, last = BestKappa(Iid(alpha=0.85), STANDARD, KAPPAS), BestKappa(Iid(alpha=0.62), STANDARD, KAPPAS)
    rules = theory.stop_rules(FALLING, STANDARD, 20)
    along, level = Speedup(FALLING, 4, STANDARD), Speedup(Iid(alpha=MEAN_RATE), 4, STANDARD)
    return [
        untestable(
            "C43",
            "5.2",
            "the measurement of Liu et al. 2024",
            "Liu et al. 2024 measured alpha falling from .85 at the prompt to .62 at the end, with a Llama-3 draft.",
            "a statement about the literature, and no such publication was found",
            f"No source. As a model, a linear fall over 1,024 tokens has mean rate {MEAN_RATE} and a speed-up of "
            f"{along.exact():.4f} with kappa = 4 at beta = .1.",
        ),
        untestable(
            "C43",
            "5.2",
            "alpha falls along the output, as measured",
            "Along a long output or context alpha falls.",
            "needs measured outputs; a simulation has the drift that it is given",
            "It rises or falls with the system: EAGLE's drafts for Llama-3.1-8B go from .650 to .770 along gsm8k "
            "outputs, those of an early exit of SmolLM2-135M fall by .041. Where it does fall from .85 to .62, knowing "
            f"it is worth {rules.optimal / rules.fixed - 1:.2%} of speed.",
        ),
        row(
            "kappa* at alpha = .85 minus kappa* at .62, beta = .1",
            "A rate that falls from .85 to .62 changes the best draft length.",
            above(1.0),
            difference(first, last),
            f"From {first.exact():.0f} to {last.exact():.0f}. Yet over 1,024 tokens the speed-up is "
            f"{rules.optimal:.5f} with the best plan and {rules.fixed:.5f} with the best fixed kappa = "
            f"{rules.fixed_kappa}: adapting is worth {rules.optimal / rules.fixed - 1:.2%}.",
        ),
        row(
            "speed-up S(4) with kappa = 4 along a linear fall over 1,024 tokens minus S(4) at the mean rate .735, beta "
            "= .1",
            "alpha has to be replaced by alpha_i: the mean rate misjudges the run.",
            below(0.0),
            difference(along, level),
            f"S(4) = {along.exact():.4f} along the fall against {level.exact():.4f} at the mean rate, "
            f"{1 - along.exact() / level.exact():.2%} less.",
        ),
    ]


def _derived() -> list[Claim]:
    row = partial(Claim, "C53", "8")
    found = theory.acceptance_correlation(WIDE, 2)
    rho = float(found.rho[0])
    right, pairs = _share_right()
    return [
        untestable(
            "C53",
            "8",
            "as printed: the Jacobian of p_t by p_d",
            "rho_A may follow from the Jacobian of the target law by the draft law.",
            "p_t is not a function of p_d, so the derivative does not exist",
            f"It follows from the two laws by context instead: rho_A(1) = {rho:.4f} for one pair of token chains.",
        ),
        row(
            "token chains: simulated rho_A(1) of a pair against that computed from (p_t, p_d)",
            "rho_A can be derived from the draft and target models.",
            Says(rho - 0.002, rho + 0.002, rho),
            NeighbourCorrelation(WIDE, LONG),
            "It can: sum over contexts, tokens and next tokens how often the target comes there, times what is "
            f"accepted of both, min(p_t, p_d). That gives rho_A(2) = {found.rho[1]:.4f} and rho_A(1) = {rho:.4f}; the "
            f"rates of the contexts alone, without the token that leads on, would give {found.rho_uncoupled[0]:.4f}.",
        ),
        row(
            "the same pair, by listing the contexts and tokens of two positions",
            "rho_A can be derived from the draft and target models.",
            Says(rho - 0.002, rho + 0.002, rho),
            Formula(lambda: theory.token_alpha(WIDE)[1], again=lambda: listed_correlation(WIDE)),
            "It can, without any Jacobian: P(both of two neighbours accepted) follows from min(p_t, p_d) in the "
            f"contexts that the target visits, and gives rho_A(1) = {rho:.4f} for this pair.",
        ),
        row(
            f"{pairs} random pairs of token chains, beta = .1: share whose kappa* is that of (alpha, rho_A) in two "
            "states",
            "Once rho_A is known, kappa* follows.",
            above(0.99),
            Formula(lambda: _share_right()[0]),
            "Correlations at other lags count as well: kappa* of the two-state chain with the same alpha and rho_A "
            "is right "
            f"in {right:.0%}.",
        ),
    ]


def _share_right(pairs: int = 30) -> tuple[float, int]:
    """Share of random pairs in which κ* of the two-state chain of (α, ρ_A) is κ* of the pair."""
    right = 0
    for number in range(pairs):
        pair = random_chain("topics", 4, 3, 0.6, Words(f"claims/{number}"))
        right += _best(pair) == _best(theory.matching_chain(pair))
    return right / pairs, pairs


def _best(process: Process) -> int:
    return theory.optimum(process, STANDARD, 16).kappa_star
