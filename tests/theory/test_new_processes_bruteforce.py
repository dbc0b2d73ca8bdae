"""Do rounds on windows that follow each other, copies, pools, two models and masks follow from definitions alone?"""

from __future__ import annotations

import math
from fractions import Fraction

import new_brute as brute
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta
from systems_brute import walk
from test_new_schemes_bruteforce import PRICE, assert_means, rows_of

from simspec import theory
from simspec.model import BetaMixture, Drift, Hmm, Markov, TokenChain
from simspec.model.carried_rounds import process_rounds
from simspec.model.draft_laws import draft_law
from simspec.model.rounds import End
from simspec.model.schemes import BigLittle, Lookahead, Lookup, Stop, Tree, Unmask

# windows that follow each other, and whole generations

TREES = [
    Tree(parents=(0, 0, 1, 1, 3), ranks=(1, 2, 1, 2, 1), misses=(0.4,)),
    Tree(parents=(0, 0, 1, 2), ranks=(2, 1, 1, 1), misses=(0.5,), siblings="sequential", drafting="window"),
    Tree(parents=(0, 1, 2), ranks=(1, 1, 1)),
]


def level_rates(rates: list[float], tree: Tree) -> tuple[list[int], list[Fraction], int]:
    """Parents and chances of the nodes with a rate at their depth, and the levels there are."""
    depths, number, parents, chances = [0], {0: 0}, list[int](), list[Fraction]()
    for node, (parent, rank) in enumerate(zip(tree.parents, tree.ranks, strict=True), 1):
        depths.append(depths[parent] + 1)
        if depths[-1] <= len(rates):
            number[node] = len(number)
            parents.append(number[parent])
            rate = Fraction(rates[depths[-1] - 1])
            left = Fraction(1) if tree.siblings == "sequential" else 1 - rate
            chances.append(rate if rank == 1 else left * Fraction(tree.misses[rank - 2]))
    return parents, chances, max((d for node, d in enumerate(depths) if node in number), default=0)


def one_round(dice: brute.Dice, scheme, rates: list[float], kappa: int) -> tuple[int, int, int, bool]:
    """Drafts verified, draft steps, A, rejected; rates by depth are what there is to know."""
    if isinstance(scheme, Tree):
        parents, chances, deep = level_rates(rates, scheme)
        kept, rejected = brute.tree_walk(dice, parents, chances, scheme.siblings == "sequential")
        return len(parents), min(deep, 1) if scheme.drafting == "window" else deep, kept, rejected
    law = [Fraction(own) for own in rates[:kappa]]
    if isinstance(scheme, Stop):
        size = len(law)
        order = [brute.hot(min(i + 1, size - 1), size) for i in range(size)]
        first = brute.hot(0, size) if size else []
        found = brute.stopped_rounds(
            dice, law, law, first, order, scheme.rule, Fraction(scheme.theta), scheme.kmin, size, True
        )
        return found[0], found[2], found[1], found[1] < found[0]
    kept = next((j for j, own in enumerate(law) if not dice.coin(own)), len(law))
    steps = 0 if isinstance(scheme, Lookup) else len(law)
    return len(law), steps, kept, kept < len(law)


def in_a_row(dice: brute.Dice, scheme, rates: list[float], kappa: int, matched: bool) -> tuple[tuple, bool]:
    """A round, and whether lookup found a match in it."""
    if not isinstance(scheme, Lookup):
        return one_round(dice, scheme, rates, kappa), False
    if dice.coin(Fraction(scheme.after_match if matched else scheme.after_miss)):
        return one_round(dice, scheme, rates, kappa), True
    return (0, 0, 0, False), False


CARRIED = [
    *TREES, Stop(theta=0.45), Stop(theta=0.6, rule="confidence", kmin=2), Lookup(after_match=0.75, after_miss=0.25),
]  # fmt: skip


