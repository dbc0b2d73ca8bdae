"""What is a policy as numbers?  The name of a pass, what it reads, and the state that it starts with."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from simspec.kernels.forms import Policy as PolicyForm
from simspec.kernels.lower_foresight import foreseen_lengths
from simspec.model import ParameterError
from simspec.model.policies import (
    BatchTable,
    Exp3,
    Exp3Spec,
    Foresight,
    Gate,
    Goodput,
    Heuristic,
    OwnPolicy,
    Policy,
    Rolling,
    Schedule,
    Steps,
    Thompson,
    Ucb,
    UcbSpec,
)
from simspec.model.policies.fixed import ByPosition
from simspec.model.policies.policy import Costed
from simspec.model.serving import NORMAL, Serving

TICK = 2.0**-20
"""Prices are whole multiples of it, in plain target steps: sums of them are exact."""
_GRID = 4096
"""Cells of [0, 1] in which a draft length is looked for that changes more than once."""


def policy_form(policy: Policy, serving: Serving = NORMAL) -> tuple[PolicyForm, int]:
    """What the general loop needs of a policy under some conditions, and κ of the first round.

    Raises
    ------
    ParameterError
        The policy reads prices and knows none, or a price table ends too early.
    """
    form = _own(policy) if isinstance(policy, OwnPolicy) else _LOWERINGS[type(policy)](policy)
    told = serving.batch if serving.shares_kappa else 1
    if form.rule in ("weight", "losses"):  # a chance to be remembered for every verdict of the rounds that news take
        waiting = np.ones((serving.delay + 1) * told - 1)
        form = replace(form, initial=np.append(form.initial, waiting), figures=np.append(form.figures, told))
    keeps = form.keeps or serving.shares_kappa  # what is learned together outlives each request
    return replace(form, serving=serving, keeps=keeps), policy.begins


def prices(policy: Costed) -> np.ndarray:
    """Prices of 0 … ``highest`` drafts, then the same after a rejection, in whole ticks."""
    cost = policy.cost
    if cost is None:
        raise ParameterError("cost", f"cost is missing: {policy.type} reads prices; allowed: a table of prices")
    plain = [cost.of_round(kappa, rejected) for rejected in (False, True) for kappa in range(policy.longest + 1)]
    return np.maximum(np.floor(np.array(plain) / TICK + 0.5), 1.0) * TICK


def _heuristic(policy: Heuristic) -> PolicyForm:
    return PolicyForm(policy.up, -policy.down, policy.lowest, policy.highest, keeps=policy.keeps)


def _schedule(policy: ByPosition) -> PolicyForm:
    return PolicyForm(
        highest=policy.longest, rule="position", figures=np.array(policy.plan(), float), initial=np.zeros(1)
    )


def _rolling(policy: Rolling) -> PolicyForm:
    cuts, lengths = rolling_table(policy)
    powers = [1.0]
    for _ in range(policy.highest):
        powers.append(powers[-1] * policy.smoothing)
    powers = powers if len(powers) > 1 else [1.0, policy.smoothing]
    figures = np.array([len(powers), *powers, len(cuts), *cuts, *lengths])
    return _form(policy, _AVERAGES[policy.of], figures, np.array([policy.initial]))


_AVERAGES = {"examined": "estimate", "drafted": "share", "round": "verdicts"}


@functools.lru_cache(maxsize=256)
def rolling_table(policy: Rolling) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Estimates at which κ changes, and κ between them, within the bounds and with the guard."""
    raw = _RULES[policy.rule](policy)

    def kappa(estimate: float) -> int:
        length = min(max(raw(estimate), policy.lowest), policy.highest)
        while policy.guard is not None and length > policy.lowest and _fluctuates(estimate, length, policy.guard):
            length -= 1
            if policy.degrade == "once":
                break
        return length

    return _changes(kappa)


def _fluctuates(estimate: float, kappa: int, guard: float) -> bool:
    """Whether √((1 − e)/(κe)) > guard, as a product: nothing is divided by 0."""
    return 1.0 - estimate > guard * guard * kappa * estimate


