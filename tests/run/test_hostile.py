"""Files of a folder are data: nothing in them is run, leads out of the folder, or reaches a terminal as a command."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simspec.cli.main import main
from simspec.model import DatasetError, Scenario
from simspec.run.count_files import NAME_DIGITS
from simspec.run.folder import open_folder
from simspec.run.planning import plan
from simspec.run.store import digest
from simspec.run.sweep import sweep

TABLE = {"name": "own", "windows": 10_000, "kappa": [0, 2], "process": {"type": "iid", "alpha": 0.7}}


@pytest.fixture
def dataset(tmp_path):
    return sweep(Scenario.from_dict(TABLE), tmp_path / "out")


def change(dataset, **entries):
    path = dataset.path / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


OUTSIDE = [
    "../victim.parquet",
    "/etc/passwd",
    "tallies/../../victim.parquet",
    "tallies/part-000000.parquet/../x",
    "tallies",
]


@pytest.mark.parametrize("name", [*OUTSIDE, "tallies/part-00000\u0660.parquet", "tallies/\x1b[31mpart.parquet", ""])
def test_a_manifest_names_no_file_out_of_its_folder(name, dataset, tmp_path):
    victim = tmp_path / "victim.parquet"
    victim.write_bytes(b"precious")
    change(dataset, files={name: [8, digest(victim)]})
    for kappa in ([0, 2], [0]):  # the same points, and others, for which finished counts are moved
        with pytest.raises(DatasetError, match="is not as simspec writes it") as caught:
            sweep(Scenario.from_dict(TABLE | {"kappa": kappa}), dataset.path)
        assert "\x1b" not in str(caught.value)
    assert victim.read_bytes() == b"precious"


@pytest.mark.parametrize(
    "entries",
    [
        {"files": {"tallies/part-000000.parquet": ["12", "a" * 64]}},
        {"files": {"tallies/part-000000.parquet": [12, "../" * 21 + "a"]}},
        {"files": {"tallies/part-000000.parquet": 12}},
        {"files": []},
        {"files": None},
        {"complete": "yes"},
        {"failed": {}},
        {"traces": 5},
        {"provenance": "x"},
        {"seed": 7},
        {"scenario": ["x"]},
        {"scenario": None},
    ],
    ids=str,
)
def test_a_manifest_of_another_form_is_refused_in_one_line(entries, dataset, capsys, tmp_path):
    change(dataset, **entries)
    file = tmp_path / "own.toml"
    file.write_text('windows = 10000\nkappa = [0, 2]\n[process]\ntype = "iid"\nalpha = 0.7\n')
    code = main(["run", str(file), "-o", str(dataset.path), "--quiet"])
    said = capsys.readouterr().err
    assert (code, said.count("\n")) == (2, 1) or entries == {"seed": 7}  # which stands in the scenario
    assert "Traceback" not in said


def test_counts_that_are_none_of_ours_do_no_harm(dataset, tmp_path):
    """A file under the right name that holds something else is refused; one without rows says nothing."""
    counts = pq.read_table(dataset.path / "tallies" / "part-000000.parquet")
    at = counts.schema.get_field_index("shape")
    shapeless = counts.set_column(
        at, counts.schema.field(at), pa.array([[3, 1]] * len(counts), counts.schema.field(at).type)
    )
    for number, (table, said) in enumerate(
        [
            (pa.table({"x": [1]}).replace_schema_metadata(counts.schema.metadata), "holds no counts"),
            (shapeless, "of another form"),
            (counts.slice(0, 0), ""),
            (pa.table({"x": [1]}), ""),  # of no run that it names: left alone
        ]
    ):
        place = tmp_path / f"cut{number}"
        (place / "played").mkdir(parents=True)
        (place / "manifest.json").write_text(json.dumps(_begun(place)))
        strange = place / "played" / "x.parquet"
        pq.write_table(table, strange)
        strange.rename(place / "played" / f"{digest(strange)[:NAME_DIGITS]}.parquet")
        if said:
            with pytest.raises(DatasetError, match=said):
                sweep(Scenario.from_dict(TABLE), place)
        else:
            assert sweep(Scenario.from_dict(TABLE), place).complete


def _begun(place):
    own = Scenario.from_dict(TABLE)
    return open_folder(place / "none", own, plan(own)).manifest


def test_labels_reach_the_terminal_as_text(tmp_path):
    own = {"type": "iid", "alpha": 0.7, "label": "\x1b]0;owned\x07<script>alert(1)</script>"}
    text = sweep(Scenario.from_dict(TABLE | {"process": own}), tmp_path / "labels").summary()
    assert "\x1b" not in text
    assert "\x07" not in text
