"""CONTRIBUTING.md: the scheme it builds runs, and what it says of the kernels is so."""

import doctest
import re
from pathlib import Path

from simspec.kernels.entries import entry_points
from simspec.model.schemes import Schemes
from simspec.theory.own_laws import OWN_LAWS

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "CONTRIBUTING.md"
WORDS = ("eight", "nine", "ten", "eleven", "twelve")


def test_the_scheme_from_nothing_runs_and_prints_what_it_says():
    try:
        failed, tried = doctest.testfile(str(DOCUMENT), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    finally:
        Schemes.table.pop("hedged", None)
        for own in [own for own in OWN_LAWS if own.__name__ == "Hedged"]:
            del OWN_LAWS[own]
    assert tried >= 9
    assert failed == 0


def test_the_number_of_kernels_is_the_one_written():
    (told,) = re.findall(r"(\w+) kernels \(`entries`", DOCUMENT.read_text(encoding="utf-8"))
    assert told == WORDS[len(list(entry_points())) - 8]


def test_every_kernel_has_a_row_in_its_document():
    text = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
    assert [name for name, _ in entry_points() if f"| `{name}` |" not in text] == []


def test_every_scheme_has_a_row_in_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in Schemes.table if f"| `{name}` |" not in text] == []
