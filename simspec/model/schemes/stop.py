"""A chain that ends where the draft model is no longer confident: p_min, SpecDec++, DISCO, Kangaroo."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field

from simspec.model.base import Probability
from simspec.model.errors import ParameterError
from simspec.model.rounds import STATES_LIMIT, DraftLaw, End, RoundTable
from simspec.model.schemes.scheme import Scheme, Schemes

_NEAR = 1e-12
"""A product counts as below θ if it is by more than this share: rounding alone never ends a draft."""
_Key = tuple[int, int, int, int]
"""Hidden state of the draft before, accepted drafts if one was rejected (else −1), in which state that was (if it is
marked), rounded logarithm of the product."""


@Schemes.add
class Stop(Scheme):
    """At most κ drafts; after draft j ≥ kmin the chain ends if the draft's confidence is below a threshold.

    The draft model is as confident as the process says a draft is good: the rate of its hidden state (an ``hmm`` with
    equal rows has independent confidences), or of its depth.

    Parameters
    ----------
    theta : float
        Threshold, 0 to 1.
    rule : {"survival", "confidence"}
        Whether the product of the confidences so far is compared (SpecDec++, θ = 1 − h) or the last one (p_min of
        llama.cpp, DISCO, Kangaroo).
    kmin : int
        Fewest drafts before the rule is asked, ≥ 1.
    confidences : list of float
        What the draft model believes in each hidden state, if it is not calibrated.
    submits : bool
        Whether the draft that fails the test is verified still, or its draft step was in vain (newer llama.cpp).

    References
    ----------
    Huang, Guo, Wang (2024), SpecDec++; Mamou et al. (2024), DISCO; Liu et al. (2024), Kangaroo.

    Examples
    --------
    >>> draft = DraftLaw(((0.9, 0.3),) * 2, first=(0.75, 0.25), moves=((0.75, 0.25),) * 2)
    >>> table = Stop(theta=0.5).rounds(draft, 2)
    >>> sorted({(kind.drafted, kind.accepted) for kind in table.kinds})
    [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]
    """

    type: Literal["stop"] = "stop"
    theta: Probability = Field(description="the threshold, 0 to 1")
    rule: Literal["survival", "confidence"] = "survival"
    kmin: Annotated[int, Field(ge=1, le=1000)] = 1
    confidences: tuple[Probability, ...] | None = Field(default=None, description="believed rates by hidden state")
    submits: bool = Field(default=True, description="whether the draft that fails the test is verified")

    def identity(self) -> dict[str, Any]:
        """Without ``submits`` where the last draft is verified."""
        return {key: value for key, value in super().identity().items() if key != "submits" or not self.submits}

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        if draft.tokens is not None:
            draft.rates(kappa)  # says that tokens have no rates
        if self.confidences is not None and len(self.confidences) != draft.states:
            raise ParameterError(
                "confidences",
                f"confidences has {len(self.confidences)} entries; allowed: {draft.states}, one per state",
            )
        if kappa > len(draft.alphas):
            most = len(draft.alphas)
            told = f"kappa = {kappa} is beyond the {most} measured positions; allowed: 0 ≤ kappa ≤ {most}"
            raise ParameterError("kappa", told)
        table = RoundTable()
        if kappa == 0:
            table.add([(1.0, table.end(0, 0))])
            return table
        level: dict[_Key, int] = {(0, -1, 0, 0): table.reserve()}
        for depth in range(1, kappa + 1):
            level = self._level(table, level, draft, depth, kappa)
            if len(table.states) > STATES_LIMIT:
                told = f"theta = {self.theta:g} leaves too many products of confidences"
                raise ParameterError("theta", f"{told}; allowed: a larger theta, a smaller kappa, or fewer states")
        return table

    def _level(
        self, table: RoundTable, level: dict[_Key, int], draft: DraftLaw, depth: int, kappa: int
    ) -> dict[_Key, int]:
        """Fill the states in which draft ``depth`` is made; returns those of the next one."""
        alphas = draft.alphas[depth - 1]
        believed = self.confidences or alphas
        following: dict[_Key, int] = {}
        for (before, kept, lost, product), number in level.items():
            law = draft.first if depth == 1 else draft.moves[before]
            outcomes = list[tuple[float, int | End]]()
            for state, chance in enumerate(law):
                here = product + _logarithm(believed[state]) if self.rule == "survival" else 0
                below = depth >= self.kmin and self._below(here, believed[state])
                if below and not self.submits:
                    known = depth - 1 if kept < 0 else kept
                    outcomes.append((chance, table.end(known, depth - 1, steps=depth)))
                    continue
                stops = depth == kappa or below
                verdicts = [(alphas[state], -1), (1.0 - alphas[state], depth - 1)] if kept < 0 else [(1.0, kept)]
                where = state if kept < 0 and draft.marked else lost
                for verdict, after in verdicts:
                    if chance * verdict == 0.0:
                        continue
                    if stops:
                        outcomes.append((chance * verdict, table.end(depth if after < 0 else after, depth, mark=where)))
                        continue
                    key = (state if draft.states > 1 else 0, after, where if after >= 0 else 0, here)
                    if key not in following:
                        following[key] = table.reserve()
                    outcomes.append((chance * verdict, following[key]))
            table.states[number] = outcomes
        return following

    def _below(self, product: int, confidence: float) -> bool:
        if self.rule == "confidence":
            return confidence < self.theta * (1.0 - _NEAR)
        return product < _logarithm(self.theta * (1.0 - _NEAR)) if self.theta > 0.0 else False


_UNIT = 2.0**-46
"""Logarithms of confidences as whole numbers: sums in any order are then the same product."""


def _logarithm(value: float) -> int:
    return round(math.log(value) / _UNIT) if value > 0.0 else -(10**18)
