"""Is the planned tree the best of all, does it beat chains at equal cost, and does what is printed run as it says?"""

from __future__ import annotations

import ast
import functools
import itertools
import json
import math
import re
import subprocess
import sys
import time

import numpy as np
import pytest

import simspec
from simspec import ParameterError
from simspec.advice.trees.engines import children_by_level, engine_forms, paths
from simspec.cli.main import main
from simspec.evidence.costs.round_costs import RoundCosts
from simspec.model import Cost, DraftTree
from simspec.theory import best_tree, fastest_tree, fastest_trees, tree_law
from simspec.theory.best_trees import accepted_by_depth
from simspec.theory.parted_chains import draft_chains

# all trees of at most seven nodes, as tuples of (rank, subtree), and what they are worth, from the definition


@functools.cache
def shapes(nodes, depth, ranks, siblings):
    """Every tree below a node with so many nodes and levels: tuples of (rank, subtree) in order of rank."""
    if nodes == 0:
        return [()]
    if depth == 0:
        return []
    found = []
    chosen = [tuple(range(many)) for many in range(1, ranks + 1)]
    if siblings == "exclusive":
        chosen = [own for many in range(1, ranks + 1) for own in itertools.combinations(range(ranks), many)]
    for own in chosen:
        for split in splits(nodes - len(own), len(own)):
            below = [shapes(part, depth - 1, ranks, siblings) for part in split]
            found += [tuple(zip(own, way, strict=True)) for way in itertools.product(*below)]
    return found


@functools.cache
def splits(total, parts):
    if parts == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total + 1) for rest in splits(total - first, parts - 1)]


def worth(shape, rows, siblings, level=0):
    """E[A] below a node, and P(the walk ends at a node with children)."""
    accepted, ends, left = 0.0, 0.0, 1.0
    for rank, below in shape:
        own = rows[min(level, len(rows) - 1)][rank] * (left if siblings == "sequential" else 1.0)
        left -= own
        more, lost = worth(below, rows, siblings, level + 1)
        accepted, ends = accepted + own * (1.0 + more), ends + own * lost
    return accepted, ends + (left if shape else 0.0)


def height(shape):
    return 1 + max(height(below) for _, below in shape) if shape else 0


BRUTE = [
    ([[0.6, 0.2]], 7, 7, "exclusive"),
    ([[0.45, 0.3, 0.15]], 6, 3, "exclusive"),  # a limit of the depth
    ([[0.2, 0.5]], 6, 6, "exclusive"),  # the second rank is the better one
    ([[0.6, 0.3], [0.9, 0.1], [0.2, 0.2]], 7, 3, "exclusive"),  # chances by depth
    ([[0.7, 0.6]], 7, 7, "sequential"),
    ([[0.5, 0.4, 0.6]], 6, 4, "sequential"),
    ([[0.3, 0.9], [0.8, 0.5]], 6, 2, "sequential"),
    ([[1.0, 0.0]], 5, 5, "exclusive"),
    ([[0.0, 0.0]], 5, 5, "sequential"),
    ([[0.5]], 7, 7, "exclusive"),  # a chain is the only tree
]
COSTS = [
    Cost(c_d=0.1),
    Cost(c_d=0.03, c_v=0.04),
    Cost(c_d=0.05, c_v=0.02, c_r=0.4),
    Cost(c_d=0.02, verify_table=[1.0, 1.0, 1.05, 1.05, 1.4, 1.4, 1.45, 1.5]),
    Cost(draft_table=[0.0, 0.2, 0.22, 0.24, 0.4, 0.5, 0.6, 0.7], verify_table=[1.0 + 0.03 * n for n in range(8)]),
]


