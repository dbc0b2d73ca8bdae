"""Simulated accepted lengths against the exact law: 10⁷ windows, all processes, usual κ and every edge.

Each case has a false-alarm probability of 1e-6 (see laws.py); the planted errors at the end must be seen.
"""

import math

import numpy as np
import pytest
from laws import assert_same_law, distance

from simspec.kernels import play
from simspec.kernels.forms import FreshRow
from simspec.kernels.tally import SUMS
from simspec.kernels.words import stream_keys
from simspec.model import (
    BetaMixture,
    DiscreteMixture,
    Drift,
    GaussianCopulaAr1,
    Hmm,
    Iid,
    Markov,
    Position,
    Simulation,
    Survival,
    TokenChain,
)
from simspec.run.dispatch import run_jobs
from simspec.run.engine import Job

WINDOWS = 10**7
KAPPAS = (0, 1, 4, 8, 16)
CURVE = (0.7617, 0.6158, 0.5125, 0.4243, 0.3640, 0.3094, 0.2722, 0.2365)


def lowest(alpha):
    return -min(alpha / (1 - alpha), (1 - alpha) / alpha)


STICKY = ((0.9, 0.1), (0.2, 0.8))
ENDS = {"request_tokens": 60, "request_law": "geometric"}
FEW = {"request_tokens": 3, "request_law": "geometric"}  # a length that told the rate would show
TOKENS = TokenChain(
    target=((0.6, 0.3, 0.1), (0.2, 0.5, 0.3), (0.1, 0.1, 0.8)),
    draft=((0.5, 0.5, 0.0), (0.3, 0.3, 0.4), (0.2, 0.2, 0.6)),
)
CASES = [
    (Iid(alpha=0.7), KAPPAS),
    (Iid(alpha=0.95), KAPPAS),
    (Iid(alpha=0.0), KAPPAS),
    (Iid(alpha=1.0), KAPPAS),
    (Survival(survival=CURVE), (0, 1, 4, 8)),
    (Survival(survival=(1.0, 0.5, 0.5, 0.0, 0.0)), (0, 1, 3, 5)),
    (Markov(alpha=0.7, rho=0.3), KAPPAS),
    (Markov(alpha=0.8, rho=lowest(0.8)), KAPPAS),
    (Markov(alpha=0.7, rho=1.0), KAPPAS),
    (Markov(alpha=0.7, rho=0.3, start="carry"), KAPPAS),
    (Markov(alpha=0.7, rho=0.3, start="carry", steps_after_full=2), KAPPAS),
    (Markov(alpha=0.7, rho=0.3, start="carry", steps_after_reject=2, steps_after_full=2), KAPPAS),
    (Markov(alpha=0.8, rho=lowest(0.8), start="carry"), KAPPAS),
    (Markov(alpha=0.5, rho=-1.0, start="carry"), KAPPAS),
    (Markov(alpha=0.7, rho=0.99, start="carry"), KAPPAS),
    (Markov(alpha=0.0, rho=0.5, start="carry"), KAPPAS),
    (Markov(alpha=1.0, rho=0.5, start="carry"), KAPPAS),
    (Drift(alpha_start=0.85, alpha_end=0.62, tokens=1024), KAPPAS),
    (Drift(alpha_start=0.4, alpha_end=0.95, tokens=100, truncate=False), KAPPAS),
    (Drift(shape="table", alphas=(1.0, 0.0, 0.5, 1.0, 0.3)), KAPPAS),
    (Position(alphas=(0.79, 0.74, 0.72, 0.73, 1.0, 0.0)), (0, 1, 4, 6)),
    (BetaMixture(alpha=0.7, rho=0.3), KAPPAS),
    (BetaMixture(alpha=0.7, rho=1.0), KAPPAS),
    (DiscreteMixture(alphas=(0.95, 0.45, 0.0), weights=(0.5, 0.4, 0.1)), KAPPAS),
    (GaussianCopulaAr1(alpha=0.7, rho=0.3), KAPPAS),
    (GaussianCopulaAr1(alpha=0.6, phi=-0.8), (1, 4)),
    (Hmm(P=STICKY, alphas=(0.98, 0.42)), KAPPAS),
    (Hmm(P=STICKY, alphas=(0.98, 0.42), start="carry", steps_after_full=2), KAPPAS),
    (TOKENS, KAPPAS),
    (DiscreteMixture(alphas=(0.9, 0.6), weights=(0.7, 0.3), weights_of="rounds", request_tokens=60), KAPPAS),
    (DiscreteMixture(alphas=(0.9, 0.6), weights=(0.7, 0.3), weights_of="tokens", **ENDS), KAPPAS),
    (DiscreteMixture(alphas=(0.9, 0.6), weights=(0.7, 0.3), weights_of="rounds", **ENDS), KAPPAS),
    (DiscreteMixture(alphas=(0.9, 0.1), weights=(0.5, 0.5), weights_of="requests", **FEW), KAPPAS),
    (BetaMixture(alpha=0.7, rho=0.2, request_tokens=60), KAPPAS),
    (BetaMixture(alpha=0.7, rho=0.2, **ENDS), KAPPAS),
]


