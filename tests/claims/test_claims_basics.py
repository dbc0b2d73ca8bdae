"""Are the basic claims judged as algebra says, do their texts hold the numbers, and are the error bars honest?"""

import functools
import re

import numpy as np
import pytest
from scipy.stats import chi2

from simspec.claims import correlation, fluctuation, grid, groundwork, latency, optimum, threshold
from simspec.claims import window_quantity as w
from simspec.claims.claim import Claim, formula
from simspec.claims.judge import STAGES, judge
from simspec.claims.lab import Lab
from simspec.claims.quantity import Formula, Untestable
from simspec.claims.search import limit, peak, root, slope
from simspec.model import Cost, Iid, Markov
from simspec.stats.intervals import student

USUAL, CARRIED = Iid(alpha=0.7), Markov(alpha=0.7, rho=0.3, start="carry")
STANDARD = Cost(c_d=0.1)
NEW, OLD = (groundwork, latency, fluctuation), (grid, optimum, threshold, correlation)

EXPECTED = [
    ("C01", "best kappa at each alpha, beta = 0.05", "refuted", "0.2461 from .70 to .74"),
    ("C01", "best kappa at each alpha, beta = 0.1", "refuted", "0.2048 from .74 to .78"),
    ("C01", "best kappa at each alpha, beta = 0.2", "refuted", "0.1132 from .74 to .78"),
    ("C01", "kappa = 4 at each alpha", "refuted", "0.0149"),
    ("C01", "best kappa at each alpha, beta = .1: S*(.7)", "refuted", "0.3069 from .6 to .7"),
    ("C02", "two pairs with alpha = .7 and D_1/2 = 0.1054 and 0.7133", "refuted", "S(4) = 1.9808 and 1.9808"),
    ("C02", "the alpha from which", "refuted", "0.1000"),
    ("C02", "finite-sample phase transition", "not-testable", "between 0.0943 and 0.7133"),
    ("C03", "what two surveys", "not-testable", "kappa* = 4.0245, so 4"),
    ("C03", "a vacuum", "not-testable", "kappa* = 4.0245, so 4"),
    ("C05", "accepted drafts of a decoded window, alpha = .7, kappa = 4", "refuted", "1.7731"),
    ("C05", "accepted drafts of a decoded window, alpha = .7, kappa = 64", "refuted", "limit 2.3333"),
    ("C05", "the promised", "not-testable", "0.7000, 1.1900, 1.7731, 2.1988"),
    ("C09", "accepted over examined", "supported", "0.7000"),
    ("C09", "accepted over drafted", "refuted", "0.44327"),
    ("C09", "every draft judged", "supported", "0.7000"),
    ("C15", "every draft judged, alpha = .7, kappa = 4", "supported", "0.0525"),
    ("C15", "decoded window, A over kappa", "refuted", "Var A = 2.4218, not 0.84"),
    ("C15", "every draft judged, alpha = .7, kappa = 4: what the normal", "refuted", "covers 0.9163"),
    ("C15", "accepted over examined", "refuted", "0.082906"),
    ("C16", "every draft judged", "supported", "0.1600"),
    ("C16", "decoded window, kappa = 4: variance", "refuted", "1.4336 at .5 and 2.5823 at 0.78"),
    ("C16", "decoded window, kappa = 4: the alpha", "refuted", "0.7805 for kappa = 4, 0.8610 for 7 and 0.9466 for 20"),
    ("C16", "decoded window, kappa = 1", "supported", "0.5000"),
    *(("C17", f"reading {name}, T", "refuted", "= 1.4000") for name in ("R1", "R2", "R3", "R4", "R6")),
    ("C17", "reading R1: cost at", "refuted", "changes by 0.0000, not by 0.45"),
    ("C17", "third term of R1", "refuted", "0.7599"),
    ("C17", "third term of R4", "supported", "0.7599"),
    ("C18", "tokens of a decoded window", "refuted", "2.7731 tokens"),
    ("C18", "reading R1, kappa = 1,", "refuted", "S = 1.5455, not 0.9091"),
    ("C18", "reading R1, kappa = 4,", "refuted", "S = 1.9808, not 1.1429"),
    ("C18", "reading R1, kappa = 8,", "refuted", "S = 1.7771, not 1.1940"),
    ("C18", "reading R1, kappa = 100,", "refuted", "S = 0.3030, not 1.2453"),
    ("C18", "reading R2", "refuted", "S = 1.9808, not 2.3529"),
    ("C18", "reading R3", "refuted", "S = 1.9808, not 0.9091"),
    ("C18", "reading R4", "refuted", "S = 1.9808, not 1.0101"),
    ("C18", "reading R6", "refuted", "S = 1.9808, not 1.5385"),
    ("C19", "typical hardware", "not-testable", "from 0.020 to 0.209; 2 of 6"),
    ("C19", "6 published pairs", "refuted", "2 of 6 do"),
    ("C28", "eq. (12)", "refuted", "1.4582 there and enters [3, 7] only at alpha = 0.7647"),
    ("C28", "optimum of throughput", "supported", "89.8%"),
    ("C28", "the consensus", "not-testable", "from 2 to 10"),
    ("C34", "(a) sqrt(kappa alpha (1 - alpha))/kappa, every draft judged, kappa = 4", "supported", "kappa = 4.81"),
    ("C34", "(a) sqrt(kappa alpha (1 - alpha))/kappa, every draft judged, kappa = 5", "refuted", "0.1962"),
    ("C34", "(a) sqrt(kappa alpha (1 - alpha))/kappa, decoded", "refuted", "= 0.7993, not 0.2193"),
    ("C34", "(b) sqrt((1 - alpha)/(kappa alpha)), every draft judged, kappa = 4", "supported", "kappa = 8.78"),
    ("C34", "(b) sqrt((1 - alpha)/(kappa alpha)), every draft judged, kappa = 5", "supported", "0.2651"),
    ("C34", "(b) sqrt((1 - alpha)/(kappa alpha)), decoded", "refuted", "= 0.7993, not 0.2964"),
    ("C34", "(a), every draft judged", "refuted", "0.8000"),
    ("C34", "(b), every draft judged", "refuted", "0.8621"),
    ("C34", "decoded window, sqrt(Var A)/E[A]", "refuted", "0.9791"),
    ("C34", "every draft judged", "supported", "from 0.3422 to 0.2240"),
    ("C34", "decoded window", "refuted", "from 0.7339 to 0.9498"),
    ("C34", "decoded window, no draft accepted, kappa = 9", "refuted", "1 - alpha = 0.26"),
    ("C37", "decoded window, no draft accepted, alpha = .8", "refuted", "20%"),
    ("C37", "decoded window, no draft accepted, limit 1%", "refuted", "0.9900"),
    ("C37", "sections 4.1 and 4.2 together", "refuted", "0.000617, 0.6838 and 0.9900"),
    ("C37", "best kappa, beta = .1", "refuted", "0.7323 and from 5 to 6 at 0.7878"),
    ("C37", "128 tokens", "supported", "kappa = 7 (45.22 steps, 99th percentile 57.5)"),
    ("C38", "alpha = 0.7:", "supported", "-0.4286"),
    ("C38", "alpha = 0.85:", "supported", "-0.1765"),
    ("C38", "alpha = 0.95:", "refuted", "-0.0526"),
    ("C38", "the alpha beyond", "refuted", "0.9091"),
    ("C38", "the interval as measured", "not-testable", "between -0.4286 and 1"),
    ("C21", "algebra, limit of reading R1", "supported", "S* = 1.9808"),
    ("C21", "algebra, limit of reading R2", "refuted", "10.0000"),
    ("C21", "algebra, limit of reading R3", "refuted", "0.9091"),
    ("C21", "algebra, limit of reading R4", "supported", "S* = 1.9808"),
    ("C21", "algebra, limit of reading R6", "refuted", "2.5000"),
]
"""id, beginning of the reading (or all of it), verdict, what the correction says."""


