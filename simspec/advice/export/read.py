"""What does a recommendation ask for: which κ, where, and which others are as good by its data?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from simspec.advice.export.parts import Advice, Cell
from simspec.model import KAPPA_LIMIT
from simspec.model.errors import ParameterError, shown
from simspec.text import kappa_set


def advice_of(recommendation: Mapping[str, Any], kappa: int | None = None) -> Advice:
    """Advice from ``Recommendation.to_dict()``, or a dictionary of the same keys; ``kappa`` overrules it.

    Parameters
    ----------
    recommendation : mapping
        ``kappa_star`` (0 is off), which is what is set; optionally ``kappas`` (``{"kappa", "speedup"}`` each),
        ``indistinguishable`` (κ that the data do not tell from it, 0 is off), ``band`` (``{"kappas"}`` that lose
        little), ``grid`` (``{"batch", "context", "kappa", "kappas"}`` each).
    kappa : int, optional
        Set this κ everywhere, 0 is off.

    Raises
    ------
    ParameterError
        A key is missing or holds something else; the message names it.

    Examples
    --------
    >>> own = advice_of({"kappa_star": 4, "indistinguishable": [2, 3, 4], "band": {"kappas": [3, 4]}})
    >>> own.cells[0].kappa, own.notes[0]
    (4, 'κ = 3 is as good by these data and drafts less: --kappa 3 sets it')
    """
    star = _kappa(recommendation, "kappa_star")
    speedups = _speedups(recommendation.get("kappas", ()), "kappas")
    if kappa is not None:
        own = advice_of_kappa(kappa, speedups)
        return Advice(own.cells, own.says, (f"the recommendation says {f'κ = {star}' if star else 'off'}",))
    cells = _list(recommendation.get("grid") or (), "grid")
    if cells:
        own_cells = tuple(_cell(own, i) for i, own in enumerate(cells))
        loads = [own.where for own in own_cells]
        if len(set(loads)) < len(loads):
            twice = next(where for where in loads if loads.count(where) > 1)
            raise ParameterError("grid", f"grid has {twice} twice; allowed: once")
        return Advice(own_cells, _over_grid(own_cells))
    says = f"use κ = {star} ({{setting}}){_gain(speedups, star)}" if star else "do not speculate"
    return Advice((Cell(star, None, None, speedups),), says, _as_good(recommendation, star))


def advice_of_kappa(kappa: int, speedups: Mapping[int, float] | None = None) -> Advice:
    """One κ, chosen by the reader."""
    if isinstance(kappa, bool) or not isinstance(kappa, int) or not 0 <= kappa <= KAPPA_LIMIT:
        raise ParameterError("kappa", f"kappa = {shown(kappa)} is out of range; allowed: 0 to {KAPPA_LIMIT}, 0 is off")
    gain = _gain(speedups or {}, kappa)
    says = f"use κ = {kappa} ({{setting}}), as given{gain}" if kappa else "do not speculate, as given"
    return Advice((Cell(kappa, None, None, speedups or {}),), says)


def _as_good(recommendation: Mapping[str, Any], star: int) -> tuple[str, ...]:
    """What else the reader may set: κ that the data do not tell from the one chosen, and that lose little."""
    alike = _kappas(recommendation.get("indistinguishable") or (), "indistinguishable")
    band = recommendation.get("band")
    flat = alike if band is None else _kappas(_entry(band, "kappas", "band"), "band.kappas")
    near = [kappa for kappa in alike if kappa and kappa in flat]
    less, more = [kappa for kappa in near if kappa < star], [kappa for kappa in near if kappa > star]
    notes = []
    if len(less) == 1:
        notes.append(f"κ = {less[0]} is as good by these data and drafts less: --kappa {less[0]} sets it")
    elif less:
        notes.append(
            f"κ = {kappa_set(less)} are as good by these data and draft less: --kappa {less[0]} sets the shortest"
        )
    if more:
        drafts = "drafts" if len(more) == 1 else "draft"
        notes.append(f"κ = {kappa_set(more)} cannot be told from it by these data either, and {drafts} more")
    if 0 in alike and star:
        notes.append("whether speculation pays at all is not decided by these data")
    return tuple(notes)


def _gain(speedups: Mapping[int, float], kappa: int) -> str:
    return f": {speedups[kappa]:.2f}x" if kappa in speedups else ""


def _over_grid(cells: Sequence[Cell]) -> str:
    return "κ ({setting}) by load: " + "; ".join(f"{cell.kappa or 'off'} at {cell.where}" for cell in cells)


def _cell(own: Any, i: int) -> Cell:
    if not isinstance(own, Mapping):
        raise ParameterError(f"grid[{i}]", f"grid[{i}] holds {type(own).__name__}; allowed: an object")
    at = [_load(own, name, i) for name in ("batch", "context")]
    kappa = _kappa(own, "kappa", f"grid[{i}].")
    speedups = _speedups(own.get("kappas", ()), f"grid[{i}].kappas")
    off = _speedup(own.get("plain_or_off_speedup"), f"grid[{i}].plain_or_off_speedup")
    regrets = _regrets(own.get("kappas", ()), f"grid[{i}].kappas")
    lost = _regret(own.get("plain_or_off_regret"), f"grid[{i}].plain_or_off_regret")
    return Cell(kappa, at[0], at[1], speedups, 1.0 if off is None else off, regrets, lost)


def _load(own: Mapping[str, Any], name: str, i: int) -> int | None:
    value = own.get(name)
    if value is None:
        return None
    if type(value) not in (int, float) or not 1 <= value < 2**31 or value != int(value):
        raise ParameterError(f"grid[{i}].{name}", f"grid[{i}].{name} = {shown(value)}; allowed: a whole number from 1")
    return int(value)


def _kappa(own: Mapping[str, Any], name: str, under: str = "") -> int:
    if name not in own:
        raise ParameterError(under + name, f"{under}{name} is missing; allowed: what simspec recommend --json prints")
    value = own[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= KAPPA_LIMIT:
        raise ParameterError(
            under + name, f"{under}{name} = {shown(value)} is out of range; allowed: 0 to {KAPPA_LIMIT}, 0 is off"
        )
    return value


def _speedups(entries: Any, name: str) -> dict[int, float]:
    """Speed-up by κ, of those that a latency limit leaves."""
    out: dict[int, float] = {}
    for i, own in enumerate(_list(entries, name)):
        if isinstance(own, Mapping) and own.get("within_limit") is not False:
            speedup = _speedup(own.get("speedup"), f"{name}[{i}].speedup")
            if speedup is not None:
                out[_kappa(own, "kappa", f"{name}[{i}].")] = speedup
    return out


def _regrets(entries: Any, name: str) -> dict[int, float]:
    """Expected loss by κ, where known; none is known over a latency limit."""
    out: dict[int, float] = {}
    for i, own in enumerate(_list(entries, name)):
        regret = (
            _regret(own.get("expected_regret"), f"{name}[{i}].expected_regret") if isinstance(own, Mapping) else None
        )
        if regret is not None:
            out[_kappa(own, "kappa", f"{name}[{i}].")] = regret
    return out


def _regret(value: Any, name: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value < 1.0:
        raise ParameterError(name, f"{name} = {shown(value)} is out of range; allowed: 0 ≤ loss < 1")
    return float(value)


def _speedup(value: Any, name: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 < value < math.inf:
        raise ParameterError(name, f"{name} = {shown(value)} is out of range; allowed: above 0")
    return float(value)


def _kappas(given: Any, name: str) -> list[int]:
    return sorted({_kappa({"kappa": own}, "kappa", f"{name}: ") for own in _list(given, name)})


def _entry(given: Any, key: str, name: str) -> Any:
    if not isinstance(given, Mapping) or key not in given:
        raise ParameterError(name, f"{name} holds no {key}; allowed: what simspec recommend --json prints")
    return given[key]


def _list(value: Any, name: str) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise ParameterError(name, f"{name} holds {type(value).__name__}; allowed: a list")
    return value
