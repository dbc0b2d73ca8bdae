"""What does the construction of a correlation decide?  κ* and E[tokens] of every construction at the same α and ρ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simspec.model import Cost
from simspec.report.draw import BLUE, INK, ORANGE, SOFT, VERMILION, WIDTH, few_ticks, fit, place, render
from simspec.report.points import Point, construction, short_name
from simspec.run.best_table import with_interval
from simspec.text import kappa_set, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 6
NEAR = 5e-4
_FREE = "independent (ρ = 0)"
ROW, HEAD, FOOT = 38, 18, 24
SPLIT = 150
"""Where the axis of E[tokens] begins, in pixels."""
_CLEAR = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 0.6}


@dataclass(frozen=True)
class Group:
    """Constructions that share α, ρ and price; independent drafts of the same α, if there are, come last."""

    alpha: float
    rho: float
    cost: Cost
    members: tuple[tuple[str, Point], ...]
    free: Point | None = None

    @property
    def price(self) -> str:
        return self.members[0][1].price


def groups(points: Sequence[Point]) -> list[Group]:
    """Every (α, ρ ≠ 0, price) at which at least two constructions were run, in the order of the points.

    A process that implies its α and ρ joins those that state them if both agree to `NEAR`.
    """
    found: dict[tuple[float, float, Cost], list[Point]] = {}
    free: dict[tuple[float, Cost], Point] = {}
    implied = []
    for point in points:
        alpha, rho = point.rates
        if alpha is None:
            continue
        if rho and isinstance(point.parameters.get("rho"), float):
            found.setdefault((alpha, rho, point.cost), []).append(point)
        elif rho:
            implied.append((alpha, rho, point))
        elif point.kind == "iid" or (rho == 0 and (alpha, point.cost) not in free):
            free[alpha, point.cost] = point
    for alpha, rho, point in implied:
        own = (round(alpha, 3), round(rho, 3), point.cost)
        near = (key for key in found if _near(key, alpha, rho) and key[2] == point.cost)
        found.setdefault(next(near, own), []).append(point)
    out = []
    for (alpha, rho, cost), members in found.items():
        named = list(zip(_names(members), members, strict=True))
        measure = free.get((alpha, cost))
        if len(named) > 1:
            out.append(Group(alpha, rho, cost, (*named, *([] if measure is None else [(_FREE, measure)])), measure))
    return out


def _near(key: tuple[float, float, Cost], alpha: float, rho: float) -> bool:
    return abs(key[0] - alpha) <= NEAR and abs(key[1] - rho) <= NEAR


def _names(members: Sequence[Point]) -> list[str]:
    """Labels, or what the processes are; with all their parameters only where that does not tell them apart."""
    short = [point.label or short_name(point.kind, point.parameters) for point in members]
    full = [construction(point.kind, point.parameters) for point in members]
    return [
        name if short.count(name) == 1 or not more else f"{name}, {more}"
        for name, more in zip(short, full, strict=True)
    ]


def draw(group: Group, key: str) -> str:
    """The panel of a group as inline SVG: a row per construction, κ* left, E[tokens] right."""
    count = len(group.members)
    height = HEAD + ROW * count + FOOT

    def paint(figure: Figure) -> None:
        stars = place(figure, 10, FOOT, SPLIT - 34, ROW * count)
        tokens = place(figure, SPLIT, FOOT, WIDTH - SPLIT - 12, ROW * count)
        for axes in (stars, tokens):
            axes.set_ylim(count, 0)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
            axes.grid(visible=True, axis="x")
        for i, (name, point) in enumerate(group.members):
            figure.text(8 / WIDTH, 1 - (HEAD + ROW * i + 3) / height, fit(name, 52), va="top", fontsize=10.5,
                        bbox=_CLEAR)  # fmt: skip
            _star(stars, i + 0.68, point)
            _tokens(tokens, i + 0.68, point)
        _limits(stars, [k for _, point in group.members for k in _kappas(point)], 0.8, 1.4)
        means = [value for _, point in group.members for value in _means(point)]
        _limits(tokens, means, 0.12 * ((max(means) - min(means)) or 1.0), 0.42 * ((max(means) - min(means)) or 1.0))
        if group.free is not None:
            tokens.axvline(group.free.best["mean_tokens"], color=SOFT, linewidth=0.9, linestyle=(0, (3, 3)), zorder=0.9)
        few_ticks(stars.xaxis, 5, whole=True)
        few_ticks(tokens.xaxis, 5)
        for axes, text in ((stars, "best κ"), (tokens, "E[tokens] of a round at best κ")):
            axes.text(0, 1, text, transform=axes.transAxes, va="bottom", color=SOFT, fontsize=10.5)

    return render(paint, height, alternative(group), key)


def _kappas(point: Point) -> list[int]:
    return point.indistinguishable + ([point.exact.kappa_star] if point.exact else [])


def _means(point: Point) -> list[float]:
    best = point.best
    return [best["mean_tokens_low"], best["mean_tokens_high"], *_exact_tokens(point)]


def _exact_tokens(point: Point) -> list[float]:
    value = point.exact.mean_tokens(int(point.best["kappa_star"])) if point.exact else None
    return [] if value is None else [value]


def _limits(axes: Axes, values: Sequence[float], left: float, right: float) -> None:
    axes.set_xlim(min(values) - left, max(values) + right)


def _star(axes: Axes, y: float, point: Point) -> None:
    alike, star = point.indistinguishable, int(point.best["kappa_star"])
    axes.plot([alike[0] - 0.18, alike[-1] + 0.18], [y, y], color=ORANGE, alpha=0.6, linewidth=10, solid_capstyle="butt")
    axes.plot([star], [y], "D", color=VERMILION, markersize=6.5)
    if point.exact:
        _exact_mark(axes, point.exact.kappa_star, y)
    axes.annotate(
        kappa_set(alike), (alike[-1] + 0.18, y), (7, 0), textcoords="offset points", va="center", fontsize=10.5
    )


def _tokens(axes: Axes, y: float, point: Point) -> None:
    best = point.best
    axes.plot([best["mean_tokens_low"], best["mean_tokens_high"]], [y, y], color=BLUE, alpha=0.35, linewidth=9,
              solid_capstyle="butt")  # fmt: skip
    axes.plot([best["mean_tokens"]], [y], "|", color=BLUE, markersize=11, markeredgewidth=2)
    for value in _exact_tokens(point):
        _exact_mark(axes, value, y)
    axes.annotate(number(best["mean_tokens"]), (max(_means(point)), y), (6, 0), textcoords="offset points",
                  va="center", fontsize=10.5, bbox=_CLEAR)  # fmt: skip


def _exact_mark(axes: Axes, x: float, y: float) -> None:
    axes.plot([x], [y], "o", markersize=3.8, markerfacecolor="white", markeredgecolor=INK, markeredgewidth=0.8)


def numbers(group: Group) -> list[list[Any]]:
    """The figures of a panel: construction, κ*, κ alike, exact κ*, then E[tokens] and S with intervals and exact."""
    rows: list[list[Any]] = []
    for name, point in group.members:
        best, exact = point.best, point.exact
        star = int(best["kappa_star"])
        rows.append(
            [
                name,
                star,
                kappa_set(point.indistinguishable),
                exact.kappa_star if exact else "–",
                with_interval(best, "mean_tokens"),
                number(_exact_tokens(point)[0]) if _exact_tokens(point) else "–",
                with_interval(best, "speedup"),
                number(exact.speedup(star)) if exact else "–",
            ]
        )
    return rows


def alternative(group: Group) -> str:
    """The figure in one sentence."""
    parts = [
        f"{row[0]}: best κ {row[1]} (exact {row[3]}), E[tokens] {row[4]} (exact {row[5]})" for row in numbers(group)
    ]
    return f"At α = {group.alpha:g}, ρ = {group.rho:g}, {group.price}: {'; '.join(parts)}."
