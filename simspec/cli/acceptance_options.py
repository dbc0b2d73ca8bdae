"""Which options say what acceptance is: a log, or one figure from a log?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from simspec.cli.common import number, numbers, positive, share

if TYPE_CHECKING:
    from simspec.advice.acceptance import Acceptance

FIGURES = ("emitted", "alpha", "survival", "conditional", "rate")


def add_acceptance(command: argparse.ArgumentParser) -> None:
    """Logs as positional arguments, or one of the five figures."""
    command.add_argument(
        "files", nargs="*", metavar="LOG",
        help="a log, scrapes, a print-out or a table of rounds, as simspec fit reads them; files of one shape at one "
        "κ, such as a rotated log, oldest first, are pooled; default: a figure below",
    )  # fmt: skip
    own = command.add_argument_group("acceptance", "instead of a log, one of:")
    own.add_argument(
        "--emitted", type=number, default=None, metavar="E",
        help="tokens per round with the bonus token (mean acceptance length, accept len, τ, AL); needs --kappa; "
        "default: another figure, or the log",
    )  # fmt: skip
    own.add_argument(
        "--alpha", type=share, default=None, metavar="α",
        help="acceptance rate of one examined draft token, i.i.d. (not accepted/drafted: that is --rate); "
        "default: another figure, or the log",
    )  # fmt: skip
    own.add_argument(
        "--survival", nargs="+", default=None, metavar="S1,S2,…",
        help="chance that the first j drafts are all accepted (the per-position acceptance rate of vLLM and llama.cpp"
        "); default: another figure, or the log",
    )  # fmt: skip
    own.add_argument(
        "--conditional", nargs="+", default=None, metavar="A1,A2,…",
        help="acceptance rate of draft j given that all before it were accepted (EAGLE: n-α); default: another figure, "
        "or the log",
    )  # fmt: skip
    own.add_argument(
        "--rate", type=share, default=None, metavar="R",
        help="accepted ÷ drafted, 0.51 or 51%% (draft acceptance rate); needs --kappa; default: another figure, or the "
        "log",
    )  # fmt: skip
    own.add_argument(
        "--kappa", type=positive, default=None, metavar="N",
        help="draft length at which it was seen (num_speculative_tokens, γ, --draft-max, speculative_num_steps); "
        "default: what the log says, or the length of the list",
    )  # fmt: skip
    own.add_argument(
        "--rounds", type=positive, default=None, metavar="N",
        help="rounds (drafts, verification steps) behind the figure: gives it an error; default: unknown, no error",
    )  # fmt: skip


def acceptance_from(args: argparse.Namespace) -> Acceptance:
    """What the options say; logs of more than one source are refused."""
    from simspec.advice.acceptance import acceptance_of_numbers
    from simspec.model.errors import ParameterError

    given = {name: getattr(args, name) for name in FIGURES if getattr(args, name) is not None}
    if args.files and given:
        raise ParameterError("files", f"a log and --{next(iter(given))} given; allowed: one of them")
    if args.files and args.rounds is not None:
        raise ParameterError("rounds", "--rounds goes with a figure; a log has its own")
    if args.files:
        return read_acceptance(args.files, args.kappa, getattr(args, "level", 0.95))
    for name in ("survival", "conditional"):
        if name in given:
            given[name] = numbers(name, given[name], share)
    return acceptance_of_numbers(kappa=args.kappa, rounds=args.rounds, level=getattr(args, "level", 0.95), **given)


def read_acceptance(files: list[str], kappa: int | None, level: float) -> Acceptance:
    """Acceptance of logs that are one source, or pieces of one, such as a rotated log."""
    from simspec.advice.pieces import acceptance_of_sources
    from simspec.cli.common import reading
    from simspec.evidence.recognise import fit

    with reading():
        return acceptance_of_sources(fit(*files, level=level, kappa=kappa), level, kappa)
