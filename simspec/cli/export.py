"""simspec export: advice as flags and files of vLLM, SGLang, TensorRT-LLM or llama.cpp."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simspec.cli.acceptance_options import FIGURES, acceptance_from, add_acceptance
from simspec.cli.common import add_json, positive, whole

if TYPE_CHECKING:
    from simspec.advice.export.configuration import Export

_ENGINES = ("vllm", "sglang", "trtllm", "llamacpp")
_KAPPA = (
    "draft length to set (num_speculative_tokens, γ, --draft-max, speculative_num_steps), 0 is off; beside a figure "
    "the length at which it was seen; default: what the recommendation or the log says"
)
_FILES = (
    "what simspec recommend --json printed, or - for standard input; or a log whose acceptance is to be imitated; "
    "default: --kappa or a figure below"
)
_MOST = 1 << 24
"""Bytes of the longest recommendation."""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "export",
        help="advice as engine configuration: vLLM, SGLang, TensorRT-LLM, llama.cpp",
        description="Write what simspec recommend --json says, or one κ, as the configuration of an engine.\n"
        "From a log or a figure of acceptance instead: settings that make the engine imitate it, for benchmarks.\n"
        "What an engine cannot express is said or refused; docs/export.md names the source of every option.",
        epilog="examples:  simspec recommend server.log --json | simspec export vllm -\n"
        "           simspec export sglang --kappa 3\n"
        "           simspec export vllm --survival .84,.60,.39,.27",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own.add_argument("engine", metavar="ENGINE", help=f"one of {', '.join(_ENGINES)}")
    add_acceptance(own)
    for action in own._actions:  # the same words as elsewhere, and they mean a little more here
        if action.dest == "kappa":
            action.type, action.help = whole, _KAPPA
        elif action.dest == "files":
            action.metavar, action.help = "FILE", _FILES
    form = own.add_argument_group("form")
    form.add_argument(
        "--form", default=None, metavar="NAME",
        help="how the engine is told, which changed between versions: vllm static, batch "
        "(num_speculative_tokens_per_batch_size), context; sglang static, batch, flat; trtllm static, upto, from "
        "(draft_len_schedule); llamacpp spec-draft, draft; default: the newest in a release that holds the advice",
    )  # fmt: skip
    form.add_argument(
        "--max-batch", type=positive, default=None, metavar="N",
        help="largest batch that runs (max_num_seqs, max_running_requests, max_batch_size); default: the largest "
        "that the advice is about",
    )  # fmt: skip
    form.add_argument(
        "--synthetic", action="store_true",
        help="imitate the acceptance that a recommendation rests on (synthetic_acceptance_rates, SIMULATE_ACC_LEN, "
        "--spec-synth-rates), for benchmarks; default: set κ only",
    )  # fmt: skip
    form.add_argument("--model", default="MODEL", help="target model, as the engine names it; default: MODEL")
    form.add_argument("--draft", default="DRAFT", help="draft model (speculative model, -md); default: DRAFT")
    form.add_argument(
        "--method", default=None,
        help="drafting method in the engine's own word (method, speculative_algorithm, decoding_type, --spec-type); "
        "default: left out or METHOD",
    )  # fmt: skip
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Read, write, print."""
    from simspec.cli.common import print_json

    written = _exported(args)
    if args.json:
        print_json(written.to_dict())
    else:
        print(written)
    return 0


def _exported(args: argparse.Namespace) -> Export:
    from simspec.advice.export.configuration import engine_of, export
    from simspec.model.errors import ParameterError

    engine = engine_of(args.engine).name
    figures = any(getattr(args, name) is not None for name in FIGURES)
    advice = None if figures else _recommendation(args.files)
    options = {
        name: getattr(args, name) for name in ("kappa", "form", "max_batch", "model", "draft", "method")
    }  # fmt: skip
    if advice is None and (args.files or figures):
        return export(None, engine, acceptance=acceptance_from(args), iid=args.alpha is not None, **options)
    if args.rounds is not None:
        raise ParameterError("rounds", "--rounds goes with a figure of acceptance")
    return export(advice, engine, synthetic=args.synthetic, **options)


def _recommendation(files: list[str]) -> dict[str, Any] | None:
    """The recommendation in the file; None where the file is no recommendation, but perhaps a log."""
    from simspec.model.errors import ParameterError

    if len(files) != 1:
        return None
    name = files[0]
    try:
        with nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as stream:
            raw = stream.read(_MOST + 1)  # a log may be as long as it likes
    except OSError as error:
        raise ParameterError("file", f"{name}: cannot be read ({error.strerror})") from None
    try:
        value = json.loads(raw) if len(raw) <= _MOST else None
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and "kappa_star" in value:
        return value
    if name == "-":
        raise ParameterError(
            "file", "standard input: no recommendation; allowed: what simspec recommend --json prints (a log is given "
            "by its name)"
        )  # fmt: skip
    return None
