"""Plays the tables of results/control and writes them: ``python -m simspec.claims.control_figures [FOLDER]``."""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simspec.claims.commands import check_place, ended, write_all
from simspec.claims.control_figures import growth, heuristic, losses, short
from simspec.claims.control_figures.page import COMMAND, HEADING, readme
from simspec.claims.reference import commit
from simspec.run.league import league
from simspec.run.progress import Progress
from simspec.run.token_job import whole_number

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path("results") / "control"
README, LEAGUE = "README.md", "league.txt"


def tables(seed: int, progress: Progress | None = None) -> tuple[dict[str, pd.DataFrame], str]:
    """Every table by name, and the league as it is printed; the same seed, the same figures."""
    import pandas as pd

    def say(text: str) -> None:
        if progress is not None:
            progress.say(text)

    say("short generations, all histories listed")
    found = {"short": short.compared(seed=seed, progress=progress)}
    say("closed loops against the best fixed κ")
    found["losses"] = losses.played(seed=seed, progress=progress)
    fits = []
    for family in heuristic.FAMILIES:
        say(f"published rounds of the heuristic: {family.name}")
        fits.append(heuristic.looked_at(family, heuristic.fit(family)))
    found["heuristic"] = heuristic.table(fits)
    say("controllers in all surroundings")
    places = league(seed=seed, progress=progress)
    found["league"] = pd.DataFrame(places.records())
    curves = growth.curves(seed=seed, progress=progress)
    return found | {"regret": growth.grown(curves), "slopes": growth.slopes(curves)}, str(places)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write all: 0 written, 2 bad input, 130 stopped; then all is as it was."""
    own = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    own.add_argument("folder", type=Path, nargs="?", default=FOLDER, help=f"where all goes; default {FOLDER}")
    own.add_argument("--seed", type=int, default=1, help="0 to 2^64 - 1; default 1")
    own.add_argument("--quiet", action="store_true", help="no progress lines on stderr")
    args = own.parse_args(arguments)
    return ended(COMMAND, lambda: _write(args.folder, args.seed, args.quiet))


def _write(folder: Path, seed: int, quiet: bool) -> int:
    whole_number("seed", seed, 0, 2**64 - 1)
    check_place(folder, COMMAND, _ours)
    began = time.monotonic()
    with Progress(quiet=quiet) as progress:
        found, places = tables(seed, progress)
    text = readme(found, places, seed, commit())
    files: dict[str, Callable[[Path], object]] = {
        f"{name}.parquet": functools.partial(_to_parquet, table) for name, table in found.items()
    }
    pages = {LEAGUE: places + "\n", README: text}
    write_all(folder, files | {name: functools.partial(_to_text, text) for name, text in pages.items()})
    print(f"{folder}: {len(found)} tables, {time.monotonic() - began:.0f} s", file=sys.stderr)
    outside = int((~found["short"]["inside"]).sum())
    if outside:
        print(f"{outside} figures of short generations lie outside their bound", file=sys.stderr)
    return 1 if outside else 0


def _to_parquet(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(path, index=False, compression="zstd")


def _to_text(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")


def _ours(folder: Path) -> bool:
    """Whether this command wrote the folder: its page begins with the page's heading."""
    page = folder / README
    return page.is_file() and page.read_text(encoding="utf-8", errors="replace").startswith(HEADING)


if __name__ == "__main__":
    raise SystemExit(main())
