"""What do the user's own traces say, in a few lines?  File by file: what was measured, and the claims it decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simspec.claims.witness import SPEAKING, figure_line

Figures = dict[tuple[str, str, str], tuple[dict[str, Any], dict[str, list[str]]]]
"""(source, what is measured, what is claimed) → the figure, and by verdict the claims it speaks of."""


def yours(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Lines on the traces a run was given; none if it was given none.

    Parameters
    ----------
    rows : sequence of dict
        As in `simspec.claims.validation.Validation.rows`.
    """
    figures = _figures(rows)
    if not figures:
        return []
    lines = ["", "Your traces (what was measured ± its interval, and the claims it decides)"]
    for source in dict.fromkeys(key[0] for key in figures):
        own = [found for key, found in figures.items() if key[0] == source]
        lines.append(source)
        lines += [f"     {_measured(item)}: {_decides(said)}" for item, said in own if said]
        silent = sum(not said for _, said in own)
        if silent:
            lines.append(f"     {silent} of {len(own)} figures decide nothing")
    return lines


def _figures(rows: Sequence[dict[str, Any]]) -> Figures:
    """Every figure once, though it may stand on many rows; a premise or a correction decides no claim."""
    found: Figures = {}
    for row in rows:
        for item in row["evidence"]:
            if not item.get("yours", False):
                continue
            _, said = found.setdefault((item["source"], item["measured"], item["expected"]), (item, {}))
            if item["verdict"] in SPEAKING and item["tests"] == "claim":
                claims = said.setdefault(item["verdict"], [])
                claims += [row["id"]] * (row["id"] not in claims)
    return found


def _measured(item: dict[str, Any]) -> str:
    return figure_line(item).removesuffix(f" ({item['source']})")


def _decides(said: dict[str, list[str]]) -> str:
    words = {"supported": "supports", "refuted": "refutes"}
    return "; ".join(f"{words[verdict]} {', '.join(claims)}" for verdict, claims in said.items())
