"""The closed forms against a small model of ports that moves the schedule message by message."""

import pytest

from psbench.schedules import ALGORITHMS, COSTS, schedule_for

LINKS = {
    "mixed": {"latency": 5.0, "overhead": 1.0, "byte_time": 0.5, "reduce_time": 0.0},
    "reducing": {"latency": 5.0, "overhead": 1.0, "byte_time": 0.5, "reduce_time": 0.25},
    "reducing slowly": {"latency": 5.0, "overhead": 1.0, "byte_time": 0.5, "reduce_time": 3.0},
    "latency": {"latency": 100.0, "overhead": 0.0, "byte_time": 0.0, "reduce_time": 0.0},
    "bandwidth": {"latency": 0.0, "overhead": 0.0, "byte_time": 1.0, "reduce_time": 0.0},
}


INSIDE = {"inside_latency": 0.5, "inside_overhead": 0.25, "inside_byte_time": 0.125}
CHUNKS = [None, 1, 2, 3, 5, 7, 16, 48]


def transfers(schedule):
    """Yield each round as a list of (src, dst, chunks, reduce)."""
    for round_ in schedule.rounds:
        columns = (round_.src, round_.dst, round_.stop - round_.start, round_.reduce)
        yield list(zip(*(column.tolist() for column in columns), strict=True))


def simulate(schedule, nbytes, *, latency, overhead, byte_time, reduce_time):
    """Return the seconds until the last rank is done, all ranks entering at 0.

    LogGP with two directions a port: a message occupies the sender's egress for o + m beta, is
    latency later at the receiver's ingress and occupies that for m beta + o, in schedule order;
    then the receiver's processor reduces it. A rank enters a round when its sends of the round
    before have left its egress and its receives are reduced.
    """
    world, chunk = schedule.world, nbytes / schedule.num_chunks
    entered, egress, ingress, processor = ([0.0] * world for _ in range(4))
    for round_ in transfers(schedule):
        done = list(entered)
        for src, dst, chunks, reduce in round_:
            size = chunks * chunk
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


def simulate_hosts(schedule, nbytes, ranks_per_host, *, reduce_time, inside, across):
    """As `simulate`, but the bytes of a message to another host occupy both hosts' NICs too.

    `inside` and `across` are (latency, overhead, byte_time); a NIC serves in schedule order.
    """
    world, chunk = schedule.world, nbytes / schedule.num_chunks
    entered, egress, ingress, processor, nic_out, nic_in = ([0.0] * world for _ in range(6))
    for round_ in transfers(schedule):
        done = list(entered)
        for src, dst, chunks, reduce in round_:
            size, hosts = chunks * chunk, (src // ranks_per_host, dst // ranks_per_host)
            leaves = hosts[0] != hosts[1]
            latency, overhead, byte_time = across if leaves else inside
            begin = max(entered[src], egress[src]) + overhead
            begin = max(begin, nic_out[hosts[0]]) if leaves else begin
            egress[src] = begin + size * byte_time
            done[src] = max(done[src], egress[src])
            first_byte = max(begin + latency, ingress[dst], nic_in[hosts[1]] if leaves else 0.0)
            last_byte = first_byte + size * byte_time
            if leaves:
                nic_out[hosts[0]], nic_in[hosts[1]] = egress[src], last_byte
            ingress[dst] = last_byte + overhead
            if reduce:
                processor[dst] = max(ingress[dst], processor[dst]) + size * reduce_time
            done[dst] = max(done[dst], processor[dst] if reduce else ingress[dst])
        entered = done
    return max(entered)


def both(name, world, num_chunks, link, nbytes=840.0, **options):
    schedule = schedule_for(name, world, num_chunks, **options)
    return (
        COSTS[name](world, nbytes, num_chunks=num_chunks, **options, **LINKS[link]),
        simulate(schedule, nbytes, **LINKS[link]),
    )


def both_over_hosts(name, world, num_chunks, link, ranks_per_host, nbytes=840.0):
    schedule = schedule_for(name, world, num_chunks, ranks_per_host=ranks_per_host)
    own = LINKS[link]
    formula = COSTS[name](
        world, nbytes, num_chunks=num_chunks, ranks_per_host=ranks_per_host, **own, **INSIDE
    )
    simulated = simulate_hosts(
        schedule,
        nbytes,
        ranks_per_host,
        reduce_time=own["reduce_time"],
        inside=tuple(INSIDE.values()),
        across=(own["latency"], own["overhead"], own["byte_time"]),
    )
    return formula, simulated


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


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", ["halving_doubling", "direct"])
def test_is_exact_for_any_world_and_number_of_chunks(name, link):
    for world in range(1, 20):
        for num_chunks in CHUNKS:
            formula, simulated = both(name, world, num_chunks, link)
            assert formula == pytest.approx(simulated, rel=1e-12), (world, num_chunks)


@pytest.mark.parametrize("link", LINKS)
def test_star_is_exact_for_any_number_of_roots(link):
    for world in range(1, 14):
        for roots in range(1, min(world, 5) + 1):
            for num_chunks in (None, 1, 4, 7):
                formula, simulated = both("star", world, num_chunks, link, roots=roots)
                assert formula == pytest.approx(simulated, rel=1e-12), (world, roots, num_chunks)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("num_chunks", [None, 3])
def test_recursive_doubling_is_exact_for_powers_of_two_and_where_most_ranks_fold(link, num_chunks):
    for world in range(1, 65):
        formula, simulated = both("recursive_doubling", world, num_chunks, link)
        core = 1 << (world.bit_length() - 1)
        if world == core or world > 1.5 * core:
            assert formula == pytest.approx(simulated, rel=1e-12), world
        else:
            assert simulated <= formula * (1 + 1e-12)
            assert formula <= 1.5 * simulated


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("num_chunks", "at_most"), [(1, 2), (2, 1.7), (8, 4 / 3), (48, 4 / 3)])
def test_double_tree_is_an_upper_bound_and_closer_with_more_chunks(link, num_chunks, at_most):
    for world in [*range(2, 25), 33, 64]:
        formula, simulated = both("double_tree", world, num_chunks, link)
        assert simulated <= formula * (1 + 1e-12)
        assert formula <= at_most * simulated * (1 + 1e-12)
        if link == "bandwidth" and num_chunks > 1:
            assert formula == pytest.approx(simulated, rel=1e-12)


