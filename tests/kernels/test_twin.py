"""The compiled kernel and its plain-Python twin: equal integers on equal words, for every process and policy."""

import numpy as np
import pytest

from simspec.kernels import lower, play, twin, words_twin
from simspec.kernels.arithmetic import fine_threshold, levels, threshold
from simspec.kernels.forms import Dense, FreshRow, Policy, Replay, Requests, Rows, Steps, Urn
from simspec.kernels.steps import WIDE, level
from simspec.kernels.tally import SUMS, fold
from simspec.kernels.words import LANES, STREAM_VERSION, stream_keys
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
    (GaussianCopulaAr1(alpha=0.7, phi=0.95), 3),  # so many states that rows are searched by halving
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
    rounds = rounds if isinstance(form, Rows) or form.cells.shape[1] <= WIDE else rounds // 10  # a slow twin
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


def test_past_its_end_a_request_repeats_its_last_chance():
    """Of two requests the first accepts everything, also beyond its end, and the second nothing."""
    form = Dense(np.array([1.0, 1.0, 1.0, 0.0, 0.0]), np.array([0, 3, 5]), truncate=False)
    for player in (play, twin):
        tally = player.play(form, KEYS, 0, 2, 1, 5)
        assert tally.column("accepted").tolist() == [5, 0]
        assert tally.column("n").tolist() == [1, 2]


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
    [(FRESH[0][0], 701), (CARRIED[0][0], 333), (STEPPED[3][0], 333), *((process, 3) for process in REQUESTS)],
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


def lane_words(chunk, lane, many):
    words = words_twin.lane_words(KEYS, chunk, lane)
    return [next(words) for _ in range(many)]


def test_a_window_at_its_threshold_is_not_below_it():
    """Thresholds of 64 bits on the bits of a window themselves: < and not <=, where windows are counted and listed."""
    for chunk in range(20):
        cell = next(words_twin.generator_words(KEYS, chunk, 0)) % 4096
        low = words_twin.aside_word(KEYS, 4096 * chunk + cell, 0) >> 12
        for more in (0, 1):
            form = FreshRow(np.array([cell]), np.array([low + more], np.uint64))
            assert play.fresh_runs(form, KEYS, chunk, np.array([1])).tolist() == [[1 - more, more]]
            assert play.rounds_of(form, KEYS, chunk, 1, 1, 1)[2].tolist() == [[more]]
            assert list(twin.fresh_windows(form, KEYS, chunk, 1)) == [more]


@pytest.mark.parametrize("policy", [None, Policy(lowest=1, highest=1)], ids=["chain", "general loop"])
def test_a_word_at_its_threshold_is_not_below_it(policy):
    """Thresholds of 32 bits on the words of a lane, each kernel and its twin: in the start, the run and the state."""
    never, always = 0, 2**32
    lanes = [lane for lane in range(LANES) if lane_words(3, lane, 3)[1] <= lane_words(3, lane, 3)[2]]

    def accepted(thresholds, start, rounds, lane):
        form = Rows(np.array(thresholds), np.array([0, 0]), np.array([1, 1]), np.array([start, always]))
        own = play.play(form, KEYS, 3, LANES, rounds, 1, policy)
        assert_same(own, twin.play(form, KEYS, 3, LANES, rounds, 1, policy))
        return int(own.column("accepted")[lane])

    for lane in lanes[:6]:
        first, second, _ = lane_words(3, lane, 3)
        for more in (0, 1):
            assert accepted([[never], [always]], first + more, 1, lane) == 1 - more  # row 1 unless below
            assert accepted([[never], [second + more]], never, 1, lane) == more
        # round 1 is rejected at its threshold, so round 2 plays row 0; in row 1 it would be rejected too
        assert accepted([[always], [second]], never, 2, lane) == 1


