"""What do counts say at a cost?  Estimates per κ with intervals, and which κ is best.

Every array ends in κ; what stands before follows from `simspec.stats.counts`: nothing for one simulation at one cost,
(simulations, costs) for many at many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.model import Cost
from simspec.stats.counts import Counts, Rare
from simspec.stats.intervals import Floats, Ratio, proportion, quantiles, ratio, standard_error, student
from simspec.stats.prices import Prices

TOKEN_QUANTILES = (5, 50, 95)
COST_QUANTILES = (50, 95, 99)
BANDS = (0.01, 0.02)
TOKEN_COST_QUANTILES = (50, 99)


def window_estimates(counts: Counts, level: float) -> dict[str, Any]:
    """Everything that does not depend on cost: name → array over κ, intervals as ``*_low`` and ``*_high``."""
    t, rare, n, weight = student(level, counts.units), counts.rare(level), counts.total("n"), counts.weight
    accepted, rounds, rejected = counts.by_unit("accepted"), counts.by_unit("n"), counts.by_unit("rejected")
    kappas = np.array(counts.kappas, float)
    out: dict[str, Any] = {"kappa": np.array(counts.kappas), "rounds": n}

    mean, tokens = ratio(accepted, rounds, weight), ratio(counts.by_unit("tokens"), rounds, weight)
    centre = mean.value[..., None]
    centred = counts.by_unit("accepted_sq") - 2 * centre * accepted + centre**2 * rounds
    variance = ratio(centred, rounds, weight)
    if counts.fresh:  # the units are single windows: a mean varies as they do, that of A + 1 like that of A
        errors = (np.sqrt(np.maximum(variance.value, 0.0) / max(1, counts.units - 1)),) * 2
    else:
        errors = mean.error, tokens.error
    _put(out, "mean_accepted", mean.value, np.maximum(t * errors[0], rare.mean), 0.0, kappas)
    least = 1.0 if counts.fresh else 0.0
    _put(out, "mean_tokens", tokens.value, np.maximum(t * errors[1], rare.mean), least, kappas + 1)
    _put(out, "var_accepted", variance.value, np.maximum(t * variance.error, rare.square), 0.0, kappas**2 / 4 + 1e-12)
    _put_proportion(out, "p_zero_accepted", counts, ratio(counts.by_unit("zero"), rounds, weight), n, level)
    _put_proportion(out, "p_full", counts, ratio(rounds - rejected, rounds, weight), n, level)
    examined = counts.total("accepted") + counts.total("rejected")
    own = ratio(accepted, accepted + rejected, weight)
    _put_proportion(out, "alpha_examined", counts, own, examined, level, dependent=True)
    out |= {"mean_drafted": counts.total("drafted") / n, "mean_steps": counts.mean_steps}
    out["mean_wasted"] = out["mean_drafted"] - out["mean_accepted"]
    found = quantiles(counts.cell_tokens * 1.0, counts.rounds, [share / 100 for share in TOKEN_QUANTILES])
    return out | {f"tokens_p{share:02d}": value for share, value in zip(TOKEN_QUANTILES, found, strict=True)}


def _put(out: dict[str, Any], name: str, value: Floats, half: Floats, least: Any, most: Any) -> None:
    out[name] = value
    out[f"{name}_low"] = np.clip(value - half, least, most)
    out[f"{name}_high"] = np.clip(value + half, least, most)


def loss_estimates(counts: Counts, level: float) -> dict[str, Any]:
    """Share of the emitted tokens that count as lost, where a scheme counts them: name → array over κ.

    Examples
    --------
    >>> from simspec.kernels.lower_schemes import tally_of
    >>> from simspec.model import RoundKind
    >>> kinds = (RoundKind(1, 1, 1, False, 2, lost=1), RoundKind(0, 1, 1, True, 1))
    >>> counts = Counts.of([tally_of(kinds, np.array([[60, 40], [70, 30]]), 1)], fresh=False)
    >>> own = loss_estimates(counts, 0.95)  # 130 of 330 tokens, in two lanes
    >>> [round(float(own[name][0]), 3) for name in ("loss_per_token", "loss_per_token_low", "loss_per_token_high")]
    [0.394, 0.341, 0.449]
    """
    assert counts.kinds is not None  # a chain counts no tokens as lost
    out: dict[str, Any] = {}
    lost = ratio(counts.kinds.lost_by_unit, counts.by_unit("tokens"), counts.weight)
    _put_proportion(out, "loss_per_token", counts, lost, counts.total("tokens"), level, dependent=True, undrafted=True)
    return out


def _put_proportion(
    out: dict[str, Any],
    name: str,
    counts: Counts,
    at: Ratio,
    trials: NDArray[np.int64],
    level: float,
    dependent: bool = False,
    undrafted: bool = False,
) -> None:
    """``dependent`` marks a ratio whose number of trials is random: its error always comes from units; ``undrafted``
    one that is not certain at κ = 0."""
    fresh = counts.fresh and not dependent
    low, high = proportion(at.value, None if fresh else at.error, trials, counts.units, fresh, level)
    certain = (np.array(counts.kappas) == 0) & (not undrafted)
    out[name] = at.value
    out[f"{name}_low"] = np.where(certain, at.value, low)
    out[f"{name}_high"] = np.where(certain, at.value, high)


def speedups(counts: Counts, cost: Cost | Prices) -> Ratio:
    """Throughput per κ against one plain target step: E[tokens]/E[cost], a ratio of means."""
    return ratio(counts.by_unit("tokens"), counts.cost_by_unit(cost), counts.weight)


def priced_estimates(counts: Counts, cost: Cost | Prices, level: float) -> dict[str, Any]:
    """Everything that depends on cost: name → array over κ, or one value for the point."""
    price = cost if isinstance(cost, Prices) else Prices.of(cost, counts.longest)
    t, rare, c_r = student(level, counts.units), counts.rare(level), price.c_r[..., None]
    by_unit, tokens = counts.cost_by_unit(price), counts.by_unit("tokens")
    spent = ratio(by_unit, counts.by_unit("n"), counts.weight)
    speed = ratio(tokens, by_unit, counts.weight)
    out: dict[str, Any] = {}
    _put(out, "mean_round_cost", spent.value, np.maximum(t * spent.error, c_r * rare.rejection), 0.0, np.inf)
    spare = _spare(speed, spent, rare, c_r)
    _put(out, "speedup", speed.value, np.maximum(t * speed.error, spare), 0.0, np.inf)
    waits = counts.waits_by_unit(price)
    waiting = ratio(np.broadcast_to(waits, by_unit.shape), by_unit, counts.weight)
    _put(out, "straggling", waiting.value, t * waiting.error if waits.any() else np.zeros(()), 0.0, 1.0)
    if counts.steps is None:
        by_round = round_quantiles(counts.cell_costs(price), counts.cell_tokens, counts.rounds)
    else:  # a round takes as long as its step; which tokens it had then is not counted
        steps = counts.steps.sum(axis=-2)
        by_round = round_quantiles(counts.step_costs(price), np.full(steps.shape[-1], np.nan), steps)
    changed = counts.change_costs(price).sum(axis=-1) > 0.0  # by round it is not counted which of them paid for it
    out.update({name: np.where(changed, np.nan, value) for name, value in by_round.items()})
    if counts.fresh:  # a unit is a round
        out.update({f"unit_token_cost_p{s:02d}": out[f"round_token_cost_p{s:02d}"] for s in TOKEN_COST_QUANTILES})
    else:
        out.update(_unit_quantiles(counts, by_unit / tokens))
    out["unit_tokens"] = counts.total("tokens") / counts.units
    each = 1.0 - (1.0 - level) / max(1, len(counts.kappas) - 1)
    out.update(best_kappa(counts.kappas, speed, _spare(speed, spent, counts.rare(each), c_r), level))
    out["off_is_better"] = 1.0 / price.off > speed.value.max(axis=-1) + 1e-12
    return out


def round_quantiles(spent: Floats, tokens: NDArray[Any], rounds: NDArray[Any]) -> dict[str, Any]:
    """Cost of one round, and over its own tokens: what a user sees between two bursts.

    ``spent`` is the cost of the kinds of rounds (…, κ, cells), ``tokens`` what they emit (κ, cells), ``rounds`` how
    often each occurs (…, κ, cells).
    """
    out: dict[str, Any] = {}
    for name, values, shares in (
        ("round_cost", spent, COST_QUANTILES),
        ("round_token_cost", spent / tokens, TOKEN_COST_QUANTILES),
    ):
        found = quantiles(values, rounds, [share / 100 for share in shares])
        out |= {f"{name}_p{share:02d}": value for share, value in zip(shares, found, strict=True)}
    return out


def _unit_quantiles(counts: Counts, token_cost: Floats) -> dict[str, Any]:
    """Cost per token of a unit of N tokens: what a request pays; its mean over tokens is 1/S."""
    found = quantiles(token_cost, counts.weight, [share / 100 for share in TOKEN_COST_QUANTILES])
    return {f"unit_token_cost_p{share:02d}": value for share, value in zip(TOKEN_COST_QUANTILES, found, strict=True)}


def _spare(speed: Ratio, spent: Ratio, rare: Rare, c_r: Floats) -> Floats:
    """Plausible error of the speed-up from events too few to show in the spread of units."""
    return np.asarray((rare.mean + speed.value * c_r * rare.rejection) / spent.value)


def best_kappa(kappas: Sequence[int], speed: Ratio, spare: Floats, level: float) -> dict[str, Any]:
    """κ*, the κ that cannot be told from it, and the flatness bands.

    A κ is *indistinguishable* if the simultaneous interval (Bonferroni over the other κ) of its paired difference from
    the best, same units and same words, contains 0.  The set shrinks as the budget grows.
    """
    value = speed.value
    best = np.argmax(value >= value.max(axis=-1, keepdims=True) - 1e-12, axis=-1)[..., None]
    others = max(1, len(kappas) - 1)
    t = student(1.0 - (1.0 - level) / others, speed.units)
    top = np.take_along_axis(value, best, axis=-1)
    gap = value - top
    ahead = speed.influence - np.take_along_axis(speed.influence, best[..., None], axis=-2)
    error = standard_error(ahead, speed.weight)
    half = np.maximum(t * error, spare + np.take_along_axis(spare, best, axis=-1))
    half = np.where(np.arange(len(kappas)) == best, 0.0, half)
    star = np.array(kappas)[best[..., 0]]
    out: dict[str, Any] = {
        "kappa_star": star,
        "at_kappa_max": (star == kappas[-1]) & (star > 0),
        "behind_best": gap,
        "behind_best_low": gap - half,
        "behind_best_high": gap + half,
        "indistinguishable": ~(gap + half < -1e-12),  # an unknown error, of a single window, tells nothing apart
    }
    for band in BANDS:
        out[f"within_{band:.0%}".replace("%", "pct")] = value >= (1.0 - band) * top
    return out
