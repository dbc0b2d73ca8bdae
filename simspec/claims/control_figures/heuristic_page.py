"""How do the fits to the published heuristic read?"""

from __future__ import annotations

from collections.abc import Iterator

from simspec.claims.control_figures.heuristic import FITTED, PREDICTED, misfit, within
from simspec.claims.control_figures.words import Rows, column, paragraph, pick, preformatted


def heuristic_part(own: Rows) -> Iterator[str]:
    """The part of the page, from the rows of `heuristic.table`."""
    fits = {name: pick(own, family=name) for name in dict.fromkeys(column(own, "family"))}
    far = {name: misfit(column(rows, "simulated")) for name, rows in fits.items()}
    near = {name: within(column(rows, "simulated")) for name, rows in fits.items()}
    best, many = min(far, key=lambda name: far[name]), len(FITTED)
    yield from ("## The published rounds of the +2/−1 heuristic", "")
    yield paragraph(f"""Spec-Bench, Vicuna-7B with a 68M draft in a chain: counted from the released accepted lengths
        of 40,632 steps in 560 turns (BNukhkadiev/Spec-Bench, commit 0f00011).  Each family of processes was
        fitted in one way: its free numbers make the sum of squares of (simulated − published)/limit over the
        first {many} figures least, the limits being .05 tokens, .1 of κ and .03 of a rate.  Turns have
        geometric lengths of 165 tokens in the mean, as the published ones nearly do, and κ begins each with 5;
        families without turns play on.  What stands under "predicted" was seen by no fit.""")
    rows = fits[best]
    yield from ("", paragraph(f"""**{best[0].upper()}{best[1:]} comes nearest: {near[best]} of {many} within their
        limits, by {rows[0]["parameters"]} numbers** ({rows[0]["process"]})."""), "")  # fmt: skip
    yield preformatted(["", "published", *fits], list(_lines(fits, far, near)))
    yield paragraph(_lesson({name: dict(zip(column(rows, "figure"), column(rows, "simulated"), strict=True))
                             for name, rows in fits.items()}))  # fmt: skip
    yield ""


def _lines(fits: dict[str, Rows], far: dict[str, float], near: dict[str, int]) -> Iterator[list[str]]:
    yield ["free numbers", "", *(str(rows[0]["parameters"]) for rows in fits.values())]
    yield ["root mean square, in limits", "", *(f"{value:.2f}" for value in far.values())]
    yield [f"of {len(FITTED)} within limits", "", *map(str, near.values())]
    for i, figure in enumerate((*FITTED, *PREDICTED)):
        if i == len(FITTED):
            yield ["predicted:", *[""] * (1 + len(fits))]
        seen = [rows[i]["simulated"] for rows in fits.values()]
        yield [figure.name, f"{figure.value:.3f}", *("–" if x != x else f"{x:.3f}" for x in seen)]


def _lesson(seen: dict[str, dict[str, float]]) -> str:
    """What the fits teach, with their numbers."""
    published = {figure.name: figure.value for figure in (*FITTED, *PREDICTED)}
    tokens, lag, later = FITTED[0].name, PREDICTED[-3].name, PREDICTED[-2].name
    depth, turn, hidden = seen["rates by depth"], seen["a rate per turn"], seen["hidden stretches"]
    return f"""What it teaches.  One rate, and runs of verdicts, cannot rise with depth as the published rates do.
        Rates by depth can, but a round that forgets makes too few tokens for its κ, {depth[tokens]:.3f} of
        {published[tokens]:.3f}: κ is long where the last rounds went well, and that must say something of the
        next.  A rate per turn does this with two numbers.  Its predictions show where it ends: first verdicts
        of neighbouring rounds correlate by {turn[lag]:.3f}, and ten rounds apart still by {turn[later]:.3f},
        where {published[lag]:.3f} and {published[later]:.3f} are published; hidden stretches fade too fast
        instead, {hidden[lag]:.3f} and {hidden[later]:.3f}.  Real turns have both, a rate of their own and
        stretches within, which no process here has.  Depth 1 is no rate of a draft: .572 is seen where the mean
        rate of a turn is .64, as turns of low rates have more rounds.  `heuristic.parquet`."""
