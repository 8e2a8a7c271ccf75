"""What limits a run's results is told in one line each, and by the labels that tell cells apart."""

import pytest

from psbench.analysis import load
from psbench.analysis.notes import notes
from psbench.driver.events import WARNING, event
from psbench.driver.labels import cell_labels
from psbench.driver.manifest import describe_cell
from psbench.driver.warnings import all_warnings, warnings_before
from psbench.results import EvalRow, RunFolder, TrialRow, build_manifest, environment
from psbench.spec import Spec, cell_id, varying_fields

SLOW = {"rank": 1, "factor": 4}
VIRTUAL = {"engine": "simulated", "task": {"payload": "4 MiB"}, "batch": None}
BOTH = [{"engine": "live"}, {"engine": "simulated", "network": "ethernet-10g"}]
MODEL = {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1}}


def spec(**changes):
    fields = {
        "name": "small",
        "task": MODEL,
        "batch": {"per_worker": 16},
        "steps": 40,
        "workers": 2,
        "strategy": "ring",
    }
    return Spec(**fields | changes)


def trial(cell, repeat, status="ok", attempt=1, transport="gloo", messages=(3, 3)):
    return TrialRow(
        cell_id=cell_id(cell),
        repeat=repeat,
        attempt=attempt,
        status=status,
        error=None,
        transport=transport,
        steps=40,
        samples=1,
        seconds=1.0,
        pushes_sent=None,
        pushes_acknowledged=None,
        pushes_applied=None,
        bytes_sent=(),
        bytes_received=(),
        messages_sent=messages,
        messages_received=(),
        node_hosts=(),
        one_clock=True,
        threads=1,
    )


def evaluation(cell, repeat, accuracy, attempt=1, loss=1.0):
    return EvalRow(
        cell_id=cell_id(cell),
        repeat=repeat,
        attempt=attempt,
        step=40,
        samples=1,
        seconds=1.0,
        loss=loss,
        accuracy=accuracy,
    )


def write(path, asked, rows, warnings=()):
    labels = cell_labels(asked.cells())
    with RunFolder.create(path, "small", path / "run") as folder:
        folder.write_manifest(
            build_manifest(
                spec_document=asked.document(),
                axes=list(varying_fields(asked.cells())),
                cells=[describe_cell(cell, labels[cell_id(cell)]) for cell in asked.cells()],
                environment=environment(),
                warnings=warnings,
            )
        )
        for row in rows:
            folder.append(row)
    return folder.path


def test_what_did_not_end_well_and_targets_that_were_missed_are_counted(tmp_path):
    asked = spec(target={"accuracy": 0.9}, repeats=3, matrix={"task.optimizer.lr": [0.1, 0.2, 0.4]})
    low, middle, high = asked.cells()
    rows = [
        evaluation(low, 0, 0.95),
        trial(low, 0),
        evaluation(low, 1, 0.9),
        trial(low, 1),
        evaluation(low, 2, 0.99),  # of an attempt that was killed
        evaluation(low, 2, 0.3, attempt=2),
        trial(low, 2, attempt=2),
        trial(middle, 0, "failed"),
        trial(middle, 1, "diverged"),
        trial(middle, 2, "timed_out"),
        *(evaluation(high, repeat, 0.9) for repeat in range(3)),
        *(trial(high, repeat) for repeat in range(3)),
        event(WARNING, "it moved"),
        event(WARNING, "it moved"),
    ]
    run = write(tmp_path, asked, rows, warnings=["cold"])
    assert all_warnings(run, asked.cells()) == [
        "cold",
        "it moved",
        "1 trial failed",
        "1 trial timed out",
        "1 trial diverged",
        "target accuracy 0.9 not reached by 1 of 3 trials: ring, 2 workers, lr 0.1",
        "target accuracy 0.9 not reached by 2 of 3 trials: ring, 2 workers, lr 0.2",
    ]
    censored = load(run).summary()["num_censored"].tolist()
    assert censored == [1, 2, 0], "and analysis counts alike"


