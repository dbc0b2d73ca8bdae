"""Claims C12–C14 of section 2.2: how are Rényi divergences ordered, and what do they say of alpha and of Hellinger?"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from simspec import theory
from simspec.claims.claim import Claim, above, below, formula, integer
from simspec.claims.quantity import Formula
from simspec.claims.token_quantity import TokenAlpha
from simspec.claims.tokens import FAR, SHOWN, SKEW, half_divergence
from simspec.model.pairs import GivenPair
from simspec.run.region import ORDERS, ROUNDING, attainable_region, random_pairs, readings
from simspec.theory import article

PAIRS = 800
"""Random pairs behind a row of C12 and C13; `simspec.run.region` draws as many as one likes."""

HALF, BELOW_ONE, TO_ONE = (0.5,), (0.25, 0.5, 0.75), (0.25, 0.5, 0.75, 1.0)
PINSKER = "pinsker of this order"


def claims() -> list[Claim]:
    """Rows of C12–C14."""
    return [*_c12(), *_c13(), *_c14()]


def _both(pair: GivenPair) -> Iterator[tuple[float, float]]:
    return zip(pair.target, pair.draft, strict=True)


def _hellinger2(pair: GivenPair) -> float:
    """H² from its squares."""
    return math.fsum((math.sqrt(p) - math.sqrt(q)) ** 2 for p, q in _both(pair)) / 2


def _chi2(pair: GivenPair) -> float:
    """χ² of draft from target, for a target without zeros."""
    return math.fsum((q - p) ** 2 / p for p, q in _both(pair))


@functools.cache
def _single_pairs() -> list[tuple[float, dict[float, float]]]:
    """alpha and the divergences of draft from target by order, one random pair at a time."""
    return [
        (theory.overlap(p, q).alpha, {order: theory.renyi(q, p, order) for order in ORDERS})
        for _, target, draft in random_pairs(PAIRS)
        for p, q in zip(target, draft, strict=True)
    ]


@functools.cache
def _at_once() -> dict[str, np.ndarray]:
    """The same, all pairs at once."""
    frame = attainable_region(PAIRS)
    return {str(name): frame[name].to_numpy() for name in frame.columns}


def _c12() -> list[Claim]:
    row = functools.partial(Claim, "C12", "2.2")
    says = "Theorem 1: D_lambda does not increase with lambda."
    truth = "D_lambda never falls as lambda grows (van Erven, Harremoes 2014, Theorem 3)"
    orders = {order: theory.renyi(SKEW.draft, SKEW.target, order) for order in (0.5, 1.0, 2.0)}
    divergences = ", ".join(f"{d:.4f}" for d in orders.values())
    rises = sum(all(b >= a - ROUNDING for a, b in pairwise(d.values())) for _, d in _single_pairs()) / PAIRS

    def falls() -> float:
        d = np.array([_at_once()[f"back_{order:g}"] for order in ORDERS])
        return float(np.mean((d[1:] <= d[:-1] + ROUNDING).all(axis=0)))

    def falls_one_by_one() -> float:
        falling = [all(b <= a + ROUNDING for a, b in pairwise(d.values())) for _, d in _single_pairs()]
        return sum(falling) / len(falling)

    return [
        row(
            f"{SHOWN}: D_2 - D_1/2",
            says,
            below(0.0),
            Formula(
                lambda: orders[2.0] - orders[0.5],
                again=lambda: math.log(1 + _chi2(SKEW)) + 2 * math.log(1 - _hellinger2(SKEW)),
            ),
            f"{truth}: D_1/2, D_1, D_2 = {divergences} for this pair.",
        ),
        row(
            f"share of {PAIRS} random pairs whose divergence falls from order 1/4 to infinity",
            says,
            integer(1),
            Formula(falls, again=falls_one_by_one),
            f"{truth}: it does not for {rises:.0%} of these pairs.",
        ),
    ]


EQUATION_3: dict[str, tuple[str, str, tuple[float, ...]]] = {
    "alpha >= 1 - sqrt(1 - e^-D_1/2)": ("α ≥ 1 − √(1 − e^−D_½)", "root of half", HALF),
    "alpha <= e^(-D_1/2 /2)": ("α ≤ e^(−D_½/2)", "coefficient of half", HALF),
    "alpha >= e^-D_1/2": ("α ≥ e^−D", "at least exponential", HALF),
    "alpha <= e^-D_1/2": ("α ≤ e^−D", "at most exponential", HALF),
    "alpha >= 1 - D_1/2": ("α ≥ 1 − D", "linear", HALF),
    "1 - alpha <= sqrt(D_1/2 /2)": ("1 − α ≤ √(D/2)", "pinsker of any order", HALF),
    "alpha <= e^(-(1 - lambda) D_lambda)": ("α ≤ e^(−(1−λ)D)", "chernoff", BELOW_ONE),
    "1 - alpha <= sqrt(D_lambda/(2 lambda))": ("α ≥ 1 − √(D/2λ), Pinsker", PINSKER, BELOW_ONE),
    "alpha >= e^-D_lambda": ("α ≥ e^−D", "at least exponential", TO_ONE),
    "alpha <= e^-D_lambda": ("α ≤ e^−D", "at most exponential", TO_ONE),
}
"""What the lost equation (3) may have said: name in `simspec.run.region` and in `article.RENYI_BOUNDS`, and orders.

