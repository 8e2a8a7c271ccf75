"""Schedules carried out over a transport: exact sums, exact bytes, and no garbage."""

import itertools

import numpy as np
import pytest
import torch

from psbench.errors import Mismatch
from psbench.live.collective import collective_for
from psbench.live.counters import Counters
from psbench.live.headers import Header
from psbench.live.transports import OF_HOST_MEMORY
from psbench.schedules import ALGORITHMS, execute, schedule_for, traffic

WORLDS = [1, 2, 3, 4, 5, 7, 8]
DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int16,
    torch.int32,
    torch.int64,
]


def sum_up(transport, schedule, vector, step=0, generation=1):
    """Run one collective; return the counters."""
    counters = Counters()
    header = Header(generation=generation, step=step, dtype=vector.dtype, numel=len(vector))
    collective = collective_for(transport, schedule, numel=len(vector))
    collective.run(vector, header, counters)
    return counters


@pytest.mark.parametrize("name", sorted(OF_HOST_MEMORY))
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sums_of_any_length_and_dtype_are_exact_and_bytes_are_those_of_the_schedule(
    name, world, algorithm, connect, everywhere
):
    schedule = schedule_for(algorithm, world)
    lengths = sorted({0, 1, world - 1, world + 1, 10_007})
    given = np.random.default_rng(world).integers(-8, 8, (world, max(lengths)))
    moved = {numel: traffic(schedule, numel, itemsize=4) for numel in lengths}

    def all_of_them(transport):
        wrong, rank = [], transport.rank
        for numel, dtype in itertools.product(lengths, DTYPES):
            vector = transport.allocate(numel, dtype=dtype)
            vector.copy_(torch.from_numpy(given[rank, :numel]))
            counters = sum_up(transport, schedule, vector)
            if not torch.equal(vector, torch.from_numpy(given[:, :numel].sum(axis=0)).to(dtype)):
                wrong.append((numel, dtype))
            if dtype is torch.float32:
                assert counters == Counters(
                    bytes_sent=moved[numel].bytes_sent[rank],
                    bytes_received=moved[numel].bytes_received[rank],
                    messages_sent=moved[numel].messages_sent[rank],
                    messages_received=moved[numel].messages_received[rank],
                )
        return wrong

    assert everywhere(connect(world, name), all_of_them) == [[]] * world


@pytest.mark.parametrize("name", sorted(OF_HOST_MEMORY))
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_strided_vectors(algorithm, name, connect, everywhere):
    schedule = ALGORITHMS[algorithm](3)

    def strided(transport):
        base = torch.full((20,), -1.0)
        base[::2] = torch.arange(10.0) + transport.rank
        sum_up(transport, schedule, base[::2])
        return base

    for base in everywhere(connect(3, name), strided):
        assert torch.equal(base[::2], 3 * torch.arange(10.0) + 3)
        assert torch.equal(base[1::2], torch.full((10,), -1.0))


@pytest.mark.parametrize("name", sorted(OF_HOST_MEMORY))
@pytest.mark.parametrize("world", [2, 3, 5, 7])
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_bit_for_bit_as_in_one_process(algorithm, world, name, connect, everywhere):
    schedule = ALGORITHMS[algorithm](world, 3)
    generator = np.random.default_rng(world)
    inputs = [generator.standard_normal(1009).astype(np.float32) for _ in range(world)]

    def live(transport):
        vector = torch.from_numpy(inputs[transport.rank].copy())
        sum_up(transport, schedule, vector)
        return vector.numpy()

    expected = execute(schedule, inputs)
    for rank, vector in enumerate(everywhere(connect(world, name), live)):
        assert vector.tobytes() == expected[rank].tobytes() == expected[0].tobytes()


def test_nan_reaches_everyone(connect, everywhere):
    def poisoned(transport):
        vector = torch.ones(7)
        if transport.rank == 1:
            vector[3] = torch.nan
        sum_up(transport, ALGORITHMS["tree"](3), vector)
        return vector

    for vector in everywhere(connect(3), poisoned):
        assert vector.isnan().tolist() == [i == 3 for i in range(7)]


@pytest.mark.parametrize("name", sorted(OF_HOST_MEMORY))
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"step": 5}, "sends step 5 where 0 is expected"),
        ({"generation": 9}, "sends generation 9 where 1 is expected"),
        ({"dtype": torch.int32}, "sends dtype torch.int32 where torch.float32 is expected"),
        ({"numel": 6}, "sends numel 6 where 8 is expected"),
        ({"numel": 0}, "sends numel 0 where 8 is expected"),
    ],
)
def test_ranks_that_disagree_find_out(change, said, name, connect, everywhere):
    def disagree(transport):
        odd = change if transport.rank == 1 else {}
        vector = torch.ones(odd.get("numel", 8), dtype=odd.get("dtype", torch.float32))
        try:
            sum_up(
                transport,
                ALGORITHMS["ring"](2),
                vector,
                step=odd.get("step", 0),
                generation=odd.get("generation", 1),
            )
        except Mismatch as error:
            return str(error)
        return "nothing"

    outcome = everywhere(connect(2, name), disagree)
    assert outcome[0] == f"rank 1 {said}"
    assert outcome[1].startswith("rank 0 ")
