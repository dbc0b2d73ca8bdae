"""Are the basic claims judged as algebra says, do their texts hold the numbers, and are the error bars honest?"""

import functools
import re

import numpy as np
import pytest
from scipy.stats import chi2

from simspec.claims import (
    correlation,
    divergences,
    fluctuation,
    grid,
    groundwork,
    latency,
    optimum,
    sentences,
    summary,
    threshold,
)
from simspec.claims import window_quantity as w
from simspec.claims.claim import Claim, formula
from simspec.claims.judge import STAGES, judge
from simspec.claims.lab import Lab
from simspec.claims.quantity import Formula, Untestable
from simspec.claims.search import limit, peak, root, slope
from simspec.claims.setup import article_cost, best_at, one_draft_pays_from
from simspec.model import Cost, Iid, Markov
from simspec.stats.intervals import student

USUAL, CARRIED = Iid(alpha=0.7), Markov(alpha=0.7, rho=0.3, start="carry")
STANDARD = Cost(c_d=0.1)
NEW, OLD = (summary, groundwork, latency, fluctuation), (grid, optimum, threshold, correlation, divergences)

EXPECTED = [
    ("C01", "best kappa at each alpha, beta = 0.05", "refuted", "0.2461 from .70 to .74"),
    ("C01", "best kappa at each alpha, beta = 0.1", "refuted", "0.2048 from .74 to .78"),
    ("C01", "best kappa at each alpha, beta = 0.2", "refuted", "0.1132 from .74 to .78"),
    ("C01", "kappa = 4 at each alpha", "refuted", "0.0149"),
    ("C01", "best kappa at each alpha, beta = .1: second difference", "refuted", "0.3069 from .6 to .7"),
    ("C01", "gain of one more draft, alpha = .7,", "refuted", "0.5455, 0.2795, 0.1235, 0.0323, -0.0200"),
    ("C01", "gain of one more draft, alpha = .78", "refuted", "-0.0200 at 0.7, +0.0054 at 0.74, +0.0385 at 0.78"),
    ("C02", "two pairs with alpha = .7 and D_1/2 = 0.1054 and 0.7133", "refuted", "1.9808 and 1.9808"),
    ("C02", "the alpha from which the optimal-stopping", "refuted", "0.1000"),
    ("C02", "the alpha at which the best whole kappa steps", "supported", "0.6525, 0.7323, 0.7878, 0.8277"),
    ("C02", "the alpha from which one draft beats none, the article's costs, c0 = 1", "refuted", "0.8000 with c0 = 1"),
    (
        "C02",
        "the alpha from which one draft beats none, the article's costs, c0 = .5",
        "refuted",
        "0.5500 with c0 = 0.5",
    ),
    ("C02", "the alpha from which one draft beats none, the article's costs, c0 = 0", "refuted", "0.3000 with c0 = 0"),
    ("C02", "the alpha from which eq. (12) is positive", "refuted", "0.5488"),
    ("C02", "the alpha from which eq. (12) lies in", "refuted", "0.7647"),
    ("C02", "finite-sample phase transition", "not-testable", "between 0.0943 and 0.7133"),
    ("C03", "what two surveys", "not-testable", "kappa* = 4.0245, so 4"),
    ("C03", "a vacuum", "not-testable", "kappa* = 4.0245, so 4"),
    ("C05", "accepted drafts of a decoded window, alpha = .7, kappa = 4", "refuted", "1.7731"),
    ("C05", "accepted drafts of a decoded window, alpha = .7, kappa = 64", "refuted", "limit 2.3333"),
    ("C05", "every draft judged", "supported", "2.8000; where judging stops at the first rejection it is 1.7731"),
    ("C05", "the promised", "not-testable", "0.7000, 1.1900, 1.7731, 2.1988"),
    ("C09", "accepted over examined", "supported", "0.7000"),
    ("C09", "accepted over drafted", "refuted", "0.44327"),
    ("C09", "every draft judged", "supported", "0.7000"),
    ("C15", "every draft judged, alpha = .7, kappa = 4", "supported", "0.0525"),
    ("C15", "decoded window, number accepted over kappa", "refuted", "variance 2.4218, not 0.84"),
    ("C15", "every draft judged, alpha = .7, kappa = 4: what the normal", "refuted", "covers 0.9163"),
    ("C15", "accepted over examined", "refuted", "0.082906"),
    ("C16", "every draft judged", "supported", "0.1600"),
    ("C16", "decoded window, kappa = 4: variance", "refuted", "1.4336 at .5 and 2.5823 at 0.78"),
    ("C16", "decoded window, kappa = 4: the alpha", "refuted", "0.7805 for kappa = 4, 0.8610 for 7 and 0.9466 for 20"),
    ("C16", "decoded window, kappa = 1", "supported", "0.5000"),
    ("C17", "reading R1, T = κβ + ακ + (1 − α): latency of accepting", "refuted", "in 3.1583 plain target steps"),
    ("C17", "reading R4, T = κβ + ακ + (1 − α^κ): latency of accepting", "refuted", "in 3.1583 plain target steps"),
    ("C17", "reading R1, T = κβ + ακ + (1 − α): latency of 4 tokens", "refuted", "out in 2.0194"),
    ("C17", "reading R4, T = κβ + ακ + (1 − α^κ): latency of 4 tokens", "refuted", "out in 2.0194"),
    ("C17", "reading R1, T = κβ + ακ + (1 − α): cost of a round", "refuted", "= 1.4000"),
    ("C17", "reading R4, T = κβ + ακ + (1 − α^κ): cost of a round", "refuted", "= 1.4000"),
    ("C17", "reading R1: cost at", "refuted", "changes by 0.0000, not by 0.45"),
    ("C17", "third term of R1", "refuted", "0.7599"),
    ("C17", "third term of R4", "supported", "0.7599"),
    ("C18", "tokens of a decoded window", "refuted", "2.7731 tokens"),
    ("C18", "reading R1, kappa = 1,", "refuted", "1.5455, not 0.9091"),
    ("C18", "reading R1, kappa = 4,", "refuted", "1.9808, not 1.1429"),
    ("C18", "reading R1, kappa = 8,", "refuted", "1.7771, not 1.1940"),
    ("C18", "reading R1, kappa = 100,", "refuted", "0.3030, not 1.2453"),
    ("C18", "reading R4", "refuted", "1.9808, not 1.0101"),
    ("C19", "typical hardware", "not-testable", "from 0.020 to 0.209; 4 of 7"),
    ("C19", "share of 7 published pairs, with .209 as .2", "supported", "4 of 7 lie"),
    ("C19", "share of 7 published pairs, with .209 outside", "refuted", "and 3 exactly"),
    ("C28", "eq. (12)", "refuted", "kappa* = 0 if c0 = 1, 1 if c0 = 0.5, 1 if c0 = 0"),
    ("C28", "optimum of throughput", "supported", "89.8%"),
    ("C28", "the consensus", "not-testable", "from 2 to 10"),
    ("C34", "(a) sqrt(kappa alpha (1 - alpha))/kappa, every draft judged, kappa = 4", "supported", "kappa = 4.81"),
    ("C34", "(a) sqrt(kappa alpha (1 - alpha))/kappa, every draft judged, kappa = 5", "refuted", "0.1962"),
    ("C34", "(a) sqrt(kappa alpha (1 - alpha))/kappa, decoded", "refuted", "over kappa is 0.3982, not 0.2193"),
    ("C34", "(b) sqrt((1 - alpha)/(kappa alpha)), every draft judged, kappa = 4", "supported", "kappa = 8.78"),
    ("C34", "(b) sqrt((1 - alpha)/(kappa alpha)), every draft judged, kappa = 5", "supported", "0.2651"),
    ("C34", "(b) sqrt((1 - alpha)/(kappa alpha)), decoded", "refuted", "over its mean is 0.7993, not 0.2964"),
    ("C34", "(a), every draft judged", "refuted", "0.8000"),
    ("C34", "(b), every draft judged", "refuted", "0.8621"),
    ("C34", "decoded window, deviation of the number", "refuted", "0.9791"),
    ("C34", "every draft judged", "supported", "from 0.3422 to 0.2240"),
    ("C34", "decoded window", "refuted", "from 0.7339 to 0.9498"),
    ("C34", "every draft judged, alpha = .74, kappa = 4, where", "refuted", "0.457%"),
    ("C34", "decoded window, alpha = .74, kappa = 4, where", "supported", "1 - alpha = 0.26"),
    *(
        ("C36", f"every draft judged, kappa = {k}: the alpha of 1%", "refuted", "0.7846 at kappa = 3")
        for k in (3, 4, 5)
    ),
    ("C36", "every draft judged, kappa = 3, alpha = .72", "supported", "2.195% there; 1% lies at alpha = 0.7846"),
    ("C36", "every draft judged, kappa = 4, alpha = .72", "refuted", "0.615% there; 1% lies at alpha = 0.6838"),
    ("C36", "every draft judged, kappa = 4, alpha = .76", "supported", "0.332%"),
    ("C36", "first draft rejected", "supported", "28%, on both sides of .74"),
    ("C36", "decoding window, no draft accepted", "refuted", "24%; below 1% it is only from alpha = 0.99"),
    ("C37", "every draft judged, alpha = .8", "supported", "0.16% at alpha = .8"),
    ("C37", "decoded window, no draft accepted, alpha = .8", "refuted", "20%"),
    ("C37", "decoded window, no draft accepted, limit 1%", "refuted", "0.9900"),
    ("C37", "sections 4.1 and 4.2 together", "refuted", "0.000617 and 0.6838"),
    ("C37", "128 tokens", "supported", "kappa = 7 (45.22 steps, 99th percentile 57.5)"),
    ("C38", "alpha = 0.7:", "supported", "-0.4286"),
    ("C38", "alpha = 0.85:", "supported", "-0.1765"),
    ("C38", "the interval as measured", "not-testable", "between -0.4286 and 1"),
    ("C21", "algebra, limit of reading R1", "supported", "largest at kappa = 4, 1.9808"),
    ("C21", "algebra, limit of reading R4", "supported", "largest at kappa = 4, 1.9808"),
    ("C21", "algebra, the limit 1/(alpha + beta)", "refuted", "from 1.4286 to 1.0000"),
    ("C21", "algebra, reading R1, kappa = 4", "refuted", "from 1.2500 to 0.9756"),
    ("C24", "eq. (12) as a root of eq. (11)", "refuted", "4.0245 at alpha = .7"),
    ("C24", "eq. (12) as a root of c_r alpha^kappa", "refuted", "the root -1.4582"),
    ("C24", "eq. (12) as the optimum of throughput, the article's costs, c0 = 1", "refuted", "0.8947"),
    ("C24", "eq. (12) as the optimum of throughput, the article's costs, c0 = .5", "supported", "1.2143"),
    ("C24", "eq. (12) as the optimum of throughput, the article's costs, c0 = 0", "supported", "1.8889"),
    ("C24", "eq. (12) as the optimum of the article's rho", "refuted", "towards 1/(c_d + c_v) = 1.6667"),
    ("C24", "direction of eq. (12) in beta", "refuted", "falls from 6 to 2"),
    ("C25", "eq. (12) as coded", "refuted", "1.4582 and reaches 4.3 at alpha = 0.7973"),
    ("C25", "optimum of throughput, the same costs, c0 = 1", "refuted", "so the best kappa is 0"),
    ("C25", "optimum of throughput, the same costs, c0 = .5", "refuted", "so the best kappa is 1"),
    ("C25", "optimum of throughput, the same costs, c0 = 0", "refuted", "so the best kappa is 1"),
    ("C25", "optimum of throughput, standard costs, continuous", "refuted", "4.0245"),
    ("C25", "optimum of throughput, standard costs, integer", "supported", "is 4, with the speed-up 1.9808"),
    ("C26", "the listing itself", "refuted", "0.31, 0.66, 1.15, 1.83, 2.85, 4.43, 7.09"),
    ("C26", "eq. (12), share of the grid", "refuted", "on 29.9%"),
    ("C26", "eq. (12), geometric median", "refuted", "2.0607"),
    ("C26", "optimum of throughput, standard costs, share", "supported", "89.8%"),
    ("C26", "continuous optimum of throughput", "supported", "4.05"),
    ("C30", "algebra, reading R1 with the first-order", "supported", "90.91%"),
    ("C33", "d rho_inf/d alpha at alpha = .74", "refuted", "-1.417, not -1"),
    ("C33", "the alpha at which the slope of rho_inf is that of", "refuted", "0.9000"),
    ("C33", "the alpha at which the slope of rho_inf is the relative", "refuted", "0.5619"),
    ("C33", "the alpha at which both relative rates", "refuted", "0.4500"),
    ("C40", "no draft accepted in a decoding window", "supported", "0.4249 where the chain is carried"),
    ("C40", "first draft rejected, so none accepted, each window afresh", "refuted", "0.3000 where each window starts"),
    ("C40", "first draft rejected, so none accepted, chain by sequence", "supported", "0.4452 by sequence position"),
    ("C40", "first draft rejected, so none accepted, chain advanced", "supported", "0.3334 where it advances"),
]
"""id, beginning of the reading (or all of it), verdict, what the correction says."""


