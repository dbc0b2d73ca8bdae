"""How do the tables of results/control read?  The README.md of the folder, from the tables alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from simspec.claims.control_figures import growth, losses, short
from simspec.claims.control_figures.heuristic_page import heuristic_part
from simspec.claims.control_figures.words import Rows, column, paragraph, pick, preformatted, records
from simspec.claims.judge import FALSE_VERDICT

if TYPE_CHECKING:
    import pandas as pd

HEADING = "# Who chooses κ: what the tables say"
COMMAND = "python -m simspec.claims.control_figures"


def readme(found: dict[str, pd.DataFrame], league: str, note: dict[str, Any]) -> str:
    """The page.

    Parameters
    ----------
    found : dict of DataFrame
        As `simspec.claims.control_figures.__main__` makes them, or as they are read back.
    league : str
        The league as it is printed.
    note : dict
        The seed, and the commit of the source tree that played each part.
    """
    rows = {name: records(table) for name, table in found.items()}
    made = paragraph(f"""Made by `{COMMAND} results/control`, seed {note["seed"]}, commit
        {_commits(note["commits"])}.  Each table stands beside this page as a Parquet file with every digit.  β = .1 is
        the price of a draft, prices are in plain target steps.""")
    parts = [HEADING, "", made, ""]
    parts += _losses(rows["losses"])
    parts += _regret(rows["slopes"])
    parts += _league(rows["league"], league)
    parts += heuristic_part(rows["heuristic"])
    parts += _short(rows["short"])
    return "\n".join(parts) + "\n"


def _commits(by_part: dict[str, str | None]) -> str:
    """The commit of all parts, or each with its parts."""
    each = {own: [name for name in by_part if by_part[name] == own] for own in by_part.values()}
    if len(each) == 1:
        return next(iter(each)) or "unknown"
    return ", ".join(f"{own or 'unknown'} ({', '.join(names)})" for own, names in each.items())


def _losses(own: Rows) -> Iterator[str]:
    places = list(losses.PLACES)
    lost = {(row["loop"], row["smoothing"], row["place"]): 100 * row["lost"] for row in own}
    quick, slow = ([lost["κ*(estimate)", smoothing, place] for place in places] for smoothing in (0.85, 0.99))
    written = [lost["the article's loop: (12) and guard", 0.85, place] for place in places]
    guarded = lost["the same, lowered while the guard fires", 0.85, places[6]]
    rows = [
        [name, f"{smoothing:g}", *(f"{-lost[name, smoothing, place]:+.2f}" for place in places)]
        for name, (_, smoothings) in losses.LOOPS.items()
        for smoothing in smoothings
    ]
    yield from ("## What closed loops lose (C44, C50, C51, C56)", "")
    yield paragraph(f"""κ*(estimate) with λ = .85 loses {min(quick[:5]):.1f}% to {max(quick[:5]):.1f}% to the best
        fixed κ where α is steady, and {quick[5]:.1f}% where it falls.  With λ = .99 it loses at most
        {max(slow[:5]):.1f}%, and gains {-slow[5]:.1f}% along the fall: the loop is sound, its memory is too
        short.  The loop as the article writes it loses {min(written[:5]):.0f}% to {max(written[:5]):.0f}%: its
        formula and its guard both draft too little.  After a real drop, for which it is made, the guard turns a
        loss of {quick[6]:.1f}% into {guarded:.0f}%.""")
    yield from ("", "Gain over the best fixed κ in %, exact:", "")
    yield preformatted(["loop", "λ", *places], rows)
    yield paragraph(f"""Each was played too, {min(column(own, "rounds")):,} rounds or more: the largest distance from
        the exact value is {max(map(abs, column(own, "z"))):.2f} standard errors (what the grid of estimates may
        be off, at most {max(column(own, "off")):g} of S, counted as one more), the largest standard error of a
        loss {100 * max(column(own, "lost_error")):.2f}%.  `losses.parquet`.""")
    yield ""


def _regret(own: Rows) -> Iterator[str]:
    rows = []
    for row in own:
        ahead = [_round(row.get(f"ahead of {habit}")) for habit in growth.HABITS]
        slope = "0, settled" if row["slope"] < 1e-6 else f"{row['slope']:.3f} ± {row['slope_half']:.3f}"
        rows.append([row["policy"], f"{row['regret']:,.0f} ± {row['half']:,.0f}", slope, row["verdict"], *ahead])
    yield from (f"## How regret grows over {growth.LAST:,} rounds (C45)", "")
    yield paragraph(f"""Independent drafts, α = .7, 64 lanes.  Regret is what was spent beyond the best fixed κ for
        the same tokens; its slope is that of the last decade in logarithms, 1 for linear and 1/2 for a square
        root, with its interval at 95%.  The verdict is on a slope of at most .6; the probability of any false
        one is at most {FALSE_VERDICT:g}.  ahead: the first mark, eight to a decade, from which on regret is
        smaller than that of …""")
    head = ["policy", "regret", "slope", "at most .6", *(f"ahead: {habit}" for habit in growth.HABITS)]
    yield from ("", preformatted(head, rows))
    yield paragraph("""What forgets never settles: the loss per round of a short memory stays what it is, and every rule
        that weighs all it has seen overtakes it.  κ one off the best is a habit so cheap that a bandit needs the rounds
        in its column to make good what it spent on trying, and λ = .99 is cheaper still.  EXP3 goes on trying: its even
        draws are linear in the end.  UCBSpec and EXP3Spec as published minimise rounds; a draft costs them nothing, so
        they settle at the longest, which here is a habit worse than most.  `regret.parquet` has all marks,
        `slopes.parquet` this table.""")
    yield ""


def _round(value: Any) -> str:
    return "–" if value is None or value != value else f"{int(value):,}"


def _league(own: Rows, text: str) -> Iterator[str]:
    where, who = (list(dict.fromkeys(column(own, key))) for key in ("surrounding", "controller"))
    yield from (f"## {len(who)} controllers in {len(where)} surroundings", "")
    yield paragraph("As `simspec league` prints it; `league.parquet`, and `league.txt` as below.")
    yield from ("", "```text", text.rstrip("\n"), "```", "")


def _short(own: Rows) -> Iterator[str]:
    processes = list(short.PROCESSES)
    rows = []
    for name in dict.fromkeys(column(own, "controller")):
        cells = [pick(own, controller=name, process=where) for where in processes]
        rows.append([name, *map(_worst, cells)])
    random, outside = [row for row in own if row["error"] > 0.0], sum(not row["inside"] for row in own)
    verdict = "all lie inside" if not outside else f"**{outside} lie outside**"
    square = float(np.mean(np.square(column(random, "z"))))
    yield from ("## Exact on short outputs, all histories listed", "")
    yield paragraph(f"""Requests of up to 12 tokens, and the first {short.LANE_ROUNDS} rounds where output has no end:
        {", ".join(short.FIGURES)} per token, {len(own)} figures, by
        the law of all histories of each rule, and played, {min(column(own, "rounds")):,} rounds or more.  Shown
        is the largest distance in standard errors.  Any bound of a sound engine,
        {min(column(own, "bound")):.2f} to {max(column(own, "bound")):.2f}, is left with a probability of at
        most {short.FALSE_ALARM:g}: {verdict}.  Of the {len(random)} figures that are random the mean square is
        {square:.2f}; 1 is expected.  exact: nothing is random, and all are equal to 10⁻⁹.""")
    yield from ("", preformatted(["controller", *processes], rows), "`short.parquet`.")


def _worst(rows: Rows) -> str:
    if all(row["error"] == 0.0 and row["inside"] for row in rows):
        return "exact"
    return f"{max(abs(row['z']) for row in rows):.2f}"
