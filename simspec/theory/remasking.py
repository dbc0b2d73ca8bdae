"""How confident are the tokens that low-confidence remasking keeps?  By counting the masks above every confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.model.errors import ParameterError
from simspec.theory.ranges import as_numbers, check_range
from simspec.theory.unmasking import unmask_schedule


@dataclass(frozen=True, eq=False)
class Remasking:
    """Low-confidence remasking of one block by a schedule.

    Attributes
    ----------
    tokens_per_step : array of int, shape (steps,)
        Tokens that each pass fills in.
    tokens_per_pass : float
        Their mean: throughput against one token per pass.
    mean_confidence : float
        Of the tokens when they are filled in; a proxy for quality, no measure of it.
    p_unsure : float
        Share of tokens filled in with a confidence below ``tau``; such a proxy too.
    """

    tokens_per_step: npt.NDArray[np.int64]
    tokens_per_pass: float
    mean_confidence: float
    p_unsure: float


def remask(
    block_length: int, steps: int, values: Sequence[float], weights: Sequence[float], tau: float = 1.0
) -> Remasking:
    """What a schedule fills in if every mask left gets a confidence of its own in each pass and the best are kept.

    Parameters
    ----------
    block_length : int
        Masks of a block, 1 to 100,000.
    steps : int
        Passes per block, 1 to 100,000; some fill in nothing where there are more than masks.
    values, weights : sequence of float
        Law of a mask's confidence: values 0 to 1, and how often each occurs, in any common scale.
    tau : float
        Least confidence that does not count as unsure, 0 to 1.

    Returns
    -------
    Remasking

    Raises
    ------
    ParameterError
        If an argument is out of range, or the lists do not match.

    Notes
    -----
    Of n masks the k best are kept: of these E[min(k, Binomial(n, P(confidence ≥ v)))] have a confidence of v or more,
    and the mean confidence follows by summing over v.  Confidences are independent here; in a model they rise as a text
    fills up, and masks that are filled together depend on each other.

    References
    ----------
    Nie et al. (2025), LLaDA: low-confidence remasking.

    Examples
    --------
    >>> for steps in (8, 4, 1):
    ...     found = remask(8, steps, values=[0.9, 0.4], weights=[0.5, 0.5], tau=0.5)
    ...     print(found.tokens_per_pass, round(found.mean_confidence, 4), round(found.p_unsure, 4))
    1.0 0.8377 0.1245
    2.0 0.8038 0.1924
    8.0 0.65 0.5
    """
    from scipy.stats import binom

    known, shares = as_numbers("values", values), as_numbers("weights", weights)
    check_range("tau", tau, 0, 1)
    if known.size != shares.size or not (shares >= 0.0).all() or not 0.0 < shares.sum() < np.inf:
        raise ParameterError("weights", f"weights do not fit {known.size} values; allowed: one ≥ 0 each, not all 0")
    for value in known:
        check_range("values", float(value), 0, 1)
    filled = unmask_schedule(block_length, steps)
    left = block_length - np.cumsum(filled) + filled

    def share_of_least(value: float) -> float:
        """Share of filled tokens whose confidence is at least a value."""
        chance = min(float(shares[known >= value].sum() / shares.sum()), 1.0)
        best = [binom.sf(np.arange(k), n, chance).sum() for k, n in zip(filled, left, strict=True)]
        return float(np.sum(best) / block_length)

    below, mean = 0.0, 0.0
    for value in np.unique(known):
        mean += (float(value) - below) * share_of_least(float(value))
        below = float(value)
    return Remasking(filled, block_length / steps, mean, max(1.0 - share_of_least(tau), 0.0))