ONE_ROUTE = ("share of 7 published pairs", "algebra, reading R1, kappa = 4")
"""Readings of formulas that have no second route: a table counted, a fraction evaluated."""


def rows(modules) -> list[Claim]:
    return [claim for module in modules for claim in module.claims()]


@functools.cache
def judged() -> dict:
    others = [
        row for row in rows(OLD) if any(row.id == i and row.reading.startswith(start) for i, start, *_ in EXPECTED)
    ]
    return {(v.claim.id, v.claim.reading): v for v in judge([*rows(NEW), *others], Lab(1), STAGES["quick"])}


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
    if isinstance(claim.quantity, Formula) and not claim.reading.startswith(ONE_ROUTE):
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
    **{
        f"cost per {of}, {p}": w.CostPer(p, 4, STANDARD, 4.0, of)
        for of in ("accepted", "tokens")
        for p in (USUAL, CARRIED)
    },
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


def slowest_hundredth(alpha, kappa, tokens):
    """99th percentile of the time at a draft cost of .1, in tenths of a step, by a pass forwards over the tokens."""
    law = np.zeros((tokens + 1, 11 * tokens + 1))
    law[0, 0] = 1.0
    for out in range(tokens):
        drafts = min(kappa, tokens - 1 - out)  # no more than is still needed beside the round's own token
        for accepted in range(drafts + 1):
            chance = alpha**accepted * (1.0 - alpha if accepted < drafts else 1.0)
            law[out + accepted + 1, 10 + drafts :] += chance * law[out, : law.shape[1] - 10 - drafts]
    return int(np.argmax(np.cumsum(law[-1]) >= 0.99 - 1e-12))