@pytest.mark.parametrize("scheme", CARRIED, ids=str)
def test_every_course_of_a_generation(scheme) -> None:
    """Drifting rates: all rounds of all generations of up to 4 tokens; lookup remembers over their ends."""
    for alphas, truncate in (
        ([0.5], True),
        ([0.9, 0.4], False),
        ([0.75, 0.5, 1.0], True),
        ([0.5, 0.9, 0.25, 0.6], False),
    ):
        n, kappa = len(alphas), len(scheme.parents) if isinstance(scheme, Tree) else 3

        def play(dice: brute.Dice, state, alphas=alphas, n=n, truncate=truncate, kappa=kappa) -> tuple:
            at, matched, rounds = 0, state, []
            while at < n:
                most = min(kappa, n - 1 - at) if truncate else kappa
                rates = [alphas[min(at + j, n - 1)] for j in range(most)]
                own, matched = in_a_row(dice, scheme, rates, kappa, matched)
                rounds.append(own)
                at += own[2] + 1
            return tuple(rounds), matched

        laws, share = brute.chain_of([False], play)
        weighed = [
            (share[state] * float(chance), own)
            for state, law in laws.items() for (rounds, _), chance in law.items() for own in rounds
        ]  # fmt: skip
        many = sum(weight for weight, _ in weighed)
        process = Drift(shape="table", alphas=alphas, truncate=truncate)
        assert_means(theory.scheme_law(scheme, process, kappa), [(w / many, own) for w, own in weighed], n / many)


@pytest.mark.parametrize("scheme", CARRIED, ids=str)
@pytest.mark.parametrize(("alpha", "rho", "lags"), [(0.7, 0.3, (1, 1)), (0.5, -0.5, (2, 1)), (0.9, 0.6, (2, 3)),
                                                    (0.6, 0.0, (1, 1)), (0.4, 0.95, (1, 2))])  # fmt: skip
def test_verdicts_that_follow_each_other_over_windows(scheme, alpha: float, rho: float, lags: tuple[int, int]) -> None:
    """A chain of two verdicts, so many steps between windows; a round without a verdict changes nothing."""
    process = Markov(alpha=alpha, rho=rho, start="carry", steps_after_reject=lags[0], steps_after_full=lags[1])
    move = np.array([[alpha + rho * (1 - alpha), (1 - alpha) * (1 - rho)], [alpha * (1 - rho), 1 - alpha * (1 - rho)]])
    again = float(move[0, 0])
    kappa = len(scheme.parents) if isinstance(scheme, Tree) else 3

    def play(dice: brute.Dice, state) -> tuple:
        good, matched = state
        first = float(np.linalg.matrix_power(move, lags[1] if good else lags[0])[0 if good else 1, 0])
        own, matched = in_a_row(dice, scheme, [first, *[again] * (kappa - 1)], kappa, matched)
        return own, (good if own[0] == 0 else not own[3], matched)

    laws, share = brute.chain_of([(True, False)], play)
    weighed = [(share[state] * float(p), own) for state, law in laws.items() for (own, _), p in law.items()]
    tokens = 1 + sum(weight * own[2] for weight, own in weighed)
    assert_means(theory.scheme_law(scheme, process, kappa), weighed, tokens)
    table = process_rounds(scheme, process, kappa)
    begins = dict[int, float]()
    for chance, state in table.first:
        begins[state] = begins.get(state, 0.0) + chance
    played = played_means(table, begins)
    assert played == pytest.approx([tokens - 1, sum(w * own[0] for w, own in weighed)], abs=1e-9)


def played_means(table, mass: dict[int, float]) -> list[float]:
    """Mean A and drafts of the table that kernels play, from a law of first states."""
    mass, accepted, drafted = dict(mass), 0.0, 0.0
    for state, outcomes in enumerate(table.states):
        for chance, to in outcomes:
            here = mass.get(state, 0.0) * chance
            if isinstance(to, End):
                accepted += here * table.kinds[to.kind].accepted
                drafted += here * table.kinds[to.kind].drafted
            else:
                mass[to] = mass.get(to, 0.0) + here
    return [accepted, drafted]


