"""How are all claims put to the test?  Engine checked, rows judged, data heard, sweeps and verdicts stored."""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simspec.claims.evidence import published_witnesses
from simspec.claims.judge import FALSE_VERDICT, STAGES, Verdict, judge
from simspec.claims.lab import Lab, Need
from simspec.claims.registry import all_claims
from simspec.claims.selfcheck import check_engine
from simspec.claims.sentences import sentences
from simspec.claims.witness import FALSE_EVIDENCE, Witness, attach, shown_line, to_json
from simspec.claims.witness_files import trace_witnesses
from simspec.claims.witness_yours import yours
from simspec.kernels.sampling import ACCEPTED, BONUS, CORRECTED
from simspec.kernels.words import STREAM_VERSION
from simspec.model import Cost, DatasetError, Scenario, Simulation
from simspec.model.identity import canonical_json
from simspec.run import store
from simspec.run.address import local
from simspec.run.dataset import Dataset
from simspec.run.engine import Job, warm
from simspec.run.manifest import read_manifest
from simspec.run.progress import Progress
from simspec.run.provenance import provenance
from simspec.run.schema import SCHEMA_VERSION
from simspec.run.tables import Block

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = "verdicts.parquet"
JUDGED = "judged.parquet"
TOKENS = "tokens.parquet"
PRICED = Cost(c_d=0.1)

_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("id", "reading", "section", "statement", "verdict", "expected")]
    + [(name, pa.float64()) for name in ("stated", "expected_low", "expected_high", "observed")]
    + [("low", pa.float64()), ("high", pa.float64()), ("exact", pa.float64()), ("windows", pa.int64())]
    + [("route", pa.string()), ("why", pa.string()), ("instead", pa.string())]
    + [("evidence_verdict", pa.string()), ("evidence", pa.string())]  # the second as JSON: a list per row
)

_JUDGED_SCHEMA = pa.schema(
    [
        ("simulation_id", pa.string()),
        ("process", pa.string()),
        ("kappa", pa.int16()),
        ("accepted_of_all", pa.int16()),
        ("count", pa.int64()),
    ]
)


_TOKENS_SCHEMA = pa.schema(
    [
        ("pair", pa.string()),
        ("kappa", pa.int16()),
        ("rule", pa.string()),
        ("kind", pa.string()),
        ("context", pa.int32()),
        ("token", pa.int32()),
        ("count", pa.int64()),
    ]
)
_KINDS = {ACCEPTED: "accepted", CORRECTED: "corrected", BONUS: "bonus"}


