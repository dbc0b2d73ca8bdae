"""The compiled kernel and its plain-Python twin: equal integers on equal words, for every process and policy."""

import numpy as np
import pytest

from simspec.kernels import lower, play, twin
from simspec.kernels.arithmetic import fine_threshold, levels, threshold
from simspec.kernels.forms import Dense, FreshRow, Policy, Replay, Requests, Rows, Steps, Urn
from simspec.kernels.tally import SUMS, fold
from simspec.kernels.words import LANES, stream_keys
from simspec.model import (
    BetaMixture,
    DiscreteMixture,
    Drift,
    GaussianCopulaAr1,
    Hmm,
    Iid,
    Markov,
    Position,
    Survival,
    TokenChain,
)

KEYS = stream_keys(3, "twin")
WINDOWS = np.array([99_998, 1, 0, 3001])  # the last word of a chunk serves five windows or fewer
ROUNDS = 1563  # 64 lanes × 1563 > 10⁵
STICKY = ((0.9, 0.1), (0.2, 0.8))
TOKENS = TokenChain(
    target=((0.6, 0.3, 0.1), (0.2, 0.5, 0.3), (0.1, 0.1, 0.8)),
    draft=((0.5, 0.5, 0.0), (0.3, 0.3, 0.4), (0.2, 0.2, 0.6)),
)
FRESH = [
    (Iid(alpha=0.8), 8),
    (Iid(alpha=0.02), 32),  # thirty thresholds inside one cell
    (Iid(alpha=0.9999), 6),
    (Iid(alpha=0.0), 4),
    (Iid(alpha=1.0), 4),
    (Iid(alpha=0.5), 0),
    (Survival(survival=(0.76, 0.62, 0.51, 0.42)), 4),
    (Position(alphas=(0.79, 0.74, 0.72)), 3),
    (BetaMixture(alpha=0.7, rho=0.3), 6),
    (DiscreteMixture(alphas=(0.95, 0.45), weights=(0.5, 0.5)), 6),
    (Markov(alpha=0.7, rho=0.3), 8),
]
CARRIED = [
    (Markov(alpha=0.7, rho=0.3, start="carry"), 8),
    (Markov(alpha=0.7, rho=0.3, start="carry"), 0),
    (Markov(alpha=0.6, rho=-0.2, start="carry", steps_after_reject=2, steps_after_full=3), 5),
    (Markov(alpha=0.5, rho=-1.0, start="carry"), 2),
    (Markov(alpha=1.0, rho=0.2, start="carry"), 3),
]
STEPPED = [
    (GaussianCopulaAr1(alpha=0.7, rho=0.3), 4),
    (Hmm(P=STICKY, alphas=(0.98, 0.42)), 5),
    (Hmm(P=STICKY, alphas=(0.98, 0.42), start="carry", steps_after_reject=2, steps_after_full=3), 5),
    (TOKENS, 4),
    (TOKENS, 0),
]
REQUESTS = [
    Drift(alpha_start=0.9, alpha_end=0.3, tokens=200),
    Drift(alpha_start=0.9, alpha_end=0.3, tokens=200, truncate=False),
    DiscreteMixture(alphas=(0.9, 0.6), weights=(0.7, 0.3), weights_of="rounds", request_tokens=150),
    DiscreteMixture(
        alphas=(0.9, 0.6), weights=(0.7, 0.3), weights_of="tokens", request_tokens=150, request_law="geometric"
    ),
    BetaMixture(alpha=0.7, rho=0.2, request_tokens=150),
    BetaMixture(alpha=0.7, rho=1.0, request_tokens=20),
    BetaMixture(a=2.0, b=1.0, request_tokens=150, request_law="geometric"),
    BetaMixture(alpha=0.7, rho=0.2, request_tokens=90, truncate=False),
]


def greedy(kappa, accepted, full, memory):
    """A user's policy: one more than the mean accepted length of the request so far."""
    for lane in range(kappa.size):
        memory[0, lane] += accepted[lane]
        memory[1, lane] += 1.0
        kappa[lane] = int(memory[0, lane] / memory[1, lane]) + 1 + full[lane]


def assert_same(one, other):
    assert one.sums.tolist() == other.sums.tolist()
    assert (one.histogram == other.histogram).all()


