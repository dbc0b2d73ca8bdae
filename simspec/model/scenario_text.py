"""What stands in a scenario file, and on which line?  Its text, or one line that says why it cannot be read."""

from __future__ import annotations

import re
from pathlib import Path

from simspec.model.errors import ParameterError, ScenarioError
from simspec.model.toml_lines import key_lines

LARGEST_FILE = 4_000_000
"""Bytes; reading TOML takes a second or so for each million."""
DEEPEST = 20
"""Names of a dotted key; the time that one takes grows with the square of them."""

_HINTS = (
    (r"[\u201c\u201d\u2018\u2019]", '; quotes must be straight: "text"'),
    (r"^\s*\[process\]", "; write [[process]] for each of several processes"),
    (r"\d\s*%", "; a rate is a fraction, 0.7 and not 70%"),
    (r"(?<![\w.])[-+]?\.\d", "; a TOML number needs a digit before the point, 0.5 and not .5"),
    (r"=\s*\d+,\d+\s*$", "; the decimal sign is a point, 0.5 and not 0,5"),
    (r"=\s*[A-Za-z]", '; a text needs quotes: "text"'),
)
"""What people write, and what TOML wants instead."""


def read_text(path: Path) -> str:
    """The text of a file; raises `ScenarioError`."""
    try:
        if path.is_dir():
            raise ScenarioError(f"{path}: is a folder; allowed: a TOML file (or, to look at results, simspec show)")
        if path.stat().st_size > LARGEST_FILE:
            raise ScenarioError(f"{path}: is larger than {LARGEST_FILE:,} bytes; allowed: a TOML scenario")
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ScenarioError(f"{path}: there is no such file") from None
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: is not text (byte {error.start} is not UTF-8); allowed: a TOML file") from None
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read ({error.strerror})") from None
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > DEEPEST and _is_deep(line):
            raise ScenarioError(f"{path}:{number}: a key of more than {DEEPEST} names; allowed: table.key")
    return text


def _is_deep(line: str) -> bool:
    head = line.split("=", 1)[0].strip()
    return head.count(".") > DEEPEST and head[0] != "#" and "," not in head and ("=" in line or head[0] == "[")


def syntax_error(path: str | Path, text: str, message: str) -> str:
    """One line for what is not TOML: where, what, and a hint if it is a usual slip."""
    at = re.search(r"\(at line (\d+), column (\d+)\)", message)
    lines = text.splitlines() or [""]
    number = int(at.group(1)) if at else len(lines)  # otherwise "(at end of document)"
    told = re.sub(r" [(]at .*", "", message)
    line = lines[min(number, len(lines)) - 1]
    hint = next((hint for pattern, hint in _HINTS if re.search(pattern, line)), "")
    return f"{path}:{number}: is not valid TOML: {told}{hint}"


def line_of(key: str, lines: dict[str, int]) -> int | None:
    """The line of a key, or of the table it stands in."""
    while key:
        for name in (key, f"{key}[0]"):
            if name in lines:
                return lines[name]
        key = key.rpartition(".")[0]
    return None


def at_its_line(path: str | Path, error: ParameterError, text: str) -> ScenarioError:
    """An error in a scenario, with its file and the line of its key."""
    line = line_of(error.key, key_lines(text))
    return ScenarioError(f"{path}{f':{line}' if line else ''}: {error.message}")
