"""A stored run comes out again, and what does not is named."""

import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simspec.cli.main import main
from simspec.model import DatasetError, ParameterError, Scenario
from simspec.run import planning, store
from simspec.run.columns import column
from simspec.run.differences import tables_differ
from simspec.run.record import Recording
from simspec.run.replay import Replayed, replay
from simspec.run.sweep import sweep

DATA = Path(__file__).parents[2] / "scenarios" / "data"
TABLE = {
    "name": "again",
    "windows": 600_000,
    "kappa": [0, 2, 4],
    "process": [
        {"type": "iid", "alpha": 0.7},
        {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry"},
        {"type": "hmm", "P": [[0.9, 0.1], [0.2, 0.8]], "alphas": [0.95, 0.4]},
        {"type": "drift", "alpha_start": 0.85, "alpha_end": 0.62, "tokens": 128},
    ],
    "policy": [{"type": "fixed"}, {"type": "heuristic"}],
    "cost": {"c_d": 0.1},
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return sweep(Scenario.from_dict(TABLE), tmp_path_factory.mktemp("replay") / "out")


def test_every_simulation_and_its_last_chunk_come_out_again(dataset):
    for own in sorted(dataset.simulation_ids):
        chunks = dataset.chunks[dataset.chunks["simulation_id"] == own]["chunk"]
        assert replay(dataset.path, own).same
        assert replay(dataset.path, own[:16], int(chunks.max())).same


def test_the_whole_comes_out_again(dataset):
    assert replay(dataset.path).same


def test_a_run_that_stopped_by_itself_comes_out_again(tmp_path):
    table = TABLE | {"windows": 20_000_000, "process": TABLE["process"][1], "policy": {"type": "fixed"}}
    own = sweep(Scenario.from_dict(table | {"stop": {"speedup": 0.005}}), tmp_path / "out")
    assert own.estimates["looks"].max() < 7
    assert replay(own.path).same
    assert replay(own.path, chunk=1).same


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    table = TABLE | {"windows": 40_000, "kappa": [0, 4], "process": TABLE["process"][:2], "policy": {"type": "fixed"}}
    return sweep(Scenario.from_dict(table), tmp_path_factory.mktemp("small") / "out")


def put(table, name, row, wrong):
    """The table with another entry in one place."""
    place = table.schema.get_field_index(name)
    field, entries = table.schema.field(place), table.column(name).to_pylist()
    entries[row] = wrong(entries[row])
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    made = pa.array(entries, kind)
    return table.set_column(place, field, made.dictionary_encode().cast(field.type) if kind != field.type else made)


def tamper(folder, name, column, row, wrong, vouched=True):
    """Change one entry of a table of a run, and have the manifest vouch for it; the row as it was."""
    path = next((folder / name).glob("*.parquet"))
    table = pq.read_table(path)
    pq.write_table(put(table, column, row, wrong), path)
    if vouched:
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["files"][store.entry(path, folder)] = store.mark(path)
        (folder / "manifest.json").write_text(json.dumps(manifest))
    return table.slice(row, 1).to_pylist()[0]


def copied(run, tmp_path):
    return Path(shutil.copytree(run.path, tmp_path / "copy"))


ENTRIES = [
    ("chunks", "sum_accepted", lambda own: own + 1),
    ("chunks", "seed", lambda own: own + 1),
    ("counts", "count", lambda own: own - 1),
    ("estimates", "speedup_low", lambda own: math.nextafter(own, 0)),
    ("estimates", "process", lambda own: "\x1b[31mother"),
    ("estimates", "rho", lambda own: 0.5 if own is None else None),
    ("tallies", "values", lambda own: [*own[:-1], own[-1] + 1]),
    ("tallies", "lanes", lambda own: own + 1),
]


@pytest.mark.parametrize(("name", "column", "wrong"), ENTRIES, ids=[f"{own[0]}.{own[1]}" for own in ENTRIES])
def test_one_entry_of_any_table_is_found_and_named(name, column, wrong, small, tmp_path):
    folder = copied(small, tmp_path)
    row = tamper(folder, name, column, 3, wrong)
    done = [replay(folder), replay(folder, row["simulation_id"])]
    for own in done:
        (told,) = own.differs
        assert told.startswith(f"{name}.{column}: differs in 1 row, first at ")
        assert f"kappa {row['kappa']}" in told
        assert "stored, " in told
        assert "\x1b" not in told
        (reason,) = own.notes
        assert reason.endswith("these are not the reason")
    others = [one for one in small.simulation_ids if one != row["simulation_id"]]
    assert replay(folder, others[0]).same


def test_every_column_is_compared(small):
    for name in store.SCHEMAS:
        table = small.table(name)
        assert list(tables_differ(name, table, table)) == []
        for entry in table.column_names:
            own = table.column(entry)[3].as_py()
            other = [*own, 9] if isinstance(own, list) else "x" if isinstance(own, str) else not own
            other = other if isinstance(own, bool | str | list) else -7.5 if isinstance(own, float) else (own or 0) + 1
            (told,) = tables_differ(name, table, put(table, entry, 3, lambda _, other=other: other))
            assert told.startswith(f"{name}.{entry}: differs in 1 row, first at ")


@pytest.fixture
def planted(tmp_path):
    """A run in which one count of one lane is one too high."""
    table = TABLE | {"process": TABLE["process"][1], "policy": {"type": "fixed"}}
    own = sweep(Scenario.from_dict(table), tmp_path / "o")
    rows = pq.read_table(own.path / "chunks" / "part-000000.parquet").to_pandas()
    at = int(rows.index[(rows["kappa"] == 4) & (rows["chunk"] == 1)][5])
    return own, tamper(own.path, "chunks", "sum_accepted", at, lambda count: count + 1)


def test_one_count_that_is_wrong_by_one_is_found(planted):
    own, row = planted
    place = f"simulation_id {row['simulation_id'][:12]}, kappa 4, chunk 1, lane {row['lane']}"
    counts = f"{row['sum_accepted'] + 1:,} stored, {row['sum_accepted']:,} now"
    told = (f"chunks.sum_accepted: differs in 1 row, first at {place}: {counts}",)
    assert replay(own.path).differs == replay(own.path, chunk=1).differs == told
    assert replay(own.path, chunk=0).same


def test_the_counts_of_a_chunk_that_stands_alone_are_compared(small, tmp_path):
    """The last chunk has fewer lanes, and so a row of its own."""
    folder = copied(small, tmp_path)
    rows = small.table("tallies").to_pylist()
    at = next(i for i, own in enumerate(rows) if own["first"] > 0 and own["field"] == "sums")
    row = tamper(folder, "tallies", "values", at, lambda own: [own[0] + 1, *own[1:]])
    (told,) = replay(folder, row["simulation_id"], row["first"]).differs
    assert told.startswith("tallies.values: differs in 1 row")
    assert replay(folder, row["simulation_id"], 0).same


@pytest.mark.parametrize("harm", ["flipped", "cut", "gone"])
@pytest.mark.parametrize("name", ["estimates", "tallies"])
def test_a_file_that_is_not_the_one_that_was_written_is_named(harm, name, small, tmp_path):
    folder = copied(small, tmp_path)
    path = folder / name / "part-000000.parquet"
    content = path.read_bytes()
    if harm == "gone":
        path.unlink()
    else:
        middle = len(content) // 2
        path.write_bytes(content[:middle] + (bytes([content[middle] ^ 255]) + content[middle + 1 :]) * (harm != "cut"))
    said = {"flipped": "has another SHA-256", "cut": "bytes and was written with", "gone": "is not there"}[harm]
    simulation = min(small.simulation_ids)
    for own in (replay(folder), replay(folder, simulation), replay(folder, simulation, 0)):
        assert own.differs[0].startswith(f"{name}/part-000000.parquet: ")
        assert said in own.differs[0]
        assert own.notes[-1].endswith("these are not the reason")
    if harm != "flipped":
        assert replay(folder).differs[1].startswith(f"{name}: cannot be read, and was not compared: ")


def test_another_manifest_is_said(planted):
    own, _ = planted
    path = own.path / "manifest.json"
    manifest = json.loads(path.read_text())
    made = manifest["provenance"] | {"machine": "riscv64"}
    made["libraries"] = made["libraries"] | {"numpy": "1.0\x1b[31m"}
    path.write_text(json.dumps(manifest | {"provenance": made}))
    (note,) = replay(own.path, chunk=1).notes
    assert note.startswith("other versions: machine riscv64 (now ")
    assert "numpy 1.0" in note
    assert "\x1b" not in note
    assert replay(own.path, chunk=0).notes == ()
    path.write_text(json.dumps(manifest | {"scenario": manifest["scenario"] | {"windows": 600_001}}))
    assert replay(own.path, chunk=0).differs[0].startswith("manifest.json: tells another scenario than the tables")
    for key, value, said in (("stream_version", 1, "other random words"), ("shard", "1/2", "combine all of them")):
        path.write_text(json.dumps(manifest | {key: value}))
        with pytest.raises(DatasetError, match=said):
            replay(own.path)


def test_a_run_of_an_earlier_schema(small, tmp_path):
    """What it lacks is said and not compared; all else is."""
    folder = copied(small, tmp_path)
    shutil.rmtree(folder / "tallies")
    path = folder / "estimates" / "part-000000.parquet"
    lacks = ["looks", "unit_token_cost_p99_low", "unit_token_cost_p99_high"]
    pq.write_table(pq.read_table(path).drop_columns(lacks), path)
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]
    (folder / "manifest.json").write_text(json.dumps(manifest | {"schema_version": 6}))
    one = min(small.simulation_ids)
    for own in (replay(folder), replay(folder, one), replay(folder, one, 0)):
        assert own.same
        told = ", ".join(f"estimates.{name}" for name in lacks)
        assert own.notes[0] == f"written in schema 6, now 7: not there, so not compared: {told}, tallies"
        assert own.notes[1].startswith("manifest.json vouches for no file")
    tamper(folder, "counts", "count", 0, lambda count: count + 1, vouched=False)
    assert replay(folder).differs[0].startswith("counts.count: differs in 1 row")


def test_a_trace_that_is_another_one_or_gone(tmp_path):
    trace = tmp_path / "own.parquet"
    shutil.copy(DATA / "smollm2_windows_k8.parquet", trace)
    process = {"type": "trace", "path": str(trace), "request": "request", "drafted": 8, "accepted": "accepted_full"}
    run = {"name": "t", "windows": 10_000, "kappa": [2, 9], "process": [process | {"bonus_included": False}]}
    folder = sweep(Scenario.from_dict(run | {"kappa": [2]}), tmp_path / "out").path.rename(tmp_path / "moved")
    assert replay(folder).same
    assert replay(folder, chunk=0).same
    pq.write_table(pq.read_table(trace).slice(5), trace)
    for chunk in (None, 0):
        with pytest.raises(DatasetError, match=r"was played from .*own\.parquet of SHA-256 .*, which is now "):
            replay(folder, chunk=chunk)
    failed = sweep(Scenario.from_dict(run), tmp_path / "failed")
    (entry,) = failed.failed
    for point in (None, entry["simulation_id"]):
        assert replay(failed.path, point).same
    path = failed.path / "manifest.json"
    other = entry | {"error": "another reason"}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"failed": [other]}))
    for point in (None, entry["simulation_id"]):
        assert replay(failed.path, point).differs[0].startswith("failed: simulation ")
    trace.unlink()
    with pytest.raises(ParameterError, match="cannot be read"):
        replay(folder)


