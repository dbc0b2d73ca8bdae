"""simspec solve: the machine interface; a JSON list of cases in, a JSON list of answers out."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from simspec.cli.common import positive, whole


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "solve",
        help="machine interface: a JSON list of cases in, a JSON list of answers out",
        description="Answer a JSON list of cases. Exit 0 if all were answered, 1 if any case has an error, 2 if the "
        "list cannot be read.",
    )
    own.add_argument("file", help="the list, or - for standard input")
    own.add_argument("--windows", type=positive, default=None, metavar="N",
                     help="also simulate each case with N windows; default none, exact answers only")  # fmt: skip
    own.add_argument("--seed", type=whole, default=1, metavar="N", help="root seed of the simulations, default 1")
    own.add_argument("--json", action="store_true", help="accepted for uniformity; the output is always JSON")
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Read, answer, print."""
    cases = _read(args.file)
    from simspec.advice.solve import solve
    from simspec.cli.common import print_json
    from simspec.run.progress import Progress

    with Progress() as progress:
        progress.say(f"answering {len(cases)} cases")
        answers = solve(cases, args.windows, args.seed)
    print_json(answers)
    return int(any("error" in answer for answer in answers))


def _read(name: str) -> list[Any]:
    from simspec.model.errors import ParameterError

    try:
        raw = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        value = json.loads(raw.decode("utf-8"))
    except OSError as error:
        raise ParameterError("file", f"{name}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise ParameterError("file", f"{name}: is not JSON ({error})") from None
    if not isinstance(value, list):
        raise ParameterError("file", f"{name}: holds {type(value).__name__}; allowed: a list of cases")
    return value
