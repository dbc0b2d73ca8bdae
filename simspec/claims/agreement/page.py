"""How does the agreement of all systems read?  One line per system and figure, its worst set, and what is outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from simspec.claims.agreement.play import FALSE_ALARM
from simspec.text import table

if TYPE_CHECKING:
    import pandas as pd

HEADING = "# Simulated, exact"
COMMAND = "python -m simspec.claims.agreement"
HEAD = ["system", "figure", "exact by", "sets", "not random", "worst", "bound", "rounds", ""]


class Summary(NamedTuple):
    """One figure of one system over its sets; ``worst`` and ``bound`` of the set that comes nearest its bound."""

    line: str
    system: str
    quantity: str
    exact_by: str
    sets: int
    fixed: int
    worst: float
    bound: float
    rounds: int
    outside: int
    edges: tuple[str, ...]

    def cells(self) -> list[str]:
        """As they stand in the table."""
        told = f"{self.worst:.2f}" if self.fixed < self.sets or self.outside else "–"
        counts = [str(self.sets), str(self.fixed or "–")]
        verdict = f"{self.outside} OUTSIDE" if self.outside else "agrees"
        return [
            self.system, self.quantity, self.exact_by, *counts, told, f"{self.bound:.2f}", f"{self.rounds:,}", verdict
        ]  # fmt: skip


def summaries(found: pd.DataFrame) -> Iterator[Summary]:
    """Every system and figure, in the order of the rows."""
    groups: dict[tuple[str, str, str], list[Any]] = {}
    for row in found.itertuples():
        groups.setdefault((str(row.line), str(row.system), str(row.quantity)), []).append(row)
    for (line, system, quantity), own in groups.items():
        nearest = max(own, key=lambda row: abs(row.z) / row.bound)
        fixed, outside = sum(row.error == 0.0 and row.inside for row in own), sum(not row.inside for row in own)
        edges = tuple(dict.fromkeys(row.edge for row in own if row.edge))
        yield Summary(
            line, system, quantity, nearest.exact_by, len(own), fixed, abs(nearest.z), nearest.bound,
            sum(row.rounds for row in own), outside, edges,
        )  # fmt: skip


def page(found: pd.DataFrame, rounds: int, seed: int) -> str:
    """The page, from the table as `agreed` makes it or as it is read back."""
    random, outside = found[found.error > 0.0], int((~found.inside).sum())
    sets = len(found.drop_duplicates(["line", "system", "scheme", "process", "kappa", "price"]))
    verdict = f"**{outside} lie outside their bound**" if outside else "all agree"
    systems = found.groupby(["line", "system"]).ngroups
    held = (random.bound * random.error / random.exact).where(random.exact > 0.0)
    parts = [f"""{HEADING}

`{COMMAND} results/systems --rounds {rounds} --seed {seed}` wrote this page and `agreement.parquet`,
which has every single set: scheme, process, κ, price, exact and simulated value, error, distance.

{systems} systems, {sets} parameter sets, {len(found):,} figures: {verdict}.

* **Worst**: distance from the exact value in standard errors, at the set nearest its **bound**.  A sound engine leaves
  any of the {len(found):,} bounds with a probability of at most {FALSE_ALARM:g} (Student; errors by lanes, by
  generations, or by windows where these are independent).
* **Not random**: sets in which every round is the same, or worth the same; they agree to 10⁻⁹.  Of the other
  {len(random):,} figures the mean square of the distance is {(random.z**2).mean():.2f}; 1 is expected.
* **What would be seen**: bounds hold half of the figures that are random to {held.median():.2%} of their exact value,
  and all of them to {held.max():.1%}.
* **Speed-up**: tokens per plain target step, at c_d = .07, c_v = .01, c_r = .2 unless a set has a price of its own.
* **Share of tokens lost**: what a lossy scheme counts (BiLD: not the large model's likeliest; unmasking: not confident,
  a proxy for quality, no measure).  What other lossy rules do to pairs of tokens, and the lossless ones against the
  target's law: [lossless.md](lossless.md).
"""]  # fmt: skip
    every = list(summaries(found))
    for line in dict.fromkeys(own.line for own in every):
        rows = [own for own in every if own.line == line]
        edges = dict.fromkeys(edge for own in rows for edge in own.edges)
        body = table(HEAD, [own.cells() for own in rows])
        parts += [f"## {line[0].upper()}{line[1:]}", "", f"```text\n{body}\n```", "", f"Edges: {', '.join(edges)}.", ""]
    return "\n".join(parts)


def told(found: pd.DataFrame) -> str:
    """The whole table for a terminal."""
    return table(["line", *HEAD], [[own.line, *own.cells()] for own in summaries(found)])


def outsiders(found: pd.DataFrame) -> list[str]:
    """A line per figure outside its bound."""

    def line(row: Any) -> str:
        where = f"{row.system}, {row.scheme} on {row.process}, κ = {row.kappa}"
        return f"{where}: {row.quantity} {row.simulated:.9g} ± {row.error:.2g}, exact {row.exact:.9g}"

    return [line(row) for row in found[~found.inside].itertuples()]
