"""Do token rules, confident drafts and best trees follow from their definitions alone?"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import new_brute as brute
import numpy as np
import pytest
from scipy.special import chdtri
from systems_brute import numbered, rank_trees, walk

from simspec import plan_tree, theory
from simspec.kernels.lower_schemes import scheme_form
from simspec.kernels.play import scheme_counts
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Cost, Hmm, Iid, Position, TokenChain
from simspec.model.draft_laws import draft_law
from simspec.model.rounds import End
from simspec.model.schemes import DynamicTree, SelfDraft, Stop, Tokens
from simspec.model.token_rules.rounds import spelt
from simspec.stats.prices import Prices
from simspec.theory.confidence_vectors import best_static_tree
from simspec.theory.stop_worth import stop_bounds

NEAR = 1e-9


def a_row(rng: np.random.Generator, size: int, holes: float = 0.25) -> list[float]:
    """A law in thousandths, some entries 0."""
    weights = rng.integers(1, 9, size) * (rng.random(size) >= holes)
    if not weights.any():
        weights[rng.integers(size)] = 1
    return [float(w) for w in weights / weights.sum()]


def rows_of(rng: np.random.Generator, size: int, holes: float = 0.25) -> list[list[float]]:
    """Laws by context, every token of which can be followed by every other in the end."""
    rows = [a_row(rng, size, holes) for _ in range(size)]
    for i, row in enumerate(rows):
        row[(i + 1) % size] += 0.5
        rows[i] = [round(own / sum(row), 3) for own in row]
        rows[i][(i + 1) % size] += 1.0 - sum(rows[i])
    return rows


PRICE = Cost(draft_table=(0.0, 0.1, 0.15, 0.3, 0.32, 0.4), verify_table=(1.0, 1.1, 1.1, 1.3, 1.6, 1.9), c_r=0.35)


def assert_means(law: theory.SchemeLaw, rounds: list[tuple[float, tuple]], tokens: float) -> None:
    """Weighed rounds against the exact means; weights add up to 1."""

    def mean(of) -> float:
        return sum(weight * of(*own) for weight, own in rounds)

    assert law.mean_tokens == pytest.approx(tokens, abs=1e-9)
    assert law.mean_accepted == pytest.approx(mean(lambda d, s, a, r: a), abs=1e-9)
    assert law.mean_drafted == pytest.approx(mean(lambda d, s, a, r: d), abs=1e-9)
    assert law.p_rejected == pytest.approx(mean(lambda d, s, a, r: r), abs=1e-9)
    paid = mean(lambda d, s, a, r: PRICE.drafting(s) + PRICE.target_pass(d) + PRICE.c_r * r)
    assert law.price(PRICE) == pytest.approx(paid, abs=1e-9)


# rounds on real tokens

CASES = [
    {}, {"rule": "naive"}, {"rule": "block"}, {"drafts": "likeliest"}, {"rule": "lenient", "lenience": 0.6},
    {"widths": (2, 1)}, {"widths": (2, 2), "rule": "naive"}, {"widths": (2, 1), "rule": "rrs_wor"},
    {"widths": (2, 1), "rule": "kseq"}, {"widths": (3, 1), "rule": "kseq"}, {"widths": (2, 1), "drafts": "likeliest"},
    {"widths": (2, 1), "rule": "lenient", "lenience": 0.3}, {"sequences": 2}, {"sequences": 2, "rule": "naive"},
    {"sequences": 2, "rule": "kseq"}, {"sequences": 2, "rule": "lenient", "lenience": 0.4},
    {"widths": (2, 2), "others": True}, {"widths": (2, 2), "others": True, "rule": "naive"},
    {"widths": (2, 2), "others": True, "rule": "lenient", "lenience": 0.5}, {"sequences": 2, "others": True},
    {"sequences": 2, "others": True, "rule": "naive"}, {"sequences": 2, "others": True, "rule": "lenient",
                                                        "lenience": 0.5},
    {"drafting": "window"}, {"drafting": "window", "rule": "block"}, {"drafting": "window", "widths": (2, 1)},
    {"drafting": "window", "sequences": 2}, {"drafting": "window", "widths": (1, 2), "drafts": "likeliest"},
    {"drafting": "window", "widths": (2, 2), "others": True},
    {"rule": "typical"}, {"rule": "typical", "epsilon": 0.5}, {"rule": "typical", "epsilon": 0.3, "widths": (2, 1)},
    {"rule": "typical", "epsilon": 0.3, "delta": 0.9, "widths": (2, 2)},
    {"rule": "typical", "epsilon": 0.4, "delta": 2.0, "widths": (1, 3), "drafts": "likeliest", "drafting": "window"},
    {"rule": "typical", "epsilon": 0.35, "delta": 2.0, "widths": (2, 1), "ends": "greedy"},
    {"rule": "typical", "epsilon": 0.2, "delta": 5.0, "widths": (2, 2), "others": True},
]  # fmt: skip


def made(case: dict, rng: np.random.Generator, size: int) -> tuple[Tokens, TokenChain]:
    holes = 0.0 if case.get("rule") in ("rrs_wor", "kseq") else 0.25
    pair = TokenChain(target=rows_of(rng, size), draft=rows_of(rng, size, holes))
    others = {"others": (rows_of(rng, size),)} if case.get("others") else {}
    return Tokens(**{**case, **others}), pair


def brute_rounds(scheme: Tokens, pair: TokenChain, kappa: int) -> list[dict]:
    """By context: (text of a round with its context, A) → chance."""
    target = brute.fractions(pair.target)
    models = [brute.fractions(rows) for rows in (pair.draft, *(scheme.others or ()))]
    if scheme.rule == "kseq":
        target, models = floats(target), [floats(rows) for rows in models]
    own = brute.Drafted(target, models, scheme.drafting == "window", scheme.drafts == "likeliest")
    l_ = Fraction(str(scheme.lenience or 1))
    widths = (1,) * kappa if scheme.widths is None else scheme.widths[:kappa]
    if scheme.rule == "block":
        play = partial(brute.block_round, own=own, kappa=kappa)
    elif scheme.rule == "typical":
        epsilon = 0.09 if scheme.epsilon is None else scheme.epsilon
        delta = math.sqrt(epsilon) if scheme.delta is None else scheme.delta
        play = partial(brute.typical_round, own=own, widths=widths, epsilon=epsilon, delta=delta,
                       greedy=scheme.ends == "greedy")  # fmt: skip
    elif scheme.sequences:
        play = partial(
            brute.sequences_round, own=own, rule=scheme.rule, many=scheme.sequences, kappa=kappa, lenience=l_
        )
    else:
        play = partial(brute.tree_round, own=own, rule=scheme.rule, widths=widths, lenience=l_)
    return [brute.every(lambda dice, start=start: play(dice, start=start)) for start in range(len(target))]


def floats(rows: list) -> list[list[float]]:
    return [[float(own) for own in row] for row in rows]


def table_rounds(scheme: Tokens, pair: TokenChain, kappa: int) -> list[dict]:
    """The same out of the table that kernels play."""
    table, size = scheme.table(draft_law(pair, kappa), kappa, paths=True), len(pair.target)
    out = []
    for start in range(size):
        mass, own = {start: 1.0}, dict[tuple, float]()
        for state, outcomes in enumerate(table.states):
            here = mass.pop(state, 0.0)
            for chance, to in outcomes if here else ():
                if isinstance(to, End):
                    kind = table.kinds[to.kind]
                    key = tuple(spelt(kind.mark, kind.tokens, size)), kind.accepted
                    own[key] = own.get(key, 0.0) + here * chance
                else:
                    mass[to] = mass.get(to, 0.0) + here * chance
        out.append(own)
    return out


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_draft_and_every_verdict_of_a_round_on_tokens(case: dict) -> None:
    """Every text a round may emit, its chance and A: by the table, and by the exact route's means and pairs."""
    for seed, (size, kappa) in enumerate([(2, 2), (3, 1), (2, 0), (3, 2), (2, 1)]):
        widths = case.get("widths", (1,))
        if max(widths) > size and case.get("drafts") == "likeliest":
            continue
        if size == 3 and kappa == 2 and widths in ((2, 2), (3, 1)):
            continue  # 3⁶ drafts, times verdicts
        if kappa == 0 and "ends" in case:
            continue  # nothing is drafted: a plain step, whatever stands behind drafts
        scheme, pair = made(case, np.random.default_rng([21, seed, CASES.index(case)]), size)
        expected = brute_rounds(scheme, pair, kappa)
        for found, own in zip(table_rounds(scheme, pair, kappa), expected, strict=True):
            for key in found.keys() | own.keys():
                assert found.get(key, 0.0) == pytest.approx(float(own.get(key, 0)), abs=NEAR), (key, size, kappa)
        assert_long_run(theory.token_walk(scheme, pair, kappa), expected, pair)


