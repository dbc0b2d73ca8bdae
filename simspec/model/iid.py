"""Each examined draft is accepted with the same probability, independently."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from simspec.model.base import Probability
from simspec.model.process import Process, Processes


@Processes.add
class Iid(Process):
    """Independent acceptance with one rate: P(A ≥ j) = α^j.

    Parameters
    ----------
    alpha : float
        Conditional acceptance rate of one examined draft, 0 ≤ alpha ≤ 1.

    References
    ----------
    Leviathan, Kalman, Matias (2023), section 3.1; the article's section 2.2.

    Examples
    --------
    >>> Iid(alpha=0.7).alpha
    0.7
    """

    type: Literal["iid"] = "iid"
    alpha: Probability = Field(description="the acceptance rate of one examined draft, 0 ≤ alpha ≤ 1")
