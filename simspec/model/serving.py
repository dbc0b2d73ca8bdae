"""Under which conditions does a policy run?  Late news, requests in batches; left out, one alone, told at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

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
    batch : int
        Requests that are served together, 1, 2, 4, … 64.  A batch moves in lock step: its step is as long as the most
        drafts among its requests, and pays c_r if any of them rejects one.
    shares : bool
        Whether the requests of a batch have one κ and one state of the policy, which is then told of all of them after
        every round, one after the other; it is not reset between requests.  Otherwise each chooses its own κ.

    Examples
    --------
    >>> Serving(delay=3).identity()
    {'delay': 3}
    """

    delay: int = Field(default=0, ge=0, le=DELAY_LIMIT, description="rounds that news take to reach the policy")
    batch: int = Field(default=1, ge=1, le=64, description="requests served together, a power of two")
    shares: bool = Field(default=True, description="whether a batch has one κ; else each request chooses its own")

    @field_validator("batch")
    @classmethod
    def _whole_batches(cls, batch: int) -> int:
        if 64 % batch:
            raise ParameterError("batch", f"batch = {batch} is out of range; allowed: 1, 2, 4, 8, 16, 32, 64")
        return batch

    @property
    def shares_kappa(self) -> bool:
        """Whether several requests have one κ."""
        return self.batch > 1 and self.shares

    def identity(self) -> dict[str, Any]:
        """What differs from an engine that serves as if nothing were said; who is alone shares with nobody."""
        own = super().identity()
        if self.batch == 1:
            del own["shares"]
        return {key: value for key, value in own.items() if value != type(self).model_fields[key].default}

    def under(self, policy: Policy) -> Serving:
        """What matters to this policy: at a fixed κ no news count, and all have it anyway."""
        return self if policy.adapts else Serving(batch=self.batch)

    def check(self, *policies: Policy) -> None:
        """Raise `ParameterError` if a key has no effect under any of the policies."""
        matter = {key for policy in policies for key in self.under(policy).identity()}
        for key in self.identity():
            if key not in matter:
                told = f"{key} = {getattr(self, key):g} has no effect on policy {policies[0].type}"
                raise ParameterError(key, f"{told}; allowed: a policy that chooses κ, or no {key}").under("serving")

    def __str__(self) -> str:
        return ", ".join(f"{key} = {value:g}" for key, value in self.identity().items())

    @staticmethod
    def of_row(row: Mapping[str, Any]) -> Serving:
        """The conditions that a row of the estimates tells; files of before there were any tell of none.

        Examples
        --------
        >>> print(Serving.of_row({"policy": "heuristic", "serving_delay": 2}))
        delay = 2
        """
        usual = {key: field.default for key, field in Serving.model_fields.items()}
        return Serving(**{key: type(own)(row.get(f"serving_{key}", own)) for key, own in usual.items()})


NORMAL = Serving()
"""Nothing said: every policy is told at once."""
KEYS = tuple(Serving.model_fields)
