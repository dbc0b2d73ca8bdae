"""What is a claim?  Data: where it stands, how it is read, what it says of which quantity, and what is true instead."""

from __future__ import annotations

from dataclasses import dataclass

from simspec.claims.quantity import Quantity, Untestable
from simspec.text import number

FORMULA_MARGIN = 0.0025
"""An exact formula holds if the truth lies within a quarter of a percent of its value."""


@dataclass(frozen=True)
class Says:
    """The region in which a claim puts a quantity: [low, high], possibly unbounded on one side.

    ``stated`` is the figure as the claim prints it, None for a mere direction.
    """

    low: float
    high: float
    stated: float | None = None

    def text(self) -> str:
        if self.stated is not None:
            return (
                f"{number(self.stated)} ± {_short((self.high - self.low) / 2)}"
                if self.high > self.low
                else _short(self.stated)
            )
        if self.high == float("inf"):
            return f"above {_short(self.low)}"
        if self.low == float("-inf"):
            return f"below {_short(self.high)}"
        return f"{_short(self.low)} to {_short(self.high)}"


def _short(value: float) -> str:
    return f"{value:.6g}"


def printed(text: str, about: bool = False, scale: float = 1.0) -> Says:
    """A figure as printed: ± half a unit of its last digit, doubled by "about".

    Examples
    --------
    >>> printed("4.3", about=True)
    Says(low=4.2, high=4.4, stated=4.3)
    """
    unit = 10.0 ** -len(text.partition(".")[2])
    half = unit / 2 * (2 if about else 1)
    value = float(text)
    return Says(round((value - half) * scale, 12), round((value + half) * scale, 12), value * scale)


def formula(value: float) -> Says:
    """The value of an exact formula: ± 0.25%."""
    half = abs(value) * FORMULA_MARGIN
    return Says(value - half, value + half, value)


def integer(value: int) -> Says:
    """An integer, exactly."""
    return Says(value, value, value)


def above(limit: float) -> Says:
    """More than ``limit``."""
    return Says(limit, float("inf"))


def below(limit: float) -> Says:
    """Less than ``limit``."""
    return Says(float("-inf"), limit)


def between(low: float, high: float) -> Says:
    """From ``low`` to ``high``, both included."""
    return Says(low, high)


@dataclass(frozen=True)
class Claim:
    """One reading of one claim of the article; the verdict is computed, never written here.

    Attributes
    ----------
    id : str
        Number of the claim, e.g. ``"C24"``.
    section : str
        Where the article makes it.
    reading : str
        How an ambiguous statement is read, and at which parameters; unique within the claim.
    statement : str
        A sentence a reader can disagree with.
    says : Says
        Where the claim puts the quantity.
    quantity : Quantity
    instead : str
        What is true, with its number.
    exact_only : bool
        Judged by the exact value although it could be simulated, because the event is too rare to decide by counting;
        the simulation then only checks the engine.
    """

    id: str
    section: str
    reading: str
    statement: str
    says: Says
    quantity: Quantity
    instead: str
    exact_only: bool = False


def untestable(id: str, section: str, reading: str, statement: str, why: str, instead: str) -> Claim:
    """A row that no simulation and no formula can decide; ``why`` says what is missing."""
    return Claim(id, section, reading, statement, Says(float("-inf"), float("inf")), Untestable(why), instead)
