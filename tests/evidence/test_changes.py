"""Where acceptance changes along a log: seldom where it does not, soon and at the right place where it does."""

import numpy as np
import pytest
from rounds_played import coin, heuristic, play

from simspec.evidence.changes.blocks import blocks_of
from simspec.evidence.changes.course import LEAST, SMALLEST, course_of
from simspec.evidence.changes.detect import DETECTORS, Change, changes_in, detector_named
from simspec.evidence.changes.stretches import kappa_runs, stretches_of
from simspec.evidence.changes.unseen import least_fall
from simspec.evidence.observed import ENGINE, LOG_LINE, NO_UNIT, Observed
from simspec.evidence.reading import listening
from simspec.evidence.recognise import fit
from simspec.evidence.source import Unknown
from simspec.evidence.whole import Whole
from simspec.model.errors import ParameterError, SimspecError


def in_order(accepted, kappa):
    """One stream of rounds without requests."""
    drafted = np.broadcast_to(kappa, len(accepted)).astype(np.int64)
    return Observed.in_order([drafted.tolist()], [np.minimum(accepted, drafted).tolist()], NO_UNIT)


def iid(rng, alpha, rounds, kappa=5):
    """``alpha``: a number, or one for each round."""
    rates = np.broadcast_to(alpha, rounds)
    return in_order(rng.geometric(1.0 - rates) - 1, kappa)


def carried(rng, rounds, alpha, rho, kappa=5):
    """Verdicts of one text as a two-state chain that windows do not break."""
    drafted, accepted = play(rng, chain(rng, alpha, rho), rounds, lambda before, full: kappa)
    return Observed.in_order([drafted], [accepted], NO_UNIT)


def chain(rng, alpha, rho):
    now = rng.random() < alpha
    while True:
        yield now
        now = rng.random() < (alpha + rho * (1 - alpha) if now else alpha * (1 - rho))


def beta_requests(rng, requests, rounds, a=7.4, b=2.6, kappa=5):
    rates = np.repeat(rng.beta(a, b, requests), rounds)
    accepted = np.minimum(rng.geometric(1.0 - rates) - 1, kappa).reshape(requests, rounds)
    return Observed.in_order([[kappa] * rounds] * requests, accepted.tolist())


def falling(rng, rounds, at=6000, over=1024, high=0.85, low=0.62, kappa=5):
    """α by output position: a fall over so many tokens."""

    def verdicts():
        position = 0
        while True:
            alpha = high - (high - low) * min(max(position - at, 0) / over, 1.0)
            position += 1
            yield rng.random() < alpha

    drafted, accepted = play(rng, verdicts(), rounds, lambda before, full: kappa)
    return Observed.in_order([drafted], [accepted], NO_UNIT)


def looked(observed, name="adwin"):
    course = course_of(observed)
    blocks = blocks_of(course)
    return course, blocks, changes_in(course, blocks, detector_named(name))


def alarms(make, logs, name="adwin", seed=0):
    return sum(bool(looked(make(np.random.default_rng(seed + i)), name)[2]) for i in range(logs))


STEADY = {
    "i.i.d.": lambda rng: iid(rng, 0.74, 10_000),
    "requests differ": lambda rng: beta_requests(rng, 250, 40),
    "one text": lambda rng: carried(rng, 10_000, 0.74, 0.6),
}


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("kind", STEADY)
def test_a_steady_log_of_ten_thousand_rounds_raises_no_alarm(kind, name):
    """20 logs.  At one alarm in 500 logs, the measured bound below, more than 4 have probability below 1e-9."""
    assert alarms(STEADY[kind], 20 if kind != "one text" else 8, name) <= 4


