"""The next window is drafted while the target verifies this one: PEARL."""

from __future__ import annotations

from typing import ClassVar, Literal

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.rounds import DraftLaw, End, RoundTable
from simspec.model.schemes.drafting import always_drafted
from simspec.model.schemes.scheme import Scheme, Schemes


@Schemes.add
class Ahead(Scheme):
    """Windows of κ drafts, each made while the one before is verified, as if that were accepted.

    A round is a pass of the target.  A full window has no bonus token: what follows has been drafted.  After a
    rejection a window is drafted alone, or, with ``pre_verify``, while the target judges its first draft.

    Parameters
    ----------
    pre_verify : bool

    References
    ----------
    Liu et al. (2025), PEARL: Parallel Speculative Decoding with Adaptive Draft Length.

    Examples
    --------
    >>> table = Ahead().rounds(DraftLaw(((0.5,),)), 1)
    >>> [(kind.tokens, kind.steps, kind.beside, kind.start) for kind in table.kinds]
    [(1, 1, 1, 1), (1, 1, 0, 0), (1, 0, 1, 1), (1, 0, 0, 0)]
    """

    usual_kappas: ClassVar[tuple[int, ...]] = tuple(range(1, 17))

    type: Literal["ahead"] = "ahead"
    pre_verify: bool = False

    def priced(self, cost: Cost) -> Cost:
        return always_drafted(cost)

    def rounds(self, draft: DraftLaw, kappa: int) -> RoundTable:
        rates = draft.rates(kappa)
        if kappa < 1 or len(rates) < kappa:
            raise ParameterError("kappa", f"kappa = {kappa} is out of range; allowed: 1 to the measured positions")
        if len(set(rates)) > 1:
            raise ParameterError("process", "rates differ by position, but windows follow each other; allowed: iid")
        table, rate = RoundTable(), rates[0]

        def window(steps: int, judged: int, first: int, warm: int) -> None:
            """States of a window of which the first ``judged`` drafts are accepted already."""
            for j in range(judged, kappa):
                full: int | End = table.end(
                    kappa - judged, kappa, steps, rejected=False, tokens=kappa - judged, start=warm, beside=kappa
                )
                following = first + j - judged + 1 if j + 1 < kappa else full
                lost = table.end(j - judged, kappa, steps, rejected=True, start=0)
                table.add([(rate, following), (1.0 - rate, lost)])

        if not self.pre_verify:
            window(kappa, 0, 0, kappa)
            window(0, 0, kappa, kappa)
            table.first = _long_run([(1.0, 0), (rate**kappa, kappa)], rate**kappa)
            return table
        more = kappa - 1  # states 1 …: the rest of a window whose first draft is known, then whole windows
        known = table.end(1, 1, 0, rejected=False, tokens=1, start=1, beside=kappa)
        table.add([(rate, known), (1.0 - rate, table.end(0, 1, 0, tokens=1, start=0, beside=kappa))])
        window(0, 1, 1, 1 + more)
        window(0, 0, 1 + more, 1 + more)
        table.first = _long_run([(1.0, 0), (rate if more else 0.0, 1), (rate**kappa, 1 + more)], rate**kappa)
        return table


def _long_run(visits: list[tuple[float, int]], full: float) -> list[tuple[float, int]]:
    """Law of the state a round starts in: visits between two rejections; the last state is entered once more by every
    full window, which happens with ``full`` each time."""
    *others, (entered, last) = visits
    if full == 1.0:
        return [(1.0, last)]
    visits = [*others, (entered / (1.0 - full), last)]
    total = sum(share for share, _ in visits)
    return [(share / total, state) for share, state in visits if share > 0.0]
