"""What is best at every acceptance rate and draft cost?  Exact values on a grid, as one table and one Parquet file."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pyarrow as pa

from simspec.model import Cost, Iid, Markov, ParameterError
from simspec.model.identity import canonical_json
from simspec.run.columns import words
from simspec.run.schema import SCHEMA_VERSION
from simspec.run.store import write_table
from simspec.theory import break_even_alpha
from simspec.theory.emission import shortest_best
from simspec.theory.law import FloatArray
from simspec.theory.many_rates import long_run, rounds_tables, starts
from simspec.theory.ranges import as_numbers, check_finite, check_inside, check_range, check_whole

if TYPE_CHECKING:
    import pandas as pd

MOST_POINTS = 1_000_000
MOST_WORK = 4e9
"""Rates × κ × tokens²: the laws of the time, some half a minute."""
NEAR = 0.02
"""The share of the best speed-up that a draft length within 2% may lose."""

_SAME = 1e-12
_STEP = 1e-30
"""Imaginary part that carries a derivative: too small to change the value, and nothing is subtracted."""

_FIELDS: dict[str, tuple[pa.DataType, str]] = {
    "alpha": (pa.float64(), "acceptance rate of one examined draft"),
    "beta": (pa.float64(), "cost of one draft token, c_d, in plain target steps"),
    "c_v": (pa.float64(), "cost of verifying one more token, in plain target steps"),
    "c_r": (pa.float64(), "cost of a round with a rejection, in plain target steps"),
    "rho": (pa.float64(), "lag-1 correlation of neighbouring outcomes; 0 is i.i.d."),
    "start": (
        pa.dictionary(pa.int32(), pa.string()),
        'what a window knows of the one before: "stationary" nothing; "carry" the chain runs on',
    ),
    "kappa_star": (pa.int16(), "smallest κ with the best long-run speed-up among 0 … kappa_max"),
    "at_kappa_max": (pa.bool_(), "κ* is the longest draft tried: longer ones may be better"),
    "best_speedup": (pa.float64(), "S*, the speed-up at κ* against plain decoding"),
    "slope": (pa.float64(), "dS*/dα at fixed κ*; S* has kinks where κ* steps"),
    "kappa_low": (pa.int16(), "shortest draft within 2% of S*"),
    "kappa_high": (pa.int16(), "longest draft within 2% of S*"),
    "speedup_kappa_4": (pa.float64(), "S at κ = 4; null if kappa_max < 4"),
    "break_even": (pa.float64(), "α above which drafting pays at this cost; null unless i.i.d."),
    "kappa_mean_time": (pa.int16(), "κ with the least mean time for a sequence of `tokens`; null where c_r > 0"),
    "kappa_p99": (pa.int16(), "κ with the least `level`-quantile of that time; null where c_r > 0"),
    "p99_time": (pa.float64(), "that quantile, in plain target steps; every round drafts κ; null where c_r > 0"),
}
"""Column → type and meaning."""


def phase(
    alphas: Sequence[float],
    betas: Sequence[float],
    c_v: float = 0.0,
    c_r: float = 0.0,
    rho: float = 0.0,
    start: Literal["stationary", "carry"] = "stationary",
    steps_after_reject: int = 1,
    steps_after_full: int = 1,
    kappa_max: int = 64,
    tokens: int = 128,
    level: float = 0.99,
) -> pd.DataFrame:
    """The phase diagram of the best draft length over acceptance rate and draft cost; exact, nothing is simulated.

    Parameters
    ----------
    alphas : sequence of float
        Acceptance rates, rising, each in [0, 1].
    betas : sequence of float
        Costs of one draft token, rising, each ≥ 0, in plain target steps; together at most 1,000,000 points.
    c_v, c_r : float
        Cost of verifying one more token, and of a round with a rejection, ≥ 0.
    rho : float
        Lag-1 correlation of neighbouring outcomes; 0 is i.i.d.
    start, steps_after_reject, steps_after_full
        With ``rho``: what happens between windows, as in `simspec.Markov`.
    kappa_max : int
        Longest draft tried, 1 ≤ kappa_max ≤ 256.
    tokens : int
        Length of the sequence whose time is asked for, ≥ 1.
    level : float
        Quantile of that time, 0 < level < 1.

    Returns
    -------
    DataFrame
        One row per point, the cost varying fastest; ``attrs`` holds the parameters.  The columns on the time are
        missing where c_r > 0: the time is then no multiple of the rounds; ask `simspec.theory.emission_time`.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the grid is too large.

    References
    ----------
    docs/theory.md sections 3 and 7, claim C40; Leviathan, Kalman, Matias (2023), Theorem 3.8, is the case
    c_v = c_r = rho = 0.

    Examples
    --------
    >>> table = phase([0.7, 0.74], [0.1, 0.2])
    >>> table["kappa_star"].tolist(), table["best_speedup"].round(4).tolist()
    ([4, 3, 5, 3], [1.9808, 1.5831, 2.1431, 1.683])
    >>> table["kappa_p99"].tolist()
    [3, 2, 3, 2]
    """
    import pandas as pd

    asked: dict[str, Any] = {
        "alphas": _floats("alphas", alphas), "betas": _floats("betas", betas),
        "c_v": float(c_v), "c_r": float(c_r), "rho": float(rho), "start": start,
        "steps_after_reject": steps_after_reject, "steps_after_full": steps_after_full,
        "kappa_max": kappa_max, "tokens": tokens, "level": level,
    }  # fmt: skip
    _check(asked)
    asked |= {key: int(asked[key]) for key in ("kappa_max", "tokens")}  # NumPy's would be no JSON
    frame = pd.DataFrame(_columns(asked)).astype(dict.fromkeys(("kappa_mean_time", "kappa_p99"), "Int16"))
    frame.attrs.update(asked)
    return frame


def _floats(key: str, values: Sequence[float]) -> list[float]:
    return [float(value) for value in as_numbers(key, values)]


def _check(asked: dict[str, Any]) -> None:
    for key in ("alphas", "betas"):
        values = asked[key]
        if any(a >= b for a, b in itertools.pairwise(values)):
            raise ParameterError(key, f"{key} must rise from each value to the next")
    for alpha in asked["alphas"]:
        check_range("alpha", alpha, 0, 1)
    for key, value in (*(("beta", beta) for beta in asked["betas"]), ("c_v", asked["c_v"]), ("c_r", asked["c_r"])):
        check_finite(key, value, 0)
    check_whole("kappa_max", asked["kappa_max"], 1, 256)
    check_whole("tokens", asked["tokens"], 1)
    check_range("rho", asked["rho"], -1, 1)
    check_inside("level", asked["level"], 0, 1)
    rates, points = len(asked["alphas"]), len(asked["alphas"]) * len(asked["betas"])
    if points > MOST_POINTS:
        raise ParameterError("alphas", f"the grid has {points:,} points; allowed: {MOST_POINTS:,}")
    work = rates * asked["kappa_max"] * float(asked["tokens"]) ** 2
    if work > MOST_WORK:
        raise ParameterError(
            "tokens", f"{rates} rates × κ ≤ {asked['kappa_max']} × {asked['tokens']}² tokens is too much work: "
            f"{work:.1e}; allowed: {MOST_WORK:.0e}",
        )  # fmt: skip
    keys = ("rho", "start", "steps_after_reject", "steps_after_full")
    for alpha in asked["alphas"] if asked["rho"] != 0.0 else asked["alphas"][:1]:
        Markov(alpha=alpha, **{key: asked[key] for key in keys})  # says which ρ a rate admits


def _columns(asked: dict[str, Any]) -> dict[str, Any]:
    alphas, betas = np.array(asked["alphas"]), np.array(asked["betas"])
    carried = asked["rho"] != 0.0 and asked["start"] == "carry"
    steps = (asked["steps_after_reject"], asked["steps_after_full"]) if carried else None
    shape = (alphas.size, betas.size)
    speeds = _speeds(alphas, betas, steps, asked)
    times = _times(alphas, betas, steps, asked)
    iid = asked["rho"] == 0.0
    prices = [Cost(c_d=float(beta), c_v=asked["c_v"], c_r=asked["c_r"]) for beta in betas]
    even = np.array([break_even_alpha(cost) if iid else np.nan for cost in prices])
    whole = {key: np.full(shape, asked[key]) for key in ("c_v", "c_r", "rho")}
    found = {
        "alpha": np.broadcast_to(alphas[:, None], shape), "beta": np.broadcast_to(betas, shape), **whole,
        "start": np.full(shape, asked["start"], dtype=object),
        "break_even": np.broadcast_to(even, shape), **speeds, **times,
    }  # fmt: skip
    return {name: found[name].reshape(-1) for name in _FIELDS}


def _speeds(
    alphas: FloatArray, betas: FloatArray, steps: tuple[int, int] | None, asked: dict[str, Any]
) -> dict[str, Any]:
    """Everything about the long-run speed-up, each of shape (alphas, betas)."""
    shape, kappas = (alphas.size, betas.size), range(asked["kappa_max"] + 1)
    tokens, full = long_run(starts(cast(FloatArray, alphas + 1j * _STEP), asked["rho"], steps), asked["kappa_max"])

    def speedup(kappa: int) -> FloatArray:
        own = 1.0 + (betas + asked["c_v"]) * kappa + asked["c_r"] * (1.0 - full[:, kappa, None].real)
        return np.asarray(np.nan_to_num(tokens[:, kappa, None].real / own, nan=-np.inf))  # no long run: never the best

    best = np.maximum.reduce([speedup(kappa) for kappa in kappas])
    star = np.full(shape, -1, dtype=np.int64)
    low, high = star.copy(), star.copy()
    for kappa in kappas:
        here = speedup(kappa)
        star[(star < 0) & (here >= best - _SAME)] = kappa
        near = here >= (1.0 - NEAR) * best
        low[(low < 0) & near] = kappa
        high[near] = kappa
    rate = np.arange(alphas.size)[:, None]
    emitted, filled = tokens[rate, star], full[rate, star]
    cost = 1.0 + (betas + asked["c_v"]) * star + asked["c_r"] * (1.0 - filled)
    return {
        "kappa_star": star,
        "at_kappa_max": star == asked["kappa_max"],
        "best_speedup": best,
        "slope": (emitted / cost).imag / _STEP,
        "kappa_low": low,
        "kappa_high": high,
        "speedup_kappa_4": speedup(4) if asked["kappa_max"] >= 4 else np.full(shape, np.nan),
    }


def _times(
    alphas: FloatArray, betas: FloatArray, steps: tuple[int, int] | None, asked: dict[str, Any]
) -> dict[str, Any]:
    """Everything about the time of one sequence: rounds times the price of a round."""
    shape = (alphas.size, betas.size)
    if asked["c_r"] > 0.0:
        return dict.fromkeys(("kappa_mean_time", "kappa_p99", "p99_time"), np.full(shape, np.nan))
    chain = starts(alphas, asked["rho"], steps)
    mean, most = rounds_tables(chain, asked["kappa_max"], asked["tokens"], asked["level"])
    out = {name: np.empty(shape, dtype=np.int64) for name in ("kappa_mean_time", "kappa_p99")}
    slow = np.empty(shape)
    for i, beta in enumerate(betas):
        price = 1.0 + (beta + asked["c_v"]) * np.arange(asked["kappa_max"] + 1)
        times = np.nan_to_num(most * price, nan=np.inf)
        out["kappa_mean_time"][:, i] = shortest_best(np.nan_to_num(mean * price, nan=np.inf))
        out["kappa_p99"][:, i] = shortest_best(times)
        slow[:, i] = times.min(axis=1)
    return {**out, "p99_time": slow}


def write_phase(frame: pd.DataFrame, path: Path) -> None:
    """Write the table of `phase` as one Parquet file, whole or not at all, with its parameters as metadata.

    Parameters
    ----------
    frame : DataFrame
        From `phase`.
    path : Path
        The file; replaced if it exists.

    Raises
    ------
    DatasetError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_phase(phase([0.7], [0.1]), Path(folder) / "phase.parquet")
    ...     import pyarrow.parquet as pq
    ...     pq.read_table(Path(folder) / "phase.parquet").column("kappa_star").to_pylist()
    [4]
    """
    fields = [pa.field(name, kind, metadata={"description": text}) for name, (kind, text) in _FIELDS.items()]
    arrays = [
        words(np.zeros(len(frame), np.int32), [frame.attrs["start"]])
        if name == "start"
        else pa.array(frame[name], type=kind, from_pandas=True)
        for name, (kind, _) in _FIELDS.items()
    ]
    note = canonical_json({"kind": "phase", "schema_version": SCHEMA_VERSION, "parameters": frame.attrs})
    write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata={"simspec": note})), path)


def process_of(frame: pd.DataFrame, alpha: float) -> Iid | Markov:
    """The process behind one row of `phase`, to ask the exact route or the engine about it.

    Examples
    --------
    >>> process_of(phase([0.7], [0.1]), 0.7).alpha
    0.7
    """
    asked = frame.attrs
    if asked["rho"] == 0.0:
        return Iid(alpha=alpha)
    keys = ("rho", "start", "steps_after_reject", "steps_after_full")
    return Markov(alpha=alpha, **{key: asked[key] for key in keys})
