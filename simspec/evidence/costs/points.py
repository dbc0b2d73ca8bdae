"""What was measured at one κ, and where does a cost curve jump?"""

from __future__ import annotations

from dataclasses import dataclass

AFFINE, TABLE, ROOFLINE, THROUGH_PLAIN = "affine", "table", "roofline", "through plain"
"""How R goes on between and beyond what was measured."""
EARLY = 0.95
"""Drafts of at least this share of κ count as κ."""


@dataclass(frozen=True)
class Edge:
    """A jump of the round cost between two measured κ, beyond the straight line and the noise."""

    below: float
    above: float
    jump: float

    def __str__(self) -> str:
        low, high = f"{self.below:g}", f"{self.above:g}"
        return (
            f"edge between κ = {low} and {high} (width {self.below + 1:g} and {self.above + 1:g}): "
            f"{self.jump:+.2f} plain steps beyond the line"
        )


@dataclass(frozen=True)
class Point:
    """What was measured at one κ.

    Attributes
    ----------
    kappa : int
        As configured.
    drafted : float
        Drafts per round really made; κ unless the source tells.
    cost : float
        Plain target steps per round.
    error : float or None
        Its standard error; None where there is one figure only.
    rows : int
    emitted : float or None
        Tokens per round, where known.
    """

    kappa: int
    drafted: float
    cost: float
    error: float | None
    rows: int = 1
    emitted: float | None = None

    @property
    def stops_early(self) -> bool:
        """Whether drafts are shorter than κ by more than the last one of a request, which is cut, explains."""
        return self.drafted < EARLY * self.kappa

    @property
    def at(self) -> float:
        """The κ this is the cost of: as configured, or drafts made where they stop early."""
        return self.drafted if self.stops_early else float(self.kappa)
