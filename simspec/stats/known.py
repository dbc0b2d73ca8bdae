"""What do exact laws say at a cost?  The columns of the estimates, each with an interval of no width, or unknown (NaN).

Unknown are quantiles of a cost where the end of a generation cuts drafts, since there is no joint law of drafts and
acceptances there, and whatever describes a unit where the unit is no window: units are how a simulation is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simspec.model import Cost
from simspec.stats.intervals import Floats, Ratio, quantiles
from simspec.stats.point import COST_QUANTILES, TOKEN_COST_QUANTILES, TOKEN_QUANTILES, best_kappa, round_quantiles
from simspec.stats.prices import Prices
from simspec.theory.law import WindowLaw, mean_round_cost, moments
from simspec.theory.scheme_means import SchemeLaw

Laws = Sequence[Sequence[WindowLaw]]
"""By simulation and κ."""
SCALE = 1000.0
"""Probabilities count as this many rounds: a share is then reached to within 1e-12."""
_MEANS = ("mean_accepted", "mean_tokens", "var_accepted", "p_zero_accepted", "p_full")


def known_estimates(
    laws: Laws, speed: Floats, costs: Sequence[Cost], level: float, independent: bool,
    steps_of: Callable[[int], int] = int,
) -> dict[str, Any]:  # fmt: skip
    """Everything `window_estimates` and `priced_estimates` give of counts, from laws.

    Parameters
    ----------
    laws : sequence of sequence of WindowLaw
        By simulation and κ, the same κ in each simulation.
    speed : float array (simulations, costs, κ)
        Exact speed-ups.
    costs : sequence of Cost
    level : float
        As written in the table; it changes nothing.
    independent : bool
        Whether the unit is the window.
    steps_of : callable
        Draft steps of a chain of so many drafts.

    Returns
    -------
    dict
        Name → array that broadcasts to (simulations, costs, κ), or (simulations, costs) of what belongs to a point.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> from simspec.theory import window
    >>> laws = [[window(Iid(alpha=0.5), kappa) for kappa in (0, 2)]]
    >>> found = known_estimates(laws, np.array([[[1.0, 1.75]]]), [Cost()], 0.95, True)
    >>> found["mean_tokens_high"].tolist(), found["kappa_star"].tolist(), found["tokens_p95"].tolist()
    ([[[1.0, 1.75]]], [[2]], [[[1.0, 3.0]]])
    """
    kappas = tuple(law.kappa for law in laws[0])
    found = {name: _stack(laws, name) for name in _MEANS}
    examined = _stack(laws, "mean_examined")
    drafted = _stack(laws, "mean_drafted")
    more = {"mean_drafted": drafted, "mean_wasted": drafted - found["mean_accepted"]}
    more["mean_steps"] = _steps(laws, steps_of)
    found["alpha_examined"] = found["mean_accepted"] / np.where(examined > 0.0, examined, np.nan)
    found["mean_round_cost"] = _mean_costs(laws, costs)
    found["speedup"] = speed
    out: dict[str, Any] = {"kappa": np.array(kappas), "rounds": np.array(0), "units": np.array(0), **more}
    for name, value in found.items():
        out |= {name: value, f"{name}_low": value, f"{name}_high": value}
    out |= _quantiles(laws, Prices.of(costs, kappas[-1]), independent)
    return _with_p99(out) | _best(kappas, speed, costs, level)


def _with_p99(out: dict[str, Any]) -> dict[str, Any]:
    return out | {f"unit_token_cost_p99_{end}": out["unit_token_cost_p99"] for end in ("low", "high")}


def _best(kappas: Sequence[int], speed: Floats, costs: Sequence[Cost], level: float) -> dict[str, Any]:
    still = np.zeros((*speed.shape, 2))  # two units that do not vary
    best = best_kappa(kappas, Ratio(speed, still, still, np.ones((*speed.shape, 1))), np.zeros(speed.shape), level)
    off = np.array([cost.off for cost in costs])
    return best | {"off_is_better": 1.0 / off > speed.max(axis=-1) + 1e-12}


def scheme_estimates(
    laws: Sequence[Sequence[SchemeLaw]], kappas: Sequence[int], speed: Floats, costs: Sequence[Cost], level: float
) -> dict[str, Any]:
    """The same from the means of schemes, and the law of A where they have it; whatever they do not give is NaN.

    Parameters
    ----------
    laws : sequence of sequence of SchemeLaw
        By simulation and κ, the same ``kappas`` in each.
    speed, costs, level
        As for `known_estimates`.

    Examples
    --------
    >>> from simspec.model import Iid
    >>> from simspec.model.schemes import Tree
    >>> from simspec.theory import scheme_law
    >>> laws = [[scheme_law(Tree(misses=(0.4,)), Iid(alpha=0.5), kappa) for kappa in (0, 2)]]
    >>> found = scheme_estimates(laws, (0, 2), np.array([[[1.0, 1.75]]]), [Cost()], 0.95)
    >>> found["mean_tokens_high"].tolist(), found["kappa_star"].tolist(), found["tokens_p95"].tolist()
    ([[[1.0, 1.75]]], [[2]], [[[nan, nan]]])
    """
    accepted, tokens, drafted, rejected = (
        np.array([[[getattr(law, name) for law in own]] for own in laws], np.float64)
        for name in ("mean_accepted", "mean_tokens", "mean_drafted", "p_rejected")
    )
    examined = accepted + rejected
    nothing = np.full(accepted.shape, np.nan)
    spread, zero = (np.array([[[of(law.pmf_accepted) for law in own]] for own in laws]) for of in (_variance, _zero))
    found = {
        "mean_accepted": accepted, "mean_tokens": tokens, "var_accepted": spread, "p_zero_accepted": zero,
        "p_full": 1.0 - rejected, "alpha_examined": accepted / np.where(examined > 0.0, examined, np.nan),
        "mean_round_cost": np.array([[[law.price(cost) for law in own] for cost in costs] for own in laws]),
        "speedup": speed,
    }  # fmt: skip
    out: dict[str, Any] = {"kappa": np.array(kappas), "rounds": np.array(0), "units": np.array(0)}
    out |= {"mean_drafted": drafted, "mean_steps": nothing, "mean_wasted": drafted - accepted}
    for name, value in found.items():
        out |= {name: value, f"{name}_low": value, f"{name}_high": value}
    quantiles_of = {
        "tokens": TOKEN_QUANTILES, "round_cost": COST_QUANTILES, "round_token_cost": TOKEN_COST_QUANTILES,
        "unit_token_cost": TOKEN_COST_QUANTILES,
    }  # fmt: skip
    out |= {f"{name}_p{share:02d}": nothing for name, shares in quantiles_of.items() for share in shares}
    return _with_p99(out) | {"unit_tokens": nothing} | _best(kappas, speed, costs, level)


def _steps(laws: Laws, steps_of: Callable[[int], int]) -> Floats:
    """Mean draft steps of a round; the end of a generation cuts some."""

    def mean(law: WindowLaw) -> float:
        full = steps_of(law.kappa)
        cut = () if law.p_cut is None else law.p_cut
        return full - sum(float(p) * (full - steps_of(drafted)) for drafted, p in enumerate(cut))

    return np.array([[[mean(law) for law in own]] for own in laws], np.float64)


def _variance(pmf: Floats | None) -> float:
    return np.nan if pmf is None else moments(pmf)[1]


def _zero(pmf: Floats | None) -> float:
    return np.nan if pmf is None else float(pmf[0])


def _stack(laws: Laws, name: str) -> Floats:
    return np.array([[[getattr(law, name) for law in own]] for own in laws], np.float64)


def _mean_costs(laws: Laws, costs: Sequence[Cost]) -> Floats:
    return np.array([[[mean_round_cost(law, cost) for law in own] for cost in costs] for own in laws])


def _quantiles(laws: Laws, prices: Prices, independent: bool) -> dict[str, NDArray[Any]]:
    """Quantiles of one round; those of a unit are the same where the unit is a window."""
    longest = laws[0][-1].kappa
    accepted = np.arange(longest + 1)
    rounds = np.zeros((len(laws), 1, len(laws[0]), longest + 1))
    for i, own in enumerate(laws):
        for j, law in enumerate(own):
            rounds[i, 0, j, : law.kappa + 1] = SCALE * law.pmf_accepted
    found = quantiles(np.broadcast_to(accepted + 1.0, rounds.shape[2:]), rounds, [s / 100 for s in TOKEN_QUANTILES])
    out = {f"tokens_p{share:02d}": value for share, value in zip(TOKEN_QUANTILES, found, strict=True)}
    drafted = np.array([[law.kappa] for law in laws[0]]) + 0 * accepted
    cut = np.array([[[law.p_cut is not None and bool(np.any(law.p_cut)) for law in own]] for own in laws])
    kept = np.minimum(accepted, drafted)
    spent = prices.base[..., drafted] + prices.c_r[..., None, None] * (kept < drafted)
    priced = round_quantiles(spent, kept + 1, rounds)
    out |= {name: np.where(cut, np.nan, value) for name, value in priced.items()}
    nothing = np.full(cut.shape, np.nan)
    for share in TOKEN_COST_QUANTILES:
        out[f"unit_token_cost_p{share:02d}"] = out[f"round_token_cost_p{share:02d}"] if independent else nothing
    return out | {"unit_tokens": _stack(laws, "mean_tokens") if independent else nothing}
