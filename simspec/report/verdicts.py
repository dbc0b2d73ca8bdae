"""What was claimed, what was observed, what is true instead?  Sentences and verdicts of a validation as HTML."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

from simspec.claims.witness import FALSE_EVIDENCE, figure_line, tally
from simspec.report.page import esc, paragraph, scrolled
from simspec.text import plural

SHOWN = ("refuted", "supported", "inconclusive", "not-testable")
"""Verdicts that have a tile even when there is none of them."""
_COLUMNS = ("id", "verdict", "reading", "claimed", "observed", "exact", "instead")
_HEADS = ("Claim", "Verdict", "Reading", "Claimed", "Observed [interval]", "Exact", "What is true instead")


def sentences(said: Sequence[tuple[str, str]]) -> str:
    """What is true, each sentence with the command that shows it.

    Examples
    --------
    >>> sentences([("1 < 2", "simspec exact")])
    '<ol class="said">\\n<li>1 &lt; 2<br><code class="command">simspec exact</code></li>\\n</ol>'
    """
    if not said:
        return ""
    items = (f'<li>{esc(text)}<br><code class="command">{esc(command)}</code></li>' for text, command in said)
    return '<ol class="said">\n' + "\n".join(items) + "\n</ol>"


def alarm(disagreements: Sequence[str]) -> str:
    """Where simulation and exact route differ; nothing if they agree."""
    if not disagreements:
        return ""
    items = "".join(f"<li>{esc(text)}</li>" for text in disagreements)
    text = "The engine disagrees with the exact route, so no simulated claim is judged."
    return f'<div class="alarm" role="alert"><strong>{text}</strong><ul>{items}</ul></div>'


def verdict(word: str) -> str:
    """A verdict as a coloured word.

    Examples
    --------
    >>> verdict("refuted"), verdict("not-testable")
    ('<span class="verdict refuted">refuted</span>', '<span class="verdict other">not-testable</span>')
    """
    return f'<span class="verdict {_colour(word)}">{esc(word)}</span>'


def _of_data(word: str) -> str:
    """What data say, as a word that looks unlike a verdict."""
    return f'<span class="verdict of-data {_colour(word)}">{esc(word)}</span>'


def _colour(word: str) -> str:
    return {"mixed": "inconclusive"}.get(word, word if word in SHOWN[:3] else "other")


def tiles(rows: Sequence[dict[str, Any]]) -> str:
    """How many rows have which verdict."""
    tally = Counter(row["verdict"] for row in rows)
    words = [*SHOWN, *sorted(set(tally) - set(SHOWN))]
    items = (f'<li class="{_colour(word)}"><b>{tally[word]:,}</b> {esc(word)}</li>' for word in words)
    return '<ul class="tiles">\n' + "\n".join(items) + "\n</ul>"


def verdict_table(rows: Sequence[dict[str, Any]]) -> str:
    """All rows, grouped by claim.

    Parameters
    ----------
    rows : sequence of dict
        As in `simspec.claims.validation.Validation.rows`.

    Returns
    -------
    str
        One ``<tbody>`` per claim, in a box that scrolls.
    """
    columns = "".join(f'<col class="c-{name}">' for name in _COLUMNS)
    head = "".join(f'<th scope="col">{esc(name)}</th>' for name in _HEADS)
    bodies = [_claim(name, list(own)) for name, own in itertools.groupby(rows, key=lambda row: row["id"])]
    table = f'<table class="verdicts"><colgroup>{columns}</colgroup><thead><tr>{head}</tr></thead>\n'
    return scrolled(table + "\n".join(bodies) + "\n</table>", "Verdicts, one row per reading of a claim")


def _claim(name: str, rows: Sequence[dict[str, Any]]) -> str:
    statements = list(dict.fromkeys(row["statement"] for row in rows))
    sections = ", ".join(dict.fromkeys(str(row["section"]) for row in rows))
    said = statements[0] if len(statements) == 1 else f"{len(statements)} statements"
    title = f"{esc(name)} <small>· section {esc(sections)} ·</small> {esc(said)}"
    lines = [f'<tbody>\n<tr class="claim"><th scope="rowgroup" colspan="{len(_COLUMNS)}"><div>{title}</div></th></tr>']
    lines += [_row(row, len(statements) > 1) for row in rows]
    return "\n".join([*lines, "</tbody>"])


def _row(row: dict[str, Any], with_statement: bool) -> str:
    reading = esc(row["reading"])
    if with_statement:
        reading = f"{esc(row['statement'])}<small>{reading}</small>"
    claimed = row["expected"] if isinstance(row["expected"], str) else figure(row["expected"])
    cells = (
        esc(row["id"]),
        verdict(str(row["verdict"])),
        reading,
        esc(claimed),
        f"{_observed(row)}<small>{esc(_basis(row))}</small>",
        esc(figure(row["exact"])),
        esc(row["instead"]),
    )
    line = "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    said = data(row.get("evidence", []), row.get("evidence_verdict", "none"))
    return f'{line}\n<tr class="data"><td></td><td colspan="{len(_COLUMNS) - 1}">{said}</td></tr>' if said else line


def data(evidence: Sequence[dict[str, Any]], word: str) -> str:
    """What measured data say of a row: the word, how many figures say what, and all of them in a fold.

    Examples
    --------
    >>> data([], "none")
    ''
    """
    if not evidence:
        return ""
    lines = "".join(f"<li>{_of_data(item['verdict'])} {esc(figure_line(item))}</li>" for item in evidence)
    fold = f"<details><summary>{plural(len(evidence), 'figure')}</summary><ul>{lines}</ul></details>"
    said = _of_data(word) if word != "none" else "decide nothing"
    return f"Measured data: {said} {esc(tally(evidence))}; {fold}"


def _observed(row: dict[str, Any]) -> str:
    low, high = row["interval"]
    seen = figure(row["observed"])
    return seen if low == high else f'{seen} <span class="whole">[{figure(low)}, {figure(high)}]</span>'


def _basis(row: dict[str, Any]) -> str:
    if row["verdict"] == "not-testable":
        return str(row["why"])
    if not row["windows"]:
        return "exact arithmetic done two ways" if "two ways" in row["route"] else "exact arithmetic, nothing simulated"
    judged = "; judged by the exact value" if row["route"] == "exact" else ""
    return f"{row['windows']:,} windows{judged}"


def figure(value: float | None) -> str:
    """Five significant digits; a dash for what does not exist.

    Examples
    --------
    >>> figure(0.123456789), figure(None), figure(float("nan"))
    ('0.12346', '–', '–')
    """
    return "–" if value is None or value != value else f"{value:.5g}"


def verdict_section(rows: Sequence[dict[str, Any]], bound: float) -> str:
    """Counts, table, and how much to trust them."""
    claims = len({row["id"] for row in rows})
    trust = (
        f"{len(rows):,} readings of {claims:,} claims. A claim puts a quantity into a region; an interval outside it "
        f"refutes, one inside supports. The probability of any false verdict in the whole run is at most {bound:g}. "
        "Measured data, published figures and traces, give a second word: by the same rule where a figure has an error "
        f"(nominally at most {FALSE_EVIDENCE:g} for any false word among them), by a margin of a fifth where it has "
        "none. A premise or a correction held against data is counted apart and does not decide the word."
    )
    return tiles(rows) + "\n" + paragraph(trust) + "\n" + verdict_table(rows)
