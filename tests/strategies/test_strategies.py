"""The commands of each strategy's steps, written out."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psbench.schedules import traffic, verify
from psbench.spec import SHORTHANDS
from psbench.spec import STRATEGIES as NAMES
from psbench.strategies import (
    STRATEGIES,
    AllReduce,
    Apply,
    Compute,
    ComputeByDdp,
    Pull,
    Push,
    Ready,
    Shard,
    Span,
    Wait,
    shards_of,
)


def drive(step):
    """Carry a step's commands out as an engine would; return them and the handles given."""
    commands, handles, handle = [], [], None
    while True:
        try:
            commands.append(step.send(handle))
        except StopIteration:
            return commands, handles
        handle = None
        starts_computing = isinstance(commands[-1], Compute) and commands[-1].overlap
        if starts_computing or isinstance(commands[-1], AllReduce | Push | Pull):
            handle = object()
            handles.append(handle)


def span(index, start, stop):
    return Span(index=index, start=start, stop=stop)


def server(**options):
    return STRATEGIES["parameter_server"](**options)


def test_the_names_are_those_a_spec_can_use():
    assert tuple(STRATEGIES) == NAMES


@pytest.mark.parametrize("shorthand", sorted(SHORTHANDS.keys() - {"auto"}))  # it stands for another
def test_the_options_are_those_a_spec_gives(shorthand):
    options = dict(SHORTHANDS[shorthand])
    kind = options.pop("kind")
    if kind == "parameter_server":
        options["servers"] = 1
    strategy = STRATEGIES[kind](world=3, numel=10, **options)
    for step in (strategy.start(), strategy.step(0), strategy.step(1)):
        drive(step)
    assert strategy.served == (kind == "parameter_server")


def test_all_reduce_sums_shares_then_steps_on_every_rank():
    strategy = STRATEGIES["all_reduce"](world=3, numel=10, algorithm="ring")
    assert drive(strategy.start()) == ([], [])
    commands, handles = drive(strategy.step(0))
    compute, reduce, *rest = commands
    assert compute == Compute(reduce="mean")
    assert reduce.bucket == span(0, 0, 10)
    assert rest == [Wait(handle=handles[0]), Apply()]


@pytest.mark.parametrize(
    ("algorithm", "chunks", "num_chunks", "messages_of_rank_0"),
    [("ring", None, 3, 4), ("ring", 6, 6, 4), ("tree", None, 4, 8), ("tree", 2, 2, 4)],
)
def test_all_reduce_takes_the_schedule_of_its_algorithm(
    algorithm, chunks, num_chunks, messages_of_rank_0
):
    strategy = STRATEGIES["all_reduce"](world=3, numel=10, algorithm=algorithm, chunks=chunks)
    schedule = drive(strategy.step(0))[0][1].schedule
    verify(schedule)
    assert (schedule.world, schedule.num_chunks) == (3, num_chunks)
    assert traffic(schedule).messages_sent[0] == messages_of_rank_0


@pytest.mark.parametrize(
    ("algorithm", "options", "num_chunks"),
    [
        ("star", {}, 1),
        ("star", {"roots": 3}, 3),
        ("hierarchical_leaders", {"ranks_per_host": 2}, 3),
        ("hierarchical_rails", {"ranks_per_host": 4}, 8),
        ("hierarchical_rails", {"ranks_per_host": None}, 6),
        ("ring", {"ranks_per_host": 2}, 6),  # the same wherever its ranks are
    ],
)
def test_all_reduce_passes_on_roots_and_hosts(algorithm, options, num_chunks):
    strategy = STRATEGIES["all_reduce"](world=6, numel=10, algorithm=algorithm, **options)
    schedule = drive(strategy.step(0))[0][1].schedule
    verify(schedule)
    assert schedule.num_chunks == num_chunks


