"""From a matrix to cells: order, what wins, include and exclude, and what is refused."""

import pytest

from psbench.errors import SpecError
from psbench.spec import Spec, cell_fields, varying_fields


def labels(fields, **changes) -> list[str]:
    return [cell.label for cell in Spec(**{**fields, **changes}).cells()]


def test_without_a_matrix_the_base_is_the_cell(fields):
    assert labels(fields) == ["ring, 2 workers"]
    assert labels(fields, matrix={}) == labels(fields, matrix=None) == ["ring, 2 workers"]


def test_the_last_axis_varies_fastest_and_axes_win_over_the_base(fields):
    matrix = {"strategy": ["ring", "ps-sync"], "workers": [4, 1]}
    assert labels(fields, matrix=matrix) == [
        "ring, 4 workers",
        "ring, 1 worker",
        "ps-sync, 4 workers",
        "ps-sync, 1 worker",
    ]


def test_axes_may_supply_what_the_base_lacks(fields):
    del fields["workers"], fields["batch"], fields["task"]["optimizer"]["lr"]
    matrix = {"workers": [2], "batch.global": [8, 16], "task.optimizer.lr": [0.5]}
    cells = Spec(**fields, matrix=matrix).cells()
    assert [cell.global_batch for cell in cells] == [8, 16]
    assert [cell.task.optimizer.lr for cell in cells] == [0.5, 0.5]


def test_a_dotted_axis_reaches_into_a_named_strategy_whatever_the_order(fields):
    assert labels(fields, matrix={"strategy.chunks": [4, 8]}) == [
        "ring(chunks=4), 2 workers",
        "ring(chunks=8), 2 workers",
    ]
    matrix = {"strategy.chunks": [4], "strategy": ["ring", "tree"]}
    assert labels(fields, matrix=matrix) == [
        "ring(chunks=4), 2 workers",
        "tree(chunks=4), 2 workers",
    ]


def test_include_adds_cells_and_exclude_removes_them(fields):
    matrix = {
        "strategy": ["ring", "ps-sync"],
        "workers": [1, 2],
        "exclude": [{"strategy": "ps-sync", "workers": 1}],
        "include": [{"strategy": "native", "task.optimizer.lr": 1.0}],
    }
    assert labels(fields, matrix=matrix) == [
        "ring, 1 worker",
        "ring, 2 workers",
        "ps-sync, 2 workers",
        "native, 2 workers",
    ]
    assert Spec(**fields, matrix=matrix).cells()[-1].task.optimizer.lr == 1.0


def test_includes_alone_are_the_cells(fields):
    del fields["workers"]
    matrix = {"include": [{"workers": 1}, {"workers": 8}]}
    assert labels(fields, matrix=matrix) == ["ring, 1 worker", "ring, 8 workers"]


def test_cells_do_not_share_what_they_are_made_of(fields):
    matrix = {"task": [fields["task"]], "task.optimizer.lr": [1.0, 2.0]}
    cells = Spec(**fields, matrix=matrix).cells()
    assert [cell.task.optimizer.lr for cell in cells] == [1.0, 2.0]
    assert fields["task"]["optimizer"]["lr"] == 0.1


def test_axes_reach_into_the_options_of_a_model_of_ones_own(fields):
    fields["task"] |= {"model": "m:g", "options": {"depth": 2}}
    matrix = {
        "task.options.width": [8, 16],
        "exclude": [{"task.options.width": 16}],
        "include": [{"task.options.width": 4, "task.options.cell.kind": "gru"}],
    }
    cells = Spec(**fields, matrix=matrix).cells()
    assert [cell.task.options for cell in cells] == [
        {"depth": 2, "width": 8},
        {"depth": 2, "width": 4, "cell": {"kind": "gru"}},
    ]
    assert varying_fields(cells) == ("task.options.width", "task.options.cell.kind")


def test_an_axis_of_sizes(fields):
    del fields["task"]["model"]
    matrix = {"task.model": ["mlp"], "task.parameters": [1e6, 1000]}
    cells = Spec(**fields, matrix=matrix).cells()
    assert [cell.task.parameters for cell in cells] == [1_000_000, 1_000]
    assert all(type(cell.task.parameters) is int for cell in cells)


def test_a_thousand_cells_are_allowed(fields):
    assert len(labels(fields, matrix={"workers": list(range(1, 1001))})) == 1000


