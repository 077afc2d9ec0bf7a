"""Watch the calls of a function during capture: each called function must be guarded or on a list of allowed functions.

Everything else aborts the capture before it runs: files, clocks, process state, computed attribute names. ``sys.setprofile`` reports the
calls of Python functions and built-ins.
"""
from __future__ import annotations

import array
import builtins
import collections
import contextvars
import decimal
import fractions
import gc
import io
import os
import re
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend.trace import GraphBreak
from ..leaving import is_exit
from .guards import Guards
from .origins import NAMED_TUPLE, OWN, PYTHON, USER, origin_of_class, origin_of_code

_BUILTINS = frozenset(
    "abs aiter all any ascii bin callable chr delattr divmod format getattr hasattr hash hex isinstance issubclass iter len max min next "
    "oct ord pow print repr round setattr sorted sum __build_class__".split()
)
_MODULES = frozenset(
    "math cmath _operator itertools _functools _collections _collections_abc _bisect _heapq _abc _typing _struct zlib binascii _weakref "
    "_sre _string unicodedata _statistics _json _codecs _datetime _imp".split()
)
_FUNCTIONS = frozenset((("posix", "fspath"), ("nt", "fspath"), ("_warnings", "warn"), ("sys", "intern"), ("sys", "getsizeof")))
# Types whose methods depend only on the object's contents.
_TYPES = frozenset((
    object, type, bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, slice, property, memoryview,
    type({}.keys()), type({}.values()), type({}.items()), type(iter([])), type(iter(())), types.MappingProxyType, types.GeneratorType,
    types.CodeType, types.FunctionType, types.MethodType, types.GenericAlias, BaseException, Exception, re.Pattern, re.Match,
    collections.deque, collections.OrderedDict, collections.defaultdict, array.array, decimal.Decimal, decimal.Context,
    fractions.Fraction, contextvars.ContextVar,
))  # fmt: skip
_UNLESS = frozenset(("__subclasses__", "__dir__"))
# Modules of Python's library whose functions depend only on their arguments; the functions that they call are watched too.
_LIBRARY = frozenset(
    "abc _collections_abc _weakrefset weakref collections contextlib copy copyreg dataclasses enum functools types typing numbers "
    "operator re sre_compile sre_parse string textwrap fractions statistics heapq bisect inspect keyword reprlib posixpath ntpath "
    "genericpath pathlib colorsys json base64 struct codecs encodings typing_extensions importlib._bootstrap".split()
)
_TOLD = frozenset(("logging", "warnings"))  # their effects are only messages for readers
# These are allowed if mstorch calls them. Torch itself replaces ``inspect.getfile``.
_READING = frozenset(("linecache", "tokenize", "traceback", "importlib._bootstrap", "torch.package.package_importer"))
_OPENING = (io.open, os.open)
_READERS = (np.fromfile, np.may_share_memory, np.shares_memory)
# Attributes by which code reaches values that no guard covers.
_INNER = frozenset((
    "__globals__", "__builtins__", "__subclasses__", "__closure__", "__code__", "f_globals", "f_locals", "f_back", "f_code", "tb_frame",
    "gi_frame", "cr_frame", "cell_contents", "__loader__", "__spec__",
))  # fmt: skip
# Members that depend on how a tensor was made, which a graph's tensors do not reproduce.
_OF_TENSORS = frozenset(
    "storage_offset _version grad_fn _base data_ptr _is_view output_nr untyped_storage storage is_inference is_shared is_pinned "
    "retains_grad _backward_hooks is_conj is_neg".split()
)
_HOME = __name__.partition(".")[0]
# Packages of mstorch whose results depend on the process, on files or on other processes.
_OUTSIDE = tuple(
    f"{_HOME}.{room}"
    for room in ("multiprocessing", "serialization", "_src.serialization", "hub", "distributed", "monitor", "profiler", "cuda.memory")
)
# Modules of wrappers around mstorch's functions, through which programs call them.
_AROUND = frozenset((f"{_HOME}._src.core.overriding", f"{_HOME}._src.core.no_memory", f"{_HOME}._src.core.decorating"))


class Again(GraphBreak):
    """Raised when a new tensor was discovered while the function ran; the capture restarts with it."""


