"""Two policies against each other, and parts of a run by what was run: compare, show, report."""

import argparse

import numpy as np
import pytest

import simspec
from simspec import theory
from simspec.cli import compare as command
from simspec.cli import show
from simspec.model import Cost, DatasetError, ParameterError
from simspec.run.compare import compare
from simspec.run.pick import where_of

TABLE = {
    "name": "who",
    "windows": 40_000,
    "kappa": [3, 4],
    "process": [
        {"type": "iid", "alpha": [0.6, 0.85]},
        {"type": "drift", "alpha_start": 0.9, "alpha_end": 0.5, "tokens": 12},
    ],
    "policy": [
        {"type": "fixed"},
        {"type": "rolling", "smoothing": [0.85, 0.95]},
        {"type": "heuristic", "label": "HF", "first": 3, "highest": 7},
        {"type": "schedule", "kappas": [4]},
    ],
    "cost": {"c_d": 0.1, "c_switch": [0.0, 0.3]},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return simspec.sweep(TABLE, output=tmp_path_factory.mktemp("who") / "run").path


def run(tmp_path, name, **changes):
    table = {key: value for key, value in TABLE.items() if key != "policy"} | {"cost": {"c_d": 0.1}} | changes
    return simspec.sweep(table, output=tmp_path / name).path


def said(capsys, module, *arguments):
    top = argparse.ArgumentParser()
    module.add(top.add_subparsers())
    args = top.parse_args([module.__name__.rpartition(".")[2], *map(str, arguments)])
    return args.do(args), capsys.readouterr().out


def heuristic(rounds):
    kappa = 3
    for drafted, accepted in rounds:
        kappa = min(7, kappa + 2) if accepted == drafted else max(1, kappa - 1)
    return kappa


def test_differences_are_those_of_exact_laws(folder):
    """κ = 4 against +2/−1 on twelve tokens, free changes and dear ones: all histories say by how much."""
    found = compare(folder, folder, policies=("schedule", "HF"))
    assert found.policies == ("schedule", "HF")
    assert set(found.pairs["how"]) == {"paired"}
    process = simspec.Drift(alpha_start=0.9, alpha_end=0.5, tokens=12)
    rows = [r for r in found.rows if r.quantity == "speedup" and "drift" in found.names[r.simulation_id]]
    assert len(rows) == 2
    for row in rows:
        dear = "c_switch" in found.names[row.point_id]
        cost = Cost(c_d=0.1, c_switch=0.3 if dear else 0.0)
        first, second = (theory.enumerate_policy(process, rule, cost).speedup for rule in (lambda rounds: 4, heuristic))
        assert abs(row.difference - (second - first)) < 7 * row.error  # false alarm 1e-11
        assert row.error < 0.01
        assert row.differs


@pytest.mark.parametrize("names", [("4", "HF"), ("HF", "4")])
def test_a_fixed_length_pays_for_no_change_and_its_rival_does(folder, names):
    process, rules = simspec.Drift(alpha_start=0.9, alpha_end=0.5, tokens=12), {"4": lambda rounds: 4, "HF": heuristic}
    found = compare(folder, folder, policies=names)
    rows = [r for r in found.rows if r.quantity == "speedup" and "drift" in found.names[r.simulation_id]]
    assert len(rows) == 2
    for row in rows:
        cost = Cost(c_d=0.1, c_switch=0.3 if "c_switch" in found.names[row.point_id] else 0.0)
        first, second = (theory.enumerate_policy(process, rules[name], cost).speedup for name in names)
        assert abs(row.a - first) < 0.05 > abs(row.b - second)  # seven errors and more
        assert abs(row.difference - (second - first)) < 7 * row.error


def test_pairing_leaves_less_noise_than_words_of_their_own(folder, tmp_path):
    """Two rates of forgetting are nearly alike on the same words; with another seed the error is larger."""
    names = ["rolling smoothing=0.85", "rolling smoothing=0.95"]
    other = run(tmp_path, "other", seed=2, policy={"type": "rolling", "smoothing": [0.85, 0.95]})
    errors = []
    for second in (folder, other):
        rows = compare(folder, second, policies=names).to_pandas()
        free = [
            simspec_id for simspec_id in rows["point_id"].dropna().unique() if "0.3" not in simspec_id.split(" ", 1)[1]
        ]
        rows = rows[(rows["quantity"] == "speedup") & rows["point_id"].isin(free)]
        errors.append(rows.sort_values("simulation_id")["error"].to_numpy())
    assert len(errors[0]) == 3
    assert (errors[0] < 0.7 * errors[1]).all()


def test_batches_and_schemes_are_questions_of_their_own(tmp_path):
    """Alone and four at a time are not compared; a fixed κ under two trees, of two seeds, is twice."""
    iid = {"process": {"type": "iid", "alpha": 0.7}, "windows": 8_000}
    alone, four, two = (
        run(tmp_path, f"{kind} {batch}", **iid, policy={"type": kind}, serving={"batch": batch})
        for kind, batch in (("rolling", 1), ("heuristic", 4), ("rolling", 4))
    )
    assert len({row.simulation_id for row in compare(four, two).rows}) == 1
    with pytest.raises(DatasetError, match="have no simulation and κ in common"):
        compare(alone, four)
    trees = [{"type": "tree", "misses": [0.4]}, {"type": "tree", "misses": [0.2]}]
    one, two = (run(tmp_path, f"trees {seed}", **iid, scheme=trees, kappa=[3], seed=seed) for seed in (1, 2))
    found = compare(one, two, error=1e-6, policies=("3", "3"))
    assert len({row.simulation_id for row in found.rows if row.quantity == "speedup"}) == 2
    assert not found.differs


def test_the_same_policy_does_not_differ(folder, tmp_path):
    again = run(tmp_path, "again", seed=2, policy=TABLE["policy"][2])
    assert not compare(folder, again, error=1e-6, policies=("HF", "HF")).differs
    other = run(tmp_path, "other", seed=2, policy=TABLE["policy"][2] | {"up": 1})
    assert compare(folder, other, error=1e-6, policies=("HF", "HF")).differs  # planted: one up instead of two


def test_two_folders_with_a_policy_each_need_no_names(tmp_path, capsys):
    one, two = (run(tmp_path, name, policy={"type": name}) for name in ("rolling", "steps"))
    code, text = said(capsys, command, one, two)
    assert code == 1
    assert f"who chooses κ: rolling in {one}" in text
    assert f"against: steps in {two}" in text
    assert "S of rolling" in text
    assert "3 of 3 processes met the same random words" in text
    assert max(map(len, text.splitlines())) < 150


def test_a_fixed_length_is_named_by_its_number(folder, capsys):
    """It differs from a schedule of the same length by chance alone, and from another length beyond it."""
    assert not compare(folder, folder, error=1e-6, policies=("4", "schedule")).differs
    assert compare(folder, folder, error=1e-6, policies=("3", "schedule")).differs
    code, text = said(capsys, command, folder, "--policy", "3", "schedule")
    assert code == 1
    assert "S of κ = 3" in text


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("rolling", "HF"), "several policies rolling: rolling smoothing=0.85, rolling smoothing=0.95"),
        (("rollin smoothing=0.85", "HF"), "has no policy rollin smoothing=0.85"),
        (("5", "HF"), "has no fixed κ = 5; fixed κ there: 3-4"),
        (("fixed", "HF"), "has fixed κ = 3-4; allowed: one of them"),
        (("HF",), "two names"),
    ],
)
def test_names_that_mean_nothing(folder, names, told):
    with pytest.raises((ParameterError, DatasetError), match=told) as error:
        compare(folder, folder, policies=names)
    assert "\n" not in str(error.value)


