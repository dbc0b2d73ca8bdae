"""Claims on token laws: judged by real tokens, the same for every seed, and not by a broken sampler."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from simspec.claims import divergences, tokens
from simspec.claims import token_quantity as q
from simspec.claims.claim import Claim, formula, integer
from simspec.claims.judge import STAGES, judge
from simspec.claims.lab import Lab, Need, TokenNeed
from simspec.claims.setup import KAPPAS, STANDARD
from simspec.kernels.token_tables import token_tables
from simspec.model import Iid, TokenChain
from simspec.model.pairs import GivenPair, ZipfPair
from simspec.run import token_job
from simspec.run.token_job import SampledJob

SHORT = GivenPair(target=(0.6, 0.3, 0.1), draft=(0.3, 0.3, 0.4))
NUMBERS = {
    "alpha": q.TokenAlpha(SHORT),
    "alpha of many tokens": q.TokenAlpha(ZipfPair(vocabulary=500), 3),
    "E[A]": q.TokenMeanAccepted(SHORT, 4),
    "E[A], block verification": q.TokenMeanAccepted(SHORT, 4, "block"),
    "share of accepted": q.TokenShare(SHORT, 0, "accepted"),
    "share of emitted": q.TokenShare(SHORT, 0),
}
VERDICTS = {
    "C04": {"refuted": 3, "supported": 1},
    "C07": {"supported": 2, "refuted": 1},
    "C08": {"supported": 1, "refuted": 1},
    "C10": {"supported": 1, "refuted": 1, "not-testable": 1},
    "C11": {"supported": 1, "refuted": 1},
    "C12": {"refuted": 2},
    "C13": {"supported": 5, "refuted": 9},
    "C14": {"supported": 2, "refuted": 2},
}


def claims():
    return [*tokens.claims(), *divergences.claims()]


def rows(seed=1):
    return judge(claims(), Lab(seed), STAGES["quick"])


def verdicts(planted, seed=1):
    return {v.claim.reading: v.verdict for v in judge(planted, Lab(seed), STAGES["quick"])}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_verdicts(seed):
    """Decided by one of the two smallest budgets, so that a quick validation stays quick."""
    found = rows(seed)
    counted = {}
    for row in found:
        counted.setdefault(row.claim.id, Counter())[row.verdict] += 1
        assert row.observed.windows in (0, *STAGES["quick"][:2])
    assert counted == {key: Counter(value) for key, value in VERDICTS.items()}


def test_each_row_has_its_own_reading_and_a_correction_with_a_number():
    own = claims()
    assert len({(row.id, row.reading) for row in own}) == len(own)
    for row in own:
        assert row.statement.endswith(".")
        assert row.instead.endswith(".")
        assert re.search(r"\d", row.instead.rstrip(".").rsplit(". ", 1)[-1]), row.instead


def test_formulas_have_a_second_route_that_agrees():
    """Rows of algebra are held against a definition or a pair-by-pair count."""
    formulas = [row.quantity for row in claims() if hasattr(row.quantity, "again")]
    assert len(formulas) == 18
    for quantity in formulas:
        assert quantity.agrees(quantity.exact(), quantity.second())


def claim(name, says, quantity):
    return Claim("X", "0", name, "", says, quantity, "")


@pytest.mark.parametrize("factor", [0.99, 1.0, 1.01])
def test_planted_claims_are_told_apart(factor):
    planted = [claim(name, formula(own.exact() * factor), own) for name, own in NUMBERS.items()]
    assert set(verdicts(planted).values()) == {"supported" if factor == 1.0 else "refuted"}


def test_the_best_draft_length_of_real_tokens():
    own = q.TokenBestKappa(SHORT, STANDARD, KAPPAS)
    assert own.exact() == 4.0
    assert verdicts([claim(str(k), integer(k), own) for k in (3, 4, 5)]) == {
        "3": "refuted",
        "4": "supported",
        "5": "refuted",
    }


def test_a_lab_plays_tokens_beside_windows():
    """One run per pair, κ and rule, at the last budget; what played before stays."""
    chain = TokenChain(target=((0.7, 0.3), (0.4, 0.6)), draft=((0.5, 0.5), (0.5, 0.5)))
    needs = [
        TokenNeed.of(SHORT, 4),
        TokenNeed.of(SHORT, 4, "block"),
        TokenNeed.of(chain, 2),
        Need(Iid(alpha=0.7), (3,)),
    ]
    lab = Lab(1)
    lab.simulate([*needs, TokenNeed.of(SHORT, 4)], 5000)
    assert len(lab.all_sampled()) == 3
    assert lab.sampled(needs[2]).job.pair == chain
    lab.simulate(needs[:1], 10_000)
    assert [found.rounds >= 10_000 for found in lab.all_sampled()] == [True, False, False]
    assert [job.simulation.process for job, _ in lab.played()] == [Iid(alpha=0.7)]
    assert all(need.judged for need in needs[:3])  # so that no table of windows asks for them


def test_a_broken_sampler_is_reported_and_decides_nothing(monkeypatch):
    """p and q swapped in the verdict."""

    def swapped(target, draft):
        return replace(token_tables(target, draft), accept=token_tables(draft, target).accept)

    monkeypatch.setattr(token_job, "token_tables", swapped)
    found = [row for row in rows() if row.observed.windows]
    wrong = [row for row in found if row.verdict == "engine-disagreement"]
    assert {row.claim.id for row in wrong} >= {"C07", "C08", "C10", "C11"}


def test_a_lab_with_another_seed_draws_other_tokens():
    needs, seen = [TokenNeed.of(SHORT, 4)], []
    for seed in (1, 2):
        lab = Lab(seed)
        lab.simulate(needs, 2000)
        seen.append(lab.sampled(needs[0]).accepted)
        assert isinstance(lab.sampled(needs[0]).job, SampledJob)
    assert np.any(seen[0] != seen[1])
