"""Histories under a rule on every process: against fixed lengths, hidden paths listed one by one, and by hand."""

import itertools
import math

import numpy as np
import pytest
from theory_brute import rate_moment

from simspec import theory
from simspec.model import (
    BetaMixture,
    Cost,
    DiscreteMixture,
    Drift,
    GaussianCopulaAr1,
    Hmm,
    Iid,
    Markov,
    ParameterError,
    Position,
    Survival,
    TokenChain,
)
from simspec.model.rows import RowProcess, RowTable

COST = Cost(c_d=0.1, c_v=0.02, c_r=0.3)
MOVES = ((0.9, 0.1), (0.25, 0.75))
TARGET = ((0.6, 0.3, 0.1), (0.2, 0.5, 0.3), (0.1, 0.1, 0.8))
DRAFT = ((0.4, 0.4, 0.2), (0.3, 0.3, 0.4), (0.05, 0.5, 0.45))
HALVES = {"alphas": (0.9, 0.4), "weights": (0.3, 0.7)}


class Tired(RowProcess):
    """A user's process: three rows, each full window makes the next one worse."""

    type: str = "tired"

    def rows(self, kappa):
        return RowTable([[rate ** (j + 1) for j in range(kappa)] for rate in (0.9, 0.6, 0.3)], (0, 0, 1), (1, 2, 2))


class Coin(RowProcess):
    """A user's process of one row, which knows how long a draft is."""

    type: str = "coin"

    def rows(self, kappa):
        return RowTable([[0.9 ** (kappa * (j + 1)) for j in range(kappa)]])


ENDLESS = {
    "iid": Iid(alpha=0.7),
    "never": Iid(alpha=0.0),
    "always": Iid(alpha=1.0),
    "survival": Survival(survival=(0.7, 0.6, 0.1, 0.1, 0.0)),
    "position": Position(alphas=(0.9, 1.0, 0.2, 0.8, 0.5)),
    "markov": Markov(alpha=0.7, rho=0.3),
    "markov, carried": Markov(alpha=0.7, rho=0.3, start="carry"),
    "markov, by position": Markov(alpha=0.6, rho=-0.4, start="carry", steps_after_reject=2, steps_after_full=2),
    "discrete": DiscreteMixture(**HALVES),
    "beta": BetaMixture(alpha=0.7, rho=0.2),
    "copula": GaussianCopulaAr1(alpha=0.7, rho=0.4),
    "hmm": Hmm(P=MOVES, alphas=(0.95, 0.4)),
    "hmm, carried": Hmm(P=MOVES, alphas=(0.95, 0.4), start="carry"),
    "hmm, by position": Hmm(P=MOVES, alphas=(1.0, 0.0), start="carry", steps_after_reject=2, steps_after_full=3),
    "tokens": TokenChain(target=TARGET, draft=DRAFT),
    "a perfect draft": TokenChain(target=TARGET, draft=TARGET),
    "tired": Tired(),
    "coin": Coin(),
}


def fixed(kappa):
    return lambda rounds: kappa


def heuristic(rounds):
    kappa = 2
    for drafted, accepted in rounds:
        kappa = min(5, kappa + 2) if accepted == drafted else max(0, kappa - 1)
    return kappa


def listed(law):
    return {history: chance for chance, history in law.endings}


def counts_of(law, kappa):
    """Mean and covariance of the counts of A, from the list."""
    chances = np.array([chance for chance, _ in law.endings])
    counts = np.array([np.bincount([a for _, a in history], minlength=kappa + 1) for _, history in law.endings])
    mean = chances @ counts
    return mean, (counts.T * chances) @ counts - np.outer(mean, mean)


