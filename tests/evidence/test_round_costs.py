"""Round costs from measurements: exact where rows are exact, honest where they scatter, else refused."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import simspec
from simspec import Cost, ParameterError
from simspec.evidence.costs.edges import edges
from simspec.evidence.costs.files import grid_from_dict, read_costs, toml
from simspec.evidence.costs.round_costs import CostGrid, RoundCosts
from simspec.evidence.costs.tables import record_of
from simspec.evidence.words import uniforms
from simspec.kernels.words import stream_keys

KAPPA = [1, 2, 3, 4, 6, 8]
PLAIN = 7.0
ROUND = {kappa: 7.6 + 0.7 * kappa for kappa in KAPPA}
EMITTED = {1: 1.7, 2: 2.2, 3: 2.5, 4: 2.7, 6: 2.9, 8: 3.0}


def normal(name, shape):
    from scipy.special import ndtri

    words = uniforms(stream_keys(20261130, name, "test of costs"), np.arange(int(np.prod(shape))), 0)
    return ndtri(words + 2.0**-54).reshape(shape)


def rows(**columns):
    return {"kappa": KAPPA, "base_tpot_ms": PLAIN, **columns}


ROUNDS = list(ROUND.values())
E = list(EMITTED.values())
UNITS = {
    "round": {"round_ms": ROUNDS},
    "TPOT": {"TPOT": [r / e for r, e in zip(ROUNDS, E, strict=True)], "accept_length": E},
    "tok/s": {"tps": [1000 * e / r for r, e in zip(ROUNDS, E, strict=True)], "AL": E},
    "without bonus": {"tok_s": [1000 * e / r for r, e in zip(ROUNDS, E, strict=True)], "accepted": [e - 1 for e in E]},
    "rate": {
        "tok_s": [1000 * e / r for r, e in zip(ROUNDS, E, strict=True)],
        "draft_acceptance_rate": [(e - 1) / k for e, k in zip(E, KAPPA, strict=True)],
    },
    "total at batch 4": {
        "throughput": [4000 * e / r for r, e in zip(ROUNDS, E, strict=True)],
        "emitted": E,
        "concurrency": 4,
    },
    "llama.cpp": {
        "predicted_n": [round(1000 * e) for e in E],
        "predicted_ms": [1000 * r for r in ROUNDS],
        "draft_n": [1000 * k for k in KAPPA],
        "draft_n_accepted": [round(1000 * (e - 1)) for e in E],
    },
    "draft and pass": {"verify_ms": [7.6 + 0.2 * k for k in KAPPA], "draft_ms": [0.5 * k for k in KAPPA]},
}


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_gives_the_same_line(unit):
    own = simspec.costs(**rows(**UNITS[unit])).at()
    assert own.model == "affine"
    assert own.plain_ms == pytest.approx(PLAIN)
    assert [own.at(kappa) for kappa in KAPPA] == pytest.approx([r / PLAIN for r in ROUNDS], rel=1e-9)
    assert own.figures["slope"] == pytest.approx(0.1, rel=1e-9)
    assert own.figures["fixed"] == pytest.approx(7.6 / PLAIN, rel=1e-9)


def test_drafting_timed_by_round_is_told_apart():
    own = simspec.costs(**rows(**UNITS["draft and pass"])).at()
    cost = own.cost(8)
    assert own.draft == pytest.approx(0.5 / PLAIN)
    assert (cost.c_d, cost.c_v) == (pytest.approx(0.5 / PLAIN), pytest.approx(0.2 / PLAIN))
    assert not any("tell drafting" in note for note in own.notes)
    assert any("tell drafting" in note for note in simspec.costs(**rows(round_ms=ROUNDS)).at().notes)


def test_a_cost_of_the_model_is_the_same_cost():
    """The line, the table and given numbers: R(κ) of both houses, κ = 0 … 12."""
    edge = simspec.costs(
        width=[1, 2, 4, 8, 9, 13, 16], verify_ms=[31, 36.2, 42.3, 68.7, 106.9, 113.7, 118.7], draft_cost=0.02
    )
    given_ = Cost(c0=1.1, c_d=0.05, c_v=0.02, c_r=0.3, off=1.2)
    for own in (simspec.costs(**rows(round_ms=ROUNDS)).at(), edge.at(), RoundCosts.of_cost(given_)):
        cost = own.cost(12)
        assert [cost.base(kappa) for kappa in range(13)] == pytest.approx(
            [own.at(kappa) for kappa in range(13)], rel=1e-12
        )
    assert RoundCosts.of_cost(given_).rollback == 0.3
    assert RoundCosts.of_cost(given_).off == 1.2


def test_errors_without_repeats_are_those_of_least_squares():
    """Against textbook formulas written out, not the code's matrices: R(5) is a weighted sum of the rows, each with the
    same relative noise, over a plain row with that noise too."""
    x, y = np.array(KAPPA, float), np.array(ROUNDS) * (1 + 0.02 * normal("textbook", len(KAPPA)))
    own = simspec.costs(kappa=KAPPA, round_ms=y, base_tpot_ms=PLAIN, model="affine").at()
    center = x - x.mean()
    slope = (center * y).sum() / (center**2).sum()
    fitted = y.mean() + slope * center
    relative = np.polyval(np.polyfit(x, y, 1, w=1 / np.polyval(np.polyfit(x, y, 1, w=1 / y), x)), x)
    noise = np.sqrt(((y / relative - 1) ** 2).sum() / (len(x) - 2))
    at = 5.0
    weight = 1 / len(x) + (at - x.mean()) * center / (center**2).sum()
    value = (weight * y).sum() / PLAIN
    expected = noise * np.hypot(np.sqrt(((weight * fitted) ** 2).sum()) / PLAIN, value)
    assert own.at(at) == pytest.approx(value, rel=1e-12)
    assert own.error(at) == pytest.approx(expected, rel=1e-3)  # a third pass of weights would move it by so little
    assert own.freedom == len(x) - 2


def noisy(name, repeats, noise=0.03, plain_rows=8):
    """A table of so many repeats per κ."""
    z = normal(name, (len(KAPPA), repeats))
    ms = np.array(ROUNDS)[:, None] * (1 + noise * z)
    plain = PLAIN * (1 + noise * normal(name + " plain", plain_rows))
    kappa = np.repeat([0, *KAPPA], [plain_rows, *[repeats] * len(KAPPA)])
    return simspec.costs(kappa=kappa, round_ms=np.concatenate([plain, ms.ravel()]), model="table").at()


@pytest.mark.parametrize("model", ["affine", "table"])
def test_intervals_from_repeats_cover(model):
    """400 sweeps; 95% intervals of R(4); false alarm 1e-6.  Halving the error fails it (tried)."""
    from scipy.stats import t

    inside, sweeps = 0, 400
    for i in range(sweeps):
        z = normal(f"cover {i}", (len(KAPPA), 5))
        ms = np.array(ROUNDS)[:, None] * (1 + 0.03 * z)
        plain = PLAIN * (1 + 0.03 * normal(f"cover plain {i}", 30))
        kappa = np.repeat([0, *KAPPA], [30, *[5] * len(KAPPA)])
        own = simspec.costs(kappa=kappa, round_ms=np.concatenate([plain, ms.ravel()]), model=model).at()
        half = t.ppf(0.975, own.freedom) * own.error(4)
        inside += abs(own.at(4) - ROUND[4] / PLAIN) <= half
    low, high = binom.ppf([5e-7, 1 - 5e-7], sweeps, 0.95)
    assert low <= inside <= high


def test_draws_follow_value_and_error():
    """20,000 draws of a table with 41 degrees of freedom: near the normal; all κ of a draw move together.

    Of repeats 6 × 5, plain rows 7, about the line 4.
    """
    own = noisy("draws", 6)
    assert (own.model, own.freedom) == ("table", 41)
    drawn = own.draws([2, 4, 8], 20_000, seed=3)
    value = np.array([own.at(kappa) for kappa in (2, 4, 8)])
    error = np.array([own.error(kappa) for kappa in (2, 4, 8)])
    assert np.abs(drawn.mean(axis=0) - value).max() < 5 * error.max() / np.sqrt(20_000) + 1e-3 * value.max()
    assert drawn.std(axis=0) == pytest.approx(error, rel=0.08)
    assert np.corrcoef(drawn.T)[0, 1] > 0.3
    assert (own.draws([2, 4, 8], 100, seed=3) == drawn[:100]).all()
    assert (own.draws([4], 100, seed=3)[:, 0] == drawn[:100, 1]).all()


def test_nothing_is_known_of_noise_is_said():
    own = simspec.costs(kappa=[1, 2], round_ms=[8, 9], base_tpot_ms=7).at()
    assert not own.known_noise
    assert own.error(2) == 0.0
    assert len(np.unique(own.draws([2], 50, seed=1))) == 1
    assert any("nothing is known about noise" in note for note in own.notes)


def test_edges_are_found_and_lines_have_none():
    """400 lines of 8 points with 4% noise: no more false edges than 1% of them allow (false alarm 1e-6; a level of 20%
    in the code fails it); with 1% noise a step of 30% is found at its place in each of 100."""
    x = np.array([1.0, 2, 3, 4, 5, 6, 8, 10])
    y = 10 + 0.8 * x
    z = normal("edges", (500, len(x)))
    false = sum(bool(edges(x, y * (1 + 0.04 * own), None)) for own in z[:400])
    assert false <= binom.ppf(1 - 1e-6, 400, 0.01)
    step = y * np.where(x > 4, 1.3, 1.0)
    assert all([gap for gap, _ in edges(x, step * (1 + 0.01 * own), None)] == [3] for own in z[400:])


def test_a_bend_is_no_edge():
    bend = np.array([10.0, 10, 10, 10, 10, 12, 14, 16, 18, 20])
    assert edges(np.arange(1.0, 11), bend, None) == []
    own = simspec.costs(kappa=range(1, 11), round_ms=bend, base_tpot_ms=9).at()
    assert own.model == "table"
    assert own.at(8) == pytest.approx(16 / 9)


def test_what_lies_outside_is_marked():
    own = simspec.costs(**rows(round_ms=ROUNDS)).at()
    assert [kappa for kappa in range(12) if own.extrapolated(kappa)] == [0, 9, 10, 11]
    table = simspec.costs(**rows(round_ms=ROUNDS), model="table").at()
    assert table.at(10) == pytest.approx(table.at(8) + 0.2)
    falling = simspec.costs(kappa=[1, 2], round_ms=[9, 4], base_tpot_ms=7).at()
    with pytest.raises(ParameterError, match="measure nearer"):
        falling.at(4)
    with pytest.raises(ParameterError, match="0 ≤ kappa"):
        own.at(-1)


def test_one_kappa_assumes_no_fixed_cost_and_says_so():
    own = simspec.costs(kappa=4, round_ms=14, base_tpot_ms=7).at()
    assert (own.model, own.at(2), own.extrapolated(2)) == ("through plain", 1.5, True)
    assert any("second κ" in note for note in own.notes)
    assert own.error(4) == 0.0  # measured, and no repeat
    assert own.error(0) == pytest.approx(1.0 / np.sqrt(12))  # a fixed cost of none to all of R − 1 = 1
    with pytest.raises(ParameterError, match="only κ = 4 was measured"):
        simspec.costs(kappa=4, round_ms=14, base_tpot_ms=7, model="table").at().at(3)


def test_suspect_numbers_are_called_so():
    cheap = simspec.costs(kappa=[2, 3], round_ms=[6, 7.5], base_tpot_ms=7).at()
    assert any("suspect: R = 0.857 at κ = 2" in note for note in cheap.notes)
    falling = simspec.costs(kappa=[2, 3, 4], round_ms=[9, 8.5, 8], base_tpot_ms=7).at()
    assert any("cheaper with more drafts" in note for note in falling.notes)
    assert not any("suspect" in note for note in simspec.costs(**rows(round_ms=ROUNDS)).at().notes)
    chance = simspec.costs(kappa=[0] * 4 + [1] * 4, round_ms=[7, 7.3, 6.7, 7, 6.8, 7.1, 6.6, 7.2]).at()
    assert chance.at(1) < 1.0
    assert not any("suspect" in note for note in chance.notes)  # within the noise of the repeats


def test_drafts_that_stop_early_count_as_made():
    own = simspec.costs(
        kappa=[4, 8], predicted_n=[200, 220], predicted_ms=[1000, 1100], draft_n=[200, 250],
        draft_n_accepted=[100, 120], base_tpot_ms=7,
    ).at()  # fmt: skip
    assert [point.drafted for point in own.measured] == [2.0, 2.5]
    assert any("stop early" in note for note in own.notes)


FORMATS = {
    "csv": "k,TPOT,AL\n0,7,1\n2,4.5,2.0\n4,4.4,2.5\n",
    "tsv": "k\tTPOT\tAL\n0\t7\t1\n2\t4.5\t2.0\n4\t4.4\t2.5\n",
    "decimal commas": "k;TPOT;AL\n0;7,0;1\n2;4,5;2,0\n4;4,4;2,5\n",
    "crlf, blank lines": "k,TPOT,AL\r\n0,7,1\r\n\r\n2,4.5,2.0\r\n4,4.4,2.5\r\n",
    "markdown": "| k | TPOT (ms) | AL |\n|---|---:|---|\n| 0 | 7 | - |\n| 2 | 4.5 | 2.0 |\n| 4 | 4.4 | 2.5 |\n",
    "json": json.dumps([{"k": 0, "TPOT": 7}, {"k": 2, "TPOT": 4.5, "AL": 2.0}, {"k": 4, "TPOT": 4.4, "AL": 2.5}]),
    "json lines": '{"k":0,"TPOT":7}\n{"k":2,"TPOT":4.5,"AL":2.0}\n{"k":4,"TPOT":4.4,"AL":2.5}\n',
    "json columns": json.dumps({"k": [0, 2, 4], "TPOT": [7, 4.5, 4.4], "AL": [1, 2.0, 2.5]}),
    "words": "method,k,TPOT,AL\nbaseline,,7,\neagle,2,4.5,2.0\neagle,4,4.4,2.5\n",
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_read_alike(name, tmp_path):
    file = tmp_path / "sweep"
    file.write_text(FORMATS[name], newline="")
    own = simspec.costs(file).at()
    assert [point.cost for point in own.measured] == pytest.approx([9 / 7, 11 / 7])


REFUSED = {
    "no plain": ({"kappa": [2, 3], "round_ms": [9, 10]}, "plain decoding is missing.*9 ms at κ = 2"),
    "no rounds": ({"kappa": 0, "round_ms": 7}, "no round with drafts"),
    "no time": ({"kappa": [2], "emitted": [2.0], "base_tpot_ms": 7}, "no time"),
    "no tokens": ({"kappa": [2, 3], "tok_s": [200, 190], "base_tok_s": 140}, "needs the tokens per round"),
    "E beyond κ + 1": ({"kappa": [2], "emitted": [3.5], "tpot_ms": [4], "base_tpot_ms": 7}, "do not fit κ = 2"),
    "E below 1": ({"kappa": [2], "emitted": [0.7], "tpot_ms": [4], "base_tpot_ms": 7}, "do not fit κ = 2"),
    "percent": ({"kappa": [2], "rate": [79], "tpot_ms": [4], "base_tpot_ms": 7}, "rate = 79"),
    "lengths": ({"kappa": [2, 3, 4], "round_ms": [9, 10]}, "2 entries, others 3"),
    "unknown column": ({"kapa": [2], "round_ms": [9]}, 'did you mean "kappa"'),
    "half a draft": ({"kappa": [2.5], "round_ms": [9], "base_tpot_ms": 7}, "kappa = 2.5"),
    "negative": ({"kappa": [2], "round_ms": [-9], "base_tpot_ms": 7}, "round_ms = -9"),
    "both bases": ({"kappa": [2], "round_ms": [9], "base_tpot_ms": 7, "base_tok_s": 140}, "not both"),
    "plain twice": ({"kappa": [0, 2], "round_ms": [7, 9], "base_tpot_ms": 7}, "keep one"),
    "one base, two loads": (
        {"kappa": [2, 2], "batch": [1, 8], "round_ms": [9, 10], "base_tpot_ms": 7}, "for each batch"),
    "roofline without plain": (
        {"batch": [1, 8, 64], "kappa": 3, "round_ms": [7, 8, 9], "model": "roofline"}, "no row of plain decoding"),
    "whose speed": (
        {"kappa": [0, 2], "batch": 8, "round_ms": [7, None], "tok_s": [None, 300], "emitted": [None, 2.0]},
        "of one request or of all together",
    ),
    "passes and rounds": (
        {"kappa": [0, 1, 2], "verify_ms": [7, 8, 9], "draft_ms": [None, None, 1]}, "whole rounds and target passes"),
    "model": ({"kappa": [2], "round_ms": [9], "base_tpot_ms": 7, "model": "cubic"}, "affine, table, roofline"),
    "roofline of nothing": (
        {"kappa": [2, 3], "round_ms": [9, 10], "base_tpot_ms": 7, "model": "roofline"}, "needs batch"),
    "same column twice": ({"k": [2], "n_max": [2], "round_ms": [9]}, "both mean kappa"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_compared_is_refused(name):
    keys, message = REFUSED[name]
    with pytest.raises(ParameterError, match=message) as caught:
        simspec.costs(**keys)
    assert "\n" not in caught.value.message


def test_rows_of_several_models_need_a_choice(tmp_path):
    file = tmp_path / "sweep.csv"
    file.write_text(
        "model,config,k,round_ms\ndense,baseline,0,7\ndense,a,2,9\ndense,b,2,11\nmoe,baseline,0,3\nmoe,a,2,5\n"
    )
    with pytest.raises(ParameterError, match="column model holds dense, moe"):
        simspec.costs(file)
    with pytest.raises(ParameterError, match="column config holds a, b"):
        simspec.costs(file, where={"model": "dense"})
    own = simspec.costs(file, where={"model": "dense", "config": "b"}).at()
    assert own.at(2) == pytest.approx(11 / 7)  # the plain row stays, though its config is another
    with pytest.raises(ParameterError, match='did you mean "model"'):
        simspec.costs(file, where={"modell": "dense"})
    with pytest.raises(ParameterError, match=r"no row is left.*dense, moe"):
        simspec.costs(file, where={"model": "x"})


W, KV, F, H, D, DKV = 6.0, 1.2e-5, 0.035, 0.5, 0.35, 4e-7
BATCHES, CONTEXTS, GRID_KAPPAS = (1, 8, 64, 256, 600), (500, 4000, 16000), (0, 1, 3, 5)


def step(batch, context, kappa):
    own = max(W + KV * batch * context, F * batch * (kappa + 1))
    return own + (H if kappa else 0.0) + kappa * (D + DKV * batch * context)


def surface(batches, noise=0.0):
    loads = [(b, c, k) for b in batches for c in CONTEXTS for k in GRID_KAPPAS]
    ms = np.array([step(*load) for load in loads]) * (1 + noise * normal("roofline", len(loads)))
    batch, context, kappa = (list(own) for own in zip(*loads, strict=True))
    return simspec.costs(batch=batch, context=context, kappa=kappa, round_ms=ms)


def test_a_roofline_gives_back_its_values():
    own = surface(BATCHES).surface
    assert own.values == pytest.approx([W, KV, F, H, D, DKV], rel=1e-6)
    assert not own.unknown
    assert own.ridge() == pytest.approx(W / F)
    for load in ((1, 100, 2), (600, 500, 3), (128, 32_000, 4)):
        batch, context, kappa = load
        expected = step(*load) / step(batch, context, 0)
        assert own.at(batch, context).at(kappa) == pytest.approx(expected, rel=1e-6)


def test_a_roofline_with_noise_is_within_its_errors():
    """1% noise: each value within 5 of its standard errors (Student, 54 degrees: false alarm 4e-5 for all six)."""
    own = surface(BATCHES, 0.01).surface
    error = np.sqrt((own.spread**2).sum(axis=1))
    assert (np.abs(own.values - [W, KV, F, H, D, DKV]) < 5 * error).all()
    assert (error < 0.3 * np.array([W, KV, F, H, D, DKV])).all()
    costs = own.at(64, 4000)
    assert costs.draws([3], 5000, seed=1).std() == pytest.approx(costs.error(3), rel=0.1)


def test_errors_of_a_roofline_cost_are_those_of_its_values():
    """Against 4,000 rooflines drawn from the values' own law, each with its own plain step: spread within 8% (6 sd)."""
    own = surface(BATCHES, 0.01).surface
    z = normal("values", (own.spread.shape[1], 4000))
    drawn = own.values[:, None] + own.spread @ z
    for batch, context, kappa in ((1, 500, 3), (600, 500, 3), (256, 16000, 5)):
        w, kv, f, h, d, dkv = drawn
        plain = np.maximum(w + kv * batch * context, f * batch)
        whole = np.maximum(w + kv * batch * context, f * batch * (kappa + 1)) + h + kappa * (d + dkv * batch * context)
        assert own.at(batch, context).error(kappa) == pytest.approx((whole / plain).std(), rel=0.08)


