"""Hidden states between whose windows a policy chooses κ: rows whose next row is drawn."""

import numpy as np
import pytest
from laws import FALSE_ALARM, assert_same_law, distance
from policy_cases import CASES

from simspec.kernels import lower, play, policy_twin, twin
from simspec.kernels.forms import Drawn, FreshRow, Steps
from simspec.kernels.lower_policies import policy_form
from simspec.kernels.lower_steered import OFF_LIMIT, steered, steered_form
from simspec.kernels.words import LANES, policy_word, row_word, stream_keys
from simspec.model import GaussianCopulaAr1, Hmm, Iid, Markov, ParameterError, TokenChain
from simspec.model.policies import Schedule
from simspec.run.layout import Layout

KEYS = stream_keys(7, "hidden policies")
PLAN = Layout(20 * LANES, 64)
MOVES = ((0.9, 0.1), (0.25, 0.75))
TARGET = ((0.6, 0.3, 0.1), (0.2, 0.5, 0.3), (0.1, 0.1, 0.8))
DRAFT = ((0.4, 0.4, 0.2), (0.3, 0.3, 0.4), (0.05, 0.5, 0.45))
NINE = tuple(tuple((1.0 + (i + j) % 9) / 45.0 for j in range(9)) for i in range(9))
_RANDOM = np.random.default_rng(3)
MANY = tuple(tuple(map(tuple, _RANDOM.dirichlet(np.full(140, 0.2), 140).tolist())) for _ in range(2))
"""Laws of 140 tokens: rows that are searched by halving."""
CARRIED = {
    "two states": Hmm(P=MOVES, alphas=(0.95, 0.4), start="carry"),
    "by position": Hmm(P=MOVES, alphas=(0.95, 0.4), start="carry", steps_after_reject=2, steps_after_full=3),
    "always": Hmm(P=MOVES, alphas=(1.0, 1.0), start="carry"),
    "never": Hmm(P=MOVES, alphas=(0.0, 0.0), start="carry"),
    "sure or not": Hmm(P=MOVES, alphas=(1.0, 0.0), start="carry"),
    "in turns": Hmm(P=((0.0, 1.0), (1.0, 0.0)), alphas=(0.9, 0.2), start="carry", steps_after_full=2),
    "nine states": Hmm(P=NINE, alphas=tuple(i / 8 for i in range(9)), start="carry"),
    "one state": Hmm(P=((1.0,),), alphas=(0.6,), start="carry"),
    "tokens": TokenChain(target=TARGET, draft=DRAFT),
    "a perfect draft": TokenChain(target=TARGET, draft=TARGET),
    "many tokens": TokenChain(target=MANY[0], draft=MANY[1]),
}
FRESH = {
    "fresh": Hmm(P=MOVES, alphas=(0.95, 0.4)),
    "copula": GaussianCopulaAr1(alpha=0.7, rho=0.4),
    "copula, never": GaussianCopulaAr1(alpha=0.0, phi=0.5),
    "copula, close": GaussianCopulaAr1(alpha=0.7, phi=0.98),
}
PROCESSES = CARRIED | FRESH


@pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES)
@pytest.mark.parametrize("name", ["heuristic", "schedule", "corrected", "exp3", "rolling off"])
def test_a_pass_is_its_twin(name, process):
    form, first = policy_form(CASES[name])
    rows = steered_form(process, form.highest)
    for lanes, rounds in ((LANES, 8), (3, 60)):
        fast, slow = (player.play(rows, KEYS, 3, lanes, rounds, first, form) for player in (play, twin))
        assert (fast.histogram == slow.histogram).all()
        assert (fast.sums == slow.sums).all()
        assert (fast.flips == slow.flips).all()


def still(process, kappa, asked=None):
    """Counts of accepted lengths of a schedule that is always κ; its rows may be asked for another process."""
    form, first = policy_form(Schedule(kappas=(kappa,)))
    rows = steered_form(asked or process, kappa)
    parts = [play.play(rows, KEYS, chunk, LANES, PLAN.rounds, first, form) for chunk in range(PLAN.chunks)]
    return sum(tally.histogram[kappa] for tally in parts)


@pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES)
@pytest.mark.parametrize("kappa", [0, 1, 4, 20])
def test_a_schedule_that_never_changes_has_the_law_of_its_kappa(process, kappa):
    """Counts with the covariance of a lane, not just means: what a state leaves behind is in it."""
    assert_same_law(still(process, kappa), process, kappa, PLAN)


@pytest.mark.parametrize("name", ["two states", "by position", "tokens"])
def test_a_planted_error_is_seen(name):
    """The move after a full window left out: far outside of the bound."""
    process = CARRIED[name]
    other = Hmm(P=MOVES, alphas=(0.95, 0.4), start="carry", steps_after_full=2)
    other = TokenChain(target=TARGET, draft=(DRAFT[0], DRAFT[1], (0.05, 0.47, 0.48))) if name == "tokens" else other
    found, bound = distance(still(process, 4, other), process, 4, PLAN)
    assert found > 2 * bound


def test_the_run_is_the_same_whatever_the_policy():
    """Round by round: of two schedules the shorter has min(G, κ) in the first round, and κ = 0 draws a row too."""
    process = CARRIED["by position"]
    rounds = {}
    for kappas in ((6,), (3, 6)):
        form, first = policy_form(Schedule(kappas=kappas))
        raw = np.empty((3, 1, LANES), np.int32)
        play._loop(steered_form(process, 6), KEYS, 0, LANES, 1, first, form, raw)
        rounds[kappas[0]] = raw[2, 0]
    assert (rounds[3] == np.minimum(rounds[6], 3)).all()


