"""Rounds of known processes, played draft by draft in plain Python: fixed κ, or the rule of Hugging Face."""

import numpy as np

from simspec.evidence.observed import NO_UNIT, REQUEST, Observed


def fixed(kappa):
    return lambda before, full: kappa


def heuristic(before, full):
    """5 at first, 2 more after a full round, 1 less after a rejection."""
    return 5 if before is None else before + 2 if full else max(1, before - 1)


def play(rng, verdicts, rounds, rule):
    """κ and A of one request; ``verdicts`` yields the verdict of each output position, and is told of bonus tokens."""
    drafted, accepted, kappa, full = [], [], None, False
    for _ in range(rounds):
        kappa = rule(kappa, full)
        a = 0
        while a < kappa and next(verdicts):
            a += 1
        full = a == kappa
        if full:
            next(verdicts)  # the bonus token's position
        drafted.append(kappa)
        accepted.append(a)
    return drafted, accepted


def coin(rng, alpha):
    while True:
        yield rng.random() < alpha


def chain(rng, alpha, rho):
    """Two states along the output."""
    now = rng.random() < alpha
    while True:
        yield now
        now = rng.random() < (alpha + rho * (1 - alpha) if now else alpha * (1 - rho))


def hidden(rng, rates, stay):
    state = int(rng.random() >= (1 - stay[1]) / (2 - sum(stay)))
    while True:
        yield rng.random() < rates[state]
        if rng.random() >= stay[state]:
            state = 1 - state


def requests(seed, make, groups, rounds, rule, unit=REQUEST):
    """``make(rng)`` gives the verdicts of a request."""
    rng = np.random.default_rng(seed)
    played = [play(rng, make(rng), rounds, rule) for _ in range(groups)]
    return Observed.in_order([own[0] for own in played], [own[1] for own in played], unit)


def iid(seed, alpha, groups, rounds, rule):
    return requests(seed, lambda rng: coin(rng, alpha), groups, rounds, rule)


def beta_requests(seed, a, b, groups, rounds, rule):
    return requests(seed, lambda rng: coin(rng, rng.beta(a, b)), groups, rounds, rule)


def two_kinds(seed, high, low, share, groups, rounds, rule):
    return requests(seed, lambda rng: coin(rng, high if rng.random() < share else low), groups, rounds, rule)


def markov(seed, alpha, rho, groups, rounds, rule):
    return requests(seed, lambda rng: chain(rng, alpha, rho), groups, rounds, rule)


def hmm(seed, rates, stay, groups, rounds, rule):
    return requests(seed, lambda rng: hidden(rng, rates, stay), groups, rounds, rule)


def curve(seed, conditional, groups, rounds, rule):
    """Rates by position, windows fresh."""
    rng = np.random.default_rng(seed)
    drafted, accepted = [], []
    for _ in range(groups):
        long, far, kappa, full = [], [], None, False
        for _ in range(rounds):
            kappa = rule(kappa, full)
            a = 0
            while a < kappa and rng.random() < conditional[min(a, len(conditional) - 1)]:
                a += 1
            full = a == kappa
            long.append(kappa)
            far.append(a)
        drafted.append(long)
        accepted.append(far)
    return Observed.in_order(drafted, accepted)


def without_order(observed):
    """The same rounds as counts by group, or pooled where there is one group."""
    groups = []
    for g in range(observed.groups):
        own = observed.take([g])
        (kappa,) = own.kappas
        groups.append((kappa, own.rounds, own.reached().tolist()))
    return Observed.of_counts(groups, observed.unit if observed.groups > 1 else NO_UNIT)
