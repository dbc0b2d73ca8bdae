"""Schemes in scenario files: the same tables, errors and bytes as for chains, and prices by kind of round."""

import hashlib
import os
import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import simspec
from simspec import theory, write_report
from simspec.kernels.lower_schemes import tally_of
from simspec.model import Cost, DraftTree, Iid, ParameterError, Scenario, ScenarioError
from simspec.model.rounds import RoundKind
from simspec.model.schemes import Schemes, Tree
from simspec.report.points import points
from simspec.run.compare import compare
from simspec.run.dataset import read
from simspec.run.dispatch import run_jobs
from simspec.run.engine import Job
from simspec.run.record import Recording
from simspec.run.sweep import sweep
from simspec.run.tables import Block, estimate_table
from simspec.stats.counts import Counts
from simspec.stats.point import priced_estimates, window_estimates
from simspec.stats.prices import Prices

SCENARIO = {
    "name": "systems",
    "windows": 100_000,
    "kappa": [2, 4, 7],
    "process": {"type": "iid", "alpha": [0.5, 0.75]},
    "scheme": [
        {"type": "chain"},
        {"type": "tree", "misses": [0.4, 0.2]},
        {"type": "tree", "misses": [0.5], "widths": [2, 2, 1], "siblings": "sequential"},
        {"type": "stop", "theta": [0.2, 0.5]},
        {"type": "big_little", "p_fallback": 0.2},
        {"type": "lookahead", "candidates": 3, "window": 2, "good": 0.5},
        {"type": "lookup", "after_match": 0.7, "after_miss": 0.2},
        {"type": "ahead", "pre_verify": [False, True]},
        {"type": "unmask"},
    ],
    "cost": {"c_d": [0.05, 0.1], "c_v": [0.01], "c_r": [0.2]},
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return sweep(Scenario.from_dict(SCENARIO), tmp_path_factory.mktemp("schemes") / "out")


def test_every_estimate_covers_the_exact_speedup(dataset):
    """Intervals at a level that lies in one of 10⁸: every row at once."""
    strict = sweep(Scenario.from_dict({**SCENARIO, "level": 1 - 1e-8}), dataset.path.parent / "strict").estimates
    known = strict[strict["speedup_exact"].notna()]
    assert len(known) == len(strict) == 2 * 11 * 3 * 2
    assert (known["speedup_low"] <= known["speedup_exact"]).all()
    assert (known["speedup_high"] >= known["speedup_exact"]).all()
    assert ((known["speedup"] - known["speedup_exact"]).abs() / known["speedup_exact"] < 0.03).all()


def test_drafts_steps_and_waste_are_told(dataset):
    rows = dataset.estimates
    chains, trees = rows[rows["scheme"] == "chain"], rows[rows["scheme"] == "tree"]
    assert (chains["mean_drafted"] == chains["kappa"]).all()
    assert (chains["mean_steps"] == chains["kappa"]).all()
    assert (trees["mean_drafted"] == trees["kappa"]).all()
    assert (trees["mean_steps"] <= trees["kappa"]).all()
    assert (trees["mean_steps"] < trees["kappa"]).any()
    np.testing.assert_allclose(rows["mean_wasted"], rows["mean_drafted"] - rows["mean_accepted"])
    (lookahead,) = set(rows[(rows["scheme"] == "lookahead") & (rows["kappa"] == 4)]["mean_drafted"])
    assert lookahead == 4 * 5


def test_a_chain_is_the_same_run_with_and_without_a_scheme(tmp_path):
    """Its identity, streams and bytes are those of a file that names no scheme."""
    keys = {key: value for key, value in SCENARIO.items() if key != "scheme"}
    plain, named = Scenario.from_dict(keys), Scenario.from_dict({**keys, "scheme": {"type": "chain"}})
    assert plain == named
    assert "scheme" not in plain.to_dict()
    sweep(plain, tmp_path / "out")
    assert sweep(named, tmp_path / "out").estimates["scheme"].unique().tolist() == ["chain"]


def test_a_scenario_with_schemes_survives_json():
    scenario = Scenario.from_dict(SCENARIO)
    assert Scenario.from_dict(scenario.to_dict()) == scenario
    assert scenario.points() == 2 * 11 * 2
    assert len(scenario.simulations()) == 2 * 11


def data_bytes(folder):
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in folder.rglob("*.parquet")}


