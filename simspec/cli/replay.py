"""simspec replay: play a stored run, or one chunk of it, again and compare."""

from __future__ import annotations

import argparse
from typing import Any

from simspec.cli.common import add_json, add_quiet, add_threads, threads_of, whole
from simspec.cli.interrupts import loading


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "replay",
        help="play a stored run again, or one chunk of it, and compare with what is stored",
        description="Play a folder of simspec run again, recorded rounds too, into a temporary folder, and compare all "
        "tables; nothing in it changes. Its scenario file is not needed, its traces are. Exit code 0: the same; 1: "
        "something differs; 2: there is no such run, point or chunk, or a trace is another one.",
    )
    own.add_argument("results", help="the folder, e.g. results/quickstart")
    own.add_argument(
        "--point", default=None, metavar="ID",
        help="only the simulation of this point, at all its κ and costs: a point_id or simulation_id of the estimates, "
        "or its first digits (default: everything)",
    )  # fmt: skip
    own.add_argument(
        "--chunk", type=whole, default=None, metavar="K", help="only chunk K of that simulation (default: all of it)"
    )
    add_threads(own)
    add_quiet(own)
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Play, compare, say."""
    from simspec.run.progress import Progress

    threads = threads_of(args)
    with Progress(quiet=args.quiet) as progress:
        progress.say("playing again")
        with loading():
            from simspec.cli.common import print_json
            from simspec.run.executors import Crew
            from simspec.run.replay import replay

        done = replay(args.results, args.point, args.chunk, Crew(many=threads), progress)
    if args.json:
        lists = {name: list(getattr(done, name)) for name in ("differs", "compared", "notes")}
        print_json({"what": done.what, "same": done.same} | lists)
    else:
        print(done)
    return 0 if done.same else 1
