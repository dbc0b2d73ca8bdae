"""How does a table of rounds become integers?  Cumulative thresholds, rows padded to what is compared at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simspec.kernels.arithmetic import cumulative, threshold
from simspec.kernels.tally import SUMS, Tally
from simspec.kernels.token_tables import Lookup, token_tables
from simspec.model.forms import Rounds
from simspec.model.grown import GrownTrees
from simspec.model.pool import PoolRounds
from simspec.model.rounds import End, RoundKind, RoundTable

POOL_SKIPPED = 256
"""Rounds of a lane that fill its pool and are not counted."""


@dataclass(frozen=True)
class Machine:
    """A table of rounds as integers.

    Attributes
    ----------
    cells : int64 array (states, outcomes)
        Cumulative thresholds of the outcomes of a state; the last is 2³².
    follow : int64 array (states, outcomes)
        Next state, or −1 − kind.
    start : int64 array (states,)
        Cumulative thresholds of the first state of a lane.
    kinds : tuple of RoundKind
        What a round was, by number.
    """

    cells: np.ndarray
    follow: np.ndarray
    start: np.ndarray
    kinds: tuple[RoundKind, ...]

    @property
    def after(self) -> np.ndarray:
        """First state of the round after one of each kind."""
        return np.array([kind.start for kind in self.kinds])


@dataclass(frozen=True)
class Grown:
    """Trees that grow by confidence, as integers but for the confidences, which are compared with each other only.

    Attributes
    ----------
    trees : GrownTrees
    confidences : float64 array (vectors, breadth)
    cells : int64 array (vectors, breadth)
        Cumulative thresholds of the children's chances; the rest of 2³² is no child.
    law : int64 array (vectors,)
        Cumulative thresholds of a node's vector.
    kinds : tuple of RoundKind
    """

    trees: GrownTrees
    confidences: np.ndarray
    cells: np.ndarray
    law: np.ndarray
    kinds: tuple[RoundKind, ...]


@dataclass(frozen=True)
class TokenPool:
    """Drafts from a pool of bigrams, as integers.

    Attributes
    ----------
    kappa : int
    start : uint64 array (tokens,)
        Cumulative thresholds of the first token of a text.
    target : Lookup
        The laws of the next token.
    kinds : tuple of RoundKind
    """

    kappa: int
    start: np.ndarray
    target: Lookup
    kinds: tuple[RoundKind, ...]


SchemeForm = Machine | Grown | TokenPool


def scheme_form(rounds: Rounds) -> SchemeForm:
    """The integer form of a scheme."""
    if isinstance(rounds, RoundTable):
        return machine(rounds)
    rounds.check()
    if isinstance(rounds, PoolRounds):
        laws = np.array(rounds.target)
        tables = token_tables(laws, laws)
        return TokenPool(rounds.kappa, tables.start, tables.target, tuple(rounds.kinds))
    width = rounds.breadth
    believed, accepted = (
        np.array([[*row, *[0.0] * width][:width] for row in rows]) for rows in (rounds.confidences, rounds.acceptance)
    )
    cells = threshold(np.minimum(np.cumsum(accepted, axis=1), 1.0))
    return Grown(rounds, believed, cells, cumulative(np.array(rounds.law)), tuple(rounds.kinds))


def machine(table: RoundTable) -> Machine:
    """The integer form of a table; outcomes without a chance are left out.

    Examples
    --------
    >>> table = RoundTable()
    >>> _ = table.add([(0.5, table.end(1, 1)), (0.0, table.end(9, 9)), (0.5, table.end(0, 1))])
    >>> own = machine(table)
    >>> own.cells.tolist(), own.follow.tolist()
    ([[2147483648, 4294967296]], [[-1, -3]])
    """
    table.check()
    rows = [[(chance, target) for chance, target in state if chance > 0.0] for state in table.states]
    width = max(map(len, rows))
    cells = np.full((len(rows), width), 2**32, np.int64)
    follow = np.zeros((len(rows), width), np.int64)
    for number, row in enumerate(rows):
        cells[number, : len(row)] = cumulative(np.array([chance for chance, _ in row]))
        targets = [-1 - target.kind if isinstance(target, End) else target for _, target in row]
        follow[number] = targets + [targets[-1]] * (width - len(row))
    law = np.zeros(len(rows))
    for chance, state in table.first:
        law[state] += chance
    return Machine(cells, follow, cumulative(law), tuple(table.kinds))


@dataclass(frozen=True)
class KindTally(Tally):
    """Counts of a scheme: those of any tally, and rounds by lane and kind, which say what prices need.

    Attributes
    ----------
    kinds : tuple of RoundKind
    counts : int64 array (lanes, kinds)
    """

    kinds: tuple[RoundKind, ...]
    counts: np.ndarray


def join_kinds(parts: Sequence[KindTally]) -> KindTally:
    """One tally from those of successive chunks."""
    counts = np.concatenate([part.counts for part in parts])
    return tally_of(parts[0].kinds, counts, parts[0].kappa)


def tally_of(kinds: tuple[RoundKind, ...], counts: np.ndarray, kappa: int) -> KindTally:
    """Totals by lane from rounds by kind; ``histogram[drafted, accepted]`` as of any other tally.

    Parameters
    ----------
    counts : int64 array (lanes, kinds)
    kappa : int
        What was asked for; rounds may verify more, where drafts stand side by side.
    """
    accepted, drafted, rejected, tokens = (
        np.array([getattr(kind, name) for kind in kinds], np.int64)
        for name in ("accepted", "drafted", "rejected", "tokens")
    )
    columns = {
        "n": np.ones_like(accepted), "accepted": accepted, "accepted_sq": accepted**2, "rejected": rejected,
        "accepted_rejected": accepted * rejected, "zero": (accepted == 0).astype(np.int64), "drafted": drafted,
        "tokens": tokens,
    }  # fmt: skip
    histogram = np.zeros((int(max(drafted.max(), kappa)) + 1, int(max(accepted.max(), kappa)) + 1), np.int64)
    np.add.at(histogram, (drafted, accepted), counts.sum(axis=0))
    sums = counts @ np.stack([columns[name] for name in SUMS], axis=1)
    return KindTally(kappa, sums, histogram, kinds, counts)