def test_without_a_compiler_the_twins_play(tmp_path):
    code = """
import json, simspec
keys = [{"type": "tree", "misses": [0.4]}, {"type": "dynamic_tree", "misses": [0.5], "breadth": 2, "depth": 2},
        {"type": "stop", "theta": 0.4}, {"type": "parallel"}]
found = [simspec.simulate({"type": "iid", "alpha": 0.7}, {"c_d": 0.1}, [1, 3], 1000, scheme=own) for own in keys]
chain = {"type": "token_chain", "target": [[0.5, 0.5], [0.9, 0.1]], "draft": [[0.5, 0.5], [0.5, 0.5]]}
found.append(simspec.simulate(chain, kappa=[2], windows=300, scheme={"type": "pool"}))
print(json.dumps([[tally.sums.tolist() for tally in one.tallies] for one in found]))
"""
    told = [
        subprocess.run([sys.executable, "-c", code], env=os.environ | own, capture_output=True, text=True, timeout=120)
        for own in ({}, {"NUMBA_DISABLE_JIT": "1"})
    ]
    assert [done.returncode for done in told] == [0, 0], told[1].stderr
    assert told[0].stdout == told[1].stdout != ""


def test_threads_change_no_byte(dataset, tmp_path):
    for threads in (1, 3):
        sweep(Scenario.from_dict(SCENARIO), tmp_path / f"t{threads}", threads)
        assert data_bytes(tmp_path / f"t{threads}") == data_bytes(dataset.path)


def test_the_table_names_schemes(dataset):
    text = read(dataset.path).summary()
    for said in ("system", "tree misses=0.4,0.2", "stop theta=0.5", "ahead pre_verify=true", "wasted", "p99 round"):
        assert said in text


def test_other_seeds_of_the_same_schemes_do_not_differ_and_other_schemes_do(dataset, tmp_path):
    """What a round keeps, and what it costs."""
    other = sweep(Scenario.from_dict({**SCENARIO, "seed": 2}), tmp_path / "other")
    found = compare(dataset, other)
    assert not found.differs
    assert set(found.to_pandas()["quantity"]) >= {"mean_accepted", "speedup"}
    assert "tree(" in "".join(found.names.values())


def test_a_page_names_schemes_and_claims_no_law_of_the_process(dataset, tmp_path):
    made = points(dataset.estimates)
    assert {point.scheme.split(" ")[0] for point in made} >= {"", "tree", "stop", "unmask"}
    assert all((point.process is None) == bool(point.scheme) for point in made)
    path = tmp_path / "page.html"
    write_report(dataset.path, path)
    assert "tree misses" in path.read_text(encoding="utf-8").replace("&nbsp;", " ")


def kinds_by_hand():
    tree = DraftTree(parents=[0, 0, 1], chances=[0.6, 0.2, 0.5])
    kinds = (RoundKind(1, 3, 2, False, 2), RoundKind(0, 3, 2, True, 1), RoundKind(2, 3, 2, False, 3, beside=4))
    return tree, kinds, np.array([[10, 5, 5], [8, 8, 4]])


@pytest.mark.parametrize(
    "cost",
    [
        Cost(c_d=0.1, c_v=0.02, c_r=0.3),
        Cost(draft_table=[0, 0.1, 0.3, 0.4, 2.0], verify_table=[1.0, 1.0, 1.0, 1.5], c_r=0.3),
    ],
)
def test_prices_of_kinds_by_hand(cost):
    """Two lanes of 20 rounds: draft steps, the longer of pass and steps beside it, and a rollback."""
    _, kinds, by_lane = kinds_by_hand()
    counts = Counts.of([tally_of(kinds, by_lane, 3)], fresh=False)
    each = [kind.price(cost) for kind in kinds]
    beside = max(cost.target_pass(3), cost.drafting(4))
    assert each == [cost.drafting(2) + cost.target_pass(3), cost.drafting(2) + cost.target_pass(3) + 0.3,
                    cost.drafting(2) + beside]  # fmt: skip
    np.testing.assert_allclose(counts.cost_by_unit(cost)[0], by_lane @ each)
    found = window_estimates(counts, 0.95) | priced_estimates(counts, Prices.of(cost, counts.longest), 0.95)
    total = by_lane.sum(axis=0)
    assert found["mean_round_cost"][0] == pytest.approx(total @ each / 40)
    assert found["speedup"][0] == pytest.approx(total @ [2, 1, 3] / (total @ each))
    assert found["mean_drafted"][0] == 3
    assert found["mean_steps"][0] == pytest.approx(2 + 4 * 9 / 40)
    assert found["p_full"][0] == pytest.approx(1 - 13 / 40)
    assert found["round_cost_p99"][0] == pytest.approx(max(each))


def test_simulated_trees_cost_what_the_exact_route_says(dataset):
    """One row in the words of theory: a tree by its own law."""
    row = dataset.estimates.query("scheme == 'tree' and kappa == 7 and c_d == 0.1 and alpha == 0.75").iloc[0]
    law = theory.scheme_law(Tree(misses=(0.4, 0.2)), Iid(alpha=0.75), 7)
    cost = Cost(c_d=0.1, c_v=0.01, c_r=0.2)
    assert row["speedup_exact"] == pytest.approx(law.speedup(cost))
    assert row["mean_tokens"] == pytest.approx(law.mean_tokens, abs=0.02)