def assert_long_run(law: theory.TokenWalk, rounds: list[dict], pair: TokenChain) -> None:
    start, size = brute.long_run(rounds), len(rounds)
    pmf, pairs = np.zeros(len(law.pmf_accepted)), np.zeros((size, size))
    for share, own in zip(start, rounds, strict=True):
        for (text, accepted), chance in own.items():
            pmf[accepted] += share * float(chance)
            np.add.at(pairs, (text[:-1], text[1:]), share * float(chance))
    pairs /= pairs.sum()
    text = brute.stationary(np.array(pair.target))
    assert law.start_law == pytest.approx(start, abs=NEAR)
    assert law.pmf_accepted == pytest.approx(pmf, abs=NEAR)
    assert law.pairs == pytest.approx(pairs, abs=NEAR)
    goal = text[:, None] * np.array(pair.target)
    assert law.tv_pairs == pytest.approx(np.abs(pairs - goal).sum() / 2, abs=NEAR)
    assert law.tv_tokens == pytest.approx(np.abs((pairs - goal).sum(axis=0)).sum() / 2, abs=NEAR)


@pytest.mark.parametrize("unlike", [False, True])
@pytest.mark.parametrize("widths", [(2, 1), (1, 2), (2, 2)])
def test_transports_by_programmes_in_turn(widths: tuple[int, ...], unlike: bool) -> None:
    """A programme per total and per token, over tuples of drafts; then rounds as a chain of contexts, by hand."""
    for seed, size in enumerate((2, 3)):
        rng = np.random.default_rng([22, seed, unlike])
        pair = TokenChain(target=rows_of(rng, size), draft=rows_of(rng, size, 0.0))
        scheme = Tokens(rule="otm_wor" if unlike else "otm", widths=widths)
        law = theory.token_walk(scheme, pair, 2)
        target, draft = brute.fractions(pair.target), [brute.fractions(pair.draft)]
        own, kept = brute.Drafted(target, draft, False, False), []
        for width in widths:
            kept.append([])
            for context in range(size):
                drawn = brute.every(
                    lambda dice, c=context, w=width, own=own: tuple(own.children(dice, (c,), w, unlike)[0])
                )
                total, by_token = brute.plan_in_turn(target[context], drawn)
                assert sum(by_token) == pytest.approx(total, abs=NEAR)
                kept[-1].append(by_token)
        first, second = np.array(kept[0]), np.array(kept[1])
        rows = np.array(pair.target)
        step = (rows - first) + first @ (rows - second) + first @ second @ rows
        start = brute.stationary(step)
        pmf = [start @ (rows - first).sum(1), start @ first @ (rows - second).sum(1), (start @ first @ second).sum()]
        assert law.pmf_accepted == pytest.approx(pmf, abs=1e-7)
        found = np.zeros(3)
        for share, rounds in zip(start, table_rounds(scheme, pair, 2), strict=True):
            for (_, accepted), chance in rounds.items():
                found[accepted] += share * chance
        assert found == pytest.approx(pmf, abs=1e-7)


