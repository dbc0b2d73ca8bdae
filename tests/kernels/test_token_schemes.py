"""Do rounds on real tokens follow the exact law of their rule, and do lossless ones emit the target's own text?"""

import itertools
import math

import numpy as np
import pytest
from scipy.special import chdtri
from token_cases import (
    AT_ONCE,
    FEW,
    HOLES,
    LOSSLESS,
    LOSSY,
    MEDUSA,
    OF_TWO,
    ONE,
    OTHER,
    PAIR,
    PAIRS,
    SAME,
    SPARSE,
    TOKENS,
    ZERO,
    can_draft,
)

import simspec
from simspec import theory
from simspec.kernels import play, twin
from simspec.kernels.lower_schemes import scheme_form
from simspec.kernels.words import LANES, stream_keys
from simspec.model import Cost, Iid, ParameterError, TokenChain
from simspec.model.draft_laws import draft_law
from simspec.model.rounds import End
from simspec.model.schemes import Tokens
from simspec.model.token_rules import TURNS, in_turn, one_position
from simspec.model.token_rules.rounds import spelt

FALSE_ALARM = 1e-6
LINEAR_PROGRAM = 1e-6
"""How far the programme of a transport may be off."""


def weights(table):
    """Chance of every kind of round in the long run, from the table itself."""
    mass, out = np.zeros(len(table.states)), np.zeros(len(table.kinds))
    for chance, state in table.first:
        mass[state] += chance
    for state, outcomes in enumerate(table.states):
        for chance, to in outcomes:
            if isinstance(to, End):
                out[to.kind] += chance * mass[state]
            else:
                mass[to] += chance * mass[state]
    return out


def pairs_of(kinds, counts, tokens):
    out = np.zeros((tokens, tokens))
    for kind, count in zip(kinds, counts, strict=True):
        path = spelt(kind.mark, kind.tokens, tokens)
        np.add.at(out, (path[:-1], path[1:]), count)
    return out


@pytest.mark.parametrize(("scheme", "pair", "kappa"), TOKENS, ids=str)
def test_table_and_rounds_hold_the_exact_law(scheme, pair, kappa):
    """Without any chance: lengths, first contexts and pairs of tokens; then the table is played."""
    law, table = theory.token_walk(scheme, pair, kappa), scheme.table(draft_law(pair, kappa), kappa, paths=True)
    table.check()
    own, pmf = weights(table), np.zeros(kappa + 1)
    np.add.at(pmf, [kind.accepted for kind in table.kinds], own)
    assert pmf == pytest.approx(law.pmf_accepted, abs=LINEAR_PROGRAM)
    assert [chance for chance, _ in table.first] == pytest.approx(law.start_law.tolist(), abs=LINEAR_PROGRAM)
    pairs = pairs_of(table.kinds, own, len(pair.target))
    assert pairs / pairs.sum() == pytest.approx(law.pairs, abs=LINEAR_PROGRAM)
    assert {kind.drafted for kind in table.kinds} == {law.nodes}
    assert all(spelt(kind.mark, kind.tokens, len(pair.target))[-1] == kind.start for kind in table.kinds)
    if scheme.lossless:
        assert law.tv_pairs == pytest.approx(0.0, abs=1e-12)
    plain = scheme.rounds(draft_law(pair, kappa), kappa)  # without paths: fewer states, the same law
    short = np.zeros(kappa + 1)
    np.add.at(short, [kind.accepted for kind in plain.kinds], weights(plain))
    assert short == pytest.approx(law.pmf_accepted, abs=LINEAR_PROGRAM)

    assert_plays(table, own, len(pair.target))


