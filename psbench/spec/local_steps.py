"""How workers agree that train by themselves in between: the strategies of local steps."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field

from psbench.spec.messages import conflict
from psbench.spec.short_names import named
from psbench.spec.strategy import AllReduce, Native, ParameterServer
from psbench.spec.structure import Frozen
from psbench.spec.task import Decay, Nesterov, Positive

AnyOver = AllReduce | Native | ParameterServer


def _after_computing(over: AnyOver) -> AnyOver:
    if over.overlap:
        raise conflict("what is sent is known after a step alone; leave overlap out")
    return over


def _no_more_than_a_rule(over: AnyOver) -> AnyOver:
    if not isinstance(over, ParameterServer):
        return over
    if over.consistency == "bounded_staleness" or over.backup or over.staleness is not None:
        raise conflict(
            "with local steps servers are synchronous or asynchronous, with no backup, bound or"
            " staleness"
        )
    if over.lr_rule.kind != "none" or over.clip_norm is not None:
        raise conflict("lr_rule and clip_norm are of gradients, and none are sent; leave them out")
    return over


def _waits_for_all(over: AnyOver) -> AnyOver:
    if isinstance(over, ParameterServer) and over.consistency != "synchronous":
        raise conflict("a mean is of all ranks; set consistency to synchronous, or take easgd")
    return over


Every = Annotated[int, Field(ge=1)]
Over = Annotated[
    Annotated[AnyOver, Discriminator("kind"), BeforeValidator(named)],
    AfterValidator(_after_computing),
    AfterValidator(_no_more_than_a_rule),
]
OverAll = Annotated[Over, AfterValidator(_waits_for_all)]
_RING = AllReduce(kind="all_reduce", algorithm="ring")


class LocalSgd(Frozen):
    """Each rank trains by itself, and every few steps all take the mean of their parameters (local
    SGD, Stich 2019); a rank counts for as much as its share of the batch."""

    kind: Literal["local_sgd"]
    every: Every
    """steps from one mean to the next; the last step of a trial ends with one, too"""
    over: OverAll = _RING
    """what sums: a short name, or a map, of a strategy that sums gradients"""


class DiLoCo(Frozen):
    """Each rank trains by itself, and every few steps all make one step from where they met last,
    by the mean of how far each has come (DiLoCo, Douillard et al. 2023)."""

    kind: Literal["diloco"]
    every: Every
    """steps from one meeting to the next; the last step of a trial ends with one, too"""
    lr: Positive = 0.7
    """learning rate of the step that all make; 1 without momentum takes them to their mean"""
    momentum: Decay = 0.9
    """of that step"""
    nesterov: Nesterov = Field(default=True, validate_default=True)
    """Nesterov's momentum; false: heavy-ball"""
    over: OverAll = _RING
    """what sums: a short name, or a map, of a strategy that sums gradients"""


class Easgd(Frozen):
    """Each rank trains by itself, and every few steps it is drawn to a centre and the centre to all
    ranks (EASGD, Zhang, Choromanska and LeCun 2015); the centre is what is evaluated."""

    kind: Literal["easgd"]
    every: Every
    """steps from one exchange to the next; the last step of a trial ends with one, too"""
    alpha: Annotated[float, Field(gt=0, lt=1)] | None = None
    """share of its way to the centre that a rank goes, and the centre to a rank; null: 0.9 over the
    number of workers"""
    over: Over = _RING
    """what sums, as in ring or ps-sync, or what a rank exchanges with by itself: ps-async"""

    @property
    def in_turn(self) -> bool:
        """Whether ranks come to the centre one by one, rather than all at once."""
        return isinstance(self.over, ParameterServer) and self.over.consistency == "asynchronous"
