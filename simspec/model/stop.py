"""When is enough known?  How narrow intervals are to be before a point is played no further."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from simspec.model.base import Model, Positive
from simspec.model.errors import ParameterError
from simspec.model.process import Process
from simspec.model.trace import Trace


class Stop(Model):
    """The precision that is asked for: the keys of a ``[stop]`` table, each for all κ and costs of a simulation.

    All targets have to be met.  Intervals are looked at whenever as much was played as at all looks before, and hold at
    all looks together; ``windows`` is then the most that is played of a simulation at each κ.

    Parameters
    ----------
    mean_accepted : float, optional
        Half the width of the interval of E[A], in tokens, > 0.
    speedup : float, optional
        Half the width of the interval of S, > 0.
    best_kappa : float, optional
        Until every κ is told from the best one, or known to be within this share of it, 0 ≤ best_kappa < 1.  Two κ
        that are equally fast are never told apart, and with 0 the run goes on to its end.  A single κ is the best one.
    p99 : float, optional
        Half the width of the interval of the 99% quantile of the cost per token of a unit, in plain target steps, > 0.
        A unit is a window where windows are independent, else a lane of rounds or requests; how many tokens it has on
        average is said by ``unit_tokens``.
    budget : float, optional
        Most windows that are planned in the whole sweep, each κ counting, at least those of the first look at every
        simulation; default no limit but ``windows`` of each.  Requests are reckoned by their rounds at the longest κ,
        and have more at shorter ones.  It is no target, and stands beside one.

    Raises
    ------
    ParameterError
        A key is out of range, or nothing is asked for.

    Examples
    --------
    >>> Stop(speedup=0.001, best_kappa=0.01).keys()
    {'speedup': 0.001, 'best_kappa': 0.01}
    """

    mean_accepted: Positive | None = Field(default=None, description="half the width of the interval of E[A]")
    speedup: Positive | None = Field(default=None, description="half the width of the interval of S")
    best_kappa: Annotated[float, Field(ge=0.0, lt=1.0)] | None = Field(
        default=None, description="share of the best speed-up that is no difference"
    )
    p99: Positive | None = Field(default=None, description="half the width of the interval of the p99 cost per token")
    budget: Annotated[float, Field(ge=1.0, le=1e15, allow_inf_nan=False)] | None = Field(
        default=None, description="most windows of the whole sweep, each κ counting"
    )

    @model_validator(mode="after")
    def _says_something(self) -> Stop:
        if not self.targets():
            named = [name for name in type(self).model_fields if name != "budget"]
            raise ParameterError("", f"[stop] asks for no precision; allowed: at least one of {', '.join(named)}")
        return self

    def targets(self) -> dict[str, float]:
        """How precise each figure is to be, by key."""
        return {key: value for key, value in self.keys().items() if key != "budget"}

    def check_method(self, method: str) -> None:
        """Raise `ParameterError` if a method plays nothing that could be stopped."""
        if method != "simulate":
            told = f'[stop] needs rounds, and method = "{method}" plays none; allowed: method = "simulate"'
            raise ParameterError("stop", told)

    def check(self, process: Process) -> None:
        """Raise `ParameterError` if what a process plays first is no sample of it."""
        if isinstance(process, Trace):
            told = f"[stop] looks at what comes first, and that is no sample of the requests of {process}"
            raise ParameterError("stop", f"{told}; allowed with a trace: a fixed budget")

    def keys(self) -> dict[str, float]:
        """What is asked for, by key."""
        return {key: value for key, value in self.model_dump().items() if value is not None}
