"""NCCL where there is none, and what it leaves to gloo. On GPUs: experiments/gpu."""

import socket

import pytest
import torch
import torch.distributed as dist

from psbench.errors import TransportError
from psbench.live.transports import ENDPOINTS, NCCL
from psbench.live.transports.nccl import NcclTransport

without_gpus = pytest.mark.skipif(
    dist.is_nccl_available() and torch.cuda.is_available(), reason="NCCL works here"
)


@without_gpus
def test_a_host_without_it_is_named_in_one_line():
    with pytest.raises(TransportError) as error:
        ENDPOINTS[NCCL]("127.0.0.1")
    assert f"torch {torch.__version__} on {socket.gethostname()} has not got" in str(error.value)
    assert "\n" not in str(error.value)


def test_what_lies_on_the_host_goes_by_gloo(connect, everywhere):
    def swap(beside):
        transport = NcclTransport(None, beside)
        peer = 1 - transport.rank
        mine, theirs = torch.tensor([transport.rank]), torch.tensor([-1])
        work = transport.channel(0).exchange([(peer, mine)], [(peer, theirs)])
        work.wait()
        transport.barrier()
        return int(theirs), transport.peers[peer]

    assert everywhere(connect(2), swap) == [(1, "rank 1"), (0, "rank 0")]


def test_tensors_of_gpus_go_by_one_channel(connect):
    (beside,) = connect(1)
    transport = NcclTransport(None, beside)
    transport.use(0)
    transport.use(0)
    with pytest.raises(AssertionError, match="cannot tell channels apart"):
        transport.use(1)
    transport.close()
    with pytest.raises(TransportError, match="closed"):
        transport.group  # noqa: B018
