"""Blocks whose end no signal comes before: what puts back is a built-in function.

CPython runs the handlers of signals as a function written in Python begins, after a built-in one, and at jumps back. So an exception of a
handler (KeyboardInterrupt) that comes as an ``__exit__`` written in Python begins leaves everything as the block had it, for good. Here
``__exit__`` is the interpreter's own function that takes an iterator's next value; the values are results of what ``__enter__`` wrote down
for the end, called by built-in functions alone. An ``__enter__`` writes that down first, and calls nothing after it has set what it sets:
it assigns, and puts things at the end of a list by ``items[END:] = (one,)``.
"""
from __future__ import annotations

import ctypes
import functools
import inspect
import operator
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import ContextDecorator
from typing import Any

_VARARGS = 0x0001
_ADDRESS = ctypes.cast(ctypes.pythonapi.PyIter_Next, ctypes.c_void_p).value  # reads its first argument only
_as_method = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(("PyInstanceMethod_New", ctypes.pythonapi))
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(("PyCFunction_NewEx", ctypes.pythonapi))


class _Definition(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


_definition = _Definition(b"__exit__", _ADDRESS, _VARARGS, None)
_WHERE = ctypes.addressof(_definition)
_call = operator.methodcaller("__call__")


class _Exit:
    """``__exit__`` of a block: in the thread that asks, what ends the innermost of the times that it was entered."""

    def __get__(self, block: Any, owner: type | None = None) -> Callable[..., Any]:
        return self if block is None else _ends(block)[1]

    def __call__(self, block: Any, *error: Any) -> Any:
        return _ends(block)[1](*error)


def _ends(block: Any) -> tuple[list[Callable[[], Any]], Callable[..., Any]]:
    """Return what is written down for the ends of a block, and what does the last of it."""
    threads = getattr(block, "_ends", None)
    if threads is None:
        threads = block._ends = {}
    number = threading.get_ident()
    found = threads.get(number)
    if found is None:
        ends: list[Callable[[], Any]] = []
        found = threads[number] = ends, built_in_next(map(_call, iter(ends.pop, None)))
    return found


def built_in_next(values: Iterator[Any]) -> Callable[..., Any]:
    """Return a built-in function that gives the next of the values, whatever it is given."""
    return _new(_WHERE, values, None)


def built_in_call(name: str) -> Any:
    """Return a method that calls the attribute of that name, without a Python function of its own that an interrupt could divide."""
    return _as_method(operator.methodcaller(name))


def is_exit(function: Any) -> bool:
    """Return whether a built-in function ends a block."""
    return type(getattr(function, "__self__", None)) is map and function.__name__ == "__exit__"


END = sys.maxsize


class Block:
    """A context manager that is left without being interrupted: ``__enter__`` gives ``at_end`` what puts everything back.

    What it gives consists of built-in functions, and is false: a result that is true would swallow the block's exception.
    """

    __slots__ = ()
    __exit__ = _Exit()

    def at_end(self, end: Callable[[], Any]) -> None:
        """Call this at the end of the block that is about to begin."""
        _ends(self)[0].append(end)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_ends"}


def values_again(space: Any, *names: str) -> Callable[[], Any]:
    """Return a function that gives attributes of an object (or of a ``threading.local`` in this thread) their values of now."""
    return functools.partial(vars(space).update, {name: getattr(space, name) for name in names})


def length_again(items: list[Any]) -> Callable[[], Any]:
    """Return a function that removes all items that are appended to a list from now on."""
    return functools.partial(operator.delitem, items, slice(len(items), None))


def each(*ends: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function that calls all of these, one after the other."""
    return functools.partial(deque, map(_call, ends), 0)  # keeps none of the results, and is false


def all_of(ends: list[Callable[[], Any]]) -> Callable[[], Any]:
    """Return a function that calls all the functions that are in a list by then."""
    return functools.partial(deque, map(_call, ends), 0)


class values_set_to(Block, ContextDecorator):
    """Attributes of an object, or of this thread in a ``threading.local``, that have other values in a block or a decorated function."""

    def __init__(self, space: Any, /, **values: Any) -> None:
        self._space, self._values = space, values

    def __enter__(self) -> None:
        self.at_end(values_again(self._space, *self._values))
        members = vars(self._space)
        members |= self._values  # an operator: no signal is looked for after it


def item_again(items: Any, key: Any) -> Callable[[], Any]:
    """Return a function that gives an item of a list or a dictionary its value of now, or removes it if there is none now."""
    if isinstance(items, MutableMapping) and key not in items:
        return each(functools.partial(items.pop, key, None))
    return functools.partial(operator.setitem, items, key, items[key])


class item_set_to(Block, ContextDecorator):
    """An item of a list or a dictionary that has another value in a block."""

    def __init__(self, items: Any, key: Any, value: Any) -> None:
        self._items, self._key, self._value = items, key, value

    def __enter__(self) -> None:
        self.at_end(item_again(self._items, self._key))
        self._items[self._key] = self._value


class LastAway:
    """``__exit__`` of a block that put an item at the end of a list: takes the last one away, whosever it is, as torch's stacks do."""

    def __init__(self, items: Callable[[], list[Any]]) -> None:
        self._items = items

    def __get__(self, block: Any, owner: type | None = None) -> Callable[..., Any]:
        if block is None:
            return self
        return built_in_next(map(_call, iter((functools.partial(operator.delitem, self._items(), slice(-1, None)),))))

    def __call__(self, block: Any, *error: Any) -> Any:
        return self.__get__(block)(*error)


Undo = list[Callable[[], Any]]


class _Undoing(Block, ContextDecorator):
    def __init__(self, begin: Callable[[Undo], Any]) -> None:
        self._begin = begin

    def __enter__(self) -> Any:
        undo: Undo = []
        self.at_end(all_of(undo))
        try:
            return self._begin(undo)
        except BaseException:
            _ends(self)[1]()
            raise


def undoing(begin: Callable[..., Any]) -> Callable[..., _Undoing]:
    """Let a function begin a block. It makes one change after the other, and before each puts what undoes it, made of built-in functions,
    into the list that is its first argument: at the end (``undo[END:] = (one,)``), or at the beginning of what is to be undone backwards.
    """

    @functools.wraps(begin)
    def made(*args: Any, **kwargs: Any) -> _Undoing:
        return _Undoing(lambda undo: begin(undo, *args, **kwargs))

    whole = inspect.signature(begin)
    made.__signature__ = whole.replace(parameters=list(whole.parameters.values())[1:])  # type: ignore[attr-defined]
    return made
