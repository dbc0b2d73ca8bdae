"""simspec doctor: whether this installation is sound."""

from __future__ import annotations

import argparse
from typing import Any

from simspec.cli.common import add_json


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "doctor",
        help="whether this installation is sound: random words, kernels, threads, files",
        description="Look at what numbers, speed and files depend on: versions, compiled kernels and where they are "
        "kept, processors, known answers of the random words, threads, the results folder. Exit code 0: sound; 1: not.",
    )
    own.add_argument("--results", default="results", metavar="FOLDER", help="where results go (default: results)")
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Look and say."""
    from simspec.run.progress import Progress

    found = []
    with Progress() as progress:
        progress.say("examining (a new installation compiles its kernels, once)")
        from simspec.cli.common import print_json
        from simspec.run.doctor import examine

        for finding in examine(args.results):
            found.append(finding)
            if not args.json:
                progress.clear()
                print(finding, flush=True)
    if args.json:
        print_json([{"what": own.what, "says": own.says, "sound": own.sound} for own in found])
    return 0 if all(own.sound for own in found) else 1
