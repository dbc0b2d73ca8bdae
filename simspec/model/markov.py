"""Outcomes of successive drafts follow a two-state chain with a given lag-1 correlation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from simspec.model.base import Probability
from simspec.model.errors import ParameterError
from simspec.model.process import Process, Processes

Steps = Annotated[int, Field(ge=1, le=1000)]


@Processes.add
class Markov(Process):
    """Two-state chain with marginal α and lag-1 correlation ρ; what happens between windows is part of the question.

    Parameters
    ----------
    alpha : float
        Stationary acceptance rate, 0 ≤ alpha ≤ 1.
    rho : float
        Correlation of neighbouring outcomes, −min(α/(1−α), (1−α)/α) ≤ rho ≤ 1.
    start : {"stationary", "carry"}
        ``"stationary"``: each window's first draft is drawn afresh with probability α, so windows are independent.
        ``"carry"``: the chain runs on from the rejected draft, or from the last accepted one.
    steps_after_reject, steps_after_full : int
        With ``"carry"``: chain steps from the rejected (last accepted) draft to the next window's first draft, 1 to
        1000.  (1, 1) carries the chain; (1, 2) indexes it by sequence position, the bonus token counting as one more;
        (2, 2) advances it over the corrected and over the bonus token.  Without effect for ``"stationary"``.

    References
    ----------
    The article's section 5.1 leaves the boundary between windows open; the answer depends on it (claim C40).

    Examples
    --------
    >>> Markov(alpha=0.7, rho=0.3, start="carry").steps_after_full
    1
    >>> Markov(alpha=0.8, rho=-0.5)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: rho = -0.5 is impossible at alpha = 0.8; allowed: -0.25 ≤ rho ≤ 1 \
(a two-state chain with marginal alpha needs rho ≥ -min(alpha/(1-alpha), (1-alpha)/alpha))
    """

    type: Literal["markov"] = "markov"
    alpha: Probability = Field(description="the stationary acceptance rate, 0 ≤ alpha ≤ 1")
    rho: Annotated[float, Field(ge=-1.0, le=1.0)] = Field(description="the lag-1 correlation, at most 1")
    start: Literal["stationary", "carry"] = "stationary"
    steps_after_reject: Steps = 1
    steps_after_full: Steps = 1

    @model_validator(mode="after")
    def _admissible(self) -> Markov:
        low = lowest_rho(self.alpha)
        if self.rho < low - 1e-12:
            raise ParameterError(
                "rho",
                f"rho = {self.rho:g} is impossible at alpha = {self.alpha:g}; allowed: {low:.6g} ≤ rho ≤ 1 "
                "(a two-state chain with marginal alpha needs rho ≥ -min(alpha/(1-alpha), (1-alpha)/alpha))",
            )
        if self.carried and self.rho == 1.0:
            raise ParameterError(
                "rho",
                'rho = 1 with start = "carry" never leaves its first state, so no long-run law exists; '
                'allowed: rho < 1, or start = "stationary"',
            )
        return self

    @property
    def carried(self) -> bool:
        return self.start == "carry"

    @property
    def unit(self) -> str:
        return "lane" if self.carried else "window"

    def check_kappa(self, kappa: int) -> None:
        even = self.steps_after_reject % 2 == 0 and self.steps_after_full % 2 == 0
        if kappa == 1 and self.carried and self.rho == -1.0 and even:
            raise ParameterError(
                "kappa",
                "kappa = 1 with rho = -1 and an even number of steps after both outcomes repeats its first "
                "outcome for ever, so no long-run law exists; allowed: kappa ≠ 1 or an odd number of steps",
            )

    def identity(self) -> dict[str, Any]:
        own = super().identity()
        if not self.carried:  # without effect, hence not part of the question
            del own["steps_after_reject"], own["steps_after_full"]
        return own

    def parameters(self) -> dict[str, Any]:
        own = self.identity()
        del own["type"]
        return own


def lowest_rho(alpha: float) -> float:
    """Smallest lag-1 correlation a two-state chain with marginal ``alpha`` can have: −min(α/(1−α), (1−α)/α).

    Examples
    --------
    >>> lowest_rho(0.8)
    -0.25
    """
    if alpha in (0.0, 1.0):
        return 0.0
    small = min(alpha, 1.0 - alpha)
    return -round(small / (1.0 - small), 15)
