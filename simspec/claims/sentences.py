"""What is true instead?  Five sentences, each with its number and the command that reproduces it."""

from __future__ import annotations

import itertools

from simspec import theory
from simspec.claims.correlation import CONSTRUCTIONS, OTHERS
from simspec.claims.lab import Lab
from simspec.claims.quantity import AllRejected, BestKappa, NoneAccepted, Speedup
from simspec.claims.setup import ARTICLE, GRID_ALPHAS, GRID_BETAS, KAPPAS, STANDARD, USUAL, step_alpha
from simspec.model import Cost, Iid
from simspec.theory import article

LEVEL = 0.95


def sentences(lab: Lab) -> list[tuple[str, str]]:
    """Sentence and command, five times; simulated figures carry their 95% interval."""
    return [_best_kappa(lab), _break_even(), _complete_rejection(lab), _correlation(lab), _at_74()]


def _range(seen: tuple[float, float], digits: int = 4) -> str:
    return f"[{seen[0]:.{digits}f}, {seen[1]:.{digits}f}]"


def _best_kappa(lab: Lab) -> tuple[str, str]:
    best = theory.optimum(USUAL, STANDARD, 64)
    seen = Speedup(USUAL, best.kappa_star, STANDARD).observe(lab, LEVEL)
    everywhere = [
        theory.optimum(Iid(alpha=alpha), Cost(c_d=beta), 16).kappa_star for alpha in GRID_ALPHAS for beta in GRID_BETAS
    ]
    near = best.within(0.02)
    return (
        f"Best κ: at α = 0.7 and a draft cost of 0.1 it is {best.kappa_star}, speed-up {best.best_speedup:.4f} "
        f"(simulated {seen.value:.4f} {_range((seen.low, seen.high))}), κ = {near[0]} to {near[-1]} lie within 2%; for "
        f"α .60 to .85 and costs .05 to .20 it runs from {min(everywhere)} to {max(everywhere)}.",
        "simspec exact --alpha 0.7 --draft-cost 0.1",
    )


def _break_even() -> tuple[str, str]:
    own = theory.optimum(USUAL, ARTICLE, 64)
    return (
        f"Break-even: a draft pays exactly when α > (c_d + c_v + c_r)/(c0 + c_r), here α > "
        f"{theory.break_even_alpha(STANDARD):.2f}; with the article's c_v = .5 and c_r = 1 that is α > "
        f"{theory.break_even_alpha(ARTICLE):.2f}, so at α = 0.7 the best κ is {own.kappa_star}.",
        "simspec exact --alpha 0.7 --draft-cost 0.1 --verify-cost 0.5 --rollback-cost 1",
    )


def _complete_rejection(lab: Lab) -> tuple[str, str]:
    seen = NoneAccepted(USUAL, 4).observe(lab, LEVEL)
    every = AllRejected(USUAL, 4)
    judged = every.observe(lab, LEVEL)
    return (
        f"Complete rejection: no draft of a window is accepted with probability 1 − α = "
        f"{NoneAccepted(USUAL, 4).exact():.2f} (simulated {seen.value:.4f} {_range((seen.low, seen.high))}) whatever "
        f"κ; (1 − α)^4 = {every.exact():.4f} (simulated {judged.value:.4f}) would need a verdict on every draft.",
        "simspec run scenarios/tail_risk.toml",
    )


def _correlation(lab: Lab) -> tuple[str, str]:
    cases, least, most = _shifts()
    names = ("fresh windows", "carried", "by position", "advanced")
    free = BestKappa(USUAL, STANDARD, KAPPAS).observe(lab, LEVEL)
    parts = []
    for name, process in zip(names, CONSTRUCTIONS.values(), strict=True):
        own = BestKappa(process, STANDARD, KAPPAS).observe(lab, LEVEL)
        at_best = theory.speedup(process, int(own.value), STANDARD)
        parts.append(f"{name} {own.value:.0f} (S = {at_best:.3f})")
    longest = max(int(BestKappa(process, STANDARD, KAPPAS).observe(lab, LEVEL).value) for process in OTHERS.values())
    return (
        f"Correlation: at the same α = 0.7 and ρ = .3 the simulated best κ is {', '.join(parts)}, and up to {longest} "
        f"for mixtures, copula and hidden states, against {free.value:.0f} (S = "
        f"{theory.speedup(USUAL, 4, STANDARD):.3f}) without correlation; on {cases:,} chains of the article's range it "
        f"shifts κ* by {least:+d} to {most:+d}.",
        "simspec run scenarios/constructions.toml",
    )


def _shifts() -> tuple[int, int, int]:
    """Exact shift of κ* by correlation on a grid: number of cases, smallest, largest."""
    shifts = []
    for alpha, beta, rho in itertools.product(
        (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85), (0.05, 0.1, 0.2), (0.1, 0.2, 0.3)
    ):
        cost = Cost(c_d=beta)
        free = theory.optimum(Iid(alpha=alpha), cost, 32).kappa_star
        for process in CONSTRUCTIONS.values():
            moved = process.model_copy(update={"alpha": alpha, "rho": rho})
            shifts.append(theory.optimum(moved, cost, 32).kappa_star - free)
    return len(shifts), min(shifts), max(shifts)


def _at_74() -> tuple[str, str]:
    slow, longer = (theory.tail_staircase(STANDARD, 4, tokens)[3] for tokens in (128, 256))
    return (
        f"At α = .74: no formula and no step of κ*. κ* steps from 4 to 5 at {step_alpha(4, STANDARD):.4f} and from 5 to "
        f"6 at {step_alpha(5, STANDARD):.4f}, the best speed-up is convex through it, the α_c formula evaluates to "
        f"{article.alpha_c_formula(0.1)[0]:.6f}, and 1% of complete rejection (every draft judged, κ = 4) lies at "
        f"{theory.complete_rejection_threshold(0.01, 4):.4f}; only the κ that is best for the slowest 1% of replies "
        f"steps near it, from 3 to 4 at {slow:.4f} for 128 tokens but {longer:.4f} for 256.",
        "simspec phase",
    )
