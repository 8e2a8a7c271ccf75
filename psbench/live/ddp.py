"""PyTorch's DistributedDataParallel over a transport's process group: an outside reference."""

from typing import Any

import torch.distributed as dist
from torch import device, nn
from torch.nn.parallel import DistributedDataParallel

from psbench.live.transports import ProcessGroupTransport, Transport
from psbench.training import Wrap

_MIB = 2**20


def ddp_over(transport: Transport, *, bucket_nbytes: int | None) -> Wrap:
    """Return what makes a module one whose backward pass averages gradients over all ranks.

    `bucket_nbytes` is its bucket_cap_mb in bytes; None leaves all to its defaults.
    """
    assert isinstance(transport, ProcessGroupTransport), "the spec allows no other"
    options: dict[str, Any] = {}
    if bucket_nbytes is not None:
        options["bucket_cap_mb"] = bucket_nbytes / _MIB
    group = _registered(transport)

    def wrap(module: nn.Module) -> DistributedDataParallel:
        return DistributedDataParallel(module, process_group=group, **options)

    return wrap


def _registered(transport: ProcessGroupTransport) -> dist.ProcessGroup:
    """Return the group as DDP takes one: by the device of the tensors it carries."""
    store = dist.HashStore()  # type: ignore[attr-defined]
    group = dist.ProcessGroup(store, transport.rank, transport.size)
    kind = dist.ProcessGroup.BackendType.GLOO
    group._set_default_backend(kind)
    group._register_backend(device("cpu"), kind, transport.group)
    return group
