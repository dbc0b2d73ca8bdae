"""κ along an output: against the exact law of short generations, the twin, and what a change does to it."""

import numpy as np
import pytest

import simspec
from simspec import theory
from simspec.kernels import lower, play, twin
from simspec.kernels.lower_policies import policy_form
from simspec.kernels.words import stream_keys
from simspec.model import Cost, Drift, Iid, ParameterError
from simspec.model.policies import Exp3, Heuristic, Rolling, Schedule
from simspec.model.serving import Serving
from simspec.run.trajectory import trajectory

COST = Cost(c_d=0.1)
JUMP = Drift(shape="table", alphas=(0.9,) * 300 + (0.4,) * 300)


def heuristic(rounds):
    kappa = 3
    for drafted, accepted in rounds:
        kappa = min(7, kappa + 2) if accepted == drafted else max(1, kappa - 1)
    return kappa


@pytest.mark.parametrize("serving", [Serving(), Serving(delay=2)])
def test_mean_kappa_by_position_is_exact(serving):
    """Twelve tokens, all histories listed; six errors of 128 chunks at each of four stretches: 4e-9 together."""
    short = Drift(alpha_start=0.9, alpha_end=0.4, tokens=12)
    law = theory.enumerate_policy(short, heuristic, COST, serving=serving)
    rounds, drafts, squares = np.zeros((3, 4))
    for chance, history in law.endings:
        position = 0
        for drafted, accepted in history:
            rounds[position // 3] += chance
            drafts[position // 3] += chance * drafted
            squares[position // 3] += chance * drafted**2
            position += accepted + 1
    found = trajectory(short, Heuristic(first=3, highest=7), COST, stretch=3, chunks=128, serving=serving)
    assert (np.abs(found.mean - drafts / rounds) < 6 * found.half / 1.96 + 1e-12).all()
    assert found.half.max() < 0.05
    assert found.spread == pytest.approx(np.sqrt(squares / rounds - (drafts / rounds) ** 2), abs=0.05)
    wrong = trajectory(short, Heuristic(first=3, highest=7, up=1), COST, stretch=3, chunks=128, serving=serving)
    assert (np.abs(wrong.mean - drafts / rounds) > 6 * wrong.half / 1.96).any()


@pytest.mark.parametrize("policy", [Rolling(cost=COST), Exp3(cost=COST), Heuristic()], ids=lambda p: p.type)
def test_rounds_are_those_of_the_twin(policy):
    form, first = policy_form(policy)
    rows, keys = lower.form(JUMP, form.highest), stream_keys(2, "t")
    fast, slow = (np.array(player.steered_rounds(rows, keys, 1, 5, 600, first, form)) for player in (play, twin))
    shown = fast[1] >= 0
    assert (fast[1] == slow[1][: len(fast[1])]).all()
    assert (fast[:, shown] == slow[:, shown]).all()


def test_a_long_memory_follows_late():
    quick, slow = (trajectory(JUMP, Rolling(smoothing=x), COST, stretch=20).recovery(300) for x in (0.85, 0.98))
    assert quick < slow
    assert quick <= 40
    assert trajectory(JUMP, Schedule(kappas=(4,)), COST, stretch=20).recovery(300) == 0


def test_the_time_to_recover_has_an_interval_that_fewer_outputs_widen():
    """It holds the figure itself, and that of sixteen times as many outputs."""
    many, few = (trajectory(JUMP, Rolling(smoothing=0.95), COST, stretch=10, chunks=n) for n in (32, 2))
    for own in (many, few):
        low, high = own.recovery_between(300)
        assert low <= own.recovery(300) <= high
    assert few.recovery_between(300)[0] <= many.recovery(300) <= few.recovery_between(300)[1]
    widths = [own.recovery_between(300)[1] - own.recovery_between(300)[0] for own in (many, few)]
    assert widths[0] < widths[1]
    low, high = many.recovery_between(300)
    assert many.says(300).endswith(f"within 0.5 of its new level ({low} to {high})")
    assert "in no stretch but the last" in many.says(590)


def test_cost_per_token_of_rounds_by_hand():
    """κ = 4 at α = 1: five tokens for 1.4, until the end cuts the last draft; at α = 0 one token for 1.4."""
    for alpha, each in ((1.0, 1.4 / 5), (0.0, 1.4)):
        flat = Drift(alpha_start=alpha, alpha_end=alpha, tokens=45)
        found = trajectory(flat, Schedule(kappas=(4,)), COST, stretch=20, chunks=2)
        assert found.median_cost[:2] == pytest.approx([each, each])
        assert found.tail_cost[:2] == pytest.approx([each, each])
    even = trajectory(Drift(alpha_start=0.6, alpha_end=0.6, tokens=400), Schedule(kappas=(2,)), COST, stretch=300)
    rare = trajectory(Drift(alpha_start=0.97, alpha_end=0.97, tokens=400), Schedule(kappas=(1,)), COST, stretch=300)
    assert (rare.median_cost[0], rare.tail_cost[0]) == pytest.approx((0.55, 1.1))  # 3% of the rounds emit one token
    assert even.tail_cost[0] == pytest.approx(1.2)
    assert even.median_cost[0] == pytest.approx(0.6)  # 40% of the rounds emit one token, 24% two


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"process": Iid(alpha=0.5)}, "drift"),
        ({"stretch": 0}, "stretch"),
        ({"chunks": 1}, "chunks"),
        ({"level": 0.0}, "level"),
    ],
)
def test_what_is_refused(keys, told):
    with pytest.raises(ParameterError, match=told):
        trajectory(**{"process": JUMP, "policy": Heuristic(), "cost": COST} | keys)


def test_the_public_face_passes_on_how_a_policy_is_served():
    asked = {"type": "drift", "alpha_start": 0.9, "alpha_end": 0.4, "tokens": 64}, {"type": "heuristic"}, {"c_d": 0.1}
    late, soon = (simspec.trajectory(*asked, chunks=2, serving=serving) for serving in ({"delay": 3}, None))
    inner = trajectory(simspec.Drift(**asked[0]), Heuristic(), COST, chunks=2, serving=Serving(delay=3))
    assert (late.mean == inner.mean).all()
    assert (late.mean != soon.mean).any()
    with pytest.raises(ParameterError, match="batch = 4 is not priced here"):
        simspec.trajectory(*asked, serving={"batch": 4})
