"""Controllers against the best fixed κ: the table and the command."""

from dataclasses import replace

import numpy as np
import pytest

from simspec import theory
from simspec.model import Cost, Drift, Iid, ParameterError
from simspec.model.policies import Heuristic, Rolling, Schedule
from simspec.model.serving import Serving
from simspec.run import league as league_module
from simspec.run.comparators import fixed_speedups
from simspec.run.contenders import contenders
from simspec.run.league import ADVERSARY, LONGEST, league
from simspec.run.league_stage import Place, Stage
from simspec.run.stretches import by_stretch
from simspec.run.surroundings import PERIODS, Surrounding, by_turns, surroundings
from simspec.stats.counts import Counts
from simspec.stats.intervals import student
from simspec.stats.point import speedups

COST = Cost(c_d=0.1)


@pytest.fixture(scope="module")
def small():
    return league(COST, windows=6_000)


def test_a_fixed_length_makes_what_it_must(small):
    """κ = 4 has an exact speed: within six errors, false alarm 4e-9 each in 13 places (50 lanes or more)."""
    assert {place.surrounding for place in small.places} == {*surroundings(), ADVERSARY}
    assert len({place.controller for place in small.places if not place.informed}) >= 19
    played = {place.surrounding: place for place in small.places if place.controller == "κ = 4"}
    for name, own in surroundings().items():
        if own.dearer:
            speeds = theory.stretch_optimum(own.process, own.prices(COST), LONGEST).speedup_by_kappa
        else:
            speeds = fixed_speedups(own.process, COST, LONGEST)
        assert played[name].best_fixed == speeds.max()
        assert abs(played[name].speedup - speeds[4]) < 7 * played[name].error + 1e-12
        assert played[name].error < 0.03
        assert played[name].half == pytest.approx(student(0.95, played[name].units - 1) * played[name].error)
    assert played["α .7"].share_off == 0.0
    (gated,) = (place for place in small.places if (place.surrounding, place.controller) == ("α .6", "gate .3"))
    assert gated.share_off == pytest.approx(1.0 - gated.mean_drafted / 4)  # it drafts four, or nothing


def test_what_is_known_exactly_stands_beside_them(small):
    exact = {(place.surrounding, place.controller): place for place in small.places if place.exact}
    falls = surroundings()["falls"].process
    assert exact["falls", "knows α by position"].speedup == theory.optimal_plan(falls, COST, LONGEST).speedup
    mix = surroundings()["mix"].process
    assert exact["mix", "knows the rate"].speedup == theory.informed_speedup(mix, COST, LONGEST)
    rising = surroundings()["rising"].process
    assert exact["rising", "knows each round"].speedup == theory.foresight(rising, COST, LONGEST).speedup
    assert all(place.gain > 0.01 for place in exact.values())


def test_no_controller_is_ahead_of_who_knows_more(small):
    """By more than six errors; who knows each round is ahead of who knows the rates."""
    cell = {(place.surrounding, place.controller): place for place in small.places}
    bounds = [place for place in small.places if place.controller == "knows each round"]
    assert len(bounds) == len(surroundings()) - 2  # not where a round that is known tells of later ones
    for bound in bounds:
        for place in small.places:
            if place.surrounding == bound.surrounding and place is not bound:
                assert place.speedup - 6 * place.error < bound.speedup + 6 * bound.error
    assert cell["falls", "knows each round"].gain > 0.2


def test_the_adversary_is_worse_than_the_periods_of_the_table(small):
    """An adversary's period is no better for a controller than turns of 16 or 256 tokens (intervals of both)."""
    cell = {(place.surrounding, place.controller): place for place in small.places}
    for (where, who), place in cell.items():
        if where == ADVERSARY:
            assert place.period in PERIODS
            for turns in ("quick", "regimes"):
                other = cell[turns, who]
                assert place.gain <= other.gain + 4 * (place.gain_half + other.gain_half)


