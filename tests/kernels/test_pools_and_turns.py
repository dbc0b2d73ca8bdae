"""Drafts out of the text itself: are rounds those that a listing of all texts and memories gives?"""

import functools

import numpy as np
import pytest

from simspec import theory
from simspec.kernels import play, twin
from simspec.kernels.lower_schemes import scheme_form
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Cost, ParameterError, TokenChain
from simspec.model.draft_laws import draft_law
from simspec.model.schemes import Copy, Lookup, NgramPool, Pool

ROUNDS, CHUNKS = 1000, 8
ERRORS = 6.0
"""Standard errors from 512 lanes: 4e-9 for one bin, so at most 4e-7 for a case of up to a hundred bins."""


def text(*rows, draft=None):
    return TokenChain(target=rows, draft=draft or rows)


@functools.cache
def played(scheme, process, kappa, seed=21):
    """Kinds of round, and shares of each by lane."""
    own = scheme_form(scheme.rounds(draft_law(process, kappa), kappa))
    keys = stream_keys(seed, f"{scheme} {process} {kappa}")
    lanes = np.concatenate([play.scheme_counts(own, keys, c, LANES, ROUNDS) for c in range(CHUNKS)])
    return own.kinds, lanes / ROUNDS


def assert_shares(lanes, bins, law, least=100):
    """Shares of lanes, pooled into bins, against an exact law; bins that expect few rounds are pooled."""
    names = sorted({*bins, *law})
    exact = np.array([law.get(name, 0.0) for name in names])
    assert exact.sum() == pytest.approx(1.0)
    shares = np.array([lanes[:, [name == own for own in bins]].sum(axis=1) for name in names])
    assert (shares[exact < 1e-12] == 0.0).all()
    few = exact * lanes.shape[0] * ROUNDS < least
    shares = np.vstack([shares[~few], shares[few].sum(axis=0)])
    exact = np.append(exact[~few], exact[few].sum())
    error = shares.std(axis=1, ddof=1) / np.sqrt(lanes.shape[0])
    off = np.abs(shares.mean(axis=1) - exact)
    off[-1] -= least * few.sum() / (lanes.size / lanes.shape[1] * ROUNDS)  # the rest, which expects few
    assert (off <= ERRORS * error + 1e-9).all(), (names, shares.mean(axis=1), exact, error)


SWAP, ONE, LOOP = ((0.0, 1.0), (1.0, 0.0)), ((1.0,),), ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
SKEW, STICK = ((0.5, 0.5), (0.9, 0.1)), ((0.9, 0.1), (0.4, 0.6))
THREE = ((0.1, 0.8, 0.1), (0.1, 0.1, 0.8), (0.9, 0.05, 0.05))
COPIES = [
    (Copy(memory=6), STICK, 3),
    (Copy(memory=8, match_max=4, match_min=2), SKEW, 4),
    (Copy(memory=5, match_max=2, which="latest"), THREE, 2),
    (Copy(memory=6, match_max=3, match_min=3), THREE, 5),
    (Copy(memory=4, match_max=1, which="latest"), SKEW, 6),
    (Copy(memory=2, match_max=1), STICK, 1),
    (Copy(memory=6), STICK, 0),
    (Copy(memory=5), ONE, 3),
    (Copy(memory=5, which="latest"), ONE, 3),  # one token is all that follows the latest place
    (Copy(memory=6), LOOP, 3),
]
GRAMS = [
    (NgramPool(candidates=1), STICK, 2),
    (NgramPool(candidates=2), SKEW, 2),
    (NgramPool(candidates=2), THREE, 1),
    (NgramPool(candidates=1, window=2, guess=0.6), STICK, 2),
    (NgramPool(candidates=2, window=3, guess=1.0), SKEW, 1),
    (NgramPool(candidates=3, window=1, guess=0.0), SKEW, 2),
    (NgramPool(candidates=1, window=1, guess=0.5), THREE, 1),
    (NgramPool(candidates=2), STICK, 0),
    (NgramPool(candidates=2, window=3, guess=0.5), STICK, 0),
    (NgramPool(candidates=2), ONE, 3),
    (NgramPool(candidates=1), LOOP, 3),
    (NgramPool(candidates=3), SWAP, 2),
]


@functools.cache
def copy_law(scheme, rows, kappa):
    return theory.copy_law(rows, kappa, scheme.memory, scheme.match_max, scheme.match_min, scheme.which)


@functools.cache
def gram_law(scheme, rows, kappa):
    return theory.ngram_pool_law(rows, kappa, scheme.candidates, scheme.window, scheme.guess)


