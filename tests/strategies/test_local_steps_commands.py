"""The commands of local SGD, DiLoCo and elastic averaging, written out."""

import pytest

from psbench.spec import NUMBERED, Spec
from psbench.strategies import (
    STRATEGIES,
    AllReduce,
    Apply,
    ApplyOuter,
    Approach,
    Compute,
    Elastic,
    KeepCentre,
    Offer,
    Outer,
    OuterGradient,
    Pull,
    Push,
    Shard,
    Span,
    Wait,
)

RING = {"kind": "all_reduce", "algorithm": "ring"}
SYNCHRONOUS = {"kind": "parameter_server", "consistency": "synchronous", "servers": 1}
ASYNCHRONOUS = {"kind": "parameter_server", "consistency": "asynchronous", "servers": 1}
OPTIONS = {
    "local_sgd": {},
    "diloco": {"lr": 0.7, "momentum": 0.9, "nesterov": True},
    "easgd": {"alpha": None},
}
BY_ITSELF = [Compute(reduce=None), Apply()]
WHOLE = Shard(server=0, span=Span(index=0, start=0, stop=10))


def build(kind, over=RING, *, steps=8, every=3, **options):
    options = {**OPTIONS[kind], **options}
    return STRATEGIES[kind](world=3, numel=10, steps=steps, every=every, over=over, **options)


def commands_of(step):
    """Carry a step's commands out; those that give a handle give their own number."""
    commands, handle = [], None
    while True:
        try:
            commands.append(step.send(handle))
        except StopIteration:
            return commands
        starts = isinstance(commands[-1], AllReduce | Push | Pull)
        handle = len(commands) - 1 if starts else None


@pytest.mark.parametrize("kind", sorted(OPTIONS))
def test_the_options_are_those_a_spec_gives(kind):
    assert sorted(name for name, _ in NUMBERED.items() if name in OPTIONS) == sorted(OPTIONS)
    task = {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1}}
    spec = Spec(
        name="x", task=task, batch={"per_worker": 8}, steps=8, workers=3, strategy=f"{kind}:3"
    )
    (cell,) = spec.cells()
    own = cell.strategy.model_dump(exclude={"kind", "over"})
    assert own == {"every": 3, **OPTIONS[kind]}


@pytest.mark.parametrize("over", [RING, SYNCHRONOUS])
@pytest.mark.parametrize("kind", sorted(OPTIONS))
def test_ranks_agree_every_so_often_and_in_the_end(kind, over):
    strategy = build(kind, over)
    exchanged = [step for step in range(8) if commands_of(strategy.step(step)) != BY_ITSELF]
    assert exchanged == [step for step in range(8) if strategy.agrees(step)] == [2, 5, 7]
    assert (strategy.served, strategy.every) == (over is SYNCHRONOUS, 3)


@pytest.mark.parametrize(
    ("kind", "options", "outer"),
    [
        ("local_sgd", {}, Outer(lr=1.0)),
        ("diloco", {"lr": 0.5}, Outer(lr=0.5, momentum=0.9, nesterov=True)),
    ],
)
def test_ranks_meet_at_a_step_from_where_they_were(kind, options, outer):
    strategy = build(kind, **options)
    assert list(strategy.start()) == [KeepCentre(outer=outer)]
    *begin, gradient, reduce, wait, step, meet = commands_of(strategy.step(2))
    assert (begin, gradient) == (BY_ITSELF, OuterGradient())
    assert (reduce.bucket, reduce.schedule.world) == (WHOLE.span, 3)
    assert (wait, step, meet) == (Wait(handle=3), ApplyOuter(), Approach(rate=1.0))


def test_a_rank_is_drawn_before_the_centre_moves():
    strategy = build("easgd", {"kind": "native"}, alpha=0.2)
    (keep,) = strategy.start()
    assert keep.outer.lr == pytest.approx(0.6)
    assert (keep.outer.momentum, keep.outer.nesterov) == (0.0, False)
    assert commands_of(strategy.step(2)) == [
        *BY_ITSELF,
        OuterGradient(),
        Approach(rate=0.2),
        AllReduce(bucket=WHOLE.span, schedule=None),
        Wait(handle=4),
        ApplyOuter(),
    ]


def test_alpha_is_by_itself_that_of_the_paper():
    assert build("easgd", ASYNCHRONOUS).outer == Elastic(alpha=pytest.approx(0.3))
    assert build("easgd", SYNCHRONOUS).outer == Outer(lr=pytest.approx(0.9))


def test_servers_step_the_centre():
    strategy = build("diloco", SYNCHRONOUS)
    assert strategy.outer == Outer(lr=0.7, momentum=0.9, nesterov=True)
    assert commands_of(strategy.start()) == [
        KeepCentre(outer=None),
        Pull(shard=WHOLE),
        Wait(handle=1),
        Approach(rate=1.0),
    ]
    assert commands_of(strategy.step(2)) == [
        *BY_ITSELF,
        OuterGradient(),
        Push(shard=WHOLE),
        Wait(handle=3),
        Approach(rate=1.0),
    ]


def test_where_ranks_come_in_turn_they_go_by_what_became_of_the_centre():
    strategy = build("easgd", ASYNCHRONOUS, alpha=0.2)
    assert strategy.outer == Elastic(alpha=0.2)
    assert commands_of(strategy.step(2)) == [
        *BY_ITSELF,
        Offer(),
        Push(shard=WHOLE),
        Wait(handle=3),
        Approach(rate=0.25),
    ]


def test_buckets_and_micro_batches_are_those_of_gradients():
    over = {"kind": "native", "bucket": 5}
    commands = commands_of(build("local_sgd", over, accumulate=2).step(2))
    assert commands[:2] == [Compute(reduce=None, part=part, parts=2) for part in (0, 1)]
    sums = [command.bucket for command in commands if isinstance(command, AllReduce)]
    assert sums == [Span(index=1, start=5, stop=10), Span(index=0, start=0, stop=5)]
