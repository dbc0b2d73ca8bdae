"""Which draft length is truly best for a process and a price list, and what does one more position buy?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.process import Process
from simspec.theory import routes
from simspec.theory.law import FloatArray
from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_range, check_share

DEFAULT_KAPPA_MAX = 64

_SAME = 1e-12
"""Two speedups this close are equal: some hundred roundings of numbers near 1."""
_DRIFT_WORK = 5e9
"""Tokens × κ² of one sweep over a generation: about half a minute."""
_TIE = 1e-9
"""Two speedups this close are told to the reader as a tie."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The speedup at every draft length, and the best.

    Attributes
    ----------
    kappas : array of int, shape (kappa_max + 1,)
        0 … kappa_max.
    speedup_by_kappa : array, shape (kappa_max + 1,)
        E[tokens]/E[cost]; NaN where the process has no long-run law.
    kappa_star : int
        Smallest κ within 1e-12 of the best speedup.
    ties : tuple of int
        Every κ within 1e-9 of the best.
    at_kappa_max : bool
        The best is the longest draft tried: longer ones may be better.
    best_speedup : float
        Largest entry of ``speedup_by_kappa``.
    off_speedup : float
        1/cost.off: speculation switched off altogether.
    off_is_better : bool
        Switching off beats every κ by more than 1e-12.
    extra_tokens, extra_speedup : array, shape (kappa_max,)
        What position j = 1 … kappa_max buys, at index j − 1: expected extra tokens per round (S_j for fresh windows),
        and the change of speedup.
    """

    kappas: npt.NDArray[np.int64]
    speedup_by_kappa: FloatArray
    kappa_star: int
    ties: tuple[int, ...]
    at_kappa_max: bool
    best_speedup: float
    off_speedup: float
    off_is_better: bool
    extra_tokens: FloatArray
    extra_speedup: FloatArray

    def within(self, share: float) -> tuple[int, ...]:
        """Draft lengths that lose at most ``share`` of the best speedup, 0 ≤ share ≤ 1.

        Examples
        --------
        >>> from simspec.model.iid import Iid
        >>> optimum(Iid(alpha=0.7), Cost(c_d=0.1)).within(0.02)
        (3, 4, 5)
        """
        check_range("share", share, 0, 1)
        good = self.speedup_by_kappa >= (1.0 - share) * self.best_speedup
        return tuple(int(kappa) for kappa in self.kappas[good])


def optimum(process: Process, cost: Cost, kappa_max: int | None = None) -> Optimum:
    """The best draft length among κ = 0 … kappa_max.

    Parameters
    ----------
    process : Process
        Any process with an exact route.
    cost : Cost
        The prices of a round.
    kappa_max : int, optional
        Longest draft to try, 0 ≤ kappa_max ≤ 1000; 64 if left out, or the longest the process is defined for.

    Returns
    -------
    Optimum

    Raises
    ------
    ParameterError
        If ``kappa_max`` is out of range or beyond the measured positions.

    References
    ----------
    docs/theory.md section 3 (i.i.d.: Leviathan, Kalman, Matias (2023), section 3.5), claim C40 for chains and C44
    for drift.

    Examples
    --------
    >>> from simspec.model.iid import Iid
    >>> best = optimum(Iid(alpha=0.7), Cost(c_d=0.1))
    >>> best.kappa_star, round(best.best_speedup, 4)
    (4, 1.9808)
    >>> round(float(best.extra_tokens[4]), 4), round(float(best.extra_speedup[4]), 4)
    (0.1681, -0.02)
    """
    kappa_max = _kappa_max(process, cost, kappa_max)
    sweep = routes.route_of(process).sweep(process, kappa_max)
    answered = np.array([_has_law(process, kappa) for kappa in range(kappa_max + 1)])
    speedups = np.where(answered, routes.speedups(process, kappa_max, cost), np.nan)
    best = float(np.nanmax(speedups))
    star = int(np.flatnonzero(speedups >= best - _SAME)[0])
    return Optimum(
        kappas=np.arange(kappa_max + 1, dtype=np.int64),
        speedup_by_kappa=speedups,
        kappa_star=star,
        ties=tuple(int(kappa) for kappa in np.flatnonzero(speedups >= best - _TIE)),
        at_kappa_max=star == kappa_max,
        best_speedup=best,
        off_speedup=1.0 / cost.off,
        off_is_better=1.0 / cost.off > best + _SAME,
        extra_tokens=np.diff(np.where(answered, sweep.mean_tokens, np.nan)),
        extra_speedup=np.diff(speedups),
    )


def integer_kappa_for_share(process: Process, cost: Cost, share: float = 0.9, kappa_max: int | None = None) -> int:
    """Smallest whole κ whose speedup reaches a share of the best whole κ.

    Parameters
    ----------
    process : Process
        Any process with an exact route.
    cost : Cost
        The prices of a round.
    share : float
        Share of the best speedup to reach, 0 < share ≤ 1.
    kappa_max : int, optional
        As in `optimum`.

    Returns
    -------
    int

    Raises
    ------
    ParameterError
        If ``share`` or ``kappa_max`` is out of range.

    References
    ----------
    docs/theory.md, claim C30; `simspec.theory.kappa_for_share` is its real-valued i.i.d. twin.

    Examples
    --------
    >>> from simspec.model.iid import Iid
    >>> integer_kappa_for_share(Iid(alpha=0.7), Cost(c_d=0.1))
    2
    """
    check_share("share", share)
    return optimum(process, cost, kappa_max).within(1.0 - share)[0]


def _kappa_max(process: Process, cost: Cost, asked: int | None) -> int:
    ends = [end for end in (process.longest_draft, cost.longest_draft) if end is not None]
    longest = min(ends) if ends else None
    if asked is None:
        return DEFAULT_KAPPA_MAX if longest is None else min(DEFAULT_KAPPA_MAX, longest)
    check_range("kappa_max", asked, 0, EXACT_KAPPA_LIMIT)
    if longest is not None and asked > longest:
        raise ParameterError(
            "kappa_max",
            f"kappa_max = {asked} is beyond the {longest} measured positions or tabulated costs; "
            f"allowed: 0 ≤ kappa_max ≤ {longest}",
        )
    if asked > 1:  # κ = 1 alone may lack a long-run law, which is no reason to refuse the others
        process.check_kappa(asked)
    tokens = getattr(process, "n_tokens", 0)
    if tokens * asked**2 > _DRIFT_WORK:
        most = int((_DRIFT_WORK / tokens) ** 0.5)
        raise ParameterError(
            "kappa_max", f"kappa_max = {asked} with {tokens:,} tokens takes minutes; allowed: 0 ≤ kappa_max ≤ {most}"
        )
    return asked


def _has_law(process: Process, kappa: int) -> bool:
    try:
        process.check_kappa(kappa)
    except ParameterError:
        return False
    return True
