"""A small model writes until it is unsure, a large one reads over it and takes back: Big Little Decoding."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from simspec.model.base import NonNegative, Probability
from simspec.model.errors import ParameterError
from simspec.model.loss import Loss
from simspec.model.pool import Rows
from simspec.model.rounds import DraftLaw, RoundTable
from simspec.model.schemes.scheme import Scheme, Schemes
from simspec.model.turns import TwoModels

PUBLISHED_FALLBACK, PUBLISHED_ROLLBACK = 0.6, 5.0
"""Defaults of the code that the authors released, which also stops after 10 small tokens."""


@Schemes.add
class BigLittle(Scheme):
    """At most κ tokens by the small model, which hands over where it is unsure; then a pass of the large model.

    A pass in which the small model is unsure is paid and its token lost.  The large model reads over all tokens, takes
    back what follows from the first one it finds wrong, and adds a token of its own.  The output changes: this scheme
    is not lossless.

    Either chances are given, ``p_fallback``, and the process says how likely the large model is to keep a token.  Or
    thresholds are, on a ``token_chain`` whose draft is the small model and whose target the large one.

    Parameters
    ----------
    p_fallback : float, optional
        Chance that the small model is unsure of a token, 0 to 1.
    fallback : float, optional
        The small model hands over where its largest probability is below, 0 to 1; .6 if only ``rollback`` is given.
    rollback : float, optional
        The large model takes back a token with −log p above, in nats, ≥ 0; 5 if only ``fallback`` is given.
    sampled : bool
        With thresholds: both models draw their tokens.  Else, as in the paper, each writes its likeliest token.

    Notes
    -----
    With thresholds emitted tokens that are not the large model's likeliest one count as lost; chances tell no tokens.
    Without drawing nothing is random: from every context a text runs into a cycle, and lanes begin in the contexts of
    the large model's own text, drawn from its laws.

    References
    ----------
    Kim et al. (2023), Speculative Decoding with Big Little Decoder, sections 3.2 and 3.3; its code has fallback .6 and
    rollback 5.

    Examples
    --------
    >>> table = BigLittle(p_fallback=0.2).rounds(DraftLaw(((0.9,),)), 1)
    >>> [(kind.drafted, kind.accepted, kind.steps) for kind in table.kinds]
    [(1, 1, 1), (1, 0, 1), (0, 0, 1)]
    """

    type: Literal["big_little"] = "big_little"
    p_fallback: Probability | None = Field(default=None, description="chance that the small model is unsure of a token")
    fallback: Probability | None = None
    rollback: NonNegative | None = None
    sampled: bool = False

    @model_validator(mode="after")
    def _chances_or_thresholds(self) -> BigLittle:
        if self.p_fallback is None and not self.thresholds:
            raise ParameterError(
                "p_fallback", "p_fallback is missing; it takes the chance that the small model is unsure of a token; "
                "on a token_chain give thresholds instead: fallback = 0.6, rollback = 5"
            )  # fmt: skip
        if self.p_fallback is not None and (self.thresholds or self.sampled):
            raise ParameterError(
                "p_fallback", "p_fallback is given beside thresholds; allowed: p_fallback, or fallback, rollback and "
                "sampled"
            )  # fmt: skip
        return self

    @property
    def thresholds(self) -> bool:
        """Whether thresholds on token laws are given rather than chances."""
        return self.fallback is not None or self.rollback is not None

    def models(self, large: Rows, small: Rows) -> TwoModels:
        """Two models under the thresholds of the scheme."""
        fallback = PUBLISHED_FALLBACK if self.fallback is None else self.fallback
        rollback = PUBLISHED_ROLLBACK if self.rollback is None else self.rollback
        return TwoModels(large, small, fallback, rollback, self.sampled)

    @property
    def lossless(self) -> bool:
        return False

    @property
    def loses(self) -> Loss | None:
        if not self.thresholds:
            return None
        own = ", some of which its own text has too since both models draw" if self.sampled else ""
        return Loss(f"share of tokens that are not the large model's likeliest{own}")

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        if self.p_fallback is None:
            if draft.tokens is None or draft.drafts is None:
                raise ParameterError("process", 'the process has no token laws; allowed: type = "token_chain" for '
                                     "fallback and rollback, or p_fallback")  # fmt: skip
            return self.models(draft.tokens, draft.drafts).table(kappa)
        if draft.tokens is not None:
            raise ParameterError("p_fallback", "p_fallback says nothing of the tokens of a token_chain; allowed: "
                                 "thresholds, fallback = 0.6 and rollback = 5")  # fmt: skip
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
