"""The one-way street: a room imports only from rooms before it."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import simspec
from simspec import theory

PACKAGE = Path(simspec.__file__).parent
ROOMS = ("text", "model", "kernels", "theory", "stats", "run", "evidence", "claims", "advice", "report", "api", "cli")
FORBIDDEN = {("theory", "kernels"), ("theory", "stats"), ("kernels", "theory")}
FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(source: str) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("simspec"):
            parts = node.module.split(".")
            rooms |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("simspec.")}
    return rooms


def offences(room: str, rooms: set[str]) -> list[str]:
    return [r for r in rooms if r in ROOMS and (ROOMS.index(r) > ROOMS.index(room) or (room, r) in FORBIDDEN)]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return  # the public face re-exports lazily; `python -m simspec` is the command line
    assert room in ROOMS, f"{room} has no place on the street"
    assert offences(room, imported_rooms(path.read_text())) == []


def test_a_wrong_import_would_be_seen():
    assert offences("kernels", imported_rooms("from simspec.theory import window")) == ["theory"]
    assert offences("model", imported_rooms("import simspec.cli.main")) == ["cli"]
    assert offences("theory", imported_rooms("from simspec.kernels.lower import rows")) == ["kernels"]


def test_no_room_bears_the_name_of_a_public_function():
    assert set(simspec.__all__).isdisjoint(p.name for p in PACKAGE.iterdir() if p.is_dir())


def test_the_map_of_run_names_each_module_once():
    text = ast.get_docstring(ast.parse((PACKAGE / "run" / "__init__.py").read_text(encoding="utf-8"))) or ""
    modules = {path.stem for path in (PACKAGE / "run").glob("*.py")} - {"__init__"}
    assert Counter(re.findall(r"`(\w+)`", text)) == Counter(modules)


def test_no_module_of_theory_bears_the_name_of_one_of_its_functions():
    """Importing the module would replace the function."""
    modules = {path.stem for path in (PACKAGE / "theory").glob("*.py")} | {"article"}
    assert modules & set(theory.__all__) == {"article"}  # which is a module on purpose


def test_type_checkers_read_the_names_that_are_there():
    """Every name of the stub is imported from where the table finds it, and none is missing."""
    body = ast.parse((PACKAGE / "theory" / "__init__.pyi").read_text()).body
    read = {alias.name: node.module for node in body if isinstance(node, ast.ImportFrom) for alias in node.names}
    (listed,) = (ast.literal_eval(node.value) for node in body if isinstance(node, ast.Assign))
    assert listed == sorted(theory.__all__)
    assert read.pop("article") == "simspec.theory"
    assert read == {name: f"simspec.theory.{home}" for name, home in theory._HOME.items()}


def test_only_the_multinomial_draw_uses_numpy_random():
    drawing = [p.name for p in FILES if "np.random" in p.read_text().replace("``np.random``", "")]
    assert drawing == ["draw.py"]  # which says so in every row it makes


def test_modules_stay_small():
    assert [str(p) for p in FILES if len(p.read_text().splitlines()) > 410] == []