@pytest.mark.parametrize(("rows", "nodes", "depth", "siblings"), BRUTE)
def test_no_tree_of_seven_nodes_is_better(rows, nodes, depth, siblings):
    """Every tree with every number of nodes, under every cost: most kept, fastest, fastest of exactly so many."""
    given = rows if len(rows) > 1 else rows[0]
    every = {n: shapes(n, depth, len(rows[0]), siblings) for n in range(nodes + 1)}
    values = {n: [(*worth(shape, rows, siblings), height(shape)) for shape in own] for n, own in every.items()}
    kept = [max((a for a, _, _ in values[n]), default=-1.0) for n in range(nodes + 1)]
    assert best_tree(given, nodes, depth, siblings).mean_accepted == pytest.approx(max(kept), abs=1e-12)
    by_depth = accepted_by_depth(given, nodes, depth, siblings)
    for d, n in np.ndindex(by_depth.shape):
        most = max(a for m in range(n + 1) for a, _, high in values[m] if high <= d)
        assert by_depth[d, n] == pytest.approx(most, abs=1e-12)
    for cost in COSTS:
        speeds = {
            n: max((1 + a) / (cost.target_pass(n) + cost.drafting(d) + cost.c_r * r) for a, r, d in own)
            for n, own in values.items()
            if own
        }
        fastest = fastest_tree(given, nodes, cost, depth, siblings)
        assert fastest.speedup == pytest.approx(max(speeds.values()), abs=1e-12)
        exactly = fastest_trees(given, range(nodes + 1), cost, depth, siblings)
        assert {n: own.speedup for n, own in exactly.items()} == pytest.approx(speeds, abs=1e-12)
        assert all(own.tree.nodes == n and own.tree.depth <= depth for n, own in exactly.items())
        assert all(tree_law(own.tree).speedup(cost) == pytest.approx(own.speedup) for own in exactly.values())


def test_the_number_of_all_trees_is_known():
    """With their root, binary trees are counted by Catalan's numbers, ternary ones by binom(3n, n)/(2n + 1)."""
    for n in range(1, 8):
        assert len(shapes(n - 1, n, 2, "exclusive")) == math.comb(2 * n, n) // (n + 1)
        assert len(shapes(n - 1, n, 3, "exclusive")) == math.comb(3 * n, n) // (2 * n + 1)


def test_a_tree_left_out_would_be_seen():
    """Without the trees whose second rank has children the best of the rest is worse."""
    rows = [[0.45, 0.3, 0.15]]
    rest = [own for own in shapes(6, 3, 3, "exclusive") if not any(rank and below for rank, below in own)]
    assert max(worth(own, rows, "exclusive")[0] for own in rest) < best_tree(rows[0], 6, 3).mean_accepted - 0.01


def test_chains_side_by_side_by_hand():
    """K chains part at the root: P(some first token) times what a chain of rank 1 keeps."""
    for siblings, first in (("exclusive", 0.6 + 0.2), ("sequential", 1 - 0.4 * 0.8)):
        for kappa in (1, 2, 5):
            own = draft_chains([0.6, 0.2], 2, kappa, siblings)
            assert own.mean_accepted == pytest.approx(first * sum(0.6**j for j in range(kappa)))
            assert own.tree.nodes == 2 * kappa
    assert draft_chains([0.7], 1, 4).tree.parents == (0, 1, 2, 3)
    assert draft_chains([[0.7, 0.1], [0.5]], 2, 2).mean_accepted == pytest.approx(0.8 * 1.5)
    for arguments, named in ((([0.7], 2, 3), "drafts"), (([[0.7], [0.5]], 1, 3), "kappa"), (([0.7], 0, 3), "drafts")):
        with pytest.raises(ParameterError) as caught:
            draft_chains(*arguments)
        assert caught.value.key == named


PLANS = [
    ({"ranks": [0.6, 0.18, 0.08], "cost": {"c_d": 0.05, "c_v": 0.01}}, {}),
    ({"ranks": [0.6, 0.5], "siblings": "sequential", "cost": {"c_d": 0.05, "c_v": 0.02, "c_r": 0.2}}, {"nodes": 12}),
    ({"alpha": [0.79, 0.74, 0.72, 0.73, 0.67], "misses": [0.3, 0.1]}, {"nodes": 26}),
    ({"alpha": 1.0, "misses": []}, {"nodes": 5}),
    ({"alpha": 0.0, "misses": []}, {"nodes": 5}),
    ({"ranks": [[0.6, 0.2], [0.5]], "cost": {"c_d": 0.05, "verify_table": [1.0] * 3 + [1.2] * 4}}, {}),
    ({"ranks": [0.3, 0.3, 0.3], "cost": {"c_d": 0.4}}, {"nodes": 1}),
]


