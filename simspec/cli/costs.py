"""simspec costs: what a round of κ drafts costs, from a κ sweep."""

from __future__ import annotations

import argparse
from typing import Any

from simspec.cli.common import add_json, number, numbers, positive

_LISTS = (
    ("kappa", "kappa", "K1,K2,…", "draft lengths measured (num_speculative_tokens, γ, --draft-max); with engine "
     "outputs, the κ of each file"),
    ("width", "width", "W1,W2,…", "tokens per target pass instead of --kappa (κ + 1)"),
    ("emitted", "emitted", "E1,E2,…", "tokens per round of each κ (accept length, τ; bonus token included)"),
    ("accepted", "accepted", "A1,A2,…", "instead of --emitted: accepted drafts per round (without the bonus token)"),
    ("rate", "rate", "R1,R2,…", "instead of --emitted: accepted ÷ drafted (draft acceptance rate)"),
    ("tpot", "tpot_ms", "MS,…", "ms per emitted token of each κ (TPOT; not ITL, which is per round)"),
    ("tok-s", "tok_s", "X1,X2,…", "tokens per second of each κ"),
    ("round-ms", "round_ms", "MS,…", "ms of a whole round of each κ: no --emitted needed"),
    ("verify-ms", "verify_ms", "MS,…", "ms of the target pass alone of each --width; width 1 is plain decoding"),
    ("batch", "batch", "B1,B2,…", "running requests of each κ, or one number for all"),
    ("context", "context", "C1,C2,…", "tokens of context of each κ, or one number for all"),
)  # fmt: skip
_ONE = (
    ("base-tpot", "base_tpot_ms", "MS", "plain decoding: ms per token (TPOT); a row with κ = 0 says the same"),
    ("base-speed", "base_tok_s", "TOK/S", "plain decoding: tokens per second"),
    (
        "loop-tpot",
        "loop_tpot_ms",
        "MS",
        "speculation running with κ = 0: ms per token; what off costs in such an engine",
    ),
    ("loop-speed", "loop_tok_s", "TOK/S", "the same in tokens per second"),
    ("draft-cost", "draft_cost", "COST", "one draft token in plain steps (c = draft TPOT ÷ target TPOT)"),
    ("draft-ms", "draft_token_ms", "MS", "one draft token in ms"),
)


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "costs",
        help="what a round of κ drafts costs in plain steps: a line, kernel edges, a roofline, from a κ sweep",
        description="R(κ), the cost of a round in plain target steps, from measurements.  FILE: a table (CSV, TSV, "
        "Markdown, JSON) with a row per measurement: κ (k, n_max, num_speculative_tokens), a time (round_ms; or "
        "tpot_ms or tok_s with emitted = accept length; or llama.cpp's predicted_n, predicted_ms, draft_n and "
        "draft_n_accepted), "
        "perhaps batch and context; κ = 0 is plain decoding; several rows per κ are repeats.  Or outputs of engines "
        "that hold times.  Or the numbers below.",
    )
    own.add_argument("files", nargs="*", metavar="FILE", help="tables or engine outputs; default: the numbers below")
    for flag, key, metavar, text in _LISTS:
        own.add_argument(f"--{flag}", dest=key, nargs="+", default=None, metavar=metavar, help=f"{text}; default: none")
    for flag, key, metavar, text in _ONE:
        own.add_argument(
            f"--{flag}", dest=key, type=number, default=None, metavar=metavar, help=f"{text}; default: none"
        )
    own.add_argument("--where", action="append", default=None, metavar="COLUMN=VALUE",
                     help="rows of a table that holds several models or machines; default: all rows")  # fmt: skip
    own.add_argument("--model", choices=("affine", "table", "roofline"), default=None,
                     help="default: a line; a table where there are edges or the line misses; a roofline beside them "
                     "where several loads were measured")  # fmt: skip
    own.add_argument("--at", type=_load, default=None, metavar="BATCH[,CONTEXT]",
                     help="show one load in full; default: all in one table, if there are several")  # fmt: skip
    own.add_argument("--toml", action="store_true", help="print [cost] for a scenario instead (default: text)")
    own.add_argument("--kappa-max", type=positive, default=16, metavar="N",
                     help="largest κ of a table printed by --toml, default 16")  # fmt: skip
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Fit and print."""
    from simspec.cli.common import print_json, reading
    from simspec.evidence.costs.files import toml
    from simspec.evidence.costs.round_costs import CostGrid
    from simspec.evidence.costs.sweep import costs
    from simspec.model.errors import ParameterError

    columns: dict[str, Any] = {
        key: numbers(flag, getattr(args, key)) for flag, key, _, _ in _LISTS if getattr(args, key) is not None
    }
    one: dict[str, Any] = {key: getattr(args, key) for _, key, _, _ in _ONE}
    with reading():
        grid = costs(*args.files, **one, model=args.model, where=_conditions(args.where), **columns)
    if args.at is not None:
        grid = CostGrid.of(grid.at(*args.at))
    if args.json and args.toml:
        raise ParameterError("toml", "--json and --toml: give one")
    if args.toml:
        print(toml(grid.at(), args.kappa_max))
    elif args.json:
        print_json(grid.to_dict())
    else:
        print(grid)
    return 0


def _load(text: str) -> tuple[float, ...]:
    parts = [number(part) for part in text.split(",")]
    if len(parts) > 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not BATCH or BATCH,CONTEXT")
    return tuple(parts)


def _conditions(words: list[str] | None) -> dict[str, str]:
    from simspec.model.errors import ParameterError

    out = {}
    for word in words or []:
        column, sign, value = word.partition("=")
        if not sign:
            raise ParameterError("where", f"--where {word}: COLUMN=VALUE is meant, e.g. --where model=dense")
        out[column] = value
    return out
