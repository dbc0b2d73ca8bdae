"""The token-by-token checker: its own words, one per draft, and the same exact law as the kernels."""

import numpy as np
import pytest
from laws import assert_same_law
from scipy.special import chdtri

from simspec import theory
from simspec.model import Drift, Iid, Markov, ParameterError, Survival
from simspec.run.judged import JudgedJob, play_tokens, run_judged

CASES = [
    (Iid(alpha=0.7), 4),
    (Iid(alpha=1.0), 3),
    (Iid(alpha=0.6), 0),
    (Survival(survival=(0.76, 0.62, 0.51, 0.0)), 4),
    (Markov(alpha=0.7, rho=0.3), 6),
    (Markov(alpha=0.8, rho=-0.25), 4),
    (Markov(alpha=0.7, rho=0.3, start="carry"), 4),
    (Markov(alpha=0.7, rho=0.3, start="carry", steps_after_full=2), 4),
    (Markov(alpha=0.7, rho=-0.3, start="carry", steps_after_reject=3, steps_after_full=2), 2),
    (Drift(alpha_start=0.85, alpha_end=0.3, tokens=200), 5),
    (Drift(alpha_start=0.85, alpha_end=0.3, tokens=50, truncate=False), 5),
]


@pytest.mark.parametrize(("process", "kappa"), CASES, ids=str)
def test_token_by_token_play_follows_the_exact_law(process, kappa):
    """2·10⁶ windows, false alarm 1e-6 each."""
    job = JudgedJob(process, kappa, 2_000_000, 11)
    accepted, _ = play_tokens(job, range(job.layout.chunks))
    assert_same_law(accepted.sum(axis=(0, 1)), process, kappa, job.layout)


@pytest.mark.parametrize("process", [Iid(alpha=0.7), Markov(alpha=0.7, rho=0.3), Markov(alpha=0.8, rho=-0.1)], ids=str)
def test_the_number_accepted_when_every_draft_is_judged(process):
    """Chi-square of 4·10⁶ independent windows, false alarm 1e-6."""
    ((_, judged),) = run_judged([JudgedJob(process, 4, 4_000_000, 5)])
    counts = judged.sum(axis=0)
    expected = theory.judged_sum(process, 4) * counts.sum()
    assert ((counts - expected) ** 2 / expected).sum() < chdtri(4, 1e-6)


def test_a_survival_curve_does_not_say_what_follows_a_rejection():
    with pytest.raises(ParameterError, match="what happens after a rejection"):
        list(run_judged([JudgedJob(Survival(survival=(0.5,)), 1, 100, 1)]))


def test_threads_change_nothing():
    job = JudgedJob(Markov(alpha=0.7, rho=0.3), 4, 300_000, 5)
    results = [judged for threads in (1, 2, 7) for _, judged in run_judged([job], threads)]
    assert all(np.array_equal(results[0], other) for other in results)
