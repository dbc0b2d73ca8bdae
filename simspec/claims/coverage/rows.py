"""Which rows does the table of coverage have?  One per setting, figure and way to stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simspec.claims.coverage.judged import STAGES, Judged
from simspec.claims.coverage.play import FIGURES, LEVEL, Figure, Held, exact, held
from simspec.claims.coverage.settings import Setting
from simspec.run.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

ROOM, ROOM_BELOW = 0.008, 0.006
"""How far from 95% the coverage of a fixed budget may lie, and how far below that of a run that stops."""
USUAL = 20_000
"""Replications at which chance has room enough in that: it is five of its standard errors."""
ANY, STOP = "at every look", "where it stopped"
UNITS = {"window": "windows", "lane": "lanes", "generation": "lanes of requests"}


def coverage(
    settings: Sequence[Setting], replications: int, seed: int = 0, progress: Progress | None = None
) -> pd.DataFrame:
    """Play settings: a row per figure, two where runs stop."""
    import pandas as pd

    rows = [row for own in settings for row in rows_of(own, held(own, replications, seed, progress))]
    return pd.DataFrame(rows)


def rows_of(setting: Setting, found: Held) -> list[dict[str, Any]]:
    """The rows of one setting."""
    rows = []
    for figure in FIGURES:
        if figure.name not in found.inside:
            continue
        if not setting.stopped:
            rows.append(_row(setting, found, figure, "", found.at_any_look(figure)))
            continue
        rows.append(_row(setting, found, figure, ANY, found.at_any_look(figure)))
        rows.append(_row(setting, found, figure, STOP, found.at_the_stop(figure)))
    return rows


def _row(setting: Setting, found: Held, figure: Figure, when: str, inside: NDArray[np.bool_]) -> dict[str, Any]:
    job, many = setting.job(0), len(inside)
    plan = job.whole
    share = float(inside.mean())
    stops = found.at[figure.key] if when == STOP else None
    return {
        "process": setting.process,
        "unit": UNITS[setting.own.unit],
        "budget": "stopped" if setting.stopped else "fixed",
        "windows": setting.windows,
        "lanes": plan.lanes,
        "rounds": plan.rounds,
        "requests": plan.generations,
        "units_first": found.units[0],
        "units_last": found.units[-1],
        "looks": len(found.ends) if setting.stopped else 0,
        "figure": figure.name,
        "interval": figure.kind,
        "exact": exact(setting, figure),
        "when": when,
        "asked_for": found.targets.get(figure.key, math.nan) if when == STOP else math.nan,
        "mean_looks": math.nan if stops is None else float(stops.mean()) + 1.0,
        "replications": many,
        "held": int(inside.sum()),
        "coverage": share,
        "error": math.sqrt(share * (1.0 - share) / many),
        "inside": fits(share, many, figure.sharp, setting.stopped),
    }


def limits(replications: int, stopped: bool) -> tuple[float, float]:
    """What 95% intervals have to cover; with fewer than 20,000 replications chance is given its room.

    Examples
    --------
    >>> [[round(end, 4) for end in limits(many, False)] for many in (20_000, 100)]
    [[0.942, 0.958], [0.8367, 1.0]]
    >>> limits(20_000, True)
    (0.944, 1.0)
    """
    error = math.sqrt(LEVEL * (1.0 - LEVEL) / replications)
    if stopped:
        return LEVEL - max(ROOM_BELOW, 4.0 * error if replications < USUAL else 0.0), 1.0
    room = max(ROOM, 5.2 * error if replications < USUAL else 0.0)
    return LEVEL - room, min(LEVEL + room, 1.0)


def fits(share: float, replications: int, sharp: bool, stopped: bool) -> bool:
    """Whether a coverage is what it has to be; intervals that promise "at least" may cover more.

    Examples
    --------
    >>> fits(0.96, 20_000, True, False), fits(0.96, 20_000, False, False), fits(0.943, 20_000, True, True)
    (False, True, False)
    """
    low, high = limits(replications, stopped)
    return low <= share and (share <= high or not sharp)


def judge_table(found: Judged) -> pd.DataFrame:
    """A row per stage: seeds with a first false verdict, and seeds in which each false claim was refuted by then."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for i, stage in enumerate(STAGES):
        row: dict[str, Any] = {"windows": stage, "seeds": found.seeds, "wrong": found.wrong[stage]}
        row["tried"] = found.tried
        for name, own in found.refuted.items():
            row[name] = sum(own[before] for before in STAGES[: i + 1])
        rows.append(row)
    return pd.DataFrame(rows)
