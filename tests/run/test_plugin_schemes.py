"""A scheme of another package: its own exact law fills the column, and its folder is read without it."""

from __future__ import annotations

import math

import pytest

import simspec
from simspec.cli.main import main
from simspec.model.schemes import Schemes, Stop
from simspec.theory.own_laws import OWN_LAWS

NAME = "all_or_none"


class AllOrNone(simspec.Scheme):
    """κ drafts, of which all are kept or none."""

    type: str = NAME

    def rounds(self, draft, kappa):
        kept = math.prod(draft.rates(kappa))
        table = simspec.RoundTable()
        table.add([
            (kept, table.end(accepted=kappa, drafted=kappa, steps=kappa, rejected=False)),
            (1 - kept, table.end(accepted=0, drafted=kappa, steps=kappa, rejected=True)),
        ])  # fmt: skip
        return table


def means(scheme, rates, kappa):
    """By hand: κ + 1 tokens with the chance that all are right, else one."""
    kept = 1.0
    for rate in rates:
        kept *= rate

    def price(cost):
        return cost.base(kappa) + cost.c_r * (1 - kept)

    return simspec.SchemeLaw(1 + kappa * kept, kappa * kept, kappa, 1 - kept, price)


@pytest.fixture
def registered():
    """The scheme is known inside, and gone behind."""
    simspec.register_scheme(AllOrNone)
    yield AllOrNone
    Schemes.table.pop(NAME, None)
    OWN_LAWS.pop(AllOrNone, None)


CASES = [
    ({"type": "iid", "alpha": 0.0}, 4),
    ({"type": "iid", "alpha": 1.0}, 4),
    ({"type": "iid", "alpha": 0.8}, 8),
    ({"type": "position", "alphas": [0.9, 0.5, 0.7]}, 3),
    ({"type": "survival", "survival": [0.8, 0.5, 0.0]}, 3),
    ({"type": "markov", "alpha": 0.7, "rho": 0.4}, 5),
]


@pytest.mark.parametrize(("process", "kappa"), CASES)
def test_an_own_law_meets_its_simulation(registered, process, kappa):
    """Intervals at 1 − 10⁻⁸, at most nine of each of six: false alarm ≤ 1e-6.  A law with kept + .01 fails it."""
    simspec.exact_law(registered)(means)
    cost = {"c_d": 0.1, "c_v": 0.02, "c_r": 0.05}
    grid = range(kappa + 1)
    found = simspec.simulate(process, cost, grid, 200_000, scheme=AllOrNone(), level=1 - 1e-8).to_pandas()
    assert found.speedup_exact.notna().all()
    assert (found.speedup_low <= found.speedup_exact).all()
    assert (found.speedup_exact <= found.speedup_high).all()


@pytest.mark.parametrize(
    "process",
    [
        {"type": "markov", "alpha": 0.7, "rho": 0.4, "start": "carry"},
        {"type": "discrete_mixture", "alphas": [0.9, 0.3], "weights": [0.5, 0.5]},
        {"type": "beta_mixture", "a": 2.0, "b": 1.0},
        {"type": "drift", "alpha_start": 0.9, "alpha_end": 0.5, "tokens": 64},
    ],
)
def test_an_own_law_is_not_asked_where_windows_differ(registered, process):
    simspec.exact_law(registered)(means)
    with pytest.raises(simspec.ParameterError, match="is for windows that are alike"):
        simspec.exact(process, scheme=AllOrNone(), kappa_max=3)


def test_without_a_law_the_column_is_empty_and_the_way_to_one_is_named(registered):
    found = simspec.simulate(simspec.Iid(alpha=0.7), kappa=[2], windows=1000, scheme=AllOrNone()).to_pandas()
    assert found.speedup_exact.isna().all()
    with pytest.raises(simspec.ParameterError, match=r"simspec\.exact_law"):
        simspec.exact(simspec.Iid(alpha=0.7), scheme=AllOrNone(), kappa_max=3)


def test_a_law_that_is_none_is_said(registered):
    simspec.exact_law(registered)(lambda scheme, rates, kappa: 1.5)
    with pytest.raises(simspec.ParameterError, match=r"returned float; allowed: a simspec\.SchemeLaw"):
        simspec.exact(simspec.Iid(alpha=0.7), scheme=AllOrNone(), kappa_max=3)


def test_a_law_of_our_own_is_not_replaced():
    with pytest.raises(simspec.ParameterError, match="allowed: a scheme of your own"):
        simspec.exact_law(Stop)


def test_a_folder_is_shown_without_the_package_that_made_it(registered, tmp_path, capsys):
    simspec.exact_law(registered)(means)
    table = {"name": "plug", "windows": 2000, "kappa": [0, 2], "process": {"type": "iid", "alpha": 0.7},
             "scheme": [{"type": "chain"}, {"type": NAME}]}  # fmt: skip
    folder = tmp_path / "run"
    simspec.sweep(table, folder)
    assert main(["show", str(folder)]) == 0
    known = capsys.readouterr().out
    Schemes.table.pop(NAME)
    assert main(["show", str(folder)]) == 0
    unknown = capsys.readouterr().out
    assert "is not known here" not in known
    assert "the package that registers it is not installed" in " ".join(unknown.split())
    rows = [[line for line in text.splitlines() if line.startswith(f"{NAME} ")] for text in (known, unknown)]
    assert rows[0] == rows[1] != []
    pytest.importorskip("matplotlib")
    assert main(["report", str(folder), "-o", str(tmp_path / "page.html")]) == 0


def test_a_class_that_cannot_be_a_scheme_is_refused_where_it_is_registered():
    """A class without a type used to be known by none, and broke the message of every later wrong type."""
    known = dict(Schemes.table)
    nameless = type("Nameless", (simspec.Scheme,), {"rounds": AllOrNone.rounds})
    idle = type("Idle", (simspec.Scheme,), {"__annotations__": {"type": str}, "type": "idle"})
    taken = type("Taken", (AllOrNone,), {"__annotations__": {"type": str}, "type": "Spec-Dec++"})
    for kind, said in ((nameless, "Nameless has no type"), (idle, "Idle has no rounds"), (taken, "taken by a system")):
        with pytest.raises(simspec.ParameterError, match=said):
            simspec.register_scheme(kind)
    with pytest.raises(simspec.ParameterError, match="Nameless has no type"):
        simspec.register_process(type("Nameless", (simspec.RowProcess,), {}))
    assert Schemes.table == known
    with pytest.raises(simspec.ParameterError, match="is unknown"):
        simspec.simulate(simspec.Iid(alpha=0.5), scheme="hegded")


def _nothing(scheme, draft, kappa):
    simspec.RoundTable().end(accepted=0, drafted=kappa)


def _too_much(scheme, draft, kappa):
    table = simspec.RoundTable()
    table.add([(1.0, table.end(accepted=kappa + 3, drafted=kappa))])
    return table


@pytest.mark.parametrize(
    ("rounds", "said"), [(_nothing, "returned NoneType"), (_too_much, "keeps more than it drafts")]
)
def test_a_round_that_is_none_is_said(rounds, said):
    own = type("Own", (AllOrNone,), {"rounds": rounds})
    with pytest.raises(simspec.ParameterError, match=said):
        simspec.simulate(simspec.Iid(alpha=0.7), kappa=[2], windows=1000, scheme=own())
