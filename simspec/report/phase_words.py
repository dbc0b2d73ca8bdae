"""What lies at the article's critical rate, in words; and the table of every critical α, for terminal and page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from simspec.model import Cost
from simspec.text import table
from simspec.theory import CriticalAlpha, Surroundings, tail_staircase
from simspec.theory.critical import BEND
from simspec.theory.tail_steps import tail_tokens_limit

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 8
"""Steps of a kind that a terminal shows."""
NUDGE = 1e-3
"""Share by which the price of a draft is changed to see whether a step stays where it is: less than any is known to."""
FAMILIES = {
    "model": "true of the throughput",
    "step": "κ* steps",
    "share": "κ for 90% of S* steps",
    "tail": "κ for slow sequences steps",
    "article": "the article's formulas",
}
"""Family of a critical α → what it is called."""


def short(alpha: float, digits: int = 4) -> str:
    """A rate as ``.7323``; a dash for one that does not exist.

    Examples
    --------
    >>> short(0.73234), short(1.79938), short(math.nan)
    ('.7323', '1.7994', '–')
    """
    return "–" if math.isnan(alpha) else f"{alpha:.{digits}f}".removeprefix("0")


def verdict(found: Surroundings, cost: Cost, tokens: int) -> list[str]:
    """What lies at a rate, in three or four plain sentences.

    Parameters
    ----------
    found : Surroundings
        From `simspec.theory.surroundings`.
    cost : Cost
        The same prices.
    tokens : int
        Sequence length of the tail steps.

    Examples
    --------
    >>> from simspec.theory import critical_alphas, surroundings
    >>> price = Cost(c_d=0.3)
    >>> print(verdict(surroundings(0.74, price, critical_alphas(price)), price, 128)[0])
    α = .74 at β = 0.3: nothing; no critical rate with a definition rounds to it.
    """
    where = f"α = {short(found.alpha, 2)} at β = {cost.c_d:g}"
    return [
        f"{where}: {here(found, cost, tokens)}",
        f"Nearest: {', '.join(f'{row.name} at {short(row.alpha)}' for row in found.nearest[:3])}. "
        f"{found.share_as_near:.0%} of the rates from .5 to .95 lie as near to a critical one.",
        *([bend_sentence(found)] if not math.isnan(found.bends[1]) else []),
    ]


def here(found: Surroundings, cost: Cost, tokens: int) -> str:
    """What rounds to the rate at two digits."""
    fixed = [f"{row.name} at {short(row.alpha)}" for row in found.here if row.family != "tail"]
    moving = [
        _moving(row, row.step, cost, tokens) for row in found.here if row.family == "tail" and row.step is not None
    ]
    if not found.here:
        return "nothing; no critical rate with a definition rounds to it."
    return ("; ".join([*fixed, *moving]) if fixed else f"no formula and no other step; only {'; '.join(moving)}") + "."


def _moving(row: CriticalAlpha, step: int, cost: Cost, tokens: int) -> str:
    """A step of the κ for slow sequences, and where it is at other lengths and at nearly the same price."""
    lengths = [
        f"{short(tail_staircase(cost, step + 1, other)[-1])} for {other}"
        for other in (max(1, tokens // 2), 2 * tokens)
        if other <= tail_tokens_limit(step + 1)
    ]
    near = [cost.model_copy(update={"c_d": cost.c_d * change}) for change in (1.0 - NUDGE, 1.0 + NUDGE)]
    prices = [f"{short(tail_staircase(other, step + 1, tokens)[-1])} at β = {other.c_d:.6g}" for other in near]
    return (
        f"the κ for slow sequences, which steps from {step} to {step + 1} at {short(row.alpha)} for "
        f"{tokens} tokens but at {' and at '.join(lengths)}, and at {' and at '.join(prices)}"
    )


def bend_sentence(found: Surroundings) -> str:
    """Whether gains slow down at the rate."""
    before, at, after = (f"{bend:.1f}" for bend in found.bends)
    rates = ", ".join(short(found.alpha + shift, 2) for shift in (-BEND, 0.0, BEND))
    trend = "still accelerates" if found.bends[1] > 0 else "slows down"
    return f"S* {trend} there: second differences {before}, {at}, {after} at α = {rates}."


def rows_of(rows: Sequence[CriticalAlpha]) -> list[list[str]]:
    """name, α, what it is, where from; sorted by α, those without one at the end."""
    ordered = sorted(rows, key=lambda row: (math.isnan(row.alpha), row.alpha))
    return [[row.name, short(row.alpha), row.words, row.source] for row in ordered]


def critical_text(rows: Sequence[CriticalAlpha]) -> str:
    """The steps on a line each and the other senses by name, for a terminal; all is explained in the Markdown.

    Examples
    --------
    >>> row = CriticalAlpha("κ* 4|5", "step", 0.7323, "Step.", "nobody", 4)
    >>> print(critical_text([row, CriticalAlpha("break-even", "model", 0.1, "Pays.", "nobody")]))
    drafting pays above α = .1000
    κ* steps: 4|5 at .7323
    """
    lines = [
        "drafting pays at no α" if math.isnan(row.alpha) else f"drafting pays above α = {short(row.alpha)}"
        for row in rows
        if row.name == "break-even"
    ]
    for family in ("step", "tail", "share"):
        own = [row for row in rows if row.family == family and not math.isnan(row.alpha)]
        steps = [f"{row.step}|{int(row.step or 0) + 1} at {short(row.alpha)}" for row in own]
        if steps:
            lines.append(f"{FAMILIES[family]}: {', '.join(steps[:SHOWN])}")
    return "\n".join(lines)


def best_text(frame: pd.DataFrame) -> str:
    """The best draft length at the rates of a table of `simspec.phase` at one cost, for a terminal.

    Examples
    --------
    >>> from simspec.run.phase import phase
    >>> print(best_text(phase([0.5, 0.7], [0.1])))
      α  best κ  speed-up  within 2%  for slow replies
    ---  ------  --------  ---------  ----------------
    .50       2     1.458  2 to 3                    2
    .70       4     1.981  3 to 5                    3
    """
    heads = ["α", "best κ", "speed-up", "within 2%"]
    cells = [
        [
            short(row["alpha"], 2),
            str(row["kappa_star"]),
            f"{row['best_speedup']:.3f}",
            f"{row['kappa_low']} to {row['kappa_high']}",
        ]
        for row in frame.to_dict("records")
    ]
    if frame["kappa_p99"].notna().any():
        heads.append("for slow replies")
        cells = [[*cell, str(slow)] for cell, slow in zip(cells, frame["kappa_p99"], strict=True)]
    return table(heads, cells)


def critical_markdown(rows: Sequence[CriticalAlpha], sentences: Sequence[str], heading: str) -> str:
    """The table as a page of Markdown.

    Examples
    --------
    >>> row = CriticalAlpha("a|b", "model", 0.5, "Half.", "nobody")
    >>> print(critical_markdown([row], ["Nothing."], "β = .1"))
    # Critical acceptance rates, β = .1
    <BLANKLINE>
    Nothing.
    <BLANKLINE>
    | critical α | value | what happens there | source |
    |---|---:|---|---|
    | a\\|b | .5000 | Half. | nobody |
    <BLANKLINE>
    """
    lines = [f"# Critical acceptance rates, {heading}", "", " ".join(sentences), ""]
    lines += ["| critical α | value | what happens there | source |", "|---|---:|---|---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows_of(rows)]
    return "\n".join(lines) + "\n"
