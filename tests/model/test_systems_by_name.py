"""Is a system that is asked for by name its scheme with its published parameters, and is what was assumed told?"""

from pathlib import Path

import pytest

import simspec
from simspec.model import Iid, ParameterError, Position, ScenarioError, Simulation
from simspec.model.asked import as_scheme
from simspec.model.schemes import BigLittle, Chain, DynamicTree, Lookup, Schemes, SelfDraft, Stop, Tokens, Tree
from simspec.model.schemes.systems_table import (
    COVERAGE_GREEDY,
    COVERAGE_MEDUSA,
    COVERAGE_STOCHASTIC,
    INSTEAD,
    SYSTEM_OF,
    SYSTEMS,
    plain,
    published_table,
    shares,
)

NEEDS: dict[str, dict[str, float]] = {
    "draft & verify": {"layers": 0.5}, "prompt lookup": {"after_match": 0.8, "after_miss": 0.2},
    "spectr": {"sequences": 2},
}  # fmt: skip
"""What a system has no usual value for."""
DOCUMENT = (Path(__file__).parents[2] / "docs" / "systems.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.names[0])
def test_every_name_makes_the_scheme_that_its_keys_make(system):
    more = NEEDS.get(system.names[0], {})
    meant = Schemes.make(type=system.scheme, **system.keys, **more)
    for name in system.names:
        for spelled in (name, name.upper(), name.replace(" ", "-"), name.replace(" ", "_")):
            own = Schemes.make(type=spelled, **more)
            assert type(own) is type(meant) is Schemes.table[system.scheme]
            assert (own.identity(), str(own), own.label, own.system) == (meant.identity(), str(meant), spelled, system)
            assert Simulation(Iid(alpha=0.7), own).id == Simulation(Iid(alpha=0.7), meant).id
    assert system.source
    assert {*system.assumed, *system.asked} <= set(type(meant).model_fields)
    assert not {*system.assumed, *system.keys} & set(system.asked)
    assert len(own.assumed) == len(system.assumed)
    assert Schemes.make(type=system.scheme, label=system.names[0], **system.keys, **more).assumed == own.assumed


def test_names_do_not_clash():
    names = [plain(name) for system in SYSTEMS for name in system.names]
    assert len(names) == len(set(names)) == len(SYSTEM_OF)
    assert not {plain(kind) for kind in Schemes.table} & set(names)
    for key, others in INSTEAD.items():
        fields = {field for scheme in Schemes.table.values() for field in scheme.model_fields}
        assert {key, *others} <= fields


def test_names_as_people_write_them():
    for name, meant in (
        ("EAGLE-2", DynamicTree), ("eagle_2", DynamicTree), ("Medusa", Tree), ("SpecDec++", Stop), ("p-min", Stop),
        ("LLAMA.CPP", Stop), ("Draft model", Chain), ("draftModel", Chain), ("LayerSkip", SelfDraft), ("MTP", Chain),
    ):  # fmt: skip
        assert type(as_scheme(name)) is meant


MEDUSA = {"drafting": "window", "max_depth": 4, "misses": tuple(shares(head) for head in COVERAGE_MEDUSA)}


def alike(one, other):
    return type(one) is type(other) and (one.identity(), one.label) == (other.identity(), other.label)


def test_a_key_that_is_given_overrides_the_published_one():
    assert Schemes.make(type="eagle2", breadth=4).breadth == 4
    assert Schemes.make(type="eagle2", breadth=4).depth == 6
    assert alike(Schemes.make(type="specdec++", theta=0.7, kmin=1), Stop(theta=0.7, label="specdec++"))
    own = Schemes.make(type="eagle", max_depth=3)  # one shape stands instead of another
    assert alike(own, Tree(misses=shares(COVERAGE_GREEDY), max_depth=3, label="eagle"))
    assert alike(Schemes.make(type="medusa", max_depth=3), Tree(**MEDUSA | {"max_depth": 3}, label="medusa"))
    assert Schemes.make(type="specinfer", parents=[0, 0], ranks=[1, 2]).widths is None
    assert Schemes.make(type="medusa", drafting="depth").drafting == "depth"
    assert alike(Schemes.make(type="bild", p_fallback=0.2), BigLittle(p_fallback=0.2, label="bild"))
    assert Schemes.make(type="medusa", label="mine").label == "mine"
    assert Schemes.make(type="medusa", label="mine").assumed  # a label of one's own hides nothing
    assert Schemes.make(type="eagle2", vectors=[[0.6, 0.2], [0.3, 0.3]], breadth=2).misses == ()


def test_ranks_without_a_share_at_their_depth_are_refused():
    for keys, where, rank in (
        ({"type": "medusa", "widths": [12]}, "misses[0]", 12), ({"type": "medusa", "widths": [5, 6]}, "misses[1]", 6),
        ({"type": "tree", "misses": [[0.3, 0.2], [0.2]], "parents": [0, 0, 1], "ranks": [1, 2, 3]}, "misses[1]", 3),
        ({"type": "tree", "misses": [0.3], "widths": [3]}, "misses", 3),
    ):  # fmt: skip
        with pytest.raises(ParameterError) as caught:
            as_scheme(keys)
        assert (caught.value.key, f"{where} has no entry for rank {rank};" in caught.value.message) == (where, True)
    assert as_scheme({"type": "medusa", "widths": [5, 5, 5]}).widths == (5, 5, 5)
    assert as_scheme({"type": "tree", "misses": [[0.3, 0.2], [0.2]], "parents": [0, 0, 0, 1], "ranks": [1, 2, 3, 2]})


def test_an_assumption_is_told_until_it_is_replaced():
    (told,) = as_scheme("medusa").assumed
    assert told.startswith("misses: ranks 2 to 5 recover")
    assert as_scheme({"type": "medusa", "misses": [0.4]}).assumed == ()
    assert as_scheme({"type": "tree", "misses": [0.4]}).assumed == ()
    assert as_scheme({"type": "chain", "label": "medusa"}).assumed == ()  # a chain is none, whatever it is called
    assert as_scheme("specinfer").assumed == ()
    for method in ("simulate", "exact"):
        shown = repr(
            simspec.simulate(Iid(alpha=0.7), kappa=4, windows=1000, scheme="lookahead decoding", method=method)
        )
        assert "assumed good: every step has candidates (good = 1)" in shown
    assert "in place of c_d" in repr(simspec.simulate(Iid(alpha=0.7), kappa=4, windows=1000, scheme="layerskip"))


def test_a_parameter_without_a_usual_value_is_asked_for():
    for name, key in (("draft & verify", "layers"), ("ngram", "after_match"), ("SpecTr", "sequences")):
        with pytest.raises(ParameterError, match=f"{key} is missing.*{SYSTEM_OF[plain(name)].source[:5]}") as caught:
            simspec.simulate(Iid(alpha=0.7), scheme=name)
        assert caught.value.key == key
    with pytest.raises(ParameterError, match=r"sequences is missing; allowed: 1 to 64, K; or widths .spectr: Sun"):
        as_scheme({"type": "spectr", "sequences": None})
    assert Schemes.make(type="spectr", widths=[2, 1]).sequences is None  # one shape stands instead of another
    assert alike(Schemes.make(type="spectr", sequences=4), Tokens(rule="kseq", sequences=4, label="spectr"))
    found = simspec.simulate(Iid(alpha=0.7), scheme={"type": "ngram", "after_match": 0.5, "after_miss": 0.5}, kappa=3)
    assert alike(found.job.simulation.scheme, Lookup(after_match=0.5, after_miss=0.5, label="ngram"))


def test_wrong_names_and_keys():
    for value, text in (
        ("medusas", 'type = \'medusas\' is unknown; did you mean "medusa"?'),
        ("EAGLE-4", 'type = \'EAGLE-4\' is unknown; did you mean "eagle"?'),
        ("zzz", "type = 'zzz' is unknown; known: "),
        ({"type": "eagle2", "mises": [0.1]}, 'unknown key "mises"; did you mean "misses"?'),
        ({"type": "eagle2", "breadth": 20}, "breadth = 20 is out of range; allowed: 1 to 10, the ranks"),
        ({"type": "layerskip", "layers": -1}, "layers = -1 is out of range; allowed: 0 ≤ layers ≤ 1"),
        ({"type": 3}, "type = 3 is unknown"), ({"type": ""}, "type = '' is unknown"), (3, "scheme = 3; allowed"),
        ("", "type = '' is unknown"),
    ):  # fmt: skip
        with pytest.raises(ParameterError) as caught:
            as_scheme(value)
        assert caught.value.message.startswith(text)
        assert "\n" not in caught.value.message
    with pytest.raises(ParameterError) as caught:
        as_scheme("zzz")
    assert all(f" {name}" in caught.value.message for name in ("chain", "tree", "medusa", "eagle2", "llada"))


SCENARIO = """
name = "names"
windows = 20_000
kappa = [4, 16]
[process]
type = "position"
alphas = [0.56, 0.57, 0.63, 0.75]
[[scheme]]
type = "Medusa"
[[scheme]]
type = "medusa"
label = "ranks of my own"
misses = [0.4, 0.2]
[cost]
c_d = 0.06
c_v = 0.004
"""


def test_a_scenario_file_keeps_the_name_and_runs_the_scheme(tmp_path):
    file = tmp_path / "names.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    data = simspec.sweep(file, output=tmp_path / "names")
    rows = data.estimates
    assert set(rows.scheme) == {"tree"}  # the canonical one
    assert list(dict.fromkeys(rows.scheme_label)) == ["Medusa", "ranks of my own"]
    assert [entry["type"] for entry in data.manifest["scenario"]["scheme"]] == ["Medusa", "medusa"]
    meant = Tree(**MEDUSA)
    process = Position(alphas=(0.56, 0.57, 0.63, 0.75))
    assert rows.simulation_id[0] == Simulation(process, meant).id
    assert set(rows.mean_steps) == {1.0}
    assert len(rows) == 4  # a list of misses is one value, not an axis
    told = " ".join(repr(data).split())
    assert "Medusa: assumed misses: ranks 2 to 5 recover" in told
    assert "own: assumed" not in told


def test_names_in_a_grid_and_in_errors_with_lines(tmp_path):
    table = {"name": "grid", "windows": 1000, "kappa": 8, "process": {"type": "iid", "alpha": 0.7}}
    own = simspec.Scenario.from_dict(table | {"scheme": {"type": "eagle2", "breadth": [2, 10]}})
    assert [simulation.scheme.breadth for simulation, _ in own.simulations()] == [2, 10]
    file = tmp_path / "wrong.toml"
    file.write_text(SCENARIO.replace('"Medusa"', '"Medusae"'), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"wrong\.toml:9: scheme\[0\]\.type = .Medusae. is unknown; did you mean"):
        simspec.Scenario.from_toml(file)
    file.write_text(SCENARIO.replace("misses = [0.4, 0.2]", "misses = [0.4, 0.8]"), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"wrong\.toml:13: scheme\[1\]\.misses adds up to 1\.2; allowed: at most 1"):
        simspec.Scenario.from_toml(file)


@pytest.mark.parametrize("system", [own for own in SYSTEMS if own.scheme not in ("tokens", "big_little")],
                         ids=lambda system: system.names[0])  # fmt: skip
def test_every_system_runs_on_one_rate_at_its_own_kappas(system):
    """By its name alone, or with what it needs; tokens take a token_chain."""
    scheme = as_scheme({"type": system.names[0], **NEEDS.get(system.names[0], {})})
    kappas = system.kappas or (3,)
    found = simspec.simulate(Iid(alpha=0.7), {"c_d": 0.06, "c_v": 0.004}, kappas, windows=2000, scheme=scheme)
    rows = found.to_pandas()
    assert rows.kappa.tolist() == list(kappas)
    assert (rows.speedup > 0.2).all()
    assert set(system.kappas) <= {*scheme.kappas, *range(17)}


def test_a_shape_and_a_schedule_limit_kappa():
    assert as_scheme("eagle").kappas[-2:] == (16, 25)
    assert as_scheme("specinfer").kappas[-2:] == (16, 20)
    assert as_scheme("sequoia").kappas[-2:] == (64, 128)
    assert as_scheme("llada").kappas == (127,)
    assert as_scheme({"type": "unmask", "steps": 20}).kappas == (19, 31, 63)
    assert as_scheme("eagle2").kappas == (1, 2, 4, 8, 16, 32, 48, 50, 60)
    assert as_scheme("medusa").kappas[-2:] == (32, 63)
    assert as_scheme("tree").kappas[-2:] == (32, 64)


ROWS = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]
PAIR = {"type": "token_chain", "target": ROWS, "draft": [[0.4, 0.35, 0.25], [0.3, 0.4, 0.3], [0.2, 0.3, 0.5]]}


