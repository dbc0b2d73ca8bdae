"""simspec recommend: which draft length, how sure, for which load, and what would settle it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from simspec.cli.acceptance_options import FIGURES, acceptance_from, add_acceptance, read_acceptance
from simspec.cli.common import add_json, number, numbers, positive, whole
from simspec.cli.cost_options import add_costs, costs_from

if TYPE_CHECKING:
    from simspec.advice.acceptance import Acceptance

MANY_ROUNDS = 200_000
"""From here on the answer takes more than two seconds."""
MOVED = 2_000
"""The same where κ moved: processes with memory are fitted and checked."""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "recommend",
        help="which κ (including off) to use, how sure that is, for which batch and context, and what would settle it",
        description="The draft length with the least expected regret, from acceptance (a log, or a figure from it) and "
        "round costs (--costs FILE from a sweep over κ, or numbers).  simspec export turns --json into engine flags.",
    )
    add_acceptance(own)
    own.add_argument(
        "--at", action="append", default=None, metavar="CONTEXT=LOG|E",
        help="acceptance at a context length: a log, or tokens per round (with --kappa); give it twice or more, with "
        "--context; default: acceptance does not depend on context",
    )  # fmt: skip
    costs = own.add_argument_group("costs")
    add_costs(costs)
    costs.add_argument(
        "--plain-ms", type=number, default=None, metavar="MS",
        help="one plain target step in ms (TPOT or ITL without speculation); default: what the costs say",
    )  # fmt: skip
    load = own.add_argument_group("loads and limits")
    load.add_argument(
        "--batch", nargs="+", default=None, metavar="N,N,…",
        help="running requests (batch size, concurrency) to give a κ for; default: all the costs were measured at",
    )  # fmt: skip
    load.add_argument(
        "--context", nargs="+", default=None, metavar="N,N,…",
        help="context lengths in tokens (prompt + output so far); default: all the costs were measured at",
    )  # fmt: skip
    load.add_argument(
        "--p99-gap", type=number, default=None, metavar="MS",
        help="longest p99 gap between chunks (ITL under speculation): one round; default: no limit",
    )  # fmt: skip
    load.add_argument(
        "--p99-tpot", type=number, default=None, metavar="MS",
        help="longest p99 time per token (TPOT) over sequences of --tokens tokens; default: no limit",
    )  # fmt: skip
    load.add_argument("--tokens", type=positive, default=128, metavar="N",
                      help="sequence length for --p99-tpot (max_tokens), default 128")  # fmt: skip
    own.add_argument(
        "--kappa-max", type=positive, default=None, metavar="N",
        help="longest draft considered (largest num_speculative_tokens, --draft-max); default: twice that seen, at "
        "least 8",
    )  # fmt: skip
    own.add_argument("--within", type=number, default=0.02, metavar="SHARE",
                     help="loss that counts as flat, default 0.02")  # fmt: skip
    own.add_argument("--level", type=number, default=0.95, metavar="P", help="confidence level, default 0.95")
    own.add_argument("--seed", type=whole, default=1, metavar="N", help="seed of the draws, default 1")
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Answer and print."""
    from simspec.advice.recommend.answer import recommend
    from simspec.advice.recommend.request_weights import one_length
    from simspec.cli.common import print_json

    acceptance = _by_context(args) if args.at else acceptance_from(args)
    for own in acceptance.values() if isinstance(acceptance, dict) else [acceptance]:
        if own.observed is not None and own.observed.rounds > (MANY_ROUNDS if one_length(own.observed) else MOVED):
            print(f"weighing {own.observed.rounds:,} rounds of {own.origin}: some seconds", file=sys.stderr)
    answer = recommend(
        acceptance,
        costs_from(args),
        kappa_max=args.kappa_max,
        batches=_loads("batch", args.batch),
        contexts=_loads("context", args.context),
        p99_gap_ms=args.p99_gap,
        p99_tpot_ms=args.p99_tpot,
        tokens=args.tokens,
        plain_ms=args.plain_ms,
        within=args.within,
        level=args.level,
        seed=args.seed,
    )
    if args.json:
        print_json(answer.to_dict())
    else:
        print(answer)
    return 0


def _loads(flag: str, words: list[str] | None) -> list[float] | None:
    from simspec.model.errors import ParameterError

    values = None if words is None else numbers(flag, words)
    if values is not None and (not values or min(values) <= 0):
        raise ParameterError(flag, f"--{flag}: {' '.join(words or [])} is out of range; allowed: numbers above 0")
    return values


def _by_context(args: argparse.Namespace) -> dict[int, Acceptance]:
    from simspec.advice.acceptance import acceptance_of_numbers
    from simspec.model.errors import ParameterError

    if args.files or any(getattr(args, name) is not None for name in FIGURES):
        raise ParameterError("at", "--at stands beside a log or a figure; allowed: one of them")
    found: dict[int, Acceptance] = {}
    for word in args.at:
        context, _, what = word.partition("=")
        if not context.isdigit() or int(context) < 1 or not what:
            raise ParameterError("at", f"--at {word}: allowed: CONTEXT=LOG or CONTEXT=E, e.g. 2048=2.3")
        try:
            emitted = float(what)
        except ValueError:
            found[int(context)] = read_acceptance([what], args.kappa, args.level)
        else:
            found[int(context)] = acceptance_of_numbers(kappa=args.kappa, emitted=emitted, rounds=args.rounds)
    return found
