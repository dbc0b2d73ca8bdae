"""Which prompts does a recording continue?  Twenty-four of our own in four kinds, or the lines of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simspec.model import ParameterError

CHAT = ("qa", "list")
"""Kinds that are asked through the chat template; the others are continued as they stand."""


@dataclass(frozen=True)
class Prompt:
    """A prompt, its kind, and whether it is a message of a chat."""

    kind: str
    text: str

    @property
    def chat(self) -> bool:
        """Whether the chat template goes around it."""
        return self.kind in CHAT


_PROSE = (
    "The ferry had not run for three winters, and the old woman who kept the landing",
    "When the bakery opened at five, the only light in the street came from",
    "Most rivers carry sand long before they carry boats. In the delta,",
    "My grandfather repaired clocks, but he never wore a watch because",
    "The committee met for the last time in a room that smelled of paint, and nobody",
    "On the second day of the climb the weather turned, and the guide decided",
)
_CODE = (
    'def moving_average(values, width):\n    """Return the mean of every window of the given width."""\n',
    "class Inventory:\n    def __init__(self):\n        self.items = {}\n\n    def add(self, name, count):\n",
    "import csv\n\ndef read_temperatures(path):\n    rows = []\n    with open(path) as handle:\n",
    "// Returns true if the string reads the same backwards.\nfunction isPalindrome(text) {\n",
    "#include <stdio.h>\n\nint main(void) {\n    int numbers[5] = {4, 8, 15, 16, 23};\n",
    "SELECT customers.name, SUM(orders.total) AS spent\nFROM customers\nJOIN orders ON",
)
_QUESTIONS = (
    "Why does bread rise, and what happens if the dough is left too long?",
    "How does a bicycle stay upright while it is moving?",
    "What is the difference between weather and climate?",
    "Explain to a twelve-year-old why the moon has phases.",
    "How can I remove a rust stain from a cotton shirt?",
    "What should I check before I buy a used piano?",
)
_LISTS = (
    "List ten things to pack for a week of hiking in the rain.",
    "Give me eight ideas for a birthday party on a small budget.",
    "List the steps to change a flat tyre on a car.",
    "Name seven habits that help a person sleep better, with one sentence about each.",
    "Write a shopping list for a vegetable soup for six people.",
    "List nine questions to ask on the first visit to a flat for rent.",
)
PROMPTS: tuple[Prompt, ...] = tuple(
    Prompt(kind, text)
    for row in zip(_PROSE, _CODE, _QUESTIONS, _LISTS, strict=True)
    for kind, text in zip(("prose", "code", "qa", "list"), row, strict=True)
)
"""Kinds take turns, so that any multiple of four requests holds them in equal shares."""


def read_prompts(path: str | Path | None, chat: bool = False) -> tuple[Prompt, ...]:
    """The prompts of a file, one per line, of kind ``prose`` (continued as they stand) or ``qa`` (chat); ours if None.

    Raises
    ------
    ParameterError
        The file cannot be read or holds no line with text, or ``chat`` without a file.

    Examples
    --------
    >>> len(read_prompts(None)), read_prompts(None)[2].chat
    (24, True)
    """
    if path is None:
        if chat:
            raise ParameterError("chat", "chat = True says how to read a file of prompts; allowed: only with prompts")
        return PROMPTS
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:  # ValueError: a name no file system takes, or bytes that are no text
        raise ParameterError("prompts", f"prompts = {str(path)!r}: cannot be read ({error})") from None
    found = tuple(Prompt("qa" if chat else "prose", line.strip()) for line in lines if line.strip())
    if not found:
        raise ParameterError("prompts", f"prompts = {str(path)!r} is empty; allowed: a text file, one prompt per line")
    return found
