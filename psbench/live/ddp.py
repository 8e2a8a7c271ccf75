"""PyTorch's DistributedDataParallel over a transport's process group: an outside reference."""

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from psbench.live.transports import NCCL, ProcessGroupTransport, Transport
from psbench.training import Wrap

_MIB = 2**20


def ddp_over(transport: Transport, *, bucket_nbytes: int | None, device: torch.device) -> Wrap:
    """Return what makes a module on `device` one whose backward pass averages gradients over all
    ranks.

    `bucket_nbytes` is its bucket_cap_mb in bytes; None leaves all to its defaults.
    """
    options: dict[str, Any] = {}
    if bucket_nbytes is not None:
        options["bucket_cap_mb"] = bucket_nbytes / _MIB
    group = _registered(transport, device)

    def wrap(module: nn.Module) -> DistributedDataParallel:
        return DistributedDataParallel(module, process_group=group, **options)

    return wrap


def _registered(transport: Transport, device: torch.device) -> dist.ProcessGroup:
    """Return the transport's group as DDP takes one: by the device of the tensors it carries.

    gloo itself copies what lies on a GPU to the host and back.
    """
    if transport.name == NCCL:
        from psbench.live.transports.nccl import NcclTransport

        assert isinstance(transport, NcclTransport)
        kind, host = dist.ProcessGroup.BackendType.NCCL, transport.beside
    else:
        assert isinstance(transport, ProcessGroupTransport), "the spec allows no other"
        kind, host = dist.ProcessGroup.BackendType.GLOO, transport
    store = dist.HashStore()  # type: ignore[attr-defined]
    group = dist.ProcessGroup(store, transport.rank, transport.size)
    group._set_default_backend(kind)
    group._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, host.group)
    if device.type != "cpu":
        group._register_backend(device, kind, transport.group)
    return group
