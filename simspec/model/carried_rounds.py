"""How do rounds of a scheme go where windows are not alike?  A block of the scheme's states per row of the process.

The end of a round says in which row the next one starts, so what the past left behind is where the walk begins.  The
first round of a lane starts in the long-run law, hence a lane is stationary and no unit of an error starts cold.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from simspec.model.chains import Hmm
from simspec.model.draft_laws import draft_law
from simspec.model.errors import ParameterError
from simspec.model.forms import Rounds
from simspec.model.mixture import BetaMixture, DiscreteMixture
from simspec.model.process import Process
from simspec.model.round_starts import start_law
from simspec.model.rounds import STATES_LIMIT, DraftLaw, End, RoundKind, RoundTable
from simspec.model.rows import RowProcess
from simspec.model.scheme_pairs import BY_DEPTH, MARKING, check_pair
from simspec.model.schemes import Lookahead, Scheme, Tree
from simspec.model.window_rows import ROWS, WindowRows, beta_rows, has_rows, marked_rows, request_rows, user_rows

_FAR = (1e-9, 1.0 - 1e-9)
"""Rates that a continuous law may give too."""
_CELLS_LIMIT = 8_000_000


def process_rounds(scheme: Scheme, process: Process, kappa: int) -> Rounds:
    """How a round of a scheme goes on a process.

    Parameters
    ----------
    scheme : Scheme
    process : Process
        One that says what its drafts are like: all but ``gaussian_copula_ar1``, ``trace`` and a ``beta_mixture`` by
        request; ``token_chain`` for schemes that read tokens.
    kappa : int
        What the scheme may draft, κ ≥ 0.

    Raises
    ------
    ParameterError
        The scheme has no meaning for this process or for this κ, or its table would be too large.

    Examples
    --------
    >>> from simspec.model import Markov
    >>> from simspec.model.schemes import Chain
    >>> table = process_rounds(Chain(), Markov(alpha=0.7, rho=0.3, start="carry"), 2)
    >>> len(table.states), [(kind.accepted, kind.start) for kind in table.kinds]
    (4, [(0, 0), (2, 2), (1, 0)])
    >>> [round(share, 4) for share, _ in table.first]  # after a rejection, after a full window
    [0.4927, 0.5073]
    """
    if not has_rows(process):
        return scheme.rounds(draft_law(process, max(kappa, 1)), kappa)
    check_pair(scheme, process)
    by_depth = scheme.chained or isinstance(scheme, BY_DEPTH)
    if process.type == "hmm" and process.unit == "window" and not by_depth:
        return scheme.rounds(draft_law(process, max(kappa, 1)), kappa)
    return _Product(scheme, kappa, process).table()


class _Product:
    """The table of one scheme on one process of rows."""

    def __init__(self, scheme: Scheme, kappa: int, process: Process) -> None:
        self.scheme, self.kappa, self.process = scheme, kappa, process

    def table(self) -> RoundTable:
        process, kappa = self.process, self.kappa
        if isinstance(process, BetaMixture):
            kinds = self._blocks(beta_rows(process, kappa, 0))[0].kinds
            levels = isinstance(self.scheme, Tree)  # of which one verdict each is about the rate
            return self._joined(
                beta_rows(process, kappa, max(kind.accepted if levels else kind.drafted for kind in kinds))
            )
        if isinstance(process, Hmm) and isinstance(self.scheme, MARKING) and not self.scheme.chained:
            return self._joined(marked_rows(process, kappa))
        if isinstance(process, RowProcess):
            return self._joined(user_rows(process, kappa))
        if isinstance(process, DiscreteMixture) and process.by_request:
            return self._by_request(process)
        return self._joined(ROWS[process.type, process.unit](process, kappa))

    def _by_request(self, process: DiscreteMixture) -> RoundTable:
        """Weights of rounds become those of requests: a request is counted once for every round it takes."""
        wanted = process.shares()
        if process.weights_of == "rounds":
            equal = self._joined(request_rows(process, self.kappa, [1.0 / len(wanted)] * len(wanted)))
            rounds = self._rounds_by_rate(equal, len(wanted))
            shares = [share / own for share, own in zip(wanted, rounds, strict=True)]
            wanted = [share / sum(shares) for share in shares]
        return self._joined(request_rows(process, self.kappa, wanted))

    def _rounds_by_rate(self, table: RoundTable, rates: int) -> list[float]:
        """Rounds of a request by its rate, up to a factor: where rounds start, an entry being shared by all rates."""
        out, positions = [0.0] * rates, len(self.offsets) // rates
        for share, state in table.first:
            entered = table.states[state] if state < self.entries else [(1.0, state)]
            for chance, target in entered:
                assert isinstance(target, int)  # an entry ends no round
                out[(bisect.bisect_right(self.offsets, target) - 1) // positions] += share * chance
        return out

    def _blocks(self, rows: WindowRows) -> list[RoundTable]:
        """The scheme's own table in every row."""
        tree = _OneShape(self.scheme, rows.shape, self.kappa) if isinstance(self.scheme, Tree) else None

        def block(law: DraftLaw) -> RoundTable:
            depth = len(law.alphas)
            scheme, kappa = (self.scheme, min(self.kappa, depth)) if tree is None else tree.within(depth)
            by_level = rows.moves is not None and isinstance(scheme, Lookahead)
            table = side_by_side(scheme, law, kappa) if by_level else scheme.rounds(law, kappa)
            if not isinstance(table, RoundTable):
                told = f"{self.scheme.type} has no table of states, so its rounds cannot follow {self.process.type}"
                raise ParameterError("process.type", f"{told}; allowed: iid")
            return table

        first = block(rows.law(0))
        self._check_size(first, rows)
        made = [first, *(block(rows.law(row)) for row in range(1, rows.size))]
        if rows.moves is not None:
            self._check_alike(made)
        if rows.alike:
            self._check_alike(made + [block(DraftLaw(((rate,),) * self.kappa)) for rate in _FAR])
        return made

    def _joined(self, rows: WindowRows) -> RoundTable:
        """Entries, where a row is drawn, then a block of the scheme's states per row."""
        blocks = self._blocks(rows)
        ends = {kind.start for own in blocks for kind in own.kinds}
        self.starts = sorted(ends | {state for own in blocks for _, state in own.first})
        self.entries = len(rows.draws) * len(self.starts)
        sizes = [len(own.states) for own in blocks]
        self.offsets = list(itertools.accumulate(sizes[:-1], initial=self.entries))
        self.many = rows.size if rows.moves is not None else 0
        table = RoundTable()
        for law, start in itertools.product(rows.draws, self.starts):
            table.add([(chance, self._place(row, start)) for row, chance in enumerate(law) if chance > 0.0])
        judged = self._drafts(blocks) if rows.moves is not None else []
        for row, state in self._order(blocks):
            moves = rows.moves[row] if rows.moves is not None and judged[state] else None
            table.add(list(self._outcomes(table, rows, blocks[row], row, state, moves)))
        begins = itertools.product(rows.begins, (state for _, state in blocks[0].first))
        table.first = start_law(table, [self._start(row, state) for row, state in begins])
        return table

    def _drafts(self, blocks: Sequence[RoundTable]) -> list[bool]:
        """Which states judge a level: all of a tree, else those whose chances are not the same in all rows."""
        everywhere = isinstance(self.scheme, Tree) or self.scheme.chained
        return [
            everywhere or any([c for c, _ in own.states[state]] != [c for c, _ in first] for own in blocks[1:])
            for state, first in enumerate(blocks[0].states)
        ]

    def _order(self, blocks: Sequence[RoundTable]) -> Iterator[tuple[int, int]]:
        """Rows one after the other; side by side where a draft leads from one to another."""
        if not self.many:
            yield from ((row, state) for row, own in enumerate(blocks) for state in range(len(own.states)))
            return
        yield from ((row, state) for state in range(len(blocks[0].states)) for row in range(self.many))

    def _place(self, row: int, state: int) -> int:
        """Number of a scheme's state in a row."""
        return self.entries + state * self.many + row if self.many else self.offsets[row] + state

    def _start(self, row: int, own: int) -> int:
        """Number of the state in which a round starts: in a row, or where the row is drawn."""
        if row >= 0:
            return self._place(row, own)
        return (-1 - row) * len(self.starts) + self.starts.index(own)

    def _outcomes(
        self, table: RoundTable, rows: WindowRows, block: RoundTable, row: int, state: int,
        moves: Sequence[float] | None,
    ) -> Iterator[tuple[float, int | End]]:  # fmt: skip
        for chance, target in block.states[state]:
            if isinstance(target, End):
                kind = block.kinds[target.kind]
                mark = 0 if rows.drafts is not None else kind.mark
                for share, tokens, following in rows.after(row, kind):
                    start = self._start(following, kind.start)
                    yield chance * share, table.end(**{**vars(kind), "tokens": tokens, "start": start, "mark": mark})
            elif moves is None:
                yield chance, self._place(row, target)
            else:
                for following, share in enumerate(moves):
                    if share > 0.0:
                        yield chance * share, self._place(following, target)

    def _check_size(self, first: RoundTable, rows: WindowRows) -> None:
        """Refuse before anything large is made; the first row has the longest draft."""
        states = rows.size * len(first.states)
        cells = states * max(map(len, first.states)) * (1 if rows.moves is None else len(rows.moves))
        if states > STATES_LIMIT or cells > _CELLS_LIMIT:
            told = f"{self.scheme.type} at κ = {self.kappa} has {states:,} states and {cells:,} outcomes"
            told = f"{told} on the {rows.size:,} rows of {self.process.type}"
            raise ParameterError("kappa", f"{told}; allowed: {STATES_LIMIT:,} and {_CELLS_LIMIT:,}")

    def _check_alike(self, blocks: Sequence[RoundTable]) -> None:
        first = _skeleton(blocks[0])
        if any(_skeleton(own) != first for own in blocks[1:]):
            told = f"{self.scheme.type} drafts by rates that {self.process.type} does not tell the draft model"
            known = "iid, position, survival, markov, hmm, drift, discrete_mixture"
            raise ParameterError("process.type", f"{told}; allowed: {known}")


