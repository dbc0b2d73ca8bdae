"""Do drafts that end by a confidence rule follow an enumeration, and is no stopping plan better than the best rule?"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simspec.model import Cost, Iid, ParameterError
from simspec.theory import best_threshold, foresight_bound, optimum, stopped_draft, window

CASES = [
    {"values": [0.9, 0.3], "weights": [0.75, 0.25], "theta": 0.5, "rule": "survival", "kmin": 1, "kmax": 5},
    {"values": [0.9, 0.3], "weights": [0.75, 0.25], "theta": 0.5, "rule": "confidence", "kmin": 2, "kmax": 5},
    {"values": [0.95, 0.6, 0.2], "weights": [5, 3, 2], "theta": 0.35, "rule": "survival", "kmin": 2, "kmax": 6},
    {"values": [0.95, 0.6, 0.2], "weights": [5, 3, 2], "theta": 0.6, "rule": "confidence", "kmin": 0, "kmax": 6},
    {"values": [1.0, 0.0], "weights": [0.5, 0.5], "theta": 0.0, "rule": "survival", "kmin": 1, "kmax": 4},
    {"values": [1.0, 0.0], "weights": [0.5, 0.5], "theta": 1.0, "rule": "confidence", "kmin": 1, "kmax": 4},
    {"values": [0.9, 0.4], "weights": [0.5, 0.5], "theta": 0.3, "kmin": 1, "kmax": 5, "acceptance": [0.7, 0.6]},
    {"values": [0.9, 0.4], "weights": [0.5, 0.5], "theta": 0.5, "rule": "confidence", "kmin": 1, "kmax": 5,
     "transition": [[0.8, 0.2], [0.3, 0.7]]},
    {"values": [0.9, 0.4], "weights": [1, 0], "theta": 0.3, "rule": "survival", "kmin": 3, "kmax": 5,
     "acceptance": [1.0, 0.1], "transition": [[0.8, 0.2], [0.3, 0.7]]},
    {"values": [0.5], "weights": [1.0], "theta": 0.1, "kmin": 0, "kmax": 0},
]  # fmt: skip


def by_listing(values, weights, theta, rule="survival", kmin=1, kmax=20, acceptance=None, transition=None):
    """All sequences of confidences, all verdicts."""
    law = np.array(weights) / sum(weights)
    moves = np.array(transition) if transition is not None else np.tile(law, (len(values), 1))
    accepted = values if acceptance is None else acceptance
    joint = np.zeros((kmax + 1, kmax + 1))
    for chosen in product(range(len(values)), repeat=kmax):
        chance = 1.0
        for j, v in enumerate(chosen):
            chance *= law[v] if j == 0 else moves[chosen[j - 1], v]
        drafted, survival = 0, 1.0
        for v in chosen:
            drafted += 1
            survival *= values[v]
            if drafted >= kmin and (survival if rule == "survival" else values[v]) < theta:
                break
        for j in range(drafted + 1):
            run = np.prod([accepted[v] for v in chosen[:j]])
            ends = 1.0 - accepted[chosen[j]] if j < drafted else 1.0
            joint[drafted, j] += chance * run * ends
    return joint


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_sequence_of_confidences(case):
    found, joint = stopped_draft(**case), by_listing(**case)
    np.testing.assert_allclose(found.joint, joint, atol=1e-13)
    np.testing.assert_allclose(found.pmf_drafted, joint.sum(axis=1), atol=1e-13)
    assert found.mean_accepted == pytest.approx(joint.sum(axis=0) @ np.arange(case["kmax"] + 1), abs=1e-12)
    assert found.p_full == pytest.approx(np.trace(joint), abs=1e-12)
    cost = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
    drafts = joint.sum(axis=1) @ np.arange(case["kmax"] + 1)
    assert found.mean_cost(cost) == pytest.approx(1 + 0.12 * drafts + 0.3 * (1 - np.trace(joint)))
    table = Cost(draft_table=[0.1 * d for d in range(7)], verify_table=[1 + 0.02 * d for d in range(7)], c_r=0.3)
    assert found.mean_cost(table) == pytest.approx(found.mean_cost(cost))


def test_one_confidence_and_no_threshold_are_a_chain():
    found, chain = stopped_draft([0.7], [1.0], theta=0.0, kmax=4), window(Iid(alpha=0.7), 4)
    np.testing.assert_allclose(found.pmf_accepted, chain.pmf_accepted)
    assert found.pmf_drafted.tolist() == [0, 0, 0, 0, 1]


def test_a_threshold_that_is_met_exactly_does_not_stop():
    """.9·.9·.9 and .729 differ in the last bit, and c < θ does not hold."""
    assert stopped_draft([0.9], [1.0], theta=0.729, kmax=4).pmf_drafted[4] == 1.0
    assert stopped_draft([0.9], [1.0], theta=0.7291, kmax=4).pmf_drafted[3] == 1.0


def test_many_drafts_of_many_values_have_few_products():
    """20 drafts of ten values are 10²⁰ sequences, but few products above θ."""
    values = [0.99, 0.97, 0.93, 0.9, 0.8, 0.7, 0.5, 0.3, 0.1, 0.02]
    found = stopped_draft(values, [1.0] * 10, theta=0.3, kmax=20)
    assert found.joint.sum() == pytest.approx(1.0)
    assert found.mean_drafted > found.mean_accepted
    with pytest.raises(ParameterError, match="values has 10 entries, whose products in 60 drafts are too many"):
        stopped_draft(values, [1.0] * 10, theta=1e-20, kmax=60)


@pytest.mark.parametrize(("theta", "kmin"), [(0.0, 0), (0.3, 1), (0.3, 7), (1e-9, 1), (0.61**12, 3), (1.0, 5)])
def test_products_that_cannot_matter_are_not_followed(theta, kmin):
    """Those sure to stay above θ, or already below it, are one state: the law is that of all products."""
    values, weights, kmax = [0.95, 0.8, 0.61], [0.5, 0.3, 0.2], 12
    found = stopped_draft(values, weights, theta, kmin=kmin, kmax=kmax)
    drafted, open_ = np.zeros(kmax + 1), {(0, 0, 0): 1.0}  # by how often each value was drawn
    for draft in range(1, kmax + 1):
        grown = dict[tuple[int, ...], float]()
        for counts, chance in open_.items():
            for i, weight in enumerate(weights):
                own = tuple(n + (i == j) for j, n in enumerate(counts))
                grown[own] = grown.get(own, 0.0) + chance * weight
        ends = {
            own: draft == kmax
            or (draft >= kmin and math.prod(v**n for v, n in zip(values, own, strict=True)) < theta * (1 - 1e-9))
            for own in grown
        }
        drafted[draft] = sum(chance for own, chance in grown.items() if ends[own])
        open_ = {own: chance for own, chance in grown.items() if not ends[own]}
    assert found.pmf_drafted == pytest.approx(drafted, abs=1e-12)


def test_a_long_draft_is_answered_or_refused_in_seconds():
    values, weights = [0.95, 0.8, 0.61], [0.5, 0.3, 0.2]
    assert stopped_draft(values, weights, 0.0, kmax=1000).mean_drafted == 1000.0
    assert stopped_draft(values, weights, 0.3, kmax=1000).mean_drafted < 20.0
    with pytest.raises(ParameterError, match="values has 30 entries, whose products in 1000 drafts are too many"):
        stopped_draft(np.linspace(0.5, 0.999, 30), [1.0] * 30, 1e-30, kmax=1000)


def test_weights_may_be_as_large_as_a_float_can_be(recwarn):
    assert stopped_draft([0.9, 0.3], [1e308, 1e308], 0.5, kmax=3).mean_accepted == pytest.approx(
        stopped_draft([0.9, 0.3], [1, 1], 0.5, kmax=3).mean_accepted
    )
    assert not recwarn.list
    with pytest.raises(ParameterError, match="weights are no probabilities"):
        stopped_draft([0.9, 0.3], [math.inf, 1], 0.5)


def best_plan(values, law, rate, cost, kmax):
    """Largest E[tokens − rate·cost] over every way to stop that knows all confidences so far, by backward induction."""

    def ahead(survival: float, drafts: int) -> float:
        if drafts == kmax:
            return 0.0
        more = sum(w * (survival * v + ahead(survival * v, drafts + 1)) for v, w in zip(values, law, strict=True))
        lost = sum(w * survival * (1 - v) for v, w in zip(values, law, strict=True))
        gain = more - rate * (cost.c_d + cost.c_v + cost.c_r * lost)
        return gain if drafts == 0 else max(0.0, gain)  # one draft is always made

    return 1.0 - rate * cost.c0 + ahead(1.0, 0)


@pytest.mark.parametrize(
    "cost", [Cost(c_d=0.1), Cost(c_d=0.05, c_v=0.03, c_r=0.2), Cost(c_d=0.3, c_r=1.0), Cost(c_d=0)]
)
@pytest.mark.parametrize(("values", "law"), [([0.9, 0.3], [0.75, 0.25]), ([0.97, 0.6, 0.1], [0.6, 0.3, 0.1])])
def test_no_plan_beats_the_best_threshold(cost, values, law):
    """At λ = S the best plan gains nothing over λ·cost: Dinkelbach's test of an optimum."""
    theta, found = best_threshold(values, law, cost, kmax=6)
    speed = found.speedup(cost)
    assert best_plan(values, law, speed, cost, 6) == pytest.approx(0.0, abs=1e-10)
    for other in np.linspace(0.0, 1.0, 41):
        for rule in ("survival", "confidence"):
            assert stopped_draft(values, law, other, rule, kmax=6).speedup(cost) <= speed + 1e-12
    assert stopped_draft(values, law, theta, kmax=6).speedup(cost) <= speed + 1e-12


