"""Do hidden states and token contexts that run on over windows have the law of their listed paths?"""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from theory_brute import (
    hidden_lane_counts,
    hidden_lane_counts_by_powers,
    hidden_rows,
    walked_start,
)

from simspec.model.chains import Hmm, TokenChain
from simspec.model.cost import Cost
from simspec.model.errors import ParameterError
from simspec.model.iid import Iid
from simspec.model.markov import Markov
from simspec.model.process import Process
from simspec.theory import optimum, survival_curve, token_alpha, unit_counts, window
from simspec.theory.lanes import long_run_law

EXACT = {"rtol": 1e-10, "atol": 1e-12}
TWO, THREE = [[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5, 0.0], [0.0, 0.2, 0.8], [0.3, 0.3, 0.4]]
DRAFT = [[0.2, 0.6, 0.2], [0.1, 0.2, 0.7], [0.3, 0.0, 0.7]]
CARRIED: list[Hmm | TokenChain] = [
    Hmm(P=TWO, alphas=[0.95, 0.4], start="carry"),
    Hmm(P=TWO, alphas=[0.95, 0.4], start="carry", steps_after_reject=2, steps_after_full=3),
    Hmm(P=TWO, alphas=[0.0, 1.0], start="carry", steps_after_full=2),
    Hmm(P=[[0.0, 1.0], [1.0, 0.0]], alphas=[0.7, 0.3], start="carry"),
    Hmm(P=[[0.5, 0.5], [0.0, 1.0]], alphas=[0.7, 0.3], start="carry"),  # state 0 is left for ever
    Hmm(P=[[1.0]], alphas=[0.6], start="carry"),
    TokenChain(target=TWO, draft=[[0.5, 0.5], [0.5, 0.5]]),
    TokenChain(target=TWO, draft=TWO),
    TokenChain(target=[[1.0, 0.0], [1.0, 0.0]], draft=[[0.0, 1.0], [0.0, 1.0]]),  # disjoint: all rejected
]
WIDE: list[Hmm | TokenChain] = [
    Hmm(P=THREE, alphas=[0.9, 0.5, 0.0], start="carry", steps_after_reject=3),
    TokenChain(target=THREE, draft=DRAFT),
]
NAMES = [f"{process.type} {i}" for i, process in enumerate(CARRIED + WIDE)]


@pytest.mark.parametrize(
    ("process", "kappa"),
    [(process, kappa) for process in CARRIED for kappa in (1, 2, 5, 10)]
    + [(process, kappa) for process in WIDE for kappa in (1, 2, 4, 7)],
)
def test_a_window_has_the_law_of_its_listed_hidden_paths(process: Hmm | TokenChain, kappa: int) -> None:
    rows = hidden_rows(process, kappa)
    accepted = np.arange(kappa + 1)
    pmf = walked_start(rows.sum(axis=1)) @ rows.sum(axis=2)
    law = window(process, kappa)
    assert_allclose(law.pmf_accepted, pmf, **EXACT)
    assert_allclose(law.mean_tokens, pmf @ accepted + 1.0, **EXACT)
    assert_allclose(law.mean_examined, pmf @ np.minimum(accepted + 1, kappa), **EXACT)
    assert_allclose(law.p_full, pmf[-1], **EXACT)


@pytest.mark.parametrize("process", CARRIED + WIDE, ids=NAMES)
def test_the_search_takes_the_windows_one_by_one(process: Process) -> None:
    cost = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
    found = optimum(process, cost, 12).speedup_by_kappa
    one_by_one = [
        law.mean_tokens / (1.0 + kappa * 0.12 + 0.3 * (1.0 - law.p_full))
        for kappa in range(13)
        for law in [window(process, kappa)]
    ]
    assert_allclose(found, one_by_one, **EXACT)


