"""How long does a batch wait for its last request, when all begin together and nobody is replaced?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.model.mixture import DiscreteMixture
from simspec.theory.law import FloatArray
from simspec.theory.ranges import check_whole
from simspec.theory.requests import request_shares
from simspec.theory.rounds import generation_rounds

BATCH_LIMIT = 65_536


@dataclass(frozen=True, eq=False)
class StaticBatch:
    """Rounds of batches of independent requests.

    Attributes
    ----------
    batches : array of int
        Requests that begin together.
    mean_rounds : float
        Expected rounds of one request.
    slowest : array
        Expected rounds of the slowest request of a batch: the rounds that the batch lasts.
    factor : array
        slowest / mean_rounds: how much longer than a request on average the batch lasts.
    """

    batches: npt.NDArray[np.int64]
    mean_rounds: float
    slowest: FloatArray
    factor: FloatArray


def static_batch(process: Drift | DiscreteMixture, kappa: int, batches: Sequence[int]) -> StaticBatch:
    """Expected rounds of the slowest of B independent requests at a fixed draft length.

    E[max] = Σ_r (1 − P(rounds ≤ r)^B), r = 0, 1, …

    Parameters
    ----------
    process : Drift or DiscreteMixture
        Requests of N tokens: rates by position, or a rate that each request draws.
    kappa : int
        Draft length, 0 ≤ kappa ≤ 1000.
    batches : sequence of int
        B, each 1 to 65,536.

    Returns
    -------
    StaticBatch

    Raises
    ------
    ParameterError
        If the requests have no fixed length, or a number is out of range.

    References
    ----------
    docs/serving.md, "Requests that are served together"; the law of the rounds is `simspec.theory.generation_rounds`.

    Examples
    --------
    Three tokens at κ = 1 take two rounds or, with probability ¼, three; one of two requests takes three with 7/16:

    >>> found = static_batch(Drift(shape="table", alphas=[0.5, 0.5, 0.5]), 1, [1, 2])
    >>> found.mean_rounds, found.slowest
    (2.25, array([2.25  , 2.4375]))
    """
    for batch in batches:
        check_whole("batch", batch, 1, BATCH_LIMIT)
    law = _rounds(process, kappa)
    size = np.array(batches, np.int64)
    below = np.minimum(np.cumsum(law), 1.0)
    slowest = (1.0 - below[:, None] ** size).sum(axis=0)
    mean = float(law @ np.arange(law.size))
    return StaticBatch(size, mean, slowest, np.asarray(slowest / mean))


def _rounds(process: Drift | DiscreteMixture, kappa: int) -> FloatArray:
    """Law of the rounds of one request."""
    if isinstance(process, Drift):
        return generation_rounds(process, kappa)
    if not isinstance(process, DiscreteMixture) or process.request_tokens is None or process.geometric:
        told = "has no requests of fixed length"
        raise ParameterError("process", f"{process} {told}; allowed: drift, or discrete_mixture with request_tokens")
    n = process.request_tokens
    law = np.zeros(n + 1)
    for rate, share in zip(*request_shares(process, kappa), strict=True):
        flat = Drift(alpha_start=float(rate), alpha_end=float(rate), tokens=n, truncate=process.truncate)
        law += share * generation_rounds(flat, kappa)
    return law
