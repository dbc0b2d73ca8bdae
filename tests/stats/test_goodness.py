"""Is the test of token counts what it says: never false too often, rare tokens pooled, impossible ones seen?"""

import math

import numpy as np
import pytest
from scipy.stats import binom, chi2, chisquare, kstest

from simspec.run.region import Words
from simspec.stats.goodness import EXCESS, FEW, goodness, two_sided

ALARMS = (1e-6, 1e-3)


def test_the_statistic_is_pearsons():
    counts, law = np.array([[480, 330, 190]]), np.array([[0.5, 0.3, 0.2]])
    own, theirs = goodness(counts, law), chisquare(counts[0], 1000 * law[0])
    assert own.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert (own.tokens, own.freedom, own.impossible) == (1000, 2, 0)


def test_with_many_tokens_the_p_value_is_the_chi_squares():
    """10⁸ tokens, shifted by two or three standard errors; and beyond `FEW` cells, where it is enlarged."""
    law = np.array([0.4, 0.3, 0.2, 0.1])
    shifts = np.array([2.0, -3.0, 2.5, -1.5]) * 1e4 / 2
    counts = np.rint(1e8 * law + shifts).astype(np.int64)
    assert goodness(counts[None, :], law[None, :]).p_value == pytest.approx(
        chisquare(counts, 1e8 * law).pvalue, rel=0.01
    )
    size = FEW + 2
    even = 1000 + 36 * (-1) ** np.arange(size)
    own = goodness(even[None, :], np.full((1, size), 1 / size))
    assert own.freedom == FEW + 1
    assert own.p_value == pytest.approx(EXCESS * chi2.sf(size * 1.296, FEW + 1))


def test_two_tokens_are_the_exact_binomial():
    for hits, trials, share in ((0, 1, 0.3), (3, 10, 0.3), (40, 41, 0.98), (700, 1000, 0.65), (10**6, 10**6, 0.999999)):
        tails = binom.cdf(hits, trials, share), binom.sf(hits - 1, trials, share)
        assert two_sided(hits, trials, share) == pytest.approx(min(1.0, 2 * min(tails)), rel=1e-9)


