"""How does a table look on a terminal?  Plain text, numbers right, words left, and hostile names shown as text."""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
import unicodedata
from collections.abc import Sequence

WIDTH = 100
"""Columns of running text; fewer on a narrower terminal, but never fewer than `NARROWEST`."""
NARROWEST = 80


def width() -> int:
    """Columns of running text: 100, on a narrower terminal its own, at least 80.

    Examples
    --------
    >>> width()
    100
    """
    try:
        own = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError, AttributeError):  # no terminal: a pipe, a file, a notebook
        return WIDTH
    return min(WIDTH, max(NARROWEST, own))


def wrapped(text: str, first: str = "", rest: str | None = None, columns: int | None = None) -> str:
    """Running text in lines of `width`; words stay whole, and each given line begins a new one.

    Examples
    --------
    >>> print(wrapped("note: " + "word " * 4, "  ", "    ", columns=20))
      note: word word
        word word
    """
    columns, rest = columns or width(), first if rest is None else rest
    whole = text.replace(" = ", "\xa0=\xa0")  # a name stays with its value
    filled = "\n".join(
        textwrap.fill(line, columns, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                      break_on_hyphens=False)
        for line in whole.split("\n")
    )  # fmt: skip
    return filled.replace("\xa0", " ")


def bullets(head: str, lines: Sequence[str]) -> str:
    """Indented lines under a head; nothing where there are none.

    Examples
    --------
    >>> print(bullets("note", ["one", "two"]))
    note
      one
      two
    """
    return "\n".join([head, *(wrapped(line, "  ", "    ") for line in lines)]) if lines else ""


def table(header: Sequence[str], rows: Sequence[Sequence[str]], most: int | None = None) -> str:
    """Columns of equal width; a column is right-aligned if all its cells look like numbers.

    Examples
    --------
    >>> print(table(["name", "x"], [["a", "1.5"], ["bb", "10"]]))
    name    x
    ----  ---
    a     1.5
    bb     10
    """
    shown = [[clean(cell) for cell in row] for row in (rows if most is None else rows[:most])]
    cells = [list(header), *shown]
    widths = [max(_width(row[i]) for row in cells) for i in range(len(header))]
    right = [bool(shown) and all(_is_number(row[i]) for row in shown) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        padded = (_pad(cell, width, to_right) for cell, width, to_right in zip(row, widths, right, strict=True))
        return "  ".join(padded).rstrip()

    out = [line(header), "  ".join("-" * width for width in widths), *map(line, shown)]
    if most is not None and len(rows) > most:
        out.append(f"… and {len(rows) - most:,} more")
    return "\n".join(out)


def clean(cell: str) -> str:
    r"""The cell without characters that control, reorder or break lines, so that a name cannot steer a terminal.

    Examples
    --------
    >>> clean("red: \x1b[31m, new line: \u2028")
    'red: �[31m, new line: �'
    """
    return "".join(c if not _steers(c) else "\N{REPLACEMENT CHARACTER}" for c in str(cell))


def _steers(character: str) -> bool:
    kind = unicodedata.category(character)
    return kind[0] == "C" or kind in ("Zl", "Zp")


def command(*words: str) -> str:
    """A command line to paste into a shell.

    Examples
    --------
    >>> command("simspec", "show", "my runs/first")
    "simspec show 'my runs/first'"
    """
    return shlex.join(map(clean, words))


def number(value: float | None, digits: int = 4) -> str:
    """A figure with ``digits`` decimals; integers without, and a dash for what does not exist.

    Examples
    --------
    >>> number(1.98079), number(3), number(float("nan"))
    ('1.9808', '3', '–')
    """
    if value is None or value != value:
        return "–"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "-∞"
    if isinstance(value, int):
        return str(value)
    value = value + 0.0 if abs(value) >= 0.5 * 10.0**-15 else 0.0  # no "-0.0000"
    return f"{value:.{digits}g}" if value != 0.0 and abs(value) < 10.0**-digits else f"{value:.{digits}f}"


def plural(count: int, word: str) -> str:
    """``1 point``, ``2 points``.

    Examples
    --------
    >>> plural(1, "point"), plural(12_000, "point")
    ('1 point', '12,000 points')
    """
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def kappa_set(kappas: Sequence[int]) -> str:
    """Sorted κ with runs contracted.

    Examples
    --------
    >>> kappa_set([3, 4, 5, 8])
    '3-5, 8'
    """
    runs: list[list[int]] = []
    for kappa in sorted(kappas):
        if runs and kappa == runs[-1][-1] + 1:
            runs[-1].append(kappa)
        else:
            runs.append([kappa])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _is_number(cell: str) -> bool:
    return cell != "" and all(c in "0123456789.,-+–∞%e×[] " for c in cell)


def _width(cell: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cell)


def _pad(cell: str, width: int, to_right: bool) -> str:
    gap = " " * (width - _width(cell))
    return gap + cell if to_right else cell + gap
