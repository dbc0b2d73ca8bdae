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


def page(tables: dict[str, pd.DataFrame], note: dict[str, Any]) -> str:
    """The page, from the tables as they are made or as they are read back."""
    coverage = tables["coverage"]
    many, out, seed = note["replications"], coverage[~coverage.inside], note["seed"]
    sharp = coverage[coverage.figure.isin([own.name for own in FIGURES if own.sharp])]
    fixed = sharp[sharp.budget == "fixed"].coverage
    worst = {when: coverage[coverage.when == when].coverage.min() for when in (ANY, STOP)}
    (least, most), (stopped, _) = limits(many, stopped=False), limits(many, stopped=True)
    verdict = "all keep it" if out.empty else f"**{len(out)} do not**"
    error = math.sqrt(0.95 * 0.05 / many)
    parts = [
        f"""{HEADING}

`{COMMAND} results/coverage --replications {many} --seed {seed}` wrote this folder:
{many:,} runs of every setting, with root seeds from {seed} on, are played, counted and estimated as any run is.
Every number of this page is in its three tables:

{_origin(note)}

{len(coverage)} rows, {verdict}: 95% intervals of a fixed budget have to cover {least:.1%} to {most:.1%},
those of a run that stops by itself {stopped:.1%} or more.  The standard error of a share is {error:.2%}.

* **Fixed budget**: intervals of E[A] and S hold the exact value in {fixed.min():.2%} to {fixed.max():.2%} of the runs.
  They are Student's, on independent units: windows where these are independent, else lanes of rounds or of requests.
  S is a ratio of sums, with a price on rejections (c_r = .3).
* **A run that stops**: all its looks were right in {worst[ANY]:.2%} of the runs or more, so no rule by which one
  may stop does harm.  Where it did stop, at a precision that half of the runs reach in the middle, it was right in
  {worst[STOP]:.2%} or more.  Look k may be wrong with 5%/(k(k + 1)); not all of the 5% is spent, since looks are few
  and alike.
* **At least 95%** by the way they are made, and often more: shares of rounds (Clopper and Pearson; where windows
  depend on each other with the size that this leaves), and the p99 (by ranks, which needs nothing to be known of the
  law; 1% of 128 units is so little that there is mostly no upper end, and where a unit costs one of a few values it is
  always right).
* **Which κ is best**: κ = 2 and 4, at prices that make them equally fast to the last digit.  Right where neither is
  said to be beaten.  Where one is truly best there is less to be wrong about.
* With fewer than 50 rejections, or acceptances, the spread of units is not trusted alone, and intervals are wider.
* Settings of one process share random words, so that their shares are not independent.  ! marks what is outside.
"""
    ]
    for title, rows in (
        ("A fixed budget", coverage[coverage.budget == "fixed"]),
        ("A run that stops: right at every look", coverage[coverage.when == ANY]),
        ("A run that stops: right where it stopped", coverage[coverage.when == STOP]),
    ):
        parts.append(f"## {title}\n\n```text\n{_shares(rows)}\n```\n")
    return "\n".join([*parts, _limits(tables["limits"]), _judge(tables["judge"])])


def _origin(note: dict[str, Any]) -> str:
    """A line per table: made of which commit, in what time."""
    return "\n".join(
        f"* `{name}.parquet`: {note['seconds'][name]} s of processor time, commit {commit or 'unknown'}"
        for name, commit in note["commits"].items()
    )


def _limits(rows: pd.DataFrame) -> str:
    many = int(rows.replications.iloc[0])
    error = math.sqrt(0.95 * 0.05 / many)
    return f"""## Where the fewest units are not enough

An interval from the spread of units knows nothing of what hardly one of them has shown.  Where one request in a hundred
is bad, or the text is bad for some twenty tokens now and then, the fewest units there are hold only a few that are bad,
and sums of units are too skewed for Student's law.  A larger budget mends it for means and S, of 8,192 windows on;
which of two equally fast κ is best takes more.  {many:,} runs each, standard error {error:.2%}.

```text
{_shares(rows)}
```
"""


def _shares(rows: pd.DataFrame) -> str:
    """A line per setting, a column per figure."""
    looks = ["looks"] if rows.looks.any() else []
    lines = []
    for _, own in rows.groupby(["process", "windows", "lanes"], sort=False):
        first = own.iloc[0]
        count = f"{first.units_last:,}" if not first.looks else f"{first.units_first:,} to {first.units_last:,}"
        shares = {str(row.figure): f"{row.coverage:.2%}{'' if row.inside else ' !'}" for row in own.itertuples()}
        lines.append([
            str(first.process), f"{first.windows:,}", f"{count} {_unit(first)}", *[str(first.looks)] * len(looks),
            *(shares.get(figure.name, "–") for figure in FIGURES),
        ])  # fmt: skip
    return table(["process", "windows", "units", *looks, *(figure.name for figure in FIGURES)], lines)


def _unit(row: Any) -> str:
    """What the independent unit of a setting is."""
    if row.unit == "windows":
        return "windows"
    plural = "s" * int(row.requests > 1)
    return f"lanes of {row.rounds} rounds" if row.rounds else f"lanes of {row.requests} request{plural}"


def _judge(found: pd.DataFrame) -> str:
    seeds, tried, wrong = int(found.seeds.iloc[0]), int(found.tried.iloc[0]), int(found.wrong.sum())
    most = LEVEL + 4 * math.sqrt(LEVEL * (1 - LEVEL) / seeds)
    names = list(found.columns[4:])
    lines = [
        [f"{row['windows']:,}", f"{row['wrong'] / seeds:.2%}", *(f"{row[name] / tried:.1%}" for name in names)]
        for _, row in found.iterrows()
    ]
    share, part = f"{wrong / seeds:.2%}", f"{len(names) * len(found)}th of the {LEVEL:.0%}"
    return f"""## The judge, allowed to be wrong in {LEVEL:.0%}

{seeds:,} seeds, windows counted by multinomial draws, {len(names)} true claims with the truth on their very edge,
{len(found)} stages, each of which contains those before it: **something false is said in {share} of the seeds**
(allowed: {LEVEL:.0%}, with four standard errors {most:.2%}).  Every claim may spend a {part} at every stage,
a union bound; what is not spent is due to stages that are wrong together, and to exact binomial intervals, which are
wide.

The judge is not mute.  Of {tried:,} seeds with these claims {OFF:.0%} off, the share in which each is refuted by then:

```text
{table(["windows", "first false verdict", *names], lines)}
```
"""


def told(found: pd.DataFrame) -> list[str]:
    """A line per row that does not keep its word."""
    return [
        f"{row.process}, {row.windows:,} windows, {row.budget} {row.when}".rstrip() + ": "
        f"{row.figure} {row.coverage:.4f} ± {row.error:.4f}"
        for row in found[~found.inside].itertuples()
    ]