@pytest.mark.parametrize("process", CARRIED, ids=NAMES[: len(CARRIED)])
@pytest.mark.parametrize(("kappa", "rounds"), [(1, 1), (1, 5), (2, 3), (3, 2)])
def test_counts_of_a_short_lane_vary_as_its_listed_paths(process: Hmm | TokenChain, kappa: int, rounds: int) -> None:
    listed = hidden_lane_counts(hidden_rows(process, kappa), rounds)
    for mine, theirs in zip(unit_counts(process, kappa, rounds), listed, strict=True):
        assert_allclose(mine, theirs, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("process", CARRIED + WIDE, ids=NAMES)
@pytest.mark.parametrize("rounds", [2, 37, 300])
def test_counts_of_a_long_lane_vary_as_its_pairs_of_windows(process: Hmm | TokenChain, rounds: int) -> None:
    listed = hidden_lane_counts_by_powers(hidden_rows(process, 3), rounds)
    for mine, theirs in zip(unit_counts(process, 3, rounds), listed, strict=True):
        assert_allclose(mine, theirs, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("kappa", [1, 2, 5, 10])
def test_a_fresh_hidden_window_has_the_law_of_its_listed_paths(kappa: int) -> None:
    swap, absorbed = [[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.5, 0.5]]
    for moves, alphas in ((TWO, [0.95, 0.4]), (swap, [1.0, 0.3]), (absorbed, [0.2, 1.0])):
        process = Hmm(P=moves, alphas=alphas)
        pmf = walked_start(np.array(moves)) @ hidden_rows(process, kappa).sum(axis=2)
        assert_allclose(window(process, kappa).pmf_accepted, pmf, **EXACT)
        assert_allclose(survival_curve(process, kappa), pmf[::-1].cumsum()[::-1][1:], **EXACT)


@pytest.mark.parametrize("steps", [(1, 1), (1, 2), (2, 2), (5, 4)])
@pytest.mark.parametrize(("alpha", "rho"), [(0.7, 0.3), (0.55, -0.4), (0.8, -0.25), (0.9, 0.999), (0.6, 0.0)])
def test_a_two_state_chain_is_a_hidden_one_that_always_says_its_state(
    alpha: float, rho: float, steps: tuple[int, int]
) -> None:
    jumps = {"start": "carry", "steps_after_reject": steps[0], "steps_after_full": steps[1]}
    up, stay = alpha * (1.0 - rho), alpha + rho * (1.0 - alpha)
    hidden = Hmm(P=[[1.0 - up, up], [1.0 - stay, stay]], alphas=[0.0, 1.0], **jumps)
    plain = Markov(alpha=alpha, rho=rho, **jumps)
    for kappa in (1, 4, 30):
        assert_allclose(window(hidden, kappa).pmf_accepted, window(plain, kappa).pmf_accepted, **EXACT)
        for mine, theirs in zip(unit_counts(hidden, kappa, 500), unit_counts(plain, kappa, 500), strict=True):
            assert_allclose(mine, theirs, rtol=1e-8, atol=1e-9)
    cost = Cost(c_d=0.1, c_r=0.4)
    assert_allclose(optimum(hidden, cost).speedup_by_kappa, optimum(plain, cost).speedup_by_kappa, **EXACT)


def test_a_window_without_drafts_rejects_nothing() -> None:
    for process in CARRIED:
        law = window(process, 0)
        assert (law.pmf_accepted.tolist(), law.p_full, law.mean_examined, law.mean_tokens) == ([1.0], 1.0, 0.0, 1.0)
        assert unit_counts(process, 0, 9)[1].tolist() == [[0.0]]


def test_where_windows_never_mix_there_is_no_long_run() -> None:
    swap = [[0.0, 1.0], [1.0, 0.0]]
    steps = {"start": "carry", "steps_after_reject": 2, "steps_after_full": 2}
    stuck = [(Hmm(P=swap, alphas=[0.7, 0.3], **steps), 1), (TokenChain(target=swap, draft=swap), 3)]
    for process, kappa in stuck:
        for ask in (lambda p=process, k=kappa: window(p, k), lambda p=process, k=kappa: unit_counts(p, k, 5)):
            with pytest.raises(ParameterError, match="no long-run law") as caught:
                ask()
            assert caught.value.key == "kappa"
        found = optimum(process, Cost(c_d=0.1), 4).speedup_by_kappa
        assert np.isnan(found[kappa])
        assert np.isfinite(found[[0, kappa - 1 or 2]]).all()
    assert window(stuck[1][0], 2).mean_tokens == pytest.approx(3.0)


def test_counts_of_a_huge_lane_add_up() -> None:
    for process in (CARRIED[1], WIDE[1]):
        mean, covariance = unit_counts(process, 4, 10**9)
        assert mean.sum() == pytest.approx(1e9)
        assert np.abs(covariance.sum(axis=0)).max() < 1e-4  # of variances near 10⁹
        per_window = unit_counts(process, 4, 10**6)[1] / 10**6
        assert_allclose(covariance / 1e9, per_window, atol=1e-5)


# -------------------------------------------------------------------------------------------------- token laws


def listed_verdicts(process: TokenChain) -> tuple[float, float]:
    """(α, ρ) from the joint law of two successive verdicts on tokens that follow the target, token by token."""
    target, draft = np.array(process.target), np.array(process.draft)
    law = walked_start(target)
    rate = [sum(min(p, q) for p, q in zip(target[c], draft[c], strict=True)) for c in range(len(target))]
    alpha = sum(law[c] * rate[c] for c in range(len(target)))
    both = sum(
        law[c] * draft[c, x] * min(1.0, target[c, x] / draft[c, x]) * rate[x]
        for c in range(len(target))
        for x in range(len(target))
        if draft[c, x] > 0.0
    )
    return alpha, (both - alpha**2) / (alpha * (1.0 - alpha))


def test_token_laws_make_their_own_correlation() -> None:
    for process in (WIDE[1], CARRIED[6]):
        assert_allclose(token_alpha(process), listed_verdicts(process), **EXACT)
        alpha, rho = token_alpha(process)
        law = window(process, 400)  # bonus tokens, which get no verdict, are rare there
        assert law.mean_accepted / law.mean_examined == pytest.approx(alpha, abs=1e-9)
        assert abs(rho) > 1e-3
    assert token_alpha(CARRIED[7]) == (pytest.approx(1.0, abs=1e-15), pytest.approx(0.0, abs=1e-9))
    assert token_alpha(CARRIED[8]) == (0.0, 0.0)


def test_context_free_token_laws_are_iid() -> None:
    process = TokenChain(target=[[0.7, 0.3]] * 2, draft=[[0.5, 0.5]] * 2)
    assert_allclose(token_alpha(process), (0.8, 0.0), atol=1e-15)
    assert_allclose(window(process, 6).pmf_accepted, window(Iid(alpha=0.8), 6).pmf_accepted, **EXACT)


def test_rows_that_nearly_add_up_are_normalised() -> None:
    rough = TokenChain(target=[[0.7000004, 0.3], [0.4, 0.6]], draft=[[0.5, 0.5], [0.5, 0.5000003]])
    law = window(rough, 5)
    assert law.pmf_accepted.sum() == pytest.approx(1.0, abs=1e-14)
    assert Hmm(P=[[0.5000004, 0.5], [0.5, 0.5]], alphas=[0.5, 0.5]).unit == "window"


def test_the_long_run_law_of_a_nearly_decomposable_chain_keeps_its_digits() -> None:
    a, b = 1e-13, 3e-13
    assert_allclose(long_run_law(np.array([[1.0 - a, a], [b, 1.0 - b]])), [0.75, 0.25], rtol=1e-14)


def test_a_vocabulary_of_256_is_quick() -> None:
    rows = np.random.default_rng(1).dirichlet(np.full(256, 0.1), (2, 256))
    process = TokenChain(target=rows[0].tolist(), draft=rows[1].tolist())
    began = time.perf_counter()
    optimum(process, Cost(c_d=0.1), 16)
    assert time.perf_counter() - began < 8.0  # .6 s on an idle core
