"""What the workers do between synchronisations: train a model, or only move a payload."""

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    field_serializer,
    field_validator,
)

from psbench.spec.messages import conflict, show, wrong
from psbench.spec.names import Dtype, Model
from psbench.spec.structure import Frozen
from psbench.units import parse_bytes

ITEM_SIZES: dict[Dtype, int] = {"float32": 4, "float64": 8}
"""Bytes of one element."""


def _pair(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise wrong(f"expected a list of two numbers, got {show(value)}")
    return tuple(value)


def _nbytes(value: Any) -> int:
    if not isinstance(value, str):
        raise wrong(f"expected a size with its unit, such as '4 MiB', got {show(value)}")
    return parse_bytes(value)


Positive = Annotated[float, Field(gt=0)]
Decay = Annotated[float, Field(ge=0, lt=1)]
Size = Annotated[
    int,
    Field(lt=2**63),
    BeforeValidator(_nbytes),
    WithJsonSchema({"type": "string", "examples": ["4 MiB", "25 MB", "0 B"]}),
]


class Sgd(Frozen):
    """Stochastic gradient descent with heavy-ball momentum, as in `torch.optim.SGD`."""

    kind: Literal["sgd"]
    lr: Positive
    """learning rate"""
    momentum: Decay = 0.0


class Adam(Frozen):
    """Adam (Kingma and Ba 2015, algorithm 1)."""

    kind: Literal["adam"]
    lr: Positive
    """learning rate"""
    betas: Annotated[tuple[Decay, Decay], BeforeValidator(_pair)] = (0.9, 0.999)
    """decay of the first and of the second moment"""
    eps: Positive = 1e-8


Optimizer = Annotated[Sgd | Adam, Discriminator("kind")]


class ModelTask(Frozen):
    """Train a model."""

    model: Model
    optimizer: Optimizer
    dtype: Dtype = "float32"
    """of parameters and gradients"""


class PayloadTask(Frozen):
    """Synchronise a vector of `payload` bytes in each step and compute nothing."""

    dtype: Dtype = "float32"
    """of the vector's elements"""
    payload: Size
    """size of the vector with its unit, such as 4 MiB"""

    @field_validator("payload")
    @classmethod
    def _whole_elements(cls, nbytes: int, info: ValidationInfo) -> int:
        dtype = info.data.get("dtype")
        if dtype and nbytes % ITEM_SIZES[dtype]:
            raise conflict(
                f"{nbytes} B is not a whole number of {dtype} elements;"
                f" write a multiple of {ITEM_SIZES[dtype]} B"
            )
        return nbytes

    @field_serializer("payload", when_used="json")
    def _base_unit(self, nbytes: int) -> str:
        return f"{nbytes} B"


def _model_or_payload(value: Any) -> Any:
    if isinstance(value, ModelTask | PayloadTask):
        return value
    if not isinstance(value, dict):
        raise wrong(f"expected a map with a model or a payload, got {show(value)}")
    if ("model" in value) == ("payload" in value):
        raise wrong("write either model (with its optimizer) or payload")
    return value


def _tag(value: Any) -> str:
    if isinstance(value, dict):
        return "ModelTask" if "model" in value else "PayloadTask"
    return type(value).__name__


Task = Annotated[
    Annotated[ModelTask, Tag("ModelTask")] | Annotated[PayloadTask, Tag("PayloadTask")],
    Discriminator(_tag),
    BeforeValidator(_model_or_payload),
]
