"""What do real traces say of independence, drift and shape?  One command writes the tables: results/traces/README.md.

python -m simspec.evidence.tables [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simspec.evidence.assumptions import Assumptions, check_assumptions
from simspec.evidence.dense import DenseTrace, autocorrelation, halves, mean_of, read_dense, spread_of_requests
from simspec.evidence.ngram import record_ngram, record_ngram_rounds
from simspec.evidence.prediction import CRITERIA, Contest, contest
from simspec.evidence.replay import replay
from simspec.evidence.texts import TEXTS
from simspec.model import Trace
from simspec.model.trace import file_of
from simspec.stats.clusters import Figure, share

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

KAPPA = 8
REQUESTS, TOKENS = 72, 320
DRAFTS, TEMPERATURES = ("tl24", "q3"), (1.0, 0.7, 0.0)
ORIGIN = "shipped:smollm2"


@dataclass(frozen=True, eq=False)
class Told:
    """One trace and what it says; ``rounds`` is the accepted length of real rounds at κ = 8, where there are some."""

    name: str
    trace: DenseTrace
    assumptions: Assumptions
    contest: Contest
    rounds: Figure | None = None


def tell(name: str, trace: DenseTrace, rounds: Figure | None = None) -> Told:
    """Every figure, test and fit of one trace."""
    print(f"{name}: {len(trace.chance):,} positions of {trace.requests} requests", file=sys.stderr, flush=True)
    return Told(name, trace, check_assumptions(trace, KAPPA), contest(trace), rounds)


def dense_of(table: pa.Table) -> DenseTrace:
    """A recorded table as a trace.

    Examples
    --------
    >>> dense_of(record_ngram("a b c " * 40, requests=2, tokens=5)).offsets
    array([ 0,  5, 10])
    """
    frame = table.to_pandas()
    offsets = np.concatenate([[0], np.cumsum(frame.groupby("request").size())]).astype(np.int64)
    greedy = not frame["temperature"].any()
    chance = frame["tok_accept"].to_numpy(float)
    alpha = chance if greedy else frame["alpha"].to_numpy(float)
    return DenseTrace.of(chance, offsets, frame["position"].to_numpy(np.int64), alpha)


def rounds_of(frame: pd.DataFrame, tokens: int, requests: int) -> Figure:
    """Accepted length of real rounds that begin where all drafts still lie inside the output."""
    kept = frame[(frame["ended"] == 0) & (frame["position"] <= tokens - KAPPA)]
    sizes = kept.groupby("request").size().reindex(range(requests), fill_value=0)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    accepted = kept.sort_values(["request", "round"])["accepted_full"].to_numpy(float)
    return share(accepted, np.ones(len(accepted)), offsets)


def traces() -> Iterable[Told]:
    """Three n-gram pairs that are recorded here, and two drafts of SmolLM2 at three temperatures that are shipped."""
    import pandas as pd

    for name in TEXTS:
        keys: dict[str, Any] = {"shipped": name, "requests": REQUESTS, "tokens": TOKENS}
        played = record_ngram_rounds(**keys, kappa=KAPPA, seed=2).to_pandas()
        trace = dense_of(record_ngram(**keys))
        yield tell(f"n-grams, {name}", trace, rounds_of(played, TOKENS, REQUESTS))
    windows = pd.read_parquet(file_of("shipped:smollm2_windows"))
    for draft in DRAFTS:
        for temperature in TEMPERATURES:
            where: dict[str, Any] = {"draft": draft, "temperature": temperature}
            trace = read_dense(Trace(path=ORIGIN, alpha="tok_accept", request="request", where=where))
            real = rounds_of(windows, 256, 48) if (draft, temperature) == ("tl24", 1.0) else None
            yield tell(f"SmolLM2, {draft}, T = {temperature:g}", trace, real)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown.

    Examples
    --------
    >>> print(markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("|" + "|".join(line) + "|" if line[0] == "---" else f"| {' | '.join(line)} |" for line in lines)


def pair(value: float, error: float, digits: int = 3) -> str:
    """``.030 ± .008`` as 0.030 ± 0.008; a dash for what does not exist.

    Examples
    --------
    >>> pair(0.03, 0.008), pair(float("nan"), 1.0)
    ('0.030 ± 0.008', '–')
    """
    return "–" if value != value else f"{value:.{digits}f} ± {error:.{digits}f}"


def _f(figure: Figure, digits: int = 3) -> str:
    return pair(figure.value, figure.error, digits)


def overview(all_: Sequence[Told]) -> str:
    """Means, memory, drift and differences."""
    header = ["trace", "positions", "requests", "α", "ρ_A pooled", "ρ_A within", "ρ_A, 10 apart", "α's own, pooled",
              "second − first half", "spread between requests, if positions had no memory"]  # fmt: skip
    rows = []
    for one in all_:
        t = one.trace
        rows.append(
            [one.name, f"{len(t.chance):,}", f"{t.requests}", _f(mean_of(t, t.alpha)), _f(autocorrelation(t, 1)),
             _f(autocorrelation(t, 1, True)), _f(autocorrelation(t, 10)),
             _f(autocorrelation(t, 1, False, False, t.alpha)), _f(halves(t)), _f(spread_of_requests(t))]
        )  # fmt: skip
    return markdown(header, rows)


def rounds_table(all_: Sequence[Told]) -> str:
    """Replayed and real rounds at κ = 8."""
    header = ["trace", "accepted, replayed", "accepted, real rounds", "full rounds", "full ÷ a^8",
              "successive rounds, pooled", "within requests, not corrected"]  # fmt: skip
    rows = []
    for one in all_:
        r = replay(one.trace, KAPPA)
        real = "–" if one.rounds is None else _f(one.rounds)
        rows.append([one.name, _f(r.accepted()), real, _f(r.full(), 4), _f(r.full_over_power(), 2),
                     _f(r.successive()), _f(r.successive(True))])  # fmt: skip
    return markdown(header, rows)


def profile_table(all_: Sequence[Told]) -> str:
    """Acceptance of draft j when examined."""
    rows = [[one.name, *(_f(f) for f in replay(one.trace, KAPPA).by_position())] for one in all_]
    return markdown(["trace", *(f"draft {j}" for j in range(1, KAPPA + 1))], rows)


def table_of_tests(all_: Sequence[Told]) -> str:
    """p-values, bold where rejected."""
    tests = all_[0].assumptions.tests
    rows = []
    for one in all_:
        rejected = one.assumptions.rejected()
        said = [f"{t.p_value:.2f}" if t.p_value >= 0.1 else f"{t.p_value:.1g}" for t in one.assumptions.tests]
        bold = [t in rejected for t in one.assumptions.tests]
        rows.append([one.name, *(f"**{p}**" if loud else p for p, loud in zip(said, bold, strict=True))])
    return markdown(["trace", *(f"{t.assumption}: {t.statistic}" for t in tests)], rows)


def contest_table(one: Told) -> str:
    """All processes on one trace."""
    first = one.contest.predictions[0]
    header = ["fitted process", *(f"E, ln(p ÷ o), κ = {k}" for k in first.accepted)]
    header += [f"full, o ÷ p, κ = {k}" for k in first.full]
    rows = []
    for p in one.contest.predictions:
        e = [f"{100 * value:+.1f} ± {100 * error:.1f}%" for value, error in p.accepted.values()]
        full = [pair(float(np.exp(-value)), float(np.exp(-value) * error), 2) for value, error in p.full.values()]
        profile, gain = float(np.sqrt(p.profile[0])), pair(1000 * p.log_likelihood[0], 1000 * p.log_likelihood[1], 2)
        rows.append([p.model, *e, *full, f"{profile:.3f}", gain])
    return markdown([*header, "profile", "1000·ln L"], rows)


def best_table(all_: Sequence[Told]) -> str:
    """The best process by criterion, and those not told apart from it."""
    rows = []
    for one in all_:
        names = [one.contest.best(criterion) for criterion in CRITERIA]
        rows.append([one.name, *(f"**{n[0]}**{''.join(', ' + other for other in n[1:])}" for n in names)])
    return markdown(["trace", *CRITERIA], rows)


def count_table(all_: Sequence[Told]) -> str:
    """On how many traces a process is worse than the best beyond error: which of the others is best is often noise."""
    rows = []
    for i, first in enumerate(all_[0].contest.predictions):
        own = [one.contest.predictions[i] for one in all_]
        rows.append([first.model, *(f"{sum(not p.tied[c] for p in own)}" for c in CRITERIA)])
    return markdown([f"fitted process: worse beyond error, of {len(all_)} traces", *CRITERIA], rows)


def frames(all_: Sequence[Told]) -> dict[str, list[dict[str, Any]]]:
    """Every number, one list of rows per file."""
    figures = [{"trace": one.name, "figure": name, **vars(f)} for one in all_ for name, f in one.assumptions.figures]
    tests = [{"trace": one.name, **vars(t)} for one in all_ for t in one.assumptions.tests]
    models: list[dict[str, Any]] = []
    for one in all_:
        for p in one.contest.predictions:
            own = {"trace": one.name, "model": p.model}
            asked = [("log accepted ratio", p.accepted), ("log full ratio", p.full)]
            models += [own | _number(q, k, found) for q, by_kappa in asked for k, found in by_kappa.items()]
            models.append(own | _number("profile error", one.contest.profile_kappa, p.profile))
            models.append(own | _number("log-likelihood gain", None, p.log_likelihood))
            models += [own | _number(f"behind: {c}", None, p.loss[c]) | {"tied": p.tied[c]} for c in CRITERIA]
    return {"figures": figures, "tests": tests, "models": models}


def _number(quantity: str, kappa: int | None, found: tuple[float, float]) -> dict[str, Any]:
    return {"quantity": quantity, "kappa": kappa, "value": found[0], "error": found[1], "tied": None}


TEXT = """# What real traces say of independence, drift and shape

