"""simspec league: which controller of the draft length is best where, against the best fixed κ."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from simspec.cli.acceptance_options import FIGURES, acceptance_from, add_acceptance
from simspec.cli.common import add_json, add_quiet, add_threads, number, positive, whole
from simspec.cli.cost_options import COSTS, add_costs, costs_from

if TYPE_CHECKING:
    from pathlib import Path

    from simspec.advice.own_league import OwnSurroundings
    from simspec.model import Cost
    from simspec.run.league import League
    from simspec.run.progress import Progress

CHANGES = (
    ("--switch-cost", "c_switch", "more for a round with another κ than the round before (a graph to load)"),
    ("--wake-cost", "c_wake", "more for a round that drafts after a round with κ = 0 (the draft catches up)"),
)
_EPILOG = """\
examples:
  simspec league                                  controllers of engines and papers in fourteen surroundings
  simspec league server.log --draft-cost 0.05     does adapting beat the best fixed κ on what your log shows?
  simspec league --survival .74,.54,.41,.3        the same for a figure
  simspec league --process scenario.toml          the same for the [process] of a scenario
  simspec league --figure league.png              regret over time, and κ along a change, as a picture
  simspec league --switch-cost 0.05               where every change of κ costs 5% of a plain step
one controller by itself: [policy] in a scenario, see docs/control.md"""


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "league",
        help="controllers of the draft length against the best fixed κ, on your log or in many surroundings",
        description="Play controllers that choose κ (num_speculative_tokens, γ, --draft-max) from round to round, "
        "those of engines and of papers, and hold each against the best fixed κ, which is known exactly.  On a log: on "
        "the processes that explain its rounds (simspec fit).  Without one: in surroundings from a constant acceptance "
        "rate to quick changes of it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_acceptance(own)
    own.add_argument(
        "--process", default=None, metavar="FILE",
        help="a scenario file: its [process], each point of its grid; default: a log, a figure, or all surroundings",
    )  # fmt: skip
    costs = own.add_argument_group("costs")
    add_costs(costs)
    for flag, key, text in CHANGES:
        costs.add_argument(
            flag, dest=key, type=number, default=None, metavar="COST", help=f"{text}, in plain target steps; default 0"
        )
    own.add_argument(
        "--delay", type=whole, default=0, metavar="N",
        help="rounds that news take to reach a controller (asynchronous scheduling); default 0",
    )  # fmt: skip
    own.add_argument(
        "--kappa-max", type=positive, default=None, metavar="N",
        help="longest draft of all controllers (largest num_speculative_tokens, --draft-max), up to 32; default: twice "
        "that seen, at least 8",
    )  # fmt: skip
    own.add_argument(
        "--windows",
        type=whole,
        default=None,
        metavar="N",
        help="rounds of each controller, or a few more; default 1,000,000",
    )
    own.add_argument("--seed", type=whole, default=1, metavar="N", help="root seed; default 1")
    own.add_argument("--level", type=number, default=0.95, metavar="P", help="confidence level; default 0.95")
    own.add_argument(
        "--figure", default=None, metavar="FILE",
        help="also draw regret over time and κ along a change into this .png or .svg, and let --json hold the curves; "
        "default: no picture",
    )  # fmt: skip
    add_threads(own)
    add_quiet(own)
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Play and print."""
    from simspec.cli.common import print_json, threads_of
    from simspec.model.errors import ParameterError
    from simspec.model.serving import Serving
    from simspec.run.league import DEFAULT_WINDOWS, LONGEST, LONGEST_LIMIT, league
    from simspec.run.league_text import answer
    from simspec.run.progress import Progress
    from simspec.text import wrapped

    windows = DEFAULT_WINDOWS if args.windows is None else args.windows
    threads = threads_of(args)
    path = _figure(args)
    if args.kappa_max is not None and args.kappa_max > LONGEST_LIMIT:
        told = f"kappa-max = {args.kappa_max} is out of range"
        raise ParameterError("kappa_max", f"{told}; allowed: 1 ≤ kappa-max ≤ {LONGEST_LIMIT}")
    with Progress(quiet=args.quiet) as progress:
        own = _own(args, progress)
        longest = args.kappa_max or (LONGEST if own is None else own.longest)
        cost, said = _cost(args, longest, own)
        where = None if own is None else own.where
        serving = Serving(delay=args.delay)
        found = league(cost, windows, args.seed, args.level, threads, where, longest, progress, serving)
        curves = {} if path is None else {"curves": _draw(path, found, own, progress)}
    notes = (() if own is None else own.notes) + said + _of_off(cost)
    if args.json:
        print_json({"answer": answer(found), "cost": cost.identity(), "windows": windows, "seed": args.seed,
                    "level": args.level, "longest": longest, "serving": serving.identity(),
                    "surroundings": found.where, "notes": notes, "places": found.records(), **curves})  # fmt: skip
    else:
        print(found)
        print(*(wrapped(note, "", "  ") for note in notes), sep="\n", end="\n" if notes else "")
    return 0


