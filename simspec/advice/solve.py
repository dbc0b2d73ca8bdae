"""What is the answer to each case of a list?  The machine interface: one JSON list in, one out, in the same order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from simspec import theory
from simspec.advice import control_kinds, number_kinds, system_kinds, text_kinds, token_kinds
from simspec.advice.fields import check_known, made
from simspec.model import KAPPA_LIMIT, Cost, Iid, ParameterError, Process, Processes
from simspec.model.errors import did_you_mean, shown
from simspec.run.single import SimulationResult, run_single
from simspec.theory.routes import has_route

EXACT_LIMIT = 1000
LEVEL = 0.95


def solve(cases: Sequence[Any], windows: int | None = None, seed: int = 1) -> list[dict[str, Any]]:
    """Answer each case; a case that cannot be answered gives ``{"id", "error": {"key", "message"}}``.

    Parameters
    ----------
    cases : list of dict
        ``{"id", "kind", "process", "kappa" | "kappa_max", "cost"}``; kind ``"window"`` may be left out.  The keys and
        answers of the other kinds are in docs/solve.md.
    windows : int, optional
        Also simulate each case of kind ``"window"``, ``"multidraft"``, ``"typical_acceptance"`` or ``"bild"`` with so
        many windows: key ``"simulated"``.
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
    if not isinstance(name, (str, int, type(None))) and not (isinstance(name, float) and math.isfinite(name)):
        return {"id": None, "error": {"key": "id", "message": "id is not a text or a number"}}
    try:
        if not isinstance(case, dict):
            raise ParameterError("", f"a case is an object, not {type(case).__name__}")
        kind = case.get("kind", "window")
        if not isinstance(kind, str) or kind not in KINDS:
            raise ParameterError("kind", f"kind = {shown(kind)} is unknown{did_you_mean(str(kind)[:60], KINDS)}")
        simulated = SIMULATED_KINDS.get(kind)
        answer = EXACT_KINDS[kind](case) if simulated is None else simulated(case, windows, seed)
        return {"id": name, **answer}
    except ParameterError as error:
        return {"id": name, "error": {"key": error.key, "message": error.message}}
    except MemoryError as error:
        return {"id": name, "error": {"key": "", "message": f"takes more memory than there is ({shown(str(error))})"}}
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        told = f"cannot be answered ({type(error).__name__}: {shown(str(error))})"  # one case must not stop the others
        return {"id": name, "error": {"key": "", "message": told}}


def _window(case: dict[str, Any], windows: int | None, seed: int) -> dict[str, Any]:
    check_known(case, "process", "kappa", "kappa_max", "cost")
    if ("kappa" in case) == ("kappa_max" in case):
        raise ParameterError("kappa", "give either kappa or kappa_max")
    process, cost = made(case, "process", _process), made(case, "cost", _cost)
    key = "kappa" if "kappa" in case else "kappa_max"
    value = case[key]
    limit = EXACT_LIMIT if windows is None else KAPPA_LIMIT
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= limit:
        raise ParameterError(key, f"{key} = {shown(value)} is out of range; allowed: a whole number from 0 to {limit}")
    if process.longest_draft is not None and value > process.longest_draft:
        raise ParameterError(key, f"{key} = {value} is beyond the {process.longest_draft} measured positions")
    if windows is None and not has_route(process):
        raise ParameterError("process.type", f"type = {process.type!r} has no exact route; give a number of windows")
    answer = _at_kappa if key == "kappa" else _over_kappa
    try:
        return answer(process, cost, value, windows, seed)
    except ParameterError as error:  # found only when asked, e.g. a latent correlation too close to 1
        raise error.under("process") if error.key in type(process).model_fields else error from None


def _process(value: dict[str, Any]) -> Process:
    return Processes.make(**value)


def _cost(value: dict[str, Any]) -> Cost:
    return Cost(**value)


