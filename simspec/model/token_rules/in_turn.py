"""Which rules look at one draft after the other?  Each draft is drawn, then judged; what all of them leave is drawn."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from simspec.model.token_rules.positions import Judge, Then
from simspec.model.token_rules.walk import Outcomes, Row, Walk, minus, scaled, typical_tokens


@dataclass(frozen=True)
class Turns:
    """A rule at one position.

    Attributes
    ----------
    chances : list of list of float
        Chance to keep draft 1, 2, …, by its token, given that those before it were rejected.
    left : list of float
        Law, not scaled, of the token if all are rejected.
    """

    chances: list[list[float]]
    left: list[float]


def _kept(owed: Row, law: Row) -> list[float]:
    return [min(one / two, 1.0) if two > 0.0 else 0.0 for one, two in zip(owed, law, strict=True)]


def rejection(p: Row, laws: Sequence[Row]) -> Turns:
    """Speculative sampling draft by draft, each rejection leaving the residual target to the next."""
    return lenient(p, laws, 1.0)


def k_seq(p: Row, laws: Sequence[Row], rho: float | None = None) -> Turns:
    """Every draft is kept with min(1, p/(ρq)), ρ being the smallest that leaves the target enough."""
    (q, *_), draws = laws, len(laws)

    def keeps(rho: float) -> tuple[list[float], float]:
        """By token, and tokens taken per draft that is kept: Σ (1 − β)^i, i < K."""
        own = _kept(p, [rho * two for two in q])
        one = min(sum(chance * two for chance, two in zip(own, q, strict=True)), 1.0)
        return own, sum((1.0 - one) ** i for i in range(draws))

    low, high = 1.0, float(draws)
    for _ in range(0 if rho is not None or keeps(1.0)[1] <= 1.0 else 60):  # down to one float
        middle = 0.5 * (low + high)
        low, high = (low, middle) if keeps(middle)[1] <= middle else (middle, high)
    used = rho if rho is not None else high if keeps(1.0)[1] > 1.0 else 1.0
    own, many = keeps(used)
    return Turns([own] * draws, minus(p, [two * chance * many for chance, two in zip(own, q, strict=True)]))


def lenient(p: Row, laws: Sequence[Row], lenience: float) -> Turns:
    """Draft by draft as in `rejection`, with l·q in the place of q; not lossless for l < 1."""
    chances, owed = list[list[float]](), list(p)
    for law in laws:
        less = [lenience * own for own in law]
        chances.append(_kept(owed, less))
        owed = scaled(minus(owed, less))
    return Turns(chances, owed)


def typical(p: Row, laws: Sequence[Row], epsilon: float, delta: float, residual: bool = False) -> Turns:
    """A draft is kept if the target finds it typical; else a token of the target, or of its residual, is drawn.

    Examples
    --------
    >>> typical([0.5, 0.5, 0.0], [[0.2, 0.2, 0.6]], epsilon=0.3, delta=0.4)
    Turns(chances=[[1.0, 1.0, 0.0]], left=[0.5, 0.5, 0.0])
    """
    left = minus(p, laws[-1]) if residual else list(p)
    keeps = [float(kept) for kept in typical_tokens(p, epsilon, delta)]
    return Turns([keeps] * len(laws), left if any(left) else list(p))


TURNS: dict[str, Callable[..., Turns]] = {
    "rrs": rejection,
    "kseq": k_seq,
    "lenient": lenient,
}
"""By the name of the rule."""


def in_turn(make: Callable[[Row, Sequence[Row]], Turns], remember: bool = False) -> Judge:
    """A rule of turns; ``remember`` if a token that was rejected may be kept as a later draft (drafts of one law)."""
    made: dict[Hashable, Turns] = {}  # the same laws stand at many places

    def judge(walk: Walk, place: Hashable, p: Row, laws: Sequence[Row], then: Then) -> Outcomes:
        asked = (tuple(p), *map(tuple, laws))
        if asked not in made:
            made[asked] = make(p, laws)
        turns = made[asked]

        def stage(i: int, drawn: tuple[int, ...]) -> Outcomes:
            if i == len(laws):
                return walk.draw(turns.left, lambda token: then(token, (), len(laws)))
            return walk.draw_and(laws[i], lambda token: weigh(i, drawn, token))

        def weigh(i: int, drawn: tuple[int, ...], token: int) -> Outcomes:
            same = tuple(j for j, other in enumerate(drawn) if other == token)
            so_far = tuple(sorted((*drawn, token))) if remember else ()  # of one law: in which order is no matter
            return walk.either(
                turns.chances[i][token],
                lambda: then(token, (*same, i), i + 1),
                lambda: walk.state((place, "draft", so_far, i + 1), lambda: stage(i + 1, so_far)),
            )

        return stage(0, ())

    return judge


def distinct(walk: Walk, place: Hashable, p: Row, laws: Sequence[Row], then: Then) -> Outcomes:
    """Rejection with distinct drafts of one law: a rejected token is not drawn again."""
    q, draws = laws[0], len(laws)

    def stage(rejected: tuple[int, ...], owed: Row) -> Outcomes:
        if len(rejected) == draws:
            return walk.draw(owed, lambda token: then(token, (), draws))
        law = scaled([0.0 if token in rejected else own for token, own in enumerate(q)])

        def weigh(token: int) -> Outcomes:
            more = (*rejected, token)
            return walk.either(
                min(owed[token] / law[token], 1.0),
                lambda: then(token, (len(rejected),), draws),
                lambda: walk.state((place, "draft", more), lambda: stage(more, scaled(minus(owed, law)))),
            )

        return walk.draw_and(law, weigh)

    return stage((), p)
