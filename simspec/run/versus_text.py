"""How do two policies compare, in words?  The speed of both at every process and price, and who is faster."""

from __future__ import annotations

from simspec.run.comparison import NO_PRICE, Comparison, Row
from simspec.text import clean, number, table

SHOWN = 60
"""Rows of the table; the frame holds all."""


def versus_text(found: Comparison) -> list[str]:
    """Two policies against each other: the speed of both at every process and price."""
    assert found.policies is not None
    first, second = found.policies
    order = {name: place for place, name in enumerate(found.names)}  # as in the folders
    speeds = [row for row in found.rows if row.quantity == "speedup"]
    speeds.sort(key=lambda row: (order[row.simulation_id], order[str(row.point_id)]))
    verdicts = [("faster" if row.difference > 0.0 else "slower") if row.differs else "cannot tell" for row in speeds]
    rows = [
        [*_place(found, row), number(row.a), number(row.b),
         f"{100 * row.difference / row.a:+.2f} ± {200 * row.error / row.a:.2f}", verdict]
        for row, verdict in zip(speeds, verdicts, strict=True)
    ]  # fmt: skip
    ways = found.pairs["how"]
    same = int(ways.isin(["paired", "identical"]).sum())
    words = f"{same} of {len(ways)} processes met the same random words in both, so that luck is shared"
    words = words if same else "no unit met the same random words in both: the noise of both counts"
    count = {verdict: verdicts.count(verdict) for verdict in ("faster", "slower", "cannot tell")}
    lines = [
        f"who chooses κ: {clean(first)} in {clean(found.a)}",
        f"      against: {clean(second)} in {clean(found.b)}",
        words,
        "",
    ]
    if not speeds:
        return [*lines, NO_PRICE]
    header = ["process", "price", f"S of {clean(first)}", f"S of {clean(second)}", "change in %", "the second is"]
    return [
        *lines,
        table(header, rows, SHOWN),
        "",
        f"S: speed-up against plain decoding; ±: two standard errors.  {clean(second)} is faster in {count['faster']},",
        f"slower in {count['slower']}, cannot be told in {count['cannot tell']} of {len(speeds)} "
        f"(false alarm anywhere: at most {found.error:g}).",
        "lengths, rejections and costs of rounds differ with κ: to_pandas() has them all",
    ]


def _place(found: Comparison, row: Row) -> list[str]:
    return [found.names[row.simulation_id], _short_price(found.names[str(row.point_id)])]


def _short_price(name: str) -> str:
    """A price without what is usual.

    Examples
    --------
    >>> _short_price("c0 = 1, c_d = 0.1, c_v = 0, c_r = 0, off = 1"), _short_price("c0 = 1, c_d = 0")
    ('c_d = 0.1', 'free drafts')
    """
    usual = {"c0 = 1", "c_d = 0", "c_v = 0", "c_r = 0", "off = 1"}
    return ", ".join(word for word in name.split(", ") if word not in usual) or "free drafts"
