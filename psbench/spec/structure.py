"""The shape of the models: their common settings, and which fields they have."""

from typing import Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """What all models of a spec share: immutable, no unknown fields, no conversion of types."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )


def models_in(annotation: Any) -> tuple[type[BaseModel], ...]:
    """Return the models an annotation allows: several where it is a union of them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return (annotation,)
    return tuple(model for part in get_args(annotation) for model in models_in(part))


def annotations(model: type[BaseModel]) -> dict[str, Any]:
    """Return the type of each field of `model`, by the name a user writes (`global`)."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def field_paths(model: type[BaseModel], prefix: str = "") -> dict[str, list[type[BaseModel]]]:
    """Return each dotted path into `model` with the models that have a field there.

    A list of models is one field: no path leads into it.

    A path has several models where a union's members share a field name ("task.dtype").
    """
    paths: dict[str, list[type[BaseModel]]] = {}
    for name, annotation in annotations(model).items():
        path = f"{prefix}{name}"
        paths.setdefault(path, []).append(model)
        for inner in () if _is_list(annotation) else models_in(annotation):
            for inner_path, owners in field_paths(inner, f"{path}.").items():
                paths.setdefault(inner_path, []).extend(owners)
    return paths


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) in (list, tuple)


def free_maps(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the dotted paths into `model` whose value is a map with keys of the user's choice."""
    return tuple(
        path
        for path, owners in field_paths(model).items()
        if any(get_origin(annotations(o)[path.rpartition(".")[2]]) is dict for o in owners)
    )
