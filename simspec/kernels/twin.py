"""The same kernels in plain Python, to be read: equal words in, equal integers out, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from simspec.kernels.batch_twin import batch_tally
from simspec.kernels.cells import CELL_BITS, CELLS, PER_WORD
from simspec.kernels.forms import Dense, Form, FreshRow, Policy, Replay, Requests, Steps, Urn
from simspec.kernels.lane_twin import Lane
from simspec.kernels.lower_schemes import Grown, Machine, SchemeForm, TokenPool
from simspec.kernels.pool_twin import pool_counts
from simspec.kernels.tally import SUMS, AtMarks, Tally, fold
from simspec.kernels.words import GENERATORS, GOLD, LANES
from simspec.kernels.words_twin import MASK, aside_word, first_above, generator_words, lane_words, mixed


def fresh_runs(form: FreshRow, keys: np.ndarray, first: int, windows: np.ndarray) -> np.ndarray:
    """``out[i, g]`` = windows of chunk ``first`` + i whose run is g; the last bin holds all longer ones."""
    out = np.zeros((len(windows), len(form.cells) + 1), np.int64)
    for i, many in enumerate(windows):
        for run in fresh_windows(form, keys, first + i, int(many)):
            out[i, run] += 1
    return out


def fresh_windows(form: FreshRow, keys: np.ndarray, chunk: int, windows: int) -> Iterator[int]:
    """Uncapped runs of the windows of a chunk: twelve bits say the cell, 52 more where a threshold lies in the cell."""
    met = [0] * CELLS
    pieces = _pieces([generator_words(keys, chunk, j) for j in range(GENERATORS)])
    for _ in range(windows):
        cell = next(pieces)
        low = aside_word(keys, CELLS * chunk + cell, met[cell]) >> CELL_BITS
        met[cell] += 1
        yield sum((cell, low) < (int(a), int(b)) for a, b in zip(form.cells, form.lows, strict=True))


def _pieces(generators: list[Iterator[int]]) -> Iterator[int]:
    while True:
        for generator in generators:
            word = next(generator)
            for piece in range(PER_WORD):
                yield word >> CELL_BITS * piece & CELLS - 1


def step_runs(form: Steps, keys: np.ndarray, chunk: int, lanes: int, rounds: int, kappa: int) -> np.ndarray:
    """``out[lane, a]`` = rounds with accepted length a of a hidden state that moves with every draft."""
    out = np.zeros((lanes, kappa + 1), np.int64)
    states = len(form.cells)
    for lane in range(lanes):
        words = lane_words(keys, chunk, lane)
        here = first_above(next(words), form.start)
        for _ in range(rounds):
            seed = next(words) << 32 | next(words)
            accepted, after = 0, form.after_full
            while accepted < kappa:
                cell = first_above(_draft_word(seed, accepted + 1), form.cells[here])
                here = cell % states
                if cell >= states:
                    after = form.after_reject
                    break
                accepted += 1
            out[lane, accepted] += 1
            here = first_above(_draft_word(seed, 0), after[here])
    return out


def scheme_counts(form: SchemeForm, keys: np.ndarray, chunk: int, lanes: int, rounds: int) -> np.ndarray:
    """``out[lane, kind]`` = rounds of each kind, as `simspec.kernels.play.scheme_counts`."""
    if isinstance(form, Machine):
        return machine_counts(form, keys, chunk, lanes, rounds)
    if isinstance(form, TokenPool):
        return pool_counts(form, keys, chunk, lanes, rounds)
    return grown_counts(form, keys, chunk, lanes, rounds)


def grown_counts(form: Grown, keys: np.ndarray, chunk: int, lanes: int, rounds: int) -> np.ndarray:
    """Trees that grow by confidence: name all nodes, sort them, keep the best, walk."""
    out = np.zeros((lanes, len(form.kinds)), np.int64)
    trees = form.trees
    for lane in range(lanes):
        words = lane_words(keys, chunk, lane)
        next(words)
        for _ in range(rounds):
            seed = next(words) << 32 | next(words)
            children, values = _named(form, seed)
            kept = sorted(values, key=lambda node: -values[node])[: trees.nodes]
            here, accepted = 0, 0
            while children.get(here):
                vector, own = children[here]
                rank = first_above(_round_value(seed, accepted) & 0xFFFFFFFF, form.cells[vector])
                if rank >= len(own) or own[rank] not in kept:
                    break
                here, accepted = own[rank], accepted + 1
            rejected = any(child in kept for child in children.get(here, (0, []))[1])
            out[lane, (len(kept) * (trees.depth + 1) + accepted) * 2 + rejected] += 1
    return out


def _named(form: Grown, seed: int) -> tuple[dict[int, tuple[int, list[int]]], dict[int, float]]:
    """Vector and children of every expanded node, and the product of confidences of every node; 0 is the root."""
    children: dict[int, tuple[int, list[int]]] = {}
    values: dict[int, float] = {}
    layer = [0]
    for _ in range(form.trees.depth):
        made = list[int]()
        for node in sorted(layer, key=lambda node: -values.get(node, 1.0))[: form.trees.breadth]:
            vector = first_above(_round_value(seed, len(children)) >> 32, form.law)
            own = list[int]()
            for confidence in form.confidences[vector]:
                if confidence == 0.0:
                    break
                own.append(len(values) + 1)
                values[own[-1]] = values.get(node, 1.0) * float(confidence)
            children[node] = vector, own
            made += own
        layer = made
    return children, values


def _round_value(seed: int, number: int) -> int:
    """Splitmix64 value ``number`` of the seed of a round."""
    return mixed((seed + GOLD * number) & MASK)


def machine_counts(form: Machine, keys: np.ndarray, chunk: int, lanes: int, rounds: int) -> np.ndarray:
    """``out[lane, kind]`` = rounds of each kind: a walk through the table of a scheme, one word per step."""
    out = np.zeros((lanes, len(form.kinds)), np.int64)
    for lane in range(lanes):
        words = lane_words(keys, chunk, lane)
        begin = first_above(next(words), form.start)
        for _ in range(rounds):
            seed = next(words) << 32 | next(words)
            here, step = begin, 0
            while here >= 0:
                here = int(form.follow[here, first_above(_draft_word(seed, step), form.cells[here])])
                step += 1
            end = -1 - here
            out[lane, form.kind_of[end]] += 1
            begin = int(form.after[end])
    return out


def _draft_word(seed: int, draft: int) -> int:
    """The 32 bits of a draft of a round (of the move between windows, for draft 0): a half of a splitmix64 value."""
    value = mixed((seed + GOLD * (draft // 2)) & MASK)
    return value & 0xFFFFFFFF if draft % 2 else value >> 32


def play(
    form: Form, keys: np.ndarray, chunk: int, lanes: int, length: int, kappa: int, policy: Policy | None = None
) -> Tally:
    """Tally of one chunk, as `simspec.kernels.play.play`."""
    if isinstance(form, Steps):
        return fold(step_runs(form, keys, chunk, lanes, length, kappa), kappa)
    if isinstance(form, Replay):
        return _replay(form, chunk, lanes, length, kappa)
    if isinstance(form, Dense):
        form = form.requests(chunk, lanes, policy.highest if policy else kappa)
    if policy is not None and policy.serving.batch > 1:
        return batch_tally(form, keys, chunk, lanes, length, kappa, policy)
    longest = max(kappa, policy.highest) if policy else kappa
    sums, histogram = np.zeros((lanes, len(SUMS)), np.int64), np.zeros((longest + 1, longest + 1), np.int64)
    flips, wakes = np.zeros((2, lanes if policy else 0), np.int64)
    made, asked = np.zeros((2, lanes if policy else 0, longest + 1), np.int64)
    for lane in range(lanes):
        player = Lane(form, keys, chunk, lane, kappa, policy)
        player.play_on(0, length)
        sums[lane] = [player.sums[name] for name in SUMS]
        histogram += player.histogram
        if policy is not None:
            flips[lane], wakes[lane] = player.flips, player.wakes
            made[lane], asked[lane] = player.made, player.asked
    return Tally(kappa, sums, histogram, flips=flips, wakes=wakes, made=made, asked=asked)


def steered_rounds(
    form: Form, keys: np.ndarray, chunk: int, lanes: int, most: int, kappa: int, policy: Policy
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """As `simspec.kernels.play.steered_rounds`."""
    each = []
    for lane in range(lanes):
        player = Lane(form, keys, chunk, lane, kappa, policy)
        if isinstance(form, (Requests, Urn)):
            player.listed = []
            player.play_request(form, 0)
            each.append(player.listed[:most])
        else:
            each.append([(0, player.kappa, player.play_round()) for _ in range(most)])
    out = np.zeros((3, max(map(len, each)), lanes), np.int32)
    out[1] = -1
    for lane, rounds in enumerate(each):
        out[:, : len(rounds), lane] = np.array(rounds).T
    return out[0], out[1], out[2]


def counts_at(
    form: Form, keys: np.ndarray, chunk: int, marks: np.ndarray, kappa: int, policy: Policy, lanes: int = LANES
) -> AtMarks:  # fmt: skip
    """As `simspec.kernels.play.counts_at`."""
    if isinstance(form, Dense):
        form = form.requests(chunk, lanes, policy.highest)
    width = max(kappa, policy.highest) + 1
    counts = np.zeros((len(marks), lanes, width, width), np.int32)
    flips, wakes, discarded = np.zeros((3, len(marks), lanes), np.int32)
    for lane in range(lanes):
        player = Lane(form, keys, chunk, lane, kappa, policy)
        for mark, (done, until) in enumerate(pairwise([0, *marks.tolist()])):
            player.play_on(done, until)
            counts[mark, lane], flips[mark, lane], wakes[mark, lane] = player.histogram, player.flips, player.wakes
            discarded[mark, lane] = player.sums["accepted"] + player.sums["n"] - player.sums["tokens"]
    return AtMarks(counts, flips, wakes, discarded)


def _replay(form: Replay, chunk: int, lanes: int, repeats: int, kappa: int) -> Tally:
    out = np.zeros((lanes, kappa + 1), np.int64)
    for lane in range(lanes):
        for accepted in form.of_lane(chunk, lane):
            out[lane, min(int(accepted), kappa)] += repeats
    return fold(out, kappa)