@pytest.mark.parametrize("method", ["exact", "multinomial"])
def test_one_simulation_of_a_run_that_plays_nothing(method, tmp_path):
    process = {"type": "iid", "alpha": [0.0, 0.7, 1.0]}
    run = {"name": "m", "method": method, "kappa": [0, 1, 4], "process": process, "cost": {"c_d": [0.1, 0.3]}}
    own = sweep(Scenario.from_dict(run), tmp_path / "out")
    for simulation in own.simulation_ids:
        assert replay(own.path, simulation[:10]).same
    row = tamper(own.path, "estimates", "speedup", 3, lambda speedup: speedup * (1 + 1e-15))
    (told,) = replay(own.path, row["point_id"][:10]).differs
    assert told.startswith(f"estimates.speedup: differs in 1 row, first at point_id {row['point_id'][:12]}, kappa 0")
    if method == "multinomial":
        assert replay(own.path, row["simulation_id"], 0).compared == ("chunks", "tallies")


def plant(path, change):
    """One table is another one, its file as sound as before."""
    pq.write_table(change(pq.read_table(path)), path)


def with_column(name, change):
    """One entry of a column is changed in a table."""

    def changed(table):
        place, own = table.schema.get_field_index(name), table[name].to_numpy().copy()
        own[1] = change(own[1])
        return table.set_column(place, table.schema.field(place), pa.array(own, table.schema.field(place).type))

    return changed


