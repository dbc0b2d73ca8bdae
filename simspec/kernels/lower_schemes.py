"""How does a table of rounds become integers?  Cumulative thresholds, rows padded to what is compared at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simspec.kernels.arithmetic import cumulative, threshold
from simspec.kernels.pool import COPY, FOLLOW, GRAMS
from simspec.kernels.tally import SUMS, Tally
from simspec.kernels.token_tables import Lookup, token_tables
from simspec.model.forms import Rounds
from simspec.model.grown import GrownTrees
from simspec.model.pool import CopyRounds, GramRounds, PoolRounds
from simspec.model.rounds import End, RoundKind, RoundTable


@dataclass(frozen=True)
class Machine:
    """A table of rounds as integers.

    Attributes
    ----------
    cells : int64 array (states, outcomes)
        Cumulative thresholds of the outcomes of a state; the last is 2³².
    follow : int64 array (states, outcomes)
        Next state, or −1 − end.
    start : int64 array (states,)
        Cumulative thresholds of the first state of a lane.
    after, kind_of : int64 array (ends,)
        First state of the next round, and number of the kind, by end.
    kinds : tuple of RoundKind
        What a round was, by number; where the next one starts makes no other kind.
    """

    cells: np.ndarray
    follow: np.ndarray
    start: np.ndarray
    after: np.ndarray
    kind_of: np.ndarray
    kinds: tuple[RoundKind, ...]


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
    """Drafts out of the text itself, as integers.

    Attributes
    ----------
    kappa : int
    rule : int
        What is remembered: `simspec.kernels.pool.FOLLOW`, ``COPY`` or ``GRAMS``.
    numbers : tuple of int
        What the rule asks for, as in `simspec.kernels.pool.count_pool`.
    skipped : int
        Rounds of a lane that fill its memory and are not counted.
    start : uint64 array (tokens,)
        Cumulative thresholds of the first token of a text.
    target, guess : Lookup
        The laws of the next token, and of the next one guessed.
    kinds : tuple of RoundKind
    """

    kappa: int
    rule: int
    numbers: tuple[int, ...]
    skipped: int
    start: np.ndarray
    target: Lookup
    guess: Lookup
    kinds: tuple[RoundKind, ...]


SchemeForm = Machine | Grown | TokenPool


def form_bytes(form: SchemeForm) -> int:
    """Size of its arrays."""
    held = [*vars(form).values(), *(vars(form.target).values() if isinstance(form, TokenPool) else ())]
    return sum(own.nbytes for own in held if isinstance(own, np.ndarray))


def scheme_form(rounds: Rounds) -> SchemeForm:
    """The integer form of a scheme."""
    if isinstance(rounds, RoundTable):
        return machine(rounds)
    rounds.check()
    if isinstance(rounds, PoolRounds):
        return token_pool(rounds)
    width = rounds.breadth
    believed, accepted = (
        np.array([[*row, *[0.0] * width][:width] for row in rows]) for rows in (rounds.confidences, rounds.acceptance)
    )
    cells = threshold(np.minimum(np.cumsum(accepted, axis=1), 1.0))
    return Grown(rounds, believed, cells, cumulative(np.array(rounds.law)), tuple(rounds.kinds))


def token_pool(rounds: PoolRounds) -> TokenPool:
    """The integer form of drafts out of the text itself.

    Examples
    --------
    >>> own = token_pool(CopyRounds(((0.5, 0.5), (0.9, 0.1)), 3, longest=2, shortest=1, memory=8, earliest=True))
    >>> own.numbers, own.skipped, len(own.kinds)
    ((2, 1, 8, 1), 256, 32)
    """
    laws = np.array(rounds.target)
    rule, numbers, guess = FOLLOW, tuple[int, ...](), laws
    if isinstance(rounds, CopyRounds):
        rule, numbers = COPY, (rounds.longest, rounds.shortest, rounds.memory, int(rounds.earliest))
    if isinstance(rounds, GramRounds):
        rule, numbers, guess = GRAMS, (rounds.candidates, rounds.window), np.array(rounds.guess)
    tables = token_tables(laws, laws)
    kinds = tuple(rounds.kinds)
    return TokenPool(rounds.kappa, rule, numbers, rounds.skipped, tables.start, tables.target, Lookup.of(guess), kinds)


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
    numbers: dict[RoundKind, int] = {}
    kind_of = [numbers.setdefault(replace(kind, start=0), len(numbers)) for kind in table.kinds]
    after = [kind.start for kind in table.kinds]
    return Machine(cells, follow, cumulative(law), np.array(after), np.array(kind_of), tuple(numbers))


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
