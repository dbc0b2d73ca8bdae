"""Where does the time of a token go?  From the ideal, κ + 1 tokens at one plain step, to what was measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from simspec.evidence.costs.points import AFFINE
from simspec.evidence.costs.round_costs import RoundCosts
from simspec.model.errors import ParameterError

DRAFTING, VERIFYING, FIXED = "drafting", "verify width", "fixed overhead"
ACCEPTANCE = "acceptance"
IDEAL = "ideal: every draft accepted, a round costs one plain step"
EDGE, ROLLBACK = "kernel edges", "rollback"
REST = "not explained by the costs given"
NO_EMPTY_ROUND = (
    "these costs have no row of the loop without drafts (kind loop, κ = 0), and a table has no straight line, so fixed "
    "overhead cannot be told from the rest"
)
_SLACK = 1e-9


@dataclass(frozen=True)
class Part:
    """A share of the time of a token.

    Attributes
    ----------
    name : str
    steps : float or None
        Plain steps per round; None for the tokens lost by rejections.
    per_token : float
        Plain steps per emitted token; the parts and the ideal add up to R/E.
    share : float
        Of the loss, R/E minus the ideal.
    without : float or None
        Speed-up if this part alone were gone.
    """

    name: str
    steps: float | None
    per_token: float
    share: float
    without: float | None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return dict(vars(self))


@dataclass(frozen=True)
class Prices:
    """What is known of the costs of a round, in plain target steps; None where it is not.

    Attributes
    ----------
    draft : float or None
        One draft token.
    verify : float or None
        Verifying one more token.
    fixed : float or None
        A round without drafts.
    slope : float or None
        Drafting and verifying one more token together.
    edges, rollback : float
        Per round: jumps of the pass at widths below its own, beyond ``slope``; rejections.
    origin, note : str
        Where they come from; what they cannot tell.
    """

    draft: float | None = None
    verify: float | None = None
    fixed: float | None = None
    slope: float | None = None
    edges: float = 0.0
    rollback: float = 0.0
    origin: str = ""
    note: str = ""

    @classmethod
    def of(cls, costs: RoundCosts, drafts: float | None = None) -> Prices:
        """From a κ sweep or given costs, for rounds of ``drafts`` drafts.

        A straight line gives the fixed part where it meets κ = 0.  A table does only where it holds the loop without
        drafts; its edges are known in any case.

        Examples
        --------
        >>> own = Prices.of(RoundCosts.affine(1.5, 0.25))
        >>> own.fixed, own.slope, own.draft
        (1.5, 0.25, None)
        """
        if costs.given is not None and not costs.given.tables():
            cost = costs.given
            return cls(cost.c_d, cost.c_v, cost.c0, cost.c_d + cost.c_v, origin=costs.origin)
        if costs.model == AFFINE:
            fixed, slope = float(costs.mean[0]), float(costs.mean[1] - costs.mean[0])
            return cls(costs.draft, None, fixed, slope, origin=costs.origin)
        jumps = math.fsum(edge.jump for edge in costs.edges if drafts is not None and edge.above <= drafts + _SLACK)
        empty = _without_drafts(costs)
        if empty is None:
            return cls(costs.draft, edges=jumps, origin=costs.origin, note=NO_EMPTY_ROUND)
        slope_there = None
        if drafts and not costs.extrapolated(drafts):
            slope_there = (costs.at(drafts) - empty - jumps) / drafts
        return cls(costs.draft, None, empty, slope_there, jumps, origin=costs.origin)


def _without_drafts(costs: RoundCosts) -> float | None:
    """A round of the loop without drafts, where it was measured or given; no line is drawn through a table."""
    if costs.given is None and costs.off > 1.0 + _SLACK:
        return costs.off
    return None if costs.extrapolated(0) else costs.at(0)


def split(round_cost: float, emitted: float, drafts: float, prices: Prices) -> tuple[Part, ...]:
    """The loss in plain steps per token: R/E = 1/(κ + 1) + (1/E − 1/(κ + 1)) + (D + V + F)/E.

    Acceptance is what rejections cost at rounds of one plain step; the parts of R − 1 are spread over the tokens that
    come out.  What the prices cannot tell apart is one part.

    Parameters
    ----------
    round_cost : float
        R, at least 1.
    emitted : float
        E.
    drafts : float
        Drafts per round, κ.
    prices : Prices

    Returns
    -------
    tuple of Part
        Of which ``per_token`` and the ideal add up to R/E.

    Examples
    --------
    >>> parts = split(1.5, 2.0, 3, Prices(draft=0.1))
    >>> [(part.name, round(part.per_token, 3)) for part in parts]
    [('acceptance', 0.25), ('drafting', 0.15), ('verify width and fixed overhead together', 0.1)]
    """
    ideal, measured = 1.0 / (drafts + 1.0), round_cost / emitted
    loss = measured - ideal
    out = [_part(ACCEPTANCE, None, 1.0 / emitted - ideal, loss, (drafts + 1.0) / round_cost)]
    for name, steps in _steps(round_cost - 1.0, drafts, prices):
        left = round_cost - steps
        out.append(_part(name, steps, steps / emitted, loss, emitted / left if left > _SLACK else None))
    return tuple(out)


def _part(name: str, steps: float | None, per_token: float, loss: float, without: float | None) -> Part:
    return Part(name, steps, per_token, per_token / loss if loss > _SLACK else math.nan, without)


def _steps(excess: float, drafts: float, prices: Prices) -> list[tuple[str, float]]:
    """R − 1 by name, in plain steps per round; what is not known apart is one entry."""
    if drafts == 0.0:
        return [(FIXED, excess)]
    apart = {name: steps for name, steps in ((EDGE, prices.edges), (ROLLBACK, prices.rollback)) if steps}
    draft, verify = prices.draft, prices.verify
    if prices.slope is not None:  # of slope = draft + verify, one gives the other
        draft, verify = (
            prices.slope - verify if draft is None and verify is not None else draft,
            prices.slope - draft if verify is None and draft is not None else verify,
        )
    fixed = None if prices.fixed is None else (prices.fixed - 1.0) / drafts
    per_draft = {DRAFTING: draft, VERIFYING: verify, FIXED: fixed}
    if prices.slope is not None and draft is None:
        per_draft = {_joined([DRAFTING, VERIFYING]): prices.slope, FIXED: fixed}
    known = {name: price * drafts for name, price in per_draft.items() if price is not None} | apart
    unknown = [name for name, price in per_draft.items() if price is None]
    rest = excess - math.fsum(known.values())
    if unknown:
        known[_joined(unknown)] = rest
    elif abs(rest) > _SLACK * (1.0 + abs(excess)):
        known[REST] = rest
    return list(known.items())


def _joined(names: list[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} (what is left)"
    return f"{', '.join(names[:-1])} and {names[-1]} together"


def check_price(name: str, value: float | None) -> None:
    """Refuse a price that cannot be."""
    if value is not None and not 0.0 <= value < math.inf:
        flag = "--" + name.replace("_", "-")
        raise ParameterError(name, f"{flag} = {value:g} is out of range; allowed: a number of at least 0")