LITTLE = TABLE | {
    "windows": 20_000,
    "process": TABLE["process"][1] | {"alpha": [0.6, 0.7]},
    "policy": {"type": "fixed"},
}


@pytest.mark.parametrize(
    ("table", "change", "said"),
    [
        ("counts", with_column("count", lambda own: own + 1), "counts.count: differs in 1 row"),
        ("estimates", with_column("speedup", lambda own: np.nextafter(own, 9)), "estimates.speedup: differs in 1 row"),
        ("estimates", with_column("speedup", lambda _: np.nan), "estimates.speedup: differs in 1 row"),
        ("estimates", with_column("kappa_fixed", lambda _: 3.0), "estimates.kappa_fixed: differs in 1 row"),
        ("counts", lambda own: own.slice(1), r"counts: [0-9]+ rows stored, [0-9]+ now"),
        ("chunks", lambda own: own.slice(1), r"chunks: [0-9]+ rows stored, [0-9]+ now"),
    ],
)
def test_what_differs_in_any_table_is_found(table, change, said, tmp_path, monkeypatch):
    """By one, by one bit of a fraction, by a number or none in place of the other, by a row; in the second part."""
    monkeypatch.setattr(planning, "ROWS_PER_PART", 1)
    monkeypatch.setattr(planning, "MOST_PARTS", 1000)
    own = sweep(Scenario.from_dict(LITTLE), tmp_path / "o")
    plant(own.path / table / "part-000001.parquet", change)
    second = own.estimates["simulation_id"].iloc[-1]
    for done in (replay(own.path), replay(own.path, second)):
        damaged, told = done.differs
        assert damaged.startswith(f"{table}/part-000001.parquet: ")
        assert re.match(said, told)