class Validation:
    """Verdicts of a whole run.

    Attributes
    ----------
    rows : list of dict
        One per row: id, reading, verdict, expected, observed, interval, exact, windows, route, instead; and what data
        say: ``evidence_verdict`` (supported, refuted, mixed or none) with ``evidence``, a list of figures.
    sentences : list of (str, str)
        What is true instead, and the command that shows it; empty if the engine disagrees with the exact route.
    disagreements : list of str
        Where simulation and exact route differ; then nothing is judged.
    path : Path
        Where the sweeps and verdicts are stored.
    """

    def __init__(
        self,
        rows: list[dict[str, Any]],
        said: Sequence[tuple[str, str]],
        disagreements: Sequence[str],
        path: Path,
        seconds: float,
    ) -> None:
        self.rows, self.sentences, self.disagreements = rows, list(said), list(disagreements)
        self.path, self.seconds = path, seconds

    @property
    def agrees(self) -> bool:
        """Whether engine and exact route agree everywhere."""
        return not self.disagreements

    def to_list(self) -> list[dict[str, Any]]:
        """JSON-ready rows."""
        return self.rows

    def to_pandas(self) -> pd.DataFrame:
        """One row per reading of a claim."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    @property
    def dataset(self) -> Dataset:
        """The stored sweeps: ``chunks``, ``counts``, ``estimates``."""
        return Dataset(self.path, read_manifest(self.path) or {})

    @staticmethod
    def stored(found: Dataset) -> Validation:
        """Open the verdicts of a folder."""
        note, rows = found.manifest, read_rows(found.path)
        said = [(sentence, command) for sentence, command in note.get("sentences", [])]
        return Validation(rows, said, note.get("disagreements", []), found.path, note["provenance"].get("seconds", 0.0))

    def __repr__(self) -> str:
        if not self.agrees:
            lines = ["The engine disagrees with the exact route, so nothing is judged:"]
            return "\n".join(lines + [f"  {text}" for text in self.disagreements])
        lines = ["What is true instead"]
        for i, (sentence, command) in enumerate(self.sentences, start=1):
            lines += [f"{i}. {sentence}", f"   $ {command}"]
        lines += ["", "Verdicts (what the article says, what was observed, what is true instead)"]
        for row in self.rows:
            lines += _row_lines(row)
        lines += yours(self.rows)
        words = ("supported", "refuted", "not-testable")
        tally = {word: sum(row["verdict"] == word for row in self.rows) for word in words}
        rest = len(self.rows) - sum(tally.values())
        lines += [
            "",
            f"{len(self.rows)} rows on {len({row['id'] for row in self.rows})} claims: {tally['supported']} supported, "
            f"{tally['refuted']} refuted, {tally['not-testable']} not testable, {rest} open; the "
            f"probability of any false verdict is at most {FALSE_VERDICT:g}.  {self.seconds:.0f} s; stored in "
            f"{self.path}",
            f"data: {_heard(self.rows)}; a nominal {FALSE_EVIDENCE:g} is split over all figures with an error bar, and "
            "a figure without one speaks only by a margin",
        ]
        return "\n".join(lines)


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of a folder's verdicts, as `Validation.rows` has them.

    Raises
    ------
    DatasetError
        The file cannot be read.
    """
    try:
        rows: list[dict[str, Any]] = pq.read_table(folder / VERDICTS).to_pylist()
    except (OSError, pa.ArrowInvalid) as error:
        raise DatasetError(f"{folder / VERDICTS}: cannot be read ({error})") from None
    for row in rows:
        row["expected_interval"] = [row.pop("expected_low"), row.pop("expected_high")]
        row["interval"] = [row.pop("low"), row.pop("high")]
        stated = row.pop("stated")
        row["expected"] = row["expected"] if stated is None else stated
        row["evidence"] = json.loads(row.pop("evidence", None) or "[]")  # a folder older than the column has none
        row.setdefault("evidence_verdict", "none")
    return rows


def _heard(rows: Sequence[dict[str, Any]]) -> str:
    """How many rows data speak of, and what they say."""
    words = ("supported", "refuted", "mixed")
    counts = {word: sum(row["evidence_verdict"] == word for row in rows) for word in words}
    return f"{', '.join(f'{count} rows {word}' for word, count in counts.items())}, none on the others"


def _row_lines(row: dict[str, Any]) -> list[str]:
    data = [f"     data: {shown_line(row)}"] if row["evidence"] else []
    if row["verdict"] == "not-testable":
        return [
            f"{row['id']}  NOT TESTABLE: {row['why']}",
            f"     {row['reading']}: {row['statement']}",
            *data,
            f"     → {row['instead']}",
        ]
    low, high = row["interval"]
    seen = _figure(row["observed"]) if low == high else f"{_figure(row['observed'])} [{_figure(low)}, {_figure(high)}]"
    truth = "no exact value" if row["exact"] is None else f"exact {_figure(row['exact'])}"
    basis = f"{row['windows']:,} windows, {truth}" if row["windows"] else row["route"]
    if row["windows"] and row["route"] == "exact":
        basis = f"judged by the exact {_figure(row['exact'])}; {row['windows']:,} windows check the engine"
    claimed = row["expected"] if isinstance(row["expected"], str) else _figure(row["expected"])
    return [
        f"{row['id']}  {row['verdict'].upper():9}  claimed {claimed}; observed {seen} ({basis})",
        f"     {row['reading']}",
        *data,
        f"     → {row['instead']}",
    ]


