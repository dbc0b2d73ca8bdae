"""Do lanes of every process go through the histories that the exact route lists, each as often as it says?

Chi-square over whole histories: what a round leaves to the next is in them, and every pair (drafted, accepted).
"""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from simspec import theory
from simspec.kernels import play, twin
from simspec.kernels.lower_policies import policy_form
from simspec.kernels.lower_steered import steered_form
from simspec.kernels.words import LANES, stream_keys
from simspec.model import (
    BetaMixture,
    Cost,
    DiscreteMixture,
    Drift,
    GaussianCopulaAr1,
    Hmm,
    Iid,
    Markov,
    Position,
    Survival,
    TokenChain,
)
from simspec.model.policies import Heuristic, Rolling, Schedule
from simspec.model.rows import RowProcess, RowTable
from simspec.theory import article

COST = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
KEYS = stream_keys(5, "histories of processes")
CHUNKS, ROUNDS, HIGHEST = 80, 4, 4
ALARM = 1e-8
"""False alarm of one test; there are fewer than 100."""
PLAN = (3, 0, 2, 4, 1, 0, 3, 1)
MOVES = ((0.9, 0.1), (0.25, 0.75))
TARGET = ((0.6, 0.3, 0.1), (0.2, 0.5, 0.3), (0.1, 0.1, 0.8))
DRAFT = ((0.4, 0.4, 0.2), (0.3, 0.3, 0.4), (0.05, 0.5, 0.45))
HALVES = {"alphas": (0.9, 0.4), "weights": (0.3, 0.7)}


class Tired(RowProcess):
    """Three rows, each full window makes the next one worse."""

    type: str = "tired"

    def rows(self, kappa):
        return RowTable([[rate ** (j + 1) for j in range(kappa)] for rate in (0.9, 0.6, 0.3)], (0, 0, 1), (1, 2, 2))


PROCESSES = {
    "iid": Iid(alpha=0.7),
    "never": Iid(alpha=0.0),
    "always": Iid(alpha=1.0),
    "survival": Survival(survival=(0.7, 0.6, 0.2, 0.1)),
    "position": Position(alphas=(0.9, 1.0, 0.3, 0.8)),
    "markov": Markov(alpha=0.7, rho=0.3),
    "markov, carried": Markov(alpha=0.7, rho=0.3, start="carry"),
    "markov, by position": Markov(alpha=0.6, rho=0.5, start="carry", steps_after_reject=2, steps_after_full=2),
    "markov, swings": Markov(alpha=0.5, rho=-1.0, start="carry", steps_after_full=2),
    "markov, slow": Markov(alpha=0.6, rho=0.9, start="carry", steps_after_full=3),
    "discrete": DiscreteMixture(**HALVES),
    "beta": BetaMixture(alpha=0.7, rho=0.2),
    "copula": GaussianCopulaAr1(alpha=0.7, rho=0.4),
    "hmm": Hmm(P=MOVES, alphas=(0.95, 0.4)),
    "hmm, carried": Hmm(P=MOVES, alphas=(0.95, 0.4), start="carry"),
    "hmm, by position": Hmm(P=MOVES, alphas=(1.0, 0.0), start="carry", steps_after_reject=2, steps_after_full=2),
    "hmm, never": Hmm(P=MOVES, alphas=(0.0, 0.0), start="carry"),
    "tokens": TokenChain(target=TARGET, draft=DRAFT),
    "a perfect draft": TokenChain(target=TARGET, draft=TARGET),
    "tired": Tired(),
    "request of two": DiscreteMixture(**HALVES, weights_of="requests", request_tokens=10),
    "request of rounds": DiscreteMixture(**HALVES, weights_of="rounds", request_tokens=9, truncate=False),
    "request of beta": BetaMixture(alpha=0.7, rho=0.3, request_tokens=7),
    "one token": BetaMixture(alpha=0.7, rho=0.3, request_tokens=1),
    "all or nothing": BetaMixture(alpha=0.6, rho=1.0, request_tokens=9),
    "drift": Drift(alpha_start=0.9, alpha_end=0.4, tokens=10),
}


def heuristic(rounds):
    kappa = 2
    for drafted, accepted in rounds:
        kappa = min(HIGHEST, kappa + 2) if accepted == drafted else max(0, kappa - 1)
    return kappa


