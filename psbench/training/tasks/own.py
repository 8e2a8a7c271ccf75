"""A task of the user's own: what the function that `task.model` names returns."""

import contextlib
import copy
import importlib
import inspect
import operator
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from psbench.errors import PsbenchError, SpecError
from psbench.spec import ModelTask
from psbench.spec.messages import unknown
from psbench.training.tasks.arrays import missing
from psbench.training.tasks.task import Task


def working_folder() -> str:
    """Return the working directory, "" where it has been taken away.

    Ray does that to a submitted job, when another one of the same content starts beside it.
    """
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def own_task(spec: ModelTask) -> Task:
    """Return what the function returns for `options` and `data`.

    Its module is looked for in the working directory first. Raises SpecError where there is no such
    function, it raises or calls sys.exit, or it returns something else than a Task.
    """
    name = spec.model
    function = _function(name)
    keywords: dict[str, Any] = copy.deepcopy(spec.options)
    if spec.data is not None:
        if not Path(spec.data).exists():
            raise missing(spec.data)
        keywords["data"] = Path(spec.data)
    _check_call(name, function, keywords)
    with blamed(name, name):
        task = function(**keywords)
    if not isinstance(task, Task):
        raise SpecError(f"task.model: {name} returned {_kind(task)}; return a psbench.Task")
    return task


@contextlib.contextmanager
def blamed(name: str, doing: str) -> Iterator[None]:
    """Turn what the user's code raises into a SpecError that says where in it.

    `name` is the function's as in `task.model`, `doing` what failed. KeyboardInterrupt passes, and
    so do errors of ours. The working directory is put back where it was changed.
    """
    here = working_folder()
    try:
        yield
    except (PsbenchError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a model may call sys.exit, and some libraries raise their own
        problem = f"{type(error).__name__}: {' '.join(_words(error).split())}".rstrip(": ")
        raise SpecError(f"task.model: {doing} failed{_place(error, name)}: {problem}") from error
    finally:
        if here:
            os.chdir(here)


def _function(name: str) -> Callable[..., Any]:
    path, _, attribute = name.partition(":")
    here = working_folder()
    if here and here not in sys.path:
        sys.path.insert(0, here)
    with blamed(name, f"importing {path}"):
        module = _module(path, here)
    try:
        function = operator.attrgetter(attribute)(module)
    except AttributeError:
        text = unknown("function", attribute, _functions(module))
        raise SpecError(f"task.model: {path} ({_short(module.__file__)}): {text}") from None
    if not callable(function):
        raise SpecError(f"task.model: {name} is {_kind(function)}; name a function")
    found: Callable[..., Any] = function
    return found


def _module(path: str, here: str) -> ModuleType:
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise  # it is there, and lacks something itself
        raise SpecError(
            f"task.model: no module {path} in {here}, nor installed;"
            " start psbench in the folder that its path begins in"
        ) from None


def _functions(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_"
    ]


def _check_call(name: str, function: Callable[..., Any], keywords: dict[str, Any]) -> None:
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # some of those in C have none
    try:
        signature.bind(**keywords)
    except TypeError as error:
        raise SpecError(
            f"task.options: {name}{signature} is called with task.options and task.data: {error}"
        ) from None


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "an exception that cannot be shown"


def _place(error: BaseException, name: str) -> str:
    """Return " at FILE:LINE", the innermost line of the user's package, or "" for none."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" at {_short(error.filename)}:{error.lineno}"
    package = name.partition(":")[0].partition(".")[0]
    places = [
        f" at {_short(frame.f_code.co_filename)}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__", "").partition(".")[0] == package
    ]
    return places[-1] if places else ""


def _short(file: str | None) -> str:
    return "built in" if file is None else file.removeprefix(f"{working_folder()}{os.sep}")


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
