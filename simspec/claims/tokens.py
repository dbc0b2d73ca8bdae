"""Claims of sections 1 and 2 on token laws: which drafts pass, whose law do tokens follow, what do divergences say?"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from simspec import theory
from simspec.claims.claim import Claim, Says, above, below, formula, integer, untestable
from simspec.claims.quantity import Difference, Formula
from simspec.claims.setup import KAPPAS, STANDARD
from simspec.claims.token_quantity import TokenAlpha, TokenBestKappa, TokenMeanAccepted, TokenShare, alpha_of
from simspec.model.pairs import GivenPair
from simspec.run.region import ORDERS, ROUNDING, Reading, attainable_region, random_pairs, readings

SKEW = GivenPair(target=(0.5, 0.3, 0.2), draft=(0.2, 0.3, 0.5))
NEAR = GivenPair(target=(0.5, 0.5), draft=(0.8, 0.2))
FAR = GivenPair(target=(0.7, 0.3, 0.0), draft=(0.7, 0.0, 0.3))
"""Three pairs with alpha = .7; D_1/2 = .1399, .1054 and .7133."""
LOW = GivenPair(target=(0.3, 0.7, 0.0), draft=(0.3, 0.0, 0.7))
"""alpha = .3: the same variance alpha(1 - alpha) as at .7."""

PAIRS = 800
"""Random pairs behind a row of C12 and C13; `simspec.run.region` draws as many as one likes."""

EQUATION_3 = ("α ≥ 1 − √(1 − e^−D_½)", "α ≤ e^(−D_½/2)", "α ≤ e^(−(1−λ)D)", "α ≥ e^−D", "α ≤ e^−D", "α ≥ 1 − D",
              "1 − α ≤ √(D/2)")  # fmt: skip
"""What the article's lost equation (3) may have said."""

SHOWN = "p = (.5, .3, .2), q = (.2, .3, .5)"


def claims() -> list[Claim]:
    """Rows of C04, C07, C08 and C10–C14."""
    return [*_c04(), *_c07(), *_c08(), *_c10(), *_c11(), *_c12(), *_c13(), *_c14()]


def _about(value: float) -> Says:
    """To 1%: what half a million windows decide."""
    return Says(value * 0.99, value * 1.01, value)


def _half(pair: GivenPair) -> float:
    return theory.renyi(pair.draft, pair.target, 0.5)


def _c04() -> list[Claim]:
    row = functools.partial(Claim, "C04", "1")
    order = "The order of the Rényi divergence between draft and target determines kappa*"
    near, far = TokenMeanAccepted(NEAR), TokenMeanAccepted(FAR)
    near_block, far_block = TokenMeanAccepted(NEAR, rule="block"), TokenMeanAccepted(FAR, rule="block")
    best = {pair: TokenBestKappa(pair, STANDARD, KAPPAS) for pair in (NEAR, FAR, LOW)}
    where = f"D_1/2 = {_half(FAR):.4f} against {_half(NEAR):.4f} at alpha = .7"
    return [
        row(
            f"tokens, {where}: difference of E[A], kappa = 4",
            f"{order}: the more distant of two pairs keeps at least 5% fewer drafts.",
            below(-0.05 * near.exact()),
            Difference(far, near),
            f"Only alpha = sum min(p, q) counts: both keep E[A] = {near.exact():.4f} and {far.exact():.4f}.",
        ),
        row(
            f"tokens under block verification, {where}: difference of E[A], kappa = 4",
            f"{order}: the more distant of two pairs keeps at least 5% fewer drafts.",
            below(-0.05 * near_block.exact()),
            Difference(far_block, near_block),
            "Block verification makes good for a token of p < q by later ones of p > q, so more than alpha counts: "
            f"E[A] = {near_block.exact():.4f} and {far_block.exact():.4f}.",
        ),
        row(
            f"tokens, {where}: difference of kappa*, beta = .1",
            f"{order}: it is smaller for the more distant of two pairs.",
            below(-1.0),
            Difference(best[FAR], best[NEAR]),
            f"With independent drafts kappa* follows from alpha and costs alone: it is {best[NEAR].exact():.0f} and "
            f"{best[FAR].exact():.0f}.",
        ),
        row(
            "tokens, alpha = .7 against alpha = .3, alpha(1 - alpha) = .21 at both: difference of kappa*, beta = .1",
            "The variance of the acceptance rate determines kappa*: pairs of equal variance have the same.",
            integer(0),
            Difference(best[FAR], best[LOW]),
            f"kappa* follows from alpha itself: it is {best[FAR].exact():.0f} at .7 and {best[LOW].exact():.0f} at .3.",
        ),
    ]


