"""Drafts copied from what was read or written before, where it matches: prompt lookup, with and without a match."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from simspec.model.base import Probability
from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.rounds import DraftLaw, End, RoundTable
from simspec.model.schemes.drafting import undrafted
from simspec.model.schemes.scheme import Scheme, Schemes


@Schemes.add
class Lookup(Scheme):
    """κ drafts where the last tokens were met before, none where they were not.

    Parameters
    ----------
    after_match, after_miss : float
        Chance that a round finds a match, given that the round before did, and that it did not.

    Notes
    -----
    The process says how a copied draft fares.  A copy takes no draft step, so c_d is not paid.  `Copy` finds its
    matches in a text; ``theory.copy_law`` then says both chances, and how far a text is from having no more than two.

    References
    ----------
    Prompt lookup decoding, and ngram speculation of vLLM and llama.cpp.

    Examples
    --------
    >>> table = Lookup(after_match=0.8, after_miss=0.2).rounds(DraftLaw(((0.9,),) * 2), 2)
    >>> [(kind.drafted, kind.accepted, kind.start) for kind in table.kinds]
    [(0, 0, 0), (2, 0, 1), (2, 2, 1), (2, 1, 1)]
    """

    type: Literal["lookup"] = "lookup"
    after_match: Probability = Field(description="chance of a match after a round with one")
    after_miss: Probability = Field(description="chance of a match after a round without one")

    @model_validator(mode="after")
    def _changes(self) -> Lookup:
        if self.after_match == 1.0 and self.after_miss == 0.0:
            raise ParameterError(
                "after_match", "after_match = 1 with after_miss = 0 never changes, so no long-run law exists; allowed: "
                "after_match < 1 or after_miss > 0"
            )  # fmt: skip
        return self

    def priced(self, cost: Cost) -> Cost:
        return undrafted(cost)

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        table = RoundTable()
        rates = draft.rates(kappa)
        most, miss = len(rates), table.end(0, 0, start=0)
        found: int | End = 2 if rates else table.end(0, 0, start=1)
        for chance in (self.after_miss, self.after_match):  # states 0 and 1: after a miss, after a match
            table.add([(1.0 - chance, miss), (chance, found)])
        for j, rate in enumerate(rates):
            following: int | End = j + 3 if j + 1 < most else table.end(most, most, steps=0, start=1)
            table.add([(rate, following), (1.0 - rate, table.end(j, most, steps=0, start=1))])
        leaving = self.after_miss + (1.0 - self.after_match)
        matched = self.after_miss / leaving
        table.first = [(1.0 - matched, 0), (matched, 1)]
        return table
