"""Drafts that follow what came after the same token when it was last seen: an n-gram pool that learns."""

from __future__ import annotations

from typing import Literal

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.pool import PoolRounds, Rows
from simspec.model.rounds import DraftLaw
from simspec.model.schemes.drafting import undrafted
from simspec.model.schemes.scheme import Scheme, Schemes


@Schemes.add
class Pool(Scheme):
    """κ drafts copied from a pool of bigrams: after token x, what followed x when it was last emitted, and so on.

    The process is a ``token_chain``, of which only the target matters: the pool is what is remembered of its own text.
    A copied token is kept exactly if the target draws it, so the output is the target's.  Copies take no draft step.

    References
    ----------
    Prompt lookup decoding with n-grams of one token; the pool of lookahead decoding (Fu et al. 2024) with one n-gram a
    key.

    Examples
    --------
    >>> Pool().rounds(DraftLaw((), tokens=((0.5, 0.5), (0.9, 0.1))), 3).kappa
    3
    """

    type: Literal["pool"] = "pool"

    def priced(self, cost: Cost) -> Cost:
        return undrafted(cost)

    def rounds(self, draft: DraftLaw, kappa: int) -> PoolRounds:
        return PoolRounds(tokens_of(draft), kappa)


def tokens_of(draft: DraftLaw) -> Rows:
    """The target's next-token laws; `ParameterError` if the process has none."""
    if draft.tokens is None:
        raise ParameterError("process", 'the process has no tokens to remember; allowed: type = "token_chain"')
    return draft.tokens