def test_what_a_roofline_cannot_tell_is_said():
    small = surface((1, 8), 0.005).surface
    assert small.ridge_above == 48.0
    assert "compute_ms" in small.unknown
    beyond = small.at(600, 500)
    assert any("batch 600 is beyond the 8 measured" in note for note in beyond.notes)
    assert any("R may be higher" in note for note in beyond.notes)
    assert beyond.extrapolated(3)
    one = simspec.costs(
        batch=[1, 1, 8, 64], context=500, kappa=[0, 3, 3, 3], round_ms=[6, 7, 8, 9], model="roofline"
    ).surface
    assert "cannot be told apart" in one.unknown["round_ms"]
    assert small.to_dict()["values"]["compute_ms"] is None


def test_measured_loads_come_before_the_roofline():
    grid = surface(BATCHES, 0.01)
    assert grid.at(64, 4000).model in ("affine", "table")
    assert grid.at(100, 4000).model == "roofline"
    with pytest.raises(ParameterError, match="say which of the loads"):
        grid.at(64)
    with pytest.raises(ParameterError, match="say both"):
        grid.at(100)


def test_json_comes_back_the_same(tmp_path):
    for grid in (surface(BATCHES, 0.01), simspec.costs(**rows(round_ms=ROUNDS), loop_tpot_ms=7.7), CostGrid.of(
        RoundCosts.of_cost(Cost(c_d=0.1, verify_table=[1.0, 1.1, 1.3]))
    )):  # fmt: skip
        again = grid_from_dict(json.loads(json.dumps(grid.to_dict())))
        assert again.to_dict() == grid.to_dict()
        file = tmp_path / "costs.json"
        file.write_text(json.dumps(grid.to_dict()))
        read = read_costs(file)
        assert read.loads == grid.loads
        for load in grid.loads:
            assert (read.cells[load].draws([1, 4], 20, 5) == grid.cells[load].draws([1, 4], 20, 5)).all()


