"""κ by what the coming round would accept: what no engine knows, and what none that keeps its drafter can beat."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from simspec.model.base import Positive
from simspec.model.drift import Drift
from simspec.model.errors import ParameterError
from simspec.model.mixture import DiscreteMixture
from simspec.model.policies.policy import POLICY_KAPPA_LIMIT, Costed, Policies
from simspec.model.process import Process
from simspec.model.trace import Trace


@Policies.add
class Foresight(Costed):
    """κ with the most tokens − Ŝ·cost for the run of the coming round, known before it drafts: an upper bound.

    Parameters
    ----------
    lowest, highest : int
        Bounds of κ.
    cost : Cost, optional
        Prices of tokens and rounds; those of the run if left out.
    speed : float, optional
        Ŝ, tokens per plain target step, the worth of time.  Left out, it is that of the policy itself: the fixed point
        of Ŝ = E[tokens]/E[cost], by Dinkelbach's iteration over the law of a run.  Where windows start afresh this is
        exact, and no controller that cannot change acceptance is faster; along a drift, over rates drawn for requests
        and on a dense trace the mean law of a run over positions or classes stands for it.

    Notes
    -----
    With linear prices κ is the run itself wherever a token is worth its draft, 1 > Ŝ·(c_d + c_v), whatever Ŝ.  A draft
    that stops just before its first rejection pays no c_r either.  In a batch every request needs its own κ
    (shares = false).

    References
    ----------
    `simspec.theory.foresight`; its limit of long drafts `simspec.theory.foresight_bound`.  Dinkelbach (1967).

    Examples
    --------
    >>> import simspec
    >>> found = simspec.simulate({"type": "iid", "alpha": 0.7}, {"c_d": 0.1}, policy="foresight", windows=200_000)
    >>> bool(abs(found.to_pandas().speedup[0] - simspec.theory.foresight_bound(0.7, 0.1)) < 0.02)
    True
    """

    type: Literal["foresight"] = "foresight"
    lowest: int = Field(default=0, ge=0, le=POLICY_KAPPA_LIMIT, description="least κ")
    highest: int = Field(default=16, ge=0, le=POLICY_KAPPA_LIMIT, description="largest κ")
    speed: Positive | None = Field(default=None, description="worth of time, in tokens per plain target step")

    def __init__(self, /, *unnamed: Any, **data: Any) -> None:
        super().__init__(*unnamed, **data)
        if self.lowest > self.highest:
            told = f"lowest = {self.lowest} is above highest = {self.highest}"
            raise ParameterError("lowest", f"{told}; allowed: lowest ≤ highest")

    @property
    def of_one_request(self) -> str:
        return "knows the coming round of each request"

    @property
    def listens(self) -> bool:
        return False

    @property
    def rests(self) -> bool:
        return self.lowest == 0

    @property
    def rejects(self) -> bool:
        """A draft beyond the run pays only where more drafts are cheaper than fewer."""
        cost = self.cost
        lengths = range(self.highest)
        return self.lowest > 0 or cost is None or any(cost.base(k + 1) < cost.base(k) for k in lengths)

    @property
    def begins(self) -> int:
        return self.highest

    @property
    def longest(self) -> int:
        return self.highest

    def check_process(self, process: Process) -> None:
        by_class = isinstance(process, DiscreteMixture) and process.by_request
        if process.unit == "window" or isinstance(process, (Drift, Trace)) or by_class:
            return
        told = f"policy foresight on {process.type}: a run that is known tells of the rounds behind it"
        allowed = "windows that start afresh, drift, a discrete_mixture by requests, a dense trace"
        raise ParameterError("policy", f"{told}; allowed: {allowed}")
