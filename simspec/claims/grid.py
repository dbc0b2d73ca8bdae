"""Claims C06, C26, C27: on which part of the article's grid does the best κ lie in [3, 7]?"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from simspec import theory
from simspec.claims.claim import Claim, between, integer
from simspec.claims.quantity import Formula, ShareInBand
from simspec.claims.search import peak
from simspec.claims.setup import GRID_ALPHAS, GRID_BETAS, KAPPAS, OVERHEADS, STANDARD, article_cost, best_at
from simspec.model import Cost, Iid
from simspec.theory import article


def claims() -> list[Claim]:
    """Rows of C06, C26 and C27."""
    return [*_c06(), *_c26(), *_c27()]


WHERE = "grid alpha .60 to .85 x beta .05 to .20"
LISTED = tuple(round(0.6 + 0.04 * i, 2) for i in range(7))
"""The alpha whose values the listing of section 3.3 prints."""


def _standard(beta: float) -> Cost:
    return Cost(c_d=beta)


def _grid(price: Callable[[float], Cost] = _standard) -> ShareInBand:
    """The article's grid at costs that follow from beta."""
    return ShareInBand(
        tuple(Iid(alpha=alpha) for alpha in GRID_ALPHAS), tuple(price(beta) for beta in GRID_BETAS), KAPPAS
    )


def _working_range(betas: tuple[float, ...], low: int, high: int) -> ShareInBand:
    alphas = tuple(round(0.68 + 0.01 * i, 2) for i in range(8))
    return ShareInBand(
        tuple(Iid(alpha=alpha) for alpha in alphas), tuple(Cost(c_d=beta) for beta in betas), KAPPAS, low, high
    )


@functools.cache
def _coded_on_grid() -> np.ndarray:
    return np.array([article.kappa_star_as_coded(alpha, beta) for alpha in GRID_ALPHAS for beta in GRID_BETAS])


def _true_on_grid() -> np.ndarray:
    return np.array(
        [theory.kappa_star_continuous(alpha, Cost(c_d=beta)) for alpha in GRID_ALPHAS for beta in GRID_BETAS]
    )


_AXES = tuple(axis.ravel() for axis in np.meshgrid(GRID_ALPHAS, GRID_BETAS, indexing="ij"))


def _zeros(rising: Callable[[np.ndarray], np.ndarray], high: float) -> np.ndarray:
    """κ at which each point's curve turns positive, by bisection from 0: the second way to a whole grid."""
    ends = np.zeros(_AXES[0].size), np.full(_AXES[0].size, high)
    for _ in range(60):
        middle = 0.5 * (ends[0] + ends[1])
        above = rising(middle) > 0.0
        ends = np.where(above, ends[0], middle), np.where(above, middle, ends[1])
    return np.asarray(ends[1])


@functools.cache
def _coded_by_search() -> np.ndarray:
    """(12) as the root of c_r ln(1/α) α^(−κ) = c_d + c_v, which is what its code solves."""
    alpha, beta = _AXES
    return _zeros(lambda kappa: alpha**-kappa * np.log(1.0 / alpha) - (beta + 0.5), 20.0)


@functools.cache
def _true_by_search() -> np.ndarray:
    """The peak of S(κ) = (1 − α^(κ+1))/((1 − α)(1 + βκ)) from differences of its logarithm."""
    alpha, beta = _AXES

    def log_speed(kappa: np.ndarray) -> np.ndarray:
        return np.asarray(np.log1p(-(alpha ** (kappa + 1.0))) - np.log1p(beta * kappa))

    return _zeros(lambda kappa: log_speed(kappa - 1e-5) - log_speed(kappa + 1e-5), 20.0)


def _geometric_median(values: np.ndarray) -> float:
    return math.exp(float(np.median(np.log(values))))


def _in_band(values: np.ndarray) -> float:
    return float(np.mean((values >= 3) & (values <= 7)))


def _c06() -> list[Claim]:
    row = functools.partial(Claim, "C06", "1")
    statement = "The best draft length often lies in [3, 7] (on more than half of the grid)."
    low, high = best_at(0.6, Cost(c_d=0.2)), best_at(0.85, Cost(c_d=0.05))
    at = "at alpha = .7, beta = .1"
    free = [_grid(functools.partial(article_cost, c0, c_r=0.0)).exact() for c0 in OVERHEADS.values()]
    costs = {f"article's c_v = .5 and c_r = 1, {text}": c0 for text, c0 in OVERHEADS.items() if c0 == 1.0}
    costs |= {f"article's costs, {text}": c0 for text, c0 in OVERHEADS.items() if c0 != 1.0}
    return [
        row(
            f"throughput, standard costs (c0 = 1, c_v = c_r = 0), {WHERE}",
            statement,
            between(0.5, 1.0),
            _grid(),
            f"With the standard costs kappa* lies in [3, 7] on {_grid().exact():.1%} of the grid; it runs from {low} "
            f"to {high}.",
        ),
        *(
            row(
                f"throughput, the {name}, {WHERE}",
                statement,
                between(0.5, 1.0),
                _grid(functools.partial(article_cost, c0)),
                "Verification and rollback are so dear that kappa* lies in [3, 7] on "
                f"{_grid(functools.partial(article_cost, c0)).exact():.0%} of the grid and is "
                f"{best_at(0.7, article_cost(c0))} {at}; with the standard costs it is {best_at(0.7, STANDARD)}.",
            )
            for name, c0 in costs.items()
        ),
        row(
            f"throughput, the article's c_v = .5 without rollback cost, c0 = 1, {WHERE}",
            statement,
            between(0.5, 1.0),
            _grid(functools.partial(article_cost, 1.0, c_r=0.0)),
            f"With c_v = .5 alone kappa* lies in [3, 7] on {free[0]:.0%} of the grid, and on {free[1]:.0%} and "
            f"{free[2]:.0%} with c0 = .5 and 0; {at} it is {best_at(0.7, Cost(c_d=0.1, c_v=0.5))}.",
        ),
    ]


