"""All masks of a block filled in parallel, those that are confident in each pass, or one: LLaDA, Fast-dLLM."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from simspec.model.rounds import DraftLaw, RoundTable
from simspec.model.schemes.scheme import Scheme, Schemes


@Schemes.add
class Unmask(Scheme):
    """Blocks of κ + 1 masks; a round is a pass, which fills every confident mask, or one if none is.

    The process says how likely a mask is to be confident in a pass.  Nothing is verified and nothing rejected: a pass
    that fills m masks emits m tokens and counts as m − 1 accepted.  Every pass runs over the whole block, κ + 1 wide.
    Speed says nothing of quality here.

    References
    ----------
    Nie et al. (2025), LLaDA; Wu et al. (2025), Fast-dLLM.

    Examples
    --------
    >>> table = Unmask().rounds(DraftLaw(((0.5,),)), 1)
    >>> [(kind.tokens, kind.start) for kind in table.kinds], table.first
    ([(1, 1), (2, 0), (1, 0)], [(0.5714285714285714, 0), (0.42857142857142855, 1)])
    """

    usual_kappas: ClassVar[tuple[int, ...]] = (7, 15, 31, 63)

    type: Literal["unmask"] = "unmask"

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        table, length = RoundTable(), kappa + 1
        chance = draft.rates(1)[0] if kappa else 1.0
        visits = [1.0] + [0.0] * length  # of the state with i masks filled, per block
        for filled in range(length):
            left = length - filled
            law = [math.comb(left, m) * chance**m * (1.0 - chance) ** (left - m) for m in range(left + 1)]
            law[1] += law[0]
            for m in range(1, left + 1):
                visits[filled + m] += visits[filled] * law[m]
            ends = [
                table.end(m - 1, kappa, steps=0, rejected=False, tokens=m, start=(filled + m) % length)
                for m in range(1, left + 1)
            ]
            table.add(list(zip(law[1:], ends, strict=True)))
        passes = sum(visits[:length])
        table.first = [(own / passes, state) for state, own in enumerate(visits[:length])]
        return table
