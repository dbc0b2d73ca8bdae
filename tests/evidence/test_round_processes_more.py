"""Which process is named, what cannot be told, and the numbers a check may say."""

import math

import numpy as np

from simspec.evidence.observed import Observed
from simspec.evidence.rounds import processes
from simspec.evidence.rounds.adequacy import Adequacy, adequacy
from simspec.evidence.rounds.fits import fit_rounds
from simspec.evidence.rounds.kappa_rule import SURE, kappa_rule
from simspec.evidence.rounds.processes import KAPPA_UNKNOWABLE, fit_processes
from simspec.evidence.rounds.sample import one_by_one

COUNTS = Observed.of_counts([(3, 1000, [700, 350, 175])])


def test_an_adequate_process_comes_before_one_of_smaller_bic(monkeypatch):
    monkeypatch.setattr(
        processes, "adequacy", lambda fit, observed, seed: Adequacy(fit.name == "position", (), 1, 1, 0.05, "")
    )
    found = fit_processes(COUNTS)
    assert min(found.fits, key=lambda fit: fit.bic).name == "geometric tail"
    assert (found.best.name, found.adequate) == ("position", True)


def test_a_changing_kappa_without_order_cannot_be_judged():
    several = Observed.of_counts([(2, 300, [200, 120]), (4, 300, [200, 120, 80, 50])])
    assert KAPPA_UNKNOWABLE in fit_processes(several, ["i.i.d."], check=False).cannot_tell
    assert KAPPA_UNKNOWABLE not in fit_processes(COUNTS, ["i.i.d."], check=False).cannot_tell
    ordered = Observed.in_order([[2, 4] * 50], [[1, 2] * 50])
    assert KAPPA_UNKNOWABLE not in fit_processes(ordered, ["i.i.d."], check=False).cannot_tell


def test_kappa_is_said_to_follow_at_a_false_alarm_below_one_in_a_million():
    assert math.erfc(SURE / math.sqrt(2.0)) < 1e-6


def test_no_p_value_is_nothing():
    found = adequacy(fit_rounds(Observed.of_counts([(3, 5000, [4000, 1000, 900])]), ["i.i.d."])[0],
                     Observed.of_counts([(3, 5000, [4000, 1000, 900])]))  # fmt: skip
    assert not found.adequate
    assert min(own.p_value for own in found.statistics) >= 1.0 / (found.replicates + 1)


def test_one_request_is_no_cluster():
    assert not Observed.in_order([[4] * 9], [[2] * 9]).clustered
    assert Observed.in_order([[4], [4]], [[2], [2]]).clustered


def test_few_long_requests_are_looked_at_from_their_beginning():
    lengths = np.arange(5000) % 4
    own = one_by_one(Observed.in_order([[3] * 5000] * 2, [lengths.tolist()] * 2), 1000, 1)
    assert own.rounds == 1000
    assert own.accepted.tolist() == lengths[:1000].tolist()


def test_requests_with_lengths_of_their_own_do_not_make_kappa_follow():
    """Easy requests draft 4 and 6 in turn, hard ones 4 and 2, whatever happened before."""
    rng = np.random.default_rng(5)
    drafted = [[4, 6] * 50 if g % 2 else [4, 2] * 50 for g in range(40)]
    accepted = [[int(min(rng.geometric(0.05 if g % 2 else 0.7) - 1, k)) for k in own] for g, own in enumerate(drafted)]
    assert not kappa_rule(Observed.in_order(drafted, accepted)).follows
