"""simspec exact: the exact answer for one process at one cost, without simulation."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from simspec.cli.common import add_json, number, numbers, scheme_keys, whole
from simspec.cli.cost_options import COSTS, DEFAULT_DRAFT_COST
from simspec.cli.pair_options import EXAMPLE, EXAMPLE_NOTE, add_pair, pair_from

if TYPE_CHECKING:
    from simspec.advice.exact import ExactAnswer
    from simspec.advice.scheme_answer import SchemeAnswer


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "exact",
        help="the exact answer at once: best κ, flatness, what each position buys, off or not",
        description="The exact answer for one acceptance process at one cost. Give --alpha, or --survival with the "
        "per-position acceptance rates your engine prints, or --drift, or the token laws of both models.",
    )
    kind = own.add_mutually_exclusive_group()
    kind.add_argument(
        "--alpha", type=number, default=None, metavar="α",
        help="acceptance rate of one examined draft token (conditional rate; not accepted/drafted); default 0.7",
    )  # fmt: skip
    kind.add_argument(
        "--survival", nargs="+", default=None, metavar="S1,S2,…",
        help="instead of --alpha: chance that the first j drafts are all accepted, j = 1, 2, … (the per-position "
        "acceptance rate of vLLM and llama.cpp)",
    )  # fmt: skip
    kind.add_argument(
        "--conditional", nargs="+", default=None, metavar="A1,A2,…",
        help="instead of --alpha: acceptance rate of draft j given that all before it were accepted (EAGLE: n-α)",
    )  # fmt: skip
    kind.add_argument(
        "--drift", nargs="+", default=None, metavar="FIRST,LAST",
        help="instead of --alpha: acceptance rate of the first and the last token of a generation of --tokens "
        "tokens, linear between",
    )  # fmt: skip
    add_pair(own)
    own.add_argument("--rho", type=number, default=None, metavar="ρ", help="lag-1 correlation of outcomes, default 0")
    own.add_argument(
        "--start", choices=("stationary", "carry"), default=None,
        help="with --rho: windows start afresh (stationary, default) or the chain runs on (carry)",
    )  # fmt: skip
    own.add_argument(
        "--steps-after-reject", type=whole, default=None, metavar="N",
        help="with --start carry: chain steps from a rejected draft to the next first draft, default 1",
    )  # fmt: skip
    own.add_argument(
        "--steps-after-full", type=whole, default=None, metavar="N",
        help="with --start carry: the same after a full acceptance, default 1",
    )  # fmt: skip
    own.add_argument(
        "--tokens", type=whole, default=None, metavar="N", help="with --drift: output length, default 1024"
    )
    for flag, key, default, text in COSTS:
        own.add_argument(
            flag, f"--{key.replace('_', '-')}", dest=key, type=number, default=default, metavar="COST",
            help=f"{text}, in plain target steps; default {default:g}",
        )  # fmt: skip
    own.add_argument(
        "--kappa-max", type=whole, default=None, metavar="N",
        help="largest κ considered (num_speculative_tokens, γ, --draft-max); default 64, or the length of --survival; "
        "with --scheme every κ up to it (default: the scheme's usual ones)",
    )  # fmt: skip
    own.add_argument(
        "--scheme", nargs="+", default=None, metavar=("NAME", "KEY=VALUE"),
        help="another way to draft than a chain (default: chain): tree, stop, pearl, lookahead, eagle2, … and its "
        "parameters, e.g. --scheme tree misses=.4,.2 max_depth=6; docs/systems.md lists them; κ is then nodes of a "
        "tree, most drafts of one that stops, tokens of an n-gram, masks of a block less one",
    )  # fmt: skip
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Answer on one screen; what takes longer than a moment is said on stderr."""
    from simspec.cli.common import print_json
    from simspec.run.progress import Progress

    with Progress() as progress:
        progress.say("working out exact values")
        answer, notes = _answer(args)
        out = answer.to_dict() if args.json else {}
        text = "" if args.json else str(answer)
    if args.json:
        print_json(out | {"notes": [*out.get("notes", []), *notes]} if notes else out)
    else:
        print(text)
        if args.c_d is DEFAULT_DRAFT_COST:
            notes.append("the draft cost c_d = 0.1 is the default; measure yours and pass --draft-cost")
        if notes:
            print("", *notes, sep="\n")
    return 0


def _answer(args: argparse.Namespace) -> tuple[ExactAnswer | SchemeAnswer, list[str]]:
    """The answer, and what must stand below it: that an example stands in for tokens which nobody gave."""
    from simspec.api import exact
    from simspec.model.errors import ParameterError

    costs = {key: getattr(args, key) for _, key, _, _ in COSTS}
    scheme = None if args.scheme is None else scheme_keys(*args.scheme)
    try:
        return exact(_process(args), costs, args.kappa_max, scheme), []
    except ParameterError as error:
        if error.key != "process" or "token_chain" not in error.message:
            raise
        flag = _rates_given(args)
        if flag:
            tokens = 'type = "token_chain"'
            told = error.message.replace(tokens, f"{tokens}, from --target-rows and --draft-rows, without {flag}")
            raise ParameterError("process", told) from None
        return exact({"type": "token_chain", **EXAMPLE}, costs, args.kappa_max, scheme), [EXAMPLE_NOTE]


def _rates_given(args: argparse.Namespace) -> str:
    """The first option that says what α is; nothing if there is none."""
    keys = ("alpha", *_LISTS, "rho", "start", "steps_after_reject", "steps_after_full", "tokens")
    return next((f"--{key.replace('_', '-')}" for key in keys if getattr(args, key) is not None), "")


_LISTS = {"survival": "survival", "conditional": "position", "drift": "drift"}


def _process(args: argparse.Namespace) -> dict[str, Any]:
    from simspec.model.errors import ParameterError

    pair = pair_from(args)
    if pair is not None:
        if _rates_given(args):
            raise ParameterError("target_rows", f"--target-rows beside {_rates_given(args)}: give one or the other")
        return pair
    chain = {key: getattr(args, key) for key in ("rho", "start", "steps_after_reject", "steps_after_full")}
    chain = {key: value for key, value in chain.items() if value is not None}
    for flag, kind in _LISTS.items():
        words = getattr(args, flag)
        if words is None:
            continue
        if chain:
            raise ParameterError("rho", f"--{next(iter(chain)).replace('_', '-')} goes with --alpha, not with --{flag}")
        if args.tokens is not None and flag != "drift":
            raise ParameterError("tokens", "--tokens goes with --drift")
        return _from_list(kind, numbers(flag, words), args.tokens)
    if args.tokens is not None:
        raise ParameterError("tokens", "--tokens goes with --drift")
    alpha = 0.7 if args.alpha is None else args.alpha
    return {"type": "markov", "alpha": alpha, "rho": 0.0, **chain} if chain else {"type": "iid", "alpha": alpha}


def _from_list(kind: str, values: list[float], tokens: int | None) -> dict[str, Any]:
    from simspec.model.errors import ParameterError

    if kind != "drift":
        return {"type": kind, "survival" if kind == "survival" else "alphas": values}
    if len(values) != 2:
        raise ParameterError("drift", f"--drift takes two rates, FIRST,LAST; {len(values)} given")
    return {
        "type": "drift",
        "alpha_start": values[0],
        "alpha_end": values[1],
        "tokens": 1024 if tokens is None else tokens,
    }
