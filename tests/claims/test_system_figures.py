"""Published figures beside the models of other systems: what must come out does, and the document shows all of them."""

import doctest
from pathlib import Path

import pytest

from simspec import theory
from simspec.claims.system_figures import EAGLE, LEVIATHAN, figures, figures_table
from simspec.model.schemes import Schemes

DOCUMENT = Path(__file__).parents[2] / "docs" / "systems.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")


def test_leviathans_expected_column_comes_out():
    """Inputs are rounded to two digits, the column to one."""
    rows = figures()[: len(LEVIATHAN)]
    assert len(rows) == 12
    assert max(abs(row.difference) for row in rows) <= 0.07


def test_a_miss_names_what_is_missing():
    assert [row.system for row in figures() if abs(row.difference) > 0.1 and not row.missing] == []


def test_every_chain_of_eagle_lies_below_its_tree():
    rows = [row for row in figures() if row.system.startswith("EAGLE, ") and row.missing.startswith("a tree")]
    assert len(rows) == len(EAGLE)
    assert all(row.difference < 0 for row in rows)
    assert rows[0].predicted == pytest.approx(3.31, abs=0.005)


def test_the_document_shows_the_table_and_runs():
    shown = TEXT.split("```text\n")[1].split("\n```")[0]
    assert shown.splitlines() == [line.rstrip() for line in figures_table().splitlines()]
    failed, tried = doctest.testfile(str(DOCUMENT), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried >= 4
    assert failed == 0


def test_every_scheme_and_law_of_the_document_exists():
    assert [name for name in Schemes.table if f"`{name}`" not in TEXT] == []
    named = {part.split("`")[0] for part in TEXT.split("`theory.")[1:]}
    assert [name for name in named if not hasattr(theory, name)] == []