def test_the_adversary_looks_by_other_words_and_plays_by_those_of_all(monkeypatch):
    """An eighth of the rounds with the next seed say which period is worst; the place is that of all the rounds."""
    monkeypatch.setattr(league_module, "surroundings", dict)
    monkeypatch.setattr(league_module, "PERIODS", (24, 32, 48))
    serving, every = Serving(delay=6), contenders(COST, LONGEST)
    own = {name: every[name] for name in ("κ = 4", "+2/−1", "rolling .85", "rolling .99 kept", "Thompson 50")}
    monkeypatch.setattr(league_module, "contenders", lambda cost, longest: own)
    found = {place.controller: place for place in league(COST, 8_000, seed=3, serving=serving).places}
    assert set(found) == set(own)
    gains = {name: {} for name in own}
    for period in (24, 32, 48):
        stages = [
            Stage(ADVERSARY, Surrounding(by_turns(period), ""), COST, windows, seed, 0.95, LONGEST, None, serving)
            for windows, seed in ((1000, 4), (8000, 3))
        ]
        for place in stages[0].play(own):
            gains[place.controller][period] = place.gain
        for place in stages[1].play({name: own[name] for name in own if found[name].period == period}):
            assert found[place.controller].record() == place.record() | {"period": period}
    for name, by_period in gains.items():
        assert found[name].period == min(by_period, key=by_period.get)
    assert len({place.period for place in found.values()}) > 1


def test_the_text_answers_first(small):
    told = repr(small)
    assert max(map(len, told.splitlines())) <= 110
    assert told.startswith("Adapting beats the best fixed κ in ")
    assert "gate .3 looks every 32 rounds and cannot open again" in told
    mine = league(COST, 20_000, where={"mine": Surrounding(Iid(alpha=0.7), "my drafts")})
    assert repr(mine).startswith(
        "mine: no controller beats the best fixed κ = 4 (S = 1.981), as rounds are taken not to "
    )
    turns = league(COST, 20_000, where={"turns": surroundings()["regimes"]})
    assert repr(turns).startswith("turns: adapting pays: rolling .95 is +7.")


def test_the_luckiest_of_many_is_no_winner():
    """By itself it beats the best fixed κ at 95%; as the best of nineteen it may be luck."""
    lucky = Place(
        "x", "y", speedup=1.022, half=0.02, best_fixed=1.0, kappa_star=1, mean_drafted=1, error=0.01, units=200
    )
    assert lucky.verdict == "beats"
    assert lucky.surely_ahead(0.95, 1)
    assert not lucky.surely_ahead(0.95, 19)


def test_figures_of_a_place_by_hand():
    """S = 2.2 ± .1 against 2; .2 changes a round of three tokens, each of which already costs .1 steps."""
    own = Place("x", "y", 2.2, 0.1, 2.0, 4, 3.0, flips_per_1000=200.0, tokens_per_round=3.0, switch=0.1, error=0.05,
                units=11)  # fmt: skip
    assert (own.gain, own.gain_half, own.verdict) == (pytest.approx(0.1), pytest.approx(0.05), "beats")
    spare = 3.0 / 2.0 - 3.0 / 2.2  # plain steps a round that are saved
    assert own.break_even_switch == pytest.approx(0.1 + spare / 0.2)
    assert own.surely_ahead(0.95, 1) == (2.2 - 2.262 * 0.05 > 2.0)  # Student's t with nine degrees of freedom
    for error, ahead in ((0.0880, True), (0.0890, False)):  # .2 = 2.262 · .08842, one degree being spent on the control
        assert replace(own, error=error).surely_ahead(0.95, 1) == ahead
    slow = replace(own, speedup=1.7)
    assert (slow.gain, slow.verdict) == (pytest.approx(-0.15), "loses")
    assert np.isnan(slow.break_even_switch)
    assert replace(own, speedup=1.95).verdict == "cannot tell"


def test_a_change_of_kappa_may_cost():
    """Tokens over cost and flips, by hand from the counts; break-even is where it is."""
    turns = {"turns": surroundings()["regimes"]}

    def places(price):
        found = league(COST.changed(c_switch=price), 20_000, where=turns).places
        return {place.controller: place for place in found if not place.informed}

    free, dear = places(0.0), places(0.5)
    for name, place in free.items():
        flips, cost = place.flips_per_1000 / 1000, 1.0 + 0.1 * place.mean_drafted
        assert dear[name].speedup < place.speedup or flips == 0.0
        assert dear[name].speedup == pytest.approx(place.speedup * cost / (cost + 0.5 * flips), rel=0.01)
    ahead = free["rolling .95"]
    at_break_even = places(ahead.break_even_switch)["rolling .95"]
    assert abs(at_break_even.gain) < 0.003
    assert at_break_even.break_even_switch == pytest.approx(ahead.break_even_switch, rel=0.05)
    with pytest.raises(ParameterError, match="c_switch = -1"):
        COST.changed(c_switch=-1.0)


