"""Do policies in the general loop follow the exact law of short generations, all histories listed?

Each policy is written here a third time, from its definition, as a function of the rounds so far.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from simspec import theory
from simspec.kernels import lower, play
from simspec.kernels.lower_policies import policy_form
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Cost, Drift
from simspec.model.policies import BatchTable, Gate, Goodput, Heuristic, Rolling, Schedule, Steps, Ucb
from simspec.theory import article

COST = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
CODED = Cost(c_d=0.1, c_v=0.5, c_r=1.0)
PLAN = (5, 0, 3, 1, 2, 4, 0, 7, 1, 1, 2, 2)
CHUNKS = 100
ALARM = 1e-8
"""False alarm of one test; there are fewer than 100."""

DRIFTS = {
    "falls": Drift(alpha_start=0.9, alpha_end=0.4, tokens=12),
    "rises, uncut": Drift(alpha_start=0.3, alpha_end=0.95, tokens=11, truncate=False),
    "never": Drift(alpha_start=0.0, alpha_end=0.0, tokens=6),
    "always": Drift(alpha_start=1.0, alpha_end=1.0, tokens=12),
    "one token": Drift(alpha_start=0.5, alpha_end=0.5, tokens=1),
    "jumps": Drift(shape="table", alphas=(0.95, 0.95, 0.1, 0.95, 0.2, 0.9, 0.9, 0.9, 0.1, 0.8, 0.9, 0.5)),
}


def heuristic(rounds):
    kappa = 3
    for drafted, accepted in rounds:
        kappa = min(7, kappa + 2) if accepted == drafted else max(1, kappa - 1)
    return kappa


def tokens_out(rounds):
    return sum(accepted + 1 for _, accepted in rounds)


def rolled(rounds, smoothing=0.85):
    estimate = 0.7
    for drafted, accepted in rounds:
        for verdict in [1] * accepted + [0] * (accepted < drafted):
            estimate = article.ewma_step(estimate, verdict, smoothing)
    return estimate


def corrected(rounds):
    return 3 if not rounds else int(theory.plug_in_kappas(np.array([rolled(rounds)]), COST, 7)[0])


def looped(rounds):
    """As the article has it: λ = .85, equation (12) as coded, guard at .25, degraded to the shortest."""
    if not rounds:
        return 3
    estimate = rolled(rounds)
    kappa = 7 if estimate >= 1 else min(7, max(1, round(article.kappa_star_as_coded(estimate, CODED.c_d))))
    return article.guard_settles_at(estimate, kappa)


def stepped(rounds):
    """Candidates 1, 3, 6 after every round: down at or below c − ¾, else up above c − ½."""
    own, kappa, average = (1, 3, 6), 3, 2.0
    for _, accepted in rounds:
        average = 0.8 * average + 0.2 * accepted
        lower = [c for c in own if c <= kappa]
        while len(lower) > 1 and average <= lower[-2] - 0.75:
            lower.pop()
        if lower[-1] == kappa:
            while kappa < 6 and average > kappa - 0.5:
                kappa = own[own.index(kappa) + 1]
        else:
            kappa = lower[-1]
    return kappa


def gated(rounds):
    for first in range(0, len(rounds) - 1, 2):
        made, kept = (sum(column) for column in zip(*rounds[first : first + 2], strict=True))
        if kept < 0.4 * made:
            return 0
    return 4


def goodput(rounds):
    """Rates per depth: accepted over examined, begun with one draft of .7, older rounds at .9 each."""
    if not rounds:
        return 3
    examined, kept = [1.0] * 7, [0.7] * 7
    for drafted, accepted in rounds:
        for j in range(7):
            examined[j] = 0.9 * examined[j] + (j < accepted + (accepted < drafted))
            kept[j] = 0.9 * kept[j] + (j < accepted)
    alive = [1.0, *itertools.accumulate((a / b for a, b in zip(kept, examined, strict=True)), lambda x, y: x * y)]
    speed = [sum(alive[: k + 1]) / (COST.base(k) + COST.c_r * (1 - alive[k])) for k in range(8)]
    return max(range(1, 8), key=lambda k: speed[k])


def bounded(rounds, window=1000):
    """UCB on tokens − Ŝ·cost over κ = 1 … 3, of the last rounds; what was cut counts nowhere."""
    kappa, seen = 1, []
    for drafted, accepted in rounds:
        if drafted == kappa:
            seen = [*seen, (kappa, accepted + 1, COST.of_round(kappa, accepted < drafted))][-window:]
        if not seen:
            continue
        speed = sum(t for _, t, _ in seen) / sum(c for _, _, c in seen)
        index = {}
        for arm in (1, 2, 3):
            own = [t - speed * c for k, t, c in seen if k == arm]
            index[arm] = sum(own) / len(own) + math.sqrt(math.log(len(seen)) / len(own)) if own else math.inf
        kappa = max(index, key=lambda arm: (index[arm] >= max(index.values()) - 1e-9, -arm))
    return kappa


BOUNDS = {"first": 3, "lowest": 1, "highest": 7}
POLICIES = {
    "heuristic": (Heuristic(**BOUNDS), heuristic),
    "table": (Schedule(kappas=PLAN), lambda rounds: PLAN[min(tokens_out(rounds), 11)]),
    "batch table": (
        BatchTable(table=((1, 4, 5), (5, 8, 2), (9, 64, 0)), batches=(9, 8, 6, 3, 1)),
        lambda rounds: (0, 2, 2, 5, 5)[min(tokens_out(rounds), 4)],
    ),
    "corrected": (Rolling(**BOUNDS, cost=COST), corrected),
    "article": (Rolling(**BOUNDS, rule="article", cost=CODED, guard=0.25), looped),
    "steps": (Steps(candidates=(1, 3, 6), first=3, warm_up=0, interval=1), stepped),
    "gate": (Gate(first=4, highest=4, rounds=2, least=0.4), gated),
    "goodput": (Goodput(**BOUNDS, keep=0.9, cost=COST), goodput),
    "ucb": (Ucb(first=1, lowest=1, highest=3, width=1.0, cost=COST), bounded),
    "ucb window": (
        Ucb(first=1, lowest=1, highest=3, width=1.0, window=4, cost=COST),
        lambda rounds: bounded(rounds, window=4),
    ),
}


def played(policy, process):
    form, first = policy_form(policy)
    rows, keys = lower.form(process, form.highest), stream_keys(3, "histories")
    return [play.play(rows, keys, chunk, LANES, 1, first, form) for chunk in range(CHUNKS)]


def misfit(tallies, law):
    """Least probability, over figures, of a distance as large as seen: rounds by chi-square, the others by chunks."""
    rounds = np.bincount(np.concatenate([t.column("n") for t in tallies]), minlength=len(law.pmf_rounds))
    assert rounds[: len(law.pmf_rounds)].sum() == LANES * CHUNKS
    expected = law.pmf_rounds * LANES * CHUNKS
    if rounds[expected == 0].any():
        return 0.0
    bins = [(rounds[expected >= 5], expected[expected >= 5]), (rounds[expected < 5], expected[expected < 5])]
    seen, due = (np.array([*bins[0][i], bins[1][i].sum()]) for i in (0, 1))
    seen, due = seen[due > 0], due[due > 0]
    worst = 1.0 if len(due) < 2 else stats.chi2.sf(((seen - due) ** 2 / due).sum(), len(due) - 1)
    width = max(len(law.expected_counts), len(tallies[0].histogram))
    counts, exact = np.zeros((CHUNKS, width, width)), np.zeros((width, width))
    exact[: len(law.expected_counts), : len(law.expected_counts)] = law.expected_counts
    for i, tally in enumerate(tallies):
        counts[i, : len(tally.histogram), : len(tally.histogram)] = tally.histogram / LANES
    if counts[:, exact == 0].any():
        return 0.0
    figures = [(counts[:, a, b], exact[a, b]) for a, b in np.argwhere(exact > 0.02)]
    figures.append((np.array([t.flips.mean() for t in tallies]), law.mean_flips))
    for own, mean in figures:
        error = own.std(ddof=1) / math.sqrt(CHUNKS)
        if error < 1e-12:
            unseen = own.mean() == 0.0 and math.exp(-mean * LANES * CHUNKS) > ALARM  # too rare to be due
            worst = worst if unseen or abs(own.mean() - mean) < 1e-9 else 0.0
            continue
        worst = min(worst, 2 * len(figures) * stats.t.sf(abs(own.mean() - mean) / error, CHUNKS - 1))
    return worst


@pytest.mark.parametrize("process", DRIFTS.values(), ids=DRIFTS)
@pytest.mark.parametrize("name", POLICIES)
def test_generations_follow_their_exact_law(name, process):
    policy, rule = POLICIES[name]
    assert misfit(played(policy, process), theory.enumerate_policy(process, rule, COST)) > ALARM


@pytest.mark.parametrize("name", POLICIES)
def test_a_slightly_other_rule_is_seen(name):
    """A rule that drafts one less after the first round is far outside of the bound."""
    policy, rule = POLICIES[name]
    law = theory.enumerate_policy(DRIFTS["falls"], lambda rounds: max(0, rule(rounds) - (len(rounds) == 1)), COST)
    assert misfit(played(policy, DRIFTS["falls"]), law) < ALARM