def test_the_threshold_is_the_price_over_the_mean_confidence():
    """θ = S·c without the mean is another rule: it drafts on where the next draft no longer pays."""
    values, law, cost = [0.9, 0.5], [0.5, 0.5], Cost(c_d=0.15)
    theta, found = best_threshold(values, law, cost)
    speed = found.speedup(cost)
    assert theta == pytest.approx(speed * 0.15 / 0.7)
    assert stopped_draft(values, law, speed * 0.15).speedup(cost) < speed - 1e-3


@settings(max_examples=25, deadline=None)
@given(st.floats(0.1, 0.98), st.floats(0.02, 0.3))
def test_fixed_length_and_foresight_bound_the_threshold(alpha, beta):
    """Spread confidences of the same mean: a rule that sees them lies between the best κ and perfect foresight."""
    spread = min(alpha, 1 - alpha)
    cost = Cost(c_d=beta)
    _, found = best_threshold([alpha - spread, alpha + spread], [1, 1], cost, kmax=12)
    fixed = optimum(Iid(alpha=alpha), cost, 12).speedup_by_kappa[1:].max()
    assert fixed - 1e-12 <= found.speedup(cost) <= foresight_bound(alpha, beta) + 1e-12


def test_what_cannot_be_asked():
    good = {"values": [0.9, 0.3], "weights": [0.5, 0.5], "theta": 0.5}
    for change, named in (
        ({"values": [1.2, 0.3]}, "values[0]"),
        ({"weights": [0.5]}, "weights"),
        ({"weights": [0, 0]}, "weights"),
        ({"theta": 1.5}, "theta"),
        ({"rule": "product"}, "rule"),
        ({"kmin": 5, "kmax": 4}, "kmin"),
        ({"kmax": 1001}, "kmax"),
        ({"acceptance": [0.5]}, "acceptance"),
        ({"transition": [[0.5, 0.5]]}, "transition"),
        ({"transition": [[0.5, 0.5], [0.5, 0.4]]}, "transition[1]"),
    ):
        with pytest.raises(ParameterError) as caught:
            stopped_draft(**{**good, **change})
        assert caught.value.key == named
    with pytest.raises(ParameterError, match="tables"):
        best_threshold([0.9], [1.0], Cost(draft_table=[0, 0.1]))