def plan(rounds):
    return PLAN[min(sum(accepted + 1 for _, accepted in rounds), len(PLAN) - 1)]


def rolling(rounds):
    if not rounds:
        return 3
    estimate = 0.5
    for drafted, accepted in rounds:
        for verdict in [1] * accepted + [0] * (accepted < drafted):
            estimate = article.ewma_step(estimate, verdict, 0.7)
    return int(theory.plug_in_kappas(np.array([estimate]), COST, HIGHEST, 0)[0])


RULES = {
    "heuristic": (Heuristic(first=2, lowest=0, highest=HIGHEST), heuristic),
    "table": (Schedule(kappas=PLAN), plan),
    "rolling": (Rolling(first=3, lowest=0, highest=HIGHEST, smoothing=0.7, initial=0.5, cost=COST), rolling),
}


def exact(process, rule):
    rounds = {} if process.unit == "generation" else {"rounds": ROUNDS}
    return {h: c for c, h in theory.enumerate_policy(process, rule, COST, longest=HIGHEST, **rounds).endings}


def seen(process, policy, player=play, chunks=range(CHUNKS), lanes=LANES):
    """How many lanes went through each history."""
    form, first = policy_form(policy)
    rows, most = steered_form(process, HIGHEST), 10 if process.unit == "generation" else ROUNDS
    found = Counter()
    for chunk in chunks:
        _, drafted, accepted = player.steered_rounds(rows, KEYS, chunk, lanes, most, first, form)
        for lane in range(lanes):
            pairs = zip(drafted[:, lane].tolist(), accepted[:, lane].tolist(), strict=True)
            found[tuple(pair for pair in pairs if pair[0] >= 0)] += 1
    return found


def misfit(found, law):
    """Chance of a distance as large as seen; 0 if something was seen that cannot be."""
    if set(found) - set(law):
        return 0.0
    lanes = found.total()
    due = np.array([lanes * chance for chance in law.values()])
    own = np.array([float(found[history]) for history in law])
    rare = due < 5.0
    due, own = (np.append(values[~rare], values[rare].sum()) for values in (due, own))
    due, own = due[due > 1e-6], own[due > 1e-6]
    return 1.0 if len(due) < 2 else stats.chi2.sf(((own - due) ** 2 / due).sum(), len(due) - 1)


@pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES)
@pytest.mark.parametrize("name", RULES)
def test_lanes_go_through_the_listed_histories(name, process):
    policy, rule = RULES[name]
    assert misfit(seen(process, policy), exact(process, rule)) > ALARM


@pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES)
def test_rounds_are_those_of_the_twin(process):
    fast, slow = (seen(process, RULES["rolling"][0], player, range(3, 5), 5) for player in (play, twin))
    assert fast == slow


OTHERS = {
    "hmm, carried": Hmm(P=MOVES, alphas=(0.95, 0.4), start="carry", steps_after_full=3),
    "hmm, by position": Hmm(P=MOVES, alphas=(1.0, 0.0), start="carry", steps_after_reject=1, steps_after_full=2),
    "hmm": Hmm(P=MOVES, alphas=(0.95, 0.4), start="carry"),
    "tokens": TokenChain(target=TARGET, draft=(DRAFT[0], DRAFT[1], (0.05, 0.42, 0.53))),
    "copula": GaussianCopulaAr1(alpha=0.7, rho=0.25),
    "markov, carried": Markov(alpha=0.7, rho=0.3),
    "markov, by position": Markov(alpha=0.6, rho=0.5, start="carry", steps_after_reject=2),
    "markov, slow": Markov(alpha=0.6, rho=0.9, start="carry", steps_after_full=2),
    "request of two": Drift(alpha_start=0.55, alpha_end=0.55, tokens=10),
    "request of beta": BetaMixture(alpha=0.7, rho=0.2, request_tokens=7),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_slightly_other_process_is_seen(name):
    policy, rule = RULES["heuristic"]
    assert misfit(seen(PROCESSES[name], policy), exact(OTHERS[name], rule)) < ALARM


@pytest.mark.parametrize("name", RULES)
def test_a_slightly_other_rule_is_seen(name):
    policy, rule = RULES[name]
    process = PROCESSES["hmm, carried"]
    law = exact(process, lambda rounds: min(HIGHEST, rule(rounds) + (len(rounds) == 2)))
    assert misfit(seen(process, policy), law) < ALARM
