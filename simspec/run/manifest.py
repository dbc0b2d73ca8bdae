"""What does a folder say of itself?  Its manifest, which anyone may have written, in the form that is used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from simspec.model import DatasetError
from simspec.run.store import MANIFEST


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a folder; None if there is none."""
    path = folder / MANIFEST
    if not path.is_file():
        return None
    try:
        value = parsed(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read ({error})") from None
    wrong = next((".".join(place) for place, kind in _FORMS.items() if not _is_formed(value, place, kind)), "")
    if wrong:
        raise DatasetError(f"{path}: is not as simspec writes it ({wrong} is of another kind)")
    return value


def parsed(content: bytes) -> dict[str, Any]:
    """The table that a manifest is; raises `ValueError` if it is none."""
    try:
        found = json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it is no table")
    return found


_FORMS: dict[tuple[str, ...], type | tuple[type, ...]] = {
    ("complete",): bool, ("scenario",): dict, ("files",): dict, ("traces",): (dict, list), ("earlier",): list,
    ("shard",): str,
    ("failed",): list, ("failed", "simulation_id"): str, ("failed", "process"): str, ("failed", "error"): str,
    ("rounds",): dict, ("rounds", "record"): int, ("rounds", "every"): int, ("rounds", "complete"): bool,
    ("rounds", "files"): dict,
    ("provenance",): dict, ("provenance", "libraries"): dict, ("provenance", "scenario_folder"): str,
    ("provenance", "seconds"): (int, float), ("provenance", "started"): str, ("provenance", "finished"): str,
}  # fmt: skip
"""What is used of a manifest, where it is there; anyone may have written it.  A validation lists its traces."""


def _is_formed(value: Any, place: tuple[str, ...], kind: type | tuple[type, ...]) -> bool:
    """Whether what stands at a place, in each entry of a list, is of a kind."""
    if not place:
        return isinstance(value, kind)
    entries = value if isinstance(value, list) else [value]
    return all(
        isinstance(own, dict) and (place[0] not in own or _is_formed(own[place[0]], place[1:], kind)) for own in entries
    )
