"""Does the committed table of agreement hold, does a fresh run agree, and is a parameter that is off seen?"""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from simspec.claims.agreement import __main__ as command
from simspec.claims.agreement import all_systems
from simspec.claims.agreement.case import PRICE
from simspec.claims.agreement.page import outsiders, page
from simspec.claims.agreement.play import FALSE_ALARM, agreed
from simspec.claims.agreement.systems import LINES
from simspec.model import Iid
from simspec.model.identity import canonical_json

COMMITTED = Path(__file__).parents[2] / "results" / "systems"
SYSTEMS = all_systems()
FRESH, SEED = 20_000, 77


@pytest.fixture(scope="module")
def committed():
    return pd.read_parquet(COMMITTED / "agreement.parquet")


def figures():
    """Every figure of every set, in the order of the table."""
    return [(own, case, quantity) for own in SYSTEMS for case in own.cases for quantity in own.quantities]


def test_every_set_is_in_the_committed_table_with_its_exact_value(committed):
    asked = figures()
    assert len(committed) == len(asked)
    for row, (system, case, quantity) in zip(committed.itertuples(), asked, strict=True):
        assert (row.line, row.system, row.quantity, row.edge) == (system.line, system.name, quantity.name, case.edge)
        assert row.scheme == canonical_json(case.scheme.identity())
        assert (row.process, row.kappa) == (canonical_json(case.process.identity()), case.kappa)
        assert row.exact == pytest.approx(quantity.exact(case), rel=1e-9, abs=1e-9), row


def test_the_committed_table_agrees_and_makes_the_page(committed):
    assert committed.inside.all()
    assert (committed.rounds >= command.ROUNDS).all()
    off = (committed.simulated - committed.exact).abs()
    assert (off <= (committed.bound * committed.error).where(committed.error > 0.0, 1e-9)).all()
    text = (COMMITTED / command.PAGE).read_text(encoding="utf-8")
    assert text == page(committed, command.ROUNDS, command.SEED)


def test_every_line_has_its_systems_and_every_system_five_sets_with_edges():
    assert len({(own.line, own.name) for own in SYSTEMS}) == len(SYSTEMS)
    assert {own.line for own in SYSTEMS} == set(LINES)
    for own in SYSTEMS:
        asked = {(str(case.scheme), canonical_json(case.process.identity()), case.kappa) for case in own.cases}
        assert len(asked) >= 5, own.name
        assert sum(bool(case.edge) for case in own.cases) >= 2, own.name


def test_every_system_is_random_somewhere(committed):
    """Sets in which nothing is drawn test no law: at least half a dozen figures of a system are drawn."""
    drawn = committed[committed.error > 0.0].groupby(["line", "system"]).size()
    assert len(drawn) == len(SYSTEMS)
    assert drawn.min() >= 5


def part(first, every):
    """Every so-manieth set, system by system."""
    out, number = [], first
    for own in SYSTEMS:
        kept = tuple(case for i, case in enumerate(own.cases) if (number + i) % every == 0)
        number += len(own.cases)
        out += [replace(own, cases=kept)] if kept else []
    return out


@pytest.mark.parametrize("first", [0, *(pytest.param(at, marks=pytest.mark.deep) for at in range(1, 10))])
def test_a_fresh_run_agrees(first):
    """Other words; false alarm 1e-6 for all figures of a part.  One set in ten by default."""
    found = agreed(part(first, 10), FRESH, SEED + first)
    assert len(found) > 100
    assert found.inside.all(), outsiders(found)


def off(case, **keys):
    """The same set with other parameters of its scheme."""
    own = case.scheme.model_dump(exclude={"label"}, exclude_none=True)
    return replace(case, scheme=type(case.scheme).model_validate(own | keys))


def rate(case, alpha):
    return replace(case, process=Iid(alpha=alpha))


