"""Is a simulation known as precisely as was asked for?  Every κ and cost of it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from simspec.model.stop import Stop
from simspec.run.columns import values

WIDTHS = {"mean_accepted": "mean_accepted", "speedup": "speedup", "p99": "unit_token_cost_p99"}
"""The column whose interval has to be narrow, by key of a ``[stop]`` table."""


def decided(stop: Stop, estimates: pa.Table) -> set[tuple[str, int]]:
    """(simulation id, seed) of which every row of the estimates is as precise as asked for."""
    enough = np.ones(len(estimates), np.bool_)
    for key, wanted in stop.keys().items():
        if key == "best_kappa":
            low, high, behind = (values(estimates, f"behind_best{end}") for end in ("_low", "_high", ""))
            best = values(estimates, "speedup") - behind
            enough &= (high < 0.0) | (low >= -wanted * best)
        else:
            low, high = (values(estimates, WIDTHS[key] + end) for end in ("_low", "_high"))
            enough &= high - low <= 2.0 * wanted
    runs = list(zip(*(values(estimates, name).tolist() for name in ("simulation_id", "seed")), strict=True))
    return set(runs) - {run for run, known in zip(runs, enough, strict=True) if not known}
