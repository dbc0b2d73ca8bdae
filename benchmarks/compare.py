"""Is HEAD slower than BASE?  Two revisions, or two checkouts, timed by turns in processes of their own.

python benchmarks/compare.py BASE HEAD [--arms "iid,markov"] [--rounds 15] [--json]

BASE runs twice, in two processes: what differs between these two is noise, and no difference between BASE and HEAD
counts unless it is larger.  Exit code 1 after a regression, 3 if an arm could not be measured, 0 otherwise.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import arms
from timing import FEWEST, ROUNDS, Samples, patient_rounds, progress, ratio

HERE = Path(__file__).resolve().parent
SIDES = ("base", "head", "again")
TOLERANCE = 0.05
"""Smallest change of the best time that is called one."""
NOISIEST = 0.25
"""Largest difference between BASE and BASE at which anything can be said."""
REGRESSION, IMPROVEMENT, SAME, UNMEASURED = "regression", "improvement", "no difference", "could not measure"


class Worker:
    """A process in which one revision is importable, and which times what it is asked to."""

    def __init__(self, folder: Path, cache: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(folder), "SIMSPEC_CACHE_DIR": str(cache)}
        command = [sys.executable, str(HERE / "compare_worker.py"), str(folder)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=cache.parent
        )
        self.failure = str(self._reply() or "")

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def ask(self, *request: Any) -> Any:
        """The worker's answer to one request."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._reply()

    def build(self, arm: str) -> str:
        """Why this revision has no such arm, or nothing."""
        return self.failure or self.ask("build", arm) or ""

    def _reply(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a timing process ended early; its message is above")
        return json.loads(line)


def export(revision: str, folder: Path) -> Path:
    """A folder that holds ``revision``: itself if it is a folder, else what git has under that name."""
    if Path(revision).is_dir():
        return Path(revision).resolve()
    done = subprocess.run(
        ["git", "archive", "--format=tar", revision], cwd=HERE.parent, capture_output=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{revision}: neither a folder nor a revision; git says: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def time_arm(workers: dict[str, Worker], arm: str, rounds: int) -> dict[str, Samples]:
    """Samples of one arm on all sides, by turns, all with the same number of windows."""
    windows = workers["base"].ask("size", arm)
    for worker in workers.values():
        worker.ask("warm", arm, windows)
    samples = {side: Samples() for side in SIDES}
    order, shuffle = list(SIDES), random.Random(1).shuffle
    for round_ in patient_rounds(rounds, samples):
        shuffle(order)
        for side in order:
            spent, clean = workers[side].ask("sample", arm, windows)
            if clean:
                samples[side].clean[round_] = spent
            else:
                samples[side].dropped += 1
    return samples


def judge(samples: dict[str, Samples]) -> tuple[str, str]:
    """(verdict, reason), from best times; the slower BASE is held against a slower HEAD, the faster against a faster.

    Examples
    --------
    >>> def five(best): return Samples({r: best + r for r in range(5)})
    >>> judge({"base": five(10.0), "head": five(12.0), "again": five(10.1)})[0]
    'regression'
    >>> judge({"base": five(10.0), "head": five(10.8), "again": five(10.5)})[0]
    'no difference'
    >>> judge({"base": five(10.0), "head": five(8.0), "again": Samples()})[0]
    'could not measure'
    """
    if not all(one.enough for one in samples.values()):
        return UNMEASURED, f"fewer than {FEWEST} clean samples: another program had the processor"
    base, head, again = (samples[side].best for side in SIDES)
    noise = max(base, again) / min(base, again) - 1.0
    if noise > NOISIEST:
        return UNMEASURED, f"BASE differs from itself by {noise:.0%}"
    allowed = (1.0 + TOLERANCE) * (1.0 + noise)
    if head > max(base, again) * allowed:
        return REGRESSION, ""
    if head * allowed < min(base, again):
        return IMPROVEMENT, ""
    return SAME, ""


def compare(
    workers: dict[str, Worker], wanted: Sequence[str], rounds: int, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """One row per arm."""
    rows = []
    for arm in wanted:
        say(f"{arm}: compiling")
        reasons = {side: workers[side].build(arm) for side in SIDES}
        broken = [f"{side.upper()}: {reasons[side]}" for side in ("base", "head") if reasons[side]]
        if broken:
            rows.append({"arm": arm, "verdict": UNMEASURED, "why": "; ".join(broken)})
            continue
        say(f"{arm}: timing")
        samples = time_arm(workers, arm, rounds)
        verdict, why = judge(samples)
        change, noise = ratio(samples["head"], samples["base"]), ratio(samples["again"], samples["base"])
        row: dict[str, Any] = {"arm": arm, "verdict": verdict, "why": why}
        for side, one in samples.items():
            row[f"{side}_ns_min"] = one.best if one.clean else None
            row[f"{side}_ns_median"] = one.median if one.clean else None
        row |= {"ratio_min": change and change.best, "ratio_median": change and change.median}
        row["noise_ratio_min"] = noise and noise.best
        row["kept"] = min(len(one.clean) for one in samples.values())
        row["dropped"] = sum(one.dropped for one in samples.values())
        rows.append(row)
    return rows


def text(row: dict[str, Any]) -> str:
    """A row for a reader."""
    start = f"{row['arm']:20} {row['verdict']:18}"
    if row.get("ratio_min") is None:
        return f"{start} {row['why']}".rstrip()
    return (
        f"{start} {row['base_ns_min']:8.3g} → {row['head_ns_min']:8.3g} ns   HEAD/BASE {row['ratio_min']:.3f}   "
        f"BASE/BASE {row['noise_ratio_min']:.3f}   {row['kept']} clean, {row['dropped']} dropped   {row['why']}"
    ).rstrip()


def main(arguments: list[str] | None = None) -> int:
    """Compare and print; the exit code is the verdict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", help="git revision or folder")
    parser.add_argument("head", help="git revision or folder")
    parser.add_argument("--arms", help="which arms, separated by commas (default: all of benchmarks/arms.py)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds per arm, at least 9 (default {ROUNDS})")
    parser.add_argument("--json", action="store_true", help="print one JSON object per arm")
    asked = parser.parse_args(arguments)
    known = [*arms.ARMS, *arms.POLICY_ARMS]
    wanted = asked.arms.split(",") if asked.arms else known
    if asked.rounds < 9 or not set(wanted) <= set(known):
        parser.error(f"--rounds takes at least 9; --arms some of: {', '.join(known)}")
    with tempfile.TemporaryDirectory(prefix="simspec-compare-") as name, progress() as say:
        place = Path(name)
        say("exporting the revisions")
        folders = {side: export(getattr(asked, side), place / side) for side in ("base", "head")}
        with (
            Worker(folders["base"], place / "cache-base") as base,
            Worker(folders["head"], place / "cache-head") as head,
            Worker(folders["base"], place / "cache-again") as again,
        ):
            rows = compare(dict(zip(SIDES, (base, head, again), strict=True)), wanted, asked.rounds, say)
    print(json.dumps(rows, indent=1) if asked.json else "\n".join(map(text, rows)))
    verdicts = {row["verdict"] for row in rows}
    return 1 if REGRESSION in verdicts else 3 if UNMEASURED in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
