"""Who chooses κ between rounds, and which rules are there?  A base class and a registry: one file and one line each."""

from __future__ import annotations

import importlib.metadata
from typing import Any, ClassVar

from pydantic import Field
from pydantic.fields import FieldInfo

from simspec.model.base import Model, enter
from simspec.model.cost import Cost
from simspec.model.errors import ParameterError, did_you_mean, shown
from simspec.model.process import Process

POLICY_KAPPA_LIMIT = 64
_OWN = (
    "one of your own is known once its module is imported: simspec.sweep in Python, or an entry point (docs/control.md)"
)


class Policy(Model):
    """How κ of the next round follows from the rounds so far.

    A policy is told κ, how many drafts were accepted and whether any was rejected; drafts after a rejection were never
    judged, and no policy learns of them.
    """

    type: str
    later: ClassVar[frozenset[str]] = frozenset()
    """Parameters that the type once did not have: they join the identity only where they differ from their default."""
    label: str = Field(default="", repr=False, description="name shown beside the numbers; not part of the identity")

    @property
    def adapts(self) -> bool:
        """Whether κ may change between rounds."""
        return True

    @property
    def listens(self) -> bool:
        """Whether outcomes of rounds steer it."""
        return self.adapts

    @property
    def rests(self) -> bool:
        """Whether it may choose κ = 0, so that the drafter is off for a while."""
        return self.adapts

    @property
    def rejects(self) -> bool:
        """Whether a draft may be rejected: not where every run is known beforehand."""
        return True

    @property
    def reads_cost(self) -> bool:
        """Whether prices steer it: another cost is then another simulation."""
        return False

    @property
    def of_one_request(self) -> str:
        """Why it cannot choose one κ for several requests; empty if it can."""
        return ""

    @property
    def begins(self) -> int:
        """κ of the first round."""
        raise NotImplementedError

    @property
    def longest(self) -> int:
        """The longest draft that it may choose."""
        raise NotImplementedError

    def told(self, costs: tuple[Cost, ...]) -> Policy:
        """The policy knowing the prices it reads; itself where it reads none, or was given its own.

        Raises
        ------
        ParameterError
            It reads prices and there is not exactly one cost.
        """
        return self

    def check_process(self, process: Process) -> None:
        """Raise `ParameterError` if it has no meaning for a process."""

    def parameters(self) -> dict[str, Any]:
        """The parameters without the type, for tables."""
        own = self.identity()
        del own["type"]
        return own

    def identity(self) -> dict[str, Any]:
        own = {key: getattr(self, key) for key in type(self).model_fields if key != "label"}
        plain = super().identity() | {key: value.identity() for key, value in own.items() if isinstance(value, Model)}
        usual = {key for key in self.later if own[key] == type(self).model_fields[key].default}
        return {key: plain[key] for key, value in own.items() if value is not None and key not in usual}

    def __str__(self) -> str:
        usual = {key: field.default for key, field in type(self).model_fields.items()}
        own = {key: value for key, value in self.identity().items() if key not in ("type", "cost", "code")}
        own = {key: value for key, value in own.items() if getattr(self, key) != usual[key]}
        inside = ", ".join(f"{key} = {shown(value)}" for key, value in own.items())
        return f"{self.type}({inside})" if inside else self.type


class Bounded(Policy):
    """A policy that begins with ``first`` and stays from ``lowest`` to ``highest``."""

    first: int = Field(default=4, ge=0, le=POLICY_KAPPA_LIMIT, description="κ of the first round")
    lowest: int = Field(default=1, ge=0, le=POLICY_KAPPA_LIMIT, description="least κ")
    highest: int = Field(default=16, ge=0, le=POLICY_KAPPA_LIMIT, description="largest κ")
    keeps: bool = Field(default=False, description="whether κ and what was learned outlive a request")

    def __init__(self, /, *unnamed: Any, **data: Any) -> None:
        super().__init__(*unnamed, **data)
        for key, value in (("lowest", self.lowest), ("first", self.first)):
            if value > self.highest:
                raise ParameterError(
                    key, f"{key} = {value} is above highest = {self.highest}; allowed: {key} ≤ highest"
                )
        if self.first < self.lowest:
            told = f"first = {self.first} is below lowest = {self.lowest}"
            raise ParameterError("first", f"{told}; allowed: first ≥ lowest")

    @property
    def rests(self) -> bool:
        return self.lowest == 0

    @property
    def begins(self) -> int:
        return self.first

    @property
    def longest(self) -> int:
        return self.highest


class Costed(Policy):
    """A policy that prices steer: ``cost``, or the only cost of the scenario."""

    cost: Cost | None = Field(default=None, description="prices that it believes in; those of the run if left out")

    def __init__(self, /, *unnamed: Any, **data: Any) -> None:
        super().__init__(*unnamed, **data)
        if self.cost is not None:
            self.cost.check_changes_are_free(f"the policy {self.type}")

    @property
    def reads_cost(self) -> bool:
        return True

    def told(self, costs: tuple[Cost, ...]) -> Policy:
        if self.cost is not None or not self.reads_cost:
            return self
        known = {cost.without_changes() for cost in costs}  # no rule asks what a change of κ costs
        if len(known) != 1:
            told = f"{self.type} reads prices, and the run has {len(known)} costs"
            raise ParameterError("cost", f"{told}; allowed: one cost, or a table [policy.cost] of its own")
        return self.model_copy(update={"cost": known.pop()})


class Priced(Costed, Bounded):
    """Both: it stays within bounds, and prices steer it."""


class Policies:
    """The registry: ``type`` word → class."""

    table: ClassVar[dict[str, type[Policy]]] = {}

    @classmethod
    def add(cls, policy: type[Policy]) -> type[Policy]:
        """Class decorator: make a policy known by its ``type``.

        Raises
        ------
        ParameterError
            Another class already bears that ``type``, or the class has none.
        """
        return enter(cls.table, policy)

    @classmethod
    def load_plugins(cls) -> None:
        """Import what is registered under the entry-point group ``simspec.policies``; each registers its classes."""
        for point in importlib.metadata.entry_points(group="simspec.policies"):
            point.load()

    @classmethod
    def fields(cls, kind: Any) -> dict[str, FieldInfo]:
        """The parameters of the policy that a ``type`` names; none if there is no such policy."""
        if isinstance(kind, str) and kind not in cls.table:
            cls.load_plugins()
        return cls.table[kind].model_fields if isinstance(kind, str) and kind in cls.table else {}

    @classmethod
    def make(cls, /, **keys: Any) -> Policy:
        """Build a policy from the keys of a ``[policy]`` table.

        Raises
        ------
        ParameterError
            The type is unknown, or a parameter is missing or wrong.

        Examples
        --------
        >>> import simspec.model
        >>> print(Policies.make(type="heuristic", first=20, highest=32))
        heuristic(first = 20, highest = 32)
        """
        kind = keys.get("type")
        if kind is None:
            raise ParameterError("type", f"type is missing; known: {', '.join(cls.table)}")
        if not cls.fields(kind):
            known = did_you_mean(str(kind).lower(), cls.table)
            own = "" if known.startswith("; did you mean") else f"; {_OWN}"
            raise ParameterError("type", f"type = {shown(kind)} is unknown{known}{own}")
        if isinstance(keys.get("cost"), dict):
            try:
                keys["cost"] = Cost(**keys["cost"])
            except ParameterError as error:
                raise error.under("cost") from None
        return cls.table[kind](**keys)
