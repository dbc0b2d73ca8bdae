"""Claim C55, the third open question: what is the bound with K drafts, and does it need a new divergence?

Rows rest on two routes: the set formula 1 + min_H [p(H) − q(H)^K], and a linear programme over drafted multisets.
"""

from __future__ import annotations

import functools
from functools import partial

import numpy as np

from simspec import theory
from simspec.claims.claim import Claim, Says, above, below, formula, integer, untestable
from simspec.claims.quantity import Formula
from simspec.claims.random_pairs import PAIRS, Words
from simspec.claims.setup import STANDARD
from simspec.theory.law import FloatArray

LP = 1e-8
"""Tolerance of the linear programme."""
RANDOM_PAIRS, RANDOM_TOKENS = 200, 3


def claims() -> list[Claim]:
    """Rows of C55."""
    return [*_independence(), *_divergence(), *_limit(), *_speed()]


def best(name: str, draws: int) -> float:
    """α*_K of a named pair by the set formula."""
    target, draft = PAIRS[name]
    return theory.transport_optimum(target, [draft] * draws).acceptance


def programmed(name: str, draws: int) -> float:
    """The same by linear programming."""
    return theory.transport_programme(*PAIRS[name], draws)


def optimum(name: str, draws: int) -> Formula:
    """α*_K with both routes."""
    return Formula(partial(best, name, draws), again=partial(programmed, name, draws), tolerance=LP)


def _independence() -> list[Claim]:
    row = partial(Claim, "C55", "8")
    rows = []
    statement = "K drafts accept like K independent trials, 1 - (1 - alpha)^K."
    for name, draws in (("three tokens", 2), ("three tokens", 3), ("two tokens", 2)):
        target, draft = PAIRS[name]
        found = theory.acceptance_by_draws(target, draft, draws)
        k = draws - 1
        rows.append(
            row(
                f"p = {target}, q = {draft}, K = {draws}: best acceptance of a lossless scheme",
                statement,
                formula(float(found.independent[k])),
                optimum(name, draws),
                f"Independent trials would give {found.independent[k]:.4f}; recursive rejection has "
                f"{found.recursive[k]:.4f}, K-SEQ {found.k_seq[k]:.6f}, the optimum is {found.optimum[k]:.4f}.",
            )
        )
    share = share_above()
    return [
        *rows,
        row(
            f"{RANDOM_PAIRS} random pairs of {RANDOM_TOKENS} tokens, K = 2: share whose optimum exceeds 1 - (1 - "
            "alpha)^2",
            "1 - (1 - alpha)^K is an upper bound.",
            integer(0),
            Formula(share_above, again=partial(share_above, True)),
            f"It bounds recursive rejection and K-SEQ, not the optimum: exceeded in {share:.0%} of these pairs.",
        ),
    ]


@functools.cache
def _random_pairs() -> tuple[tuple[FloatArray, FloatArray], ...]:
    words = Words("pairs of claim C55")
    return tuple(tuple(words.rows(RANDOM_TOKENS, 1)[:2]) for _ in range(RANDOM_PAIRS))


@functools.cache
def share_above(programme: bool = False) -> float:
    """Share of random pairs whose optimum with two drafts exceeds that of independent trials."""
    above_ = 0
    for target, draft in _random_pairs():
        if programme:
            found = theory.transport_programme(target, draft, 2)
        else:
            found = theory.transport_optimum(target, [draft] * 2).acceptance
        alpha = float(np.minimum(target, draft).sum())
        above_ += found > 1 - (1 - alpha) ** 2 + 1e-7
    return above_ / RANDOM_PAIRS


