"""Under which conditions does a policy run?  News that come late; left out, it is told of every round at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from simspec.model.base import Model
from simspec.model.errors import ParameterError

if TYPE_CHECKING:
    from simspec.model.policies.policy import Policy

DELAY_LIMIT = 1000


class Serving(Model):
    """How an engine serves what a policy steers: the keys of a ``[serving]`` table.

    Parameters
    ----------
    delay : int
        Rounds that news take: after round r the policy is told of round r − delay, and while there is none, κ stays at
        its first value.  0 to 1000.

    Examples
    --------
    >>> Serving(delay=3).identity()
    {'delay': 3}
    """

    delay: int = Field(default=0, ge=0, le=DELAY_LIMIT, description="rounds that news take to reach the policy")

    def identity(self) -> dict[str, Any]:
        """What differs from an engine that serves as if nothing were said."""
        own = super().identity()
        return {key: value for key, value in own.items() if value != type(self).model_fields[key].default}

    def under(self, policy: Policy) -> Serving:
        """What matters to this policy: at a fixed κ no news count."""
        return self if policy.adapts else NORMAL

    def check(self, policy: Policy) -> None:
        """Raise `ParameterError` if a key has no effect under this policy."""
        without = [key for key in self.identity() if key not in self.under(policy).identity()]
        if without:
            key, value = without[0], getattr(self, without[0])
            told = f"{key} = {value:g} has no effect on policy {policy.type}"
            raise ParameterError(key, f"{told}; allowed: a [policy] that chooses κ, or no {key}").under("serving")

    def __str__(self) -> str:
        return ", ".join(f"{key} = {value:g}" for key, value in self.identity().items())


NORMAL = Serving()
"""Nothing said: every policy is told at once."""