@pytest.mark.parametrize("name", DETECTORS)
def test_long_spells_of_one_text_are_no_change(name):
    """ρ = .97: spells of some thirty tokens.  Blocks grow until neighbours say nothing; 8 logs, at most one alarm."""
    logs = [looked(carried(np.random.default_rng(i), 10_000, 0.74, 0.97), name) for i in range(8)]
    assert all(blocks.rounds >= 32 for _, blocks, _ in logs)
    assert sum(bool(found) for _, _, found in logs) <= 1


def naive(observed, name):
    """Whether river alone, verdict by verdict at its own settings, tells of a change."""
    from river import drift

    own = getattr(drift, DETECTORS[name].name)()
    for offered, far in zip(observed.drafted.tolist(), observed.accepted.tolist(), strict=True):
        for verdict in [1.0] * far + [0.0] * (far < offered):
            own.update(verdict)
            if own.drift_detected:
                return True
    return False


@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_that_takes_verdicts_as_independent_would_call_every_carried_log_drifting(name):
    """What the blocks are for."""
    assert all(naive(carried(np.random.default_rng(i), 10_000, 0.74, 0.6), name) for i in range(3))


@pytest.mark.parametrize("name", DETECTORS)
def test_an_abrupt_fall_is_found_and_placed(name):
    """200 logs; intervals of 95% that hold in fewer than 170 have probability below 1e-7."""
    inside, late, off = 0, [], []
    for i in range(200):
        rates = np.repeat([0.85, 0.62], 1500)
        course, blocks, found = looked(iid(np.random.default_rng(i), rates, 3000), name)
        near = [change for change in found if abs(change.unit - 1500) < 200]
        assert near
        inside += near[0].low <= 1500 <= near[0].high
        late.append(near[0].told - 1500)
        off.append(abs(near[0].unit - 1500))
        parts = stretches_of(course, blocks, found)
        assert sum(part.rounds for part in parts) == 3000
        assert abs(parts[0].alpha - 0.85) < 0.03 or len(found) > 1
        assert all(abs(part.alpha_same - part.alpha) < 0.05 for part in parts)  # i.i.d. drafts at one κ
    assert inside >= 170
    assert 50 < np.median(late) < 150
    assert max(late) < 400
    assert np.median(off) <= 8


def test_a_slow_fall_is_found():
    for i in range(3):
        _, _, found = looked(falling(np.random.default_rng(i), 4000))
        assert found
        assert 1300 < found[0].unit < 1900  # the fall lasts from round 1,600 or so to 1,930
        assert found[0].told - found[0].unit < 500


@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_intervals_of_a_stretch_hold(rho):
    """200 logs of 400 rounds against all of them; fewer than 165 intervals of 95% that hold: probability below 1e-9."""
    rng = np.random.default_rng(3)
    logs = [looked(carried(rng, 400, 0.7, rho)) for _ in range(200)]
    truth = sum(own.accepted.sum() for own, _, _ in logs) / sum(own.examined.sum() for own, _, _ in logs)
    ends = [stretches_of(course, blocks, [])[0].interval for course, blocks, _ in logs]
    assert sum(low <= truth <= high for low, high in ends) >= 165


def test_a_change_of_kappa_alone_is_no_change_of_acceptance():
    """Position rates .9, .5, .4, …: κ = 1 for half of the log, then 6.  accepted ÷ examined falls by a fifth."""
    rates = np.array([0.9, 0.5, 0.4, 0.4, 0.4, 0.4])
    for i in range(10):
        rng = np.random.default_rng(i)
        accepted = np.cumprod(rng.random((6000, 6)) < rates, axis=1).sum(axis=1)
        course, blocks, found = looked(in_order(accepted, np.repeat([1, 6], 3000)))
        assert not found
        halves = [course.accepted[own].sum() / course.examined[own].sum() for own in (slice(3000), slice(3000, None))]
        assert halves[0] - halves[1] > 0.15
        assert kappa_runs(course) == ((0, 1.0), (3000, 6.0))
        assert len(stretches_of(course, blocks, found)) == 1
        halves = stretches_of(course, blocks, [Change(3000, 2990, 3010, 3100)])
        assert halves[0].alpha - halves[1].alpha > 0.15
        assert abs(halves[0].alpha_same - halves[1].alpha_same) < 0.04
        assert [half.mean_kappa for half in halves] == [1.0, 6.0]


