"""What would speculative rounds on a dense trace have accepted, at any κ?  By exact recursion, no verdict drawn.

Position i of a request begins a round with probability w_i.  Draft j of that round meets the chance at position
i + j − 1; a rejection there emits the corrected token in its place, so that the next round begins at i + j; a full
round emits a bonus token and the next begins at i + κ + 1.  Only rounds whose drafts all lie inside the trace are
counted: that depends on where a round begins, never on its outcome.  A pair of successive rounds is counted where the
second one's drafts lie inside too; where that begins does depend on what the first one accepted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simspec.evidence.dense import DenseTrace, Floats
from simspec.model.errors import ParameterError, shown
from simspec.stats.clusters import Figure, jackknife

LONGEST_REPLAY = 256


@dataclass(frozen=True, eq=False)
class Replay:
    """Expected rounds of a dense trace at one κ.

    Attributes
    ----------
    kappa : int
    counts : array (requests, kappa + 1)
        Expected number of rounds that accept j drafts.
    pairs : array (6, requests)
        Over successive rounds with lengths A and A': expected sums of 1, A, A', A·A', A², A'².
    """

    kappa: int
    counts: Floats
    pairs: Floats

    def accepted(self, level: float = 0.95) -> Figure:
        """Accepted drafts per round."""
        lengths = np.arange(self.kappa + 1.0)
        return jackknife(np.stack([self.counts @ lengths, self.counts.sum(axis=1)]), lambda s: s[0] / s[1], level)

    def full(self, level: float = 0.95) -> Figure:
        """Share of rounds that accept every draft."""
        return jackknife(np.stack([self.counts[:, -1], self.counts.sum(axis=1)]), lambda s: s[0] / s[1], level)

    def full_over_power(self, level: float = 0.95) -> Figure:
        """Share of full rounds over a^κ, a = accepted/examined: 1 where outcomes are independent with one rate."""
        reach = self.reach()
        sums = np.stack([reach[:, -1], reach[:, 0], reach[:, 1:].sum(axis=1), reach[:, :-1].sum(axis=1)])
        return jackknife(sums, lambda s: s[0] / s[1] / (s[2] / s[3]) ** self.kappa, level)

    def by_position(self, level: float = 0.95) -> list[Figure]:
        """Acceptance of draft j when examined, j = 1 … kappa."""
        reach = self.reach()
        pairs = [reach[:, [j, j - 1]].T for j in range(1, self.kappa + 1)]
        return [jackknife(pair, lambda s: s[0] / s[1], level) for pair in pairs]

    def reach(self) -> Floats:
        """Expected rounds of each request that accept at least j drafts, j = 0 … kappa."""
        return np.asarray(self.counts[:, ::-1].cumsum(axis=1)[:, ::-1])

    def profile_slope(self, level: float = 0.95) -> Figure:
        """Change of the acceptance rate from one draft position to the next, weighted by examined drafts."""
        reach = self.reach()
        positions = np.arange(1.0, self.kappa + 1)

        def value(s: Floats) -> Floats:
            accepted, weight = s[1:], s[:-1]
            centred = positions[:, None] - (positions[:, None] * weight).sum(axis=0) / weight.sum(axis=0)
            return np.asarray((centred * accepted).sum(axis=0) / (centred**2 * weight).sum(axis=0))

        return jackknife(reach.T, value, level)

    def successive(self, within: bool = False, level: float = 0.95) -> Figure:
        """Correlation of the accepted lengths of successive rounds; ``within``: around each request's own mean.

        Within requests of n pairs it is lowered by about 1/n, which is not put right, and memory reads lower still.
        Near the end of a request a first round that accepts much has no second one, so that such pairs are a little
        fewer than such rounds: both means are taken over pairs, not over rounds.
        """
        if not within:
            return jackknife(self.pairs, _correlation, level)
        n, x, y, xy, xx, yy = self.pairs
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.stack([xy - x * y / n, xx - x * x / n, yy - y * y / n])
        return jackknife(np.where(n > 0.0, own, 0.0), lambda s: s[0] / np.sqrt(s[1] * s[2]), level)


def _correlation(sums: Floats) -> Floats:
    n, x, y, xy, xx, yy = sums
    return np.asarray((xy / n - x * y / n**2) / np.sqrt((xx / n - (x / n) ** 2) * (yy / n - (y / n) ** 2)))


def replay(trace: DenseTrace, kappa: int) -> Replay:
    """Replay the rounds of a dense trace, in expectation over the verdicts.

    Parameters
    ----------
    trace : DenseTrace
        Without missing positions.
    kappa : int
        Drafts per round, 1 to 256 and at most the longest request.

    Returns
    -------
    Replay

    Raises
    ------
    ParameterError
        Positions are missing, or ``kappa`` is out of range.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Algorithm 1: an accepted prefix is the target's own text, so the chances that
    belong to that text are those a round meets, at any κ.

    Examples
    --------
    >>> own = replay(DenseTrace.of(np.array([0.5, 0.5, 1.0]), np.array([0, 3])), kappa=2)
    >>> own.counts  # a round at 0: lengths 0, 1, 2 with ½, ¼, ¼; one at 1, after a rejection: ½ of 0, ½ of 2
    array([[0.75, 0.25, 0.5 ]])
    """
    longest = int(trace.sizes.max(initial=0))
    if not 1 <= kappa <= min(LONGEST_REPLAY, longest):
        most = min(LONGEST_REPLAY, longest)
        raise ParameterError("kappa", f"kappa = {shown(kappa)} is out of range; allowed: 1 ≤ kappa ≤ {most}")
    if not trace.whole:
        raise ParameterError("alpha", "output positions are missing, so no round can be replayed; allowed: all of them")
    chances = trace.grid(trace.chance)
    windows = np.lib.stride_tricks.sliding_window_view(chances, kappa, axis=1)
    ends = np.zeros((*windows.shape[:2], kappa + 1))  # [r, i, j] = P(A = j | a round begins at i)
    ends[:, :, 1:] = np.cumprod(windows, axis=2)
    ends[:, :, 0] = 1.0
    ends[:, :, :-1] -= ends[:, :, 1:]
    starts = windows.shape[1]
    counted = np.arange(starts) <= (trace.sizes - kappa)[:, None]
    begins = np.zeros((trace.requests, starts + kappa + 1))
    begins[:, 0] = 1.0
    for i in range(starts):
        begins[:, i + 1 : i + kappa + 2] += begins[:, i, None] * ends[:, i]
    weight = np.where(counted, begins[:, :starts], 0.0)
    counts = np.einsum("ri,rij->rj", weight, ends)
    return Replay(kappa, counts, _pair_sums(ends, weight, counted))


def _pair_sums(ends: Floats, weight: Floats, counted: np.ndarray) -> Floats:
    """Sums over two rounds, the second of which begins j + 1 positions after the first when that accepts j."""
    requests, starts, outcomes = ends.shape
    lengths = np.arange(float(outcomes))
    moments = np.zeros((3, requests, starts + outcomes))
    moments[:, :, :starts] = [counted, counted * (ends @ lengths), counted * (ends @ lengths**2)]
    mass = weight[:, :, None] * ends
    out = np.zeros((6, requests))
    for j in range(outcomes):
        here, next_ = mass[:, :, j], moments[:, :, j + 1 : j + 1 + starts]
        n, second, squares = (here * next_).sum(axis=2)
        out += np.stack([n, j * n, second, j * second, j * j * n, squares])
    return out
