"""Chains of drafts: do α, γ and c of Leviathan, lenience, Chinchilla, MTP and the wall times of Spec-Bench add up?"""

from __future__ import annotations

from functools import partial

from simspec import theory
from simspec.claims.system_figures.row import (
    SPEED,
    UNIT,
    Given,
    Group,
    Played,
    Predicted,
    Span,
    alpha_of_tokens,
    between,
    spread,
)
from simspec.model import Cost, Iid

LEVIATHAN = (
    ("EnDe, T5-small, T = 0", 7, 0.75, 0.02, 3.2, 3.4), ("EnDe, T5-base, T = 0", 7, 0.80, 0.04, 3.3, 2.8),
    ("EnDe, T5-large, T = 0", 7, 0.82, 0.11, 2.5, 1.7), ("EnDe, T5-small, T = 1", 7, 0.62, 0.02, 2.3, 2.6),
    ("EnDe, T5-base, T = 1", 5, 0.68, 0.04, 2.4, 2.4), ("EnDe, T5-large, T = 1", 3, 0.71, 0.11, 2.0, 1.4),
    ("CNNDM, T5-small, T = 0", 5, 0.65, 0.02, 2.4, 3.1), ("CNNDM, T5-base, T = 0", 5, 0.73, 0.04, 2.6, 3.0),
    ("CNNDM, T5-large, T = 0", 3, 0.74, 0.11, 2.0, 2.2), ("CNNDM, T5-small, T = 1", 5, 0.53, 0.02, 1.9, 2.3),
    ("CNNDM, T5-base, T = 1", 3, 0.55, 0.04, 1.8, 2.2), ("CNNDM, T5-large, T = 1", 3, 0.56, 0.11, 1.6, 1.7),
)  # fmt: skip
"""Task and draft of T5-XXL, γ, α, c, and the speed-ups of columns "expected" and "measured"."""
_T4 = "Leviathan et al. 2023, arXiv 2211.17192, Tables 2 and 4"

LENIENCE = (
    ("unigram", 0.07, 0.10, 0.11, 0.16), ("bigram", 0.19, 0.23, 0.25, 0.32), ("T5-small", 0.62, 0.71, 0.76, 0.84),
    ("T5-base", 0.68, 0.80, 0.83, 0.90),
)  # fmt: skip
"""Draft of T5-XXL on EnDe, α at l = 1, .5, .3, .1."""
LENIENT = (1.0, 0.5, 0.3, 0.1)

CHINCHILLA = (("XSum, nucleus", 1.92), ("XSum, nucleus, 14.1 to 7.52 ms", 1.875), ("XSum, greedy", 2.01))
"""Speed-up at K = 4, as printed or by the printed times; a target token takes 14.1 ms, a draft token 1.8 ms."""
CHINCHILLA_TIMES, CHINCHILLA_K, CHINCHILLA_BEST = (14.1, 1.8), 4, 3

MTP = (0.85, 0.90, 1.8, 61)
"""Acceptance of the second token from … to, speed-up, and layers of the model; its module is one more layer."""

SPS = {"step": 22.33, "draft": 1.924, "turn": 66.0, "plain": 22.97, "kappa": 3.243, "tokens": 2.2781}
"""ms per round, per draft, per turn and per plain token, mean drafts and tokens per round."""
SPS_ROUNDS, SPS_TURNS, SPS_SPEED = 40_632, 560, 1.788


def groups() -> list[Group]:
    """Rows on chains."""
    return [_expected(), _measured(), _lenience(), _chinchilla(), _mtp(), _sps()]


def _speed(alpha: float, c: float, gamma: int) -> float:
    return theory.speedup(Iid(alpha=alpha), gamma, Cost(c_d=c))


def _leviathan(gamma: int, alpha: float, c: float) -> tuple[str, Span, Played]:
    span = spread(partial(_speed, gamma=gamma), Given(alpha, UNIT[2]), Given(c, UNIT[2], -1))
    return f"γ = {gamma}, α = {alpha:g}, c = {c:g}", span, Played(Iid(alpha=alpha), gamma, cost=Cost(c_d=c))


def _expected() -> Group:
    rows = []
    for name, gamma, alpha, c, expected, _ in LEVIATHAN:
        inputs, span, played = _leviathan(gamma, alpha, c)
        rows.append(Predicted(name, inputs, "expected " + SPEED, span, expected, UNIT[1], played=played))
    return Group(
        "Leviathan, expected", _T4, "independent drafts of rate α: (1 − α^(γ+1))/((1 − α)(1 + cγ))", tuple(rows),
        "The source's own formula: every figure comes out within .07, and within the rounding of α, c and the figure.",
    )  # fmt: skip


def _measured() -> Group:
    lacks = "how α varies between texts, and what a step of the implementation costs beside c"
    rows = []
    for name, gamma, alpha, c, _, measured in LEVIATHAN:
        inputs, span, played = _leviathan(gamma, alpha, c)
        rows.append(Predicted(name, inputs, "measured " + SPEED, span, measured, UNIT[1], lacks, played))
    return Group(
        "Leviathan, measured", _T4, "as above, against what was measured", tuple(rows),
        "Most summaries ran faster than independent drafts of a mean α can, and T5-large slower on translations: α is "
        "a mean over texts that differ, and c counts no overhead.",
    )  # fmt: skip


