"""simspec phase: the phase diagram of the best draft length, and what lies at the article's critical rate."""

from __future__ import annotations

import argparse
import os
import shutil
import textwrap
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simspec.cli.common import add_json, add_quiet, number, whole
from simspec.cli.interrupts import loading

if TYPE_CHECKING:
    import pandas as pd

    from simspec.model import Cost
    from simspec.theory import CriticalAlpha, Surroundings

DEFAULT_FOLDER = "results/phase"
FILES = ("phase.parquet", "critical.md", "phase.png")
SHOWN_ALPHAS = (0.5, 0.6, 0.7, 0.8, 0.9)
_NOTE_WIDTH = 150
_EPILOG = """\
examples:
  simspec phase --draft-cost 0.05                       the best κ at a few α where a draft costs 5% of a plain step
  simspec phase --verify-cost 0.02 --tokens 256 -o out  dearer verification, longer replies
one α only: simspec exact --alpha 0.7 --draft-cost 0.1"""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "phase",
        help="phase diagram: best κ over α and β, every critical α, what lies at .74; a table and a picture",
        description="Exact phase diagram of the best draft length κ (γ, num_speculative_tokens, --draft-max) over the "
        "acceptance rate α and the draft cost β: the best κ at a few α on the screen, a Parquet table, a picture "
        "(needs matplotlib: pip install 'simspec[report]') and the list of every critical α that has a definition. "
        'The article is "Acceptance-rate statistical mechanics of speculative decoding", which calls α = .74 critical. '
        "Nothing is simulated.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
        help=f"where phase.parquet, critical.md and phase.png go; default {DEFAULT_FOLDER}; files of these names are "
        "replaced, or removed where this run makes none",
    )  # fmt: skip
    add_quiet(own)
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Compute, print, draw if matplotlib is there, write."""
    from simspec.run.progress import Progress

    with Progress(quiet=args.quiet) as progress:
        progress.say("loading numpy, pandas and pyarrow")
        with loading():
            from simspec.cli.common import print_json
            from simspec.model import Cost
            from simspec.run.phase import phase, write_phase

            why = _no_picture()
        alphas, betas = _range("alpha", args.alpha), _range("beta", args.beta)
        _check(args)
        folder = _folder(args.output)
        cost = Cost(c_d=args.draft_cost, c_v=args.c_v, c_r=args.c_r)
        keys = ("c_v", "c_r", "rho", "start", "kappa_max", "tokens")
        progress.say(f"the best κ at {len(alphas):,} × {len(betas):,} points")
        frame = phase(alphas, betas, **{key: getattr(args, key) for key in keys})
        usual = [alpha for alpha in SHOWN_ALPHAS if alphas[0] <= alpha <= alphas[-1]] or [alphas[0], alphas[-1]]
        best = phase(usual, [args.draft_cost], **{key: getattr(args, key) for key in keys})
        progress.say(f"the critical rates at β = {args.draft_cost:g}")
        rows, found, sentences = _critical(args, cost)
        if not args.json:
            _print_answer(args, folder, best, rows, sentences)
        progress.say("drawing")
        with _together(folder) as place:
            write_phase(frame, place / "phase.parquet")
            if rows:
                _write_table(place, rows, sentences, cost, args)
            if not why:
                _draw(place, frame, args.draft_cost, rows, sentences if rows else [])
            files = [folder / name for name in FILES if (place / name).exists()]
    if args.json:
        print_json(_document(args, files, best, rows, found, why))
    else:
        _print_files(files, len(frame), why)
    return 0


def _check(args: argparse.Namespace) -> None:
    """What the table itself does not ask, before any work."""
    from simspec.model import ParameterError
    from simspec.theory.critical import TAIL_STEPS
    from simspec.theory.ranges import EXACT_KAPPA_LIMIT, check_range
    from simspec.theory.tail_steps import check_steps_work

    if args.draft_cost <= 0:
        raise ParameterError("draft-cost", f"--draft-cost {args.draft_cost:g} is out of range; allowed: above 0")
    check_range("kappa", args.kappa, 1, EXACT_KAPPA_LIMIT)
    if args.rho == 0.0 and args.c_r == 0.0:
        check_steps_work(TAIL_STEPS, args.tokens)


def _folder(output: str) -> Path:
    """The folder, once it is known that files can be put there."""
    from simspec.model import DatasetError, ParameterError
    from simspec.run.address import local

    if not output:
        raise ParameterError("output", "--output '' names no folder; allowed: a folder, . for the current one")
    folder = local(output)
    for name in FILES:
        if (folder / name).is_dir():
            raise DatasetError(f"{folder / name}: is a folder, in the way of a file; allowed: another --output")
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise DatasetError(f"{folder}: cannot be written ({there} is no folder that can be written)")
    return folder


def _critical(args: argparse.Namespace, cost: Cost) -> tuple[tuple[CriticalAlpha, ...], Surroundings | None, list[str]]:
    """The critical rates, what lies at the article's, and that in words."""
    from simspec.report.phase_words import verdict
    from simspec.theory import critical_alphas, surroundings
    from simspec.theory.critical import ARTICLE_ALPHA

    if args.rho != 0.0:
        return (), None, ["Critical rates are defined for i.i.d. drafts; leave out --rho to list them."]
    rows = critical_alphas(cost, args.kappa, args.tokens)
    found = surroundings(ARTICLE_ALPHA, cost, rows)
    return rows, found, verdict(found, cost, args.tokens)


