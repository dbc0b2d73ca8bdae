"""A user's own process: a table of rows gives simulation, twin and exact route, and bad tables are named."""

import json
import os
import subprocess
import sys
from typing import Literal

import numpy as np
import pytest

import simspec
from simspec.kernels import lower, play, twin
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
    fast, slow = play.play(form, keys, 0, 4, 300, 4), twin.play(form, keys, 0, 4, 300, 4)
    assert fast.sums.tolist() == slow.sums.tolist()


def test_a_registered_class_is_known_by_its_type():
    simspec.register_process(Copy)
    assert isinstance(Processes.make(type="copy_of_markov"), Copy)
    with pytest.raises(ParameterError, match="already taken"):
        simspec.register_process(type("Iid", (simspec.RowProcess,), {"__annotations__": {"type": str}, "type": "iid"}))


PLUGIN = """
from typing import Literal
import simspec

@simspec.register_process
class Elsewhere(simspec.RowProcess):
    type: Literal["elsewhere"] = "elsewhere"
    alpha: float

    def rows(self, kappa):
        return simspec.RowTable([[self.alpha ** (j + 1) for j in range(kappa)]])
"""


def test_an_entry_point_makes_a_type_known_to_the_command_line(tmp_path):
    (tmp_path / "elsewhere.py").write_text(PLUGIN)
    info = tmp_path / "elsewhere-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[simspec.processes]\nelsewhere = elsewhere\n")
    scenario = '[process]\ntype = "elsewhere"\nalpha = [0.6, 0.7]\n[cost]\nc_d = 0.1\n'
    (tmp_path / "mine.toml").write_text(f"windows = 20000\nkappa = [0, 3, 4]\n{scenario}")
    done = subprocess.run(
        [sys.executable, "-m", "simspec", "run", "mine.toml", "--json"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    points = json.loads(done.stdout)["points"]
    assert [point["kappa_star"] for point in points] == [3, 4]
    assert [point["process"] for point in points] == ["elsewhere"] * 2


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
