"""Samples that come as arrays: read from a file, and cut into training and held out."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from psbench.errors import SpecError
from psbench.training.tasks.task import Data

_SPLIT_SEED = 0  # one split for all runs, so that accuracies compare
_FORM = (
    "expected an .npz file with the arrays inputs, (n, ...) of floating-point numbers,"
    " and targets, (n,) of whole numbers from 0 up"
)


def split(inputs: npt.NDArray[Any], targets: npt.NDArray[Any]) -> tuple[Data, Data]:
    """Return (training, held out), n samples shuffled in a fixed order and cut 4 to 1."""
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(targets))
    whole = Data(
        inputs=torch.from_numpy(inputs[order]), targets=torch.from_numpy(targets[order]).long()
    )
    cut = len(whole) * 4 // 5
    return whole[:cut], whole[cut:]


def read_samples(path: str) -> tuple[Data, Data]:
    """Return the samples of an .npz file, split; raise SpecError for a file of another form.

    Nothing in the file is executed: arrays of Python objects are refused.
    """
    inputs, targets = _arrays(path)
    if not np.issubdtype(inputs.dtype, np.floating) or inputs.ndim < 1:
        raise _wrong(path, f"inputs are {_form(inputs)}")
    if not np.issubdtype(targets.dtype, np.integer) or targets.ndim != 1:
        raise _wrong(path, f"targets are {_form(targets)}")
    if len(inputs) != len(targets):
        raise _wrong(path, f"{len(inputs)} inputs and {len(targets)} targets")
    if len(targets) < 2:
        raise _wrong(path, f"{len(targets)} samples; two are the least, one to train on")
    if inputs.size == 0:
        raise _wrong(path, f"inputs are {_form(inputs)}, which holds nothing")
    if targets.min() < 0 or targets.max() == 0:
        found = f"targets from {targets.min()} to {targets.max()}"
        raise _wrong(path, f"{found}; two classes are the least")
    return split(inputs, targets)


def features_and_classes(*data: Data) -> tuple[int, int]:
    """Return how many numbers an input has, and how many classes the labels 0, 1, ... name."""
    return data[0].inputs[0].numel(), 1 + max(int(part.targets.max()) for part in data)


def missing(path: str) -> SpecError:
    """Return the error for a path at which there is nothing."""
    return SpecError(f"task.data: {path}: no such file or folder, seen from {Path.cwd()}")


def _arrays(path: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    try:
        with Path(path).open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            found = dict(loaded) if isinstance(loaded, np.lib.npyio.NpzFile) else {}
    except FileNotFoundError:
        raise missing(path) from None
    except Exception as error:  # numpy says in many ways that a file is no archive
        text = " ".join(str(error).split())
        raise _wrong(path, "holds pickled objects" if "pickle" in text else text) from None
    if not found.keys() >= {"inputs", "targets"}:
        raise _wrong(path, f"holds {', '.join(found) or 'no named arrays'}")
    return found["inputs"], found["targets"]


def _form(array: npt.NDArray[Any]) -> str:
    return f"{array.dtype} of shape {array.shape}"


def _wrong(path: str, found: str) -> SpecError:
    return SpecError(f"task.data: {path}: {found}; {_FORM}")
