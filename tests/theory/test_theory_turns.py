"""Turns of two models, parallel unmasking, overlapped drafting, lookahead: are they what a listing gives?"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from simspec.model import Cost, Iid, ParameterError
from simspec.theory import (
    big_little,
    big_little_rates,
    draft_ahead,
    draft_ahead_time,
    foresight_bound,
    lookahead_step,
    overlapped_by_runs,
    parallel_unmask,
    schedule_confidence,
    self_draft_cost,
    speculation_parallel,
    speedup,
    unmask_schedule,
)


@pytest.mark.parametrize("kmax", [0, 1, 2, 4, 6])
@pytest.mark.parametrize(("unsure", "wrong"), [(0.2, 0.1), (0.0, 0.3), (0.4, 0.0), (1.0, 0.5), (0.5, 1.0), (0.0, 0.0)])
def test_a_turn_of_two_models_by_listing(unsure, wrong, kmax):
    """Each pass of the small model: is it sure, would the large one take the token back?"""
    joint, passes, tokens = np.zeros((kmax + 1, kmax + 1)), 0.0, 0.0
    for course in product(product([True, False], repeat=2), repeat=kmax):
        chance = math.prod((1 - unsure if sure else unsure) * (wrong if bad else 1 - wrong) for sure, bad in course)
        written = next((n for n, (sure, _) in enumerate(course) if not sure), kmax)
        kept = next((n for n, (_, bad) in enumerate(course[:written]) if bad), written)
        joint[written, kept] += chance
        passes += chance * min(written + 1, kmax)
        tokens += chance * (kept + 1)
    turn, cost = big_little(unsure, wrong, kmax), Cost(c_d=0.1, c_v=0.02, c_r=0.3)
    np.testing.assert_allclose(turn.joint, joint, atol=1e-13)
    assert turn.mean_small_passes == pytest.approx(passes, abs=1e-12)
    assert turn.mean_small_tokens == pytest.approx(joint.sum(axis=1) @ np.arange(kmax + 1), abs=1e-12)
    assert turn.mean_kept == pytest.approx(tokens - 1, abs=1e-12)
    assert turn.p_rollback == pytest.approx(1 - np.trace(joint), abs=1e-12)
    price = 1 + 0.1 * passes + 0.02 * turn.mean_small_tokens + 0.3 * turn.p_rollback
    assert turn.speedup(cost) == pytest.approx(tokens / price)


def test_thresholds_of_two_models_become_chances_and_a_loss():
    large = [[0.9, 0.1], [0.3, 0.7], [0.001, 0.999], [0.5, 0.5]]
    small = [[0.8, 0.2], [0.7, 0.3], [0.9, 0.1], [0.55, 0.45]]
    rates = big_little_rates(large, small, [4, 3, 2, 1], fallback=0.6, rollback=2.0)
    assert rates.p_fallback == pytest.approx(0.1)  # the last context: .55 is unsure
    assert rates.p_rollback == pytest.approx(0.2 / 0.9)  # the third: −log .001 > 2
    assert rates.disagreement == pytest.approx(3 / 7)
    assert rates.excess_entropy == pytest.approx(3 / 7 * math.log(0.7 / 0.3))
    assert big_little_rates(large, small, [1, 1, 1, 1], fallback=1.0).p_fallback == 1.0
    strict = big_little_rates([[1.0, 0.0]], [[0.0, 1.0]], [1], rollback=1e9)
    assert strict.p_rollback == 1.0  # a token the large model excludes is taken back whatever the threshold


def test_parallel_unmasking_by_listing():
    """All sets of confident masks in every pass, for few masks."""
    for length, chance in ((1, 0.3), (2, 0.0), (3, 0.4), (4, 0.7), (3, 1.0)):
        done, unsure = np.zeros(length + 1), 0.0
        waiting = {length: 1.0}
        for passes in range(1, length + 1):
            following: dict[int, float] = {}
            for left, weight in waiting.items():
                for masks in product([True, False], repeat=left):
                    own = weight * math.prod(chance if sure else 1 - chance for sure in masks)
                    unsure += own * (not any(masks))
                    after = left - max(1, sum(masks))
                    following[after] = following.get(after, 0.0) + own
            done[passes] = following.pop(0, 0.0)
            waiting = following
        found = parallel_unmask(length, chance)
        np.testing.assert_allclose(found.pmf_steps, done, atol=1e-13)
        assert found.p_unsure == pytest.approx(unsure / length, abs=1e-12)
    assert parallel_unmask(16, 0.3).mean_steps == pytest.approx(6.928, abs=5e-4)


@pytest.mark.parametrize(("length", "steps", "block"), [(128, 128, None), (10, 4, None), (3, 5, None), (32, 12, 8)])
def test_a_schedule_fills_all_masks(length, steps, block):
    filled = unmask_schedule(length, steps, block)
    assert filled.sum() == length
    assert filled.size == steps
    assert filled.max() - filled.min() <= 1


def test_confidence_of_a_schedule_by_order_statistics():
    """Two of three uniform confidences, then the last one: means 3/4 and 2/4 of three, 1/2 of one."""
    assert schedule_confidence(np.array([2, 1])) == pytest.approx((0.75 + 0.5 + 0.5) / 3)
    assert schedule_confidence(np.array([0, 1, 2])) == pytest.approx((0.75 + 2 / 3 + 1 / 3) / 3)


def drafting_never_waits(run: int, c_d: float, lookahead: int) -> float:
    """When the first rejection is known, if a target pass starts with every ``lookahead`` drafts that are ready."""
    judged = {}  # position → when its verdict is known
    for number in range(run + 2):
        for position in range((number - 1) * lookahead + 2, number * lookahead + 2):
            judged[position] = number * lookahead * c_d + 1.0
    return judged[run + 1]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.7, 0.95])
@pytest.mark.parametrize(("c_d", "length"), [(0.1, 1), (1.5, 1), (0.1, 4), (0.3, 4), (0.05, 20)])
def test_overlapped_schedules_by_their_events(alpha, c_d, length):
    runs = np.arange(2000)
    law = (1 - alpha) * alpha**runs
    times = np.array([drafting_never_waits(int(run), c_d, length) for run in runs[:400]] + [0.0] * 1600)
    if alpha < 0.95:
        assert speculation_parallel(alpha, c_d, length).speedup == pytest.approx(overlapped_by_runs(law, times))
    for early in (False, True):
        times = np.array([draft_ahead_time(int(run), c_d, length, pre_verify=early) for run in runs])
        own = draft_ahead(alpha, c_d, length, pre_verify=early)
        assert own.speedup == pytest.approx(overlapped_by_runs(law, times))
        assert own.mean_tokens == pytest.approx(1 / (1 - alpha))


def test_endless_copies_of_the_target_reach_foresight():
    for alpha in (0.2, 0.7, 0.99):
        assert speculation_parallel(alpha, 0.1).speedup == pytest.approx(foresight_bound(alpha, 0.1))
    assert speculation_parallel(0.7, 0.1).targets == 10
    assert speculation_parallel(0.7, 0.1, 5).targets == 2
    assert speculation_parallel(1.0, 0.1).speedup == pytest.approx(10.0)
    assert draft_ahead(1.0, 0.1, 4).speedup == 4.0


def test_drafting_ahead_pays_where_drafting_takes_as_long_as_verifying():
    """γ·c_d = 1: half of the time of a chain is saved in full windows."""
    own, chain = draft_ahead(0.9, 0.2, 5).speedup, speedup(Iid(alpha=0.9), 5, Cost(c_d=0.2))
    assert own > chain


def test_a_lookahead_step_is_priced():
    step = lookahead_step(0.5, 4, 7, period=3.0)
    cost = Cost(c_d=0.01, c_v=0.002, c_r=0.1)
    rejected = 1 - step.pmf_best[-1] / 3
    assert step.mean_cost(cost, window=5) == pytest.approx(1 + 4 * 12 * 0.002 + 0.1 * rejected)
    assert step.speedup(Cost()) == step.step_compression


@pytest.mark.parametrize("layers", [1, 3, 5])
@pytest.mark.parametrize("kappa", [0, 1, 4])
def test_a_model_that_drafts_with_its_own_layers_layer_by_layer(layers, kappa):
    """Eight layers, one unit of time per layer and pass, a little per layer and token: count them all."""
    all_layers, per_token = 8, 0.01
    passes = kappa * layers + all_layers
    tokens = {
        True: kappa * (all_layers - layers),  # the first layers of the drafts are done: the pass adds the others
        False: kappa * all_layers,
    }
    for reuse, extra in tokens.items():
        cost = self_draft_cost(layers / all_layers, c_v=per_token, reuse=reuse)
        assert cost.base(kappa) == pytest.approx(passes / all_layers + extra * per_token / all_layers)


def test_what_cannot_be_asked():
    for call, named in (
        (lambda: big_little(1.2, 0.1, 3), "p_fallback"),
        (lambda: big_little(0.2, -0.1, 3), "p_rollback"),
        (lambda: big_little(0.2, 0.1, -1), "kmax"),
        (lambda: big_little(0.2, 0.1, 3).speedup(Cost(draft_table=[0, 1])), "cost"),
        (lambda: big_little_rates([[1.0]], [[1.0]], [1, 1]), "weights"),
        (lambda: big_little_rates([[1.0]], [[0.5, 0.5]], [1]), "drafts[0]"),
        (lambda: parallel_unmask(0, 0.3), "gen_length"),
        (lambda: parallel_unmask(4, 1.3), "p_confident"),
        (lambda: unmask_schedule(10, 0), "steps"),
        (lambda: unmask_schedule(10, 4, 3), "block_length"),
        (lambda: unmask_schedule(12, 5, 6), "steps"),
        (lambda: schedule_confidence(np.array([0])), "tokens_per_step"),
        (lambda: speculation_parallel(0.7, 0.0), "c_d"),
        (lambda: draft_ahead(0.7, 0.1, 0), "gamma"),
        (lambda: draft_ahead(1.7, 0.1, 4), "alpha"),
        (lambda: self_draft_cost(1.2), "fraction"),
        (lambda: self_draft_cost(0.2, head=-1), "head"),
    ):
        with pytest.raises(ParameterError) as caught:
            call()
        assert caught.value.key == named