@pytest.mark.parametrize("scheme", [*TREES, Stop(theta=0.45), Stop(theta=0.6, rule="confidence", kmin=2)], ids=str)
@pytest.mark.parametrize("lags", [(1, 1), (3, 2)])
def test_hidden_states_that_run_on_over_windows(scheme, lags: tuple[int, int]) -> None:
    """A state per level, or per draft of a chain; so many steps from where the round ended to the next one."""
    rows, alphas = [[0.75, 0.25], [0.5, 0.5]], [0.875, 0.25]
    process = Hmm(P=rows, alphas=alphas, start="carry", steps_after_reject=lags[0], steps_after_full=lags[1])
    move = brute.fractions(rows)
    kappa = len(scheme.parents) if isinstance(scheme, Tree) else 3

    def onward(dice: brute.Dice, state: int, rejected: bool) -> int:
        for _ in range(lags[0 if rejected else 1]):
            state = dice.draw(move[state])
        return state

    def tree(dice: brute.Dice, state: int) -> tuple:
        here, depth, (parents, _, deep) = 0, 0, level_rates([0.5] * kappa, scheme)
        while True:
            own = [i for i, parent in enumerate(parents, 1) if parent == here]
            if not own:
                break
            if depth:
                state = dice.draw(move[state])
            rate = Fraction(alphas[state])
            left = Fraction(1) if scheme.siblings == "sequential" else 1 - rate
            chances = [rate if scheme.ranks[i - 1] == 1 else left * Fraction(scheme.misses[scheme.ranks[i - 1] - 2])
                       for i in own]  # fmt: skip
            if scheme.siblings == "sequential":
                found = next((i for i, p in zip(own, chances, strict=True) if dice.coin(p)), None)
            else:
                found = [*own, None][dice.draw([*chances, 1 - sum(chances, Fraction(0))])]
            if found is None:
                break
            here, depth = found, depth + 1
        steps = min(deep, 1) if scheme.drafting == "window" else deep
        return (len(parents), steps, depth, bool(own)), onward(dice, state, bool(own))

    def stop(dice: brute.Dice, state: int) -> tuple:
        product_, made, lost = 1.0, 0, None
        while True:
            made, product_ = made + 1, product_ * alphas[state]
            if lost is None and not dice.coin(Fraction(alphas[state])):
                lost = made - 1, state
            unsure = (product_ if scheme.rule == "survival" else alphas[state]) < scheme.theta
            if made == kappa or (made >= scheme.kmin and unsure):
                break
            state = dice.draw(move[state])
        kept, last = (made, state) if lost is None else lost
        return (made, made, kept, lost is not None), onward(dice, last, lost is not None)

    laws, share = brute.chain_of([0], tree if isinstance(scheme, Tree) else stop)
    weighed = [(share[state] * float(p), own) for state, law in laws.items() for (own, _), p in law.items()]
    tokens = 1 + sum(weight * own[2] for weight, own in weighed)
    assert_means(theory.scheme_law(scheme, process, kappa), weighed, tokens)


@pytest.mark.parametrize(
    "scheme", [*TREES, Lookup(after_match=0.75, after_miss=0.25), Lookahead(candidates=2)], ids=str
)
@pytest.mark.parametrize(("alpha", "rho"), [(0.7, 0.2), (0.5, 0.5), (0.9, 0.01), (0.6, 0.0), (0.6, 1.0)])
def test_a_rate_of_a_beta_law_holds_for_a_window(scheme, alpha: float, rho: float) -> None:
    """By an integral over the rate of what every verdict gives; a spread of 0 or 1 is one rate, or two."""
    kappa = len(scheme.parents) if isinstance(scheme, Tree) else 3

    def given(rate: float) -> tuple[float, float]:
        if isinstance(scheme, Lookahead):
            reach = [1 - (1 - rate**j) ** 2 for j in range(1, kappa + 1)]
            return sum(reach), 1 - reach[-1]
        if isinstance(scheme, Lookup):
            return 0.5 * sum(rate**j for j in range(1, kappa + 1)), 0.5 * (1 - rate**kappa)
        parents, chances, _ = level_rates([rate] * kappa, scheme)
        law, inner = walk(parents, [float(own) for own in chances], scheme.siblings == "sequential")
        return sum(j * p for j, p in law.items()), inner

    if rho in (0.0, 1.0):
        own = [(1.0, alpha)] if rho == 0.0 else [(alpha, 1.0), (1 - alpha, 0.0)]
        accepted, rejected = (sum(w * given(rate)[i] for w, rate in own) for i in (0, 1))
    else:
        size = (1 - rho) / rho
        law = beta(alpha * size, (1 - alpha) * size)
        accepted, rejected = (quad(lambda u, i=i: given(float(law.ppf(u)))[i], 0, 1, limit=200)[0] for i in (0, 1))
    found = theory.scheme_law(scheme, BetaMixture(alpha=alpha, rho=rho), kappa)
    assert [found.mean_accepted, found.p_rejected] == pytest.approx([accepted, rejected], abs=1e-7)


# drafts out of the text, two models, masks

