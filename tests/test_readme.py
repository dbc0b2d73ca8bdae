"""Does the README still print what it says?  Its commands and Python examples are run."""

import doctest
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from simspec.cli.main import parser

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", README, re.DOTALL)


def shell(command, cwd):
    """As a reader's shell runs it, with the simspec of this Python."""
    ours = f'simspec() {{ {shlex.quote(sys.executable)} -m simspec.cli.main "$@"; }}'
    return subprocess.run(["bash", "-c", f"{ours}\n{command}"], capture_output=True, text=True, cwd=cwd)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A folder with the scenarios, as a clone has them, and the files that the README says to paste."""
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    monkeypatch.chdir(tmp_path)
    for block in blocks("bash"):
        assert shell(block, tmp_path).returncode == 0
    return tmp_path


def steady(text):
    """Without the line that says when and how fast."""
    return [line for line in text.rstrip().splitlines() if not line.startswith("made ")]


@pytest.mark.parametrize("block", blocks("console"), ids=lambda b: b.splitlines()[0][2:40])
def test_a_console_example_prints_what_it_says(block, clone):
    command, _, expected = block.partition("\n")
    done = shell(command.removeprefix("$ "), clone)
    assert done.returncode == (1 if '"error"' in expected else 0), done.stderr
    assert "simspec: " not in done.stderr
    assert steady(done.stdout) == steady(expected)


def test_every_command_and_every_page_of_docs_is_in_the_readme():
    (commands,) = (own.choices for own in parser()._actions if own.dest == "command")
    assert re.findall(r"^\| `simspec (\w+)` \|", README, re.MULTILINE) == list(commands)
    pages = {own.name for own in (ROOT / "docs").glob("*.md")}
    assert set(re.findall(r"\]\(docs/([^)#]+)", README)) == pages


def pasteable():
    """Commands at the head of a document that name no FILE, LOG or ENGINE of the reader's own."""
    for file in sorted((ROOT / "docs").glob("*.md")):
        for line in re.findall(r"^    (simspec .*)$", file.read_text(encoding="utf-8"), re.MULTILINE):
            command = re.split(r"\s{3,}", line)[0]
            if not re.search(r"[A-Z]{3}|\[|…|\.log", command):
                yield pytest.param(command, id=f"{file.stem}: {command[8:50]}")


@pytest.mark.parametrize("command", list(pasteable()))
def test_a_command_of_the_documents_answers(command, clone):
    done = shell(command, clone)
    assert done.returncode in (0, 1), done.stderr
    assert len(done.stdout.splitlines()) > 2


def test_the_python_examples_print_what_they_say(clone):
    test = doctest.DocTestParser().get_doctest("\n".join(blocks("python")), {}, "README", "README.md", 0)
    assert test.examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.failures == 0


def examples():
    """Documents with Python in them; two have a test of their own."""
    for file in sorted((ROOT / "docs").glob("*.md")):
        if file.stem not in ("theory", "systems") and ">>>" in file.read_text(encoding="utf-8"):
            yield pytest.param(file, id=file.stem)


@pytest.mark.parametrize("file", list(examples()))
def test_the_python_of_a_document_prints_what_it_says(file, clone):
    failed, tried = doctest.testfile(str(file), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried
    assert not failed


def test_the_quickstart_in_the_readme_is_the_shipped_file():
    (block,) = blocks("toml")
    assert block.strip() == (ROOT / "scenarios" / "quickstart.toml").read_text(encoding="utf-8").strip()


def test_there_are_exactly_two_commands_for_a_fresh_machine():
    commands = [line for block in blocks("sh") for line in block.strip().splitlines()]
    assert len(commands) == 2
    assert all(command.startswith("test -x .venv/bin/python || python3 -m venv .venv;") for command in commands)
    assert commands[0].endswith("simspec validate --quick")
    assert commands[1].endswith("-m pytest -n auto --dist loadfile")


def test_the_front_of_the_readme_is_five_lines():
    front = README.split("## ")[0].split("# simspec")[1].strip()
    assert len(front.splitlines()) == 5


def test_documents_name_every_shipped_scenario_and_public_function():
    import simspec

    for file in (ROOT / "scenarios").glob("*.toml"):
        assert f"`{file.stem}`" in README
    for name in (
        "exact",
        "simulate",
        "sweep",
        "validate",
        "read",
        "fit",
        "explain",
        "costs",
        "recommend",
        "export",
        "ab",
    ):
        assert name in simspec.__all__
        assert f"simspec.{name}" in README


def column_rows(schema):
    """The rows of a table of columns, as the README has them; an interval's three columns share a row."""
    kinds = {
        "double": "double", "dictionary<values=string, indices=int32, ordered=0>": "text",
        "list<item: int32>": "list of int32", "list<item: int64>": "list of int64",
    }  # fmt: skip
    rows = []
    for field in schema:
        if field.name.endswith(("_low", "_high")):
            continue
        kind, text = kinds.get(str(field.type), str(field.type)), field.metadata[b"description"].decode()
        interval = f"{field.name}_low" in schema.names
        name = f"`{field.name}` + `_low`, `_high`" if interval else f"`{field.name}`"
        # what a simultaneous interval is, its own columns say
        spread = "; interval at `level`" if interval and field.name != "behind_best" else ""
        rows.append(f"| {name} | {kind} | {text}{spread} |")
    return rows


def test_the_columns_in_the_readme_are_those_of_the_schema():
    from simspec.run.schema import ROUNDS, TABLES, TALLIES

    for name, schema in {**TABLES, "tallies": TALLIES, "rounds": ROUNDS}.items():
        table = "\n".join([f"**{name}**", "", "| column | type | meaning |", "|---|---|---|", *column_rows(schema), ""])
        assert table in README, name
