"""The JSON Schema of a spec, for editors."""

import re
from typing import Any

from psbench.spec.cell import Cell
from psbench.spec.names import LINK_PRESETS
from psbench.spec.short_names import SHORTHANDS, numbered_pattern
from psbench.spec.spec import Spec
from psbench.spec.structure import field_paths, free_maps

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def spec_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a spec file.

    Only `name` is required: any other field may be completed by the matrix, which a schema cannot
    follow. Loading the spec checks that, and what fields demand of each other.
    """
    cell = _relaxed(Cell.model_json_schema())
    own = _relaxed(Spec.model_json_schema())["properties"]
    cell["properties"]["strategy"] = _or_shorthand(cell["properties"]["strategy"])
    cell["properties"]["network"] = _or_preset(cell["properties"]["network"])
    for model in cell["$defs"].values():
        if "over" in model["properties"]:
            model["properties"]["over"] = _or_shorthand(model["properties"]["over"])
        if "inside" in model["properties"]:
            model["properties"]["inside"] = _or_preset(model["properties"]["inside"])
    fields = _field_schemas(cell)
    properties = {"name": own["name"]} | cell["properties"]
    properties["matrix"] = _matrix_schema(fields, own["matrix"]["description"])
    properties |= {"repeats": own["repeats"], "seed": own["seed"]}
    return {
        "$schema": _DIALECT,
        "title": "psbench spec",
        "type": "object",
        "properties": properties,
        "required": ["name"],
        "additionalProperties": False,
        "$defs": cell["$defs"],
    }


def _relaxed(schema: Any) -> Any:
    """Return `schema` with nothing required, so that a part may be left to the matrix."""
    if isinstance(schema, list):
        return [_relaxed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    # Without required fields several members of a union can fit, hence anyOf.
    kept = {"anyOf" if key == "oneOf" else key: part for key, part in schema.items()}
    return {
        key: part if key == "default" else _relaxed(part)
        for key, part in kept.items()
        if key not in ("required", "discriminator")
        and not (key == "title" and isinstance(part, str))
    }


def _or_shorthand(schema: dict[str, Any]) -> dict[str, Any]:
    rest = {key: part for key, part in schema.items() if key != "anyOf"}
    names = [{"enum": list(SHORTHANDS)}, {"type": "string", "pattern": numbered_pattern()}]
    return {"anyOf": [*names, *schema["anyOf"]], **rest}


def _or_preset(schema: dict[str, Any]) -> dict[str, Any]:
    rest = {key: part for key, part in schema.items() if key != "anyOf"}
    return {"anyOf": [{"enum": list(LINK_PRESETS)}, *schema["anyOf"]], **rest}


def _field_schemas(cell: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of each dotted path into a cell."""
    found: dict[str, Any] = {}
    for path, owners in field_paths(Cell).items():
        name = path.rpartition(".")[2]
        choices = [
            (cell if owner is Cell else cell["$defs"][owner.__name__])["properties"][name]
            for owner in owners
        ]
        found[path] = choices[0] if len(choices) == 1 else {"anyOf": choices}
    return found


def _matrix_schema(fields: dict[str, Any], description: str) -> dict[str, Any]:
    inside = [rf"^{re.escape(path)}\..+" for path in free_maps(Cell)]
    entries = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": fields,
            "patternProperties": {path: {} for path in inside},
            "additionalProperties": False,
        },
    }
    axes = {path: _axis_schema(one) for path, one in fields.items()}
    return {
        "description": description,
        "type": ["object", "null"],
        "properties": axes | {"include": entries, "exclude": entries},
        "patternProperties": {path: _axis_schema({}) for path in inside},
        "additionalProperties": False,
    }


def _axis_schema(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "items": value}
