"""What is the answer to each case of a list?  The machine interface: one JSON list in, one out, in the same order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from simspec import theory
from simspec.model import KAPPA_LIMIT, Cost, Iid, ParameterError, Process, Processes
from simspec.model.errors import did_you_mean
from simspec.run.single import run_single

EXACT_LIMIT = 1000
LEVEL = 0.95


def solve(cases: Sequence[Any], windows: int | None = None, seed: int = 1) -> list[dict[str, Any]]:
    """Answer each case; a case that cannot be answered gives ``{"id", "error": {"key", "message"}}``.

    Parameters
    ----------
    cases : list of dict
        ``{"id", "kind", "process", "kappa" | "kappa_max", "cost"}``; kind ``"window"`` may be left out.
    windows : int, optional
        Also simulate each case with so many windows: key ``"simulated"``.
    seed : int
        Root seed of the simulations.

    Examples
    --------
    >>> case = {"id": "a", "process": {"type": "iid", "alpha": 0.7}, "kappa": 4, "cost": {"c_d": 0.1}}
    >>> round(solve([case])[0]["speedup"], 4)
    1.9808
    >>> solve([{"id": "b", "process": {"type": "iid", "alpha": 7}, "kappa": 4}])[0]["error"]["key"]
    'process.alpha'
    """
    return [_answer(case, windows, seed) for case in cases]


def _answer(case: Any, windows: int | None, seed: int) -> dict[str, Any]:
    name = case.get("id") if isinstance(case, dict) else None
    try:
        if not isinstance(case, dict):
            raise ParameterError("", f"a case is an object, not {type(case).__name__}")
        kind = case.get("kind", "window")
        if kind not in KINDS:
            raise ParameterError("kind", f"kind = {kind!r} is unknown{did_you_mean(str(kind), KINDS)}")
        return {"id": name, **KINDS[kind](case, windows, seed)}
    except ParameterError as error:
        return {"id": name, "error": {"key": error.key, "message": error.message}}


def _window(case: dict[str, Any], windows: int | None, seed: int) -> dict[str, Any]:
    known = ("id", "kind", "process", "kappa", "kappa_max", "cost")
    for key in case:
        if key not in known:
            raise ParameterError(key, f'unknown key "{key}"{did_you_mean(key, known)}')
    if ("kappa" in case) == ("kappa_max" in case):
        raise ParameterError("kappa", "give either kappa or kappa_max")
    process, cost = _made(case, "process", _process), _made(case, "cost", _cost)
    key = "kappa" if "kappa" in case else "kappa_max"
    value = case[key]
    limit = EXACT_LIMIT if windows is None else KAPPA_LIMIT
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= limit:
        raise ParameterError(key, f"{key} = {value!r} is out of range; allowed: a whole number from 0 to {limit}")
    if process.longest_draft is not None and value > process.longest_draft:
        raise ParameterError(key, f"{key} = {value} is beyond the {process.longest_draft} measured positions")
    if key == "kappa":
        return _at_kappa(process, cost, value, windows, seed)
    return _over_kappa(process, cost, value, windows, seed)


def _made(case: dict[str, Any], key: str, make: Callable[[Any], Any]) -> Any:
    value = case.get(key, {} if key == "cost" else None)
    if not isinstance(value, dict):
        raise ParameterError(key, f"{key} is {'missing' if value is None else 'not an object'}; allowed: an object")
    try:
        return make(value)
    except ParameterError as error:
        raise error.under(key) from None


def _process(value: dict[str, Any]) -> Process:
    return Processes.make(**value)


def _cost(value: dict[str, Any]) -> Cost:
    return Cost(**value)


def _at_kappa(process: Process, cost: Cost, kappa: int, windows: int | None, seed: int) -> dict[str, Any]:
    law = theory.window(process, kappa)
    mean_cost = theory.mean_round_cost(law, cost)
    out: dict[str, Any] = {
        "pmf_accepted": [float(p) for p in law.pmf_accepted],
        "mean_accepted": law.mean_accepted,
        "var_accepted": law.var_accepted,
        "mean_tokens": law.mean_tokens,
        "p_zero_accepted": law.p_zero_accepted,
        "p_full": law.p_full,
        "mean_examined": law.mean_examined,
        "mean_cost": mean_cost,
        "speedup": law.mean_tokens / mean_cost,
    }
    if windows is not None:
        result = run_single(process, cost, [kappa], windows, seed, LEVEL)
        row = result.to_pandas().iloc[0]
        counts = result.tallies[0].accepted_counts()
        seen: dict[str, Any] = {"pmf_accepted": [float(c) / float(counts.sum()) for c in counts]}
        names = {"mean_cost": "mean_round_cost"}
        for name in (
            "mean_accepted",
            "var_accepted",
            "mean_tokens",
            "p_zero_accepted",
            "p_full",
            "mean_cost",
            "speedup",
        ):
            column = names.get(name, name)
            seen[name] = float(row[column])
            seen[f"{name}_interval"] = [float(row[f"{column}_low"]), float(row[f"{column}_high"])]
        examined = result.tallies[0].total("accepted") + result.tallies[0].total("rejected")
        seen["mean_examined"] = examined / int(row["rounds"])
        out["simulated"] = seen | _origin(result.to_pandas(), seed)
    return out


def _over_kappa(process: Process, cost: Cost, kappa_max: int, windows: int | None, seed: int) -> dict[str, Any]:
    best = theory.optimum(process, cost, kappa_max)
    out: dict[str, Any] = {
        "speedup_by_kappa": [None if math.isnan(s) else float(s) for s in best.speedup_by_kappa],
        "kappa_star": best.kappa_star,
        "ties": list(best.ties),
        "at_kappa_max": best.at_kappa_max,
    }
    if isinstance(process, Iid) and not cost.tables():
        continuous = theory.kappa_star_continuous(process.alpha, cost)
        out["kappa_star_continuous"] = continuous if math.isfinite(continuous) else None
    if windows is not None:
        kappas = [kappa for kappa, s in enumerate(best.speedup_by_kappa) if not math.isnan(s)]
        frame = run_single(process, cost, kappas, windows, seed, LEVEL).to_pandas()
        by_kappa = dict(zip(frame["kappa"], frame["speedup"], strict=True))
        out["simulated"] = {
            "speedup_by_kappa": [by_kappa.get(kappa) for kappa in range(kappa_max + 1)],
            "kappa_star": int(frame["kappa_star"].iloc[0]),
            "at_kappa_max": bool(frame["at_kappa_max"].iloc[0]),
            "indistinguishable": [int(k) for k in frame.loc[frame["indistinguishable"], "kappa"]],
            **_origin(frame, seed),
        }
    return out


def _origin(frame: Any, seed: int) -> dict[str, Any]:
    return {"windows": int(frame["rounds"].max()), "level": LEVEL, "seed": seed}


KINDS: dict[str, Callable[[dict[str, Any], int | None, int], dict[str, Any]]] = {"window": _window}
