"""How does a command take costs?  A file of costs or of measurements, or the numbers of a straight line."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from simspec.cli.common import number

if TYPE_CHECKING:
    from simspec.evidence.costs.round_costs import CostGrid

DEFAULT_DRAFT_COST = 0.1

COSTS = (
    ("--draft-cost", "c_d", DEFAULT_DRAFT_COST, "cost of one draft token, β (TPOT of the draft ÷ TPOT of the target)"),
    ("--verify-cost", "c_v", 0.0, "cost of verifying one more token in the target pass"),
    ("--rollback-cost", "c_r", 0.0, "cost of a round in which a draft is rejected"),
    ("--base-cost", "c0", 1.0, "cost of the target pass that every round makes"),
    ("--off-cost", "off", 1.0, "cost of one token with speculation switched off"),
)


def add_costs(parser: argparse.ArgumentParser) -> None:
    """``--costs FILE``, or ``--draft-cost`` and the like."""
    parser.add_argument(
        "--costs", default=None, metavar="FILE",
        help="round costs by κ: what `simspec costs --json` wrote, a scenario with [cost], or a table of measurements "
        "(one row per num_speculative_tokens with TPOT and accept length); default: the numbers below",
    )  # fmt: skip
    for flag, key, default, text in COSTS:
        parser.add_argument(
            flag, f"--{key.replace('_', '-')}", dest=key, type=number, default=None, metavar="COST",
            help=f"{text}, in plain target steps; default {default:g}",
        )  # fmt: skip


def costs_of_file(file: str) -> CostGrid:
    """The costs in a file; what only `simspec costs` can be told is said so.

    Raises
    ------
    ParameterError
        The file holds no costs, or needs the plain step or κ beside it.
    """
    from simspec.evidence.costs.files import read_costs
    from simspec.evidence.costs.sources import KAPPA_OF_SOURCE
    from simspec.model.errors import ParameterError

    beside = {"base_tpot": ("plain decoding is", "--base-tpot MS"), KAPPA_OF_SOURCE: ("its κ is", "--kappa N")}
    try:
        return read_costs(file)
    except ParameterError as error:
        if error.key not in beside:
            raise
        missing, flag = beside[error.key]
        told = error.message.partition("; what is known: ")[2]
        raise ParameterError(
            "costs",
            f"--costs {file}: {missing} not in it{f' ({told})' if told else ''}; write the costs with  simspec costs "
            f"{file} {flag} --json > costs.json  and give --costs costs.json",
        ) from None


def costs_from(args: argparse.Namespace) -> CostGrid:
    """The costs these options describe.

    Raises
    ------
    ParameterError
        A number stands beside ``--costs``, the file holds no costs, or a cost is out of range.
    """
    from simspec.evidence.costs.round_costs import CostGrid, RoundCosts
    from simspec.model.cost import Cost
    from simspec.model.errors import ParameterError

    given = {key: getattr(args, key) for _, key, _, _ in COSTS if getattr(args, key) is not None}
    if args.costs is not None:
        if given:
            flag = next(flag for flag, key, _, _ in COSTS if key in given)
            raise ParameterError("costs", f"{flag} beside --costs: give one or the other")
        return costs_of_file(args.costs)
    said = "c_d" in given
    cost = Cost(**({"c_d": DEFAULT_DRAFT_COST} | given))
    origin = "given as numbers" if said else "the default draft cost 0.1; measure yours (simspec costs, --draft-cost)"
    return CostGrid.of(RoundCosts.of_cost(cost, origin))
