"""What a spec says of servers' consistency: whose field is whose, and what means nothing."""

import pytest

from psbench.errors import SpecError
from psbench.spec import Spec, cell_id


def make(workers=4, **fields):
    strategy = {"kind": "parameter_server", "consistency": "asynchronous"} | fields
    return Spec(
        name="x", task={"payload": "1 MiB"}, workers=workers, steps=3, strategy=strategy
    ).cells()[0]


SSP = {"consistency": "bounded_staleness"}
SYNC = {"consistency": "synchronous"}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (SSP, "strategy.bound: missing; set it in the spec or as an axis of the matrix"),
        (SSP | {"bound": -1}, "strategy.bound: must be at least 0, got -1"),
        (SSP | {"bound": 1.5}, "strategy.bound: expected a whole number or inf, got 1.5"),
        (SSP | {"bound": True}, "strategy.bound: expected a whole number or inf, got true"),
        (
            SYNC | {"bound": 3},
            "strategy.bound: only bounded_staleness servers have it, and these are synchronous",
        ),
        (
            {"reads": "clock"},
            "strategy.reads: only bounded_staleness servers have it, and these are asynchronous",
        ),
        (
            {"backup": 1},
            "strategy.backup: only synchronous servers have it, and these are asynchronous",
        ),
        (SYNC | {"backup": -1}, "strategy.backup: must be at least 0, got -1"),
        (
            SYNC | {"backup": 4},
            "strategy.backup: of 4 workers some must be waited for; write at most 3",
        ),
        (
            SYNC | {"staleness": 3},
            "strategy.staleness: only asynchronous servers have it, and these are synchronous",
        ),
        ({"staleness": -1}, "strategy.staleness.versions[0]: must be at least 0, got -1"),
        ({"staleness": {"versions": []}}, "expected a list of numbers, got a list of 0"),
        ({"staleness": {"versions": [1, 1]}}, "strategy.staleness.versions: expected different"),
        (
            {"staleness": {"versions": [0, 8], "weights": [1.0]}},
            "strategy.staleness.weights: 1 for 2 versions",
        ),
        ({"staleness": 1.5}, "strategy.staleness: expected a whole number or a map, got 1.5"),
        ({"staleness": True}, "strategy.staleness: expected a whole number or a map, got true"),
        (
            {"staleness": {"versions": [0, 3], "weights": [1e308, 1e308]}},
            "strategy.staleness.weights: too great: their sum must be finite",
        ),
        (
            {"staleness": {"versions": [0], "weights": [0.0]}},
            "strategy.staleness.weights[0]: must be greater than 0, got 0.0",
        ),
    ],
)
def test_what_means_nothing_is_refused_by_name(fields, problem):
    with pytest.raises(SpecError) as caught:
        make(**fields)
    assert problem in str(caught.value)


def test_a_whole_number_is_short_for_one_staleness():
    assert cell_id(make(staleness=4)) == cell_id(make(staleness={"versions": [4]}))
    assert make(staleness=4).label == "ps-async(staleness=4), 4 workers"
    assert make(staleness={"versions": [0, 8]}).label == "ps-async(staleness=0 or 8), 4 workers"


def test_a_sum_over_those_in_time_is_refused():
    task = {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1}}
    strategy = {"kind": "parameter_server", "consistency": "synchronous", "backup": 1}
    batch = {"per_worker": 8}
    with pytest.raises(SpecError, match="reduce: with backup a version is the mean"):
        Spec(
            name="x",
            task=task,
            workers=2,
            steps=3,
            batch=batch,
            strategy=strategy,
            reduce="sum",
        )


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("ssp:3", SSP | {"bound": 3}),
        ("ssp:0", SSP | {"bound": 0}),
        ("ssp:inf", SSP | {"bound": "inf"}),
        ("ps-sync+backup:1", SYNC | {"backup": 1}),
    ],
)
def test_short_names_with_a_number(name, fields):
    cell = Spec(name="x", task={"payload": "1 MiB"}, workers=4, steps=3, strategy=name).cells()[0]
    assert cell_id(cell) == cell_id(make(**fields))
    assert cell.label == f"{name}, 4 workers"


@pytest.mark.parametrize("name", ["ssp", "ssp:", "ssp:-1", "ssp:1.5", "diloco:inf", "ssp:∞"])
def test_a_short_name_wants_its_number(name):
    with pytest.raises(SpecError, match=f"expected {name.partition(':')[0]}:N"):
        Spec(name="x", task={"payload": "1 MiB"}, workers=4, steps=3, strategy=name)
