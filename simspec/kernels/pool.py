"""Drafts out of the text itself: what followed a token, or the last few, before; the target draws and decides.

Words: word i of lane l in chunk c is that of the address 64·c + l, 63 bits of it against cumulative thresholds: the
i-th token of the lane's text, whatever κ and whatever is remembered.  So a scheme changes how the text is cut into
rounds, never the text.  Guesses of round r are words of the seed at word r of the address 2⁶³ + 64·c + l.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.sampling import first_above, pick
from simspec.kernels.words import LANES, aside, word_of

_U = np.uint64
UNKNOWN = -1
FOLLOW, COPY, GRAMS = 0, 1, 2
"""What is remembered: the last token after each, the last tokens of the text, n-grams by their first token."""
GUESSES = 2**63
"""Added to the address of a lane's text: that of its guesses."""


@njit
def count_pool(
    keys, chunk, lanes, skipped, rounds, kappa, rule, numbers, start, target, guide, shift, guess, guess_guide, counts
):  # fmt: skip
    """``counts[lane, kind]`` += rounds; the first ``skipped`` of a lane are not counted.  Kinds: `simspec.model.pool`.

    Parameters
    ----------
    rule, numbers
        ``FOLLOW``, none; ``COPY``, longest and shortest match, tokens remembered, 1 if the earliest match is copied;
        ``GRAMS``, n-grams kept per token, n-grams guessed per round.
    start, target, guess : uint64 (tokens,), (tokens, tokens), (tokens, tokens)
        Cumulative thresholds of 63 bits: the first token of a text, the next one by the last, the next one guessed.
    guide, guess_guide, shift
        As in `simspec.kernels.token_tables.Lookup`.
    """
    for lane in range(lanes):
        address = _U(LANES * chunk + lane)
        base = aside(keys, address)
        here = first_above(start, word_of(base, 0) >> _U(1))
        if rule == FOLLOW:
            follow_lane(base, here, skipped, rounds, kappa, target, guide, shift, counts[lane])
        elif rule == COPY:
            copy_lane(base, here, skipped, rounds, kappa, numbers, target, guide, shift, counts[lane])
        else:
            laws = (target, guide, shift, guess, guess_guide)
            grams_lane(
                base, aside(keys, address + _U(GUESSES)), here, skipped, rounds, kappa, numbers, laws, counts[lane]
            )


@njit
def follow_lane(base, here, skipped, rounds, kappa, target, guide, shift, counts):
    """Token by token what followed it when it was last emitted."""
    last_seen = np.full(target.shape[0], UNKNOWN, np.int64)
    place = 1
    for played in range(skipped + rounds):
        drafted, token = 0, here
        while drafted < kappa and last_seen[token] != UNKNOWN:
            token = last_seen[token]
            drafted += 1
        accepted, judging = 0, True
        while judging:  # a token of the draft, or the one that ends the round
            following = pick(target, guide, shift, here, word_of(base, place))
            judging = accepted < drafted and following == last_seen[here]
            last_seen[here] = following
            here = following
            place += 1
            accepted += np.int64(judging)
        if played >= skipped:
            counts[drafted * (kappa + 1) + accepted] += 1


@njit
def copy_lane(base, here, skipped, rounds, kappa, numbers, target, guide, shift, counts):
    """What followed the last tokens, the longest match first, within the tokens remembered."""
    longest, shortest, memory, earliest = numbers
    text = np.empty(2 * memory + kappa + 1, np.int64)
    text[0] = here
    size, place, before = 1, 1, 0
    for played in range(skipped + rounds):
        if size + kappa + 1 > text.size:
            kept = min(size, memory)
            for i in range(kept):
                text[i] = text[size - kept + i]
            size = kept
        source = matched(text, max(size - memory, 0), size, longest, shortest, earliest)
        drafted = min(kappa, size - source)
        accepted, judging = 0, True
        while judging:
            here = pick(target, guide, shift, here, word_of(base, place))
            judging = accepted < drafted and here == text[source + accepted]
            text[size] = here
            size += 1
            place += 1
            accepted += np.int64(judging)
        if played >= skipped:
            counts[(before * (kappa + 1) + drafted) * (kappa + 1) + accepted] += 1
        before = np.int64(drafted > 0)


@njit
def matched(text, low, size, longest, shortest, earliest):
    """Where the copy starts: behind the last tokens as they stand before in ``text[low:size]``; ``size`` if nowhere.

    One pass over all places, told apart by how many tokens before them are those at the end of the text.
    """
    best, source = shortest - 1, size
    for i in range(1, size - low):
        end = low + i if earliest else size - i
        alike = 0
        while alike < longest and end - 1 - alike >= low and text[end - 1 - alike] == text[size - 1 - alike]:
            alike += 1
        if alike > best:
            best, source = alike, end
            if alike == longest:
                break
    return source


@njit
def grams_lane(base, guesses, here, skipped, rounds, kappa, numbers, laws, counts):
    """All n-grams known for the last token side by side; the one that agrees longest is kept."""
    target, guide, shift, guess, guess_guide = laws
    most, window = numbers[0], numbers[1]
    tokens = target.shape[0]
    pool = np.empty((tokens, most, max(kappa, 1)), np.int64)
    met = np.zeros((tokens, most), np.int64)  # when each of them was met last, by a clock of its own
    known = np.zeros(tokens, np.int64)
    clock = np.zeros(1, np.int64)
    candidates = np.empty((most, max(kappa, 1)), np.int64)
    alive = np.empty(most, np.bool_)
    line = np.empty(window + kappa + 1, np.int64)
    text = np.empty(2 * kappa + 2, np.int64)  # the last κ tokens before the round, and those of the round
    text[0] = here
    size, place = 1, 1
    for played in range(skipped + rounds):
        many, key, old = known[here], here, size
        for c in range(many):
            candidates[c] = pool[here, c]
            alive[c] = True
        accepted, judging = 0, True
        while judging:
            here = pick(target, guide, shift, here, word_of(base, place))
            judging = False
            for c in range(many):
                alive[c] = alive[c] and accepted < kappa and candidates[c, min(accepted, kappa - 1)] == here
                judging = judging or alive[c]
            text[size] = here
            size += 1
            place += 1
            accepted += np.int64(judging)
        if played >= skipped:
            counts[many * (kappa + 1) + accepted] += 1
        if kappa > 0:
            if window > 0:
                seed, line[0] = word_of(guesses, played), key
                for i in range(1, window + kappa):
                    line[i] = pick(guess, guess_guide, shift, line[i - 1], word_of(seed, i - 1))
                for i in range(window):
                    remember(pool, met, known, clock, line, i)
            for end in range(max(old, kappa), size):
                remember(pool, met, known, clock, text, end - kappa)
        kept = min(size, max(kappa, 1))
        for i in range(kept):
            text[i] = text[size - kept + i]
        size = kept


@njit
def remember(pool, met, known, clock, line, first):
    """Keep the n-gram that begins at a place of a line: in its place, a free one, or that of the one met longest ago.

    Nothing is moved: what is judged side by side has no order, only the least recent one has to be found.
    """
    key, many, length = line[first], known[line[first]], pool.shape[2]
    at, oldest = 0, 0
    while at < many:
        same = 0
        while same < length and pool[key, at, same] == line[first + 1 + same]:
            same += 1
        if same == length:
            break
        if met[key, at] < met[key, oldest]:
            oldest = at
        at += 1
    if at == pool.shape[1]:
        at = oldest
    elif at == many:
        known[key] = many + 1
    for i in range(length):
        pool[key, at, i] = line[first + 1 + i]
    clock[0] += 1
    met[key, at] = clock[0]