@pytest.mark.parametrize(("keys", "size"), PLANS, ids=lambda value: str(value)[:60])
def test_played_rounds_agree_with_every_number(keys, size):
    """Every tree, chain and pair of chains shown, played: intervals of 99.9999%."""
    plan = simspec.plan_tree(**keys, **size, windows=30_000)
    assert plan.agrees
    assert all(own.simulated for own in plan.shown)
    assert plan.best.speedup >= max(own.speedup for own in plan.shown) - 1e-12
    for row in plan.equal_cost:  # a chain is a tree, and so are chains side by side
        others = [row[key]["mean_tokens"] for key in ("chain", "drafts") if row[key]]
        assert row["tree"]["mean_tokens"] >= max(others) - 1e-12
        paid = plan.cost.target_pass(row["tree"]["nodes"]) + plan.cost.drafting(row["tree"]["depth"])
        assert paid <= row["round_cost"] + 1e-9
    json.dumps(plan.to_dict(), allow_nan=False)
    assert len(plan.to_pandas()) == len(plan.by_nodes)


def test_an_error_of_the_exact_route_would_be_seen(monkeypatch):
    """A tree whose exact law takes its chances for .01 more is told, by exit code 1 as well."""
    from simspec.advice.trees import shapes as own

    real = own.tree_law

    def wrong(tree):
        return real(DraftTree(parents=tree.parents, chances=tuple(min(p + 0.01, 1.0) for p in tree.chances)))

    monkeypatch.setattr(own, "tree_law", wrong)
    plan = simspec.plan_tree([0.6, 0.18], {"c_d": 0.05, "c_v": 0.01}, nodes=16, windows=300_000)
    assert plan.agrees is False
    assert "without the exact value: an error of simspec" in str(plan)
    assert main(["tree", "--ranks", ".6,.18", "--nodes", "16", "--windows", "300000"]) == 1


def test_the_pasted_scenario_runs_and_gives_the_number(tmp_path, capsys):
    """What is printed as a scenario is one, with the speed-up that is printed, for four kinds of plans."""
    for i, (keys, size) in enumerate(PLANS[:3] + PLANS[5:6]):
        plan = simspec.plan_tree(**keys, **size)
        text = next(form.text for form in engine_forms(plan) if form.key == "scenario")
        file = tmp_path / f"tree{i}.toml"
        file.write_text(f"windows = 50000\n{text}\n")
        data = simspec.sweep(file, output=tmp_path / f"out{i}").to_pandas()
        assert len(data) == 1
        assert data["speedup_exact"][0] == pytest.approx(plan.best.speedup, abs=1e-9)
        width = data["speedup_high"][0] - data["speedup_low"][0]  # 3.92 standard errors
        assert abs(data["speedup"][0] - plan.best.speedup) <= 1.5 * width
    capsys.readouterr()


def test_a_survival_curve_is_rates_by_depth():
    one, other = (
        simspec.plan_tree(misses=[0.3], cost={"c_d": 0.05, "c_v": 0.01}, **keys)
        for keys in ({"survival": [0.8, 0.6, 0.3, 0.0, 0.0]}, {"alpha": [0.8, 0.75, 0.5, 0.0, 0.0]})
    )
    assert one.best.speedup == pytest.approx(other.best.speedup, abs=1e-12)
    assert one.chain.nodes == other.chain.nodes == 3


def test_the_best_chain_is_that_of_simspec_exact():
    for alpha, cost in ((0.6, {"c_d": 0.05, "c_v": 0.01}), (0.85, {"c_d": 0.1, "c_r": 0.2}), (0.2, {"c_d": 0.3})):
        chain = simspec.plan_tree(alpha=alpha, misses=[0.3], cost=cost).chain
        own = simspec.exact({"type": "iid", "alpha": alpha}, cost)
        assert (chain.nodes, chain.speedup) == (own.kappa_star, pytest.approx(own.optimum.best_speedup))


