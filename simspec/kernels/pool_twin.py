"""Drafts out of the text itself in plain Python, to be read: equal words in, equal integers out, bit for bit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

from simspec.kernels.lower_schemes import TokenPool
from simspec.kernels.pool import COPY, FOLLOW, GUESSES
from simspec.kernels.token_tables import Lookup
from simspec.kernels.words import GOLD, LANES, MIX_1, MIX_2

_MASK = 2**64 - 1


def pool_counts(form: TokenPool, keys: np.ndarray, chunk: int, lanes: int, rounds: int) -> np.ndarray:
    """``out[lane, kind]`` = rounds of each kind: one text per lane, cut into rounds by what the memory got right."""
    out = np.zeros((lanes, len(form.kinds)), np.int64)
    for lane in range(lanes):
        address = LANES * chunk + lane
        base = _base(keys, address)
        first = bisect_right(form.start.tolist(), _word(base, 0) >> 1)
        if form.rule == FOLLOW:
            kinds = _following(form, base, first)
        elif form.rule == COPY:
            kinds = _copying(form, base, first)
        else:
            kinds = _verifying(form, base, _base(keys, address + GUESSES), first)
        for played in range(form.skipped + rounds):
            kind = next(kinds)
            out[lane, kind] += played >= form.skipped
    return out


def _following(form: TokenPool, base: int, here: int) -> Iterator[int]:
    """Token by token what followed it when it was last emitted."""
    memory, place = dict[int, int](), 1
    while True:
        draft, token = list[int](), here
        while len(draft) < form.kappa and token in memory:
            token = memory[token]
            draft.append(token)
        emitted = _round(form, base, place, here, [draft])
        for token in emitted:
            memory[here], here = token, token
        place += len(emitted)
        yield len(draft) * (form.kappa + 1) + len(emitted) - 1


def _copying(form: TokenPool, base: int, here: int) -> Iterator[int]:
    """What followed the last tokens of the text, the longest match first."""
    longest, shortest, memory, earliest = form.numbers
    text, before = [here], 0
    while True:
        seen = text[-memory:]
        draft = list[int]()
        for length in range(min(longest, len(seen) - 1), shortest - 1, -1):
            places = [i for i in range(len(seen) - length) if seen[i : i + length] == seen[len(seen) - length :]]
            if places:
                source = (places[0] if earliest else places[-1]) + length
                draft = seen[source : source + form.kappa]
                break
        emitted = _round(form, base, len(text), text[-1], [draft])
        text += emitted
        yield (before * (form.kappa + 1) + len(draft)) * (form.kappa + 1) + len(emitted) - 1
        before = int(len(draft) > 0)


def _verifying(form: TokenPool, base: int, guesses: int, here: int) -> Iterator[int]:
    """All n-grams known for the last token side by side."""
    most, window = form.numbers
    text, pool, played = [here], dict[int, list[tuple[int, ...]]](), 0

    def remember(line: list[int], first: int) -> None:
        own = pool.setdefault(line[first], [])
        gram = tuple(line[first + 1 : first + 1 + form.kappa])
        if gram in own:
            own.remove(gram)
        own.append(gram)
        del own[:-most]

    while True:
        drafts = list(pool.get(text[-1], []))
        emitted = _round(form, base, len(text), text[-1], drafts)
        if form.kappa > 0:
            line, seed = [text[-1]], _word(guesses, played)
            if window > 0:
                for i in range(window + form.kappa - 1):
                    line.append(_draw(form.guess, line[-1], _word(seed, i)))
            for i in range(window):
                remember(line, i)
            old = len(text)
            text += emitted
            for end in range(max(old, form.kappa), len(text)):
                remember(text, end - form.kappa)
        else:
            text += emitted
        played += 1
        yield len(drafts) * (form.kappa + 1) + len(emitted) - 1


def _round(form: TokenPool, base: int, place: int, here: int, drafts: Sequence[Sequence[int]]) -> list[int]:
    """Tokens of a round: the target's own, as long as a draft agrees, and the one that ends it."""
    emitted = list[int]()
    while True:
        token = _draw(form.target, here, _word(base, place + len(emitted)))
        at = len(emitted)
        emitted.append(token)
        here = token
        drafts = [draft for draft in drafts if at < len(draft) and draft[at] == token]
        if not drafts:
            return emitted


def _draw(law: Lookup, context: int, word: int) -> int:
    return bisect_right(law.cumulative[context].tolist(), word >> 1)


def _mix(z: int) -> int:
    z = (z ^ (z >> 30)) * MIX_1 & _MASK
    z = (z ^ (z >> 27)) * MIX_2 & _MASK
    return z ^ (z >> 31)


def _base(keys: np.ndarray, address: int) -> int:
    return _mix((int(keys[4]) + GOLD * address) & _MASK)


def _word(base: int, index: int) -> int:
    return _mix((base + GOLD * (index + 1)) & _MASK)
