"""Rounds by a table of states: the kernel is its twin, whatever the table, and errors of a table are told."""

import numpy as np
import pytest

from simspec.kernels import play, twin
from simspec.kernels.lower_schemes import machine, tally_of
from simspec.kernels.words import LANES, stream_keys
from simspec.model import ParameterError
from simspec.model.rounds import RoundTable

KEYS = stream_keys(5, "machine")


def random_table(seed: int, states: int, most: int, carried: bool) -> RoundTable:
    """A table whose states lead to random later ones or end the round as one of a few kinds."""
    numbers = np.random.default_rng(seed)
    table = RoundTable()
    for number in range(states):
        chances = numbers.dirichlet(np.ones(numbers.integers(1, most + 1)))
        outcomes = []
        for chance in chances:
            if number + 1 < states and numbers.random() < 0.6:
                outcomes.append((float(chance), int(numbers.integers(number + 1, states))))
            else:
                drafted = int(numbers.integers(0, 6))
                start = int(numbers.integers(0, states)) if carried else 0
                outcomes.append((float(chance), table.end(int(numbers.integers(0, drafted + 1)), drafted, start=start)))
        table.add(outcomes)
    table.first = [(0.25, 0), (0.75, states - 1)] if carried else [(1.0, 0)]
    return table


@pytest.mark.parametrize(("states", "most", "carried"), [(1, 3, False), (7, 5, True), (40, 9, False), (30, 150, True)])
@pytest.mark.parametrize("lanes", [LANES, 3])
def test_kernel_and_twin(states, most, carried, lanes):
    own = machine(random_table(states, states, most, carried))
    fast = play.machine_counts(own, KEYS, 4, lanes, 70)
    assert fast.tolist() == twin.machine_counts(own, KEYS, 4, lanes, 70).tolist()
    assert (fast.sum(axis=1) == 70).all()


def test_chances_of_zero_and_one_are_exact():
    table = RoundTable()
    table.add([(0.0, table.end(3, 3)), (1.0, 1)])
    table.add([(1.0, table.end(1, 1)), (0.0, table.end(2, 2))])
    counts = play.machine_counts(machine(table), KEYS, 0, LANES, 10_000)
    assert counts.sum(axis=0).tolist() == [0, 10_000 * LANES, 0]


def test_counts_by_kind_become_a_tally():
    table = RoundTable()
    table.add([(0.5, table.end(2, 4, steps=3, rejected=False)), (0.5, table.end(0, 4, steps=3, tokens=2))])
    own = tally_of(machine(table).kinds, np.array([[3, 1], [0, 2]]), 5)
    assert own.total("n") == 6
    assert own.column("accepted").tolist() == [6, 0]
    assert own.column("rejected").tolist() == [1, 2]
    assert own.column("tokens").tolist() == [11, 4]
    assert own.total("drafted") == 24
    assert own.total("zero") == 3
    assert own.histogram[4, 2] == own.histogram[4, 0] == 3


def test_a_table_that_is_none_is_refused():
    def table(*states, first=0):
        made = RoundTable()
        end = made.end(0, 1, start=first)
        for outcomes in states:
            made.add([(chance, end if target is None else target) for chance, target in outcomes])
        return made

    for wrong, said in (
        (table([(0.5, None)]), "add up to 0.5"),
        (table([(1.5, None), (-0.5, None)]), "has the chance 1.5"),
        (table([(1.0, 0)]), "leads to state 0"),
        (table([(1.0, 5)]), "leads to state 5"),
        (table([(1.0, None)], first=3), "leads to state 3"),
        (table(), "0 states"),
    ):
        with pytest.raises(ParameterError, match=said):
            wrong.check()