def test_double_tree_tends_to_two_vectors_a_port():
    seconds = COSTS["double_tree"](
        64, 1.0, latency=0.0, overhead=0.0, byte_time=1.0, reduce_time=0.0, num_chunks=1000
    )
    assert 2 < seconds < 2.03


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("ranks_per_host", [1, 2, 4, 8])
def test_leaders_are_exact_for_powers_of_two(link, ranks_per_host):
    for world in range(ranks_per_host, 26):
        for num_chunks in (None, 1, 7):
            formula, simulated = both_over_hosts(
                "hierarchical_leaders", world, num_chunks, link, ranks_per_host
            )
            assert formula == pytest.approx(simulated, rel=1e-12), world


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("ranks_per_host", [3, 5, 7])
@pytest.mark.parametrize("name", ["hierarchical_leaders", "hierarchical_rails"])
def test_an_upper_bound_for_any_hosts(name, link, ranks_per_host):
    for world in range(1, 26):
        for num_chunks in (None, 1, 7):
            formula, simulated = both_over_hosts(name, world, num_chunks, link, ranks_per_host)
            assert simulated <= formula * (1 + 1e-12), (world, num_chunks)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("num_chunks", [None, 1, 7, 48])
def test_rails_are_exact_on_one_host_and_with_one_rank_a_host(link, num_chunks):
    for world in range(1, 20):
        for ranks_per_host in (1, world):
            formula, simulated = both_over_hosts(
                "hierarchical_rails", world, num_chunks, link, ranks_per_host
            )
            assert formula == pytest.approx(simulated, rel=1e-12), world


@pytest.mark.parametrize(("hosts", "ranks_per_host"), [(2, 2), (3, 4), (5, 3), (8, 2)])
@pytest.mark.parametrize(("link", "at_most"), [("latency", 1), ("bandwidth", 1), ("mixed", 1.2)])
def test_rails_hide_latency_behind_each_other_s_bytes(hosts, ranks_per_host, link, at_most):
    world = hosts * ranks_per_host
    formula, simulated = both_over_hosts("hierarchical_rails", world, None, link, ranks_per_host)
    assert simulated <= formula * (1 + 1e-12)
    assert formula <= at_most * simulated * (1 + 1e-12)


def test_textbook_formulas():
    latency, overhead, beta, gamma, n, p = 50e-6, 3e-6, 8e-9, 1e-10, 4e6, 16
    alpha, share, lg = latency + 2 * overhead, 15 / 16, 4
    link = {"latency": latency, "overhead": overhead, "byte_time": beta}
    expected = {
        "recursive_doubling": lg * (alpha + n * beta + n * gamma),
        "halving_doubling": 2 * lg * alpha + 2 * share * n * beta + share * n * gamma,
    }
    for name, seconds in expected.items():
        assert COSTS[name](p, n, **link, reduce_time=gamma) == pytest.approx(seconds, rel=1e-12)
    expected = {
        "direct": 2 * latency + 2 * p * overhead + 2 * share * n * beta,
        "star": 2 * latency + 2 * p * overhead + 2 * (p - 1) * n * beta,
    }
    for name, seconds in expected.items():
        assert COSTS[name](p, n, **link, reduce_time=0.0) == pytest.approx(seconds, rel=1e-12)


def test_halving_doubling_in_any_world_is_mpich_s_formula():
    latency, overhead, beta, gamma, n, core = 50e-6, 3e-6, 8e-9, 1e-10, 4e6, 8
    alpha = latency + 2 * overhead
    expected = (
        (2 * 3 + 2) * alpha
        + (2 * (core - 1) / core + 2) * n * beta
        + (1 + (core - 1) / core) * n * gamma
    )
    assert COSTS["halving_doubling"](
        11, n, latency=latency, overhead=overhead, byte_time=beta, reduce_time=gamma
    ) == pytest.approx(expected, rel=1e-12)


def test_rails_across_hosts_are_the_derived_formula():
    link = {"latency": 50e-6, "overhead": 3e-6, "byte_time": 8e-9, "reduce_time": 1e-10}
    free = {"inside_latency": 0.0, "inside_overhead": 0.0, "inside_byte_time": 0.0}
    m, g, n = 4, 8, 4e6
    seconds = COSTS["hierarchical_rails"](m * g, n, ranks_per_host=g, **link, **free)
    derived = (
        2 * (m - 1) * 56e-6
        + 2 * (m - 1) / m * n * 8e-9
        + ((g - 1) / g + (m - 1) / m / g) * n * 1e-10
    )
    assert seconds == pytest.approx(derived, rel=1e-12)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_world_of_one_costs_nothing(name):
    for link in LINKS:
        assert both(name, 1, None, link) == (0.0, 0.0)