def assert_plays(table, exact, tokens):
    """Chi-square by kind of round, given the context it starts in: rounds are then independent.  130,000 of them."""
    form, keys = scheme_form(table), stream_keys(5, "rounds by kind")
    counts = sum(play.scheme_counts(form, keys, c, LANES, 1000).sum(axis=0) for c in range(2))
    first = np.array([spelt(kind.mark, kind.tokens, tokens)[0] for kind in form.kinds])
    distance, free = 0.0, 0
    for context in range(tokens):
        own = first == context
        if exact[own].sum() <= 1e-12:
            assert counts[own].sum() == 0
            continue
        expected = exact[own] / exact[own].sum() * counts[own].sum()
        assert not counts[own][expected == 0.0].any()
        often = expected >= 25.0
        seen = [*counts[own][often], counts[own][~often].sum()]
        goal = [*expected[often], expected[~often].sum()]
        distance += sum((a - b) ** 2 / b for a, b in zip(seen, goal, strict=True) if b >= 25.0)
        free += max(sum(b >= 25.0 for b in goal) - 1, 0)
    assert distance <= (chdtri(free, FALSE_ALARM) if free else 1e-9), (distance, free)


def emission(table, tokens):
    """(start, emitted tokens) → chance that a round emits exactly these."""
    out = {}
    mass = {(state, state): 1.0 for state in range(tokens)}
    for state, outcomes in enumerate(table.states):
        for start in range(tokens):
            here = mass.pop((start, state), 0.0)
            for chance, to in outcomes if here else ():
                if isinstance(to, End):
                    kind = table.kinds[to.kind]
                    path = tuple(spelt(kind.mark, kind.tokens, tokens))
                    out[path] = out.get(path, 0.0) + chance * here
                else:
                    mass[start, to] = mass.get((start, to), 0.0) + chance * here
    return out


@pytest.mark.parametrize("scheme", [*LOSSLESS, *OF_TWO, *AT_ONCE], ids=str)
def test_a_lossless_text_is_the_targets_to_the_last_word(scheme):
    """Chance of every text of six tokens behind every context, over as many rounds as it takes: not pairs alone."""
    for pair in (PAIR, SPARSE, HOLES):
        if not can_draft(scheme, pair):
            continue
        table = scheme.table(draft_law(pair, 3), 3, paths=True)
        rounds = emission(table, 3)
        begins = {}
        for path, chance in rounds.items():
            for end in range(1, len(path) + 1):
                begins[path[:end]] = begins.get(path[:end], 0.0) + chance

        def text(path, rounds=rounds, begins=begins):
            """P(the text goes on so): one round says it all, or it ends within."""
            ends = (rounds.get(path[:m], 0.0) * text(path[m - 1 :]) for m in range(2, len(path)))
            return 1.0 if len(path) == 1 else begins.get(path, 0.0) + sum(ends)

        rows = np.array(pair.target)
        for path in itertools.product(range(3), repeat=7 if scheme is LOSSLESS[0] else 6):
            goal = math.prod(rows[one, two] for one, two in itertools.pairwise(path))
            assert text(path) == pytest.approx(goal, abs=LINEAR_PROGRAM)


def test_a_lossy_text_is_not():
    for scheme in LOSSY:
        assert not scheme.lossless
        if scheme.epsilon == 1.0:  # no token is so likely: all of them are the target's own
            assert theory.token_walk(scheme, PAIR, 3).tv_pairs == pytest.approx(0.0)
            continue
        assert theory.token_walk(scheme, PAIR, 3).tv_pairs > 0.02
    assert theory.token_walk(Tokens(rule="lenient", lenience=0.5), SAME, 3).tv_pairs > 0.0
    assert theory.token_walk(Tokens(rule="typical", epsilon=1.0, delta=0.0), SAME, 3).tv_pairs == pytest.approx(0.0)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("kappa", [1, 2, 4])
def test_chains_against_the_routes_that_there_were(pair, kappa):
    own = theory.token_walk(Tokens(), pair, kappa)
    assert own.pmf_accepted == pytest.approx(theory.window(pair, kappa).pmf_accepted)
    block, known = theory.token_walk(Tokens(rule="block"), pair, kappa), theory.block_verification(pair, kappa=kappa)
    assert block.pmf_accepted == pytest.approx(known.pmf_accepted)
    assert block.emitted_law == pytest.approx(known.emitted_law)
    assert block.mean_accepted >= own.mean_accepted - 1e-12
    one = theory.token_walk(Tokens(sequences=1), pair, kappa)
    assert one.pmf_accepted == pytest.approx(own.pmf_accepted)


