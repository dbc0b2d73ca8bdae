"""What does a procedure that draws give?  It is run anew with every sequence of draws, in fractions.

The procedures are the papers' own: every draft is made first, then judged draft by draft.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
from scipy.optimize import linprog

Law = Sequence[Fraction]
Rows = Sequence[Law]
Path = tuple[int, ...]


class Dice:
    """Draws as a script says, and of all further laws the first entry that has a chance."""

    def __init__(self, script: list[int]) -> None:
        self.script, self.at, self.chance = script, 0, Fraction(1)
        self.open: list[list[int]] = []

    def draw(self, law: Law) -> int:
        total = sum(law)
        if self.at < len(self.script):
            found = self.script[self.at]
        else:
            able = [i for i, own in enumerate(law) if own > 0]
            found = able[0]
            self.open += [[*self.script, i] for i in able[1:]]
            self.script.append(found)
        self.at += 1
        self.chance *= law[found] / total
        return found

    def coin(self, chance: Fraction) -> bool:
        return self.draw((chance, 1 - chance)) == 0


def every(play: Callable[[Dice], Hashable]) -> dict[Hashable, Fraction]:
    """Law of what a procedure returns."""
    law, waiting = defaultdict[Hashable, Fraction](Fraction), [list[int]()]
    while waiting:
        dice = Dice(waiting.pop())
        found = play(dice)
        law[found] += dice.chance
        waiting += dice.open
    return dict(law)


def fractions(rows: Sequence[Sequence[float]]) -> list[list[Fraction]]:
    """Laws that are multiples of 1/1000 before they are scaled."""
    whole = [[Fraction(round(1000 * own)) for own in row] for row in rows]
    return [[own / sum(row) for own in row] for row in whole]


def plus(law: Sequence[Fraction]) -> list[Fraction]:
    return [max(own, Fraction(0)) for own in law]


def scaled(law: Sequence[Fraction]) -> list[Fraction]:
    return [own / sum(law) for own in law]


def times(law: Law, rows: Rows) -> list[Fraction]:
    return [sum((own * row[j] for own, row in zip(law, rows, strict=True)), Fraction(0)) for j in range(len(rows[0]))]


def hot(token: int, size: int) -> list[Fraction]:
    return [Fraction(int(i == token)) for i in range(size)]


# one position: drafted tokens and the laws they came from → (kept draft or None, token)


def one_after_other(dice: Dice, p: Law, drawn: Sequence[int], laws: Rows, scale: Fraction) -> tuple[bool, int]:
    """SpecInfer, Algorithm 2 (l = 1); with Leviathan's lenience, appendix A.5, in every comparison."""
    owed = list(p)
    for token, q in zip(drawn, laws, strict=True):
        if dice.coin(min(Fraction(1), owed[token] / (scale * q[token]))):
            return True, token
        owed = scaled(plus([a - scale * b for a, b in zip(owed, q, strict=True)]))
    return False, dice.draw(owed)


@cache
def best_rho(p: tuple[float, ...], q: tuple[float, ...], many: int) -> float:
    """SpecTr, section 4.2: the smallest ρ ≥ 1 with 1 − (1 − β)^K ≤ ρβ, by halving; no fraction, so K-SEQ has none."""

    def enough(rho: float) -> bool:
        beta = math.fsum(map(min, [own / rho for own in p], q))
        return 1 - (1 - beta) ** many <= rho * beta * (1 + 1e-14)

    low, high = 1.0, float(many)
    if enough(low):
        return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def k_seq(dice: Dice, p: Law, drawn: Sequence[int], q: Law) -> tuple[bool, int]:
    """SpecTr, Algorithm 2."""
    rho = best_rho(tuple(p), tuple(q), len(drawn))
    for token in drawn:
        if dice.coin(min(1.0, p[token] / (rho * q[token]))):
            return True, token
    beta = math.fsum(map(min, [own / rho for own in p], q))
    share = (1 - (1 - beta) ** len(drawn)) / beta if beta else 0.0
    return False, dice.draw([max(a - share * min(a / rho, b), 0.0) for a, b in zip(p, q, strict=True)])


# whole rounds


