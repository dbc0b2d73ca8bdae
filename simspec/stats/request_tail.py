"""What does a token of an answer cost at worst?  From the error of a speed-up to the spread between requests."""

from __future__ import annotations

import math

from simspec.stats.intervals import student

REQUEST_TOKENS = 256
"""Tokens of the answer whose tail is told, unless another length is asked for."""


def request_token_cost(
    speedup: float, high: float, level: float, units: int, tokens: float, share: float = 0.99,
    request: int = REQUEST_TOKENS,
) -> float:  # fmt: skip
    """Cost per token that a given share of requests does not exceed, in plain target steps.

    The error of a speed-up over all tokens shrinks as the root of their number, so it says how much answers of
    ``request`` tokens differ: a normal approximation, for rounds that forget each other within an answer.

    Parameters
    ----------
    speedup, high : float
        Estimate and upper end of its interval.
    level : float
        Level of the interval, 0 < level < 1.
    units : int
        Independent units behind it; at least 2.
    tokens : float
        Tokens emitted in all.
    share : float
        Share of requests, 0 < share < 1.
    request : int
        Tokens of an answer, ≥ 1.

    Returns
    -------
    float
        NaN where there is no error to start from: a single unit, or exact values.

    Examples
    --------
    >>> round(request_token_cost(2.0, 2.01, 0.95, 10_000, 1e6, request=256), 3)
    0.685
    """
    from scipy.special import ndtri

    if units < 2 or not tokens > 0.0 or not speedup > 0.0:
        return math.nan
    error = (high - speedup) / student(level, units) / speedup**2  # of the cost per token
    return 1.0 / speedup + float(ndtri(share)) * error * math.sqrt(tokens / request)
