"""What the user wrote."""

import re
from collections.abc import Sequence
from os import PathLike
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, ValidationError

from psbench.errors import SpecError
from psbench.spec.cell import Cell
from psbench.spec.document import expand_shorthands, plain
from psbench.spec.explain import explain
from psbench.spec.load import locate, read_spec
from psbench.spec.messages import FieldError, show, wrong
from psbench.spec.resolve import resolve
from psbench.spec.structure import Frozen

_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


def _folder_name(name: str) -> str:
    if not re.fullmatch(_NAME, name):
        raise wrong(
            f"names a folder: up to 64 letters, digits, '.', '_' and '-', the first one a letter"
            f" or digit; got {show(name)}"
        )
    return name


def _empty_if_null(value: Any) -> Any:
    return {} if value is None else value


class Spec(Frozen):
    """A set of cells to measure: base fields, and a matrix of values put over them.

    Takes the fields of a spec file as keyword arguments, with the same short names:
    `Spec(name="x", task={...}, steps=10, strategy="ring", matrix={"workers": [1, 2]})`.
    Base fields are kept as written, short strategy names expanded: they may be incomplete, the
    matrix supplying the rest, so that only whole cells are validated, all of them at once here.

    Raises SpecError, one line naming the field, for anything that is wrong with any cell.
    """

    name: Annotated[str, AfterValidator(_folder_name), Field(json_schema_extra={"pattern": _NAME})]
    """of the results folder"""
    task: Any = None
    batch: Any = None
    accumulate: Any = None
    reduce: Any = None
    lr_scaling: Any = None
    compute: Any = None
    engine: Any = None
    cluster: Any = None
    device: Any = None
    pin: Any = None
    timeout: Any = None
    steps: Any = None
    warmup: Any = None
    eval_every: Any = None
    target: Any = None
    network: Any = None
    transport: Any = None
    workers: Any = None
    strategy: Any = None
    matrix: Annotated[dict[str, Any], BeforeValidator(_empty_if_null)] = Field(default_factory=dict)
    """values by dotted path of a cell's field, and the lists `include` and `exclude`"""
    repeats: Annotated[int, Field(ge=1)] = 1
    """trials a cell"""
    seed: Annotated[int, Field(ge=0)] = 0

    _cells: tuple[Cell, ...] = PrivateAttr()

    def __init__(self, /, **fields: Any) -> None:
        try:
            super().__init__(**expand_shorthands(plain(fields)))
        except ValidationError as error:
            raise explain(error, Spec, missing="missing; every spec has one", within=Cell) from None
        written = {name: getattr(self, name) for name in self.model_fields_set}
        base = {name: written[name] for name in Cell.model_fields if name in written}
        self._cells = resolve(base, self.matrix)

    @classmethod
    def load(cls, path: str | PathLike[str], overrides: Sequence[str] = ()) -> "Spec":
        """Read a YAML file, with `overrides` ("task.optimizer.lr=0.1") put over what it says.

        Raises SpecError, one line naming the file and line or the override, for a file that cannot
        be read, is not strict YAML, or is not a valid spec.
        """
        document, marks = read_spec(path, overrides)
        try:
            return cls(**document)
        except FieldError as error:
            raise SpecError(f"{locate(marks, error.path)}: {error}") from None

    def cells(self) -> tuple[Cell, ...]:
        """Return the cells: axes vary in the order of writing, the last one fastest."""
        return self._cells

    def document(self) -> dict[str, Any]:
        """Return the spec as JSON values; `Spec(**document)` equals this spec.

        The order of the matrix's keys is the order of the cells: do not sort them.
        """
        written = self.model_dump(mode="json", exclude_unset=True)
        return written | {"repeats": self.repeats, "seed": self.seed}
