"""Are intervals of a difference honest on real requests?  One command writes the table: results/intervals/README.md.

python -m simspec.advice.ab.interval_tables [README [SPEC_BENCH_PARQUET]]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simspec.advice.ab.run import outcomes_of
from simspec.evidence.dense import read_dense
from simspec.evidence.observed import Ints, Observed
from simspec.evidence.words import uniforms
from simspec.kernels.words import stream_keys
from simspec.model import Trace
from simspec.run.traces import Rounds, load
from simspec.stats.ab_tests import Change, Outcomes, Share, mean_change, share_change
from simspec.stats.halves import DOMAIN, coverage

README = "results/intervals/README.md"
MARKS = ("<!-- table -->", "<!-- end of table -->")
POSITIONS = 4
SPLITS, SEED = 2_000, 1
KAPPA = 8
TEMPERATURES = (1.0, 0.7, 0.0)
METHODS = (
    ("sps", "BNukhkadiev/Spec-Bench", "spec_bench", 4),
    ("eagle", "yukiki-jc/Spec-Bench", "spec_bench", 5),
    ("medusa", "BNukhkadiev/Spec-Bench", "mt_bench", 4),
)
"""Method, repository, question set, and the draft length at which rounds are cut: for trees their depth."""


@dataclass(frozen=True)
class Kept:
    """How often intervals of one quantity held 0, by requests and by rounds alone.

    Attributes
    ----------
    quantity : str
    by_request, by_round : float
    effect : float
        Design effect: variance between requests against that of independent rounds.
    """

    quantity: str
    by_request: float
    by_round: float
    effect: float


def shipped_windows() -> Observed:
    """The recorded rounds that come with the package, before they are cut at the end of a request."""
    own = Trace(
        path="shipped:smollm2_windows", accepted="accepted_full", drafted=KAPPA, bonus_included=False, request="request"
    )
    data = load(own)
    assert isinstance(data, Rounds)
    ones = np.ones(len(data.accepted), np.int64)
    return Observed(data.drafted, data.accepted, ones, data.offsets, "request", True)


def replayed(temperature: float, draft: str = "tl24", kappa: int = KAPPA, seed: int = SEED) -> Observed:
    """Rounds of the dense recording that comes with the package: a verdict drawn at every position, cut into rounds."""
    where: dict[str, Any] = {"draft": draft, "temperature": temperature}
    dense = read_dense(Trace(path="shipped:smollm2", alpha="tok_accept", request="request", where=where))
    words = uniforms(stream_keys(seed, f"{draft} {temperature}", DOMAIN), np.arange(len(dense.chance)), 0)
    verdicts = words < dense.chance
    accepted = []
    for start, end in zip(dense.offsets[:-1], dense.offsets[1:], strict=True):
        own, place = [], int(start)
        while place + kappa <= end:
            own.append(int(np.argmin([*verdicts[place : place + kappa], False])))
            place += own[-1] + 1
        accepted.append(own)
    return Observed.in_order([[kappa] * len(own) for own in accepted], accepted)


def spec_bench(file: str, method: str, repository: str, questions: str, kappa: int) -> Observed:
    """Rounds of Spec-Bench by question, both turns together, cut at ``kappa``."""
    import pandas as pd

    filters = [("method", "==", method), ("repo", "==", repository), ("dataset", "==", questions)]
    rows = pd.read_parquet(file, filters=filters)
    lengths = [np.concatenate(list(turns)) - 1 for _, turns in rows.groupby("question_id")["accept_len"]]
    cut = [np.minimum(own, kappa).tolist() for own in lengths]
    return Observed.in_order([[kappa] * len(own) for own in cut], cut)


Quantity = Callable[[Outcomes, Outcomes], Change]


def quantities(kappa: int) -> Iterator[tuple[str, Quantity]]:
    """Name and comparison of two runs."""

    def survival(j: int) -> Quantity:
        return lambda a, b: share_change(a.share(j), b.share(j))

    def conditional(j: int) -> Quantity:
        return lambda a, b: share_change(_given(a, j), _given(b, j))

    yield "E", mean_change
    for j in range(1, min(POSITIONS, kappa) + 1):
        yield f"S_{j}", survival(j)
    for j in range(2, min(POSITIONS, kappa) + 1):
        yield f"α_{j}", conditional(j)


def _given(own: Outcomes, j: int) -> Share:
    return Share(own.reached[:, j], own.reached[:, j - 1], own.weight)


def kept(rounds: Observed, splits: int = SPLITS, seed: int = SEED) -> list[Kept]:
    """How often intervals of the difference of random halves hold 0, with requests known and with rounds alone."""
    counts, compared = outcomes_of(rounds, rounds.kappa_max), list(quantities(rounds.kappa_max))

    def held(run: Callable[[Ints], Outcomes]) -> list[float]:
        def intervals(a: Ints, b: Ints) -> list[tuple[float, float]]:
            first, second = run(counts[a]), run(counts[b])
            return [(found.low, found.high) for _, compare in compared for found in [compare(first, second)]]

        return coverage(intervals, rounds.groups, splits, seed)

    effects = []
    for _, compare in compared:
        errors = [compare(run(counts), run(counts)).error for run in (Outcomes, _alone)]
        effects.append((errors[0] / errors[1]) ** 2)
    names = [name for name, _ in compared]
    return [Kept(*row) for row in zip(names, held(Outcomes), held(_alone), effects, strict=True)]


def _alone(counts: Ints) -> Outcomes:
    return Outcomes.alone(counts.sum(axis=0))


def sets(file: str | None) -> Iterator[tuple[str, Observed]]:
    """Names and rounds: what is shipped, and Spec-Bench where its file is given."""
    yield "SmolLM2, recorded rounds", shipped_windows()
    for temperature in TEMPERATURES:
        yield f"SmolLM2, dense replay, T = {temperature:g}", replayed(temperature)
    for method, *rest in METHODS if file is not None else ():
        yield f"Spec-Bench, {method}", spec_bench(str(file), method, *rest)  # type: ignore[arg-type]


def lines(file: str | None) -> Iterator[str]:
    """The table as Markdown."""
    yield "| rounds | requests | rounds | quantity | by request | by round | design effect |"
    yield "|---|---|---|---|---|---|---|"
    for name, rounds in sets(file):
        print(name, file=sys.stderr, flush=True)
        for own in kept(rounds):
            shares = f"{own.by_request:.2%} | {own.by_round:.2%}"
            yield f"| {name} | {rounds.groups} | {rounds.rounds:,} | {own.quantity} | {shares} | {own.effect:.1f} |"


def main(arguments: Sequence[str]) -> None:
    """Put the table into the README."""
    readme, file = Path(arguments[0] if arguments else README), arguments[1] if len(arguments) > 1 else None
    before, _, rest = readme.read_text().partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    table = "\n".join(lines(file))
    readme.write_text(f"{before}{MARKS[0]}\n\n{table}\n\n{MARKS[1]}{after}")


if __name__ == "__main__":
    main(sys.argv[1:])
