"""Plays the tables of results/control and writes them: ``python -m simspec.claims.control_figures [FOLDER]``."""

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
from simspec.claims.control_figures import growth, heuristic, losses, short
from simspec.claims.control_figures.page import COMMAND, HEADING, readme
from simspec.claims.reference import commit
from simspec.model import DatasetError
from simspec.run.league import league
from simspec.run.progress import Progress
from simspec.run.store import write_json
from simspec.run.token_job import whole_number

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path("results") / "control"
README, LEAGUE, MANIFEST = "README.md", "league.txt", "manifest.json"
Files = dict[str, Any]
"""Tables by name, and the league as it is printed under `LEAGUE`."""


def _short(seed: int, progress: Progress | None) -> Files:
    return {"short": short.compared(seed=seed, progress=progress)}


def _losses(seed: int, progress: Progress | None) -> Files:
    return {"losses": losses.played(seed=seed, progress=progress)}


def _heuristic(seed: int, progress: Progress | None) -> Files:
    return {"heuristic": heuristic.table([heuristic.looked_at(own, heuristic.fit(own)) for own in heuristic.FAMILIES])}


def _league(seed: int, progress: Progress | None) -> Files:
    import pandas as pd

    places = league(seed=seed, progress=progress)
    return {"league": pd.DataFrame(places.records()), LEAGUE: str(places)}


def _regret(seed: int, progress: Progress | None) -> Files:
    curves = growth.curves(seed=seed, progress=progress)
    return {"regret": growth.grown(curves), "slopes": growth.slopes(curves)}


PARTS: dict[str, Callable[[int, Progress | None], Files]] = {
    "short": _short,
    "losses": _losses,
    "heuristic": _heuristic,
    "league": _league,
    "regret": _regret,
}
"""Name → what plays it; the same seed, the same figures."""
TABLES = ("short", "losses", "heuristic", "league", "regret", "slopes")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write all: 0 written, 1 a figure left its bound, 2 bad input, 130 stopped; then all is as it was."""
    own = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    own.add_argument("folder", type=Path, nargs="?", default=FOLDER, help=f"where all goes; default {FOLDER}")
    own.add_argument("--seed", type=int, default=1, help="0 to 2^64 - 1; default 1")
    own.add_argument(
        "--only", choices=PARTS, action="append", help="play this part anew and keep the others; may be repeated"
    )
    own.add_argument("--quiet", action="store_true", help="no progress lines on stderr")
    args = own.parse_args(arguments)
    return ended(COMMAND, lambda: _write(args.folder, args.seed, args.only, args.quiet))


def stored(folder: Path) -> tuple[Files, dict[str, Any]]:
    """What a folder holds: tables, the league as printed, and which seed and commits they are of.

    Raises
    ------
    DatasetError
        A file is missing.
    """
    import pandas as pd

    try:
        note: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        found: Files = {name: pd.read_parquet(folder / f"{name}.parquet") for name in TABLES}
        found[LEAGUE] = (folder / LEAGUE).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DatasetError(f"{error.filename}: is missing; allowed: a folder that {COMMAND} wrote as a whole") from None
    return found, note


def _write(folder: Path, seed: int, only: Sequence[str] | None, quiet: bool) -> int:
    whole_number("seed", seed, 0, 2**64 - 1)
    check_place(folder, COMMAND, _ours)
    found, note = stored(folder) if only else ({}, {"seed": seed, "commits": {}})
    if note["seed"] != seed:
        raise DatasetError(f"{folder}: has seed {note['seed']}; allowed with --only: that seed")
    began = time.monotonic()
    with Progress(quiet=quiet) as progress:
        for number, name in enumerate(only or PARTS, start=1):
            progress.say(f"part {number} of {len(only or PARTS)}: {name}")
            found |= PARTS[name](seed, progress)
            note["commits"][name] = commit()
    tables = {name: found[name] for name in TABLES}
    text = readme(tables, found[LEAGUE], note)
    files: dict[str, Callable[[Path], object]] = {LEAGUE: functools.partial(_to_text, found[LEAGUE])}
    files |= {f"{name}.parquet": functools.partial(_to_parquet, table) for name, table in tables.items()}
    files |= {README: functools.partial(_to_text, text), MANIFEST: functools.partial(write_json, note)}
    write_all(folder, files)
    print(f"{folder}: {len(only or PARTS)} parts, {time.monotonic() - began:.0f} s", file=sys.stderr)
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
