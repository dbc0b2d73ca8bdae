"""simspec ab: is the difference between two runs real, and is one of them broken?"""

from __future__ import annotations

import argparse
from typing import Any

from simspec.cli.common import add_json, number, positive


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "ab",
        help="is the difference between two logs real? survival, tokens per round, α, tok/s; exit code 1 if it is",
        description="Compare two runs: logs, scrapes, print-outs or tables as simspec fit reads them, or figures as "
        "one quoted word, e.g. 'kappa=7 rounds=4816 accepted=12208' (also drafted, tokens, emitted, survival=.74,.48, "
        "histogram=39,1,0,3, speed=61.2,60.8 in tok/s, base=40 without speculation; k, gamma, num_speculative_tokens, "
        "acceptance_length, … mean the same).  One run alone: its faults, and what difference could be seen.  Exit "
        "code 0: no difference beyond chance; 1: a difference, or a fault; 2: bad input.",
    )
    own.add_argument("a", metavar="A", help="a file (scrapes: first.prom,last.prom), or figures in quotes: before")
    own.add_argument(
        "b", metavar="B", nargs="?", default=None, help="the other one: after; default: A is looked at alone"
    )
    own.add_argument(
        "--detect", type=number, default=None, metavar="X",
        help="how many rounds and requests would find a difference of X in tokens per round (mean acceptance length); "
        "default: not asked",
    )  # fmt: skip
    own.add_argument(
        "--kappa", type=positive, default=None, metavar="N",
        help="draft length (num_speculative_tokens, γ, --draft-max), for logs that do not hold it; default: unknown",
    )  # fmt: skip
    own.add_argument(
        "--base-speed", type=number, default=None, metavar="TOK/S",
        help="speed without speculation (output tok/s, 1000 ÷ TPOT in ms): a round cheaper than a plain step is "
        "flagged; default: not checked",
    )  # fmt: skip
    own.add_argument("--level", type=number, default=0.95, metavar="P",
                     help="confidence level of intervals and tests, default 0.95")  # fmt: skip
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Compare and print."""
    from simspec.advice.ab.compare import ab
    from simspec.cli.common import print_json, reading

    with reading() as progress:
        progress.say("reading and comparing")
        found = ab(args.a, args.b, args.level, args.detect, args.kappa, args.base_speed)
    if args.json:
        print_json(found.to_dict())
    else:
        print(found)
    return int(found.differs or found.broken)
