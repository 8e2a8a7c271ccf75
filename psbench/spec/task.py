"""What the workers do between synchronisations: train a model, take as long as one would, or only
move a payload."""

import math
import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

from psbench.spec.messages import MISSING, conflict, show, unknown, wrong
from psbench.spec.names import MODELS, Dtype, ProfileName
from psbench.spec.quantities import Size
from psbench.spec.structure import Frozen

ITEM_SIZES: dict[Dtype, int] = {"float32": 4, "float64": 8}
"""Bytes of one element."""

_OWN_MODEL = r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$"
_OWN_HINT = "or a function of your own, as package.module:function"


def _is_own(model: str) -> bool:
    """Tell whether `model` names a function of the user's own rather than a built-in model."""
    return ":" in model


def _model_name(name: str) -> str:
    if not _is_own(name):
        if name not in MODELS:
            raise wrong(f"{unknown('model', name, MODELS)}; {_OWN_HINT}")
    elif not re.fullmatch(_OWN_MODEL, name):
        raise wrong(
            f"expected package.module:function, Python names joined by dots, got {show(name)}"
        )
    return name


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _data_path(value: str) -> str:
    if not value or "\0" in value:
        raise wrong(f"expected the path of a file or folder, got {show(value)}")
    return value


def _check_finite(value: Any, where: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise wrong(f"{where} must be finite, got {show(value)}")
    if isinstance(value, dict):
        for name, inner in value.items():
            _check_finite(inner, f"{where}.{name}" if where else name)
    if isinstance(value, list):
        for index, inner in enumerate(value):
            _check_finite(inner, f"{where}[{index}]")


def _pair(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise wrong(f"expected a list of two numbers, got {show(value)}")
    return tuple(value)


Positive = Annotated[float, Field(gt=0)]
Decay = Annotated[float, Field(ge=0, lt=1)]
ModelName = Annotated[
    str,
    AfterValidator(_model_name),
    WithJsonSchema({"anyOf": [{"enum": list(MODELS)}, {"type": "string", "pattern": _OWN_MODEL}]}),
]
NumParameters = Annotated[int, Field(ge=100, le=10**10), BeforeValidator(_whole)]
DataPath = Annotated[str, AfterValidator(_data_path)]


def _needs_momentum(nesterov: bool, info: ValidationInfo) -> bool:
    if nesterov and info.data.get("momentum") == 0:
        raise conflict("Nesterov's way is one of momentum; set momentum, such as 0.9, or leave it")
    return nesterov


Nesterov = Annotated[bool, AfterValidator(_needs_momentum)]


class Sgd(Frozen):
    """Stochastic gradient descent with momentum, as in `torch.optim.SGD`."""

    kind: Literal["sgd"]
    lr: Positive
    """learning rate"""
    momentum: Decay = 0.0
    nesterov: Nesterov = False
    """Nesterov's momentum; false: heavy-ball"""


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
    """Train a model: one that is built in, or what a function of the user's own returns."""

    model: ModelName
    """a built-in name, or package.module:function"""
    parameters: NumParameters | None = Field(default=None, validate_default=True)
    """how many parameters mlp is to have, about; needed by it, refused for others"""
    data: DataPath | None = None
    """a file or folder, relative to the working directory; null: the model's own data"""
    options: dict[str, Any] = Field(default_factory=dict)
    """keywords of a function of the user's own"""
    optimizer: Optimizer
    dtype: Dtype = "float32"
    """of parameters and gradients"""

    @field_validator("parameters")
    @classmethod
    def _of_mlp_alone(cls, parameters: int | None, info: ValidationInfo) -> int | None:
        model = info.data.get("model")
        if model == "mlp" and parameters is None:
            raise wrong(MISSING)
        if model not in ("mlp", None) and parameters is not None:
            raise conflict(
                f"only mlp is built to a number of parameters, not {model}; leave it out"
            )
        return parameters

    @field_validator("data")
    @classmethod
    def _of_models_that_read(cls, data: str | None, info: ValidationInfo) -> str | None:
        model = info.data.get("model")
        if data is not None and model in ("digits_mlp", "digits_cnn"):
            raise conflict(f"{model} has data of its own; leave it out")
        return data

    @field_validator("options")
    @classmethod
    def _of_own_functions(cls, options: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        model = info.data.get("model")
        if options and model and not _is_own(model):
            raise conflict(f"{model} takes no options; leave them out")
        if "data" in options:
            raise wrong("data has a field of its own; write it as task.data")
        _check_finite(options, "")
        return options

    def __hash__(self) -> int:
        # without the options: a map has no hash
        return hash((self.model, self.parameters, self.data, self.optimizer, self.dtype))


class PayloadTask(Frozen):
    """Synchronise a vector of `payload` bytes in each step and compute nothing."""

    noun: ClassVar[str] = "payload"
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


class ProfileTask(Frozen):
    """Synchronise what a published model would, and take the time that `compute` says: the sizes of
    its layers, and the share of computing that each takes, without training it."""

    noun: ClassVar[str] = "profile"
    profile: ProfileName
    """the model"""
    dtype: Dtype = "float32"
    """of its gradients"""


Untrained = PayloadTask | ProfileTask
"""What only moves bytes; `noun` is what it is called."""

_TAGS = {"model": "ModelTask", "payload": "PayloadTask", "profile": "ProfileTask"}


def _one_of_three(value: Any) -> Any:
    if isinstance(value, ModelTask | PayloadTask | ProfileTask):
        return value
    if not isinstance(value, dict):
        raise wrong(f"expected a map with a model, a payload or a profile, got {show(value)}")
    if len(_TAGS.keys() & value.keys()) != 1:
        raise wrong("write one of model (with its optimizer), payload and profile")
    return value


def _tag(value: Any) -> str:
    if isinstance(value, dict):
        return next(tag for key, tag in _TAGS.items() if key in value)
    return type(value).__name__


Task = Annotated[
    Annotated[ModelTask, Tag("ModelTask")]
    | Annotated[PayloadTask, Tag("PayloadTask")]
    | Annotated[ProfileTask, Tag("ProfileTask")],
    Discriminator(_tag),
    BeforeValidator(_one_of_three),
]
