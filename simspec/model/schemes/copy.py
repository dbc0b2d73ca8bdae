"""Drafts copied from where the last tokens of the text stood before: prompt lookup with real tokens."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.pool import CopyRounds
from simspec.model.rounds import DraftLaw
from simspec.model.schemes.drafting import undrafted
from simspec.model.schemes.pool import tokens_of
from simspec.model.schemes.scheme import Scheme, Schemes

MATCH_LIMIT, MEMORY_LIMIT = 64, 4096
Match = Annotated[int, Field(ge=1, le=MATCH_LIMIT)]


@Schemes.add
class Copy(Scheme):
    """κ drafts: what followed the last tokens where they stood before, as many of them matching as possible.

    The text is a ``token_chain``'s, of which only the target matters.  A copy ends where the text ends, so it may be
    shorter than κ; where nothing matches there is none.  A copied token is kept exactly if the target draws it, so the
    output is the target's.  Copies take no draft step.

    Parameters
    ----------
    match_max, match_min : int
        Tokens that have to match (``prompt_lookup_max``, ``prompt_lookup_min``), 1 to 64.
    memory : int
        Last tokens of the text that are looked through, 2 to 4096: prompt and output in an engine.
    which : {"earliest", "latest"}
        Of several places with a match of that length, which one is copied from.

    Notes
    -----
    The next token of a ``token_chain`` depends on the last one alone, so that a longer match tells no more than a short
    one.  Texts with long repeats have states that tell tokens with different pasts apart.

    References
    ----------
    Saxena (2023), Prompt Lookup Decoding; ngram speculation of vLLM, which takes the earliest place too.

    Examples
    --------
    >>> table = Copy(match_max=2, memory=16).rounds(DraftLaw((), tokens=((0.5, 0.5), (0.9, 0.1))), 3)
    >>> table.longest, max(kind.drafted for kind in table.kinds)
    (2, 3)
    """

    type: Literal["copy"] = "copy"
    match_max: Match = 3
    match_min: Match = 1
    memory: Annotated[int, Field(ge=2, le=MEMORY_LIMIT)] = 256
    which: Literal["earliest", "latest"] = "earliest"

    @model_validator(mode="after")
    def _ordered(self) -> Copy:
        if self.match_min > self.match_max:
            raise ParameterError(
                "match_min", f"match_min = {self.match_min} exceeds match_max = {self.match_max}; allowed: 1 to "
                "match_max"
            )  # fmt: skip
        if self.match_min >= self.memory:
            raise ParameterError(
                "memory", f"memory = {self.memory} holds no match of {self.match_min} and what followed it; allowed: "
                f"memory > match_min = {self.match_min}"
            )  # fmt: skip
        return self

    def priced(self, cost: Cost) -> Cost:
        return undrafted(cost)

    def rounds(self, draft: DraftLaw, kappa: int) -> CopyRounds:
        earliest = self.which == "earliest"
        return CopyRounds(tokens_of(draft), kappa, self.match_max, self.match_min, self.memory, earliest)