def _best(policy: Rolling | Thompson) -> Callable[[float], int]:
    """The κ with the most tokens per cost for independent drafts."""
    own = prices(policy).tolist()
    plain, rejected = own[: policy.highest + 1], own[policy.highest + 1 :]

    def best(estimate: float) -> int:
        alive, tokens, found, most = 1.0, 1.0, 0, 1.0 / plain[0]
        for kappa in range(1, policy.highest + 1):
            alive *= estimate
            tokens += alive
            speed = tokens / (plain[kappa] + (rejected[kappa] - plain[kappa]) * (1.0 - alive))
            if speed > most * (1.0 + 1e-12):
                found, most = kappa, speed
        return found

    return best


def _article(policy: Rolling) -> Callable[[float], int]:
    """ln(c_r ln(1/e)/(c_d + c_v))/ln e, rounded; the bounds where it has no value."""
    cost = policy.cost
    if cost is None or cost.tables() or cost.c_r <= 0.0 or cost.c_d + cost.c_v <= 0.0:
        told = "the article's formula needs c_r > 0, c_d + c_v > 0 and no tables"
        raise ParameterError(
            "cost", f"{told}; allowed: a [policy.cost] of its own, the article's being c_v = .5, c_r = 1"
        )
    ratio = cost.c_r / (cost.c_d + cost.c_v)

    def coded(estimate: float) -> int:
        if not 0.0 < estimate < 1.0:
            return 0 if estimate <= 0.0 else policy.highest
        return round(math.log(ratio * math.log(1.0 / estimate)) / math.log(estimate))

    return coded


def _table(policy: Rolling) -> Callable[[float], int]:
    return lambda estimate: policy.kappas[sum(cut <= estimate for cut in policy.cuts)]


_RULES: dict[str, Callable[[Rolling], Callable[[float], int]]] = {"best": _best, "article": _article, "table": _table}


