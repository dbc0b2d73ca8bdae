"""Which command is asked for?  Parsed without importing anything heavy; errors are one line and exit code 2."""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import itertools
import json
import os
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from simspec.cli import (
    ab,
    combine,
    compare,
    convert,
    costs,
    doctor,
    drift,
    exact,
    explain,
    export,
    fit,
    interrupts,
    league,
    phase,
    recommend,
    record,
    replay,
    report,
    run,
    show,
    solve,
    tokens,
    trace,
    tree,
    validate,
)

COMMANDS = (
    exact, fit, drift, explain, costs, recommend, tree, export, ab, convert,
    run, combine, replay, league, show, report, compare, phase, tokens, solve, validate, record, trace, doctor,
)  # fmt: skip

GO_ON = ("run", "combine")
"""Commands that go on with what they kept when they are given again."""
LONGEST_LINE = 2000
"""Characters of an error; where a name has thousands, the middle is left out."""

_EPILOG = """\
start here:
  simspec exact --alpha 0.7 --draft-cost 0.1      the best draft length, at once
  simspec fit server.log                          what your engine's log says of acceptance
  simspec drift server.log                        whether acceptance changed along it, when, and what κ did
  simspec recommend server.log --draft-cost 0.1   which draft length to set, and how sure that is
  simspec explain server.log --base-speed 86 --spec-speed 101
                                                  why it is no faster (tok/s without and with speculation)
  simspec tree --ranks .6,.18,.08 --draft-cost .05 --verify-cost .01
                                                  the best tree of drafts, and a chain beside it
  simspec exact --alpha 0.7 --scheme medusa --draft-cost 0.06 --verify-cost 0.004
                                                  what a system gains over the best chain; names: docs/systems.md
  simspec run scenarios/quickstart.toml           a first simulation
  simspec league                                  who should choose the draft length: controllers against a fixed one
  simspec validate --quick                        the article's claims, judged in seconds
  simspec phase                                   the best draft length over acceptance rate and cost, as a picture
  simspec tokens                                  sampling from two token laws: what is accepted, is it lossless

words: κ (kappa) is γ, num_speculative_tokens (vLLM), speculative_num_steps (SGLang), --draft-max (llama.cpp),
max_draft_len (TensorRT-LLM).  α (alpha) is the acceptance rate of one examined draft token, not accepted/drafted.
Costs are in plain target steps.  Exit codes: 0 done, 1 a disagreement or difference found, 2 bad input,
130 stopped by Ctrl-C (143 by SIGTERM, 129 by a closed terminal)."""


class Parser(argparse.ArgumentParser):
    """argparse with its error as one line."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **(options | {"allow_abbrev": False}))
        self._given: list[str] = []

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does; the words are kept for the error."""
        self._given = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and exit with 2."""
        where, flags = self._chosen()
        unknown = re.match(r"unrecognized arguments: (--[a-z-]+)", message)
        if unknown:
            import difflib

            near = difflib.get_close_matches(unknown.group(1), flags, n=1)
            message += f"; did you mean {near[0]}?" if near else ""
        self.exit(2, _one_line(f"{where}: {message}{self._minus(message)} (see {where} --help)") + "\n")

    def _chosen(self) -> tuple[str, list[str]]:
        """Name and flags of the chosen command; of all of them where none was chosen."""
        commands = {name: p for a in self._actions if isinstance(a, argparse._SubParsersAction)
                    for name, p in a.choices.items()}  # fmt: skip
        chosen = next((commands[word] for word in self._given if word in commands), None)
        parsers = [chosen] if chosen else [self, *commands.values()]
        known = sorted({flag for p in parsers for flag in p._option_string_actions})
        return chosen.prog if chosen else self.prog, known

    def _minus(self, message: str) -> str:
        """argparse takes a value that begins with a minus and is no plain number for a flag."""
        lacking = re.match(r"argument (.*): expected (at least )?one argument", message)
        flags = lacking.group(1).split("/") if lacking else []
        for flag, value in itertools.pairwise(self._given):
            if flag in flags and re.match(r"-[.\d]", value):
                return f"; a value that begins with a minus is written {flag}={value}"
        return ""


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = Parser(
        prog="simspec",
        description="Simulate speculative decoding, with the exact answer beside every number.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="store_true", help="print the version and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for module in COMMANDS:
        module.add(commands)
    return top


def _without_secrets(words: Sequence[str]) -> bool:
    """Whether no address holds a password, which any message, and a manifest, would repeat; else that is said."""
    for word in words:
        if "://" in word:
            from simspec.model.errors import DatasetError
            from simspec.run.address import refuse_secrets

            try:
                refuse_secrets(word.partition("=")[2] if word.startswith("-") else word)
            except DatasetError as error:
                print(f"simspec: {error}", file=sys.stderr)
                return False
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no κ still gets the answer
    if not _without_secrets(sys.argv[1:] if arguments is None else arguments):
        return 2
    args = parser().parse_args(arguments)
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="numpy|simspec.theory|simspec.stats")
    if args.version:
        from importlib.metadata import version

        print(version("simspec"))
        return 0
    if args.command is None:
        parser().print_help()
        return 0
    from simspec.model.errors import ParameterError, SimspecError

    interrupts.ready(args.command)
    try:
        return int(args.do(args))
    except ParameterError as error:
        print(_one_line(f"simspec {args.command}: {error}"), file=sys.stderr)
    except SimspecError as error:
        print(_one_line(str(error)), file=sys.stderr)
    except KeyboardInterrupt:
        kept = "; what was played is kept" if args.command in GO_ON else ""
        with contextlib.suppress(OSError):  # a terminal that is closed
            print(f"simspec {args.command}: {interrupts.what_stopped()}{kept}", file=sys.stderr)
            if args.command in GO_ON:
                print(f"go on: {interrupts.same_command()}", file=sys.stderr)
        return interrupts.exit_code()
    except (json.JSONDecodeError, RecursionError) as error:  # in a table that anyone may have written
        told = "is nested too deeply" if isinstance(error, RecursionError) else f"is not the JSON that is due ({error})"
        print(_one_line(f"simspec {args.command}: what a file holds {told}"), file=sys.stderr)
    except BrokenPipeError:  # the reader of our output went away, e.g. `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, UnicodeError) as error:  # a full disk under stdout, a name no file system takes
        print(_one_line(f"simspec {args.command}: {error}"), file=sys.stderr)
    return 2


def _one_line(text: str) -> str:
    """An error as it is shown: what it quotes may come from a file, and neither steers a terminal nor fills it."""
    from simspec.text import clean

    line = clean(text)
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE // 2]} … {line[-LONGEST_LINE // 2 :]}"


def _warn_in_one_line(message: Warning | str, *_: object, **__: object) -> None:
    print(_one_line(f"simspec: {message}"), file=sys.stderr)


def entry() -> NoReturn:
    """Console script.

    Start-up makes a million objects that live to the end.  The collector of cycles would scan them again and again: it
    is called less often.
    """
    gc.set_threshold(1_000_000, 10, 10)
    interrupts.begin()
    warnings.showwarning = _warn_in_one_line
    try:
        code = main()
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:  # before a command had begun
        code = interrupts.exit_code()
    except OSError as error:
        code = 2
        os.write(2, f"simspec: stdout cannot be written ({error.strerror})\n".encode())
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or never there
            stream.flush()
    if "mpi4py.MPI" in sys.modules:  # a process that leaves without a word is taken for a crash of all
        sys.exit(code)
    os._exit(code)  # all files are closed and all threads joined: taking the modules apart would only take time


if __name__ == "__main__":
    entry()
