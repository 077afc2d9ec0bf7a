"""Floating-point arithmetic without NumPy's warnings: infinities and NaN are results, not errors.

``np.errstate`` is written in Python and costs 0.75 µs (NumPy 2) to 2 µs (NumPy 1). NumPy's underlying state is cheaper: the ``extobj=``
argument of a ufunc in NumPy 1 (30 ns), a context variable in NumPy 2 (0.25 µs).
"""
from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ._leaving import built_in_next

if hasattr(np, "seterrobj"):
    _QUIET: Any = [8192, 0, None]  # buffer size, error mask (none), error handler

    _get: Callable[[], Any] = np.geterrobj
    _set: Callable[[Any], Any] = np.seterrobj

    def quietly(ufunc: np.ufunc) -> Callable[..., Any]:
        """Return a ufunc without floating-point warnings."""
        return functools.partial(ufunc, extobj=_QUIET)

else:
    from numpy._core import umath

    _umath: Any = umath
    _QUIET = _umath._make_extobj(all="ignore")
    _get, _set, _reset = _umath._extobj_contextvar.get, _umath._extobj_contextvar.set, _umath._extobj_contextvar.reset

    def quietly(ufunc: Any) -> Callable[..., Any]:
        """Return a ufunc without floating-point warnings."""

        def call(*args: Any, **named: Any) -> Any:
            before = _set(_QUIET)
            try:
                return ufunc(*args, **named)
            finally:
                _reset(before)

        return call


class _Before:
    """``__exit__`` of a block that is about to begin: a built-in function, which a signal handler cannot interrupt, and which restores the
    current state.
    """

    def __get__(self, block: quiet, owner: type | None = None) -> Callable[..., Any]:
        return built_in_next(map(operator.is_, map(_set, (_get(),)), itertools.repeat(block)))  # False, for any setting


class quiet:
    """Context manager that disables floating-point warnings."""

    __slots__ = ()
    __enter__ = staticmethod(built_in_next(map(_set, itertools.repeat(_QUIET))))
    __exit__ = _Before()


silent: Any = SimpleNamespace(**{name: quietly(value) for name, value in vars(np).items() if isinstance(value, np.ufunc)})
"""NumPy's ufuncs without floating-point warnings."""
