"""Where do the numbers come from?  Seed, versions, machine and command, as the manifest of the folder holds them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from simspec.report.page import esc, pairs, paragraph
from simspec.report.points import Point
from simspec.text import plural


def origin(folder: str, manifest: dict[str, Any], points: Sequence[Point]) -> str:
    """Provenance as a list, and the scenario as it was asked for."""
    made = manifest.get("provenance")
    made = made if isinstance(made, dict) else {}
    parts = [pairs(_rows(folder, manifest, made, points)), _scenario(manifest.get("scenario"))]
    failed = manifest.get("failed")
    if isinstance(failed, list) and failed:
        words = "; ".join(f"{entry.get('process')}: {entry.get('error')}" for entry in failed[:20])
        parts.insert(
            0, paragraph(f"{plural(len(failed), 'simulation')} failed, the others are complete: {words}", "alarm")
        )
    if not manifest.get("complete"):
        text = f"This run is not complete; continue it (simspec run {folder}), then make the report anew."
        parts.insert(0, paragraph(text, "alarm"))
    return "\n".join(part for part in parts if part)


def _rows(
    folder: str, manifest: dict[str, Any], made: dict[str, Any], points: Sequence[Point]
) -> list[tuple[str, Any]]:
    first = points[0].rows[0]
    budgets = sorted({int(point.rows[0]["windows"]) for point in points})
    spelled = " to ".join(f"{n:,}" for n in dict.fromkeys((budgets[0], budgets[-1])))
    rows = [
        ("folder", folder),
        ("method", points[0].method),
        ("seed", first["seed"]),
        ("windows", f"{spelled} per simulation and κ asked for"),
        ("points", f"{len(points):,}, {sum(len(point.rows) for point in points):,} estimates"),
        ("streams", f"version {manifest.get('stream_version', '–')} of the layout of random words"),
        ("schema", f"version {manifest.get('schema_version', '–')}"),
        ("command", _command(made.get("command"))),
        ("started", made.get("started", "–")),
        ("finished", made.get("finished")),
        ("seconds", made.get("seconds", "–")),
        ("simspec", made.get("simspec", "–")),
        ("Python", made.get("python", "–")),
        ("libraries", _versions(made.get("libraries"))),
        ("machine", ", ".join(str(made[key]) for key in ("host", "system", "machine") if key in made)),
        ("processors", made.get("processors")),
        ("drawn by", _drawn_by()),
    ]
    return [(name, value) for name, value in rows if value not in (None, "")]


def _command(words: Any) -> str:
    return shlex.join(map(str, words)) if isinstance(words, list) else str(words or "–")


def _versions(libraries: Any) -> str:
    return ", ".join(f"{name} {value}" for name, value in libraries.items()) if isinstance(libraries, dict) else "–"


def _drawn_by() -> str:
    import importlib.metadata

    return f"simspec {importlib.metadata.version('simspec')}, matplotlib {importlib.metadata.version('matplotlib')}"


def _scenario(scenario: Any) -> str:
    if not isinstance(scenario, dict):
        return ""
    lines = json.dumps(scenario, indent=1, ensure_ascii=False).split("\n")
    text = "\n".join(esc(line) for line in lines)  # line by line: a line break is a control character too
    return f'<details><summary>The scenario, as stored with the data</summary><pre tabindex="0">{text}</pre></details>'
