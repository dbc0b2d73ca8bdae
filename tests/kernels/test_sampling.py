"""Token-level sampling: kernel and twin on equal words, thresholds to the last bit, and a stream that stays."""

import numpy as np
import pytest
from scipy.special import chdtrc

from simspec.kernels import sampling, sampling_twin
from simspec.kernels.addressed import mixed
from simspec.kernels.token_tables import ONE, Lookup, block_tables, token_tables, weights
from simspec.kernels.words import GOLD, LANES, STREAM_VERSION, stream_keys
from simspec.kernels.words_twin import aside_word
from simspec.model import TokenChain
from simspec.model.pairs import DirichletPair, GivenPair, LogitPair, ZipfPair
from simspec.run.pairs import laws_of
from simspec.run.sampled import play_chunk

KEYS = stream_keys(3, "twin", "sampling")
CHAIN = TokenChain(
    target=((0.7, 0.2, 0.1), (0.2, 0.5, 0.3), (0.1, 0.2, 0.7)),
    draft=((0.3, 0.4, 0.3), (0.3, 0.3, 0.4), (0.5, 0.0, 0.5)),
)
SKEW = GivenPair(target=(0.5, 0.3, 0.2), draft=(0.2, 0.3, 0.5))
PAIRS = [
    SKEW,
    CHAIN,
    ZipfPair(vocabulary=700, sigma=0.7),
    DirichletPair(vocabulary=40, concentration=0.05),
    LogitPair(vocabulary=20, temperature=0.0),
    LogitPair(vocabulary=20, draft_temperature=0.0),
    GivenPair(target=(0.7, 0.3, 0.0), draft=(0.7, 0.0, 0.3)),
    GivenPair(target=(1.0, 0.0), draft=(0.0, 1.0)),  # disjoint
    GivenPair(target=(0.25, 0.75), draft=(0.25, 0.75)),
    GivenPair(target=(1.0,), draft=(1.0,)),
]
RULES = {"token": (token_tables, sampling_twin.count_sampled), "block": (block_tables, sampling_twin.count_blocks)}


def counts(rule, laws, chunk, lanes, skipped, rounds, kappa, twin=False):
    """``tokens`` and ``accepted`` of one chunk."""
    make, slow = RULES[rule]
    tokens, accepted = np.zeros((3, *laws[0].shape), np.int64), np.zeros((lanes, kappa + 1), np.int64)
    where = (KEYS, chunk, lanes, skipped, rounds, kappa)
    if twin:
        slow(make(*laws), *where, tokens, accepted)
    else:
        play_chunk(make(*laws), where, tokens, accepted)
    return tokens, accepted


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_kernel_and_twin_count_the_same(rule, pair):
    laws = laws_of(pair)
    for where in ((9, 3, 0, 60, 4), (0, 2, 5, 20, 1), (1, 2, 0, 10, 0), (4, 1, 2, 20, 11)):
        fast, slow = counts(rule, laws, *where), counts(rule, laws, *where, twin=True)
        assert all((a == b).all() for a, b in zip(fast, slow, strict=True))
        tokens, accepted = fast
        assert accepted.sum() == where[1] * where[3]
        assert tokens.sum() == (accepted @ np.arange(1, where[4] + 2)).sum()


def test_lanes_and_chunks_are_played_alone():
    """A lane's counts depend on its address only, not on who is played beside it; a lane more is a chunk's next."""
    laws = laws_of(SKEW)
    for rule in RULES:
        many = counts(rule, laws, 2, LANES, 0, 50, 4)[1]
        assert (counts(rule, laws, 2, 5, 0, 50, 4)[1] == many[:5]).all()
        assert (many[0] != many[1]).any()
        assert (many != counts(rule, laws, 3, LANES, 0, 50, 4)[1]).any()


def test_kappa_changes_no_word():
    """Drafts and verdicts of a round are the same for every κ: A at κ = 3 is min(A, 3) of that at κ = 9."""
    laws = laws_of(ZipfPair(vocabulary=50))
    long, short = (counts("token", laws, 1, LANES, 0, 300, kappa)[1] for kappa in (9, 3))
    assert (short[:, :3] == long[:, :3]).all()
    assert (short[:, 3] == long[:, 3:].sum(axis=1)).all()


def test_both_rules_judge_the_same_drafts():
    """At κ = 1 they are one rule; the verdict is read from 63 bits and from 53."""
    laws = laws_of(DirichletPair(vocabulary=30))
    (token, a), (block, b) = (counts(rule, laws, 1, LANES, 0, 400, 1) for rule in RULES)
    assert (a == b).all()
    assert (token[sampling.ACCEPTED] == block[sampling.ACCEPTED]).all()
    assert (token[sampling.BONUS] == block[sampling.BONUS]).all()


@pytest.mark.parametrize("pair", [ZipfPair(vocabulary=150_000, exponent=2.0), *PAIRS], ids=str)
def test_weights_add_up_and_keep_the_digits_of_rare_tokens(pair):
    for law in laws_of(pair):
        whole = weights(law)
        assert [sum(int(w) for w in row) for row in whole] == [ONE] * len(law)
        assert (whole[law == 0.0] == 0).all()
        seen = law > 1e-12
        assert np.abs(whole[seen] / float(ONE) / law[seen] - 1.0).max() < 1e-6
        assert np.abs(whole[law > 1e-7] / float(ONE) / law[law > 1e-7] - 1.0).max() < 1e-11


