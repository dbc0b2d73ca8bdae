"""The answer as JSON: places, rates and κ under the names of their fields."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simspec.advice.drift.text import line, notes, rate, unsteady
from simspec.advice.drift.worth import Worth
from simspec.evidence.changes.course import ROUND
from simspec.evidence.changes.stretches import kappa_runs

if TYPE_CHECKING:
    from simspec.advice.drift.answer import DriftAnswer


def to_dict(own: DriftAnswer) -> dict[str, Any]:
    """The answer as JSON has it."""
    runs = kappa_runs(own.course)
    changes = [
        {
            **_at(own, change.unit),
            "interval": [own.course.round_at(change.low), own.course.round_at(change.high)],
            "told_after_rounds": own.course.round_at(change.told) - own.course.round_at(change.unit),
            "alpha_before": rate(own, before),
            "alpha_after": rate(own, after),
            "mean_kappa_before": before.mean_kappa,
            "mean_kappa_after": after.mean_kappa,
        }
        for change, (before, after) in zip(own.changes, itertools.pairwise(own.stretches), strict=True)
    ]
    return {
        "files": [Path(file).name for file in own.source.files],
        "shape": own.source.shape,
        "unit": own.course.unit,
        "units": len(own.course.rounds),
        "rounds": int(own.course.rounds.sum()),
        "detector": own.detector,
        "level": own.level,
        "rounds_per_block": own.blocks.rounds,
        "blocks": len(own.blocks.values),
        "design_effect": own.blocks.design,
        "kappa_from": None if runs is None else [_at(own, first) | {"kappa": kappa} for first, kappa in runs],
        "changes": changes,
        "least_fall_told": own.unseen,
        "stretches": [_stretch(own, i) for i in range(len(own.stretches))],
        "worth": {**vars(own.worth), "gain": own.worth.gain} if isinstance(own.worth, Worth) else None,
        "reasons": {"worth": own.worth} if isinstance(own.worth, str) else {},
        "notes": [*unsteady(own), *notes(own)],
    }


def _at(own: DriftAnswer, unit: int) -> dict[str, Any]:
    """A place as JSON has it: its round, and what else it is called."""
    course, out = own.course, {"round": own.course.round_at(unit)}
    if course.begins is not None:
        return out | dict(zip(("file", "line"), line(own, unit), strict=True))
    if course.names is not None:
        return out | {course.unit: unit + 1, "name": course.names[unit]}
    return out if course.unit == ROUND else out | {course.unit.replace(" ", "_"): unit + 1}


def _stretch(own: DriftAnswer, i: int) -> dict[str, Any]:
    part = own.stretches[i]
    return {
        "from": _at(own, part.first),
        "rounds": part.rounds,
        "examined": part.examined,
        "accepted": part.accepted,
        "alpha": part.alpha,
        "interval": list(part.interval),
        "alpha_same_positions": part.alpha_same,
        "kappas": list(own.kappas[i]),
        "mean_kappa": part.mean_kappa,
    }
