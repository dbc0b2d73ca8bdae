"""simspec combine: one dataset from the shards of several machines."""

from __future__ import annotations

import argparse
from typing import Any

from simspec.cli.common import add_json, add_quiet, add_threads, threads_of
from simspec.cli.interrupts import loading


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "combine",
        help="one dataset from shards that several machines played (simspec run --shard i/n)",
        description="Combine the folders of shards into one dataset: the same bytes as if one machine had played it. "
        "Shards of another scenario or seed are refused, and what is missing is said; nothing is played.",
    )
    own.add_argument("output", metavar="FOLDER", help="where the dataset goes, e.g. results/quickstart or an address")
    own.add_argument("shards", nargs="+", metavar="SHARD", help="the folder or address of each shard")
    add_threads(own)
    add_quiet(own)
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Combine and print."""
    from simspec.run.progress import Progress

    threads = threads_of(args)
    with Progress(quiet=args.quiet) as progress:
        progress.say("combining shards")
        with loading():
            from simspec.cli.common import print_json
            from simspec.run.executors import Crew
            from simspec.run.shards import combine

        dataset = combine(args.output, args.shards, Crew(many=threads), progress)
        progress.begin("summing up", 0)
        told = dataset.best_records() if args.json else dataset.summary()
    if args.json:
        print_json({"folder": dataset.place, "points": told, "failed": dataset.failed})
    else:
        print(told)
    return 2 if dataset.failed else 0
