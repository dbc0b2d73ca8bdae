"""What stands for itself in a check, and where one request ends and the next begins."""

import numpy as np

from simspec.evidence.observed import Observed
from simspec.evidence.rounds.adequacy import _in_all, adequacy
from simspec.evidence.rounds.checks import Check, _bins
from simspec.evidence.rounds.fits import fit_rounds


def test_places_with_little_behind_them_join_their_neighbours():
    assert _bins(np.array([400.0, 400.0, 400.0, 5.0])).tolist() == [0, 1, 2, 2]
    assert _bins(np.array([10.0, 10.0, 15.0, 40.0])).tolist() == [0, 0, 0, 1]
    assert _bins(np.full(20, 1e4)).max() == 7


def test_the_first_round_of_a_request_follows_no_other():
    """Requests of one round, easy ones and hard ones in turn: rounds hang together only across requests."""
    rng = np.random.default_rng(1)
    lengths = np.where(np.arange(2000) // 20 % 2 == 0, rng.binomial(3, 0.9, 2000), 0)
    own = Observed.in_order([[3]] * 2000, [[int(a)] for a in lengths])
    found = adequacy(fit_rounds(own, ["position"])[0], own)
    assert "successive rounds" not in [one.name for one in found.statistics]


def test_all_statistics_together_err_as_often_as_one_may():
    """p = .02 of three is .06 in all; p = .01 is .03."""
    own = [Check(name, "", np.zeros((1, 1, 1)), 1.0) for name in "abc"]
    for least, expected in ((0.02, [False, False, False]), (0.01, [True, False, False])):
        judged = [(check, 0.0, p) for check, p in zip(own, (least, 0.5, 0.9), strict=True)]
        assert [found.rejected for found in _in_all(judged, 0.05)] == expected
