"""simspec trace: what a measured trace says, with errors clustered by request."""

from __future__ import annotations

import argparse
from typing import Any

from simspec.cli.common import add_json, add_quiet, positive, whole


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "trace",
        help="what measured rounds say: tokens per round, survival, correlation; errors by request",
        description="Summarise a trace (Parquet, CSV, JSON lines): measured rounds (--accepted), or the chance of "
        "acceptance at every output position (--alpha).  --tests holds the usual assumptions against it and says which "
        'process predicts rounds it has not seen.  To replay it at other κ, use a scenario with type = "trace".',
    )
    own.add_argument(
        "path",
        help="the trace file; shipped:smollm2, shipped:smollm2_windows and what simspec record writes need no column",
    )
    own.add_argument("--accepted", default=None, metavar="COLUMN",
                     help="accepted length per round (or lists of them, one per request); default none")  # fmt: skip
    own.add_argument("--bonus-included", choices=("yes", "no"), default=None,
                     help="whether that length counts the bonus token (accept_len: yes); no default")  # fmt: skip
    own.add_argument("--drafted", default=None, metavar="N|COLUMN",
                     help="drafts per round (κ): a number, or the column that holds them; no default")  # fmt: skip
    own.add_argument("--alpha", default=None, metavar="COLUMN", help="a dense trace instead; default none")
    own.add_argument("--request", default=None, metavar="COLUMN[,COLUMN]",
                     help="column(s) that tell requests apart; default: each row is one request")  # fmt: skip
    own.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE",
                     help="keep only such rows; may be repeated; default all")  # fmt: skip
    own.add_argument("--tests", action="store_true",
                     help="dense traces: test independence, drift, differences between requests and the position "
                     "profile, and compare five fitted processes on unseen requests; default no")  # fmt: skip
    own.add_argument("--kappa", type=positive, default=None, metavar="K",
                     help="with --tests: draft length of the replayed rounds; default 8")  # fmt: skip
    add_quiet(own)
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Summarise and print."""
    from simspec.advice.trace import TraceSummary
    from simspec.cli.common import print_json
    from simspec.evidence.files import first_trace
    from simspec.model.errors import ParameterError

    if args.kappa is not None and not args.tests:
        raise ParameterError("kappa", "--kappa has no meaning without --tests; to replay a trace write a scenario")
    keys: dict[str, Any] = {"accepted": args.accepted, "alpha": args.alpha}
    if args.bonus_included is not None:
        keys["bonus_included"] = args.bonus_included == "yes"
    if args.drafted is not None:
        keys["drafted"] = _number_or_word(args.drafted)
    if args.request is not None:
        keys["request"] = args.request.split(",")
    if args.where:
        keys["where"] = dict(_condition(text) for text in args.where)
    trace = first_trace(args.path, **{key: value for key, value in keys.items() if value is not None})
    if args.tests:
        from simspec.advice.trace_tests import TraceTests
        from simspec.run.progress import Progress

        with Progress(quiet=args.quiet) as progress:
            summary: Any = TraceTests(trace, args.kappa, progress=progress.say)
    else:
        summary = TraceSummary(trace)
    if args.json:
        print_json(summary.to_dict())
    else:
        print(summary)
    return 0


def _number_or_word(text: str) -> int | str:
    try:
        return whole(text)
    except argparse.ArgumentTypeError:
        return text


def _condition(text: str) -> tuple[str, Any]:
    from simspec.model.errors import ParameterError

    column, sign, value = text.partition("=")
    if not sign:
        raise ParameterError("where", f"--where {text!r} has no =; allowed: COLUMN=VALUE")
    try:
        return column, float(value) if "." in value or "e" in value.lower() else int(value)
    except ValueError:
        return column, value