def _at_kappa(process: Process, cost: Cost, kappa: int, windows: int | None, seed: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if has_route(process):
        law = theory.window(process, kappa)
        mean_cost = theory.mean_round_cost(law, cost)
        out = {
            "pmf_accepted": [_share(p) for p in law.pmf_accepted],
            "mean_accepted": law.mean_accepted,
            "var_accepted": law.var_accepted,
            "mean_tokens": law.mean_tokens,
            "p_zero_accepted": _share(law.p_zero_accepted),
            "p_full": _share(law.p_full),
            "mean_examined": law.mean_examined,
            "mean_cost": mean_cost,
            "speedup": law.mean_tokens / mean_cost,
        }
    if windows is not None:
        out["simulated"] = _simulated(run_single(process, cost, [kappa], windows, seed, LEVEL), seed)
    return out


def _share(probability: float) -> float:
    """Rounding never leaves [0, 1], nor gives −0."""
    return min(max(float(probability), 0.0), 1.0) + 0.0


def _simulated(result: SimulationResult, seed: int) -> dict[str, Any]:
    frame = result.to_pandas()
    row, tally = frame.iloc[0], result.tallies[0]
    counts = tally.accepted_counts()
    seen: dict[str, Any] = {"pmf_accepted": [float(c) / float(counts.sum()) for c in counts]}
    for name in ("mean_accepted", "var_accepted", "mean_tokens", "p_zero_accepted", "p_full", "mean_cost", "speedup"):
        column = {"mean_cost": "mean_round_cost"}.get(name, name)
        seen[name] = float(row[column])
        seen[f"{name}_interval"] = [float(row[f"{column}_low"]), float(row[f"{column}_high"])]
    seen["mean_examined"] = (tally.total("accepted") + tally.total("rejected")) / int(row["rounds"])
    return seen | _origin(frame, seed)


def _over_kappa(process: Process, cost: Cost, kappa_max: int, windows: int | None, seed: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    kappas = list(range(kappa_max + 1))
    if has_route(process):
        best = theory.optimum(process, cost, kappa_max)
        kappas = [kappa for kappa in kappas if not math.isnan(best.speedup_by_kappa[kappa])]
        out = {
            "speedup_by_kappa": [None if math.isnan(s) else float(s) for s in best.speedup_by_kappa],
            "kappa_star": best.kappa_star,
            "ties": list(best.ties),
            "at_kappa_max": best.at_kappa_max,
        }
        if isinstance(process, Iid) and not cost.tables():
            continuous = theory.kappa_star_continuous(process.alpha, cost)
            out["kappa_star_continuous"] = continuous if math.isfinite(continuous) else None
    if windows is not None:
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


EXACT_KINDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "markov_sum_variance": number_kinds.markov_sum_variance,
    "estimators": number_kinds.estimators,
    "tails": number_kinds.tails,
    "seed_formulas": number_kinds.seed_formulas,
    "generation": number_kinds.generation,
    "generation_star": number_kinds.generation_star,
    "divergence": token_kinds.divergence,
    "tree": system_kinds.tree,
    "optimal_tree": system_kinds.optimal_tree,
    "threshold_policy": system_kinds.threshold_policy,
    "lookahead": system_kinds.lookahead,
    "llada_schedule": system_kinds.llada_schedule,
    "parallel_unmask": system_kinds.parallel_unmask,
    "ewma": control_kinds.ewma,
    "control_loop": control_kinds.control_loop,
}
"""Kinds that have an exact answer only: nothing is simulated for them."""

SIMULATED_KINDS: dict[str, Callable[[dict[str, Any], int | None, int], dict[str, Any]]] = {
    "window": _window,
    "multidraft": token_kinds.multidraft,
    "typical_acceptance": token_kinds.typical_acceptance,
    "bild": text_kinds.bild,
}
"""Kinds that are also simulated if a number of windows is given."""

KINDS = (*SIMULATED_KINDS, *EXACT_KINDS)