RULES = {
    "rrs": lambda p, q, k: theory.recursive_rejection(p, [q] * k).acceptance,
    "naive": lambda p, q, k: theory.naive_matching(p, [q] * k).acceptance,
    "rrs_wor": lambda p, q, k: theory.recursive_rejection_distinct(p, q, k).acceptance,
    "kseq": lambda p, q, k: theory.k_seq(p, q, k).acceptance,
    "otm": lambda p, q, k: theory.transport_optimum(p, [q] * k).acceptance,
    "otm_wor": lambda p, q, k: theory.transport_optimum_distinct(p, q, k).acceptance,
}
LAWS = [((0.5, 0.3, 0.2), (0.2, 0.3, 0.5)), ((0.4, 0.4, 0.2), (0.1, 0.2, 0.7)), ((0.5, 0.5), (0.9, 0.1)),
        ((0.3, 0.3, 0.3, 0.1), (0.1, 0.2, 0.3, 0.4)), ((0.2, 0.8), (0.2, 0.8))]  # fmt: skip


def same_everywhere(p, q):
    return TokenChain(target=(p,) * len(p), draft=(q,) * len(q))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("p", "q"), LAWS, ids=str)
def test_k_drafts_at_every_node_of_a_window(rule, p, q):
    """Laws that are the same everywhere: E[A] = Σ α_K^j."""
    for draws, kappa in ((1, 3), (2, 1), (2, 3)):
        law = theory.token_walk(Tokens(rule=rule, widths=(draws,) * kappa), same_everywhere(p, q), kappa)
        rate = RULES[rule](p, q, draws)
        assert law.mean_accepted == pytest.approx(sum(rate**j for j in range(1, kappa + 1)))


def every_drafted_sequence(rule, p, q, many, kappa):
    """E[A] of merged sequences, whole drafts listed: chances by token of `draft_chances`, no states."""
    total = 0.0
    words = list(itertools.product(range(len(q)), repeat=kappa))
    for drafted in itertools.product(words, repeat=many):
        chance = math.prod(q[token] for word in drafted for token in word)
        total += chance * expected(rule, p, q, [list(word) for word in drafted])
    return total


def expected(rule, p, q, words):
    """Accepted length from here on, given the rest of every sequence that agrees."""
    if not words or not words[0]:
        return 0.0
    return sum(
        chance * (1.0 + expected(rule, p, q, [word[1:] for word in words if word[0] == token]))
        for token, chance in draft_chances(rule, p, q, [word[0] for word in words]).items()
        if chance > 0.0
    )


def draft_chances(rule, p, q, drawn):
    out, reached, owed = dict.fromkeys(drawn, 0.0), 1.0, list(p)
    if rule == "naive":
        return {token: p[token] for token in out}
    rho = theory.k_seq(p, q, len(drawn)).rho if rule == "kseq" else 1.0
    for token in drawn:
        kept = min(1.0, owed[token] / (rho * q[token]))
        out[token] += reached * kept
        reached *= 1.0 - kept
        if rule == "rrs":
            left = [max(a - b, 0.0) for a, b in zip(owed, q, strict=True)]
            owed = [a / sum(left) for a in left] if sum(left) > 1e-15 else owed
    return out


@pytest.mark.parametrize("rule", ["rrs", "naive", "kseq"])
@pytest.mark.parametrize(("p", "q"), LAWS, ids=str)
def test_k_sequences_keep_less_than_k_drafts_at_every_node(rule, p, q):
    """SpecTr: sequences that left the path are lost.  Against a listing of all drafted sequences."""
    for many, kappa in ((2, 2), *(((3, 2), (2, 3)) if len(p) == 2 else ())):
        law = theory.token_walk(Tokens(rule=rule, sequences=many), same_everywhere(p, q), kappa)
        assert law.mean_accepted == pytest.approx(every_drafted_sequence(rule, p, q, many, kappa))
        rate = RULES[rule](p, q, many)
        assert law.mean_accepted <= sum(rate**j for j in range(1, kappa + 1)) + 1e-12
        one = RULES[rule](p, q, 1)
        assert law.mean_accepted >= sum(one**j for j in range(1, kappa + 1)) - 1e-12