def side_by_side(scheme: Scheme, draft: DraftLaw, kappa: int) -> RoundTable:
    """The rounds of lookahead level by level, not candidate by candidate: how many candidates are still accepted.

    Examples
    --------
    >>> table = side_by_side(Lookahead(candidates=2), DraftLaw(((0.5,),) * 2), 2)
    >>> [[round(chance, 4) for chance, _ in state] for state in table.states]
    [[0.0, 1.0], [0.25, 0.5, 0.25], [0.5, 0.5], [0.25, 0.5, 0.25]]
    """
    assert isinstance(scheme, Lookahead)
    rates = draft.rates(kappa)
    kinds = {kind.accepted: kind for kind in scheme.rounds(draft, kappa).kinds}
    table = RoundTable()
    ends = {accepted: table.end(**vars(kinds[accepted])) for accepted in sorted(kinds)}
    if not rates:
        table.add([(1.0, ends[0])])
        return table
    table.add([(1.0 - scheme.good, ends[0]), (scheme.good, 1)])
    number, levels = {(0, scheme.candidates): 1}, range(1, len(rates))
    for depth in levels:
        number |= {(depth, alive): len(number) + alive for alive in range(1, scheme.candidates + 1)}
    for depth, alive in number:
        rate, outcomes = rates[depth], list[tuple[float, int | End]]()
        for left in range(alive + 1):
            chance = math.comb(alive, left) * rate**left * (1.0 - rate) ** (alive - left)
            outcomes.append((chance, ends[depth] if not left else number.get((depth + 1, left), ends[len(rates)])))
        table.add(outcomes)
    return table


class _OneShape:
    """A tree of one shape in all rows, cut where deeper drafts are of no use."""

    def __init__(self, scheme: Tree, rates: Sequence[float], kappa: int) -> None:
        self.scheme = scheme
        self.parents, self.ranks = scheme.shape(DraftLaw(tuple((rate,) for rate in rates)), kappa)
        self.depths = [0]
        for parent in self.parents:
            self.depths.append(self.depths[parent] + 1)

    def within(self, depth: int) -> tuple[Tree, int]:
        """The tree with so many levels, and its nodes."""
        number, parents, ranks = {0: 0}, list[int](), list[int]()
        for node, (parent, rank) in enumerate(zip(self.parents, self.ranks, strict=True), 1):
            if self.depths[node] <= depth:
                number[node] = len(parents) + 1
                parents.append(number[parent])
                ranks.append(rank)
        shape: dict[str, Any] = {"parents": tuple(parents), "ranks": tuple(ranks), "widths": None, "max_depth": None}
        return self.scheme.model_copy(update=shape), len(parents)


def _skeleton(table: RoundTable) -> list[list[int | RoundKind]]:
    return [
        [table.kinds[target.kind] if isinstance(target, End) else target for _, target in outcomes]
        for outcomes in table.states
    ]
