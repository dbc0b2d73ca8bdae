"""simspec tokens: speculative sampling on real token laws, and whether what comes out is the target's."""

from __future__ import annotations

import argparse
import re
from typing import Any

from simspec.cli.common import add_json, add_quiet, add_threads, number, numbers, positive, threads_of, whole

_DRAWN: dict[str, tuple[tuple[str, Any, str], ...]] = {
    "dirichlet": (("concentration", 1.0, "concentration of both Dirichlet laws"),),
    "zipf": (
        ("exponent", 1.0, "target p ∝ rank^−EXPONENT"),
        ("sigma", 1.0, "the draft errs by exp(SIGMA·normal) in every token"),
    ),
    "logits": (
        ("scale", 3.0, "standard deviation of the logits"),
        ("correlation", 0.9, "of the logits of target and draft"),
        ("temperature", 1.0, "sampling temperature of the target; 0 is greedy"),
        ("draft-temperature", 1.0, "that of the draft"),
    ),
}
_VOCABULARY = 32_000
_USUAL: tuple[tuple[str, Any], ...] = (("kappa", 4), ("windows", 1_000_000), ("seed", 1), ("rule", "token"))
"""What is sampled unless said otherwise; nothing of it goes with --region."""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "tokens",
        help="sample token by token: is the output lossless, at which α, accepted or emitted law?",
        description="Speculative sampling (or block verification) on a target and a draft law: α exact and simulated, "
        "1 − TV, D_½ and its bounds on α, the law of accepted against that of emitted tokens, and a chi-square verdict "
        "on losslessness. Exit code 0: lossless; 1: not; 2: bad input.",
    )
    own.add_argument("--target", nargs="+", default=None, metavar="P1,P2,…",
                     help="probabilities of the target by token; default .5,.3,.2")  # fmt: skip
    own.add_argument("--draft", nargs="+", default=None, metavar="Q1,Q2,…",
                     help="those of the draft (the speculative or assistant model); default .2,.3,.5")  # fmt: skip
    own.add_argument("--draw", choices=tuple(_DRAWN), default=None,
                     help="draw both laws at random instead; default: none drawn")  # fmt: skip
    own.add_argument("--vocabulary", "--vocab-size", type=whole, default=None, metavar="V",
                     help=f"with --draw: tokens (vocab_size), 2 to 150,000; default {_VOCABULARY:,}")  # fmt: skip
    for kind, parameters in _DRAWN.items():
        for name, default, text in parameters:
            own.add_argument(f"--{name}", type=number, default=None, metavar="X",
                             help=f"with --draw {kind}: {text}; default {default:g}")  # fmt: skip
    own.add_argument("--pair-seed", type=whole, default=None, metavar="N",
                     help="with --draw or --region: which random pairs; default 1")  # fmt: skip
    own.add_argument("--region", default=None, metavar="FOLDER",
                     help="instead of sampling: α against D_½ of many random pairs, to FOLDER as region.parquet and "
                     "region.png, and how many pairs break each inequality; default: sample")  # fmt: skip
    own.add_argument("--pairs", type=positive, default=None, metavar="N",
                     help="with --region: number of random pairs; default 24,000")  # fmt: skip
    own.add_argument("--kappa", type=whole, default=None, metavar="N",
                     help="draft length (γ, num_speculative_tokens, --draft-max), 0 to 256; default 4")  # fmt: skip
    own.add_argument("--rule", choices=("token", "block"), default=None,
                     help="judge each draft by itself, or prefixes (block verification); default token")  # fmt: skip
    own.add_argument("--windows", type=positive, default=None, metavar="N",
                     help="rounds (verification steps); default 1,000,000")  # fmt: skip
    own.add_argument("--seed", type=whole, default=None, metavar="N", help="seed of the sampling; default 1")
    own._negative_number_matcher = re.compile(r"^-[.\d]")  # "-.5,1.5" is a bad law, and no flag
    add_threads(own)
    add_quiet(own)
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Sample and print."""
    from simspec.cli.common import print_json
    from simspec.model.errors import ParameterError
    from simspec.model.pairs import make_pair
    from simspec.run.progress import Progress

    if args.region is not None:
        return _region(args)
    if args.pairs is not None:
        raise ParameterError("pairs", "--pairs goes with --region")
    pair, threads = make_pair(**_keys(args)), threads_of(args)
    kappa, windows, seed, rule = (
        default if _value(args, key) is None else _value(args, key) for key, default in _USUAL
    )
    with Progress(windows, args.quiet) as progress:
        progress.say("loading kernels")
        from simspec.run.sampled import sample

        progress.say("sampling")
        found = sample(pair, kappa, windows, seed, rule, threads, progress)
        progress.say("holding counts against laws")
        text = found.to_dict() if args.json else repr(found)
    if args.json:
        print_json(text)
    else:
        print(text)
    return 0 if found.is_lossless else 1


def _region(args: argparse.Namespace) -> int:
    """Draw many pairs, write them and their picture, print what they break; 1 if that is a theorem."""
    from pathlib import Path

    from simspec.cli.common import print_json
    from simspec.model.errors import ParameterError
    from simspec.run.progress import Progress
    from simspec.text import table

    if any(_value(args, name) is not None for name in ("target", "draft", "draw", "vocabulary", *_owners())):
        raise ParameterError("region", "--region draws pairs of many kinds; leave out the laws")
    idle = [name for name in (*(key for key, _ in _USUAL), "threads") if _value(args, name) is not None]
    if idle:
        raise ParameterError(idle[0], f"--{idle[0]} says nothing to --region, which samples no tokens; leave it out")
    if not args.region.strip():
        raise ParameterError("region", "--region is empty; allowed: a folder, which may be new")
    _pair_seed(args)
    with Progress(quiet=args.quiet) as progress:
        progress.say("loading the drawing library")
        from simspec.report.draw import need_matplotlib
        from simspec.report.region import write_both
        from simspec.run import store
        from simspec.run.region import attainable_region, violations

        need_matplotlib()
        folder = Path(args.region)
        store.make_folder(folder)
        progress.say("drawing pairs of token laws")
        region = attainable_region(args.pairs or 24_000, _pair_seed(args))
        progress.say("counting what pairs break")
        found = violations(region)
        progress.say("writing")
        files = write_both(region, folder)
    broken = int(found[~found["article"]]["violations"].sum())
    rows = [row | {"order": f"{row['order']:g}"} for row in found.to_dict("records")]
    if args.json:
        print_json({"files": [str(file) for file in files], "broken_theorems": broken, "inequalities": rows})
    else:
        cells = [
            [row["inequality"], row["order"], row["direction"], f"{row['violations']:,}", f"{row['share']:.1%}",
             "reading of eq. (3)" if row["article"] else "theorem"] for row in rows
        ]  # fmt: skip
        print(table(["inequality", "λ", "D of", "violations", "share", ""], cells))
        print(f"\n{len(region):,} random pairs; {', '.join(map(str, files))}")
    return int(broken > 0)


def _owners() -> dict[str, str]:
    """Parameter of a random pair → its kind."""
    return {name: kind for kind, parameters in _DRAWN.items() for name, _, _ in parameters}


def _keys(args: argparse.Namespace) -> dict[str, Any]:
    """The keys of the pair that the flags ask for."""
    from simspec.model.errors import ParameterError

    for name, kind in (*_owners().items(), ("vocabulary", None), ("pair-seed", None)):
        if _value(args, name) is not None and (args.draw is None or kind not in (None, args.draw)):
            raise ParameterError(name, f"--{name} goes with --draw{'' if kind is None else f' {kind}'}")
    if args.draw is None:
        target = numbers("target", args.target or ["0.5,0.3,0.2"])
        if (args.target is None) != (args.draft is None):
            raise ParameterError("draft", "--target and --draft go together")
        return {"type": "given", "target": target, "draft": numbers("draft", args.draft or ["0.2,0.3,0.5"])}
    if args.target is not None or args.draft is not None:
        raise ParameterError("draw", "--draw makes both laws; leave out --target and --draft")
    given = {name: _value(args, name) for name, _, _ in _DRAWN[args.draw]}
    keys: dict[str, Any] = {name.replace("-", "_"): value for name, value in given.items() if value is not None}
    keys["vocabulary"] = _VOCABULARY if args.vocabulary is None else args.vocabulary
    return {"type": args.draw, "seed": _pair_seed(args), **keys}


def _pair_seed(args: argparse.Namespace) -> int:
    """``--pair-seed``, called by its own name if it is none."""
    from simspec.model.errors import ParameterError

    seed = 1 if args.pair_seed is None else int(args.pair_seed)
    if not 0 <= seed < 2**64:
        raise ParameterError("pair-seed", f"--pair-seed {seed} is out of range; allowed: 0 ≤ N < 2^64")
    return seed


def _value(args: argparse.Namespace, name: str) -> Any:
    return getattr(args, name.replace("-", "_"))
