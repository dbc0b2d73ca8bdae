"""What does a process say of the drafts of one window, for schemes that draft otherwise than in a chain?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simspec.model.chains import Hmm, TokenChain, closed_classes, normalised
from simspec.model.errors import ParameterError
from simspec.model.iid import Iid
from simspec.model.markov import Markov
from simspec.model.position import Position
from simspec.model.process import Process
from simspec.model.rounds import DraftLaw
from simspec.model.survival import Survival


def _iid(process: Iid, kappa: int) -> DraftLaw:
    return _rates([process.alpha] * kappa)


def _position(process: Position, kappa: int) -> DraftLaw:
    return _rates(list(process.alphas[:kappa]))


def _survival(process: Survival, kappa: int) -> DraftLaw:
    rates, before = list[float](), 1.0
    for reached in process.survival[:kappa]:
        rates.append(reached / before if before > 0.0 else 0.0)
        before = reached
    return _rates(rates)


def _markov(process: Markov, kappa: int) -> DraftLaw:
    after = min(max(process.alpha + process.rho * (1.0 - process.alpha), 0.0), 1.0)
    return _rates([process.alpha, *[after] * (kappa - 1)][:kappa])


def _hmm(process: Hmm, kappa: int) -> DraftLaw:
    rows = normalised(process.P)
    law = _long_run(rows, sorted(closed_classes(process.P)[0]))
    return DraftLaw((tuple(process.alphas),) * kappa, tuple(law), tuple(tuple(row) for row in rows))


def _tokens(process: TokenChain, kappa: int) -> DraftLaw:
    return DraftLaw((), tokens=tuple(tuple(row) for row in normalised(process.target)))


def _long_run(rows: list[list[float]], closed: list[int]) -> list[float]:
    """Long-run law of a chain with one closed class: states are removed one by one, so that nothing cancels."""
    left = [[rows[i][j] for j in closed] for i in closed]
    for k in range(len(closed) - 1, 0, -1):
        leaving = sum(left[k][:k])
        for i in range(k):
            left[i][k] /= leaving
            for j in range(k):
                left[i][j] += left[i][k] * left[k][j]
    law = [1.0]
    for k in range(1, len(closed)):
        law.append(sum(law[i] * left[i][k] for i in range(k)))
    out = [0.0] * len(rows)
    for state, share in zip(closed, law, strict=True):
        out[state] = share / sum(law)
    return out


def _rates(rates: list[float]) -> DraftLaw:
    return DraftLaw(tuple((min(rate, 1.0),) for rate in rates))


DRAFT_LAWS: dict[tuple[str, str], Callable[[Any, int], DraftLaw]] = {
    ("iid", "window"): _iid,
    ("position", "window"): _position,
    ("survival", "window"): _survival,
    ("markov", "window"): _markov,
    ("hmm", "window"): _hmm,
    ("token_chain", "lane"): _tokens,
}
"""(type, independent unit) → the drafts of a window."""


def draft_law(process: Process, kappa: int) -> DraftLaw:
    """What schemes may use of a process, for ``kappa`` depths, or as many as were measured.

    Raises
    ------
    ParameterError
        Windows depend on each other, or a rate holds for a whole window: branches would share what is not in a rate.

    Examples
    --------
    >>> draft_law(Survival(survival=(0.8, 0.4)), 2).rates(2)
    [0.8, 0.5]
    """
    known = DRAFT_LAWS.get((process.type, process.unit))
    if known is None:
        allowed = ", ".join(sorted({kind for kind, _ in DRAFT_LAWS}))
        told = f"process.type = {process.type!r} has no drafts for schemes but a chain"
        raise ParameterError("process.type", f"{told}; allowed: {allowed}, with independent windows")
    longest = process.longest_draft
    return known(process, kappa if longest is None else min(kappa, longest))
