"""Several drafts for one position: what is a rule, and how do its drafts fare that nobody looked at?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from simspec.model.rounds import End, RoundTable
from simspec.model.token_rules.walk import Outcomes, Row, Walk

Then = Callable[[int, tuple[int, ...], int], int | End]
"""(emitted token, drafts known to be this token, first draft not drawn so far) → what follows."""
Judge = Callable[[Walk, Hashable, Row, Sequence[Row], Then], Outcomes]
"""(walk, name of the position, law of the target, laws of the drafts, what follows) → outcomes of the first state."""


def matching(walk: Walk, place: Hashable, p: Row, laws: Sequence[Row], then: Then) -> Outcomes:
    """The target's own token is drawn; a draft is kept if it happens to be that token."""
    return walk.draw(p, lambda token: then(token, (), 0))


def settle(
    walk: Walk,
    place: Hashable,
    laws: Sequence[Row],
    every: bool,
    onward: Callable[[int, tuple[int, ...]], int | End],
    alike: bool = False,
) -> Then:
    """Draw what was not drawn: which drafts are the emitted token?  All are asked if ``every``, else one is enough.

    Where drafts are ``alike`` in law, how many they are is all that matters: the first so many stand for them.
    """

    def then(token: int, matched: tuple[int, ...], undrawn: int) -> int | End:
        matched = tuple(range(len(matched))) if alike else matched
        if undrawn == len(laws) or (matched and not every):
            return onward(token, matched)
        return walk.state(
            (place, "is it", token, matched, undrawn),
            lambda: walk.either(
                laws[undrawn][token],
                lambda: then(token, (*matched, undrawn), undrawn + 1),
                lambda: then(token, matched, undrawn + 1),
            ),
        )

    return then


def one_position(judge: Judge, p: Row, laws: Sequence[Row], key: str = "K") -> RoundTable:
    """Rounds of one position: A is 1 if a draft is kept, the mark of a kind is the emitted token.

    Parameters
    ----------
    judge : Judge
        The rule.
    p : sequence of float
        The target.
    laws : sequence of laws
        One per draft.
    key : str
        What an error calls too large.

    Examples
    --------
    >>> table = one_position(matching, [0.5, 0.5], [[1.0, 0.0]])
    >>> [(kind.mark, kind.accepted) for kind in table.kinds]
    [(0, 1), (1, 0)]
    """
    walk = Walk(key)

    def emit(token: int, matched: tuple[int, ...]) -> End:
        kept = bool(matched)
        return walk.table.end(int(kept), len(laws), rejected=not kept, tokens=1, mark=token)

    own, drafts = [float(chance) for chance in p], [[float(chance) for chance in law] for law in laws]
    then = settle(walk, (), drafts, False, emit)
    walk.state("start", lambda: judge(walk, (), own, drafts, then))
    return walk.done()
