"""simspec fit: what engine logs, scrapes, benchmark print-outs and traces say about acceptance."""

from __future__ import annotations

import argparse
from typing import Any

from simspec.cli.common import add_json, number, positive, whole


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "fit",
        help="what an engine's log, scrape, print-out or trace says: drafts, survival, α, tokens per round",
        description="Read outputs of vLLM, SGLang, llama.cpp, TensorRT-LLM, MLC, LM Studio, gpt-fast, Spec-Bench, "
        "EAGLE and Medusa, or a table of rounds; the shape is recognised, an unknown one refused.  Plain or gzip.  "
        "Scrapes of one server, in order of time, are one source.  --json: one source is an object, several a list.",
    )
    own.add_argument("files", nargs="+", metavar="FILE", help="a file, or - for standard input")
    own.add_argument("--kappa", type=positive, default=None, metavar="N",
                     help="draft length, for shapes that do not hold it; default: unknown")  # fmt: skip
    own.add_argument("--accepted", default=None, metavar="COLUMN",
                     help="accepted length per round, in a table; default: accepted, num_accepted, …")  # fmt: skip
    own.add_argument("--drafted", default=None, metavar="N|COLUMN",
                     help="drafts per round, in a table; default: kappa, drafted, …")  # fmt: skip
    own.add_argument("--bonus-included", choices=("yes", "no"), default=None,
                     help="whether that length counts the bonus token; default: where name or rows tell")  # fmt: skip
    own.add_argument("--request", default=None, metavar="COLUMN",
                     help="column that tells requests apart; default: request, request_id, question_id")  # fmt: skip
    own.add_argument("--level", type=number, default=0.95, metavar="P", help="confidence level, default 0.95")
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Read and print."""
    from simspec.cli.common import print_json
    from simspec.evidence.recognise import fit
    from simspec.evidence.show import shown

    sources = fit(
        *args.files,
        level=args.level,
        kappa=args.kappa,
        accepted=args.accepted,
        drafted=_number_or_word(args.drafted),
        bonus_included=None if args.bonus_included is None else args.bonus_included == "yes",
        request=args.request,
    )
    if args.json:
        found = [source.to_dict() for source in sources]
        print_json(found[0] if len(found) == 1 else found)
    else:
        print("\n\n\n".join(map(shown, sources)))
    return 0


def _number_or_word(text: str | None) -> int | str | None:
    try:
        return None if text is None else whole(text)
    except argparse.ArgumentTypeError:
        return text