def _changes(kappa: Callable[[float], int]) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Where a step function on [0, 1] changes: the first double of every step, and its values."""
    cuts, lengths = list[float](), [kappa(0.0)]
    for cell in range(_GRID):
        end = (cell + 1) / _GRID
        while kappa(end) != lengths[-1]:
            low, high = (cuts[-1] if cuts and cuts[-1] > cell / _GRID else cell / _GRID), end
            while np.nextafter(low, 2.0) < high:
                middle = (low + high) / 2.0
                low, high = (middle, high) if kappa(middle) == lengths[-1] else (low, middle)
            cuts.append(high)
            lengths.append(kappa(high))
    return tuple(cuts), tuple(lengths)


def _steps(policy: Steps) -> PolicyForm:
    """Thresholds of a fall to the next lower candidate, and of a rise from each but the last."""
    own = policy.candidates
    falls = [(0.5 if low == 0 else low - 0.5) + policy.down for low in own[:-1]]
    rises = [low - 0.5 + policy.up for low in own[:-1]]
    head = [policy.weight, policy.warm_up, policy.interval, policy.ceiling]
    figures = np.array([*head, len(own), *own, *falls, *rises], float)
    return PolicyForm(
        lowest=own[0],
        highest=own[-1],
        rule="length",
        figures=figures,
        initial=np.array([policy.begins - 1.0, 0.0]),
        keeps=policy.keeps,
    )


def _goodput(policy: Goodput) -> PolicyForm:
    head = [policy.highest, policy.keep, policy.interval, policy.lowest]
    initial = [0.0, *[1.0] * policy.highest, *[policy.prior] * policy.highest]
    return _form(policy, "survival", np.array([*head, *prices(policy)]), np.array(initial))


def _ucb(policy: Ucb) -> PolicyForm:
    sums = [0.0] * (3 + 3 * (policy.highest + 1))
    if policy.window is None:
        head = [policy.highest, policy.keep, policy.width, policy.lowest]
        return _form(policy, "bound", np.array([*head, *prices(policy)]), np.array(sums))
    head = [policy.highest, policy.window, policy.width, policy.lowest]
    return _form(policy, "window", np.array([*head, *prices(policy)]), np.array([*sums, 0.0, *[-1.0] * policy.window]))


def _exp3(policy: Exp3) -> PolicyForm:
    head = [policy.highest, policy.rate, policy.even, policy.lowest]
    initial = np.array([*[0.0] * (policy.highest + 4), 1.0])  # κ of the first round is sure
    return _form(policy, "weight", np.array([*head, *prices(policy)]), initial, random=True)


def _thompson(policy: Thompson) -> PolicyForm:
    best = _best(policy)
    cuts, lengths = _changes(lambda rate: max(best(rate), policy.lowest))
    figures = np.array([policy.keep, policy.accepted, policy.rejected, len(cuts), *cuts, *lengths])
    return _form(policy, "sample", figures, np.zeros(2), random=True)


def _ucb_spec(policy: UcbSpec) -> PolicyForm:
    """Radii for rewards in half their range: L/2 for tokens, which are 1 to L + 1."""
    many = policy.highest + 1
    dear = prices(policy) if policy.reads_cost else np.ones(2 * many)
    rewards = [(a + 1) / dear[k + many * (a < k)] for k in range(policy.lowest, many) for a in range(k + 1)]
    half = policy.highest / 2.0 if not policy.reads_cost else (max(rewards) - min(rewards)) / 2.0
    arms = many - policy.lowest
    head = [policy.lowest, policy.highest, half, arms / policy.confidence]
    return _form(policy, "radius", np.array([*head, *dear]), np.zeros(1 + 2 * arms))


def _exp3_spec(policy: Exp3Spec) -> PolicyForm:
    arms = policy.highest - policy.lowest + 1
    figures = np.array([policy.lowest, policy.highest, math.log(arms) / arms])
    return _form(policy, "losses", figures, np.array([*[0.0] * (2 + arms), 1.0]), random=True)


def _foresight(policy: Foresight) -> PolicyForm:
    if policy.speed is None:
        raise ParameterError("speed", "speed is missing; allowed: the worth of time, in tokens per plain target step")
    lengths = foreseen_lengths(policy.highest, policy.lowest, prices(policy), policy.speed)
    return PolicyForm(lowest=policy.lowest, highest=policy.highest, figures=lengths, initial=np.zeros(1), foresees=True)


def _gate(policy: Gate) -> PolicyForm:
    probe, trial = policy.probe or 0, policy.trial or policy.rounds
    figures = np.array([policy.rounds, policy.least, probe, trial, policy.first, policy.of == "length"], float)
    head = [0.0, policy.rounds]
    if policy.of == "stretch":
        return _form(policy, "gate", figures, np.array([*head, 0.0, 0.0, 0.0]))
    return _form(policy, "rolling gate", figures, np.array([*head, 0.0, 0.0, *[0.0] * policy.rounds]))


def _own(policy: OwnPolicy) -> PolicyForm:
    given = policy.start()
    try:
        initial = np.array(given, float)
    except (TypeError, ValueError):
        initial = np.array(0.0)
    if initial.ndim != 1:
        told = f"policy {policy.type}: start() gives {given!r:.40}"
        raise ParameterError("policy", f"{told}; allowed: a list of numbers, one for each row of state")
    return PolicyForm(
        lowest=policy.lowest,
        highest=policy.highest,
        own=type(policy).choose,
        initial=initial,
        keeps=policy.keeps,
        strict=True,
    )


def _form(policy: Any, rule: str, figures: np.ndarray, initial: np.ndarray, random: bool = False) -> PolicyForm:
    return PolicyForm(
        lowest=policy.lowest,
        highest=policy.highest,
        rule=rule,
        figures=figures,
        initial=initial,
        keeps=policy.keeps,
        random=random,
    )


_LOWERINGS: dict[type[Policy], Callable[[Any], PolicyForm]] = {
    Heuristic: _heuristic,
    Schedule: _schedule,
    BatchTable: _schedule,
    Rolling: _rolling,
    Steps: _steps,
    Goodput: _goodput,
    Ucb: _ucb,
    UcbSpec: _ucb_spec,
    Exp3: _exp3,
    Exp3Spec: _exp3_spec,
    Thompson: _thompson,
    Foresight: _foresight,
    Gate: _gate,
}
