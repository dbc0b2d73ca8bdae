"""simspec show: summary of a stored dataset."""

from __future__ import annotations

import argparse
from typing import Any

from simspec.cli.common import WHERE, add_json


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "show",
        help="summary of a stored dataset: best κ per point with its interval, provenance",
        description="Show a folder that simspec run or simspec validate wrote.",
    )
    own.add_argument("results", help="the folder, e.g. results/quickstart")
    own.add_argument("--all", action="store_true", help="show all points (default: the first 40)")
    own.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE", help=WHERE)
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Open and print."""
    from simspec.run.progress import Progress

    with Progress() as progress:
        progress.say(f"reading {args.results}")
        from simspec.cli.common import print_json

        told = _told(args)
    if args.json:
        print_json(told)
    else:
        print(told)
    return 0


def _told(args: argparse.Namespace) -> Any:
    from simspec.api import read
    from simspec.model import ParameterError
    from simspec.run.dataset import Dataset
    from simspec.run.pick import where_of

    found = read(args.results)
    if not isinstance(found, Dataset):
        if args.where:
            raise ParameterError("where", f"where: {args.results} holds verdicts; allowed: a folder of simspec run")
        return found.to_list() if args.json else str(found)
    found = found.where(**where_of(args.where)) if args.where else found
    if not args.json:
        return found.summary(most=None if args.all else 40)
    own = {"folder": found.place, "scenario": found.scenario.to_dict()}
    return own | {"points": found.best_records(), "manifest": found.manifest}
