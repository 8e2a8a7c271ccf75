"""A small transformer that predicts the next byte of text."""

import sysconfig
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from psbench.errors import SpecError
from psbench.spec import ModelTask
from psbench.training.tasks.arrays import missing
from psbench.training.tasks.task import Data, Task

_BYTES = 256
_CONTEXT = 64
_WIDTH = 64
_LAYERS = 2
_HEADS = 4
_HIDDEN = 128
_TEXT_BYTES = 2**20


def byte_lm(spec: ModelTask) -> Task:
    """A decoder-only transformer over windows of 64 bytes: 103,936 parameters.

    Width 64, two layers of 4 heads and 128 hidden units, layer norm before each (Xiong et al. 2020,
    section 3), learned positions, no dropout. The loss is in nats a byte; accuracy is the share of
    next bytes guessed. It reads the Python standard library's own source, which differs between
    versions of Python, or `data`, a file or the files of a folder in sorted order.
    """
    text = standard_library() if spec.data is None else _read(spec.data)
    train, held_out = windows(text, name=spec.data or "the standard library")
    return Task(model=ByteTransformer, loss=loss, data=lambda: (train, held_out), accuracy=accuracy)


class ByteTransformer(nn.Module):
    """Bytes of shape (n, t), t up to 64, to scores of the byte after each, (n, t, 256)."""

    def __init__(self) -> None:
        super().__init__()
        self.byte = nn.Embedding(_BYTES, _WIDTH)
        self.position = nn.Embedding(_CONTEXT, _WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(_LAYERS)))
        self.norm = nn.LayerNorm(_WIDTH)
        self.scores = nn.Linear(_WIDTH, _BYTES, bias=False)

    def forward(self, text: Tensor) -> Tensor:
        hidden = self.byte(text.long()) + self.position.weight[: text.shape[1]]
        scores: Tensor = self.scores(self.norm(self.layers(hidden)))
        return scores


class Layer(nn.Module):
    """Causal self-attention and a perceptron, each on a residual branch; shape (n, t, width)."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(_WIDTH)
        self.query_key_value = nn.Linear(_WIDTH, 3 * _WIDTH)
        self.merge = nn.Linear(_WIDTH, _WIDTH)
        self.perceptron = nn.Sequential(
            nn.LayerNorm(_WIDTH),
            nn.Linear(_WIDTH, _HIDDEN),
            nn.GELU(),
            nn.Linear(_HIDDEN, _WIDTH),
        )

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden + self._attend(self.attention_norm(hidden))
        branch: Tensor = self.perceptron(hidden)
        return hidden + branch

    def _attend(self, hidden: Tensor) -> Tensor:
        heads = self.query_key_value(hidden).unflatten(2, (3, _HEADS, _WIDTH // _HEADS))
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        merged: Tensor = self.merge(seen.transpose(1, 2).flatten(2))
        return merged


def loss(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """Mean cross entropy of the next byte, in nats."""
    return functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten().long())


def accuracy(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """Share of next bytes that have the highest score."""
    scores: Tensor = model(inputs)
    return (scores.argmax(2) == targets).double().mean()


@cache
def standard_library() -> bytes:
    """Return the first MiB of the modules at the top of Python's standard library, by name."""
    folder = Path(sysconfig.get_path("stdlib"))
    return _joined(sorted(folder.glob("*.py")), limit=_TEXT_BYTES)


def windows(text: bytes, *, name: str) -> tuple[Data, Data]:
    """Return (training, held out), the last tenth: windows of 65 bytes that do not overlap.

    Both tensors of each are uint8 of shape (n, 64): a window's bytes but the last, and but the
    first. Raises SpecError, naming `name`, for a text too short for two windows.
    """
    span = _CONTEXT + 1
    count = len(text) // span
    if count < 2:
        raise SpecError(
            f"task.data: {name}: {len(text)} bytes; two windows of {span} are the least, one to"
            " train on and one held out"
        )
    # a copy: torch wants memory that may be written to
    whole = torch.from_numpy(np.frombuffer(text, np.uint8)[: count * span].copy())
    whole = whole.view(count, span)
    data = Data(inputs=whole[:, :-1], targets=whole[:, 1:])
    cut = count - max(1, count // 10)
    return data[:cut], data[cut:]


def _read(path: str) -> bytes:
    try:
        if Path(path).is_dir():
            return _joined(sorted(p for p in Path(path).rglob("*") if p.is_file()))
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise missing(path) from None
    except OSError as error:
        raise SpecError(f"task.data: cannot be read ({error}); name a file or folder") from None


def _joined(files: list[Path], limit: int | None = None) -> bytes:
    text = b"".join(file.read_bytes() for file in files)
    return text[:limit]
