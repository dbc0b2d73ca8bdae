"""What does a comparison of two datasets say?  Every row, what was left out, and a readable summary."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simspec.stats import difference as stats
from simspec.text import clean, number, table, wrapped

if TYPE_CHECKING:
    import pandas as pd


LEFT_OUT_SHOWN = 20
NO_PRICE = "no price is in both folders: costs and speed-ups were not compared"


@dataclass(frozen=True)
class Row:
    """One comparison: a quantity of one simulation at one κ, or of one point at one κ (then with ``point_id``)."""

    simulation_id: str
    point_id: str | None
    kappa: int
    quantity: str
    a: float
    b: float
    difference: float
    error: float
    p_value: float
    p_holm: float
    differs: bool


@dataclass(frozen=True)
class LeftOut:
    """What could not be compared, and why."""

    what: str
    why: str


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Outcome of `compare`.

    Attributes
    ----------
    a, b, error, shift
        What was asked for.
    frame : DataFrame
        One row per comparison, columns as in `Row`.
    pairs : DataFrame
        One row per simulation and κ: how its units were matched (``"identical"`` totals, ``"paired"`` on the same
        words or requests, or with windows in common, ``"independent"``, or ``"exact"``: one side holds exact values and
        no counts, and the other is held against their law), budgets, ``detectable_shift`` of E[A]
        (relative, power 0.9, as for independent words) and ``windows_needed`` in each folder to find ``shift``; both
        NaN where nothing varied, for traces, whose requests no budget multiplies, and against exact values.
    left_out, names
        What was not compared, and texts for the ids of simulations and points.
    same_price : bool
        Whether any price is in both folders; if none is, no cost and no speed-up was compared.
    steered : frozenset of str
        Simulations in which a policy changes κ: their κ is the longest that it may choose.
    policies : (str, str), optional
        Who chooses κ in a and in b, where two policies were compared; ``simulation_id`` then stands for process and
        scheme, and κ is 0.
    """

    a: str
    b: str
    error: float
    shift: float
    frame: pd.DataFrame
    pairs: pd.DataFrame
    left_out: tuple[LeftOut, ...]
    names: dict[str, str]
    same_price: bool = True
    steered: frozenset[str] = frozenset()
    policies: tuple[str, str] | None = None

    @property
    def differs(self) -> bool:
        """Whether any quantity differs beyond chance."""
        return bool(self.frame["differs"].any())

    @property
    def rows(self) -> tuple[Row, ...]:
        """All comparisons."""
        return tuple(_rows(self.frame))

    @property
    def differences(self) -> tuple[Row, ...]:
        """The comparisons that differ, the clearest first."""
        return tuple(_rows(self.frame[self.frame["differs"]].sort_values("p_holm", kind="stable")))

    def to_pandas(self) -> pd.DataFrame:
        """One row per comparison, columns as in `Row`."""
        return self.frame

    def name(self, row: Row) -> str:
        """Process, and cost where the quantity depends on it."""
        own = self.names[row.simulation_id]
        return own if row.point_id is None else f"{own}; {self.names[row.point_id]}"

    @property
    def compared(self) -> dict[str, int]:
        """How much of each was compared."""
        counts = {name: int(self.frame[of].nunique()) for name, of in (
            ("simulations", "simulation_id"), ("kappas", "kappa"), ("points", "point_id"), ("quantities", "quantity"),
        )}  # fmt: skip
        return counts | {"comparisons": len(self.frame)}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: what differs, what was compared and what it could see; `to_pandas` holds every row."""
        return {
            "a": self.a, "b": self.b, "error": self.error, "shift": self.shift, "differs": self.differs,
            "same_price": self.same_price, "policies": self.policies, "compared": self.compared,
            "differences": [dataclasses.asdict(row) | {"name": self.name(row)} for row in self.differences],
            "pairs": self.pairs.to_dict("records"),
            "left_out": [dataclasses.asdict(entry) for entry in self.left_out],
        }  # fmt: skip

    def kappa(self, simulation_id: str, kappa: int) -> str:
        """κ of a row, in words where a policy chooses it."""
        if self.policies is not None:
            return "chosen"
        return f"up to {kappa}" if simulation_id in self.steered else f"{kappa}"

    def __repr__(self) -> str:
        if self.policies is not None:
            from simspec.run.versus_text import versus_text

            return "\n".join([*versus_text(self), *self._left_out()])
        said = ", ".join(f"{count:,} {name}" for name, count in self.compared.items())
        ways = ", ".join(f"{count:,} {way}" for way, count in self.pairs["how"].value_counts().items())
        lines = [f"{clean(self.a)} and {clean(self.b)}: {said}", f"simulation × κ by words: {ways}", ""]
        if (self.pairs["how"] == "exact").any():
            lines.insert(2, "exact values have no counts: where one side holds them, the other is judged by their law")
        found = [
            [self.name(r), self.kappa(r.simulation_id, r.kappa), r.quantity, number(r.a, 6), number(r.b, 6),
             f"{number(r.difference, 6)} ± {number(r.error, 6)}", f"{r.p_holm:.1e}"]
            for r in self.differences
        ]  # fmt: skip
        if found:
            lines += [table(["process", "κ", "quantity", "a", "b", "b - a", "p (Holm)"], found, 40), ""]
        if not self.same_price:
            lines += [NO_PRICE, ""]
        count = f"comparisons that differ: {len(found):,}," if found else "no difference"
        what = "" if self.same_price else " in what no price changes"
        lines += [f"{count} beyond chance{what} (false alarm anywhere: at most {self.error:g})", *self._reach()]
        return "\n".join([*lines, *self._left_out()])

    def _left_out(self) -> list[str]:
        if not self.left_out:
            return []
        told = [wrapped(f"left out: {clean(own.what)}: {clean(own.why)}", "", "  ") for own in self.left_out]
        more = len(told) - LEFT_OUT_SHOWN
        return ["", *told[:LEFT_OUT_SHOWN], *([f"… and {more:,} more left out"] if more > 0 else [])]

    def _reach(self) -> list[str]:
        seen = self.pairs.dropna(subset=["detectable_shift"])
        if seen.empty:
            return [
                "detectable shift of E[A]: cannot be said (nothing varied, a trace sets the requests, or exact values)"
            ]
        worst, needed = seen.sort_values("detectable_shift").to_dict("records")[-1], seen["windows_needed"].max()
        kappa = self.kappa(worst["simulation_id"], worst["kappa"])
        where, shift = (
            f"{self.names[worst['simulation_id']]}, κ = {kappa}".replace("κ = up", "κ up"),
            worst["detectable_shift"],
        )
        return [
            f"detectable shift of E[A], power {stats.POWER:g}: {shift:.3%} at worst ({clean(where)})",
            f"a shift of {self.shift:g} takes {needed:,.0f} windows per simulation and κ in each folder",
        ]


def _rows(frame: pd.DataFrame) -> Iterator[Row]:
    records = frame.astype({"point_id": object})
    records["point_id"] = records["point_id"].where(records["point_id"].notna(), None)
    return (Row(*values) for values in records.itertuples(index=False, name=None))
