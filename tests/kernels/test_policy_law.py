"""Does the general loop under a policy follow the exact law?  Dynamic programs over (row or position, κ)."""

import numpy as np
import pytest

from simspec.kernels import lower, play, twin
from simspec.kernels.forms import Policy
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Drift, Iid, Markov

LOWEST, HIGHEST, FIRST = 1, 9, 4
POLICY = Policy(2, -1, LOWEST, HIGHEST)
CHUNKS, ROUNDS, TOKENS = 30, 40, 120
BOUND = 9.1
"""Student's t with 29 degrees of freedom exceeds it with probability 5e-10; eighteen figures are compared: 1e-8."""


def follow(kappa, full):
    return min(max(kappa + 2 if full else kappa - 1, LOWEST), HIGHEST)


def survival(rates):
    return np.concatenate([[1.0], np.cumprod(rates)])


def outcomes(curve, drafted):
    """P(A = 0 … drafted) from a survival curve that starts with 1."""
    return np.append(curve[:drafted] - curve[1 : drafted + 1], curve[drafted])


def rounds_of_chain(curves, next_row, start):
    """Expected rounds by (drafted, accepted) of a lane of `ROUNDS` rounds; ``curves[row]`` survival by draft."""
    law = {(row, FIRST): share for row, share in enumerate(start) if share > 0.0}
    expected = np.zeros((HIGHEST + 1, HIGHEST + 1))
    for _ in range(ROUNDS):
        after: dict = {}
        for (row, kappa), share in law.items():
            for accepted, chance in enumerate(outcomes(curves[row], kappa)):
                full = accepted == kappa
                expected[kappa, accepted] += share * chance
                key = (next_row(row, full), follow(kappa, full))
                after[key] = after.get(key, 0.0) + share * chance
        law = after
    return expected


def rounds_of_generation(rates):
    """The same for one truncated generation."""
    law = np.zeros((TOKENS + HIGHEST + 2, HIGHEST + 1))
    law[0, FIRST] = 1.0
    expected = np.zeros((HIGHEST + 1, HIGHEST + 1))
    for here in range(TOKENS):
        for kappa in range(LOWEST, HIGHEST + 1):
            drafted = min(kappa, TOKENS - 1 - here)
            for accepted, chance in enumerate(outcomes(survival(rates[here : here + drafted]), drafted)):
                share = law[here, kappa] * chance
                expected[drafted, accepted] += share
                law[here + accepted + 1, follow(kappa, accepted == drafted)] += share
    return expected


def iid():
    process = Iid(alpha=0.75)
    return process, ROUNDS, rounds_of_chain([survival([0.75] * HIGHEST)], lambda row, full: 0, [1.0])


def markov():
    process = Markov(alpha=0.7, rho=0.35, start="carry")
    stay, rise = 0.7 + 0.35 * 0.3, 0.7 * 0.65
    curves = [survival([rise] + [stay] * (HIGHEST - 1)), survival([stay] * HIGHEST)]
    full = curves[0][-1] / (1.0 - curves[1][-1] + curves[0][-1])  # the lowering starts from the law at the longest κ
    return process, ROUNDS, rounds_of_chain(curves, lambda row, full: int(full), [1.0 - full, full])


def drift():
    process = Drift(alpha_start=0.9, alpha_end=0.4, tokens=TOKENS)
    return process, 1, rounds_of_generation(np.array(process.rates()))


def observed(process, length, policy=POLICY):
    """Rounds by (drafted, accepted) of each chunk of 64 lanes."""
    form, keys = lower.form(process, HIGHEST), stream_keys(11, "policy")
    return np.array([play.play(form, keys, c, LANES, length, FIRST, policy).histogram for c in range(CHUNKS)])


def distance(seen, expected):
    """Largest distance, in standard errors from the spread of chunks, of six means that no rare event rules."""
    worst = 0.0
    kappas = np.arange(HIGHEST + 1)[:, None] * np.ones(HIGHEST + 1)
    accepted = kappas.T
    full = (kappas == accepted).astype(float)
    for weight in (accepted, kappas, full, accepted**2, (accepted == 0) * 1.0, (kappas == HIGHEST) * 1.0):
        totals = (seen * weight).sum(axis=(1, 2)) / LANES
        error = totals.std(ddof=1) / np.sqrt(CHUNKS)
        worst = max(worst, abs(totals.mean() - (expected * weight).sum()) / error)
    return worst


@pytest.mark.parametrize("case", [iid, markov, drift])
def test_rounds_follow_the_exact_law(case):
    process, length, expected = case()
    assert distance(observed(process, length), expected) < BOUND


@pytest.mark.parametrize("case", [iid, markov, drift])
def test_a_planted_policy_is_seen(case):
    """One up instead of two: far outside the bound."""
    process, length, expected = case()
    assert distance(observed(process, length, Policy(1, -1, LOWEST, HIGHEST)), expected) > 2 * BOUND


def growing(kappa, accepted, full, memory):
    """As many drafts as the request has had rounds."""
    for lane in range(kappa.size):
        memory[0, lane] += 1.0
        kappa[lane] = int(memory[0, lane])


@pytest.mark.parametrize("policy", [POLICY, Policy(lowest=LOWEST, highest=HIGHEST, own=growing)], ids=["+2/-1", "own"])
@pytest.mark.parametrize("player", [play, twin], ids=["compiled", "twin"])
def test_every_request_begins_as_the_first(player, policy):
    """Nothing is rejected, so three requests of a lane are alike: each begins with the first κ and no memory."""
    form, keys = lower.form(Drift(shape="table", alphas=(1.0,) * 40), HIGHEST), stream_keys(11, "policy")
    once, thrice = (player.play(form, keys, 0, 5, requests, FIRST, policy).histogram for requests in (1, 3))
    assert once.sum() > 5 * 4
    assert thrice.tolist() == (3 * once).tolist()
