"""What goes into an export and what comes out of it: advice, an engine's forms, and the words to paste?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Cell:
    """Advice for one load: κ (0 is off), and where known the speed-up of every κ, and of plain decoding.

    ``speedups[0]`` is a round without a draft inside the speculative loop, which may be slower than ``off``.
    ``regrets`` and ``off_regret`` are expected losses, where the advice holds them.
    """

    kappa: int
    batch: int | None = None
    context: int | None = None
    speedups: Mapping[int, float] = field(default_factory=dict)
    off: float = 1.0
    regrets: Mapping[int, float] = field(default_factory=dict)
    off_regret: float | None = None

    @property
    def where(self) -> str:
        """``batch 8, context 1024``."""
        parts = (("batch", self.batch), ("context", self.context))
        return ", ".join(f"{name} {value:,}" for name, value in parts if value is not None) or "everywhere"


@dataclass(frozen=True)
class Advice:
    """What is to be set: one cell per load, at least one; what cannot be told apart; what must be said with it."""

    cells: tuple[Cell, ...]
    says: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Names:
    """What the engine calls the models; capital letters stand for what the reader puts in."""

    model: str = "MODEL"
    draft: str = "DRAFT"
    method: str | None = None


@dataclass(frozen=True)
class Synthetic:
    """Acceptance that an engine is to imitate: S_1 … S_kappa where known, and E with the bonus token."""

    kappa: int
    emitted: float
    survival: tuple[float, ...] | None


@dataclass(frozen=True)
class Written:
    """What to hand to an engine.

    ``settings`` are data; ``words`` follow the engine's command; ``files`` have a name and a text; ``losses`` say
    what the engine cannot express, ``notes`` what it does with the rest, ``shows`` what its own log will say.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    losses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    shows: str | None = None


@dataclass(frozen=True)
class Form:
    """One way in which an engine takes κ: which table it can hold, since when, and where that was read."""

    holds: str
    since: str
    verified: str


ONE, BATCH, CONTEXT = "one κ", "κ by batch", "κ by batch and context"


@dataclass(frozen=True)
class Engine:
    """An engine, as data: its forms, how it is started and switched off, and who writes for it."""

    name: str
    title: str
    setting: str
    command: str
    forms: Mapping[str, Form]
    fixed: str
    table: str | None
    off: str
    write: Callable[[str, Sequence[Cell], int | None, Names], Written]
    imitate: Callable[[Synthetic, Names], Written]
    imitate_since: str
    imitate_verified: str


def decimal(value: float) -> str:
    """Up to six decimals, never an exponent: what every engine's parser reads.

    Examples
    --------
    >>> decimal(12.1234567), decimal(3.0), decimal(1e-6)
    ('12.123457', '3', '0.000001')
    """
    return f"{value:.6f}".rstrip("0").rstrip(".")