def _c07() -> list[Claim]:
    row = functools.partial(Claim, "C07", "2.1")
    p, q = SKEW.target, SKEW.draft
    by_rule = sum(q_x * min(1.0, p_x / q_x) for p_x, q_x in zip(p, q, strict=True))
    greedy = q[p.index(max(p))]
    metropolis = sum(min(p[x] * q[y], p[y] * q[x]) for x in range(3) for y in range(3))
    accepted, kept = TokenAlpha(SKEW), TokenShare(SKEW, 0, "corrected")
    truth = f"Speculative sampling accepts with min(1, p/q), at random: alpha = {accepted.exact():.4f}."
    return [
        row(
            f"the rule as its formula has it, {SHOWN}",
            "A draft x is accepted when r <= min(1, p_t(x)/p_d(x)), which gives the rate sum q min(1, p/q).",
            _about(by_rule),
            accepted,
            truth,
        ),
        row(
            f"the rule as its name has it, {SHOWN}",
            "The rule is greedy: a draft is accepted when it is the target's likeliest token.",
            _about(greedy),
            accepted,
            f"A greedy rule would accept {greedy:.2f}. {truth}",
        ),
        row(
            f"Metropolis-Hastings with independent proposals, acceptance rate, {SHOWN}",
            "The uniform number r makes the rule a Metropolis-Hastings step, which accepts at this rate.",
            _about(metropolis),
            accepted,
            f"That chain accepts {metropolis:.2f}. {truth}",
        ),
        row(
            f"Metropolis-Hastings, token after a rejection: share of the likeliest token, {SHOWN}",
            "As in Metropolis-Hastings a rejection repeats the state before, which follows p.",
            _about(p[0]),
            kept,
            f"A rejected draft is replaced by a token of (p - q)+/(1 - alpha); its first token has share "
            f"{kept.exact():.4f}.",
        ),
    ]


def _c08() -> list[Claim]:
    row = functools.partial(Claim, "C08", "2.1")
    own = {kind: TokenShare(SKEW, 0, kind) for kind in ("accepted", "corrected", "emitted")}
    law = theory.overlap(SKEW.target, SKEW.draft).accepted_law
    assert law is not None
    shares = ", ".join(f"{share:.4f}" for share in law)
    return [
        row(
            f"accepted drafts alone, share of the likeliest token, {SHOWN}",
            "After acceptance tokens are distributed exactly as p_t.",
            _about(SKEW.target[0]),
            own["accepted"],
            f"Accepted drafts follow min(p, q)/alpha = ({shares}).",
        ),
        row(
            f"all emitted tokens, share of the likeliest token, {SHOWN}",
            "The tokens that come out are distributed exactly as p_t.",
            _about(SKEW.target[0]),
            own["emitted"],
            f"Accepted, corrected and bonus tokens together follow p: the likeliest has share "
            f"{own['emitted'].exact():.4f}.",
        ),
    ]