def _of_off(cost: Cost) -> tuple[str, ...]:
    """What a price of a server without speculation is for: no controller pays it."""
    if cost.off == 1.0:
        return ()
    rounds = f"a round with κ = 0 costs the target pass, {cost.target_pass(0):g}"
    return (f"off = {cost.off:g}: a server without speculation makes S = {1 / cost.off:.4f}; {rounds}",)


def _figure(args: argparse.Namespace) -> Path | None:
    """Where a picture goes; refused before any work if it cannot be drawn."""
    if args.figure is None:
        return None
    from pathlib import Path

    from simspec.report.league import check_path

    return check_path(Path(args.figure))


def _draw(path: Path, found: League, own: OwnSurroundings | None, progress: Progress) -> list[dict[str, object]]:
    """Draw the first of the user's own surroundings, or the usual ones; the regret curves behind the picture."""
    from simspec.report.league import picture
    from simspec.run.league_curves import league_curves

    name, first = (None, None) if own is None else next(iter(own.where.items()))
    process, says = (None, "") if first is None else (first.process, f"{name}: {first.says}")
    settings = found.longest, found.seed, found.level, progress
    curves = league_curves(found.cost, process, says, *settings, serving=found.serving)
    progress.note(f"{picture(curves, path)} shows regret over time{'' if name is None else f' of {name}'}")
    return curves.records()


def _cost(args: argparse.Namespace, longest: int, own: OwnSurroundings | None) -> tuple[Cost, tuple[str, ...]]:
    """Prices of rounds up to the longest draft and of changes of κ, and what to say of them.

    Those of a scenario hold where no option says anything of costs.
    """
    changes = {key: getattr(args, key) for _, key, _ in CHANGES if getattr(args, key) is not None}
    given = args.costs is not None or any(getattr(args, key) is not None for _, key, _, _ in COSTS)
    if own is not None and own.cost is not None and not given:
        return own.cost.changed(**changes), ()
    costs = costs_from(args).at()
    said = (
        (f"round costs of {args.costs} are extrapolated beyond what it holds",) if costs.extrapolated(longest) else ()
    )
    if not given:
        said = (f"{costs.origin}",)
    return costs.cost(longest).changed(**changes), said


def _own(args: argparse.Namespace, progress: Progress) -> OwnSurroundings | None:
    """What the options say is the user's own; None for all surroundings.

    Raises
    ------
    ParameterError
        Two things are given, or the log is no one source.
    """
    from simspec.advice.own_league import of_acceptance, of_scenario
    from simspec.model.errors import ParameterError

    figure = next((name for name in FIGURES if getattr(args, name) is not None), None)
    if args.process is not None:
        if args.files or figure:
            raise ParameterError("process", "--process beside a log or a figure; allowed: one of them")
        return of_scenario(args.process)
    if args.files and figure is None:
        return _of_log(args, progress)
    if figure or args.files:
        return of_acceptance(acceptance_from(args))
    for name in ("kappa", "rounds"):
        if getattr(args, name) is not None:
            raise ParameterError(name, f"--{name} goes with a log or a figure, such as --emitted")
    return None


def _of_log(args: argparse.Namespace, progress: Progress) -> OwnSurroundings:
    """Processes that explain the rounds of a log, or, where it holds none, independent rounds of its figures."""
    from simspec.advice.own_league import of_acceptance, of_source
    from simspec.advice.pieces import acceptance_of_sources
    from simspec.evidence.readers.base import Options
    from simspec.evidence.reading import listening
    from simspec.evidence.recognise import fit, join_pieces
    from simspec.model.errors import ParameterError

    if args.rounds is not None:
        raise ParameterError("rounds", "--rounds goes with a figure; a log has its own")
    with listening(progress.say):
        sources = fit(*args.files, level=args.level, kappa=args.kappa)
        whole_log = sources[0] if len(sources) == 1 else join_pieces(sources, Options(args.level, args.kappa))
        acceptance = acceptance_of_sources(sources, args.level, args.kappa) if whole_log is None else None
    if whole_log is not None:
        found = of_source(whole_log, args.seed, progress.say)
        if found is not None:
            return found
        acceptance = acceptance_of_sources([whole_log], args.level, args.kappa)
    assert acceptance is not None
    return of_acceptance(acceptance)
