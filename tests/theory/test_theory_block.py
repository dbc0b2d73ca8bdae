"""Is block verification lossless, and does it never keep less?  Every draft, verdict and last token, in fractions."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from theory_laws import BACK, SKEW, law_lists

from simspec.model.chains import TokenChain
from simspec.model.errors import ParameterError
from simspec.theory import block_bracket, block_verification, window

Rows = list[list[Fraction]]
CHAIN = TokenChain(
    target=((0.7, 0.2, 0.1), (0.2, 0.5, 0.3), (0.1, 0.2, 0.7)),
    draft=((0.3, 0.4, 0.3), (0.3, 0.3, 0.4), (0.5, 0.0, 0.5)),
)


def fractions(rows: list[list[int]]) -> Rows:
    return [[Fraction(entry, sum(row)) for entry in row] for row in rows]


CASES = {
    "two tokens": (fractions([[7, 3], [4, 6]]), fractions([[1, 1], [9, 1]])),
    "three tokens": (fractions([[7, 2, 1], [2, 5, 3], [1, 2, 7]]), fractions([[3, 4, 3], [3, 3, 4], [5, 0, 5]])),
    "one-hot target": (fractions([[1, 0], [0, 1]]), fractions([[1, 1], [1, 3]])),
    "one-hot draft": (fractions([[1, 2], [2, 1]]), fractions([[1, 0], [0, 1]])),
    "disjoint in one context": (
        fractions([[1, 0, 0], [1, 1, 1], [1, 2, 1]]),
        fractions([[0, 1, 1], [1, 2, 3], [1, 2, 1]]),
    ),
    "equal": (fractions([[1, 2], [3, 1]]), fractions([[1, 2], [3, 1]])),
}  # fmt: skip


def rounds(p: Rows, q: Rows, start: int, kappa: int, planted: str = "") -> dict[tuple[int, ...], Fraction]:
    """Law of the tokens one round emits, straight from the algorithm: drafts, all verdicts, last token.

    ``planted`` is an error: ``"residual"`` takes (p − q)⁺ for the last token, ``"verdict"`` keeps prefix i with t_i.
    """
    law: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    one = Fraction(1)
    for path in product(range(len(p[0])), repeat=kappa):
        contexts, drafted, shares = [start, *path], one, [one]
        for before, token in zip(contexts, path, strict=False):
            drafted *= q[before][token]
        if drafted == 0:
            continue
        for before, token in zip(contexts, path, strict=False):
            shares.append(min(shares[-1] * p[before][token] / q[before][token], one))
        owed = [_owed(p[c], q[c], t) for t, c in zip(shares, contexts, strict=True)]
        chances = [_passes(shares[i], sum(owed[i]), i == kappa or planted == "verdict") for i in range(1, kappa + 1)]
        if planted == "residual":
            owed = [_owed(p[c], q[c], one) for c in contexts]
        for verdicts in product((True, False), repeat=kappa):
            chance = drafted
            for passes, own in zip(verdicts, chances, strict=True):
                chance *= own if passes else 1 - own
            if chance == 0:
                continue
            kept = max((i + 1 for i, passes in enumerate(verdicts) if passes), default=0)
            last = owed[kept] if kept < kappa and any(owed[kept]) else p[contexts[kept]]  # empty: a planted error only
            for token, weight in enumerate(last):
                law[(*path[:kept], token)] += chance * weight / sum(last)
    return law


def _owed(p: list[Fraction], q: list[Fraction], share: Fraction) -> list[Fraction]:
    return [max(share * a - b, Fraction(0)) for a, b in zip(p, q, strict=True)]


def _passes(share: Fraction, mass: Fraction, by_share: bool) -> Fraction:
    below = mass + 1 - share
    return share if by_share else mass / below if below else Fraction(0)  # 0/0: a longer prefix is kept for certain


def target_chance(p: Rows, start: int, tokens: tuple[int, ...]) -> Fraction:
    chance = Fraction(1)
    for before, token in zip((start, *tokens), tokens, strict=False):
        chance *= p[before][token]
    return chance


def wrong_words(p: Rows, q: Rows, kappa: int, planted: str = "") -> int:
    """Words of κ + 1 tokens whose probability is not the target's; what a round leaves open follows it."""
    wrong = 0
    for start in range(len(p)):
        law = rounds(p, q, start, kappa, planted)
        assert sum(law.values()) == 1
        for word in product(range(len(p[0])), repeat=kappa + 1):
            found = sum(
                chance * target_chance(p, (start, *emitted)[-1], word[len(emitted) :])
                for emitted, chance in law.items()
                if word[: len(emitted)] == emitted
            )
            wrong += found != target_chance(p, start, word)
    return wrong