@pytest.mark.parametrize("system", [own for own in SYSTEMS if own.scheme in ("tokens", "big_little")],
                         ids=lambda system: system.names[0])  # fmt: skip
def test_systems_on_tokens_run_on_a_token_chain(system):
    scheme = as_scheme({"type": system.names[0], **NEEDS.get(system.names[0], {})})
    rows = simspec.simulate(PAIR, kappa=system.kappas or 3, windows=2000, scheme=scheme).to_pandas()
    assert (rows.mean_tokens >= 1.0).all()
    with pytest.raises(ParameterError, match="token"):
        simspec.simulate(Iid(alpha=0.7), kappa=3, scheme=scheme)


def test_medusas_code_takes_the_thresholds_of_its_paper():
    """δ = √ε for both; its code takes the heads' likeliest tokens, of one step, and a greedy first token."""
    paper, code = as_scheme("medusa typical"), as_scheme("medusa typical released")
    for scheme in (paper, code):
        assert (scheme.used_epsilon, scheme.used_delta) == (0.09, pytest.approx(0.3))
    assert (paper.drafts, paper.drafting, paper.ends) == ("sampled", "depth", None)
    assert (code.drafts, code.drafting, code.ends) == ("likeliest", "window", "greedy")
    assert simspec.simulate(PAIR, kappa=4, windows=2000, scheme=code).to_pandas().mean_steps[0] == 1.0
    assert as_scheme({"type": "medusa typical released", "widths": [2, 2, 1]}).nodes(3) == 10


