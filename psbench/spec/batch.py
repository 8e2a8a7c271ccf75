"""The samples of one step."""

from typing import Annotated

from pydantic import Field, model_validator

from psbench.spec.messages import wrong
from psbench.spec.structure import Frozen

Count = Annotated[int, Field(ge=1)]


class Batch(Frozen):
    """Samples of one step: for each worker, or for all of them together."""

    per_worker: Count | None = None
    """samples a worker (weak scaling)"""
    global_: Count | None = Field(default=None, alias="global")
    """samples of all workers together (strong scaling)"""

    @model_validator(mode="after")
    def _one_of_two(self) -> "Batch":
        if (self.per_worker is None) == (self.global_ is None):
            raise wrong("write either per_worker or global")
        return self
