"""Which systems draft without a draft model's chain?  N-grams, copies, two models in turn, and masks."""

from __future__ import annotations

from simspec.claims.agreement.case import LOST, USUAL, Case, System
from simspec.claims.agreement.chains import (
    BETA,
    BY_REQUEST,
    CARRIED,
    DEPENDENT,
    DRIFT,
    ENDS,
    MARKOV,
    MIXED,
    STICKY,
    Sets,
    on,
)
from simspec.model import Cost, Hmm, Iid, TokenChain
from simspec.model.schemes import BigLittle, Copy, Lookahead, Lookup, NgramPool, Pool, Unmask

GRAMS = "lookahead; prompt lookup"
TURNS = "Big Little Decoder"
MASKS = "parallel unmasking"

SKEW, STICK = ((0.5, 0.5), (0.9, 0.1)), ((0.85, 0.15), (0.4, 0.6))
RING = ((0.1, 0.8, 0.1), (0.1, 0.1, 0.8), (0.9, 0.05, 0.05))
LOOP, ONE = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)), ((1.0,),)


def _text(rows: tuple[tuple[float, ...], ...]) -> TokenChain:
    return TokenChain(target=rows, draft=rows)


def grams() -> tuple[System, ...]:
    """N-grams and copies, by chances and out of the text itself."""
    usual: Sets = ((Iid(alpha=0.5), 4, ""), *DEPENDENT, *ENDS[:2], (Iid(alpha=0.2), 1, "κ = 1"), ENDS[3])
    formula = (
        *on(Lookahead(candidates=15, window=15), usual, Cost(c_v=0.002)),
        *on(Lookahead(candidates=1), ((Iid(alpha=0.6), 4, "one candidate"),)),
        *on(Lookahead(candidates=7, window=7, good=0.4), ((Iid(alpha=0.3), 4, ""), (BETA, 4, ""), (DRIFT, 4, ""))),
        *on(Lookahead(candidates=7, good=0.0), ((Iid(alpha=0.3), 4, "never a candidate"),)),
    )
    pool = (
        Case(_text(STICK), 2, NgramPool(candidates=1)),
        Case(_text(SKEW), 2, NgramPool(candidates=2)),
        Case(_text(STICK), 2, NgramPool(candidates=1, window=2, guess=0.6)),
        Case(_text(SKEW), 1, NgramPool(candidates=2, window=3, guess=1.0), "guesses as the target"),
        Case(_text(SKEW), 2, NgramPool(candidates=3, window=1, guess=0.0), "guesses at random"),
        Case(_text(RING), 1, NgramPool(candidates=1, window=1, guess=0.5), "κ = 1"),
        Case(_text(STICK), 0, NgramPool(candidates=2), "κ = 0"),
        Case(_text(LOOP), 3, NgramPool(candidates=1), "temperature 0"),
        Case(_text(ONE), 3, NgramPool(candidates=2), "one token"),
    )
    regimes = (
        *on(Lookup(after_match=0.8, after_miss=0.2), ((Iid(alpha=0.85), 10, ""), (MARKOV, 5, ""), (CARRIED, 5, ""),
            (STICKY, 5, ""), (MIXED, 5, ""), (BETA, 5, ""), (BY_REQUEST, 5, ""), (DRIFT, 5, ""), *ENDS)),
        *on(Lookup(after_match=0.0, after_miss=1.0), ((Iid(alpha=0.5), 4, "match and miss in turn"),)),
        *on(Lookup(after_match=1.0, after_miss=0.3), ((Iid(alpha=0.5), 4, "always a match"),)),
        *on(Lookup(after_match=0.5, after_miss=0.0), ((Iid(alpha=0.5), 4, "never a match"),)),
    )  # fmt: skip
    copies = (
        Case(_text(STICK), 3, Copy(memory=6)),
        Case(_text(SKEW), 4, Copy(memory=8, match_max=4, match_min=2)),
        Case(_text(RING), 2, Copy(memory=5, match_max=2, which="latest")),
        Case(_text(RING), 5, Copy(memory=6, match_max=3, match_min=3)),
        Case(_text(STICK), 1, Copy(memory=2, match_max=1), "κ = 1, shortest memory"),
        Case(_text(STICK), 0, Copy(memory=6), "κ = 0"),
        Case(_text(LOOP), 3, Copy(memory=6), "temperature 0"),
        Case(_text(ONE), 3, Copy(memory=5), "one token"),
    )
    last = (
        Case(_text(SKEW), 2, Pool()),
        Case(_text(RING), 4, Pool()),
        Case(_text(STICK), 3, Pool()),
        Case(_text(((0.25,) * 4, (0.7, 0.1, 0.1, 0.1), (0.0, 0.0, 0.5, 0.5), (1.0, 0.0, 0.0, 0.0))), 5, Pool()),
        Case(_text(SKEW), 1, Pool(), "κ = 1"),
        Case(_text(SKEW), 0, Pool(), "κ = 0"),
        Case(_text(LOOP), 3, Pool(), "temperature 0"),
    )
    chain = "chain of texts and memories"
    return (
        System(GRAMS, "lookahead, formula", "best of G runs; urn, matrices", formula),
        System(GRAMS, "lookahead, pool of n-grams", chain, pool),
        System(GRAMS, "prompt lookup, two chances", "chain of matches and rows", regimes),
        System(GRAMS, "prompt lookup, copies", chain, copies),
        System(GRAMS, "bigrams last seen", chain, last),
    )