def _lenience() -> Group:
    rows = []
    for name, *rates in LENIENCE:
        for i in range(1, len(rates)):
            low = rates[i - 1] - UNIT[2] / 2
            high = min(1.0, _most_lenient(tuple(rates[:i])))
            known = ", ".join(f"α(l = {own:g}) = {rate:g}" for own, rate in zip(LENIENT, rates[:i], strict=False))
            rows.append(
                Predicted(
                    f"EnDe, {name}", known, f"α at l = {LENIENT[i]:g}", between(low, high), rates[i], UNIT[2],
                    "the two laws p and q, of which α is one number",
                )
            )  # fmt: skip
    return Group(
        "Lenience", "Leviathan et al. 2023, arXiv 2211.17192, Table 5 (T5-XXL, EnDe, T = 1)",
        "α(l) = Σ min(q, p/l) grows and is concave in 1/l, whatever p and q are: at least the last known α, at most "
        "the line through the last two", tuple(rows),
        "All lie in the range that no choice of p and q can leave; a point needs the laws themselves.",
    )  # fmt: skip


def _most_lenient(rates: tuple[float, ...]) -> float:
    """The most α at the next l: proportional to 1/l from one known α, else on the line through the last two."""
    at = [1.0 / own for own in LENIENT[: len(rates) + 1]]
    if len(rates) == 1:
        return (rates[0] + UNIT[2] / 2) * at[1]
    slope = (rates[-1] - rates[-2] + UNIT[2]) / (at[-2] - at[-3])
    return rates[-1] + UNIT[2] / 2 + slope * (at[-1] - at[-2])


def _best_kappa(speed: float) -> float:
    target, draft = CHINCHILLA_TIMES
    cost = Cost(c_d=draft / target)
    alpha = alpha_of_tokens(speed * (1.0 + CHINCHILLA_K * cost.drafting(1)), CHINCHILLA_K)
    return float(theory.optimum(Iid(alpha=alpha), cost, 64).kappa_star)


def _chinchilla() -> Group:
    rows = tuple(
        Predicted(
            name, f"×{speed:g} at K = {CHINCHILLA_K}, 14.1 and 1.8 ms a token", "best K",
            spread(_best_kappa, Given(speed, UNIT[2])), CHINCHILLA_BEST, 0.0,
            "how a pass grows with K, and whether drafts of one text are alike: α is told in no table",
        )
        for name, speed in CHINCHILLA
    )  # fmt: skip
    return Group(
        "Chinchilla",
        "Chen et al. 2023, arXiv 2302.01318, Table 1, and the text on XSum",
        "independent drafts; α follows from the speed-up at K = 4, no other figure is used",
        rows,
        "The best K is put at 4 where 3 was found; K = 3 is put at most 2% slower, which a pass over one more token "
        "may cost.  The printed times of nucleus sampling give ×1.875 where ×1.92 is printed.",
    )


def _mtp() -> Group:
    low, high, speed, layers = MTP
    cost, middle = Cost(c_d=1.0 / layers), (low + high) / 2
    value, least, most = (theory.speedup(Iid(alpha=rate), 1, cost) for rate in (middle, low, high))
    row = Predicted(
        "DeepSeek-V3, K = 1", f"acceptance {low:g} to {high:g}, a module of 1 in {layers} layers", SPEED,
        Span(value, least, most), speed, UNIT[1], "the module's head, and the pass over two tokens",
        Played(Iid(alpha=middle), 1, cost=cost),
    )  # fmt: skip
    return Group(
        "Multi-token prediction", "DeepSeek-V3 technical report, arXiv 2412.19437",
        "one draft: (1 + α)/(1 + c), c one layer of the model", (row,), "Right within the rounding of the figure.",
    )  # fmt: skip


def _sps() -> Group:
    plain, tokens, kappa = SPS["plain"], SPS["tokens"], SPS["kappa"]
    cost = Cost(c0=SPS["step"] / plain, c_d=SPS["draft"] / plain)
    free = tokens / (cost.target_pass(0) + kappa * cost.drafting(1))
    per_round = SPS["step"] + SPS["draft"] * kappa + SPS["turn"] * SPS_TURNS / SPS_ROUNDS
    inputs = "22.33 ms a round, 1.924 a draft, 22.97 a plain token; 2.278 tokens and 3.243 drafts a round"
    rows = (
        Predicted("Vicuna-7B + 68M", inputs, SPEED, Span(free, free, free), SPS_SPEED, UNIT[3],
                  "66 ms that every turn takes beside its rounds"),
        Predicted("Vicuna-7B + 68M", f"{inputs}; 66 ms a turn of {SPS_ROUNDS / SPS_TURNS:.1f} rounds", SPEED,
                  Span(tokens * plain / per_round, *[tokens * plain / per_round] * 2), SPS_SPEED, UNIT[3],
                  "the published speed-up is a mean of ratios by question, this a ratio of sums"),
    )  # fmt: skip
    return Group(
        "Spec-Bench, wall times", "Spec-Bench answers, BNukhkadiev/Spec-Bench @0f00011, times by least squares",
        "E[tokens]/E[cost] with c0, c_d in plain steps of 22.97 ms", rows,
        "Within 2.5% before the fixed time of a turn is paid, within 1% after.  The times are a least-squares fit to "
        "the same turns: this checks the form of the cost and is no forecast.",
    )  # fmt: skip
