"""Do trees that grow by confidence and drafts that stop go as a listing says, and between which bounds?"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest
from test_schemes import assert_law, counts_of

from simspec import theory
from simspec.kernels import play, twin
from simspec.kernels.lower_schemes import scheme_form
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Cost, Hmm, Iid, ParameterError
from simspec.model.draft_laws import draft_law
from simspec.model.schemes import DynamicTree, Schemes, Stop
from simspec.theory.confidence_vectors import best_static_tree, calibration_error
from simspec.theory.dynamic_trees import grown_tree
from simspec.theory.scheme_arguments import dynamic_arguments, stop_arguments
from simspec.theory.stop_worth import stop_bounds

SURE, TORN, LOST = [0.9, 0.05, 0.02], [0.5, 0.4, 0.05], [0.2, 0.15, 0.1]
VECTORS = [SURE, TORN, LOST]
SIGMAS = 5.5
"""Two-sided 4e-8 each."""


def first_rate(scheme):
    """How often the first child is right: what the process must say."""
    row = [0.0, 0.0]
    weights = scheme.weights or [1.0] * len(scheme.vectors)
    own = scheme.acceptance or scheme.vectors
    for weight, told, right in zip(weights, scheme.vectors, own, strict=True):
        row = [row[0] + weight * right[told.index(max(told))], row[1] + weight]
    return row[0] / row[1]


def pair(keys, rate=None):
    scheme = DynamicTree(**keys)
    return scheme, Iid(alpha=first_rate(scheme) if rate is None else rate)


TREES = [
    (*pair({"vectors": VECTORS, "weights": [5, 3, 2], "breadth": 2, "depth": 3}), 4),
    (*pair({"vectors": VECTORS, "breadth": 3, "depth": 3}), 7),
    (*pair({"vectors": [SURE, LOST], "weights": [1, 3], "breadth": 2, "depth": 4}), 6),
    (*pair({"vectors": [[0.2, 0.7], [0.3]], "breadth": 2, "depth": 3}), 3),  # unordered, of unequal length
    (*pair({"vectors": [[1.0, 0.0], [0.0, 0.0]], "breadth": 2, "depth": 3}), 4),  # sure of one, or of none
    (*pair({"vectors": [TORN], "breadth": 3, "depth": 3}), 9),
    (*pair({"vectors": [SURE, TORN], "breadth": 1, "depth": 4}), 1),  # one node
]
MISLED = [
    (*pair({"vectors": VECTORS, "acceptance": [[0.7, 0.1, 0.1], TORN, [0.3, 0.3, 0.3]], "breadth": 2, "depth": 3}), 4),
    (*pair({"vectors": [SURE, TORN], "acceptance": [TORN, SURE], "breadth": 2, "depth": 3}), 5),  # the wrong way round
    (*pair({"vectors": [SURE, LOST], "temperature": 2.0, "breadth": 2, "depth": 3}, 0.4372), 4),
    (*pair({"vectors": [SURE, LOST], "temperature": 0.5, "breadth": 2, "depth": 3}, 0.551), 4),
    (*pair({"vectors": [SURE], "acceptance": [[0.0, 0.0, 0.0]], "breadth": 2, "depth": 2}), 3),
]


def of(scheme, process, kappa):
    return theory.dynamic_tree(**dynamic_arguments(scheme, process, kappa))


def means(scheme, process, kappa, values, chunks=2, rounds=1000):
    """Mean over lanes of what each kind is worth, with its standard error."""
    own = scheme_form(scheme.rounds(draft_law(process, kappa), kappa))
    keys = stream_keys(21, f"{scheme} {process}")
    lanes = np.concatenate([play.scheme_counts(own, keys, c, LANES, rounds) for c in range(chunks)])
    each = lanes @ np.array([[value(kind) for value in values] for kind in own.kinds], float) / rounds
    return each.mean(axis=0), each.std(axis=0, ddof=1) / math.sqrt(len(each)), each


def assert_near(found, error, exact):
    assert abs(found - exact) <= SIGMAS * error + 1e-9, (found, exact, error)


@pytest.mark.parametrize(("scheme", "process", "kappa"), [*TREES, *MISLED], ids=str)
def test_trees_of_vectors_follow_a_listing(scheme, process, kappa):
    """Chi-square by nodes and accepted length, 400,000 rounds, 1e-6; and the twin, bit for bit."""
    law = of(scheme, process, kappa)
    kinds, counts = counts_of(scheme, process, kappa, chunks=3)
    joint = {(a, n, False): float(p) for (n, a), p in np.ndenumerate(law.joint) if p > 1e-15}
    assert_law([replace(kind, rejected=False) for kind in kinds], counts, joint)
    own = scheme_form(scheme.rounds(draft_law(process, kappa), kappa))
    fast, slow = (player.scheme_counts(own, stream_keys(2, "vectors"), 1, 5, 40) for player in (play, twin))
    assert fast.tolist() == slow.tolist()
    (cost_found, *_), (cost_error, *_), _ = means(scheme, process, kappa, [lambda kind: kind.price(PRICE)])
    assert_near(cost_found, cost_error, law.mean_cost(PRICE))


PRICE = Cost(c_d=0.05, c_v=0.01, c_r=0.2)


def test_a_wrong_vector_would_be_seen():
    scheme, process, kappa = TREES[0]
    kinds, counts = counts_of(scheme, process, kappa)
    wrong = DynamicTree(**scheme.parameters() | {"weights": [5.1, 3, 2]})
    off = of(wrong, Iid(alpha=first_rate(wrong)), kappa)
    joint = {(a, n, False): float(p) for (n, a), p in np.ndenumerate(off.joint) if p > 1e-15}
    with pytest.raises(AssertionError):
        assert_law([replace(kind, rejected=False) for kind in kinds], counts, joint)


@pytest.mark.parametrize(("scheme", "process", "kappa"), TREES, ids=str)
def test_a_calibrated_tree_keeps_what_it_expects_and_more_than_any_fixed_one(scheme, process, kappa):
    """E[A | tree] = ΣV; the best static tree of the same law by the Sequoia program, and by trying all shapes."""
    law, asked = of(scheme, process, kappa), dynamic_arguments(scheme, process, kappa)
    assert law.mean_accepted == pytest.approx(law.mean_confidence, abs=1e-12)
    static = best_static_tree(**asked)
    assert static.mean_accepted <= law.mean_accepted + 1e-12
    assert static.mean_accepted == pytest.approx(static_by_hand(**asked), abs=1e-12)
    assert calibration_error(asked["confidences"], asked["weights"], asked["acceptance"]) == pytest.approx(0.0)


def static_by_hand(confidences, weights, breadth, depth, nodes, acceptance):
    """The largest path products of the mean chances by rank."""
    law = [weight / sum(weights) for weight in weights]
    rows = [
        [a for c, a in zip(told, right, strict=True) if c > 0]
        for told, right in zip(confidences, acceptance, strict=True)
    ]
    ranks = [sum(w * row[r] for w, row in zip(law, rows, strict=True) if r < len(row)) for r in range(breadth)]
    paths = [math.prod(path) for d in range(1, depth + 1) for path in itertools.product(ranks, repeat=d)]
    return sum(sorted(paths, reverse=True)[:nodes])


def test_a_narrow_beam_may_lose_to_a_fixed_tree():
    """Two nodes of a layer are expanded, a fixed tree of 14 nodes has four: confidences are then worth less."""
    flat = [[0.5, 0.45], [0.45, 0.4]]
    dynamic = theory.dynamic_tree(flat, [1, 1], breadth=2, depth=3, nodes=14)
    assert dynamic.mean_nodes == 10
    static = best_static_tree(flat, [1, 1], 2, 3, 14).mean_accepted
    assert static == pytest.approx(sum((0.475 + 0.425) ** d for d in (1, 2, 3)))
    assert dynamic.mean_accepted < static - 0.2


@pytest.mark.parametrize(("scheme", "process", "kappa"), MISLED[:4], ids=str)
def test_a_misled_tree_keeps_less_than_one_that_knows(scheme, process, kappa):
    """And says by how much it is off: by hand for the pair that has its vectors the wrong way round."""
    law, asked = of(scheme, process, kappa), dynamic_arguments(scheme, process, kappa)
    knowing = theory.dynamic_tree(*sorted_rows(asked["acceptance"], asked["weights"]), *size(asked))
    assert law.mean_accepted <= knowing.mean_accepted + 1e-12
    assert abs(law.mean_confidence - law.mean_accepted) > 0.01
    told = calibration_error(asked["confidences"], asked["weights"], asked["acceptance"])
    assert told == pytest.approx(scheme.calibration_error(), abs=1e-12)
    assert f"calibration error {told:.3g}" in scheme.notes[-1]


def sorted_rows(rows, weights):
    return [sorted(row, reverse=True) for row in rows], weights


def size(asked):
    return asked["breadth"], asked["depth"], asked["nodes"]


def test_calibration_error_by_hand():
    assert MISLED[1][0].calibration_error() == pytest.approx((0.4 + 0.35 + 0.4 + 0.35) / 4)
    assert MISLED[2][0].calibration_error() > 0.05
    same = DynamicTree(vectors=[[0.5, 0.2], [0.5, 0.1]], acceptance=[[0.6, 0.2], [0.4, 0.1]], breadth=2, depth=2)
    assert same.calibration_error() == pytest.approx(0.0)  # at confidence .5 half are right


PUBLISHED = {"breadth": 10, "depth": 6}
LONG = [
    [0.95, 0.02, 0.01, 0.005, 0.003, 0.002, 0.001, 0.001, 0.001, 0.001],
    [0.6, 0.15, 0.07, 0.04, 0.03, 0.02, 0.02, 0.01, 0.01, 0.01],
    [0.25, 0.15, 0.1, 0.07, 0.05, 0.04, 0.03, 0.03, 0.02, 0.02],
]


def test_the_published_size_with_one_vector_is_a_static_tree():
    """EAGLE-2: 10 wide, 6 deep, 60 nodes; one vector leaves one tree, whose law is exact."""
    scheme, process = pair({"vectors": LONG[1:2], **PUBLISHED})
    law = of(scheme, process, 60)
    assert law.mean_nodes == 60
    kinds, counts = counts_of(scheme, process, 60, chunks=1)
    joint = {(a, n, False): float(p) for (n, a), p in np.ndenumerate(law.joint) if p > 0.0}
    assert_law([replace(kind, rejected=False) for kind in kinds], counts, joint)


def test_the_published_size_keeps_the_sum_of_its_products():
    """3⁵¹ trees cannot be listed: 800 are grown by the exact route's own code, with other random numbers."""
    scheme, process = pair({"vectors": LONG, **PUBLISHED})
    (kept, *_), (error, *_), _ = means(scheme, process, 60, [lambda kind: kind.accepted], chunks=1, rounds=1000)
    draw, rows = random.Random(7), [np.array(row) for row in LONG]
    sums = [grown_tree(rows, rows, iter(lambda: draw.randrange(3), -1), 10, 6, 60)[1] for _ in range(800)]
    spread = math.hypot(error, np.std(sums, ddof=1) / math.sqrt(len(sums)))
    assert_near(kept, spread, float(np.mean(sums)))
    assert spread < 0.05
    static = best_static_tree(LONG, [1, 1, 1], 10, 6, 60).mean_accepted
    assert kept - SIGMAS * error > static  # what looking at confidences is worth, at full size