TEXTS = [
    [[0.5, 0.5], [0.75, 0.25]], [[0.1, 0.9], [0.6, 0.4]], [[0.0, 1.0], [0.5, 0.5]],
    [[0.2, 0.5, 0.3], [0.0, 0.4, 0.6], [0.7, 0.0, 0.3]],
]  # fmt: skip


@pytest.mark.parametrize("which", ["earliest", "latest"])
@pytest.mark.parametrize(
    ("memory", "longest", "shortest", "kappa"),
    [(2, 1, 1, 1), (4, 2, 1, 2), (4, 4, 2, 3), (5, 3, 3, 4), (3, 1, 1, 0)],
)
def test_copies_by_what_stands_in_the_memory(which: str, memory: int, longest: int, shortest: int, kappa: int) -> None:
    for text in TEXTS[: 4 if memory < 5 else 3]:
        rows = brute.fractions(text)

        def play(dice: brute.Dice, state, rows=rows) -> tuple:
            return brute.copied_round(dice, state, rows, kappa, longest, shortest, which == "latest")

        first = [0]
        while len(first) < memory:  # some text that can be
            first.append(next(t for t, own in enumerate(rows[first[-1]]) if own > 0))
        laws, share = brute.chain_of([tuple(first)], play)
        found = theory.copy_law(text, kappa, memory, longest, shortest, which)
        joint = np.zeros((kappa + 1, kappa + 1))
        for state, law in laws.items():
            for (drafted, kept, _), chance in law.items():
                joint[drafted, kept] += share[state] * float(chance)
        assert found.joint == pytest.approx(joint, abs=1e-9)
        ways = dict[tuple[bool, ...], float]()  # matches of three rounds in turn
        for one, law in laws.items():
            for (a, _, two), p in law.items():
                for (b, _, three), q in laws[two].items():
                    third = next(iter(laws[three]))[0]  # what is copied is known before the round
                    key = bool(a), bool(b), bool(third)
                    ways[key] = ways.get(key, 0.0) + share[one] * float(p * q)
        for name, before in (("after_match", (True,)), ("after_miss", (False,)), ("after_two_matches", (True, True)),
                             ("after_two_misses", (False, False))):  # fmt: skip
            seen = sum(p for key, p in ways.items() if key[: len(before)] == before)
            hits = sum(p for key, p in ways.items() if key[: len(before) + 1] == (*before, True))
            assert getattr(found, name) == pytest.approx(
                hits / seen if seen > 1e-12 else math.nan, abs=1e-9, nan_ok=True
            )


@pytest.mark.parametrize(
    ("kappa", "candidates", "window", "guess"),
    [(1, 1, 0, None), (2, 2, 0, None), (1, 2, 2, 0.5), (2, 1, 1, 1.0), (0, 1, 0, None), (1, 2, 1, 0.0)],
)
def test_ngrams_of_a_pool_by_what_was_met_last(kappa: int, candidates: int, window: int, guess: float | None) -> None:
    for text in TEXTS[:3]:
        rows, own = brute.fractions(text), Fraction(1 if guess is None else guess)
        lines = [[own * p + (1 - own) / 2 for p in row] for row in rows]

        def play(dice: brute.Dice, state, rows=rows, lines=lines) -> tuple:
            return brute.pooled_round(dice, state, rows, lines, kappa, candidates, window)

        laws, share = brute.chain_of([((0,), ((), ()))], play)
        joint = np.zeros((candidates + 1, kappa + 1))
        for state, law in laws.items():
            for (many, kept, _), chance in law.items():
                joint[many, kept] += share[state] * float(chance)
        found = theory.ngram_pool_law(text, kappa, candidates, window, guess)
        assert found.joint == pytest.approx(joint, abs=1e-8)