def rows(modules) -> list[Claim]:
    return [claim for module in modules for claim in module.claims()]


@functools.cache
def judged() -> dict:
    limits = [row for row in optimum.claims() if row.reading.startswith("algebra, limit of")]
    return {(v.claim.id, v.claim.reading): v for v in judge([*rows(NEW), *limits], Lab(1), STAGES["quick"])}


def of(claim_id: str, start: str):
    """The one row with this reading, or else the one whose reading begins so."""
    found = [v for (i, reading), v in judged().items() if i == claim_id and reading.startswith(start)]
    exact = [v for v in found if v.claim.reading == start]
    (own,) = exact or found
    return own


def test_every_new_row_is_expected_here():
    assert len(EXPECTED) == len(judged())
    assert len({(v.claim.id, v.claim.reading) for v in (of(i, start) for i, start, *_ in EXPECTED)}) == len(EXPECTED)


@pytest.mark.parametrize(("claim_id", "start", "verdict", "text"), EXPECTED)
def test_verdict_and_correction(claim_id, start, verdict, text):
    own = of(claim_id, start)
    assert own.verdict == verdict
    assert text in own.claim.instead


@pytest.mark.parametrize("claim", rows((*NEW, *OLD)), ids=lambda claim: f"{claim.id} {claim.reading[:40]}")
def test_a_correction_ends_in_a_number_and_algebra_is_done_twice(claim):
    last = re.split(r"[.;] (?=[A-Za-z])", claim.instead)[-1]
    assert re.search(r"\d", last), claim.instead
    if isinstance(claim.quantity, Formula) and claim.id != "C19":  # which counts a table
        second = claim.quantity.second()
        assert second is not None
        assert claim.quantity.agrees(claim.quantity.exact(), second)


