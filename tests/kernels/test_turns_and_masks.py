"""Two models in turn by their thresholds, masks by a schedule: is what is played what matrices and listings give?"""

import itertools
import math

import numpy as np
import pytest

from simspec import theory
from simspec.kernels import play, twin
from simspec.kernels.lower_schemes import scheme_form
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Cost, Hmm, Iid, ParameterError, TokenChain
from simspec.model.draft_laws import draft_law
from simspec.model.schemes import BigLittle, Copy, NgramPool, Schemes, Unmask

ROUNDS, CHUNKS, ERRORS = 1000, 8, 6.0
"""Six standard errors of 512 lanes: 4e-9 for one figure, below 1e-6 for all of a case."""


def played(scheme, process, kappa):
    own = scheme_form(scheme.rounds(draft_law(process, kappa), kappa))
    keys = stream_keys(31, f"{scheme} {process} {kappa}")
    lanes = np.concatenate([play.scheme_counts(own, keys, c, LANES, ROUNDS) for c in range(CHUNKS)])
    return own.kinds, lanes / ROUNDS


def assert_mean(kinds, lanes, value, exact):
    means = lanes @ np.array([float(value(kind)) for kind in kinds])
    assert abs(means.mean() - exact) <= ERRORS * means.std(ddof=1) / np.sqrt(means.size) + 1e-9, (means.mean(), exact)


LARGE = ((0.1, 0.7, 0.1, 0.1), (0.05, 0.05, 0.2, 0.7), (0.4, 0.3, 0.2, 0.1), (0.6, 0.0, 0.3, 0.1))
SMALL = ((0.1, 0.8, 0.05, 0.05), (0.02, 0.02, 0.9, 0.06), (0.45, 0.25, 0.2, 0.1), (0.1, 0.7, 0.1, 0.1))
FOUR = TokenChain(target=LARGE, draft=SMALL)
TWO = TokenChain(target=((0.2, 0.8), (0.6, 0.4)), draft=((0.3, 0.7), (0.1, 0.9)))
SWAP = TokenChain(target=((0.0, 1.0), (1.0, 0.0)), draft=((0.1, 0.9), (0.9, 0.1)))
RINGS = TokenChain(  # greedy texts run in one of two rings, and the large model's own text is nine times in the first
    target=((0.05, 0.9, 0.03, 0.02), (0.9, 0.06, 0.02, 0.02), (0.3, 0.2, 0.1, 0.4), (0.2, 0.2, 0.5, 0.1)),
    draft=((0.1, 0.7, 0.1, 0.1), (0.7, 0.1, 0.1, 0.1), (0.1, 0.1, 0.1, 0.7), (0.1, 0.7, 0.1, 0.1)),
)
ONE = TokenChain(target=((1.0,),), draft=((1.0,),))
TURNS = [
    (BigLittle(fallback=0.6), FOUR, 10),  # as published
    (BigLittle(fallback=0.4, rollback=1.0), FOUR, 5),
    (BigLittle(fallback=0.4, rollback=5.0, sampled=True), FOUR, 3),
    (BigLittle(fallback=0.75, rollback=1.5, sampled=True), FOUR, 4),
    (BigLittle(fallback=0.0, rollback=0.8, sampled=True), TWO, 5),
    (BigLittle(rollback=0.0, fallback=0.0, sampled=True), TWO, 3),  # all is taken back
    (BigLittle(fallback=1.0, sampled=True), TWO, 3),  # always unsure
    (BigLittle(fallback=0.5), RINGS, 3),
    (BigLittle(fallback=0.5, rollback=1.0), RINGS, 4),
    (BigLittle(fallback=0.6), SWAP, 1),  # two tokens a turn: its starts never mix
    (BigLittle(fallback=0.6, sampled=True), FOUR, 0),
    (BigLittle(fallback=1.0), ONE, 2),
]


