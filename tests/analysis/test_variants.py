"""What cells are called besides their strategy: short, and never alike."""

import pytest

from psbench.analysis import load
from psbench.analysis.variants import variant_columns, variants


@pytest.fixture
def named(write_run, cell):
    """Return a function from the fields of cells, by dotted path, to the manifest of their run."""

    def name(*fields, workers=4):
        cells = []
        for number, own in enumerate(fields):
            one = cell("ring", workers, id=f"{number:064x}")
            for path, value in own.items():
                *parents, last = path.split(".")
                holder = one["fields"]
                for parent in parents:
                    holder = holder.setdefault(parent, {})
                holder[last] = value
            cells.append(one)
        axes = dict.fromkeys(path for own in fields for path in own)
        return load(write_run(cells, axes=tuple(axes))).manifest

    return name


def test_workers_are_named_where_nothing_else_is(named):
    assert list(variants(named({})).values()) == ["4 workers"]
    assert list(variants(named({"reduce": "mean"}, {"reduce": "sum"})).values()) == [
        "reduce mean", "reduce sum",
    ]  # fmt: skip


def test_the_axis_of_a_picture_is_left_out(named):
    manifest = named({"reduce": "mean", "lr_scaling": "none"}, {"reduce": "sum"})
    assert list(variants(manifest, without="reduce").values()) == ["lr_scaling none", ""]


def test_whole_optimisers_are_one_column_of_what_differs(named):
    manifest = named(
        {"task.optimizer.kind": "sgd", "task.optimizer.lr": 0.1, "task.optimizer.momentum": 0.9},
        {"task.optimizer.kind": "adam", "task.optimizer.lr": 0.001},
    )
    assert variant_columns(manifest) == {
        "optimizer": ["sgd(lr=0.1, momentum=0.9)", "adam(lr=0.001)"]
    }


def test_a_choice_with_its_options_needs_no_name(named):
    manifest = named(
        {"task.optimizer.kind": "sgd", "task.optimizer.lr": 0.1, "cluster.pins": []},
        {"task.optimizer.kind": "adam", "task.optimizer.lr": 0.1, "cluster.pins": [1]},
    )
    assert list(variants(manifest).values()) == ["sgd(lr=0.1)", "adam(lr=0.1), pins [1]"]


def test_axes_of_one_end_keep_their_whole_names(named):
    manifest = named({"compute.seconds": 0.1, "network.seconds": 0.2, "cluster.hosts": 2})
    assert list(variant_columns(manifest)) == ["compute.seconds", "network.seconds", "hosts"]


def test_sizes_and_times_are_written_as_people_do_and_stay_apart(named):
    fields = ("task.payload", "compute.seconds")
    values = (("1048576 B", "0.02 s"), ("1048577 B", "1e-05 s"))
    manifest = named(*(dict(zip(fields, own, strict=True)) for own in values))
    assert variant_columns(manifest) == {
        "payload": ["1.00 MiB", "1048577 B"],
        "seconds": ["20.0 ms", "10.0 us"],
    }


def test_what_goes_with_the_task_is_one_column(named):
    cnn = {"task.model": "digits_cnn", "batch.per_worker": 32, "compute.seconds": "0.6 s"}
    payload = {"task.payload": "16777216 B", "compute.seconds": "0.001 s"}
    manifest = named(*({**own, "steps": steps} for own in (cnn, payload) for steps in (15, 30)))
    tasks = ["digits_cnn"] * 2 + ["payload of 16.0 MiB"] * 2
    for one, task in zip(manifest["cells"], tasks, strict=True):
        one["task"] = task
        if task != "digits_cnn":
            one["fields"]["task"].pop("model", None)
    assert variant_columns(manifest) == {
        "task": tasks,
        "steps": ["15", "30"] * 2,
    }
    manifest["cells"][1]["fields"]["compute"]["seconds"] = "0.3 s"
    assert [*variant_columns(manifest)] == ["task", "seconds", "steps"]


def test_a_field_of_the_task_that_varies_alone_keeps_its_name(named):
    manifest = named({"task.model": "digits_cnn"}, {"task.model": "digits_mlp"})
    for one in manifest["cells"]:
        one["task"] = one["fields"]["task"]["model"]
    assert variant_columns(manifest) == {"model": ["digits_cnn", "digits_mlp"]}


def test_long_values_are_cut_and_stay_apart(named):
    links = [[{"host": 3, "factor": factor, "probability": 1.0}] for factor in (2.0, 4.0)]
    manifest = named(*({"network.links": own} for own in (*links, links[0], None)))
    (column,) = variant_columns(manifest).values()
    first, second = "[{host: 3, factor: 2.0, pro…", "[{host: 3, factor: 4.0, pro…"
    assert column == [first, second, first, "-"]
    late = [[{"host": 3, "factor": 2.0, "probability": chance}] for chance in (0.1, 0.2)]
    manifest = named(*({"network.links": own} for own in late))
    (column,) = variant_columns(manifest).values()
    assert column == [first, "[{host: 3, factor: 2.0, … #2"]
    assert len(column[1]) == len(first) == 28


def test_who_is_slow_is_told_in_words(named):
    rank = [{"rank": 3, "factor": 4.0, "probability": 1.0}]
    each = [{"rank": own, "factor": 4.0, "probability": 0.25} for own in range(4)]
    manifest = named(
        *({"compute.seconds": "0.02 s", "compute.slow": slow} for slow in (rank, each, [])),
        *({"compute.seconds": "0.01 s", "compute.slow": rank, "reduce": "sum"},),
    )
    words = [
        "20.0 ms, rank 3 4x slower", "20.0 ms, each rank 4x slower in 25 % of steps", "20.0 ms",
        "10.0 ms, rank 3 4x slower",
    ]  # fmt: skip
    assert variant_columns(manifest) == {"compute": words, "reduce": ["-", "-", "-", "sum"]}
    names = [f"compute {own}" for own in words]
    names[-1] += ", reduce sum"
    assert list(variants(manifest).values()) == names
    along = list(variants(manifest, without="compute.seconds").values())
    assert along[::2] == ["compute rank 3 4x slower", "compute no rank slower"]


def test_computing_that_is_not_padded_is_named(named):
    manifest = named({"compute": None}, {"compute": {"seconds": "0.02 s", "slow": []}})
    assert list(variants(manifest).values()) == ["compute not padded", "compute 20.0 ms"]
