"""Does the recipe of docs/ci.md work?  Its commands and flags exist, and its numeric steps find a planted change."""

import importlib
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from simspec.cli.main import main, parser
from simspec.model import Iid
from simspec.run import engine
from simspec.run.columns import column

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
(YAML,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def commands():
    """Each command of a step, `run: …` or a block of lines."""
    for block, line in re.findall(r"^ *(?:- )?run: (?:\|\n((?: {10}.*\n)+)|(.*)\n)", YAML, re.MULTILINE):
        yield from (own.strip() for own in block.splitlines() or [line])


COMMANDS = list(commands())


def test_every_step_runs_or_uses_something():
    steps = re.findall(r"^      - ", YAML, re.MULTILINE)
    done = re.findall(r"^ {6}(?:- |  )(?:run|uses): ", YAML, re.MULTILINE)
    assert len(steps) == len(done) > 12
    assert "\t" not in YAML
    assert all((len(line) - len(line.lstrip())) % 2 == 0 for line in YAML.splitlines())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_and_its_flags_exist(command, monkeypatch):
    words = shlex.split(command.replace("${{ github.event.pull_request.base.sha }}", "main"))
    if words[0] == "simspec":
        assert parser().parse_args(words[1:]).command == words[1]
        return
    assert words[0] == "python"
    if words[1].startswith("benchmarks/"):
        monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
        known = importlib.import_module("arms").ARMS
        assert (ROOT / words[1]).is_file()
        assert set(words[words.index("--arms") + 1].split(",")) <= set(known)
        return
    assert words[1:3] in (["-m", "pip"], ["-m", "pytest"], ["-m", "simspec.claims.reference"])
    if words[2] == "simspec.claims.reference":
        assert words[3] == "--check"
        assert (ROOT / words[4]).is_dir()


def test_the_numeric_steps_find_a_changed_number_and_a_changed_law(tmp_path, monkeypatch, capsys):
    (tmp_path / "scenarios").mkdir()
    text = (ROOT / "scenarios" / "quickstart.toml").read_text(encoding="utf-8")
    scenario = tmp_path / "scenarios" / "quickstart.toml"
    scenario.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    steps = [shlex.split(own)[1:] for own in COMMANDS if re.match(r"simspec (replay|run|compare)", own)]
    (replay,), (run,), (compare,) = ([own for own in steps if own[0] == name] for name in ("replay", "run", "compare"))
    assert main(["run", str(scenario), "-o", "tests/known", "--quiet"]) == 0
    assert [main(own) for own in (replay, run, compare)] == [0, 0, 0]
    assert Path("differences.xml").is_file()
    shutil.rmtree("now")
    right = engine.form_of
    other = Iid(alpha=0.705)  # a kernel whose rate is off by 0.005
    with monkeypatch.context() as planted:
        planted.setattr(engine, "form_of", lambda _, kappa: right(other, kappa))
        assert [main(own) for own in (run, compare)] == [0, 1]
    path = next(Path("tests/known/chunks").iterdir())
    table = pq.read_table(path)
    wrong = table["sum_accepted"].to_numpy() + (np.arange(len(table)) == len(table) - 1)
    place = table.schema.get_field_index("sum_accepted")
    field = table.schema.field(place)
    pq.write_table(table.set_column(place, field, column(wrong, field.type)), path)
    assert main(replay) == 1
    assert "chunks.sum_accepted: differs in 1 row" in capsys.readouterr().out
