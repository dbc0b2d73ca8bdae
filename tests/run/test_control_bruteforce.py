"""Do runs under a policy, and exact answers about policies, agree with the descriptions played out by hand?

`control_brute` has every rule once more, from its description, and lists all histories.  A figure is held against the
exact value at 7 standard errors of 100 units or more: 3e-10 each, fewer than 500 of them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import control_brute as brute
import pytest
from control_brute import Price, law

import simspec
from simspec import theory
from simspec.advice.solve import solve
from simspec.model import Cost, Drift
from simspec.model.policies import Policies
from simspec.model.serving import Serving

PRICE = Price(c_d=0.1, c_v=0.02, c_r=0.3)
CHANGES = Price(c_d=0.1, c_v=0.02, c_r=0.3, c_switch=0.25, c_wake=0.4)
CODED = Price(c_d=0.1, c_v=0.5, c_r=1.0)
BOUNDS = {"first": 3, "lowest": 1, "highest": 7}
RESTS = {"first": 3, "lowest": 0, "highest": 7}
FALLS = (0.9, 0.85, 0.8, 0.72, 0.66, 0.6, 0.55, 0.5, 0.45, 0.4, 0.3, 0.2)
TABLE = {"rule": "table", "cuts": (0.4, 0.6, 0.75), "kappas": (0, 2, 4, 7)}

RULES: dict[str, tuple[type[brute.Rule], dict[str, Any]]] = {
    "heuristic": (brute.Heuristic, BOUNDS),
    "heuristic, rests": (brute.Heuristic, RESTS | {"up": 3, "down": 2}),
    "heuristic, one length": (brute.Heuristic, {"first": 3, "lowest": 3, "highest": 3}),
    "schedule": (brute.ByPlan, {"kappas": (5, 0, 3, 1, 2, 4, 0, 7)}),
    "rolling": (brute.Rolling, BOUNDS),
    "rolling drafted": (brute.Rolling, RESTS | {"of": "drafted", "initial": 0.3, "smoothing": 0.6}),
    "rolling round": (brute.Rolling, RESTS | {"of": "round", "smoothing": 0.7}),
    "rolling table": (brute.Rolling, RESTS | TABLE),
    "rolling article": (brute.Rolling, BOUNDS | {"rule": "article", "guard": 0.25}),
    "rolling article once": (brute.Rolling, RESTS | {"rule": "article", "guard": 0.3, "degrade": "once"}),
    "rolling guard": (brute.Rolling, BOUNDS | {"guard": 0.5}),
    "steps": (brute.Steps, {"warm_up": 0, "interval": 1}),
    "steps, rests": (brute.Steps, {"candidates": (0, 1, 3), "warm_up": 1, "interval": 2, "down": 0.0, "weight": 0.5}),
    "steps, ceiling": (brute.Steps, {"warm_up": 0, "interval": 1, "ceiling": 1.4, "weight": 0.4}),
    "goodput": (brute.Goodput, BOUNDS | {"keep": 0.9}),
    "goodput, slow": (brute.Goodput, RESTS | {"keep": 1.0, "interval": 2, "prior": 0.4}),
    "gate": (brute.Gate, {"first": 3, "highest": 4, "rounds": 2, "least": 0.5}),
    "gate, probe": (brute.Gate, {"first": 3, "highest": 4, "rounds": 3, "least": 0.6, "probe": 2, "trial": 1}),
    "gate share": (brute.Gate, {"first": 3, "highest": 4, "rounds": 2, "least": 0.5, "of": "share"}),
    "gate length": (brute.Gate, {"first": 3, "highest": 3, "rounds": 2, "least": 1.1, "of": "length", "probe": 1}),
    "ucb": (brute.Ucb, {"first": 1, "highest": 3, "width": 1.0}),
    "ucb, discounted": (brute.Ucb, {"first": 2, "lowest": 0, "highest": 2, "width": 0.3, "keep": 0.9}),
    "ucb, window": (brute.Ucb, {"first": 1, "lowest": 0, "highest": 2, "width": 0.5, "window": 4}),
    "ucb, one arm": (brute.Ucb, {"first": 2, "lowest": 2, "highest": 2}),
    "ucb_spec": (brute.UcbSpec, {"highest": 3}),
    "ucb_spec per cost": (brute.UcbSpec, {"lowest": 0, "highest": 2, "confidence": 1.0, "reward": "throughput"}),
    "exp3": (brute.Exp3, {"first": 1, "highest": 3, "rate": 3.0, "even": 0.1}),
    "exp3_spec": (brute.Exp3Spec, {"first": 2, "lowest": 0, "highest": 3}),
    "thompson": (brute.Thompson, {"first": 2, "lowest": 0, "highest": 5, "keep": 0.8, "accepted": 0.5}),
}
DRAWN = ("exp3", "exp3_spec", "thompson")
"""Rules with chance: the number of their histories grows too fast for long requests."""


def rule_of(name: str, **also: Any) -> brute.Rule:
    kind, own = RULES[name]
    return kind(**own, price=CODED if "article" in name else PRICE, **also)


def policy_of(name: str) -> dict[str, Any]:
    return {"type": name.split()[0].strip(","), **RULES[name][1]}


def drift(alphas: tuple[float, ...], truncate: bool = True) -> dict[str, Any]:
    if len(alphas) > 1:
        return {"type": "drift", "shape": "table", "alphas": list(alphas), "truncate": truncate}
    return {"type": "drift", "alpha_start": alphas[0], "alpha_end": alphas[0], "tokens": 1, "truncate": truncate}


def away(row: Any, name: str, exact: float) -> float:
    """Standard errors between a column and an exact value; of no error, all or nothing."""
    half = (row[f"{name}_high"] - row[f"{name}_low"]) / 2.0
    if abs(row[name] - exact) < 1e-9:
        return 0.0
    return float((row[name] - exact) / (half / 1.96)) if half > 0.0 else math.inf


def run(process: dict[str, Any], price: Price, policy: dict[str, Any], **keys: Any) -> Any:
    return simspec.simulate(process, vars(price), policy=policy, **keys).to_pandas().iloc[0]


@pytest.mark.parametrize("late", [False, True], ids=["at once", "late"])
@pytest.mark.parametrize("name", RULES)
def test_every_rule_by_all_histories_of_a_request(name: str, late: bool) -> None:
    """Late: news a round old, and a drafter that is worse for two rounds after it was off."""
    policy = Policies.make(**policy_of(name))
    serving = Serving(delay=1, stale_rounds=2, stale_factor=0.5).under(policy).identity() if late else {}
    alphas = FALLS[:6] if name in DRAWN else FALLS
    stale = (serving.get("stale_rounds", 0), serving.get("stale_factor", 1.0))
    delay = serving.get("delay", 0)
    exact = law(rule_of(name, delay=delay), CHANGES, alphas, delay=delay, stale=stale)
    row = run(
        drift(alphas),
        CHANGES,
        policy_of(name),
        serving=serving or None,
        windows=100_000 if name in DRAWN else 20_000,
        seed=11,
    )
    figures = {"speedup": exact.speedup, "mean_kappa": exact.per_round("kappa")}
    figures["mean_accepted"] = exact.per_round("accepted")
    figures["alpha_examined"] = exact.sums["accepted"] / exact.sums["examined"]
    assert row["units"] >= 100
    for column, value in figures.items():
        assert abs(away(row, column, value)) < 7.0, (column, row[column], value)
    for column, sums in (("flips_per_1000", "flips"), ("wakes_per_1000", "wakes"), ("share_off", "off")):
        scale = 1000.0 if "per" in column else 1.0
        share = exact.per_round(sums)
        room = 7.0 * math.sqrt(max(len(alphas) * share, 1e-12) / row["rounds"])  # at most one a round, a request apart
        assert abs(row[column] / scale - share) < room, (column, row[column], share)


@pytest.mark.parametrize("alphas", [(0.0,) * 6, (1.0,) * 12, (0.5,)], ids=["never", "always", "one token"])
def test_nothing_is_left_to_chance_at_the_edges(alphas: tuple[float, ...]) -> None:
    for name in RULES:
        if name in DRAWN:
            continue
        exact = law(rule_of(name), CHANGES, alphas)
        row = run(drift(alphas), CHANGES, policy_of(name), windows=100)
        spread = exact.per_round("squares") - exact.per_round("kappa") ** 2
        found = [row[key] for key in ("speedup", "mean_kappa", "sd_kappa", "share_off", "mean_drafted")]
        found += [row["flips_per_1000"] / 1000.0, row["wakes_per_1000"] / 1000.0]
        wanted = [exact.speedup, exact.per_round("kappa"), math.sqrt(max(spread, 0.0))]
        wanted += [exact.per_round(key) for key in ("off", "drafted", "flips", "wakes")]
        assert found == pytest.approx(wanted, abs=1e-7), name


@pytest.mark.parametrize(("name", "also"), [("exp3", {"rate": 10.0}), ("exp3_spec", {"first": 3})])
def test_draws_where_nothing_is_accepted(name: str, also: dict[str, Any]) -> None:
    """A worth over highest instead of highest + 1, or η of the round before, would be told."""
    exact = law(RULES[name][0](**RULES[name][1] | also, price=PRICE), PRICE, (0.0,) * 6)
    row = run(drift((0.0,) * 6), PRICE, policy_of(name) | also, windows=1_000_000)
    assert abs(away(row, "mean_kappa", exact.per_round("kappa"))) < 7.0


def test_regret_at_the_first_rounds_of_a_lane() -> None:
    for name in ("rolling", "gate, probe", "ucb", "ucb_spec per cost", "exp3", "exp3_spec", "thompson"):
        marks, policy = [1, 2, 3], policy_of(name)
        curve = simspec.regret({"type": "iid", "alpha": 0.7}, policy, vars(PRICE), marks, chunks=16)
        best = max(brute.speed(brute.powers(0.7, 7), PRICE, kappa) for kappa in range(policy["highest"] + 1))
        for mark, mean, half in zip(marks, curve.mean, curve.half, strict=True):
            exact = law(rule_of(name), PRICE, 0.7, rounds=mark)
            regret = exact.sums["cost"] - exact.sums["tokens"] / best
            assert abs(mean - regret) < 7.0 * half / 1.96 + 1e-9, (name, mark, mean, regret)


def test_exact_histories_and_loops() -> None:
    for name in RULES:
        if name in DRAWN:
            continue
        for delay, truncate in ((0, True), (2, False)):
            stale = (2, 0.5) if delay else (0, 1.0)
            own = law(rule_of(name), CHANGES, FALLS[:8], delay=delay, stale=stale, truncate=truncate)
            process = Drift(shape="table", alphas=FALLS[:8], truncate=truncate)
            serving = Serving(delay=delay, stale_rounds=stale[0], stale_factor=stale[1])
            found = theory.enumerate_policy(process, asked_again(rule_of(name), delay), Cost(**vars(CHANGES)),
                                            serving=serving)  # fmt: skip
            wanted = [own.sums[key] for key in ("rounds", "drafted", "cost", "flips", "wakes")] + [own.speedup]
            assert [found.mean_rounds, found.mean_drafted, found.mean_cost, found.mean_flips, found.mean_wakes,
                    found.speedup] == pytest.approx(wanted, abs=1e-11), name  # fmt: skip


def asked_again(rule: brute.Rule, delay: int) -> Callable[[tuple[tuple[int, int], ...]], int]:
    """A rule without chance as a function of what it was told so far."""

    def choose(rounds: tuple[tuple[int, int], ...]) -> int:
        state, chances = rule.start()
        asked = [*chances] * (delay + 1)
        for i, (drafted, accepted) in enumerate(rounds):
            state, chances = rule.told(state, asked[-1], asked[i], drafted, accepted)
            asked += chances
        return asked[-1]

    return choose


def test_solve_plays_the_same_loop() -> None:
    dice = random.Random(3)
    for _ in range(40):
        cuts = sorted(dice.sample([0.2, 0.35, 0.5, 0.6, 0.75, 0.9], dice.randint(0, 3)))
        own = {"cuts": cuts, "kappas": [dice.randint(0, 6) for _ in range(len(cuts) + 1)], "rule": "table"}
        own |= {"smoothing": dice.choice([0.2, 0.85, 0.99]), "initial": dice.choice([0.0, 0.4, 1.0])}
        own |= {"lowest": dice.choice([0, 1, 2]), "guard": dice.choice([None, 0.25, 0.6]), "highest": 6}
        rule = brute.Rolling(**own)
        rule.first = rule.choice(rule.initial)
        alpha, tokens = dice.choice([0.0, 0.3, 0.7, 1.0]), dice.choice([1, 2, 7, 10])
        exact = law(rule, PRICE, (alpha,) * tokens)
        case = {"id": "1", "kind": "control_loop", "alpha": alpha, "n_tokens": tokens, "lambda": own["smoothing"],
                "initial": own["initial"], "cuts": cuts, "kappa_table": own["kappas"], "k_min": own["lowest"],
                "cost": {"c_d": 0.1, "c_v": 0.02, "c_r": 0.3}}  # fmt: skip
        (found,) = solve([case | ({"guard": own["guard"]} if own["guard"] else {})])
        wanted = [exact.sums["rounds"], exact.sums["cost"], exact.sums["drafted"], exact.speedup]
        assert [found[key] for key in ("mean_rounds", "mean_cost", "mean_drafted", "speedup")] == pytest.approx(wanted)
        chances = [exact.ends.get(rounds, 0.0) for rounds in range(len(found["pmf_rounds"]))]
        assert found["pmf_rounds"] == pytest.approx(chances, abs=1e-12)


def test_columns_of_a_policy() -> None:
    exact, row = law(rule_of("heuristic"), PRICE, FALLS), run(drift(FALLS), PRICE, policy_of("heuristic"))
    fixed = [law(brute.Always(first=kappa), PRICE, FALLS).speedup for kappa in range(12)]
    worth = [0.0] * 13  # cost of what is left, from the end
    for i in reversed(range(12)):
        choices = []
        for kappa in range(12 - i):
            alive, cost = 1.0, 0.0
            for accepted in range(kappa + 1):
                passes = FALLS[i + accepted] if accepted < kappa else 0.0
                cost += alive * (1.0 - passes) * (PRICE(kappa, accepted < kappa) + worth[i + accepted + 1])
                alive *= passes
            choices.append(cost)
        worth[i] = min(choices)
    best, plan = max(fixed), 12.0 / worth[0]
    assert [row["kappa_fixed"], row["best_fixed"], row["best_schedule"]] == pytest.approx(
        [fixed.index(best), best, plan]
    )
    assert abs(away(row, "loss_fixed", 1.0 - exact.speedup / best)) < 7.0
    assert abs(away(row, "loss_schedule", 1.0 - exact.speedup / plan)) < 7.0
    costs = [(PRICE(k, a < k), chance) for (k, a), chance in exact.rounds_by.items()]
    per_token = [(PRICE(k, a < k) / (a + 1), chance) for (k, a), chance in exact.rounds_by.items()]
    tokens = [(float(a + 1), chance) for (_, a), chance in exact.rounds_by.items()]
    for column, law_of, level in (
        ("round_cost_p50", costs, 0.5), ("round_cost_p95", costs, 0.95), ("round_cost_p99", costs, 0.99),
        ("round_token_cost_p50", per_token, 0.5), ("round_token_cost_p99", per_token, 0.99),
        ("tokens_p50", tokens, 0.5), ("tokens_p95", tokens, 0.95),
    ):  # fmt: skip
        total = sum(chance for _, chance in law_of)
        values = sorted({value for value, _ in law_of})
        reached = [sum(chance for own, chance in law_of if own <= value) / total for value in values]
        at = next(i for i, share in enumerate(reached) if share >= level)
        assert min(abs(share - level) for share in reached) > 0.002, "too near a step for a million rounds to tell"
        assert row[column] == pytest.approx(values[at]), column
