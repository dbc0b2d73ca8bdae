"""Traces: what is read, what is refused, replay against what was measured, errors by request."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simspec
from simspec.kernels import play, twin
from simspec.kernels.words import stream_keys
from simspec.model import DatasetError, ParameterError, Trace
from simspec.run.traces import load, trace_form

DATA = Path(__file__).parents[2] / "scenarios" / "data"
ROUNDS = {"path": str(DATA / "smollm2_windows_k8.parquet"), "request": "request", "accepted": "accepted_full"}
ROUNDS |= {"drafted": 8, "bonus_included": False}
DENSE = {"path": str(DATA / "smollm2_dense_tl24.parquet"), "request": "request", "alpha": "tok_accept"}


def test_measured_rounds_give_the_published_figures():
    """Of the project's notes on these traces: 4,632 rounds, accepted 1.196 ± .034, lag-1 correlation .023 ± .016."""
    own = dict(simspec.trace(ROUNDS["path"], **{k: v for k, v in ROUNDS.items() if k != "path"}).rows)
    assert own["tokens per round E"].units == 48
    assert abs(own["tokens per round E"].value - 2.2027) < 1e-3
    assert abs(own["tokens per round E"].error - 0.034) < 0.002
    assert abs(own["acceptance of draft 1 when examined"].value - 0.547) < 1e-3
    assert abs(own["correlation of successive accepted lengths, pooled"].value - 0.023) < 0.006
    assert abs(own["correlation of successive accepted lengths, pooled"].error - 0.016) < 0.003


def test_dense_replay_agrees_with_the_measured_rounds_within_their_errors():
    """E and conditional acceptance by position at κ = 8, each within 4 joint standard errors."""
    real = dict(simspec.trace(ROUNDS["path"], **{k: v for k, v in ROUNDS.items() if k != "path"}).rows)
    replay = simspec.simulate(Trace(**DENSE, truncate=False), kappa=[8], windows=400_000)
    row = replay.to_pandas().iloc[0]
    error = np.hypot((row["mean_accepted_high"] - row["mean_accepted_low"]) / 3.92, real["tokens per round E"].error)
    assert abs(row["mean_accepted"] + 1 - real["tokens per round E"].value) < 4 * error
    counts = replay.tallies[0].accepted_counts()
    reached = counts[::-1].cumsum()[::-1]
    for j in range(1, 9):
        measured = real[f"acceptance of draft {j} when examined"]
        assert abs(reached[j] / reached[j - 1] - measured.value) < 4 * max(measured.error, 0.01)


def test_a_trace_replayed_as_measured_is_the_trace():
    own = simspec.simulate(Trace(**ROUNDS), kappa=[3, 8], windows=10).to_pandas()
    frame = pd.read_parquet(ROUNDS["path"])
    assert own["rounds"].tolist() == [len(frame)] * 2
    assert own["units"].tolist() == [48, 48]
    assert np.isclose(own["mean_accepted"].iloc[1], frame["accepted_full"].mean())
    assert np.isclose(own["mean_accepted"].iloc[0], frame["accepted_full"].clip(upper=3).mean())


def test_a_dense_trace_is_replayed_until_every_kappa_has_its_windows():
    """The longest drafts need the most replays; all κ share one layout."""
    rows = simspec.simulate(Trace(**DENSE), kappa=[0, 8], windows=100_000).to_pandas()
    assert rows["rounds"].min() >= 100_000


def test_more_windows_do_not_pretend_to_be_more_requests():
    """A dense trace replayed ten times as often: the interval stays that of 72 requests."""
    short, long = (
        simspec.simulate(Trace(**DENSE), kappa=[4], windows=windows).to_pandas().iloc[0]
        for windows in (30_000, 600_000)
    )
    assert short["units"] == long["units"] == 72
    widths = [row["mean_accepted_high"] - row["mean_accepted_low"] for row in (short, long)]
    assert 0.6 < widths[1] / widths[0] < 1.3


def test_the_kernel_of_dense_traces_equals_its_twin():
    keys = stream_keys(5, "dense")
    for truncate in (True, False):
        form = trace_form(Trace(**DENSE, truncate=truncate), 4)
        fast, slow = play.play(form, keys, 1, 8, 2, 4), twin.play(form, keys, 1, 8, 2, 4)
        assert fast.sums.tolist() == slow.sums.tolist()