@pytest.mark.parametrize(("process", "kappa"), FRESH, ids=str)
def test_fresh_windows(process, kappa):
    form = lower.form(process, kappa)
    assert isinstance(form, FreshRow)
    fast, slow = play.fresh_runs(form, KEYS, 9, WINDOWS), twin.fresh_runs(form, KEYS, 9, WINDOWS)
    assert fast.tolist() == slow.tolist()
    assert (fast.sum(axis=1) == WINDOWS).all()


@pytest.mark.parametrize(("process", "kappa"), [*CARRIED, *STEPPED], ids=str)
@pytest.mark.parametrize("lanes", [LANES, 3])
def test_chains_of_windows(process, kappa, lanes):
    form, rounds = lower.form(process, kappa), ROUNDS if lanes == LANES else 77
    assert isinstance(form, (Rows, Steps))
    assert_same(*(player.play(form, KEYS, 9, lanes, rounds, kappa) for player in (play, twin)))


@pytest.mark.parametrize("process", REQUESTS, ids=str)
@pytest.mark.parametrize("kappa", [0, 1, 6, 11])
def test_requests(process, kappa):
    form, seen = lower.form(process, kappa), 0
    assert isinstance(form, (Requests, Urn))
    for chunk, lanes in ((0, LANES), (1, LANES), (2, 5)):
        fast = play.play(form, KEYS, chunk, lanes, 3, kappa)
        assert_same(fast, twin.play(form, KEYS, chunk, lanes, 3, kappa))
        if form.ends.tokens:
            assert (fast.column("tokens") == 3 * form.ends.tokens).all()
        seen += int(fast.histogram.sum())
    assert seen > 1000


@pytest.mark.parametrize("truncate", [True, False])
def test_a_chance_at_every_position(truncate):
    lengths = np.random.default_rng(1).integers(1, 90, 130)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    form = Dense(np.random.default_rng(2).random(offsets[-1]), offsets, truncate)
    for chunk, lanes in ((0, LANES), (2, 2)):
        fast = play.play(form, KEYS, chunk, lanes, 4, 5)
        assert_same(fast, twin.play(form, KEYS, chunk, lanes, 4, 5))
        assert (fast.column("tokens") == 4 * lengths[LANES * chunk : LANES * chunk + lanes]).all()


POLICIES = {"+2/-1": Policy(2, -1, 1, 11), "own": Policy(lowest=1, highest=11, own=greedy)}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("process", [Iid(alpha=0.8), CARRIED[0][0], CARRIED[2][0], *REQUESTS], ids=str)
def test_policies(process, policy):
    form = lower.form(process, 11)
    for lanes, length in ((LANES, 5), (7, 40)):
        fast = play.play(form, KEYS, 4, lanes, length, 3, policy)
        assert_same(fast, twin.play(form, KEYS, 4, lanes, length, 3, policy))
    assert (fast.histogram.sum(axis=1) > 0).sum() > 4  # several κ were chosen


def test_a_policy_needs_rows():
    with pytest.raises(TypeError, match="fixed κ"):
        play.play(lower.form(TOKENS, 4), KEYS, 0, LANES, 5, 4, Policy(2, -1, 1, 4))


def test_the_general_loop_plays_what_the_chain_kernel_plays():
    """Two compiled kernels with one layout of words."""
    form = lower.form(CARRIED[0][0], 8)
    fixed = Policy(lowest=8, highest=8)
    assert_same(play.play(form, KEYS, 5, LANES, 999, 8), play.play(form, KEYS, 5, LANES, 999, 8, fixed))


