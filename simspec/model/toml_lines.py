"""On which line of a TOML file does a key stand?  `tomllib` reads values but keeps no positions."""

from __future__ import annotations

import re

_KEY = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*=""")
_TABLE = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?")


def key_lines(text: str) -> dict[str, int]:
    """Dotted key → 1-based line.  Entries of ``[[process]]`` are ``process[0]``, ``process[1]``, …

    Examples
    --------
    >>> key_lines('name = "x"\\n[process]\\nalpha = 0.7\\n')
    {'name': 1, 'process': 2, 'process.alpha': 3}
    """
    lines: dict[str, int] = {}
    prefix, counts, depth = "", {}, 0  # type: str, dict[str, int], int
    for number, raw in enumerate(_without_strings(text).split("\n"), start=1):
        if depth == 0 and (table := _TABLE.match(raw)):
            prefix = _plain(table.group(1))
            if raw.lstrip().startswith("[["):
                counts[prefix] = counts.get(prefix, -1) + 1
                prefix = f"{prefix}[{counts[prefix]}]"
            lines.setdefault(prefix, number)
            continue
        if depth == 0 and (key := _KEY.match(raw)):
            name = _plain(key.group(1))
            lines.setdefault(f"{prefix}.{name}" if prefix else name, number)
        depth = max(0, depth + sum(map(raw.count, "[{")) - sum(map(raw.count, "]}")))
    return lines


def _plain(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))


def _without_strings(text: str) -> str:
    """Blank comments and the inside of string *values*, keeping every line break where it was."""
    pattern = re.compile(r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL)

    def blank(match: re.Match[str]) -> str:
        token = match.group(0)
        if token.startswith("#"):
            return ""
        if "\n" not in token and re.match(r"\s*(?:=|\.|\])", text[match.end() : match.end() + 8]):
            return token  # a quoted key
        return '""' + "\n" * token.count("\n")

    return pattern.sub(blank, text)