@pytest.fixture
def files(tmp_path):
    """The same six rounds of two requests in every format, bonus included."""
    frame = pd.DataFrame({"req": ["a"] * 4 + ["b"] * 2, "len": [3, 1, 5, 2, 1, 4], "k": [4] * 6, "alpha": [0.5] * 6})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    lists = frame.groupby("req").agg(list).reset_index()
    lists.to_parquet(tmp_path / "lists.parquet", index=False)
    lists.to_json(tmp_path / "lists.jsonl", orient="records", lines=True)
    return tmp_path


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl", "lists.parquet", "lists.jsonl"])
def test_every_format_is_read_alike(files, name):
    keys = {} if name.startswith("lists") else {"request": "req"}
    data = load(Trace(path=str(files / name), accepted="len", drafted="k", bonus_included=True, **keys))
    assert data.accepted.tolist() == [2, 0, 4, 1, 0, 3]
    assert data.offsets.tolist() == [0, 4, 6]


def test_identity_is_the_content_not_the_path(files):
    keys = {"accepted": "len", "drafted": 4, "bonus_included": True, "request": "req"}
    one = Trace(path=str(files / "t.csv"), **keys)
    (files / "copy.csv").write_bytes((files / "t.csv").read_bytes())
    assert one.identity() == Trace(path=str(files / "copy.csv"), **keys).identity()
    (files / "other.csv").write_text((files / "t.csv").read_text().replace("3", "2"))
    assert one.identity() != Trace(path=str(files / "other.csv"), **keys).identity()


WRONG = [
    ({"accepted": "len", "drafted": 4}, "bonus_included", "say whether"),
    ({"accepted": "len", "bonus_included": True}, "drafted", "is missing"),
    ({}, "accepted", "give either"),
    ({"accepted": "len", "alpha": "alpha"}, "accepted", "give either"),
    ({"alpha": "alpha"}, "request", "is missing"),
    ({"alpha": "alpha", "request": "req", "drafted": 4}, "drafted", "no meaning"),
    ({"accepted": "len", "drafted": 4, "bonus_included": True, "sha256": "0" * 64}, "sha256", "has"),
]
WRONG_DATA = [
    ({"accepted": "lne", "drafted": 4, "bonus_included": True, "request": "req"}, "path", 'did you mean "len"'),
    (
        {"accepted": "len", "drafted": 4, "bonus_included": False, "request": "req"},
        "drafted",
        "is bonus_included right",
    ),
    ({"accepted": "len", "drafted": 4, "bonus_included": True}, "request", "is missing"),
    ({"accepted": "req", "drafted": 4, "bonus_included": True, "request": "req"}, "path", "other than numbers"),
    (
        {"accepted": "len", "drafted": 4, "bonus_included": True, "request": "req", "where": {"req": "z"}},
        "where",
        "no row is left with req = 'z'$",
    ),
]


@pytest.mark.parametrize(("keys", "key", "said"), WRONG, ids=str)
def test_what_is_not_said_is_not_guessed(files, keys, key, said):
    with pytest.raises(ParameterError, match=said) as caught:
        Trace(path=str(files / "t.csv"), **keys)
    assert caught.value.key == key


@pytest.mark.parametrize(("keys", "key", "said"), WRONG_DATA, ids=str)
def test_a_file_that_does_not_fit_is_named(files, keys, key, said):
    with pytest.raises(ParameterError, match=said) as caught:
        load(Trace(path=str(files / "t.csv"), **keys))
    assert caught.value.key == key


def test_kappa_above_what_was_drafted_is_an_error(files):
    own = Trace(path=str(files / "t.csv"), accepted="len", drafted=4, bonus_included=True, request="req")
    with pytest.raises(ParameterError, match="kappa = 5 is above the 4 drafts"):
        simspec.simulate(own, kappa=[5])


def test_missing_and_broken_files(tmp_path):
    keys = {"accepted": "len", "drafted": 4, "bonus_included": True, "request": "req"}
    with pytest.raises(ParameterError, match="cannot be read"):
        Trace(path=str(tmp_path / "none.csv"), **keys)
    (tmp_path / "bad.parquet").write_bytes(b"rubbish")
    with pytest.raises(ParameterError, match="cannot be read"):
        load(Trace(path=str(tmp_path / "bad.parquet"), **keys))
    with pytest.raises(ParameterError, match="unknown form"):
        Trace(path=str(tmp_path / "x.pickle"), **keys)


