"""Sizes and durations read and written, and above all where one unit ends and the next begins."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psbench.units import (
    BYTES,
    format_bytes,
    format_seconds,
    in_base_unit,
    parse_bytes,
    parse_seconds,
    show_value,
)

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("0 B", 0),
        ("-0 B", 0),
        ("4 MiB", 4 * 1024 * 1024),
        ("25 MB", 25_000_000),
        ("4MiB", 4_194_304),
        (" 4  MiB ", 4_194_304),
        (".5 KiB", 512),
        ("1.5 GiB", 1_610_612_736),
        ("2e3 kB", 2_000_000),
        ("1 TB", 10**12),
        ("+3 B", 3),
        ("1.001 kB", 1001),  # in binary floating point 1000.9999999999999
        ("9007199254740993 B", 2**53 + 1),
    ],
)
def test_sizes_are_read_exactly(text, nbytes):
    assert parse_bytes(text) == nbytes


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("4", "a unit is missing in '4'; write it as in '4 MiB'"),
        ("4 mib", "unknown unit 'mib'.*units: B, kB, KB, MB"),
        ("4 Mbit", "unknown unit 'Mbit'"),
        ("", "cannot read ''; write a number and a unit"),
        ("MiB", "cannot read 'MiB'"),
        ("4 MiB extra", "cannot read"),
        ("nan B", "cannot read"),
        ("-1 B", "a size cannot be negative: '-1 B'"),
        ("1.1 KiB", "'1.1 KiB' is not a whole number of bytes"),
        ("0.5 B", "not a whole number"),
        ("1e400 B", "'1e400 B' is not finite"),
    ],
)
def test_sizes_that_cannot_be_read_say_what_would_be_right(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_bytes(text)


@given(nbytes=st.integers(0, 2**50), unit=st.sampled_from(sorted(BYTES)))
def test_whole_numbers_of_every_unit_are_read_exactly(nbytes, unit):
    assert parse_bytes(f"{nbytes} {unit}") == nbytes * BYTES[unit]


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 B"),
        (0.4, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1023.99, "1.00 KiB"),
        (1024, "1.00 KiB"),
        (9.99 * 1024, "9.99 KiB"),
        (9.999 * 1024, "10.0 KiB"),
        (99.96 * 1024, "100 KiB"),
        (1023.4 * 1024, "1023 KiB"),
        (1023.99 * 1024, "1.00 MiB"),
        (2**20 - 1, "1.00 MiB"),
        (2**30 - 1, "1.00 GiB"),
        (1.5 * 2**20, "1.50 MiB"),
        (3 * 2**40, "3072 GiB"),
        (-1536, "-1.50 KiB"),
        (-1023.99 * 1024, "-1.00 MiB"),
        (math.nan, "-"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
    ],
)
def test_sizes_are_written(nbytes, text):
    assert format_bytes(nbytes) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ns"),
        (-0.0, "0 ns"),
        (4e-10, "0 ns"),
        (1e-9, "1 ns"),
        (999e-9, "999 ns"),
        (999.6e-9, "1.00 us"),
        (1e-6, "1.00 us"),
        (9.996e-6, "10.0 us"),
        (999.4e-6, "999 us"),
        (999.9e-6, "1.00 ms"),
        (1e-3, "1.00 ms"),
        (1.25e-3, "1.25 ms"),
        (0.9996, "1.00 s"),
        (1, "1.00 s"),
        (59.96, "60.0 s"),
        (86_400, "86400 s"),
        (-0.0025, "-2.50 ms"),
        (-999.9e-6, "-1.00 ms"),
        (math.nan, "-"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
    ],
)
def test_durations_are_written(seconds, text):
    assert format_seconds(seconds) == text


def is_close_and_short(text, value, units, *, base):
    """Say whether `text` is `value` to half of its last digit, in the unit that fits."""
    number, unit = text.split()
    digits = number.lstrip("-")
    smallest, largest = (f(units, key=units.__getitem__) for f in (min, max))
    last_digit = 10.0 ** -len(digits.partition(".")[2])
    close = abs(float(number) * units[unit] - value) <= 0.5000001 * last_digit * units[unit]
    fits = unit == largest or float(digits) < base
    three = unit == smallest or len(digits.replace(".", "")) >= 3
    return close and fits and three and (unit == smallest or float(digits) >= 1)


@given(st.floats(-1e15, 1e15))
def test_a_size_as_written_is_the_size(nbytes):
    units = {unit: BYTES[unit] for unit in ("B", "KiB", "MiB", "GiB")}
    assert is_close_and_short(format_bytes(nbytes), nbytes, units, base=1024)


@given(st.floats(-1e6, 1e6))
def test_a_duration_as_written_is_the_duration(seconds):
    assert is_close_and_short(format_seconds(seconds), seconds, SECONDS, base=1000)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20 ms", 0.02),
        ("50 us", 5e-5),
        ("50 µs", 5e-5),
        ("10 min", 600.0),
        ("1.5h", 5400.0),
        ("0 s", 0.0),
        ("3 ns", 3e-9),
    ],
)
def test_times_are_read_exactly(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("20", "a unit is missing in '20'; write it as in '20 ms'"),
        ("3 m", "unknown unit 'm' in '3 m'.*units: ns, us"),
        ("-1 s", "a time cannot be negative"),
        ("1e400 s", "not finite"),
        ("1e999999 h", "not finite"),
        ("soon", "cannot read 'soon'"),
        ("x" * 5000, "^cannot read a text of 5000 characters; write a number and a unit, such as"),
        ("1" * 101 + " s", "cannot read a text of 103 characters"),
    ],
)
def test_times_that_are_none(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_seconds(text)


@pytest.mark.parametrize(
    ("value", "quantity", "shown"),
    [
        ("4194304 B", (4194304.0, "B"), "4.00 MiB"),
        ("4194305 B", (4194305.0, "B"), "4194305 B"),
        ("0 B", (0.0, "B"), "0 B"),
        ("0.02 s", (0.02, "s"), "20.0 ms"),
        ("1e-05 s", (1e-05, "s"), "10.0 us"),
        ("0.3333333333333333 s", (0.3333333333333333, "s"), "0.3333333333333333 s"),
        ("gloo", None, "gloo"),
        ("4 MiB", None, "4 MiB"),
        (4, None, "4"),
        (None, None, "None"),
    ],
)
def test_a_value_in_base_units_is_shown_in_those_that_fit(value, quantity, shown):
    assert in_base_unit(value) == quantity
    assert show_value(value) == shown


@given(nbytes=st.integers(0, 2**63 - 1))
def test_two_sizes_are_never_shown_alike(nbytes):
    assert parse_bytes(show_value(f"{nbytes} B")) == nbytes
