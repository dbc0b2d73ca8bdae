"""Are tokens that pass speculative sampling those of the target?  Tokens are drawn, judged, corrected, and counted.

A context is the last token of a chain, or the only one there is.  Every word has an address: lane l of a chunk has base
``aside(keys, 64·chunk + l)``, whose word 0 draws the first context and whose word r + 1 seeds round r.  Of a round's
words number 0 draws the corrected or bonus token, number 2j + 1 draft j, number 2j + 2 its verdict: the same whatever
κ, and for both rules.  Tokens are drawn from 63 bits (`token_tables`).

The token rule knows integers only.  Block verification carries a share t of the prefix, a product of ratios cut at 1,
so that its verdicts are made of doubles by + − × ÷, and are the same wherever these are.
"""

import numpy as np

from simspec.kernels.jit import njit
from simspec.kernels.words import LANES, aside, word_of

ACCEPTED, CORRECTED, BONUS = 0, 1, 2
KINDS = ("accepted", "corrected", "bonus")
"""How a token came to be emitted: first index of the counts."""

_U = np.uint64
_LOWEST_BIT, _SURPLUS = _U(1), _U(11)
_UNIT = 2.0**-53


@njit
def count_sampled(
    keys, chunk, lanes, skipped, rounds, kappa, start, draft, draft_guide, residual, residual_guide, target,
    target_guide, shift, accept, tokens, accepted,
):  # fmt: skip
    """Play the token rule: x ~ q is kept with min(1, p/q), the first rejection is corrected by a token of (p − q)⁺.

    ``tokens[how, context, token]`` counts emitted tokens, ``accepted[lane, a]`` rounds by accepted length; the first
    ``skipped`` rounds of a lane are played and not counted.  Laws: see `TokenTables`.
    """
    chained = draft.shape[0] > 1
    for lane in range(lanes):
        base = aside(keys, _U(LANES * chunk + lane))
        context = first_above(start, word_of(base, 0) >> _LOWEST_BIT)
        for played in range(skipped + rounds):
            here = word_of(base, played + 1)
            one = np.int64(played >= skipped)
            run, how = 0, BONUS
            while run < kappa:
                token = pick(draft, draft_guide, shift, context, word_of(here, 2 * run + 1))
                if word_of(here, 2 * run + 2) >> _LOWEST_BIT >= accept[context, token]:
                    how = CORRECTED
                    break
                tokens[ACCEPTED, context, token] += one
                context = token if chained else 0
                run += 1
            if how == BONUS:
                token = pick(target, target_guide, shift, context, word_of(here, 0))
            else:
                token = pick(residual, residual_guide, shift, context, word_of(here, 0))
            tokens[how, context, token] += one
            context = token if chained else 0
            accepted[lane, run] += one


@njit
def count_blocks(
    keys, chunk, lanes, skipped, rounds, kappa, start, draft, draft_guide, target, target_guide, shift, ratio, limits,
    order, below, tokens, accepted,
):  # fmt: skip
    """Play block verification: all κ drafts are made, then the longest prefix that passes is kept.

    Draft i leaves the share t_i = min(t_{i−1}·p/q, 1) of its prefix, t_0 = 1.  With m = Σ (t_i·p − q)⁺ in the context
    behind it, prefix i < κ passes with m/(m + 1 − t_i), prefix κ with t_κ.  A token of (t·p − q)⁺ follows the longest
    prefix that passed, a token of p all κ.  Arguments as in `count_sampled`; laws: see `BlockTables`.
    """
    chained = draft.shape[0] > 1
    drafts = np.empty(kappa, np.int64)
    contexts = np.empty(kappa + 1, np.int64)
    shares = np.empty(kappa + 1, np.float64)
    for lane in range(lanes):
        base = aside(keys, _U(LANES * chunk + lane))
        context = first_above(start, word_of(base, 0) >> _LOWEST_BIT)
        for played in range(skipped + rounds):
            here = word_of(base, played + 1)
            one = np.int64(played >= skipped)
            contexts[0], shares[0], kept = context, 1.0, 0
            for i in range(kappa):
                token = pick(draft, draft_guide, shift, context, word_of(here, 2 * i + 1))
                share = min(shares[i] * ratio[context, token], 1.0)
                context = token if chained else 0
                drafts[i], contexts[i + 1], shares[i + 1] = token, context, share
                if share == 0.0:
                    break
                chance = share
                if i + 1 < kappa and share < 1.0:
                    places = place_of(limits, context, share)
                    mass = owed(below, context, places, share)
                    chance = mass / (mass + (1.0 - share))
                if np.float64(word_of(here, 2 * i + 2) >> _SURPLUS) * _UNIT < chance:
                    kept = i + 1
            for i in range(kept):
                tokens[ACCEPTED, contexts[i], drafts[i]] += one
            context, share = contexts[kept], shares[kept]
            how = BONUS if kept == kappa else CORRECTED
            places = place_of(limits, context, share) if how == CORRECTED else 0
            mass = owed(below, context, places, share)
            if mass > 0.0:
                goal = np.float64(word_of(here, 0) >> _SURPLUS) * _UNIT * mass
                token = np.int64(order[context, reach(below, context, places, share, goal)])
            else:  # all accepted; else only rounding leads here
                token = pick(target, target_guide, shift, context, word_of(here, 0))
            tokens[how, context, token] += one
            context = token if chained else 0
            accepted[lane, kept] += one


@njit
def pick(cumulative, guide, shift, context, word):
    """Token of a law: the first whose threshold lies above the word without its lowest bit."""
    at = word >> _LOWEST_BIT
    token = np.int64(guide[context, np.int64(at >> shift)])
    while at >= cumulative[context, token]:
        token += 1
    return token


@njit
def first_above(thresholds, at):
    """Index of the first threshold above ``at``; the last one is above everything."""
    i = 0
    while at >= thresholds[i]:
        i += 1
    return i


@njit
def place_of(limits, context, share):
    """Number of tokens with q/p < share: those that (share·p − q)⁺ may give."""
    low, high = 0, limits.shape[1]
    while low < high:
        middle = (low + high) // 2
        if limits[context, middle] < share:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def owed(below, context, places, share):
    """Σ (share·p − q)⁺, which lives on the first ``places`` tokens."""
    return share * below[0, context, places] - below[1, context, places]


@njit
def reach(below, context, places, share, goal):
    """First place at which the mass of (share·p − q)⁺ exceeds ``goal``."""
    low, high = 0, places - 1
    while low < high:
        middle = (low + high) // 2
        if share * below[0, context, middle + 1] - below[1, context, middle + 1] > goal:
            high = middle
        else:
            low = middle + 1
    return low
