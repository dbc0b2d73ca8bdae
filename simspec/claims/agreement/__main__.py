"""Plays every system on its sets, writes agreement.md and .parquet: ``python -m simspec.claims.agreement [FOLDER]``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from simspec.claims.agreement.page import COMMAND, HEADING, outsiders, page, told
from simspec.claims.agreement.play import agreed
from simspec.claims.agreement.systems import all_systems
from simspec.claims.commands import check_page, check_place, ended, write_all
from simspec.run import store
from simspec.run.progress import Progress
from simspec.run.token_job import whole_number

FOLDER = Path("results") / "systems"
PAGE, TABLE = "agreement.md", "agreement.parquet"
ROUNDS, SEED = 2**19, 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Write both files: 0 all agree, 1 some figure is outside its bound, 2 bad input or place, 130 stopped."""
    own = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").split(":")[0] + ".")
    own.add_argument("folder", type=Path, nargs="?", default=FOLDER, help=f"where both files go; default {FOLDER}")
    own.add_argument("--seed", type=int, default=SEED, help=f"of the random words, 0 to 2^64 - 1; default {SEED}")
    own.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds per parameter set; default {ROUNDS:,}")
    own.add_argument("--quiet", action="store_true", help="no progress lines on stderr")
    args = own.parse_args(arguments)
    return ended(COMMAND, lambda: _write(args.folder, args.rounds, args.seed, args.quiet))


def _write(folder: Path, rounds: int, seed: int, quiet: bool) -> int:
    whole_number("seed", seed, 0, 2**64 - 1)
    whole_number("rounds", rounds, 1000, 10**9)
    check_place(folder, COMMAND, lambda _: True)  # other files may lie there
    check_page(folder / PAGE, HEADING, COMMAND)
    began = time.monotonic()
    with Progress(quiet=quiet) as progress:
        systems = all_systems()
        progress.note(f"{len(systems)} systems, {rounds:,} rounds per parameter set")
        found = agreed(systems, rounds, seed, progress)
    text = page(found, rounds, seed)
    write_all(
        folder,
        {
            TABLE: lambda path: store.write_table(pa.Table.from_pandas(found, preserve_index=False), path),
            PAGE: lambda path: path.write_text(text, encoding="utf-8"),
        },
    )
    print(told(found))
    outside = outsiders(found)
    for line in outside:
        print(f"outside its bound: {line}", file=sys.stderr)
    verdict = f"{len(outside)} outside" if outside else "all agree"
    print(f"{folder}: {len(found):,} figures, {verdict}, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if outside else 0


if __name__ == "__main__":
    raise SystemExit(main())
