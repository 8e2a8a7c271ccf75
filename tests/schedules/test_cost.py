"""The closed forms against a small model of ports that moves the schedule message by message."""

import pytest

from psbench.schedules import COSTS, schedule_for

LINKS = {
    "mixed": {"latency": 5.0, "overhead": 1.0, "byte_time": 0.5, "reduce_time": 0.0},
    "reducing": {"latency": 5.0, "overhead": 1.0, "byte_time": 0.5, "reduce_time": 0.25},
    "reducing slowly": {"latency": 5.0, "overhead": 1.0, "byte_time": 0.5, "reduce_time": 3.0},
    "latency": {"latency": 100.0, "overhead": 0.0, "byte_time": 0.0, "reduce_time": 0.0},
    "bandwidth": {"latency": 0.0, "overhead": 0.0, "byte_time": 1.0, "reduce_time": 0.0},
}


def simulate(schedule, nbytes, *, latency, overhead, byte_time, reduce_time):
    """Return the seconds until the last rank is done, all ranks entering at 0.

    LogGP with two directions a port: a message occupies the sender's egress for o + m beta, is
    latency later at the receiver's ingress and occupies that for m beta + o, in schedule order;
    then the receiver's processor reduces it. A rank enters a round when its sends of the round
    before have left its egress and its receives are reduced.
    """
    world, chunk = schedule.world, nbytes / schedule.num_chunks
    entered, egress, ingress, processor = ([0.0] * world for _ in range(4))
    for round_ in schedule.rounds:
        done = list(entered)
        for src, dst, start, stop, reduce in zip(
            round_.src, round_.dst, round_.start, round_.stop, round_.reduce, strict=True
        ):
            size = (stop - start) * chunk
            begin = max(entered[src], egress[src])
            egress[src] = begin + overhead + size * byte_time
            done[src] = max(done[src], egress[src])
            first_byte = max(begin + overhead + latency, ingress[dst])
            ingress[dst] = first_byte + size * byte_time + overhead
            if reduce:
                processor[dst] = max(ingress[dst], processor[dst]) + size * reduce_time
            done[dst] = max(done[dst], processor[dst] if reduce else ingress[dst])
        entered = done
    return max(entered)


def both(name, world, num_chunks, link, nbytes=840.0):
    schedule = schedule_for(name, world, num_chunks)
    return (
        COSTS[name](world, nbytes, num_chunks=num_chunks, **LINKS[link]),
        simulate(schedule, nbytes, **LINKS[link]),
    )


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("world", [1, 2, 3, 4, 7, 16])
@pytest.mark.parametrize("num_chunks", [None, 1, 2, 3, 5, 7, 16, 48])
def test_ring_is_exact_for_any_number_of_chunks(link, world, num_chunks):
    formula, simulated = both("ring", world, num_chunks, link)
    assert formula == pytest.approx(simulated, rel=1e-12)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("world", [1, 3, 7, 15, 31])
@pytest.mark.parametrize("num_chunks", [None, 1, 2, 3, 10])
def test_tree_is_exact_for_full_trees(link, world, num_chunks):
    formula, simulated = both("tree", world, num_chunks, link)
    assert formula == pytest.approx(simulated, rel=1e-12)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("num_chunks", [1, 2, 3, 10])
def test_tree_is_an_upper_bound_for_other_worlds(link, num_chunks):
    for world in range(2, 34):
        formula, simulated = both("tree", world, num_chunks, link)
        assert simulated <= formula * (1 + 1e-12)


def test_ring_is_the_textbook_formula_when_the_world_divides_the_chunks():
    latency, overhead, beta, gamma, n, p = 50e-6, 3e-6, 8e-9, 1e-10, 4e6, 8
    textbook = (
        2 * (p - 1) * (latency + 2 * overhead)
        + 2 * (p - 1) / p * n * beta
        + (p - 1) / p * n * gamma
    )
    assert COSTS["ring"](
        p, n, latency=latency, overhead=overhead, byte_time=beta, reduce_time=gamma
    ) == pytest.approx(textbook, rel=1e-12)


@pytest.mark.parametrize(("height", "chunks"), [(1, 1), (2, 4), (5, 32)])
def test_tree_is_the_derived_formula_without_gamma(height, chunks):
    latency, o, beta, n = 50e-6, 3e-6, 8e-9, 4e6
    derived = 4 * (height + chunks - 1) * (o + n * beta / chunks) + 2 * height * (latency + o)
    assert COSTS["tree"](
        2 ** (height + 1) - 1,
        n,
        latency=latency,
        overhead=o,
        byte_time=beta,
        reduce_time=0.0,
        num_chunks=chunks,
    ) == pytest.approx(derived, rel=1e-12)
