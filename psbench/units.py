"""Sizes, durations, rates and numbers of things as people write them: "25 MiB", "50 us"."""

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal

_QUANTITY = re.compile(r"\s*([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-zµ]*(?:/s)?)\s*")
_IN_BASE_UNIT = re.compile(r"([0-9.]+(?:e[-+]?[0-9]+)?) (B/s|B|s)")
_LONGEST = 100  # characters; each text is quoted in what is said of it

BYTES = {
    "B": 1,
    "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip


def parse_bytes(text: str) -> int:
    """Return the number of bytes that `text` ("4 MiB", "25 MB", "0 B") names.

    Raises ValueError, with what would be right, for a missing or unknown unit, a negative size or
    a size that is not a whole number of bytes.
    """
    value, unit = _split(text, BYTES, example="4 MiB")
    if not math.isfinite(float(value)):
        raise ValueError(f"{text!r} is not finite")
    nbytes = value * BYTES[unit]
    if nbytes < 0:
        raise ValueError(f"a size cannot be negative: {text!r}")
    if nbytes != int(nbytes):
        raise ValueError(f"{text!r} is not a whole number of bytes")
    return int(nbytes)


SECONDS = {
    "ns": Decimal("1e-9"), "us": Decimal("1e-6"), "µs": Decimal("1e-6"), "ms": Decimal("1e-3"),
    "s": Decimal(1), "min": Decimal(60), "h": Decimal(3600),
}  # fmt: skip


def parse_seconds(text: str) -> float:
    """Return the seconds that `text` ("20 ms", "50 us", "10 min") names.

    Raises ValueError, with what would be right, for a missing or unknown unit, a negative time or
    one that is not finite.
    """
    value, unit = _split(text, SECONDS, example="20 ms")
    if not math.isfinite(float(value) * 3600):
        raise ValueError(f"{text!r} is not finite")
    if value < 0:
        raise ValueError(f"a time cannot be negative: {text!r}")
    return float(value * SECONDS[unit])


RATES = {
    "bit/s": Decimal("0.125"), "kbit/s": Decimal(125), "Mbit/s": Decimal(125_000),
    "Gbit/s": Decimal(125_000_000), "Tbit/s": Decimal(125_000_000_000),
    **{f"{unit}/s": Decimal(size) for unit, size in BYTES.items()},
}  # fmt: skip


def parse_rate(text: str) -> float:
    """Return the bytes a second that `text` ("10 Gbit/s", "25 GB/s") names.

    Raises ValueError, with what would be right, for a missing or unknown unit, and for what is not
    above 0 and finite.
    """
    value, unit = _split(text, RATES, example="10 Gbit/s")
    rate = float(value) * float(RATES[unit])
    if not math.isfinite(rate):
        raise ValueError(f"{text!r} is not finite")
    if rate <= 0:
        raise ValueError(f"a rate must be above 0: {text!r}")
    return float(value * RATES[unit])


def format_rate(rate: float) -> str:
    """Return `rate`, bytes a second, with about three digits in bits: "10.0 Gbit/s"."""
    units = ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s")
    return _scaled(rate * 8, units, base=1000)


def format_bytes(nbytes: float) -> str:
    """Return `nbytes` with about three digits in the binary unit that fits: "1.50 MiB"."""
    return _scaled(nbytes, ("B", "KiB", "MiB", "GiB"), base=1024)


def format_seconds(seconds: float) -> str:
    """Return `seconds` with about three digits in the unit that fits: "1.25 ms"."""
    return _scaled(seconds * 1e9, ("ns", "us", "ms", "s"), base=1000)


def in_base_unit(value: object) -> tuple[float, str] | None:
    """Return the number and the unit of a size or time as documents have it, in its base unit:
    "4194304 B", "0.02 s", "1250000000.0 B/s". None for any other value."""
    match = _IN_BASE_UNIT.fullmatch(value) if isinstance(value, str) else None
    return (float(match[1]), match[2]) if match else None


def show_value(value: object) -> str:
    """Return a field's value for people: a size or time in base units in the unit that fits,
    "4.00 MiB", unless that rounds it; anything else as it is."""
    quantity = in_base_unit(value)
    if quantity is None:
        return str(value)
    number, unit = quantity
    show, parse = _IN_WORDS[unit]
    shown, exact = show(number), str(value)
    try:
        return shown if parse(shown) == parse(exact) else exact
    except ValueError:  # rounded to what is no whole number of bytes
        return exact


_IN_WORDS: dict[str, tuple[Callable[[float], str], Callable[[str], float]]] = {
    "B": (format_bytes, parse_bytes),
    "s": (format_seconds, parse_seconds),
    "B/s": (format_rate, parse_rate),
}


def _scaled(value: float, units: tuple[str, ...], *, base: int) -> str:
    """Return `value`, counted in the first unit, in the one that fits; each is `base` of the last.

    What is shown decides, so that 999.9 us is "1.00 ms". NaN is "-".
    """
    if not math.isfinite(value):
        return "-" if math.isnan(value) else str(value)
    unit, shown, decimals = units[0], float(round(value)), 0
    for larger in units[1:]:
        if abs(shown) < base:
            break
        value /= base
        unit, shown = larger, round(value, _decimals(value))
        decimals = _decimals(shown)
    return f"{shown:.{decimals}f} {unit}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things: "1 worker", "4 workers", "2 processes"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def _decimals(value: float) -> int:
    """Return the decimals that leave about three significant digits."""
    return max(0, 2 - math.floor(math.log10(abs(value))))


def _split(text: str, units: Mapping[str, int | Decimal], example: str) -> tuple[Decimal, str]:
    if len(text) > _LONGEST:
        raise ValueError(
            f"cannot read a text of {len(text)} characters; write a number and a unit,"
            f" such as {example!r}"
        )
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"cannot read {text!r}; write a number and a unit, such as {example!r}")
    number, unit = match.groups()
    if unit not in units:
        known = ", ".join(units)
        problem = f"unknown unit {unit!r}" if unit else "a unit is missing"
        raise ValueError(f"{problem} in {text!r}; write it as in {example!r} (units: {known})")
    return Decimal(number), unit