def test_native_leaves_the_schedule_to_the_backend():
    strategy = STRATEGIES["native"](world=3, numel=10)
    assert drive(strategy.start()) == ([], [])
    commands, handles = drive(strategy.step(0))
    assert commands == [
        Compute(reduce="mean"),
        AllReduce(bucket=span(0, 0, 10), schedule=None),
        Wait(handle=handles[0]),
        Apply(),
    ]


@pytest.mark.parametrize(
    ("bucket", "cuts"),
    [(None, [0, 10]), (10, [0, 10]), (99, [0, 10]), (5, [0, 5, 10]), (4, [0, 3, 6, 10])],
)
def test_buckets_are_even_parts_from_the_last_to_the_first(bucket, cuts):
    strategy = STRATEGIES["all_reduce"](world=3, numel=10, algorithm="ring", bucket=bucket)
    commands, handles = drive(strategy.step(0))
    spans = [span(i, a, b) for i, (a, b) in enumerate(itertools.pairwise(cuts))][::-1]
    sums = commands[1 : 1 + len(spans)]
    assert [command.bucket for command in sums] == spans
    assert len({command.schedule for command in sums}) == 1
    waits = [Wait(handle=handle) for handle in handles]
    assert commands == [Compute(reduce="mean"), *sums, *waits, Apply()]


def test_a_bucket_of_more_than_the_vector_and_a_vector_of_nothing():
    for numel in (0, 1):
        strategy = STRATEGIES["native"](world=3, numel=numel, bucket=256)
        commands, _ = drive(strategy.step(0))
        assert [c.bucket for c in commands if isinstance(c, AllReduce)] == [span(0, 0, numel)]


@pytest.mark.parametrize("kind", ["all_reduce", "native"])
def test_overlap_starts_a_bucket_when_its_gradients_are_known(kind):
    options = {"algorithm": "ring"} if kind == "all_reduce" else {}
    strategy = STRATEGIES[kind](world=3, numel=10, bucket=5, overlap=True, accumulate=2, **options)
    commands, (computing, first, second) = drive(strategy.step(0))
    back, front = span(1, 5, 10), span(0, 0, 5)
    assert commands[:2] == [
        Compute(reduce="mean", part=0, parts=2),
        Compute(reduce="mean", part=1, parts=2, overlap=True),
    ]
    assert commands[2] == Ready(handle=computing, bucket=back)
    assert commands[3].bucket == back
    assert commands[4] == Ready(handle=computing, bucket=front)
    assert commands[5].bucket == front
    ends = [Wait(handle=handle) for handle in (computing, first, second)]
    assert commands[6:] == [*ends, Apply()]


def test_what_is_sent_is_rounded_where_the_spec_says_so():
    options = {"world": 3, "numel": 10, "algorithm": "ring", "wire_dtype": "bf16", "bucket": 5}
    commands, _ = drive(STRATEGIES["all_reduce"](**options).step(0))
    assert [c.wire_dtype for c in commands if isinstance(c, AllReduce)] == ["bf16", "bf16"]


def test_ddp_computes_and_sums_in_one():
    strategy = STRATEGIES["ddp"](world=3, numel=10, bucket=5, accumulate=2, reduce="sum")
    parts = [ComputeByDdp(reduce="sum", part=part, parts=2, bucket=5) for part in (0, 1)]
    assert drive(strategy.step(0)) == ([*parts, Apply()], [])


def test_none_moves_nothing_and_takes_its_own_mean():
    strategy = STRATEGIES["none"](world=3, numel=10)
    assert drive(strategy.start()) == ([], [])
    assert drive(strategy.step(0)) == ([Compute(reduce=None), Apply()], [])


@pytest.mark.parametrize(
    ("consistency", "reduce"), [("synchronous", "mean"), ("asynchronous", None)]
)
def test_one_server(consistency, reduce):
    strategy = server(world=3, numel=10, servers=1, consistency=consistency)
    whole = Shard(server=0, span=span(0, 0, 10))
    commands, handles = drive(strategy.start())
    assert commands == [Pull(shard=whole), Wait(handle=handles[0])]
    commands, handles = drive(strategy.step(0))
    assert commands == [Compute(reduce=reduce), Push(shard=whole), Wait(handle=handles[0])]