def test_a_file_of_costs_that_is_none_is_named(tmp_path):
    for text, message in (
        ('{"simspec": "costs", "cells": [{}]}', "not as `simspec costs --json`"),
        ('{"simspec": "costs", "cells": [', "breaks off"),
        ('{"simspec": "fit"}', "not of `simspec costs --json`"),
    ):
        file = tmp_path / "costs.json"
        file.write_text(text)
        with pytest.raises(ParameterError, match=message):
            read_costs(file)
    file = tmp_path / "costs.toml"
    file.write_text("[cost]\nc_x = 1\n")
    with pytest.raises(ParameterError, match="c_x"):
        read_costs(file)


def test_toml_is_a_cost_again(tmp_path):
    file = tmp_path / "cost.toml"
    for own in (simspec.costs(**rows(round_ms=ROUNDS), loop_tpot_ms=7.7).at(),
                simspec.costs(**rows(round_ms=ROUNDS), model="table").at()):  # fmt: skip
        file.write_text(toml(own, 6))
        again = read_costs(file).at()
        assert [again.at(k) for k in range(1, 7)] == pytest.approx([own.at(k) for k in range(1, 7)], rel=1e-5)
        assert again.off == pytest.approx(own.off)


CELL = st.one_of(
    st.text(max_size=6), st.integers(-3, 20).map(str), st.floats(0.1, 99).map(lambda x: f"{x:.3g}"), st.just("0")
)
NAME = st.sampled_from(
    ["k", "TPOT", "AL", "round_ms", "batch", "ctx", "tok_s", "rate", "baseline", "model", "verify_ms"]
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(NAME, min_size=2, max_size=6),
    st.lists(st.lists(CELL, min_size=2, max_size=6), max_size=8),
    st.sampled_from(",\t;|"),
)
def test_any_table_is_read_or_refused_in_one_line(tmp_path_factory, names, cells, separator):
    file = tmp_path_factory.mktemp("fuzz") / "table"
    file.write_bytes("\n".join(separator.join(row) for row in [names, *cells]).encode(errors="replace"))
    try:
        grid = simspec.costs(file, base_tpot_ms=7.0)
    except ParameterError as error:
        told = error.message
    else:
        told = str(grid).replace("\n", " ")
        assert all(np.isfinite(grid.cells[load].mean).all() for load in grid.loads)
    assert told
    assert "\n" not in told


