"""Which path of a tree does typical acceptance keep?  The longest of typical drafts; of equally long ones the first.

The tree is drafted level by level.  A state knows the nodes of a level to which a path of typical drafts leads, in the
order in which they were drafted, and those found so far one level below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simspec.model.rounds import End
from simspec.model.token_rules.walk import Outcomes, Row, Walk

Path = tuple[int, ...]
"""The context of a round, and the drafts after it; or the last of them alone, if nobody asks for the others."""


def typical_levels(
    walk: Walk,
    start: Path,
    laws: Callable[[Path, int], Sequence[Row]],
    levels: int,
    passes: Sequence[Sequence[bool]],
    grown: Callable[[Path, int], Path],
    stopped: Callable[[Path, int], End | int],
) -> Outcomes:
    """Outcomes of the first state of a round.

    Parameters
    ----------
    walk : Walk
        The table.
    start : tuple of int
        Path of the root.
    laws : callable
        (path, depth) → laws of the children drafted there.
    levels : int
        κ ≥ 1.
    passes : rows of bool
        Whether a token is typical, by context.
    grown : callable
        (path, token) → path.
    stopped : callable
        (path, accepted) → what follows once the longest path is known.
    """

    def draft(alive: tuple[Path, ...], at: int, child: int, found: tuple[Path, ...], depth: int) -> Outcomes:
        context = alive[at][-1]
        children = laws(alive[at], depth)

        def after(token: int) -> int | End:
            more = (*found, grown(alive[at], token)) if passes[context][token] else found
            if more and depth + 1 == levels:
                return stopped(more[0], levels)
            if child + 1 < len(children):
                return state(alive, at, child + 1, more, depth)
            if at + 1 < len(alive):
                return state(alive, at + 1, 0, more, depth)
            return state(more, 0, 0, (), depth + 1) if more else stopped(alive[0], depth)

        return walk.draw(children[child], after)

    def state(alive: tuple[Path, ...], at: int, child: int, found: tuple[Path, ...], depth: int) -> int:
        return walk.state(("level", alive, at, child, found, depth), lambda: draft(alive, at, child, found, depth))

    return draft((start,), 0, 0, (), 0)
