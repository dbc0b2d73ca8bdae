"""simspec report: one self-contained offline HTML page of a stored dataset."""

from __future__ import annotations

import argparse
from typing import Any

from simspec.cli.common import WHERE, add_json


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "report",
        help="one offline HTML page of a stored dataset: figures, tables, verdicts, provenance",
        description="Write a folder that simspec run or simspec validate wrote as one self-contained HTML file. "
        "Needs matplotlib: pip install 'simspec[report]'.",
    )
    own.add_argument("results", help="the folder, e.g. results/quickstart")
    own.add_argument(
        "-o", "--output", default="report.html", metavar="FILE",
        help="the file to write (default: report.html); one that exists is replaced",
    )  # fmt: skip
    own.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE", help=WHERE)
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Write and say where."""
    from simspec.cli.common import print_json
    from simspec.report import report
    from simspec.run.pick import where_of
    from simspec.text import clean

    path = report(args.results, args.output, where_of(args.where))
    if args.json:
        print_json({"report": str(path)})
    else:
        print(f"written: {clean(str(path))}")
    return 0