def test_what_cannot_be_asked_of_vectors():
    good = {"vectors": VECTORS, "breadth": 2, "depth": 2}
    for change, named in (
        ({"vectors": []}, "vectors"),
        ({"vectors": [[]]}, "vectors"),
        ({"vectors": [[0.6, 0.5]]}, "vectors[0]"),
        ({"vectors": [[1.2]]}, "vectors"),
        ({"weights": [1, 1]}, "weights"),
        ({"weights": [0, 0, 0]}, "weights"),
        ({"acceptance": [[0.1]]}, "acceptance"),
        ({"acceptance": [[0.5, 0.4, 0.2], TORN, LOST]}, "acceptance[0]"),
        ({"temperature": 0}, "temperature"),
        ({"temperature": 2, "acceptance": VECTORS}, "temperature"),
        ({"misses": [0.4]}, "misses"),
        ({"confidences": [0.4]}, "confidences"),
        ({"vectors": None, "misses": [0.4], "weights": [1]}, "weights"),
    ):
        with pytest.raises(ParameterError) as caught:
            Schemes.make(type="dynamic_tree", **good | change)
        assert caught.value.key == named, (change, caught.value)
    scheme, _, _ = TREES[0]
    for asked in (lambda: scheme.rounds(draft_law(Iid(alpha=0.9), 4), 4), lambda: of(scheme, Iid(alpha=0.9), 4)):
        with pytest.raises(ParameterError, match="allowed: the same"):
            asked()