def test_a_whole_name_is_meant_where_others_begin_like_it(tmp_path):
    """With news at once and 8 rounds late: "heuristic" is the first, which is faster, and not any of both."""
    changes = {"policy": {"type": "heuristic"}, "process": {"type": "iid", "alpha": 0.7}}
    own = run(tmp_path, "late", serving={"delay": [0, 8]}, **changes)
    rows = compare(own, own, policies=("heuristic", "heuristic delay=8")).to_pandas()
    speed = rows[rows["quantity"] == "speedup"].iloc[0]
    assert speed.difference < -6 * speed.error


def test_folders_that_share_nothing_say_how_to_go_on(folder, tmp_path):
    other = run(tmp_path, "other", policy=[{"type": "exp3"}, {"type": "gate"}])
    with pytest.raises(DatasetError, match=r"by exp3, gate in the other: name one of each \(--policy X Y\)"):
        compare(folder, other)
    with pytest.raises(ParameterError, match="the other folder, is missing"):
        said(None, command, folder)


def test_a_policy_is_named_where_runs_are_compared_as_they_are(folder, tmp_path):
    found = compare(folder, run(tmp_path, "other", seed=3, policy=TABLE["policy"][1:3], cost=TABLE["cost"]), error=1e-6)
    names = set(found.names.values())
    assert {"iid(alpha = 0.6), HF", "iid(alpha = 0.6), rolling(smoothing = 0.95)"} <= names
    assert not found.differs
    text = repr(found)
    assert "κ up to 16" in text or "κ up to 7" in text
    assert found.kappa(next(iter(found.steered)), 16) == "up to 16"


def test_a_part_of_a_run(folder, capsys):
    whole = simspec.read(folder)
    part = whole.where(policy="HF", process="iid", c_switch=0.3)
    assert part.estimates["policy"].tolist() == ["heuristic"] * 2
    assert part.counts["simulation_id"].nunique() == part.chunks["simulation_id"].nunique() == 2
    assert whole.where(alpha=0.6).where(policy="fixed").estimates["kappa"].tolist() == [3, 4, 3, 4]
    assert whole.estimates["policy"].nunique() == 4
    _, text = said(capsys, show, folder, "--where", "policy=rolling smoothing=0.95", "--where", "c_switch=0")
    assert text.startswith(f"who: 3 points in {folder}, only policy = rolling smoothing=0.95, c_switch = 0")
    assert "HF" not in text
    assert np.isin(compare(part, folder).to_pandas()["simulation_id"], part.estimates["simulation_id"]).all()


def test_a_page_of_a_part(folder, tmp_path):
    simspec.write_report(folder, tmp_path / "page.html", where={"policy": "HF"})
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "HF" in page
    assert "schedule" not in page.split("Provenance")[1].split("</section>")[0]


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ({"policy": "rollin"}, "no row has policy = rollin; there are HF, fixed, heuristic, rolling"),
        ({"polic": "rolling"}, 'did you mean "policy"'),
        ({"kappa": 4}, "kappa says not what was run"),
        ({"alpha": "x"}, "alpha = 'x' is no number"),
        ({"alpha": 0.6, "policy": "x"}, "no row has policy = x"),
    ],
)
def test_what_is_not_there(folder, where, told):
    with pytest.raises((ParameterError, DatasetError)) as error:
        simspec.read(folder).where(**where)
    assert told in str(error.value)


@pytest.mark.parametrize("text", ["policy", "=x", "policy=", ""])
def test_what_is_no_condition(text):
    with pytest.raises(ParameterError, match="allowed: COLUMN=VALUE"):
        where_of([text])
    with pytest.raises(ParameterError, match="names policy twice"):
        where_of(["policy=a", "policy=b"])
