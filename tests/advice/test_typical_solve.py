"""Is one draft under typical acceptance, played, what the exact route says; and what does `solve` refuse to play?"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import chdtrc

from simspec import theory
from simspec.advice import solve as street
from simspec.advice.solve import solve
from simspec.model.errors import ParameterError
from simspec.model.rounds import CELLS_LIMIT, RoundTable
from simspec.model.token_rules import in_turn, one_position, typical
from simspec.theory.unmasking import parallel_unmask

SKEW, BACK = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
CASES = [
    {"target": SKEW, "draft": BACK, "epsilon": 0.25, "delta": 1.0},
    {"target": SKEW, "draft": BACK, "epsilon": 0.25, "delta": 1.0, "on_reject": "residual"},
    {"target": [0.6, 0.2, 0.1, 0.1], "draft": [0.1, 0.5, 0.3, 0.1]},  # the paper's thresholds keep all that is likely
    {"target": [0.6, 0.2, 0.1, 0.1], "draft": [0.1, 0.5, 0.3, 0.1], "epsilon": 1.0, "delta": 1.0},
    {
        "target": SKEW,
        "draft": SKEW,
        "epsilon": 1.0,
        "delta": 9.0,
        "on_reject": "residual",
    },  # nothing is kept
    {"target": [0.0, 1.0], "draft": [0.5, 0.5], "epsilon": 0.3, "delta": 0.09},
    {"target": [0.0, 1.0], "draft": [1.0, 0.0], "epsilon": 0.0},  # a token without a chance is never typical
    {"target": [1.0], "draft": [1.0]},
    {"target": [0.2] * 5, "draft": [0.1, 0.1, 0.1, 0.1, 0.6], "epsilon": 1.0, "delta": 1.0},  # all on the threshold
]


def surprise(case: dict[str, object], windows: int = 200_000, seed: int = 3, **told: object) -> float:
    """Least chance of what was seen if the exact route is right: kept drafts, and tokens by chi-square."""
    (seen,) = solve([{"kind": "typical_acceptance", **case}], windows=windows, seed=seed)
    (exact,) = solve([{"kind": "typical_acceptance", **case, **told}])
    played, chances = seen["simulated"], []
    for law, own in (
        ([exact["acceptance"], 1 - exact["acceptance"]], [played["acceptance"], 1 - played["acceptance"]]),
        (exact["output_law"], played["output_law"]),
    ):
        expected, counts = np.array(law) * played["windows"], np.array(own) * played["windows"]
        if counts[expected < 1e-6].sum() > 0.5:
            return 0.0
        held = expected > 1e-6
        square = float(((counts - expected)[held] ** 2 / expected[held]).sum())
        chances.append(float(chdtrc(max(int(held.sum()) - 1, 1), square)))
    return min(chances)


@pytest.mark.parametrize("case", CASES)
def test_a_typical_draft_is_kept_as_often_as_it_should_be(case):
    """200,000 positions; 18 chi-squares at 5e-8 each: a false alarm in 1e-6 runs."""
    assert surprise(case) > 5e-8


def test_another_threshold_or_another_rest_would_be_seen():
    assert surprise(CASES[0], epsilon=0.31) < 5e-8
    assert surprise(CASES[0], on_reject="residual") < 5e-8


def test_what_is_exact_stays_as_it_is_when_played():
    (with_play,) = solve([{"id": 1, "kind": "typical_acceptance", **CASES[0]}], windows=1000)
    seen = with_play.pop("simulated")
    assert with_play == solve([{"id": 1, "kind": "typical_acceptance", **CASES[0]}])[0]
    assert seen.keys() == {
        "acceptance", "acceptance_interval", "output_law", "tv_output_target", "windows", "level", "seed",
    }  # fmt: skip


def test_rounding_puts_no_token_above_its_threshold():
    """Of n alike tokens none is above e^(-entropy) = 1/n, whatever log and exp make of it."""
    for n in range(1, 60):
        law = [1.0 / n] * n
        assert theory.typical_acceptance(law, law, 1.0, 1.0).accepted_tokens == ()
        assert sum(typical(law, [law], 1.0, 1.0).chances[0]) == 0.0


def test_a_table_too_wide_to_play_is_one_line():
    table = RoundTable()
    end = table.end(0, 1)
    wide = 5_000
    for number in range(CELLS_LIMIT // wide):
        table.add([(1.0, number + 1)])
    table.add([(1.0 / wide, end)] * wide)
    with pytest.raises(ParameterError, match=r"^the scheme has 4,001 states of up to 5,000 outcomes; allowed: 2"):
        table.check()
    del table.states[0]
    table.states = [[(1.0, number + 1)] for number in range(3_999)] + [table.states[-1]]
    table.check()


def test_a_wide_vocabulary_is_still_played():
    law = (np.arange(1, 4001) / (4001 * 2000)).tolist()
    one_position(in_turn(lambda p, laws: typical(p, laws, 0.09, 0.3)), law, [law]).check()


def test_a_case_out_of_memory_stops_no_other(monkeypatch):
    def greedy(case, windows, seed):
        return np.empty(1 << 62, np.int8)

    monkeypatch.setitem(street.SIMULATED_KINDS, "multidraft", greedy)
    other = {"id": 2, "kind": "optimal_tree", "rank_p": [0.2, 0.3], "n_nodes": 1}
    first, second = solve([{"id": 1, "kind": "multidraft"}, other])
    assert first["error"]["message"].startswith("takes more memory than there is (")
    assert second == {"id": 2, "mean_accepted": pytest.approx(0.3)}


def test_numbers_of_thousands_of_digits_are_not_printed():
    case = {"kind": "multidraft", "p": [1 / 5000] * 5000, "q": [1 / 5000] * 5000, "K": 1000, "scheme": "rrs_wor"}
    (answer,) = solve([case])
    assert answer["error"]["message"] == "K = 1000 from 5000 tokens has over 10^3648 orders; allowed: 40,000"


def test_rounding_shows_in_no_answer():
    assert parallel_unmask(1, 0.3).mean_steps == 1.0
    nodes = [{"id": 1, "parent": 0, "p": 0.5}, {"id": 2, "parent": 0, "p": 0.5 + 1e-10}]
    (answer,) = solve([{"kind": "tree", "tree": {"nodes": nodes}}])
    assert max(answer["pmf_accepted"]) <= 1.0