def test_lossless_is_said_of_what_loses_nothing() -> None:
    """The word that reports print, against the distance of a pair that would show a loss."""
    rng = np.random.default_rng(23)
    pair = TokenChain(target=rows_of(rng, 3, 0.0), draft=rows_of(rng, 3, 0.0))
    for scheme in (
        Tokens(), Tokens(rule="block"), Tokens(rule="lenient", lenience=1.0), Tokens(rule="lenient", lenience=0.99),
        Tokens(rule="typical", epsilon=0.5, delta=1.0), Tokens(rule="naive", widths=(2, 2)),
    ):  # fmt: skip
        assert scheme.lossless == (theory.token_walk(scheme, pair, 2).tv_pairs < 1e-9), scheme


def test_of_equally_likely_tokens_the_first_is_the_greedy_one() -> None:
    """As an argmax takes them, in drafts and behind them: by the table and by the exact route."""
    even = TokenChain(target=[[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [0.5, 0.0, 0.5]], draft=[[0.2, 0.4, 0.4]] * 3)
    for case in (
        {"rule": "typical", "epsilon": 0.3, "delta": 1.0, "ends": "greedy"},
        {"rule": "typical", "epsilon": 0.3, "delta": 1.0, "widths": (2, 1), "drafts": "likeliest"},
        {"drafts": "likeliest"},
    ):
        scheme = Tokens(**case)
        expected = brute_rounds(scheme, even, 2)
        for found, own in zip(table_rounds(scheme, even, 2), expected, strict=True):
            assert found == pytest.approx({key: float(p) for key, p in own.items()}, abs=NEAR)
        assert_long_run(theory.token_walk(scheme, even, 2), expected, even)


# drafts that stop, and layers that draft


def a_stop(rng: np.random.Generator) -> tuple[Hmm, dict, int]:
    states, kappa = int(rng.integers(1, 4)), int(rng.integers(0, 5))
    right = [float(x) for x in rng.choice([0.0, 0.25, 0.5, 0.75, 0.9, 1.0], states, replace=False)]
    told = tuple(rng.choice([0.125, 0.4, 0.5, 0.8, 1.0], states).tolist()) if rng.random() < 0.5 else None
    rule = str(rng.choice(["survival", "confidence"]))
    theta = float(rng.choice([0.0, 0.2, 0.5, 0.75, 1.0]))
    asked = {"theta": theta, "rule": rule, "kmin": int(rng.integers(1, 4)), "confidences": told}
    return Hmm(P=rows_of(rng, states) if states > 1 else [[1.0]], alphas=right), asked, kappa


@pytest.mark.parametrize("case", range(40))
def test_drafts_that_stop_or_throw_the_last_one_away(case: int) -> None:
    rng = np.random.default_rng([24, case])
    process, asked, kappa = a_stop(rng)
    submits = bool(case % 2)
    rows = brute.fractions(process.P)
    start = [Fraction(float(x)) for x in brute.stationary(np.array(process.P))]
    told, right = ([Fraction(str(x)) for x in own] for own in (asked["confidences"] or process.alphas, process.alphas))
    law = brute.every(
        lambda dice: brute.stopped_rounds(
            dice, told, right, start, rows, asked["rule"], Fraction(str(asked["theta"])), asked["kmin"], kappa, submits
        )
    )
    cost = Cost(draft_table=(0.0, 0.1, 0.17, 0.3, 0.31), verify_table=(1.0, 1.0, 1.2, 1.3, 1.7), c_r=0.4)
    mean = {key: sum(float(p) * own(*found) for found, p in law.items()) for key, own in {
        "accepted": lambda d, a, s: a, "drafted": lambda d, a, s: d, "rejected": lambda d, a, s: a < d,
        "price": lambda d, a, s: cost.target_pass(d) + cost.drafting(s) + cost.c_r * (a < d),
    }.items()}  # fmt: skip
    scheme = Stop(**asked, submits=submits)
    exact = theory.scheme_law(scheme, process, kappa)
    assert exact.mean_accepted == pytest.approx(mean["accepted"], abs=NEAR)
    assert exact.mean_drafted == pytest.approx(mean["drafted"], abs=NEAR)
    assert exact.p_rejected == pytest.approx(mean["rejected"], abs=NEAR)
    assert exact.price(cost) == pytest.approx(mean["price"], abs=NEAR)
    assert_kinds(scheme.rounds(draft_law(process, kappa), kappa), law, lambda kind: (
        kind.drafted, kind.accepted, kind.steps))  # fmt: skip
    if submits:
        own = SelfDraft(layers=0.25, adapter=0.05, **asked)
        paid = sum(
            float(p) * (s * 0.3 + 0.25 * cost.target_pass(0) + 0.75 * cost.target_pass(d) + 0.4 * (a < d))
            for (d, a, s), p in law.items()
        )
        assert theory.scheme_law(own, process, kappa).price(cost) == pytest.approx(paid, abs=NEAR)


def assert_kinds(table, law: dict, known) -> None:
    """Chances of kinds of round, of a table whose rounds are independent."""
    mass, found = {0: 1.0}, dict[tuple, float]()
    for state, outcomes in enumerate(table.states):
        for chance, to in outcomes:
            here = mass.get(state, 0.0) * chance
            if isinstance(to, End):
                key = known(table.kinds[to.kind])
                found[key] = found.get(key, 0.0) + here
            else:
                mass[to] = mass.get(to, 0.0) + here
    for key in found.keys() | law.keys():
        assert found.get(key, 0.0) == pytest.approx(float(law.get(key, 0)), abs=NEAR), key


@pytest.mark.parametrize("rule", ["survival", "confidence"])
@pytest.mark.parametrize("submits", [True, False])
@pytest.mark.parametrize(
    "alphas", [(0.9, 0.8, 0.4), (0.9, 0.4, 0.8), (0.4, 0.9, 0.8), (1.0, 0.0, 0.5), (0.75, 0.75, 0.75), (0.6,), ()]
)
def test_drafts_that_stop_by_a_rate_per_depth(alphas: tuple[float, ...], submits: bool, rule: str) -> None:
    """What a draft model knows is its depth: so the length is always the same one, and the last one may be in vain."""
    process, kappa = Position(alphas=alphas or (0.5,)), len(alphas)
    law, size = [Fraction(str(own)) for own in alphas], kappa
    order, first = [brute.hot(min(i + 1, size - 1), size) for i in range(size)], brute.hot(0, size)
    for theta, kmin in ((0.5, 1), (0.5, 2), (0.7, 3), (0.7, 4), (0.0, 1), (1.0, 1)):
        own = brute.every(
            lambda dice, t=Fraction(str(theta)), k=kmin: brute.stopped_rounds(
                dice, law, law, first, order, rule, t, k, kappa, submits
            )
        )
        scheme = Stop(theta=theta, rule=rule, kmin=kmin, submits=submits)
        rounds = [(float(p), (d, s, a, a < d)) for (d, a, s), p in own.items()]
        assert_means(theory.scheme_law(scheme, process, kappa), rounds, 1 + sum(p * x[2] for p, x in rounds))
        assert_kinds(
            scheme.rounds(draft_law(process, kappa), kappa), own, lambda kind: (kind.drafted, kind.accepted, kind.steps)
        )


def test_thresholds_that_are_close_to_each_other_are_all_tried() -> None:
    """Products that lie 1% apart are two rules; every limit and every threshold between products is tried here."""
    values, weights, right, cost = [0.9, 0.895], [0.5, 0.5], [0.9, 0.2], Cost(c_d=0.1)
    own = stop_bounds(values, weights, cost, 3, acceptance=right)
    tried = []
    for theta in (0.0, *np.linspace(0.79, 0.901, 112)):  # a step of .001; products of one and two are .004 apart
        for most in (1, 2, 3):
            law = brute.every(
                lambda dice, t=theta, k=most: brute.stopped_rounds(
                    dice, [Fraction(v) for v in values], [Fraction(v) for v in right], [Fraction(1, 2)] * 2,
                    [[Fraction(1, 2)] * 2] * 2, "survival", Fraction(float(t)), 1, k, True,
                )
            )  # fmt: skip
            tokens, drafts = (sum(float(p) * x[i] for x, p in law.items()) for i in (1, 0))
            tried.append((1 + tokens) / (1 + 0.1 * drafts))
    assert own.threshold == pytest.approx(max(tried), abs=1e-12)


def test_a_confidence_of_nothing_names_no_child() -> None:
    """Whatever such a child would be worth, no tree of the draft can hold it."""
    named = best_static_tree([[0.6, 0.0], [0.5, 0.25]], [1, 1], 2, 2, 5, acceptance=[[0.6, 0.4], [0.5, 0.25]])
    tried = []
    for tree in rank_trees(2, 5, 2, prefix=False):
        levels = [[0.55, 0.125]] * 2
        law, _ = walk(*numbered(tree, levels), False)
        tried.append(sum(j * p for j, p in law.items()))
    assert named.mean_accepted == pytest.approx(max(tried), abs=1e-12)


def test_beyond_a_table_a_price_is_not_known() -> None:
    """Not the last entry, which would be a price that nobody gave; a table that is longer is cut."""
    own = Prices.of(Cost(verify_table=(1.0, 1.5), draft_table=(0.0, 0.1, 0.2, 0.25)), 2)
    assert own.verify.tolist()[:2] == [1.0, 1.5]
    assert own.draft.tolist() == [0.0, 0.1, 0.2]
    assert np.isnan([own.verify[2], own.base[2]]).all()


# trees that grow


@pytest.mark.parametrize("case", range(24))
def test_trees_grown_by_vectors(case: int) -> None:
    rng = np.random.default_rng([25, case])
    many, ranks = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    breadth, depth, nodes = int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(1, 7))
    primes = rng.permutation([31, 67, 101, 149, 199, 251, 293, 331, 37])[: many * ranks].reshape(many, ranks)
    told = [[float(x) / 1000 for x in row] for row in primes]
    weights = [float(w) for w in rng.integers(1, 5, many)]
    right = [[float(x) for x in rng.integers(0, 4, ranks) / 10] for _ in range(many)] if case % 3 == 1 else None
    temperature = float(rng.choice([0.5, 2.0])) if case % 3 == 2 else None
    chances = right or told
    if temperature is not None:
        powers = [[x ** (1 / temperature) for x in (*row, 1.0 - sum(row))] for row in told]
        chances = [[x / sum(row) for x in row[:-1]] for row in powers]
    vectors = [[Fraction(str(x)) for x in row] for row in told]
    exact_chances = [[Fraction(x).limit_denominator(10**12) for x in row] for row in chances]
    law = brute.every(
        lambda dice: brute.grown_rounds(
            dice, vectors, exact_chances, [Fraction(w) for w in weights], breadth, depth, nodes
        )
    )
    first = sum(w * row[int(np.argmax(t))] for w, row, t in zip(weights, chances, told, strict=True)) / sum(weights)
    scheme = DynamicTree(
        vectors=told, weights=weights, acceptance=right, temperature=temperature, breadth=breadth, depth=depth
    )
    exact = theory.scheme_law(scheme, Iid(alpha=first), nodes)
    mean = [sum(float(p) * own[i] for own, p in law.items()) for i in range(3)]
    assert [exact.mean_drafted, exact.mean_accepted, exact.p_rejected] == pytest.approx(mean, abs=NEAR)
    cost = Cost(c_d=0.1, verify_table=(1.0, 1.1, 1.1, 1.4, 1.5, 1.5, 2.0), c_r=0.3)
    paid = sum(float(p) * (cost.target_pass(n) + 0.1 * depth + 0.3 * r) for (n, _, r), p in law.items())
    assert exact.price(cost) == pytest.approx(paid, abs=NEAR)
    assert_played(scheme.rounds(draft_law(Iid(alpha=first), nodes), nodes), law)


