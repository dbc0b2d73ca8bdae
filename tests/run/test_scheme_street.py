"""Schemes on the whole street: exact values, where they run and what they are called, comparison, the table."""

import itertools
import json
import math
import re
import shutil

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from simspec import exact, simulate, theory
from simspec.cli.main import main
from simspec.kernels.lower_schemes import scheme_form
from simspec.model import Cost, Iid, ParameterError, Scenario, ScenarioError, Simulation
from simspec.model.schemes import Ahead, Parallel, Stop, Tree
from simspec.report.systems_folder import TABLE, scenario_of, stored
from simspec.run.compare import compare
from simspec.run.dispatch import run_jobs
from simspec.run.engine import Job, players
from simspec.run.sweep import sweep
from simspec.run.systems import System, families, sentence
from simspec.run.tables import Block, estimate_table
from simspec.stats import difference as stats
from simspec.stats.request_tail import request_token_cost

SCHEMES = [
    {"type": "chain", "label": "plain"},
    {"type": "tree", "misses": [0.4, 0.2], "label": "wide", "kappa": [4, 8]},
    {"type": "stop", "theta": 0.4},
    {"type": "lookup", "after_match": 0.7, "after_miss": 0.2, "process": "copies"},
    {"type": "big_little", "p_fallback": 0.2, "label": "little"},
    {"type": "unmask", "process": ["copies"], "kappa": [7]},
]
SCENARIO = {
    "name": "street",
    "windows": 40_000,
    "kappa": [1, 3],
    "process": [{"type": "iid", "alpha": 0.7, "label": "pair"}, {"type": "iid", "alpha": 0.4, "label": "copies"}],
    "scheme": SCHEMES,
    "cost": {"c_d": 0.08, "c_v": 0.01, "c_r": 0.1},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("street")


@pytest.fixture(scope="module")
def played(folder):
    return sweep(Scenario.from_dict(SCENARIO), folder / "played")


@pytest.fixture(scope="module")
def known(folder):
    return sweep(Scenario.from_dict({**SCENARIO, "method": "exact"}), folder / "known")


def test_exact_values_of_schemes_are_their_laws(known):
    rows = known.estimates
    assert known.complete
    assert known.failed == []
    assert set(rows["scheme"]) == {"chain", "tree", "stop", "lookup", "big_little", "unmask"}
    row = rows.query("scheme == 'tree' and kappa == 8 and alpha == 0.7").iloc[0]
    law, cost = theory.scheme_law(Tree(misses=(0.4, 0.2)), Iid(alpha=0.7), 8), Cost(c_d=0.08, c_v=0.01, c_r=0.1)
    assert row["mean_tokens"] == row["mean_tokens_low"] == row["mean_tokens_high"] == law.mean_tokens
    assert row["speedup"] == row["speedup_exact"] == row["speedup_high"] == law.speedup(cost)
    assert row["mean_round_cost"] == law.price(cost)
    assert row["mean_wasted"] == law.mean_drafted - law.mean_accepted
    assert row["p_full"] == 1.0 - law.p_rejected
    assert (row["rounds"], row["units"], row["method"]) == (0, 0, "exact")
    pmf = law.pmf_accepted
    assert row["p_zero_accepted"] == pmf[0]
    assert row["var_accepted"] == pytest.approx(pmf @ np.arange(pmf.size) ** 2 - law.mean_accepted**2)
    others = rows[rows["scheme"] != "chain"]
    assert others[["round_cost_p99", "tokens_p50", "mean_steps"]].isna().all(axis=None)
    bare = rows[rows["scheme"] == "unmask"]
    assert bare[["var_accepted", "p_zero_accepted"]].isna().all(axis=None)
    assert (rows.groupby("point_id", observed=True)["kappa_star"].nunique() == 1).all()
    assert rows.loc[rows.groupby("point_id", observed=True)["speedup"].idxmax()].eval("kappa == kappa_star").all()


def test_a_simulation_meets_the_exact_values(played, known):
    """False alarm anywhere at most 1e-6; an α that is .01 off is seen (below)."""
    found = compare(played, known, error=1e-6)
    assert not found.differs
    frame = found.to_pandas()
    priced = frame[frame["quantity"].isin(["speedup", "mean_round_cost"])]
    assert set(priced["simulation_id"]) == set(played.estimates["simulation_id"])
    assert len(priced) == 2 * len(played.estimates)
    exact_rows = known.estimates.astype({"simulation_id": str}).set_index(["simulation_id", "kappa"])
    for row in found.rows:
        assert row.b == pytest.approx(exact_rows.loc[(row.simulation_id, row.kappa), row.quantity], abs=1e-9)
    told = {entry.why for entry in found.left_out}
    assert told == {"exact means alone do not hold var_accepted, p_zero_accepted"}


def test_a_law_that_is_off_is_seen(known, folder):
    """The exact table claims a speed-up of the tree that is 4% off; its prices alone are judged by what is stored."""
    planted = tampered(known.path, folder / "planted", 1.04)
    found = compare(folder / "played", planted, error=1e-6)
    assert {row.quantity for row in found.differences} == {"speedup"}
    assert {found.names[row.simulation_id].split("(")[0] for row in found.differences} == {"wide: tree"}


def tampered(source, target, factor):
    """A copy whose trees have other speed-ups."""
    shutil.copytree(source, target)
    (part,) = (target / "estimates").glob("*.parquet")
    table = pq.read_table(part)
    wrong = pc.equal(table["scheme"].cast("string"), "tree")
    for name in ("speedup", "speedup_low", "speedup_high"):
        changed = pc.if_else(wrong, pc.multiply(table[name], factor), table[name])
        table = table.set_column(table.column_names.index(name), table.schema.field(name), changed)
    pq.write_table(table, part)
    return target


def test_prices_of_schemes_and_of_tables_are_compared_and_nothing_is_dropped(played, folder):
    other = sweep(Scenario.from_dict({**SCENARIO, "seed": 7}), folder / "other")
    found = compare(played, other, error=1e-6)
    assert not found.differs
    assert found.left_out == ()
    counts = found.to_pandas()["quantity"].value_counts()
    assert set(counts) == {len(played.estimates)}
    planted = compare(played, tampered(other.path, folder / "far", 1.1), error=1e-6)
    assert {row.quantity for row in planted.differences} == {"speedup"}
    alone = {**SCENARIO, "scheme": SCHEMES[:2]}
    fewer = compare(played, sweep(Scenario.from_dict(alone), folder / "fewer"))
    gone = " ".join(entry.what for entry in fewer.left_out)
    assert all(kind in gone for kind in ("stop(", "lookup(", "big_little(", "unmask"))
    tables = {**SCENARIO, "scheme": [{"type": "chain"}], "cost": {"draft_table": [0, 0.1, 0.15, 0.2]}}
    pair = [sweep(Scenario.from_dict({**tables, "seed": seed}), folder / f"t{seed}") for seed in (1, 2)]
    assert "speedup" in set(compare(*pair).to_pandas()["quantity"])


def test_stored_estimates_are_judged_by_their_intervals():
    def one(value, half, units=1e9, level=0.95):
        return stats.Stored(*(np.array([number]) for number in (value, value + half, level, units)))

    wide = 1.959964 * 0.1
    done = stats.stored(one(1.0, wide), one(1.4, wide))
    assert done.error[0] == pytest.approx(0.1 * math.sqrt(2), rel=1e-5)
    assert done.p_value[0] == pytest.approx(0.004678, rel=1e-3)  # two-sided, at 0.4/0.1414 standard errors
    assert stats.stored(one(1.0, wide), one(1.0, wide)).p_value[0] == 1.0
    assert stats.stored(one(1.0, 0, units=0), one(1.1, 0, units=0)).p_value[0] == 0.0
    assert np.isnan(stats.stored(one(1.0, np.inf, units=1), one(1.0, wide)).p_value[0])
    few = stats.stored(one(1.0, 0.4302652729911275, units=3), one(1.2, 0, units=0))  # Student with 2 degrees of freedom
    assert few.error[0] == pytest.approx(0.1)
    assert few.p_value[0] == pytest.approx(0.18350341907227397)


def test_multinomial_is_refused_for_what_is_no_chain():
    with pytest.raises(
        ParameterError, match=r'multinomial.* draws windows of chains, and tree is none; allowed.*"exact"'
    ):
        Scenario.from_dict({**SCENARIO, "method": "multinomial"}).check()
    with pytest.raises(ParameterError, match="draws windows of chains"):
        simulate({"type": "iid", "alpha": 0.5}, method="multinomial", scheme={"type": "tree"})


def test_exact_says_which_scheme_has_no_law(tmp_path):
    keys = {"process": {"type": "position", "alphas": [0.7, 0.5]}, "scheme": [{"type": "chain"}, {"type": "ahead"}]}
    with pytest.raises(ParameterError, match="rates differ by position"):
        Scenario.from_dict({**SCENARIO, **keys, "kappa": [2]}).check()
    keys["scheme"][1] = {"type": "dynamic_tree", "misses": [0.3] * 3, "breadth": 4, "depth": 6}
    hidden = {"type": "hmm", "P": [[0.4, 0.3, 0.3]] * 3, "alphas": [0.9, 0.6, 0.2]}
    asked = {**SCENARIO, **keys, "kappa": [6], "process": hidden, "method": "exact"}
    data = sweep(Scenario.from_dict(asked), tmp_path / "out")
    (failed,) = data.failed
    assert failed["process"].startswith("dynamic_tree(")
    assert 'method = "exact" is impossible' in failed["error"]
    assert set(data.estimates["scheme"]) == {"chain"}


def test_a_scheme_runs_on_its_processes_at_its_kappas():
    scenario = Scenario.from_dict(SCENARIO)
    asked = [(str(s.process.label), s.scheme.type, kappas) for s, kappas in scenario.simulations()]
    assert ("pair", "tree", (4, 8)) in asked
    assert ("copies", "lookup", (1, 3)) in asked
    assert ("copies", "unmask", (7,)) in asked
    assert ("pair", "lookup", (1, 3)) not in asked
    assert len(asked) == scenario.points() == 4 * 2 + 2
    assert Scenario.from_dict(json.loads(json.dumps(scenario.to_dict()))) == scenario
    plain = Simulation(Iid(alpha=0.7), Tree(misses=(0.4,)))
    assert plain.id == Simulation(Iid(alpha=0.7, label="x"), Tree(misses=(0.4,), label="y")).id


BAD = [
    ('process = "cpies"', 'no label of a [[process]]; did you mean "copies"?'),
    ("process = 3", "no label of a [[process]]"),
    ("kappa = [-1]", "kappa = -1 is out of range"),
    ("kappa = 5000", "kappa = 5000 is out of range"),
    ('kappa = "x"', "kappa"),
    ("label = 3", "label = 3 is not a text"),
]


@pytest.mark.parametrize(("line", "said"), BAD, ids=[line for line, _ in BAD])
def test_a_bad_place_is_one_line(tmp_path, line, said):
    path = tmp_path / "s.toml"
    head = '[[process]]\nlabel = "copies"\ntype = "iid"\nalpha = 0.7\n[[scheme]]\ntype = "chain"\n'
    path.write_text(f'{head}[[scheme]]\ntype = "stop"\ntheta = 0.5\n{line}\n')
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{path}:10: ")
    assert "\n" not in str(caught.value)


def test_two_names_for_one_thing_are_told():
    twice = [{"type": "chain", "label": "a"}, {"type": "chain", "label": "b"}]
    with pytest.raises(ParameterError, match=r"scheme\[1\].label = 'b' is the same simulation as 'a'"):
        Scenario.from_dict({**SCENARIO, "scheme": twice}).check()


def test_the_table_says_who_wins_and_what_it_costs(played, known):
    text = played.summary()
    running = " ".join(text.split())
    assert "is fastest, " in text
    assert "lossy, so no rivals: " in text
    assert text.index("\nplain ") < text.index("\nwide  ") < text.index("\nlittle (lossy)")
    for said in ("width", "wasted", "p99 token", "answers of 256 tokens", "on pair; c0 = 1", "on copies; c0 = 1"):
        assert said in running
    assert re.search(r"\d \[\d", text)
    assert not re.search(r"\d \[\d", known.summary())  # exact values have no intervals
    own = {(system.name, system.pair): system for system in played.systems()}
    row = own["wide", "pair"].row
    assert own["wide", "pair"].width == row["mean_drafted"] + 1
    assert not own["little", "pair"].lossless
    assert [len(family) for family in families(played.systems())] == [4, 6]


def test_who_wins_is_not_claimed_where_intervals_meet():
    def system(name, speed, half, **more):
        row = {"method": "simulate", "kappa_star": 3, "speedup": speed, "speedup_low": speed - half, "off": 1.0}
        row |= {"speedup_high": speed + half, "mean_drafted": 3.0, "mean_wasted": 1.0, "scheme": "tree", **more}
        return System(name, "", row)

    lossy = {"scheme": "big_little", "scheme_parameters": '{"p_fallback": 0.1}'}
    told = sentence([system("one", 2.0, 0.02), system("two", 1.99, 0.02), system("quick", 5.0, 0.1, **lossy)])
    assert told.startswith("one is fastest, 2.0000 [1.9800, 2.0200]x a plain step at κ = 3, 1.005 times two (second)")
    assert "its interval overlaps that of two" in told
    assert told.endswith("lossy, so no rivals: quick 5.00x")
    assert "overlaps" not in sentence([system("one", 2.0, 0.02), system("two", 1.9, 0.02)])
    assert sentence([system("one", 0.9, 0.02), system("two", 0.8, 0.02)]).startswith(
        "none of these beats speculation switched"
    )


def test_the_dear_answers_are_those_of_lanes_that_long():
    """20,000 answers of 256 tokens, round by round: their 99% quantile lies within 1% of the normal approximation, its
    own noise being .2% and that of the spread of 1954 lanes .3%.  Half the tokens widen the spread by √2: 3% off."""
    simulation, cost = Simulation(Iid(alpha=0.7), Stop(theta=0.3)), Cost(c_d=0.06, c_v=0.004, c_r=0.2)
    form, keys = scheme_form(simulation.rounds(6)), Job(simulation, (6,), 1, 1).keys
    counts = np.concatenate([players().scheme_counts(form, keys, chunk, 64, 4096) for chunk in range(4)]).sum(axis=0)
    kinds = np.random.default_rng(1).choice(len(counts), (20_000, 180), p=counts / counts.sum())
    tokens, spent = (
        np.cumsum(np.array([of(kind) for kind in form.kinds])[kinds], axis=1)
        for of in (lambda kind: kind.tokens, lambda kind: kind.price(cost))
    )
    end = (np.arange(len(kinds)), np.argmax(tokens >= 256, axis=1))
    assert (tokens[:, -1] >= 256).all()
    row = simulate(simulation.process, cost, [6], 8_000_000, scheme=simulation.scheme).to_pandas().iloc[0]
    told = [
        request_token_cost(row["speedup"], row["speedup_high"], 0.95, int(row["units"]),
                           row["rounds"] * row["mean_tokens"], request=length)
        for length in (256, 128)
    ]  # fmt: skip
    seen = float(np.quantile(spent[end] / tokens[end], 0.99))
    assert told[0] == pytest.approx(seen, rel=0.01)
    assert told[1] > 1.03 * seen
    assert math.isnan(request_token_cost(2.0, 2.0, 0.95, 0, 0.0))


def test_what_cannot_be_rejected_has_no_error_of_rejections():
    """A pass of unmasking rejects nothing: 40,000 of them say E[tokens] within a percent or so, and cover it."""
    own = simulate(Iid(alpha=0.1), kappa=[31], windows=40_000, level=1 - 1e-6, scheme={"type": "unmask"}).to_pandas()
    row = own.iloc[0]
    law = theory.parallel_unmask(32, 0.1)
    assert row["mean_tokens_low"] <= law.tokens_per_pass <= row["mean_tokens_high"]
    assert row["mean_tokens_high"] - row["mean_tokens_low"] < 0.06 * row["mean_tokens"]


def test_exact_answers_a_scheme_from_the_command_line(capsys):
    assert main(["exact", "--alpha", ".7", "--scheme", "tree", "misses=.4,.2", "--draft-cost", ".05", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    tree, price = Tree(misses=(0.4, 0.2)), Cost(c_d=0.05)
    by_hand = {
        kappa: theory.scheme_law(tree, Iid(alpha=0.7), kappa).speedup(price) for kappa in (0, 1, 2, 4, 8, 16, 32, 64)
    }
    assert {row["kappa"]: row["speedup"] for row in told["by_kappa"]} == by_hand
    for row in told["by_kappa"]:
        law = theory.scheme_law(tree, Iid(alpha=0.7), row["kappa"])
        assert (row["mean_tokens"], row["mean_drafted"], row["mean_cost"], row["p_rejected"]) == (
            law.mean_tokens, law.mean_drafted, law.price(price), law.p_rejected,
        )  # fmt: skip
        assert row["mean_wasted"] == law.mean_drafted - law.mean_accepted
    assert told["kappa_star"] == max(by_hand, key=by_hand.get)
    assert told["best_chain"]["speedup"] == theory.optimum(Iid(alpha=0.7), price, None).best_speedup
    assert main(["exact", "--scheme", "tree", "misses=.4", "widths=2,2", "--kappa-max", "9"]) == 0
    text = capsys.readouterr().out
    assert "best: κ = " in text
    assert "tried: κ = 0-6; no more: kappa = 7 is beyond the 6 nodes of the tree" in text
    assert main(["exact", "--scheme", "bild", "p_fallback=.2"]) == 0
    assert "this changes the output" in capsys.readouterr().out
    assert main(["exact", "--scheme", "pearl"]) == 0
    assert "x the best chain" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tre"], 'did you mean "tree"'),
        (["misses=.4"], "the name comes first"),
        (["tree", "misses"], "is no KEY=VALUE"),
        (["tree", "misses=.4,x"], "cannot be read"),
        (["tree", "misses=.7,.7"], "at most 1"),
        (["stop"], "theta is missing"),
        (["stop", "theta=70%"], "cannot be read"),
        (["stop", "theta=.5", "--kappa-max", "1000"], "kappa_max = 1000 is out of range; allowed: 0 to 256"),
        (["pool", "--alpha", ".7"], "token_chain"),
        (["unmask", "--drift", ".8,.6"], "allowed"),
    ],
)  # fmt: skip
def test_rubbish_behind_scheme_is_one_line(capsys, words, said):
    assert main(["exact", "--scheme", *words]) == 2
    out = capsys.readouterr()
    assert said in out.err
    assert out.err.count("\n") == 1
    assert out.out == ""


def test_exact_in_python_is_the_same_answer():
    asked = {"type": "stop", "theta": 0.4}
    answer = exact(Iid(alpha=0.7), {"c_d": 0.1}, 6, asked)
    assert [row["kappa"] for row in answer.rows] == [0, 1, 2, 3, 4, 5, 6]
    played = simulate(Iid(alpha=0.7), {"c_d": 0.1}, range(7), scheme=asked, method="exact").to_pandas()
    assert answer.to_pandas()["speedup"].tolist() == played["speedup"].tolist()
    assert exact(Iid(alpha=0.7), scheme="chain").optimum.kappa_star == exact(Iid(alpha=0.7)).kappa_star
    assert "stop(theta = 0.4" in repr(answer)


def test_the_committed_table_of_systems_comes_out_again(request, tmp_path):
    """Other words, a tenth of the windows; every scheme and κ within a bound of 1e-6 for all of them together."""
    root = request.config.rootpath
    folder = root / "results" / "systems"
    made = scenario_of(folder)
    assert made == Scenario.from_toml(root / "scenarios" / "systems.toml")
    fresh = Scenario.from_dict({**made.to_dict(), "seed": made.seed + 1, "windows": made.windows // 10})
    rows = {
        (row["point_id"], row["kappa"]): row for row in sweep(fresh, tmp_path / "fresh").estimates.to_dict("records")
    }
    before = {(row["point_id"], row["kappa"]): row for row in stored(folder)}
    assert rows.keys() == before.keys(), f"make {TABLE} anew"
    sides = [
        stats.Stored(*(np.array([own[key][name] for key in rows], float) for name in
                       ("speedup", "speedup_high", "level", "units")))
        for own in (before, rows)
    ]  # fmt: skip
    assert (stats.stored(*sides).p_value >= 1e-6 / len(rows)).all()
    planted = stats.Stored(sides[0].value * 1.05, sides[0].high * 1.05, sides[0].level, sides[0].units)
    assert (stats.stored(planted, sides[1]).p_value < 1e-6 / len(rows)).mean() > 0.9
    exact_before = np.array([before[key]["speedup_exact"] for key in rows], float)
    np.testing.assert_allclose(exact_before, [row["speedup_exact"] for row in rows.values()], rtol=1e-9)
    page = (folder / "README.md").read_text(encoding="utf-8")
    for table in made.scheme:
        assert f"| {table['label']}" in page


COSTS = [
    Cost(c_d=0.1),
    Cost(c_d=0.1, c_v=0.05, c_r=0.3),
    Cost(c0=0.4, c_d=0.2, c_r=0.1),
    Cost(draft_table=[0, 0.1, 0.25, 0.3, 0.5, 1.5], verify_table=[1, 1, 1.1, 1.5, 1.5, 1.6], c_r=0.2),
]


@pytest.mark.parametrize("scheme", [Ahead(), Ahead(pre_verify=True), Parallel()], ids=str)
def test_overlapped_drafts_have_an_exact_price_at_every_cost(scheme):
    """15 pairs of α and κ at four costs, 50,000 rounds each, inside a bound of 1e-6 for all of them: 180 in this test's
    three runs.  Forgetting that a pass is wide lies outside it."""
    seen = 0
    for alpha, kappa in itertools.product((0.0, 0.3, 0.7, 0.9, 1.0), (1, 2, 5)):
        process = Iid(alpha=alpha)
        law = theory.scheme_law(scheme, process, kappa)
        ((job, tallies),) = run_jobs([Job(Simulation(process, scheme), (kappa,), 50_000, 1)], 1)
        table = estimate_table([Block(job, tallies, COSTS, 1 - 1e-6 / 180)]).to_pylist()
        for cost, row in zip(COSTS, table, strict=True):
            assert row["speedup_low"] - 1e-12 <= law.speedup(cost) <= row["speedup_high"] + 1e-12
            narrow = law.speedup(cost.model_copy(update={"c_v": 0.0}))
            seen += not row["speedup_low"] <= narrow <= row["speedup_high"]
        if alpha < 1.0:
            told = theory.speculation_parallel(alpha, 0.1, kappa) if isinstance(scheme, Parallel) else (
                theory.draft_ahead(alpha, 0.1, kappa, pre_verify=scheme.pre_verify)
            )  # fmt: skip
            assert law.speedup(COSTS[0]) == pytest.approx(told.speedup, rel=1e-12)
    assert seen >= 5


def test_what_failed_is_said_before_who_won(tmp_path):
    """An exact run without the law of a large tree must not name a winner as if all had run."""
    asked = {"name": "part", "method": "exact", "process": {"type": "iid", "alpha": 0.7}, "kappa": [8]}
    sure = {"type": "hmm", "label": "sure", "P": [[0.4, 0.4, 0.2]] * 3, "alphas": [0.95, 0.65, 0.3]}
    ways = [{"type": "eagle2"}, {"type": "chain"}, {"type": "tree", "misses": [0.4]}]
    data = sweep(Scenario.from_dict({**asked, "process": [sure], "scheme": ways}), tmp_path / "part")
    first, _, rest = data.summary().partition("\n")
    assert first.endswith("1 simulation without numbers, see below")
    assert "not simulated: dynamic_tree" in rest


def test_a_label_that_no_process_has():
    asked = {"name": "x", "process": {"type": "iid", "alpha": 0.7}, "scheme": [{"type": "chain", "process": "pair"}]}
    with pytest.raises(ParameterError, match=r"no label of a \[\[process\]\]; none has a label"):
        Scenario.from_dict(asked).simulations()
