"""simspec drift: where along a log acceptance changes, by how much, and whether κ changed with it."""

from __future__ import annotations

import argparse
from typing import Any

from simspec.cli.common import add_json, number, positive, whole
from simspec.cli.cost_options import COSTS, add_costs

_EPILOG = """\
examples:
  simspec drift server.log                        when acceptance changed, by how much, and what κ did
  simspec drift rounds.csv --draft-cost 0.1       and the best κ before and after
  simspec drift server.log.1 server.log           a rotated log, oldest first"""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "drift",
        help="did acceptance change along a log: when, by how much, and did κ change with it",
        description="Look along a log for places where the acceptance rate of an examined draft changes, with a "
        "detector of river (pip install 'simspec[drift]').  Drafts are compared at their own position, so that a "
        "change of κ (num_speculative_tokens, γ, --draft-max) is none of acceptance.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own.add_argument("files", nargs="+", metavar="LOG",
                     help="a log, a table of rounds or scrapes, as simspec fit reads them; several: pieces of one log, "
                     "oldest first; - for standard input")  # fmt: skip
    own.add_argument("--kappa", type=positive, default=None, metavar="N",
                     help="draft length, for shapes that do not hold it; default: unknown")  # fmt: skip
    own.add_argument("--request", default=None, metavar="COLUMN",
                     help="column that tells requests apart; default: request, request_id, question_id")  # fmt: skip
    own.add_argument("--accepted", default=None, metavar="COLUMN",
                     help="accepted length per round, in a table; default: accepted, num_accepted, …")  # fmt: skip
    own.add_argument("--drafted", default=None, metavar="N|COLUMN",
                     help="drafts per round, in a table; default: kappa, drafted, …")  # fmt: skip
    own.add_argument("--bonus-included", choices=("yes", "no"), default=None,
                     help="whether that length counts the bonus token; default: where name or rows tell")  # fmt: skip
    own.add_argument("--detector", choices=("adwin", "page-hinkley"), default="adwin",
                     help="adwin (default) is the surer one, page-hinkley tells sooner")  # fmt: skip
    add_costs(own.add_argument_group("costs", "to weigh κ before and after; default: none, κ is not weighed"))
    own.add_argument("--level", type=number, default=0.95, metavar="P", help="confidence level, default 0.95")
    own.add_argument("--seed", type=whole, default=1, metavar="N", help="seed of the draws behind a best κ, default 1")
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Look and print."""
    from simspec.advice.drift.answer import drift
    from simspec.cli.common import number_or_word, print_json, reading
    from simspec.cli.cost_options import costs_from

    priced = args.costs is not None or any(getattr(args, key) is not None for _, key, _, _ in COSTS)
    with reading():
        answer = drift(
            *args.files,
            costs=costs_from(args) if priced else None,
            detector=args.detector,
            level=args.level,
            seed=args.seed,
            kappa=args.kappa,
            accepted=args.accepted,
            drafted=number_or_word(args.drafted),
            request=args.request,
            bonus_included=None if args.bonus_included is None else args.bonus_included == "yes",
        )
    if args.json:
        print_json(answer.to_dict())
    else:
        print(answer)
    return 0