def _c26() -> list[Claim]:
    row = functools.partial(Claim, "C26", "3.3")
    coded, true = _coded_on_grid(), _true_on_grid()
    listed = np.array([article.kappa_star_as_coded(alpha) for alpha in LISTED])
    best = [best_at(alpha, STANDARD) for alpha in LISTED]
    return [
        row(
            "the listing itself, beta = .1: share of its 7 lines in [3, 7]",
            "The values that the listing prints lie in [3, 7] for the most part.",
            between(0.5, 1.0),
            Formula(lambda: _in_band(listed), again=lambda: _in_band(np.array([_coded_at(a) for a in LISTED]))),
            f"It prints {', '.join(f'{value:.2f}' for value in listed)}; throughput at standard costs has kappa* = "
            f"{', '.join(str(kappa) for kappa in best)} at these alpha.",
        ),
        row(
            f"eq. (12), share of the {WHERE} in [3, 7]",
            "On most of the grid (12) lies in [3, 7].",
            between(0.5, 1.0),
            Formula(lambda: _in_band(coded), again=lambda: _in_band(_coded_by_search())),
            f"(12) lies below 3 on {np.mean(coded < 3):.1%} of the grid and in [3, 7] on {_in_band(coded):.1%}.",
        ),
        row(
            f"eq. (12), geometric median over the {WHERE}",
            "[3, 7] holds the geometric median of (12).",
            between(3.0, 7.0),
            Formula(lambda: _geometric_median(coded), again=lambda: _geometric_median(_coded_by_search())),
            f"The geometric median of (12) is {_geometric_median(coded):.4f}.",
        ),
        row(
            f"optimum of throughput, standard costs, share of the {WHERE} in [3, 7]",
            "On most of the grid kappa* lies in [3, 7].",
            between(0.5, 1.0),
            _grid(),
            f"kappa* lies in [3, 7] on {_grid().exact():.1%} of the grid, with c_v = c_r = 0.",
        ),
        row(
            f"continuous optimum of throughput, standard costs, geometric median over the {WHERE}",
            "[3, 7] holds the geometric median of kappa*.",
            between(3.0, 7.0),
            Formula(
                lambda: _geometric_median(true), again=lambda: _geometric_median(_true_by_search()), tolerance=1e-6
            ),
            f"The geometric median of the continuous optimum is {_geometric_median(true):.2f}, with c_v = c_r = 0.",
        ),
    ]


def _coded_at(alpha: float) -> float:
    """(12) at beta = .1 by search: the peak of (c_d + c_v)κ − c_r α^(−κ), whose slope it solves."""
    return peak(lambda kappa: 0.6 * kappa - alpha**-kappa, 0.0, 12.0)


def _c27() -> list[Claim]:
    middle = tuple(article.kappa_star_as_coded(0.68 + 0.0001 * i) for i in range(701))
    few = (0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2)
    narrow, wide = _working_range((0.1,), 3, 7), _working_range(few, 3, 7)
    tight, tight_wide = _working_range((0.1,), 4, 6), _working_range(few, 4, 6)
    return [
        Claim(
            "C27",
            "3.3",
            "eq. (12), alpha in [.68, .75], beta = .1: its largest value",
            "For alpha in [.68, .75], (12) lies in [3, 7].",
            between(3.0, 7.0),
            Formula(lambda: max(middle), again=lambda: _coded_at(0.75), tolerance=1e-7),
            f"(12) runs from {min(middle):.3f} to {max(middle):.3f} there, and to "
            f"{article.kappa_star_as_coded(0.75, 0.2):.3f} at beta = .2; throughput at standard costs has kappa* = "
            f"{best_at(0.68, STANDARD)} to {best_at(0.75, STANDARD)}.",
        ),
        Claim(
            "C27",
            "3.3",
            "optimum of throughput, standard costs, beta = .1: share in [3, 7]",
            "For alpha in [.68, .75] kappa* lies in [3, 7].",
            integer(1),
            narrow,
            f"kappa* is {best_at(0.68, STANDARD)} or {best_at(0.75, STANDARD)} there: {narrow.exact():.0%} in [3, 7].",
        ),
        Claim(
            "C27",
            "3.3",
            "optimum of throughput, standard costs, beta .05 to .20: share in [3, 7]",
            "For alpha in [.68, .75] kappa* lies in [3, 7].",
            integer(1),
            wide,
            f"kappa* runs from {best_at(0.68, Cost(c_d=0.2))} to {best_at(0.75, Cost(c_d=0.05))} there: "
            f"{wide.exact():.0%} in [3, 7].",
        ),
        Claim(
            "C27",
            "3.3",
            "optimum of throughput, standard costs, beta = .1: share in [4, 6]",
            "For alpha in [.68, .75] kappa* is mostly 4 to 6.",
            between(0.5, 1.0),
            tight,
            f"kappa* is {best_at(0.68, STANDARD)} or {best_at(0.75, STANDARD)} there: {tight.exact():.0%} in [4, 6].",
        ),
        Claim(
            "C27",
            "3.3",
            "optimum of throughput, standard costs, beta .05 to .20: share in [4, 6]",
            "For alpha in [.68, .75] kappa* is mostly 4 to 6.",
            between(0.5, 1.0),
            tight_wide,
            f"{tight_wide.exact():.0%} of these points lie in [4, 6]; at alpha = .7, beta = .2 kappa* is "
            f"{best_at(0.7, Cost(c_d=0.2))}.",
        ),
    ]
