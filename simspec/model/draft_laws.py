"""What does a process say of the drafts of one window, for schemes that draft otherwise than in a chain?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from simspec.model.chains import Hmm, TokenChain, closed_classes, normalised
from simspec.model.errors import ParameterError
from simspec.model.iid import Iid
from simspec.model.long_run import long_run
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
    return _rates(conditional(process.survival[:kappa]))


def _markov(process: Markov, kappa: int) -> DraftLaw:
    after = min(max(process.alpha + process.rho * (1.0 - process.alpha), 0.0), 1.0)
    return _rates([process.alpha, *[after] * (kappa - 1)][:kappa])


def _hmm(process: Hmm, kappa: int) -> DraftLaw:
    rows = normalised(process.P)
    law = long_run(rows, sorted(closed_classes(process.P)[0]))
    return DraftLaw((tuple(process.alphas),) * kappa, tuple(law), tuple(tuple(row) for row in rows))


def _tokens(process: TokenChain, kappa: int) -> DraftLaw:
    target, draft = (tuple(tuple(row) for row in normalised(rows)) for rows in (process.target, process.draft))
    return DraftLaw((), tokens=target, drafts=draft)


def conditional(curve: Sequence[float]) -> list[float]:
    """Chance of each draft given that those before it were accepted, from the survival curve.

    Examples
    --------
    >>> conditional([0.8, 0.4, 0.0, 0.0])
    [0.8, 0.5, 0.0, 0.0]
    """
    return [min(b / a, 1.0) if a > 0.0 else 0.0 for a, b in itertools.pairwise((1.0, *curve))]


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
        told = f"process.type = {process.type!r} says no rates of drafts to schemes but a chain"
        why = _WHY.get(process.type, "its windows depend on each other, or share a rate")
        known_types = {kind for kind, _ in DRAFT_LAWS} | {"beta_mixture", "discrete_mixture", "drift"}
        allowed = ", ".join(sorted(known_types - {process.type}))
        raise ParameterError("process.type", f"{told}: {why}; allowed: {allowed}")
    longest = process.longest_draft
    return known(process, kappa if longest is None else min(kappa, longest))


_WHY = {
    "gaussian_copula_ar1": "they are integrals; give its survival curve as a process of type survival instead",
    "trace": "they are measured ones; fit a process to the trace first",
    "beta_mixture": "a rate of any value would hold for a request; give a discrete_mixture, or no request_tokens",
}