def test_varying_fields(fields):
    cells = Spec(**fields, matrix={"batch": [{"per_worker": 4}, {"global": 9}]}).cells()
    assert varying_fields(cells) == ("batch.per_worker", "batch.global")
    assert cell_fields(cells[1])["batch.global"] == 9
    assert cell_fields(cells[1])["task.optimizer.lr"] == 0.1
    assert varying_fields(cells[:1]) == ()


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (
            {"worker": [1]},
            r"matrix: unknown axis 'worker'; did you mean 'workers'\? \(known: task,",
        ),
        ({"task.optimizer.l": [1]}, r"did you mean 'task\.optimizer\.lr'\?"),
        ({"name": ["a"]}, "matrix: unknown axis 'name'"),
        ({"task.options.": [1]}, "matrix: unknown axis 'task.options.'"),
        ({"task.optionswidth": [1]}, "matrix: unknown axis 'task.optionswidth'"),
        (
            {"task.options.width": [8]},
            r"^task\.options: digits_mlp takes no options; leave them out"
            r" \(cell 1: task\.options\.width=8\)$",
        ),
        (
            {"task.model": ["mlp", "digits_cnn"], "task.parameters": [1000]},
            r"^matrix\.task\.parameters\[0\]: only mlp is built to a number of parameters, not"
            r" digits_cnn; leave it out \(cell 2: ",
        ),
        ({"repeats": [1]}, "matrix: unknown axis 'repeats'"),
        ({"seed": [1]}, "matrix: unknown axis 'seed'"),
        ({"matrix": [{}]}, "matrix: unknown axis 'matrix'"),
        ({"workers": 3}, "matrix.workers: expected a list of values, got 3$"),
        ({"workers": []}, "matrix.workers: an axis needs at least one value$"),
        ({"workers": [1, "two"]}, r"matrix.workers\[1\]: expected a whole number, got 'two'$"),
        ({"task.optimizer.lr": [-1]}, r"matrix.task.optimizer.lr\[0\]: must be greater than 0"),
        ({"strategy": ["ring", "rign"]}, r"matrix.strategy\[1\]: unknown strategy 'rign'; did you"),
        (
            {"strategy": [{"kind": "all_reduce", "chunk": 1}]},
            r"matrix.strategy\[0\]: unknown field",
        ),
        (
            {"strategy": [{"kind": "all_reduce"}]},
            r"matrix.strategy\[0\].algorithm: missing; set it in the spec or as an axis",
        ),
        ({"batch.global.x": [1]}, "matrix: unknown axis"),
        (
            {"workers": [1, 2, 1]},
            r"matrix: cells 1 and 3 are the same \(ring, 1 worker\); drop one$",
        ),
        ({"workers": list(range(1001))}, "matrix: 1001 cells; a spec may have 1000$"),
        ({"workers": [1], "include": 3}, "matrix.include: expected a list of maps, got 3$"),
        ({"include": [3]}, r"matrix.include\[0\]: expected a map from field to value, got 3$"),
        (
            {"include": [{"wrkers": 3}]},
            r"matrix.include\[0\]: unknown field 'wrkers'; did you mean",
        ),
        ({"include": [{"workers": 0}]}, r"matrix.include\[0\].workers: must be at least 1, got 0$"),
        (
            {"workers": [1, 2], "exclude": [{"workers": 3}]},
            r"matrix.exclude\[0\]: removes no cell$",
        ),
        ({"workers": [1], "exclude": [{"workers": 1}]}, "matrix.exclude: removes every cell$"),
        (
            {"workers": [1], "exclude": [{"steps": 1}]},
            r"matrix.exclude\[0\]: unknown axis 'steps' \(known: workers\)$",
        ),
        (
            {"workers": [2, 4], "batch": [{"global": 2}]},
            r"^matrix.batch\[0\]: a global batch of 2 is less than 4 workers; every rank needs a"
            r' sample \(cell 2: workers=4, batch={"global": 2}\)$',
        ),
        (
            {"steps": [5], "warmup": [5]},
            r"matrix.warmup\[0\]: must be less than steps \(5\), got 5",
        ),
    ],
)
def test_refusals(fields, matrix, message):
    with pytest.raises(SpecError, match=message) as error:
        Spec(**fields, matrix=matrix)
    assert "\n" not in str(error.value)


def test_an_axis_cannot_reach_into_what_is_no_map(fields):
    with pytest.raises(SpecError, match=r"^batch: expected a map, got 3$"):
        Spec(**{**fields, "batch": 3}, matrix={"batch.global": [4]})
    with pytest.raises(SpecError, match=r"^matrix\.batch\[0\]: expected a map, got 3$"):
        Spec(**fields, matrix={"batch": [3], "batch.global": [4]})
