"""How many drafts does a round accept?  Counted shares against the exact law, one small figure per simulation."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simspec import theory
from simspec.model import SimspecError
from simspec.report.draw import BLUE, INK, WIDTH, few_ticks, heading, place, render
from simspec.report.points import Point
from simspec.report.select import choose

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MOST = 6
HEIGHT = 230
LABELLED = 9
"""Bars up to which each carries its figure."""


@dataclass(frozen=True)
class Lengths:
    """Accepted lengths of one simulation at one κ.

    Attributes
    ----------
    point : Point
    kappa : int
    rounds : int
        Rounds counted.
    shares : tuple of float
        Share of rounds with A = 0 … κ.
    exact : tuple of float
        P(A = j); empty where no exact route exists.
    """

    point: Point
    kappa: int
    rounds: int
    shares: tuple[float, ...]
    exact: tuple[float, ...]

    @property
    def largest_gap(self) -> float:
        """Largest difference between a share and its probability."""
        return max(abs(a - b) for a, b in zip(self.shares, self.exact, strict=True))


def simulations(points: Sequence[Point]) -> list[Point]:
    """One point per simulation: the accepted length does not depend on the price.  Those that drafted at all."""
    first: dict[str, Point] = {}
    for point in points:
        if point.kappas[-1] > 0:
            first.setdefault(point.simulation_id, point)
    return list(first.values())


def lengths(points: Sequence[Point], counts: pd.DataFrame) -> list[Lengths]:
    """Accepted lengths of a few simulations, each at its κ*, or at its longest draft if κ* is 0."""
    chosen = choose(simulations(points), MOST)
    ids = [point.simulation_id for point in chosen]
    own = counts[counts["simulation_id"].astype(str).isin(ids)]
    seen: dict[tuple[str, int], dict[int, int]] = {}
    columns = (own[name].tolist() for name in ("simulation_id", "kappa", "accepted", "count"))
    for simulation, kappa, accepted, count in zip(*columns, strict=True):
        at = seen.setdefault((str(simulation), int(kappa)), {})
        at[int(accepted)] = at.get(int(accepted), 0) + int(count)
    found = []
    for point in chosen:
        kappa = int(point.best["kappa_star"]) or point.kappas[-1]
        tally = seen.get((point.simulation_id, kappa), {})
        if tally:
            found.append(_shares(point, kappa, tally))
    return found


def _shares(point: Point, kappa: int, tally: dict[int, int]) -> Lengths:
    rounds = sum(tally.values())
    exact: tuple[float, ...] = ()
    if point.process is not None:
        with contextlib.suppress(SimspecError):  # no exact route: the bars stand alone
            exact = tuple(float(p) for p in theory.window(point.process, kappa).pmf_accepted)
    return Lengths(point, kappa, rounds, tuple(tally.get(a, 0) / rounds for a in range(kappa + 1)), exact)


def histogram(own: Lengths, key: str) -> str:
    """Bars of the shares, open circles of the exact law, as inline SVG."""

    def paint(figure: Figure) -> None:
        axes = place(figure, 40, 36, WIDTH - 52, HEIGHT - 60)
        accepted = range(own.kappa + 1)
        percent = [100 * share for share in own.shares]
        axes.bar(accepted, percent, color=BLUE, alpha=0.55, width=0.72)
        heights = percent
        if own.exact:
            heights = [max(a, 100 * b) for a, b in zip(percent, own.exact, strict=True)]
            axes.plot(accepted, [100 * p for p in own.exact], "o", markersize=4.6, markerfacecolor="white",
                      markeredgecolor=INK, markeredgewidth=1)  # fmt: skip
        if own.kappa < LABELLED:
            for a, height in zip(accepted, heights, strict=True):
                axes.annotate(f"{percent[a]:.1f}", (a, height), (0, 5), textcoords="offset points", ha="center",
                              va="bottom", fontsize=10)  # fmt: skip
        axes.set_ylim(0, 1.16 * max(heights))
        axes.set_xlim(-0.6, own.kappa + 0.6)
        few_ticks(axes.xaxis, 9, whole=True)
        axes.set_xlabel("A, drafts accepted in a round", labelpad=3)
        heading(axes, "share of rounds, %")

    return render(paint, HEIGHT, alternative(own), key)


def alternative(own: Lengths) -> str:
    """The figure in one sentence."""
    shares = ", ".join(f"{a}: {100 * share:.2f}%" for a, share in enumerate(own.shares[:17]))
    gap = f"; largest difference from the exact law {own.largest_gap:.5f}" if own.exact else ""
    return f"Accepted length of {own.point.name} at κ = {own.kappa}, share of {own.rounds:,} rounds: {shares}{gap}."
