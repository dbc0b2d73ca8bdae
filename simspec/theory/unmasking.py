"""How many passes does a diffusion model need that fills its masks in parallel, and what may that cost in quality?

Nothing is verified, so there is no acceptance and no losslessness; what a schedule gains is tokens per pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray, moments
from simspec.theory.ranges import check_range, check_whole

LENGTH_LIMIT = 100_000
PARALLEL_LIMIT = 1024
"""Masks whose number of passes has an exact law: the work grows with the cube."""


def unmask_schedule(gen_length: int, steps: int, block_length: int | None = None) -> npt.NDArray[np.int64]:
    """Tokens that each pass of a schedule fills in.

    Parameters
    ----------
    gen_length : int
        Masks L, 1 to 100,000.
    steps : int
        Passes T over all blocks, 1 to 100,000; a multiple of the number of blocks.
    block_length : int, optional
        Masks are filled block by block, L being a multiple of it; one block unless given.

    Returns
    -------
    array, shape (steps,)
        L/T each, the first L mod T passes (of a block) one more; some fill in nothing where T > L.

    Raises
    ------
    ParameterError
        If an argument is out of range or not a multiple.

    References
    ----------
    Nie et al. (2025), LLaDA: the number of transferred tokens of its released sampler, defaults 128 and 128.

    Examples
    --------
    >>> unmask_schedule(10, 4).tolist(), unmask_schedule(12, 4, block_length=6).tolist()
    ([3, 3, 2, 2], [3, 3, 3, 3])
    """
    check_whole("gen_length", gen_length, 1, LENGTH_LIMIT)
    check_whole("steps", steps, 1, LENGTH_LIMIT)
    size = gen_length if block_length is None else block_length
    check_whole("block_length", size, 1, gen_length)
    if gen_length % size:
        raise ParameterError("block_length", f"block_length = {size} does not divide {gen_length}; allowed: a divisor")
    blocks = gen_length // size
    if steps % blocks:
        raise ParameterError("steps", f"steps = {steps} does not divide among {blocks} blocks; allowed: a multiple")
    each, more = divmod(size, steps // blocks)
    own = each + (np.arange(steps // blocks) < more)
    return np.tile(own, blocks).astype(np.int64)


def schedule_confidence(tokens_per_step: npt.NDArray[np.int64]) -> float:
    """A proxy for the quality of a schedule: how confident its tokens are, on average, when they are filled in.

    Parameters
    ----------
    tokens_per_step : array of int
        Tokens that each pass fills in, from `unmask_schedule` of one block; those of the highest confidence are taken.

    Returns
    -------
    float
        Mean rank of a filled token's confidence among all confidences, 0 to 1, if every mask left gets a confidence of
        its own in each pass: the k best of n have 1 − (k + 1)/(2(n + 1)).  One token at a time is the most confident
        schedule; what is lost by filling several at once that depend on each other is not in it.

    Raises
    ------
    ParameterError
        If no token is filled in, or a number is negative.

    References
    ----------
    Low-confidence remasking: Nie et al. (2025), LLaDA; the mean of uniform order statistics.

    Examples
    --------
    >>> [round(schedule_confidence(unmask_schedule(128, steps)), 4) for steps in (128, 64, 16, 1)]
    [0.9653, 0.9515, 0.8875, 0.5]
    """
    filled = np.asarray(tokens_per_step)
    if filled.ndim != 1 or filled.sum() < 1 or (filled < 0).any():
        raise ParameterError(
            "tokens_per_step", "tokens_per_step fills in no token; allowed: whole numbers ≥ 0, not all 0"
        )
    left = filled.sum() - np.cumsum(filled) + filled
    return float((filled * (1.0 - (filled + 1.0) / (2.0 * (left + 1.0)))).sum() / filled.sum())


@dataclass(frozen=True, eq=False)
class ParallelUnmasking:
    """Exact law of the passes that fill all masks.

    Attributes
    ----------
    pmf_steps : array, shape (gen_length + 1,)
        P(s passes), s = 0 … L.
    mean_steps, var_steps : float
        Mean and variance of the passes.
    tokens_per_pass : float
        L/E[passes]: throughput against one token per pass.
    p_unsure : float
        Share of tokens filled in though no mask was confident, by the rule that a pass fills at least one: a proxy for
        quality, no measure of it.
    """

    pmf_steps: FloatArray
    mean_steps: float
    var_steps: float
    tokens_per_pass: float
    p_unsure: float


def parallel_unmask(gen_length: int, p_confident: float) -> ParallelUnmasking:
    """Passes until all masks are filled, where each remaining mask is confident with a fixed chance in every pass.

    Parameters
    ----------
    gen_length : int
        Masks L, 1 to 1024.
    p_confident : float
        Chance that a mask's confidence exceeds the threshold in a pass, independently of all others; 0 to 1.

    Returns
    -------
    ParallelUnmasking

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Notes
    -----
    Of n masks a pass fills max(1, Binomial(n, p)).  Filled masks inform the others, so that in a model the chances
    neither stay the same nor are independent.

    References
    ----------
    Confidence-aware parallel decoding: Wu et al. (2025), Fast-dLLM.

    Examples
    --------
    >>> found = parallel_unmask(16, 0.3)
    >>> round(found.mean_steps, 3), round(found.tokens_per_pass, 3)
    (6.928, 2.309)
    """
    check_whole("gen_length", gen_length, 1, PARALLEL_LIMIT)
    check_range("p_confident", p_confident, 0, 1)
    law = np.zeros(gen_length + 1)  # of the masks left
    law[gen_length] = 1.0
    done = np.zeros(gen_length + 1)  # P(all filled after s passes)
    moves = _pass_matrix(gen_length, p_confident)
    none = np.power(1.0 - p_confident, np.arange(gen_length + 1.0))  # P(none of n masks is confident)
    unsure = 0.0
    for passes in range(1, gen_length + 1):
        unsure += float(law[1:] @ none[1:])
        law = law @ moves
        done[passes] = law[0]
        law[0] = 0.0
    mean, var = moments(done)
    return ParallelUnmasking(done, mean, var, gen_length / mean, unsure / gen_length)


def _pass_matrix(length: int, chance: float) -> FloatArray:
    """P(m masks are left after a pass over n), at [n, m]."""
    from scipy.stats import binom

    out = np.zeros((length + 1, length + 1))
    out[0, 0] = 1.0
    for n in range(1, length + 1):
        filled = binom.pmf(np.arange(n + 1), n, chance)
        filled[1] += filled[0]
        out[n, :n] = filled[:0:-1] / filled[1:].sum()  # a law in spite of rounding
    return out
