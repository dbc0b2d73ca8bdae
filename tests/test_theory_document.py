"""docs/theory.md: its code runs, its names exist, its tables are those of the committed outcome."""

import doctest
import re
from pathlib import Path

import pytest

import simspec
from simspec import theory
from simspec.claims.handbook import EQUATIONS, main, with_tables
from simspec.claims.registry import all_claims
from simspec.claims.validation import read_rows
from simspec.model import DatasetError
from simspec.theory import article

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs" / "theory.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
PROSE = TEXT[: TEXT.index("## 12.")]


def test_every_block_of_code_runs_and_prints_what_it_says():
    failed, tried = doctest.testfile(str(DOCUMENT), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried > 40
    assert failed == 0


def test_every_claim_has_its_place_in_the_text():
    assert sorted({row.id for row in all_claims()}) == [f"C{n:02d}" for n in range(1, 58)]
    named = set(re.findall(r"C\d\d", PROSE))
    for first, last in re.findall(r"C(\d\d) … C(\d\d)", PROSE.split("```")[0]):
        named -= {f"C{first}", f"C{last}"}  # the span of all claims places none of them
    missing = {row.id for row in all_claims()} - set(re.findall(r"C\d\d", PROSE[PROSE.index("## 1.") :]))
    assert missing == set()


@pytest.mark.parametrize("name", sorted({name for row in EQUATIONS for name in row[3]}))
def test_every_function_of_the_equations_exists(name):
    room, _, function = name.rpartition(".")
    assert callable(getattr({"": simspec, "theory": theory, "article": article}[room], function))


def test_every_public_formula_of_the_article_is_in_the_table():
    shown = {name.removeprefix("article.") for row in EQUATIONS for name in row[3]}
    left = {name for name in article.__all__ if name.islower()} - shown
    assert left <= {
        "latency_slope",  # derivative of (10), from which (11) comes
        "guard_edge",
        "guard_largest_kappa",  # of the guard
        "variance_factor_all_lags",  # what (16) should have been
    }


def test_the_tables_are_those_of_the_committed_outcome():
    """If this fails: python -m simspec.claims.handbook docs/theory.md results/validation"""
    assert with_tables(TEXT, read_rows(ROOT / "results" / "validation")) == TEXT


def test_a_document_without_places_is_refused(tmp_path, capsys):
    with pytest.raises(DatasetError, match="no lines"):
        with_tables("# nothing", read_rows(ROOT / "results" / "validation"))
    (tmp_path / "empty.md").write_text("")
    assert main([str(tmp_path / "empty.md"), str(ROOT / "results" / "validation")]) == 2
    assert "no lines" in capsys.readouterr().err
    assert (tmp_path / "empty.md").read_text() == ""
