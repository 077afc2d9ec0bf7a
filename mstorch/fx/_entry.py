"""Patching of torch's functions, methods and modules during tracing, so that calls with proxies are recorded."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._src.leaving import Block, Undo, all_of, item_again
from .proxy import proxy_in


class Patches(Block):
    """Context manager that replaces attributes and items temporarily."""

    def __init__(self) -> None:
        self._undo: Undo = []  # the last change is undone first
        self._seen: set[int] = set()
        self._places: set[tuple[int, str]] = set()

    def attribute(self, owner: type, name: str, value: Any) -> None:
        """Replace an attribute until the block ends."""
        own = name in vars(owner)
        before = getattr(owner, name)
        undo = functools.partial(setattr, owner, name, before) if own else functools.partial(delattr, owner, name)
        self._undo[:0] = (undo,)  # directly before the change that it undoes, so that no interrupt comes between
        setattr(owner, name, value)

    def item(self, owner: dict[str, Any], name: str, value: Callable[..., Any]) -> None:
        """Replace or add an item until the block ends."""
        self._undo[:0] = (item_again(owner, name),)
        owner[name] = value

    def _first(self, owner: Any, name: str) -> bool:
        place = (id(owner), name)
        return not (place in self._places or self._places.add(place))  # type: ignore[func-returns-value]

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Callable[..., Any], deduplicate: bool = True) -> None:
        """Wrap an item by ``new_fn``; with ``deduplicate``, once only."""
        if not deduplicate or self._first(frame_dict, name):
            self.item(frame_dict, name, functools.wraps(frame_dict[name])(new_fn) if name in frame_dict else new_fn)

    def patch_method(self, cls: type, name: str, new_fn: Callable[..., Any], deduplicate: bool = True) -> None:
        """Wrap a method by ``new_fn``; with ``deduplicate``, once only."""
        if not deduplicate or self._first(cls, name):
            self.attribute(cls, name, functools.wraps(getattr(cls, name))(new_fn))

    def visit_once(self, thing: Any) -> bool:
        """Return whether an object is visited for the first time."""
        return not (id(thing) in self._seen or self._seen.add(id(thing)))  # type: ignore[func-returns-value]

    def __enter__(self) -> Patches:
        self.at_end(all_of(self._undo))
        return self


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that calls with proxies are recorded."""

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        proxy = proxy_in((*args, *kwargs.values()))
        if proxy is None:
            return function(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True  # so that the graph's code wraps it again, for later traces
        return made

    return recorded
