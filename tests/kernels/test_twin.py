"""The compiled kernel and its plain-Python twin: equal integers on equal words, 10⁵ rounds of every process."""

import numpy as np
import pytest

from simspec.kernels import count, lower, twin
from simspec.kernels.tally import SUMS, fold
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Drift, Iid, Markov, Survival

KEYS = stream_keys(3, "twin")
ROUNDS = 1563  # 64 lanes × 1563 > 10⁵
WINDOWED = [
    (Iid(alpha=0.8), 8),
    (Iid(alpha=0.0), 4),
    (Iid(alpha=1.0), 4),
    (Iid(alpha=0.5), 0),
    (Survival(survival=(0.76, 0.62, 0.51, 0.42)), 4),
    (Markov(alpha=0.7, rho=0.3), 8),
    (Markov(alpha=0.7, rho=-0.4), 3),
    (Markov(alpha=0.7, rho=0.3, start="carry"), 8),
    (Markov(alpha=0.6, rho=-0.2, start="carry", steps_after_reject=2, steps_after_full=3), 5),
    (Markov(alpha=0.5, rho=-1.0, start="carry"), 2),
]


@pytest.mark.parametrize(("process", "kappa"), WINDOWED, ids=str)
def test_windows(process, kappa):
    rows = lower.rows(process, kappa)
    runs = np.zeros((LANES, kappa + 1), np.int64)
    if process.unit == "window":
        count.count_fresh(KEYS, 9, LANES, ROUNDS, rows.thresholds[0], runs)
    else:
        table = (rows.thresholds, rows.on_reject, rows.on_full, rows.start)
        count.count_carried(KEYS, 9, LANES, ROUNDS, *table, runs)
    for lane in range(LANES):
        assert runs[lane].tolist() == twin.lane_of_rounds(KEYS, 9, lane, ROUNDS, rows).tolist()


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize("kappa", [0, 1, 6])
def test_generations(truncate, kappa):
    process = Drift(alpha_start=0.9, alpha_end=0.3, tokens=200, truncate=truncate)
    rows = lower.rows(process, kappa)
    seen = 0
    for chunk in range(2):
        sums = np.zeros((LANES, len(SUMS)), np.int64)
        histogram = np.zeros((kappa + 1, kappa + 1), np.int64)
        count.count_generations(
            KEYS, chunk, LANES, 3, kappa, rows.thresholds, rows.tokens, rows.truncate, sums, histogram
        )
        total = np.zeros_like(histogram)
        for lane in range(LANES):
            own, hist = twin.lane_of_generations(KEYS, chunk, lane, 3, kappa, rows)
            assert own.tolist() == sums[lane].tolist()
            total += hist
        assert (total == histogram).all()
        assert (sums[:, SUMS.index("tokens")] == 600).all()
        seen += int(histogram.sum())
    assert seen > 10_000


def test_folding_the_uncapped_run_is_playing_the_shorter_draft():
    """One run of survivor counts answers every κ: min(G, κ) on the same words."""
    process, long = Iid(alpha=0.8), np.zeros((LANES, 17), np.int64)
    count.count_fresh(KEYS, 1, LANES, 500, lower.rows(process, 16).thresholds[0], long)
    for kappa in (0, 1, 5, 16):
        short = np.zeros((LANES, kappa + 1), np.int64)
        count.count_fresh(KEYS, 1, LANES, 500, lower.rows(process, kappa).thresholds[0], short)
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


def test_probabilities_0_and_1_are_exact_thresholds():
    assert lower.threshold(0.0) == 0
    assert lower.threshold(1.0) == 2**32
    assert lower.threshold(0.5) == 2**31
