"""A network as a file: what was measured of it, for people to read and for later runs to use."""

from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationError

from psbench.errors import SpecError
from psbench.spec.explain import explain
from psbench.spec.load import locate, read_text
from psbench.spec.messages import FieldError, show, wrong
from psbench.spec.quantities import written
from psbench.spec.structure import Frozen
from psbench.spec.yaml_loader import parse_yaml
from psbench.units import parse_bytes, parse_seconds

NETWORK_VERSION: Literal[1] = 1
_DIGITS = 4
_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))


def _tuple(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise wrong(f"expected a list of maps, got {show(value)}")
    return tuple(value)


def _time_text(seconds: float) -> str:
    """Return about four digits in the unit that fits; what is below a microsecond in ns."""
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.{_DIGITS}g} {unit}"
    return f"{seconds * 1e9:.{_DIGITS}g} ns"


def _size_text(nbytes: int) -> str:
    for unit, size in (("MiB", 2**20), ("KiB", 2**10)):
        if nbytes and nbytes % size == 0:
            return f"{nbytes // size} {unit}"
    return f"{nbytes} B"


Time = Annotated[
    float,
    Field(ge=0),
    written(parse_seconds, "time", example="20 us"),
    PlainSerializer(_time_text, return_type=str),
]
Size = Annotated[
    int,
    Field(ge=0),
    written(parse_bytes, "size", example="64 KiB"),
    PlainSerializer(_size_text, return_type=str),
]


class LinkTimes(Frozen):
    """The parameters of a link; see network.Link."""

    latency: Time
    overhead: Time
    """a message, at each side"""
    byte_time: Time
    """a byte"""
    reduce_time: Time
    """a byte that is added"""


class CollectiveTime(Frozen):
    """What an all-reduce took, median over calls."""

    algorithm: str
    workers: Annotated[int, Field(ge=1)]
    size: Size
    time: Time


class NetworkFile(Frozen):
    """What `psbench calibrate` found out."""

    schema_version: Literal[1]
    transport: str
    host: str
    measured: str
    """when, ISO 8601, UTC"""
    link: LinkTimes
    uncertainty: LinkTimes
    """half of each parameter's 95 % interval"""
    collectives: Annotated[tuple[CollectiveTime, ...], BeforeValidator(_tuple)] = ()


def read_network(path: str | PathLike[str]) -> NetworkFile:
    """Return the network in the YAML file at `path`.

    Raises SpecError, one line naming file and line, for a file that is not one.
    """
    name = fspath(path)
    document, marks = parse_yaml(read_text(name), lambda line: f"{name}:{line}")
    if not isinstance(document, dict):
        raise SpecError(f"{name}:1: not a network file; make one with `psbench calibrate --out`")
    version = document.get("schema_version")
    if version != NETWORK_VERSION:
        raise SpecError(
            f"{locate(marks, ('schema_version',))}: schema_version {show(version)}; this psbench "
            f"reads {NETWORK_VERSION}: measure again with `psbench calibrate`"
        )
    try:
        return network_of(document)
    except FieldError as error:
        raise SpecError(f"{locate(marks, error.path)}: {error}") from None


def network_of(document: dict[str, Any]) -> NetworkFile:
    """Return the network that plain data hold. Raises FieldError for what is wrong with them."""
    try:
        return NetworkFile.model_validate(document)
    except ValidationError as error:
        raise explain(error, NetworkFile, missing="missing; a network file has one") from None


def write_network(network: NetworkFile, path: Path) -> None:
    """Write the file, a line a fact; OSError where that fails."""
    path.write_text("\n".join(_lines(network.model_dump(mode="json"))) + "\n", encoding="utf-8")


def _lines(document: dict[str, Any]) -> list[str]:
    lines = ["# What a message and an all-reduce cost on a transport; made by `psbench calibrate`."]
    for name, value in document.items():
        if isinstance(value, dict):
            lines.append(f"{name}:")
            lines += [f"  {key}: {text}" for key, text in value.items()]
        elif isinstance(value, list):
            lines.append(f"{name}:" if value else f"{name}: []")
            lines += [f"  - {{{', '.join(f'{k}: {v}' for k, v in one.items())}}}" for one in value]
        else:
            lines.append(f'{name}: "{value}"' if isinstance(value, str) else f"{name}: {value}")
    return lines