def test_forms_of_engines():
    plan = simspec.plan_tree([0.6, 0.18, 0.08], {"c_d": 0.05, "c_v": 0.01})
    forms = {form.key: form for form in engine_forms(plan)}
    choices = ast.literal_eval(forms["paths"].text)
    assert len(choices) == plan.best.nodes == len({tuple(way) for way in choices})
    assert all(way[:-1] == [] or way[:-1] in choices for way in choices)  # every parent is listed
    assert max(map(len, choices)) == plan.best.law.depth
    steps, topk, drafted = map(int, re.findall(r" (\d+)", forms["sglang"].text))
    assert (steps, topk, drafted) == (plan.best.law.depth, 3, plan.best.nodes + 1)
    assert forms["vllm"].text == ""
    assert "as many children" in forms["vllm"].note
    flat = simspec.plan_tree([0.4, 0.35], {"c_d": 0.2, "c_v": 0.001}, nodes=6, depth=2)
    vllm = json.loads(next(form.text for form in engine_forms(flat) if form.key == "vllm"))
    assert vllm["num_speculative_tokens"] == 6
    assert ast.literal_eval(vllm["speculative_token_tree"]) == [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    chain = simspec.plan_tree([0.7], {"c_d": 0.1}, nodes=8)
    assert "--speculative-eagle-topk 1 --speculative-num-draft-tokens 5" in str(chain)
    assert engine_forms(simspec.plan_tree([0.1], {"c_d": 0.5})) == []


def test_shapes_as_paths():
    tree = DraftTree(parents=[0, 0, 2, 2], chances=[0.5, 0.2, 0.5, 0.2])
    assert paths(tree, (1, 2, 1, 2)) == [(0,), (1,), (1, 0), (1, 1)]
    assert children_by_level(tree, (1, 2, 1, 2)) is None
    assert children_by_level(DraftTree(parents=[0, 1], chances=[0.5, 0.2]), (1, 2)) is None  # the second guess alone
    assert children_by_level(DraftTree(parents=(), chances=()), ()) == []


def test_costs_that_were_measured():
    """A round of κ drafts is κ steps and a pass; a tree pays the steps per level only."""
    measured = RoundCosts.affine(1.1, 0.12, kappas=(2, 4, 8))
    with pytest.raises(ParameterError, match="tell a draft step from a wider pass") as caught:
        simspec.plan_tree([0.6, 0.2], measured)
    assert caught.value.key == "draft_cost"
    plan = simspec.plan_tree([0.6, 0.2], measured, draft_cost=0.1)
    assert (plan.cost.c0, plan.cost.c_d) == (1.1, 0.1)
    assert plan.cost.c_v == pytest.approx(0.02)
    own = plan.by_nodes[3]
    assert own.mean_cost == pytest.approx(measured.at(own.nodes) - 0.1 * (own.nodes - own.law.depth))
    assert any("measured up to 8 drafts" in note for note in plan.notes)
    assert not any("measured up to" in note for note in simspec.plan_tree([0.6], measured, 8, draft_cost=0.1).notes)
    table = simspec.plan_tree([0.6, 0.2], {"c_d": 0.05, "verify_table": [1.0] * 9})
    assert table.best.nodes <= 8
    assert any("ends at width 9" in note for note in table.notes)
    for cost, draft in ((measured, 0.5), (RoundCosts.affine(1, 0.1, draft=0.1), 0.2), ({"c_d": 0.1}, 0.2)):
        with pytest.raises(ParameterError) as caught:
            simspec.plan_tree([0.6], cost, draft_cost=draft)
        assert caught.value.key == "draft_cost"


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"ranks": []}, "ranks"),
        ({"ranks": 0.5}, "ranks"),
        ({"ranks": [0.6, 0.5]}, "ranks"),
        ({"ranks": [1.5]}, "ranks[0]"),
        ({"ranks": [[0.5], [0.6, 0.6]]}, "ranks[1]"),
        ({"ranks": [[0.5], []]}, "ranks[1]"),
        ({"ranks": [float("nan")]}, "ranks"),
        ({"ranks": ["a"]}, "ranks"),
        ({"ranks": [0.5], "alpha": 0.5}, "alpha"),
        ({"alpha": 1.2}, "alpha"),
        ({"alpha": 0.5, "survival": [0.5]}, "survival"),
        ({"survival": [0.5, 0.6]}, "survival"),
        ({"survival": 0.5}, "survival"),
        ({"ranks": [0.5], "survival": [0.5]}, "survival"),
        ({"alpha": []}, "alpha"),
        ({"alpha": True}, "alpha"),
        ({"misses": [0.7, 0.6]}, "misses"),
        ({"alpha": [0.5, 0.4], "misses": [[0.1]] * 3}, "misses"),
        ({"siblings": "both"}, "siblings"),
        ({"nodes": 0}, "nodes"),
        ({"nodes": 257}, "nodes"),
        ({"nodes": 4.5}, "nodes"),
        ({"nodes": True}, "nodes"),
        ({"depth": 0}, "depth"),
        ({"depth": True}, "depth"),
        ({"windows": 0}, "windows"),
        ({"windows": True}, "windows"),
        ({"cost": {"c_d": -1}}, "c_d"),
        ({"cost": 3}, "cost"),
        ({"cost": {"verify_table": [1.0]}}, "cost"),
    ],
)
def test_rubbish_is_one_error(keys, named):
    with pytest.raises(ParameterError) as caught:
        simspec.plan_tree(**keys)
    assert caught.value.key == named
    assert "\n" not in caught.value.message


