"""Plays and judges over and over, and writes the folder: ``python -m simspec.claims.coverage [FOLDER]``."""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simspec.claims.commands import check_place, ended, write_all
from simspec.claims.coverage.judged import LEVEL, judged
from simspec.claims.coverage.page import COMMAND, HEADING, page, told
from simspec.claims.coverage.rows import USUAL, coverage, judge_table
from simspec.claims.reference import commit
from simspec.run.progress import Progress
from simspec.run.store import write_json
from simspec.run.token_job import whole_number

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path("results") / "coverage"
README, COVERAGE, JUDGE, MANIFEST = "README.md", "coverage.parquet", "judge.parquet", "manifest.json"
MOST = 10**7


def main(arguments: Sequence[str] | None = None) -> int:
    """Write all: 0 all keep their word, 1 some do not, 2 bad input or place, 130 stopped; then all is as it was."""
    own = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").split(":")[0] + ".")
    own.add_argument("folder", type=Path, nargs="?", default=FOLDER, help=f"where all goes; default {FOLDER}")
    own.add_argument(
        "--replications", type=int, default=USUAL, metavar="N",
        help=f"runs of each setting, and seeds judged, 100 to {MOST:,}; default {USUAL:,}, ten minutes",
    )  # fmt: skip
    own.add_argument("--seed", type=int, default=0, help="root seed of the first run, 0 to 2^32 - 1; default 0")
    own.add_argument("--quiet", action="store_true", help="no progress lines on stderr")
    args = own.parse_args(arguments)
    return ended(COMMAND, lambda: _write(args.folder, args.replications, args.seed, args.quiet))


def _write(folder: Path, replications: int, seed: int, quiet: bool) -> int:
    whole_number("replications", replications, 100, MOST)
    whole_number("seed", seed, 0, 2**32 - 1)
    check_place(folder, COMMAND, _ours)
    began = time.process_time()
    with Progress(quiet=quiet) as progress:
        found = coverage(replications, seed, progress)
        verdicts = judge_table(judged(range(seed, seed + replications), progress=progress))
    note = {"seed": seed, "commit": commit(), "seconds": round(time.process_time() - began)}
    text = page(found, verdicts, note)
    files: dict[str, Callable[[Path], object]] = {
        COVERAGE: functools.partial(_to_parquet, found),
        JUDGE: functools.partial(_to_parquet, verdicts),
        MANIFEST: functools.partial(write_json, note),
        README: lambda path: path.write_text(text, encoding="utf-8"),
    }
    write_all(folder, files)
    outside = told(found)
    for line in outside:
        print(f"does not keep its word: {line}", file=sys.stderr)
    wrong = int(verdicts.wrong.sum()) / replications
    print(
        f"{folder}: {len(found)} rows, {len(outside)} outside; the judge is wrong in {wrong:.2%} of at most {LEVEL:.0%}"
    )
    return 1 if outside else 0


def stored(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """What a folder holds: both tables, and of which seed and commit they are."""
    import json

    import pandas as pd

    note: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return pd.read_parquet(folder / COVERAGE), pd.read_parquet(folder / JUDGE), note


def _to_parquet(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(path, index=False, compression="zstd")


def _ours(folder: Path) -> bool:
    """Whether this command wrote the folder: its page begins with the page's heading."""
    readme = folder / README
    return readme.is_file() and readme.read_text(encoding="utf-8", errors="replace").startswith(HEADING)


if __name__ == "__main__":
    raise SystemExit(main())