class Drafted:
    """What a scheme drafts: laws of the target and of every model, and how far drafts see."""

    def __init__(self, target: Rows, models: Sequence[Rows], unseen: bool, likeliest: bool) -> None:
        self.target, self.models, self.unseen, self.likeliest = target, models, unseen, likeliest

    def law(self, model: int, path: Path) -> Law:
        rows = self.models[min(model, len(self.models) - 1)]
        if not self.unseen:
            return rows[path[-1]]
        law: Law = hot(path[0], len(rows))
        for _ in path:
            law = times(law, rows)
        return law

    def children(self, dice: Dice, path: Path, many: int, unlike: bool) -> tuple[list[int], list[Law]]:
        """Tokens and the laws of a judge who goes through them in this order."""
        laws, drawn = [self.law(i, path) for i in range(many)], list[int]()
        if self.likeliest:
            drawn = sorted(range(len(self.target)), key=lambda token: (-laws[0][token], token))[:many]
            return drawn, [hot(token, len(self.target)) for token in drawn]
        for i in range(many):
            if unlike and drawn:
                laws[i] = scaled([Fraction(0) if t in drawn else own for t, own in enumerate(laws[i])])
            drawn.append(dice.draw(laws[i]))
        return drawn, laws


def tree_round(
    dice: Dice, own: Drafted, rule: str, start: int, widths: Sequence[int], lenience: Fraction
) -> tuple[Path, int]:
    """The whole tree is drafted, level by level; then it is walked.  Returns context and tokens, and A."""
    nodes: dict[Path, tuple[Path, list[int], list[Law]]] = {}  # by indices of children: text, children, their laws
    level: list[tuple[Path, Path]] = [((), (start,))]
    for width in widths:
        following = []
        for index, text in level:
            drawn, laws = own.children(dice, text, width, rule == "rrs_wor")
            nodes[index] = text, drawn, laws
            following += [((*index, i), (*text, token)) for i, token in enumerate(drawn)]
        level = following
    index: Path = ()
    text: Path = (start,)
    while index in nodes:
        _, drawn, laws = nodes[index]
        p = own.target[text[-1]]
        if rule == "naive":
            token = dice.draw(p)
            kept = token in drawn
        elif rule == "kseq":
            kept, token = k_seq(dice, p, drawn, laws[0])
        else:
            kept, token = one_after_other(dice, p, drawn, laws, lenience)
        text = (*text, token)
        if not kept:
            return text, len(index)
        index = (*index, drawn.index(token))
    return (*text, dice.draw(own.target[text[-1]])), len(index)


def typical_round(
    dice: Dice, own: Drafted, start: int, widths: Sequence[int], epsilon: float, delta: float, greedy: bool
) -> tuple[Path, int]:
    """Medusa, section 2.3.1: of all paths of typical tokens the longest, the first of equally long ones."""
    level: list[tuple[Path, bool]] = [((start,), True)]
    best: Path = (start,)
    for width in widths:
        following = []
        for text, typical in level:
            p = own.target[text[-1]]
            entropy = -sum(float(x) * math.log(x) for x in p if x > 0)
            for token in own.children(dice, text, width, False)[0]:
                fine = typical and float(p[token]) > min(epsilon, delta * math.exp(-entropy))
                following.append(((*text, token), fine))
                if fine and len(text) + 1 > len(best):
                    best = (*text, token)
        level = following
    p = own.target[best[-1]]
    token = max(range(len(p)), key=lambda t: (p[t], -t)) if greedy else dice.draw(p)
    return (*best, token), len(best) - 1


def sequences_round(
    dice: Dice, own: Drafted, rule: str, start: int, many: int, kappa: int, lenience: Fraction
) -> tuple[Path, int]:
    """Whole sequences are drafted; those that agree with the text so far are judged in their order."""
    words, laws = [], []
    for i in range(many):
        text: Path = (start,)
        laws.append([])
        for _ in range(kappa):
            laws[-1].append(own.law(i, text))
            text = (*text, dice.draw(laws[-1][-1]))
        words.append(text)
    text = (start,)
    for depth in range(kappa):
        live = [i for i in range(many) if words[i][: depth + 1] == text]
        drawn, p = [words[i][depth + 1] for i in live], own.target[text[-1]]
        beside = [laws[i][depth] for i in live]
        if rule == "naive":
            token = dice.draw(p)
            kept = token in drawn
        elif rule == "kseq":
            kept, token = k_seq(dice, p, drawn, beside[0])
        else:
            kept, token = one_after_other(dice, p, drawn, beside, lenience)
        text = (*text, token)
        if not kept:
            return text, depth
    return (*text, dice.draw(own.target[text[-1]])), kappa


def block_round(dice: Dice, own: Drafted, start: int, kappa: int) -> tuple[Path, int]:
    """Sun et al. (2025), Algorithm 2."""
    text, laws = (start,), list[Law]()
    for _ in range(kappa):
        drawn, (law,) = own.children(dice, text, 1, False)
        laws.append(law)
        text = (*text, drawn[0])
    owes, kept, owed = [Fraction(1)], 0, [own.target[token] for token in text]
    for i in range(1, kappa + 1):
        owes.append(min(owes[-1] * owed[i - 1][text[i]] / laws[i - 1][text[i]], Fraction(1)))
        chance = owes[i]
        if i < kappa:
            free = sum(plus([owes[i] * a - b for a, b in zip(owed[i], laws[i], strict=True)]))
            chance = free / (free + 1 - owes[i]) if free + 1 - owes[i] else Fraction(1)
        if dice.coin(chance):
            kept = i
    last = owed[kept]
    if kept < kappa:
        last = plus([owes[kept] * a - b for a, b in zip(last, laws[kept], strict=True)])
    return (*text[: kept + 1], dice.draw(last)), kept


