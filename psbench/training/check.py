"""Is a task what it should be? Found out in the driver's process, before anything is started."""

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from psbench.errors import SpecError
from psbench.spec import Cell, ModelTask
from psbench.training.flat import flatten
from psbench.training.tasks import (
    DTYPES,
    TASKS,
    Data,
    Task,
    build_model,
    build_task,
    data_digest,
    evaluate,
)
from psbench.training.tasks.own import blamed

_SEED = {"seed": 0, "repeat": 0}
_SAMPLES = 2  # of the step that is tried


def check_tasks(cells: Sequence[Cell]) -> None:
    """Check each task of `cells` once; raise SpecError, one line, for the first that is wrong.

    Those in which nothing is the user's own, neither model nor data, are right: tests see to that.
    """
    tasks = [(cell, cell.task) for cell in cells if isinstance(cell.task, ModelTask)]
    models = [(cell, task) for cell, task in tasks if task.data or task.model not in TASKS]
    distinct = {task.model_dump_json(exclude={"optimizer"}): task for _, task in models}
    known = {key: check_task(task) for key, task in distinct.items()}
    for cell, spec in models:
        task = known[spec.model_dump_json(exclude={"optimizer"})]
        if cell.target and cell.target.accuracy is not None and task.accuracy is None:
            raise SpecError(f"target: {spec.model} has no accuracy; write a loss")


def check_task(spec: ModelTask) -> Task:
    """Return the task of `spec` if it can be trained by every strategy, else raise SpecError.

    A built-in one is built, which reads its data. One of the user's own is built twice, which must
    give the same, and makes one small step: its data must be samples in tensors, its model free of
    what makes a gradient depend on more than samples and parameters, its loss a mean over samples,
    and its gradients must land in the flat vector. What it prints goes to stderr.
    """
    with contextlib.redirect_stdout(sys.stderr):
        task = build_task(spec)
        if spec.model not in TASKS:
            _check_own(task, spec)
    return task


def _check_own(task: Task, spec: ModelTask) -> None:
    name, dtype = spec.model, DTYPES[spec.dtype]
    train, held_out = _data(task, name)
    again = build_task(spec)
    if _digest(train, held_out, name) != _digest(*_data(again, name), name):
        raise _wrong(name, "its data differ from call to call; draw them from a seeded generator")
    model, initial = _model(task, name, dtype)
    _check_layers(model, name)
    other, values = _model(again, name, dtype)
    if other is model or not torch.equal(initial, values):
        raise _wrong(
            name, "model() must build a new network, with layers that torch's global seed decides"
        )
    _check_step(task, model, train[:_SAMPLES].to(dtype), name)
    _check_evaluation(task, model, held_out[:_SAMPLES].to(dtype), name)


def _data(task: Task, name: str) -> tuple[Data, Data]:
    with blamed(name, f"data() of {name}"):
        data: Any = task.data()
    if not isinstance(data, tuple) or [type(part) for part in data] != [Data, Data]:
        raise _wrong(name, "data() must return two psbench.Data, (training, held out)")
    for title, part in zip(("training", "held-out"), data, strict=True):
        for field, tensor in (("inputs", part.inputs), ("targets", part.targets)):
            if not isinstance(tensor, Tensor) or tensor.ndim == 0:
                raise _wrong(name, f"{title} {field} must be a tensor of shape (n, ...)")
        if len(part.inputs) != len(part.targets):
            found = f"{len(part.inputs)} {title} inputs and {len(part.targets)} targets"
            raise _wrong(name, f"{found}; there must be as many of both")
        if len(part) == 0:
            raise _wrong(name, f"no {title} samples; one is the least")
    return data


def _digest(train: Data, held_out: Data, name: str) -> str:
    with blamed(name, f"reading the samples of {name}"):
        return data_digest(train, held_out)


def _model(task: Task, name: str, dtype: torch.dtype) -> tuple[nn.Module, Tensor]:
    """Return the model and a flat copy of its parameters."""
    with blamed(name, f"model() of {name}"):
        model: Any = build_model(task, dtype, **_SEED)
        parameters = [p.detach().reshape(-1) for p in model.parameters()]
    if not parameters:
        raise _wrong(name, "the model has no parameters to train")
    return model, torch.cat(parameters)


def _check_layers(model: nn.Module, name: str) -> None:
    for path, module in model.named_modules():
        rule = _breaks(module)
        if rule:
            raise _wrong(
                name, f"the model holds a {type(module).__name__} ({path or 'itself'}): {rule}"
            )


