"""Which texts does every Python have, so that a pair of models can be trained anywhere without a download?"""

from __future__ import annotations

import ast
import functools
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

from simspec.model.errors import ParameterError, did_you_mean, shown

MODULES = (
    "argparse", "calendar", "configparser", "csv", "dataclasses", "difflib", "fractions", "ftplib", "gettext",
    "heapq", "inspect", "ipaddress", "optparse", "pdb", "pickle", "pickletools", "platform", "plistlib", "pprint",
    "random", "shutil", "smtplib", "socket", "statistics", "subprocess", "tarfile", "tempfile", "textwrap",
    "threading", "tokenize", "traceback", "typing", "uuid",
)  # fmt: skip
"""Modules in plain Python that every CPython from 3.11 on carries as source, slim installations too."""
LARGEST_TEXT = 64 * 2**20


@functools.lru_cache(maxsize=4)
def shipped_text(name: str) -> str:
    """One of the texts that come with Python itself.

    Parameters
    ----------
    name : {"pydoc", "code", "docstrings"}
        ``"pydoc"``: the language reference behind ``help()``.  ``"code"``: the statements of `MODULES`, without
        comments and docstrings.  ``"docstrings"``: what they say in words, docstrings only.

    Returns
    -------
    str
        It differs a little from one Python version to the next.

    Raises
    ------
    ParameterError
        There is no text of that name, or this Python lacks its source files.

    Examples
    --------
    >>> "while" in shipped_text("code")
    True
    """
    if name not in TEXTS:
        raise ParameterError("shipped", f"shipped = {shown(name)} is no text{did_you_mean(name, TEXTS)}")
    return TEXTS[name]()


def text_of_file(path: Path) -> str:
    """A user's own text; `ParameterError` for ``text`` where it cannot be read as UTF-8.

    Examples
    --------
    >>> text_of_file(Path("no-such-file"))
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: text = no-such-file: cannot be read (No such file or directory)
    """
    try:
        if path.stat().st_size > LARGEST_TEXT:
            raise ParameterError("text", f"text = {path}: is larger than {LARGEST_TEXT:,} bytes; allowed: a text")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ParameterError("text", f"text = {path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise ParameterError("text", f"text = {path}: byte {error.start} is not UTF-8; allowed: a text") from None


def _pydoc() -> str:
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise ParameterError("shipped", 'shipped = "pydoc": this Python has no pydoc_data') from None
    return "\n\n".join(topics[name] for name in sorted(topics))


def _code() -> str:
    return "\n".join(ast.unparse(tree) for tree in map(_without_docstrings, _trees()))


def _docstrings() -> str:
    return "\n\n".join(text for tree in _trees() for text in _said(tree))


TEXTS: dict[str, Callable[[], str]] = {"pydoc": _pydoc, "code": _code, "docstrings": _docstrings}
"""Name → text; a further one is a line here."""


def _trees() -> Iterator[ast.Module]:
    for name in MODULES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            raise ParameterError(
                "shipped", f"this Python has no source of the module {name}; allowed: a text of your own"
            )
        yield ast.parse(Path(spec.origin).read_bytes())


Documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _said(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, Documented) and (text := ast.get_docstring(node)):
            yield text


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, Documented) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree
