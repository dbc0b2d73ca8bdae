"""What is said to a user whose input cannot be used?  One line: where, what, what is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal


class SimspecError(Exception):
    """Base of every error a user can cause.  Its text is one complete line; the command line exits with 2."""


class ParameterError(SimspecError):
    """A parameter is outside its range, missing, unknown or of the wrong kind.

    Parameters
    ----------
    key : str
        Dotted name of the parameter, e.g. ``"alpha"`` or ``"process.rho"``; ``""`` if no single key is to blame.
    message : str
        What was wrong and what is allowed.
    """

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key
        self.message = message

    def __reduce__(self) -> tuple[type[ParameterError], tuple[str, str]]:
        """It comes back whole from another process."""
        return type(self), (self.key, self.message)

    def under(self, prefix: str) -> ParameterError:
        """The same error seen from one level up: ``alpha`` becomes ``process.alpha``."""
        key = f"{prefix}.{self.key}" if self.key else prefix
        text = self.message
        if self.key and text.startswith(self.key):
            text = f"{prefix}.{text}"
        return ParameterError(key, text)


class ScenarioError(SimspecError):
    """A scenario file cannot be used.  The text starts with ``file:line:`` where a line is to blame."""


class DatasetError(SimspecError):
    """A result folder cannot be read, written or continued."""


def shown(value: object) -> str:
    """A value as the user wrote it, cut to a readable length.

    Examples
    --------
    >>> from decimal import Decimal
    >>> shown(Decimal("0.1")), shown("x" * 100)[-1]
    ('0.1', '…')
    """
    try:
        text = str(value) if isinstance(value, Decimal) else repr(value)
    except ValueError:  # a whole number of thousands of digits
        text = "a number of thousands of digits"
    text = re.sub(r"Decimal\('([^']*)'\)", r"\1", text)
    return text if len(text) <= 60 else text[:59] + "…"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``'; did you mean "alpha"?'`` or, when nothing is near, the list of what is known.

    Examples
    --------
    >>> did_you_mean("alhpa", ["alpha", "rho"])
    '; did you mean "alpha"?'
    >>> did_you_mean("zzz", ["alpha", "rho"])
    '; known: alpha, rho'
    """
    names = list(known)
    import difflib

    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return f'; did you mean "{near[0]}"?' if near else f"; known: {', '.join(names)}"