@pytest.mark.parametrize("many", [1, 2, 3])
@pytest.mark.parametrize("others", [None, (OTHER,)])
@pytest.mark.parametrize("drafting", ["depth", "window"])
def test_merged_nodes_by_listing_the_sequences(many, others, drafting):
    if others is not None and many != 2:
        return
    scheme, kappa = Tokens(sequences=many, others=others, drafting=drafting), 2
    models = [PAIR.draft, *(others or ())]
    start, total = theory.token_walk(scheme, PAIR, kappa).start_law, 0.0
    words = list(itertools.product(range(3), repeat=kappa))
    for context in range(3):
        for drafted in itertools.product(words, repeat=many):
            chance = start[context]
            for i, word in enumerate(drafted):
                rows = models[min(i, len(models) - 1)]
                if drafting == "window":  # the second token, whatever the first one is
                    rows = np.array(rows)
                    chance *= rows[context, word[0]] * (rows @ rows)[context, word[1]]
                    continue
                chance *= math.prod(rows[one][two] for one, two in itertools.pairwise((context, *word)))
            total += chance * len({word[:end] for word in drafted for end in range(1, kappa + 1)})
    assert theory.merged_nodes(scheme, PAIR, kappa) == pytest.approx(total)
    assert theory.merged_nodes(Tokens(sequences=many), ONE, 4) == pytest.approx(4.0)


@pytest.mark.parametrize(("scheme", "pair", "kappa"), FEW, ids=str)
def test_the_twin_plays_the_same_paths(scheme, pair, kappa):
    form, keys = scheme_form(scheme.table(draft_law(pair, kappa), kappa, paths=True)), stream_keys(3, "token twins")
    fast, slow = (player.scheme_counts(form, keys, 1, 4, 25) for player in (play, twin))
    assert fast.tolist() == slow.tolist()


def emitted(table, size, positions=2_000_000):
    """Chi-square of the tokens of one position against nothing yet: counts by token."""
    form, keys = scheme_form(table), stream_keys(9, "planted")
    each = positions // (8 * LANES)
    counts = sum(play.scheme_counts(form, keys, c, LANES, each).sum(axis=0) for c in range(8))
    out = np.zeros(size)
    np.add.at(out, [kind.mark for kind in form.kinds], counts)
    return out


def far(counts, p):
    goal = counts.sum() * np.array(p)
    return float(((counts - goal) ** 2 / goal).sum()) > chdtri(len(p) - 1, FALSE_ALARM)


def test_wrong_rules_would_be_seen():
    """The target instead of the residual; ρ too small; a draft not taken off because it equals a rejected one."""
    p, q = (0.5, 0.35, 0.15), (0.2, 0.3, 0.5)

    def no_residual(p, laws):
        own = TURNS["rrs"](p, laws)
        return type(own)(own.chances, list(p))

    def greedy_rho(p, laws):
        return TURNS["kseq"](p, laws, rho=1.2)

    for wrong in (no_residual, greedy_rho):
        assert far(emitted(one_position(in_turn(wrong), p, [q, q]), 3), p)
    for right in (TURNS["rrs"], TURNS["kseq"]):
        assert not far(emitted(one_position(in_turn(right), p, [q, q]), 3), p)
    assert far(emitted(one_position(deduplicated, p, [q, q]), 3), p)