Made by `python -m simspec.evidence.tables results/traces` (Python {python}; the texts of the n-gram pairs come with
Python and differ a little between versions).  All numbers are in `figures.parquet`, `tests.parquet` and
`models.parquet` beside this file.  Errors are standard errors between requests.

* n-grams: target of order 3 over words, draft of order 2 that has read half of the text; {requests} requests of
  {tokens} tokens at temperature 1, recorded anew by the command.
* SmolLM2: SmolLM2-135M-Instruct as target; drafts `tl24` (early exit with a linear map) and `q3` (weights of 3 bits),
  as shipped in `simspec/evidence/data`.  At T = 0 a verdict is whether both most likely tokens agree.

## Means, memory, drift

ρ_A: correlation of neighbouring verdicts; "within": each request's own mean taken off, and the bias that has without
memory added again, so that it reads low with memory.  Spread: the noise of positions without memory taken off and no
more, so that memory enlarges it.  All requests of an n-gram pair follow one law: what spread they show is memory that
lasts (a topic of the text), not a difference of requests; the test of halves below tells them apart.

{overview}

## Rounds at κ = 8

Replayed: exact recursion on the chances of the dense trace.  Real rounds are independent of it (other random numbers;
for SmolLM2 fewer and shorter requests).  a = accepted ÷ examined; full ÷ a^8 is 1 for independent verdicts of one rate.
"Within requests" lacks about 1 over the rounds of a request, for the request's own mean, and reads low with memory.

