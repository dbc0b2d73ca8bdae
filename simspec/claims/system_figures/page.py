"""How do predictions read?  A table of all rows, played and exact, and the page and the summary made of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simspec.claims.lab import Lab
from simspec.claims.system_figures.groups import all_groups
from simspec.claims.system_figures.row import ROUNDING, Group, Predicted
from simspec.claims.system_figures.unpredicted import UNPREDICTED
from simspec.model import DatasetError
from simspec.run.progress import Progress
from simspec.stats.intervals import student

if TYPE_CHECKING:
    import pandas as pd

HEADING = "# Predicted, published"
COMMAND = "python -m simspec.claims.system_figures"
HEAD = "| system | taken | quantity | predicted | inputs allow | simulated | published | difference | meet | missing |"
ROUNDS, SEED = 2**20, 1
FALSE_ALARM, NEAR = 1e-6, 0.02
"""Upper limit for the probability that any simulated row of a sound engine leaves its bound."""
SUMMARY = """\
Every prediction takes figures that a source publishes of a draft, and gives one that the source, or a benchmark,
publishes of a round; nothing is tuned.  The models hold where the inputs describe the drafts that were run: Leviathan's
expected column, multi-token prediction, chains of fixed K whose first two or three depths are known (EAGLE-3 at K = 3,
vLLM by K, heads side by side), an adapted K once its rule is played, the wall times of Spec-Bench, Sequoia's speed-ups
at temperature 0.  They miss where one number stands for what differs: texts (Leviathan's measured speed-ups, runs on
code, K that follows confidence, Sequoia's tokens), ranks beyond the first (EAGLE's and Medusa's trees against top-1
rates), depths (a tree that thins out; SpecInfer's gain from width), and costs that no source tells (large drafts, the
best K of Chinchilla, DISCO's oracle).  In all these cases the missing input is named.  Where it may be anything, the
range it allows is given, and the published figure lies in it but for one: DISCO on MBPP, whose runs are no independent
ones."""


def played(rounds: int = ROUNDS, seed: int = SEED, progress: Progress | None = None) -> pd.DataFrame:
    """All rows with what was simulated of them.

    Raises
    ------
    DatasetError
        A simulated value lies outside its bound of the exact one.
    """
    import pandas as pd

    groups = all_groups()
    lab = Lab(seed, progress=progress)
    own = [row.played for group in groups for row in group.rows if row.played is not None]
    lab.simulate([one.need for one in own], rounds)
    level = 1.0 - FALSE_ALARM / len(own)
    return pd.DataFrame([_flat(group, row, lab, level) for group in groups for row in group.rows])


def _flat(group: Group, row: Predicted, lab: Lab, level: float) -> dict[str, Any]:
    exact: dict[str, Any] = plain(group, row)
    if row.played is None:
        return exact | {"simulated": None, "error": None, "rounds": 0}
    seen = row.played.observe(lab)
    bound = student(level, seen.units) * seen.error + ROUNDING
    if abs(seen.value - (row.predicted or 0.0)) > bound:
        raise DatasetError(f"{row.system}: simulated {seen.value:.6g}, exact {row.predicted:.6g}; nothing is written")
    return exact | {"simulated": seen.value, "error": seen.error, "rounds": seen.rounds}


def plain(group: Group, row: Predicted) -> dict[str, Any]:
    """A row without simulation."""
    return {
        "group": group.title, "source": group.source, "system": row.system, "inputs": row.inputs,
        "quantity": row.quantity, "predicted": row.predicted, "low": row.span.low, "high": row.span.high,
        "published": row.published, "unit": row.unit, "difference": row.difference, "holds": row.holds,
        "missing": row.missing,
    }  # fmt: skip


def page(table: pd.DataFrame) -> str:
    """The page, from the groups and the table of their rows.

    Parameters
    ----------
    table : DataFrame
        As `played` makes it, or as it is read back.
    """
    groups = all_groups()
    lines = [
        HEADING, "", SUMMARY, "", _counted(table), "",
        f"Made by `{COMMAND} results/systems`; `published.parquet` beside it holds every digit and each source.", "",
        *summary_lines(groups), "",
    ]  # fmt: skip
    for group in groups:
        own = table[table["group"] == group.title]
        lines += [
            f"## {group.title}",
            "",
            f"{group.finding}",
            "",
            f"Source: {group.source}.  Model: {group.model}.",
            "",
        ]
        lines += _rows(own)
        lines.append("")
    lines += ["## No prediction", "", "Published figures of systems whose inputs nobody published.", ""]
    lines += ["| system | published | missing |", "|---|---|---|"]
    lines += [f"| {system} | {figure} | {lacks} |" for system, figure, lacks in UNPREDICTED]
    return "\n".join(lines) + "\n"


def _counted(table: pd.DataFrame) -> str:
    ranges, holds = table["predicted"].isna(), table["holds"]
    seen = int((table["rounds"] > 0).sum())
    return (
        f"{len(table)} rows, of which {int(ranges.sum())} are ranges; {int(holds.sum())} meet the published figure "
        f"within the rounding of inputs and figure, {int((ranges & holds).sum())} of them ranges.  {seen} rows were "
        f"also played, {ROUNDS:,} rounds or more each, seed {SEED}; each lies within its bound of the exact value "
        f"(false alarm ≤ {FALSE_ALARM:g} over all of them).  Simulated: ± one standard error.  Cost unit: one plain "
        "target step.  Difference: predicted less published, from the nearer end of a range."
    )


def summary_lines(groups: Sequence[Group] | None = None) -> list[str]:
    """One line per group: rows, how many meet, differences in per cent of the published figure."""
    lines = [
        "| figures | rows | meet within rounding | within 2% | median difference | largest | of |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    for group in groups if groups is not None else all_groups():
        share = np.array([abs(row.difference) / row.published for row in group.rows])
        worst = group.rows[int(share.argmax())]
        told = worst.system if share.max() > 0.0 else "–"
        if told != "–":
            told += f": {_value(worst)} for {worst.published:g}"
        meet = sum(row.holds for row in group.rows)
        near = int((share <= NEAR).sum())
        counts = f"{len(group.rows)} | {meet} | {near} | {np.median(share):.1%} | {share.max():.1%}"
        lines.append(f"| {group.title} | {counts} | {told} |")
    return lines


def _value(row: Predicted) -> str:
    return f"{row.predicted:.3g}" if row.predicted is not None else f"{row.span.low:.3g} … {row.span.high:.3g}"


def _rows(own: pd.DataFrame) -> list[str]:
    lines = [HEAD, "|---|---|---|--:|--:|--:|--:|--:|---|---|"]
    for row in own.to_dict("records"):
        point = row["predicted"] == row["predicted"] and row["predicted"] is not None
        allow = "–" if point and row["low"] == row["high"] else f"{row['low']:.3f} … {row['high']:.3f}"
        seen = f"{row['simulated']:.4f} ± {row['error']:.4f}" if row["rounds"] else "–"
        off = "inside" if not point and row["holds"] else f"{row['difference']:+.3f}"
        cells = [
            row["system"], row["inputs"], row["quantity"], f"{row['predicted']:.3f}" if point else "–", allow, seen,
            f"{row['published']:g}", off, "yes" if row["holds"] else "no", row["missing"],
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return lines