@pytest.mark.parametrize("kappa", [0, 1, 2, 3])
@pytest.mark.parametrize("name", CASES)
def test_block_verification_is_lossless_exactly(name: str, kappa: int) -> None:
    assert wrong_words(*CASES[name], kappa) == 0


@pytest.mark.parametrize("planted", ["residual", "verdict"])
def test_a_planted_error_is_not_lossless(planted: str) -> None:
    """The list of words sees both; at κ = 1, where t_0 = 1 and t_1 is the last, neither changes anything."""
    assert wrong_words(*CASES["three tokens"], 2, planted) > 0
    assert wrong_words(*CASES["three tokens"], 1, planted) == 0


@pytest.mark.parametrize("kappa", [0, 1, 2, 3])
@pytest.mark.parametrize("name", [name for name in CASES if name != "one-hot target"])
def test_the_law_of_accepted_lengths_of_a_chain(name: str, kappa: int) -> None:
    """Against the same list of outcomes; the window starts that last, by walking on."""
    p, q = CASES[name]
    size = len(p)
    laws = [rounds(p, q, start, kappa) for start in range(size)]
    moves, lengths = np.zeros((size, size)), np.zeros((size, kappa + 1))
    for start, law in enumerate(laws):
        for emitted, chance in law.items():
            moves[start, emitted[-1]] += float(chance)
            lengths[start, len(emitted) - 1] += float(chance)
    walked = np.linalg.matrix_power(moves, 4000)[0]
    floats = [tuple(tuple(float(x) for x in row) for row in rows) for rows in (p, q)]
    found = block_verification(TokenChain(target=floats[0], draft=floats[1]), kappa=kappa)
    assert_allclose(found.pmf_accepted, walked @ lengths, atol=1e-12)


@given(law_lists(most=4), st.integers(0, 5))
@settings(deadline=None, max_examples=150)
def test_one_context(pair: list[list[float]], kappa: int) -> None:
    """Never less than the token rule, more exactly where a lost share can be made up for; emitted tokens follow p."""
    p, q = (np.array(law) for law in pair)
    found = block_verification(p, q, kappa)
    alpha = float(np.minimum(p, q).sum())
    assert_allclose(found.token_mean_accepted, sum(alpha**j for j in range(1, kappa + 1)), atol=1e-9)
    assert_allclose(found.pmf_accepted.sum(), 1.0, atol=1e-9)
    assert_allclose(found.survival.sum(), found.mean_accepted, atol=1e-9)
    assert_allclose(found.emitted_law, p / p.sum(), atol=1e-9)
    assert found.mean_accepted >= found.token_mean_accepted - 1e-9
    drafted = q > 0.0
    lost = drafted & (p > 0.0) & (p < q * (1.0 - 1e-6)) & (q > 1e-3)
    made_up = drafted & (p > q * (1.0 + 1e-6)) & (q > 1e-3)
    if kappa <= 1 or not (drafted & (p > q)).any() or not (drafted & (p > 0.0) & (p < q)).any():
        assert_allclose(found.mean_accepted, found.token_mean_accepted, atol=1e-9)
    elif lost.any() and made_up.any() and p[lost].max() > 1e-3:
        assert found.gain > 0.0


@given(law_lists(most=5), st.integers(0, 5), st.sampled_from([2, 9, 65]))
@settings(deadline=None, max_examples=100)
def test_the_bracket_holds_the_listed_mean(pair: list[list[float]], kappa: int, points: int) -> None:
    p, q = pair
    lower, upper = block_bracket(p, q, kappa, points)
    exact = block_verification(p, q, kappa)
    assert lower - 1e-12 <= exact.mean_accepted <= upper + 1e-12
    assert upper <= kappa + 1e-9
    assert kappa > 1 or upper - lower < 1e-9


