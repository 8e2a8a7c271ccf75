"""The stores without torch, against sums made by hand."""

import numpy as np
import pytest

from psbench.parameter_server import NullStore, NumpyStore


def test_sgd_by_hand():
    store = NumpyStore(np.array([1.0, 2.0, -3.0]), lr=0.5)
    store.apply([np.array([1.0, 0.0, 2.0]), np.array([3.0, -4.0, 0.0])])
    assert store.read().tolist() == [-1.0, 4.0, -4.0]
    store.apply([np.array([2.0, 2.0, 2.0])])
    assert store.read().tolist() == [-2.0, 3.0, -5.0]


def test_contributions_are_summed_in_the_order_given():
    big, one = np.float32([1e8]), np.float32([1.0])
    first, second = (NumpyStore(np.float32([0.0]), lr=1.0) for _ in range(2))
    first.apply([big.copy(), one.copy(), -big])
    second.apply([big.copy(), -big, one.copy()])
    assert first.read().tolist() == [0.0]
    assert second.read().tolist() == [-1.0]


def test_what_was_read_stays_as_it_was():
    store = NumpyStore(np.array([1.0, 2.0]), lr=1.0)
    before = store.read()
    store.apply([np.array([1.0, 1.0])])
    assert before.tolist() == [1.0, 2.0]
    assert store.read().tolist() == [0.0, 1.0]


def test_the_initial_vector_is_copied():
    mine = np.array([1.0])
    store = NumpyStore(mine, lr=1.0)
    mine[0] = 7.0
    assert store.read().tolist() == [1.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_is_kept(dtype):
    store = NumpyStore(np.zeros(3, dtype), lr=0.1)
    store.apply([np.ones(3, dtype), np.ones(3, dtype)])
    assert store.read().dtype == dtype


def test_an_empty_shard():
    store = NumpyStore(np.zeros(0), lr=1.0)
    store.apply([np.zeros(0)])
    assert store.read().shape == (0,)


def test_null_holds_nothing():
    store = NullStore()
    store.apply([None, None])
    assert store.read() is None
