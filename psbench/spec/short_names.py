"""The short names of strategies: what each stands for, and what a strategy is called by them."""

import re
from typing import Any

from psbench.spec.messages import show, unknown, wrong
from psbench.spec.names import ALGORITHMS
from psbench.spec.structure import Frozen
from psbench.units import show_value

SHORTHANDS: dict[str, dict[str, str]] = {
    **{name: {"kind": "all_reduce", "algorithm": name} for name in ALGORITHMS},
    "auto": {"kind": "all_reduce", "algorithm": "auto"},
    "ps-sync": {"kind": "parameter_server", "consistency": "synchronous"},
    "ps-async": {"kind": "parameter_server", "consistency": "asynchronous"},
    "native": {"kind": "native"},
    "ddp": {"kind": "ddp"},
    "none": {"kind": "none"},
    "bare": {"kind": "bare"},
}
"""What a short name stands for."""

NUMBERED: dict[str, tuple[dict[str, str], str]] = {
    "ssp": ({"kind": "parameter_server", "consistency": "bounded_staleness"}, "bound"),
    "ps-sync+backup": ({"kind": "parameter_server", "consistency": "synchronous"}, "backup"),
    "local_sgd": ({"kind": "local_sgd"}, "every"),
    "diloco": ({"kind": "diloco"}, "every"),
    "easgd": ({"kind": "easgd"}, "every"),
}
"""What a short name with a number stands for, such as local_sgd:8, and the number's field."""

_NUMBER = re.compile(r"[0-9]{1,18}")
_WITHOUT_LIMIT = "ssp:inf"


def numbered_pattern() -> str:
    """Return what all short names with a number match, as a regular expression."""
    names = "|".join(map(re.escape, NUMBERED))
    return f"^(({names}):{_NUMBER.pattern}|{_WITHOUT_LIMIT})$"


def expand_shorthand(value: Any) -> Any:
    """Return the map that a short name stands for; anything else as it is, but for a short name
    that a strategy goes `over`."""
    if isinstance(value, dict) and "over" in value:
        return {**value, "over": expand_shorthand(value["over"])}
    if not isinstance(value, str):
        return value
    if value in SHORTHANDS:
        return dict(SHORTHANDS[value])
    name, _, number = value.partition(":")
    if name in NUMBERED:
        fields, field = NUMBERED[name]
        if value == _WITHOUT_LIMIT:
            return {**fields, field: number}
        if _NUMBER.fullmatch(number):
            return {**fields, field: int(number)}
    return value


def named(value: Any) -> Any:
    """Return the map that a short name stands for, or that was written; refuse anything else."""
    value = expand_shorthand(value)
    if isinstance(value, str):
        name, _, _ = value.partition(":")
        if name in NUMBERED:
            _, field = NUMBERED[name]
            raise wrong(f"expected {name}:N, N the whole number {field}, got {show(value)}")
        raise wrong(unknown("strategy", value, [*SHORTHANDS, *(f"{n}:N" for n in NUMBERED)]))
    if not isinstance(value, dict | Frozen):
        names = ", ".join([*SHORTHANDS, *(f"{name}:N" for name in NUMBERED)])
        raise wrong(f"expected a name ({names}) or a map, got {show(value)}")
    return value


def label(strategy: Frozen) -> str:
    """Return a strategy's short name, with what differs from it: "ring(chunks=8, overlap)"."""
    fields = strategy.model_dump(by_alias=True, exclude_defaults=True)
    fits = [(name, part) for name, part in SHORTHANDS.items() if part.items() <= fields.items()]
    for name, (part, field) in NUMBERED.items():
        if part.items() <= fields.items() and field in fields:
            fits.append((f"{name}:{fields[field]}", {**part, field: fields[field]}))
    kind = fields["kind"]
    name, said = max(fits, key=lambda fit: len(fit[1]), default=(kind, {"kind": kind}))
    rest = ", ".join(_option(key, getattr(strategy, key)) for key in fields if key not in said)
    return f"{name}({rest})" if rest else name


def _option(name: str, value: Any) -> str:
    if value is True:
        return name
    if name in ("over", "lr_rule"):
        return f"{name}={label(value)}"
    return f"{name}={show_value(f'{value} B') if name == 'bucket' else value}"
