"""simspec phase: the phase diagram of the best draft length, and what lies at the article's critical rate."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simspec.cli.common import add_json, number, whole

if TYPE_CHECKING:
    from simspec.model import Cost
    from simspec.theory import CriticalAlpha, Surroundings

DEFAULT_FOLDER = "results/phase"
_NOTE_WIDTH = 92


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "phase",
        help="phase diagram: best κ over α and β, every critical α, what lies at .74; a table and a picture",
        description="Exact phase diagram of the best draft length κ (γ, num_speculative_tokens, --draft-max) over the "
        "acceptance rate α and the draft cost β: a Parquet table, a picture (needs matplotlib: pip install "
        "'simspec[report]') and the list of every critical α that has a definition. Nothing is simulated.",
    )
    own.add_argument(
        "--alpha", default="0.2:0.99:0.005", metavar="LOW:HIGH:STEP",
        help="acceptance rates of one examined draft, both ends included; default 0.2:0.99:0.005",
    )  # fmt: skip
    own.add_argument(
        "--beta", default="0.005:0.4:0.005", metavar="LOW:HIGH:STEP",
        help="costs of one draft token (TPOT of the draft ÷ TPOT of the target); default 0.005:0.4:0.005",
    )  # fmt: skip
    own.add_argument(
        "--draft-cost", type=number, default=0.1, metavar="COST",
        help="the β whose critical rates are listed and whose speed-up curve is drawn; default 0.1",
    )  # fmt: skip
    own.add_argument(
        "--verify-cost", "--c-v", dest="c_v", type=number, default=0.0, metavar="COST",
        help="cost of verifying one more token, in plain target steps; default 0",
    )  # fmt: skip
    own.add_argument(
        "--rollback-cost", "--c-r", dest="c_r", type=number, default=0.0, metavar="COST",
        help="cost of a round in which a draft is rejected; default 0; above 0 there is no map for slow sequences",
    )  # fmt: skip
    own.add_argument("--rho", type=number, default=0.0, metavar="ρ", help="lag-1 correlation of outcomes, default 0")
    own.add_argument(
        "--start", choices=("stationary", "carry"), default="stationary",
        help="with --rho: windows start afresh (stationary, default) or the chain runs on (carry)",
    )  # fmt: skip
    own.add_argument(
        "--kappa", type=whole, default=4, metavar="N", help="draft length of definitions that name one; default 4"
    )
    own.add_argument("--kappa-max", type=whole, default=64, metavar="N", help="longest κ tried, 1 to 256; default 64")
    own.add_argument(
        "--tokens", type=whole, default=128, metavar="N",
        help="length of the replies whose P99 time is asked for (max_tokens); default 128",
    )  # fmt: skip
    own.add_argument(
        "-o", "--output", default=DEFAULT_FOLDER, metavar="FOLDER",
        help=f"where phase.parquet, critical.md and phase.png go; default {DEFAULT_FOLDER}; files there are replaced",
    )  # fmt: skip
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Compute, write, draw if matplotlib is there, print."""
    from simspec.cli.common import print_json
    from simspec.model import Cost, ParameterError
    from simspec.report.phase_words import critical_text, verdict
    from simspec.run.phase import phase, write_phase
    from simspec.run.store import make_folder
    from simspec.theory import critical_alphas, surroundings
    from simspec.theory.critical import ARTICLE_ALPHA
    from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_range

    alphas, betas = _range("alpha", args.alpha), _range("beta", args.beta)
    if args.draft_cost <= 0:
        raise ParameterError("draft-cost", f"--draft-cost {args.draft_cost:g} is out of range; allowed: above 0")
    cost = Cost(c_d=args.draft_cost, c_v=args.c_v, c_r=args.c_r)
    frame = phase(alphas, betas, args.c_v, args.c_r, args.rho, args.start, kappa_max=args.kappa_max, tokens=args.tokens)
    check_range("kappa", args.kappa, 1, EXACT_KAPPA_LIMIT)
    folder = Path(args.output)
    make_folder(folder)
    rows: tuple[CriticalAlpha, ...] = ()
    sentences = ["Critical rates are defined for i.i.d. drafts; leave out --rho to list them."]
    found = None
    if args.rho == 0.0:
        rows = critical_alphas(cost, args.kappa, args.tokens)
        found = surroundings(ARTICLE_ALPHA, cost, rows)
        sentences = verdict(found, cost, args.tokens)
    files = [folder / "phase.parquet"]
    write_phase(frame, files[0])
    if rows:
        files.append(_write_table(folder, rows, sentences, cost, args))
    drawn, why = _draw(folder, frame, args.draft_cost, rows, sentences if rows else [])
    files += drawn
    if args.json:
        print_json(_document(args, files, rows, found, why))
        return 0
    if rows:
        print(critical_text(rows), end="\n\n")
    print("\n".join(sentences), end="\n\n")
    _print_files(files, len(frame), why)
    return 0


