"""The committed outcome and its check: the same on other random numbers, and every planted change is seen."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from simspec.claims import reference, validation
from simspec.claims.judge import FALSE_VERDICT
from simspec.claims.reference import CHECK_SEED, apart, check, differences, main, page, write_reference
from simspec.claims.registry import all_claims
from simspec.claims.validation import VERDICTS, read_rows
from simspec.model import DatasetError
from simspec.run import store

FEW = ("C15", "C21", "C24", "C35", "C38")
COMMITTED = Path(__file__).parents[2] / "results" / "validation"


@pytest.fixture(scope="module", autouse=True)
def few_claims():
    """Rows of every kind of quantity, and no check of the engine."""
    rows = [row for row in all_claims() if row.id in FEW]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "all_claims", lambda: rows)
        patch.setattr(validation, "check_engine", lambda lab: [])
        patch.setattr(validation, "sentences", lambda lab: [("One is one.", "simspec exact")])
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("reference") / "validation"
    write_reference(place, quick=True, seed=3, quiet=True)
    return place


def test_a_fresh_run_on_other_numbers_says_the_same(folder, monkeypatch):
    seeds = []
    real = reference.validate

    def watched(quick, seed, *rest):
        seeds.append((quick, seed))
        return real(quick, seed, *rest)

    monkeypatch.setattr(reference, "validate", watched)
    assert check(folder, quiet=True) == []
    assert seeds == [(True, 3 + CHECK_SEED)]


def test_a_reference_is_small_and_says_where_it_comes_from(folder):
    note = json.loads((folder / store.MANIFEST).read_text())
    assert (note["mode"], note["seed"], note["kind"]) == ("quick", 3, "reference")
    assert {"simspec", "commit", "stream_version", "rows"} <= set(note)
    assert not {"host", "command", "system"} & set(note)
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "manifest.json", VERDICTS]
    text = (folder / "README.md").read_text()
    rows = read_rows(folder)
    assert text.count("\n| C") == len(rows) == note["rows"]
    for row in rows:
        assert row["instead"] in text
    assert f"{FALSE_VERDICT:g}" in text


PLANTS = {
    "an exact value in its seventh digit": (lambda row: {"exact": row["exact"] + 1e-6}, "exact value"),
    "another verdict": (lambda row: {"verdict": "refuted" if row["verdict"] == "supported" else "supported"}, "in the"),
    "a region moved": (lambda row: {"expected_interval": [0.123, 0.456]}, "claimed region"),
    "another word of data": (lambda row: {"evidence_verdict": "mixed"}, "data say"),
    "an observed value 1% off": (
        lambda row: {"observed": 1.01 * row["observed"], "interval": [1.01 * x for x in row["interval"]]},
        "what chance allows",
    ),
    "another reading": (lambda row: {"reading": "another"}, "only"),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_change_is_caught(folder, name):
    """In the row of S(4), whose interval is narrow."""
    change, says = PLANTS[name]
    rows = read_rows(folder)
    (at,) = [i for i, row in enumerate(rows) if row["id"] == "C21" and "S(4)" in row["reading"]]
    planted = [row | (change(row) if i == at else {}) for i, row in enumerate(rows)]
    found = differences(rows, planted)
    assert any(says in line for line in found), found
    assert all(line.startswith("C21, ") for line in found)
    assert differences(rows, rows) == []


def test_a_changed_file_fails_the_command(folder, tmp_path, capsys):
    """What CI runs: exit 1 and the row by name."""
    copy = tmp_path / "validation"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    table = pq.read_table(copy / VERDICTS)
    exact = [value if value is None else value + 1e-3 * (i == 0) for i, value in enumerate(table["exact"].to_pylist())]
    column = table.schema.get_field_index("exact")
    pq.write_table(table.set_column(column, table.schema.field("exact"), [exact]), copy / VERDICTS)
    assert main([str(copy), "--check", "--quiet"]) == 1
    said = capsys.readouterr().out
    assert "differs on 1 points" in said
    assert "exact value" in said
    assert main([str(folder), "--check", "--quiet"]) == 0


def test_an_open_verdict_contradicts_none(folder):
    rows = read_rows(folder)
    assert differences(rows, [row | {"verdict": "inconclusive"} for row in rows]) == []
    assert differences([row | {"verdict": "inconclusive"} for row in rows], rows) == []


def test_rows_that_come_or_go_are_named(folder):
    rows = read_rows(folder)
    assert differences(rows, rows[1:]) == [f"{rows[0]['id']}, {rows[0]['reading']}: in the reference only"]
    assert differences(rows[1:], rows) == [f"{rows[0]['id']}, {rows[0]['reading']}: not in the reference"]


def test_distance_uses_the_ends_that_face_each_other():
    """Lopsided intervals, and sets of κ that touch."""
    low, high = {"observed": 1.0, "interval": [0.0, 1.3]}, {"observed": 1.5, "interval": [1.1, 9.0]}
    assert apart(low, high) == apart(high, low) == 1.0
    assert apart({"observed": 4.0, "interval": [4.0, 4.0]}, {"observed": 5.0, "interval": [4.0, 5.0]}) == 1.0
    assert apart({"observed": 4.0, "interval": [4.0, 4.0]}, {"observed": 5.0, "interval": [5.0, 5.0]}) == float("inf")
    assert apart({"observed": None, "interval": [None, None]}, {"observed": None, "interval": [None, None]}) == 0.0


def test_a_missing_reference_is_one_line(tmp_path, capsys):
    assert main([str(tmp_path / "nothing"), "--check", "--quiet"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "holds no reference" in said.err


def test_nothing_is_written_when_the_engine_disagrees(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(validation, "check_engine", lambda lab: ["E[A] is off"])
    assert main([str(tmp_path / "v"), "--quick", "--quiet"]) == 2
    assert "the engine disagrees" in capsys.readouterr().err
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize("seed", [101, 102])
def test_other_seeds_raise_no_alarm(folder, tmp_path, seed):
    """False alarm below 1e-6 over all rows."""
    own = validation.validate(True, seed, tmp_path / "other")
    assert differences(read_rows(folder), own.rows) == []


def test_a_cell_cannot_break_the_table(folder):
    rows = read_rows(folder)
    own = validation.Validation([rows[0] | {"reading": "a | b\n<c>"}], [], [], folder, 0.0)
    text = page(own, json.loads((folder / store.MANIFEST).read_text()))
    assert "a \\| b &lt;c>" in text


def test_the_committed_reference_is_whole():
    """Written by one command; the README is that of the verdicts beside it."""
    if not (COMMITTED / VERDICTS).exists():
        raise DatasetError(f"{COMMITTED}: python -m simspec.claims.reference {COMMITTED} writes it")
    rows, note = read_rows(COMMITTED), json.loads((COMMITTED / store.MANIFEST).read_text())
    assert note["mode"] == "full"
    assert note["rows"] == len(rows)
    text = (COMMITTED / "README.md").read_text()
    assert text.count("\n| C") == len(rows)
    assert all(row["instead"].replace("|", "\\|").replace("<", "&lt;") in text for row in rows)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(700, 712))
def test_a_dozen_whole_runs_agree_with_the_committed_one(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(validation, "all_claims", all_claims)
    own = validation.validate(True, seed, tmp_path / "whole")
    assert differences(read_rows(COMMITTED), own.rows) == []
