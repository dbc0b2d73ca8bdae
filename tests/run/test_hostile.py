"""Files of a folder are data: nothing in them is run, leads out of the folder, or reaches a terminal as a command."""

import json
import re
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simspec.cli.main import main
from simspec.model import DatasetError, Scenario
from simspec.run.count_files import NAME_DIGITS
from simspec.run.dataset import read
from simspec.run.folder import open_folder
from simspec.run.manifest import read_manifest
from simspec.run.planning import plan
from simspec.run.shards import combine
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
    with pytest.raises(DatasetError, match="is not as simspec writes it"):  # nor of a shard
        combine(tmp_path / "all", [dataset.path])
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
        {"traces": []},
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


def test_the_manifest_of_a_validation_lists_its_traces(tmp_path):
    (tmp_path / "manifest.json").write_text(
        '{"schema_version": 7, "kind": "validation", "traces": [], "complete": true}'
    )
    assert read_manifest(tmp_path)["traces"] == []


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


HOSTILE = {
    "ansi": "\x1b[31mred\x1b[2J",
    "osc": "\x1b]8;;http://a/\x07link\x1b]8;;\x07\x1b]52;c;ZXZpbA==\x07",
    "c1": "\x9b31m",
    "cr": "good\rEVIL",
    "line": "a\nsimspec: all is well",
    "bidi": "\u202egnp.exe\u2066",
    "separators": "a\u2028b\u2029c",
    "script": "<script>alert(1)</script>",
    "attribute": '" onload="alert(1)" x=\'',
    "emoji": "\U0001f469\u200d\U0001f4bb\ufeff",
    "long": "x" * 10_000,
}
STEERS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff]")
LABELLED = 'windows = 2000\nkappa = [0, 2]\n[[process]]\ntype = "iid"\nalpha = 0.7\nlabel = {}\n[cost]\nc_d = 0.1\n'


def toml(text):
    return '"' + "".join(f"\\U{ord(c):08x}" for c in text) + '"'


def said(capsys, *words):
    try:
        code = main([str(word) for word in words])
    except SystemExit as stop:
        code = stop.code
    told = capsys.readouterr()
    text = told.out + told.err
    assert not STEERS.search(text), (words[0], text[:300])
    assert "Traceback" not in text
    assert "\nsimspec: all is well" not in text
    assert code != 2 or (told.err.count("\n") == 1 and len(told.err) < 2100), told.err[:300]
    return code


QUICK = ("osc", "line", "attribute", "long")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in QUICK else pytest.mark.deep) for kind in HOSTILE]
)
def test_names_are_shown_as_text_by_every_command(kind, tmp_path, capsys, monkeypatch):
    """A label through run, show, report, compare and replay; a key and a value of a scenario; a name on the line."""
    monkeypatch.chdir(tmp_path)
    value, file, out, page = HOSTILE[kind], tmp_path / "own.toml", tmp_path / "out", tmp_path / "page.html"
    file.write_text(LABELLED.format(toml(value)))
    assert said(capsys, "run", file, "-o", out, "--quiet") == 0
    commands = (["run", file, "-o", out, "--json", "--quiet"], ["show", out], ["show", out, "--json"],
                ["report", out, "-o", page], ["compare", out, out], ["replay", out, "--quiet"],
                ["replay", out, "--chunk", "0", "--quiet"])  # fmt: skip
    assert [said(capsys, *words) for words in commands] == [0] * len(commands)
    shown = page.read_text()
    assert not STEERS.search(shown)
    assert "<script>alert" not in shown
    assert not re.search(r'<[a-z][^>]*" onload="alert', shown)
    for text in (f"{toml(value)} = 1\n", f"name = {toml(value)}\n" + LABELLED.format('"x"'),
                 f"[process]\ntype = {toml(value)}\n"):  # fmt: skip
        file.write_text(text)
        assert said(capsys, "run", file, "--quiet") == 2
    for name in (
        "run",
        "show",
        "report",
        "fit",
        "explain",
        "recommend",
        "replay",
        "trace",
        "solve",
        "costs",
        "combine",
    ):
        assert said(capsys, name, *(["there"] if name == "combine" else []), value) == 2


