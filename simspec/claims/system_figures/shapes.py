"""Shapes of survival: how much of a round do its first one or two depths tell?"""

from __future__ import annotations

from itertools import product

import numpy as np

from simspec import theory
from simspec.claims.system_figures.row import (
    SPEED,
    TOKENS,
    UNIT,
    Given,
    Group,
    Played,
    Predicted,
    Span,
    chained,
    spread,
)
from simspec.claims.system_figures.shape_data import (
    ADAPTED_ALPHA,
    ADAPTED_KAPPA,
    ADAPTED_SHARE,
    ADAPTED_TURNS,
    ANSWERS,
    CHAINS,
    HEADS_ALL,
    HEADS_USED,
    LENGTHS,
    LENGTHS_LAST,
    SPECULATORS,
    TREES,
    Shape,
)
from simspec.model import Iid, Position, Process

_SOURCE = "Spec-Bench answers of Vicuna-7B: " + "; ".join(f"{name} {place}" for name, place in ANSWERS.items())
START, MORE, LESS = 5, 2, 1
"""transformers' heuristic: K of the first round of a turn, what a full round adds, what another one takes."""


def groups() -> list[Group]:
    """Rows on shapes."""
    return [_trees(), _chains(), _adapted(), _speculators(), _lengths(), _heads()]


def _alone(first: float, depth: int) -> Span:
    return spread(lambda rate: chained(*[rate] * depth), Given(first, UNIT[4]))


def _flat(first: float, second: float, depth: int) -> Span:
    """One step after the first draft, then the same rate at every depth."""
    low, high = (second - UNIT[4] / 2) / (first + UNIT[4] / 2), (second + UNIT[4] / 2) / (first - UNIT[4] / 2)
    own = [chained(first, *[rate] * (depth - 1)) for rate in (second / first, low, high)]
    return Span(*own)


def _rates(first: float, second: float, depth: int) -> Process:
    return Position(alphas=(first, *[second / first] * (depth - 1)))


def _rows(name: str, survival: tuple[float, ...], depth: int, tokens: float, lacks: tuple[str, str]) -> list[Predicted]:
    first, second = survival[:2]
    return [
        Predicted(name, f"S_1 = {first:g}, the same rate on", TOKENS, _alone(first, depth), tokens, UNIT[4], lacks[0],
                  Played(Iid(alpha=first), depth)),
        Predicted(name, f"S_1 = {first:g}, S_2 = {second:g}, a_2 on", TOKENS, _flat(first, second, depth), tokens,
                  UNIT[4], lacks[1], Played(_rates(first, second, depth), depth)),
    ]  # fmt: skip


def _of(shapes: tuple[Shape, ...], lacks: tuple[str, str]) -> tuple[Predicted, ...]:
    return tuple(row for own in shapes for row in _rows(own.name, own.survival, own.depth, own.tokens, lacks))


def _trees() -> Group:
    falls = "the tree has fewer branches with every depth: coverage by depth"
    return Group(
        "Spec-Bench, trees", _SOURCE, "rates of the best branch: S_1 at every depth, or a_2 = S_2/S_1 from depth 2 on",
        _of(TREES, (falls, falls)),
        "Always too much, S_1 alone by a sixth to a half, with S_2 by a tenth to a fifth: a tree thins out with depth, "
        "so that its rates fall, and neither S_1 nor S_2 can tell how.",
    )  # fmt: skip


def _chains() -> Group:
    adapts = "K adapts to what was accepted or confident, and texts differ"
    return Group(
        "Spec-Bench, chains", _SOURCE, "as above, at the longest K that occurs: nothing cut",
        _of(CHAINS, (adapts, adapts)),
        "Under the heuristic (BN) an uncut chain of rate S_1 is 0 to 7% too long and one with a_2 up to 11% too short; "
        "where confident drafts go on to 20 (YK) both mostly fall short, by up to 14%: rates rise where drafts go on.",
    )  # fmt: skip


def heuristic_chain(alpha: float, rounds: int, most: int) -> tuple[float, float, float]:
    """Tokens and drafts a round, and accepted over drafted, of ``rounds`` rounds from K = 5 with independent drafts."""
    kappas = np.arange(1, most + 1)
    full = alpha**kappas
    law, spent = np.zeros(most), np.zeros(most)
    law[START - 1] = 1.0
    for _ in range(rounds):
        spent += law / rounds
        up, down = law * full, law * (1.0 - full)
        law = np.zeros(most)
        np.add.at(law, np.minimum(kappas + MORE, most) - 1, up)
        np.add.at(law, np.maximum(kappas - LESS, 1) - 1, down)
    drafted = float(spent @ kappas)
    accepted = float(spent @ [theory.expected_accepted(alpha, int(kappa)) for kappa in kappas])
    return 1.0 + accepted, drafted, accepted / drafted


