"""What do the counts of one simulation say at one cost?  Estimates per κ with intervals, and which κ is best."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.kernels.tally import SUMS, Tally
from simspec.model import Cost
from simspec.stats.intervals import (
    Floats,
    Ratio,
    effective_trials,
    proportion,
    quantile,
    ratio,
    standard_error,
    student,
)

TOKEN_QUANTILES = (5, 50, 95)
COST_QUANTILES = (50, 95, 99)
BANDS = (0.01, 0.02)
TOKEN_COST_QUANTILES = (50, 99)
FEW_EVENTS = 50
"""Below so many effective rejections (or acceptances) an interval from the spread of units is not trusted alone."""


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
        n, drafted = self.by_unit("n"), self.by_unit("drafted")
        spent = np.empty_like(n)
        for i, (kappa, (makes, _, rounds)) in enumerate(zip(self.kappas, self.seen, strict=True)):
            full = cost.base(kappa)
            shorter = sum(int(c) * (full - cost.base(int(d))) for d, c in zip(makes, rounds, strict=True) if d < kappa)
            missing = kappa * n[i].sum() - drafted[i].sum()
            # rounds cut short save in proportion to the drafts they lack: exact in total, per unit if cost is linear
            spent[i] = full * n[i] - (shorter / missing * (kappa * n[i] - drafted[i]) if missing > 0 else 0.0)
        return spent + cost.c_r * self.by_unit("rejected")

    @functools.cached_property
    def seen(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """Per κ: drafted, accepted and number of the rounds that occurred."""
        out = []
        for histogram in self.histograms:
            drafted, accepted = np.nonzero(histogram)
            out.append((drafted, accepted, histogram[drafted, accepted]))
        return out

    def rare(self, level: float) -> Rare:
        """The same for every cost, so computed once per level."""
        if level not in self._rare:
            self._rare[level] = self._find_rare(level)
        return self._rare[level]

    @functools.cached_property
    def _rare(self) -> dict[float, Rare]:
        return {}

    def _find_rare(self, level: float) -> Rare:
        """Largest plausible errors where rejections, or acceptances, are too few for the spread of units to show."""
        n = self.by_unit("n")
        chance: dict[str, Floats] = {}
        seen: dict[str, Floats] = {}
        for name, hits in (("rejection", self.by_unit("rejected")), ("acceptance", n - self.by_unit("zero"))):
            own = ratio(hits, n)
            low, high = proportion(own.value, own.error, self.total("n"), self.units, self.fresh, level)
            size = effective_trials(own.value, own.error, self.total("n"), self.units, self.fresh)
            chance[name] = np.maximum(high - own.value, own.value - low)
            seen[name], seen[f"no {name}"] = own.value * size, (1.0 - own.value) * size
        drafting = np.array(self.kappas) > 0
        few = drafting & (np.minimum(seen["rejection"], seen["acceptance"]) < FEW_EVENTS)
        few_ends = drafting & (np.minimum(seen["rejection"], seen["no rejection"]) < FEW_EVENTS)
        lost, gained = self._sizes()
        mean = np.maximum(chance["rejection"] * lost[0], chance["acceptance"] * gained[0])
        square = np.maximum(chance["rejection"] * lost[1], chance["acceptance"] * gained[1])
        ends = np.where(few_ends, chance["rejection"], 0.0)
        return Rare(np.where(few, mean, 0.0), np.where(few, square, 0.0), ends)

    def _sizes(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Root mean square, and of squares, of what a rejection loses (κ_i − A) and of what an acceptance gains (A)."""
        out = []
        for lost in (True, False):
            pairs = []
            for kappa, (drafted, accepted, rounds) in zip(self.kappas, self.seen, strict=True):
                size = (drafted - accepted) if lost else accepted
                count = np.where(size > 0, rounds, 0).astype(np.float64)
                total = count.sum()
                worst = float(kappa)  # nothing of the kind was seen: it may be as large as it can
                second = (count * size**2.0).sum() / total if total else worst**2
                fourth = (count * size**4.0).sum() / total if total else worst**4
                pairs.append((np.sqrt(second), np.sqrt(fourth)))
            out.append((np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])))
        return out[0], out[1]


@dataclass(frozen=True)
class Rare:
    """Per κ, 0 where events are plenty.

    Attributes
    ----------
    mean, square : float array (κ,)
        Plausible error of a mean of A, and of A², that the observed spread may not show.
    rejection : float array (κ,)
        Plausible error of the probability of a rejection.
    """

    mean: Floats
    square: Floats
    rejection: Floats