def _c10() -> list[Claim]:
    row = functools.partial(Claim, "C10", "2.2")
    l1 = sum(abs(a - b) for a, b in zip(SKEW.target, SKEW.draft, strict=True))
    accepted = TokenAlpha(SKEW)
    truth = f"alpha = 1 - TV = 1 - L1/2 = {accepted.exact():.4f}."
    return [
        row(
            f"D_TV as the L1 norm sum |p - q|, {SHOWN}",
            "alpha = 1 - D_TV/2.",
            _about(1.0 - l1 / 2),
            accepted,
            f"With L1 = {l1:.2f} it is right: {truth}",
        ),
        row(
            f"D_TV as total variation, half of that, {SHOWN}",
            "alpha = 1 - D_TV/2.",
            _about(1.0 - l1 / 4),
            accepted,
            f"It would be {1.0 - l1 / 4:.2f}. {truth}",
        ),
        untestable(
            "C10",
            "2.2",
            "where the identity stands",
            "The identity is Eq. (3) of Chen et al. (2023).",
            "a statement about a paper; theirs has no such identity",
            f"It is Corollary 3.6 of Leviathan et al. (2023), which numbers only its Eq. (1): {truth}",
        ),
    ]


def _c11() -> list[Claim]:
    row = functools.partial(Claim, "C11", "2.2")
    far = TokenAlpha(FAR)
    tv = theory.overlap(FAR.target, FAR.draft).total_variation
    return [
        row(
            "a pair that lacks each other's tokens, p = (.7, .3, 0), q = (.7, 0, .3)",
            "All there is to know of alpha is in the distance: alpha = 1 - TV.",
            _about(1.0 - tv),
            far,
            f"Structure adds nothing: alpha = 1 - TV = {far.exact():.4f}.",
        ),
        row(
            "that pair against p = (.5, .5), q = (.8, .2), both TV = .3: difference of alpha",
            "alpha is not a function of TV alone: sparse regions of the laws change it, here by at least .01.",
            below(-0.01),
            Difference(far, TokenAlpha(NEAR)),
            f"Equal TV, equal alpha: {far.exact():.4f} and {alpha_of(NEAR):.4f}.",
        ),
    ]


def _by_definition(pair: GivenPair, order: float) -> float:
    """The divergence of draft from target as it stands, for laws without zeros."""
    return math.log(math.fsum(q**order * p ** (1 - order) for p, q in _both(pair))) / (order - 1)


def _both(pair: GivenPair) -> Iterator[tuple[float, float]]:
    return zip(pair.target, pair.draft, strict=True)


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
    truth = "It does not decrease (van Erven, Harremoes 2014, Theorem 3)"
    orders = {order: theory.renyi(SKEW.draft, SKEW.target, order) for order in (0.5, 1.0, 2.0)}

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
                again=lambda: _by_definition(SKEW, 2.0) - _by_definition(SKEW, 0.5),
            ),
            f"{truth}: D_1/2, D_1, D_2 = {', '.join(f'{d:.4f}' for d in orders.values())}.",
        ),
        row(
            f"share of {PAIRS} random pairs whose divergence falls from order 1/4 to infinity",
            says,
            integer(1),
            Formula(falls, again=falls_one_by_one),
            f"{truth}: it falls for {falls():.0%} of the pairs.",
        ),
    ]


