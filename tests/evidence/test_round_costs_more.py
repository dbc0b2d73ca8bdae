"""What costs keep on their way to a scenario, and what is said of their noise."""

import numpy as np
import pytest

import simspec
from simspec.evidence.costs.round_costs import RoundCosts
from simspec.evidence.costs.rows import timed
from simspec.evidence.costs.tables import record_of
from simspec.model import Cost


def table(mean, **more):
    return RoundCosts("table", np.arange(float(len(mean))), np.array(mean), np.zeros((len(mean), 0)), **more)


def test_a_table_as_a_cost_keeps_rollback_and_off_and_never_has_a_pass_below_nothing():
    own = table([1.0, 1.0, 1.1], rollback=0.3, off=1.05, draft=0.9).cost(2)
    assert (own.c_r, own.off) == (0.3, 1.05)
    assert [own.base(kappa) for kappa in (0, 1, 2)] == pytest.approx([1.0, 1.0, 1.1])  # 2·0.9 > R(2)


def test_the_last_entry_of_a_given_table_is_not_beyond_it():
    own = RoundCosts.of_cost(Cost(verify_table=[1.0, 1.2]))
    assert [own.extrapolated(kappa) for kappa in (0, 1, 2)] == [False, False, True]


def test_a_line_that_misses_by_no_more_than_the_noise_of_repeats_stays_a_line():
    """Repeats 20% apart, means 6% off the line."""
    means = {1: 9.1, 2: 9.0, 3: 10.8, 4: 10.7}
    kappa = [k for k in means for _ in range(3)]
    ms = [m * f for m in means.values() for f in (0.8, 1.0, 1.2)]
    assert simspec.costs(kappa=kappa, round_ms=ms, base_tpot_ms=7).at().model == "affine"


def test_plain_decoding_measured_once_is_said():
    once = simspec.costs(kappa=[0, 1, 1, 2, 2], round_ms=[7, 7.9, 8.1, 8.7, 8.9]).at()
    twice = simspec.costs(kappa=[0, 0, 1, 1, 2, 2], round_ms=[7, 7.1, 7.9, 8.1, 8.7, 8.9]).at()
    assert [any("measured once" in note for note in own.notes) for own in (once, twice)] == [True, False]


def test_plain_rows_weigh_by_their_tokens():
    own = simspec.costs(
        kappa=[0, 0, 2], predicted_n=[1000, 10, 100], predicted_ms=[7000.0, 140.0, 500.0],
        draft_n=[0, 0, 100], draft_n_accepted=[0, 0, 50],
    ).at()  # fmt: skip
    assert own.plain_ms == pytest.approx(7140 / 1010)


def test_a_base_speed_beside_totals_is_a_total():
    """1200 tok/s of 4 requests plain, 1500 at E = 2: R = 2·1200 ÷ 1500."""
    own = simspec.costs(kappa=[2], emitted=[2.0], tok_s_total=[1500.0], batch=4, base_tok_s=1200.0).at()
    assert own.at(2) == pytest.approx(1.6)


def test_a_roofline_beyond_its_context_says_so_and_still_does_after_json():
    from simspec.evidence.costs.files import grid_from_dict

    rows = [(b, c, k) for b in (1, 8) for c in (500, 4000) for k in (0, 1, 3)]
    batch, context, kappa = (list(map(float, column)) for column in zip(*rows, strict=True))
    ms = [6 + 1e-4 * b * c + (0.5 + 0.4 * k if k else 0) for b, c, k in rows]
    grid = simspec.costs(kappa=kappa, batch=batch, context=context, round_ms=ms, model="roofline")
    assert not grid.surface.at(8, 4000).extrapolated(2)
    assert grid.surface.at(8, 9000).extrapolated(2)
    back = grid_from_dict(grid.to_dict())
    for load in grid.loads:
        assert [back.at(*load).extrapolated(k) for k in (1, 3, 5)] == [False, False, True]


def test_a_loop_that_is_cheaper_within_the_noise_is_no_suspect():
    """5% below plain decoding that scatters by 8%."""
    from simspec.evidence.costs.doubts import off_of

    rows = [timed(record_of({"kappa": 0, "round_ms": ms, "mode": "loop"}, "x")) for ms in (6.2, 7.1, 6.65)]
    assert off_of(rows, 7.0, 0.3)[0] == pytest.approx(0.95)
    same = [timed(record_of({"kappa": 0, "round_ms": ms, "mode": "loop"}, "x")) for ms in (6.64, 6.65, 6.66)]
    off, notes = off_of(same, 7.0, 0.01)
    assert off == 1.0
    assert "suspect" in notes[0]


def test_a_roofline_spends_a_degree_of_freedom_on_each_value():
    rows = [(b, c, k) for b in (1, 8) for c in (500, 4000) for k in (0, 1, 3)]
    batch, context, kappa = (list(map(float, column)) for column in zip(*rows, strict=True))
    ms = [(6 + 1e-4 * b * c + (0.5 + 0.4 * k if k else 0)) * (1 + 0.01 * (-1) ** i) for i, (b, c, k) in enumerate(rows)]
    own = simspec.costs(kappa=kappa, batch=batch, context=context, round_ms=ms, model="roofline").surface
    assert own.freedom == 12 - np.count_nonzero(own.values)
