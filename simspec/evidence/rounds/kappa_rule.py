"""Did the draft length follow what was accepted before?  Then rounds with long drafts come from good stretches.

Rounds that began alike are compared: of the same request, at the same κ in the round before.  Where somebody else chose
κ, the next κ does not depend on which of them came after a full round and which after a rejection; shuffling the two
among rounds alike then changes nothing, and tells how far chance alone goes.  A rule may look further back than one
round, so the same is asked of the outcomes two to four rounds before.  The end of a request is left out: drafts are
cut there to the tokens still wanted, of which a full round leaves fewer.

Where a rule chose κ, rates of deep drafts, taken over the rounds that offered them, are those of the good stretches and
not of all rounds; how much better these rounds are shows in their first draft, which every round offers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.evidence.observed import Floats, Ints, Observed

CODE = "KAPPA_FOLLOWS_ACCEPTANCE"
LAGS = 4
"""Rounds back to which a rule may look."""
SURE = 5.2
"""Standard errors beyond which κ is said to follow: a false alarm of 8e-7 over all lags."""
WEAK = 0.01
"""Correlation of κ with an outcome before it, among rounds alike, below which a rule would change no rate."""
ENOUGH = 200
"""Rounds with long drafts behind a figure."""


@dataclass(frozen=True)
class KappaRule:
    """How κ moved.

    Attributes
    ----------
    follows : bool
        κ depends on the outcome of a round before.
    lag : int
        Rounds back to the outcome on which it depends most.
    after_full, after_rejection : float
        Mean change of κ from one round to the next, by that outcome.
    errors : float
        How far the dependence is from none, in standard errors; 0 also where nothing can be compared.
    correlation : float
        Of κ with that outcome, among rounds alike.
    depth : int
        A draft position that at least `ENOUGH` rounds offered, the deepest.
    first_at_depth, first : float
        Share of rounds that accept their first draft: of those offered ``depth`` drafts, and of all.
    """

    follows: bool
    lag: int
    after_full: float
    after_rejection: float
    errors: float
    correlation: float
    depth: int
    first_at_depth: float
    first: float

    @property
    def says(self) -> str:
        """In one sentence."""
        if self.errors == 0.0:
            return "κ changes; too few rounds are alike to see whether it follows what was accepted"
        if not self.follows:
            return f"κ changes, but not with what was accepted in the {LAGS} rounds before"
        back = "" if self.lag == 1 else f" {self.lag} rounds before"
        return (
            f"κ moves by {self.after_full:+.2f} after a full round{back} and by {self.after_rejection:+.2f} after a "
            f"rejection{back}: rounds that offered {self.depth} drafts accept their first one in "
            f"{self.first_at_depth:.1%} of cases, all rounds in {self.first:.1%}.  Rates of deep drafts are those of "
            "good stretches; i.i.d., position, geometric tail and Beta by round inherit that, processes with memory "
            "do not"
        )


def kappa_rule(observed: Observed) -> KappaRule | None:
    """Whether κ followed acceptance; None where κ is one number, or rounds have no order.

    References
    ----------
    Mantel (1963), "Chi-square tests with one degree of freedom; extensions of the Mantel-Haenszel procedure", for the
    variance under shuffling within strata.

    Examples
    --------
    >>> up = Observed.in_order([[2, 4] * 300], [[2, 0] * 300])  # +2 after a full round, −2 after a rejection
    >>> kappa_rule(up) is None, kappa_rule(Observed.in_order([[4, 4]], [[4, 0]])) is None
    (False, True)
    """
    if not observed.ordered or len(observed.kappas) < 2:
        return None
    full = observed.accepted == observed.drafted
    found = [(*_dependence(observed, full, lag), lag) for lag in range(1, LAGS + 1)]
    errors, correlation, lag = max(found, key=lambda own: abs(own[0]))
    later = _later(observed, lag)
    move = observed.drafted[later] - observed.drafted[later - 1]
    well = full[later - lag]
    depth = _deepest(observed)
    first = observed.accepted > 0
    return KappaRule(
        follows=abs(errors) > SURE and abs(correlation) > WEAK,
        lag=lag,
        after_full=float(move[well].mean()) if well.any() else 0.0,
        after_rejection=float(move[~well].mean()) if not well.all() else 0.0,
        errors=errors,
        correlation=correlation,
        depth=depth,
        first_at_depth=float(first[observed.drafted >= depth].mean()),
        first=float(first.mean()),
    )


def _later(observed: Observed, lag: int) -> Ints:
    """Rounds with so many of their request before them, and not at its end."""
    rows, group = np.arange(len(observed.drafted)), observed.group
    emitted = np.concatenate([[0], np.cumsum(observed.accepted + 1)])
    left = emitted[observed.offsets[1:]][group] - emitted[:-1]
    longest = np.zeros(observed.groups, np.int64)
    np.maximum.at(longest, group, observed.drafted)
    return np.flatnonzero((rows - observed.offsets[:-1][group] >= lag) & (left > longest[group] + 1))


def _dependence(observed: Observed, full: np.ndarray, lag: int) -> tuple[float, float]:
    """Of κ on the outcome so many rounds before, among rounds alike: in standard errors, and as a correlation."""
    later = _later(observed, lag)
    alike = np.stack([observed.group[later], observed.drafted[later - 1], observed.drafted[later - lag]])
    _, stratum = np.unique(alike, axis=1, return_inverse=True)
    size = np.bincount(stratum.ravel())
    well, now = (
        _within(stratum.ravel(), size, values[at].astype(float))
        for values, at in ((full, later - lag), (observed.drafted, later))
    )
    both = float(well @ now)
    squares = [np.bincount(stratum.ravel(), values * values) for values in (well, now)]
    chance = float((squares[0] * squares[1] / np.maximum(size - 1, 1)).sum())
    if chance == 0.0:
        return 0.0, 0.0
    return both / chance**0.5, both / float(squares[0].sum() * squares[1].sum()) ** 0.5


def _within(stratum: Ints, size: Ints, values: Floats) -> Floats:
    """Less the mean of all in the same stratum."""
    return np.asarray(values - (np.bincount(stratum, values) / size)[stratum])


def _deepest(observed: Observed) -> int:
    offered = np.bincount(observed.drafted)[::-1].cumsum()[::-1]
    enough = np.flatnonzero(offered >= min(ENOUGH, offered[1] // 4))
    return int(max(1, enough.max(initial=1)))