@pytest.mark.parametrize(("scheme", "process", "kappa"), TURNS, ids=str)
def test_turns_by_thresholds(scheme, process, kappa):
    own = scheme.models(process.target, process.draft)
    law = theory.big_little_text(process.target, process.draft, kappa, own.fallback, own.rollback, own.sampled)
    kinds, lanes = played(scheme, process, kappa)
    assert law.joint.sum() == pytest.approx(1.0)
    for (n, j), exact in np.ndenumerate(law.joint):
        share = lanes @ np.array([kind.drafted == n and kind.accepted == j for kind in kinds])
        assert abs(share.mean() - exact) <= ERRORS * share.std(ddof=1) / np.sqrt(share.size) + 1e-5
    assert_mean(kinds, lanes, lambda kind: kind.steps, law.mean_small_passes)
    assert_mean(kinds, lanes, lambda kind: kind.rejected, law.p_rollback)
    assert_mean(kinds, lanes, lambda kind: kind.lost, law.disagreement * (law.mean_kept + 1))
    cost = Cost(c0=0.9, c_d=0.13, c_v=0.01, c_r=0.4)
    assert_mean(kinds, lanes, lambda kind: kind.price(cost), theory.scheme_law(scheme, process, kappa).price(cost))


@pytest.mark.parametrize(("scheme", "process", "kappa"), TURNS, ids=str)
def test_turns_are_played_alike_by_the_twin(scheme, process, kappa):
    form = scheme_form(scheme.rounds(draft_law(process, kappa), kappa))
    keys = stream_keys(2, "twin of turns")
    fast, slow = (player.scheme_counts(form, keys, 1, 4, 40) for player in (play, twin))
    assert fast.tolist() == slow.tolist()


