"""Links as machines have them: what a message costs over Ethernet, RDMA, NVLink and PCI Express.

What a link carries is payload: the rate of the line less headers, or what NCCL counts on. The times
of an empty message, and of adding, differ between machines by a factor of two or so: they are
published figures where a source stands beside them, and else round ones. How the time of an empty
message divides into L and o is round throughout. A network of your own can be measured instead.
"""

from psbench.network.link import Link

_GBIT = 1e9 / 8
_GB = 1e9
_US = 1e-6

# IEEE 802.3: a frame of a 1500-byte MTU takes 1538 bytes of the line, with Ethernet's header and
# check sum (18), preamble (8) and gap (12); 52 of the 1500 are headers of IP and of TCP with its
# time stamps
_TCP_SHARE = 1448 / 1538
# RoCE v2 with the largest MTU of InfiniBand, 4096: 18 + 8 + 12 of Ethernet, 20 of IP, 8 of UDP, 12
# of the base transport header and 4 of its check sum
_ROCE_SHARE = 4096 / 4178

# Round figures: bytes a second that one CPU core adds to as many, where they come from memory (6 to
# 12 GB/s on a 2-core virtual machine, 20 from caches), and GPUs by the bandwidth of their memory,
# which an addition uses three times: A100 80 GB 2039 GB/s, H100 3350 GB/s (data sheets)
_CPU_CORE = 10 * _GB
_A100 = 2039 * _GB / 3
_H100 = 3350 * _GB / 3


def _link(*, one_way: float, overhead: float, rate: float, adding: float) -> Link:
    """Return a link on which an empty message takes `one_way` seconds from end to end, `overhead`
    of them at each side; `rate` and `adding` are in B/s."""
    return Link(
        latency=one_way - 2 * overhead,
        overhead=overhead,
        byte_time=1 / rate,
        reduce_time=1 / adding,
    )


def _kernel_tcp(gbit: float, *, one_way: float) -> Link:
    """Return a link between CPU servers through the kernel's TCP: a quarter of the time an empty
    message takes is each side's."""
    rate = gbit * _GBIT * _TCP_SHARE
    return _link(one_way=one_way, overhead=one_way / 4, rate=rate, adding=_CPU_CORE)


def _rdma(gbit: float, *, adding: float) -> Link:
    """Return a link between hosts of GPUs, by RDMA verbs.

    One way 2 us, a round figure: round trips are a few microseconds (Kalia, Kaminsky and Andersen,
    "Datacenter RPCs can be general and fast", NSDI 2019). NCCL counts on 2.7 us a hop at the least,
    as a thread on the CPU hands on what its GPU sends.
    """
    rate = gbit * _GBIT * _ROCE_SHARE
    return _link(one_way=2 * _US, overhead=0.2 * _US, rate=rate, adding=adding)


PRESETS: dict[str, Link] = {
    # round, by what TCP takes on gigabit cards, whose interrupts wait for more to come
    "ethernet-1g": _kernel_tcp(1, one_way=40 * _US),
    # Belay et al., "IX: a protected dataplane operating system for high throughput and low
    # latency", OSDI 2014: NetPIPE's 64 bytes over Linux's TCP take 24 us
    "ethernet-10g": _kernel_tcp(10, one_way=24 * _US),
    # round: most of it is the kernel, whatever the line, and processors have become faster. That
    # one core does not keep up with 100 Gbit/s (Cai et al., "Understanding host network stack
    # overheads", SIGCOMM 2021) is left out: several connections do
    "ethernet-25g": _kernel_tcp(25, one_way=15 * _US),
    "ethernet-100g": _kernel_tcp(100, one_way=15 * _US),
    "rdma-100g": _rdma(100, adding=_A100),
    "rdma-400g": _rdma(400, adding=_H100),
    # Between GPUs of a host: a hop of a ring as NCCL models it in its protocol LL128, 1.9 us over
    # NVLink and 2.5 over PCI (src/graph/tuning.cc; in LL 0.6 and 1.0, in Simple 3.4 and 5.7), and
    # the rates that it counts on (topo.h and topo.cc there), which its ring does reach.
    # A100, NVLink 3: 12 links of 20 GB/s a direction; nominally 25 each, 300 together
    "nvlink": _link(one_way=1.9 * _US, overhead=0.3 * _US, rate=12 * 20 * _GB, adding=_A100),
    # H100, NVLink 4 and NVSwitch 3: 18 links of 20.6 GB/s; nominally 25 each, 450 together
    "nvswitch": _link(one_way=1.9 * _US, overhead=0.3 * _US, rate=18 * 20.6 * _GB, adding=_H100),
    # A100, PCIe 4.0: 16 lanes of 1.5 GB/s; nominally 31.5 together
    "pcie": _link(one_way=2.5 * _US, overhead=0.3 * _US, rate=16 * 1.5 * _GB, adding=_A100),
}
"""What a spec may name; each direction of a rank's port by itself."""
