"""How many tokens does a step of lookahead decoding keep, when its n-grams are those that it met or guessed itself?

The state is the end of the text and, for every token, the most recent distinct n-grams that begin with it.  Those of
the last token are verified side by side; the target draws its own tokens, and the n-gram that agrees longest is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_range, check_whole
from simspec.theory.round_chains import long_run
from simspec.theory.token_pools import returning_rows

Gram = tuple[int, ...]
Shelf = tuple[tuple[Gram, ...], ...]
LINES_LIMIT = 10_000
"""Lines of guesses of one round that are listed."""


@dataclass(frozen=True, eq=False)
class NgramPoolLaw:
    """Long-run law of the rounds of lookahead decoding with a pool.

    Attributes
    ----------
    joint : array, shape (candidates + 1, kappa + 1)
        P(c n-grams are verified, of which the best has a tokens kept) at [c, a].
    kappa, window
        As asked for.
    """

    joint: FloatArray
    kappa: int
    window: int

    @property
    def mean_accepted(self) -> float:
        """Tokens kept per round; one more is emitted."""
        return float(self.joint.sum(axis=0) @ np.arange(self.joint.shape[1]))

    @property
    def mean_candidates(self) -> float:
        """n-grams verified per round."""
        return float(self.joint.sum(axis=1) @ np.arange(len(self.joint)))

    @property
    def mean_drafted(self) -> float:
        """Tokens by which a pass is wider: κ for every n-gram verified or guessed."""
        return self.kappa * (self.mean_candidates + self.window)

    @property
    def p_rejected(self) -> float:
        """Share of rounds with n-grams of which the best is rejected before its end."""
        return float(self.joint[1:, : self.kappa].sum())


def ngram_pool_law(
    target: Sequence[Sequence[float]], kappa: int, candidates: int, window: int = 0, guess: float | None = None
) -> NgramPoolLaw:
    """Law of rounds that verify all n-grams known for the last token.

    Parameters
    ----------
    target : sequence of rows
        Law of the next token by the last one; all tokens keep coming back.
    kappa : int
        Tokens of an n-gram without its first, N − 1 ≥ 0.
    candidates : int
        n-grams kept by first token, G ≥ 1.
    window : int
        n-grams guessed in every round, W ≥ 0.
    guess : float, optional
        Chance that a guessed token is drawn as the target would; else all tokens are equally likely.  With a window.

    Returns
    -------
    NgramPoolLaw

    Raises
    ------
    ParameterError
        A row is no law, or there are more than 5,000 states of text and pool, or 10,000 lines of guesses.

    References
    ----------
    Fu, Bailis, Stoica, Zhang (2024), Lookahead Decoding.

    Examples
    --------
    >>> law = ngram_pool_law([[0.9, 0.1], [0.4, 0.6]], kappa=2, candidates=2)
    >>> round(law.mean_accepted, 6), round(law.mean_candidates, 6)
    (1.68478, 2.0)
    """
    rows = returning_rows(target)
    check_whole("kappa", kappa, 0, EXACT_KAPPA_LIMIT)
    check_whole("candidates", candidates, 1)
    check_whole("window", window, 0)
    if (guess is None) != (window == 0):
        raise ParameterError("guess", "guess and window do not fit; allowed: guess with window ≥ 1, else none")
    if guess is not None:
        check_range("guess", guess, 0, 1)
    guessed = window + kappa - 1 if window and kappa else 0
    if guessed and len(rows) ** guessed > LINES_LIMIT:
        many = f"{len(rows)}^{guessed} lines of guesses"
        raise ParameterError("window", f"window = {window} makes {many}; allowed: {LINES_LIMIT:,}")
    lines = rows * guess + (1.0 - guess) / len(rows) if guess is not None else rows

    def ends(state: tuple[Gram, Shelf]) -> Iterator[tuple[float, int, Gram]]:
        """Chance, tokens kept, and text of a round."""
        return _courses(state[0], 1.0, state[1][state[0][-1]], 0, rows, kappa)

    def follow(state: tuple[Gram, Shelf]) -> Iterator[tuple[float, tuple[Gram, Shelf]]]:
        text, shelf = state
        for guess_chance, line in _lines((text[-1],), 1.0, guessed, lines):
            pool = shelf
            for i in range(window if guessed else 0):
                pool = _kept(pool, line[i : i + kappa + 1], candidates)
            for chance, _, after in ends(state):
                own = pool
                for end in range(max(len(text), kappa), len(after)) if kappa else ():
                    own = _kept(own, after[end - kappa : end + 1], candidates)
                yield guess_chance * chance, (after[-max(kappa, 1) :], own)

    nothing: Shelf = ((),) * len(rows)
    starts: list[tuple[Gram, Shelf]] = [((token,), nothing) for token in range(len(rows))]
    law = long_run(starts, follow)
    joint = np.zeros((candidates + 1, kappa + 1))
    for state, share in law.items():
        for chance, kept, _ in ends(state):
            joint[len(state[1][state[0][-1]]), kept] += share * chance
    return NgramPoolLaw(joint, kappa, window)


def _courses(
    text: Gram, chance: float, alive: tuple[Gram, ...], kept: int, rows: FloatArray, kappa: int
) -> Iterator[tuple[float, int, Gram]]:
    """All texts that a round may end with; it goes on where some n-gram has the token that was drawn."""
    for token, own in enumerate(rows[text[-1]]):
        if own > 0.0:
            left = tuple(gram for gram in alive if kept < kappa and gram[kept] == token)
            if left:
                yield from _courses((*text, token), chance * float(own), left, kept + 1, rows, kappa)
            else:
                yield chance * float(own), kept, (*text, token)


def _lines(line: Gram, chance: float, more: int, rows: FloatArray) -> Iterator[tuple[float, Gram]]:
    """All lines of so many further guesses."""
    for further in itertools.product(range(len(rows)), repeat=more):
        own, last = chance, line[-1]
        for token in further:
            own, last = own * float(rows[last, token]), token
        if own > 0.0:
            yield own, (*line, *further)


def _kept(shelf: Shelf, gram: Gram, most: int) -> Shelf:
    """The pool with an n-gram put last among those of its first token, of which the most recent are kept."""
    key, rest = gram[0], gram[1:]
    own = (*(other for other in shelf[key] if other != rest), rest)[-most:]
    return (*shelf[:key], own, *shelf[key + 1 :])