def test_a_file_without_rows_says_so_and_nothing_of_where(tmp_path):
    (tmp_path / "t.csv").write_text("request,position,tok_accept\n")
    with pytest.raises(ParameterError, match=r"t\.csv: holds no rows$"):
        load(Trace(path=str(tmp_path / "t.csv"), request="request", alpha="tok_accept"))


LISTS = {"accepted": "len", "drafted": 4, "bonus_included": True}
SHAPES = [
    ([{"len": [3, None]}], LISTS, "accepted", "whole numbers"),
    ([{"len": [3, 1]}, {"len": None}], LISTS, "accepted", "allowed: lists of numbers"),
    ([{"len": [[3], [1]]}], LISTS, "accepted", "allowed: lists of numbers"),
    ([{"len": []}], LISTS, "accepted", "holds no round"),
    ([{"len": [3, 1], "k": [4]}], LISTS | {"drafted": "k"}, "drafted", "other lengths"),
    ([{"len": [3, 1], "k": 4.5}], LISTS | {"drafted": "k"}, "drafted", "whole numbers"),
    ([{"len": [3, 1], "k": 1e9}], LISTS | {"drafted": "k"}, "drafted", "allowed: 10,000"),
    ([{"len": 3, "r": "a"}, {"len": 1, "r": None}], LISTS | {"request": "r"}, "request", "has gaps"),
    ([{"len": 3, "r": [1]}, {"len": 1, "r": [2]}], LISTS | {"request": "r"}, "request", "allowed: numbers or texts"),
]


@pytest.mark.parametrize(("lines", "keys", "key", "said"), SHAPES, ids=str)
def test_rows_of_the_wrong_shape_are_named(tmp_path, lines, keys, key, said):
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    with pytest.raises(ParameterError, match=said) as caught:
        load(Trace(path=str(path), **keys))
    assert caught.value.key == key


def test_lists_of_one_request_are_joined_and_one_number_of_drafts_serves_them_all(tmp_path):
    lines = [{"r": "a", "len": [3, 1], "k": 4}, {"r": "b", "len": [5], "k": 6}, {"r": "a", "len": [2], "k": 2}]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    data = load(Trace(path=str(path), request="r", **(LISTS | {"drafted": "k"})))
    assert data.accepted.tolist() == [2, 0, 1, 4]
    assert data.drafted.tolist() == [4, 4, 2, 6]
    assert data.offsets.tolist() == [0, 3, 4]


def test_a_run_is_not_continued_on_a_changed_file(files, tmp_path):
    table = {"name": "t", "windows": 10, "kappa": [2], "cost": {}}
    table["process"] = {"type": "trace", "path": str(files / "t.csv"), "request": "req", **LISTS}
    folder = tmp_path / "run"
    first = simspec.sweep(table, folder)
    assert simspec.sweep(table, folder).to_pandas().equals(first.to_pandas())
    (files / "t.csv").write_text((files / "t.csv").read_text().replace("3", "2"))
    with pytest.raises(DatasetError, match="traces"):
        simspec.sweep(table, folder)


def test_a_stored_run_finds_the_trace_beside_its_scenario_from_anywhere(files, tmp_path, monkeypatch):
    toml = files / "t.toml"
    toml.write_text(
        'windows = 10\nkappa = [2]\n[process]\ntype = "trace"\npath = "t.csv"\nrequest = "req"\n'
        'accepted = "len"\ndrafted = 4\nbonus_included = true\n'
    )
    monkeypatch.chdir(files)
    simspec.sweep("t.toml", tmp_path / "run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = simspec.read(tmp_path / "run").scenario
    assert [load(own.process).accepted.sum() for own, _ in again.simulations()] == [10]


def test_a_scenario_may_choose_rows_and_name_a_shipped_file(tmp_path):
    """``where`` is a condition, no axis of a grid; its decimals meet the floats of the file."""
    file = tmp_path / "shipped.toml"
    file.write_text(
        'kappa = [4]\nwindows = 1000\n[process]\ntype = "trace"\npath = "shipped:smollm2"\nalpha = "tok_accept"\n'
        'request = "request"\nwhere = { draft = "tl24", temperature = 0.7 }\n'
    )
    ((simulation, _),) = simspec.Scenario.from_toml(file).simulations()
    assert simulation.process.where == {"draft": "tl24", "temperature": 0.7}
