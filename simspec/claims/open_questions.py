"""Claim C55, the third open question: what is the bound with K drafts, and does it need a new divergence?

Acceptance rests on the set formula 1 + min_H [p(H) − q(H)^K], on a linear programme over drafted multisets, and on
rounds that are played draft by draft.  Rows hold only what the article conjectures or what its own (9) becomes with K
drafts.
"""

from __future__ import annotations

from functools import partial

from simspec import theory
from simspec.claims.claim import Claim, Says, above, below, integer, untestable
from simspec.claims.draws_quantity import DraftsKept, DraftsSpeed, FarthestKept, Pair, ShareBeyond, set_formula
from simspec.claims.quantity import Formula, difference
from simspec.claims.random_pairs import PAIRS, Words
from simspec.claims.setup import STANDARD
from simspec.model import Cost

RANDOM_PAIRS, RANDOM_TOKENS, PLAYED_PAIRS = 200, 3, 24
KAPPA = 4
"""Levels of drafts where speed is played."""
SERIAL = Cost(c_d=3 * STANDARD.c_d)
"""Three drafts per level, made one after the other."""


def claims() -> list[Claim]:
    """Rows of C55."""
    return [*_bound(), *_divergence(), *_speed()]


def best(name: str, draws: int) -> float:
    """α*_K of a named pair by the set formula."""
    return set_formula(PAIRS[name], draws)


def programmed(name: str, draws: int) -> float:
    """The same by linear programming."""
    return theory.transport_programme(*PAIRS[name], draws)


def random_pairs(many: int) -> tuple[Pair, ...]:
    """The first of a list of random targets and drafts."""
    words = Words("pairs of claim C55")
    drawn = [words.rows(RANDOM_TOKENS, 1)[:2].tolist() for _ in range(many)]
    return tuple((tuple(target), tuple(draft)) for target, draft in drawn)


def farthest() -> float:
    """Largest distance of the set formula from the linear programme, to 9 digits: named and random pairs."""
    named = [abs(best(name, draws) - programmed(name, draws)) for name in PAIRS for draws in (1, 2, 3)]
    drawn = random_pairs(RANDOM_PAIRS)
    found = [abs(set_formula(pair, 2) - theory.transport_programme(*pair, 2)) for pair in drawn]
    return round(max(named + found), 9)


def _bound() -> list[Claim]:
    three, two = (theory.acceptance_by_draws(*PAIRS[name], 3) for name in ("three tokens", "two tokens"))
    lost = "one token never drafted"
    return [
        untestable(
            "C55",
            "8",
            "the bound",
            "What the bound with K drafts is, is not known.",
            "a question, and a statement about the literature",
            "The best acceptance of a lossless scheme is 1 + min over token sets H of p(H) - q(H)^K. For p = (.5, .3, "
            f".2), q = (.2, .3, .5) it is {three.optimum[1]:.4f} with K = 2 and {three.optimum[2]:.4f} with 3; "
            f"recursive rejection has {three.recursive[1]:.4f} and {three.recursive[2]:.4f}, K-SEQ "
            f"{three.k_seq[1]:.6f} and {three.k_seq[2]:.6f}, independent trials {three.independent[1]:.4f} and "
            f"{three.independent[2]:.4f}. It can exceed independent trials: {two.optimum[1]:.4f} against "
            f"{two.independent[1]:.4f}, K-SEQ {two.k_seq[1]:.6f}, for p = (.4, .6), q = (.6, .4), K = 2. Where target "
            "and draft have the same tokens it reaches 1 at a finite K, in the first pair at 4: "
            f"{best('three tokens', 4):.4f}; where the draft lacks a token, it ends at the target's mass on the "
            f"others, {best(lost, 16):.4f} for p = (.4, .3, .2, .1), q = (.2, .2, .6, 0).",
        ),
        untestable(
            "C55",
            "8",
            "the divergence itself",
            "The optimum needs a collaborative Renyi divergence of K drafts.",
            "the article leaves this divergence undefined",
            "None is needed: the set formula holds only probabilities of token sets, and for p = (.5, .3, .2), "
            f"q = (.2, .3, .5), K = 2 it is {best('three tokens', 2):.2f}.",
        ),
    ]