PLANTED = {
    "Leviathan, Chen": lambda case: rate(case, 0.71),
    "PEARL": lambda case: rate(case, 0.71),
    "DSI": lambda case: rate(case, 0.69),
    "LayerSkip": lambda case: off(case, layers=0.26),
    "Medusa, tree by path products": lambda case: off(case, misses=(0.32, 0.12, 0.1, 0.04)),
    "SpecInfer, widths 1 to 5": lambda case: rate(case, 0.58),
    "EAGLE-2, calibrated": lambda case: off(case, acceptance=((0.9, 0.05, 0.02), (0.5, 0.38, 0.05), (0.2, 0.15, 0.1))),
    "lookahead, formula": lambda case: off(case, candidates=14),
    "prompt lookup, two chances": lambda case: off(case, after_match=0.81),
    "prompt lookup, copies": lambda case: off(case, memory=7),
    "SpecDec++": lambda case: off(case, kmin=3),
    "BiLD, chances": lambda case: off(case, p_fallback=0.21),
    "LLaDA, schedule and remasking": lambda case: rate(case, 0.61),
    "best tree of n nodes": lambda case: rate(case, 0.61),
    "lenience 1, .5, .1": lambda case: off(case, lenience=0.97),
    "optimal transport": lambda case: off(case, rule="rrs"),
    "block verification": lambda case: off(case, rule="rrs"),
    "K-SEQ, best ρ": lambda case: off(case, rule="rrs"),
}
"""System → what is a little off in the exact value of its first set, or another rule."""


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_seen(name):
    """Half a million rounds of one set, as the exact route sees it and as it would be with another parameter."""
    system = next(own for own in SYSTEMS if own.name == name)
    one = replace(system, cases=system.cases[:1])
    wrong = tuple(replace(own, exact=lambda case, own=own: own.exact(PLANTED[name](case))) for own in one.quantities)
    assert agreed([one], command.ROUNDS, SEED).inside.all()
    found = agreed([replace(one, quantities=wrong)], command.ROUNDS, SEED)
    assert not found.inside.all()
    assert name in outsiders(found)[0]


def test_what_is_not_random_has_no_error_to_hide_behind():
    """α = 1: off by 1e-7, which no standard error covers."""
    system = next(own for own in SYSTEMS if own.name == "Leviathan, Chen")
    one = replace(system, cases=tuple(case for case in system.cases if case.edge == "α = 1"))
    shifted = tuple(replace(own, exact=lambda case, own=own: own.exact(case) + 1e-7) for own in one.quantities)
    assert agreed([one], 4000, SEED).inside.all()
    assert not agreed([replace(one, quantities=shifted)], 4000, SEED).inside.any()


def test_another_price_is_seen():
    system = next(own for own in SYSTEMS if own.name == "Kangaroo")
    one = replace(system, cases=system.cases[:1])
    dearer = PRICE.model_copy(update={"c_r": PRICE.c_r + 0.01})
    wrong = tuple(
        replace(own, exact=lambda case, own=own: own.exact(replace(case, price=dearer))) for own in one.quantities
    )
    found = agreed([replace(one, quantities=wrong)], command.ROUNDS, SEED).set_index("quantity").inside
    assert found.to_dict() == {"tokens per round": True, "speed-up": False}


def test_no_number_depends_on_threads():
    own = SYSTEMS[:2]
    one, two = (agreed(own, 3000, SEED, threads=threads) for threads in (1, 2))
    pd.testing.assert_frame_equal(one, two)


def test_the_command(tmp_path, capsys, monkeypatch):
    few = (SYSTEMS[1], SYSTEMS[-1])
    monkeypatch.setattr(command, "all_systems", lambda: few)
    assert command.main([str(tmp_path), "--rounds", "5000", "--quiet"]) == 0
    assert {entry.name for entry in tmp_path.iterdir()} == {"agreement.md", "agreement.parquet"}
    said = capsys.readouterr()
    assert "all agree" in said.err
    assert SYSTEMS[-1].name in said.out

    shifted = tuple(replace(own, exact=lambda case, own=own: own.exact(case) + 0.5) for own in few[0].quantities)
    monkeypatch.setattr(command, "all_systems", lambda: (replace(few[0], quantities=shifted),))
    assert command.main([str(tmp_path), "--rounds", "5000", "--quiet"]) == 1
    said = capsys.readouterr()
    assert "OUTSIDE" in said.out
    assert said.err.count("outside its bound: PEARL") == 2 * len(few[0].cases)
    assert "lie outside their bound" in (tmp_path / "agreement.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("arguments", "told"), [(["--rounds", "10"], "rounds = 10"), (["--seed", "-1"], "seed = -1")])
def test_bad_numbers_are_one_line(tmp_path, capsys, arguments, told):
    assert command.main([str(tmp_path / "new"), *arguments]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_another_page_is_left_alone(tmp_path, capsys):
    place = tmp_path / "agreement.md"
    place.write_text("mine", encoding="utf-8")
    assert command.main([str(tmp_path), "--rounds", "1000", "--quiet"]) == 2
    assert "is another page" in capsys.readouterr().err
    assert place.read_text(encoding="utf-8") == "mine"
    assert command.main([str(place), "--rounds", "1000", "--quiet"]) == 2
    assert "is a file" in capsys.readouterr().err


def test_the_family_bound():
    """Student's quantile for a share of 1e-6 of the family, at the least number of lanes that are played."""
    assert FALSE_ALARM == 1e-6
    found = agreed(SYSTEMS[1:2], 5000, SEED)
    assert (found.units >= 128).all()
    assert found.bound.min() > 4.9
