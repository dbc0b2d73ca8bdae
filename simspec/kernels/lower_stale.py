"""What becomes of rows where a drafter can go stale?  Twice as many: fresh ones, then those of a stale drafter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simspec.kernels.arithmetic import thinned
from simspec.kernels.forms import Form, FreshRow, Requests, Rows

_ALWAYS = 2**32


def doubled(form: Form, factor: float) -> Rows | Requests:
    """A form with a second half of rows, in which every draft is accepted ``factor`` times as often.

    Raises
    ------
    TypeError
        The form has no such rows: what was rejected because the drafter was stale tells an urn nothing of its rate.
    """
    if isinstance(form, FreshRow):
        coarse = form.cells * 2**20 + (form.lows >> np.uint64(32)).astype(np.int64)
        form = Rows(coarse[None, :], np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([_ALWAYS]))
    if not isinstance(form, (Rows, Requests)):
        raise TypeError(f"a {type(form).__name__} has no rows of a stale drafter")
    return replace(form, thresholds=np.concatenate([form.thresholds, thinned(form.thresholds, factor)]))
