"""simspec validate: the main job; sweeps into Parquet, a verdict per claim."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from simspec.cli.common import add_json, add_quiet, add_threads, threads_of, whole
from simspec.cli.interrupts import loading


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "validate",
        help="judge the article's claims by simulation and by the exact route",
        description='Judge every claim of the article, "Acceptance-rate statistical mechanics of speculative '
        'decoding", by simulation and by the exact route. Exit 0 whatever the verdicts; 1 if engine and exact route '
        "disagree, in which case nothing is judged.  Each row also says what published figures, and your traces if you "
        "give any, say of it.",
    )
    own.add_argument("--quick", action="store_true", help="smaller budgets: seconds instead of minutes (default: full)")
    own.add_argument("--seed", type=whole, default=1, metavar="N", help="root seed, 0 ≤ N < 2^64; default 1")
    own.add_argument(
        "-o", "--output", default=None, metavar="FOLDER", help="default results/claims/<quick|full>-seed<N>"
    )
    own.add_argument(
        "--traces", nargs="+", default=[], metavar="FILE",
        help="also hear measured traces: a scenario (.toml) with processes of type trace, shipped:smollm2, "
        "shipped:smollm2_windows, or Parquet, CSV, JSON lines with tok_accept and request (dense), or accepted, "
        "drafted, request and bonus_included (rounds); default none",
    )  # fmt: skip
    add_threads(own)
    add_quiet(own)
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Judge, store, print."""
    from simspec.run.progress import Progress

    threads = threads_of(args)
    with Progress(quiet=args.quiet) as progress:
        progress.note("judging the article's claims: simulation against the exact route")
        progress.say("loading numba, scipy and pyarrow")
        with loading():
            from simspec.claims.validation import validate
            from simspec.cli.common import print_json

        result = validate(args.quick, args.seed, args.output, threads, progress, args.traces)
    if args.json:
        print_json(result.to_list())
    else:
        print(result)
    if not result.agrees:
        print("engine and exact route disagree: " + "; ".join(result.disagreements[:3]), file=sys.stderr)
        return 1
    return 0