TABLE_1 = {
    "greedy": ((68, 77, 81, 84, 85), (69, 79, 83, 86, 87), (62, 72, 77, 80, 82), (70, 81, 85, 88, 89),
               (63, 75, 79, 83, 85)),
    "stochastic": ((54, 81, 91, 95, 97), (56, 82, 92, 95, 97), (52, 80, 90, 94, 96), (57, 84, 92, 95, 97),
                   (55, 82, 91, 95, 97)),
}  # fmt: skip
"""SpecInfer, Table 1, in per cent: Alpaca, CP, WebQA, CIP, PIQA."""


@pytest.mark.parametrize(("kind", "coverage"), [("greedy", COVERAGE_GREEDY), ("stochastic", COVERAGE_STOCHASTIC)])
def test_ranks_are_means_of_the_published_table(kind, coverage):
    assert coverage == pytest.approx([sum(column) / 500 for column in zip(*TABLE_1[kind], strict=True)])


def test_medusas_ranks_are_those_of_its_file():
    """medusa_acc.csv, train/medusa0_top1 … medusa3_top5 of 7b; what they recover falls with head and rank."""
    assert COVERAGE_MEDUSA[0] == pytest.approx((0.56039, 0.67172, 0.72714, 0.75994, 0.77995), abs=5e-5)
    assert COVERAGE_MEDUSA[3] == pytest.approx((0.14737, 0.22502, 0.27373, 0.31088, 0.33971), abs=5e-5)
    assert all(len(head) == 5 and list(head) == sorted(head) for head in COVERAGE_MEDUSA)
    second = [row[0] for row in MEDUSA["misses"]]
    assert second == sorted(second, reverse=True)
    assert all(list(row) == sorted(row, reverse=True) for row in MEDUSA["misses"])


