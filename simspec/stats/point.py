"""What do the counts of one simulation say at one cost?  Estimates per κ with intervals, and which κ is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.tally import SUMS, Tally
from simspec.model import Cost
from simspec.stats.intervals import Floats, Ratio, never_seen, proportion, quantile, ratio, standard_error, student

TOKEN_QUANTILES = (5, 50, 95)
COST_QUANTILES = (50, 95, 99)
BANDS = (0.01, 0.02)


@dataclass(frozen=True)
class Counts:
    """Tallies of one simulation at all its κ, stacked; what every estimate starts from.

    Attributes
    ----------
    kappas : tuple of int
    sums : int64 array (κ, units, 8)
        Totals per independent unit, columns as in `simspec.kernels.tally.SUMS`.
    histograms : list of int64 array
        ``[drafted, accepted]`` per κ.
    fresh : bool
        Whether windows are independent (then proportions use windows as trials).
    """

    kappas: tuple[int, ...]
    sums: NDArray[np.int64]
    histograms: tuple[NDArray[np.int64], ...]
    fresh: bool

    @staticmethod
    def of(tallies: Sequence[Tally], fresh: bool) -> Counts:
        return Counts(
            tuple(t.kappa for t in tallies),
            np.stack([t.sums for t in tallies]),
            tuple(t.histogram for t in tallies),
            fresh,
        )

    @property
    def units(self) -> int:
        return int(self.sums.shape[1])

    def by_unit(self, name: str) -> Floats:
        """One column as floats, (κ, units)."""
        return self.sums[:, :, SUMS.index(name)].astype(np.float64)

    def total(self, name: str) -> NDArray[np.int64]:
        """One column summed over units, (κ,)."""
        out: NDArray[np.int64] = self.sums[:, :, SUMS.index(name)].sum(axis=1)
        return out

    def cost_by_unit(self, cost: Cost) -> Floats:
        """Cost of the rounds of each unit in plain target steps, (κ, units)."""
        spent = cost.c0 * self.by_unit("n") + (cost.c_d + cost.c_v) * self.by_unit("drafted")
        return spent + cost.c_r * self.by_unit("rejected")

    def constant(self) -> NDArray[np.bool_]:
        """Per κ: whether every round accepted the same number, so that the spread of units says nothing."""
        return np.array([(h.sum(axis=0) > 0).sum() == 1 for h in self.histograms])

    def slack(self, level: float) -> Floats:
        """Largest plausible error of a mean accepted length whose every round was the same, (κ,); 0 elsewhere."""
        trials = self.total("n") if self.fresh else np.full(len(self.kappas), self.units)
        unseen = np.array([never_seen(float(n), level) for n in trials])
        unseen[np.array(self.kappas) == 0] = 0.0
        return np.where(self.constant(), unseen * np.array(self.kappas), 0.0)


def window_estimates(counts: Counts, level: float) -> dict[str, Any]:
    """Everything that does not depend on cost: name → array over κ, intervals as ``*_low`` and ``*_high``."""
    t, slack, n = student(level, counts.units), counts.slack(level), counts.total("n")
    accepted, rounds = counts.by_unit("accepted"), counts.by_unit("n")
    kappas = np.array(counts.kappas, float)
    out: dict[str, Any] = {"kappa": np.array(counts.kappas), "rounds": n}

    mean = ratio(accepted, rounds)
    _put(out, "mean_accepted", mean.value, np.maximum(t * mean.error, slack), 0.0, kappas)
    tokens = ratio(counts.by_unit("tokens"), rounds)
    _put(
        out, "mean_tokens", tokens.value, np.maximum(t * tokens.error, slack), 1.0 if counts.fresh else 0.0, kappas + 1
    )
    centred = counts.by_unit("accepted_sq") - 2 * mean.value[:, None] * accepted + mean.value[:, None] ** 2 * rounds
    variance = ratio(centred, rounds)
    _put(
        out, "var_accepted", variance.value, np.maximum(t * variance.error, slack * kappas), 0.0, kappas**2 / 4 + slack
    )
    _put_proportion(out, "p_zero_accepted", counts, ratio(counts.by_unit("zero"), rounds), n, level)
    _put_proportion(out, "p_full", counts, ratio(rounds - counts.by_unit("rejected"), rounds), n, level)
    examined = counts.by_unit("accepted") + counts.by_unit("rejected")
    _put_proportion(
        out, "alpha_examined", counts, ratio(accepted, examined), examined.sum(axis=1), level, dependent=True
    )
    for share in TOKEN_QUANTILES:
        out[f"tokens_p{share:02d}"] = np.array(
            [quantile(np.arange(h.shape[1]) + 1.0, h.sum(axis=0), share / 100) for h in counts.histograms]
        )
    return out


def _put(out: dict[str, Any], name: str, value: Floats, half: Floats, least: Any, most: Any) -> None:
    out[name] = value
    out[f"{name}_low"] = np.clip(value - half, least, most)
    out[f"{name}_high"] = np.clip(value + half, least, most)


def _put_proportion(
    out: dict[str, Any], name: str, counts: Counts, at: Ratio, trials: Any, level: float, dependent: bool = False
) -> None:
    """``dependent`` marks a ratio whose number of trials is random: its error always comes from units."""
    low, high = proportion(at.value, at.error, trials, counts.units, counts.fresh and not dependent, level)
    certain = np.array(counts.kappas) == 0
    out[name] = at.value
    out[f"{name}_low"] = np.where(certain, at.value, low)
    out[f"{name}_high"] = np.where(certain, at.value, high)


def speedups(counts: Counts, cost: Cost) -> Ratio:
    """Throughput per κ against one plain target step: E[tokens]/E[cost], a ratio of means."""
    return ratio(counts.by_unit("tokens"), counts.cost_by_unit(cost))


def priced_estimates(counts: Counts, cost: Cost, level: float) -> dict[str, Any]:
    """Everything that depends on cost: name → array over κ, or one value for the point."""
    t, slack = student(level, counts.units), counts.slack(level)
    spent = ratio(counts.cost_by_unit(cost), counts.by_unit("n"))
    unlucky = np.where(counts.constant(), cost.c_r * slack / np.maximum(np.array(counts.kappas), 1), 0.0)
    out: dict[str, Any] = {}
    _put(out, "mean_round_cost", spent.value, np.maximum(t * spent.error, unlucky), 0.0, np.inf)
    speed = speedups(counts, cost)
    spare = (slack + speed.value * unlucky) / spent.value
    _put(out, "speedup", speed.value, np.maximum(t * speed.error, spare), 0.0, np.inf)
    for share in COST_QUANTILES:
        out[f"round_cost_p{share:02d}"] = np.array([_cost_quantile(h, cost, share / 100) for h in counts.histograms])
    out.update(best_kappa(counts.kappas, speed, spare, level))
    out["off_is_better"] = bool(1.0 / cost.off > speed.value.max() + 1e-12)
    return out


def _cost_quantile(histogram: NDArray[np.int64], cost: Cost, share: float) -> float:
    drafted, accepted = np.nonzero(histogram)
    spent = np.array([cost.of_round(int(d), bool(a < d)) for d, a in zip(drafted, accepted, strict=True)])
    return quantile(spent, histogram[drafted, accepted], share)


def best_kappa(kappas: Sequence[int], speed: Ratio, spare: Floats, level: float) -> dict[str, Any]:
    """κ*, the κ that cannot be told from it, and the flatness bands.

    A κ is *indistinguishable* if the simultaneous interval (Bonferroni over the other κ) of its paired difference from
    the best, same lanes and same words, contains 0.  The set shrinks as the budget grows.
    """
    value = speed.value
    best = int(np.flatnonzero(value >= value.max() - 1e-12)[0])
    others = max(1, len(kappas) - 1)
    t = student(1.0 - (1.0 - level) / others, speed.influence.shape[1])
    gap = value - value[best]
    half = np.maximum(t * standard_error(speed.influence - speed.influence[best]), spare + spare[best])
    half[best] = 0.0
    out: dict[str, Any] = {
        "kappa_star": int(kappas[best]),
        "at_kappa_max": bool(best == len(kappas) - 1 and len(kappas) > 1),
        "behind_best": gap,
        "behind_best_low": gap - half,
        "behind_best_high": gap + half,
        "indistinguishable": gap + half >= -1e-12,
    }
    for band in BANDS:
        out[f"within_{band:.0%}".replace("%", "pct")] = value >= (1.0 - band) * value[best]
    return out
