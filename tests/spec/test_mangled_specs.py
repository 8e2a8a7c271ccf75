"""A whole spec with values set, added and taken away at random: a spec still, or one plain line."""

import contextlib
import copy
import json

from hypothesis import given
from hypothesis import strategies as st

from psbench.errors import SpecError
from psbench.spec import Spec

_WHOLE = {
    "name": "x",
    "task": {"model": "digits_mlp", "optimizer": {"kind": "sgd", "lr": 0.1, "momentum": 0.9}},
    "batch": {"per_worker": 4},
    "steps": 10,
    "warmup": 1,
    "target": {"accuracy": 0.9},
    "strategy": {"kind": "all_reduce", "algorithm": "ring", "chunks": 4},
    "workers": 2,
    "matrix": {
        "workers": [2, 4],
        "strategy": ["ring", "ps-sync"],
        "include": [{"workers": 3, "task.optimizer.lr": 0.5}],
        "exclude": [{"workers": 4, "strategy": "ring"}],
    },
    "repeats": 2,
    "seed": 1,
}


def _places(value, path=()):
    """Yield the path of every value in `value`."""
    yield path
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from _places(inner, (*path, key))


_words = ["sgd", "adam", "model", "payload", "4 MiB", "kind", "none", "ring", "global", "workers"]
_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
_values = st.recursive(
    _scalars | st.sampled_from(_words),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_words) | st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
_changes = st.lists(
    st.tuples(
        st.sampled_from(["set", "delete", "add"]),
        st.sampled_from([path for path in _places(_WHOLE) if path]),
        st.sampled_from(_words) | st.text(max_size=4),
        _values,
    ),
    min_size=1,
    max_size=3,
)


def _change(document, action, path, name, value) -> None:
    *parents, last = path
    for step in parents:
        document = document[step]
    if action == "delete":
        del document[last]
    else:
        document[name if action == "add" else last] = value


def _spec_or_problem(document) -> tuple[Spec | None, str]:
    try:
        return Spec(**document), ""
    except SpecError as error:
        return None, str(error)


@given(_changes)
def test_a_mangled_spec_is_a_spec_or_a_spec_error(changes):
    document = copy.deepcopy(_WHOLE)
    for change in changes:
        # An earlier change may have taken the place of a later one away.
        with contextlib.suppress(KeyError, IndexError, TypeError):
            _change(document, *change)
    spec, problem = _spec_or_problem(document)
    if spec is None:
        assert "\n" not in problem
        assert "pydantic" not in problem
    else:
        assert Spec(**json.loads(json.dumps(spec.document()))) == spec
