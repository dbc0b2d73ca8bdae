"""Do the claims still come out as they were committed?  The outcome of a full run as a table, and a check against it.

``python -m simspec.claims.reference FOLDER`` judges everything and writes ``verdicts.parquet``, ``README.md`` and
``manifest.json``; with ``--check`` a fresh quick run, on other random numbers, is compared with that folder row by row.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simspec.claims.commands import check_place, ended, write_all
from simspec.claims.judge import FALSE_VERDICT, JUDGE_SHARE, STAGES
from simspec.claims.validation import VERDICTS, Validation, read_rows, validate
from simspec.claims.witness import FALSE_EVIDENCE, shown_line
from simspec.kernels.words import STREAM_VERSION
from simspec.model import DatasetError
from simspec.run import store
from simspec.run.manifest import read_manifest
from simspec.run.progress import Progress
from simspec.text import number

COMMAND = "python -m simspec.claims.reference"
EXACT = 1e-9
"""Relative difference that rounding of exact values may make on another machine."""
OPEN = ("inconclusive", "not-judged")
"""Verdicts that contradict none."""
CHECK_SEED = 20_000
"""Added to the seed of the reference: a check on the same random numbers would be none."""
REFERENCE_SEED = 1


def write_reference(folder: Path, quick: bool = False, seed: int = REFERENCE_SEED, quiet: bool = False) -> Validation:
    """Judge all claims and write the outcome: table, verdicts, manifest.

    Raises
    ------
    DatasetError
        The engine disagrees with the exact route, or the folder holds something else or cannot be written; it is then
        as it was.
    """
    check_place(folder, COMMAND, is_reference)
    with tempfile.TemporaryDirectory() as place:
        found = _run(Path(place) / "run", quick, seed, quiet)
        if not found.agrees:
            raise DatasetError(f"{folder}: nothing is written, since the engine disagrees: {found.disagreements[0]}")
        verdicts = (found.path / VERDICTS).read_bytes()
    mode = "quick" if quick else "full"
    note = {
        "kind": "reference",
        "mode": mode,
        "seed": seed,
        "simspec": importlib.metadata.version("simspec"),
        "commit": commit(),
        "stream_version": STREAM_VERSION,
        "rows": len(found.rows),
        "sentences": [list(pair) for pair in found.sentences],
    }
    text = page(found, note)
    write_all(
        folder,
        {
            VERDICTS: lambda path: path.write_bytes(verdicts),
            "README.md": lambda path: path.write_text(text, encoding="utf-8"),
            store.MANIFEST: lambda path: store.write_json(note, path),
        },
    )
    return found


def is_reference(folder: Path) -> bool:
    """Whether a folder holds an outcome that this command wrote."""
    return (read_manifest(folder) or {}).get("kind") == "reference"


def check(folder: Path, quiet: bool = False) -> list[str]:
    """What a fresh quick run, on other random numbers, says otherwise than the reference; empty if nothing.

    Raises
    ------
    DatasetError
        There is no reference in the folder.
    """
    note = read_manifest(folder) if folder.is_dir() else None
    if note is None or note.get("kind") != "reference":
        raise DatasetError(f"{folder}: holds no reference; {COMMAND} {folder} writes one")
    with tempfile.TemporaryDirectory() as place:
        fresh = _run(Path(place) / "run", True, int(note["seed"]) + CHECK_SEED, quiet)
    return [*fresh.disagreements, *differences(read_rows(folder), fresh.rows)]


def differences(reference: Sequence[dict[str, Any]], fresh: Sequence[dict[str, Any]]) -> list[str]:
    """Rows that differ beyond chance, one line each.

    Exact values and regions must agree to rounding, verdicts unless one is open, the word of data always.  Observed
    values may differ by √(h² + h'²), h and h' the halves of their intervals that face each other: both are the same
    multiple of a standard error, at a level that `JUDGE_SHARE` is divided over, so that a false alarm over all rows
    together has probability below `FALSE_VERDICT`.

    Parameters
    ----------
    reference, fresh : sequence of dict
        As in `Validation.rows`.

    Examples
    --------
    >>> row = {"id": "C1", "reading": "r", "verdict": "refuted", "exact": 2.0, "expected_interval": [1.0, 1.5],
    ...        "observed": 2.0, "interval": [1.9, 2.1], "evidence_verdict": "none"}
    >>> differences([row], [row | {"observed": 2.1, "interval": [2.0, 2.2]}])
    []
    >>> differences([row], [row | {"exact": 2.001}])
    ['C1, r: exact value 2.001, in the reference 2']
    """
    known = {_key(row): row for row in reference}
    found = {_key(row): row for row in fresh}
    gone = [f"{key}: in the reference only" for key in known if key not in found]
    new = [f"{key}: not in the reference" for key in found if key not in known]
    both = [(key, row, found[key]) for key, row in known.items() if key in found]
    return gone + new + [f"{key}: {said}" for key, old, own in both for said in _differ(old, own)]


def _differ(old: dict[str, Any], own: dict[str, Any]) -> list[str]:
    out = []
    if not _same(old["exact"], own["exact"]):
        out.append(f"exact value {_shown(own['exact'])}, in the reference {_shown(old['exact'])}")
    if not all(_same(a, b) for a, b in zip(old["expected_interval"], own["expected_interval"], strict=True)):
        out.append(f"claimed region {own['expected_interval']}, in the reference {old['expected_interval']}")
    if old["verdict"] != own["verdict"] and not {old["verdict"], own["verdict"]} & set(OPEN):
        out.append(f"{own['verdict']}, in the reference {old['verdict']}")
    if old["evidence_verdict"] != own["evidence_verdict"]:
        out.append(f"data say {own['evidence_verdict']}, in the reference {old['evidence_verdict']}")
    far = apart(old, own)
    if far > 1.0:
        seen = f"{_shown(own['observed'])} against {_shown(old['observed'])} in the reference"
        out.append(f"observed {seen}: {far:.3g} times what chance allows")
    return out


def apart(old: dict[str, Any], own: dict[str, Any]) -> float:
    """Distance of two observed values in units of what chance allows; 0 where nothing is observed.

    Examples
    --------
    >>> apart({"observed": 1.0, "interval": [0.7, 1.3]}, {"observed": 1.5, "interval": [1.1, 1.9]})
    1.0
    """
    a, b = old["observed"], own["observed"]
    if a is None or b is None:
        return 0.0 if a is b else float("inf")
    if _same(a, b):
        return 0.0
    lower, upper = (old, own) if a < b else (own, old)
    up, down = lower["interval"][1] - lower["observed"], upper["observed"] - upper["interval"][0]
    allowed = float(np.hypot(up, down))
    return round(abs(a - b) / allowed, 9) if allowed > 0.0 else float("inf")


def _same(a: float | None, b: float | None) -> bool:
    """Equal up to rounding; what does not exist equals itself."""
    gone = [x is None or x != x for x in (a, b)]
    if any(gone):
        return all(gone)
    assert a is not None
    assert b is not None
    return a == b or abs(a - b) <= EXACT * max(1.0, abs(a), abs(b))


def _key(row: dict[str, Any]) -> str:
    return f"{row['id']}, {row['reading']}"


def _shown(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.6g}"


def _run(folder: Path, quick: bool, seed: int, quiet: bool) -> Validation:
    with Progress(quiet=quiet) as progress:
        return validate(quick, seed, folder, None, progress)


def commit() -> str | None:
    """The commit of the source tree, with "-dirty" after changes; None outside one."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def page(found: Validation, note: dict[str, Any]) -> str:
    """The outcome as Markdown."""
    words = ("supported", "refuted", "not-testable")
    tally = ", ".join(f"{sum(row['verdict'] == word for row in found.rows)} {word}" for word in words)
    lines = [
        "# The claims, judged",
        "",
        f"A {note['mode']} run of simspec {note['simspec']}, seed {note['seed']}, stream version "
        f"{note['stream_version']}, commit {note['commit'] or 'unknown'}: {len(found.rows)} readings of "
        f"{len({row['id'] for row in found.rows})} claims, {tally}.",
        "",
        f"The probability of any false verdict is at most {FALSE_VERDICT:g} (of which {JUDGE_SHARE:g} is spread over "
        f"the simulated rows and {len(STAGES[note['mode']])} budgets).  Data: published figures; their error bars "
        f"mislead any of them with a nominal probability of at most {FALSE_EVIDENCE:g}, and a figure without error "
        "speaks only by a margin.  A dash under observed: nothing is simulated, the exact value decides.",
        "",
        "Made by `python -m simspec.claims.reference results/validation`; `--check` compares a fresh quick run with "
        "it, as CI does.",
        "",
        "## What is true instead",
        "",
        *(f"{i}. {said}  \n   `{command}`" for i, (said, command) in enumerate(found.sentences, start=1)),
        "",
        "## All rows",
        "",
        "| claim | reading | claimed | observed | exact | verdict | data | what is true instead |",
        "|---|---|---|---|---|---|---|---|",
        *(_line(row) for row in found.rows),
        "",
    ]
    return "\n".join(lines)


def _line(row: dict[str, Any]) -> str:
    claimed = row["expected"] if isinstance(row["expected"], str) else f"{row['expected']:.6g}"
    data = shown_line(row) if row["evidence"] else "none"
    cells = (
        row["id"],
        row["reading"] + (f": {row['why']}" if row["why"] else ""),
        claimed,
        _observed(row),
        _shown(row["exact"]),
        row["verdict"],
        data,
        row["instead"],
    )
    return "| " + " | ".join(_cell(str(cell)) for cell in cells) + " |"


def _observed(row: dict[str, Any]) -> str:
    low, high = row["interval"]
    if row["observed"] is None or not row["windows"]:
        return "–"
    return f"{number(row['observed'])} ± {max(high - row['observed'], row['observed'] - low):.2g}"


def _cell(text: str) -> str:
    """Text that cannot end a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m simspec.claims.reference``: 0 written or the same, 1 differences, 2 bad input, 130 stopped."""
    own = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    own.add_argument("folder", type=Path, help="where the reference lies, e.g. results/validation")
    own.add_argument("--check", action="store_true", help="compare a fresh quick run with it instead of writing it")
    own.add_argument("--quick", action="store_true", help="write the outcome of a quick run (default: full)")
    own.add_argument("--seed", type=int, default=REFERENCE_SEED, help=f"of what is written; default {REFERENCE_SEED}")
    own.add_argument("--quiet", action="store_true", help="no progress lines on stderr")
    args = own.parse_args(arguments)
    return ended(COMMAND, lambda: _do(args))


def _do(args: argparse.Namespace) -> int:
    if args.check:
        return _report(args.folder, check(args.folder, args.quiet))
    found = write_reference(args.folder, args.quick, args.seed, args.quiet)
    print(json.dumps({"folder": str(args.folder), "rows": len(found.rows), "seconds": found.seconds}))
    return 0


def _report(folder: Path, said: Sequence[str]) -> int:
    if not said:
        print(f"{folder}: a fresh quick run says the same on every row")
        return 0
    print(f"{folder}: a fresh quick run differs on {len(said)} points (false alarm ≤ {FALSE_VERDICT:g})")
    print("\n".join(f"  {line}" for line in said))
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