def _divergence() -> list[Claim]:
    row = partial(Claim, "C55", "8")
    peaked, flat = "peaked target, flat draft", "flat target, peaked draft"
    target, draft = PAIRS[peaked]
    gap = difference(DraftsKept(PAIRS[peaked], 2), DraftsKept(PAIRS[flat], 2))
    alpha, half = best(peaked, 1), theory.renyi(target, draft, 0.5)
    return [
        row(
            f"named pairs with K = 1, 2, 3 and {RANDOM_PAIRS} random pairs of {RANDOM_TOKENS} tokens with K = 2: "
            "largest distance of the formula without any divergence from the optimum by linear programming",
            "Without a new divergence the optimum with K drafts cannot be written down.",
            above(1e-6),
            Formula(farthest),
            "1 + min over token sets H of p(H) - q(H)^K is the optimum in all of them, 0 apart to 9 digits.",
        ),
        row(
            f"{PLAYED_PAIRS} of the random pairs played draft by draft, K = 2, the best plan deciding which draft is "
            "kept: largest distance of the share kept from that formula",
            "Without a new divergence the optimum with K drafts cannot be written down.",
            above(0.01),
            FarthestKept(random_pairs(PLAYED_PAIRS), 2),
            "What is kept in play is what 1 + min over token sets H of p(H) - q(H)^K says, on every pair.",
        ),
        row(
            f"p = {target}, q = {draft}, K = 2: optimum minus that with p and q exchanged, against alpha",
            "alpha alone does not fix the bound with K drafts: more of the two laws is needed.",
            above(0.001),
            gap,
            f"Right: exchanging p and q leaves alpha = {alpha:.2f} as it is and moves the optimum with two drafts from "
            f"{best(peaked, 2):.4f} to {best(flat, 2):.4f}.",
        ),
        row(
            f"p = {target}, q = {draft}, K = 2: optimum minus that with p and q exchanged, against D_1/2",
            "A divergence of order 1/2 between target and draft fixes the bound with K drafts.",
            Says(-0.001, 0.001),
            gap,
            f"Exchanging p and q leaves D_1/2 = {half:.4f} (and alpha = {alpha:.2f}) as it is; the optimum with two "
            f"drafts goes from {best(peaked, 2):.4f} to {best(flat, 2):.4f}, {gap.exact():.4f} apart.",
        ),
    ]


def _best_speed(draws: int, serial: bool) -> float:
    """Best throughput of the three-token pair, κ up to 64, beta = .1."""
    share = best("three tokens", draws)
    return max(theory.many_drafts_speedup(share, kappa, draws, STANDARD, serial) for kappa in range(65))


def _speed() -> list[Claim]:
    row = partial(Claim, "C55", "8")
    serial = {draws: _best_speed(draws, True) for draws in (1, 3, 16)}
    side = {draws: _best_speed(draws, False) for draws in (1, 3)}
    acceptance, pair, pairs = best("three tokens", 3), PAIRS["three tokens"], random_pairs(PLAYED_PAIRS)
    one, three = (DraftsSpeed(pair, draws, KAPPA, STANDARD) for draws in (1, 3))
    beyond, in_turn = ShareBeyond(pairs, 2, KAPPA, STANDARD), DraftsSpeed(pair, 3, KAPPA, SERIAL)
    said = "(9) with alpha_K, the best acceptance of K drafts, for alpha: 1/(alpha_K + beta); "
    return [
        row(
            f"{said}three tokens, K = 3, beta = .1, drafts side by side: speed-up S at kappa = {KAPPA}",
            "The bound with K drafts is 1/(alpha_K + beta).",
            below(1 / (acceptance + 0.1)),
            three,
            f"1/(alpha_K + beta) = {1 / (acceptance + 0.1):.4f} would be slower than plain decoding. With a = alpha_K "
            f"the speed is (1 + a + ... + a^kappa)/(1 + beta kappa + verification); for a = {acceptance:.3f} it is "
            f"{three.exact():.4f} at kappa = {KAPPA} and {side[3]:.3f} at the best kappa up to 64.",
        ),
        row(
            f"{said}{PLAYED_PAIRS} random pairs of {RANDOM_TOKENS} tokens, K = 2, beta = .1, kappa = {KAPPA}: share "
            "whose speed-up is above it",
            "The bound with K drafts is 1/(alpha_K + beta).",
            integer(0),
            beyond,
            f"The bound falls as alpha_K rises, and no speed does: {beyond.exact():.0%} of the pairs are faster at "
            f"kappa = {KAPPA} already.",
        ),
        row(
            f"three tokens, drafts made side by side at the price of one, beta = .1, kappa = {KAPPA}: S with K = 3 "
            "minus K = 1",
            "Several drafts at once raise the bound.",
            above(0.0),
            difference(three, one),
            f"Where the other drafts are free they do: S goes from {one.exact():.4f} to {three.exact():.4f}, and the "
            f"best S over kappa from {side[1]:.3f} to {side[3]:.3f}.",
        ),
        row(
            f"three tokens, drafts made one after the other at .1 each, kappa = {KAPPA}: S with K = 3 minus K = 1",
            "Several drafts at once raise the bound.",
            above(0.0),
            difference(in_turn, one),
            f"Each draft costs: at kappa = {KAPPA} S goes from {one.exact():.4f} to {in_turn.exact():.4f}; the best S "
            f"over kappa is {serial[1]:.3f} with one, {serial[3]:.3f} with 3 and {serial[16]:.3f} with 16.",
        ),
    ]
