"""The core under all short histories of its workers, and under random longer ones."""

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psbench.parameter_server import RULES, ShardCore


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(("world", "num_moves"), [(1, 7), (2, 5), (3, 4)])
def test_every_short_history(all_histories, checks, name, world, num_moves):
    for log in all_histories(partial(ShardCore, RULES[name]()), world, num_moves):
        for check in checks[name].values():
            check(log)


@given(data=st.data(), name=st.sampled_from(sorted(RULES)), world=st.integers(1, 3))
def test_long_histories(play, new_workers, checks, data, name, world):
    core = ShardCore(RULES[name](), range(world))
    log = play(core, new_workers(world), lambda moves: data.draw(st.sampled_from(moves)), 40)
    for check in checks[name].values():
        check(log)


@given(data=st.data(), name=st.sampled_from(sorted(RULES)), world=st.integers(1, 3))
def test_a_restored_core_goes_on_as_the_unbroken_one(play, new_workers, deliver, data, name, world):
    def choose(moves):
        return data.draw(st.sampled_from(moves))

    workers, unbroken = new_workers(world), ShardCore(RULES[name](), range(world))
    play(unbroken, workers, choose, data.draw(st.integers(0, 15)))
    restored = ShardCore(RULES[name](), [])
    restored.restore(json.loads(json.dumps(unbroken.snapshot())))
    for worker in sorted(workers.waiting):  # what was not applied is sent again
        again = workers.repeat(worker)
        assert deliver(restored, again) == deliver(unbroken, again) == []
    for entry in play(unbroken, workers, choose, 15):
        assert tuple(deliver(restored, entry.move)) == entry.decisions
    assert restored.snapshot() == unbroken.snapshot()