# drafts that stop: the best fixed length, the best thresholds, perfect foresight

STOPS = [
    ([0.9, 0.3], [0.75, 0.25], Cost(c_d=0.1)),
    ([0.97, 0.6, 0.1], [0.6, 0.3, 0.1], Cost(c_d=0.05, c_v=0.01)),
    ([0.95, 0.5], [0.5, 0.5], Cost(c_d=0.15)),
    ([0.9, 0.8], [0.5, 0.5], Cost(c_d=0.05, c_r=0.3)),
    ([0.7], [1.0], Cost(c_d=0.1)),  # nothing to see: the rule is a fixed length
    ([1.0, 0.0], [0.7, 0.3], Cost(c_d=0.1)),  # it sees everything but the next draft
    ([0.0], [1.0], Cost(c_d=0.1)),
    ([1.0], [1.0], Cost(c_d=0.1)),
]
KMAX = 8


@pytest.mark.parametrize(("values", "weights", "cost"), STOPS)
def test_a_threshold_lies_between_the_best_length_and_foresight(values, weights, cost):
    """Exact, and each of them simulated within 5.5 standard errors; foresight is priced from whole chains."""
    own = stop_bounds(values, weights, cost, KMAX)
    assert own.fixed <= own.threshold + 1e-12
    assert own.confidence <= own.threshold + 1e-12
    assert own.threshold <= own.foresight + 1e-12
    mean = float(np.dot(values, weights))
    assert own.foresight <= theory.foresight_bound(mean, cost.c_d + cost.c_v) + 1e-9
    process = Hmm(P=(tuple(weights),) * len(values), alphas=tuple(values))
    for scheme, kappa, exact in (
        (Stop(theta=0.0), own.kappa, own.fixed),
        (Stop(theta=own.theta), own.most, own.threshold),
        (Stop(theta=own.confidence_theta, rule="confidence"), own.confidence_most, own.confidence),
    ):
        assert_ratio(scheme, process, kappa, lambda kind: kind.price(cost), exact)
    assert_ratio(Stop(theta=0.0), process, KMAX, lambda kind: cost.base(kind.accepted), own.foresight)


