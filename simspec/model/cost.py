"""What does a round cost, in plain target steps?"""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from simspec.model.base import Model, NonNegative, Positive
from simspec.model.errors import ParameterError

CHANGES = ("c_switch", "c_wake")
"""Prices of rounds that differ from the round before: nothing at a fixed κ."""


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
    c_switch : float
        Paid by a round that asks for another κ than the round before (a graph to load), ≥ 0; not by the first of a
        request, unless κ outlives requests.  A fixed κ never pays it.
    c_wake : float
        Paid by a round that drafts in a request whose last round had κ = 0 (the draft model reads what it has missed),
        ≥ 0.
    draft_table : list of float
        Instead of c_d: entry κ is the cost of drafting κ tokens (block drafters), from κ = 0.
    verify_table : list of float
        Instead of c0 and c_v: entry κ is the cost of the whole target pass of width κ + 1 (kernel edges), from κ = 0.

    Examples
    --------
    >>> Cost(c_d=0.1).of_round(kappa=4, rejected=True)
    1.4
    >>> Cost(c_d=0.1, verify_table=[1.0, 1.0, 1.3]).of_round(kappa=2, rejected=False)
    1.5
    """

    c0: NonNegative = Field(default=1.0, description="the target pass of a round, in plain target steps")
    c_d: NonNegative = Field(default=0.0, description="one draft token, in plain target steps")
    c_v: NonNegative = Field(default=0.0, description="verifying one more token, in plain target steps")
    c_r: NonNegative = Field(default=0.0, description="a round with a rejection, in plain target steps")
    off: Positive = Field(default=1.0, description="one token without speculation, in plain target steps")
    c_switch: NonNegative = Field(
        default=0.0, description="a round that asks for another κ than the round before, in plain target steps"
    )
    c_wake: NonNegative = Field(default=0.0, description="a round that drafts after a round of its request with κ = 0")
    draft_table: tuple[NonNegative, ...] | None = Field(default=None, description="cost of drafting 0, 1, 2, … tokens")
    verify_table: tuple[Positive, ...] | None = Field(
        default=None, description="cost of a target pass of width 1, 2, …"
    )

    @model_validator(mode="before")
    @classmethod
    def _no_pass_beside_a_table(cls, data: Any) -> Any:
        return {"c0": 0.0, **data} if isinstance(data, dict) and data.get("verify_table") is not None else data

    @model_validator(mode="after")
    def _one_way(self) -> Cost:
        if self.verify_table is None and self.c0 < 1e-9:
            raise ParameterError(
                "c0", f"c0 = {self.c0:g} is out of range; allowed: 1e-9 ≤ c0 (0 only beside a verify_table)"
            )
        for table, others in (("verify_table", ("c0", "c_v")), ("draft_table", ("c_d",))):
            if getattr(self, table) is None:
                continue
            if not getattr(self, table):
                raise ParameterError(table, f"{table} = [] is empty; allowed: an entry for κ = 0, 1, 2, …")
            for other in others:
                if getattr(self, other) != 0.0:
                    raise ParameterError(other, f"{other} = {getattr(self, other):g} beside {table}; leave it out")
        return self

    @property
    def longest_draft(self) -> int | None:
        """Largest κ the tables cover; None without tables."""
        sizes = [len(table) for table in (self.draft_table, self.verify_table) if table is not None]
        return min(sizes) - 1 if sizes else None

    def check_kappa(self, kappa: int) -> None:
        """Raise `ParameterError` if a table ends before κ = ``kappa``."""
        limit = self.longest_draft
        if limit is not None and kappa > limit:
            raise ParameterError("kappa", f"kappa = {kappa} is beyond the cost tables; allowed: 0 ≤ kappa ≤ {limit}")

    def changed(self, **keys: Any) -> Cost:
        """The same cost with other values under some keys.

        Examples
        --------
        >>> print(Cost(c_d=0.1, c_v=0.01).changed(c_d=0.3))
        c0 = 1, c_d = 0.3, c_v = 0.01, c_r = 0, off = 1
        """
        return Cost(**(self.model_dump() | keys))

    def drafting(self, steps: int) -> float:
        """Cost of ``steps`` draft steps: drafted tokens of a chain, levels of a tree."""
        if self.draft_table is None:
            return steps * self.c_d
        self._check_table("draft_table", steps)
        return self.draft_table[steps]

    def target_pass(self, extra: int) -> float:
        """Cost of the target pass that verifies ``extra`` drafted tokens: its width less 1."""
        if self.verify_table is None:
            return self.c0 + extra * self.c_v
        self._check_table("verify_table", extra)
        return self.verify_table[extra]

    def _check_table(self, name: str, index: int) -> None:
        table = getattr(self, name)
        if index >= len(table):
            raise ParameterError(name, f"{name} has {len(table)} entries; allowed: at least {index + 1} for this draft")

    def base(self, drafted: int) -> float:
        """Cost of a round with so many drafts, without rollback."""
        self.check_kappa(drafted)
        return self.target_pass(drafted) + self.drafting(drafted)

    def of_round(self, kappa: int, rejected: bool) -> float:
        """Cost of one round with ``kappa`` drafts."""
        return self.base(kappa) + (self.c_r if rejected else 0.0)

    def numbers(self) -> dict[str, float]:
        """c0, c_d, c_v, c_r and off."""
        return {key: getattr(self, key) for key in ("c0", "c_d", "c_v", "c_r", "off")}

    def of_changes(self) -> dict[str, float]:
        """c_switch and c_wake: what only a policy pays that changes κ."""
        return {key: getattr(self, key) for key in CHANGES}

    @property
    def changes_are_free(self) -> bool:
        """Whether a change of κ costs nothing."""
        return not any(self.of_changes().values())

    def without_changes(self) -> Cost:
        """The same prices with changes of κ for nothing: what rounds of a fixed κ pay.

        Examples
        --------
        >>> print(Cost(c_d=0.1, c_switch=0.05).without_changes())
        c0 = 1, c_d = 0.1, c_v = 0, c_r = 0, off = 1
        """
        return self if self.changes_are_free else self.changed(**dict.fromkeys(CHANGES, 0.0))

    def check_changes_are_free(self, what: str) -> None:
        """Raise `ParameterError` unless changes of κ cost nothing, since ``what`` does not price them."""
        for key, value in self.of_changes().items():
            if value:
                raise ParameterError(f"cost.{key}", f"cost.{key} = {value:g} is not priced by {what}; allowed: 0")

    def tables(self) -> dict[str, Any]:
        """The tables that are given."""
        return {
            key: list(getattr(self, key)) for key in ("draft_table", "verify_table") if getattr(self, key) is not None
        }

    def identity(self) -> dict[str, Any]:
        return self.numbers() | self._priced_changes() | self.tables()

    def _priced_changes(self) -> dict[str, float]:
        """Left out where they are 0: such a cost is the same one as before there were any."""
        return {key: value for key, value in self.of_changes().items() if value}

    def __str__(self) -> str:
        words = [f"{key} = {value:g}" for key, value in (self.numbers() | self._priced_changes()).items()]
        return ", ".join(words + [f"{key} of {len(value)} entries" for key, value in self.tables().items()])