@pytest.mark.parametrize(
    ("process", "length"),
    [(FRESH[0][0], 700), (CARRIED[0][0], 333), (STEPPED[2][0], 333), *((process, 3) for process in REQUESTS)],
    ids=str,
)
def test_the_rounds_behind_a_tally(process, length):
    """Every round written down adds up to the counts, in order of position."""
    kappa = 5
    form = lower.form(process, kappa)
    position, drafted, accepted = play.rounds_of(form, KEYS, 6, LANES, length, kappa)
    played = drafted >= 0
    histogram = np.zeros((kappa + 1, kappa + 1), np.int64)
    np.add.at(histogram, (drafted[played], accepted[played]), 1)
    if isinstance(form, FreshRow):
        runs = play.fresh_runs(form, KEYS, 6, np.array([LANES * length]))
        assert histogram.tolist() == fold(runs, kappa).histogram.tolist()
        assert accepted[:, 0].tolist() == list(twin.fresh_windows(form, KEYS, 6, LANES * length))
        return
    assert (histogram == play.play(form, KEYS, 6, LANES, length, kappa).histogram).all()
    if isinstance(form, (Requests, Urn)):
        for lane in range(LANES):
            here, more = position[played[:, lane], lane], accepted[played[:, lane], lane] + 1
            goes_on = here[1:] > 0
            assert (here[1:][goes_on] == (here + more)[:-1][goes_on]).all()
            assert (here[1:] == 0).sum() == length - 1


def test_the_rounds_of_a_replay():
    form = Replay(np.array([3, 0, 5, 1, 2]), np.array([0, 3, 5]))
    position, drafted, accepted = play.rounds_of(form, KEYS, 0, 2, 1, 4)
    assert position.T.tolist() == [[0, 4, 5], [0, 2, 0]]
    assert drafted.T.tolist() == [[4, 4, 4], [4, 4, -1]]
    assert accepted.T.tolist() == [[3, 0, 4], [1, 2, 0]]
    assert_same(*(player.play(form, KEYS, 0, 2, 3, 4) for player in (play, twin)))


def test_the_count_at_one_kappa_depends_on_no_other():
    """One run of survivor counts answers every κ: min(G, κ) on the same words, whatever the longest κ."""
    process = Iid(alpha=0.3)
    long = play.fresh_runs(lower.form(process, 16), KEYS, 1, WINDOWS)
    for kappa in (0, 1, 5, 16):
        short = play.fresh_runs(lower.form(process, kappa), KEYS, 1, WINDOWS)
        assert (fold(long, kappa).sums == fold(short, kappa).sums).all()
    hmm = Hmm(P=STICKY, alphas=(0.98, 0.42))
    long = play.step_runs(lower.form(hmm, 16), KEYS, 1, LANES, 500, 16)
    for kappa in (0, 1, 5, 16):
        short = play.step_runs(lower.form(hmm, kappa), KEYS, 1, LANES, 500, kappa)
        assert (fold(long, kappa).sums == fold(short, kappa).sums).all()


def test_sums_of_a_tally_are_those_of_its_rounds():
    runs = np.array([[3, 2, 1], [0, 0, 4]])
    tally = fold(runs, 2)
    accepted = [0, 0, 0, 1, 1, 2], [2, 2, 2, 2]
    for lane, values in enumerate(accepted):
        a = np.array(values)
        expected = [len(a), a.sum(), (a * a).sum(), (a < 2).sum(), a[a < 2].sum(), (a == 0).sum(), 2 * len(a)]
        assert tally.sums[lane].tolist() == [*expected, a.sum() + len(a)]
    assert tally.histogram[2].tolist() == [3, 2, 5]
    assert len(SUMS) == tally.sums.shape[1]


def test_probabilities_0_and_1_are_exact_thresholds():
    assert threshold(0.0) == 0
    assert threshold(1.0) == 2**32
    assert threshold(0.5) == 2**31
    assert levels(np.array([0, 2**31, 2**32 - 1, 2**32])).tolist() == [-(2**31), 0, 2**31 - 1, 2**31 - 1]
    cells, lows = fine_threshold(np.array([0.0, 1.0, 0.5, 2.0**-64, 0.1]))
    assert cells.tolist() == [0, 4096, 2048, 0, 409]
    assert lows.tolist()[:4] == [0, 0, 0, 1]
    assert (409 << 52) + int(lows[4]) == int(0.1 * 2.0**64)


def test_the_end_words_of_a_lane():
    """Threshold 0 is below no word and 2³² above every word, also the first and the last there are."""
    for word in (0, 1, 2**32 - 2, 2**32 - 1):
        assert not twin._below(word, 0)
        assert twin._below(word, 2**32)
        assert twin._below(word, 2**32 - 1)
    assert twin._below(2**31 - 1, 2**31)
    assert not twin._below(2**31, 2**31)