def test_shares_give_the_coverage_back():
    """A tree of one level, exclusive or in turn, covers what was published, to the four digits of the shares."""
    for coverage, in_turn in ((COVERAGE_GREEDY, False), (COVERAGE_STOCHASTIC, True)):
        first, rest = coverage[0], shares(coverage, in_turn)
        tree = Tree(misses=rest, widths=(5,), siblings="sequential" if in_turn else "exclusive")
        for width in range(1, 6):
            law = simspec.theory.scheme_law(tree, Iid(alpha=first), width)
            assert law.mean_accepted == pytest.approx(coverage[width - 1], abs=1e-4)
    assert shares(()) == shares((0.5,)) == ()


def test_the_document_holds_the_table():
    assert "\n".join(published_table()) in DOCUMENT


def test_every_system_stands_in_the_overview():
    """In the row that names its scheme; the overview's last column leads to the table."""
    start = DOCUMENT.index("| system |")
    rows = [line.split(" | ") for line in DOCUMENT[start : DOCUMENT.index("\n\n", start)].splitlines()[2:]]
    assert {len(row) for row in rows} == {4}
    for system in SYSTEMS:
        own = [row for row in rows if f"`{system.names[0]}`" in row[3]]
        assert own, system.names[0]
        assert any(f"`{system.scheme}`" in row[1] for row in own), system.names[0]