def _c13() -> list[Claim]:
    row = functools.partial(Claim, "C13", "2.2")
    low, high = theory.alpha_bounds_from_half(_half(SKEW))
    truth = f"True: 1 - sqrt(1 - e^-D_1/2) <= alpha <= e^(-D_1/2 /2); for {SHOWN} {low:.4f} <= .7 <= {high:.4f}"
    rows = [
        row(
            f"eq. (3) as {_spelled(reading)}: share of {PAIRS} random pairs for which it holds",
            "For orders in [0, 1] the divergence bounds alpha.",
            integer(1),
            Formula(functools.partial(_holding, reading), again=functools.partial(_holding_one_by_one, reading)),
            f"It fails for {1.0 - _holding(reading):.1%} of the pairs, more or fewer by how they are drawn. {truth}."
            if _holding(reading) < 1.0
            else f"It holds for all of them. {truth}.",
        )
        for reading in readings()
        if reading.name in EQUATION_3 and reading.order <= 1.0
    ]
    return [
        *rows,
        row(
            f"eq. (3) as alpha >= e^-D_1/2, tokens of {SHOWN}",
            "For orders in [0, 1] the divergence bounds alpha from below by e^-D.",
            above(math.exp(-_half(SKEW))),
            TokenAlpha(SKEW),
            f"e^-D_1/2 = {math.exp(-_half(SKEW)):.4f} lies above alpha. {truth}.",
        ),
        row(
            "eq. (3) as alpha <= e^-D_1/2, tokens of p = (.7, .3, 0), q = (.7, 0, .3)",
            "For orders in [0, 1] the divergence bounds alpha from above by e^-D.",
            below(math.exp(-_half(FAR))),
            TokenAlpha(FAR),
            f"e^-D_1/2 = {math.exp(-_half(FAR)):.4f} lies below alpha = e^(-D_1/2 /2) of this pair. {truth}.",
        ),
    ]


def _spelled(reading: Reading) -> str:
    """An inequality with its order, in the letters of the other rows."""
    name = reading.name.replace("α", "alpha").replace("λ", "lambda").replace("≥", ">=").replace("≤", "<=")
    return f"{name.replace('√', 'sqrt').replace('½', '1/2').replace('−', '-')}, lambda = {reading.order:g}"


@functools.cache
def _holding(reading: Reading) -> float:
    """Share of the random pairs for which an inequality holds."""
    found = _at_once()
    return float(np.mean(reading.holds(found["alpha"], found[f"back_{reading.order:g}"])))


def _holding_one_by_one(reading: Reading) -> float:
    """The same from `theory.overlap` and `theory.renyi`."""
    alpha = np.array([a for a, _ in _single_pairs()])
    d = np.array([orders[reading.order] for _, orders in _single_pairs()])
    return float(np.mean(reading.holds(alpha, d)))


def _c14() -> list[Claim]:
    row = functools.partial(Claim, "C14", "2.2")
    skew, far = (theory.overlap(pair.target, pair.draft) for pair in (SKEW, FAR))

    def ratio(power: float) -> float:
        """D_1/2 over a power of the Hellinger distance, for one pair over the other."""
        return float(_half(SKEW) / skew.hellinger2 ** (power / 2) / (_half(FAR) / far.hellinger2 ** (power / 2)))

    def ratio_by_definition(power: float) -> float:
        values = []
        for pair in (SKEW, FAR):
            distance = math.sqrt(math.fsum((math.sqrt(p) - math.sqrt(q)) ** 2 for p, q in _both(pair)) / 2)
            values.append(-2 * math.log(math.fsum(math.sqrt(p * q) for p, q in _both(pair))) / distance**power)
        return float(values[0] / values[1])

    def multiple(power: float, name: str) -> Claim:
        return row(
            f"D_1/2 over {name}, {SHOWN}, over the same of p = (.7, .3, 0), q = (.7, 0, .3)",
            "D_1/2 is a constant multiple of the negative Hellinger distance, so the two quotients are equal.",
            formula(1.0),
            Formula(functools.partial(ratio, power), again=functools.partial(ratio_by_definition, power)),
            f"D_1/2 = -2 ln(1 - H^2), no multiple of {name}: {_half(SKEW):.4f} at H^2 = {skew.hellinger2:.4f}, "
            f"{_half(FAR):.4f} at H^2 = {far.hellinger2:.4f}.",
        )

    return [
        row(
            f"the formula, {SHOWN}",
            "D_1/2 = -2 ln sum sqrt(p q).",
            formula(-2.0 * math.log(skew.bhattacharyya)),
            Formula(lambda: _half(SKEW), again=lambda: _by_definition(SKEW, 0.5)),
            f"D_1/2 = -2 ln sum sqrt(p q) = {_half(SKEW):.4f}.",
        ),
        multiple(1.0, "H"),
        multiple(2.0, "H^2"),
    ]
