"""Where a process lives, so far as it matters to measuring and to ending it."""

import os
import signal
import socket
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Host:
    """A process's place. Processes of one `boot` read the same monotonic clock; those of one
    `pid_space` as well know each other by `pid`, and by `started` from a later one of that pid.
    Those of one `home` are on one host, as transports see it."""

    name: str
    pid: int
    started: str
    boot: str
    pid_space: str
    home: str
    cores: tuple[int, ...]
    """those this process may run on"""


def this_host(node: str = "") -> Host:
    """Return where this process lives.

    `node` is the Ray node it is on. A node stands for a host, also where several are on one
    machine; without Ray a host is a machine, or the network namespace of a container on it: shared
    memory does not reach out of that.
    """
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    return Host(
        name=socket.gethostname(),
        pid=os.getpid(),
        started=_started(os.getpid()),
        boot=boot,
        pid_space=os.readlink("/proc/self/ns/pid"),
        home=f"{boot}/{os.readlink('/proc/self/ns/net')}/{node}",
        cores=tuple(sorted(os.sched_getaffinity(0))),
    )


def kill_if_here(host: Host) -> None:
    """Send SIGKILL to a process of ours, if it is where we are: it may be stopped, or hang."""
    here = this_host()
    if (host.boot, host.pid_space) != (here.boot, here.pid_space):
        return
    try:
        if _started(host.pid) == host.started:
            os.kill(host.pid, signal.SIGKILL)
    except OSError:
        return  # it is gone


def _started(pid: int) -> str:
    """Return when a process started, in clock ticks after boot (field 22 of proc(5)'s stat)."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[19]