def long_run(rounds: Sequence[dict[Hashable, Fraction]]) -> np.ndarray:
    """Law of the context in which a round starts, from laws of (text, A) by context; one closed class."""
    step = np.zeros((len(rounds),) * 2)
    for start, law in enumerate(rounds):
        for (text, _), chance in law.items():
            step[start, text[-1]] += float(chance)
    return stationary(step)


def stationary(step: np.ndarray) -> np.ndarray:
    """Long-run law of a chain with one closed class."""
    size = len(step)
    system = np.vstack([step.T - np.eye(size), np.ones(size)])
    found, *_ = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)
    return found


def plan_in_turn(p: Law, tuples: dict[Path, Fraction]) -> tuple[float, list[float]]:
    """Most that a lossless rule can keep of drafts with this law; then as much of token 0 as can be, and so on."""
    sizes, names = len(p), list(tuples)
    pairs = [(i, token) for i, drawn in enumerate(names) for token in sorted(set(drawn))]
    limits = np.zeros((len(names) + sizes, len(pairs)))
    for column, (i, token) in enumerate(pairs):
        limits[i, column] = limits[len(names) + token, column] = 1.0
    most = [*map(float, tuples.values()), *map(float, p)]
    rows, goals = [np.ones(len(pairs))], [0.0]
    rows += [np.array([float(token == own) for _, token in pairs]) for own in range(sizes)]
    kept, fixed = list[float](), list[np.ndarray]()
    for row in rows:
        given = {"A_eq": np.array(fixed), "b_eq": goals[1:]} if fixed else {}
        found = linprog(-row, A_ub=limits, b_ub=most, method="highs", **given)
        kept.append(-found.fun)
        fixed.append(row)
        goals.append(-found.fun)
    return kept[0], kept[1:]


def grown_rounds(
    dice: Dice, vectors: Sequence[Law], right: Sequence[Law], law: Law, breadth: int, depth: int, nodes: int
) -> tuple[int, int, bool]:
    """EAGLE-2: a beam of ``breadth`` over products; the best ``nodes`` of all named are verified.  → n, A, rejected."""
    named: dict[Path, tuple[Fraction, Fraction]] = {}  # path of ranks: product, chance to be right
    layer: list[tuple[Path, Fraction]] = [((), Fraction(1))]
    for _ in range(depth):
        following = []
        for path, value in sorted(layer, key=lambda own: -own[1])[:breadth]:
            vector = dice.draw(law)
            ranked = sorted(range(len(vectors[vector])), key=lambda i: -vectors[vector][i])[:breadth]
            for rank, i in enumerate(ranked):
                if vectors[vector][i] > 0:
                    named[*path, rank] = value * vectors[vector][i], right[vector][i]
                    following.append(((*path, rank), value * vectors[vector][i]))
        layer = following
    kept = set(sorted(named, key=lambda path: -named[path][0])[:nodes])
    here: Path = ()
    while True:
        own = sorted(path for path in kept if path[:-1] == here)
        chances = [named[path][1] for path in own]
        found = dice.draw([*chances, 1 - sum(chances, Fraction(0))]) if own else 0
        if found == len(own):
            return len(kept), len(here), bool(own)
        here = own[found]


def stopped_rounds(
    dice: Dice, told: Law, right: Law, first: Law, rows: Rows, rule: str, theta: Fraction, kmin: int, kappa: int,
    submits: bool,
) -> tuple[int, int, int]:  # fmt: skip
    """Draft by draft until it is unsure: drafts verified, A, draft steps."""
    state, made, product_, verdicts = -1, 0, Fraction(1), list[bool]()
    while made < kappa:
        state = dice.draw(rows[state] if made else first)
        made, product_ = made + 1, product_ * told[state]
        unsure = made >= kmin and (product_ if rule == "survival" else told[state]) < theta
        if unsure and not submits:
            break
        verdicts.append(dice.coin(right[state]))
        if unsure:
            break
    return len(verdicts), [*verdicts, False].index(False), made


