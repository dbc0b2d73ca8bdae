"""simspec tree: the best tree of drafts for a budget of nodes, and what chains give at the same cost."""

from __future__ import annotations

import argparse
from typing import Any

from simspec.cli.common import add_json, numbers, positive, share, whole
from simspec.cli.cost_options import COSTS, add_costs


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "tree",
        help="the best tree of drafts for a budget of nodes: its shape, a chain and K drafts at equal cost",
        description="The fastest tree of drafts (Medusa, EAGLE, Sequoia, SpecInfer) for given chances of the draft's "
        "first, second, third guess: exact, by dynamic programming over all trees.  Costs as in simspec recommend: "
        "--draft-cost is paid per level, --verify-cost per node.",
    )
    chances = own.add_argument_group("chances of a guess, given that all above it were accepted")
    chances.add_argument(
        "--ranks", nargs="+", action="append", default=None, metavar="R1,R2,…",
        help="chance that the draft's first, second, … guess is the target's token (head accuracy by rank, top-k "
        "acceptance); give it again for each further depth; default: --alpha and --misses",
    )  # fmt: skip
    chances.add_argument(
        "--alpha", nargs="+", default=None, metavar="α",
        help="instead of --ranks: acceptance rate of the first guess, or a list by depth (EAGLE: n-α); default 0.7",
    )  # fmt: skip
    chances.add_argument(
        "--survival", nargs="+", default=None, metavar="S1,S2,…",
        help="instead of --alpha: chance that the first j guesses of a chain are all accepted (the per-position "
        "acceptance rate of vLLM and llama.cpp); default: --alpha",
    )  # fmt: skip
    chances.add_argument(
        "--misses", nargs="*", default=None, metavar="M2,M3,…",
        help="with --alpha: share of the misses of the first guess that the second, third, … one is; with sequential "
        "siblings their acceptance rates in turn; empty: no further guesses; default 0.4,0.25,0.1, an example",
    )  # fmt: skip
    chances.add_argument(
        "--siblings", choices=("exclusive", "sequential"), default="exclusive",
        help="exclusive: at most one guess is right (greedy decoding, Medusa); sequential: guesses are tried in turn "
        "(multi-step rejection of SpecInfer, typical of sampling); default exclusive",
    )  # fmt: skip
    costs = own.add_argument_group("costs")
    add_costs(costs)
    costs.add_argument(
        "--at", default=None, metavar="BATCH[,CONTEXT]",
        help="the load, where --costs holds several (batch size or concurrency; context); default: the only one",
    )  # fmt: skip
    size = own.add_argument_group("size")
    size.add_argument(
        "--nodes", type=positive, default=64, metavar="N",
        help="most nodes verified in a round (speculative_num_draft_tokens − 1, total_token, Medusa's tree size), "
        "default 64, at most 256",
    )  # fmt: skip
    size.add_argument(
        "--depth", type=positive, default=None, metavar="N",
        help="most levels (speculative_num_steps, Medusa's heads); default: as many as nodes, or as chances given",
    )  # fmt: skip
    played = own.add_argument_group("simulation beside the exact numbers")
    played.add_argument(
        "--windows", type=positive, default=None, metavar="N",
        help="also play so many rounds of every tree shown, with an interval of 99.9999%%; default: none",
    )  # fmt: skip
    played.add_argument("--seed", type=whole, default=1, metavar="N", help="seed of these rounds, default 1")
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Answer and print; 1 if a simulated interval misses its exact number."""
    from simspec.advice.trees.plan import plan_tree
    from simspec.cli.common import print_json
    from simspec.run.progress import Progress

    with Progress() as progress:
        playing = "" if args.windows is None else f", playing {args.windows:,} rounds of every tree shown"
        progress.say(f"looking for the best trees{playing}")
        plan = plan_tree(
            _ranks(args.ranks),
            nodes=args.nodes,
            depth=args.depth,
            siblings=args.siblings,
            alpha=_alpha(args.alpha),
            survival=None if args.survival is None else numbers("survival", args.survival, share),
            misses=None if args.misses is None else numbers("misses", args.misses, share),
            windows=args.windows,
            seed=args.seed,
            **_costs(args),
        )
    if args.json:
        print_json(plan.to_dict())
    else:
        print(plan)
    return 1 if plan.agrees is False else 0


def _ranks(words: list[list[str]] | None) -> Any:
    if words is None:
        return None
    rows = [numbers("ranks", row, share) for row in words]
    return rows if len(rows) > 1 else rows[0]


def _alpha(words: list[str] | None) -> Any:
    values = None if words is None else numbers("alpha", words, share)
    return values if values is None or len(values) != 1 else values[0]


def _costs(args: argparse.Namespace) -> dict[str, Any]:
    """Costs from a file, of one load, with a draft cost it may lack; or from the numbers."""
    from simspec.cli.cost_options import costs_of_file
    from simspec.model.errors import ParameterError

    given = {key: getattr(args, key) for _, key, _, _ in COSTS if getattr(args, key) is not None}
    if args.costs is None:
        if args.at is not None:
            raise ParameterError("at", "--at goes with --costs, which holds the loads")
        draft = {} if "c_d" in given or not given else {"c_d": next(entry[2] for entry in COSTS if entry[1] == "c_d")}
        return {"cost": draft | given or None}
    beside = [flag for flag, key, _, _ in COSTS if key in given and key != "c_d"]
    if beside:
        raise ParameterError("costs", f"{beside[0]} beside --costs: give one or the other")
    grid = costs_of_file(args.costs)
    load = () if args.at is None else numbers("at", [args.at])
    if len(load) > 2:
        raise ParameterError("at", f"--at {args.at} is not BATCH or BATCH,CONTEXT")
    if load and all(own == (None, None) for own in grid.loads):
        raise ParameterError("at", f"--at {args.at}: {args.costs} tells of no load; leave --at out")
    try:
        cost = grid.at(*load)
    except ParameterError as error:
        raise ParameterError("at", f"{error.message}; give --at BATCH[,CONTEXT]") from None
    return {"cost": cost, "draft_cost": given.get("c_d")}