The text fixes that it holds for orders in [0, 1] and contains D_1/2.
"""


def _c13() -> list[Claim]:
    row = functools.partial(Claim, "C13", "2.2")
    low, high = theory.alpha_bounds_from_half(half_divergence(SKEW))
    truth = f"True: 1 - sqrt(1 - e^-D_1/2) <= alpha <= e^(-D_1/2 /2); for {SHOWN} {low:.4f} <= .7 <= {high:.4f}"
    return [
        *(
            row(
                f"eq. (3) as {name}, lambda = {_orders(name)}: share of {PAIRS} random pairs for which it holds",
                f"Equation (3): {name} for all laws.",
                integer(1),
                Formula(functools.partial(_holding, name), again=functools.partial(_holding_one_by_one, name)),
                f"It fails for {1.0 - _holding(name):.1%} of the pairs, more or fewer by how they are drawn. {truth}."
                if _holding(name) < 1.0
                else f"It holds for all of them. {truth}.",
            )
            for name in EQUATION_3
        ),
        *(
            row(
                f"eq. (3) as {name} for 1/2 < lambda <= 1: share of {PAIRS} random pairs for which it holds",
                f"Equation (3): {name} for 1/2 < lambda <= 1 and all laws.",
                integer(1),
                Formula(functools.partial(_ordered, sign), again=functools.partial(_ordered_one_by_one, sign)),
                f"It holds for {_ordered(sign):.1%} of the pairs, as D_lambda never falls as lambda grows. {truth}.",
            )
            for name, sign in (("D_lambda >= D_1/2", 1.0), ("D_lambda <= D_1/2", -1.0))
        ),
        row(
            f"eq. (3) as alpha >= e^-D_1/2, tokens of {SHOWN}",
            "Equation (3): alpha >= e^-D_1/2, here for two laws.",
            above(math.exp(-half_divergence(SKEW))),
            TokenAlpha(SKEW),
            f"e^-D_1/2 = {math.exp(-half_divergence(SKEW)):.4f} lies above alpha. {truth}.",
        ),
        row(
            "eq. (3) as alpha <= e^-D_1/2, tokens of p = (.7, .3, 0), q = (.7, 0, .3)",
            "Equation (3): alpha <= e^-D_1/2, here for two laws.",
            below(math.exp(-half_divergence(FAR))),
            TokenAlpha(FAR),
            f"e^-D_1/2 = {math.exp(-half_divergence(FAR)):.4f} lies below alpha = e^(-D_1/2 /2) of this pair. {truth}.",
        ),
    ]


def _orders(name: str) -> str:
    return ", ".join(f"{order:g}" for order in EQUATION_3[name][2])


@functools.cache
def _holding(name: str) -> float:
    """Share of the random pairs for which an inequality holds at all its orders."""
    region, _, orders = EQUATION_3[name]
    found = _at_once()
    held = [
        reading.holds(found["alpha"], found[f"back_{reading.order:g}"])
        for reading in readings()
        if reading.name == region and reading.order in orders
    ]
    assert len(held) == len(orders)
    return float(np.mean(np.all(held, axis=0)))


def _holding_one_by_one(name: str) -> float:
    """The same from `theory.overlap`, `theory.renyi` and `article.renyi_bound`, order by order and pair by pair."""
    _, bound, orders = EQUATION_3[name]
    held = [all(_holds(bound, alpha, d[order], order) for order in orders) for alpha, d in _single_pairs()]
    return sum(held) / len(held)


def _holds(bound: str, alpha: float, divergence: float, order: float) -> bool:
    if (
        bound == PINSKER
    ):  # Pinsker's inequality of this order, which the article may have meant and its readings do not have
        return 2.0 * order * (1.0 - alpha) ** 2 <= divergence + ROUNDING
    value = article.renyi_bound(bound, divergence, order)
    return value <= alpha + ROUNDING if article.RENYI_BOUNDS[bound].side == "lower" else alpha <= value + ROUNDING


def _ordered(sign: float) -> float:
    """Share of the random pairs whose D_3/4 and D_1 both lie on one side of D_1/2."""
    found = _at_once()
    gaps = [sign * (found[f"back_{order:g}"] - found["back_0.5"]) for order in (0.75, 1.0)]
    return float(np.mean(np.all(np.array(gaps) >= -ROUNDING, axis=0)))


def _ordered_one_by_one(sign: float) -> float:
    pairs = [d for _, d in _single_pairs()]
    return sum(min(sign * (d[0.75] - d[0.5]), sign * (d[1.0] - d[0.5])) >= -ROUNDING for d in pairs) / len(pairs)


def _c14() -> list[Claim]:
    row = functools.partial(Claim, "C14", "2.2")
    skew, far = (theory.overlap(pair.target, pair.draft) for pair in (SKEW, FAR))

    def ratio(power: float) -> float:
        """D_1/2 over a power of the Hellinger distance, for one pair over the other."""
        return float(
            half_divergence(SKEW)
            / skew.hellinger2 ** (power / 2)
            / (half_divergence(FAR) / far.hellinger2 ** (power / 2))
        )

    def ratio_from_squares(power: float) -> float:
        """The same with D_1/2 = −2 ln(1 − H²), H² summed from its squares."""
        squares = [_hellinger2(pair) for pair in (SKEW, FAR)]
        values = [-2 * math.log(1 - square) / square ** (power / 2) for square in squares]
        return float(values[0] / values[1])

    def multiple(power: float, name: str) -> Claim:
        return row(
            f"D_1/2 over {name}, {SHOWN}, over the same of p = (.7, .3, 0), q = (.7, 0, .3)",
            "D_1/2 is a constant multiple of the negative Hellinger distance, so the two quotients are equal.",
            formula(1.0),
            Formula(functools.partial(ratio, power), again=functools.partial(ratio_from_squares, power)),
            f"D_1/2 = -2 ln(1 - H^2), no multiple of {name}: {half_divergence(SKEW):.4f} at H^2 = "
            f"{skew.hellinger2:.4f}, {half_divergence(FAR):.4f} at H^2 = {far.hellinger2:.4f}.",
        )

    return [
        row(
            f"the formula, {SHOWN}",
            "D_1/2 = -2 ln sum sqrt(p q).",
            formula(-2.0 * math.log(skew.bhattacharyya)),
            Formula(lambda: half_divergence(SKEW), again=lambda: -2 * math.log(1 - _hellinger2(SKEW))),
            f"D_1/2 = -2 ln sum sqrt(p q) = {half_divergence(SKEW):.4f}.",
        ),
        multiple(1.0, "H"),
        multiple(2.0, "H^2"),
        row(
            f"D_1/2 over -ln(1 - H^2), minus the logarithm of the Hellinger affinity, {SHOWN}, over the same of p = "
            "(.7, .3, 0), q = (.7, 0, .3)",
            "D_1/2 is a constant multiple of a negative Hellinger quantity, so the two quotients are equal.",
            formula(1.0),
            Formula(
                lambda: float(
                    half_divergence(SKEW)
                    / math.log1p(-skew.hellinger2)
                    * math.log1p(-far.hellinger2)
                    / half_divergence(FAR)
                ),
                again=lambda: _affinity_quotient(SKEW) / _affinity_quotient(FAR),
            ),
            "D_1/2 = -2 ln(1 - H^2) is twice the negative logarithm of the affinity: "
            f"{half_divergence(SKEW):.4f} = 2 x {-math.log1p(-skew.hellinger2):.4f}.",
        ),
    ]


def _affinity_quotient(pair: GivenPair) -> float:
    """D_1/2 from the affinity Σ √(pq) over −ln(1 − H²) with H² from its squares."""
    affinity = math.fsum(math.sqrt(p * q) for p, q in _both(pair))
    return -2.0 * math.log(affinity) / -math.log(1.0 - _hellinger2(pair))
