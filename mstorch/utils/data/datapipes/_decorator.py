"""Decorators of datapipes: functional forms, determinism, type checks."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_type_hints

from ...._src.leaving import Block
from ._typing import _DataPipeMeta
from .datapipe import IterDataPipe, MapDataPipe


class functional_datapipe:
    """Class decorator that registers a datapipe as the method ``name`` of all datapipes of the same base class (iterable or map-style).

    With ``enable_df_api_tracing`` the method's result is traced as data frames. Raises TypeError for other classes.
    """

    name: str

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        """Register the class and return it."""
        if issubclass(cls, IterDataPipe):
            IterDataPipe.register_datapipe_as_function(self.name, cls, enable_df_api_tracing=self.enable_df_api_tracing)
        elif issubclass(cls, MapDataPipe):
            MapDataPipe.register_datapipe_as_function(self.name, cls)
        return cls


_determinism = False


class guaranteed_datapipes_determinism(Block):
    """Context manager in which constructing a non-deterministic datapipe raises TypeError; in effect from its creation."""

    prev: bool

    def __init__(self) -> None:
        global _determinism
        self.prev = _determinism
        _determinism = True

    def __enter__(self) -> None:
        self.at_end(partial(setattr, sys.modules[__name__], "_determinism", self.prev))


class non_deterministic:
    """Class decorator that marks a datapipe as non-deterministic, always or if a function of its arguments returns True.

    Raises TypeError for classes other than IterDataPipe, and when such a datapipe is constructed under
    ``guaranteed_datapipes_determinism``.
    """

    cls: type[IterDataPipe[Any]] | None = None
    deterministic_fn: Callable[..., bool]

    def __init__(self, arg: type[IterDataPipe[Any]] | Callable[..., bool]) -> None:
        if isinstance(arg, type):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(
                    f"Only `IterDataPipe` can be decorated with `non_deterministic`, but {arg.__name__} is found"
                )
            self.cls = arg
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Construct the datapipe; if the decorator was given a function, decorate the class instead."""
        if self.cls is not None:
            if _determinism:
                raise TypeError(
                    f"{self.cls.__name__} is non-deterministic, but you set 'guaranteed_datapipes_determinism'. "
                    "You can turn off determinism for this DataPipe if that is acceptable for your application"
                )
            return self.cls(*args, **kwargs)
        if not (isinstance(args[0], type) and issubclass(args[0], IterDataPipe)):
            raise TypeError(f"Only `IterDataPipe` can be decorated, but {args[0].__name__} is found")
        self.cls = args[0]
        return self.deterministic_wrapper_fn

    def deterministic_wrapper_fn(self, *args: Any, **kwargs: Any) -> IterDataPipe[Any]:
        """Construct the datapipe. Raise TypeError if its arguments make it non-deterministic where that is forbidden."""
        varies = self.deterministic_fn(*args, **kwargs)
        if not isinstance(varies, bool):
            raise TypeError(
                "deterministic_fn of `non_deterministic` decorator is required "
                f"to return a boolean value, but {type(varies)} is found"
            )
        assert self.cls is not None
        if _determinism and varies:
            raise TypeError(
                f"{self.cls.__name__} is non-deterministic with the inputs, but you set "
                "'guaranteed_datapipes_determinism'. You can turn off determinism "
                "for this DataPipe if that is acceptable for your application"
            )
        return self.cls(*args, **kwargs)


def argument_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function to raise TypeError unless arguments hinted as datapipes are of a subtype.

    A class without a ``type`` of its own raises AttributeError, as in torch 2.13.
    """
    signature = inspect.signature(f)
    hints = get_type_hints(f)

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            hint = hints.get(name)
            if not isinstance(hint, _DataPipeMeta):
                continue
            if not isinstance(value, IterDataPipe):
                raise TypeError(f"Expected argument '{name}' as a IterDataPipe, but found {type(value)}")
            if not value.type.issubtype(hint.type):
                raise TypeError(
                    f"Expected type of argument '{name}' as a subtype of hint {hint.type}, but found {value.type}"
                )
        return f(*args, **kwargs)

    return wrapper


_runtime_validation_enabled = True


class runtime_validation_disabled(Block):
    """Context manager in which ``runtime_validation`` checks nothing; in effect from its creation."""

    prev: bool

    def __init__(self) -> None:
        global _runtime_validation_enabled
        self.prev = _runtime_validation_enabled
        _runtime_validation_enabled = False

    def __enter__(self) -> None:
        self.at_end(partial(setattr, sys.modules[__name__], "_runtime_validation_enabled", self.prev))


def runtime_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a datapipe's ``__iter__`` to raise RuntimeError unless each sample is of the datapipe's ``type``.

    Raise TypeError for a function of another name.
    """
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")

    @functools.wraps(f)
    def wrapper(self: Any) -> Iterator[Any]:
        if not _runtime_validation_enabled:
            yield from f(self)
            return
        for sample in f(self):
            if not self.type.issubtype_of_instance(sample):
                raise RuntimeError(
                    f"Expected an instance as subtype of {self.type}, but found {sample}({type(sample)})"
                )
            yield sample

    return wrapper
