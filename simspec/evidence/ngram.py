"""What does an n-gram pair do, output position by output position and round by round?  Recorded as tables of traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from simspec.evidence.ngram_model import Floats, Ints, Pair, check_recording, drawn, tempered, train_pair
from simspec.evidence.words import DOMAIN, uniforms
from simspec.kernels.addressed import Words
from simspec.kernels.words import stream_keys
from simspec.model.errors import ParameterError, shown
from simspec.model.identity import digest

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[int, int], None]
"""Called with what is done and how much there is to do, in output positions or rounds."""
LONGEST_WINDOW = 64
_STEP = 2**20
"""Addresses of one request; output positions or rounds count inside it."""
_PROMPT = _STEP - 1


@dataclass(frozen=True, eq=False)
class Laws:
    """Both laws of one token in many requests, at the temperature asked for."""

    p: Floats
    q: Floats
    temperature: float

    @property
    def match(self) -> Ints:
        """Whether target and draft have the same most likely token."""
        return np.asarray(self.p.argmax(axis=1) == self.q.argmax(axis=1), np.int64)

    @property
    def alpha(self) -> Floats:
        """Σ min(p, q)."""
        return np.asarray(np.minimum(self.p, self.q).sum(axis=1))

    def draw(self, laws: Floats, words: Floats) -> Ints:
        """A token of each law: by chance, or the most likely one at T = 0."""
        return laws.argmax(axis=1) if self.temperature == 0.0 else drawn(laws, words)

    def chance(self, x: Ints) -> Floats:
        """min(1, p(x)/q(x)) of a draft token; at T = 0 whether it is the target's choice."""
        if self.temperature == 0.0:
            return np.asarray(x == self.p.argmax(axis=1), np.float64)
        rows = np.arange(len(x))
        return np.asarray(np.minimum(1.0, self.p[rows, x] / self.q[rows, x]))

    def coupled(self, y: Ints) -> Floats:
        """min(1, q(y)/p(y)) of an emitted token: the chance that the draft's token was accepted, given that y came."""
        if self.temperature == 0.0:
            return self.match.astype(np.float64)
        rows = np.arange(len(y))
        return np.asarray(np.minimum(1.0, self.q[rows, y] / self.p[rows, y]))


def record_ngram(
    text: str | Path | None = None,
    *,
    shipped: str = "pydoc",
    level: Literal["byte", "word"] = "word",
    target_order: int = 3,
    draft_order: int = 2,
    requests: int = 48,
    tokens: int = 256,
    temperature: float = 1.0,
    seed: int = 1,
    progress: Progress | None = None,
) -> pa.Table:
    """Dense acceptance of an n-gram pair: what would happen to a draft at every output position of the target's text.

    Parameters
    ----------
    text : str or Path, optional
        The text both models read, or its file.  Default: a text that comes with Python.
    shipped : {"pydoc", "code", "docstrings"}
        Which of those, without ``text``.
    level : {"byte", "word"}
        What a token is.
    target_order, draft_order : int
        1 to 5; the draft has read the first half of the text only.
    requests : int
        Texts to sample from the target, each after a prompt cut out of the text at random; 1 to 32,767.
    tokens : int
        Tokens per request, 1 to 32,767.
    temperature : float
        Of both models, 0 (the most likely token) or 0.01 to 100.
    seed : int
        0 ≤ seed < 2⁶⁴.  Pairs at several temperatures share their random numbers.
    progress : callable, optional
        Called with (positions done, positions in all).

    Returns
    -------
    pyarrow.Table
        One row per request and output position: ``request``, ``kind`` (the text), ``temperature``, ``position``,
        ``draft``, ``alpha`` = Σ min(p, q), ``match`` (same most likely token), ``accept`` (one draw x ~ q, accepted
        with probability min(1, p(x)/q(x)), independent of the text), ``entropy`` of p and ``kl`` = KL(q‖p) in nats,
        ``bc`` = Σ √(pq), ``tok_accept`` = min(1, q(y)/p(y)) of the token y emitted.  At T = 0 ``accept`` =
        ``tok_accept`` = ``match``, and the others compare the laws at T = 1.

    Raises
    ------
    ParameterError
        A parameter is out of range, or the text cannot be used.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Theorem 3.5, for α = Σ min(p, q); Witten and Bell (1991) for the models.

    Examples
    --------
    >>> table = record_ngram("to be or not to be that is the question " * 20, requests=2, tokens=3)
    >>> table.num_rows, table.column_names[:6]
    (6, ['request', 'kind', 'temperature', 'position', 'draft', 'alpha'])
    """
    check_recording(requests, tokens, temperature)
    pair = train_pair(text, shipped=shipped, level=level, target_order=target_order, draft_order=draft_order)
    keys = _keys(pair, seed)
    own = np.arange(requests)
    contexts = _prompts(pair, keys, own)
    columns = {name: np.empty((requests, tokens)) for name in _MEASURES}
    for position in range(tokens):
        laws = _laws(pair, contexts, temperature)
        words = [uniforms(keys, own * _STEP + position, index) for index in range(3)]
        emitted, draft = laws.draw(laws.p, words[0]), laws.draw(laws.q, words[1])
        accept = words[2] < laws.chance(draft)
        found = (laws.alpha, laws.match, accept, *_divergences(laws), laws.coupled(emitted))
        for name, measured in zip(_MEASURES, found, strict=True):
            columns[name][:, position] = measured
        contexts = np.column_stack([contexts, emitted])[:, 1:]
        if progress is not None:
            progress((position + 1) * requests, tokens * requests)
    grid = {"request": np.repeat(own, tokens), "position": np.tile(np.arange(tokens), requests)}
    flat = grid | {name: values.ravel() for name, values in columns.items()}
    return _table(pair, flat, temperature, seed, _DENSE)