{rounds}

## Acceptance of draft j when examined, κ = 8

{profile}

## Tests

p-values; bold: rejected at a false alarm of 5% for all tests of a row together (Holm).

{tests}

## Which process predicts unseen requests

Fitted by maximum likelihood to the verdicts of one half of the requests, judged by the other half, both ways.

{best}

Bold: the best, by chance where others are named: those cannot be told apart from it (95%, each on its own).  Over all
traces:

{count}

E: logarithm of predicted ÷ observed accepted length per round, in percent (+5% is 1.051 times what was observed, +40%
1.49 times); full: share of full rounds the other way round, observed ÷ predicted; profile: root mean square error of
the acceptance by draft position, κ = 8; 1000·ln L: log-likelihood per output position of unseen verdicts, above i.i.d.
The mean at a single κ proves little: with a = accepted/examined, E[A] = a(1 − P_full)/(1 − a) for any process.

{contests}
"""


def write(folder: Path, all_: Sequence[Told]) -> None:
    """README.md and three Parquet files."""
    import platform

    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in frames(all_).items():
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    contests = "\n\n".join(f"### {one.name}\n\n{contest_table(one)}" for one in all_)
    text = TEXT.format(
        python=platform.python_version(), requests=REQUESTS, tokens=TOKENS, overview=overview(all_),
        rounds=rounds_table(all_), profile=profile_table(all_), tests=table_of_tests(all_), best=best_table(all_),
        count=count_table(all_), contests=contests,
    )  # fmt: skip
    (folder / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "results/traces"), list(traces()))
