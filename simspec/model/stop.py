"""When is enough known?  How narrow intervals are to be before a point is played no further."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from simspec.model.base import Model, Positive
from simspec.model.errors import ParameterError


class Stop(Model):
    """The precision that is asked for: the keys of a ``[stop]`` table, each for all κ and costs of a simulation.

    Intervals are looked at after 2, 4, 8, … chunks of a simulation, and hold at all looks together; ``windows`` is then
    the most that is played.

    Parameters
    ----------
    mean_accepted : float, optional
        Half the width of the interval of E[A], in tokens, > 0.
    speedup : float, optional
        Half the width of the interval of S, > 0.
    best_kappa : float, optional
        Until every κ is told from the best one, or known to be less than this share of it slower, 0 ≤ best_kappa < 1.
    p99 : float, optional
        Half the width of the interval of the 99% quantile of the cost per token of a unit (a request, a lane, or a
        window where windows are independent), in plain target steps, > 0.

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

    @model_validator(mode="after")
    def _says_something(self) -> Stop:
        if not self.keys():
            raise ParameterError("", f"[stop] asks for nothing; allowed: {', '.join(type(self).model_fields)}")
        return self

    def keys(self) -> dict[str, Any]:
        """What is asked for, by key."""
        return {key: value for key, value in self.model_dump().items() if value is not None}