def record_ngram_rounds(
    text: str | Path | None = None,
    *,
    shipped: str = "pydoc",
    level: Literal["byte", "word"] = "word",
    target_order: int = 3,
    draft_order: int = 2,
    requests: int = 48,
    tokens: int = 256,
    temperature: float = 1.0,
    seed: int = 1,
    kappa: int = 8,
    progress: Progress | None = None,
) -> pa.Table:
    """Real speculative rounds of an n-gram pair: drafts, verdicts, a corrected or a bonus token.

    Parameters
    ----------
    text, shipped, level, target_order, draft_order, requests, temperature, seed
        As in `record_ngram`.
    tokens : int
        A request ends when it has so many.
    kappa : int
        Drafts per round, 1 to 64; always all of them, also where fewer are still needed.
    progress : callable, optional
        Called with (tokens emitted, tokens in all).

    Returns
    -------
    pyarrow.Table
        One row per request and round: ``position`` (tokens before the round), ``accepted`` and ``emitted`` (after
        cutting at the end), ``accepted_full`` (before), ``examined``, ``ended`` (2 in the round that reaches the end,
        else 0), ``alpha_j`` and ``match_j`` of every draft; those after the rejection lie on a path that is not taken.

    Raises
    ------
    ParameterError
        As in `record_ngram`, or ``kappa`` is out of range.

    References
    ----------
    Leviathan, Kalman, Matias (2023), Algorithm 1.

    Examples
    --------
    >>> table = record_ngram_rounds("to be or not to be that is the question " * 20, requests=2, tokens=9, kappa=2)
    >>> int(np.asarray(table["emitted"]).sum())
    18
    """
    check_recording(requests, tokens, temperature)
    if not 1 <= kappa <= LONGEST_WINDOW:
        raise ParameterError("kappa", f"kappa = {shown(kappa)} is out of range; allowed: 1 to {LONGEST_WINDOW}")
    pair = train_pair(text, shipped=shipped, level=level, target_order=target_order, draft_order=draft_order)
    keys = _keys(pair, seed)
    own = np.arange(requests)
    contexts = _prompts(pair, keys, own)
    position, rows, round_ = np.zeros(requests, np.int64), [], 0
    while (open_ := np.flatnonzero(position < tokens)).size:
        addresses = own[open_] * _STEP + round_
        contexts[open_], played = _round(pair, contexts[open_], temperature, keys, addresses, kappa)
        emitted = np.minimum(played["accepted_full"] + 1, tokens - position[open_])
        accepted = np.minimum(played["accepted_full"], emitted)
        ended = np.where(position[open_] + emitted >= tokens, 2, 0)
        examined = np.minimum(accepted + 1, np.minimum(emitted, kappa))
        rows.append(
            {"request": open_, "round": np.full(open_.size, round_), "position": position[open_].copy()}
            | {"accepted": accepted, "examined": examined, "emitted": emitted, "ended": ended}
            | played
        )
        position[open_] += emitted
        round_ += 1
        if progress is not None:
            progress(int(position.sum()), tokens * requests)
    columns = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
    order = np.lexsort((columns["round"], columns["request"]))
    form = _ROUNDS | {f"{name}_{j}": kind for name, kind in _DRAFTED for j in range(1, kappa + 1)}
    return _table(pair, {name: values[order] for name, values in columns.items()}, temperature, seed, form)


