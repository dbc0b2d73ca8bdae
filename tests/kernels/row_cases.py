"""Processes whose windows fall into rows, schemes to play on them, and means of a table by its own long run."""

import itertools

import numpy as np

from simspec import theory
from simspec.model import BetaMixture, Cost, DiscreteMixture, Drift, Hmm, Markov, RowProcess, RowTable
from simspec.model.rounds import End
from simspec.model.schemes import Ahead, BigLittle, Lookahead, Lookup, Parallel, SelfDraft, Stop, Tree

COST = Cost(c_d=0.07, c_v=0.01, c_r=0.2)
KAPPAS = (0, 1, 6)


class Moody(RowProcess):
    """Three rows: fair, good after a full window, bad after two rejections."""

    type: str = "moody"

    def rows(self, kappa):
        rates = ([0.6] * kappa, [0.9] * kappa, [0.2, 0.5, *[0.4] * kappa][:kappa])
        return RowTable([list(itertools.accumulate(own, lambda a, b: a * b)) for own in rates], (2, 0, 2), (1, 1, 0))


STICKY = ((0.9, 0.1), (0.2, 0.8))
THREE = ((0.9, 0.1, 0.0), (0.2, 0.5, 0.3), (0.3, 0.3, 0.4))
MIX = {"alphas": (0.9, 0.3, 0.6), "weights": (0.5, 0.4, 0.1)}
CARRIED = [
    Markov(alpha=0.7, rho=0.3, start="carry"),
    Markov(alpha=0.7, rho=-0.4, start="carry", steps_after_reject=2, steps_after_full=3),
    Markov(alpha=0.7, rho=0.0, start="carry"),
    Markov(alpha=0.5, rho=-1.0, start="carry", steps_after_full=2),
    Markov(alpha=0.0, rho=0.0, start="carry"),
    Markov(alpha=1.0, rho=0.0, start="carry"),
    Markov(alpha=0.6, rho=0.9, start="carry", steps_after_reject=1000),
    Moody(),
]
HIDDEN = [
    Hmm(P=STICKY, alphas=(0.95, 0.4)),
    Hmm(P=STICKY, alphas=(0.95, 0.4), start="carry"),
    Hmm(P=THREE, alphas=(0.95, 0.4, 0.4), start="carry", steps_after_reject=3, steps_after_full=2),
    Hmm(P=((0.0, 1.0), (1.0, 0.0)), alphas=(1.0, 0.5), start="carry"),
    Hmm(P=STICKY, alphas=(0.6, 0.6), start="carry"),
    Hmm(P=((0.3, 0.7), (0.6, 0.4)), alphas=(1.0, 0.0), start="carry"),
    Hmm(P=((1.0,),), alphas=(0.7,)),
]
DRAWN = [
    BetaMixture(alpha=0.7, rho=0.3),
    BetaMixture(a=0.4, b=0.3),
    BetaMixture(alpha=0.7, rho=0.0),
    BetaMixture(alpha=0.7, rho=1.0),
    BetaMixture(alpha=0.0, rho=0.5),
    BetaMixture(a=70.0, b=30.0),
    DiscreteMixture(**MIX),
    DiscreteMixture(alphas=(1.0, 0.0), weights=(0.5, 0.5)),
    DiscreteMixture(alphas=(0.7,), weights=(1.0,)),
    DiscreteMixture(alphas=(0.9, 0.3), weights=(1.0, 0.0)),
    DiscreteMixture(alphas=(0.7, 0.7), weights=(0.5, 0.5)),
]
ALONG = [
    Drift(alpha_start=0.85, alpha_end=0.62, tokens=24),
    Drift(alpha_start=0.3, alpha_end=0.9, tokens=24, truncate=False),
    Drift(alpha_start=0.9, alpha_end=0.2, tokens=3),
    Drift(alpha_start=0.9, alpha_end=0.9, tokens=1),
    Drift(shape="table", alphas=(1.0, 0.0, 0.5, 1.0, 1.0, 0.2)),
    DiscreteMixture(**MIX, weights_of="requests", request_tokens=12),
    DiscreteMixture(**MIX, weights_of="rounds", request_tokens=12),
    DiscreteMixture(**MIX, weights_of="tokens", request_tokens=3, truncate=False),
    DiscreteMixture(**MIX, weights_of="rounds", request_tokens=12, request_law="geometric"),
    DiscreteMixture(**MIX, weights_of="requests", request_tokens=1, request_law="geometric"),
    DiscreteMixture(alphas=(1.0, 0.0), weights=(0.5, 0.5), weights_of="requests", request_tokens=9),
]
PROCESSES = [*CARRIED, *HIDDEN, *DRAWN, *ALONG]
SHARES = (0.4, 0.2, 0.1)
SCHEMES = [
    Tree(misses=SHARES),
    Tree(misses=SHARES, drafting="window", max_depth=3),
    Tree(widths=(2, 1, 2, 1), misses=(0.4,), siblings="sequential"),
    Tree(parents=(0, 0, 0, 1, 3, 4), ranks=(2, 1, 3, 2, 1, 1), misses=(0.5, 0.2), siblings="sequential"),
    Tree(parents=(0, 0, 1, 1, 2, 2), ranks=(1, 2, 1, 2, 1, 2), misses=((0.5,), (0.2,), (0.1,))),
    Stop(theta=0.35),
    Stop(theta=0.6, rule="confidence", kmin=2),
    Stop(theta=0.0),
    SelfDraft(layers=0.3, theta=0.4),
    BigLittle(p_fallback=0.2),
    Lookahead(candidates=5, window=3),
    Lookahead(candidates=3, good=0.6),
    Lookup(after_match=0.8, after_miss=0.3),
    Ahead(),
    Parallel(),
    Stop(theta=0.5, submits=False),
    Stop(theta=0.6, rule="confidence", kmin=2, submits=False),
]


def shares_of(table):
    """Long-run share of every end of a table: the walk from its start law, all at once."""
    mass, ends = [0.0] * len(table.states), np.zeros(len(table.kinds))
    for share, state in table.first:
        mass[state] += share
    for number, outcomes in enumerate(table.states):
        for chance, target in outcomes if mass[number] else ():
            if isinstance(target, End):
                ends[target.kind] += mass[number] * chance
            else:
                mass[target] += mass[number] * chance
    return ends


def means_of(table, cost):
    ends = shares_of(table)
    values = [(kind.tokens, kind.accepted, kind.drafted, kind.rejected, kind.price(cost)) for kind in table.kinds]
    return ends @ np.array(values, float)


def exact_means(scheme, process, kappa, cost):
    law = theory.scheme_law(scheme, process, kappa)
    return [law.mean_tokens, law.mean_accepted, law.mean_drafted, law.p_rejected, law.price(cost)]


def cost_of(scheme):
    return Cost(c_d=0.07) if isinstance(scheme, (Ahead, Parallel)) else COST