def assert_ratio(scheme, process, kappa, price, exact):
    """E[tokens]/E[price] by the delta method: the mean of tokens − exact·price is 0."""
    _, _, lanes = means(scheme, process, kappa, [lambda kind: kind.tokens, price], chunks=4)
    gap = lanes @ [1.0, -exact]
    assert_near(gap.mean(), gap.std(ddof=1) / math.sqrt(gap.size), 0.0)


@pytest.mark.parametrize(
    ("told", "right", "weights"),
    [
        ([0.9, 0.4], [0.7, 0.6], [0.5, 0.5]),  # over-confident above, too shy below
        ([0.9, 0.5], [0.5, 0.9], [0.6, 0.4]),  # the wrong way round
        ([0.99, 0.9, 0.6], [0.8, 0.8, 0.3], [0.3, 0.4, 0.3]),
        ([0.9], [0.0], [1.0]),
        ([0.2, 0.1], [1.0, 1.0], [0.5, 0.5]),
    ],
)
def test_rules_that_are_misled_are_played_as_they_are_priced(told, right, weights):
    cost = Cost(c_d=0.08, c_r=0.1)
    own = stop_bounds(told, weights, cost, 6, acceptance=right)
    knowing = stop_bounds(right, weights, cost, 6)
    assert own.fixed == pytest.approx(knowing.fixed)
    assert own.threshold <= knowing.threshold + 1e-12 <= own.foresight + 2e-12
    process = Hmm(P=(tuple(weights),) * len(told), alphas=tuple(right))
    misled = {"confidences": tuple(told)}
    for scheme, most, exact in (
        (Stop(theta=own.theta, **misled), own.most, own.threshold),
        (Stop(theta=own.confidence_theta, rule="confidence", **misled), own.confidence_most, own.confidence),
    ):
        assert_ratio(scheme, process, most, lambda kind: kind.price(cost), exact)
    apart = sum(w * abs(a - c) for w, a, c in zip(weights, right, told, strict=True))
    rows = [[c] for c in told], weights, [[a] for a in right]
    assert calibration_error(*rows) == pytest.approx(apart)