def test_rounds_priced_by_stretch_hear_late():
    """+2/−1 told of the round before the last on twelve tokens, all histories listed: seven errors, and not without."""

    def heuristic(rounds):
        kappa = 2
        for drafted, accepted in rounds:
            kappa = min(7, kappa + 2) if accepted == drafted else max(1, kappa - 1)
        return kappa

    short, policy = Drift(alpha_start=0.97, alpha_end=0.9, tokens=12), Heuristic(first=2, highest=7)
    found = [next(by_stretch(short, [policy], [(0, COST)], 7, 30_000, 1, serving=Serving(delay=n))) for n in (0, 1)]
    laws = [theory.enumerate_policy(short, heuristic, COST, serving=Serving(delay=n)).speedup for n in (0, 1)]
    for own, law, other in zip(found, laws, laws[::-1], strict=True):
        assert abs(own.speed.value[0] - law) < 7 * own.speed.error[0] < abs(own.speed.value[0] - other)


@pytest.mark.parametrize("name", ["α .7", "falls", "regimes"])
def test_about_as_many_rounds_are_played_as_were_asked_for(name):
    """Requests are planned as if all were accepted, and then there would be twice as many rounds."""
    stage = Stage(name, surroundings()[name], COST, 60_000, 1, 0.95, LONGEST)
    tally, _ = next(stage._seen([Schedule(kappas=(stage.fixed.kappa,))], None, None))
    assert 0.9 < tally.total("n") / 60_000 < 1.1


def test_the_same_table_for_any_threads():
    where = {name: surroundings()[name] for name in ("runs", "long")}
    one, two = (league(COST, 1_000, threads=threads, where=where).records() for threads in (1, 2))
    assert one == two


def test_news_that_come_late_cost_who_follows():
    """Regimes of 256 tokens: twenty rounds of delay cost a short memory; a fixed κ does not care; no batches."""
    turns = {"turns": surroundings()["regimes"]}

    def gains(delay):
        found = league(COST, 20_000, where=turns, serving=Serving(delay=delay))
        assert ("delay = 20" in repr(found)) == (delay == 20)
        return {place.controller: place.gain for place in found.places}

    soon, late = gains(0), gains(20)
    assert late["rolling .85"] < soon["rolling .85"] - 0.01
    assert late["κ = 4"] == soon["κ = 4"]
    with pytest.raises(ParameterError, match="batch = 4 is not priced here"):
        league(COST, 20_000, where=turns, serving=Serving(batch=4))


def test_controllers_are_what_their_names_say():
    """λ, guard, memory in rounds, what is averaged, whether it is kept; prices are those of rounds, not of changes."""
    cost = Cost(c_d=0.17, c_r=0.2)
    own = contenders(cost.changed(c_switch=0.4), LONGEST)
    assert [own[f"rolling {x}"].smoothing for x in (".85", ".95", ".99 kept")] == [0.85, 0.95, 0.99]
    assert {own[name].guard for name in ("article's loop", "guard alone")} == {0.25}
    assert {own[name].guard for name in ("article, no guard", "rolling .85")} == {None}
    assert {own[name].rule for name in ("article's loop", "article, no guard")} == {"article"}
    assert (own["accepted/drafted"].of, own["rolling .95"].of) == ("drafted", "examined")
    for rounds, keep in ((50, own["goodput 50"].keep), (500, own["goodput 500"].keep), (200, own["UCB 200"].keep),
                         (50, own["Thompson 50"].keep)):  # fmt: skip
        assert 1.0 / (1.0 - keep) == pytest.approx(rounds)
    assert (own["UCB"].keep, own["UCB"].window, own["UCB last 500"].window) == (1.0, None, 500)
    assert (own["UCBSpec"].reward, own["UCBSpec per cost"].reward) == ("tokens", "throughput")
    assert (own["gate .3"].least, own["gate .3"].probe, own["gate, tried again"].probe) == (0.3, None, 256)
    anew = {name for name, policy in own.items() if not getattr(policy, "keeps", True)}
    assert anew == {"+2/−1", "article's loop", "article, no guard", "guard alone", "rolling .85", "rolling .95",
                    "accepted/drafted"}  # fmt: skip
    assert own["+2/−1 kept"].keeps
    reading = [policy.cost for name, policy in own.items() if policy.reads_cost and "article" not in name]
    assert len(reading) > 10
    assert set(reading) == {cost}