def test_only_some_of_many_differences_are_listed():
    text = str(Replayed("a run", tuple(f"row {number}" for number in range(7))))
    assert text.splitlines()[1:] == ["row 0", "row 1", "row 2", "row 3", "row 4", "… and 2 more"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    table = TABLE | {"process": TABLE["process"][1:4:2], "policy": {"type": "fixed"}, "stop": {"speedup": 0.02}}
    place = tmp_path_factory.mktemp("recorded") / "out"
    return sweep(Scenario.from_dict(table), place, recording=Recording(3000, every=2))


def test_recorded_rounds_come_out_again(recorded):
    assert len(list((recorded.path / "rounds").iterdir())) == 6
    assert replay(recorded.path).same
    assert all(replay(recorded.path, own).same for own in recorded.simulation_ids)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("one", ".accepted: differs in 1 row, first at unit 0, round 7: "),
        ("rows", ": 2,999 rows stored, 3,000 now"),
        ("gone", ": is not there"),
        ("cut", ": cannot be read, and was not compared: "),
    ],
)
def test_a_recorded_round_that_is_wrong_is_found(harm, said, recorded, tmp_path):
    folder = Path(shutil.copytree(recorded.path, tmp_path / "copy"))
    path = sorted((folder / "rounds").glob("*-kappa-4.parquet"))[0]
    table = pq.read_table(path)
    if harm == "one":
        wrong, place = table["accepted"].to_numpy().copy(), table.schema.get_field_index("accepted")
        wrong[7] = 4 - wrong[7] if wrong[7] != 2 else 3
        field = table.schema.field(place)
        pq.write_table(table.set_column(place, field, column(wrong, field.type)), path)
    elif harm == "rows":
        pq.write_table(table.slice(1), path)
    elif harm == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:1000])
    (simulation,) = (own for own in recorded.simulation_ids if path.name.startswith(own[:16]))
    (other,) = set(recorded.simulation_ids) - {simulation}
    for point in (None, simulation):
        (told,) = replay(folder, point).differs
        assert told.startswith(f"rounds/{path.name}{said}")
    assert replay(folder, other).same


