"""The most memory this process has held at once."""

from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET_PEAK = "5"  # proc(5), clear_refs: resets the peak resident set size


def reset_peak_memory() -> None:
    """Forget earlier peaks: a process serves one trial after the other."""
    try:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK, encoding="ascii")
    except OSError:
        return  # then the peak is that of all trials so far, which bounds it


def peak_memory_bytes() -> int:
    """Return the largest resident set since the last reset, libraries included."""
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
