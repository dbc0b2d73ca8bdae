"""What lies at the article's critical rate, in words; and the table of every critical α, for terminal and page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simspec.model import Cost
from simspec.text import table
from simspec.theory import CriticalAlpha, Surroundings, tail_staircase
from simspec.theory.critical import BEND

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
    moving = []
    for row in found.here:
        if row.family != "tail" or row.step is None:
            continue
        elsewhere = [
            f"{short(tail_staircase(cost, row.step + 1, other)[-1])} for {other}"
            for other in (max(1, tokens // 2), 2 * tokens)
        ]
        moving.append(
            f"the κ for slow sequences, which steps from {row.step} to {row.step + 1} at {short(row.alpha)} "
            f"for {tokens} tokens but at {' and at '.join(elsewhere)}"
        )
    if not found.here:
        return "nothing; no critical rate with a definition rounds to it."
    return ("; ".join([*fixed, *moving]) if fixed else f"no formula and no other step; only {'; '.join(moving)}") + "."


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
    """The table for a terminal; sources are in the Markdown."""
    return table(["critical α", "value", "what happens there"], [row[:3] for row in rows_of(rows)])


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
