"""What does a real pair of language models do that needs no download?  Two n-gram models, and full laws at every token.

The target has the longer memory and has read the whole text; the draft has a shorter one and has read its first half.
Both give every token of the vocabulary a positive probability (Witten and Bell's interpolation), so that Σ min(p, q)
and the divergences are exact at every output position.  Speculative sampling with them is no model of acceptance but
the algorithm itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simspec.evidence.texts import shipped_text, text_of_file
from simspec.model.errors import ParameterError, shown

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WORDS_LIMIT = 4096
"""Words a vocabulary holds; rarer ones count as one further token."""
LONGEST_ORDER = 5
"""4097⁵ contexts still have a number below 2⁶³."""
DRAFT_SHARE = 0.5
"""Share of the text, from its beginning, that the draft has read."""


@dataclass(frozen=True, eq=False)
class _Level:
    """Counts behind contexts of one length; words and counts of context i lie at starts[i] … starts[i + 1] − 1."""

    contexts: Ints
    starts: Ints
    words: Ints
    counts: Ints

    @property
    def types(self) -> Ints:
        return np.diff(self.starts)

    @property
    def totals(self) -> Ints:
        return np.add.reduceat(self.counts, self.starts[:-1])


class NgramModel:
    """Next-token laws of order n: p_n(w|h) = (c(hw) + t(h) p_{n−1}(w|h'))/(c(h) + t(h)), p_0 uniform.

    c counts in the text, t(h) is the number of different tokens seen after h, and h' is h without its oldest token; a
    context never seen leaves p_{n−1}.

    Parameters
    ----------
    tokens : int array
        The text as token numbers, at least ``order`` of them.
    size : int
        Vocabulary size; every number below it has a positive probability everywhere.
    order : int
        Tokens an n-gram spans, 1 to 5; the law depends on the last order − 1 tokens.

    References
    ----------
    Witten and Bell (1991), method C, interpolated as in Chen and Goodman (1999), section 2.

    Examples
    --------
    >>> model = NgramModel(np.array([0, 1, 0, 1, 1]), size=2, order=2)
    >>> model.laws(np.array([[0]])).round(4)  # after 0 always came 1: (c, t) = (2, 1), and p_1(0) = (2 + 2·½)/(5 + 2)
    array([[0.1429, 0.8571]])
    """

    def __init__(self, tokens: Ints, size: int, order: int) -> None:
        if not 1 <= order <= LONGEST_ORDER:
            raise ParameterError("order", f"order = {shown(order)} is out of range; allowed: 1 to {LONGEST_ORDER}")
        if len(tokens) <= order:
            raise ParameterError("text", f"the text has {len(tokens)} tokens; allowed: more than the order, {order}")
        self.size, self.order = size, order
        counts = np.bincount(tokens, minlength=size)
        types = int((counts > 0).sum())
        self._first: Floats = (counts + types / size) / (len(tokens) + types)
        self._levels = [_count(tokens, size, span) for span in range(2, order + 1)]

    def laws(self, contexts: Ints) -> Floats:
        """Next-token law of each row of the last order − 1 tokens; shape (rows, size)."""
        laws = np.repeat(self._first[None, :], len(contexts), axis=0)
        for length, level in enumerate(self._levels, start=1):
            keys = _keys(contexts[:, contexts.shape[1] - length :], self.size)
            at = np.minimum(np.searchsorted(level.contexts, keys), len(level.contexts) - 1)
            known = np.flatnonzero(level.contexts[at] == keys)
            at = at[known]
            types, both = level.types[at], level.types[at] + level.totals[at]
            laws[known] *= (types / both)[:, None]
            inside = np.arange(types.sum()) - np.repeat(np.cumsum(types) - types, types)
            entries = np.repeat(level.starts[at], types) + inside
            laws[np.repeat(known, types), level.words[entries]] += level.counts[entries] / np.repeat(both, types)
        return laws


def _keys(rows: Ints, size: int) -> Ints:
    keys = np.zeros(len(rows), np.int64)
    for column in rows.T:
        keys = keys * size + column
    return keys


def _count(tokens: Ints, size: int, span: int) -> _Level:
    grams = np.lib.stride_tricks.sliding_window_view(tokens, span)
    keys, counts = np.unique(_keys(grams, size), return_counts=True)
    contexts, starts = np.unique(keys // size, return_index=True)
    return _Level(contexts, np.append(starts, len(keys)), keys % size, counts)


@dataclass(frozen=True, eq=False)
class Pair:
    """A target and a draft that have read the same text.

    Attributes
    ----------
    target, draft : NgramModel
    tokens : int array
        The text; prompts are cut out of it.
    name : str
        What the text is, the ``kind`` of a trace.
    label : str
        What the draft is, e.g. ``"word2of3"``: a draft of order 2 for a target of order 3, over words.
    text_sha256 : str
        Of the text, which differs between Python versions.
    """

    target: NgramModel
    draft: NgramModel
    tokens: Ints
    name: str
    label: str
    text_sha256: str


def train_pair(
    text: str | Path | None = None,
    *,
    shipped: str = "pydoc",
    level: Literal["byte", "word"] = "word",
    target_order: int = 3,
    draft_order: int = 2,
) -> Pair:
    """Train a target and a draft on a text.

    Parameters
    ----------
    text : str or Path, optional
        The text itself, or the file that holds it (UTF-8).  Default: a text that comes with Python.
    shipped : {"pydoc", "code", "docstrings"}
        Which of those, without ``text``.
    level : {"byte", "word"}
        What a token is: a byte; or a word, a punctuation mark or a run of line ends (the 4,096 most frequent ones, any
        other counts as one further token).
    target_order, draft_order : int
        1 to 5.  The draft has read the first half of the text only.

    Returns
    -------
    Pair

    Raises
    ------
    ParameterError
        The text cannot be read or is too short, or an order or level is out of range.

    Examples
    --------
    >>> pair = train_pair("a b a c " * 50, draft_order=1)
    >>> pair.target.size, pair.label, int(pair.target.laws(np.array([[0, 1]])).argmax())  # after "a b" comes "a"
    (3, 'word1of3', 0)
    """
    import hashlib

    if level not in ("byte", "word"):
        raise ParameterError("level", f'level = {shown(level)} is unknown; allowed: "byte", "word"')
    words, name = (
        (shipped_text(shipped), shipped)
        if text is None
        else (text_of_file(text), text.stem)
        if isinstance(text, Path)
        else (text, "text")
    )
    tokens, size = _tokens(words, level)
    half = tokens[: int(len(tokens) * DRAFT_SHARE)]
    models = []
    for key, own, order in (("target_order", tokens, target_order), ("draft_order", half, draft_order)):
        try:
            models.append(NgramModel(own, size, order))
        except ParameterError as error:
            raise ParameterError(key, error.message.replace("order =", f"{key} =")) from None
    sha = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
    return Pair(models[0], models[1], tokens, name, f"{level}{draft_order}of{target_order}", sha)


def _tokens(text: str, level: str) -> tuple[Ints, int]:
    """Token numbers in order of frequency, and the size of the vocabulary."""
    if level == "byte":
        return np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8).astype(np.int64), 256
    from collections import Counter

    found = re.findall(r"\w+|[^\w\s]|\n+", text)
    counts = Counter(found)
    known = {word: i for i, (word, _) in enumerate(counts.most_common(WORDS_LIMIT))}
    other = len(known)
    return np.array([known.get(word, other) for word in found], np.int64), other + (len(counts) > other)


def tempered(laws: Floats, temperature: float) -> Floats:
    """Laws ∝ p^(1/T), row by row; those of T = 1 at T = 0, where the most likely token is taken instead.

    Examples
    --------
    >>> tempered(np.array([[0.25, 0.75]]), 0.5)
    array([[0.1, 0.9]])
    """
    if temperature in (0.0, 1.0):
        return laws
    raised = np.power(laws / laws.max(axis=1, keepdims=True), 1.0 / temperature)  # the largest must not vanish
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def drawn(laws: Floats, uniforms: Floats) -> Ints:
    """One token of each row by inversion; the laws need not be normalised.

    Examples
    --------
    >>> drawn(np.array([[1.0, 3.0], [1.0, 3.0]]), np.array([0.2, 0.3])).tolist()
    [0, 1]
    """
    running = np.cumsum(laws, axis=1)
    limits = uniforms * running[:, -1]
    found = [int(np.searchsorted(row, limit, "right")) for row, limit in zip(running, limits, strict=True)]
    return np.asarray(np.minimum(np.array(found, np.int64), laws.shape[1] - 1))


def check_recording(requests: int, tokens: int, temperature: float) -> None:
    """Raise `ParameterError` unless so much can be recorded.

    Examples
    --------
    >>> check_recording(48, 0, 1.0)
    Traceback (most recent call last):
    ...
    simspec.model.errors.ParameterError: tokens = 0 is out of range; allowed: 1 to 32767
    """
    for key, value in (("requests", requests), ("tokens", tokens)):
        if not 1 <= value <= 32_767:
            raise ParameterError(key, f"{key} = {shown(value)} is out of range; allowed: 1 to 32767")
    if not 0.0 <= temperature <= 100.0 or 0.0 < temperature < 0.01:
        raise ParameterError(
            "temperature", f"temperature = {shown(temperature)} is out of range; allowed: 0, or 0.01 to 100"
        )
