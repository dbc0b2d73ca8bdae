"""Is the chi-square of token counts what it says, with rare tokens pooled and impossible ones seen?"""

import numpy as np
import pytest
from scipy.stats import chi2, chisquare, kstest

from simspec.run.region import Words
from simspec.stats.goodness import goodness


def test_against_scipy_where_nothing_is_rare():
    counts, law = np.array([[480, 330, 190]]), np.array([[0.5, 0.3, 0.2]])
    own, theirs = goodness(counts, law), chisquare(counts[0], 1000 * law[0])
    assert own.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert own.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    assert (own.tokens, own.freedom, own.impossible) == (1000, 2, 0)


def test_rare_tokens_share_a_cell_that_reaches_five():
    """Expected 60, 33, 3, 2, 2: the three rare ones hold 7 together."""
    counts, law = np.array([[55, 36, 5, 4, 0]]), np.array([[0.6, 0.33, 0.03, 0.02, 0.02]])
    own = goodness(counts, law)
    assert own.freedom == 2
    assert own.statistic == pytest.approx(25 / 60 + 9 / 33 + 4 / 7)
    # expected 94, 5.5, .5: the rare one needs the next for its cell, and two cells are left
    own = goodness(np.array([[90, 9, 1]]), np.array([[0.94, 0.055, 0.005]]))
    assert own.freedom == 1
    assert own.statistic == pytest.approx(16 / 94 + 16 / 6)


def test_contexts_add_up_and_empty_ones_count_nothing():
    counts = np.array([[50, 50], [0, 0], [30, 70]])
    own = goodness(counts, np.array([[0.5, 0.5], [0.1, 0.9], [0.25, 0.75]]))
    assert own.freedom == 2
    assert own.statistic == pytest.approx(25 / 25 + 25 / 75)
    assert own.p_value == pytest.approx(chi2.sf(own.statistic, 2))


def test_an_impossible_token_is_never_forgiven():
    assert goodness(np.array([[10**9, 1]]), np.array([[1.0, 0.0]])).p_value == 0.0
    assert goodness(np.array([[10**9, 0]]), np.array([[1.0, 0.0]])).p_value == 1.0


def test_p_values_are_uniform_where_the_law_holds():
    """400 samples of 3000 tokens; the false alarm of the Kolmogorov-Smirnov test is 1e-6.  A law off by 2% fails it."""
    law = np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.03, 0.015, 0.004, 0.001])
    tokens = np.searchsorted(law.cumsum(), Words(5).uniform(400, 3000))
    samples = [np.bincount(row, minlength=len(law))[None, :] for row in np.minimum(tokens, len(law) - 1)]
    shifted = law * np.array([1.1, 1.0, 0.85, *[1.0] * 7])
    for own, fits in ((law, True), (shifted / shifted.sum(), False)):
        found = [goodness(sample, own[None, :]).p_value for sample in samples]
        assert (kstest(found, "uniform").pvalue > 1e-6) == fits
