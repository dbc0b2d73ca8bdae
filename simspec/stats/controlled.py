"""How much surer is a ratio when another one of the same units is known exactly?  A control variate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.stats.intervals import Floats, Ratio, standard_error

DUST = 1e-9
"""A control that varies less than this share of what it is to control varies by rounding alone."""


@dataclass(frozen=True)
class Controlled:
    """A ratio without the chance that it shares with a control.

    Attributes
    ----------
    value, error : array (…, rows)
        The ratio and its standard error.
    by_unit : array (…, rows, units)
        What each unit says of it; their mean is the value.
    """

    value: Floats
    error: Floats
    by_unit: Floats


def controlled(own: Ratio, control: Ratio, known: Floats | float) -> Controlled:
    """A ratio less what chance did to another ratio of the same units.

    Parameters
    ----------
    own, control : Ratio
        Rows alike, of the same independent units in the same order, at least four, without weights.
    known : float or array
        What the control is without chance.

    Returns
    -------
    Controlled
        Own value − b·(control − known), b being the regression of own influences on those of the control, with one more
        degree of freedom spent.  Where the control does not vary it changes nothing.

    References
    ----------
    Lavenberg and Welch (1981), Management Science 27(3), section 3: one control, b estimated.

    Examples
    --------
    >>> from simspec.stats.intervals import ratio
    >>> chance = np.array([[0.1, -0.2, 0.3, 0.2, -0.1]])
    >>> own, other = ratio(2.0 + chance, np.ones((1, 5))), ratio(5.0 + 2 * chance, np.ones((1, 5)))
    >>> found = controlled(own, other, 5.0)
    >>> [round(float(x[0]), 9) for x in (own.value, found.value, found.error)]
    [2.06, 2.0, 0.0]
    """
    mine, other = own.influence, control.influence
    over = (other * other).sum(axis=-1)
    varies = over > DUST**2 * (mine * mine).sum(axis=-1)
    slope = np.where(varies, (mine * other).sum(axis=-1) / np.where(varies, over, 1.0), 0.0)
    units = own.units
    spent = np.where(varies, np.sqrt((units - 1.0) / (units - 2.0)), 1.0)
    rest = mine - slope[..., None] * other
    value = own.value - slope * (control.value - known)
    return Controlled(value, standard_error(rest) * spent, value[..., None] + units * rest)
