"""A network file: written for people, read strictly."""

import pytest

from psbench.errors import SpecError
from psbench.spec import NetworkFile, read_network, write_network

DOCUMENT = {
    "schema_version": 1,
    "transport": "gloo",
    "host": "node: one",
    "measured": "2026-01-01T00:00:00+00:00",
    "link": {
        "latency": "20.5 us", "overhead": "0 ns", "byte_time": "0.2 ns", "reduce_time": "0.05 ns",
    },
    "uncertainty": {
        "latency": "1 us", "overhead": "1 us", "byte_time": "0.01 ns", "reduce_time": "0.01 ns",
    },
    "collectives": [
        {"algorithm": "ring", "workers": 4, "size": "64 KiB", "time": "293 us"},
        {"algorithm": "ring", "workers": 4, "size": "100 B", "time": "1.5 s"},
    ],
}  # fmt: skip


def test_what_is_written_is_read(tmp_path):
    network = NetworkFile.model_validate(DOCUMENT)
    assert network.link.latency == pytest.approx(20.5e-6)
    assert network.link.byte_time == pytest.approx(0.2e-9)
    assert network.collectives[0].size == 65536
    path = tmp_path / "network.yaml"
    write_network(network, path)
    assert read_network(path) == network
    text = path.read_text()
    assert "  latency: 20.5 us\n" in text
    assert "  - {algorithm: ring, workers: 4, size: 64 KiB, time: 293 us}\n" in text
    write_network(network.model_copy(update={"collectives": ()}), path)
    assert read_network(path).collectives == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("time: 293 us", "time: 293"), r"x\.yaml:17: collectives\[0\]\.time: expected a time"),
        (("size: 64 KiB", "size: 64 KiG"), r"x\.yaml:17: .*unknown unit 'KiG'"),
        (("overhead: 0 ns", "overhed: 0 ns"), "unknown field 'overhed'; did you mean 'overhead'"),
        (("latency: 20.5 us", "latency: -1 us"), r"x\.yaml:7: link\.latency: a time cannot be neg"),
        (("schema_version: 1", "schema_version: 2"), r"x\.yaml:2: schema_version 2; .* reads 1"),
        (("transport: ", "# transport: "), "transport: missing; a network file has one"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(tmp_path, change, message):
    path = tmp_path / "x.yaml"
    write_network(NetworkFile.model_validate(DOCUMENT), path)
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    with pytest.raises(SpecError, match=message) as error:
        read_network(path)
    assert "\n" not in str(error.value)


def test_a_list_is_no_network(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("- 1\n")
    with pytest.raises(SpecError, match="not a network file; make one with `psbench calibrate"):
        read_network(path)