def test_a_word_at_its_threshold_is_not_below_it():
    """Draw and verdict, to the last of 63 bits: < and not <=."""
    for lane in range(4):
        here = aside_word(KEYS, LANES + lane, 1)
        words = [sampling_twin._word(here, i) >> 1 for i in range(3)]
        for more in (0, 1):
            both = np.array([[0.5, 0.5]])
            tables = token_tables(both, both)
            edge = Lookup(np.array([[words[1] + more, ONE]], np.uint64), np.zeros((1, 2), np.int32))
            last = Lookup(np.array([[words[0] + more, ONE]], np.uint64), np.zeros((1, 2), np.int32))
            kept = np.full((1, 2), words[2] + more, np.uint64)
            planted = type(tables)(edge, last, last, kept, tables.start)
            for twin in (False, True):
                tokens, accepted = np.zeros((3, 1, 2), np.int64), np.zeros((lane + 1, 2), np.int64)
                where = (KEYS, 1, lane + 1, 0, 1, 1)
                if twin:
                    sampling_twin.count_sampled(planted, *where, tokens, accepted)
                else:
                    play_chunk(planted, where, tokens, accepted)
                assert accepted[lane].tolist() == [1 - more, more]
            if lane == 0:
                kind = sampling.BONUS if more else sampling.CORRECTED
                assert tokens[kind, 0].tolist() == [more, 1 - more]
                assert tokens[sampling.ACCEPTED, 0].tolist() == ([1, 0] if more else [0, 0])


def test_the_guide_changes_no_draw():
    """The first threshold above the word, wherever the guide lets the search begin."""
    law = laws_of(ZipfPair(vocabulary=300, exponent=1.5))[0]
    table = Lookup.of(law)
    assert table.guide.shape == (1, 1024)
    words = np.array([aside_word(KEYS, 5, i) for i in range(2000)], np.uint64)
    plain = np.searchsorted(table.cumulative[0], words >> np.uint64(1), side="right")
    cells = (words >> np.uint64(1)) >> table.shift
    assert (table.guide[0, cells] <= plain).all()
    assert [sampling_twin._draw(table, 0, int(word)) for word in words] == plain.tolist()


FROZEN = {  # accepted lengths, and Σ (token + 1)·(kind + 1)·count, of chunk 5 from KEYS
    ("token", "pair"): [905, 652, 494, 337, 812, 20775],
    ("block", "pair"): [928, 502, 320, 259, 1191, 22899],
    ("token", "chain"): [1017, 769, 505, 354, 555, 24073],
    ("block", "chain"): [1038, 560, 391, 274, 937, 26692],
}


@pytest.mark.parametrize(("rule", "name"), FROZEN)
def test_the_tokens_of_stream_version_2_are_frozen(rule, name):
    """If this changes, STREAM_VERSION must change: which word serves what is part of the layout."""
    assert STREAM_VERSION == 2
    laws = laws_of(SKEW if name == "pair" else CHAIN)
    tokens, accepted = counts(rule, laws, 5, LANES, 0, 50, 4)
    weight = np.arange(1, 4)[:, None, None] * np.arange(1, 4)[None, None, :]
    assert [*accepted.sum(axis=0).tolist(), int((tokens * weight).sum())] == FROZEN[rule, name]


def addressed_words(lanes, rounds, slots):
    """``[lane, round, slot]`` by the twin's functions, as arrays."""
    gold = np.uint64(GOLD)
    with np.errstate(over="ignore"):
        base = mixed(KEYS[4] + gold * np.arange(lanes, dtype=np.uint64))
        here = mixed(base[:, None] + gold * np.arange(2, rounds + 2, dtype=np.uint64))
        words = mixed(here[..., None] + gold * np.arange(1, slots + 1, dtype=np.uint64))
    assert int(words[3, 2, 1]) == sampling_twin._word(aside_word(KEYS, 3, 3), 1)
    return words


@pytest.mark.parametrize("bits", [(58, 58), (30, 58), (1, 1)])
def test_neighbouring_words_are_independent(bits):
    """Six bits of a word against six of the next slot, round and lane; 3·10⁵ pairs, false alarm 1e-8 each."""
    words = addressed_words(64, 540, 9)
    one, other = ((words >> np.uint64(shift)) & np.uint64(63) for shift in bits)
    neighbours = {
        "slot": (one[..., :-1], other[..., 1:]),
        "round": (one[:, :-1], other[:, 1:]),
        "lane": (one[:-1], other[1:]),
    }
    for name, (a, b) in neighbours.items():
        counts = np.bincount((a * np.uint64(64) + b).ravel().astype(np.int64), minlength=4096)
        expected = counts.sum() / 4096
        assert 1e-8 < chdtrc(4095, ((counts - expected) ** 2 / expected).sum()) < 1 - 1e-8, name


def test_dependent_words_would_be_seen():
    """The same test on words of which one in fifty repeats the one before."""
    words = addressed_words(64, 540, 9) >> np.uint64(58)
    a, b = words[..., :-1].ravel().astype(np.int64), words[..., 1:].ravel().astype(np.int64)
    b[::50] = a[::50]
    counts = np.bincount(a * 64 + b, minlength=4096)
    assert chdtrc(4095, ((counts - len(a) / 4096) ** 2 / (len(a) / 4096)).sum()) < 1e-8