@pytest.mark.parametrize("process", ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize("kappa", [0, 1, 3])
def test_a_fixed_length_has_the_counts_of_a_lane(process, kappa):
    """Mean and covariance over rounds: what one window leaves to the next is in them."""
    found = theory.enumerate_policy(process, fixed(kappa), COST, rounds=4, longest=kappa)
    mean, covariance = theory.unit_counts(process, kappa, 4)
    own = counts_of(found, kappa)
    assert own[0] == pytest.approx(mean, abs=1e-12)
    assert own[1] == pytest.approx(covariance, abs=1e-11)
    assert found.speedup == pytest.approx(theory.speedup(process, kappa, COST))
    assert (found.mean_rounds, found.mean_flips) == (pytest.approx(4.0), 0.0)
    assert found.pmf_rounds == pytest.approx([0, 0, 0, 0, 1])


REQUESTS = {
    "discrete": DiscreteMixture(**HALVES, weights_of="requests", request_tokens=7),
    "uncut": DiscreteMixture(**HALVES, weights_of="tokens", request_tokens=6, truncate=False),
    "of rounds": DiscreteMixture(**HALVES, weights_of="rounds", request_tokens=8),
    "sure or never": DiscreteMixture(alphas=(1.0, 0.0), weights=(0.5, 0.5), weights_of="requests", request_tokens=5),
    "one token": DiscreteMixture(**HALVES, weights_of="requests", request_tokens=1),
    "beta": BetaMixture(alpha=0.7, rho=0.2, request_tokens=8),
    "beta, uncut": BetaMixture(a=0.5, b=0.25, request_tokens=6, truncate=False),
    "beta, all or nothing": BetaMixture(alpha=0.6, rho=1.0, request_tokens=5),
}


@pytest.mark.parametrize("process", REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize("kappa", [0, 1, 4])
def test_a_fixed_length_has_the_counts_of_a_request(process, kappa):
    found = theory.enumerate_policy(process, fixed(kappa), COST, longest=kappa)
    mean, covariance = theory.unit_counts(process, kappa, 1)
    own = counts_of(found, kappa)
    assert own[0] == pytest.approx(mean, abs=1e-10)
    assert own[1] == pytest.approx(covariance, abs=1e-9)
    assert found.speedup == pytest.approx(theory.speedup(process, kappa, COST))


@pytest.mark.parametrize("process", REQUESTS.values(), ids=REQUESTS)
def test_histories_of_a_request_by_exchangeability(process):
    """The rate never changes, so only the number of acceptances and rejections matters: moments of the rate."""
    shares = theory.requests.request_shares(process, 5)[1] if isinstance(process, DiscreteMixture) else None
    process_of_shares = process if shares is None else process.model_copy(update={"weights": tuple(shares)})
    found = theory.enumerate_policy(process, heuristic, COST, longest=5)
    assert sum(chance for chance, _ in found.endings) == pytest.approx(1.0)
    for chance, history in found.endings:
        kept, lost = sum(a for _, a in history), sum(a < d for d, a in history)
        assert chance == pytest.approx(rate_moment(process_of_shares, kept, lost), abs=1e-12)


def hidden_paths(process, rounds, rule, start):
    """Chance of each history of a chain of states, every path listed draft by draft from the definition."""
    if isinstance(process, Hmm):
        one, reject, full = (
            np.linalg.matrix_power(np.array(process.P), many)
            for many in (1, process.steps_after_reject, process.steps_after_full - 1)
        )
        outcomes = [[(rate, True, one[s]), (1.0 - rate, False, reject[s])] for s, rate in enumerate(process.alphas)]
        bonus = list(full)
    else:
        outcomes, bonus = [], list(np.array(process.target))
        for p, q in zip(bonus, np.array(process.draft), strict=True):
            kept, rest = q * np.minimum(1.0, p / q), np.maximum(p - q, 0.0)
            rest = rest / rest.sum() if rest.any() else rest
            outcomes.append([(1.0, True, kept), (1.0 - kept.sum() if rest.any() else 0.0, False, rest)])
    found = {}

    def go(chance, state, history, drafted, accepted):
        if chance == 0.0:
            return
        if len(history) == rounds:
            found[history] = found.get(history, 0.0) + chance
            return
        drafted = rule(history) if drafted is None else drafted
        if accepted == drafted:
            for after, share in enumerate(bonus[state]):
                go(chance * share, after, (*history, (drafted, drafted)), None, 0)
            return
        for weight, good, law in outcomes[state]:
            for after, share in enumerate(law):
                ended = history if good else (*history, (drafted, accepted))
                go(chance * weight * share, after, ended, drafted if good else None, accepted + 1 if good else 0)

    for state, share in enumerate(start):
        go(share, state, (), None, 0)
    return found


@pytest.mark.parametrize("name", ["hmm, carried", "hmm, by position", "tokens", "a perfect draft"])
def test_histories_of_hidden_states_path_by_path(name):
    """κ = 0 among them: the bonus token alone moves the state."""
    process = ENDLESS[name]
    lengths = (2, 0, 3, 1)

    def rule(rounds):
        return lengths[(len(rounds) + sum(a for _, a in rounds)) % 4]

    found = theory.enumerate_policy(process, rule, COST, rounds=3, longest=3)
    paths = hidden_paths(process, 3, rule, theory.verdicts.verdicts(process, 3).start)
    own = listed(found)
    assert any(drafted == 0 for history in own for drafted, _ in history)
    assert set(paths) == set(own)
    for history, chance in paths.items():
        assert own[history] == pytest.approx(chance, abs=1e-12)


class TwoRows(RowProcess):
    """A carried chain as rows, one after a rejection and one after a full window: how it is simulated."""

    type: str = "two_rows"

    def rows(self, kappa):
        return RowTable(
            [[first * 0.79**j for j in range(kappa)] for first in (0.7 * 0.7, 0.7 + 0.3 * 0.3)], (0, 0), (1, 1)
        )


def test_a_carried_chain_is_two_rows_where_every_round_drafts():
    chain = Markov(alpha=0.7, rho=0.3, start="carry")

    def rule(rounds):
        return 1 + sum(a for _, a in rounds) % 3

    one, other = (theory.enumerate_policy(process, rule, COST, rounds=4, longest=3) for process in (chain, TwoRows()))
    assert listed(one) == pytest.approx(listed(other), abs=1e-13)


@pytest.mark.parametrize(("reject", "full"), [(1, 1), (2, 2), (1, 3)])
def test_rounds_off_leave_a_chain_where_it_is_or_move_it_on(reject, full):
    """First draft after a rejection and n rounds off: α(1 − ρ^(m_r + n(m_f − 1))), by hand."""
    chain = Markov(alpha=0.7, rho=-0.4, start="carry", steps_after_reject=reject, steps_after_full=full)
    for off in (0, 1, 2):
        found = theory.enumerate_policy(
            chain, lambda rounds, off=off: 0 if 1 <= len(rounds) <= off else 1, COST, rounds=off + 2, longest=1
        )
        after = [(h, c) for h, c in listed(found).items() if h[0] == (1, 0)]
        again = sum(c for h, c in after if h[-1] == (1, 1)) / sum(c for _, c in after)
        assert again == pytest.approx(0.7 * (1.0 - (-0.4) ** (reject + off * (full - 1))))


@pytest.mark.parametrize("name", ["survival", "position", "markov", "discrete", "beta", "copula", "hmm"])
def test_fresh_windows_do_not_know_each_other(name):
    """A history is a product over its rounds, of windows of the longest draft cut short."""
    process = ENDLESS[name]
    alive = [1.0, *theory.survival_curve(process, 5), 0.0]
    found = theory.enumerate_policy(process, heuristic, COST, rounds=4)
    assert math.fsum(chance for chance, _ in found.endings) == pytest.approx(1.0)
    for chance, history in found.endings:
        parts = (alive[a] - (alive[a + 1] if a < d else 0.0) for d, a in history)
        assert chance == pytest.approx(math.prod(parts), abs=1e-13)


def test_rows_of_a_user_by_hand():
    """Two rounds of one draft from the long run: the second one is in a row that the first one chose."""
    found = theory.enumerate_policy(Tired(), fixed(1), COST, rounds=2, longest=1)
    start, rates, after = theory.verdicts.verdicts(Tired(), 1).start, (0.9, 0.6, 0.3), ((0, 1), (0, 2), (1, 2))
    both = sum(share * rates[row] * rates[after[row][1]] for row, share in enumerate(start))
    assert listed(found)[(1, 1), (1, 1)] == pytest.approx(both)
    longer = [theory.enumerate_policy(Coin(), fixed(1), COST, rounds=1, longest=most).mean_accepted for most in (1, 2)]
    assert longer == pytest.approx([0.9, 0.81])  # rows are asked for the longest draft, as a simulation asks


@pytest.mark.parametrize("name", ["tired", "markov", "survival", "always", "never"])
def test_who_knows_the_run_and_does_not_heed_it_plays_as_before(name):
    """What a window leaves to the next one follows from the verdicts on its drafts, whoever knew them."""
    keys = {"rounds": 3, "longest": 4}
    blind = theory.enumerate_policy(ENDLESS[name], lambda rounds: (2, 0, 3)[len(rounds)], COST, **keys)
    found = theory.enumerate_policy(
        ENDLESS[name], lambda rounds, run: (2, 0, 3)[len(rounds)], COST, **keys, foresees=True
    )
    own = dict.fromkeys(listed(found), 0.0)
    for chance, history in found.endings:  # runs beyond the draft are apart there
        own[history] += chance
    assert own == pytest.approx(listed(blind), abs=1e-13)


@pytest.mark.parametrize("tokens", [1, 5, 12])
def test_tokens_end_a_lane_as_an_uncut_generation(tokens):
    flat = Drift(alpha_start=0.7, alpha_end=0.7, tokens=tokens, truncate=False)
    one = theory.enumerate_policy(flat, heuristic, COST)
    other = theory.enumerate_policy(Iid(alpha=0.7), heuristic, COST, tokens=tokens)
    assert listed(other) == pytest.approx(listed(one), abs=1e-14)
    assert (other.mean_tokens, other.speedup) == pytest.approx((tokens, one.speedup))
    assert other.pmf_rounds == pytest.approx(one.pmf_rounds, abs=1e-14)


def test_a_geometric_request_is_listed_length_by_length():
    """Its rounds over all lengths up to 16, the rest being (1/3)¹⁶: those of the exact route."""
    process = DiscreteMixture(**HALVES, weights_of="requests", request_tokens=3, request_law="geometric")
    short = process.model_copy(update={"request_tokens": 2})
    for own, stay in ((process, 2 / 3), (short, 1 / 2)):
        lengths = range(1, 14)
        laws = [theory.enumerate_policy(own, fixed(2), COST, tokens=n) for n in lengths]
        rounds = sum((1 - stay) * stay ** (n - 1) * law.mean_rounds for n, law in zip(lengths, laws, strict=True))
        exact = theory.unit_counts(own, 2, 1)[0].sum()
        left = stay**13 * (13 + 1 / (1 - stay))  # a round has a token at least
        assert rounds < exact < rounds + left
        assert left < 0.09 if own is process else left < 0.002


def test_more_tokens_out_of_rounds():
    found = theory.enumerate_policy(Iid(alpha=1.0), fixed(3), COST, rounds=5)
    assert (found.mean_tokens, found.mean_accepted, len(found.endings)) == (20.0, 15.0, 1)
    assert found.speedup == pytest.approx(20.0 / (5 * COST.base(3)))


def test_a_planted_error_is_seen():
    """Forgetting what an acceptance says of the rate, or the move of a bonus token: other histories."""
    mix = REQUESTS["discrete"]
    right = theory.enumerate_policy(mix, heuristic, COST)
    mean = sum(share * rate for share, rate in zip(mix.shares(), mix.alphas, strict=True))
    flat = theory.enumerate_policy(Drift(alpha_start=mean, alpha_end=mean, tokens=7), heuristic, COST)
    assert np.abs(right.pmf_rounds - flat.pmf_rounds).max() > 0.1
    still = ENDLESS["hmm, by position"].model_copy(update={"steps_after_full": 1})
    one, other = (
        theory.enumerate_policy(process, fixed(2), COST, rounds=3, longest=2)
        for process in (ENDLESS["hmm, by position"], still)
    )
    assert np.abs(one.expected_counts - other.expected_counts).max() > 0.01


@pytest.mark.parametrize(
    ("process", "keys", "told"),
    [
        (Iid(alpha=0.5), {}, "no end given, and iid has no end of its own; allowed: either tokens or rounds, 1 to 16"),
        (Iid(alpha=0.5), {"tokens": 3, "rounds": 3}, "tokens and rounds given, and iid has no end of its own"),
        (Iid(alpha=0.5), {"tokens": 17}, "tokens = 17 is out of range"),
        (Iid(alpha=0.5), {"rounds": 0}, "rounds = 0 is out of range"),
        (Iid(alpha=0.5), {"rounds": 3, "longest": 65}, "longest = 65 is out of range"),
        (
            Drift(alpha_start=0.5, alpha_end=0.5, tokens=4),
            {"tokens": 3},
            "drift has requests of 4 tokens; leave it out",
        ),
        (REQUESTS["beta"], {"rounds": 3}, "beta_mixture has requests of 8 tokens; leave it out"),
        (REQUESTS["beta"].model_copy(update={"request_tokens": 17}), {}, "process.request_tokens = 17 is out of range"),
        (
            BetaMixture(alpha=0.5, rho=0.1, request_tokens=4, request_law="geometric"),
            {"rounds": 3},
            "rounds given, and beta_mixture ends at random; allowed: tokens = its length, 1 to 16",
        ),
        (ENDLESS["hmm, carried"], {"rounds": 3}, "longest is missing, and hmm depends on the longest draft"),
        (ENDLESS["markov, carried"], {"rounds": 3}, "longest is missing, and markov depends on the longest draft"),
        (ENDLESS["coin"], {"rounds": 3}, "longest is missing, and coin depends on the longest draft"),
        (REQUESTS["of rounds"], {}, "longest is missing, and discrete_mixture depends on the longest draft"),
        (ENDLESS["survival"], {"rounds": 2, "longest": 6}, "kappa = 6 is beyond the 5 measured positions"),
        (ENDLESS["survival"], {"rounds": 2}, r"policy asks for 6 after []; allowed: a whole number from 0 to 5"),
        (
            ENDLESS["hmm, carried"],
            {"rounds": 2, "longest": 4},
            "policy asks for 6 after []; allowed: a whole number from",
        ),
    ],
)
def test_what_is_refused(process, keys, told):
    with pytest.raises(ParameterError) as error:
        theory.enumerate_policy(process, fixed(6), COST, **keys)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_too_many_histories_are_refused(monkeypatch):
    monkeypatch.setattr("simspec.theory.policy_histories.HISTORIES_LIMIT", 1000)
    assert len(theory.enumerate_policy(Iid(alpha=0.5), fixed(9), COST, rounds=3).endings) == 1000
    with pytest.raises(ParameterError, match="rounds = 4 has more than 1,000 histories; allowed: a nearer end"):
        theory.enumerate_policy(Iid(alpha=0.5), fixed(9), COST, rounds=4)


def test_a_trace_has_no_law_of_verdicts():
    from simspec.model import Trace

    trace = Trace(path="shipped:smollm2", alpha="alpha", request="request")
    with pytest.raises(ParameterError, match="trace has no exact law of verdicts"):
        theory.enumerate_policy(trace, fixed(2), COST, tokens=3)


def test_all_sources_keep_their_mass():
    """Accepted and rejected parts add up, whatever came before."""
    cases = itertools.chain(ENDLESS.values(), REQUESTS.values())
    for process in cases:
        source = theory.verdicts.verdicts(process, 4)
        mass = source.start
        for depth in range(3):
            kept, lost = source.draft(mass, 1, depth)
            assert kept.sum() + lost.sum() == pytest.approx(mass.sum(), abs=1e-14)
            assert source.after_reject(lost).sum() == pytest.approx(lost.sum(), abs=1e-14)
            assert source.after_full(kept).sum() == pytest.approx(kept.sum(), abs=1e-14)
            mass = kept