def test_a_flag_of_the_baseline_is_not_a_flag_of_speculation(tmp_path):
    file = tmp_path / "flags.csv"
    for column, plain, fast in (
        ("baseline", "True", "False"),
        ("speculation", "off", "on"),
        ("baseline_flag", "1", "0"),
    ):
        file.write_text(f"k,round_ms,{column}\n4,7,{plain}\n4,14,{fast}\n")
        assert simspec.costs(file).at().at(4) == 2.0


def test_columns_nobody_knows_are_named_where_something_is_missing(tmp_path):
    file = tmp_path / "sweep.csv"
    file.write_text("k,tpot,AL EAGLE,notes\n0,7,1,\n2,5,2,x\n3,5,2,x\n")
    with pytest.raises(ParameterError, match="columns not known: al_eagle, notes"):
        simspec.costs(file)


def test_what_may_stand_beside_a_file(tmp_path):
    file = tmp_path / "sweep.csv"
    file.write_text("k,round_ms\n0,7\n2,9\n")
    assert simspec.costs(file, batch=8).loads == [(8.0, None)]
    for beside, message in (({"emitted": [2]}, "beside a file"), ({"kappa": [2]}, "the table holds it"),
                            ({"batch": [1, 2]}, "one number for all")):  # fmt: skip
        with pytest.raises(ParameterError, match=message):
            simspec.costs(file, **beside)


def test_a_row_without_drafts_is_no_round():
    with pytest.raises(ParameterError, match="nothing was drafted at κ = 5"):
        simspec.costs(kappa=5, predicted_n=100, predicted_ms=900, draft_n=0, draft_n_accepted=0, base_tpot_ms=9)


def test_names_of_columns_are_known_by_synonym():
    assert record_of({"Num speculative tokens": "3", "Mean TPOT (ms)": "5"}, "x").figures == {
        "kappa": 3.0,
        "tpot_ms": 5.0,
    }