LARGE = ((0.1, 0.7, 0.1, 0.1), (0.05, 0.05, 0.2, 0.7), (0.4, 0.3, 0.2, 0.1), (0.6, 0.0, 0.3, 0.1))
SMALL = ((0.1, 0.8, 0.05, 0.05), (0.02, 0.02, 0.9, 0.06), (0.45, 0.25, 0.2, 0.1), (0.1, 0.7, 0.1, 0.1))
FOUR = TokenChain(target=LARGE, draft=SMALL)
TWO = TokenChain(target=((0.2, 0.8), (0.6, 0.4)), draft=((0.3, 0.7), (0.1, 0.9)))


def turns() -> tuple[System, ...]:
    """Two models in turn, by chances and by thresholds."""
    chances = (
        *on(
            BigLittle(p_fallback=0.2),
            ((Iid(alpha=0.9), 8, ""), *(own for own in DEPENDENT if own[0] != CARRIED), *ENDS),
        ),
        *on(BigLittle(p_fallback=0.0), ((Iid(alpha=0.7), 4, "never unsure"),)),
        *on(BigLittle(p_fallback=1.0), ((Iid(alpha=0.7), 4, "always unsure"),)),
    )
    thresholds = (
        Case(FOUR, 10, BigLittle(fallback=0.6), "nothing drawn"),
        Case(FOUR, 5, BigLittle(fallback=0.4, rollback=1.0), "nothing drawn"),
        Case(FOUR, 3, BigLittle(fallback=0.4, rollback=5.0, sampled=True)),
        Case(FOUR, 4, BigLittle(fallback=0.75, rollback=1.5, sampled=True)),
        Case(TWO, 5, BigLittle(fallback=0.0, rollback=0.8, sampled=True)),
        Case(TWO, 3, BigLittle(fallback=0.0, rollback=0.0, sampled=True), "all taken back"),
        Case(TWO, 3, BigLittle(fallback=1.0, sampled=True), "always unsure"),
        Case(FOUR, 0, BigLittle(fallback=0.6, sampled=True), "κ = 0"),
        Case(_text(ONE), 2, BigLittle(fallback=1.0), "one token"),
    )
    return (
        System(TURNS, "BiLD, chances", "law of turns by depth", chances),
        System(TURNS, "BiLD, thresholds", "matrices over contexts", thresholds, (*USUAL, LOST)),
    )


SEEN = Hmm(P=((0.5, 0.3, 0.2),) * 3, alphas=(0.9, 0.6, 0.2))


def masks() -> tuple[System, ...]:
    """Masks filled by a schedule or by a threshold; what is not confident is counted, a proxy for quality."""
    schedule = (
        Case(Iid(alpha=0.6), 7, Unmask(steps=4)),
        Case(Iid(alpha=0.3), 7, Unmask(steps=3), "passes of unequal size"),
        Case(SEEN, 11, Unmask(steps=5, tau=0.5)),
        Case(SEEN, 31, Unmask(steps=8, tau=0.7)),
        Case(Iid(alpha=0.5), 7, Unmask(steps=8), "a token a pass"),
        Case(Iid(alpha=0.5), 7, Unmask(steps=1), "one pass"),
        Case(Iid(alpha=0.0), 4, Unmask(steps=2), "α = 0"),
        Case(Iid(alpha=1.0), 4, Unmask(steps=2), "α = 1"),
    )
    threshold = (
        Case(Iid(alpha=0.3), 15, Unmask()),
        Case(Iid(alpha=0.1), 31, Unmask()),
        Case(SEEN, 9, Unmask(tau=0.5)),
        Case(SEEN, 15, Unmask(tau=0.7)),
        Case(SEEN, 9, Unmask(tau=0.95), "none confident"),
        Case(Iid(alpha=0.0), 5, Unmask(), "α = 0"),
        Case(Iid(alpha=1.0), 5, Unmask(), "α = 1"),
        Case(Iid(alpha=0.6), 1, Unmask(), "two masks"),
    )
    return (
        System(MASKS, "LLaDA, schedule and remasking", "schedule; binomial counts", schedule, (*USUAL, LOST)),
        System(MASKS, "threshold on confidence", "chain of masks left", threshold, (*USUAL, LOST)),
    )


def systems() -> tuple[System, ...]:
    """All of them."""
    return (*grams(), *turns(), *masks())