def _divergence() -> list[Claim]:
    row = partial(Claim, "C55", "8")
    peaked, flat = "peaked target, flat draft", "flat target, peaked draft"
    target, draft = PAIRS[peaked]
    gap = best(peaked, 2) - best(flat, 2)
    half = theory.renyi(target, draft, 0.5)
    return [
        untestable(
            "C55",
            "8",
            "the divergence itself",
            "The optimum needs a collaborative Renyi divergence of K drafts.",
            "the article leaves this divergence undefined",
            "None is needed: the optimum is 1 + min over token sets H of p(H) - q(H)^K; for p = (.5, .3, .2), "
            f"q = (.2, .3, .5), K = 2 it is {best('three tokens', 2):.2f}.",
        ),
        row(
            f"p = {target}, q = {draft}, K = 2: optimum minus that with p and q exchanged",
            "A divergence of order 1/2 between target and draft fixes the bound with K drafts.",
            Says(-0.001, 0.001),
            Formula(
                lambda: best(peaked, 2) - best(flat, 2),
                again=lambda: programmed(peaked, 2) - programmed(flat, 2),
                tolerance=LP,
            ),
            f"Exchanging p and q leaves alpha = {best(peaked, 1):.2f} and D_1/2 = {half:.4f} as they are; the "
            "optimum with "
            f"two drafts goes from {best(peaked, 2):.4f} to {best(flat, 2):.4f}, {gap:.4f} apart.",
        ),
    ]


def _limit() -> list[Claim]:
    row = partial(Claim, "C55", "8")
    statement = "With enough drafts every position is accepted."
    lost, apart = "one token never drafted", "disjoint supports"
    return [
        row(
            "p = (.5, .3, .2), q = (.2, .3, .5), K = 4: optimum",
            statement,
            integer(1),
            optimum("three tokens", 4),
            "Where the draft can draw every token of the target, the optimum reaches 1 at a finite K, here at 4: "
            f"{best('three tokens', 3):.4f} with 3, {best('three tokens', 4):.4f} with 4 drafts.",
        ),
        row(
            "p = (.4, .3, .2, .1), q = (.2, .2, .6, 0), K = 16: optimum",
            statement,
            integer(1),
            optimum(lost, 16),
            "It rises to the target's mass on tokens the draft can draw and no further: "
            f"{best(lost, 16):.4f} = p(supp q), reached at K = 3.",
        ),
        row(
            "p and q on disjoint tokens, K = 16: optimum",
            statement,
            integer(1),
            optimum(apart, 16),
            f"Nothing is ever accepted: {best(apart, 16):.4f}.",
        ),
    ]


def _best_speed(draws: int, serial: bool) -> float:
    """Best throughput of the three-token pair, κ up to 64, beta = .1."""
    share = best("three tokens", draws)
    return max(theory.many_drafts_speedup(share, kappa, draws, STANDARD, serial) for kappa in range(65))


def _summed_speed(draws: int, serial: bool) -> float:
    """The same from the programme's acceptance and the series of tokens."""
    share, per_position = programmed("three tokens", draws), 0.1 * (draws if serial else 1)
    return max(sum(share**j for j in range(kappa + 1)) / (1 + per_position * kappa) for kappa in range(65))


def _speed() -> list[Claim]:
    row = partial(Claim, "C55", "8")
    serial = {draws: _best_speed(draws, True) for draws in (1, 3, 16)}
    acceptance = best("three tokens", 3)
    return [
        row(
            "rho_inf(K) as 1/(alpha_K + beta), three tokens, K = 3, beta = .1, drafts side by side: best S, kappa <= "
            "64",
            "The bound with K drafts is 1/(alpha_K + beta).",
            below(1 / (acceptance + 0.1)),
            Formula(partial(_best_speed, 3, False), again=partial(_summed_speed, 3, False), tolerance=1e-6),
            f"1/(alpha_K + beta) = {1 / (acceptance + 0.1):.4f} would be slower than plain decoding. The speed is "
            "(1 + a + ... + a^kappa)/(1 + beta kappa + verification) with a = alpha_K, so (kappa + 1)/(1 + beta "
            "kappa + "
            f"verification) for a = 1; with a = {acceptance:.3f} it is at best {_best_speed(3, False):.3f}.",
        ),
        row(
            "three tokens, drafts made one after the other at .1 each: best S with K = 16 minus K = 1",
            "More drafts raise the bound.",
            above(0.0),
            Formula(
                lambda: _best_speed(16, True) - _best_speed(1, True),
                again=lambda: _summed_speed(16, True) - _summed_speed(1, True),
                tolerance=1e-6,
            ),
            f"Each draft costs: S* is {serial[1]:.3f} with one, {serial[3]:.3f} with 3 and {serial[16]:.3f} with 16.",
        ),
    ]