@pytest.mark.parametrize("longest", [1, 3, 8, 20])
def test_every_controller_stays_within_the_longest_draft(longest):
    assert {policy.longest <= longest for policy in contenders(COST, longest).values()} == {True}


def test_rounds_priced_by_stretch_are_priced_by_hand():
    """The same outputs at one price everywhere cost what the usual tally says; at two, each half what it must."""
    process, policies = Drift(alpha_start=0.9, alpha_end=0.5, tokens=64), [Rolling(cost=COST, highest=8)]
    (same,) = by_stretch(process, policies, [(0, COST), (32, COST)], 8, 5000, 1)
    counts = Counts.of([same.tally], fresh=False)
    assert same.speed.value == pytest.approx(speedups(counts, COST).value)
    (dear,) = by_stretch(process, policies, [(0, COST), (32, Cost(c_d=0.3))], 8, 5000, 1)
    (late,) = by_stretch(process, policies, [(0, Cost(c_d=0.3)), (1, COST)], 8, 5000, 1)
    assert (dear.tally.histogram == same.tally.histogram).all()
    first = late.speed.bottom - same.speed.bottom  # rounds at position 0: κ = 4 of them
    assert first == pytest.approx(np.full(first.shape, 0.8))
    assert (dear.speed.bottom > same.speed.bottom).all()
    assert not np.array_equal(same.speed.bottom[0, :64], same.speed.bottom[0, 64:128])  # words of their own
    changing = [(0, COST.changed(c_switch=0.25, c_wake=0.5)), (32, COST)]
    restless = [*policies, Schedule(kappas=(3, 0, 3))]  # of which the latter wakes
    for free, paid in zip(by_stretch(process, restless, [(0, COST)], 8, 5000, 1),
                          by_stretch(process, restless, changing, 8, 5000, 1), strict=True):  # fmt: skip
        assert paid.speed.bottom - free.speed.bottom == pytest.approx(
            np.array([0.25 * free.tally.flips + 0.5 * free.tally.wakes])
        )
    assert free.tally.wakes.sum() > 0
    with pytest.raises(ParameterError, match="no positions"):
        next(by_stretch(Iid(alpha=0.5), policies, [(0, COST)], 8, 100, 1))


@pytest.mark.parametrize(
    ("keys", "told"),
    [({"windows": 0}, "windows = 0"), ({"level": 1.0}, "level = 1"), ({"longest": 33}, "longest = 33")],
)
def test_what_is_refused(keys, told):
    with pytest.raises(ParameterError, match=told):
        league(COST, **keys)


@pytest.mark.deep
def test_intervals_cover_what_is_exact():
    """200 seeds, κ = 4 in six surroundings: at 95% fewer than 167 hits of 200 have a probability of 1e-9."""
    settings = {
        name: own for name, own in surroundings().items() if name in ("α .85", "runs", "falls", "mix", "long", "hidden")
    }
    hits = dict.fromkeys(settings, 0)
    for seed in range(200):
        for name, own in settings.items():
            stage = Stage(name, own, COST, 20_000, seed, 0.95, LONGEST)
            (place,) = stage.play({"κ = 6": Schedule(kappas=(6,))})
            if own.dearer:
                exact = theory.stretch_optimum(own.process, own.prices(COST), LONGEST).speedup_by_kappa[6]
            else:
                exact = theory.speedup(own.process, 6, COST)
            hits[name] += abs(place.speedup - exact) < place.half
    assert all(167 <= own < 200 for own in hits.values()), hits
