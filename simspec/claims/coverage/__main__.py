"""Plays and judges over and over, and writes the folder: ``python -m simspec.claims.coverage [FOLDER]``."""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simspec.claims.commands import check_place, ended, write_all
from simspec.claims.coverage.judged import LEVEL, judged
from simspec.claims.coverage.page import COMMAND, HEADING, page, told
from simspec.claims.coverage.rows import USUAL, coverage, judge_table
from simspec.claims.coverage.settings import LIMITS, SETTINGS
from simspec.claims.reference import commit
from simspec.model import DatasetError
from simspec.run.progress import Progress
from simspec.run.store import write_json
from simspec.run.token_job import whole_number

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path("results") / "coverage"
README, MANIFEST = "README.md", "manifest.json"
MOST = 10**7


def _coverage(replications: int, seed: int, progress: Progress) -> pd.DataFrame:
    return coverage(SETTINGS, replications, seed, progress)


def _limits(replications: int, seed: int, progress: Progress) -> pd.DataFrame:
    return coverage(LIMITS, replications // 10, seed, progress)


def _judge(replications: int, seed: int, progress: Progress) -> pd.DataFrame:
    return judge_table(judged(range(seed, seed + replications), progress=progress))


PARTS: dict[str, Callable[[int, int, Progress], pd.DataFrame]] = {
    "coverage": _coverage,
    "limits": _limits,
    "judge": _judge,
}
"""Name of a table → what makes it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write all: 0 all keep their word, 1 some do not, 2 bad input or place, 130 stopped; then all is as it was."""
    own = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").split(":")[0] + ".")
    own.add_argument("folder", type=Path, nargs="?", default=FOLDER, help=f"where all goes; default {FOLDER}")
    own.add_argument(
        "--replications", type=int, default=USUAL, metavar="N",
        help=f"runs of each setting, and seeds judged, 500 to {MOST:,}; default {USUAL:,}, ten minutes",
    )  # fmt: skip
    own.add_argument("--seed", type=int, default=0, help="root seed of the first run, 0 to 2^32 - 1; default 0")
    own.add_argument(
        "--only", choices=PARTS, action="append", help="make this table anew and keep the others; may be repeated"
    )
    own.add_argument("--quiet", action="store_true", help="no progress lines on stderr")
    args = own.parse_args(arguments)
    return ended(COMMAND, lambda: _write(args.folder, args.replications, args.seed, args.only, args.quiet))


def stored(folder: Path) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """What a folder holds: tables by name, and of which seed and commits they are.

    Raises
    ------
    DatasetError
        A file is missing.
    """
    import pandas as pd

    try:
        note: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return {name: pd.read_parquet(folder / f"{name}.parquet") for name in PARTS}, note
    except FileNotFoundError as error:
        raise DatasetError(f"{error.filename}: is missing; allowed: a folder that {COMMAND} wrote as a whole") from None


def _write(folder: Path, replications: int, seed: int, only: Sequence[str] | None, quiet: bool) -> int:
    whole_number("replications", replications, 500, MOST)
    whole_number("seed", seed, 0, 2**32 - 1)
    check_place(folder, COMMAND, _ours)
    asked = {"seed": seed, "replications": replications}
    found, note = stored(folder) if only else ({}, {**asked, "commits": {}, "seconds": {}})
    if any(note[key] != value for key, value in asked.items()):
        has = f"{note['replications']:,} replications from seed {note['seed']}"
        raise DatasetError(f"{folder}: has {has}; allowed with --only: the same")
    with Progress(quiet=quiet) as progress:
        for name in only or PARTS:
            began = time.process_time()
            found[name] = PARTS[name](replications, seed, progress)
            note["commits"][name], note["seconds"][name] = commit(), round(time.process_time() - began)
    text = page(found, note)
    files: dict[str, Callable[[Path], object]] = {MANIFEST: functools.partial(write_json, note)}
    files |= {f"{name}.parquet": functools.partial(_to_parquet, found[name]) for name in PARTS}
    files[README] = lambda path: path.write_text(text, encoding="utf-8")
    write_all(folder, files)
    outside = told(found["coverage"])
    for line in outside:
        print(f"does not keep its word: {line}", file=sys.stderr)
    wrong = f"the judge is wrong in {found['judge'].wrong.sum() / replications:.2%} of at most {LEVEL:.0%}"
    print(f"{folder}: {len(found['coverage'])} rows, {len(outside)} outside; {wrong}")
    return 1 if outside else 0


def _to_parquet(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(path, index=False, compression="zstd")


def _ours(folder: Path) -> bool:
    """Whether this command wrote the folder: its page begins with the page's heading."""
    readme = folder / README
    return readme.is_file() and readme.read_text(encoding="utf-8", errors="replace").startswith(HEADING)


if __name__ == "__main__":
    raise SystemExit(main())