def test_the_bracket_narrows_and_holds_where_tokens_are_taken_together() -> None:
    """Laws of 6000 tokens are 60 different ratios, so that the paths can be listed after all."""
    ratio = np.exp(np.linspace(-3.0, 2.0, 60))
    q = np.repeat(np.linspace(1.0, 2.0, 60), 100)
    p = q * np.repeat(ratio, 100)
    p, q = p / p.sum(), q / q.sum()
    few_p, few_q = (law.reshape(60, 100).sum(axis=1) for law in (p, q))
    exact = block_verification(few_p, few_q, 4).mean_accepted
    widths = []
    for points in (17, 65, 257):
        lower, upper = block_bracket(p, q, 4, points)
        assert lower <= exact <= upper
        widths.append(upper - lower)
    assert widths[1] < widths[0] / 8
    assert widths[2] < min(widths[1] / 4, 1e-4)  # what is left is the width of the groups


def test_a_long_draft_leaves_a_wide_bracket_which_more_points_narrow() -> None:
    """Nothing is promised but the distance of the bounds; at κ = 64 that is far more than at 4."""
    p, q = np.array(SKEW), np.array(BACK)
    widths = [upper - lower for lower, upper in (block_bracket(p, q, *asked) for asked in ((4,), (64,), (64, 1025)))]
    assert widths[1] > 10 * widths[0]
    assert widths[2] < widths[1] / 4


def test_survival_is_the_mean_of_the_share_owed() -> None:
    """P(A ≥ j) = E[t_j], drafts listed one by one."""
    p, q = np.array(SKEW), np.array(BACK)
    means = np.zeros(3)
    for path in product(range(3), repeat=3):
        share, mass = 1.0, float(np.prod(q[list(path)]))
        for j, token in enumerate(path):
            share = min(share * p[token] / q[token], 1.0)
            means[j] += mass * share
    assert_allclose(block_verification(SKEW, BACK, 3).survival, means, rtol=1e-12)


@pytest.mark.parametrize("kappa", [1, 2, 4, 8])
def test_beside_the_token_rule_on_a_chain(kappa: int) -> None:
    found = block_verification(CHAIN, kappa=kappa)
    assert_allclose(found.token_mean_accepted, window(CHAIN, kappa).mean_accepted, rtol=1e-12)
    assert (found.gain > 0.05) == (kappa > 1)
    assert abs(found.gain) < 1e-12 or kappa > 1
    target = np.array(CHAIN.target)
    assert_allclose(found.emitted_law @ target, found.emitted_law, atol=1e-12)


def test_by_hand() -> None:
    """p = (½, ½), q = (¾, ¼): t_1 = 2/3 or 1; E[t_2] = ¾(¾·4/9 + ¼·1) + ¼(¾·2/3 + ¼) = 5/8, and α² = 9/16."""
    found = block_verification([0.5, 0.5], [0.75, 0.25], 2)
    assert_allclose(found.survival, [0.75, 0.625], rtol=1e-14)
    assert_allclose(found.mean_accepted, 1.375, rtol=1e-14)
    assert_allclose(found.token_mean_accepted, 0.75 + 0.5625, rtol=1e-14)


def test_pairs_whose_ratios_only_lose_gain_nothing() -> None:
    for p, q in (([0.7, 0.3, 0.0], [0.7, 0.0, 0.3]), (SKEW, SKEW), ([1.0, 0.0], [0.4, 0.6]), ([0.5, 0.5], [1.0, 0.0])):
        assert abs(block_verification(p, q, 5).gain) < 1e-12
    nothing = block_verification([1.0, 0.0], [0.0, 1.0], 3)
    assert (nothing.mean_accepted, nothing.gain, nothing.accepted_law) == (0.0, 0.0, None)


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda: block_verification(SKEW, BACK, -1), "kappa"),
        (lambda: block_verification(SKEW), "draft"),
        (lambda: block_verification(CHAIN, SKEW), "draft"),
        (lambda: block_verification(SKEW, [0.5, 0.5]), "draft"),
        (lambda: block_bracket(SKEW, BACK, -1), "kappa"),
        (lambda: block_bracket(SKEW, BACK, 4, 1), "points"),
        (lambda: block_bracket(SKEW, [0.5, 0.4, 0.0], 4), "draft"),
        (lambda: block_verification(np.arange(1, 201) / 20100, np.full(200, 1 / 200), 6), "kappa"),
    ],
)
def test_what_cannot_be_answered_is_named(call, key: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.key == key
