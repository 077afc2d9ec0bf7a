"""Context managers whose exit no signal handler can precede, because it is a built-in function.

CPython runs signal handlers when a Python function begins, after a built-in one, and at backward jumps. An exception of a handler
(KeyboardInterrupt) raised as a Python ``__exit__`` begins would therefore prevent the state from being restored. Here ``__exit__`` is the
interpreter's own function that takes an iterator's next value; the values are produced by callbacks that ``__enter__`` has registered,
called by built-in functions only. An ``__enter__`` registers them first, and calls nothing after it has changed the state: it assigns, and
appends to lists by ``items[END:] = (one,)``.
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
_ADDRESS = ctypes.cast(ctypes.pythonapi.PyIter_Next, ctypes.c_void_p).value  # it reads its first argument only
_as_method = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(("PyInstanceMethod_New", ctypes.pythonapi))
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(("PyCFunction_NewEx", ctypes.pythonapi))


class _Definition(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


_definition = _Definition(b"__exit__", _ADDRESS, _VARARGS, None)
_WHERE = ctypes.addressof(_definition)
_call = operator.methodcaller("__call__")


class _Exit:
    """Descriptor for ``__exit__`` of a Block: reading it returns a built-in function that runs the callbacks which the innermost
    ``__enter__`` registered in the current thread.
    """

    def __get__(self, block: Block | None, owner: type | None = None) -> Callable[..., Any]:
        return self if block is None else _ends(block)[1]

    def __call__(self, block: Any, *error: Any) -> Any:
        return _ends(block)[1](*error)


def _ends(block: Any) -> tuple[list[Callable[[], Any]], Callable[..., Any]]:
    """Return the callbacks registered for the exits of a block, and the function that runs the last."""
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
    """Return a built-in function that returns the next of the values, and ignores its arguments."""
    return _new(_WHERE, values, None)


def built_in_call(name: str) -> Any:
    """Return a method that calls the attribute ``name`` of its object; being built in, it cannot be interrupted by a signal handler before
    the call.
    """
    return _as_method(operator.methodcaller(name))


def is_exit(function: Any) -> bool:
    """Return whether a built-in function is the exit of a block."""
    return type(getattr(function, "__self__", None)) is map and function.__name__ == "__exit__"


END = sys.maxsize


class Block:
    """Context manager whose exit cannot be interrupted: ``__enter__`` passes the callback that restores the state to ``at_end``.

    The callback consists of built-in functions, and returns a false value: a true one would suppress the block's exception.
    """

    __slots__ = ()
    __exit__ = _Exit()

    def at_end(self, end: Callable[[], Any]) -> None:
        """Register the callback for the exit of the block that is about to begin."""
        _ends(self)[0].append(end)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_ends"}


def values_again(space: Any, *names: str) -> Callable[[], Any]:
    """Return a function that restores the current attributes of an object (or of a ``threading.local`` in this thread)."""
    return functools.partial(vars(space).update, {name: getattr(space, name) for name in names})


def length_again(items: list[Any]) -> Callable[[], Any]:
    """Return a function that removes all items appended to a list from now on."""
    return functools.partial(operator.delitem, items, slice(len(items), None))


def each(*ends: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function, to be called once, that calls the given functions in order. It returns a false value."""
    return functools.partial(deque, map(_call, ends), 0)  # discards the results, and returns an empty deque, which is false


def all_of(ends: list[Callable[[], Any]]) -> Callable[[], Any]:
    """Return a function, to be called once, that calls all functions which the list then contains. It returns a false value."""
    return functools.partial(deque, map(_call, ends), 0)


class values_set_to(Block, ContextDecorator):
    """Context manager and decorator that sets attributes of an object, or of a ``threading.local`` in this thread."""

    def __init__(self, space: Any, /, **values: Any) -> None:
        self._space, self._values = space, values

    def __enter__(self) -> None:
        self.at_end(values_again(self._space, *self._values))
        members = vars(self._space)
        members |= self._values  # an operator: signal handlers do not run after it


def item_again(items: Any, key: Any) -> Callable[[], Any]:
    """Return a function that restores the current item of a list or a dictionary, or removes it if it does not exist now."""
    if isinstance(items, MutableMapping) and key not in items:
        return each(functools.partial(items.pop, key, None))
    return functools.partial(operator.setitem, items, key, items[key])


class item_set_to(Block, ContextDecorator):
    """Context manager that sets an item of a list or a dictionary."""

    def __init__(self, items: Any, key: Any, value: int | Callable[..., Any] | None) -> None:
        self._items, self._key, self._value = items, key, value

    def __enter__(self) -> None:
        self.at_end(item_again(self._items, self._key))
        self._items[self._key] = self._value


class LastAway:
    """An ``__exit__`` that removes the last item of a list, even if another block appended that item, as torch's mode stacks do."""

    def __init__(self, items: Callable[[], list[Any]]) -> None:
        self._items = items

    def __get__(self, block: object, owner: type | None = None) -> Callable[..., Any]:
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
    """Make a context manager from a function that changes state.

    The function's first argument is a list of undo callbacks, which must be built-in functions. Before each change the function adds a
    callback: at the end (``undo[END:] = (one,)``), or at the beginning to undo in reverse order."""

    @functools.wraps(begin)
    def made(*args: Any, **kwargs: Any) -> _Undoing:
        return _Undoing(lambda undo: begin(undo, *args, **kwargs))

    whole = inspect.signature(begin)
    made.__signature__ = whole.replace(parameters=list(whole.parameters.values())[1:])  # type: ignore[attr-defined]
    return made
