"""Claims C17–C19 and C28: is T(κ) what a round costs, is κ what it yields, and what is typical in production?"""

from __future__ import annotations

import functools

from simspec.claims.claim import Claim, between, formula, untestable
from simspec.claims.optimum import CONSISTENT, coded_again
from simspec.claims.quantity import CostCurve, Formula, Quantity, ShareInBand, Speedup, Weighted
from simspec.claims.search import root
from simspec.claims.setup import (
    GRID_ALPHAS,
    GRID_BETAS,
    KAPPAS,
    OVERHEADS,
    STANDARD,
    USUAL,
    article_cost,
    best_at,
    usual_s,
)
from simspec.claims.window_quantity import CostPer, WindowShare
from simspec.model import Cost, Iid
from simspec.theory import article

A, B, K = 0.7, 0.1, 4
RATIOS = {
    "T5-small with T5-XXL": 0.02,
    "T5-base with T5-XXL": 0.04,
    "T5-large with T5-XXL": 0.11,
    "Chinchilla 4B with 70B": 1.8 / 14.1,
    "Llama-2 7B with 70B": 0.0234 / 0.112,
    "Llama 68M with 7B": 0.5 / 24.2,
    "Vicuna 68M with 7B": 0.084,
}
"""c_d/c_t as published: Leviathan et al. (2023), Table 2; Chen et al. (2023), Table 1; SpecDec++ (Huang et al. 2024);
Sequoia (Chen et al. 2024), Table 1; 1.924 ms a draft token against 22.97 ms a token in the timings of Spec-Bench."""


def claims() -> list[Claim]:
    """Rows of C17–C19 and C28."""
    return [*_c17(), *_c18(), *_c19(), *_c28()]


def _round_cost(cost: Cost, alpha: float = A) -> CostCurve:
    return CostCurve(Iid(alpha=alpha), ((K, 1.0),), cost)


def _c17() -> list[Claim]:
    row = functools.partial(Claim, "C17", "3.1")
    once = _round_cost(STANDARD)
    passed, out = (CostPer(USUAL, K, STANDARD, float(K), of) for of in ("accepted", "tokens"))
    truth = "Each round is verified in one pass whatever is accepted and costs 1 + 4 beta"
    meanings: dict[str, tuple[str, Quantity, str]] = {
        "latency of accepting 4 drafts, in rounds of kappa = 4": (
            "Until kappa drafts are accepted T(kappa) of equation (5) goes by",
            passed,
            f"{truth} = {once.exact():.2f}, and in the long run 4 drafts are accepted in "
            f"{passed.exact():.4f} plain target steps.",
        ),
        "latency of 4 tokens, in rounds of kappa = 4": (
            "Until kappa tokens are out T(kappa) of equation (5) goes by",
            out,
            f"{truth} = {once.exact():.2f}, and in the long run 4 tokens are out in {out.exact():.4f}, as each round "
            f"adds one to those accepted.",
        ),
        "cost of a round of 4 drafts": (
            "A round of kappa drafts costs T(kappa) of equation (5)",
            once,
            f"{truth} = {once.exact():.4f} plain target steps at beta = .1.",
        ),
    }
    rows = [
        row(
            f"reading {name}, T = {article.LATENCIES[name].text}: {meaning}",
            f"{statement} (alpha = .7, beta = .1, kappa = 4).",
            formula(article.latency_by_reading(name, K, A, B)),
            quantity,
            instead,
        )
        for meaning, (statement, quantity, instead) in meanings.items()
        for name in CONSISTENT
    ]
    better = Weighted(((1.0, _round_cost(STANDARD, 0.85)), (-1.0, _round_cost(STANDARD, A))))
    rise = article.latency_r1(K, 0.85, B) - article.latency_r1(K, A, B)
    rejecting = WindowShare(USUAL, K, "windows with a rejection")
    rolled = "A round pays for a rejection with probability"
    return [
        *rows,
        row(
            "reading R1: cost at alpha = .85 minus that at .7, kappa = 4, verification in one pass",
            "Accepted drafts are what verification costs, so a round is dearer the more is accepted.",
            formula(rise),
            better,
            f"A better draft makes no round dearer: the cost changes by {better.exact():.4f}, not by {rise:.2f}.",
        ),
        row(
            "third term of R1, decoded window, kappa = 4",
            f"{rolled} 1 - alpha.",
            formula(1.0 - A),
            rejecting,
            f"One of the kappa drafts is rejected with probability 1 - alpha^kappa = {rejecting.exact():.4f}.",
        ),
        row(
            "third term of R4 and equation (10), decoded window, kappa = 4",
            f"{rolled} 1 - alpha^kappa.",
            formula(1.0 - A**K),
            rejecting,
            f"One of the kappa drafts is rejected with probability 1 - alpha^kappa = {rejecting.exact():.4f}.",
        ),
    ]