def copied_round(dice: Dice, text: Path, rows: Rows, kappa: int, longest: int, shortest: int, latest: bool):
    """Prompt lookup in a text that is remembered: what is copied, how much is kept, the text after the round."""
    draft: Path = ()
    for many in range(longest, shortest - 1, -1):
        places = [i for i in range(len(text) - many) if text[i : i + many] == text[-many:]]
        if many < len(text) and places and not draft:
            place = places[-1 if latest else 0] + many
            draft = text[place : place + kappa]
    kept = 0
    while True:
        token = dice.draw(rows[text[-1]])
        text = (*text[1:], token)
        if kept == len(draft) or token != draft[kept]:
            return len(draft), kept, text
        kept += 1


def pooled_round(
    dice: Dice, state: tuple[Path, tuple[tuple[Path, ...], ...]], rows: Rows, guesses: Rows, kappa: int, most: int,
    window: int,
):  # fmt: skip
    """Lookahead decoding with a pool: n-grams of the last token side by side; then guesses, then those of the text."""
    text, shelves = state
    pool = [list(shelf) for shelf in shelves]
    beside = list(pool[text[-1]])
    new = list[int]()
    while True:
        new.append(dice.draw(rows[(text + tuple(new))[-1]]))
        if len(new) > kappa or not any(gram[: len(new)] == tuple(new) for gram in beside):
            break
    line = [text[-1]]
    for _ in range(window + kappa - 1 if window and kappa else 0):
        line.append(dice.draw(guesses[line[-1]]))
    whole = text + tuple(new)
    met = [tuple(line[i : i + kappa + 1]) for i in range(window)] if kappa else []
    met += [whole[end - kappa : end + 1] for end in range(len(text), len(whole)) if kappa and end >= kappa]
    for gram in met:
        shelf = pool[gram[0]]
        if gram[1:] in shelf:
            shelf.remove(gram[1:])
        shelf.append(gram[1:])
        del shelf[:-most]
    after = (whole[-max(kappa, 1) :], tuple(map(tuple, pool)))
    return len(beside), len(new) - 1, after


def chain_of(starts: Sequence[Hashable], play: Callable[[Dice, Hashable], tuple]) -> tuple[dict, dict]:
    """Rounds by state, the last entry of what is returned being the next state; and the long-run law of states."""
    laws: dict[Hashable, dict] = {}
    waiting = list(starts)
    while waiting:
        here = waiting.pop()
        if here not in laws:
            laws[here] = every(lambda dice, here=here: play(dice, here))
            waiting += [found[-1] for found in laws[here]]
    number = {state: i for i, state in enumerate(laws)}
    step = np.zeros((len(number),) * 2)
    for here, law in laws.items():
        for found, chance in law.items():
            step[number[here], number[found[-1]]] += float(chance)
    return laws, dict(zip(laws, stationary(step).tolist(), strict=True))


def turn(
    dice: Dice, start: int, large: Rows, small: Rows, kmax: int, fallback: float, rollback: float, sampled: bool
) -> tuple[int, int, Path]:
    """BiLD, Algorithm 1: small tokens written and kept, and the text of the turn with its context."""

    def token_of(row: Law) -> int:
        return dice.draw(row) if sampled else max(range(len(row)), key=lambda t: (row[t], -t))

    text: Path = (start,)
    while len(text) <= kmax and float(max(small[text[-1]])) >= fallback:
        text = (*text, token_of(small[text[-1]]))
    for i, (context, token) in enumerate(pairwise(text)):
        chance = float(large[context][token])
        if chance == 0.0 or -math.log(chance) > rollback:
            return len(text) - 1, i, (*text[: i + 1], token_of(large[context]))
    return len(text) - 1, len(text) - 1, (*text, token_of(large[text[-1]]))


def remasked(dice: Dice, length: int, steps: int, values: Sequence[float], weights: Law) -> Path:
    """LLaDA: every mask gets a confidence per pass, the best are filled.  Index of the value of every filled token."""
    each, more = divmod(length, steps)
    left, filled = length, list[int]()
    for step in range(steps):
        drawn = sorted((dice.draw(weights) for _ in range(left)), key=lambda i: -values[i])
        now = each + (step < more)
        filled += drawn[:now]
        left -= now
    return tuple(filled)


def tree_walk(dice: Dice, parents: Sequence[int], chances: Sequence[Fraction], sequential: bool) -> tuple[int, bool]:
    """Depth reached, and whether the walk ended at a node with children."""
    here, depth = 0, 0
    while True:
        own = [i for i, parent in enumerate(parents, 1) if parent == here]
        if not own:
            return depth, False
        if sequential:
            found = next((i for i in own if dice.coin(chances[i - 1])), None)
        else:
            rest = 1 - sum((chances[i - 1] for i in own), Fraction(0))
            at = dice.draw([*(chances[i - 1] for i in own), rest])
            found = own[at] if at < len(own) else None
        if found is None:
            return depth, True
        here, depth = found, depth + 1
