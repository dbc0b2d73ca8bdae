"""simspec convert: one engine's acceptance figures in another's words."""

from __future__ import annotations

import argparse
import re
from typing import Any

from simspec.cli.common import add_json


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "convert",
        help="acceptance figures from one engine's words to another's: rate, length, per position, α, counts",
        description="Give the convention and what was printed as name=value, e.g.  simspec convert vllm-v0 k=3 "
        "drafted=13311 accepted=8547 emitted=10616.  Everything that follows is shown with its equation; what does not "
        "follow is null with its reason; figures that contradict each other are refused.",
    )
    own.add_argument("convention", nargs="?", default=None, metavar="NAME",
                     help="whose figures they are (vllm-v1, sglang, llamacpp, …; --list shows all)")  # fmt: skip
    own.add_argument("fields", nargs="*", metavar="FIELD=VALUE",
                     help="a printed figure: 0.642, 64.2%%, or a list with commas; kappa= (num_speculative_tokens, γ, "
                     "--draft-max) and drafts= (rounds) are always allowed")  # fmt: skip
    own.add_argument("--to", default=None, metavar="NAME",
                     help="in whose words; default: every quantity that follows")  # fmt: skip
    own.add_argument("--list", action="store_true", dest="show_all",
                     help="show all conventions by engine and version (default: convert)")  # fmt: skip
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Convert and print."""
    from simspec.advice.convert.conversion import conventions, convert, listed
    from simspec.cli.common import print_json
    from simspec.model.errors import ParameterError

    if args.show_all:
        if args.json:
            print_json([own.to_dict() for own in conventions()])
        else:
            print(listed())
        return 0
    if args.convention is None:
        raise ParameterError("convention", "no convention given; simspec convert --list shows all")
    answer = convert(args.convention, args.to, **_pairs(" ".join(args.fields)))
    if args.json:
        print_json(answer.to_dict())
    else:
        print(answer)
    return 0


def _pairs(text: str) -> dict[str, str]:
    """name=value name=value …; a list may have spaces, as pasted from a log."""
    from simspec.model.errors import ParameterError, shown

    out: dict[str, str] = {}
    for word in re.split(r"\s+(?=\w+=)", text.strip()) if text.strip() else []:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            raise ParameterError("fields", f"{shown(word)} is no FIELD=VALUE")
        if name in out:
            raise ParameterError("fields", f"{name} is given twice")
        out[name] = value
    return out
