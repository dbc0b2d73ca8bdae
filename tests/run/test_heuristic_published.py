"""Do simulated rounds under the +2/−1 heuristic look like the published ones?  Spec-Bench, Vicuna-7B with a 68M draft.

Figures computed from the released accepted lengths of 40,632 steps (BNukhkadiev/Spec-Bench, commit 0f00011; κ of each
step follows from the heuristic without a violation).  Depth j counts rounds that drafted j and accepted j − 1.
"""

import numpy as np
import pytest

import simspec
from simspec.claims.control_figures.heuristic import DEPTHS as PUBLISHED
from simspec.model import BetaMixture, Iid, Position

DEPTHS = PUBLISHED[:8]
TOKENS, KAPPA = 2.278, 3.243
REQUEST = 165
"""40,632 steps of 2.278 tokens over 560 turns."""
HEURISTIC = {"type": "heuristic", "first": 5, "highest": 40}
BY_REQUEST = BetaMixture(alpha=0.643, rho=0.119, request_tokens=REQUEST)
"""Two parameters, found by least squares over the ten figures under the simulated heuristic."""


def seen(process):
    """Tokens per round, mean κ, and the acceptance rate at depths 1 to 8; noise of a million rounds: below .003."""
    tally = simspec.simulate(process, windows=1_000_000, seed=5, policy=HEURISTIC).tallies[0]
    rounds = tally.histogram
    depths = [rounds[j:, j:].sum() / rounds[j:, j - 1 :].sum() for j in range(1, 9)]
    return tally.total("tokens") / tally.total("n"), tally.total("drafted") / tally.total("n"), np.array(depths)


def test_a_rate_per_request_makes_the_published_rounds():
    """All ten figures: tokens within .05, κ within .1, rates within .03.

    The rate of a request has mean .643, and .58 is what a round sees first: requests of low rates have more rounds.
    """
    tokens, kappa, depths = seen(BY_REQUEST)
    assert tokens == pytest.approx(TOKENS, abs=0.05)
    assert kappa == pytest.approx(KAPPA, abs=0.1)
    assert np.abs(depths - DEPTHS).max() < 0.03
    assert depths[0] < BY_REQUEST.alpha - 0.05


def test_what_does_not_make_them():
    """Independent drafts have one rate at all depths; the rates themselves, by depth, make rounds that forget."""
    _, _, flat = seen(Iid(alpha=0.69))
    assert np.abs(flat - DEPTHS).max() > 0.1
    tokens, _, depths = seen(Position(alphas=PUBLISHED[:11] + (0.95,) * 29))
    assert np.abs(depths - DEPTHS).max() < 0.03
    assert tokens < TOKENS - 0.05
