"""Token laws for tests: hard cases, and laws as hypothesis draws them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

SKEW, BACK = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
"""α = .7; what theory papers like to use."""

WEIGHTS = st.one_of(st.just(0.0), st.floats(1e-6, 1.0), st.floats(1e-30, 1e-20), st.just(0.5))


def _law(weights: list[float]) -> list[float]:
    total = sum(weights)
    return [weight / total for weight in weights]


@st.composite
def law_lists(draw: st.DrawFn, count: int = 2, most: int = 6) -> list[list[float]]:
    """So many laws over one vocabulary, with zeros, tiny entries and, at times, equal laws."""
    size = draw(st.integers(1, most))
    one = st.lists(WEIGHTS, min_size=size, max_size=size).filter(lambda w: sum(w) > 1e-3).map(_law)
    laws = [draw(one) for _ in range(count)]
    if draw(st.integers(0, 9)) == 0:
        laws[1] = laws[0]
    if draw(st.integers(0, 4)) == 0:  # laws that hardly differ
        nudged = np.array(laws[0]) * (1.0 + 1e-7 * np.arange(size))
        laws[1] = list(nudged / nudged.sum())
    return laws