def _figure(value: float) -> str:
    return f"{value:.5g}"


def default_folder(quick: bool, seed: int) -> Path:
    return Path("results") / "claims" / f"{'quick' if quick else 'full'}-seed{seed}"


def validate(
    quick: bool = False,
    seed: int = 1,
    output: str | Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    traces: Sequence[str | Path] = (),
) -> Validation:
    """Judge every claim and store sweeps and verdicts; see `simspec.validate`."""
    Scenario.from_dict({"name": "seed", "process": {"type": "iid"}, "seed": seed})  # one place knows the range of seeds
    folder = local(output) if output is not None else default_folder(quick, seed)
    mode = "quick" if quick else "full"
    witnesses = [*published_witnesses(), *trace_witnesses(str(file) for file in traces)]  # a bad file stops here
    fresh = not folder.exists()
    _check_folder(folder, mode, seed)
    try:
        return _run(folder, mode, seed, threads, progress, witnesses, [Path(file).name for file in traces])
    finally:
        if fresh:
            with suppress(OSError):  # it holds a result
                folder.rmdir()


def _run(
    folder: Path, mode: str, seed: int, threads: int | None, progress: Progress | None,
    witnesses: Sequence[Witness], traces: Sequence[str],
) -> Validation:  # fmt: skip
    """Judge and store."""
    began = time.monotonic()
    lab = Lab(seed, threads, progress)
    claims = all_claims()
    needs = [need for claim in claims for need in claim.quantity.needs if not need.judged]
    warm([Job(need.simulation, need.kappas, 1, seed) for need in needs], progress)
    disagreements = [str(found) for found in check_engine(lab)]
    verdicts = [] if disagreements else judge(claims, lab, STAGES[mode])
    disagreements += [_says(verdict) for verdict in verdicts if verdict.verdict == "engine-disagreement"]
    rows = [verdict.to_dict() for verdict in verdicts]
    if disagreements:
        rows = [_unjudged(row) for row in rows]
    if rows:
        attach(claims, rows, witnesses)
    said = [] if disagreements else sentences(lab)
    result = Validation(rows, said, disagreements, folder, 0.0)
    if progress is not None:
        progress.say("writing Parquet")
    result.seconds = round(time.monotonic() - began, 2)
    _store(result, lab, mode, seed, needs, traces)
    return result


def _says(verdict: Verdict) -> str:
    seen, own = verdict.observed, verdict.claim
    if not seen.windows:
        return f"{own.id}, {own.reading}: one exact way says {verdict.exact:.9g}, the other {seen.value:.9g}"
    return f"{own.id}, {own.reading}: simulated [{seen.low:.6g}, {seen.high:.6g}], exact {verdict.exact:.6g}"


def _unjudged(row: dict[str, Any]) -> dict[str, Any]:
    if row["windows"] and row["verdict"] != "engine-disagreement":
        return row | {"verdict": "not-judged"}
    return row


def _check_folder(folder: Path, mode: str, seed: int) -> None:
    """Refuse a place that holds something else, or another run, before any work."""
    if folder.exists() and not folder.is_dir():
        raise DatasetError(f"{folder}: is a file; allowed: a new folder, or one that simspec validate wrote")
    found = read_manifest(folder) if folder.is_dir() else None
    if found is None:
        if folder.is_dir() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
            raise DatasetError(
                f"{folder}: holds other files; allowed: a new folder, or one that simspec validate wrote"
            )
    elif (found.get("kind"), found.get("mode"), found.get("seed")) != ("claims", mode, seed):
        there = f"{found.get('kind', 'sweep')} {found.get('mode', '')} seed {found.get('seed')}"
        raise DatasetError(f"{folder}: holds another run ({there}); choose another folder with -o")
    store.make_folder(folder)