def test_the_sentence_on_74_says_what_the_last_round_does():
    """The one step near .74, with either last round; where a cut round steps is found again by another route."""
    text, command = sentences.at_74()
    assert command == "simspec phase"
    for figure in ("0.7323", "0.7878", "where a draft costs 0.1054", "0.000617", "0.6838", "draft cost of 0.1"):
        assert figure in text
    assert "0.7442 if every round drafts all κ" in text
    assert "from 0.7363 to 0.7391 if the last drafts no more than is still needed" in text
    assert "at 0.7344 already where a draft costs 0.0999" in text
    wins = [
        slowest_hundredth(alpha, 4, 128) < slowest_hundredth(alpha, 3, 128) for alpha in (0.7362, 0.7363, 0.739, 0.7391)
    ]
    assert wins == [False, True, False, True]


def test_the_sentence_on_break_even_says_which_c0():
    text, _ = sentences.break_even()
    for figure in ("with c0 = 1, a plain step", "α > 0.10", "c0 = 1 it is α > 0.80", "leaves its c_0 open"):
        assert figure in text
    assert "c_0 = 0.5 from 0.55 on (α = 0.7: κ = 1, speed-up 1.2143)" in text
    assert "c_0 = 0 from 0.30 on (α = 0.7: κ = 1, speed-up 1.8889)" in text


@pytest.mark.parametrize(("overhead", "edge", "best"), [(1.0, 0.8, 0), (0.5, 0.55, 1), (0.0, 0.3, 1)])
def test_the_overhead_the_article_leaves_open_decides_whether_a_draft_pays(overhead, edge, best):
    """κ = 0 is plain decoding, cost 1, whatever c_0; (1 + α) tokens against c_0 + .6 + (1 − α)."""
    cost = article_cost(overhead)
    assert cost.of_round(0, rejected=False) == 1.0
    assert cost.of_round(3, rejected=True) == pytest.approx(overhead + 3 * 0.6 + 1.0)
    assert one_draft_pays_from(overhead) == pytest.approx(edge)
    assert (1 + edge) / (overhead + 0.6 + 1 - edge) == pytest.approx(1.0)
    assert best_at(0.7, cost) == best
    assert best_at(edge + 0.01, cost) == 1
    assert best_at(edge - 0.01, cost) == 0
