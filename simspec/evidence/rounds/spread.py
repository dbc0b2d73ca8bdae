"""Do groups of rounds differ beyond their process?  Squares of their excess, replicated with the fit's own freedom.

Few long groups make the sum of squares anything but normal, and a fit sets their total to what it observed: of two
groups one is then as far above as the other below.  Both are copied here: each replicate gets its own excess by group,
less what moving the parameters to that replicate's best values takes away (one step of scoring).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.evidence.observed import NO_UNIT, Floats, Ints, Observed


@dataclass(frozen=True, eq=False)
class Spread:
    """Σ over groups of (accepted − expected)², less the same of single rounds, of any outcome of these rounds.

    Attributes
    ----------
    centred : float array (rounds, kappa_max + 1)
        a − E[A].
    offsets : int array (groups + 1,)
        Groups without a round left out.
    step : float array (rounds, kappa_max + 1, parameters)
        How far a round that accepts a drafts moves each parameter.
    slope : float array (groups, parameters)
        How far a parameter moves a group's expected sum.
    unit : str
    """

    centred: Floats
    offsets: Ints
    step: Floats
    slope: Floats
    unit: str

    def of(self, accepted: Ints, fitted: bool = False) -> Floats:
        """The sum for outcomes (…, rounds); ``fitted``: the parameters already follow them."""
        at = np.arange(accepted.shape[-1])
        excess = self.centred[at, accepted]
        groups = np.add.reduceat(excess, self.offsets[:-1], axis=-1)
        if not fitted:
            groups = groups - self.step[at, accepted].sum(axis=-2) @ self.slope.T
        return np.asarray((groups**2).sum(axis=-1) - (excess**2).sum(axis=-1))

    def ratio(self, accepted: Ints, chance: Floats) -> float:
        """Variance of the groups' sums over what the process expects, of the rounds it was fitted to."""
        alone = float((self.centred[np.arange(len(accepted)), accepted] ** 2).sum())
        return (float(self.of(accepted, fitted=True)) + alone) / max(float((chance * self.centred**2).sum()), 1e-300)


def spread_of(rounds: Observed, chance: Floats, score: Floats, known: Floats) -> Spread | None:
    """The statistic of these rounds; None where groups are not told apart.

    Parameters
    ----------
    rounds : Observed
        One by one.
    chance : float array (rounds, kappa_max + 1)
        P(A = a) under the process.
    score : float array (rounds, kappa_max + 1, parameters)
        Slopes of log P(A = a).
    known : float array (parameters, parameters)
        Inverse of the information of these rounds.
    """
    if rounds.unit == NO_UNIT or rounds.groups < 2:
        return None
    offsets = np.append(rounds.offsets[:-1][np.diff(rounds.offsets) > 0], rounds.offsets[-1])
    lengths = np.arange(float(chance.shape[1]))
    centred = lengths - (chance @ lengths)[:, None]
    slopes = np.einsum("ta,ta,tai->ti", chance, centred, score)
    return Spread(centred, offsets, score @ known, np.add.reduceat(slopes, offsets[:-1], axis=0), rounds.unit)


def two_sided(seen: float, drawn: Floats) -> float:
    """Twice the smaller share of replicates at or beyond what was seen, which is counted in; at most 1."""
    least = min(int((drawn >= seen).sum()), int((drawn <= seen).sum()))
    return min(1.0, 2.0 * (1 + least) / (len(drawn) + 1))
