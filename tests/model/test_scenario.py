"""Scenario files: what is accepted, and the one line that says what is not."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simspec.model import Drift, Iid, Markov, ParameterError, Processes, Scenario, ScenarioError, Simulation
from simspec.model.identity import canonical_json, digest
from simspec.model.toml_lines import key_lines

GOOD = """\
name = "test"  # a [comment]
windows = 1e5
kappa = [0, 1,
  4]

[process]
type = "markov"
alpha = { from = 0.1, to = 0.3, step = 0.1 }
rho = [0.0, 0.3]

[cost]
c_d = [0.05, 0.1]
"""


def scenario(tmp_path, text):
    path = tmp_path / "s.toml"
    path.write_text(text, encoding="utf-8")
    return Scenario.from_toml(path)


def test_a_grid_spans_lists_and_decimal_ranges_with_both_ends(tmp_path):
    own = scenario(tmp_path, GOOD)
    processes = [simulation.process for simulation, _ in own.simulations()]
    assert [(p.alpha, p.rho) for p in processes] == [(a, r) for a in (0.1, 0.2, 0.3) for r in (0.0, 0.3)]
    assert [cost.c_d for cost in own.costs()] == [0.05, 0.1]
    assert own.points() == 12
    assert own.windows == 100_000
    assert own.kappa == (0, 1, 4)
    assert own.seed == 1


def test_a_scenario_survives_json(tmp_path):
    own = scenario(tmp_path, f'method = "exact"\n{GOOD}')
    assert own.method == "exact"
    assert own != scenario(tmp_path, GOOD)
    assert Scenario.from_dict(json.loads(canonical_json(own.to_dict()))) == own


WRONG = {
    "unknown key": (GOOD.replace("windows", "windwos"), 2, 'unknown key "windwos"; did you mean "windows"?'),
    "unknown process key": (GOOD.replace("rho", "rhoo"), 9, 'unknown key "rhoo"; did you mean "rho"?'),
    "negative kappa": (GOOD.replace("[0, 1,", "[-1, 1,"), 3, "kappa = -1 is out of range; allowed: 0 ≤ kappa ≤ 256"),
    "alpha above 1": (GOOD.replace("to = 0.3", "to = 1.2"), 8, "process.alpha = 1.1 is out of range; allowed: 0 ≤ "),
    "rho below its limit": (GOOD.replace("0.3]", "-0.5]"), 9, "process.rho = -0.5 is impossible at alpha = 0.1"),
    "empty grid": (GOOD.replace("[0.0, 0.3]", "[]"), 9, "process.rho = [] is empty, so the grid has no point"),
    "empty range": (GOOD.replace("from = 0.1", "from = 0.9"), 8, "process.alpha is empty: from = 0.9 lies above"),
    "step that misses": (GOOD.replace("step = 0.1", "step = 0.15"), 8, "the last value reached is 0.25"),
    "a billion points": (GOOD.replace("step = 0.1", "step = 0.0000000001"), 6, "the grid has 8,000,000,004 points"),
    "not TOML": ("name = ", 1, "is not valid TOML"),
    "point without a digit": (GOOD.replace("0.05", ".05"), 12, "a TOML number needs a digit before the point"),
    "a text for a number": (GOOD.replace("[0.0, 0.3]", '"high"'), 9, "process.rho = 'high' is not a number"),
    "negative cost": (GOOD.replace("0.05", "-0.05"), 12, "cost.c_d = -0.05 is out of range; allowed: 0 ≤ c_d"),
    "an unknown process": (GOOD.replace('"markov"', '"markow"'), 7, 'did you mean "markov"?'),
    "a bad name": (GOOD.replace('"test"', '"../up"'), 1, "cannot name a folder"),
    "a seed too large": (f"seed = {2**64}\n{GOOD}", 1, f"allowed: 0 ≤ seed ≤ {2**64 - 1}"),
    "an unknown method": (f'method = "exat"\n{GOOD}', 1, "method = 'exat' is unknown; did you mean \"exact\"?"),
    "a method of no word": (f"method = [1]\n{GOOD}", 1, "method = [1] is unknown; known: simulate, multinomial, exact"),
    "a method for independent windows": (
        f'method = "multinomial"\n{GOOD.replace("[0.0, 0.3]", "0.3")}'.replace("[cost]", 'start = "carry"\n[cost]'),
        1,
        'these depend on each other; allowed: "simulate", "exact"',
    ),
    "a value twice": (GOOD.replace("[0.0, 0.3]", "[0.3, 0.3]"), 9, "holds 0.3 twice"),
    "kappa beyond a curve": (
        'name = "x"\nkappa = [9]\n[process]\ntype = "survival"\nsurvival = [0.5, 0.4]\n',
        2,
        "kappa = 9 is beyond the 2 measured positions",
    ),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG.keys())
def test_an_error_names_file_line_key_and_what_is_allowed(tmp_path, case):
    text, line, said = case
    with pytest.raises(ScenarioError) as caught:
        scenario(tmp_path, text)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 's.toml'}:{line}: ")
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize(("name", "said"), [("no.toml", "there is no such file"), (".", "is a folder")])
def test_a_path_that_is_no_file(tmp_path, name, said):
    with pytest.raises(ScenarioError, match=said):
        Scenario.from_toml(tmp_path / name)


def test_a_binary_file(tmp_path):
    path = tmp_path / "b.toml"
    path.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(ScenarioError, match="is not text"):
        Scenario.from_toml(path)


@given(st.text(max_size=300))
def test_rubbish_gives_one_line_or_a_scenario(text):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.toml"
        path.write_text(text, encoding="utf-8", errors="replace")
        with pytest.raises(ScenarioError) as caught:
            Scenario.from_toml(path)
        assert len(str(caught.value).splitlines()) == 1


def test_lines_of_keys_survive_strings_comments_and_inline_tables():
    text = 'a = """\nx = 1\n"""\n# b = 2\nc = { d = 1, e = "[f]" }\n[[g]]\nh = 1\n[[g]]\n"h" = [\n 1,\n]\ni = 3\n'
    assert key_lines(text) == {"a": 1, "c": 5, "g[0]": 6, "g[0].h": 7, "g[1]": 8, "g[1].h": 9, "g[1].i": 12}


def test_identity_is_the_question_and_nothing_else():
    carried = {"alpha": 0.7, "rho": 0.3, "start": "carry"}
    assert Simulation(Iid(alpha=0.7)).id == Simulation(Iid(alpha=0.7, label="mine")).id
    assert Simulation(Iid(alpha=0.7)).id != Simulation(Iid(alpha=0.71)).id
    fresh = Markov(alpha=0.7, rho=0.3)
    assert Simulation(fresh).id == Simulation(Markov(alpha=0.7, rho=0.3, steps_after_full=2)).id
    assert Simulation(Markov(**carried)).id != Simulation(Markov(**carried, steps_after_full=2)).id
    assert Simulation(Iid(alpha=1)).id == Simulation(Iid(alpha=1.0)).id


def test_identity_is_frozen():
    """A changed hash would orphan every stored dataset."""
    assert digest(Markov(alpha=0.7, rho=0.3, start="carry").identity()) == (
        "55a8bb422a5766f07ba5a4036ca1f84d3198054cc213d10ee50d4bf85b509c12"
    )


BAD_PROCESSES = [
    ({"type": "iid", "alpha": float("nan")}, "alpha"),
    ({"type": "iid", "alpha": True}, "alpha"),
    ({"type": "markov", "alpha": 0.8, "rho": -0.2501}, "rho"),
    ({"type": "markov", "alpha": 0.8, "rho": 1.0, "start": "carry"}, "rho"),
    ({"type": "markov", "alpha": 0.8, "rho": 0.1, "steps_after_full": 0}, "steps_after_full"),
    ({"type": "survival", "survival": []}, "survival"),
    ({"type": "survival", "survival": [0.5, 0.6]}, "survival"),
    ({"type": "drift", "alpha_start": 0.5, "alpha_end": 0.6}, "tokens"),
    ({"type": "drift", "alpha_start": 0.5, "alpha_end": 0.6, "tokens": 0}, "tokens"),
    ({"type": "drift", "shape": "table", "alphas": [0.5], "alpha_end": 0.5}, "alpha_end"),
    ({"alpha": 0.5}, "type"),
]


@pytest.mark.parametrize(("table", "key"), BAD_PROCESSES)
def test_a_process_out_of_range_names_the_key(table, key):
    with pytest.raises(ParameterError) as caught:
        Processes.make(**table)
    assert caught.value.key == key


def test_limits_of_rho_are_allowed():
    for alpha in (0.1, 0.3, 0.5, 0.7, 0.74, 0.9):
        low = -min(alpha / (1 - alpha), (1 - alpha) / alpha)
        assert Markov(alpha=alpha, rho=low).rho == low
        assert Markov(alpha=alpha, rho=1.0).rho == 1.0


def test_a_reducible_window_chain_is_refused_at_kappa_1_only():
    even = Markov(alpha=0.5, rho=-1.0, start="carry", steps_after_reject=2, steps_after_full=2)
    with pytest.raises(ParameterError, match="no long-run law"):
        even.check_kappa(1)
    even.check_kappa(2)
    Markov(alpha=0.5, rho=-1.0, start="carry").check_kappa(1)


def test_a_linear_drift_starts_and_ends_where_it_says():
    rates = Drift(alpha_start=0.85, alpha_end=0.62, tokens=5).rates()
    assert rates[0] == 0.85
    assert rates[-1] == 0.62
    assert math.isclose(rates[2], 0.735)
    assert Drift(alpha_start=0.3, alpha_end=0.9, tokens=1).rates() == [0.3]
