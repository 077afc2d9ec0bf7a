"""torch_npu.testing.decorator: one test for each dtype and memory format."""
from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any


class Dtypes:
    """Decorator: run a test once for each dtype, in a class under ``instantiate_tests``."""

    _name = "dtypes"

    def __init__(self, *args: Any) -> None:
        self.values = args

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Note the values on the test."""
        setattr(function, self._name, self.values)
        return function


class Formats(Dtypes):
    """Decorator: run a test once for each memory format, in a class under ``instantiate_tests``."""

    _name = "formats"


def _fixed(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def test(self: Any) -> Any:
        return function(self, **options)

    return test


def instantiate_tests(arg: Any = None, **kwargs: Any) -> Any:
    """Return the class with a test for each combination of dtypes and formats in place of those that are marked."""
    for name, function in list(vars(arg).items()):
        marks = {key: getattr(function, f"{key}s") for key in ("dtype", "format") if hasattr(function, f"{key}s")}
        if not marks:
            continue
        parameters = inspect.getfullargspec(function).args
        for values in itertools.product(*marks.values()):
            options = {"device": "npu"} if "device" in parameters else {}
            options |= {next(own for own in parameters if key in own): value for key, value in zip(marks, values)}
            ending = "".join(f"_{str(value).rpartition('.')[2]}" for value in values)
            setattr(arg, name + ending, _fixed(function, options))
        delattr(arg, name)
    return arg
