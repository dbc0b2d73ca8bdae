"""The next window is drafted while the target verifies this one: PEARL."""

from __future__ import annotations

from typing import ClassVar, Literal

from simspec.model.cost import Cost
from simspec.model.rounds import DraftLaw, End, RoundTable
from simspec.model.schemes.drafting import always_drafted, one_rate
from simspec.model.schemes.scheme import Scheme, Schemes


@Schemes.add
class Ahead(Scheme):
    """Windows of κ drafts, each made while the one before is verified, as if that were accepted.

    A round is a pass of the target beside κ draft steps; the two wait for each other.  A full window has no bonus
    token: what follows has been drafted.  After a rejection a window is drafted alone.  With ``pre_verify`` the first
    draft of a window is judged while the window is made: after a rejection by a pass of its own, else by the pass over
    the window before, which gives one verdict more than it has drafts left to judge.

    Parameters
    ----------
    pre_verify : bool

    References
    ----------
    Liu et al. (2025), PEARL: Parallel Speculative Decoding with Adaptive Draft Length; verdicts and waiting as in its
    released code.

    Examples
    --------
    >>> table = Ahead().rounds(DraftLaw(((0.5,),)), 1)
    >>> [(kind.tokens, kind.steps, kind.beside, kind.start) for kind in table.kinds]
    [(1, 1, 1, 1), (1, 1, 1, 0), (1, 0, 1, 1), (1, 0, 1, 0)]
    """

    usual_kappas: ClassVar[tuple[int, ...]] = tuple(range(1, 17))

    type: Literal["ahead"] = "ahead"
    pre_verify: bool = False

    def priced(self, cost: Cost) -> Cost:
        return always_drafted(cost)

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        table, rate = RoundTable(), one_rate(draft, kappa, "windows")

        def verdicts(steps: int, warm: int) -> None:
            """States of a pass that judges κ drafts one by one; a full one leads to state ``warm``."""
            full = table.end(kappa, kappa, steps, rejected=False, tokens=kappa, start=warm, beside=kappa)
            for j in range(kappa):
                following: int | End = len(table.states) + 1 if j + 1 < kappa else full
                lost = table.end(j, kappa, steps, rejected=True, start=0, beside=kappa)
                table.add([(rate, following), (1.0 - rate, lost)])

        if self.pre_verify:  # the drafts from the second one of a window to the first one of the next
            warm, entered = 1, rate
            known = table.end(1, 1, 0, rejected=False, tokens=1, start=warm, beside=kappa)
            table.add([(rate, known), (1.0 - rate, table.end(0, 1, 0, tokens=1, start=0, beside=kappa))])
        else:
            warm, entered = kappa, rate**kappa
            verdicts(kappa, warm)
        verdicts(0, warm)
        table.first = _long_run(entered, warm, rate**kappa)
        return table


def _long_run(entered: float, warm: int, full: float) -> list[tuple[float, int]]:
    """Law of the state a round starts in: once at 0 between two rejections; at ``warm`` with ``entered``, and once more
    after every full window."""
    if full == 1.0:
        return [(1.0, warm)]
    visits = [(1.0, 0), (entered / (1.0 - full), warm)]
    total = sum(share for share, _ in visits)
    return [(share / total, state) for share, state in visits if share > 0.0]