def deduplicated(walk, place, p, laws, then):
    """Multi-step rejection over the different tokens of a merged tree, each tried once."""
    turns = TURNS["rrs"](p, laws[:1])
    first, left = turns.chances[0], turns.left
    second = TURNS["rrs"](left, laws[1:])

    def judge(token):
        return walk.either(
            first[token], lambda: then(token, (0,), 2), lambda: walk.state(("second", token), lambda: again(token))
        )

    def again(before):
        return walk.draw(laws[1], lambda token: walk.state(("end", before, token), lambda: end(before, token)))

    def end(before, token):
        if token == before:
            return walk.draw(left, lambda other: then(other, (), 2))
        rest = walk.state("rest", lambda: walk.draw(second.left, lambda other: then(other, (), 2)))
        return walk.either(second.chances[0][token], lambda: then(token, (1,), 2), lambda: rest)

    return walk.draw(laws[0], lambda token: walk.state(("first", token), lambda: judge(token)))


def test_a_scenario_plays_them():
    found = simspec.simulate(
        PAIR, {"c_d": 0.1, "c_v": 0.01}, kappa=[0, 3], windows=200_000, scheme={"type": "tokens", "widths": [2, 2, 1]}
    )
    row, law = found.to_pandas().iloc[1], theory.token_walk(Tokens(widths=(2, 2, 1)), PAIR, 3)
    assert row.mean_tokens_low < law.mean_accepted + 1 < row.mean_tokens_high
    assert row.mean_round_cost == pytest.approx(1 + 0.3 + 0.1)
    assert row.speedup_exact == pytest.approx((law.mean_accepted + 1) / 1.4)
    own = theory.scheme_law(Tokens(widths=(2, 2, 1)), PAIR, 3)
    assert own.price(Cost(c_r=0.5)) == pytest.approx(1 + 0.5 * law.p_rejected)


def test_what_cannot_be_asked():
    laws = draft_law(PAIR, 3)
    for make, named in (
        (lambda: Tokens(rule="best"), "rule"),
        (lambda: Tokens(widths=()), "widths"),
        (lambda: Tokens(widths=(0,)), "widths"),
        (lambda: Tokens(widths=(2,), sequences=2), "sequences"),
        (lambda: Tokens(rule="lenient"), "lenience"),
        (lambda: Tokens(heads=2), "heads"),
        (lambda: Tokens(rule="lenient", lenience=0.0), "lenience"),
        (lambda: Tokens(lenience=0.5), "lenience"),
        (lambda: Tokens(epsilon=0.5), "epsilon"),
        (lambda: Tokens(ends="greedy"), "ends"),
        (lambda: Tokens(rule="typical", epsilon=1.5), "epsilon"),
        (lambda: Tokens(rule="block", widths=(2, 1)), "rule"),
        (lambda: Tokens(rule="block", sequences=2), "rule"),
        (lambda: Tokens(rule="otm", sequences=2), "rule"),
        (lambda: Tokens(rule="typical", sequences=2), "rule"),
        (lambda: Tokens(sequences=2, drafts="likeliest"), "drafts"),
        (lambda: Tokens(rule="kseq", drafts="likeliest"), "drafts"),
        (lambda: Tokens(rule="kseq", widths=(2,), others=(OTHER,)), "others"),
        (lambda: Tokens(others=()), "others"),
        (lambda: Tokens(others=((0.5, 0.5),)), "others"),
        (lambda: Tokens(sequences=3, others=(OTHER,)), "sequences"),
        (lambda: Tokens(widths=(3,), others=(OTHER,)), "widths"),
        (lambda: Tokens(widths=(2, 2), others=(((0.5, 0.4), (0.5, 0.5)),)), "others[0]"),
        (lambda: Tokens(widths=(2, 1)).rounds(laws, 3), "kappa"),
        (lambda: Tokens(sequences=2, others=(((0.5, 0.5), (0.5, 0.5)),)).rounds(laws, 2), "others[0]"),
        (lambda: Tokens(rule="rrs_wor", widths=(3,)).rounds(draft_law(HOLES, 1), 1), "widths"),
        (lambda: Tokens(widths=(4,), drafts="likeliest").rounds(laws, 1), "widths"),
        (lambda: Tokens().rounds(draft_law(Iid(alpha=0.5), 2), 2), "process"),
        (lambda: theory.scheme_law(Tokens(), Iid(alpha=0.5), 2), "process"),
        (lambda: MEDUSA.rounds(draft_law(SAME, 3), 3), "kappa"),
        (lambda: theory.token_walk(MEDUSA, SAME, 3), "kappa"),
        (lambda: theory.token_walk(Tokens(sequences=8), even(12), 6), "sequences"),
        (lambda: theory.token_walk(Tokens(rule="otm", widths=(2,)), even(30), 1), "process"),
        (lambda: theory.merged_nodes(Tokens(), PAIR, 2), "sequences"),
        (lambda: theory.merged_nodes(Tokens(sequences=2), even(30), 6), "kappa"),
    ):
        with pytest.raises(ParameterError) as caught:
            make()
        assert caught.value.key == named, caught.value


