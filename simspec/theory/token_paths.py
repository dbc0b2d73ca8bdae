"""Which tokens does a round emit, by the context in which it starts?  Kept drafts, the longest path, or a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simspec.model.errors import ParameterError
from simspec.theory.law import FloatArray
from simspec.theory.token_positions import Asked
from simspec.theory.token_tuples import Contexts

_FIELDS = ("pmf", "pairs", "last")
PATHS_LIMIT = 2_000_000
"""Drafted paths of block verification in one step of the listing."""


@dataclass(frozen=True, eq=False)
class Rounds:
    """By first context: P(A = j), mean number of emitted pairs (x, y), law of the last token."""

    pmf: FloatArray
    pairs: FloatArray
    last: FloatArray


def plain(target: FloatArray) -> Rounds:
    """Nothing is drafted: every round is a token of the target.

    Examples
    --------
    >>> plain(np.eye(2)).pairs[1].tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    pairs = np.zeros((len(target), *target.shape))
    pairs[np.arange(len(target)), np.arange(len(target))] = target
    return Rounds(np.ones((len(target), 1)), pairs, target)


def joined(by_root: Sequence[Rounds]) -> Rounds:
    """Rounds that start in context x taken from the x-th of some."""
    return Rounds(*(np.array([getattr(own, name)[x] for x, own in enumerate(by_root)]) for name in _FIELDS))


def chained(target: FloatArray, kept: list[FloatArray], lost: list[FloatArray], contexts: Contexts) -> Rounds:
    """Rounds from what is kept and lost at every depth; the first V states are those in which rounds start."""
    tokens, kappa = len(target), len(kept)
    at = np.zeros((len(contexts), tokens))
    at[np.arange(len(contexts)), contexts] = 1.0  # context of a state
    mass = np.eye(tokens, len(contexts))
    pmf, last, pairs = np.zeros((tokens, kappa + 1)), np.zeros((tokens, tokens)), np.zeros((tokens,) * 3)
    for depth in range(kappa + 1):
        ends = lost[depth] if depth < kappa else target[contexts]
        pmf[:, depth] = mass @ ends.sum(axis=1)
        last += mass @ ends
        pairs += np.einsum("cs,sx,sy->cxy", mass, at, ends, optimize=True)
        if depth < kappa:
            pairs += np.einsum("cs,sx,st,ty->cxy", mass, at, kept[depth], at, optimize=True)
            mass = mass @ kept[depth]
    return Rounds(pmf, pairs, last)


def typical(asked: Asked) -> Rounds:
    """The longest path of typical drafts, by the depth of subtrees, which are independent given their roots."""
    p, tokens, kappa = asked.target, len(asked.target), asked.kappa
    epsilon = 0.09 if asked.scheme.epsilon is None else asked.scheme.epsilon
    delta = np.sqrt(epsilon) if asked.scheme.delta is None else asked.scheme.delta
    entropy = -np.sum(p * np.log(np.where(p > 0.0, p, 1.0)), axis=1)
    passes = p > np.minimum(epsilon, delta * np.exp(-entropy))[:, None] * (1.0 + 1e-12)  # ties are below
    ends = np.eye(tokens)[p.argmax(axis=1)] if asked.scheme.ends == "greedy" else p
    deep = np.ones((tokens, 1))  # P(the longest path below is j long), by context: at the deepest level 0
    steps = list[FloatArray]()  # by depth: mass that the first of the longest paths, j long, goes on to a token
    for depth in range(kappa - 1, -1, -1):
        longest = kappa - depth
        above, step = np.zeros((tokens, longest + 1)), np.zeros((longest + 1, tokens, tokens))
        for context in range(tokens):
            hits = [law * passes[context] for law in asked.children(context, depth)]
            reach = [hit @ deep for hit in hits]  # a child passes, and stands on a path of 1 + j
            least = [np.concatenate([[1.0 - one.sum()], one]).cumsum() for one in reach]  # at most so long
            above[context, 0] = np.prod([one[0] for one in least])
            for length in range(1, longest + 1):
                for i, hit in enumerate(hits):
                    others = np.prod([one[length - 1] for one in least[:i]])
                    others *= np.prod([one[length] for one in least[i + 1 :]])
                    step[length, context] += others * hit * deep[:, length - 1]
                above[context, length] = step[length, context].sum()
        steps.append(step)
        deep = above
    steps.reverse()
    pmf, last, pairs = deep, np.zeros((tokens, tokens)), np.zeros((tokens,) * 3)
    for length in range(kappa + 1):
        mass = np.diag(deep[:, length])
        for depth in range(length):
            step = steps[depth][length - depth]
            total = step.sum(axis=1, keepdims=True)
            going = np.divide(step, total, out=np.zeros_like(step), where=total > 0.0)
            pairs += mass[:, :, None] * going[None]
            mass = mass @ going
        pairs += mass[:, :, None] * ends[None]
        last += mass @ ends
    return Rounds(pmf, pairs, last)


def blocks(asked: Asked) -> Rounds:
    """P(A ≥ i | drafts) is the share t_i owed (`simspec.theory.block`), so every path is weighed once."""
    p, tokens, kappa = asked.target, len(asked.target), asked.kappa
    laws = [np.array([asked.children(context, i)[0] for context in range(tokens)]) for i in range(kappa)]
    pmf, last, pairs = np.zeros((tokens, kappa + 1)), np.zeros((tokens, tokens)), np.zeros((tokens,) * 3)
    start = context = np.arange(tokens)
    share, mass = np.ones(tokens), np.ones(tokens)
    for i in range(kappa + 1):
        goal, q = share[:, None] * p[context], laws[min(i, kappa - 1)]
        ends = mass[:, None] * (np.maximum(goal - q[context], 0.0) if i < kappa else goal)
        np.add.at(pmf[:, i], start, ends.sum(axis=1))
        np.add.at(last, start, ends)
        np.add.at(pairs, (start, context), ends)
        if i == kappa:
            return Rounds(pmf, pairs, last)
        path, token = np.nonzero((q[context] > 0.0) & (goal > 0.0))
        if path.size > PATHS_LIMIT:
            told = f"kappa = {kappa} over {tokens} tokens makes more than {PATHS_LIMIT:,} paths"
            raise ParameterError("kappa", f"{told}; allowed: a smaller kappa or vocabulary")
        drawn = q[context[path], token]
        owed = np.minimum(goal[path, token] / drawn, 1.0)
        np.add.at(pairs, (start[path], context[path], token), mass[path] * drawn * owed)
        start, context, share, mass = start[path], token, owed, mass[path] * drawn
    raise AssertionError("the loop returns at kappa")