def _store(result: Validation, lab: Lab, mode: str, seed: int, needs: Sequence[Need], traces: Sequence[str]) -> None:
    """Write everything beside the final place, then move it there; files that are not ours stay."""
    folder = result.path
    for left in folder.glob(".building-*"):
        shutil.rmtree(left, ignore_errors=True)  # of a run that was killed
    building = folder / f".building-{uuid.uuid4().hex}"
    try:
        store.make_folder(building)
        _write_sweeps(building, lab, mode, seed, needs)
        _write_verdicts(building, result.rows)
        _write_judged(building, lab)
        _write_tokens(building, lab)
        manifest = {
            "schema_version": SCHEMA_VERSION,
            "stream_version": STREAM_VERSION,
            "kind": "claims",
            "mode": mode,
            "seed": seed,
            "complete": True,
            "sentences": [list(pair) for pair in result.sentences],
            "disagreements": result.disagreements,
            "traces": list(traces),
            "provenance": provenance() | {"seconds": result.seconds},
        }
        store.write_json(manifest, building / store.MANIFEST)
        for entry in sorted(building.iterdir()):
            if (folder / entry.name).is_dir():
                shutil.rmtree(folder / entry.name)
            os.replace(entry, folder / entry.name)
    except DatasetError as error:  # of a file in the making, whose place is nobody's business
        raise DatasetError(str(error).replace(str(building), str(folder))) from None
    except OSError as error:
        raise DatasetError(f"{folder}: cannot be written ({error.strerror or error})") from None
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _write_sweeps(folder: Path, lab: Lab, mode: str, seed: int, needs: Sequence[Need]) -> None:
    costs: dict[str, list[Cost]] = {}
    for need in needs:
        own = costs.setdefault(need.simulation.id, [])
        own += [cost for cost in need.costs if cost not in own]
    blocks = [Block(job, tallies, costs.get(job.simulation.id) or [PRICED], 0.95) for job, tallies in lab.played()]
    metadata = {"validation": {"mode": mode, "seed": seed}, "stream_version": STREAM_VERSION}
    store.write_part(folder, 0, blocks, metadata)


def _write_verdicts(folder: Path, rows: Sequence[dict[str, Any]]) -> None:
    flat = []
    for row in rows:
        stated = None if isinstance(row["expected"], str) else float(row["expected"])
        expected = row["expected"] if stated is None else _figure(stated)
        low, high = row["expected_interval"]
        flat.append(
            row
            | {"expected": expected, "stated": stated, "expected_low": low, "expected_high": high}
            | {"low": row["interval"][0], "high": row["interval"][1], "evidence": to_json(row["evidence"])}
        )
    columns = {name: [row[name] for row in flat] for name in _SCHEMA.names}
    store.write_table(pa.table(columns, schema=_SCHEMA), folder / VERDICTS)


def _write_judged(folder: Path, lab: Lab) -> None:
    """Simulations in which every draft got a verdict: windows by the number of drafts that would have been accepted."""
    rows = []
    for job, judged in lab.all_judged():
        for passed, count in enumerate(judged.sum(axis=0)):
            rows.append(
                {
                    "simulation_id": Simulation(job.process).id,
                    "process": canonical_json(job.process.identity()),
                    "kappa": job.kappa,
                    "accepted_of_all": passed,
                    "count": int(count),
                }
            )
    store.write_table(pa.Table.from_pylist(rows, schema=_JUDGED_SCHEMA), folder / JUDGED)


def _write_tokens(folder: Path, lab: Lab) -> None:
    """Token-level runs: emitted tokens by kind, context and token."""
    rows = []
    for run in lab.all_sampled():
        job = run.job
        name = canonical_json(job.pair.identity())
        for kind, context, token in zip(*np.nonzero(run.tokens), strict=True):
            rows.append(
                {
                    "pair": name,
                    "kappa": job.kappa,
                    "rule": job.rule,
                    "kind": _KINDS[int(kind)],
                    "context": int(context),
                    "token": int(token),
                    "count": int(run.tokens[kind, context, token]),
                }
            )
    store.write_table(pa.Table.from_pylist(rows, schema=_TOKENS_SCHEMA), folder / TOKENS)