@pytest.mark.parametrize(("scheme", "rows", "kappa"), COPIES, ids=str)
def test_copies_of_what_followed(scheme, rows, kappa):
    """Copied and kept tokens by the chain of all texts that fit into the memory; so are matches after a match."""
    kinds, lanes = played(scheme, text(*rows), kappa)
    law = copy_law(scheme, rows, kappa)
    joint = {(d, a): float(p) for (d, a), p in np.ndenumerate(law.joint)}
    assert_shares(lanes, [(kind.drafted, kind.accepted) for kind in kinds], joint)
    both = law.p_match * law.after_match if law.p_match else 0.0
    share = lanes @ np.array([kind.mark == 1 and kind.drafted > 0 for kind in kinds])
    assert abs(share.mean() - both) <= ERRORS * share.std(ddof=1) / np.sqrt(share.size) + 1e-9


@pytest.mark.parametrize(("scheme", "rows", "kappa"), GRAMS, ids=str)
def test_ngrams_of_the_last_token_side_by_side(scheme, rows, kappa):
    kinds, lanes = played(scheme, text(*rows), kappa)
    law = gram_law(scheme, rows, kappa)
    joint = {}
    for (c, a), p in np.ndenumerate(law.joint):
        key = (kappa * (c + scheme.window), a)
        joint[key] = joint.get(key, 0.0) + float(p)
    assert_shares(lanes, [(kind.drafted, kind.accepted) for kind in kinds], joint)


def test_a_wrong_memory_would_be_seen():
    """A token more or less, the other end of the text, an n-gram less, guesses a little worse."""
    kinds, lanes = played(Copy(memory=6), text(*STICK), 3)
    bins = [(kind.drafted, kind.accepted) for kind in kinds]
    for wrong in (Copy(memory=5), Copy(memory=7), Copy(memory=6, which="latest"), Copy(memory=6, match_max=2)):
        law = {(d, a): float(p) for (d, a), p in np.ndenumerate(copy_law(wrong, STICK, 3).joint)}
        with pytest.raises(AssertionError):
            assert_shares(lanes, bins, law)
    kinds, lanes = played(NgramPool(candidates=1, window=2, guess=0.6), text(*THREE), 1)
    bins = [(kind.drafted, kind.accepted) for kind in kinds]
    for wrong in (NgramPool(candidates=1), NgramPool(candidates=1, window=2, guess=0.65)):
        joint = gram_law(wrong, THREE, 1).joint
        with pytest.raises(AssertionError):
            assert_shares(lanes, bins, {(c + 2, a): float(p) for (c, a), p in np.ndenumerate(joint)})


def test_the_memory_cuts_the_text_and_never_changes_it():
    """Without drafts every memory plays the same rounds; with drafts the same rounds hold more tokens."""
    longest = {}
    for scheme in (Pool(), Copy(memory=8), NgramPool(candidates=2, window=2, guess=0.5)):
        for kappa in (0, 3):
            form = scheme_form(scheme.rounds(draft_law(text(*THREE), kappa), kappa))
            counts = play.scheme_counts(form, stream_keys(1, "one text"), 0, 4, 400)
            longest[scheme.type, kappa] = counts @ [kind.tokens for kind in form.kinds]
    for (_, kappa), emitted in longest.items():
        assert (emitted == 400).all() if kappa == 0 else (emitted > 500).all()


def test_guesses_are_the_same_whatever_the_window():
    """Words of guesses have an address of their own: one n-gram more leaves those before it as they are."""
    law = draft_law(text(*THREE), 2)
    forms = [scheme_form(NgramPool(candidates=9, window=w, guess=g).rounds(law, 2)) for w, g in ((1, 0.0), (2, 0.0))]
    keys = stream_keys(3, "guesses")
    few, more = (play.scheme_counts(form, keys, 0, 64, 300) @ [k.accepted for k in form.kinds] for form in forms)
    assert (more >= few).mean() > 0.9  # a text with more candidates keeps more of the same tokens


@pytest.mark.parametrize(("scheme", "rows", "kappa"), [*COPIES, *GRAMS], ids=str)
def test_means_and_prices_follow(scheme, rows, kappa):
    process = text(*rows)
    kinds, lanes = played(scheme, process, kappa)
    law = theory.scheme_law(scheme, process, kappa)
    for cost in (Cost(c_d=0.07, c_v=0.01, c_r=0.2), Cost(verify_table=[1 + 0.01 * n**1.5 for n in range(40)])):
        for values, exact in (
            ([kind.tokens for kind in kinds], law.mean_tokens),
            ([kind.accepted for kind in kinds], law.mean_accepted),
            ([kind.drafted for kind in kinds], law.mean_drafted),
            ([kind.rejected for kind in kinds], law.p_rejected),
            ([kind.price(cost) for kind in kinds], law.price(cost)),
        ):
            means = lanes @ np.array(values, float)
            assert abs(means.mean() - exact) <= ERRORS * means.std(ddof=1) / np.sqrt(means.size) + 1e-9


