"""What a run in virtual time must be told, and what has no meaning there."""

from collections.abc import Mapping
from typing import Any

from psbench.spec.any_strategy import AnyStrategy, carrier
from psbench.spec.cluster import Cluster
from psbench.spec.links import Network
from psbench.spec.messages import conflict
from psbench.spec.names import Engine
from psbench.spec.strategy import Bare, Ddp, Native
from psbench.spec.task import PayloadTask


def check_virtual(fields: Mapping[str, Any]) -> None:
    """Raise a conflict where the fields of a cell that are valid so far are none for virtual
    time."""
    strategy = fields.get("strategy")
    if isinstance(strategy, Bare | Ddp):
        raise conflict(f"{strategy.kind} is PyTorch's own way, which only a live run can go")
    if "task" not in fields or "compute" not in fields:
        return
    if fields["compute"] is None and not isinstance(fields["task"], PayloadTask):
        raise conflict(
            "how long computing takes is not measured in virtual time; set compute.seconds,"
            " such as 20 ms"
        )


def check_no_processes(value: Any) -> None:
    """Raise a conflict where a field, set to other than its default, is about processes."""
    if not isinstance(value, Cluster):
        raise conflict("there are no processes in virtual time; leave it out")
    for own in ("gpus_per_worker", "placement"):
        if getattr(value, own):
            raise conflict("there are no processes in virtual time; leave it out", at=own)


def check_network(network: Network | None, engine: Engine, strategy: AnyStrategy | None) -> None:
    """Raise a conflict where the network does not go with the engine, or the strategy."""
    if engine == "live":
        if network is not None:
            raise conflict(
                "a live run goes over the network that is there; leave it out, or write"
                " engine: simulated"
            )
        return
    if network is None:
        raise conflict(
            "missing: a simulated run must know what lies between ranks; write one such as"
            " ethernet-10g"
        )
    if strategy and isinstance(carrier(strategy), Native) and not network.in_network_reduction:
        raise conflict(
            "a simulated network has no all-reduce of its own for native; name an algorithm, or"
            " set network.in_network_reduction"
        )
