"""Models of the user's own: what is taken, and the one line that each mistake earns."""

import os
import sys
from pathlib import Path

import pytest
import torch

from psbench.errors import SpecError
from psbench.spec import Cell, ModelTask, Spec
from psbench.training import build_learner, check_task, check_tasks, reference, working_folder

ROOT = Path(__file__).parents[2]

GOOD = """\
import torch
from torch import nn
from torch.nn import functional
from psbench import Data, Task

def samples(n, first=0.0):
    inputs = torch.linspace(first, 1, n).unsqueeze(1)
    return Data(inputs=inputs, targets=inputs * 3)

def data():
    return samples(8), samples(4, 0.5)

def loss(model, inputs, targets):
    return functional.mse_loss(model(inputs), targets)

def model(width):
    return nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, 1))

def build(width: int = 4):
    return Task(model=lambda: model(width), loss=loss, data=data)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return a function that writes my_model.py into the working directory, a new one, and gives
    the spec of a task that names `build` in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(text=GOOD, *, model="my_model:build", **fields):
        (tmp_path / "my_model.py").write_text(text)
        sys.modules.pop("my_model", None)
        return ModelTask(model=model, optimizer={"kind": "sgd", "lr": 0.1}, **fields)

    yield write
    sys.modules.pop("my_model", None)


def problem(spec) -> str:
    with pytest.raises(SpecError) as error:
        check_task(spec)
    text = str(error.value)
    assert "\n" not in text
    return text


def changed(*changes) -> str:
    text = GOOD
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_own_model_from_any_folder(own, dtype):
    task = check_task(own(options={"width": 6}, dtype=dtype))
    assert sum(p.numel() for p in task.model().parameters()) == 2 * 6 + 7
    assert task.accuracy is None


def test_options_stay_as_they_were(own):
    text = changed("def build(width: int = 4):\n", "def build(width):\n    width = width.pop()\n")
    spec = own(text, options={"width": [6]})
    check_task(spec)
    assert spec.options == {"width": [6]}


def test_its_data_are_a_path(own, tmp_path):
    text = changed(
        "def build(width: int = 4):",
        "def build(data, width=4):\n    assert data.read_text() == 'hello'",
        "data=data",
        "data=lambda: (samples(8), samples(4))",
    )
    spec = own(text, data="text.txt")
    here = Path.cwd()
    assert problem(spec) == f"task.data: text.txt: no such file or folder, seen from {here}"
    (tmp_path / "text.txt").write_text("hello")
    check_task(spec)


def test_what_it_prints_goes_to_stderr(own, capsys):
    check_task(
        own("print('imported')\n" + changed("    return Task", "    print(width)\n    return Task"))
    )
    assert capsys.readouterr() == ("", "imported\n4\n4\n")


@pytest.mark.parametrize("strategy", ["ring", "ps-sync"])
def test_ranks_follow_the_reference(own, strategy):
    spec = own(dtype="float64")
    cell = Cell(task=spec, batch={"global": 7}, workers=3, steps=3, strategy=strategy)
    ranks = [build_learner(cell, seed=1, repeat=0, rank=rank) for rank in range(3)]
    assert len({rank.digest for rank in ranks}) == 1
    assert len(ranks[0].digest) == 64
    for step, expected in enumerate(reference(cell, seed=1, repeat=0)):
        for rank in ranks:
            rank.compute(step, reduce="mean")
        total = sum(rank.gradients.clone() for rank in ranks)
        torch.testing.assert_close(total[:-1], expected.gradient, rtol=1e-12, atol=1e-14)
        for rank in ranks:
            rank.gradients.copy_(total)
            rank.apply()
            assert rank.loss() == pytest.approx(expected.loss, rel=1e-12)
    loss, accuracy = ranks[0].evaluate(ranks[0].parameters)
    assert loss > 0
    assert accuracy is None


MISTAKES = {
    "batch norm": (
        ("nn.Tanh()", "nn.BatchNorm1d(width)"),
        "my_model:build: the model holds a BatchNorm1d (1): a slice's gradient must be a function"
        " of its samples and the parameters alone; use LayerNorm or GroupNorm",
    ),
    "dropout": (
        ("nn.Tanh()", "nn.Dropout(0.1)"),
        "my_model:build: the model holds a Dropout (1): a slice's gradient must be a function of"
        " its samples and the parameters alone; leave dropout out",
    ),
    "dropout of a recurrent net": (
        ("nn.Tanh()", "nn.GRU(width, width, num_layers=2, dropout=0.5)"),
        "my_model:build: the model holds a GRU (1): a slice's gradient must be a function of its"
        " samples and the parameters alone; set its dropout to 0",
    ),
    "dropout in a function": (
        ("model(inputs), targets)", "functional.dropout(model(inputs)), targets)"),
        "my_model:build: its loss changes from call to call; leave dropout, other chance"
        " and memory of earlier calls out of it",
    ),
    "a loss that remembers": (
        (
            "return functional",
            "SEEN.append(1)\n    return len(SEEN) * functional",
            "def data",
            "SEEN = []\n\ndef data",
        ),
        "my_model:build: its loss changes from call to call; leave dropout, other chance"
        " and memory of earlier calls out of it",
    ),
    "sparse gradients": (
        ("nn.Tanh()", "nn.Embedding(3, 3, sparse=True)"),
        "my_model:build: the model holds a Embedding (1): sparse gradients would be sent as dense"
        " ones; leave sparse=True out",
    ),
    "no parameters": (
        ("nn.Linear(1, width), nn.Tanh(), nn.Linear(width, 1)", "nn.Tanh()"),
        "my_model:build: the model has no parameters to train",
    ),
    "no module": (
        ("lambda: model(width)", "lambda: None"),
        "model() of my_model:build failed: AttributeError: 'NoneType' object has no attribute 'to'",
    ),
    "one network": (
        ("lambda: model(width)", "lambda net=model(width): net"),
        "my_model:build: model() must build a new network, with layers that torch's global seed"
        " decides",
    ),
    "the same network": (
        ("def build", "NET = model(4)\n\ndef build", "lambda: model(width)", "lambda: NET"),
        "my_model:build: model() must build a new network, with layers that torch's global seed"
        " decides",
    ),
    "parameters from elsewhere": (
        ("    return nn.S", "    torch.seed()\n    return nn.S"),
        "my_model:build: model() must build a new network, with layers that torch's global seed"
        " decides",
    ),
    "a loss for each sample": (
        ("targets)\n\ndef model", "targets, reduction='none')\n\ndef model"),
        "my_model:build: loss() returned a Tensor of shape (2, 1); return a scalar tensor",
    ),
    "a loss in numbers": (
        ("return functional.mse_loss(model(inputs), targets)", "return 0.5"),
        "my_model:build: loss() returned a float; return a scalar tensor",
    ),
    "a loss that is summed": (
        ("targets)\n\ndef model", "targets, reduction='sum')\n\ndef model"),
        "my_model:build: its loss is no mean over samples: ",
    ),
    "a loss of broadcast targets": (
        ("targets=inputs * 3", "targets=inputs[:, 0] * 3"),
        "a step of my_model:build failed at my_model.py:14: UserWarning: Using a target size",
    ),
    "a loss of nothing": (
        (
            "return functional.mse_loss(",
            "return functional.mse_loss(0 * targets, targets) if 1 else (",
        ),
        "my_model:build: its loss depends on no parameter that can be trained",
    ),
    "a loss that is not a number": (
        ("inputs * 3)", "inputs * float('nan'))"),
        "my_model:build: its loss is nan at the initial parameters",
    ),
    "a step that fails": (
        ("nn.Linear(width, 1)", "nn.Linear(9, 1)"),
        "a step of my_model:build failed at my_model.py:14: RuntimeError: mat1 and mat2 shapes",
    ),
    "gradients elsewhere": (
        ("    return functional", "    model.zero_grad()\n    return functional"),
        "my_model:build: its gradients do not land where the strategies look for them; leave .grad,"
        " .data and the set of parameters as they are",
    ),
    "parameters elsewhere": (
        (
            "    return functional",
            "    for p in model.parameters():\n        p.data = p.data + 0\n    return functional",
        ),
        "my_model:build: its gradients do not land where",
    ),
    "parameters that come later": (
        ("    return functional", "    model.append(nn.Linear(1, 1))\n    return functional"),
        "my_model:build: its ",
    ),
    "no pair": (
        ("return samples(8), samples(4, 0.5)", "return samples(8)"),
        "my_model:build: data() must return two psbench.Data, (training, held out)",
    ),
    "arrays": (
        ("inputs * 3)", "(inputs * 3).numpy())"),
        "my_model:build: training targets must be a tensor of shape (n, ...)",
    ),
    "a single number": (
        ("inputs * 3)", "torch.tensor(3.0))"),
        "my_model:build: training targets must be a tensor of shape (n, ...)",
    ),
    "unlike lengths": (
        ("inputs * 3)", "inputs[1:] * 3)"),
        "my_model:build: 8 training inputs and 7 targets; there must be as many of both",
    ),
    "nothing held out": (
        ("samples(4, 0.5)", "samples(0)"),
        "my_model:build: no held-out samples; one is the least",
    ),
    "data by chance": (
        ("inputs * 3)", "inputs * 3 + torch.randn(n, 1))"),
        "my_model:build: its data differ from call to call; draw them from a seeded generator",
    ),
    "data that fail": (
        ("def data():\n", "def data():\n    raise OSError(5, 'no\\nsuch drive')\n"),
        "data() of my_model:build failed at my_model.py:11: OSError: [Errno 5] no such drive",
    ),
    "an accuracy in percent": (
        ("data=data)", "data=data, accuracy=lambda model, inputs, targets: torch.tensor(50.0))"),
        "my_model:build: accuracy() returned 50; return a fraction from 0 to 1",
    ),
    "an accuracy that fails": (
        ("data=data)", "data=data, accuracy=lambda model, inputs, targets: targets.nope)"),
        "an evaluation of my_model:build failed at my_model.py:20: AttributeError: 'Tensor' object",
    ),
    "no task": (
        ("    return Task(model", "    Task(model"),
        "my_model:build returned None; return a psbench.Task",
    ),
    "a name for a task": (
        ("    return Task(model", "    return 'gru'\n    Task(model"),
        "my_model:build returned a str; return a psbench.Task",
    ),
    "a function that raises": (
        ("    return Task", "    raise ValueError('no\\n luck')\n    return Task"),
        "my_model:build failed at my_model.py:20: ValueError: no luck",
    ),
    "a function that leaves": (
        ("    return Task", "    raise SystemExit(0)\n    return Task"),
        "my_model:build failed at my_model.py:20: SystemExit: 0",
    ),
    "a module that raises": (
        ("def data", "1 / 0\ndef data"),
        "importing my_model failed at my_model.py:10: ZeroDivisionError: division by zero",
    ),
    "a module that leaves": (
        ("def data", "raise SystemExit\ndef data"),
        "importing my_model failed at my_model.py:10: SystemExit",
    ),
    "a module that is no Python": (
        ("def data():", "def data()"),
        "importing my_model failed at my_model.py:10: SyntaxError: expected ':'",
    ),
    "a module that lacks another": (
        ("import torch\n", "import torch\nimport no_such_thing\n"),
        "importing my_model failed at my_model.py:2: ModuleNotFoundError: No module named"
        " 'no_such_thing'",
    ),
    "no such function": (
        ("def build", "def biuld"),
        "my_model (my_model.py): unknown function 'build'; did you mean 'biuld'? (known: samples,"
        " data, loss, model, biuld)",
    ),
    "no function": (
        ("def build(width: int = 4):\n    return", "width = 4\nbuild ="),
        "my_model:build is a Task; name a function",
    ),
}


@pytest.mark.parametrize("title", MISTAKES)
def test_mistakes(own, title):
    changes, message = MISTAKES[title]
    assert problem(own(changed(*changes))).startswith(f"task.model: {message}")


def test_no_such_module(own):
    missing = f"in {Path.cwd()}, nor installed; start psbench in the folder that its path begins in"
    assert problem(own(model="no_module:build")) == f"task.model: no module no_module {missing}"
    spec = own(model="my_model.inner:build")
    assert problem(spec) == f"task.model: no module my_model.inner {missing}"


def test_options_that_do_not_fit(own):
    assert problem(own(options={"widht": 3})) == (
        "task.options: my_model:build(width: int = 4) is called with task.options and task.data:"
        " got an unexpected keyword argument 'widht'"
    )
    text = changed("width: int = 4", "width, *, data")
    assert problem(own(text, options={"width": 3})).endswith("missing a required argument: 'data'")


def test_an_interrupt_passes(own):
    spec = own(changed("    return Task", "    raise KeyboardInterrupt\n    return Task"))
    with pytest.raises(KeyboardInterrupt):
        check_task(spec)


def test_a_target_needs_its_measure(own):
    own()
    cell = {"batch": {"per_worker": 4}, "workers": 2, "steps": 5, "strategy": "ring"}
    optimizer = {"kind": "sgd", "lr": 0.1}
    digits = Cell(task={"model": "digits_mlp", "optimizer": optimizer}, **cell)
    payload = Cell(task={"payload": "4 B"}, **{**cell, "batch": None})
    task = {"model": "my_model:build", "optimizer": optimizer}
    check_tasks([payload, digits, Cell(task=task, target={"loss": 0.1}, **cell)])
    with pytest.raises(SpecError) as error:
        check_tasks([digits, Cell(task=task, target={"accuracy": 0.9}, **cell)])
    assert str(error.value) == "target: my_model:build has no accuracy; write a loss"


def test_the_example_and_the_specs_of_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("own_model/spec.yaml", "byte_lm.yaml", "quickstart.yaml"):
        check_tasks(Spec.load(ROOT / "experiments" / name).cells())


def test_a_working_folder_that_was_taken_away_is_no_error(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert working_folder() == str(folder)
    folder.rmdir()
    assert working_folder() == ""
    with pytest.raises(SpecError, match="no module nowhere in"):
        check_task(ModelTask(model="nowhere:build", optimizer={"kind": "sgd", "lr": 0.1}))


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("type('Odd', (BaseException,), {})('hm')", "failed at my_model.py:20: Odd: hm"),
        (
            "type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})()",
            "failed at my_model.py:20: Mute: an exception that cannot be shown",
        ),
    ],
)
def test_whatever_a_function_raises_is_one_line(own, raised, said):
    text = problem(own(changed("    return Task(", f"    raise {raised}\n    return Task(")))
    assert text == f"task.model: my_model:build {said}"


def test_a_model_that_moves_to_another_folder_does_not_take_us_along(own, tmp_path):
    moved = f"    os.chdir({str(tmp_path.parent)!r})\n    return samples(8)"
    check_task(own("import os\n" + changed("    return samples(8)", moved)))
    assert os.getcwd() == str(tmp_path)