def test_a_draft_at_its_threshold_is_not_below_it():
    """The same where a state moves with every draft; and the highest word lies below the threshold 2³² − 1."""
    for lane in range(4):
        seed = lane_words(3, lane, 3)
        word = twin._draft_word(seed[1] << 32 | seed[2], 1)
        for more in (0, 1):
            one = np.array([[2**32]])
            form = Steps(np.array([[word + more, 2**32]]), one, one, np.array([2**32]), True)
            runs = play.step_runs(form, KEYS, 3, LANES, 1, 1)
            assert runs.tolist() == twin.step_runs(form, KEYS, 3, LANES, 1, 1).tolist()
            assert runs[lane].tolist() == [1 - more, more]
    assert level(np.uint64(2**32 - 1)) == 2**31 - 2
    assert level(np.uint64(2**31)) == 0


FROZEN = {  # the first rounds of chunk 5 from KEYS: ΣA, ΣA², tokens and the histogram's last row, by process
    "one cell": [607, 623, 30610, 607, 29404, 591, 8, 0, 0],
    "fresh": [35751, 112605, 55753, 35751, 5967, 4128, 3000, 2005, 4902],
    "chain": [7668, 26440, 12148, 253386, 1876, 535, 401, 341, 1327],
    "states": [10270, 37054, 14750, 332657, 1211, 612, 360, 250, 2047],
    "classes and geometric lengths": [6428, 22234, 9200, 212665, 690, 458, 337, 252, 1135],
    "urn": [6154, 20326, 9600, 199732, 1121, 636, 383, 236, 993],
    "drift": [7132, 20858, 12800, 232473, 2356, 1249, 638, 421, 825],
}  # fmt: skip
FROZEN_PROCESSES = {
    "one cell": (Iid(alpha=0.02), 4, 30_003),
    "fresh": (Iid(alpha=0.7), 4, 20_002),
    "chain": (CARRIED[0][0], 4, 70),
    "states": (STEPPED[3][0], 4, 70),
    "classes and geometric lengths": (REQUESTS[3], 4, 1),
    "urn": (REQUESTS[4], 4, 1),
    "drift": (REQUESTS[0], 4, 1),
}


@pytest.mark.parametrize("name", FROZEN_PROCESSES)
def test_the_rounds_of_stream_version_2_are_frozen(name):
    """If this changes, STREAM_VERSION must change: which word serves what is part of the layout, not only the words."""
    assert STREAM_VERSION == 2
    process, kappa, length = FROZEN_PROCESSES[name]
    form = lower.form(process, kappa)
    for player in (play, twin):
        if isinstance(form, FreshRow):
            own = fold(player.fresh_runs(form, KEYS, 5, np.array([length])), kappa)
        else:
            own = player.play(form, KEYS, 5, LANES, length, kappa)
        seen = [own.total(column) for column in ("accepted", "accepted_sq", "tokens")]
        by_lane = int(own.column("accepted") @ np.arange(1, len(own.sums) + 1))
        assert [*seen, by_lane, *own.histogram[kappa].tolist()] == FROZEN[name]


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
    assert threshold(np.array([0.25, 0.75]) * 2.0**-32).tolist() == [0, 1]  # to the nearest
    assert levels(np.array([0, 2**31, 2**32 - 1, 2**32])).tolist() == [-(2**31), 0, 2**31 - 1, 2**31 - 1]
    cells, lows = fine_threshold(np.array([0.0, 1.0, 0.5, 2.0**-64, 0.1]))
    assert cells.tolist() == [0, 4096, 2048, 0, 409]
    assert lows.tolist()[:4] == [0, 0, 0, 1]
    assert (409 << 52) + int(lows[4]) == int(0.1 * 2.0**64)


def test_the_end_words_of_a_lane():
    """Threshold 0 is below no word and 2³² above every word, also the first and the last there are."""
    for word in (0, 1, 2**32 - 2, 2**32 - 1):
        assert not words_twin.below(word, 0)
        assert words_twin.below(word, 2**32)
        assert words_twin.below(word, 2**32 - 1)
    assert words_twin.below(2**31 - 1, 2**31)
    assert not words_twin.below(2**31, 2**31)
