"""simspec league: which controller of the draft length is best where, against the best fixed κ."""

from __future__ import annotations

import argparse
from typing import Any

from simspec.cli.common import add_json, add_threads, number, whole

_EPILOG = """\
examples:
  simspec league                                  nineteen controllers in ten surroundings, draft cost .1
  simspec league --draft-cost 0.03 --windows 1e5  cheaper drafts, a quicker look
  simspec league --switch-cost 0.05               where every change of κ costs 5% of a plain step
one controller on your own process: [policy] in a scenario, see docs/control.md"""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "league",
        help="controllers of the draft length against the best fixed κ, in many surroundings",
        description="Play controllers that choose κ (num_speculative_tokens) from round to round, those of engines "
        "and of papers, in surroundings from a constant acceptance rate to quick changes of it, and hold each against "
        "the best fixed κ, which is known exactly.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for flag, key, usual, text in (
        ("--draft-cost", "c_d", 0.1, "cost of one draft token"),
        ("--verify-cost", "c_v", 0.0, "cost of verifying one more token"),
        ("--rollback-cost", "c_r", 0.0, "cost of a round in which a draft is rejected"),
        ("--switch-cost", "c_switch", 0.0, "more for a round with another κ than the round before (a graph to load)"),
        ("--wake-cost", "c_wake", 0.0, "more for a round that drafts after a round with κ = 0 (the draft catches up)"),
    ):
        own.add_argument(
            flag, dest=key, type=number, default=usual, metavar="COST",
            help=f"{text}, in plain target steps; default {usual:g}",
        )  # fmt: skip
    own.add_argument(
        "--windows", type=whole, default=None, metavar="N", help="rounds of each controller; default 1,000,000"
    )
    own.add_argument("--seed", type=whole, default=1, metavar="N", help="root seed; default 1")
    own.add_argument("--level", type=number, default=0.95, metavar="P", help="confidence level; default 0.95")
    add_threads(own)
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Play and print."""
    from simspec.cli.common import print_json, threads_of
    from simspec.model import Cost
    from simspec.model.cost import CHANGES
    from simspec.run.league import DEFAULT_WINDOWS, league

    cost = Cost(**{key: getattr(args, key) for key in ("c_d", "c_v", "c_r", *CHANGES)})
    windows = DEFAULT_WINDOWS if args.windows is None else args.windows
    found = league(cost, windows, args.seed, args.level, threads_of(args))
    if args.json:
        print_json({"cost": cost.identity(), "windows": windows, "seed": args.seed, "level": args.level,
                    "places": found.records()})  # fmt: skip
    else:
        print(found)
    return 0