def test_words_of_rows_are_addressed():
    for lane, number in ((0, 0), (63, 5), (64 * 9 + 3, 10**6)):
        assert int(row_word(KEYS, lane, number)) == policy_twin.row_word(KEYS, lane, number)
    assert len({policy_twin.row_word(KEYS, lane, number) for lane in range(70) for number in range(70)}) == 4900
    assert policy_twin.row_word(KEYS, 3, 5) != policy_twin.policy_word(KEYS, 3, 5)


def test_the_word_of_a_row_is_not_that_of_a_policy():
    """Or a random policy would know where the hidden state goes."""
    for lane, number in ((0, 0), (5, 3), (LANES, 17)):
        assert row_word(KEYS, lane, number) != policy_word(KEYS, lane, number)


@pytest.mark.parametrize("players", [play, twin])
def test_a_round_without_drafts_leaves_the_state_where_it_is(players):
    """Two states by turns, one accepts and one rejects: after κ = 0 the second round finds what the first would."""
    form = steered_form(Hmm(P=((0.0, 1.0), (1.0, 0.0)), alphas=(1.0, 0.0), start="carry"), 1)
    found = []
    for kappas in ((1,), (0, 1)):
        steer, first = policy_form(Schedule(kappas=kappas))
        found.append(players.steered_rounds(form, KEYS, 0, LANES, 2, first, steer)[2])
    assert (found[1][0] == 0).all()
    assert (found[1][1] == found[0][0]).all()
    assert 0 < found[0][0].sum() < LANES


def test_what_has_a_law_when_it_starts_is_left_alone():
    for process in (Iid(alpha=0.7), Markov(alpha=0.7, rho=0.2, start="carry")):
        form = lower.form(process, 5)
        assert steered(form, 5) is form
    assert {type(steered_form(process, 5)) for process in CARRIED.values()} == {Drawn}
    assert {type(steered_form(process, 5)) for process in FRESH.values()} == {FreshRow}


@pytest.mark.parametrize(("rho", "full"), [(0.3, 1), (0.5, 2), (-0.4, 2), (-0.4, 3), (0.0, 2), (0.97, 4)])
def test_rows_over_rounds_off_are_those_of_the_chain(rho, full):
    """First drafts after a rejection and after a full window, then n rounds off; rows of a fixed κ stay in front."""
    alpha = 0.6
    process = Markov(alpha=alpha, rho=rho, start="carry", steps_after_reject=2, steps_after_full=full)
    plain, rows = lower.form(process, 3), steered_form(process, 3)
    assert (rows.thresholds[:2] == plain.thresholds).all()
    assert rows.start.tolist() == plain.start.tolist()
    assert (rows.on_reject.any(), rows.on_full.all()) == (False, True)
    here = [0, 1]
    for off in range(60):
        left = rho ** (off * (full - 1))
        due = [alpha - alpha * rho**2 * left, alpha + (1 - alpha) * rho**full * left]
        assert rows.thresholds[here, 0] / 2**32 == pytest.approx(due, abs=1e-9)
        assert rows.thresholds[here, 2] / 2**32 == pytest.approx(
            np.array(due) * (alpha + rho * (1 - alpha)) ** 2, abs=1e-9
        )
        here = [int(rows.on_off[row]) for row in here]


def test_a_chain_that_never_forgets_swings_on():
    process = Markov(alpha=0.5, rho=-1.0, start="carry", steps_after_full=2)
    rows = steered_form(process, 2)
    assert len(rows.thresholds) == 2 * (OFF_LIMIT + 1)
    last = len(rows.thresholds) - 2
    assert rows.on_off[last:].tolist() == [last - 2, last - 1]
    assert rows.thresholds[[last, last + 1], 0].tolist() != rows.thresholds[[last - 2, last - 1], 0].tolist()


def test_a_table_for_other_lengths_is_refused():
    """What no run asks for: rows of six drafts under a policy of seven; longer rows are welcome."""
    form, first = policy_form(CASES["heuristic"])
    with pytest.raises(ValueError, match="rows for 6 drafts are played at 7"):
        play.play(steered_form(CARRIED["two states"], 6), KEYS, 0, 1, 1, first, form)
    longer = [
        player.play(steered_form(CARRIED["two states"], 9), KEYS, 0, 5, 30, first, form) for player in (play, twin)
    ]
    assert (longer[0].histogram == longer[1].histogram).all()
    assert longer[0].total("n") == 150
    with pytest.raises(TypeError, match="a Steps is played at a fixed κ only"):
        play.play(lower.form(CARRIED["two states"], 7), KEYS, 0, 1, 1, first, form)


def test_a_table_beyond_the_limit_is_refused_with_its_size():
    many = 251
    stay = np.zeros((many, many), np.int64)
    form = Steps(np.zeros((many, 2 * many), np.int64), stay, stay, stay[0], restarts=False)
    with pytest.raises(ParameterError) as error:
        steered(form, 64)
    assert str(error.value) == (
        "policy may choose 64 drafts over 251 hidden states: a table of next states of 65 MB; allowed: 64 MB "
        "(fewer drafts or states)"
    )


def test_the_false_alarm_is_one_in_a_million():
    assert FALSE_ALARM <= 1e-6