@pytest.mark.parametrize(("scheme", "rows", "kappa"), [*COPIES, *GRAMS], ids=str)
def test_texts_are_played_alike_by_the_twin(scheme, rows, kappa):
    form = scheme_form(scheme.rounds(draft_law(text(*rows), kappa), kappa))
    keys = stream_keys(2, "twin of texts")
    fast, slow = (player.scheme_counts(form, keys, 1, 3, 40) for player in (play, twin))
    assert fast.tolist() == slow.tolist()


def test_a_memory_longer_than_a_lane_can_be_listed():
    """Against a plain search by hand: the longest match of 1 to 3 tokens in all that was emitted, its first place."""
    form = scheme_form(Copy(memory=64).rounds(draft_law(text(*THREE), 4), 4))
    assert form.skipped == 256
    assert scheme_form(Copy(memory=1000).rounds(draft_law(text(*THREE), 4), 4)).skipped == 1000
    keys = stream_keys(5, "long")
    assert play.scheme_counts(form, keys, 3, 2, 200).tolist() == twin.scheme_counts(form, keys, 3, 2, 200).tolist()


def test_what_a_round_of_ngrams_is():
    """Guesses are paid whether there is a candidate or not; without one nothing is rejected."""
    law = draft_law(text(*SKEW), 2)
    kinds = NgramPool(candidates=2, window=3, guess=0.5).rounds(law, 2).kinds
    assert [(k.drafted, k.accepted, k.tokens, k.steps, k.rejected) for k in kinds[:4]] == [
        (6, 0, 1, 0, False),
        (6, 0, 1, 0, False),
        (6, 0, 1, 0, False),
        (8, 0, 1, 0, True),
    ]
    assert (kinds[-1].drafted, kinds[-1].accepted, kinds[-1].rejected) == (10, 2, False)


EVEN = ((0.8, 0.2), (0.2, 0.8))
REGIMES = [
    (Copy(memory=2, match_max=1), EVEN, 1, True),  # two tokens alike or not: after a match .8·.8, after none .8
    (*COPIES[7], True),  # one token: a match for ever
    (*COPIES[1], False),
    (*COPIES[2], False),
    (*COPIES[3], False),
]


@pytest.mark.parametrize(("scheme", "rows", "kappa", "two_states"), REGIMES, ids=str)
def test_runs_of_matches_against_two_chances(scheme, rows, kappa, two_states):
    """`lookup` takes a match to depend on the round before alone: shares and mean runs fit, longer pasts do not."""
    kinds, lanes = played(scheme, text(*rows), kappa)
    law = copy_law(scheme, rows, kappa)
    seen, met = (np.array([own(kind) for kind in kinds]) for own in (lambda k: k.mark == 1, lambda k: k.drafted > 0))
    for before, chance in ((seen, law.after_match), (~seen, law.after_miss)):
        if np.isnan(chance):
            continue
        off = lanes @ (before & met) - chance * (lanes @ before)
        assert abs(off.mean()) <= ERRORS * off.std(ddof=1) / np.sqrt(off.size) + 1e-9
    fits = np.isclose(law.after_two_matches, law.after_match, atol=1e-9)
    assert bool(fits) == two_states
    if law.after_match < 1.0:
        own = Lookup(after_match=law.after_match, after_miss=law.after_miss)
        assert theory.matched_share(own.after_match, own.after_miss) == pytest.approx(law.p_match)
        assert law.mean_matched_run / (law.mean_matched_run + law.mean_missed_run) == pytest.approx(law.p_match)


@pytest.mark.parametrize("tokens", [2, 3, 5])
def test_the_memory_that_is_offered_can_be_listed(tokens):
    """The message names the largest memory with an exact answer: it is answered, one more is refused."""
    even = ((1.0 / tokens,) * tokens,) * tokens
    with pytest.raises(
        ParameterError, match=rf"256 makes {tokens}\^256 texts.*memory ≤ \d+ with {tokens} tokens"
    ) as told:
        theory.copy_law(even, 1, 256)
    most = int(str(told.value).split("≤ ")[1].split()[0])
    assert theory.copy_law(even, 1, most).joint.sum() == pytest.approx(1.0)
    with pytest.raises(ParameterError, match="more than an exact answer can list"):
        theory.copy_law(even, 1, most + 1)
