"""simspec run: one batch sweep from a scenario file into a Parquet dataset."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simspec.cli.common import add_json, add_quiet, add_threads, positive, threads_of, whole
from simspec.cli.interrupts import loading

if TYPE_CHECKING:
    from simspec.model import Scenario, Stop
    from simspec.run.executors import Crew
    from simspec.run.planning import Plan
    from simspec.run.progress import Progress
    from simspec.run.record import Recording


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Define the command."""
    own = commands.add_parser(
        "run",
        help="run a scenario file; a table at the end, a Parquet dataset in results/",
        description="Run a scenario (TOML). A folder that already holds this run is shown, or continued where it "
        "stopped; more or other points are added to it; one of another seed or method is refused with what differs.",
    )
    own.add_argument(
        "scenario", help="the scenario file, e.g. scenarios/quickstart.toml; or the folder of a run (or its address), "
        "which is continued as it was begun",
    )  # fmt: skip
    own.add_argument(
        "-o", "--output", default=None, metavar="FOLDER",
        help="default results/<name of the scenario>, or <name>-run where other files have that place; may be an "
        "address: s3://…, gs://…",
    )  # fmt: skip
    own.add_argument("--seed", type=whole, default=None, metavar="N", help="root seed, default the scenario's, else 1")
    own.add_argument(
        "--windows", type=whole, default=None, metavar="N",
        help="rounds per simulation and κ, default the scenario's, else 1,000,000",
    )  # fmt: skip
    own.add_argument(
        "--method", default=None, metavar="NAME",
        help="simulate (play rounds), multinomial (one draw of the counts of independent windows) or exact (no "
        "counts); default the scenario's, else simulate",
    )  # fmt: skip
    own.add_argument(
        "--until", action="append", default=[], metavar="KEY=VALUE",
        help="play a point no further once it is known so well: mean_accepted=W, speedup=W or p99=W (half the width of "
        "an interval), best_kappa=SHARE (every κ is told from the best, or within that share of it); beside one of "
        "these budget=N, windows of the whole sweep, each κ counting; may be given several times, replaces [stop]; "
        "--windows is then the most that is played of each (default: all windows)",
    )  # fmt: skip
    own.add_argument(
        "--record", type=positive, default=None, metavar="N",
        help="also write the first N of the rounds that were counted, of each simulation and κ, at most 4096 of each "
        "lane, to FOLDER/rounds/; default off, since Parquet takes some ten million rows a second and the kernels play "
        "up to a hundred times as many",
    )  # fmt: skip
    own.add_argument(
        "--record-every", type=positive, default=None, metavar="M",
        help="record every M-th chunk of 64 lanes only, a sample spread over the budget, default 1: all",
    )  # fmt: skip
    own.add_argument("--dry-run", action="store_true", help="print points, windows, time and size, and stop")
    own.add_argument(
        "--max-points", type=positive, default=None, metavar="N", help="refuse larger grids, default 1,000,000"
    )
    own.add_argument(
        "--shard", default=None, metavar="I/N",
        help="play only the I-th of N shares of the work, each on a machine of its own; simspec combine puts them "
        "together (default: all of it)",
    )  # fmt: skip
    own.add_argument(
        "--executor", default="threads", metavar="KIND",
        help="who plays: threads (default), processes, dask or mpi; changes no number",
    )  # fmt: skip
    own.add_argument(
        "--scheduler", default=None, metavar="ADDRESS",
        help="of the Dask scheduler, e.g. tcp://10.0.0.1:8786, for --executor dask (default: none)",
    )  # fmt: skip
    add_threads(own)
    add_quiet(own)
    add_json(own)
    own.set_defaults(do=do)


def do(args: argparse.Namespace) -> int:
    """Plan, run, print."""
    from simspec.run.progress import Progress

    threads = threads_of(args)
    with Progress(quiet=args.quiet) as progress:
        progress.say("reading the scenario")
        with loading():
            from dataclasses import replace

            from simspec.cli.common import print_json
            from simspec.model import ParameterError, Scenario
            from simspec.model.scenario import POINTS_LIMIT
            from simspec.run.executors import Crew
            from simspec.run.planning import plan
            from simspec.run.record import Recording
            from simspec.run.sweep import sweep
            from simspec.text import command

        if args.record_every and not args.record:
            raise ParameterError("record_every", "--record-every needs --record N")
        crew, most = Crew(args.executor, threads, args.scheduler), args.max_points or POINTS_LIMIT
        scenario = _continued(args, most) or Scenario.from_toml(
            args.scenario, args.seed, args.windows, most, args.method
        )
        recording = Recording(args.record, args.record_every or 1) if args.record else None
        if args.shard is not None and args.record:
            raise ParameterError("record", "--record writes rounds of a whole run; allowed: without --shard")
        if args.until:
            scenario = replace(scenario, stop=_stop(args.until))
        if args.dry_run:
            progress.say("timing a chunk of each kind (compiled once, then kept on disk)")
            with _at_its_line(args):
                return _dry_run(plan(scenario, most), threads, args.json, recording)
        if args.shard is not None:
            return _play_shard(args, scenario, crew, progress, most)
        with _at_its_line(args):
            dataset = sweep(scenario, args.output, threads, progress, most, recording, crew)
        progress.begin("summing up", 0)
        told = dataset.best_records() if args.json else dataset.summary()
    if args.json:
        print_json({"folder": dataset.place, "scenario": scenario.to_dict(), "points": told,
                    "failed": dataset.failed})  # fmt: skip
    else:
        print(told)
        look = command("simspec", "show", dataset.place)
        print(f"look again: {look}; in Python: simspec.read({dataset.place!r}).estimates")
    return 2 if dataset.failed else 0


