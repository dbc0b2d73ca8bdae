"""simspec explain: why speculative decoding is slower, or not faster."""

from __future__ import annotations

import argparse
from typing import Any

from simspec.cli.acceptance_options import FIGURES, add_acceptance
from simspec.cli.common import add_json, number, positive

_SPEEDS = (
    ("base-speed", "base_tok_s", "TOK/S", "plain decoding (speculation off), output tokens per second"),
    ("spec-speed", "spec_tok_s", "TOK/S", "with speculation, output tokens per second"),
    ("base-tpot", "base_tpot_ms", "MS", "plain decoding, ms per output token of one stream (TPOT; ITL is the same)"),
    ("spec-tpot", "spec_tpot_ms", "MS", "with speculation, ms per output token of one stream (TPOT, not ITL)"),
    ("spec-round-ms", "spec_round_ms", "MS", "with speculation, ms per round (draft and verification)"),
    ("spec-itl", "spec_itl_ms", "MS", "with speculation, inter-token latency (ITL): one gap per round, not per token"),
)
_PRICES = (
    ("draft_cost", "one draft token ÷ one plain target step (TPOT of the draft ÷ TPOT of the target)"),
    ("draft_ms", "one draft token in ms, instead of --draft-cost"),
    ("verify_cost", "verifying one more token, in plain target steps"),
    ("base_cost", "a round without drafts, in plain target steps"),
    ("rollback_cost", "a round in which a draft is rejected, on top, in plain target steps"),
)


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "explain",
        help="why is it slower, or not faster: cost of a round, break-even, ceiling, where the time goes",
        description="Give acceptance (a log, or --emitted E --kappa N) and the speed of the plain and the speculative "
        "run, e.g.  simspec explain --emitted 1.97 --kappa 1 --base-speed 342.2 --spec-speed 128.3.  A speed is a "
        "number, repeats (86.1,85.7), or 86.0±0.3 (one standard error).",
    )
    add_acceptance(own)
    own.add_argument("--no-drafts", action="store_true",
                     help="the loop of speculation ran without drafts (κ = 0, E = 1); default: it drafted")  # fmt: skip
    pace = own.add_argument_group("speeds", "one of each side; what is not given is read from the log, if it is there")
    for flag, name, unit, text in _SPEEDS:
        pace.add_argument(
            f"--{flag}", dest=name, default=None, metavar=unit, help=f"{text}; default: what the log says"
        )
    pace.add_argument("--streams", type=positive, default=None, metavar="N",
                      help="concurrent streams behind tok/s (batch, concurrency; 1 for a single stream); default: what "
                      "the log says, else not known, and tok/s cannot stand beside ms")  # fmt: skip
    cost = own.add_argument_group("costs", "to split the cost of a round; what is not given is not split")
    cost.add_argument("--costs", default=None, metavar="FILE",
                      help="a κ sweep or what simspec costs --json wrote; default: none")  # fmt: skip
    for name, text in _PRICES:
        cost.add_argument(
            _flag(name), type=number, default=None, metavar="COST", help=f"{text}; default: what the log says"
        )
    like = own.add_argument_group("comparable?", "runs that did not do the same are refused")
    for side in ("base", "spec"):
        like.add_argument(f"--{side}-tokens", type=positive, default=None, metavar="N",
                          help="output tokens produced by that run; default: taken to be equal")  # fmt: skip
        like.add_argument(f"--{side}-setup", default=None, metavar="TEXT",
                          help="what it ran on (GPU, tensor parallel, batch, power limit); default: taken to be "
                          "the same")  # fmt: skip
    own.add_argument("--level", type=number, default=0.95, metavar="P", help="confidence level, default 0.95")
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Explain and print."""
    from simspec.advice.explain.why import explain
    from simspec.cli.common import numbers, print_json, reading, share
    from simspec.model.errors import ParameterError

    names = [*FIGURES, "kappa", "rounds", "streams", "level", "base_tokens", "spec_tokens", "base_setup", "spec_setup"]
    names += [*(name for _, name, *_ in _SPEEDS), *(name for name, _ in _PRICES)]
    given = {name: getattr(args, name) for name in names}
    for name in ("survival", "conditional"):
        given[name] = None if given[name] is None else numbers(name, given[name], share)
    if args.no_drafts:
        if given["kappa"] is not None:
            raise ParameterError("no_drafts", "--no-drafts beside --kappa: give one or the other")
        given["kappa"] = 0
    with reading():
        answer = explain(*args.files, costs=None if args.costs is None else _costs(args.costs), **given)
    if args.json:
        print_json(answer.to_dict())
    else:
        print(answer)
    return 0


def _costs(file: str) -> Any:
    from simspec.cli.cost_options import costs_of_file

    return costs_of_file(file).at()


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
