"""Under which conditions does a policy run?  Late news, batches, stale drafters; left out, none of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field, field_validator, model_validator

from simspec.model.base import Model
from simspec.model.errors import ParameterError
from simspec.model.mixture import BetaMixture

if TYPE_CHECKING:
    from simspec.model.policies.policy import Policy
    from simspec.model.process import Process

ROUNDS_LIMIT = 1000


class Stale(NamedTuple):
    """A drafter that was off: rounds that it takes to recover, and the factor on its acceptance until then."""

    rounds: int
    factor: float


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
    stale_rounds, stale_factor : int, float
        In the first ``stale_rounds`` rounds of a request that draft after a round with κ = 0, every draft is accepted
        ``stale_factor`` times as often: the drafter's own state misses the tokens that were made without it.  0 to
        1000; 0 ≤ stale_factor ≤ 1.

    Raises
    ------
    ParameterError
        A key is out of range, or one of stale_rounds and stale_factor is given without the other.

    Examples
    --------
    >>> Serving(delay=3, stale_rounds=0, stale_factor=0.5).identity()
    {'delay': 3}
    """

    delay: int = Field(default=0, ge=0, le=ROUNDS_LIMIT, description="rounds that news take to reach the policy")
    batch: int = Field(default=1, ge=1, le=64, description="requests served together, a power of two")
    shares: bool = Field(default=True, description="whether a batch has one κ; else each request chooses its own")
    stale_rounds: int = Field(default=0, ge=0, le=ROUNDS_LIMIT, description="rounds of a stale drafter after κ = 0")
    stale_factor: float = Field(default=1.0, ge=0, le=1, description="factor on its acceptance until then")

    @field_validator("batch")
    @classmethod
    def _whole_batches(cls, batch: int) -> int:
        if 64 % batch:
            raise ParameterError("batch", f"batch = {batch} is out of range; allowed: 1, 2, 4, 8, 16, 32, 64")
        return batch

    @model_validator(mode="after")
    def _both(self) -> Serving:
        for key, other in (("stale_rounds", "stale_factor"), ("stale_factor", "stale_rounds")):
            if key in self.model_fields_set and other not in self.model_fields_set:
                told = f"{key} = {getattr(self, key):g} has no effect without {other}"
                raise ParameterError(key, f"{told}; allowed: both or neither")
        return self

    @property
    def shares_kappa(self) -> bool:
        """Whether several requests have one κ."""
        return self.batch > 1 and self.shares

    @property
    def stale(self) -> Stale | None:
        """How long and how much worse a drafter is that was off; None if it is not."""
        if self.stale_rounds == 0 or self.stale_factor == 1.0:
            return None
        return Stale(self.stale_rounds, self.stale_factor)

    def identity(self) -> dict[str, Any]:
        """What differs from an engine that serves as if nothing were said; who is alone shares with nobody."""
        own = super().identity()
        if self.batch == 1:
            del own["shares"]
        if self.stale is None:
            del own["stale_rounds"], own["stale_factor"]
        return {key: value for key, value in own.items() if value != type(self).model_fields[key].default}

    def under(self, policy: Policy) -> Serving:
        """What matters to this policy: at a fixed κ no news count, and a drafter that is never off is never stale."""
        if not policy.adapts:
            return Serving(batch=self.batch)
        idle: dict[str, float] = {} if policy.listens else {"delay": 0}
        idle |= {} if policy.rests else {"stale_rounds": 0, "stale_factor": 1.0}
        return self.model_copy(update=idle)

    def check(self, *policies: Policy) -> None:
        """Raise `ParameterError` if a key has no effect under any of the policies."""
        own = self.identity()
        matter = {key for policy in policies for key in self.under(policy).identity()} if own else own
        for key in own:
            if key not in matter:
                told = f"{key} = {_said(getattr(self, key))} has no effect on policy {policies[0].type}"
                who = "may choose κ = 0 (lowest = 0)" if key.startswith("stale") else "chooses κ by past rounds"
                raise ParameterError(key, f"{told}; allowed: a policy that {who}, or no {key}").under("serving")

    def check_process(self, process: Process) -> None:
        """Raise `ParameterError` if a stale drafter has no meaning for a process."""
        by_urn = isinstance(process, BetaMixture) and process.by_request and process.mean_and_rho()[1] < 1.0
        hidden = process.type in ("hmm", "token_chain") and process.unit == "lane"
        if self.stale and (by_urn or hidden):
            why = "verdicts on stale drafts say little of its rate" if by_urn else "its state moves with every draft"
            told = f"stale_factor = {self.stale_factor:g} has no meaning for {process.type}: {why}"
            allowed = "processes whose windows have a law of their own, or no stale_rounds"
            raise ParameterError("stale_factor", f"{told}; allowed: {allowed}").under("serving")

    def __str__(self) -> str:
        return ", ".join(f"{key} = {_said(value)}" for key, value in self.identity().items())

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


def _said(value: float) -> str:
    """As a scenario file has it."""
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"


NORMAL = Serving()
"""Nothing said: every policy is told at once, and a drafter is none the worse for having been off."""
KEYS = tuple(Serving.model_fields)
