"""The doors that import contracts cannot see: names held in two rooms, and third parties."""

import subprocess
import sys
from typing import get_args

import pytest

from psbench import network, parameter_server, schedules, spec, strategies
from psbench.driver import engines
from psbench.live import interpreter, transports
from psbench.simulated import learning, peers
from psbench.spec.cell import _HAVE_AN_ALL_REDUCE
from psbench.spec.names import WireDtype
from psbench.spec.strategy import NEEDS_HOSTS, PIPELINED
from psbench.strategies import commands
from psbench.training import optimizers, tasks


@pytest.mark.parametrize(
    ("names", "known"),
    [
        (spec.ALGORITHMS, schedules.ALGORITHMS),
        (spec.ALGORITHMS, schedules.COSTS),
        (spec.STRATEGIES, strategies.STRATEGIES),
        (spec.CONSISTENCIES, parameter_server.RULES),
        (spec.LR_RULES, parameter_server.LEARNING_RATES),
        (spec.MODELS, tasks.TASKS),
        (spec.DTYPES, tasks.DTYPES),
        (spec.PROFILES, network.PROFILES),
        (spec.OPTIMIZERS, optimizers.OPTIMIZERS),
        (spec.TRANSPORTS, {"auto", *transports.ENDPOINTS}),
        (spec.ENGINES, engines.ENGINES),
        (spec.LINK_PRESETS, network.PRESETS),
        (get_args(WireDtype), learning.WIRE_DTYPES),
        (get_args(WireDtype), peers._WIRE_BYTES),
        (get_args(WireDtype), interpreter.WIRE_DTYPES),
        (get_args(commands.WireDtype), interpreter.WIRE_DTYPES),
        (_HAVE_AN_ALL_REDUCE, {"auto", *transports.OWN_ALL_REDUCE}),
    ],
)
def test_what_a_spec_may_name_is_what_its_room_knows(names, known):
    assert sorted(names) == sorted(known)


def test_a_spec_asks_for_hosts_and_roots_where_an_algorithm_takes_them():
    takes = {option: set() for options in schedules.OPTIONS.values() for option in options}
    for name, options in schedules.OPTIONS.items():
        for option in options:
            takes[option].add(name)
    assert takes == {"roots": {"star"}, "ranks_per_host": set(NEEDS_HOSTS)}
    assert schedules.PIPELINED == PIPELINED


@pytest.mark.parametrize("consistency", spec.CONSISTENCIES)
def test_a_strategy_sums_over_ranks_where_its_rule_does(consistency):
    bound = {"bound": 1} if consistency == "bounded_staleness" else {}
    strategy = spec.ParameterServer(kind="parameter_server", consistency=consistency, **bound)
    rule = parameter_server.RULES[consistency](**bound)
    assert spec.sums_over_ranks(strategy) == rule.sums_shares


@pytest.mark.parametrize("room", ["schedules", "parameter_server", "strategies", "network"])
def test_a_pure_room_imports_numpy_alone(room):
    code = f"""
import sys
import numpy.random, numpy.typing
before = set(sys.modules)
import psbench.{room}
new = {{name.partition(".")[0] for name in sys.modules.keys() - before}}
print(*new - sys.stdlib_module_names)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["psbench"]