class Watch:
    """Observer of the calls of a function during capture; ``stop`` aborts with a reason."""

    def __init__(self, guards: Guards, stop: Callable[[GraphBreak], None]) -> None:
        self.guards = guards
        self.stop = stop
        self._allowed: set[int] = set()
        self._telling: Any = None  # the frame or built-in function that is issuing a log message or a warning

    def called(self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function while its calls are watched, and return its result.

        Garbage collection is postponed, as callbacks and finalizers of unrelated objects would be observed too.
        """
        before, collecting = sys.getprofile(), gc.isenabled()
        try:
            try:
                gc.disable()
                sys.setprofile(self._see)
                return function(*args, **kwargs)
            finally:
                sys.setprofile(before)
        finally:
            if collecting:
                gc.enable()

    def _see(self, frame: types.FrameType, event: str, called: Any) -> None:
        if self._telling is not None:
            if self._telling is (frame if event == "return" else called if event in ("c_return", "c_exception") else self):
                self._telling = None
            return
        if event == "call":
            origin = origin_of_code(frame.f_code, frame.f_globals)
            if origin is USER and not self._reads(frame):
                self._enter(frame)
            elif origin is PYTHON:
                self._library(frame)
            elif frame.f_code.co_name in _OF_TENSORS and _is_asked(frame):
                self.stop(GraphBreak(f"{frame.f_code.co_name} of a tensor says how it came to be"))
            elif str(frame.f_globals.get("__name__")).startswith(_OUTSIDE) and _is_asked(frame):
                self.stop(GraphBreak(f"{frame.f_code.co_name} asks for what lies outside of the function"))
        elif event == "c_call":
            if _is_users(frame) or (called in _OPENING and _asker(frame).startswith("numpy")):
                self._built_in(frame, called)
            elif called is gc.collect:  # called by MindSpore: callbacks and finalizers that run now are not part of the function
                self._telling = called

    def _enter(self, frame: types.FrameType) -> None:
        code = frame.f_code
        if id(code) in self._allowed:
            return
        if not _INNER.isdisjoint(code.co_names):
            name = next(name for name in code.co_names if name in _INNER)
            self.stop(GraphBreak(f"{code.co_name} uses {name}, by which it may get at anything"))
        known = len(self.guards.tensors)
        try:
            known_code = self.guards.enter(code)
        except GraphBreak as reason:  # kept as the first reason, should the function catch it
            self.stop(reason)
        if not known_code:
            self.stop(GraphBreak(f"{code.co_name} is a function that no guard knows"))
        self._allowed.add(id(code))
        if len(self.guards.tensors) != known:
            self.stop(Again("a tensor came to light"))

    def _reads(self, frame: types.FrameType) -> bool:
        """Return whether a function reads source files on behalf of mstorch; the functions that it calls are ignored."""
        if frame.f_globals.get("__name__") not in _READING or _is_users(frame.f_back):
            return False
        self._telling = frame
        return True

    def _library(self, frame: types.FrameType) -> None:
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] in _TOLD:
            self._telling = frame
        elif not _is_users(frame.f_back):
            self._reads(frame)
        elif module == "os":
            self.guards.environment()
        elif not module.startswith(NAMED_TUPLE) and module not in _LIBRARY and module.partition(".")[0] not in _LIBRARY:
            self.stop(GraphBreak(f"{module}.{frame.f_code.co_name} may depend on what no guard knows"))

    def _built_in(self, frame: types.FrameType, called: Any) -> None:
        name = called.__name__
        if called is builtins.print or (called.__module__, name) == ("_warnings", "warn"):
            self._telling = called
        elif called is builtins.getattr or called is builtins.hasattr:
            self.guards.computes_names()
        else:
            place = _forbidden(called, name)
            if place:
                self.stop(GraphBreak(f"{place} gives what no guard knows, and may give another value each time"))


def _calling_frame(frame: Any) -> Any:
    """Return the innermost frame outside of Python's standard library, from ``frame`` outwards."""
    while frame is not None and origin_of_code(frame.f_code, frame.f_globals) is PYTHON:
        frame = frame.f_back
    return frame


def _is_users(frame: Any) -> bool:
    """Return whether a frame belongs to the user's code, or to standard library code that the user's code called."""
    frame = _calling_frame(frame)
    return frame is not None and origin_of_code(frame.f_code, frame.f_globals) is USER


def _asker(frame: Any) -> str:
    frame = _calling_frame(frame)
    return "" if frame is None else str(frame.f_globals.get("__name__"))


def _is_asked(frame: types.FrameType) -> bool:
    """Return whether the user's code called an mstorch function directly."""
    asking = frame.f_back
    while asking is not None and asking.f_globals.get("__name__") in _AROUND:
        asking = asking.f_back
    return asking is not None and origin_of_code(asking.f_code, asking.f_globals) is USER


def _forbidden(called: Any, name: str) -> str:
    """Return the name of a built-in function that is not allowed in a graph; an empty string if it is allowed."""
    owner = getattr(called, "__self__", None)
    if isinstance(owner, types.FunctionType) or is_exit(called):  # mstorch's function in the form of a built-in one
        return ""
    if owner is None or isinstance(owner, types.ModuleType):
        module = called.__module__ or getattr(owner, "__name__", "") or ""
        if owner is None and not module:
            kind = getattr(called, "__objclass__", None)
            return "" if kind is None or _is_allowed(kind, name) else f"{kind.__qualname__}.{name}"
        if module == "builtins":
            return "" if name in _BUILTINS else name
        if called in _READERS:
            return f"{module}.{name}"
        if module in _MODULES or (module, name) in _FUNCTIONS or _computes(module):
            return ""
        return f"{module}.{name}"
    kind = owner if isinstance(owner, type) else type(owner)
    for base in (*kind.__mro__, *((type,) if isinstance(owner, type) else ())):
        if name in vars(base):
            return "" if _is_allowed(base, name) else f"{base.__module__}.{base.__qualname__}.{name}"
    return f"{kind.__qualname__}.{name}"


def _is_allowed(kind: type, name: str) -> bool:
    if name in _UNLESS:
        return False
    return kind in _TYPES or issubclass(kind, (np.ndarray, np.generic)) or (
        origin_of_class(kind) is OWN and not kind.__module__.startswith("numpy.random")
    )


def _computes(module: str) -> bool:
    """Return whether the built-in functions of a module only compute, and so may be called in a graph: those of mstorch, torch, NumPy
    (except ``numpy.random``) and MindSpore."""
    return module.partition(".")[0] in (_HOME, "torch", "numpy", "mindspore") and not module.startswith("numpy.random")
