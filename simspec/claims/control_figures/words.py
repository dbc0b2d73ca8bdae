"""How does a table become lines of a page?  Rows as plain dictionaries, paragraphs of a width, preformatted tables."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from simspec.text import table

if TYPE_CHECKING:
    import pandas as pd

Rows = list[dict[str, Any]]
WIDTH = 100


def paragraph(text: str) -> str:
    """The text in lines of a width; blanks and line ends of the source count as one blank."""
    words = textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)
    return words.replace("\n* ", "\n\\* ")  # no list begins inside


def preformatted(head: list[str], rows: list[list[str]]) -> str:
    """A table as it stands in a terminal."""
    return f"```text\n{table(head, rows)}\n```\n"


def records(found: pd.DataFrame) -> Rows:
    """The rows of a table."""
    return [{str(key): value for key, value in row.items()} for row in found.to_dict("records")]


def column(rows: Rows, key: str) -> list[Any]:
    """One value per row."""
    return [row[key] for row in rows]


def pick(rows: Rows, **keys: Any) -> Rows:
    """The rows with these values.

    Examples
    --------
    >>> pick([{"a": 1, "b": 2}, {"a": 1, "b": 3}], a=1, b=3)
    [{'a': 1, 'b': 3}]
    """
    return [row for row in rows if all(row[key] == value for key, value in keys.items())]
