"""Floating-point arithmetic without NumPy's warnings: infinities and NaN are results, not errors.

``np.errstate`` is written in Python and costs 0.75 µs (NumPy 2) to 2 µs (NumPy 1). NumPy's underlying state is cheaper: the ``extobj=``
argument of a ufunc in NumPy 1 (30 ns), a context variable in NumPy 2 (0.25 µs).
"""
from __future__ import annotations

import contextvars
import functools
import itertools
import operator
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from .leaving import built_in_next

if hasattr(np, "seterrobj"):
    _QUIET: Any = [8192, 0, None]  # buffer size, error mask (none), error handler

    _get: Callable[[], Any] = np.geterrobj
    _set: Callable[[Any], Any] = np.seterrobj

    def quietly(ufunc: np.ufunc) -> Callable[..., Any]:
        """Return a ufunc without floating-point warnings."""
        return functools.partial(ufunc, extobj=_QUIET)

    class _Silence:
        """Calls ufuncs and their methods without floating-point warnings."""

        @staticmethod
        def run(function: Any, *args: Any, **named: Any) -> Any:
            """Call a ufunc, or a method of one, which takes no ``extobj=``."""
            if function.__class__ is np.ufunc:
                return function(*args, extobj=_QUIET, **named)
            with quiet():
                return function(*args, **named)

    silence: Any = _Silence()

    def _set_again(state: Any) -> Iterator[Any]:
        """Return an iterator that sets a state at each step: a copy, because ``np.seterr`` changes the list that is set."""
        return map(_set, map(list, itertools.repeat(tuple(state))))

else:
    from numpy._core import umath

    _umath: Any = umath
    _QUIET = _umath._make_extobj(all="ignore")
    # A partial function, because Python tells a profile function of calls of built-in functions alone, and an interrupt may end the profile
    # function of the call that restores the state.
    _get, _set = _umath._extobj_contextvar.get, functools.partial(_umath._extobj_contextvar.set)

    class _Context(threading.local):
        """A context of the thread, in which warnings are off: ``run(ufunc, …)`` calls a ufunc there, with nothing to restore afterwards.

        Nothing can enter a context twice, so that each thread has its own. The collector may run a finalizer within a ufunc, and that
        another one: then RuntimeError is raised, and the ufunc can be called as it is, because the thread is in the context."""

        def __init__(self) -> None:
            context = contextvars.Context()
            context.run(_set, _QUIET)
            self.run: Callable[..., Any] = context.run

    silence = _Context()

    def quietly(ufunc: Any) -> Callable[..., Any]:
        """Return a ufunc without floating-point warnings; ``silence.run(ufunc, …)`` calls it in half the time."""

        def call(*args: Any, **named: Any) -> Any:
            try:
                return silence.run(ufunc, *args, **named)
            except RuntimeError:  # see ``_Context``
                return ufunc(*args, **named)

        return call

    def _set_again(state: Any) -> Iterator[Any]:
        """Return an iterator that sets a state at each step."""
        return map(_set, itertools.repeat(state))


_RESTORES: dict[Any, Callable[..., Any]] = {}
"""For each state of NumPy a function that sets it. The function is a step of an endless iterator, so that all blocks share it."""
_MOST = 64  # number of states that are kept


def _key(state: list[Any]) -> tuple[Any, Any] | None:
    """Return the key of NumPy 1's state in ``_RESTORES``; None if it has an error handler of the program's, which would be kept alive."""
    return None if state[2] is not None else (state[0], state[1])


_STATES: dict[Any, tuple[Any, ...]] = {}


def error_state() -> tuple[Any, ...]:
    """Return what NumPy does at floating-point errors, as ``np.geterr`` returns it, without a call in Python where it is known."""
    state = _get()
    key = tuple(state) if state.__class__ is list else state  # NumPy 2: an object, which the dict holds
    known = _STATES.get(key)
    if known is None:
        if len(_STATES) >= _MOST:
            _STATES.clear()
        known = _STATES[key] = tuple(np.geterr().values())
    return known


class _Before:
    """``__exit__`` of a block that is about to begin: a built-in function, which a signal handler cannot interrupt, and which restores the
    current state.
    """

    def __get__(self, block: quiet, owner: type | None = None) -> Callable[..., Any]:
        state = _get()
        key = _key(state) if state.__class__ is list else id(state)  # NumPy 2: an object, which the dict's function holds
        found = _RESTORES.get(key)
        if found is None:
            found = built_in_next(map(operator.is_, _set_again(state), itertools.repeat(_Before)))  # False
            if key is not None and len(_RESTORES) < _MOST:
                _RESTORES[key] = found
        return found


class quiet:
    """Context manager that disables floating-point warnings."""

    __slots__ = ()
    __enter__ = staticmethod(built_in_next(_set_again(_QUIET)))
    __exit__ = _Before()


silent: Any = SimpleNamespace(**{name: quietly(value) for name, value in vars(np).items() if isinstance(value, np.ufunc)})
"""NumPy's ufuncs without floating-point warnings."""