def _round(
    pair: Pair, contexts: Ints, temperature: float, keys: Words, addresses: Ints, kappa: int
) -> tuple[Ints, dict[str, np.ndarray]]:
    """One round of every open request; words 2j + 1 and 2j + 2 serve draft j, word 0 the last token, for any κ."""
    rows, before = len(contexts), contexts.shape[1]
    path, last = np.column_stack([contexts, np.zeros((rows, kappa + 1), np.int64)]), np.zeros(rows, np.int64)
    accepted, alive = np.zeros(rows, np.int64), np.ones(rows, bool)
    columns: dict[str, np.ndarray] = {}
    for j in range(kappa):
        laws = _laws(pair, path[:, j : j + before], temperature)
        columns[f"alpha_{j + 1}"], columns[f"match_{j + 1}"] = laws.alpha, laws.match
        draft = laws.draw(laws.q, uniforms(keys, addresses, 2 * j + 1))
        kept = alive & (uniforms(keys, addresses, 2 * j + 2) < laws.chance(draft))
        ending = np.flatnonzero(alive & ~kept)
        if ending.size:
            here = Laws(laws.p[ending], laws.q[ending], temperature)
            left = here.p if temperature == 0.0 else np.maximum(here.p - here.q, 0.0)
            last[ending] = here.draw(left, uniforms(keys, addresses[ending], 0))
        path[:, before + j] = draft
        accepted, alive = accepted + kept, kept
    if alive.any():
        laws = _laws(pair, path[alive, kappa : kappa + before], temperature)
        last[alive] = laws.draw(laws.p, uniforms(keys, addresses[alive], 0))
    path[np.arange(rows), before + accepted] = last
    return np.take_along_axis(path, accepted[:, None] + 1 + np.arange(before), axis=1), columns | {
        "accepted_full": accepted
    }


def _laws(pair: Pair, contexts: Ints, temperature: float) -> Laws:
    p, q = pair.target.laws(contexts), pair.draft.laws(contexts)
    return Laws(tempered(p, temperature), tempered(q, temperature), temperature)


def _divergences(laws: Laws) -> tuple[Floats, Floats, Floats]:
    """Entropy of p, Σ √(pq), KL(q‖p)."""
    with np.errstate(divide="ignore", invalid="ignore"):  # a low temperature lets probabilities vanish
        log_p, log_q = np.log(laws.p), np.log(laws.q)
        entropy = -np.where(laws.p > 0.0, laws.p * log_p, 0.0).sum(axis=1)
        kl = np.where(laws.q > 0.0, laws.q * (log_q - log_p), 0.0).sum(axis=1)
    return np.asarray(entropy), np.asarray(np.sqrt(laws.p * laws.q).sum(axis=1)), np.asarray(kl)


def _keys(pair: Pair, seed: int) -> Words:
    if not 0 <= seed < 2**64:
        raise ParameterError("seed", f"seed = {shown(seed)} is out of range; allowed: 0 ≤ seed < 2⁶⁴")
    return stream_keys(seed, digest({"text": pair.text_sha256, "pair": pair.label}), DOMAIN)


def _prompts(pair: Pair, keys: Words, own: Ints) -> Ints:
    """The tokens before each output: a place of the text, as far back as the longer memory reaches."""
    memory = max(pair.target.order, pair.draft.order) - 1
    places = (uniforms(keys, own * _STEP + _PROMPT, 0) * (len(pair.tokens) - memory)).astype(np.int64)
    return np.asarray(pair.tokens[places[:, None] + np.arange(memory)], np.int64)


_MEASURES = ("alpha", "match", "accept", "entropy", "bc", "kl", "tok_accept")
_DENSE = {
    "request": "int16", "kind": "word", "temperature": "float32", "position": "int16", "draft": "word",
    "alpha": "float32", "match": "uint8", "accept": "uint8", "entropy": "float32", "bc": "float32", "kl": "float32",
    "tok_accept": "float32",
}  # fmt: skip
_ROUNDS = {
    "request": "int16", "kind": "word", "round": "int16", "position": "int16", "accepted": "uint8",
    "examined": "uint8", "emitted": "uint8", "ended": "uint8", "accepted_full": "uint8", "draft": "word",
    "temperature": "float32",
}  # fmt: skip
_DRAFTED = (("alpha", "float32"), ("match", "uint8"))


def _table(pair: Pair, columns: dict[str, np.ndarray], temperature: float, seed: int, form: dict[str, str]) -> pa.Table:
    """The columns in their order and types; what the pair was goes into the metadata of the table."""
    import platform

    import pyarrow as pa

    size = len(columns["request"])
    constant = {"kind": pair.name, "draft": pair.label, "temperature": np.full(size, temperature)}
    arrays = []
    for name, kind in form.items():
        if kind == "word":
            indices = pa.array(np.zeros(size, np.int8))
            arrays.append(pa.DictionaryArray.from_arrays(indices, [constant[name]]))
        else:
            arrays.append(pa.array(np.asarray(constant.get(name, columns.get(name))).astype(kind)))
    origin = {"seed": str(seed), "text_sha256": pair.text_sha256, "python": platform.python_version()}
    return pa.table(arrays, names=list(form)).replace_schema_metadata(origin)
