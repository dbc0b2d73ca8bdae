"""Is a simulation known as precisely as was asked for?  Every κ and cost of it; and if not, why was it left?"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from simspec.model.stop import Stop
from simspec.run.best_table import policy_names, process_names, scheme_names
from simspec.run.columns import rows_of, values
from simspec.text import clean, plural

WIDTHS = {"mean_accepted": "mean_accepted", "speedup": "speedup", "p99": "unit_token_cost_p99"}
"""The column whose interval has to be narrow, by key of a ``[stop]`` table."""


def decided(stop: Stop, estimates: pa.Table) -> set[tuple[str, int]]:
    """(simulation id, seed) of which every row of the estimates is as precise as asked for."""
    enough = np.ones(len(estimates), np.bool_)
    for key, wanted in stop.targets().items():
        if key == "best_kappa":
            low, high, behind = (values(estimates, f"behind_best{end}") for end in ("_low", "_high", ""))
            best = values(estimates, "speedup") - behind
            enough &= (high < 0.0) | (low >= -wanted * best)
        else:
            low, high = (values(estimates, WIDTHS[key] + end) for end in ("_low", "_high"))
            enough &= high - low <= 2.0 * wanted
    runs = list(zip(*(values(estimates, name).tolist() for name in ("simulation_id", "seed")), strict=True))
    return set(runs) - {run for run, known in zip(runs, enough, strict=True) if not known}


NAMED = 5
"""Simulations that are named in one line."""


def told(stop: Stop, estimates: pa.Table) -> list[str]:
    """Lines about a run that stops by itself: what was asked for, which simulations are not known so well, and why."""
    asked = ", ".join(f"{key} = {value:g}" for key, value in stop.targets().items())
    most = "all windows" if stop.budget is None else f"all windows, or {stop.budget:,.0f} in all"
    found = {name: values(estimates, name) for name in ("simulation_id", "kappa", "rounds", "windows", "looks")}
    known = {simulation for simulation, _ in decided(stop, estimates)}
    _, first, number = np.unique(found["simulation_id"].astype(str), return_index=True, return_inverse=True)
    places, once = np.sort(first), np.unique(number * 2**16 + found["kappa"], return_index=True)[1]  # not at each cost
    open_ones = np.array([place for place in places if found["simulation_id"][place] not in known], np.int64)
    spent = found["rounds"][open_ones] < found["windows"][open_ones]
    lines = [
        f"played until {asked}, or {most}: {len(places) - len(open_ones):,} of {plural(len(places), 'simulation')} "
        f"known so well, {int(found['rounds'][once].sum()):,} rounds."
    ]
    for why, own in (("all windows were played", open_ones[~spent]), ("the budget was spent", open_ones[spent])):
        if own.size:
            names = [f"  {clean(name)}" for name in _names(estimates, own[:NAMED])]
            more = [f"  … and {own.size - NAMED:,} more"] if own.size > NAMED else []
            lines += [f"not known so well when {why}: {own.size:,}", *names, *more]
    looks = int(found["looks"].max(initial=0))
    return [*lines, f"intervals are wider for {plural(looks, 'look')} at most, and hold at all looks together."]


def _names(estimates: pa.Table, places: np.ndarray) -> list[str]:
    """The simulations of some rows, as tables call them."""
    rows = rows_of(estimates.select([name for name in estimates.column_names if name.startswith(_NAMING)]), places)
    every = set(zip(*(values(estimates, name).tolist() for name in ("process", "parameters")), strict=True))
    processes, schemes, policies = process_names(rows, every)[0], scheme_names(rows), policy_names(rows)
    chains = values(estimates, "scheme").tolist().count("chain") == len(estimates)
    parts = zip(processes, [""] * len(rows) if chains else schemes, policies, strict=True)
    return [", ".join(part for part in own if part) for own in parts]


_NAMING = ("label", "process", "parameters", "scheme", "policy", "serving")
