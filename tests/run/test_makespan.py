"""Static batches: against the exact law of the rounds, listed histories, the twin, and edges where nobody waits."""

import numpy as np
import pytest

from simspec import theory
from simspec.model import BetaMixture, Cost, DiscreteMixture, Drift, Iid, ParameterError
from simspec.model.policies import Fixed, Heuristic, Rolling
from simspec.run import engine, makespan
from simspec.run.makespan import makespan as found_of

COST = Cost(c_d=0.1)
BATCHES = (1, 2, 4, 16, 64)
ALARM = 1e-8
"""False alarm of one comparison (normal, 5.7 standard errors); there are fewer than 100."""


def flat(alpha, tokens, **keys):
    return Drift(alpha_start=alpha, alpha_end=alpha, tokens=tokens, **keys)


MIX = DiscreteMixture(alphas=(0.91, 0.49), weights=(0.5, 0.5), weights_of="requests", request_tokens=60)
CASES = {
    "flat": (flat(0.7, 40), 4),
    "drift, uncut": (Drift(alpha_start=0.9, alpha_end=0.3, tokens=33, truncate=False), 5),
    "code and prose": (MIX, 6),
    "by tokens, uncut": (MIX.model_copy(update={"weights_of": "tokens", "truncate": False}), 2),
}


def misses(found, exact):
    """How many batch sizes lie outside the interval of `ALARM`."""
    return int((np.abs(found.factor - exact) > found.half + 1e-12).sum())


@pytest.mark.parametrize("name", CASES)
def test_the_slowest_of_a_batch_is_exact(name):
    process, kappa = CASES[name]
    found = found_of(process, COST, kappa=kappa, batches=BATCHES, chunks=100, level=1 - ALARM)
    assert misses(found, found.exact) == 0
    assert found.half[1:].max() < 0.09
    assert misses(found, theory.static_batch(process, kappa // 2, BATCHES).factor) > 0


def test_a_batch_by_hand():
    """Two tokens at κ = 1 and α = ½ are one round or two: of B requests one takes two but for 2^−B."""
    found = theory.static_batch(flat(0.5, 2, truncate=False), 1, BATCHES)
    assert found.mean_rounds == 1.5
    np.testing.assert_allclose(found.slowest, [2 - 0.5**b for b in BATCHES], rtol=1e-14)


def test_many_requests_wait_for_the_longest_that_can_be():
    """One token a round is the slowest: N rounds; met for certain as B grows."""
    found = theory.static_batch(flat(0.5, 8), 4, [65536])
    assert found.slowest[0] == pytest.approx(8, abs=1e-12)


@pytest.mark.parametrize(
    ("process", "kappa"), [(flat(0.0, 30), 4), (flat(1.0, 30), 4), (flat(0.6, 30), 0), (flat(0.6, 1), 4)], ids=str
)
def test_where_all_are_alike_nobody_waits(process, kappa):
    found = found_of(process, COST, kappa=kappa, batches=BATCHES, chunks=2)
    assert found.factor.tolist() == [1.0] * len(BATCHES)
    np.testing.assert_allclose(found.exact, 1.0, rtol=1e-14)
    assert not found.half.any()


def test_a_controller_against_all_histories():
    """+2/−1 over twelve tokens: the law of its rounds by `enumerate_policy`."""

    def rule(rounds):
        kappa = 3
        for drafted, accepted in rounds:
            kappa = min(7, kappa + 2) if accepted == drafted else max(1, kappa - 1)
        return kappa

    short = Drift(alpha_start=0.9, alpha_end=0.4, tokens=12)
    law = theory.enumerate_policy(short, rule, COST)
    below = np.cumsum(law.pmf_rounds)
    exact = [(1 - below**batch).sum() / law.mean_rounds for batch in BATCHES]
    own = {"batches": BATCHES, "chunks": 100, "level": 1 - ALARM}
    found = found_of(short, COST, Heuristic(first=3, highest=7), **own)
    assert misses(found, exact) == 0
    assert np.isnan(found.exact).all()
    assert misses(found_of(short, COST, Heuristic(first=3, highest=7, up=1), **own), exact) > 0


def test_the_twin_waits_as_long(monkeypatch):
    own = {"batches": (4,), "chunks": 1}
    cases = [(MIX, Rolling()), (flat(0.7, 30), None), (BetaMixture(alpha=0.7, rho=0.2, request_tokens=30), Heuristic())]
    fast = [found_of(process, COST, policy, **own).factor for process, policy in cases]
    monkeypatch.setattr(engine, "DISABLED", True)
    monkeypatch.setattr(makespan, "players", engine.players.__wrapped__)
    assert [found_of(process, COST, policy, **own).factor for process, policy in cases] == fast


def test_what_is_shown():
    text = repr(found_of(flat(0.7, 40), COST, kappa=3, batches=(1, 8), chunks=4))
    assert text.startswith("κ = 3: rounds of the slowest request")
    assert "places idle" in text
    assert "–" in repr(found_of(flat(0.7, 40), COST, Heuristic(), batches=(2,), chunks=4))
    assert isinstance(found_of(flat(0.7, 4), COST, batches=(2,), chunks=4).policy, Fixed)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"process": Iid(alpha=0.5)}, "requests of fixed length"),
        ({"process": MIX.model_copy(update={"request_law": "geometric"})}, "requests of fixed length"),
        ({"batches": (3,)}, "batches has 3"),
        ({"batches": (2.0,)}, "batches has 2.0"),
        ({"batches": (0,)}, "batches has 0"),
        ({"batches": ()}, "batches"),
        ({"chunks": 0}, "chunks = 0"),
        ({"kappa": -1}, "kappa = -1"),
        ({"kappa": 257}, "kappa = 257"),
    ],
)
def test_what_is_refused(keys, told):
    with pytest.raises(ParameterError, match=told):
        found_of(**{"process": flat(0.7, 20), "cost": COST} | keys)


def test_what_the_exact_route_refuses():
    for keys, told in (
        ({"process": Iid(alpha=0.5)}, "no requests of fixed length"),
        ({"batches": (0,)}, "batch = 0"),
        ({"kappa": -1}, "kappa = -1"),
    ):
        with pytest.raises(ParameterError, match=told):
            theory.static_batch(**{"process": flat(0.7, 20), "kappa": 4, "batches": (2,)} | keys)