def simulated(process, kappas, windows=WINDOWS, seed=20261130):
    job = Job(Simulation(process), kappas, windows, seed)
    ((_, tallies),) = run_jobs([job])
    return job.layout, tallies


@pytest.mark.parametrize(("process", "kappas"), CASES, ids=lambda x: str(x) if not isinstance(x, tuple) else "")
def test_accepted_lengths_follow_the_exact_law(process, kappas):
    plan, tallies = simulated(process, kappas)
    for tally in tallies:
        assert tally.total("n") >= WINDOWS
        assert_same_law(tally.accepted_counts(), process, tally.kappa, plan)


@pytest.mark.parametrize("kappa", [1, 4])
def test_edges_are_exact(kappa):
    """At α = 0 and α = 1 not a single window may differ."""
    _, (none,) = simulated(Iid(alpha=0.0), (kappa,), 10**6)
    _, (all_,) = simulated(Iid(alpha=1.0), (kappa,), 10**6)
    assert none.total("accepted") == 0
    assert all_.total("accepted") == kappa * all_.total("n")


def test_windows_of_one_cell_fall_differently_in_every_chunk():
    """The further 52 bits of a window alone decide at p = 2⁻¹³: hits of 3000 chunks are binomial, false alarm 1e-6.

    Without the chunk in their address the first window of a cell would fall alike everywhere.
    """
    windows, p = 3000 * 8192, 2.0**-13
    runs = play.fresh_runs(FreshRow.of(np.array([p])), stream_keys(3, "cell"), 0, np.full(3000, 8192))
    assert abs(runs[:, 1].sum() - windows * p) < 4.9 * math.sqrt(windows * p)


def test_a_planted_shift_of_rho_is_seen():
    plan, (tally,) = simulated(Markov(alpha=0.7, rho=0.302, start="carry"), (8,))
    found, bound = distance(tally.accepted_counts(), Markov(alpha=0.7, rho=0.3, start="carry"), 8, plan)
    assert found > bound


def test_a_planted_shift_of_alpha_is_seen():
    plan, (tally,) = simulated(Iid(alpha=0.7015), (8,))
    found, bound = distance(tally.accepted_counts(), Iid(alpha=0.7), 8, plan)
    assert found > bound


def test_a_planted_boundary_is_seen():
    """Steps (1, 2) taken for (1, 1)."""
    plan, (tally,) = simulated(Markov(alpha=0.7, rho=0.05, start="carry", steps_after_full=2), (4,))
    found, bound = distance(tally.accepted_counts(), Markov(alpha=0.7, rho=0.05, start="carry"), 4, plan)
    assert found > bound


def test_a_planted_shift_of_a_generation_is_seen():
    plan, (tally,) = simulated(Drift(alpha_start=0.85, alpha_end=0.62, tokens=1024), (4,))
    wrong = Drift(alpha_start=0.85, alpha_end=0.6215, tokens=1024)
    found, bound = distance(tally.accepted_counts(), wrong, 4, plan)
    assert found > bound


def test_the_error_bars_of_a_carried_chain_come_from_lanes():
    """Variance of lane totals against the exact chain, 9,766 lanes: 6 sigma of a variance is 6·√(2/9766) = 8.6%."""
    from simspec import theory

    process = Markov(alpha=0.7, rho=0.3, start="carry")
    plan, (tally,) = simulated(process, (8,))
    mean, covariance = theory.unit_counts(process, 8, plan.rounds)
    j = range(9)
    exact = sum(a * b * covariance[a, b] for a in j for b in j)
    seen = tally.sums[:, SUMS.index("accepted")].var(ddof=1)
    assert abs(seen / exact - 1) < 6 * math.sqrt(2 / plan.lanes)
    assert exact > 1.2 * plan.rounds * (sum(a * a * mean[a] for a in j) / plan.rounds - (mean @ j / plan.rounds) ** 2)