REDRAWN = Hmm(P=((0.6, 0.3, 0.1),) * 3, alphas=(0.95, 0.6, 0.2))
STICKY = Hmm(P=((0.9, 0.1), (0.2, 0.8)), alphas=(0.95, 0.4))
THROWN = [
    (Stop(theta=0.75, rule="confidence", submits=False), REDRAWN, 8),  # newer llama.cpp
    (Stop(theta=0.4, submits=False), REDRAWN, 6),
    (Stop(theta=0.5, rule="confidence", kmin=3, submits=False), STICKY, 6),
    (Stop(theta=0.5, rule="confidence", submits=False, confidences=(0.4, 0.6, 0.9)), REDRAWN, 5),  # misled
    (Stop(theta=0.8, submits=False), Iid(alpha=0.7), 4),  # nothing is ever submitted
    (Stop(theta=0.3, submits=False), Iid(alpha=1.0), 3),
    (Stop(theta=1.0, rule="confidence", submits=False), Iid(alpha=0.0), 1),
    (Stop(theta=0.5, submits=False), STICKY, 0),
]


@pytest.mark.parametrize(("scheme", "process", "kappa"), THROWN, ids=str)
def test_a_draft_that_fails_may_be_thrown_away(scheme, process, kappa):
    """By listing all confidences: drafts verified, accepted ones, steps paid; then what is played, and the twin."""
    exact = theory.stopped_draft(**stop_arguments(scheme, process, kappa))
    joint, steps = thrown_away(scheme, process, kappa)
    np.testing.assert_allclose(exact.joint, joint, atol=1e-13)
    np.testing.assert_allclose(exact.pmf_steps, steps, atol=1e-13)
    price = exact.mean_cost(PRICE)
    by_hand = 1 + joint.sum(axis=1) @ np.arange(kappa + 1) * 0.01 + steps @ np.arange(kappa + 1) * 0.05
    assert price == pytest.approx(by_hand + 0.2 * (1 - np.trace(joint)))
    law = {(a, d, a < d): float(joint[d, a]) for d in range(kappa + 1) for a in range(d + 1) if joint[d, a] > 1e-15}
    assert_law(*counts_of(scheme, process, kappa, chunks=2), law)
    (found, *_), (error, *_), _ = means(scheme, process, kappa, [lambda kind: kind.price(PRICE)])
    assert_near(found, error, price)
    own = scheme_form(scheme.rounds(draft_law(process, kappa), kappa))
    fast, slow = (player.scheme_counts(own, stream_keys(2, "thrown"), 1, 5, 40) for player in (play, twin))
    assert fast.tolist() == slow.tolist()


def thrown_away(scheme, process, kappa):
    rates = process.alphas if isinstance(process, Hmm) else (process.alpha,)
    told = scheme.confidences or rates
    rows = process.P if isinstance(process, Hmm) else ((1.0,),)
    start = np.linalg.matrix_power(np.array(rows), 4096)[0]
    joint, steps = np.zeros((kappa + 1, kappa + 1)), np.zeros(kappa + 1)
    for run in itertools.product(range(len(rates)), repeat=kappa):
        moves = itertools.pairwise(run)
        chance = math.prod((start[run[0]] if run else 1.0, *(rows[a][b] for a, b in moves)))
        made, kept, product = 0, 0, 1.0
        for state in run:
            made, product = made + 1, product * told[state]
            if made >= scheme.kmin and (product if scheme.rule == "survival" else told[state]) < scheme.theta:
                break
            kept += 1
        steps[made] += chance
        for j in range(kept + 1):
            ends = 1.0 - rates[run[j]] if j < kept else 1.0
            joint[kept, j] += chance * math.prod(rates[state] for state in run[:j]) * ends
    return joint, steps


def test_what_is_submitted_is_part_of_the_identity_only_where_it_is_not():
    assert "submits" not in str(Stop(theta=0.5))
    assert "submits = False" in str(Stop(theta=0.5, submits=False))


def test_foresight_without_a_limit_is_the_closed_form():
    for alpha, beta in ((0.5, 0.1), (0.75, 0.05), (0.3, 0.2), (0.0, 0.1), (0.6, 0.0)):
        found = stop_bounds([alpha], [1.0], Cost(c_d=beta), 64).foresight
        assert found == pytest.approx(theory.foresight_bound(alpha, beta), abs=1e-6)
    assert stop_bounds([0.9], [1.0], Cost(c_d=1.5)).foresight == 1.0  # it knows that it should not draft