@pytest.mark.parametrize("share", [0.0197269433, 0.05, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("trials", [20, 128, 256, 1000, 20_000])
def test_a_false_alarm_over_two_tokens_is_as_rare_as_said(trials, share):
    """Every count there is, weighed.  The chi-square would say no 69 times too often at the first share, 256 tokens."""
    hits = np.arange(trials + 1)
    weight = binom.pmf(hits, trials, share)
    hits, weight = hits[weight > 1e-15], weight[weight > 1e-15]
    law = np.array([[1 - share, share]])
    p = np.array([goodness(np.array([[trials - k, k]]), law, 1.0).p_value for k in hits])
    for alarm in ALARMS:
        assert weight[p < alarm].sum() <= alarm


def test_the_chi_square_would_be_wrong_there():
    """What the test above would catch."""
    share, trials = 0.0197269433, 256
    hits = np.arange(trials + 1)
    z = (hits - trials * share) ** 2 / (trials * share * (1 - share))
    assert binom.pmf(hits, trials, share)[chi2.sf(z, 1) < 1e-6].sum() > 5e-5


@pytest.mark.parametrize("law", [(0.9, 0.07, 0.03), (0.5, 0.3, 0.2), (0.6, 0.39, 0.01), (1 / 3, 1 / 3, 1 / 3)])
@pytest.mark.parametrize("trials", [12, 90])
def test_a_false_alarm_over_three_tokens_is_as_rare_as_said(trials, law):
    total = dict.fromkeys(ALARMS, 0.0)
    for a in range(trials + 1):
        for b in range(trials + 1 - a):
            counts = (a, b, trials - a - b)
            logs = (k * math.log(p) - math.lgamma(k + 1) for k, p in zip(counts, law, strict=True))
            weight = math.exp(math.lgamma(trials + 1) + sum(logs))
            if weight > 1e-13:
                p_value = goodness(np.array([counts]), np.array([law]), 1.0).p_value
                for alarm in ALARMS:
                    total[alarm] += weight * (p_value < alarm)
    assert all(found <= alarm for alarm, found in total.items())


def rounds(share, drafted, kappa, many):
    """Law of (tokens, those of the second kind) of so many rounds of speculative sampling over two tokens."""
    p, q = (np.array([1 - x, x]) for x in (share, drafted))
    one, here = np.zeros((kappa + 2, kappa + 2)), np.zeros(kappa + 2)
    here[0] = 1.0
    for i in range(kappa):
        rest, kept = np.maximum(p - q, 0), np.minimum(p, q)
        one[i + 1] += here * rest[0] + np.roll(here, 1) * rest[1]
        here = here * kept[0] + np.roll(here, 1) * kept[1]
    one[kappa + 1] += here * p[0] + np.roll(here, 1) * p[1]
    size = ((kappa + 1) * many + 1,) * 2
    return np.fft.irfft2(np.fft.rfft2(one, s=size) ** many, s=size)


@pytest.mark.parametrize(("share", "drafted"), [(0.1, 0.02), (0.5, 0.5), (0.8, 0.0), (0.35, 0.9), (0.95, 1.0)])
@pytest.mark.parametrize("kappa", [0, 1, 4])
def test_rounds_that_end_at_random_raise_no_more_alarms(share, drafted, kappa):
    """128 rounds: the number of tokens hangs on which were drawn, and the alarm of 1e-6 stays one (rounding 1e-9)."""
    law = rounds(share, drafted, kappa, 128)
    assert law.sum() == pytest.approx(1.0)
    total = 0.0
    for tokens in np.flatnonzero(law.sum(axis=1) > 1e-11):
        hits = np.arange(tokens + 1)
        tails = np.minimum(binom.cdf(hits, tokens, share), binom.sf(hits - 1, tokens, share))
        total += np.maximum(law[tokens, : tokens + 1], 0.0)[2 * tails < 1e-6].sum()
    assert total < 1e-6 + 1e-9


def test_a_planted_error_is_still_seen():
    """A hundredth of the mass moved, at 10⁵ tokens."""
    law, moved = np.array([[0.5, 0.3, 0.2]]), np.array([0.51, 0.29, 0.2])
    assert goodness(np.rint(1e5 * moved).astype(np.int64)[None, :], law).p_value < 1e-9


def test_rare_tokens_share_a_cell_that_reaches_the_least():
    """Expected 60, 33, 3, 2, 2: the three rare ones hold 7 together."""
    counts, law = np.array([[55, 36, 5, 4, 0]]), np.array([[0.6, 0.33, 0.03, 0.02, 0.02]])
    own = goodness(counts, law, 5.0)
    assert own.freedom == 2
    assert own.statistic == pytest.approx(25 / 60 + 9 / 33 + 4 / 7)
    # expected 94, 5.5, .5: the rare one needs the next for its cell, and two cells are left
    own = goodness(np.array([[90, 9, 1]]), np.array([[0.94, 0.055, 0.005]]), 5.0)
    assert own.freedom == 1
    assert own.statistic == pytest.approx(16 / 94 + 16 / 6)


def test_contexts_add_up_and_empty_ones_count_nothing():
    counts = np.array([[500, 500], [0, 0], [300, 700]])
    own = goodness(counts, np.array([[0.5, 0.5], [0.1, 0.9], [0.25, 0.75]]))
    assert own.freedom == 2
    assert own.statistic == pytest.approx(2500 / 250 + 2500 / 750)
    alone = goodness(counts[2:], np.array([[0.25, 0.75]]))
    assert alone.freedom == 1
    assert own.p_value == pytest.approx(chi2.sf(chi2.isf(alone.p_value, 1), 2))


def test_an_impossible_token_is_never_forgiven():
    assert goodness(np.array([[10**9, 1]]), np.array([[1.0, 0.0]])).p_value == 0.0
    assert goodness(np.array([[10**9, 0]]), np.array([[1.0, 0.0]])).p_value == 1.0


def test_p_values_are_uniform_where_the_law_holds():
    """400 samples of 30,000 tokens; the false alarm of the Kolmogorov-Smirnov test is 1e-6.  A law off by 2% fails."""
    law = np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.03, 0.015, 0.004, 0.001])
    tokens = np.searchsorted(law.cumsum(), Words(5).uniform(400, 30_000))
    samples = [np.bincount(row, minlength=len(law))[None, :] for row in np.minimum(tokens, len(law) - 1)]
    shifted = law * np.array([1.04, 1.0, 0.94, *[1.0] * 7])
    for own, fits in ((law, True), (shifted / shifted.sum(), False)):
        found = [goodness(sample, own[None, :]).p_value for sample in samples]
        assert (kstest(found, "uniform").pvalue > 1e-6) == fits
