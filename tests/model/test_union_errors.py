"""Does an error of a parameter that may be a list, or a list of lists, name the entry that is wrong?"""

import pytest

from simspec.model import ParameterError
from simspec.model.schemes import Tree


@pytest.mark.parametrize(
    ("misses", "told"),
    [
        ([0.5, 2], "misses[1] = 2 is out of range; allowed: 0 ≤ each entry ≤ 1"),
        ([[0.5], [0.2, -1]], "misses[1][1] = -1 is out of range; allowed: 0 ≤ each entry ≤ 1"),
        ([0.5, "a"], "misses[1] = 'a' is not a number; allowed: 0 ≤ each entry ≤ 1"),
        ([[0.5], 0.2], "misses[0] = (0.5,) is not a number; allowed: 0 ≤ each entry ≤ 1"),
        (0.4, "misses = 0.4 is not a list; allowed: 0 ≤ each entry ≤ 1"),
    ],
)
def test_the_entry_is_named_and_no_type_of_the_union(misses, told):
    with pytest.raises(ParameterError) as caught:
        Tree(misses=misses)
    assert caught.value.message.startswith(told)
    assert caught.value.key == "misses"