@pytest.mark.parametrize("entry", ["scheme", "label", "process"])
def test_tables_of_another_hand_are_shown_as_text(entry, dataset, capsys):
    path = dataset.path / "estimates" / "part-000000.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index(entry)
    column = pa.array([HOSTILE["osc"] + HOSTILE["line"]] * len(table)).dictionary_encode()
    pq.write_table(table.set_column(at, table.schema.field(at), column.cast(table.schema.field(at).type)), path)
    assert said(capsys, "show", dataset.path) == 0


def test_a_manifest_of_another_hand_is_shown_as_text(dataset, capsys):
    """A line break in it begins no line of ours either."""
    entry = {"simulation_id": "x", "process": HOSTILE["osc"] + HOSTILE["line"], "error": HOSTILE["line"]}
    change(dataset, stream_version=HOSTILE["ansi"], failed=[entry])
    assert said(capsys, "show", dataset.path) == 0


def test_a_name_that_is_not_known_well_is_shown_as_text(tmp_path, capsys):
    file = tmp_path / "own.toml"
    file.write_text(LABELLED.format(toml(HOSTILE["osc"] + HOSTILE["line"])))
    assert said(capsys, "run", file, "-o", tmp_path / "out", "--until", "speedup=1e-9", "--quiet") == 0
    assert said(capsys, "show", tmp_path / "out") == 0


def test_a_folder_of_a_hostile_name(tmp_path, capsys):
    file = tmp_path / "own.toml"
    file.write_text(LABELLED.format('"x"'))
    place = tmp_path / (HOSTILE["ansi"] + HOSTILE["line"])
    assert said(capsys, "run", file, "--shard", "1/2", "-o", place, "--quiet") == 0
    assert said(capsys, "run", file, "-o", place, "--quiet") == 0
    assert said(capsys, "show", place) == 0


FORMS = [
    ("provenance", {"libraries": "x"}), ("provenance", {"scenario_folder": 5}), ("failed", ["x"]), ("rounds", "x"),
    ("failed", [{"simulation_id": 1}]), ("shard", 5), ("rounds", {"every": "x"}), ("provenance", []),
]  # fmt: skip


@pytest.mark.parametrize("entry", FORMS, ids=str)
@pytest.mark.parametrize("command", ["show", "replay", "combine"])
def test_what_is_used_of_a_manifest_is_of_its_kind(command, entry, dataset, capsys, tmp_path):
    change(dataset, **dict([entry]))
    assert said(capsys, command, *([tmp_path / "all"] if command == "combine" else []), dataset.path) == 2


BOMBS = {
    "array": "x = " + "[" * 100_000,
    "inline": "x = " + "{a=" * 3000,
    "table": "[" + ".".join(["a"] * 50_000) + "]",
    "key": ".".join(["a"] * 50_000) + " = 1",
    "keys": "".join(f"k{i} = 1\n" for i in range(500_000)),
    "digits": "windows = " + "9" * 5000,
    "points": "[process]\ntype = 'iid'\nalpha = 0.7\n[cost]\n"
    + "".join(f"{c} = {{from = 0.001, to = 100, step = 0.001}}\n" for c in ("c_d", "c_v", "c_r")),
    "kappa": "kappa = 1000000000000\n[process]\ntype = 'iid'\nalpha = 0.7\n",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_scenario_that_would_fill_the_machine_is_refused_at_once(bomb, tmp_path, capsys):
    file = tmp_path / "bomb.toml"
    file.write_text(BOMBS[bomb])
    began = time.process_time()
    assert said(capsys, "run", file, "--quiet") == 2
    assert time.process_time() - began < 2


@pytest.mark.parametrize("command", ["show", "report", "replay", "fit", "costs", "solve", "export", "trace"])
def test_json_that_is_nested_for_ever_is_refused(command, dataset, tmp_path, capsys):
    deep, file = '{"a":' * 100_000, tmp_path / "deep.json"
    file.write_text(deep)
    (dataset.path / "manifest.json").write_text(deep)
    with pytest.raises(DatasetError, match="nested too deeply"):
        read(dataset.path)
    place = dataset.path if command in ("show", "report", "replay") else file
    assert said(capsys, command, *(["vllm"] if command == "export" else []), place) == 2
