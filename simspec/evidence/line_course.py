"""What do means along a log say, line by line?  Tokens per round and its weight, in memory that does not grow."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Place = tuple[str, int]
MOST = 4_096
"""Blocks of lines; when there are more, neighbours become one."""


@dataclass(frozen=True, eq=False)
class LineCourse:
    """Means in the order of the log, one entry for each line (or block of lines) and κ.

    Attributes
    ----------
    kappa : float array (entries,)
        Drafts per round.
    rounds, accepted : float array (entries,)
        Rounds, or what stands for them, and drafts accepted in them.
    begins : tuple of (file, line)
    unit : str
        What an entry is.
    says : str
        What is assumed.
    without_kappa : int
        Lines that are left out since their κ is not known.
    """

    kappa: Floats
    rounds: Floats
    accepted: Floats
    begins: tuple[Place, ...]
    unit: str
    says: str = ""
    without_kappa: int = 0


@dataclass
class LineBlocks:
    """Lines added up by what tells their κ, in blocks of equal length, which doubles as the log goes on.

    Examples
    --------
    >>> own = LineBlocks()
    >>> for i in range(10_000):
    ...     own.line("κ = 4", 8.0, 12.0, ("server.log", i + 1))
    >>> found = own.course({"κ = 4": 4}, "log line")
    >>> len(found.rounds), found.rounds[:2].tolist(), found.begins[1]
    (2500, [32.0, 32.0], ('server.log', 5))
    """

    length: int = 1
    lines: int = 0
    blocks: list[dict[Hashable, list[float]]] = field(default_factory=list)  # → rounds, accepted, drafted, lines
    begins: list[Place] = field(default_factory=list)

    def line(self, telling: Hashable, rounds: float, accepted: float, at: Place, drafted: float = 0.0) -> None:
        """One line: what tells its κ, its rounds, drafts accepted in them, where it stands, and drafts if counted."""
        if self.lines % self.length == 0:
            if len(self.blocks) == MOST:
                self.blocks = [_together(a, b) for a, b in zip(self.blocks[::2], self.blocks[1::2], strict=True)]
                self.begins, self.length = self.begins[::2], 2 * self.length
            self.blocks.append({})
            self.begins.append(at)
        self.lines += 1
        sums = self.blocks[-1].setdefault(telling, [0.0, 0.0, 0.0, 0.0])
        for i, value in enumerate((rounds, accepted, drafted, 1.0)):
            sums[i] += value

    def telling(self) -> set[Hashable]:
        """All that was said of κ."""
        return {telling for block in self.blocks for telling in block}

    def course(self, kappas: dict[Hashable, float | None] | None, unit: str, says: str = "") -> LineCourse:
        """The lines whose κ is known, by what tells it; None: drafts were counted."""
        rows, begins, lost = [], [], 0.0
        for block, at in zip(self.blocks, self.begins, strict=True):
            for telling, (rounds, accepted, drafted, lines) in block.items():
                kappa = drafted / rounds if kappas is None else kappas[telling]
                if kappa is None:
                    lost += lines
                else:
                    rows.append((kappa, rounds, accepted))
                    begins.append(at)
        kappa_, rounds_, accepted_ = np.array(rows, float).reshape(-1, 3).T
        return LineCourse(kappa_, rounds_, accepted_, tuple(begins), unit, says, int(lost))


def _together(first: dict[Hashable, list[float]], second: dict[Hashable, list[float]]) -> dict[Hashable, list[float]]:
    """Two blocks as one."""
    out = dict(first)
    for telling, sums in second.items():
        out[telling] = [a + b for a, b in zip(out[telling], sums, strict=True)] if telling in out else sums
    return out
