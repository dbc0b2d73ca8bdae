"""How does coverage read?  A page from the two tables alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from simspec.claims.coverage.judged import LEVEL, OFF
from simspec.claims.coverage.play import FIGURES
from simspec.claims.coverage.rows import ANY, STOP, limits
from simspec.text import table

if TYPE_CHECKING:
    import pandas as pd

HEADING = "# Do intervals and the judge keep their word?"
COMMAND = "python -m simspec.claims.coverage"


def page(coverage: pd.DataFrame, judge: pd.DataFrame, note: dict[str, Any]) -> str:
    """The page, from the tables as they are made or as they are read back."""
    many, out = int(coverage.replications.iloc[0]), coverage[~coverage.inside]
    sharp = coverage[coverage.figure.isin([own.name for own in FIGURES if own.sharp])]
    fixed = sharp[sharp.budget == "fixed"].coverage
    worst = {when: coverage[coverage.when == when].coverage.min() for when in (ANY, STOP)}
    least, most = limits(many, stopped=False)
    verdict = "all keep it" if out.empty else f"**{len(out)} do not**"
    parts = [
        f"""{HEADING}

`{COMMAND} results/coverage --replications {many} --seed {note["seed"]}` wrote this folder: {many:,} runs of every
setting with root seeds {note["seed"]} to {note["seed"] + many - 1}, played, counted and estimated as any run is;
commit {note["commit"] or "unknown"}, {note["seconds"]} s of processor time.  `coverage.parquet` and `judge.parquet` have
every number that stands here.

{len(coverage)} rows, {verdict}: 95% intervals of a fixed budget have to cover {least:.1%} to {most:.1%}, those of a run
that stops by itself {limits(many, stopped=True)[0]:.1%} or more.  The standard error of a share is {math.sqrt(0.95 * 0.05 / many):.2%}.

* **Fixed**: E[A] and S are covered in {fixed.min():.2%} to {fixed.max():.2%}.  Student's law on independent units (S as a
  ratio of sums, with a price on rejections): windows where these are independent, else lanes, and requests never divided.
* **At every look**: in no less than {worst[ANY]:.2%} all looks of a run were right, so whatever the rule by which one
  stops, it does no harm.  **Where it stopped**, at a precision that half of the runs reach in the middle: {worst[STOP]:.2%} at least.
  Look k may be wrong in 5%/(k(k + 1)) and there are few looks, so that not all of the 5% is spent; and looks are alike.
* *At least* 95% by construction: shares of rounds (exact binomial where windows are independent; else with the size
  that their dependence leaves) and the p99 (by ranks, whatever the law; a law of few values is covered nearly always).
* **Which κ is best**: κ = 2 and 4 at prices that make them equally fast to the last digit.  Held where neither is said to be
  beaten.  With one truly best κ it is wrong less often.
* Wider on purpose: with fewer than 50 rejections, or acceptances, the spread of units is not trusted alone.
* Settings of one process share their words where their chunks do, so their shares are not independent.
"""
    ]
    for title, rows in (
        ("A fixed budget", coverage[coverage.budget == "fixed"]),
        ("A run that stops: right at every look", coverage[coverage.when == ANY]),
        ("A run that stops: right where it stopped", coverage[coverage.when == STOP]),
    ):
        parts.append(f"## {title}\n\n```text\n{_shares(rows)}\n```\n")
    return "\n".join([*parts, _judge(judge)])


def _shares(rows: pd.DataFrame) -> str:
    """A line per setting, a column per figure."""
    lines = []
    for _, own in rows.groupby(["process", "windows", "lanes"], sort=False):
        first = own.iloc[0]
        each = (
            f"{first.rounds} rounds"
            if first.rounds
            else f"{first.requests} request{'s' * (first.requests > 1)} of 64 tokens"
        )
        unit = "windows" if first.unit == "windows" else f"lanes of {each}"
        count = f"{first.units_last:,}" if not first.looks else f"{first.units_first:,} to {first.units_last:,}"
        cells = [str(first.process), f"{first.windows:,}", f"{count} {unit}"]
        if first.looks:
            cells.append(str(first.looks))
        shares = {str(row.figure): f"{row.coverage:.2%}{'' if row.inside else ' !'}" for row in own.itertuples()}
        lines.append([*cells, *(shares.get(figure.name, "–") for figure in FIGURES)])
    looks = ["looks"] if rows.looks.any() else []
    return table(["process", "windows", "units", *looks, *(figure.name for figure in FIGURES)], lines)


def _judge(found: pd.DataFrame) -> str:
    seeds, wrong = int(found.seeds.iloc[0]), int(found.wrong.sum())
    most = LEVEL + 4 * math.sqrt(LEVEL * (1 - LEVEL) / seeds)
    names = list(found.columns[3:])
    lines = [
        [f"{row['windows']:,}", f"{row['wrong'] / seeds:.2%}", *(f"{row[name] / seeds:.2%}" for name in names)]
        for _, row in found.iterrows()
    ]
    return f"""## The judge, allowed to be wrong in {LEVEL:.0%}

{seeds:,} seeds, counts by multinomial draws, {len(names)} claims that are true with the truth on their very edge, {len(found)} stages:
**something false is said in {wrong / seeds:.2%} of the seeds** (allowed: {LEVEL:.0%}, with four standard errors {most:.2%}).  Every claim
may spend a {len(names) * len(found)}th of the {LEVEL:.0%} at each stage, which is a union bound: less is spent as the stages of a claim
contain each other and are often wrong together, and as exact binomial intervals are wide.

The judge is not mute: the same claims, {OFF:.0%} off, are refuted in these shares of the seeds up to each stage.  What is
not refuted stays open, none is supported.

```text
{table(["windows", "first false verdict", *names], lines)}
```
"""


def told(found: pd.DataFrame) -> list[str]:
    """A line per row that does not keep its word."""
    return [
        f"{row.process}, {row.windows:,} windows, {row.budget} {row.when}: {row.figure} {row.coverage:.4f} ± {row.error:.4f}"
        for row in found[~found.inside].itertuples()
    ]