@contextmanager
def _together(folder: Path) -> Iterator[Path]:
    """A place for files that go to ``folder`` all or none; of `FILES` those not made this time are taken away there."""
    from simspec.model import DatasetError
    from simspec.run.store import make_folder

    make_folder(folder)
    place = folder / f".phase-{uuid.uuid4().hex}"
    try:
        place.mkdir()
        yield place
        for name in FILES:
            if (place / name).exists():
                os.replace(place / name, folder / name)
            else:
                (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise DatasetError(f"{folder}: cannot be written ({error.strerror or error})") from None
    finally:
        shutil.rmtree(place, ignore_errors=True)


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
) -> None:
    from simspec.report.phase_words import critical_markdown
    from simspec.run.store import whole as whole_file

    heading = f"β = {cost.c_d:g}, c_v = {cost.c_v:g}, c_r = {cost.c_r:g}, κ = {args.kappa}, {args.tokens} tokens"
    with whole_file(folder / "critical.md") as temporary:
        temporary.write_text(critical_markdown(rows, sentences, heading), encoding="utf-8")


def _no_picture() -> str:
    """Why there is none; empty if matplotlib is there, which is then loaded."""
    from simspec.model import SimspecError
    from simspec.report.draw import need_matplotlib

    try:
        need_matplotlib()
    except SimspecError:
        return "no picture: matplotlib is missing; pip install 'simspec[report]' and run the same command again"
    import matplotlib.backends.backend_agg
    import matplotlib.figure
    import matplotlib.style  # noqa: F401  now, not while files are being made
    import PIL.Image  # noqa: F401

    return ""


def _draw(
    folder: Path, frame: pd.DataFrame, beta: float, rows: tuple[CriticalAlpha, ...], sentences: list[str]
) -> None:
    from simspec.report.phase import picture

    notes = [line for sentence in sentences for line in textwrap.wrap(sentence, _NOTE_WIDTH)]
    picture(frame, folder / "phase.png", beta, rows, notes)


def _print_answer(
    args: argparse.Namespace,
    folder: Path,
    best: pd.DataFrame,
    rows: tuple[CriticalAlpha, ...],
    sentences: list[str],
) -> None:
    """The best κ first; then the critical rates in short, and what lies at the article's."""
    from simspec.report.phase import circumstances
    from simspec.report.phase_words import best_text, critical_text
    from simspec.text import clean

    print(
        f"Best draft length κ where a draft token costs β = {args.draft_cost:g} plain target steps{circumstances(best)}"
    )
    print(best_text(best))
    if args.c_r == 0.0:
        print(f"slow replies: the least 99th percentile of the time for {args.tokens} tokens")
    print()
    if rows:
        where = clean(str(folder / "critical.md"))
        print(f"Critical α at β = {args.draft_cost:g}, 4|5 being a step from 4 to 5; all {len(rows)}: {where}")
        print(critical_text(rows), end="\n\n")
    print("\n".join(sentences), end="\n\n", flush=True)


def _document(
    args: argparse.Namespace,
    files: list[Path],
    best: pd.DataFrame,
    rows: tuple[CriticalAlpha, ...],
    found: Surroundings | None,
    why: str,
) -> dict[str, Any]:
    from dataclasses import asdict

    out: dict[str, Any] = {"files": [str(path) for path in files], "beta": args.draft_cost}
    shown = ["alpha", "kappa_star", "best_speedup", "kappa_low", "kappa_high", "kappa_p99"]
    out["best"] = best[shown].astype(object).where(best[shown].notna(), None).to_dict("records")
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