def window_estimates(counts: Counts, level: float) -> dict[str, Any]:
    """Everything that does not depend on cost: name → array over κ, intervals as ``*_low`` and ``*_high``."""
    t, rare, n = student(level, counts.units), counts.rare(level), counts.total("n")
    accepted, rounds = counts.by_unit("accepted"), counts.by_unit("n")
    kappas = np.array(counts.kappas, float)
    out: dict[str, Any] = {"kappa": np.array(counts.kappas), "rounds": n}

    mean = ratio(accepted, rounds)
    _put(out, "mean_accepted", mean.value, np.maximum(t * mean.error, rare.mean), 0.0, kappas)
    tokens = ratio(counts.by_unit("tokens"), rounds)
    least = 1.0 if counts.fresh else 0.0
    _put(out, "mean_tokens", tokens.value, np.maximum(t * tokens.error, rare.mean), least, kappas + 1)
    centred = counts.by_unit("accepted_sq") - 2 * mean.value[:, None] * accepted + mean.value[:, None] ** 2 * rounds
    variance = ratio(centred, rounds)
    _put(out, "var_accepted", variance.value, np.maximum(t * variance.error, rare.square), 0.0, kappas**2 / 4 + 1e-12)
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
    t, rare = student(level, counts.units), counts.rare(level)
    spent = ratio(counts.cost_by_unit(cost), counts.by_unit("n"))
    out: dict[str, Any] = {}
    _put(out, "mean_round_cost", spent.value, np.maximum(t * spent.error, cost.c_r * rare.rejection), 0.0, np.inf)
    speed = speedups(counts, cost)
    spare = _spare(speed, spent, rare, cost)
    _put(out, "speedup", speed.value, np.maximum(t * speed.error, spare), 0.0, np.inf)
    out.update(_cost_quantiles(counts, cost))
    each = 1.0 - (1.0 - level) / max(1, len(counts.kappas) - 1)
    out.update(best_kappa(counts.kappas, speed, _spare(speed, spent, counts.rare(each), cost), level))
    out["off_is_better"] = bool(1.0 / cost.off > speed.value.max() + 1e-12)
    return out


def _cost_quantiles(counts: Counts, cost: Cost) -> dict[str, Any]:
    """Cost of one round; and cost per token two ways: of one round over its tokens, of a unit over its N tokens.

    The first of the two is what a user sees between two bursts, the second what a request pays; its mean is 1/S.
    """
    names = [f"round_cost_p{p:02d}" for p in COST_QUANTILES] + [
        f"round_token_cost_p{p:02d}" for p in TOKEN_COST_QUANTILES
    ]
    out: dict[str, Any] = {name: np.empty(len(counts.kappas)) for name in names}
    for i, (kappa, (drafted, accepted, rounds)) in enumerate(zip(counts.kappas, counts.seen, strict=True)):
        base = np.array([cost.base(d) for d in range(kappa + 1)])
        spent = base[drafted] + cost.c_r * (accepted < drafted)
        for share in COST_QUANTILES:
            out[f"round_cost_p{share:02d}"][i] = quantile(spent, rounds, share / 100)
        for share in TOKEN_COST_QUANTILES:
            out[f"round_token_cost_p{share:02d}"][i] = quantile(spent / (accepted + 1), rounds, share / 100)
    tokens = counts.by_unit("tokens")
    ordered = np.sort(counts.cost_by_unit(cost) / tokens, axis=1)
    for share in TOKEN_COST_QUANTILES:
        place = max(0, int(np.ceil(share / 100 * ordered.shape[1])) - 1)
        out[f"unit_token_cost_p{share:02d}"] = ordered[:, place]
    out["unit_tokens"] = tokens.mean(axis=1)
    return out


def _spare(speed: Ratio, spent: Ratio, rare: Rare, cost: Cost) -> Floats:
    """Plausible error of the speed-up from events too few to show in the spread of units."""
    return np.asarray((rare.mean + speed.value * cost.c_r * rare.rejection) / spent.value)


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
        "at_kappa_max": bool(best == len(kappas) - 1 and kappas[best] > 0),
        "behind_best": gap,
        "behind_best_low": gap - half,
        "behind_best_high": gap + half,
        "indistinguishable": gap + half >= -1e-12,
    }
    for band in BANDS:
        out[f"within_{band:.0%}".replace("%", "pct")] = value >= (1.0 - band) * value[best]
    return out
