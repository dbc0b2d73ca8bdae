"""How does block verification go, draft by draft?  The longest prefix that passes is kept; all κ are drafted first.

Prefix x_1 … x_i owes t_i = min(t_(i−1)·p(x_i)/q(x_i), 1).  With m = Σ (t_i·p − q)⁺ it passes with m/(m + 1 − t_i), all
κ drafts with t_κ; behind the longest that passes a token of (t·p − q)⁺ is drawn, or of p behind all κ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simspec.model.rounds import End
from simspec.model.token_rules.levels import Path
from simspec.model.token_rules.walk import SURE, Outcomes, Row, Walk, minus

_DIGITS = 13
"""Shares that differ later than here were multiplied in another order."""


@dataclass(frozen=True)
class Prefix:
    """Drafts so far, how many they are, and the share owed of them."""

    path: Path
    length: int
    owes: float

    @property
    def context(self) -> int:
        return self.path[-1]


def block(
    walk: Walk,
    start: Path,
    target: Sequence[Row],
    draft: Callable[[Path, int], Row],
    levels: int,
    grown: Callable[[Path, int], Path],
    ends: Callable[[Path, int, int], End],
) -> Outcomes:
    """Outcomes of the first state of a round.

    Parameters
    ----------
    walk : Walk
        The table.
    start : tuple of int
        Path of the root.
    target : rows
        Next-token laws by context.
    draft : callable
        (path, depth) → law of the draft there.
    levels : int
        κ ≥ 1.
    grown : callable
        (path, token) → path.
    ends : callable
        (path, accepted, token after it) → the kind of round.
    """

    def on(drafted: Prefix, best: Prefix) -> Outcomes:
        p, q = target[drafted.context], draft(drafted.path, drafted.length)

        def judged(token: int) -> Outcomes:
            owes = round(min(drafted.owes * p[token] / q[token], 1.0), _DIGITS)
            here = Prefix(grown(drafted.path, token), drafted.length + 1, owes)
            return [(1.0, last(best))] if owes == 0.0 else weigh(here, best)

        return walk.draw_and(q, judged)

    def weigh(here: Prefix, best: Prefix) -> Outcomes:
        def further(kept: Prefix) -> int | End:
            return last(kept) if here.length == levels else state(here, kept)

        return walk.either(_passes(here), lambda: further(here), lambda: further(best))

    def _passes(here: Prefix) -> float:
        if here.length == levels or here.owes >= SURE:
            return here.owes
        free = sum(_left(here))
        return free / (free + 1.0 - here.owes)

    def _left(kept: Prefix) -> list[float]:
        return minus([kept.owes * own for own in target[kept.context]], draft(kept.path, kept.length))

    def last(kept: Prefix) -> int:
        law = target[kept.context] if kept.length == levels else _left(kept)
        return walk.state(("last", kept), lambda: walk.draw(law, lambda token: ends(kept.path, kept.length, token)))

    def state(drafted: Prefix, best: Prefix) -> int:
        return walk.state(("draft", drafted, best), lambda: on(drafted, best))

    root = Prefix(start, 0, 1.0)
    return on(root, root)
