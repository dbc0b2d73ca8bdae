"""Which options do several commands share?"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simspec.run.progress import Progress


WHERE = (
    "only what was run so: a column of the estimates and its value, e.g. policy=rolling, process=drift, c_d=0.1; may "
    "be given several times (default: everything)"
)


def add_json(command: argparse.ArgumentParser) -> None:
    """``--json``: stdout is JSON and nothing else."""
    command.add_argument("--json", action="store_true", help="print JSON on stdout and nothing else (default: text)")


def add_threads(command: argparse.ArgumentParser) -> None:
    """``--threads``: never changes a number."""
    command.add_argument(
        "--threads", type=positive, default=None, metavar="N",
        help="worker threads (default: SIMSPEC_THREADS, else all processors this process may use); changes no number",
    )  # fmt: skip


def threads_of(args: argparse.Namespace) -> int:
    """``--threads`` or its default, asked before anything is written, since the environment may say nonsense."""
    from simspec.run.processors import default_threads

    return args.threads or default_threads()


def add_quiet(command: argparse.ArgumentParser) -> None:
    """``--quiet``: no progress on stderr."""
    command.add_argument("--quiet", action="store_true", help="no progress lines on stderr (default: one every 1.5 s)")


@contextlib.contextmanager
def reading() -> Iterator[Progress]:
    """How far files are read is said on stderr inside, where it takes longer than a moment."""
    from simspec.evidence.reading import listening
    from simspec.run.progress import Progress

    with Progress() as progress, listening(progress.say):
        yield progress


def positive(text: str) -> int:
    """A whole number of at least 1."""
    value = whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is out of range; allowed: a whole number of at least 1")
    return value


def whole(text: str) -> int:
    """A whole number; 1e6 and 1_000_000 are ones."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
        if value == int(value):
            return int(value)
    except (ValueError, OverflowError):
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")


def number_or_word(text: str | None) -> int | str | None:
    """A whole number, or the name of a column."""
    try:
        return None if text is None else whole(text)
    except argparse.ArgumentTypeError:
        return text


def number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if value != value or value in (float("inf"), float("-inf")):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value


def share(text: str) -> float:
    """A number; with % behind it, a hundredth of it, as engines print rates."""
    return number(text[:-1]) / 100.0 if text.endswith("%") else number(text)


def numbers(flag: str, words: list[str], kind: Callable[[str], float] = number) -> list[float]:
    """Numbers separated by commas or spaces, as pasted from a log."""
    from simspec.model.errors import ParameterError

    try:
        return [kind(part) for part in " ".join(words).replace(",", " ").split()]
    except argparse.ArgumentTypeError as error:
        raise ParameterError(flag, f"--{flag}: {error}") from None


def scheme_keys(name: str, *words: str) -> dict[str, Any]:
    """The keys of a scheme written as ``NAME KEY=VALUE …``; lists as 0.4,0.2.

    Examples
    --------
    >>> scheme_keys("tree", "misses=.4,.2", "max_depth=6", "siblings=sequential")
    {'type': 'tree', 'misses': [0.4, 0.2], 'max_depth': 6, 'siblings': 'sequential'}
    """
    from simspec.model import ParameterError, Schemes

    if "=" in name:
        raise ParameterError("scheme", f"--scheme {name}: the name comes first, e.g. --scheme tree misses=.4,.2")
    keys: dict[str, Any] = {"type": name}
    fields = Schemes.fields(name)
    for word in words:
        key, given, text = word.partition("=")
        if not given or not key or not text:
            raise ParameterError("scheme", f"--scheme {name}: {word!r} is no KEY=VALUE, e.g. misses=.4,.2")
        if key in keys:
            raise ParameterError("scheme", f"--scheme {name}: {key} is given twice; allowed: once")
        value = _value(key, text)
        many = key in fields and "tuple[" in str(fields[key].annotation)
        keys[key] = [value] if many and not isinstance(value, list) else value
    return keys


def _value(key: str, text: str) -> Any:
    """A value as TOML writes it, or without its brackets, quotes and leading zeros."""
    import re
    import tomllib

    from simspec.model import ParameterError

    own = re.sub(r"(?<![\w.])\.(?=\d)", "0.", text.strip())
    for written in (own, f"[{own}]"):
        try:
            return tomllib.loads(f"value = {written}")["value"]
        except tomllib.TOMLDecodeError:
            continue
    if re.fullmatch(r"[A-Za-z_+-]+", own):
        return own
    raise ParameterError("scheme", f"--scheme: {key} = {text!r} cannot be read; allowed: 0.4, .4,.2, true or a word")


def print_json(value: Any) -> None:
    """One JSON document on stdout; numbers that do not exist become null."""
    json.dump(_finite(value), sys.stdout, ensure_ascii=True, indent=1, allow_nan=False)
    sys.stdout.write("\n")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value
