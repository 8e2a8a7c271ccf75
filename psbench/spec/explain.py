"""Turn what pydantic reports into one line for the user."""

from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from psbench.spec.messages import MISSING, FieldError, FieldPath, listed, show, unknown
from psbench.spec.structure import annotations, field_paths, models_in

Paths = dict[str, list[type[BaseModel]]]
"""Models by the dotted paths of the fields that they have; see `field_paths`."""

_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "string_unicode": "valid Unicode text",
    "bool_type": "true or false",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
}
_RANGES = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "greater than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}


def explain(
    error: ValidationError,
    root: type[BaseModel],
    missing: str = MISSING,
    within: type[BaseModel] | None = None,
) -> FieldError:
    """Return the most useful of the problems found while validating a `root`.

    A misspelt field is reported before what it leaves missing, which is worded as `missing`. One in
    the wrong place is told the right one, of the model `within` (by default the root).
    """
    detail = _first(error)
    if detail["type"] == "missing":
        return FieldError(_resolve(detail["loc"], root)[0], missing)
    return _explain(detail, root, field_paths(within or root))


def is_conflict(error: ValidationError) -> bool:
    """Tell whether the problem `explain` reports lies in two fields rather than in one."""
    return _first(error)["type"] == "conflict"


def _first(error: ValidationError) -> ErrorDetails:
    ranks = {"extra_forbidden": 0, "missing": 2}
    return min(error.errors(include_url=False), key=lambda one: ranks.get(one["type"], 1))


def _explain(detail: ErrorDetails, root: type[BaseModel], paths: Paths) -> FieldError:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    path, owner = _resolve(detail["loc"], root)
    if kind == "extra_forbidden":
        return FieldError(path, _unknown_field(path, owner, paths), named=True)
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        kinds = _kinds(owner, path[-1])
        if "kind" not in value:
            return FieldError((*path, "kind"), f"missing; one of {', '.join(kinds)}")
        return FieldError((*path, "kind"), _not_among(f"{path[-1]} kind", value["kind"], kinds))
    if kind == "literal_error":
        known = _literals(annotations(owner)[str(path[-1])])
        return FieldError(path, _not_among(str(path[-1]), value, known))
    at = context["at"].split(".") if "at" in context else ()
    return FieldError((*path, *at), _text(kind, value, context, detail["msg"]))


def _unknown_field(path: FieldPath, owner: type[BaseModel], paths: Paths) -> str:
    name, known = str(path[-1]), annotations(owner)
    models = paths.get(".".join(str(step) for step in path), [])
    kinds = [_tags(model)[0] for model in models if "kind" in model.model_fields]
    if kinds:
        have = "has" if len(kinds) == 1 else "have"
        told = f"{', '.join(kinds)} {have} it"
        return f"unknown field {show(name)}; {told} (known: {listed(list(known))})"
    return unknown("field", name, known, elsewhere=paths)


def _text(kind: str, value: Any, context: dict[str, Any], otherwise: str) -> str:
    if kind == "value_error":
        return str(context["error"])
    if kind == "finite_number":
        return f"must be finite, got {show(value)}"
    if kind in _RANGES:
        limit, words = _RANGES[kind]
        bound = context[limit]
        text = f"{bound:g}" if isinstance(bound, float) else str(bound)
        return f"must be {words} {text}, got {show(value)}"
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, got {show(value)}"
    return otherwise


def _not_among(noun: str, value: Any, known: tuple[str, ...]) -> str:
    if isinstance(value, str):
        return unknown(noun, value, known)
    return f"expected one of {', '.join(known)}, got {show(value)}"


def _literals(annotation: Any) -> tuple[str, ...]:
    """Return the names that a Literal, or a Literal or None, allows."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(name for part in get_args(annotation) for name in _literals(part))


def _kinds(owner: type[BaseModel], field: str | int) -> tuple[str, ...]:
    models = models_in(annotations(owner)[str(field)])
    return tuple(kind for model in models for kind in _tags(model))


def _tags(model: type[BaseModel]) -> tuple[str, ...]:
    """Return what pydantic may put into a location to say that a union's value is a `model`."""
    if "kind" in model.model_fields:
        return get_args(model.model_fields["kind"].annotation)
    return (model.__name__,)


def _resolve(loc: FieldPath, root: type[BaseModel]) -> tuple[FieldPath, type[BaseModel]]:
    """Return `loc` without pydantic's tags of unions, and the model that holds its last field."""
    path: list[str | int] = []
    owner = root
    inside: tuple[type[BaseModel], ...] = (root,)
    for step in loc:
        if len(inside) > 1:
            inside = tuple(model for model in inside if step in _tags(model))
            continue
        if inside:
            owner = inside[0]
        path.append(step)
        inside = models_in(annotations(owner).get(str(step)))
    return tuple(path), owner
