"""A control variate is a regression on a figure that is known: against the textbook's line."""

import numpy as np
import pytest

from simspec.stats.controlled import controlled
from simspec.stats.intervals import ratio


@pytest.mark.parametrize("units", [4, 5, 9, 64])
def test_it_is_the_line_of_least_squares(units):
    """Value: the line at what is known; error: residuals with two degrees of freedom spent, over √n."""
    rng = np.random.default_rng(units)
    x = rng.normal(3.0, 1.0, units)
    y = 2.0 * x + rng.normal(0.0, 0.5, units)
    found = controlled(ratio(y[None], np.ones((1, units))), ratio(x[None], np.ones((1, units))), 2.5)
    slope, level = np.polyfit(x, y, 1)
    rest = ((y - slope * x - level) ** 2).sum()
    line = slope * x.mean() + level - slope * (x.mean() - 2.5)
    assert found.value[0] == pytest.approx(line)
    assert found.error[0] == pytest.approx(np.sqrt(rest / (units - 2) / units))
    assert found.by_unit[0] == pytest.approx(y - slope * (x - 2.5))
    assert found.by_unit[0].mean() == pytest.approx(line)


def test_rows_have_slopes_of_their_own():
    chance = np.random.default_rng(1).normal(size=(2, 8))
    own, other = (
        ratio(np.array([1.0 + chance[0], 5.0 - 3.0 * chance[1]]), np.ones((2, 8))),
        ratio(chance, np.ones((2, 8))),
    )
    found = controlled(own, other, 0.0)
    assert found.value == pytest.approx([1.0, 5.0])
    assert found.error == pytest.approx([0.0, 0.0], abs=1e-12)