BAD = [
    ('type = "treee"', "scheme.type", 'did you mean "tree"'),
    ('type = "EAGLE-4"', "scheme.type", 'did you mean "eagle"'),
    ('type = "tree"\nmisses = [0.7, 0.7]', "scheme.misses", "at most 1"),
    ('type = "tree"\nwidths = [1, 1]', "kappa", "beyond the 2 nodes"),
    ('type = "stop"\ntheta = 1.5', "scheme.theta", "0 ≤ theta ≤ 1"),
    ('type = "stop"\nthteta = 0.5', "scheme.thteta", 'did you mean "theta"'),
    ('type = "stop"\ntheta = 0.5\nconfidences = [0.5, 0.6]', "scheme.confidences", "one per state"),
]


@pytest.mark.parametrize(("lines", "key", "said"), BAD, ids=[key for _, key, _ in BAD])
def test_a_bad_scheme_is_one_line_with_its_place(tmp_path, lines, key, said):
    path = tmp_path / "s.toml"
    path.write_text(f'kappa = [2, 4]\n[process]\ntype = "iid"\nalpha = 0.7\n[scheme]\n{lines}\n')
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(path)
    message = str(caught.value)
    assert said in message
    assert "\n" not in message
    written = path.read_text().splitlines()
    number = 1 if key == "kappa" else max(i for i, text in enumerate(written, 1) if text.startswith(key.split(".")[1]))
    assert message.startswith(f"{path}:{number}: ")


def test_what_schemes_cannot_be_asked(tmp_path):
    base = {"name": "x", "kappa": [2], "process": {"type": "iid", "alpha": 0.7}, "scheme": {"type": "tree"}}
    for change, key in (
        ({"method": "multinomial"}, "method"),
        ({"process": {"type": "gaussian_copula_ar1", "alpha": 0.8, "rho": 0.3}}, "process.type"),
        ({"scheme": []}, "scheme"),
        ({"scheme": "tree"}, "scheme"),
        ({"cost": {"verify_table": [1.0, 1.1]}}, "cost.verify_table"),
        ({"scheme": {"type": "parallel"}}, "cost.c_d"),
        ({"scheme": {"type": "stop", "theta": 0.5}, "process": {"type": "position", "alphas": [0.5]}}, "kappa"),
    ):
        with pytest.raises(ParameterError) as caught:
            Scenario.from_dict({**base, **change}).check()
        assert caught.value.key == key
    with pytest.raises(ParameterError, match="record lists rounds of chains only"):
        sweep(Scenario.from_dict(base), tmp_path / "out", recording=Recording(10))


def test_a_table_of_costs_ends_at_the_depth_of_a_tree_not_at_its_nodes(tmp_path):
    """Seven nodes on two levels need a draft table of two steps."""
    scenario = Scenario.from_dict({
        "name": "x", "kappa": [6], "windows": 1000, "process": {"type": "iid", "alpha": 0.7},
        "scheme": {"type": "tree", "widths": [2, 2], "misses": [0.5]}, "cost": {"draft_table": [0.0, 0.1, 0.25]},
    })  # fmt: skip
    row = sweep(scenario, tmp_path / "out").estimates.iloc[0]
    assert row["mean_round_cost"] == pytest.approx(1.25)
    assert isinstance(row, pd.Series)


