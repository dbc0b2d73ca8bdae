"""What came out of a comparison of two runs?  Rows, verdicts, what could have been seen, and the text of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simspec.advice.ab.faults import Fault
from simspec.advice.ab.run import Run
from simspec.advice.ab.text import text_of
from simspec.model.errors import ParameterError
from simspec.stats.ab_curves import Joint, Power
from simspec.stats.ab_tests import Change

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Row:
    """One comparison; ``p_holm`` is adjusted for the others of its family, ``real`` where it is at most 1 − level.

    ``p_value`` is that of ``change``, but at different κ the largest that requests which weigh differently leave.
    """

    quantity: str
    family: str
    change: Change
    p_holm: float
    real: bool
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        own = self.change
        return {
            "quantity": self.quantity, "a": own.a, "b": own.b, "difference": own.difference,
            "interval": [own.low, own.high], "error": own.error, "p": self.p_value, "p_holm": self.p_holm,
            "real": self.real,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class AB:
    """What `ab` found; its ``repr`` is the whole text.

    Attributes
    ----------
    a : Run
    b : Run or None
    level : float
    kappa : int or None
        Draft length at which both are compared: the shorter one.
    unit : str
        What is taken as independent: ``"request"``, ``"log line"`` or ``"round"``.
    pairs : int
        Requests that both runs hold and that are compared in pairs; 0 where none are.
    rows : tuple of Row
        E, tok/s; S_j; α_j.
    joint : Joint or None
        Test of the whole survival curve; ``joint_p_holm`` is its p among E and speed.
    power : Power or None
        Smallest differences of E that these runs could show.
    detect : float or None
        Difference of E asked about; ``needed`` rounds (and requests) of each run find it with probability 0.9.
    effects : dict
        p of E if rounds hang together: by design effect; empty where requests are known.
    faults : dict
        ``"a"`` and ``"b"``: faults of either run.
    notes : tuple of str
        What to keep in mind.
    mixture : bool
        κ differs, so that a difference counts only where requests that weigh differently do not explain it.
    apart : bool
        Whether the rounds as seen differ beyond chance, whatever the reason.
    """

    a: Run
    b: Run | None
    level: float
    kappa: int | None = None
    unit: str = "round"
    pairs: int = 0
    rows: tuple[Row, ...] = ()
    joint: Joint | None = None
    joint_p_holm: float = math.nan
    power: Power | None = None
    detect: float | None = None
    needed: tuple[int, int | None] | None = None
    effects: dict[float, float] = field(default_factory=dict)
    faults: dict[str, tuple[Fault, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    mixture: bool = False
    apart: bool = False

    @property
    def differs(self) -> bool:
        """Whether E, the curve, or the speed differs beyond chance, with one error of 1 − level for the three.

        At different κ: and beyond what hard and easy requests do by themselves there.
        """
        return self.joint_p_holm <= 1.0 - self.level or any(row.real for row in self.rows if row.family == "main")

    @property
    def broken(self) -> bool:
        """Whether a run has a fault."""
        return any(fault.broken for own in self.faults.values() for fault in own)

    def row(self, quantity: str) -> Row:
        """The comparison of ``"E"``, ``"tok/s"``, ``"S_1"``, ``"α_2"``, …"""
        found = {row.quantity: row for row in self.rows}
        if quantity not in found:
            raise ParameterError(
                "quantity", f"{quantity!r} was not compared; compared: {', '.join(found) or 'nothing'}"
            )
        return found[quantity]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; what does not exist is None or NaN."""
        return {
            "differs": self.differs,
            "differs_as_seen": self.apart,
            "broken": self.broken,
            "a": self.a.to_dict(),
            "b": None if self.b is None else self.b.to_dict(),
            "level": self.level,
            "kappa": self.kappa,
            "unit": self.unit,
            "pairs": self.pairs,
            "comparisons": [row.to_dict() for row in self.rows],
            "joint": None if self.joint is None else vars(self.joint) | {"p_holm": self.joint_p_holm},
            "power": None if self.power is None else vars(self.power),
            "detect": self.detect,
            "needed": None if self.needed is None else {"rounds": self.needed[0], "requests": self.needed[1]},
            "p_at_design_effect": {f"{effect:g}": p for effect, p in self.effects.items()},
            "faults": {name: [fault.to_dict() for fault in own] for name, own in self.faults.items()},
            "notes": list(self.notes),
        }

    def to_pandas(self) -> pd.DataFrame:
        """One row per comparison."""
        import pandas as pd

        return pd.DataFrame([row.to_dict() for row in self.rows])

    def __repr__(self) -> str:
        return text_of(self)
