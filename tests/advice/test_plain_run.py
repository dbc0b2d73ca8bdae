"""A second run without drafts, or measured costs, stand for the plain speed: in one unit, at one load, or refused."""

import pytest
from writers import bench_frame

import simspec
from simspec import ParameterError, explain

SPEC = {
    "Backend": "sglang", "Max request concurrency": 8, "Total input tokens": 85028, "Total generated tokens": 83200,
    "Output token throughput (tok/s)": 1000.0, "Concurrency": 7.9, "Accept length": 2.5, "Mean TPOT (ms)": 7.7,
}  # fmt: skip
BASE = SPEC | {"Accept length": None, "Mean TPOT (ms)": 12.5, "Output token throughput (tok/s)": 625.0}


@pytest.fixture
def bench(tmp_path):
    def write(name, figures):
        lines = [f"{key}:   {value}" for key, value in figures.items() if value is not None]
        (tmp_path / name).write_text(bench_frame(*lines))
        return tmp_path / name

    return write


@pytest.mark.parametrize("turned", [False, True])
def test_the_run_without_drafts_is_the_plain_one(bench, turned):
    files = [bench("spec.txt", SPEC), bench("base.txt", BASE)]
    own = explain(*(files[::-1] if turned else files), kappa=3)
    assert own.round_cost.value == pytest.approx(2.5 * 7.7 / 12.5)
    assert own.speedup.value == pytest.approx(12.5 / 7.7)
    assert "base.txt, a run without drafts: its mean TPOT" in own.read["base_tpot_ms"]


def test_throughput_of_both_where_one_prints_no_tpot_and_it_is_said(bench):
    own = explain(bench("spec.txt", SPEC), bench("base.txt", BASE | {"Mean TPOT (ms)": None}), kappa=3)
    assert own.speedup.value == pytest.approx(1.6)
    assert set(own.read) == {"base_tok_s", "spec_tok_s"}
    assert "queueing" in own.read["spec_tok_s"]


def test_a_typed_plain_speed_is_met_by_the_figure_of_its_unit(bench):
    spec = bench("spec.txt", SPEC)
    assert explain(spec, kappa=3, base_tpot_ms=12.5).speedup.value == pytest.approx(12.5 / 7.7)
    assert explain(spec, kappa=3, base_tok_s=625).speedup.value == pytest.approx(1.6)


@pytest.mark.parametrize(
    ("base", "part"),
    [
        (BASE | {"Concurrency": 4.0, "Max request concurrency": 4}, "8 and 4 requests at once"),
        (BASE | {"Concurrency": None, "Max request concurrency": None}, "a number that is not told"),
        (BASE | {"Total generated tokens": 60000}, "60,000 tokens"),
        (BASE | {"Total input tokens": 10000}, "tokens of prompts"),
        ({"Maximum request concurrency": 8, "Output token throughput (tok/s)": 625.0}, "vLLM"),
        (BASE | {"Mean TPOT (ms)": None, "Output token throughput (tok/s)": None}, "holds no speed"),
    ],
)
def test_runs_that_did_not_do_the_same_are_refused_with_the_reason(bench, base, part):
    with pytest.raises(ParameterError, match=part):
        explain(bench("spec.txt", SPEC), bench("base.txt", base), kappa=3)


def test_no_common_unit_is_refused(bench):
    spec = bench("spec.txt", SPEC | {"Output token throughput (tok/s)": None})
    with pytest.raises(ParameterError, match=r"timed in ms per token and in tok/s; type the plain speed"):
        explain(spec, bench("base.txt", BASE | {"Mean TPOT (ms)": None}), kappa=3)


def test_a_plain_run_alone_asks_for_the_other_or_for_figures(bench):
    base = bench("base.txt", BASE)
    with pytest.raises(ParameterError, match="a run without drafts: give the log of the speculative run too"):
        explain(base)
    with pytest.raises(ParameterError, match="2 runs without drafts"):
        explain(bench("spec.txt", SPEC), base, bench("more.txt", BASE))
    own = explain(base, emitted=2.5, kappa=3, spec_tpot_ms=7.7)
    assert own.round_cost.value == pytest.approx(1.54)


def test_measured_costs_hold_the_plain_step(bench):
    spec = bench("spec.txt", SPEC)
    sweep = simspec.costs(kappa=[0, 2, 4], emitted=[1, 2.2, 2.9], tpot_ms=[12.5, 7.5, 7.4], batch=8).at()
    own = explain(spec, kappa=3, costs=sweep)
    assert own.round_cost.value == pytest.approx(1.54)
    assert "the costs" in own.read["base_tpot_ms"]
    assert explain(spec, kappa=3, costs=sweep, base_tpot_ms=10.0).round_cost.value == pytest.approx(1.925)
    other = simspec.costs(kappa=[0, 2, 4], emitted=[1, 2.2, 2.9], tpot_ms=[12.5, 7.5, 7.4], batch=1).at()
    with pytest.raises(ParameterError, match=r"costs are of batch 1, and the log ran 8 requests"):
        explain(spec, kappa=3, costs=other)