def _continued(args: argparse.Namespace, most: int) -> Scenario | None:
    """The scenario of a folder in place of a file, and what else it was begun with in the place of absent flags."""
    from dataclasses import replace

    from simspec.run.address import is_remote
    from simspec.run.dataset import read
    from simspec.run.folder import stored_scenario
    from simspec.run.remote import mirrored

    if not is_remote(args.scenario) and not Path(args.scenario).is_dir():
        return None
    with mirrored(args.scenario, None) as mirror:  # as a run has it: what is damaged is made again
        found = read(mirror.folder if mirror else args.scenario)
    given = {key: getattr(args, key) for key in ("seed", "windows", "method") if getattr(args, key) is not None}
    scenario = replace(stored_scenario(found.path, found.manifest), **given)
    scenario.check_size(most)
    if args.output is None:
        args.output = args.scenario
        args.shard = found.manifest.get("shard") if args.shard is None else args.shard
        rounds = found.manifest.get("rounds") or {}
        if args.record is None and rounds and not rounds["complete"]:
            args.record, args.record_every = rounds["record"], rounds["every"]
    return scenario


@contextmanager
def _at_its_line(args: argparse.Namespace) -> Iterator[None]:
    """An error that only the whole plan shows, at the line of the file that is to blame."""
    from simspec.model import ParameterError
    from simspec.model.scenario_text import at_its_line, read_text

    try:
        yield
    except ParameterError as error:
        if not error.key.startswith("stop.") or args.until or not Path(args.scenario).is_file():
            raise
        raise at_its_line(args.scenario, error, read_text(Path(args.scenario))) from None


def _stop(words: list[str]) -> Stop:
    from simspec.cli.common import number
    from simspec.model import ParameterError, Stop

    keys = {}
    for word in words:
        key, given, text = (part.strip() for part in word.partition("="))
        if not (key and given and text):
            raise ParameterError("until", f"--until: {word!r} is no KEY=VALUE, e.g. speedup=0.001")
        if key in keys:
            raise ParameterError("until", f"--until: {key} is given twice; allowed: each key once")
        try:
            keys[key] = number(text)
        except argparse.ArgumentTypeError as error:
            raise ParameterError("until", f"--until: {error}") from None
    try:
        return Stop(**keys)
    except ParameterError as error:
        raise ParameterError("until", f"--until: {error}") from None


def _play_shard(args: argparse.Namespace, scenario: Scenario, crew: Crew, progress: Progress, most: int) -> int:
    from simspec.cli.common import print_json
    from simspec.run.shards import Shard, play_shard

    done = play_shard(scenario, Shard.read(args.shard), args.output, crew, progress, most)
    if args.json:
        print_json({"folder": done.place, "shard": args.shard, "pieces": done.pieces, "of": done.every})
    else:
        print(done)
    return 0


def _dry_run(todo: Plan, threads: int, as_json: bool, recording: Recording | None) -> int:
    from simspec.cli.common import print_json
    from simspec.run.progress import span
    from simspec.text import plural

    rounds, seconds = todo.forecast(threads)
    figures = {
        "points": todo.points,
        "simulations": sum(len(part) for part in todo.parts),
        "windows": rounds,
        "seconds": round(seconds, 1),
        "threads": threads,
        "bytes": todo.bytes,
        "parts": len(todo.parts),
    }
    recorded = ""
    if recording is not None:
        recording.check(todo.scenario.method)
        files, rows, room = recording.size(todo.jobs)
        figures |= {"recorded_files": files, "recorded_rows": rows, "recorded_bytes": room}
        recorded = f"  Rounds: at most {rows:,} in {plural(files, 'file')}, some {room / 1e6:,.1f} MB more."
    if as_json:
        print_json(figures)
    else:
        most = "at most " if todo.scenario.stop else ""
        work = f"{plural(todo.points, 'point')} from {plural(len(list(todo.jobs)), 'simulation')}"
        wait = f"{most}about {span(max(1, seconds))} on {plural(threads, 'thread')} (measured now)"
        size = f"{todo.bytes / 1e6:,.1f} MB in {plural(len(todo.parts), 'part')}"
        print(f"{work}, {most}{rounds:,} windows; {wait} and {size}.{recorded}  Nothing was run.")
    return 0