PLAIN = {
    "label": ["", "one"],
    "theta": [0, 0.3, 0.5, 1],
    "rule": ["survival", "confidence", "rrs", "naive", "block"],
    "match_max": [1, 3],
    "match_min": [1, 2],
    "memory": [4, 64],
    "which": ["earliest", "latest"],
    "guess": [0.5, 1],
    "vectors": [[[0.6, 0.2], [0.3, 0.3]]],
    "weights": [[0.5, 0.5]],
    "acceptance": [[[0.5, 0.2], [0.3, 0.3]]],
    "temperature": [1, 2],
    "fallback": [0.6],
    "rollback": [2, 5],
    "sampled": [True, False],
    "steps": [4, 8],
    "tau": [0.5, 0.9],
    "sequences": [2, 3],
    "others": [[[[0.5, 0.5], [0.5, 0.5]]]],
    "drafts": ["sampled", "likeliest"],
    "lenience": [0.5, 1],
    "epsilon": [0.1],
    "delta": [0.3],
    "ends": ["target", "greedy"],
    "kmin": [1, 2, 5],
    "siblings": ["exclusive", "sequential"],
    "confidences": [[0.5, 0.5], [0.9, 0.2], [0.3]],
    "misses": [[0.4, 0.2], [0.5], [0, 0], [[0.4], [0.3], [0.2]]],
    "widths": [[2, 2, 2], [1, 1, 1, 1, 1, 1, 1], [3, 1, 2]],
    "parents": [[0, 0, 1], [0, 1, 2, 3]],
    "ranks": [[1, 2, 1], [1, 1, 1, 1]],
    "max_depth": [1, 2, 3],
    "breadth": [1, 2, 3],
    "depth": [1, 2, 3],
    "after_match": [0.5, 1],
    "after_miss": [0, 0.5, 1],
    "candidates": [1, 3],
    "window": [0, 2],
    "good": [0, 0.5, 1],
    "p_fallback": [0, 0.3, 1],
    "pre_verify": [True, False],
    "layers": [0, 0.25, 1],
    "reuse": [True, False],
    "adapter": [0, 0.05],
    "drafting": ["depth", "window", "node"],
    "heads": [1, 2, 3],
}
STEPS = {"from": 0, "to": 1, "step": 0.5}
RUBBISH = [0, 1, -1, 0.5, 64, 10**9, "a", True, None, [], [[0.5], [0.2]], STEPS, float("nan"), [0.9, 0.9], [[]], 1e-300]
PROCESSES = [
    {"type": "iid", "alpha": [0, 0.7, 1]},
    {"type": "position", "alphas": [0.5, 0.4, 0.0]},
    {"type": "survival", "survival": [0.5, 0.0]},
    {"type": "hmm", "P": [[0.5, 0.5], [0.5, 0.5]], "alphas": [0.9, 0.1]},
    {"type": "token_chain", "target": [[0.5, 0.5], [1, 0]], "draft": [[0.5, 0.5], [1, 0]]},
    {"type": "beta_mixture", "alpha": 0.5, "rho": 0.1},
]
PRICES = [{}, {"c_d": 0.1, "c_v": 0.01, "c_r": 0.3}, {"draft_table": [0, 0.1, 0.2]}, {"verify_table": [1, 1, 1.1, 1.2]}]


def test_rubbish_is_refused_in_one_line_or_played():
    """Twelve hundred random scenarios; the tables of those that are none are never filled."""
    chance, played, refused = random.Random(1), Counter(), []
    for _ in range(1200):
        kind = chance.choice(
            [*Schemes.table, "tree", "dynamic_tree", "dynamic_tree", "stop", "lookup", "tokens", "copy", "nothing"]
        )
        known = Schemes.table[kind].model_fields if kind in Schemes.table else {}
        odds = {key: 0.9 if field.is_required() else 0.6 if len(known) < 9 else 0.2 for key, field in known.items()}
        own = {key: chance.choice(PLAIN.get(key, RUBBISH) if chance.random() < 0.8 else RUBBISH)
               for key in known if key != "type" and chance.random() < odds[key]}  # fmt: skip
        asked = {
            "name": "f",
            "windows": 50,
            "kappa": chance.choice([[0], [1], [2, 5], [0, 3]]),
            "process": chance.choice(PROCESSES),
            "scheme": {"type": kind, **own},
            "cost": chance.choice(PRICES),
        }
        try:
            scenario = Scenario.from_dict(asked)
            scenario.check(100)
        except ParameterError as error:
            refused.append(error.message)
            continue
        jobs = [Job(simulation, kappas, 50, 1) for simulation, kappas in scenario.simulations()]
        costs = list(scenario.costs())
        table = estimate_table([Block(job, tallies, costs, 0.95) for job, tallies in run_jobs(jobs, 1)]).to_pandas()
        assert (table["mean_round_cost"] > 0).all()
        assert (table["mean_tokens"] >= 1).all()
        played[kind] += 1
    assert set(played) == set(Schemes.table)
    told = ("allowed", "known", "did you mean", "takes", "is missing; ")
    assert [text for text in refused if "\n" in text or not any(word in text for word in told)] == []


@pytest.mark.parametrize(
    ("scheme", "says"),
    [
        ("p_min", "every draft is as confident as α says"),
        ("eagle2", "all trees are one tree"),
        ("dsi", "copies of the target"),
        ("fast dllm", "no acceptance rate"),
        ("lookahead decoding", "a draft model's α is no guess at it"),
    ],
)
def test_what_exact_says_of_a_scheme_a_run_says_too(scheme, says, tmp_path):
    table = {"name": "told", "windows": 1000, "process": {"type": "iid", "alpha": 0.7}, "cost": {"c_d": 0.1},
             "scheme": {"type": scheme}, "kappa": [2]}  # fmt: skip
    summary = " ".join(simspec.sweep(table, tmp_path / "run").summary().split())
    assert says in summary
    assert says in " ".join(simspec.exact(simspec.Iid(alpha=0.7), {"c_d": 0.1}, 2, scheme)._notes())
