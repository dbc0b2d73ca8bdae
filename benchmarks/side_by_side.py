"""How fast is simspec beside what one would write oneself?  All in one run, interleaved.

python benchmarks/side_by_side.py [--lines 1,2,3,4,5] [--rounds 15] [--json]

It reports and does not judge: the exit code is 0 when it ran.  ``benchmarks/README.md`` says how to read it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

import lines
import peers
from timing import ROUNDS, Samples, interleave, progress, ratio

UNMEASURED = "could not measure"
WIDTHS = (5, 20, 17, 18, 9, 9, 9, 9, 8, 8, 9, 8, 17)
HEADS = (
    "line", "arm", "peer", "variant", "peer ns", "median", "simspec", "median", "ratio", "median", "clean", "goal", ""
)  # fmt: skip


def measure(group: lines.Group, rounds: int, say: Any) -> list[dict[str, Any]]:
    """Time one group and return its rows."""
    samples = interleave(group.arms, rounds, say=say)
    same = None
    if group.check_bits and not group.absent:
        say(f"{group.check_bits}: the same integers on one thread and on two?")
        same = lines.same_bits(group.check_bits)
    rows = [_row(group, comparison, samples) for comparison in group.rows]
    return rows if same is None else [row | {"same_bits": same} for row in rows]


def _row(group: lines.Group, comparison: lines.Comparison, samples: Mapping[str, Samples]) -> dict[str, Any]:
    """One comparison as a row of the output; the fastest variant of a peer counts."""
    own = samples.get(comparison.own, Samples())
    variants = [name for name in comparison.peers if name in samples]
    chosen = min(variants, key=lambda name: samples[name].best if samples[name].enough else float("inf"), default="")
    peer = samples.get(chosen, Samples())
    both = ratio(peer, own)
    verdict = UNMEASURED if both is None else ""
    if comparison.goal is not None and both is not None:
        verdict = "met" if comparison.goal.met(both.best) else "missed"
    return {
        "line": group.line,
        "arm": comparison.arm,
        "peer": comparison.peer,
        "variant": chosen.partition(", ")[2],
        "ns_min": peer.best if peer.enough else None,
        "ns_median": peer.median if peer.enough else None,
        "simspec_ns_min": own.best if own.enough else None,
        "simspec_ns_median": own.median if own.enough else None,
        "ratio_min": None if both is None else both.best,
        "ratio_median": None if both is None else both.median,
        "kept": min(len(one.clean) for one in (peer, own) if one.clean or one.dropped or one is peer),
        "dropped": peer.dropped + own.dropped,
        "goal": None if comparison.goal is None else str(comparison.goal),
        "verdict": verdict,
        "why": group.absent.get(comparison.own, "" if both else f"too few clean samples in {rounds_of(samples)}"),
        "variants": {
            name.partition(", ")[2]: samples[name].best
            for name in variants
            if len(variants) > 1 and samples[name].enough
        },
    }


def rounds_of(samples: Mapping[str, Samples]) -> str:
    """How many samples of each arm there were, in words."""
    most = max((len(one.clean) + one.dropped for one in samples.values()), default=0)
    return f"{most} rounds"


def text(row: Mapping[str, Any]) -> str:
    """A row of the readable table."""
    figures = [row[key] for key in ("ns_min", "ns_median", "simspec_ns_min", "simspec_ns_median")]
    figures += [row["ratio_min"], row["ratio_median"]]
    shown = ["–" if figure is None else f"{figure:.3g}" for figure in figures]
    clean = f"{row['kept']}/{row['kept'] + row['dropped']}"
    cells = [row["line"], row["arm"], row["peer"], row["variant"], *shown, clean, row["goal"] or "", row["verdict"]]
    out = _cells(cells)
    if row["why"]:
        out += f"      {row['why']}"
    if len(row["variants"]) > 1:
        out += "\n      " + ", ".join(f"{name} {best:.3g} ns" for name, best in row["variants"].items())
    if "same_bits" in row:
        out += f"\n      one thread and two: {'the same integers' if row['same_bits'] else 'DIFFERENT INTEGERS'}"
    return out


def _cells(cells: Any) -> str:
    padded = [
        f"{cell:<{width}}" if at < 4 or at > 9 else f"{cell:>{width}} "
        for at, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    ]
    return "".join(padded).rstrip()


def main(arguments: list[str] | None = None) -> int:
    """Run the asked lines and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", default="1,2,3,4,5", help="which lines, such as 1,3 (default: all five)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds per group (default {ROUNDS})")
    parser.add_argument("--json", action="store_true", help="print one JSON object per comparison")
    asked = parser.parse_args(arguments)
    wanted = asked.lines.split(",")
    unknown = set(wanted) - set("12345")
    if unknown or asked.rounds < 5:
        parser.error("--lines takes some of 1, 2, 3, 4, 5; --rounds at least 5")
    rows: list[dict[str, Any]] = []
    with progress() as say:
        found = peers.load(_aloud(say)) if set(wanted) - {"4"} else []
        if not asked.json:
            print("nanoseconds per window or round; ratio = peer's best over simspec's best, then the median of rounds")
            print(_cells(HEADS))
        for line in wanted:
            for group in lines.groups(line, found):
                fresh = measure(group, asked.rounds, say)
                rows += fresh
                if not asked.json:
                    print("\n".join(map(text, fresh)), flush=True)
    if asked.json:
        print(json.dumps(rows, indent=1))
    return 0


def _aloud(say: Any) -> Any:
    """What is left out is worth a line of its own at once."""

    def tell(news: str) -> None:
        say(news)
        print(news, file=sys.stderr, flush=True)

    return tell


if __name__ == "__main__":
    sys.exit(main())
