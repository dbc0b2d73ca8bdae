"""What do the papers' rules give, outcome by outcome?  Written from the definitions alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations, permutations, product

import numpy as np
from scipy.optimize import linprog

Law = Sequence[float]
Path = tuple[int, ...]


def walk(parents: Sequence[int], chances: Law, sequential: bool) -> tuple[dict[int, float], float]:
    """Law of the depth that the target reaches, and P(it stops at a node with children); depth first, node by node."""
    law, inner = defaultdict[int, float](float), 0.0

    def at(node: int, depth: int, chance: float) -> None:
        nonlocal inner
        own = [i for i, parent in enumerate(parents, 1) if parent == node]
        missed = 1.0
        for child in own:
            p = chances[child - 1]
            at(child, depth + 1, chance * (missed * p if sequential else p))
            missed = missed * (1.0 - p) if sequential else missed - p
        law[depth] += chance * missed
        inner += chance * missed * bool(own)

    at(0, 0, 1.0)
    return law, inner


def rank_trees(ranks: int, nodes: int, depth: int, prefix: bool) -> Iterator[tuple[Path, ...]]:
    """Every set of at most so many rank paths that holds the parent (and, if asked, the elder siblings) of each."""
    seen = {frozenset[Path]()}
    waiting = list(seen)
    for tree in waiting:
        yield tuple(sorted(tree, key=lambda path: (len(path), path)))
        if len(tree) == nodes:
            continue
        for parent in [(), *tree]:
            for rank in range(1, ranks + 1):
                new = (*parent, rank)
                elder = rank == 1 or (*parent, rank - 1) in tree or not prefix
                if len(new) <= depth and new not in tree and elder and tree | {new} not in seen:
                    seen.add(tree | {new})
                    waiting.append(tree | {new})


def numbered(tree: Sequence[Path], levels: Sequence[Law]) -> tuple[list[int], list[float]]:
    """Parents and chances of a set of rank paths."""
    names = {(): 0} | {path: i for i, path in enumerate(tree, 1)}
    return [names[path[:-1]] for path in tree], [levels[len(path) - 1][path[-1] - 1] for path in tree]


def tree_speed(parents: list[int], chances: list[float], sequential: bool, price: Callable[..., float]) -> float:
    """Tokens over cost, the price being one of nodes, levels and P(rollback)."""
    law, inner = walk(parents, chances, sequential)
    depths = [0]
    for parent in parents:
        depths.append(depths[parent] + 1)
    return (1.0 + sum(j * p for j, p in law.items())) / price(len(parents), max(depths), inner)


def stopped(
    values: Law, first: Law, rows: Sequence[Law], accepts: Law, ends: Callable[[Sequence[float]], bool], kmax: int
) -> dict[tuple[int, int], float]:
    """P(d drafts, A = j) by every sequence of confidences and every verdict; ``ends`` is asked after each draft."""
    joint = defaultdict[tuple[int, int], float](float)

    def more(drawn: tuple[int, ...], chance: float) -> None:
        if len(drawn) == kmax or (drawn and ends([values[i] for i in drawn])):
            for verdicts in product([True, False], repeat=len(drawn)):
                one = math.prod(accepts[i] if yes else 1.0 - accepts[i] for i, yes in zip(drawn, verdicts, strict=True))
                kept = next((j for j, yes in enumerate(verdicts) if not yes), len(drawn))
                joint[len(drawn), kept] += chance * one
            return
        law = rows[drawn[-1]] if drawn else first
        for i, p in enumerate(law):
            more((*drawn, i), chance * p)

    more((), 1.0)
    return joint


def best_plan(values: Law, weights: Law, price: float, rollback: float, kmax: int) -> float:
    """Largest tokens per cost over every rule that may look at all confidences so far; one draft is always made."""

    @cache
    def gain(product_: float, drafts: int, speed: float) -> float:
        """Most of E[tokens] − speed·E[cost] still to come, ``product_`` being P(all accepted so far)."""
        stop = -speed * rollback * (1.0 - product_)
        if drafts == kmax:
            return stop
        onward = sum(
            w * (product_ * v - speed * price + gain(product_ * v, drafts + 1, speed))
            for v, w in zip(values, weights, strict=True)
        )
        return onward if drafts == 0 else max(stop, onward)

    low, high = 0.0, kmax + 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if 1.0 - middle + gain(1.0, 0, middle) > 0.0 else (low, middle)
    return low


def passes_to_unmask(length: int, p: float) -> tuple[dict[int, float], float]:
    """Law of the passes, and expected tokens filled by the rule alone: every set of confident masks of every pass."""

    @cache
    def law(left: int) -> tuple[tuple[int, float], ...]:
        if left == 0:
            return ((0, 1.0),)
        out = defaultdict[int, float](float)
        for sure in product([True, False], repeat=left):
            chance = math.prod(p if yes else 1.0 - p for yes in sure)
            for passes, own in law(left - max(1, sum(sure))):
                out[passes + 1] += chance * own
        return tuple(out.items())

    @cache
    def forced(left: int) -> float:
        if left == 0:
            return 0.0
        total = 0.0
        for sure in product([True, False], repeat=left):
            chance = math.prod(p if yes else 1.0 - p for yes in sure)
            total += chance * (float(not any(sure)) + forced(left - max(1, sum(sure))))
        return total

    return dict(law(length)), forced(length)


def pearl_time(run: int, c_d: float, gamma: int, c0: float, pre_verify: bool) -> float:
    """Clock from one rejection to the next: ``run`` drafts are right, the one after them is wrong."""
    clock, judged = (max(c0, gamma * c_d), 1) if pre_verify else (gamma * c_d, 0)  # the first window is made
    while run >= judged:  # a pass over it, or over its last drafts and the first of the next, which is made meanwhile
        clock += max(c0, gamma * c_d)
        judged += gamma
    return clock


def dsi_time(run: int, c_d: float, lookahead: int) -> float:
    """Clock till the first wrong draft is known: pass i starts when iℓ drafts are there and judges one more."""
    passes = 0
    while passes * lookahead < run:
        passes += 1
    return passes * lookahead * c_d + 1.0


def by_runs(alpha: float, time: Callable[[int], float]) -> float:
    """Tokens per time where G drafts in a row are right with chance α^G(1 − α)."""
    runs = [(g, alpha**g * (1.0 - alpha)) for g in range(400)]  # 0.9^400 is 5e-19
    return sum(p * (g + 1) for g, p in runs) / sum(p * time(g) for g, p in runs)


def residual(p: Law, q: Law) -> np.ndarray:
    left = np.maximum(np.asarray(p) - np.asarray(q), 0.0)
    return left / left.sum() if left.sum() > 1e-14 else np.asarray(p) * np.nan


def recursive(
    p: Law, tuples: list[tuple[tuple[int, ...], float]], laws: Callable[..., Law]
) -> tuple[float, np.ndarray]:
    """Multi-step rejection over every tuple of drafts; ``laws(rejected)`` is the law of the next one."""
    out, accepted = np.zeros(len(p)), 0.0
    for tokens, chance in tuples:
        owed = np.asarray(p, float)
        for i, token in enumerate(tokens):
            law = np.asarray(laws(tokens[:i]))
            keep = min(1.0, owed[token] / law[token])
            out[token] += chance * keep
            accepted += chance * keep
            chance *= 1.0 - keep
            if chance <= 1e-15:
                break
            owed = residual(owed, law)
        else:
            out += chance * owed
    return accepted, out


def draft_tuples(laws: Sequence[Law]) -> list[tuple[tuple[int, ...], float]]:
    """Every tuple of independent drafts."""
    tokens = product(*[[t for t, p in enumerate(q) if p > 0.0] for q in laws])
    return [(drawn, math.prod(q[t] for q, t in zip(laws, drawn, strict=True))) for drawn in tokens]


def distinct_tuples(q: Law, draws: int) -> list[tuple[tuple[int, ...], float]]:
    """Every tuple of successive draws without replacement."""
    out = []
    for drawn in permutations([t for t, p in enumerate(q) if p > 0.0], draws):
        chance, left = 1.0, 1.0
        for token in drawn:
            chance *= q[token] / left
            left -= q[token]
        out.append((drawn, chance))
    return out


def transport(p: Law, tuples: list[tuple[tuple[int, ...], float]]) -> float:
    """Most mass that a plan moves from drafted tuples to one of their own tokens, by linear programming."""
    pairs = [(i, token) for i, (drawn, _) in enumerate(tuples) for token in sorted(set(drawn))]
    limits = np.zeros((len(tuples) + len(p), len(pairs)))
    for column, (i, token) in enumerate(pairs):
        limits[i, column] = limits[len(tuples) + token, column] = 1.0
    supply = [chance for _, chance in tuples] + list(p)
    return -float(linprog(-np.ones(len(pairs)), A_ub=limits, b_ub=supply, method="highs").fun)


def smallest_cut(p: Law, tuples: list[tuple[tuple[int, ...], float]]) -> tuple[float, int]:
    """min over sets H of 1 + p(H) − P(all drafts in H), and the fewest tokens of a set that has it."""
    cuts = []
    for size in range(len(p) + 1):
        for chosen in combinations(range(len(p)), size):
            inside = math.fsum(chance for drawn, chance in tuples if set(drawn) <= set(chosen))
            cuts.append((1.0 + math.fsum(p[t] for t in chosen) - inside, size))
    least = min(cut for cut, _ in cuts)
    return least, min(size for cut, size in cuts if cut <= least + 1e-12)


def block(
    rows_p: Sequence[Law], rows_q: Sequence[Law], kappa: int, here: int
) -> dict[tuple[int, tuple[int, ...]], float]:
    """P(A, emitted tokens) of Algorithm 2 of block verification from a context: every draft, every coin."""
    out = defaultdict[tuple[int, tuple[int, ...]], float](float)
    for drawn in product(range(len(rows_p)), repeat=kappa):
        contexts = (here, *drawn)
        chance = math.prod(rows_q[c][t] for c, t in zip(contexts, drawn, strict=False))
        if chance == 0.0:
            continue
        owed, stop = [1.0], list[float]()  # the share owed, and the chance that this prefix passes
        for i, token in enumerate(drawn, 1):
            before = contexts[i - 1]
            owed.append(min(owed[-1] * rows_p[before][token] / rows_q[before][token], 1.0))
            if i == kappa:
                stop.append(owed[-1])
                break
            more = sum(max(owed[-1] * p - q, 0.0) for p, q in zip(rows_p[token], rows_q[token], strict=True))
            stop.append(more / (more + 1.0 - owed[-1]) if more + 1.0 - owed[-1] > 1e-14 else 1.0)
        for coins in product([True, False], repeat=kappa):
            own = chance * math.prod(s if yes else 1.0 - s for s, yes in zip(stop, coins, strict=True))
            if own <= 0.0:
                continue
            kept = max((i for i, yes in enumerate(coins, 1) if yes), default=0)
            p, q = np.asarray(rows_p[contexts[kept]]), np.asarray(rows_q[contexts[kept]])
            law = p if kept == kappa else residual(owed[kept] * p, q)
            for token, follows in enumerate(law):
                out[kept, (*drawn[:kept], token)] += own * float(follows)
    return out


def grown(
    confidences: Sequence[Law], weights: Law, accepts: Sequence[Law], breadth: int, depth: int, nodes: int
) -> tuple[dict[tuple[int, int], float], float, float]:
    """P(n verified, A = j), mean sum of path products and P(stop at a node with children) of EAGLE-2's tree.

    Every place of the whole tree that could be expanded has its own vector, so the order of expanding cannot matter.
    """
    places = [path for level in range(depth) for path in product(range(breadth), repeat=level)]
    joint, belief, inner = defaultdict[tuple[int, int], float](float), 0.0, 0.0
    for vectors in product(range(len(confidences)), repeat=len(places)):
        chance = math.prod(weights[v] for v in vectors)
        own, value = dict(zip(places, vectors, strict=True)), {(): 1.0}
        layer = [()]
        for _ in range(depth):
            named = []
            for node in sorted(layer, key=lambda path: -value[path])[:breadth]:
                for rank, confidence in enumerate(confidences[own[node]][:breadth]):
                    if confidence > 0.0:
                        value[(*node, rank)] = value[node] * confidence
                        named.append((*node, rank))
            layer = named
        kept = sorted(list(value)[1:], key=lambda path: -value[path])[:nodes]  # sorting is stable: first made, first
        belief += chance * sum(value[path] for path in kept)
        paths = sorted(kept, key=len)
        names = {(): 0} | {path: i for i, path in enumerate(paths, 1)}
        chances = [accepts[own[path[:-1]]][path[-1]] for path in paths]
        law, stop = walk([names[path[:-1]] for path in paths], chances, sequential=False)
        for reached, p in law.items():
            joint[len(kept), reached] += chance * p
        inner += chance * stop
    return joint, belief, inner


def pool(rows: Sequence[Law], kappa: int) -> tuple[list[float], float]:
    """Law of A per round and P(a token is what followed its predecessor last time), from the chain of tokens."""
    size = len(rows)
    states = [(here, memory, a) for here in range(size) for memory in product(range(size), repeat=size)
              for a in range(kappa + 1)]  # fmt: skip
    number = {state: i for i, state in enumerate(states)}
    moves, ends = np.zeros((len(states), len(states))), np.zeros((len(states), kappa + 1))
    agrees = np.zeros(len(states))
    for (here, memory, a), i in number.items():
        for token, chance in enumerate(rows[here]):
            hit = token == memory[here]
            agrees[i] += chance * hit
            kept = a + 1 if hit and a < kappa else 0
            ends[i, a] += chance * (kept == 0)
            changed = list(memory)
            changed[here] = token
            moves[i, number[token, tuple(changed), kept]] += chance
    law = np.ones(len(states)) / len(states)
    for _ in range(40):  # powers of a chain that stays where it is half of the time: no period
        law = law @ (0.5 * moves + 0.5 * np.eye(len(states)))
    step = 0.5 * moves + 0.5 * np.eye(len(states))
    for _ in range(14):
        step = step @ step
    law = law @ step
    found = law @ ends
    return (found / found.sum()).tolist(), float(law @ agrees)


def turns(f: float, r: float, most: int) -> dict[tuple[int, int, int], float]:
    """P(n tokens written, passes of the small model, first j kept) by every verdict of both models."""
    out = defaultdict[tuple[int, int, int], float](float)
    verdicts = list(product([True, False], repeat=most))
    for unsure, wrong in product(verdicts, verdicts):
        chance = math.prod(f if yes else 1.0 - f for yes in unsure) * math.prod(r if yes else 1.0 - r for yes in wrong)
        written = unsure.index(True) if True in unsure else most
        kept = next((j for j in range(written) if wrong[j]), written)
        out[written, written + (True in unsure), kept] += chance  # the pass that was unsure is paid, its token lost
    return out


def best_of(alpha: float, gamma: int, many: int) -> list[float]:
    """Law of the longest of several runs, by every tuple of them."""
    runs = [alpha**j * (1.0 - alpha) for j in range(gamma)] + [alpha**gamma]
    pmf = [0.0] * (gamma + 1)
    for lengths in product(range(gamma + 1), repeat=many):
        pmf[max(lengths)] += math.prod(runs[j] for j in lengths)
    return pmf
