"""What is best at each point of a sweep?  One row per point, the exact answer beside the simulated one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simspec.report.page import paragraph, table
from simspec.report.points import Point
from simspec.report.select import shown, spread
from simspec.run.best_table import with_interval
from simspec.text import kappa_set, number

MOST = 500
"""Rows of the table; a longer one is read with `simspec show --all` or from the Parquet files."""
_HEADS = ("Process", "Costs", "Best κ", "Exact", "Cannot be told apart", "Within 2%", "Speed-up [interval]",
          "Exact at that κ", "E[tokens]", "P(A = 0)")  # fmt: skip


def summary(points: Sequence[Point]) -> str:
    """The table of best κ, with how many of the points it shows."""
    rows = [_row(point) for point in spread(points, MOST)]
    level = float(points[0].rows[0]["level"])
    intervals = (
        f"Intervals at {level:.0%}. Which κ cannot be told apart from the best comes from paired differences with a "
        "simultaneous interval; more windows leave fewer. "
    )
    intro = (
        f"One row per process and price; {shown(len(rows), len(points), 'points')}. "
        + ("" if points[0].known else intervals)
        + "Exact values come from closed forms and transfer matrices, never from the simulation."
    )
    if any(point.policy for point in points):
        intro += " Where a policy chooses κ there is no best one: its mean stands there, and more under Who chooses κ."
    return paragraph(intro) + "\n" + table(_HEADS, rows, "Best κ per point", words=(0, 1))


def _row(point: Point) -> list[str]:
    best, exact = point.best, point.exact
    star = int(best["kappa_star"])
    note = " (largest run)" if best["at_kappa_max"] else ""
    return [
        f"{point.label} · {point.what}" if point.label else point.what,
        point.price,
        f"off (best κ {star})" if best["off_is_better"] else f"{star}{note}" if not point.policy else _mean(best),
        str(exact.kappa_star) if exact else "–",
        "–" if point.policy else kappa_set(point.indistinguishable),
        "–" if point.policy else kappa_set([int(row["kappa"]) for row in point.rows if row["within_2pct"]]),
        with_interval(best, "speedup"),
        number(exact.speedup(star)) if exact else "–",
        number(best["mean_tokens"]),
        number(best["p_zero_accepted"]),
    ]


def _mean(row: dict[str, Any]) -> str:
    return f"mean {number(row.get('mean_kappa'), 2)}"