def write(scheme, process, kappa, turns, rng):
    """Bigrams of turns played token by token, as the paper says it, in 200 batches."""
    own, size = scheme.models(process.target, process.draft), len(process.target)
    large, small = np.array(process.target), np.array(process.draft)
    counts, here = np.zeros((200, size, size)), 0
    for turn in range(turns):
        text = [here]
        while len(text) <= kappa and small[text[-1]].max() >= own.fallback:
            text.append(int(rng.choice(size, p=small[text[-1]])))
        kept = len(text) - 1
        for i in range(len(text) - 1):
            chance = large[text[i], text[i + 1]]
            if chance == 0.0 or -math.log(chance) > own.rollback:
                kept = i
                break
        text = text[: kept + 1]
        text.append(int(rng.choice(size, p=large[text[-1]])))
        for a, b in itertools.pairwise(text):
            counts[turn * 200 // turns, a, b] += 1
        here = text[-1]
    return counts


@pytest.mark.parametrize("case", [2, 3, 4])
def test_the_emitted_law_of_drawn_turns_and_its_distance(case):
    """Ten thousand turns by hand; shares by 200 batches, the distance by what it is made of."""
    scheme, process, kappa = TURNS[case]
    own = scheme.models(process.target, process.draft)
    law = theory.big_little_text(process.target, process.draft, kappa, own.fallback, own.rollback, True)
    batches = write(scheme, process, kappa, 10_000, np.random.default_rng(case))
    shares = batches / batches.sum(axis=(1, 2), keepdims=True)
    error = shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
    assert (np.abs(shares.mean(axis=0) - law.emitted) <= ERRORS * error + 1e-4).all()
    emitted = batches.sum(axis=0) / batches.sum()
    apart = np.abs(emitted - emitted.sum(axis=1)[:, None] * np.array(process.target)).sum() / 2
    assert apart == pytest.approx(law.tv, abs=0.02)
    assert law.tv > 0.05


def test_a_turn_by_hand():
    """0 → 1 is kept (.7), 1 → 2 costs −ln .2 = 1.61 nats; the large model has 3 there, and 0 behind 3."""
    strict = theory.big_little_text(LARGE, SMALL, 10, fallback=0.6, rollback=1.5)
    # 0: writes 1 (kept), 2 (taken back), is unsure behind 2: three passes, two tokens, one kept, then 3
    # 3: writes 1, which the large model excludes: back; behind it 2, then unsure: none kept, then 0
    assert strict.joint[2, 1] == pytest.approx(0.5)
    assert strict.joint[2, 0] == pytest.approx(0.5)
    assert (strict.mean_small_passes, strict.disagreement, strict.tv) == (pytest.approx(3.0), 0.0, 0.0)
    loose = theory.big_little_text(LARGE, SMALL, 10)
    # 0: 1, 2 kept, unsure behind 2: then 0.  Of three tokens the second is not the likeliest
    assert loose.joint[2, 2] == pytest.approx(1.0)
    assert (loose.disagreement, loose.tv) == (pytest.approx(1 / 3), pytest.approx(1 / 3))


def test_thresholds_on_contexts_alike_are_chances():
    """Where all contexts have the same two laws, drawn turns are those of `big_little` with the chances of the draw."""
    large, small = [[0.5, 0.3, 0.15, 0.05]] * 4, [[0.7, 0.1, 0.1, 0.1]] * 4
    text = theory.big_little_text(large, small, 6, fallback=0.6, rollback=1.5, sampled=True)
    chances = theory.big_little(0.0, 0.2, 6)  # −ln .15 and −ln .05 exceed 1.5
    np.testing.assert_allclose(text.joint, chances.joint, atol=1e-12)
    cost = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
    assert text.mean_cost(cost) == pytest.approx(chances.mean_cost(cost))
    rates = theory.big_little_rates(large, small, [1] * 4, fallback=0.6, rollback=1.5)
    assert (rates.p_fallback, rates.p_rollback) == (0.0, 0.0)  # of likeliest tokens, which are another text


BLOCKS = [
    (Unmask(steps=4), Iid(alpha=0.6), 7),
    (Unmask(steps=3), Iid(alpha=0.3), 7),
    (Unmask(steps=8), Iid(alpha=0.5), 7),
    (Unmask(steps=1), Iid(alpha=0.5), 7),
    (Unmask(steps=2), Iid(alpha=0.0), 4),
    (Unmask(steps=2), Iid(alpha=1.0), 4),
    (Unmask(steps=1), Iid(alpha=0.4), 0),
    (Unmask(steps=5, tau=0.5), Hmm(P=((0.5, 0.3, 0.2),) * 3, alphas=(0.9, 0.6, 0.2)), 11),
    (Unmask(steps=5, tau=0.7), Hmm(P=((0.5, 0.3, 0.2),) * 3, alphas=(0.9, 0.6, 0.2)), 11),
]
THRESHOLDS = [
    (Unmask(), Iid(alpha=0.3), 15),
    (Unmask(), Iid(alpha=0.0), 5),
    (Unmask(), Iid(alpha=1.0), 5),
    (Unmask(tau=0.5), Hmm(P=((0.5, 0.3, 0.2),) * 3, alphas=(0.9, 0.6, 0.2)), 9),
    (Unmask(tau=0.95), Hmm(P=((0.5, 0.5),) * 2, alphas=(0.9, 0.6)), 9),
]


def law_of_masks(scheme, process):
    """Confidences and how likely they are; what counts as confident."""
    if isinstance(process, Hmm):
        return process.alphas, process.P[0], scheme.tau
    return (1.0, 0.0), (process.alpha, 1.0 - process.alpha), 0.5


@pytest.mark.parametrize(("scheme", "process", "kappa"), BLOCKS, ids=str)
def test_masks_by_a_schedule(scheme, process, kappa):
    values, weights, tau = law_of_masks(scheme, process)
    law = theory.remask(kappa + 1, scheme.steps, values, weights, tau)
    kinds, lanes = played(scheme, process, kappa)
    assert {kind.tokens for kind in kinds} == set(law.tokens_per_step.tolist())
    for tokens in set(law.tokens_per_step.tolist()):
        assert_mean(kinds, lanes, lambda kind, own=tokens: kind.tokens == own, (law.tokens_per_step == tokens).mean())
    assert_mean(kinds, lanes, lambda kind: kind.tokens, law.tokens_per_pass)
    if kappa:  # a lone mask is filled whatever is said of it
        assert_mean(kinds, lanes, lambda kind: kind.lost, law.p_unsure * law.tokens_per_pass)
    assert theory.scheme_law(scheme, process, kappa).mean_tokens == pytest.approx(law.tokens_per_pass)


@pytest.mark.parametrize(("scheme", "process", "kappa"), THRESHOLDS, ids=str)
def test_masks_by_confidence(scheme, process, kappa):
    values, weights, tau = law_of_masks(scheme, process)
    chance = sum(w for v, w in zip(values, weights, strict=True) if v >= tau)
    law = theory.parallel_unmask(kappa + 1, chance)
    kinds, lanes = played(scheme, process, kappa)
    assert_mean(kinds, lanes, lambda kind: kind.tokens, law.tokens_per_pass)
    assert_mean(kinds, lanes, lambda kind: kind.lost, law.p_unsure * law.tokens_per_pass)
    cost = Cost(c0=1.1, c_d=0.5, c_v=0.01)
    price = theory.scheme_law(scheme, process, kappa).price(cost)
    assert price == pytest.approx(1.1 + 0.01 * kappa)
    assert_mean(kinds, lanes, lambda kind: kind.price(cost), price)


@pytest.mark.parametrize(("scheme", "process", "kappa"), [*BLOCKS, *THRESHOLDS], ids=str)
def test_masks_are_filled_alike_by_the_twin(scheme, process, kappa):
    form = scheme_form(scheme.rounds(draft_law(process, kappa), kappa))
    keys = stream_keys(2, "twin of masks")
    fast, slow = (player.scheme_counts(form, keys, 1, 4, 40) for player in (play, twin))
    assert fast.tolist() == slow.tolist()


@pytest.mark.parametrize(
    ("length", "steps", "values", "weights"),
    [
        (4, 2, (0.9, 0.4), (0.5, 0.5)),
        (5, 2, (0.8, 0.5, 0.1), (0.2, 0.5, 0.3)),
        (3, 3, (0.7, 0.7, 0.2), (0.25, 0.25, 0.5)),
        (4, 1, (1.0, 0.0), (0.3, 0.7)),
        (3, 5, (0.6,), (2.0,)),
        (1, 1, (0.6, 0.3), (0.0, 1.0)),
    ],
)
def test_remasking_by_listing_all_confidences(length, steps, values, weights):
    """Every mask that is left gets a value in every pass; the largest are kept."""
    shares = np.array(weights) / sum(weights)
    each, more = divmod(length, steps)
    left, confidence, unsure = length, 0.0, 0.0
    for step in range(steps):
        filled = each + (step < more)
        for course in itertools.product(range(len(values)), repeat=left):
            chance = math.prod(shares[i] for i in course)
            kept = sorted((values[i] for i in course), reverse=True)[:filled]
            confidence += chance * sum(kept)
            unsure += chance * sum(value < 0.6 for value in kept)
        left -= filled
    found = theory.remask(length, steps, values, weights, tau=0.6)
    assert found.mean_confidence == pytest.approx(confidence / length)
    assert found.p_unsure == pytest.approx(unsure / length, abs=1e-12)


def test_many_values_come_near_to_uniform_confidences():
    fine = (np.arange(500) + 0.5) / 500
    for steps in (16, 4, 1):
        found = theory.remask(16, steps, fine, np.ones(500))
        assert found.mean_confidence == pytest.approx(theory.schedule_confidence(found.tokens_per_step), abs=2e-3)


def test_the_mean_confidence_of_what_is_played():
    """Summed over the values: each adds its distance from the one below, where a token has it or more."""
    process, kappa = BLOCKS[-1][1], 11
    below, found, error = 0.0, 0.0, 0.0
    for value in sorted(process.alphas):
        kinds, lanes = played(Unmask(steps=5, tau=value), process, kappa)
        least = 1.0 - lanes @ np.array([kind.lost for kind in kinds]) / (lanes @ np.array([k.tokens for k in kinds]))
        found += (value - below) * least.mean()
        error += (value - below) * least.std(ddof=1) / np.sqrt(least.size)
        below = value
    exact = theory.remask(12, 5, process.alphas, process.P[0]).mean_confidence
    assert abs(found - exact) <= ERRORS * error
    assert abs(found - theory.remask(12, 6, process.alphas, process.P[0]).mean_confidence) > ERRORS * error


def test_planted_errors_of_turns_and_masks_would_be_seen():
    scheme, process, kappa = TURNS[2]
    kinds, lanes = played(scheme, process, kappa)
    wrong = theory.big_little_text(process.target, process.draft, kappa, 0.5, 5.0, True)  # 2 → .45 was sure
    with pytest.raises(AssertionError):
        assert_mean(kinds, lanes, lambda kind: kind.steps, wrong.mean_small_passes)
    scheme, process, kappa = BLOCKS[0]
    kinds, lanes = played(scheme, process, kappa)
    law = theory.remask(kappa + 1, scheme.steps, (1.0, 0.0), (0.61, 0.39), 0.5)
    with pytest.raises(AssertionError):
        assert_mean(kinds, lanes, lambda kind: kind.lost, law.p_unsure * law.tokens_per_pass)


def test_what_cannot_be_asked():
    hidden = Hmm(P=((0.9, 0.1), (0.2, 0.8)), alphas=(0.9, 0.2))
    alike = Hmm(P=((0.5, 0.5),) * 2, alphas=(0.9, 0.2))
    rows = [[0.5, 0.5], [0.9, 0.1]]
    for make, named in (
        (lambda: BigLittle(), "p_fallback"),
        (lambda: BigLittle(sampled=True), "p_fallback"),
        (lambda: BigLittle(p_fallback=0.2, rollback=5.0), "p_fallback"),
        (lambda: BigLittle(fallback=1.2), "fallback"),
        (lambda: BigLittle(rollback=-1.0), "rollback"),
        (lambda: BigLittle(fallback=0.6).rounds(draft_law(Iid(alpha=0.5), 3), 3), "process"),
        (lambda: BigLittle(p_fallback=0.6).rounds(draft_law(TWO, 3), 3), "p_fallback"),
        (lambda: Unmask(steps=0), "steps"),
        (lambda: Unmask(steps=5).rounds(draft_law(Iid(alpha=0.5), 3), 3), "steps"),
        (lambda: Unmask(tau=0.5).rounds(draft_law(Iid(alpha=0.5), 3), 3), "tau"),
        (lambda: Unmask().rounds(draft_law(alike, 3), 3), "tau"),
        (lambda: Unmask(tau=0.5).rounds(draft_law(hidden, 3), 3), "process"),
        (lambda: Copy(match_min=3, match_max=2), "match_min"),
        (lambda: Copy(match_min=3, match_max=3, memory=3), "memory"),
        (lambda: Copy(memory=1), "memory"),
        (lambda: Copy(which="newest"), "which"),
        (lambda: Copy().rounds(draft_law(Iid(alpha=0.5), 3), 3), "process"),
        (lambda: scheme_form(Copy().rounds(draft_law(TWO, 99), 99)), "kappa"),
        (lambda: NgramPool(), "candidates"),
        (lambda: NgramPool(candidates=2, window=3), "guess"),
        (lambda: NgramPool(candidates=2, guess=0.5), "guess"),
        (lambda: NgramPool(candidates=0), "candidates"),
        (lambda: Schemes.make(type="ngram_pool", candidates=2, windows=3), "windows"),
        (lambda: NgramPool(candidates=2).rounds(draft_law(Iid(alpha=0.5), 3), 3), "process"),
        (lambda: theory.copy_law(rows, 3, 1), "memory"),
        (lambda: theory.copy_law(rows, 3, 40), "memory"),
        (lambda: theory.copy_law(rows, 3, 4, 1, 2), "match_min"),
        (lambda: theory.copy_law(rows, 3, 4, which="newest"), "which"),
        (lambda: theory.copy_law([[1.0, 0.0], [0.5, 0.5]], 3, 4), "target"),
        (lambda: theory.copy_law([[0.0, 1.0], [1.0, 0.0]], 1, 4), "kappa"),
        (lambda: theory.ngram_pool_law(rows, 3, 0), "candidates"),
        (lambda: theory.ngram_pool_law(rows, 3, 2, guess=0.5), "guess"),
        (lambda: theory.ngram_pool_law(rows, 3, 2, 1, guess=1.5), "guess"),
        (lambda: theory.ngram_pool_law(rows, 3, 2, 30, guess=0.5), "window"),
        (lambda: theory.ngram_pool_law(rows, 4, 9), "kappa"),
        (lambda: theory.big_little_text(rows, [[0.5, 0.6], [1, 0]], 3), "draft[0]"),
        (lambda: theory.big_little_text(rows, rows, -1), "kmax"),
        (lambda: theory.big_little_text(rows, rows, 3, fallback=2), "fallback"),
        (lambda: theory.big_little_text(rows, rows, 3, rollback=-2), "rollback"),
        (lambda: theory.remask(4, 2, [0.5], [1, 1]), "weights"),
        (lambda: theory.remask(4, 2, [1.5], [1]), "values"),
        (lambda: theory.remask(4, 2, [0.5], [1], tau=2), "tau"),
        (lambda: theory.remask(0, 2, [0.5], [1]), "gen_length"),
    ):
        with pytest.raises(ParameterError) as caught:
            make()
        assert caught.value.key == named, str(caught.value)
