"""Where nothing varies the interval of a speed-up has no width: it holds the exact value all the same."""

from __future__ import annotations

import numpy as np
import pytest

import simspec
from simspec.run.tables import meeting

SCHEMES = (None, "eagle", "layerskip", "p_min", "kangaroo", "medusa", "llada", "pearl")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_certain_speedup_lies_in_its_interval(scheme, alpha):
    """Nothing is random here, so that nothing may be outside.  Without `meeting` p_min, kangaroo and llada fail."""
    cost = {"c_d": 0.07, "c_v": 0.013, "c_r": 0.3}
    kappa = None if scheme == "llada" else range(1, 9)
    found = simspec.simulate(simspec.Iid(alpha=alpha), cost, windows=5000, kappa=kappa, scheme=scheme).to_pandas()
    known = found.dropna(subset=["speedup_exact"])
    assert len(known)
    assert (known.speedup_low <= known.speedup_exact).all()
    assert (known.speedup_exact <= known.speedup_high).all()


@pytest.mark.parametrize(("off", "held"), [(1e-15, True), (-1e-13, True), (1e-11, False), (-1e-3, False)])
def test_only_rounding_widens_an_interval(off, held):
    ends = {"speedup": np.array([2.0]), "speedup_low": np.array([2.0]), "speedup_high": np.array([2.0])}
    exact = np.array([2.0 * (1.0 + off)])
    found = meeting(ends, exact)
    assert bool(found["speedup_low"] <= exact <= found["speedup_high"]) is held


def test_no_exact_value_changes_nothing():
    ends = {"speedup": np.array([2.0]), "speedup_low": np.array([1.9]), "speedup_high": np.array([2.1])}
    found = meeting(ends, np.array([np.nan]))
    assert (found["speedup_low"][0], found["speedup_high"][0]) == (1.9, 2.1)
