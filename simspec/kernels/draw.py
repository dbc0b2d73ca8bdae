"""How do many independent windows fall, without playing one of them?  One draw of their counts from the form's own law.

Windows with runs 0, 1, 2, … are drawn bin by bin: of those that reach draft j, a binomial number ends there.  That is
what numpy's ``multinomial`` does, but here each conditional chance is a quotient of whole numbers: nothing cancels, and
what cannot happen never does, at 10¹² windows too.  The words come from numpy's Philox generator, whose bits are fixed,
and its ``binomial``, which another numpy may compute otherwise: the draw depends on seed, process, windows and numpy
version.  Bins are drawn in order, so that a shorter longest draft folds the same counts.
"""

from __future__ import annotations

import numpy as np

from simspec.kernels.arithmetic import matrix_product
from simspec.kernels.forms import Form, FreshRow, Steps

ONE = 2**64
_WORD = 2**32


def reaching(form: Form, kappa: int) -> list[int]:
    """2⁶⁴·P(a window's run is at least j), j = 0 … kappa, as the kernels' thresholds have it.

    Parameters
    ----------
    form : Form
        One whose windows are independent: `FreshRow`, or `Steps` that restart.
    kappa : int
        Longest draft, at most that of the form.

    Examples
    --------
    >>> [reach / ONE for reach in reaching(FreshRow.of(np.array([0.5, 0.25])), 2)]
    [1.0, 0.5, 0.25]
    """
    if isinstance(form, FreshRow):
        pairs = zip(form.cells[:kappa].tolist(), form.lows[:kappa].tolist(), strict=True)
        return [ONE, *(cell * 2**52 + low for cell, low in pairs)]
    if isinstance(form, Steps) and form.restarts:
        return _surviving(form, kappa)
    raise TypeError(f"windows of {type(form).__name__} are not independent")


def _surviving(form: Steps, kappa: int) -> list[int]:
    """By the state after each accepted draft; sums in index order, so that every machine has the same."""
    states = len(form.start)
    accept = _shares(form.cells)[:, :states]
    law = _shares(form.start[None, :])
    out = [ONE]
    for _ in range(kappa):
        law = matrix_product(law, accept)
        out.append(min(out[-1], int(float(np.cumsum(law)[-1]) * ONE)))
    return out


def _shares(thresholds: np.ndarray) -> np.ndarray:
    """Chances between successive thresholds; 2³² − 1 stands for certainty, as where levels are compared."""
    certain = np.where(thresholds >= _WORD - 1, _WORD, thresholds)
    return np.diff(certain, axis=1, prepend=0) / float(_WORD)


def draw_runs(form: Form, keys: np.ndarray, windows: int, kappa: int) -> np.ndarray:
    """Number of windows by uncapped run 0 … kappa, the last bin holding all longer ones: one exact draw.

    Parameters
    ----------
    form : Form
        As for `reaching`.
    keys : uint64 array
        Stream keys of the domain ``"multinomial"``; the first two are the key of the generator.
    windows : int
        1 to 10¹²; the time does not depend on it.
    kappa : int
        Longest draft.

    Returns
    -------
    int64 array (kappa + 1,)

    Examples
    --------
    >>> runs = draw_runs(FreshRow.of(np.array([1.0, 0.0])), np.arange(2, dtype=np.uint64), 10**12, 2)
    >>> runs.tolist()
    [0, 1000000000000, 0]
    """
    numbers = np.random.Generator(np.random.Philox(key=keys[:2]))
    reach, left = reaching(form, kappa), windows
    out = np.zeros(kappa + 1, np.int64)
    for run in range(kappa):
        if left == 0:
            break
        out[run] = numbers.binomial(left, (reach[run] - reach[run + 1]) / reach[run])
        left -= int(out[run])
    out[kappa] = left
    return out