def test_a_loss_is_reached_from_above(tmp_path):
    asked = spec(target={"loss": 0.5}, repeats=3)
    (cell,) = asked.cells()
    rows = [
        row
        for repeat, loss in enumerate((0.5, 0.51, float("nan")))
        for row in (evaluation(cell, repeat, None, loss=loss), trial(cell, repeat))
    ]
    (warning,) = all_warnings(write(tmp_path, asked, rows), asked.cells())
    assert warning == "target loss 0.5 not reached by 2 of 3 trials: ring, 2 workers"


def test_transports_that_differ_are_told_in_the_words_of_the_summary(tmp_path):
    asked = spec(repeats=3, strategy=None, matrix={"strategy": ["ring", "native", "none"]})
    ring, native, none = asked.cells()
    rows = [
        *(trial(none, repeat, transport="shared_memory", messages=(0, 0)) for repeat in range(3)),
        *(trial(native, repeat, messages=(-1, -1)) for repeat in range(3)),  # not counted
        *(trial(ring, repeat) for repeat in range(3)),
    ]
    run = write(tmp_path / "alike", asked, rows)
    assert all_warnings(run, asked.cells()) == []
    rows[-1] = trial(ring, 2, transport="shared_memory")
    run = write(tmp_path / "unlike", asked, rows)
    told = all_warnings(run, asked.cells())
    assert told == [
        "repeats differ in transport (gloo, shared_memory): ring, 2 workers",
        "transports differ (gloo, shared_memory): a difference between such cells is the "
        "transport's as well as the strategy's",
    ]
    assert told[-1] in notes(load(run))
    compared = spec(repeats=3, matrix={"transport": ["gloo", "shared_memory"]})
    rows = [
        trial(cell, repeat, transport=cell.transport)
        for cell in compared.cells()
        for repeat in range(3)
    ]
    run = write(tmp_path / "compared", compared, rows)
    assert all_warnings(run, compared.cells()) == []
    assert not [note for note in notes(load(run)) if "transport" in note]


@pytest.mark.parametrize(("repeats", "num"), [(1, 1), (2, 1), (3, 0)])
def test_too_few_repeats_are_told_before_and_in_the_words_of_the_summary(tmp_path, repeats, num):
    asked = spec(repeats=repeats)
    warnings = warnings_before(asked)
    assert len(warnings) == num
    rows = [trial(cell, repeat) for cell in asked.cells() for repeat in range(repeats)]
    noted = notes(load(write(tmp_path, asked, rows)))
    assert [note for note in noted if "too few" in note] == warnings


@pytest.mark.parametrize(
    ("compute", "told"),
    [(None, False), ({"seconds": "1 ms"}, False), ({"seconds": "1 ms", "jitter": 0.1}, True)],
)
def test_one_repeat_is_enough_where_nothing_is_drawn(tmp_path, compute, told):
    asked = spec(**VIRTUAL, network="ethernet-10g", compute=compute, repeats=1)
    assert [warning.startswith("1 repeat: too few") for warning in warnings_before(asked)] == (
        [True] if told else []
    )
    rows = [trial(cell, 0, transport="simulated") for cell in asked.cells()]
    assert notes(load(write(tmp_path, asked, rows))) == warnings_before(asked)


def test_where_live_cells_are_beside_simulated_ones_repeats_count():
    asked = spec(task={"payload": "4 MiB"}, batch=None, repeats=1, matrix={"include": BOTH})
    (warning,) = warnings_before(asked)
    assert warning.startswith("1 repeat: too few")


def test_virtual_time_is_no_transport_that_differs(tmp_path):
    asked = spec(
        task={"payload": "4 MiB"},
        batch=None,
        repeats=3,
        matrix={"include": [one | {"strategy": name} for one in BOTH for name in ("ring", "tree")]},
    )
    by_engine = {"live": "gloo", "simulated": "simulated"}
    rows = [
        trial(cell, repeat, transport=by_engine[cell.engine])
        for cell in asked.cells()
        for repeat in range(3)
    ]
    run = write(tmp_path / "alike", asked, rows)
    assert all_warnings(run, asked.cells()) == []
    rows[0] = trial(asked.cells()[0], 0, transport="shared_memory")
    run = write(tmp_path / "unlike", asked, rows)
    repeats, transports = all_warnings(run, asked.cells())
    assert repeats == "repeats differ in transport (shared_memory, gloo): ring, 2 workers, live"
    assert transports.startswith("transports differ (shared_memory, gloo): ")


