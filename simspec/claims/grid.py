"""Claims C06, C26, C27: on which part of the article's grid does the best κ lie in [3, 7]?"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from simspec import theory
from simspec.claims.claim import Claim, between, formula, integer
from simspec.claims.quantity import Formula, ShareInBand
from simspec.claims.search import peak
from simspec.claims.setup import ARTICLE, GRID_ALPHAS, GRID_BETAS, KAPPAS, STANDARD, best_at
from simspec.model import Cost, Iid
from simspec.theory import article


def claims() -> list[Claim]:
    """Rows of C06, C26 and C27."""
    return [*_c06(), *_c26(), *_c27()]


def _grid(c_v: float = 0.0, c_r: float = 0.0) -> ShareInBand:
    costs = tuple(Cost(c_d=beta, c_v=c_v, c_r=c_r) for beta in GRID_BETAS)
    return ShareInBand(tuple(Iid(alpha=alpha) for alpha in GRID_ALPHAS), costs, KAPPAS)


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
    where = "grid alpha .60 to .85 x beta .05 to .20"
    statement = "The best draft length often lies in [3, 7] (on more than half of the grid)."
    low, high = best_at(0.6, Cost(c_d=0.2)), best_at(0.85, Cost(c_d=0.05))
    return [
        Claim(
            "C06",
            "1",
            f"throughput, standard costs (c_v = c_r = 0), {where}",
            statement,
            between(0.5, 1.0),
            _grid(),
            f"With the standard costs kappa* lies in [3, 7] on {_grid().exact():.1%} of the grid; it runs from {low} "
            f"to {high}.",
        ),
        Claim(
            "C06",
            "1",
            f"throughput, the article's c_v = .5 and c_r = 1, {where}",
            statement,
            between(0.5, 1.0),
            _grid(0.5, 1.0),
            f"With the article's own costs kappa* lies in [3, 7] on {_grid(0.5, 1.0).exact():.0%} of the grid: "
            f"verification and rollback are so dear that kappa* is {best_at(0.7, ARTICLE)} at alpha = .7, beta = .1.",
        ),
        Claim(
            "C06",
            "1",
            f"throughput, the article's c_v = .5 without rollback cost, {where}",
            statement,
            between(0.5, 1.0),
            _grid(0.5, 0.0),
            f"With c_v = .5 alone kappa* lies in [3, 7] on {_grid(0.5, 0.0).exact():.0%} of the grid; at alpha = .7, "
            f"beta = .1 it is {best_at(0.7, Cost(c_d=0.1, c_v=0.5))}.",
        ),
    ]


def _c26() -> list[Claim]:
    where = "grid alpha .60 to .85 x beta .05 to .20"
    coded, true = _coded_on_grid(), _true_on_grid()
    return [
        Claim(
            "C26",
            "3.3",
            f"eq. (12), share of the {where} in [3, 7]",
            "On the grid (12) lies in [3, 7].",
            formula(1.0),
            Formula(lambda: _in_band(coded), again=lambda: _in_band(_coded_by_search())),
            f"(12) lies below 3 on {np.mean(coded < 3):.1%} of the grid and in [3, 7] on {_in_band(coded):.1%}.",
        ),
        Claim(
            "C26",
            "3.3",
            f"eq. (12), geometric median over the {where}",
            "[3, 7] holds the geometric median of (12).",
            between(3.0, 7.0),
            Formula(lambda: _geometric_median(coded), again=lambda: _geometric_median(_coded_by_search())),
            f"The geometric median of (12) is {_geometric_median(coded):.4f}.",
        ),
        Claim(
            "C26",
            "3.3",
            f"optimum of throughput, standard costs, share of the {where} in [3, 7]",
            "On the grid kappa* lies in [3, 7].",
            formula(1.0),
            _grid(),
            f"kappa* lies in [3, 7] on {_grid().exact():.1%} of the grid.",
        ),
        Claim(
            "C26",
            "3.3",
            f"continuous optimum of throughput, standard costs, geometric median over the {where}",
            "[3, 7] holds the geometric median of kappa*.",
            between(3.0, 7.0),
            Formula(
                lambda: _geometric_median(true), again=lambda: _geometric_median(_true_by_search()), tolerance=1e-6
            ),
            f"The geometric median of the continuous optimum is {_geometric_median(true):.2f}.",
        ),
    ]


def _least_by_search() -> float:
    """(12) at α = .68, where it is smallest as it rises with α: the peak of (c_d + c_v)κ − c_r α^(−κ)."""
    return peak(lambda kappa: 0.6 * kappa - 0.68**-kappa, 0.0, 5.0)


def _c27() -> list[Claim]:
    middle = tuple(article.kappa_star_as_coded(0.68 + 0.0001 * i) for i in range(701))
    few = (0.05, 0.075, 0.1, 0.125, 0.15, 0.175, 0.2)
    narrow, wide = _working_range((0.1,), 3, 7), _working_range(few, 3, 7)
    tight, tight_wide = _working_range((0.1,), 4, 6), _working_range(few, 4, 6)
    return [
        Claim(
            "C27",
            "3.3",
            "eq. (12), alpha in [.68, .75], beta = .1: its smallest value",
            "For alpha in [.68, .75], (12) lies in [3, 7].",
            between(3.0, 7.0),
            Formula(lambda: min(middle), again=_least_by_search, tolerance=1e-7),
            f"(12) runs from {min(middle):.3f} to {max(middle):.3f} there; throughput has kappa* = "
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
            "For alpha in [.68, .75] kappa* is 4 to 6.",
            integer(1),
            tight,
            f"kappa* is {best_at(0.68, STANDARD)} or {best_at(0.75, STANDARD)} there: {tight.exact():.0%} in [4, 6].",
        ),
        Claim(
            "C27",
            "3.3",
            "optimum of throughput, standard costs, beta .05 to .20: share in [4, 6]",
            "For alpha in [.68, .75] kappa* is 4 to 6.",
            integer(1),
            tight_wide,
            f"Only {tight_wide.exact():.0%} of these points lie in [4, 6]; at beta = .2 kappa* is "
            f"{best_at(0.7, Cost(c_d=0.2))}.",
        ),
    ]
