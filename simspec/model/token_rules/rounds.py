"""How does a round on real tokens go from its first context to the token that ends it?

A state knows the last token on the path, how deep it stands, and, where whole sequences are drafted, which of them
agree with the path so far.  State x of the table is a round that starts behind token x.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial

from simspec.model.chains import closed_classes
from simspec.model.errors import ParameterError
from simspec.model.long_run import long_run
from simspec.model.round_starts import start_moves
from simspec.model.rounds import End, RoundTable
from simspec.model.token_rules.blocks import block
from simspec.model.token_rules.levels import Path, typical_levels
from simspec.model.token_rules.positions import Judge, settle
from simspec.model.token_rules.walk import Outcomes, Row, Walk, one_hot

Rows = Sequence[Row]
Live = tuple[int, ...]
"""Sequences that agree with the path so far."""
Laws = Callable[[int, int, Live], Rows]


@dataclass(frozen=True)
class TokenRounds:
    """What is drafted and verified; the methods make a table of it, one per way to verify.

    Attributes
    ----------
    target : rows
        Next-token laws of the target by context.
    levels : int
        κ: tokens from the root to the deepest draft.
    drafted : int
        Tokens verified in a round.
    steps : int
        Draft steps paid.
    unseen : bool
        Whether all levels are drafted at once, so that a draft knows the first context of the round alone.
    paths : bool
        Whether the mark of a kind tells all tokens of the round, not just the last one: `spelt` reads it.
    """

    target: Rows
    levels: int
    drafted: int
    steps: int
    unseen: bool = False
    paths: bool = False

    def by_position(self, judge: Judge, laws: Laws, sequences: int | None = None, alike: bool = False) -> RoundTable:
        """Position by position.

        Parameters
        ----------
        judge : Judge
            The rule.
        laws : callable
            (context that the drafts know, depth, sequences that agree) → laws of the drafts there.
        sequences : int, optional
            How many sequences are drafted, from the root to the end; if left out, every node has drafts of its own.
        alike : bool
            Whether they are of one law, so that how many of them agree with the path is all there is to know.
        """
        walk = Walk("kappa")
        every = sequences is not None

        def node(path: Path, depth: int, live: Live) -> Outcomes:
            here, context = (path, depth, live), path[-1]
            own = laws(self._known(path), depth, live)

            def onward(token: int, matched: tuple[int, ...]) -> int | End:
                if not matched:
                    return self._end(walk, path, depth, token)
                further = self._grown(path, token)
                if depth + 1 == self.levels:
                    return self._bonus(walk, further, self.levels, self.target[token])
                left = tuple(live[i] for i in matched) if every else ()
                return walk.state((further, depth + 1, left), lambda: node(further, depth + 1, left))

            return judge(walk, here, self.target[context], own, settle(walk, here, own, every, onward, alike))

        return self._rooted(walk, lambda path: node(path, 0, tuple(range(sequences or 0))))

    def by_levels(self, laws: Laws, passes: Sequence[Sequence[bool]], ends: Rows) -> RoundTable:
        """Level by level, the longest path of tokens that pass; ``ends`` are the laws of the token behind it."""
        walk = Walk("kappa")

        def stopped(path: Path, accepted: int) -> int:
            return self._bonus(walk, path, accepted, ends[path[-1]])

        def children(path: Path, depth: int) -> Rows:
            return laws(self._known(path), depth, ())

        return self._rooted(
            walk, lambda path: typical_levels(walk, path, children, self.levels, passes, self._grown, stopped)
        )

    def by_blocks(self, laws: Laws) -> RoundTable:
        """One chain, verified as a whole."""
        walk = Walk("kappa")
        ends = partial(self._end, walk)

        def draft(path: Path, depth: int) -> Row:
            return laws(self._known(path), depth, ())[0]

        return self._rooted(walk, lambda path: block(walk, path, self.target, draft, self.levels, self._grown, ends))

    def _grown(self, path: Path, token: int) -> Path:
        """What is to be known of a path: all of it, its last token, or its first token too."""
        return (*path, token) if self.paths else (path[0], token) if self.unseen else (token,)

    def _known(self, path: Path) -> int:
        """The context that drafts behind a path know."""
        return path[0] if self.unseen else path[-1]

    def _end(self, walk: Walk, path: Path, accepted: int, token: int) -> End:
        mark = 0
        for one in (*path, token) if self.paths else (token,):
            mark = mark * len(self.target) + one
        return walk.table.end(
            accepted, self.drafted, steps=self.steps, rejected=accepted < self.levels, start=token, mark=mark
        )

    def _bonus(self, walk: Walk, path: Path, accepted: int, law: Row) -> int:
        known: Hashable = ("last", path, accepted)
        return walk.state(known, lambda: walk.draw(law, lambda token: self._end(walk, path, accepted, token)))

    def _rooted(self, walk: Walk, outcomes: Callable[[Path], Outcomes]) -> RoundTable:
        def root(context: int) -> Outcomes:
            if self.levels == 0:
                return walk.draw(self.target[context], lambda token: self._end(walk, (context,), 0, token))
            return outcomes((context,))

        for context in range(len(self.target)):
            walk.state(("root", context), partial(root, context))
        table = walk.done(len(self.target))
        law = first_contexts(table, len(self.target), self.levels)
        table.first = [(chance, context) for context, chance in enumerate(law)]
        return table


def spelt(mark: int, tokens: int, vocabulary: int) -> list[int]:
    """The context of a round and the ``tokens`` tokens it emitted, from the mark of its kind.

    Examples
    --------
    >>> spelt(5, 2, 2)
    [1, 0, 1]
    """
    out = []
    for _ in range(tokens + 1):
        mark, token = divmod(mark, vocabulary)
        out.append(token)
    return out[::-1]


def first_contexts(table: RoundTable, contexts: int, levels: int) -> list[float]:
    """Long-run law of the contexts in which rounds start, from the table itself.

    Raises
    ------
    ParameterError
        Rounds that start in different contexts stay apart for ever.
    """
    rows = start_moves(table, contexts)
    closed = closed_classes(tuple(map(tuple, rows)))
    if len(closed) > 1:
        told = f"kappa = {levels} lets rounds start at the same tokens for ever, by where the text began"
        raise ParameterError("kappa", f"{told}; allowed: another kappa, or a text that does not repeat itself")
    return long_run(rows, sorted(closed[0]))


def greedy_rows(target: Rows) -> list[list[float]]:
    """Laws that draw the likeliest token of each row, of equal ones the first.

    Examples
    --------
    >>> greedy_rows([[0.2, 0.8], [0.5, 0.5]])
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return [one_hot(max(range(len(row)), key=lambda token: row[token]), len(row)) for row in target]