def test_a_table_stays_small():
    """Draws and verdicts are one state where nothing else leads there: two states per context and level, not V + 1."""
    for kappa in (1, 4):
        table = Tokens().rounds(draft_law(even(20), kappa), kappa)
        assert len(table.states) <= 20 * (2 * kappa + 1)
    table = Tokens(rule="block").rounds(draft_law(PAIR, 3), 3)
    assert len(table.states) < 150


@pytest.mark.parametrize("rule", ["rrs", "naive", "kseq"])
@pytest.mark.parametrize("drafting", ["depth", "window"])
def test_sequences_of_one_model_are_told_apart_by_their_number(rule, drafting):
    """Six sequences have 63 subsets, the table knows seven sizes: E[A] of its walk, against all subsets and tuples."""
    scheme = Tokens(rule=rule, sequences=6, drafting=drafting)
    table = scheme.rounds(draft_law(PAIR, 3), 3)
    reached, accepted = [0.0] * len(table.states), 0.0
    for chance, state in table.first:
        reached[state] += chance
    for state, outcomes in enumerate(table.states):
        for chance, to in outcomes:
            if isinstance(to, End):
                accepted += reached[state] * chance * table.kinds[to.kind].accepted
            else:
                reached[to] += reached[state] * chance
    assert accepted == pytest.approx(theory.token_walk(scheme, PAIR, 3).mean_accepted, rel=1e-9)
    assert len(Tokens(rule=rule, sequences=8, drafting=drafting).rounds(draft_law(PAIR, 3), 3).states) < 10_000


def test_too_much_to_play_or_list_is_one_error(monkeypatch):
    monkeypatch.setattr("simspec.model.token_rules.walk.STATES_LIMIT", 2000)
    monkeypatch.setattr("simspec.model.token_rules.transports.SETS_LIMIT", 10)
    monkeypatch.setattr("simspec.theory.token_paths.PATHS_LIMIT", 2000)
    with pytest.raises(ParameterError, match="kappa as large as this takes over 2,000 states"):
        Tokens(rule="kseq", sequences=8).rounds(draft_law(even(12), 6), 6)
    with pytest.raises(ParameterError, match="kappa takes over 10 drafted sets"):
        Tokens(rule="otm", widths=(2,)).rounds(draft_law(even(5), 1), 1)
    with pytest.raises(ParameterError, match="more than 2,000 paths"):
        theory.token_walk(Tokens(rule="block"), even(30), 6)


def even(tokens):
    """Every token as likely as any, with drafts that lean to low ones."""
    lean = [2.0 * (tokens - i) / (tokens * (tokens + 1)) for i in range(tokens)]
    return TokenChain(target=((1.0 / tokens,) * tokens,) * tokens, draft=(tuple(lean),) * tokens)


def test_greedy_decoding_is_a_target_of_zeros_and_ones():
    """Where the target is sure, rejection keeps a draft exactly if the target draws the same."""
    for widths in (None, (2, 2, 2)):
        one, two = (theory.token_walk(Tokens(rule=rule, widths=widths), ZERO, 3) for rule in ("rrs", "naive"))
        assert one.pmf_accepted == pytest.approx(two.pmf_accepted)
        assert one.tv_pairs == pytest.approx(0.0)
