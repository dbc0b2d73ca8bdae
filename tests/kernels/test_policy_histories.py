"""Do policies in the general loop follow the exact law of short generations, all histories listed?

Each policy is written a third time, from its definition, as a function of the rounds so far: most of them in
`simspec.claims.control_figures.rules`.
"""

import math

import numpy as np
import pytest
from scipy import stats

from simspec import theory
from simspec.claims.control_figures.rules import COST, RULES, bounded
from simspec.kernels import lower, play
from simspec.kernels.lower_policies import policy_form
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Drift
from simspec.model.policies import Gate, Ucb

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


def gated(rounds):
    for first in range(0, len(rounds) - 1, 2):
        made, kept = (sum(column) for column in zip(*rounds[first : first + 2], strict=True))
        if kept < 0.4 * made:
            return 0
    return 4


POLICIES = RULES | {
    "gate": (Gate(first=4, highest=4, rounds=2, least=0.4), gated),
    "UCB of the last rounds": (
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