@pytest.mark.parametrize(
    ("kind", "options", "reduce"),
    [
        ("all_reduce", {"algorithm": "ring"}, "sum"),
        ("native", {}, "sum"),
        ("none", {}, None),
        ("bare", {}, None),
        ("parameter_server", {"servers": 1, "consistency": "synchronous"}, "sum"),
        ("parameter_server", {"servers": 1, "consistency": "asynchronous"}, None),
    ],
)
def test_a_rank_computes_all_its_micro_batches_before_it_communicates(kind, options, reduce):
    strategy = STRATEGIES[kind](world=2, numel=4, accumulate=3, reduce="sum", **options)
    commands, _ = drive(strategy.step(0))
    parts = [Compute(reduce=reduce, part=part, parts=3) for part in range(3)]
    assert commands[:3] == parts
    assert not any(isinstance(command, Compute) for command in commands[3:])


def test_three_servers_are_all_under_way_before_the_first_wait():
    strategy = server(world=2, numel=10, servers=3, consistency="synchronous")
    parts = [(2, 6, 10), (1, 3, 6), (0, 0, 3)]
    shards = [Shard(server=s, span=span(0, start, stop)) for s, start, stop in parts]
    commands, handles = drive(strategy.start())
    assert len(set(handles)) == 3
    waits = [Wait(handle=handle) for handle in handles]
    assert commands == [*(Pull(shard=shard) for shard in shards), *waits]
    commands, handles = drive(strategy.step(0))
    waits = [Wait(handle=handle) for handle in handles]
    assert commands == [Compute(reduce="mean"), *(Push(shard=shard) for shard in shards), *waits]


def test_more_servers_than_elements_leave_some_with_nothing():
    parts = [(shard.server, shard.span) for shard in shards_of(2, 3)]
    assert parts == [(0, span(0, 0, 0)), (1, span(0, 0, 1)), (2, span(0, 1, 2))]
    commands, _ = drive(server(world=2, numel=2, servers=3, consistency="synchronous").step(0))
    assert [c.shard for c in commands if isinstance(c, Push)] == list(shards_of(2, 3)[::-1])


@given(
    numel=st.integers(0, 10_000),
    servers=st.integers(1, 50),
    bucket=st.none() | st.integers(100, 20_000),
)
def test_shards_are_every_element_once_in_order(numel, servers, bucket):
    shards = shards_of(numel, servers, bucket)
    ranges = [range(shard.span.start, shard.span.stop) for shard in shards]
    assert [i for own in ranges for i in own] == list(range(numel))
    assert list(dict.fromkeys(shard.server for shard in shards)) == list(range(servers))
    for number in range(servers):
        own = [shard.span.index for shard in shards if shard.server == number]
        assert own == list(range(len(own)))
    assert bucket is None or max(map(len, ranges)) <= bucket


def test_a_bucket_is_pushed_when_its_gradients_are_known():
    options = {"consistency": "synchronous", "bucket": 5, "overlap": True, "servers": 1}
    strategy = server(world=2, numel=10, **options)
    back, front = (Shard(server=0, span=span(*at)) for at in ((1, 5, 10), (0, 0, 5)))
    assert drive(strategy.start())[0][:2] == [Pull(shard=back), Pull(shard=front)]
    commands, (computing, first, second) = drive(strategy.step(0))
    assert commands == [
        Compute(reduce="mean", overlap=True),
        Ready(handle=computing, bucket=back.span),
        Push(shard=back),
        Ready(handle=computing, bucket=front.span),
        Push(shard=front),
        Wait(handle=computing),
        Wait(handle=first),
        Wait(handle=second),
    ]
