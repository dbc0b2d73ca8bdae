"""What if drafting goes on while the target verifies?  The long-run speed of overlapped schedules, i.i.d. drafts.

Between two rejections G drafts are accepted, P(G ≥ j) = α^j, and G + 1 tokens are emitted; schedules differ in the time
this takes.  There is no bonus token: what follows a full window has been drafted already.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_finite, check_range, check_whole


@dataclass(frozen=True)
class Overlapped:
    """Speed of one schedule.

    Attributes
    ----------
    mean_tokens : float
        Tokens from one rejection to the next, 1/(1 − α); infinite at α = 1.
    mean_time : float
        Time this takes, in plain target steps.
    speedup : float
        Their ratio.
    targets : int
        Target passes that run at once at most: how many copies of the target are needed.
    """

    mean_tokens: float
    mean_time: float
    speedup: float
    targets: int


def speculation_parallel(alpha: float, c_d: float, lookahead: int = 1) -> Overlapped:
    """Distributed speculative inference: drafting never waits, a target pass starts after every ``lookahead`` drafts.

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined draft, 0 ≤ alpha ≤ 1.
    c_d : float
        One draft token, in plain target steps, 0 < c_d < inf.
    lookahead : int
        Drafts between two target passes, 1 to 1000.

    Returns
    -------
    Overlapped
        Draft G + 1 is judged by pass ⌈G/ℓ⌉, which starts after ℓ⌈G/ℓ⌉ drafts and takes one step:
        E[time] = 1 + ℓ·c_d·α/(1 − α^ℓ).  With ℓ = 1 the speed-up is 1/(1 − α(1 − c_d)), that of perfect foresight.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Timor et al. (2024), Distributed Speculative Inference: lookahead, and how many copies of the target it takes.

    Examples
    --------
    >>> [round(speculation_parallel(0.7, 0.1, lookahead).speedup, 4) for lookahead in (1, 5)]
    [2.7027, 2.3462]
    """
    check_range("alpha", alpha, 0, 1)
    check_finite("c_d", c_d, 1e-9)
    check_whole("lookahead", lookahead, 1, EXACT_KAPPA_LIMIT)
    targets = max(math.ceil(1.0 / (lookahead * c_d) - 1e-12), 1)
    if alpha == 1.0:
        return Overlapped(math.inf, math.inf, 1.0 / c_d, targets)
    tokens = 1.0 / (1.0 - alpha)
    passes = 0.0 if alpha == 0.0 else alpha / -math.expm1(lookahead * math.log(alpha))
    time = 1.0 + lookahead * c_d * passes
    return Overlapped(tokens, time, tokens / time, targets)


def draft_ahead(alpha: float, c_d: float, gamma: int, c0: float = 1.0, pre_verify: bool = False) -> Overlapped:
    """One target that verifies a window while the next one is drafted, as if all drafts would be accepted.

    Parameters
    ----------
    alpha : float
        Acceptance rate of one examined draft, 0 ≤ alpha ≤ 1.
    c_d : float
        One draft token, in plain target steps, 0 ≤ c_d < inf.
    gamma : int
        Drafts of a window, 1 to 1000.
    c0 : float
        The target pass over a window, in plain target steps, > 0.
    pre_verify : bool
        Whether the target judges the first draft of a window while the window is made.

    Returns
    -------
    Overlapped
        Passes take max(c0, γ·c_d) each: target and draft wait for each other.  Without ``pre_verify`` a rejection is
        followed by γ·c_d of drafting alone, then ⌊G/γ⌋ + 1 passes.  With it 1 + ⌈G/γ⌉ passes follow each other: one
        that judges the first draft, then each those from the second draft of a window to the first of the next.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Liu et al. (2025), PEARL: Parallel Speculative Decoding with Adaptive Draft Length: post-verify, pre-verify; which
    verdicts a pass gives, and that the two wait, is from its released code.

    Examples
    --------
    >>> [round(draft_ahead(0.7, 0.1, 4, pre_verify=early).speedup, 4) for early in (False, True)]
    [1.9425, 1.7351]
    """
    check_range("alpha", alpha, 0, 1)
    check_finite("c_d", c_d, 0)
    check_finite("c0", c0, 1e-9)
    check_whole("gamma", gamma, 1, EXACT_KAPPA_LIMIT)
    drafting, both = gamma * c_d, max(c0, gamma * c_d)
    if alpha == 1.0:
        return Overlapped(math.inf, math.inf, gamma / both, 1)
    tokens = 1.0 / (1.0 - alpha)
    one_full = 1.0 if alpha == 0.0 else -math.expm1(gamma * math.log(alpha))  # 1 − α^γ
    time = (1.0 + alpha / one_full) * both if pre_verify else drafting + both / one_full
    return Overlapped(tokens, time, tokens / time, 1)


def draft_ahead_time(run: int, c_d: float, gamma: int, c0: float = 1.0, pre_verify: bool = False) -> float:
    """Time from one rejection to the next with ``run`` accepted drafts between, in the schedule of `draft_ahead`.

    Examples
    --------
    >>> [round(draft_ahead_time(run, 0.1, 4), 2) for run in (0, 3, 4)]
    [1.4, 1.4, 2.4]
    >>> [draft_ahead_time(run, 0.1, 4, pre_verify=True) for run in (0, 1, 4, 5)]
    [1.0, 2.0, 2.0, 3.0]
    """
    check_whole("run", run, 0)
    check_whole("gamma", gamma, 1, EXACT_KAPPA_LIMIT)
    both = max(c0, gamma * c_d)
    return (1 - -run // gamma) * both if pre_verify else gamma * c_d + (run // gamma + 1) * both


def overlapped_by_runs(runs: FloatArray, time: FloatArray) -> float:
    """Tokens per unit of time from the law of the accepted drafts between two rejections.

    Parameters
    ----------
    runs : array
        P(run = 0, 1, …), or counts.
    time : array
        Time from one rejection to the next, by run.

    Returns
    -------
    float
        E[run + 1]/E[time]: a ratio of means, the long-run throughput.

    Raises
    ------
    ParameterError
        If the two do not match.

    Examples
    --------
    >>> overlapped_by_runs(np.array([0.5, 0.5]), np.array([1.0, 2.0]))
    1.0
    """
    if runs.shape != time.shape or runs.ndim != 1:
        raise ParameterError("time", f"time has shape {time.shape}; allowed: {runs.shape}, one per run")
    return float(runs @ (np.arange(runs.size) + 1.0)) / float(runs @ time)