def _c18() -> list[Claim]:
    row = functools.partial(Claim, "C18", "3.1")
    tokens = WindowShare(USUAL, K, "tokens per window")
    speed = "rho(kappa) = kappa c_t/T(kappa) is the speed-up (alpha = .7, beta = .1)."

    def against(name: str, kappa: int, reading: str) -> Claim:
        own = article.rho_by_reading(name, kappa, A, B)
        return row(
            reading,
            speed,
            formula(own),
            Speedup(USUAL, kappa, STANDARD),
            f"The speed-up at kappa = {kappa}, tokens per plain target step, is {usual_s(kappa):.4f}, not {own:.4f}.",
        )

    return [
        row(
            "tokens of a decoded window, kappa = 4",
            "A round of kappa drafts saves kappa plain target steps.",
            formula(float(K)),
            tokens,
            f"It emits the accepted drafts and one more token, (1 - alpha^(kappa+1))/(1 - alpha) = "
            f"{tokens.exact():.4f} tokens.",
        ),
        *(against("R1", kappa, f"reading R1, kappa = {kappa}, against throughput") for kappa in (1, 4, 8, 100)),
        against("R4", K, f"reading R4, T = {article.LATENCIES['R4'].text}, kappa = 4, against throughput"),
    ]


def _c19() -> list[Claim]:
    inside = sum(0.05 <= ratio <= 0.2 for ratio in RATIOS.values())
    printed = sum(0.045 <= ratio < 0.25 for ratio in RATIOS.values())
    least, most = min(RATIOS.values()), max(RATIOS.values())
    counted = f"{printed} of {len(RATIOS)} lie in [.05, .2] to its one or two printed digits and {inside} exactly"
    cheap = f"kappa* at alpha = .7 is {best_at(A, Cost(c_d=round(least, 2)))}"
    return [
        untestable(
            "C19",
            "3.1",
            "typical hardware and models",
            "c_d/c_t is typically .05 to .2.",
            "a statement about hardware and model pairs, and no population is named that could be sampled",
            f"Published ratios run from {least:.3f} to {most:.3f}; {counted}.",
        ),
        *(
            Claim(
                "C19",
                "3.1",
                f"share of {len(RATIOS)} published pairs, {how}, no sample: {', '.join(RATIOS)}",
                "Most published pairs have c_d/c_t in [.05, .2].",
                between(0.5, 1.0),
                Formula(functools.partial(float, many / len(RATIOS))),
                f"{counted[0].upper()}{counted[1:]}; at the smallest ratio, {least:.3f}, {cheap}.",
            )
            for how, many in (("with .209 as .2 to its printed digit", printed), ("with .209 outside", inside))
        ),
    ]


def _c28() -> list[Claim]:
    row = functools.partial(Claim, "C28", "3.3")
    coded = article.kappa_star_as_coded(A)
    grid = ShareInBand(
        tuple(Iid(alpha=alpha) for alpha in GRID_ALPHAS), tuple(Cost(c_d=beta) for beta in GRID_BETAS), KAPPAS
    )
    needed = root(lambda alpha: article.kappa_star_as_coded(alpha) - 3.0, 0.7, 0.8)
    best = functools.partial(best_at, A)
    by_overhead = ", ".join(f"{best(article_cost(c0))} if c0 = {c0:g}" for c0 in OVERHEADS.values())
    return [
        row(
            "eq. (12) at the article's typical point, alpha = .7, beta = .1, c_v = .5, c_r = 1",
            "The calculation explains precisely why kappa* lies in [3, 7].",
            between(3.0, 7.0),
            Formula(lambda: article.kappa_star_as_coded(A), again=coded_again, tolerance=1e-7),
            f"(12) gives {coded:.4f} there and enters [3, 7] only at alpha = {needed:.4f}; throughput with the same "
            f"costs has kappa* = {by_overhead}.",
        ),
        row(
            "optimum of throughput, standard costs, more than half of the grid alpha .60 to .85 x beta .05 to .20",
            "Maximal throughput explains why kappa* lies in [3, 7].",
            between(0.5, 1.0),
            grid,
            f"With c_v = c_r = 0, not with the article's costs, the kappa of largest throughput lies in [3, 7] on "
            f"{grid.exact():.1%} of the grid and is {best(STANDARD)} at the typical point.",
        ),
        untestable(
            "C28",
            "3.3",
            "the consensus itself",
            "Production systems of 2024 and 2025 converged on kappa* in [3, 7].",
            "a statement about practice, for which the article names no system and no source",
            f"By throughput kappa* is {best(STANDARD)} at alpha = .7, beta = .1, and on the article's grid it runs "
            f"from {best_at(0.6, Cost(c_d=0.2))} to {best_at(0.85, Cost(c_d=0.05))}.",
        ),
    ]