def assert_played(rounds, law: dict) -> None:
    """Chi-square of 16,000 rounds, false alarm 1e-6 / 24 each."""
    form = scheme_form(rounds)
    counts = scheme_counts(form, stream_keys(11, "grown"), 0, LANES, 250).sum(axis=0)
    seen = dict[tuple, int]()
    for kind, count in zip(form.kinds, counts, strict=True):
        key = kind.drafted, kind.accepted, kind.rejected
        seen[key] = seen.get(key, 0) + int(count)
    total = sum(seen.values())
    assert not any(count and not law.get(key) for key, count in seen.items())
    often = {key: total * float(p) for key, p in law.items() if total * float(p) >= 25}
    distance = sum((seen.get(key, 0) - goal) ** 2 / goal for key, goal in often.items())
    assert distance <= chdtri(len(often), 1e-6 / 24)


# the best tree, chain and chains


PLANS = [
    ([0.6, 0.2], {"c_d": 0.1, "c_v": 0.02}, 5, None, "exclusive"),
    ([0.6, 0.2, 0.1], {"c_d": 0.05, "c_v": 0.01, "c_r": 0.4}, 4, 2, "exclusive"),
    ([0.5, 0.45], {"c_d": 0.02, "c_r": 1.0}, 5, None, "exclusive"),
    ([0.7, 0.5], {"c_d": 0.1, "c_v": 0.03}, 5, None, "sequential"),
    ([0.4, 0.9, 0.3], {"c_d": 0.02, "c_v": 0.02, "c_r": 0.3}, 4, None, "sequential"),
    ([[0.6, 0.3], [0.9, 0.05], [0.2, 0.2]], {"c_d": 0.05, "c_v": 0.02}, 5, None, "exclusive"),
    ([0.6, 0.3], {"c_d": 0.05, "verify_table": [1.0, 1.0, 1.4, 1.4, 1.4, 2.0]}, 5, None, "exclusive"),
    ([0.8, 0.1], {"draft_table": [0.0, 0.1, 0.3], "c_v": 0.02}, 5, None, "exclusive"),
    ([0.8], {"c_d": 0.1}, 5, None, "exclusive"),
    ([1.0, 0.0], {"c_d": 0.1, "c_v": 0.01}, 4, None, "exclusive"),
    ([0.0, 0.7], {"c_d": 0.1, "c_v": 0.01}, 4, None, "exclusive"),
    ([0.1, 0.05], {"c_d": 0.3, "c_v": 0.1}, 4, None, "exclusive"),
]