def test_a_second_route_that_is_a_little_wrong_is_seen():
    for claim in rows((*NEW, *OLD)):
        own = claim.quantity
        if isinstance(own, Formula) and own.again is not None:
            value = own.exact()
            assert not own.agrees(value, value + 2e-5 * max(1.0, abs(value)))


def test_what_cannot_be_tested_says_why():
    why = [claim.quantity.why for claim in rows(NEW) if isinstance(claim.quantity, Untestable)]
    assert len(why) == 7
    assert all(len(text) > 40 for text in why)


NUMBERS = {
    **{f"{what}, {p}": w.WindowShare(p, 4, what) for what in w.SHARES for p in (USUAL, CARRIED)},
    **{f"{what}, {p}": w.WindowSpread(p, 4, what) for what in w.SPREADS for p in (USUAL, CARRIED)},
    **{f"{what}, judged": w.JudgedSpread(Markov(alpha=0.7, rho=0.3), 4, what) for what in w.SPREADS},
    "judged share": w.JudgedShare(USUAL, 4),
    "best speed-up": w.BestSpeedup(CARRIED, STANDARD, tuple(range(9))),
    "weighted": w.Weighted(((2.0, w.JudgedShare(USUAL, 4)), (-1.0, w.WindowShare(USUAL, 4, "accepted over drafted")))),
}


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "supported"), (0.99, "refuted"), (1.01, "refuted")])
def test_planted_claims_on_every_quantity(factor, verdict):
    planted = [Claim("X", "0", name, "", formula(own.exact() * factor), own, "") for name, own in NUMBERS.items()]
    said = {v.claim.reading: v.verdict for v in judge(planted, Lab(1), STAGES["quick"])}
    assert said == dict.fromkeys(NUMBERS, verdict)


SEEDS, SMALL = 200, 2**14
ONE = {name: own for name, own in NUMBERS.items() if name not in ("best speed-up", "weighted")}


@functools.cache
def scores() -> dict[str, np.ndarray]:
    """(observed − exact)/error of every quantity with errors of one kind, by seed."""
    out = {name: [] for name in ONE}
    for seed in range(SEEDS):
        lab = Lab(seed, threads=1)
        lab.simulate([need for own in ONE.values() for need in own.needs], SMALL)
        for name, own in ONE.items():
            units = len(lab.judged(own.process, 4)) if name.startswith("judged") or name.endswith("judged") else 0
            units = units or lab.counts(own.process).units
            seen = own.observe(lab, 0.9)
            out[name].append((seen.value - own.exact()) / ((seen.high - seen.value) / student(0.9, units)))
    return {name: np.array(found) for name, found in out.items()}


@pytest.mark.parametrize("name", ONE)
def test_error_bars_are_as_wide_as_estimates_scatter(name):
    """Σ z² of 200 seeds is χ² on 200; false alarm 1e-6 over all.  An error bar a third too narrow or wide fails."""
    total = float((scores()[name] ** 2).sum())
    share = 1e-6 / len(ONE)
    assert chi2.ppf(share / 2, SEEDS) < total < chi2.ppf(1 - share / 2, SEEDS)


@pytest.mark.parametrize("factor", [0.66, 1.5])
def test_a_wrong_error_bar_would_be_seen(factor):
    share = 1e-6 / len(ONE)
    for found in scores().values():
        total = float((found**2).sum()) / factor**2
        assert not chi2.ppf(share / 2, SEEDS) < total < chi2.ppf(1 - share / 2, SEEDS)


def test_searches_refuse_what_they_cannot_find():
    assert root(lambda x: 1.0 - x, 0.0, 3.0) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="no change of sign"):
        root(lambda x: x * x + 1.0, -1.0, 1.0)
    assert peak(lambda x: x * np.exp(-x), 0.0, 5.0) == pytest.approx(1.0, abs=1e-9)
    assert slope(np.exp, 1.0) == pytest.approx(np.e, rel=1e-11)
    assert limit(lambda x: 3.0 - 2.0 / x + 5.0 / x**2) == pytest.approx(3.0, abs=1e-9)
