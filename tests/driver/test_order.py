"""Interleaving: every trial once, repeats one after the other, the same order each time."""

from psbench.driver.order import interleave
from psbench.spec import Spec


def cells(count=5):
    task = {"payload": "4 B"}
    spec = Spec(
        name="x", task=task, steps=1, strategy="ring", matrix={"workers": list(range(1, count + 1))}
    )
    return spec.cells()


def test_every_repeat_runs_through_all_cells():
    trials = list(interleave(cells(), repeats=3, seed=0))
    assert [trial.repeat for trial in trials] == [0] * 5 + [1] * 5 + [2] * 5
    for repeat in range(3):
        once = [trial.cell.workers for trial in trials if trial.repeat == repeat]
        assert sorted(once) == [1, 2, 3, 4, 5]
    assert {trial.seed for trial in trials} == {0}


def test_the_order_differs_between_repeats_but_not_between_runs():
    def order(seed):
        return [trial.cell.workers for trial in interleave(cells(8), repeats=3, seed=seed)]

    assert order(0) == order(0)
    assert order(0) != order(1)
    assert order(0)[:8] != order(0)[8:16]