@pytest.mark.parametrize(
    ("changes", "labels"),
    [
        ({}, ["ring, 2 workers"]),
        (
            {"matrix": {"strategy": ["ring", "tree"], "workers": [1, 4]}},
            ["ring, 1 worker", "ring, 4 workers", "tree, 1 worker", "tree, 4 workers"],
        ),
        (
            {"matrix": {"batch.per_worker": [8, 16], "task.optimizer.lr": [0.1, 1]}},
            [
                "ring, 2 workers, lr 0.1, per_worker 8",
                "ring, 2 workers, lr 1.0, per_worker 8",
                "ring, 2 workers, lr 0.1, per_worker 16",
                "ring, 2 workers, lr 1.0, per_worker 16",
            ],
        ),
        (
            {
                "task": {"payload": "4 B"},
                "batch": None,
                "matrix": {"task.payload": ["4 B", "2 MiB"]},
            },
            ["ring, 2 workers, payload 4 B", "ring, 2 workers, payload 2.00 MiB"],
        ),
        (
            {
                "matrix": {
                    "strategy": ["ring"],
                    "include": [
                        {"strategy": "tree", "task": {"payload": "16 MiB"}, "batch": None},
                    ],
                }
            },
            ["ring, 2 workers, task digits_mlp", "tree, 2 workers, task payload of 16.0 MiB"],
        ),
        (
            {
                "compute": {"seconds": "20 ms"},
                "matrix": {
                    "strategy": ["ring"],
                    "include": [{"strategy": "tree", "task": {"profile": "resnet50"}}],
                },
            },
            ["ring, 2 workers, task digits_mlp", "tree, 2 workers, task resnet50"],
        ),
        (
            {"matrix": {"eval_every": [None, 20]}},
            ["ring, 2 workers", "ring, 2 workers, eval_every 20"],
        ),
        (
            VIRTUAL | {"matrix": {"network": ["ethernet-10g", "rdma-100g"]}},
            ["ring, 2 workers, ethernet-10g", "ring, 2 workers, rdma-100g"],
        ),
        (
            VIRTUAL
            | {
                "network": {"bandwidth": "1 Gbit/s", "latency": "20 us"},
                "matrix": {"network.bandwidth": ["1 Gbit/s", "12.5 Gbit/s"]},
            },
            ["ring, 2 workers, bandwidth 1.00 Gbit/s", "ring, 2 workers, bandwidth 12.5 Gbit/s"],
        ),
        (
            {
                "task": {"payload": "4 MiB"},
                "batch": None,
                "matrix": {"include": [*BOTH, BOTH[1] | {"network": "ethernet-1g"}]},
            },
            [
                "ring, 2 workers, live",
                "ring, 2 workers, simulated, ethernet-10g",
                "ring, 2 workers, simulated, ethernet-1g",
            ],
        ),
        (
            {"matrix": {"compute": [None, {"seconds": "20 ms", "slow": [SLOW]}]}},
            [
                "ring, 2 workers, compute not padded",
                "ring, 2 workers, compute 20.0 ms, rank 1 4x slower",
            ],
        ),
    ],
)
def test_a_label_names_what_tells_a_cell_apart(changes, labels):
    assert list(cell_labels(spec(**changes).cells()).values()) == labels


def test_cells_on_different_devices_are_told_of_before_the_first_trial():
    gpus = {"cluster": [None, {"gpus_per_worker": 1}]}
    (warning,) = warnings_before(spec(repeats=3, matrix=gpus))
    assert warning == (
        "devices differ (cpu, cuda): a difference between such cells is the device's as well "
        "as the strategy's"
    )
    assert warnings_before(spec(repeats=3, cluster={"gpus_per_worker": 0.5})) == []


def test_only_live_cells_have_a_device():
    cuda = BOTH[0] | {"cluster": {"gpus_per_worker": 1}}
    of_payload = {"task": {"payload": "4 MiB"}, "batch": None, "repeats": 3}
    assert warnings_before(spec(**of_payload, matrix={"include": [cuda, BOTH[1]]})) == []