def test_the_command_says_it_in_one_sentence(capsys):
    assert main(["tree", "--ranks", ".6,.18,.08", "--draft-cost", ".05", "--verify-cost", ".01"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert " ".join(out.split("\n")[:2]).startswith(
        "best tree: 21 nodes, 4 levels: 2.3733x a plain step (exact); the best chain (κ = 4) gives 1.8594x, 3 drafts"
    )
    assert main(["tree", "--alpha", "10%", "--draft-cost", ".9", "--misses"]) == 0
    assert capsys.readouterr().out.startswith("do not draft: the best tree, 1 node, gives 0.5789x against 1.0000x")
    assert main(["tree", "--ranks", ".6,.2", "--ranks", ".5,.3", "--json", "--windows", "20000"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (err, found["agrees"], found["best"]["depth"], found["ranks"]) == ("", True, 2, [[0.6, 0.2], [0.5, 0.3]])
    for line in (["--ranks", ".6,.5"], ["--at", "3"], ["--costs", "no-such-file"], ["--alpha", "2"]):
        assert main(["tree", *line]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_costs_from_a_sweep(tmp_path, capsys):
    file = tmp_path / "sweep.csv"
    file.write_text("kappa,emitted,tpot_ms\n0,1,7.07\n2,2.434,4.21\n3,2.823,3.99\n4,3.091,4.05\n6,3.389,4.28\n")
    assert main(["tree", "--costs", str(file)]) == 2
    assert "give --draft-cost" in capsys.readouterr().err
    assert main(["tree", "--costs", str(file), "--draft-cost", ".1"]) == 0
    assert "c_v = 0.0517" in capsys.readouterr().out
    file.write_text("batch,kappa,round_ms\n1,0,20\n1,2,23\n1,4,26\n16,0,24\n16,2,29\n16,4,35\n")
    assert main(["tree", "--costs", str(file), "--draft-cost", ".05"]) == 2
    assert "batch 1, batch 16; give --at" in capsys.readouterr().err
    assert main(["tree", "--costs", str(file), "--draft-cost", ".05", "--at", "1"]) == 0
    assert "c_v = 0.025" in capsys.readouterr().out
    widths = ["--width", "1,2,4,8,16,32", "--verify-ms", "20,20.1,20.3,20.5,21,24", "--draft-cost", ".05", "--json"]
    assert main(["costs", *widths]) == 0
    file.write_text(capsys.readouterr().out)
    assert main(["tree", "--costs", str(file), "--ranks", ".6,.18,.08", "--nodes", "31", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = {row["nodes"]: row for row in found["by_nodes"]}
    assert rows[31]["mean_cost"] == pytest.approx(24 / 20 + 0.05 * rows[31]["depth"], rel=0.02)


def test_every_flag_has_a_default_and_help_loads_nothing(capsys):
    with pytest.raises(SystemExit):
        main(["tree", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    for flag in re.findall(r"(?<=\[)--[a-z0-9-]+", told):
        assert flag in told
    assert told.count("default") >= 14
    for word in ("speculative_num_steps", "speculative_num_draft_tokens", "TPOT", "Medusa", "n-α"):
        assert word in told
    code = "import sys; from simspec.cli.main import parser; parser(); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "False"


def test_the_largest_plan_takes_seconds():
    began = time.monotonic()
    simspec.plan_tree([0.5, 0.15, 0.08, 0.05, 0.03, 0.02], {"c_d": 0.02, "c_v": 0.0005}, nodes=256)
    simspec.plan_tree([0.5, 0.15, 0.08, 0.05], {"c_d": 0.02, "c_v": 0.0005, "c_r": 0.05}, nodes=64)
    assert time.monotonic() - began < 30


def test_a_load_beside_a_file_without_loads_is_said(tmp_path, capsys):
    path = tmp_path / "prices.toml"
    path.write_text('[process]\ntype = "iid"\nalpha = 0.7\n[cost]\nc_d = 0.1\n')
    assert main(["tree", "--costs", str(path), "--at", "8"]) == 2
    assert capsys.readouterr().err.rstrip().endswith("tells of no load; leave --at out")
    assert main(["tree", "--costs", str(path)]) == 0
