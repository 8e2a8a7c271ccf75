"""Every state that workers and two shards can reach, under each rule; and long random walks."""

import os
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psbench.parameter_server import InTurn, ShardCore

ALL = "all" in os.environ.get("PSBENCH_STATES", "")
"""Three workers with three pushes each also where some leave, join and ask twice: many minutes."""

BUDGETS = {
    "nothing": {},
    "one asks twice": {"repeats": 1},
    "one leaves": {"leaves": 1},
    "one joins": {"joins": 1},
    "a restart": {"restarts": 1},
    "all of that": {"repeats": 1, "leaves": 1, "joins": 1},
    "an end by versions": {"ends_at": 4 if ALL else 2},
}
FIXED = ("joins", "leaves")
"""Budgets that workers in turn have nothing of: their members are fixed until the end."""


@pytest.mark.parametrize("what", sorted(BUDGETS))
@pytest.mark.timeout(3600 if ALL else 120)
def test_every_reachable_state(new_world, explore, rule, what):
    budgets = BUDGETS[what]
    if isinstance(rule, InTurn):
        budgets = {name: budget for name, budget in budgets.items() if name not in FIXED}
    sizes = {"workers": 3, "pushes": 3} if ALL or what == "nothing" else {"workers": 2, "pushes": 2}
    world = new_world(partial(ShardCore, rule), **sizes, **budgets)
    print(explore(world), "states")


@given(data=st.data())
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_long_walks(new_world, rule, data):
    workers = data.draw(st.integers(1, 4))
    budgets = {"repeats": 5, "restarts": 2}
    if not isinstance(rule, InTurn):
        budgets |= dict.fromkeys(FIXED, 3)
    world = new_world(partial(ShardCore, rule), workers=workers, pushes=20, **budgets)
    for _ in range(100):
        assert not world.is_stuck()
        moves = list(world.moves())
        if not moves:
            break
        world.make(data.draw(st.sampled_from(moves)))
