"""How often does each interval hold the exact value?  Replications with other seeds, by the way every run is played."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simspec import theory
from simspec.claims.coverage.settings import KAPPA, KAPPAS, USUAL, Setting, tied
from simspec.claims.coverage.units import token_cost_quantile
from simspec.model import Stop
from simspec.run.columns import values
from simspec.run.decided import WIDTHS, decided
from simspec.run.engine import Job, Pieces, merge, parted, play
from simspec.run.layout import looks
from simspec.run.progress import Progress
from simspec.run.tables import Block, estimate_table

LEVEL = 0.95
TOGETHER, PILOTS = 500, 200
"""Replications whose tables are made at once; and runs with further seeds from which precisions asked for are taken."""
ROUNDING = 1e-9
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Figure:
    """What an interval is of.

    Attributes
    ----------
    column : str
        Of the estimates table; "" for the claim which κ is best.
    kind : str
        How its interval comes about.
    key : str
        Of the ``[stop]`` table, by which the run stops at whose end the figure is looked at.
    sharp : bool
        Whether it should cover as often as stated, rather than at least.
    """

    name: str
    column: str
    kind: str
    key: str
    sharp: bool = False


FIGURES = (
    Figure("E[A]", "mean_accepted", "Student", "mean_accepted", True),
    Figure("S", "speedup", "Student, ratio", "speedup", True),
    Figure("accepted of examined", "alpha_examined", "binomial, effective size", "speedup"),
    Figure("P(A = 0)", "p_zero_accepted", "binomial", "speedup"),
    Figure("P(full)", "p_full", "binomial", "speedup"),
    Figure("p99 of the cost per token", "unit_token_cost_p99", "ranks", "p99"),
    Figure("which κ is best", "", "Student, paired, all κ", "best_kappa"),
)


def exact(setting: Setting, figure: Figure) -> float:
    """The true value; NaN where it is not known: p99 of units of many rounds or requests."""
    process = setting.own
    law, own = theory.window(process, KAPPA), setting.job(0).whole
    if figure.column == "speedup":
        return float(theory.speedup(process, KAPPA, USUAL))
    if figure.column == "alpha_examined":
        return law.mean_accepted / law.mean_examined
    if figure.column == "unit_token_cost_p99":
        if (process.unit == "lane" and own.rounds > 16) or own.generations > 1:
            return float("nan")
        return token_cost_quantile(process, KAPPA, USUAL, own.rounds, 0.99)
    return float(getattr(law, figure.column)) if figure.column else float("nan")


@dataclass(frozen=True)
class Held:
    """What became of the replications of one setting.

    Attributes
    ----------
    ends : tuple of int
        Chunks after which they were looked at.
    inside : dict
        Figure → (replications, looks), whether the interval held the exact value.
    at : dict
        Key of a ``[stop]`` table → look at which each replication stopped, from 0.
    targets : dict
        Key → the precision asked for.
    units : tuple of int
        Independent units of the first replication by look.
    """

    ends: tuple[int, ...]
    inside: dict[str, Bools]
    at: dict[str, NDArray[np.int64]]
    targets: dict[str, float]
    units: tuple[int, ...]

    def at_any_look(self, figure: Figure) -> Bools:
        """Whether the interval held at every look: the worst stop rule there is does no harm."""
        return np.asarray(self.inside[figure.name].all(axis=1))

    def at_the_stop(self, figure: Figure) -> Bools:
        """Whether it held where the run stopped."""
        own = self.inside[figure.name]
        return np.asarray(own[np.arange(len(own)), self.at[figure.key]])


def held(setting: Setting, replications: int, seed: int = 0, progress: Progress | None = None) -> Held:
    """Play a setting with root seeds ``seed``, ``seed`` + 1, …"""
    truth = {figure.name: exact(setting, figure) for figure in FIGURES}
    every = [figure for figure in FIGURES if not figure.column or not np.isnan(truth[figure.name])]
    targets = _targets(setting, range(seed + replications, seed + replications + PILOTS)) if setting.stopped else {}
    inside: dict[str, list[Bools]] = {figure.name: [] for figure in every}
    at: dict[str, list[NDArray[np.int64]]] = {key: [] for key in targets}
    units: list[int] = []
    for first in range(seed, seed + replications, TOGETHER):
        seeds = range(first, min(first + TOGETHER, seed + replications))
        found = list(tables(setting, seeds))
        units = units or [int(values(table, "units")[-1]) for table in found]
        for figure in every:
            inside[figure.name].append(np.stack([_inside(t, figure, truth[figure.name]) for t in found], axis=1))
        for key, target in targets.items():
            at[key].append(stopped_at(Stop(**{key: target}), found, seeds))
        if progress is not None:
            progress.say(f"{setting.process}: {seeds.stop - seed:,} of {replications:,}")
    return Held(
        ends_of(setting), {name: np.concatenate(own) for name, own in inside.items()},
        {key: np.concatenate(own) for key, own in at.items()}, targets, tuple(units),
    )  # fmt: skip


def ends_of(setting: Setting) -> tuple[int, ...]:
    """Chunks after which a setting is looked at."""
    chunks = setting.job(0).whole.chunks
    return looks(chunks) if setting.stopped else (chunks,)


def tables(setting: Setting, seeds: Sequence[int]) -> Iterator[pa.Table]:
    """The estimates of some replications, look by look: rows by seed, price (usual, tied) and κ."""
    costs = [USUAL, tied(setting.own)]
    jobs: list[tuple[Job, Pieces]] = [(setting.job(seed), {}) for seed in seeds]
    for number, (begin, end) in enumerate(itertools.pairwise((0, *ends_of(setting))), start=1):
        blocks = []
        for job, pieces in jobs:
            own = job.at_look(number) if setting.stopped else job
            for kappa, tally in parted(play(own, range(begin, end))).items():
                pieces.setdefault(kappa, []).append((range(begin, end), tally))
            blocks.append(Block(own, merge(pieces), costs, LEVEL))
        yield estimate_table(blocks)


def _by_run(table: pa.Table, name: str) -> NDArray[Any]:
    """A column as (seeds, costs, κ)."""
    return np.asarray(values(table, name)).reshape(-1, 2, len(KAPPAS))


def _inside(table: pa.Table, figure: Figure, truth: float) -> Bools:
    """By seed: whether the interval holds the value; none of two equal κ may be said to be beaten."""
    if not figure.column:
        return np.asarray(_by_run(table, "indistinguishable")[:, 1].all(axis=-1))
    low, high = (_by_run(table, figure.column + end)[:, 0, KAPPAS.index(KAPPA)] for end in ("_low", "_high"))
    spare = ROUNDING * abs(truth)
    return np.asarray((low - spare <= truth) & (truth <= high + spare))


def stopped_at(stop: Stop, found: Sequence[pa.Table], seeds: Sequence[int]) -> NDArray[np.int64]:
    """The first look at which all of a run is known, or the last one."""
    out = np.full(len(seeds), len(found) - 1)
    for look in reversed(range(len(found))):
        known = {seed for _, seed in decided(stop, found[look])}
        out[[seed in known for seed in seeds]] = look
    return out


def _targets(setting: Setting, seeds: Sequence[int]) -> dict[str, float]:
    """Precisions that half of some other runs reach at a look in the middle: so runs stop early and late."""
    found = list(tables(setting, seeds))
    keys = dict.fromkeys(figure.key for figure in FIGURES)
    out = {}
    for key in keys:
        reached = [np.median(_precision(table, key)) for table in found[len(found) // 2 :]]
        known = [float(own) for own in reached if np.isfinite(own)]
        out[key] = max(known[0], ROUNDING) if known else 1.0
    return out


def _precision(table: pa.Table, key: str) -> NDArray[np.float64]:
    """By run: the largest half width of its rows; of the best κ, the share of it that is not told apart."""
    if key == "best_kappa":
        low, high, behind = (_by_run(table, f"behind_best{end}") for end in ("_low", "_high", ""))
        share = np.where(high < 0.0, 0.0, -low / (_by_run(table, "speedup") - behind))
    else:
        share = (_by_run(table, f"{WIDTHS[key]}_high") - _by_run(table, f"{WIDTHS[key]}_low")) / 2.0
    return np.asarray(share.max(axis=(1, 2)))
