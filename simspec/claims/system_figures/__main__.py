"""Plays the predictions and writes published.md and .parquet: ``python -m simspec.claims.system_figures [FOLDER]``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from simspec.claims.commands import check_page, check_place, ended, write_all
from simspec.claims.system_figures.page import COMMAND, HEADING, page, played
from simspec.run import store
from simspec.run.progress import Progress

FOLDER = Path("results") / "systems"
PAGE, TABLE = "published.md", "published.parquet"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write both files: 0 written, 2 bad place, 130 stopped; other files of the folder stay as they are."""
    own = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    own.add_argument("folder", type=Path, nargs="?", default=FOLDER, help=f"where both files go; default {FOLDER}")
    own.add_argument("--quiet", action="store_true", help="no progress lines on stderr")
    args = own.parse_args(arguments)
    return ended(COMMAND, lambda: _write(args.folder, args.quiet))


def _write(folder: Path, quiet: bool) -> int:
    check_place(folder, COMMAND, lambda _: True)  # other files may lie there
    check_page(folder / PAGE, HEADING, COMMAND)
    began = time.monotonic()
    with Progress(quiet=quiet) as progress:
        table = played(progress=progress)
    text = page(table)
    write_all(
        folder,
        {
            TABLE: lambda path: store.write_table(pa.Table.from_pandas(table, preserve_index=False), path),
            PAGE: lambda path: path.write_text(text, encoding="utf-8"),
        },
    )
    print(f"{folder}: {len(table)} rows, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
