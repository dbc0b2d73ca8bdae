"""What does a round cost, in plain target steps?"""

from __future__ import annotations

from pydantic import Field

from simspec.model.base import Model, NonNegative, Positive


class Cost(Model):
    """Cost of one round of κ drafts: c0 + κ(c_d + c_v) + c_r·1[A < κ], in plain target steps.

    Parameters
    ----------
    c0 : float
        The target pass that every round makes, c0 > 0; 1 is a plain target step.
    c_d : float
        One draft token, β = c_d/c_t in the article, ≥ 0.
    c_v : float
        Verifying one more token in the target pass, ≥ 0.
    c_r : float
        Paid once per round that rejects a draft, ≥ 0.
    off : float
        Cost per token when speculation is switched off altogether, > 0.  1 unless the engine's own loop is dearer.

    Examples
    --------
    >>> Cost(c_d=0.1).of_round(kappa=4, rejected=True)
    1.4
    """

    c0: Positive = Field(default=1.0, description="the target pass of a round, in plain target steps")
    c_d: NonNegative = Field(default=0.0, description="one draft token, in plain target steps")
    c_v: NonNegative = Field(default=0.0, description="verifying one more token, in plain target steps")
    c_r: NonNegative = Field(default=0.0, description="a round with a rejection, in plain target steps")
    off: Positive = Field(default=1.0, description="one token without speculation, in plain target steps")

    def of_round(self, kappa: int, rejected: bool) -> float:
        """Cost of one round with ``kappa`` drafts."""
        return self.c0 + kappa * (self.c_d + self.c_v) + (self.c_r if rejected else 0.0)

    def __str__(self) -> str:
        return ", ".join(f"{key} = {value:g}" for key, value in self.model_dump().items())