def _adapted() -> Group:
    own = CHAINS[0]
    rounds = round(own.rounds / ADAPTED_TURNS)
    lacks = "that texts differ: good stretches are drafted longer"
    rows = []
    for name, alpha in (("S_1", own.survival[0]), ("accepted over examined", ADAPTED_ALPHA)):
        ends = [heuristic_chain(alpha + side * UNIT[4] / 2, rounds, own.depth) for side in (0, -1, 1)]
        inputs = f"α = {name} = {alpha:g}, {rounds} rounds a turn from K = {START}, +{MORE} or −{LESS}"
        seen = ((TOKENS, own.tokens, UNIT[4]), ("drafts per round", ADAPTED_KAPPA, UNIT[3]),
                ("accepted over drafted", ADAPTED_SHARE, UNIT[4]))  # fmt: skip
        rows += [
            Predicted(own.name, inputs, quantity, Span(*(end[i] for end in ends)), value, unit, lacks)
            for i, (quantity, value, unit) in enumerate(seen)
        ]
    return Group(
        "Spec-Bench, adapted K", _SOURCE, "independent drafts under transformers' heuristic itself, K as its state",
        tuple(rows),
        "With the rate of examined drafts the rule alone gives tokens, drafts and their ratio within 3%; with the rate "
        "of first drafts a round is a seventh short: later drafts are made in stretches that go well.",
    )  # fmt: skip


def _speculators() -> Group:
    rows = []
    for draft, (kappa, subsets) in SPECULATORS.items():
        for subset, first, second, tokens in subsets:
            lacks = "how rates fall after the first draft", "how rates go on after the second draft"
            rows += _rows(f"{draft}, {subset}", (first, second), kappa, tokens, lacks)
    return Group(
        "Speculators", "vllm-project/speculators docs/fp8_ablation @a910cec, Qwen3-8B, bf16 (computed from counts)",
        "chains of fixed K: S_1 at every depth, or a_2 from depth 2 on", tuple(rows),
        "EAGLE-3 steps down once and is flat from then on: S_1 and S_2 tell the round within .5%, but for translation "
        "within .2%.  DFlash, a block drafter at K = 15, falls on: S_1 alone promises up to a fifth too much, with S_2 "
        "it is within 2.5%.",
    )  # fmt: skip


def _longer(two: float, three: float, four: float) -> float:
    """Tokens at K = 7 if S_j falls by the factor S_4/S_3 with every further depth."""
    third, fourth = three - two, four - three
    return four + sum(fourth * (fourth / third) ** j for j in range(1, LENGTHS_LAST - 3))


def _lengths() -> Group:
    rows = []
    for name, (two, three, four), last in LENGTHS:
        inputs = f"lengths {two:.2f}, {three:.2f}, {four:.2f} at K = 2, 3, 4"
        span = spread(_longer, Given(two, UNIT[2], 1), Given(three, UNIT[2], -1), Given(four, UNIT[2], 1))
        rows.append(Predicted(name, inputs, f"{TOKENS}, K = {LENGTHS_LAST}", span, last, UNIT[2], "S_5 to S_7"))
    return Group(
        "vLLM by K", "vLLM issue 20780, Llama-3.1-8B, batch 1, mean acceptance length",
        "S_3 and S_4 from the lengths, the same factor from there on", tuple(rows), "Right within rounding.",
    )  # fmt: skip


def _all_heads(two: float, three: float) -> float:
    """Tokens with a head more, if S_3 falls as S_2 did."""
    first, second = two - 1.0, three - two
    return three + second * second / first


def _all_speed(four: float, two: float, three: float, fast: float, faster: float) -> float:
    """Speed-up with a head more, which costs a pass what the one before it did."""
    return four / (2.0 * three / faster - two / fast)


def _heads() -> Group:
    half, rows = UNIT[2] / 2, []
    for text, (two, three), four, (fast, faster), fastest in HEADS_USED:
        name, (first, second) = f"4 heads, 7B, {text}", (two - 1.0, three - two)
        ends = [_all_heads(two + a, three + b) for a, b in product((-half, half), repeat=2)]
        told = f"{two:.2f}, {three:.2f} tokens with 2 and 3 heads"
        rows.append(
            Predicted(name, told, TOKENS, Span(_all_heads(two, three), min(ends), max(ends)), four, UNIT[2],
                      "S_3", Played(_rates(first, second, HEADS_ALL - 1), HEADS_ALL - 1))
        )  # fmt: skip
        given = four, two, three, fast, faster
        ends = [_all_speed(*(x + side for x, side in zip(given, sides, strict=True)))
                for sides in product((-half, half), repeat=len(given))]  # fmt: skip
        rows.append(
            Predicted(name, f"{told}, {four:.2f} with 4; ×{fast:.2f}, ×{faster:.2f}", SPEED,
                      Span(_all_speed(*given), min(ends), max(ends)), fastest, UNIT[2], "what the last head costs")
        )  # fmt: skip
    return Group(
        "Heads side by side", "Gloeckle et al. 2024, arXiv 2404.19737, Table S2 (2.5 of 3 drafts on code, ×3.0)",
        "S_2/S_1 once more for the last head; each head costs a pass as much as the one before", tuple(rows),
        "Right within rounding, tokens and speed-ups of all three texts."
    )  # fmt: skip
