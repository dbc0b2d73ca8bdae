"""Did the draft length follow what was accepted before?  Then rounds with long drafts come from good stretches.

A round after a full one is compared with rounds after a rejection at the same κ before, of the same request.  Where
somebody else chose κ, the next κ does not depend on which of the two it was.  Where a rule did, rates of deep drafts,
taken over the rounds that offered them, are those of the good stretches and not of all rounds; how much better these
rounds are shows in their first draft, which every round offers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.evidence.observed import Floats, Observed
from simspec.evidence.round_cells import begun_after

CODE = "KAPPA_FOLLOWS_ACCEPTANCE"
SURE = 5.0
"""Standard errors beyond which κ is said to follow: a false alarm of 6e-7."""
ENOUGH = 200
"""Rounds with long drafts behind a figure."""


@dataclass(frozen=True)
class KappaRule:
    """How κ moved.

    Attributes
    ----------
    follows : bool
        κ depends on the outcome of the round before.
    after_full, after_rejection : float
        Mean change of κ from one round to the next.
    errors : float
        How far the dependence is from none, in standard errors.
    depth : int
        A draft position that at least `ENOUGH` rounds offered, the deepest.
    first_at_depth, first : float
        Share of rounds that accept their first draft: of those offered ``depth`` drafts, and of all.
    """

    follows: bool
    after_full: float
    after_rejection: float
    errors: float
    depth: int
    first_at_depth: float
    first: float

    @property
    def says(self) -> str:
        """In one sentence."""
        if not self.follows:
            return "κ changes, but not with what was accepted in the round before"
        return (
            f"κ moves by {self.after_full:+.2f} after a full round and by {self.after_rejection:+.2f} after a "
            f"rejection: rounds that offered {self.depth} drafts accept their first one in "
            f"{self.first_at_depth:.1%} of cases, all rounds in {self.first:.1%}.  Rates of deep drafts are those of "
            "good stretches; i.i.d., position, geometric tail and Beta by round inherit that, processes with memory "
            "do not"
        )


def kappa_rule(observed: Observed) -> KappaRule | None:
    """Whether κ followed acceptance; None where κ is one number, or rounds have no order.

    Examples
    --------
    >>> up = Observed.in_order([[2, 4] * 300], [[2, 0] * 300])  # +2 after a full round, −2 after a rejection
    >>> kappa_rule(up).after_full
    2.0
    >>> kappa_rule(Observed.in_order([[4, 4]], [[4, 0]])) is None
    True
    """
    if not observed.ordered or len(observed.kappas) < 2:
        return None
    came = begun_after(observed)
    later = np.flatnonzero(came)
    if not len(later):
        return None
    before, now, full = observed.drafted[later - 1], observed.drafted[later], came[later] == 2
    strata = observed.group[later] * (observed.kappa_max + 1) + before
    values = _within(strata, full.astype(float)) * _within(strata, now.astype(float))
    error = float(np.sqrt((values * values).sum()))
    move = now - before
    depth = _deepest(observed)
    deep = observed.drafted >= depth
    first = observed.accepted > 0
    apart = float(values.sum() / error) if error > 0.0 else 0.0
    return KappaRule(
        follows=abs(apart) > SURE,
        after_full=float(move[full].mean()) if full.any() else 0.0,
        after_rejection=float(move[~full].mean()) if not full.all() else 0.0,
        errors=apart,
        depth=depth,
        first_at_depth=float(first[deep].mean()),
        first=float(first.mean()),
    )


def _within(strata: np.ndarray, values: Floats) -> Floats:
    """Less the mean of all in the same stratum."""
    _, own = np.unique(strata, return_inverse=True)
    return np.asarray(values - (np.bincount(own, values) / np.bincount(own))[own])


def _deepest(observed: Observed) -> int:
    offered = np.bincount(observed.drafted)[::-1].cumsum()[::-1]
    enough = np.flatnonzero(offered >= min(ENOUGH, offered[1] // 4))
    return int(max(1, enough.max(initial=1)))
