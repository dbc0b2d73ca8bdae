"""What a rolling estimate settles at, by three readings: exact chains, limits by hand, and the twins of the passes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from simspec import theory
from simspec.kernels.policy_twin import RULE_TWINS
from simspec.model import BetaMixture, Cost, Iid, ParameterError
from simspec.theory import settled_estimate

PASSES = {"examined": "estimate", "drafted": "share", "round": "verdicts"}


def law(alpha, kappa):
    return theory.window(Iid(alpha=alpha), kappa).pmf_accepted


@pytest.mark.parametrize(("alpha", "kappa", "smoothing"), [(0.7, 4, 0.85), (0.5, 1, 0.6), (0.9, 8, 0.97)])
def test_the_mean_of_a_controller_that_never_changes_its_mind(alpha, kappa, smoothing):
    """Its long-run chain on a grid of estimates is another way to the same mean."""
    chain = theory.controller_long_run(alpha, lambda e: np.full(len(e), kappa), Cost(c_d=0.1), smoothing)
    assert_allclose(settled_estimate(law(alpha, kappa), smoothing), chain.mean_estimate, atol=2e-4)


def test_by_hand():
    """κ = 1: verdicts are independent and every reading is α; the shortest memory believes its last round."""
    for of in PASSES:
        assert_allclose(settled_estimate(law(0.7, 1), 0.85, of), 0.7)
        for alpha in (0.0, 1.0):
            assert_allclose(settled_estimate(law(alpha, 5), 0.85, of), alpha)
    assert_allclose(settled_estimate(law(0.7, 4), 1e-12), 0.7**4)  # P(full)
    assert_allclose(settled_estimate(law(0.7, 4), 0.3, "drafted"), 1.7731 / 4)
    assert_allclose(settled_estimate(law(0.7, 4), 1 - 1e-9, "round"), 1.7731 / 4, rtol=1e-6)
    assert_allclose(settled_estimate(law(0.7, 4), 1 - 1e-9), 0.7, rtol=1e-6)


@pytest.mark.parametrize("of", PASSES)
@pytest.mark.parametrize("process", [Iid(alpha=0.7), BetaMixture(alpha=0.7, rho=0.3)], ids=str)
def test_the_passes_settle_there(of, process):
    """40 independent stretches of 2500 rounds of the twins; 8 standard errors with 39 degrees: false alarm 1e-9."""
    exact = theory.window(process, 4).pmf_accepted
    rounds = np.random.default_rng(5).choice(5, size=(40, 2500), p=exact)
    figures = [5, *(0.85**j for j in range(5)), 0, 4]
    means = []
    for stretch in rounds:
        twin, seen = RULE_TWINS[PASSES[of]](figures, [settled_estimate(exact, 0.85, of)]), 0.0
        for accepted in stretch:
            assert twin.after(4, 4, 4, int(accepted), 0) == 4
            seen += twin.state[0]
        means.append(seen / len(stretch))
    error = np.std(means, ddof=1) / np.sqrt(40)
    assert abs(np.mean(means) - settled_estimate(exact, 0.85, of)) < 8 * error
    others = [settled_estimate(exact, 0.85, other) for other in PASSES if other != of]
    assert min(abs(np.mean(means) - other) for other in others) > 8 * error


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (([1.0],), "pmf_accepted"),
        (([0.5, 0.6],), "pmf_accepted"),
        (([-0.1, 1.1],), "pmf_accepted"),
        (([0.5, 0.5], 1.0), "smoothing"),
        (([0.5, 0.5], 0.5, "all"), "of"),
    ],
)
def test_what_is_refused(arguments, key):
    with pytest.raises(ParameterError) as error:
        settled_estimate(*arguments)
    assert error.value.key == key
