"""How do round costs go into a file and come back?  JSON of `simspec costs`, a scenario's [cost], or measurements."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from simspec.evidence.costs.points import Edge, Point
from simspec.evidence.costs.roofline import Roofline
from simspec.evidence.costs.round_costs import CostGrid, RoundCosts
from simspec.evidence.costs.sweep import costs
from simspec.evidence.lines import Text
from simspec.model.cost import Cost
from simspec.model.errors import ParameterError

KIND = "costs"
_NUMBERS = ("plain_error", "off", "rollback", "draft", "plain_ms", "batch", "context")


def cell_to_dict(own: RoundCosts) -> dict[str, Any]:
    """One cell, JSON-ready, with R(κ) spelled out for readers."""
    last = max([8, *own.kappas])
    return {
        "model": own.model,
        "origin": own.origin,
        **{name: getattr(own, name) for name in _NUMBERS},
        "freedom": None if own.freedom == float("inf") else own.freedom,
        "kappas_measured": list(own.kappas),
        "line": own.figures,
        "round_cost": _spelled_out(own, last),
        "measured": [vars(point) for point in own.measured],
        "edges": [vars(edge) | {"says": str(edge)} for edge in own.edges],
        "nodes": own.nodes.tolist(),
        "mean": own.mean.tolist(),
        "spread": own.spread.tolist(),
        "seen": own.seen,
        "given": None if own.given is None else own.given.identity(),
        "notes": list(own.notes),
    }


def _spelled_out(own: RoundCosts, last: int) -> list[dict[str, Any]]:
    rows = []
    for kappa in range(1, last + 1):
        try:
            row = {"R": own.at(kappa), "error": (own.error(kappa) or None) if own.known_noise else None}
        except ParameterError:
            continue
        rows.append({"kappa": kappa} | row | {"extrapolated": own.extrapolated(kappa)})
    return rows


def cell_from_dict(own: Mapping[str, Any]) -> RoundCosts:
    """What `cell_to_dict` wrote.

    Raises
    ------
    ParameterError
        Something is missing or of the wrong kind.
    """
    try:
        nodes = np.asarray(own["nodes"], np.float64)
        freedom = own.get("freedom")
        return RoundCosts(
            model=str(own["model"]), nodes=nodes, mean=np.asarray(own["mean"], np.float64),
            spread=np.asarray(own["spread"], np.float64).reshape(len(nodes), -1),
            freedom=float("inf") if freedom is None else float(freedom),
            measured=tuple(Point(**point) for point in own["measured"]),
            edges=tuple(Edge(edge["below"], edge["above"], edge["jump"]) for edge in own["edges"]),
            notes=tuple(own["notes"]), origin=str(own["origin"]), figures=dict(own["line"]),
            given=None if own["given"] is None else Cost(**own["given"]),
            seen=None if own["seen"] is None else (float(own["seen"][0]), float(own["seen"][1])),
            **{name: own[name] for name in _NUMBERS},
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise ParameterError("costs", f"not as `simspec costs --json` writes them ({error!r})") from None


def grid_to_dict(grid: CostGrid) -> dict[str, Any]:
    """A grid, JSON-ready; `grid_from_dict` reads it again.

    Examples
    --------
    >>> grid = CostGrid.of(RoundCosts.affine(1.1, 0.1, kappas=(2, 4)))
    >>> grid_from_dict(json.loads(json.dumps(grid_to_dict(grid)))).at().at(3).__round__(3)
    1.4
    """
    surface = grid.surface
    return {
        "simspec": KIND,
        "cells": [cell_to_dict(grid.cells[load]) for load in grid.loads],
        "roofline": surface.to_dict() if isinstance(surface, Roofline) else None,
        "notes": list(grid.notes),
    }


def grid_from_dict(own: Mapping[str, Any]) -> CostGrid:
    """What `grid_to_dict` wrote."""
    try:
        cells = [cell_from_dict(cell) for cell in own["cells"]]
        surface = None if own["roofline"] is None else Roofline.from_dict(own["roofline"])
        return CostGrid({(cell.batch, cell.context): cell for cell in cells}, surface, tuple(own["notes"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ParameterError("costs", f"not as `simspec costs --json` writes it ({error!r})") from None


def read_costs(file: str | Path) -> CostGrid:
    """Costs of a file: JSON of ``simspec costs --json``, a scenario with [cost], or a table of measurements.

    Raises
    ------
    ParameterError, ScenarioError
        The file cannot be read or holds no costs.
    """
    name = str(file)
    if name.endswith(".toml"):
        return CostGrid.of(RoundCosts.of_cost(_cost_of_toml(name), f"[cost] of {name}"))
    text = Text(name)
    with contextlib.closing(text):
        head = text.head()[:200].lstrip()
        whole = b"".join(text.blocks()) if head.startswith(b"{") and b'"simspec"' in head else b""
    if not whole:
        return costs(file)
    try:
        own = json.loads(whole)
    except (ValueError, RecursionError) as error:
        raise ParameterError("costs", f"{name}: breaks off or is no JSON ({error})") from None
    if not isinstance(own, dict) or own.get("simspec") != KIND:
        raise ParameterError("costs", f"{name}: is JSON of simspec, but not of `simspec costs --json`")
    try:
        return grid_from_dict(own)
    except ParameterError as error:
        raise ParameterError("costs", f"{name}: {error.message}") from None


def _cost_of_toml(name: str) -> Cost:
    """The [cost] of a file that may hold nothing else."""
    import tomllib

    try:
        own = tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ParameterError("costs", f"{name}: cannot be read ({error})") from None
    if not isinstance(own.get("cost"), dict):
        raise ParameterError("costs", f"{name}: has no [cost]")
    try:
        return Cost(**own["cost"])
    except ParameterError as error:
        raise ParameterError("costs", f"{name}: {error.under('cost').message}") from None


def toml(costs_at: RoundCosts, kappa_max: int) -> str:
    """A [cost] table to paste into a scenario.

    Examples
    --------
    >>> print(toml(RoundCosts.affine(1.0882, 0.1046, origin="sweep.csv"), 8))
    # sweep.csv: affine, κ up to 8; c_d holds drafting and wider verification, which R cannot tell apart
    [cost]
    c0 = 1.0882
    c_d = 0.1046
    """
    cost = costs_at.cost(kappa_max)
    together = (
        ""
        if costs_at.draft is not None or not cost.c_d
        else ("; c_d holds drafting and wider verification, which R cannot tell apart")
    )
    usual = Cost().numbers() | ({"c0": 0.0} if cost.verify_table is not None else {})
    lines = [f"# {costs_at.origin}: {costs_at.model}, κ up to {kappa_max}{together}", "[cost]"]
    lines += [f"{key} = {value:.6g}" for key, value in cost.numbers().items() if value != usual[key]]
    lines += [f"{key} = [{', '.join(f'{entry:.6g}' for entry in own)}]" for key, own in cost.tables().items()]
    return "\n".join(lines)
