"""The compiled kernel and its plain-Python twin: equal integers on equal words, 10⁵ rounds of every process."""

import numpy as np
import pytest

from simspec.kernels import lower, twin
from simspec.kernels.arithmetic import threshold
from simspec.kernels.forms import CarriedRows, FreshRow, Requests, Steps, Urn
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
ROUNDS = 1563  # 64 lanes × 1563 > 10⁵
STICKY = ((0.9, 0.1), (0.2, 0.8))
TOKENS = TokenChain(
    target=((0.6, 0.3, 0.1), (0.2, 0.5, 0.3), (0.1, 0.1, 0.8)),
    draft=((0.5, 0.5, 0.0), (0.3, 0.3, 0.4), (0.2, 0.2, 0.6)),
)
WINDOWED = [
    (Iid(alpha=0.8), 8),
    (Iid(alpha=0.0), 4),
    (Iid(alpha=1.0), 4),
    (Iid(alpha=0.5), 0),
    (Survival(survival=(0.76, 0.62, 0.51, 0.42)), 4),
    (Position(alphas=(0.79, 0.74, 0.72)), 3),
    (BetaMixture(alpha=0.7, rho=0.3), 6),
    (DiscreteMixture(alphas=(0.95, 0.45), weights=(0.5, 0.5)), 6),
    (Markov(alpha=0.7, rho=0.3), 8),
    (Markov(alpha=0.7, rho=-0.4), 3),
    (Markov(alpha=0.7, rho=0.3, start="carry"), 8),
    (Markov(alpha=0.6, rho=-0.2, start="carry", steps_after_reject=2, steps_after_full=3), 5),
    (Markov(alpha=0.5, rho=-1.0, start="carry"), 2),
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
    BetaMixture(a=2.0, b=1.0, request_tokens=150, request_law="geometric"),
    BetaMixture(alpha=0.7, rho=0.2, request_tokens=90, truncate=False),
]


def twin_of_window(form, kappa, lane):
    if isinstance(form, FreshRow):
        return twin.fresh_lane(KEYS, 9, lane, ROUNDS, form)
    if isinstance(form, CarriedRows):
        return twin.carried_lane(KEYS, 9, lane, ROUNDS, form)
    return twin.steps_lane(KEYS, 9, lane, ROUNDS, kappa, form)


@pytest.mark.parametrize(("process", "kappa"), WINDOWED, ids=str)
def test_windows(process, kappa):
    form = lower.form(process, kappa)
    assert isinstance(form, (FreshRow, CarriedRows, Steps))
    if isinstance(form, CarriedRows):
        played = form.play(KEYS, 9, LANES, ROUNDS, kappa)
    else:
        played = fold(form.runs(KEYS, 9, LANES, ROUNDS, kappa), kappa)
    for lane in range(LANES):
        one = fold(twin_of_window(form, kappa, lane)[None, :], kappa)
        assert played.sums[lane].tolist() == one.sums[0].tolist()


@pytest.mark.parametrize("process", REQUESTS, ids=str)
@pytest.mark.parametrize("kappa", [0, 1, 6])
def test_requests(process, kappa):
    form = lower.form(process, kappa)
    assert isinstance(form, (Requests, Urn))
    play = twin.requests_lane if isinstance(form, Requests) else twin.urn_lane
    seen = 0
    for chunk in range(3):
        tally = form.play(KEYS, chunk, LANES, 3, kappa)
        total = np.zeros_like(tally.histogram)
        for lane in range(LANES):
            own, histogram = play(KEYS, chunk, lane, 3, kappa, form)
            assert own.tolist() == tally.sums[lane].tolist()
            total += histogram
        assert (total == tally.histogram).all()
        if form.tokens:
            assert (tally.column("tokens") == 3 * form.tokens).all()
        seen += int(tally.histogram.sum())
    assert seen > 10_000


def test_folding_the_uncapped_run_is_playing_the_shorter_draft():
    """One run of survivor counts answers every κ: min(G, κ) on the same words."""
    for process in (Iid(alpha=0.8), Hmm(P=STICKY, alphas=(0.98, 0.42))):
        long = lower.form(process, 16).runs(KEYS, 1, LANES, 500, 16)
        for kappa in (0, 1, 5, 16):
            short = lower.form(process, kappa).runs(KEYS, 1, LANES, 500, kappa)
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
