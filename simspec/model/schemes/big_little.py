"""A small model writes until it is unsure, a large one reads over it and takes back: Big Little Decoding."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from simspec.model.base import Probability
from simspec.model.rounds import DraftLaw, RoundTable
from simspec.model.schemes.scheme import Scheme, Schemes


@Schemes.add
class BigLittle(Scheme):
    """At most κ tokens by the small model, which hands over where it is unsure; then a pass of the large model.

    The process says how likely the large model is to keep a token.  A pass in which the small model is unsure is paid
    and its token lost.  The large model adds a token of its own.  The output changes: this scheme is not lossless.

    Parameters
    ----------
    p_fallback : float
        Chance that the small model is unsure of a token, 0 to 1.

    References
    ----------
    Kim et al. (2023), Speculative Decoding with Big Little Decoder.

    Examples
    --------
    >>> table = BigLittle(p_fallback=0.2).rounds(DraftLaw(((0.9,),)), 1)
    >>> [(kind.drafted, kind.accepted, kind.steps) for kind in table.kinds]
    [(1, 1, 1), (1, 0, 1), (0, 0, 1)]
    """

    type: Literal["big_little"] = "big_little"
    p_fallback: Probability = Field(description="chance that the small model is unsure of a token")

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        table = RoundTable()
        rates, unsure = draft.rates(kappa), self.p_fallback
        if not rates:
            table.add([(1.0, table.end(0, 0))])
            return table
        most = len(rates)
        # state of token j: 0 while all are kept, and behind a token that is taken back, one row of states per place
        number = {(j, kept): i for i, (j, kept) in enumerate((j, k) for j in range(most) for k in range(-1, j))}
        for j, kept in number:
            outcomes = []
            for chance, after in [(rates[j], -1), (1.0 - rates[j], j)] if kept < 0 else [(1.0, kept)]:
                last = j + 1 == most
                end = table.end(j + 1 if after < 0 else after, j + 1) if last else None
                outcomes.append(((1.0 - unsure) * chance, end if end is not None else number[(j + 1, after)]))
            outcomes.append((unsure, table.end(j if kept < 0 else kept, j, steps=j + 1)))
            table.add(outcomes)
        return table
