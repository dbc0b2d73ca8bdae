"""A user's own process: a table of rows gives simulation, twin and exact route, and bad tables are named."""

from typing import Literal

import numpy as np
import pytest

import simspec
from simspec.kernels import lower, twin
from simspec.kernels.words import stream_keys
from simspec.model import Markov, ParameterError, Processes


class Copy(simspec.RowProcess):
    """The carried chain (1, 1) written as rows."""

    type: Literal["copy_of_markov"] = "copy_of_markov"

    def rows(self, kappa):
        stay, rise = 0.79, 0.49
        return simspec.RowTable(
            [[rise * stay**j for j in range(kappa)], [stay ** (j + 1) for j in range(kappa)]], [0, 0], [1, 1]
        )


class Cycle(simspec.RowProcess):
    """Three rows that follow each other after a rejection."""

    type: Literal["cycle"] = "cycle"

    def rows(self, kappa):
        return simspec.RowTable([[a ** (j + 1) for j in range(kappa)] for a in (0.9, 0.6, 0.3)], [1, 2, 0], [0, 1, 2])


def test_the_exact_route_of_rows_is_that_of_the_same_chain():
    known = simspec.exact(Markov(alpha=0.7, rho=0.3, start="carry"), {"c_d": 0.1}, 8)
    own = simspec.exact(Copy(), {"c_d": 0.1}, 8)
    assert np.allclose(own.optimum.speedup_by_kappa, known.optimum.speedup_by_kappa, atol=1e-12)


@pytest.mark.parametrize("process", [Copy(), Cycle()], ids=lambda p: p.type)
def test_simulation_agrees_with_the_exact_route_and_the_twin(process):
    """Within 6 standard errors (2e-9 each)."""
    own = simspec.simulate(process, {"c_d": 0.1, "c_r": 0.2}, kappa=[1, 4], windows=400_000).to_pandas()
    half = (own["speedup_high"] - own["speedup"]) / 1.96 * 6
    assert (np.abs(own["speedup"] - own["speedup_exact"]) < half).all()
    form, keys = lower.form(process, 4), stream_keys(2, "rows")
    tally = form.play(keys, 0, 4, 300, 4)
    for lane in range(4):
        counts = twin.carried_lane(keys, 0, lane, 300, form)
        assert counts @ np.arange(5) == tally.column("accepted")[lane]


def test_a_registered_class_is_known_by_its_type():
    simspec.register_process(Copy)
    assert isinstance(Processes.make(type="copy_of_markov"), Copy)
    with pytest.raises(ParameterError, match="already taken"):
        simspec.register_process(type("Iid", (simspec.RowProcess,), {"__annotations__": {"type": str}, "type": "iid"}))


class Wrong(simspec.RowProcess):
    type: Literal["wrong"] = "wrong"
    how: str = "rises"

    def rows(self, kappa):
        return {
            "rises": simspec.RowTable([[0.5 + 0.1 * j for j in range(kappa)]]),
            "short": simspec.RowTable([[0.5] * (kappa - 1)]),
            "points nowhere": simspec.RowTable([[0.5] * kappa, [0.4] * kappa], [0, 5], [1, 1]),
        }[self.how]


@pytest.mark.parametrize("how", ["rises", "short", "points nowhere"])
def test_a_bad_table_is_named(how):
    with pytest.raises(ParameterError) as caught:
        simspec.simulate(Wrong(how=how), kappa=[4])
    assert caught.value.key == "rows"
