"""Sweeps on disk: what is written, read back, continued and refused."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars
import pyarrow.parquet as pq
import pytest

import simspec
from simspec.kernels.words import LANES
from simspec.model import DatasetError, ParameterError, Scenario
from simspec.run import dispatch, planning, store
from simspec.run.dataset import read
from simspec.run.planning import plan
from simspec.run.schema import TABLES, WHOLE_CHUNK
from simspec.run.sweep import sweep


@pytest.fixture
def dataset(tiny, tmp_path):
    return sweep(Scenario.from_dict(tiny), tmp_path / "out")


def test_the_scenario_is_read_back_from_the_files_and_makes_the_same_numbers(dataset, tmp_path):
    again = sweep(dataset.scenario, tmp_path / "again")
    assert again.scenario == dataset.scenario
    pd.testing.assert_frame_equal(again.estimates, dataset.estimates)
    pd.testing.assert_frame_equal(again.chunks, dataset.chunks)


def test_one_row_per_point_and_kappa(dataset):
    assert len(dataset.estimates) == 4 * 3
    assert dataset.estimates["point_id"].nunique() == 4
    assert dataset.estimates["simulation_id"].nunique() == 2
    assert (dataset.estimates["rounds"] >= 20_000).all()


def test_chunks_and_counts_add_up_to_the_estimates(dataset):
    by = ["simulation_id", "kappa"]
    lanes = dataset.chunks.groupby(by, observed=True).sum(numeric_only=True)
    counts = (
        dataset.counts.assign(total=lambda f: f["accepted"] * f["count"])
        .groupby(by, observed=True)
        .sum(numeric_only=True)
    )
    assert (lanes["n"] == counts["count"]).all()
    assert (lanes["sum_accepted"] == counts["total"]).all()
    own = dataset.estimates.drop_duplicates(by).set_index(by)
    assert np.allclose(own["mean_accepted"], (lanes["sum_accepted"] / lanes["n"]).reindex(own.index))


UNITS = [
    {"type": "iid", "alpha": 0.7},
    {"type": "hmm", "P": [[0.9, 0.1], [0.2, 0.8]], "alphas": [0.95, 0.4]},  # independent windows, played in lanes
    {"type": "markov", "alpha": 0.7, "rho": 0.3, "start": "carry"},
]


@pytest.mark.parametrize("process", UNITS, ids=lambda process: process["type"])
def test_rows_of_chunks_are_the_units_of_the_layout(process, tmp_path):
    """A chunk, where windows are independent, or a lane: each at its place and with the windows it was given."""
    own = Scenario.from_dict({"name": "units", "windows": 600_000, "kappa": [4], "process": process})
    layout, chunks = plan(own).parts[0][0].layout, sweep(own, tmp_path / "out").chunks
    assert layout.chunks > 2
    if (chunks["lane"] == WHOLE_CHUNK).all():
        assert chunks["chunk"].tolist() == list(range(layout.chunks))
        assert chunks["n"].tolist() == [layout.lanes_of(chunk) * layout.rounds for chunk in range(layout.chunks)]
    else:
        assert chunks["chunk"].tolist() == [lane // LANES for lane in range(layout.lanes)]
        assert chunks["lane"].tolist() == [lane % LANES for lane in range(layout.lanes)]
        assert (chunks["n"] == layout.rounds).all()


@pytest.mark.parametrize("name", TABLES)
def test_every_column_is_typed_described_and_in_the_readme(dataset, name):
    schema = pq.read_schema(next((dataset.path / name).glob("*.parquet")))
    assert schema.names == TABLES[name].names
    assert all(schema.field(i).metadata[b"description"] for i in range(len(schema)))
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert [
        column for column in schema.names if f"`{column.removesuffix('_low').removesuffix('_high')}`" not in readme
    ] == []


def test_plain_readers_open_the_files(dataset):
    frame = pd.read_parquet(dataset.path / "estimates")
    assert len(frame) == 12
    found = duckdb.sql(f"select count(*), max(speedup) from '{dataset.path}/estimates/*.parquet'").fetchall()
    assert found == [(12, frame["speedup"].max())]
    table = polars.read_parquet(f"{dataset.path}/chunks/*.parquet")
    assert table["sum_accepted"].sum() == dataset.chunks["sum_accepted"].sum()
    assert pq.read_table(dataset.path / "counts").num_rows == len(dataset.counts)


def test_a_repeat_shows_what_is_there_without_simulating(dataset, monkeypatch):
    monkeypatch.setattr(dispatch, "play", lambda *_: pytest.fail("simulated again"))
    assert len(sweep(dataset.scenario, dataset.path).estimates) == 12


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 2}, "seed (1 there, 2 asked for)"),
        ({"method": "exact"}, "method (simulate there, exact asked for)"),
        ({"name": "other"}, "name (tiny there, other asked for)"),
    ],
)
def test_another_run_is_refused_with_what_differs(dataset, tiny, change, said):
    with pytest.raises(DatasetError) as caught:
        sweep(Scenario.from_dict(tiny | change), dataset.path)
    assert said in str(caught.value)


def test_an_interrupted_run_is_continued_to_the_same_bytes(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(planning, "ROWS_PER_PART", 1)
    scenario = Scenario.from_dict(tiny)
    whole = sweep(scenario, tmp_path / "whole")
    add = store.PartWriter.add

    def stop_at_1(writer, name, table):
        if writer.part == 1:
            raise KeyboardInterrupt
        add(writer, name, table)

    monkeypatch.setattr(store.PartWriter, "add", stop_at_1)
    with pytest.raises(KeyboardInterrupt):
        sweep(scenario, tmp_path / "cut")
    assert not read(tmp_path / "cut").complete
    monkeypatch.setattr(store.PartWriter, "add", add)
    cut = sweep(scenario, tmp_path / "cut")
    for name in TABLES:
        for file in (whole.path / name).iterdir():
            assert (cut.path / name / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("name", TABLES)
def test_a_part_that_lacks_one_table_is_made_again(dataset, name):
    scenario, path = dataset.scenario, store.part_path(dataset.path, name, 0)
    whole = path.read_bytes()
    path.unlink()
    sweep(scenario, dataset.path)
    assert path.read_bytes() == whole


def test_a_run_of_another_stream_version_is_not_continued(dataset):
    path = dataset.path / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"stream_version": manifest["stream_version"] - 1}))
    with pytest.raises(DatasetError, match="stream_version"):
        sweep(dataset.scenario, dataset.path)


def test_a_failed_write_leaves_nothing_half_written(tiny, tmp_path, monkeypatch):
    class Full(store.pq.ParquetWriter):
        def __init__(self, where, *args, **kwargs):
            super().__init__(where, *args, **kwargs)
            self.table = where.parent.name in store.SCHEMAS

        def write_table(self, *args, **kwargs):
            if self.table:
                raise OSError(28, "No space left on device")
            super().write_table(*args, **kwargs)

    monkeypatch.setattr(store.pq, "ParquetWriter", Full)
    with pytest.raises(DatasetError, match="No space left"):
        sweep(Scenario.from_dict(tiny), tmp_path / "full")
    assert not list((tmp_path / "full").rglob("*.tmp"))
    assert [path.parent.name for path in (tmp_path / "full").rglob("*.parquet")] == ["played"]  # nothing is lost


def test_places_that_cannot_be_used(tiny, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thing.txt").write_text("x")
    for place, said in (("file", "is a file"), ("file/below", "cannot be written"), ("other", "holds other files")):
        with pytest.raises(DatasetError, match=said):
            sweep(Scenario.from_dict(tiny), tmp_path / place)
    for place, said in (("file", "is a file"), ("other", "is not a simspec dataset"), ("none", "no such folder")):
        with pytest.raises(DatasetError, match=said):
            read(tmp_path / place)


def test_a_name_that_other_files_have_gets_a_folder_beside_them(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenario = Scenario.from_dict(tiny)
    taken = tmp_path / "results" / scenario.name
    taken.mkdir(parents=True)
    (taken / "README.md").write_text("x")
    made = sweep(scenario)
    assert made.path.name == f"{scenario.name}-run"
    assert sweep(scenario).path == made.path
    assert [entry.name for entry in taken.iterdir()] == ["README.md"]
    (taken / "README.md").unlink()
    assert sweep(scenario).path.name == scenario.name


def test_a_corrupt_part_is_named(dataset):
    part = next((dataset.path / "estimates").glob("*.parquet"))
    part.write_bytes(b"rubbish")
    with pytest.raises(DatasetError, match="estimates"):
        _ = read(dataset.path).estimates


def test_a_newer_schema_is_refused(dataset):
    manifest = json.loads((dataset.path / "manifest.json").read_text())
    (dataset.path / "manifest.json").write_text(json.dumps(manifest | {"schema_version": 99}))
    with pytest.raises(DatasetError, match="newer simspec"):
        read(dataset.path)


def test_nothing_volatile_is_in_the_data_files(dataset):
    for file in dataset.path.rglob("*.parquet"):
        note = json.loads(pq.read_schema(file).metadata[b"simspec"])
        assert set(note) == {"scenario", "stream_version", "schema_version", "part"}


def test_a_plan_counts_what_will_be_done(tiny):
    todo = plan(Scenario.from_dict(tiny))
    assert todo.points == 4
    rounds, seconds = todo.forecast(2)
    assert rounds >= 2 * 3 * 20_000
    assert seconds > 0
    assert todo.bytes > 0


def test_best_has_one_row_per_point_and_text_shows_hostile_names_as_text(tiny, tmp_path):
    tiny["process"] = {"type": "survival", "survival": [0.7, 0.5, 0.4, 0.3], "label": "a\x1b[31mred\nline"}
    own = sweep(Scenario.from_dict(tiny), tmp_path / "hostile")
    assert len(own.best()) == 2
    assert "\x1b" not in repr(own)


def test_simulate_is_one_point_of_a_sweep(dataset):
    """The same question asked in memory gives the same numbers as in a file."""
    own = simspec.simulate(simspec.Iid(alpha=0.7), {"c_d": 0.1}, kappa=[0, 2, 4], windows=20_000).to_pandas()
    stored = dataset.estimates.query("alpha == 0.7 and c_d == 0.1")
    assert own["speedup"].tolist() == stored["speedup"].tolist()
    with pytest.raises(ParameterError):
        simspec.simulate({"type": "iid", "alpha": 0.7}, windows=0)


def test_a_measured_curve_runs_to_its_own_length(tmp_path):
    table = {
        "name": "curves",
        "windows": 10_000,
        "process": {"type": "survival", "survival": [[0.7, 0.5], [0.7, 0.5, 0.3, 0.2]]},
    }
    own = sweep(Scenario.from_dict(table), tmp_path / "curves").estimates
    assert own.groupby("simulation_id", observed=True)["kappa"].max().tolist() == [2, 4]


def test_generations_report_the_rounds_that_were_run(tmp_path):
    process = {"type": "drift", "alpha_start": 0.85, "alpha_end": 0.62, "tokens": 128}
    own = sweep(
        Scenario.from_dict({"name": "d", "windows": 100_000, "kappa": [0, 4, 8], "process": process}), tmp_path / "d"
    ).estimates
    assert (own["rounds"] >= 100_000).all()
    assert (own["units"] == own["units"].iloc[0]).all()
    assert (own["rounds"].iloc[0]) % (own["units"].iloc[0] * 128) == 0  # whole generations, equally many per lane
