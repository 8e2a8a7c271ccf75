"""What workers compute on, and what NCCL can carry."""

from psbench.spec.any_strategy import AnyStrategy, carrier
from psbench.spec.messages import conflict
from psbench.spec.names import Device, RealDevice
from psbench.spec.strategy import AllReduce, ParameterServer


def worker_device(device: Device, gpus_per_worker: float) -> RealDevice:
    """Return what `auto` stands for, or the device asked for."""
    if device != "auto":
        return device
    return "cuda" if gpus_per_worker else "cpu"


def check_device(device: Device, gpus_per_worker: float) -> None:
    """Raise a conflict where workers would have no GPU to compute on, or one that they leave."""
    if device == "cuda" and not gpus_per_worker:
        raise conflict(
            "cuda needs GPUs; set cluster.gpus_per_worker, such as 0.25 for four workers on one GPU"
        )
    if device == "cpu" and gpus_per_worker:
        raise conflict("cpu uses no GPU; leave cluster.gpus_per_worker out, or write cuda")


def check_nccl(strategy: AnyStrategy, device: Device, gpus_per_worker: float) -> None:
    """Raise a conflict where NCCL cannot carry a strategy between workers on such a device."""
    strategy = carrier(strategy)
    if isinstance(strategy, ParameterServer):
        raise conflict(
            "nccl cannot receive from whoever comes first, as a parameter server must; write auto,"
            " gloo or shared_memory"
        )
    if isinstance(strategy, AllReduce) and "auto" in (strategy.algorithm, strategy.chunks):
        raise conflict(
            "auto goes by what messages of host memory take, and nccl carries none; name the"
            " algorithm and its chunks"
        )
    if worker_device(device, gpus_per_worker) == "cpu":
        raise conflict(
            "nccl carries what lies on GPUs, and the workers are on the CPU; set"
            " cluster.gpus_per_worker to 1"
        )
    if gpus_per_worker < 1:
        raise conflict(
            f"nccl refuses two ranks on one GPU, and cluster.gpus_per_worker is"
            f" {gpus_per_worker:g}; write auto, gloo or shared_memory, over which vectors go by way"
            f" of host memory, or a whole GPU for each worker"
        )