def plans(values, weights, kmax):
    """Every way to stop that knows the confidences so far: mean accepted and drafted of each, and P(rejected)."""

    def after(survival, drafts):
        """Sums over what follows: accepted, drafted, P(all accepted)."""
        stop = [(0.0, 0.0, survival)] if drafts else []
        if drafts == kmax:
            return stop
        ways = itertools.product(*(after(survival * v, drafts + 1) for v in values))
        return stop + [
            (
                sum(w * (survival * v + own[0]) for w, v, own in zip(weights, values, way, strict=True)),
                1.0 + sum(w * own[1] for w, own in zip(weights, way, strict=True)),
                sum(w * own[2] for w, own in zip(weights, way, strict=True)),
            )
            for way in ways
        ]

    return [(accepted, drafted, 1.0 - full) for accepted, drafted, full in after(1.0, 0)]


@pytest.mark.parametrize(
    ("values", "weights", "cost"),
    [
        ([0.9, 0.5], [0.5, 0.5], Cost(c_d=0.15)),
        ([0.95, 0.4], [0.5, 0.5], Cost(c_d=0.2)),
        ([0.9, 0.3], [0.75, 0.25], Cost(c_d=0.1, c_v=0.02, c_r=0.1)),
        ([1.0, 0.0], [0.6, 0.4], Cost(c_d=0.1)),
        ([0.8, 0.8], [0.5, 0.5], Cost(c_d=0.3)),
        ([0.99, 0.6], [0.3, 0.7], Cost(c_d=0.25, c_r=0.5)),
    ],
)
def test_no_plan_of_all_is_better_than_the_threshold(values, weights, cost):
    """All 676 plans of four drafts: the best one is the threshold S·c over the mean confidence."""
    for kmax in (3, 4):
        best = max((1 + a) / (1 + d * (cost.c_d + cost.c_v) + r * cost.c_r) for a, d, r in plans(values, weights, kmax))
        found = stop_bounds(values, weights, cost, kmax)
        assert found.threshold == pytest.approx(best, abs=1e-12)


def test_the_product_of_speed_and_price_alone_is_no_best_threshold():
    """θ = S·c drafts where the next draft no longer pays: 3.4% below the best of all 676 plans."""
    values, weights, cost = [0.95, 0.4], [0.5, 0.5], Cost(c_d=0.2)
    every = [(1 + a) / (1 + d * 0.2) for a, d, _ in plans(values, weights, 4)]
    assert len(every) == 676
    bare = theory.stopped_draft(values, weights, max(every) * 0.2, kmax=4).speedup(cost)
    over_mean = theory.stopped_draft(values, weights, max(every) * 0.2 / 0.675, kmax=4).speedup(cost)
    assert max(every) == pytest.approx(1.614737, abs=1e-6)
    assert over_mean == pytest.approx(max(every), abs=1e-12)
    assert bare == pytest.approx(1.560540, abs=1e-6)


def test_thresholds_of_a_draft_that_is_misled_are_tried_one_by_one():
    """Over-confident, and confidences that follow each other: the best of all thresholds, here by a fine grid."""
    cost, grid = Cost(c_d=0.1), np.linspace(0.0, 1.0, 51)
    for more in ({"acceptance": [0.7, 0.4]}, {"transition": [[0.8, 0.2], [0.3, 0.7]]}):
        own = stop_bounds([0.9, 0.5], [0.6, 0.4], cost, 6, **more)
        for rule, found in (("survival", own.threshold), ("confidence", own.confidence)):
            tried = [
                theory.stopped_draft([0.9, 0.5], [0.6, 0.4], theta, rule, kmax=most, **more).speedup(cost)
                for theta in grid
                for most in range(1, 7)
            ]
            assert found == pytest.approx(max(tried), abs=1e-12)
        assert max(own.fixed, own.confidence) <= own.foresight
        assert own.fixed <= min(own.threshold, own.confidence) + 1e-12
    tables = Cost(draft_table=[0.1 * d for d in range(7)], verify_table=[1.0] * 4 + [1.3] * 3)
    own = stop_bounds([0.9, 0.5], [0.6, 0.4], tables, 6)
    assert own.fixed <= own.threshold + 1e-12 <= own.foresight + 2e-12
    with pytest.raises(ParameterError) as caught:
        stop_bounds([0.99, 0.9, 0.8, 0.7, 0.6], [1] * 5, cost, 20, acceptance=[0.5] * 5)
    assert caught.value.key == "kmax"
    with pytest.raises(ParameterError, match="beyond the cost tables"):
        stop_bounds([0.9], [1], tables, 20)