def test_rounds_of_points_that_are_no_longer_asked_for_are_no_difference(recorded, tmp_path):
    """They are kept; a file that the run says it has, and has no more, is one."""
    folder = tmp_path / "own"
    shutil.copytree(recorded.path, folder)
    table = recorded.scenario.to_dict()
    own = sweep(
        Scenario.from_dict(table | {"process": table["process"][:1]}), folder, recording=Recording(3000, every=2)
    )
    assert len(list((folder / "rounds").iterdir())) == 6
    assert len(own.manifest["rounds"]["files"]) == 3
    assert replay(folder).same
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["rounds"]["files"]["0" * 16 + "-kappa-4.parquet"] = [1, "0" * 64]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert "is not of this run" in str(replay(folder))


def test_rounds_that_were_broken_off_are_to_be_continued_first(recorded, tmp_path):
    folder = Path(shutil.copytree(recorded.path, tmp_path / "copy"))
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"rounds": manifest["rounds"] | {"complete": False}}))
    with pytest.raises(DatasetError, match=r"its rounds/ are not complete; simspec run continues them"):
        replay(folder)


def test_the_command(planted, capsys):
    own, _ = planted
    assert main(["replay", str(own.path), "--quiet"]) == 1
    assert "NOT the same" in capsys.readouterr().out
    assert main(["replay", str(own.path), "--chunk", "0", "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["same"], told["differs"], told["compared"], told["notes"]) == (True, [], ["chunks"], [])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "simulations are meant"),
        ({"point": "zz"}, "there is no such point"),
        ({"point": "*"}, "there is no such point"),
        ({"point": None, "chunk": 99}, "chunk 99 was not played"),
        ({"point": None, "chunk": -1}, "chunk -1 was not played"),
    ],
)
def test_what_was_never_played(asked, said, dataset):
    if "point" in asked and asked["point"] is None:
        asked = asked | {"point": min(dataset.simulation_ids)}
    with pytest.raises(DatasetError, match=said.replace("*", r"\*")):
        replay(dataset.path, **({"chunk": 0} | asked))


def test_the_chunk_after_the_last_was_never_played(dataset):
    own = min(dataset.simulation_ids)
    last = int(dataset.chunks[dataset.chunks["simulation_id"] == own]["chunk"].max())
    with pytest.raises(DatasetError, match=f"chunk {last + 1} was not played; allowed: 0 to {last}$"):
        replay(dataset.path, own, last + 1)


def test_what_cannot_be_replayed(tmp_path):
    own = sweep(Scenario.from_dict({"name": "e", "method": "exact", "process": TABLE["process"][0]}), tmp_path / "e")
    with pytest.raises(ParameterError, match="plays no chunks"):
        replay(own.path, chunk=0)
    assert replay(own.path).same
    manifest = own.path / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"complete": False}))
    with pytest.raises(DatasetError, match="is not complete"):
        replay(own.path)
