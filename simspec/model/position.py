"""Independent windows whose conditional acceptance rate depends on the draft's position."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from simspec.model.base import Probability
from simspec.model.errors import ParameterError
from simspec.model.process import Process, Processes


@Processes.add
class Position(Process):
    """Draft j is accepted with probability alphas[j − 1], given that the drafts before it were.

    Parameters
    ----------
    alphas : list of float
        Conditional rates by draft position ("0-α, 1-α, …" of EAGLE), each in [0, 1].  κ beyond them is an error.

    References
    ----------
    Li, Wei, Zhang, Zhang (2024), EAGLE, Table 2, publishes such rates.

    Examples
    --------
    >>> Position(alphas=[0.79, 0.74, 0.72]).longest_draft
    3
    """

    type: Literal["position"] = "position"
    alphas: tuple[Probability, ...] = Field(description="the list of conditional rates by draft position")

    @model_validator(mode="after")
    def _some(self) -> Position:
        if not 1 <= len(self.alphas) <= 1000:
            raise ParameterError("alphas", f"alphas has {len(self.alphas)} values; allowed: 1 to 1000")
        return self

    @property
    def longest_draft(self) -> int | None:
        return len(self.alphas)