@pytest.mark.parametrize("case", range(20))
def test_turns_of_two_models_by_their_thresholds(case: int) -> None:
    rng = np.random.default_rng([26, case])
    size, kmax, sampled = int(rng.integers(2, 4)), int(rng.integers(0, 4)), bool(case % 2)
    large, small = rows_of(rng, size), rows_of(rng, size)
    fallback, rollback = float(rng.choice([0.0, 0.5, 0.6, 0.8])), float(rng.choice([0.0, 0.5, 1.2, 5.0]))
    big, little = brute.fractions(large), brute.fractions(small)
    laws = [
        brute.every(lambda dice, s=s: brute.turn(dice, s, big, little, kmax, fallback, rollback, sampled))
        for s in range(size)
    ]
    step = np.zeros((size, size))
    for start, law in enumerate(laws):
        for (_, _, text), chance in law.items():
            step[start, text[-1]] += float(chance)
    power = np.linalg.matrix_power((step + np.eye(size)) / 2, 2**20)
    start = brute.stationary(np.array(large)) @ power
    joint, emitted = np.zeros((kmax + 1, kmax + 1)), np.zeros((size, size))
    for share, law in zip(start, laws, strict=True):
        for (written, kept, text), chance in law.items():
            joint[written, kept] += share * float(chance)
            np.add.at(emitted, (text[:-1], text[1:]), share * float(chance))
    emitted /= emitted.sum()
    found = theory.big_little_text(large, small, kmax, fallback, rollback, sampled)
    assert found.joint == pytest.approx(joint, abs=1e-9)
    assert found.emitted == pytest.approx(emitted, abs=1e-9)
    best = [max(range(size), key=lambda t, row=row: (row[t], -t)) for row in big]
    assert found.disagreement == pytest.approx(
        sum(emitted[x, y] for x in range(size) for y in range(size) if y != best[x]), abs=1e-9
    )
    turns = BigLittle(fallback=fallback, rollback=rollback, sampled=sampled)
    pair = TokenChain(target=large, draft=small)
    own = theory.scheme_law(turns, pair, kmax)
    paid = sum(
        joint[n, j] * (PRICE.drafting(n + (n < kmax)) + PRICE.target_pass(n) + PRICE.c_r * (j < n))
        for n in range(kmax + 1) for j in range(n + 1)
    )  # fmt: skip
    assert own.price(PRICE) == pytest.approx(paid, abs=1e-9)
    table = turns.rounds(draft_law(pair, kmax), kmax)
    means = played_means(table, {state: chance for chance, state in table.first})
    assert means == pytest.approx([joint.sum(0) @ np.arange(kmax + 1), joint.sum(1) @ np.arange(kmax + 1)], abs=1e-9)


def test_a_token_exactly_at_the_threshold_stands() -> None:
    """Rollback and fallback compare with "above" and "below": a certain token stands at rollback 0, and .5 at .5."""
    sure = TokenChain(target=[[0.0, 1.0], [0.5, 0.5]], draft=[[0.0, 1.0], [0.5, 0.5]])
    for fallback, rollback, written, kept in (
        (0.5, 0.0, 2.0, 1.0),
        (0.5, math.log(2.0), 2.0, 2.0),
        (0.51, 0.0, 1.0, 1.0),
    ):
        turns = BigLittle(fallback=fallback, rollback=rollback)
        table = turns.rounds(draft_law(sure, 2), 2)
        assert played_means(table, {0: 1.0}) == pytest.approx([kept, written])  # from token 0 on: 1, then 0 or nothing
        law = theory.big_little_text(sure.target, sure.draft, 2, fallback, rollback)
        shares = played_means(table, {state: chance for chance, state in table.first})
        assert [law.mean_kept, law.mean_small_tokens] == pytest.approx(shares)


@pytest.mark.parametrize(("length", "steps", "tau"), [(1, 1, 0.5), (4, 2, 0.5), (4, 3, 0.9), (3, 3, 0.25), (3, 1, 1.0)])
def test_masks_that_are_masked_again(length: int, steps: int, tau: float) -> None:
    values, weights = [0.25, 0.9, 0.5], [0.5, 0.25, 0.25]
    law = brute.every(lambda dice: brute.remasked(dice, length, steps, values, [Fraction(w) for w in weights]))
    found = theory.remask(length, steps, values, weights, tau)
    mean = sum(float(p) * sum(values[i] for i in filled) for filled, p in law.items()) / length
    unsure = sum(float(p) * sum(values[i] < tau for i in filled) for filled, p in law.items()) / length
    assert [found.mean_confidence, found.p_unsure] == pytest.approx([mean, unsure], abs=1e-12)
    process = Hmm(P=(tuple(weights),) * 3, alphas=tuple(values))
    table = Unmask(steps=steps, tau=tau).rounds(draft_law(process, length - 1), length - 1)
    marks = sum(
        share * chance * table.kinds[to.kind].lost for share, state in table.first for chance, to in table.states[state]
    )
    assert length == 1 or marks * steps / length == pytest.approx(unsure, abs=1e-12)
