"""Claims C42, C43 and C53: why are verdicts dependent, does α fall along an output, and can ρ_A be derived?"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial

import numpy as np

from simspec import theory
from simspec.claims.claim import Claim, Says, above, below, untestable
from simspec.claims.lab import Lab, Need, Observed
from simspec.claims.quantity import BestKappa, Difference, Formula, Speedup
from simspec.claims.random_pairs import Words, random_chain
from simspec.claims.setup import KAPPAS, STANDARD
from simspec.claims.window_quantity import WindowShare
from simspec.model import Drift, Iid, Position, Process, Survival, TokenChain
from simspec.stats.intervals import ratio, standard_error, student
from simspec.theory.law import WindowLaw

PAIR = TokenChain(target=((0.9, 0.1), (0.2, 0.8)), draft=((0.7, 0.3), (0.7, 0.3)))
"""A draft that looks at nothing, and a target with two contexts: α = .7."""
WIDE = TokenChain(target=((0.8, 0.2), (0.2, 0.8)), draft=((0.6, 0.4), (0.85, 0.15)))
LONG = 48
"""Draft length at which practically every round ends with a rejection, so that all verdicts along the text are seen."""
EAGLE_RATES = (0.79, 0.74, 0.72, 0.73)
"""Conditional rates by draft position of chain drafts, Vicuna-7B: Li, Wei, Zhang, Zhang (2024), EAGLE, Table 2."""
PRINTED = (
    (
        "pull request 48892, 8 drafts",
        (0.7617, 0.6158, 0.5125, 0.4243, 0.3640, 0.3094, 0.2722, 0.2365),
        "they rise, as where windows differ, which lengthens the best draft.",
    ),
    (
        "pull request 26498, 7 drafts",
        (0.74, 0.54, 0.41, 0.30, 0.22, 0.16, 0.12),
        "flat to the two digits printed, as for independent drafts.",
    ),
)
"""Survival lists of benchmark outputs: multi-token prediction with 8 drafts, and 7 drafts printed with two digits."""
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
    return [*_eagle(), *_published(), *_drift(), *_derived()]


def _eagle() -> list[Claim]:
    row = partial(Claim, "C42", "5.1")
    chain, equal = Position(alphas=EAGLE_RATES), Iid(alpha=EAGLE_RATES[0])
    mean, as_equal = WindowShare(chain, 4, "accepted per window"), WindowShare(equal, 4, "accepted per window")
    found = theory.acceptance_correlation(PAIR, 2)
    return [
        untestable(
            "C42",
            "5.1",
            "the cause, for EAGLE itself",
            "EAGLE's draft reads the target's hidden states, therefore its successive verdicts are dependent.",
            "needs EAGLE's verdicts with and without that input; its paper prints rates by position",
            "Its printed chain rates are " + ", ".join(f"{rate:.2f}" for rate in EAGLE_RATES) + ": one step down, then "
            f"flat; E[A] = {mean.exact():.4f} at kappa = 4.",
        ),
        row(
            "EAGLE's printed rates by position, kappa = 4: E[A] minus that of equal drafts of the first rate",
            "Successive drafts of EAGLE are not alike and independent.",
            below(0.0),
            Difference(mean, as_equal),
            "Rates by position cannot tell dependence from a rate that changes with position. "
            f"E[A] = {mean.exact():.4f} with the printed rates against {as_equal.exact():.4f}.",
        ),
        row(
            "a draft that looks at nothing, target with two contexts: rho_A(1)",
            "Dependence comes from the hidden states; a draft without them has independent verdicts.",
            Says(-0.01, 0.01),
            NeighbourCorrelation(PAIR, LONG),
            "As soon as the target's contexts differ, a draft with one fixed law has correlated verdicts: rho_A(1) = "
            f"{found.rho[0]:.4f}, rho_A(2) = {found.rho[1]:.4f}.",
        ),
    ]


def _published() -> list[Claim]:
    row = partial(Claim, "C42", "5.1")
    rows = []
    for source, curve, meaning in PRINTED:
        kappas = tuple(range(len(curve) + 1))
        own = BestKappa(Survival(survival=curve), STANDARD, kappas)
        free = BestKappa(Iid(alpha=curve[0]), STANDARD, kappas)
        rates = [after / before for before, after in itertools.pairwise((1.0, *curve))]
        rows.append(
            row(
                f"survival printed in vLLM {source}: kappa* minus that of independent drafts of the first rate, beta "
                "= .1",
                "Dependent verdicts ask for a shorter draft than independent ones.",
                below(-1.0),
                Difference(own, free),
                f"Conditional rates from {rates[0]:.3f} (first) to {rates[-1]:.3f} (last): {meaning} kappa* is "
                f"{own.exact():.0f} against {free.exact():.0f}.",
            )
        )
    return rows


def _drift() -> list[Claim]:
    row = partial(Claim, "C43", "5.2")
    first, last = BestKappa(Iid(alpha=0.85), STANDARD, KAPPAS), BestKappa(Iid(alpha=0.62), STANDARD, KAPPAS)
    rules = theory.stop_rules(FALLING, STANDARD, 20)
    along, level = Speedup(FALLING, 4, STANDARD), Speedup(Iid(alpha=MEAN_RATE), 4, STANDARD)
    return [
        untestable(
            "C43",
            "5.2",
            "the measurement",
            "Liu et al. 2024 measured alpha falling from .85 at the prompt to .62 at the end, with a Llama-3 draft.",
            "a statement about the literature, and no such publication was found",
            f"No source. As a model, a linear fall over 1,024 tokens has mean rate {MEAN_RATE} and S(4) = "
            f"{along.exact():.4f} at beta = .1.",
        ),
        row(
            "kappa* at alpha = .85 minus kappa* at .62, beta = .1",
            "A rate that falls from .85 to .62 changes the best draft length.",
            above(1.0),
            Difference(first, last),
            f"From {first.exact():.0f} to {last.exact():.0f}. Yet over 1,024 tokens the best plan makes "
            f"{rules.optimal:.5f} and the best fixed kappa = {rules.fixed_kappa} {rules.fixed:.5f}: adapting is worth "
            f"{rules.optimal / rules.fixed - 1:.2%}.",
        ),
        row(
            "S(4) along a linear fall over 1,024 tokens minus S(4) at the mean rate .735, beta = .1",
            "alpha has to be replaced by alpha_i: the mean rate misjudges the run.",
            below(0.0),
            Difference(along, level),
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
            f"P(both of two neighbours accepted) = pi B a with B = min(P, Q): rho_A(1) = {rho:.4f}, rho_A(2) = "
            f"{found.rho[1]:.4f}; the rates of the contexts alone would give {found.rho_uncoupled[0]:.4f}.",
        ),
        row(
            "the same pair, by listing the contexts and tokens of two positions",
            "rho_A can be derived from the draft and target models.",
            Says(rho - 0.002, rho + 0.002, rho),
            Formula(lambda: theory.token_alpha(WIDE)[1], again=lambda: listed_correlation(WIDE)),
            f"Both give {rho:.4f}.",
        ),
        row(
            f"{pairs} random pairs of token chains, beta = .1: share whose kappa* is that of (alpha, rho_A) in two "
            "states",
            "Once rho_A is known, kappa* follows.",
            above(0.99),
            Formula(lambda: _share_right()[0], again=lambda: _share_right(by_window=True)[0]),
            "Correlations at other lags count as well: kappa* of the two-state chain with the same alpha and rho_A "
            "is right "
            f"in {right:.0%}.",
        ),
    ]


def _share_right(by_window: bool = False, pairs: int = 30) -> tuple[float, int]:
    """Share of random pairs in which κ* of the two-state chain of (α, ρ_A) is κ* of the pair; one way or another."""
    right = 0
    for number in range(pairs):
        pair = random_chain("topics", 4, 3, 0.6, Words(f"claims/{number}"))
        two_state = theory.matching_chain(pair)
        right += _best(pair, by_window) == _best(two_state, by_window)
    return right / pairs, pairs


def _best(process: Process, by_window: bool) -> int:
    """κ* up to 16 from the sweep over all κ, or window law by window law."""
    if not by_window:
        return theory.optimum(process, STANDARD, 16).kappa_star
    speeds = []
    for kappa in range(17):
        law = theory.window(process, kappa)
        speeds.append(law.mean_tokens / theory.mean_round_cost(law, STANDARD))
    return int(np.argmax(np.array(speeds) > max(speeds) - 1e-12))