@pytest.mark.parametrize(("ranks", "cost", "nodes", "depth", "siblings"), PLANS, ids=str)
def test_a_plan_against_every_tree_there_is(ranks, cost, nodes, depth, siblings) -> None:
    """All trees of all sizes: the fastest, the fastest of each size, of chains, of K chains; most tokens for a cost."""
    price, sequential = Cost(**cost), siblings == "sequential"
    levels = ranks if isinstance(ranks[0], list) else [ranks] * nodes
    table = price.draft_table
    most = min(depth or nodes, len(levels), nodes if table is None else len(table) - 1)
    found = []
    for tree in rank_trees(len(levels[0]), nodes, most, prefix=sequential):
        law, inner = walk(*numbered(tree, levels), sequential)
        tokens = 1.0 + sum(j * p for j, p in law.items())
        deep = max(map(len, tree), default=0)
        paid = price.target_pass(len(tree)) + price.drafting(deep)
        firsts = [path for path in tree if len(path) == 1]
        chains = 0
        if set(tree) == {(r, *[1] * j) for r in range(1, len(firsts) + 1) for j in range(deep)}:
            chains = len(firsts)
        found.append((tokens / (paid + price.c_r * inner), tokens, paid, len(tree), chains))
    plan = plan_tree(ranks, cost, nodes=nodes, depth=depth, siblings=siblings)
    assert plan.best.speedup == pytest.approx(max(own[0] for own in found), abs=1e-12)
    for own in plan.by_nodes:
        assert own.speedup == pytest.approx(max(x[0] for x in found if x[3] == own.nodes), abs=1e-12)
    assert plan.chain.speedup == pytest.approx(max(x[0] for x in found if (x[4] <= 1 and x[3] == 0) or x[4] == 1))
    several = [x[0] for x in found if x[4] > 1]
    assert (plan.drafts is None) == (not several)
    if plan.drafts is not None:
        assert plan.drafts.speedup == pytest.approx(max(several), abs=1e-12)
    for row in plan.equal_cost:
        fair = [x for x in found if x[2] <= row["round_cost"] + 1e-9]
        assert row["tree"]["mean_tokens"] == pytest.approx(max(x[1] for x in fair), abs=1e-12)
        alone = [x[1] for x in fair if x[4] == 1 or x[3] == 0]
        assert row["chain"]["mean_tokens"] == pytest.approx(max(alone), abs=1e-12)
        beside = [x[1] for x in fair if x[4] > 1]
        assert (row["drafts"] is None) == (not beside)
        if beside:
            assert row["drafts"]["mean_tokens"] == pytest.approx(max(beside), abs=1e-12)
