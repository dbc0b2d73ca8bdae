"""Token-level speculative sampling in plain Python, to be read: equal words in, equal integers out, bit for bit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from simspec.kernels.sampling import ACCEPTED, BONUS, CORRECTED
from simspec.kernels.token_tables import BlockTables, Lookup, TokenTables
from simspec.kernels.words import GOLD, LANES
from simspec.kernels.words_twin import aside_word, mixed

_MASK = 2**64 - 1


def _word(base: int, index: int) -> int:
    """Word ``index`` of a round."""
    return mixed((base + GOLD * (index + 1)) & _MASK)


def _above(thresholds: np.ndarray, word: int) -> int:
    """Number of the interval of the distribution function in which 63 bits of a word fall."""
    return bisect_right(thresholds.tolist(), word >> 1)


def _draw(law: Lookup, context: int, word: int) -> int:
    return _above(law.cumulative[context], word)


def _unit(word: int) -> float:
    """A number in [0, 1) from the 53 high bits."""
    return float(word >> 11) * 2.0**-53


def count_sampled(
    tables: TokenTables, keys: np.ndarray, chunk: int, lanes: int, skipped: int, rounds: int, kappa: int,
    tokens: np.ndarray, accepted: np.ndarray,
) -> None:  # fmt: skip
    """The token rule: Leviathan, Kalman, Matias (2023), Algorithm 1."""
    for lane in range(lanes):
        address = LANES * chunk + lane
        context = _above(tables.start, aside_word(keys, address, 0))
        for played in range(skipped + rounds):
            here, at = aside_word(keys, address, played + 1), context
            emitted, corrected = list[tuple[int, int, int]](), False
            while len(emitted) < kappa and not corrected:
                j = len(emitted)
                token = _draw(tables.draft, at, _word(here, 2 * j + 1))
                if _word(here, 2 * j + 2) >> 1 < int(tables.accept[at, token]):
                    emitted.append((ACCEPTED, at, token))
                    at = _next(tables.draft, token)
                else:
                    corrected = True
            law = tables.residual if corrected else tables.target
            last = _draw(law, at, _word(here, 0))
            emitted.append((CORRECTED if corrected else BONUS, at, last))
            context = _next(tables.draft, last)
            if played >= skipped:
                _enter(emitted, lane, tokens, accepted)


def count_blocks(
    tables: BlockTables, keys: np.ndarray, chunk: int, lanes: int, skipped: int, rounds: int, kappa: int,
    tokens: np.ndarray, accepted: np.ndarray,
) -> None:  # fmt: skip
    """Block verification: Sun et al. (2025), Algorithm 2."""
    for lane in range(lanes):
        address = LANES * chunk + lane
        context = _above(tables.start, aside_word(keys, address, 0))
        for played in range(skipped + rounds):
            here = aside_word(keys, address, played + 1)
            path, shares, contexts, kept = list[tuple[int, int, int]](), [1.0], [context], 0
            for i in range(kappa):
                token = _draw(tables.draft, contexts[i], _word(here, 2 * i + 1))
                share = min(shares[i] * float(tables.ratio[contexts[i], token]), 1.0)
                path.append((ACCEPTED, contexts[i], token))
                shares.append(share)
                contexts.append(_next(tables.draft, token))
                chance = share if i + 1 == kappa or share == 0.0 else _passes(tables, contexts[i + 1], share)
                if _unit(_word(here, 2 * i + 2)) < chance:
                    kept = i + 1
                if share == 0.0:
                    break
            at = contexts[kept]
            owed = None if kept == kappa else _owed_token(tables, at, shares[kept], _unit(_word(here, 0)))
            last = _draw(tables.target, at, _word(here, 0)) if owed is None else owed
            emitted = [*path[:kept], (BONUS if kept == kappa else CORRECTED, at, last)]
            context = _next(tables.draft, last)
            if played >= skipped:
                _enter(emitted, lane, tokens, accepted)


def _passes(tables: BlockTables, context: int, share: float) -> float:
    """Chance that a prefix with this share is kept by its own verdict: m/(m + 1 − t)."""
    mass = _masses(tables, context, share)[-1]
    return 1.0 if share >= 1.0 else mass / (mass + (1.0 - share))


def _masses(tables: BlockTables, context: int, share: float) -> list[float]:
    """Mass of (share·p − q)⁺ in the first 0, 1, 2, … tokens by ascending q/p."""
    places = bisect_left(tables.limits[context].tolist(), share)
    return [share * float(p) - float(q) for p, q in zip(*tables.below[:, context, : places + 1], strict=True)]


def _owed_token(tables: BlockTables, context: int, share: float, unit: float) -> int | None:
    """A token of (share·p − q)⁺; None if it has no mass."""
    masses = _masses(tables, context, share)
    if masses[-1] <= 0.0:
        return None
    place = min(bisect_right(masses[1:], unit * masses[-1]), len(masses) - 2)
    return int(tables.order[context, place])


def _next(law: Lookup, token: int) -> int:
    """The context a token leaves: itself in a chain."""
    return token if len(law.cumulative) > 1 else 0


def _enter(emitted: list[tuple[int, int, int]], lane: int, tokens: np.ndarray, accepted: np.ndarray) -> None:
    for how, context, token in emitted:
        tokens[how, context, token] += 1
    accepted[lane, len(emitted) - 1] += 1
