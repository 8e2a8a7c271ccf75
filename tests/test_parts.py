"""Even parts against exact integers; that they cover and are even is tested with the schedules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psbench.parts import even_parts


@given(total=st.integers(0, 2**63 - 1), parts=st.integers(1, 300))
def test_bounds_are_those_of_unbounded_integers(total, parts):
    bounds = even_parts(total, parts)
    assert bounds.dtype == np.int64
    assert bounds.tolist() == [i * total // parts for i in range(parts + 1)]


@pytest.mark.parametrize(
    ("total", "parts", "sizes"),
    [(7, 3, [2, 2, 3]), (7, 7, [1] * 7), (3, 5, [0, 1, 0, 1, 1]), (0, 2, [0, 0]), (5, 1, [5])],
)
def test_sizes(total, parts, sizes):
    assert np.diff(even_parts(total, parts)).tolist() == sizes


@pytest.mark.parametrize(("total", "parts"), [(-1, 2), (3, 0)])
def test_nonsense_is_a_bug_of_the_caller(total, parts):
    with pytest.raises(AssertionError):
        even_parts(total, parts)
