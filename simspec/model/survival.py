"""A measured survival curve, as engines publish it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from simspec.model.base import Probability
from simspec.model.errors import ParameterError
from simspec.model.process import Process, Processes


@Processes.add
class Survival(Process):
    """Independent windows whose accepted length has a given survival curve, P(A ≥ j) = S_j.

    Parameters
    ----------
    survival : list of float
        S_1 … S_n, the *unconditional* chance that the first j drafts are all accepted ("per-position acceptance rate"
        of vLLM and llama.cpp); 1 ≥ S_1 ≥ S_2 ≥ … ≥ 0.  κ beyond n is an error.

    Examples
    --------
    >>> Survival(survival=[0.76, 0.62, 0.51]).longest_draft
    3
    """

    type: Literal["survival"] = "survival"
    survival: tuple[Probability, ...] = Field(description="the list S_1 ≥ S_2 ≥ … of survival probabilities")

    @model_validator(mode="after")
    def _falls(self) -> Survival:
        if not self.survival:
            raise ParameterError("survival", "survival = [] is empty; allowed: at least one value S_1")
        if len(self.survival) > 1000:
            raise ParameterError("survival", f"survival has {len(self.survival)} values; allowed: at most 1000")
        for j in range(1, len(self.survival)):
            before, here = self.survival[j - 1], self.survival[j]
            if here > before:
                raise ParameterError(
                    "survival",
                    f"survival[{j}] = {here:g} is above survival[{j - 1}] = {before:g}; allowed: a curve that never "
                    "rises (S_j is the chance that the first j drafts are all accepted, not a conditional rate)",
                )
        return self

    @property
    def longest_draft(self) -> int | None:
        return len(self.survival)