def _range(flag: str, text: str) -> list[float]:
    """``0.2:0.99:0.005`` as numbers, both ends included."""
    from decimal import Decimal, InvalidOperation

    from simspec.model import ParameterError
    from simspec.model.grid import parse_range

    parts = text.split(":")
    if len(parts) != 3:
        raise ParameterError(flag, f"--{flag} {text!r} is no range; allowed: LOW:HIGH:STEP, e.g. 0.2:0.99:0.005")
    try:
        low, high, step = (Decimal(part) for part in parts)
    except InvalidOperation:
        raise ParameterError(flag, f"--{flag} {text!r} holds something that is not a number") from None
    found = parse_range(f"--{flag}", {"from": low, "to": high, "step": step})
    if not 2 <= found.size <= 10_000:
        raise ParameterError(flag, f"--{flag} {text!r} has {found.size:,} values; allowed: 2 to 10,000")
    return [float(value) for value in found]


def _write_table(
    folder: Path, rows: tuple[CriticalAlpha, ...], sentences: list[str], cost: Cost, args: argparse.Namespace
) -> Path:
    from simspec.report.phase_words import critical_markdown
    from simspec.run.store import whole as whole_file

    heading = f"β = {cost.c_d:g}, c_v = {cost.c_v:g}, c_r = {cost.c_r:g}, κ = {args.kappa}, {args.tokens} tokens"
    path = folder / "critical.md"
    with whole_file(path) as temporary:
        temporary.write_text(critical_markdown(rows, sentences, heading), encoding="utf-8")
    return path


def _draw(
    folder: Path, frame: Any, beta: float, rows: tuple[CriticalAlpha, ...], sentences: list[str]
) -> tuple[list[Path], str]:
    """The picture, or why there is none."""
    from simspec.model import SimspecError
    from simspec.report.draw import need_matplotlib

    try:
        need_matplotlib()
    except SimspecError:
        return [], "no picture: matplotlib is missing; pip install 'simspec[report]' and run the same command again"
    from simspec.report.phase import picture

    notes = [line for sentence in sentences for line in textwrap.wrap(sentence, _NOTE_WIDTH)]
    return [picture(frame, folder / "phase.png", beta, rows, notes)], ""


def _document(
    args: argparse.Namespace, files: list[Path], rows: tuple[CriticalAlpha, ...], found: Surroundings | None, why: str
) -> dict[str, Any]:
    from dataclasses import asdict

    out: dict[str, Any] = {"files": [str(path) for path in files], "beta": args.draft_cost}
    out["critical"] = [asdict(row) for row in rows]
    out["at"] = None if found is None else asdict(found)
    if why:
        out["note"] = why
    return out


def _print_files(files: list[Path], points: int, why: str) -> None:
    from simspec.text import clean

    for path in files:
        print(f"written: {clean(str(path))}" + (f" ({points:,} points)" if path.suffix == ".parquet" else ""))
    if why:
        print(why)
