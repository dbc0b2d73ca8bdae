"""Claims C50–C52 inside the closed loop: do the three guides help a controller that knows but its rolling estimate?"""

from __future__ import annotations

from functools import partial

from simspec import theory
from simspec.claims.claim import FORMULA_MARGIN, Claim, above
from simspec.claims.control import FALLING
from simspec.claims.correlation import CONSTRUCTIONS, RHO
from simspec.claims.loops import CODED, GUARDED, LOWERED_ONCE, PLUG_IN, SMOOTHING, Loop, shortened
from simspec.claims.policy_quantity import Against
from simspec.claims.quantity import difference
from simspec.claims.setup import STANDARD, USUAL
from simspec.model import Cost, Drift, Markov

DROP = Drift(shape="table", alphas=(0.85,) * 512 + (0.6,) * 512)
"""What guide 2 is made for: α drops halfway."""


def claims() -> list[Claim]:
    """Rows of C50–C52 that are played in the loop."""
    return [*_formula(), *_guard(), *_correction()]


def _formula() -> list[Claim]:
    rows = []
    for beta in (0.05, 0.1, 0.2):
        fixed = theory.optimum(FALLING, Cost(c_d=beta), 32)
        own, right = (loop.speed_along(FALLING, SMOOTHING, beta) for loop in (CODED, PLUG_IN))
        rows.append(
            Claim(
                "C50",
                "7",
                f"eq. (12) at the rolling estimate, lambda = .85, rounded, at least 1; fall .85 to .62, beta = {beta}: "
                "S minus that of the best fixed kappa",
                "kappa by formula (12) and a rolling alpha is at least as fast (speed-up S, up to a quarter percent) "
                "as any kappa held fixed.",
                above(-FORMULA_MARGIN * fixed.best_speedup),
                Against(own, fixed.best_speedup),
                f"In the loop (12) makes {own.exact():.4f}; kappa*(estimate) in its place makes {right.exact():.4f}, "
                f"kappa = {fixed.kappa_star} throughout {fixed.best_speedup:.4f}.",
            )
        )
    return rows


def _guard() -> list[Claim]:
    row = partial(Claim, "C51", "7")
    statement = "In the loop the guard at .25 keeps decoding fast (speed-up S, up to a quarter percent)."
    free, held = (loop.steady_speed(USUAL) for loop in (PLUG_IN, GUARDED))
    rows = [
        row(
            "kappa*(estimate), lambda = .85, steady alpha = .7, beta = .1: S with the guard minus S without",
            statement,
            above(-FORMULA_MARGIN * free.exact()),
            difference(held, free),
            f"Nothing has dropped but the estimate, by chance: S falls from {free.exact():.4f} to {held.exact():.4f}, "
            f"{held.exact() / free.exact() - 1:.0%}.",
        )
    ]
    fixed = theory.optimum(DROP, STANDARD, 32)
    free = PLUG_IN.speed_along(DROP)
    for loop, how in ((GUARDED, "as long as the guard fires"), (LOWERED_ONCE, "by one where it fires")):
        held = loop.speed_along(DROP)
        rows.append(
            row(
                f"kappa*(estimate), lambda = .85, alpha drops from .85 to .6 after 512 of 1,024 tokens, kappa lowered "
                f"{how}: S with the guard minus S without",
                statement,
                above(-FORMULA_MARGIN * free.exact()),
                difference(held, free),
                f"kappa*(estimate) follows the drop by itself and makes {free.exact():.4f}, with the guard "
                f"{held.exact():.4f}, kappa = {fixed.kappa_star} throughout {fixed.best_speedup:.4f}.",
            )
        )
    return rows


NAMED = {
    "fresh windows": "each window starts afresh",
    "carried from the last verdict to the next draft": "chain carried from the last verdict to the next draft",
}


def _correction() -> list[Claim]:
    rows = []
    for short, name in NAMED.items():
        chain = CONSTRUCTIONS[name]
        assert isinstance(chain, Markov)
        speeds = [loop.steady_speed(chain) for loop in (PLUG_IN, *_LOWERED)]
        best = theory.optimum(chain, STANDARD, 32)
        for by, own in enumerate(speeds[1:], start=1):
            rows.append(
                Claim(
                    "C52",
                    "7",
                    f"kappa*(estimate) less {by}, at least 1, in the loop, lambda = .85; two-state chain, {short}, "
                    f"alpha = .7, rho = {RHO}, beta = .1: S minus that of kappa*(estimate)",
                    "To bring in rho_A, which lowers kappa by 1 to 2, makes the loop faster (speed-up S).",
                    above(0.0),
                    difference(own, speeds[0]),
                    f"The loop makes {speeds[0].exact():.4f} without the correction, {speeds[1].exact():.4f} with one "
                    f"draft less and {speeds[2].exact():.4f} with two; kappa = {best.kappa_star} throughout makes "
                    f"{best.best_speedup:.4f}.",
                )
            )
    return rows


_LOWERED: tuple[Loop, Loop] = (shortened(1), shortened(2))
