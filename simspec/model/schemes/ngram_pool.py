"""Lookahead decoding with its pool: n-grams met or guessed are kept by their first token and verified side by side."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simspec.model.base import Probability
from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.pool import GramRounds
from simspec.model.rounds import DraftLaw
from simspec.model.schemes.drafting import undrafted
from simspec.model.schemes.pool import tokens_of
from simspec.model.schemes.scheme import Scheme, Schemes

Some = Annotated[int, Field(ge=1, le=256)]


@Schemes.add
class NgramPool(Scheme):
    """All n-grams that the pool knows for the last token are verified; κ = N − 1 tokens each, the longest run is kept.

    The text is a ``token_chain``'s, of which only the target matters.  The pool keeps, by first token, the most recent
    distinct n-grams of the text, and ``window`` more that each round guesses: overlapping pieces of one line of
    guesses from the last token on.  A token is kept exactly if the target draws it, so the output is the target's.
    There is no draft step; candidates that are there and the window widen the pass, κ tokens each.

    Parameters
    ----------
    candidates : int
        G: n-grams kept by token, 1 to 256.
    window : int
        W: n-grams guessed in every round, 0 to 256.
    guess : float
        Chance that a guessed token is drawn as the target would after the one before; else any token is as likely.
        Has to be given with a window: no source measures it.

    Notes
    -----
    Not modelled: a line of guesses that improves from round to round (the levels of a Jacobi iteration); here each
    round guesses anew, with one quality.  Candidates that begin alike are counted apart, as they are verified.

    References
    ----------
    Fu, Bailis, Stoica, Zhang (2024), Lookahead Decoding: W, N and G.

    Examples
    --------
    >>> law = DraftLaw((), tokens=((0.5, 0.5), (0.9, 0.1)))
    >>> table = NgramPool(candidates=2, window=3, guess=0.8).rounds(law, 4)
    >>> sorted({kind.drafted for kind in table.kinds}), table.guess[0]
    ([12, 16, 20], (0.5, 0.5))
    """

    type: Literal["ngram_pool"] = "ngram_pool"
    candidates: Some = Field(description="n-grams kept by token, G")
    window: Annotated[int, Field(ge=0, le=256)] = 0
    guess: Probability | None = None

    @model_validator(mode="after")
    def _guesses(self) -> NgramPool:
        if (self.guess is None) != (self.window == 0):
            told = "is missing" if self.guess is None else f"= {self.guess:g} is of no use without a window"
            raise ParameterError("guess", f"guess {told}; allowed: 0 to 1 with window ≥ 1, none with window = 0")
        return self

    def priced(self, cost: Cost) -> Cost:
        return undrafted(cost)

    def rounds(self, draft: DraftLaw, kappa: int) -> GramRounds:
        rows = tokens_of(draft)
        own = 1.0 if self.guess is None else self.guess
        guess = tuple(tuple(own * entry + (1.0 - own) / len(row) for entry in row) for row in rows)
        return GramRounds(rows, kappa, self.candidates, self.window, guess)