def test_a_rule_that_moves_kappa_raises_no_alarm_and_hides_no_change():
    rng = np.random.default_rng(5)
    steady = Observed.in_order(*([own] for own in play(rng, coin(rng, 0.7), 5000, heuristic)), NO_UNIT)
    assert not looked(steady)[2]
    before, after = (play(rng, coin(rng, alpha), 2500, heuristic) for alpha in (0.8, 0.6))
    moved = Observed.in_order([before[0] + after[0]], [before[1] + after[1]], NO_UNIT)
    course, blocks, found = looked(moved)
    assert len(found) == 1
    assert abs(found[0].unit - 2500) < 100
    before, after = stretches_of(course, blocks, found)
    assert before.mean_kappa > after.mean_kappa + 0.5


def test_log_lines_are_weighed_by_their_rounds():
    """Lines of 5 to 500 rounds, α .8 then .7: found, near the line; steady ones are not called moving."""
    rng = np.random.default_rng(7)

    def lines(rates):
        groups = []
        for rate in rates:
            far = np.minimum(rng.geometric(1.0 - rate, rng.integers(5, 500)) - 1, 3)
            groups.append((3, len(far), [int((far >= j).sum()) for j in (1, 2, 3)]))
        return Observed.of_counts(groups, LOG_LINE)

    course, _, found = looked(lines(np.repeat([0.8, 0.7], 150)))
    assert course.unit == LOG_LINE
    assert len(found) == 1
    assert abs(found[0].unit - 150) <= 3
    assert sum(bool(looked(lines(np.full(300, 0.75)))[2]) for _ in range(10)) <= 1