def _breaks(module: nn.Module) -> str:
    """Return the rule that a layer breaks and what to do, or ""."""
    alone = "a slice's gradient must be a function of its samples and the parameters alone"
    if isinstance(module, _BatchNorm):
        return f"{alone}; use LayerNorm or GroupNorm"
    if isinstance(module, _DropoutNd) and module.p > 0:
        return f"{alone}; leave dropout out"
    if isinstance(module, nn.RNNBase | nn.MultiheadAttention) and module.dropout > 0:
        return f"{alone}; set its dropout to 0"
    if isinstance(module, nn.Embedding | nn.EmbeddingBag) and module.sparse:
        return "sparse gradients would be sent as dense ones; leave sparse=True out"
    return ""


def _check_step(task: Task, model: nn.Module, batch: Data, name: str) -> None:
    """Make a step as a rank does, and hold its gradient against plain autograd."""
    parameters = list(model.parameters())
    values, gradients = parameters[0].new_zeros(2, sum(p.numel() for p in parameters)).unbind()
    with blamed(name, f"a step of {name}"):
        flatten(model, values, gradients)
        chance = torch.get_rng_state()
        loss = _loss(task, model, batch, name)
        drawn = not torch.equal(torch.get_rng_state(), chance)
        expected = _autograd(loss, parameters)
        again = _loss(task, model, batch, name)
        again.backward()  # type: ignore[no-untyped-call]
        alone = [_loss(task, model, batch[i : i + 1], name) for i in range(len(batch))]
    if drawn or not _close(again, loss):
        raise _wrong(
            name,
            "its loss changes from call to call; leave dropout, other chance"
            " and memory of earlier calls out of it",
        )
    mean = torch.stack(alone).mean()
    if not _close(loss, mean):
        raise _wrong(
            name,
            f"its loss is no mean over samples: {loss.item():.4g} for {len(batch)} of them, and"
            f" {mean.item():.4g} for each alone, in the mean; return the mean, as reduction='mean'"
            " does, since a batch is cut differently for each number of workers",
        )
    kept = [*map(id, parameters)] == [*map(id, model.parameters())]
    if not (kept and _inside(parameters, values) and _close(gradients, expected)):
        raise _wrong(
            name,
            "its gradients do not land where the strategies look for them; leave .grad, .data and"
            " the set of parameters as they are",
        )


def _loss(task: Task, model: nn.Module, batch: Data, name: str) -> Tensor:
    loss: Any = task.loss(model, batch.inputs, batch.targets)
    if not isinstance(loss, Tensor) or loss.ndim != 0:
        shape = f" of shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else ""
        raise _wrong(
            name, f"loss() returned a {type(loss).__name__}{shape}; return a scalar tensor"
        )
    if not torch.isfinite(loss):
        raise _wrong(name, f"its loss is {loss.item()} at the initial parameters")
    if not loss.requires_grad:
        raise _wrong(name, "its loss depends on no parameter that can be trained")
    return loss


def _autograd(loss: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """Return the flat gradient, zero for parameters that are frozen or not used."""
    trained = [p for p in parameters if p.requires_grad]
    found = dict(zip(trained, torch.autograd.grad(loss, trained, allow_unused=True), strict=True))
    parts = [found.get(p) for p in parameters]
    return torch.cat(
        [
            (torch.zeros_like(p) if part is None else part).to_dense().reshape(-1)
            for p, part in zip(parameters, parts, strict=True)
        ]
    )


def _inside(parameters: Sequence[Tensor], vector: Tensor) -> bool:
    memory = vector.untyped_storage().data_ptr()
    return all(p.untyped_storage().data_ptr() == memory for p in parameters)


def _close(ours: Tensor, theirs: Tensor) -> bool:
    ours, theirs = ours.detach(), theirs.detach()
    return torch.allclose(ours, theirs, rtol=1e-3, atol=1e-4 * float(theirs.abs().max()))


def _check_evaluation(task: Task, model: nn.Module, held_out: Data, name: str) -> None:
    with blamed(name, f"an evaluation of {name}"):
        _, accuracy = evaluate(task, model, held_out)
    if accuracy is not None and not 0 <= accuracy <= 1:
        raise _wrong(name, f"accuracy() returned {accuracy:.4g}; return a fraction from 0 to 1")


def _wrong(name: str, text: str) -> SpecError:
    return SpecError(f"task.model: {name}: {text}")