@pytest.mark.parametrize(
    ("observed", "why"),
    [
        (in_order(np.zeros(5000, int), 4), "same outcome"),
        (in_order(np.full(5000, 4), 4), "same outcome"),
        (in_order(np.tile([0, 1], (LEAST * SMALLEST - 2) // 2), 1), "318 rounds with a draft"),
        (Observed.of_counts([(3, 1000, [700, 350, 175])]), "nothing in it has an order"),
        (Observed.of_counts([(3, 1000, [700, 350, 175])] * 40, ENGINE), "no order of time"),
        (Observed.of_counts([(3, 1000, [700, 350, 175])] * 12, LOG_LINE), "12 log lines"),
    ],
    ids=["nothing accepted", "all accepted", "short", "sums", "engines", "few lines"],
)
def test_what_cannot_be_told_is_said(observed, why):
    own = course_of(observed)
    assert isinstance(own, Unknown)
    assert why in own.reason


def test_spans_hold_the_rounds_that_went_by():
    """Rows of several rounds, fed in pieces, through three doublings: each span has its own rounds, in order."""
    rng = np.random.default_rng(8)
    rounds, own = rng.integers(1, 5, 300_000), Whole(length=8)
    accepted = (np.arange(300_000) >= 200_000).astype(np.int64)
    for piece in np.array_split(np.arange(300_000), 70):
        own.add(np.full(len(piece), 2), accepted[piece], rounds[piece])
    seen = own.observed()
    assert (seen.rounds, seen.reached().tolist()) == (rounds.sum(), [rounds[200_000:].sum(), 0])
    sizes = np.bincount(seen.group, seen.count)
    assert np.abs(sizes[:-1] - own.length).max() < 5
    assert np.flatnonzero(np.diff(seen.reached_by_group()[:, 0] > 0)).tolist() == [
        rounds[:200_000].sum() // own.length - 1
    ]


def test_kappa_one_and_nearly_certain_drafts():
    rng = np.random.default_rng(1)
    _, _, found = looked(iid(rng, np.repeat([0.9, 0.5], 2000), 4000, kappa=1))
    assert len(found) == 1
    assert abs(found[0].unit - 2000) < 40
    assert not looked(iid(rng, 0.999, 10_000, kappa=4))[2]
    assert not looked(iid(rng, 0.001, 10_000, kappa=4))[2]


def test_a_few_long_requests_are_looked_at_by_round():
    rng = np.random.default_rng(2)
    rows = [np.minimum(rng.geometric(1.0 - alpha, 1000) - 1, 4).tolist() for alpha in (0.8, 0.8, 0.6)]
    course, _, found = looked(Observed.in_order([[4] * 1000] * 3, rows))
    assert course.unit == "round"
    assert "3 requests are too few" in course.notes[0]
    assert [abs(change.unit - 2000) < 60 for change in found] == [True]


@pytest.mark.parametrize("name", DETECTORS)
def test_the_fall_that_would_have_been_told_is_told(name):
    """30 logs with twice the fall that a steady one would have shown: nearly all show it; with a fifth, hardly one."""
    chosen = detector_named(name)
    course, blocks, found = looked(iid(np.random.default_rng(1), 0.74, 6000), name)
    assert not found
    least = least_fall(course, blocks, chosen)
    assert 0.02 < least < 0.15
    for share, most, fewest in ((2.0, 30, 27), (0.2, 3, 0)):
        rates = np.repeat([0.74, 0.74 - share * least], 3000)
        told = sum(bool(looked(iid(np.random.default_rng(i), rates, 6000), name)[2]) for i in range(30))
        assert fewest <= told <= most


def test_progress_of_a_long_table_is_told(tmp_path):
    """pyarrow reads in a thread of its own."""
    file = tmp_path / "long.csv"
    file.write_text("accepted,kappa\n" + "3,4\n0,4\n" * 600_000)
    said = []
    with listening(said.append):
        fit(file)
    assert len({text for text in said if "long.csv" in text}) >= 4


def test_errors_are_one_line(monkeypatch):
    with pytest.raises(
        ParameterError, match="detector = 'adwim' is unknown; allowed: adwin, page-hinkley; did you mean"
    ):
        detector_named("adwim")
    monkeypatch.setitem(__import__("sys").modules, "river", None)
    with pytest.raises(SimspecError, match=r"river, which is missing; pip install 'simspec\[drift\]'"):
        detector_named("adwin")


def rates_of_alarm(name, logs=400):
    return {
        kind: alarms(make, logs if kind != "one text" else logs // 4, name, 10_000) for kind, make in STEADY.items()
    }


@pytest.mark.deep
@pytest.mark.parametrize("name", DETECTORS)
def test_figures_of_the_documentation(name, capsys):
    """docs/drift.md: share of steady logs with an alarm, and how late a fall is told."""
    found = rates_of_alarm(name)
    abrupt = [looked(iid(np.random.default_rng(i), np.repeat([0.85, 0.62], 5000), 10_000), name) for i in range(200)]
    late = [own[2][0].told - 5000 for own in abrupt if abs(own[2][0].unit - 5000) < 100]
    slow = [looked(falling(np.random.default_rng(i), 4000), name)[2][0] for i in range(50)]
    alone = {kind: sum(naive(make(np.random.default_rng(i)), name) for i in range(20)) for kind, make in STEADY.items()}
    with capsys.disabled():
        print(f"\n{name}: alarms {found} of 400, 400, 100; abrupt: {len(late)} of 200 at the place, one change in "
              f"{sum(len(own[2]) == 1 for own in abrupt)}, late by {np.quantile(late, [0.5, 0.95])} rounds; over 1,024 "
              f"tokens: told at {np.median([own.told for own in slow]):.0f}, "
              f"placed at {np.median([own.unit for own in slow]):.0f}; river alone, of 20 logs: {alone}")  # fmt: skip
    assert max(found.values()) <= 8
    assert len(late) == 200
