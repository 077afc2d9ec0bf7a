"""Entry into operations: selects the subclass, duck type or mode that handles a call.

Every public function and every method and property of ``Tensor`` is entered through ``entry`` or ``entered_property``, applied when the
name enters a namespace or the class. A call whose arguments are all of classes in ``PLAIN`` goes straight to the function after a check of
their types, as long as no thread has a mode; all others go through ``dispatch``. Inside mstorch the functions themselves are called, so
that nothing is overridden twice.
"""
from __future__ import annotations

import functools
import inspect
import threading
import types
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..leaving import Block, values_again, values_set_to
from . import homes
from .built_in import built_in, written
from .decorating import plain_method
from .device import device
from .dtype import dtype
from .failed_calls import other_arguments
from .formats import layout, memory_format
from .generator import Generator
from .in_python import Handed, handed_on, written_in_python
from .mirrors import TENSORS, only_mirrors
from .modes import MODES
from .no_memory import limit_reached, tells_no_memory
from .refusals import EXPLAINED, of_eight_bits
from .size import Size
from .taken import LISTS, Parser
from .warned import warn_of_plain_method

if TYPE_CHECKING:
    from .tensor_base import TensorBase

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)


class _Missing:
    """Sentinel for an argument that was not given."""


_MISSING = _Missing()
_NONE: frozenset[type] = frozenset()

# Classes whose values never handle calls. The final tensor classes are added.
PLAIN: set[type] = {
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, np.ndarray, np.bool_, *np.sctypeDict.values(),
    Size, dtype, device, layout, memory_format, Generator, _Missing,
}  # fmt: skip
_plain = PLAIN.issuperset


def _are_plain(values: Collection[Any]) -> bool:
    """Return whether no value, and no item of a tuple or list of numbers among them, such as a stride, is of a class that handles calls."""
    for value in values:
        kind = type(value)
        if kind not in PLAIN and not ((kind is tuple or kind is list) and _plain(map(type, value))):
            return False
    return True


def join(cls: type) -> None:
    """Register a class of tensors that never overrides calls."""
    TENSORS.add(cls)
    PLAIN.add(cls)


# Tensor classes that have their own implementation of some operations.
FORMED: set[type] = set()
# Wrappers that are applied to functions when they get their public form; set by ``MSTORCH_DEBUG``, see ``_debug``.
watchers: list[Callable[[Function, str], Function]] = []
ON, WITHOUT_SUBCLASSES, OFF = 0, 1, 2


class _State(threading.local):
    """Thread-local modes and running vmaps, the innermost last, and whether overriding is on.

    ``levels``: torch.func levels of differentiation that the thread has entered. ``dispatchers``: stack of ``TorchDispatchMode``s, which
    see ATen calls below autograd. ``skips``: the next call bypasses all handlers. ``unseen``: tensors' ``__torch_dispatch__`` is off.
    ``functional``: whether ``torch.func.functionalize`` runs.
    """

    level = ON
    levels = 0
    skips = False
    unseen = False
    functional = False

    def __init__(self) -> None:
        self.modes: list[Any] = []
        self.maps: list[Any] = []
        self.dispatchers: list[Any] = []


state = _State()
_dispatches: dict[type, bool] = {}
# The public form of each function of the families, by the function that it wraps.
ENTRIES_OF: dict[Function, Function] = {}
# The arguments that a function that torch implements in Python passes on to a compiled one, by public form.
_handed: dict[Function, Handed] = {}
_named_forms: dict[str, Function] = {}  # and, by name, the public forms that replace others there
# Handlers of calls with batched tensors (torch.vmap), set by ``func``; they return NotImplemented for other calls.
MAPPERS: list[Function] = []
# The same for ``autograd.Function``s within any transform of torch.func.
FUNCTION_TRANSFORMS: list[Function] = []


def _disabled_torch_function_impl(*args: Any) -> Any:
    """Call a function as for plain tensors: ``__torch_function__`` of classes whose instances are treated as such."""
    if not 2 <= len(args) <= 4:
        raise TypeError(f"function takes at {'least 2' if len(args) < 2 else 'most 4'} arguments ({len(args)} given)")
    func, _, given, named = (*args, *((), {})[len(args) - 2 :])
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"expected List or Tuple (got {type(given).__name__})")
    with level_set_to(WITHOUT_SUBCLASSES):
        return func(*given, **(named or {}))

# A built-in function does not bind the instance through which ``super().__torch_function__`` is looked up.
disabled = built_in(_disabled_torch_function_impl, "_disabled_torch_function_impl", __name__.partition(".")[0] + "._C")


def disabled_dispatch(func: Function, types: Any, args: Iterable[Any] = (), kwargs: dict[str, Any] | None = None) -> Any:
    """Call an ATen operator, which sees only plain tensors: ``Tensor.__torch_dispatch__``."""
    with undispatched():
        return func(*args, **(kwargs or {}))


def undispatched() -> values_set_to:
    """Context manager in which no ``TorchDispatchMode`` and no tensor's ``__torch_dispatch__`` sees a call."""
    return values_set_to(state, dispatchers=[], unseen=True)


class level_set_to(Block):
    """Context manager that disables overriding, altogether or for subclasses."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> None:
        level = max(self.level, state.level)
        self.at_end(values_again(state, "level"))
        state.level = level


def enabled() -> values_set_to:
    """Context manager in which overriding is enabled, also inside one that disables it."""
    return values_set_to(state, level=ON)


class without_innermost_mode(Block):
    """Context manager that disables the innermost mode."""

    def __enter__(self) -> object:
        mode = state.modes[-1]
        self.at_end(functools.partial(state.modes.append, mode))
        del state.modes[-1]
        return mode


def mode_is_on() -> bool:
    """Return whether the thread has an active mode."""
    return bool(state.modes) and state.level != OFF


def is_taken(*values: Any) -> bool:
    """Return whether a mode, or the ``__torch_dispatch__`` of one of these values, has to see the call, above or below autograd."""
    if not MODES and _plain(map(type, values)):
        return False
    taken = not state.unseen and any(type(value) not in PLAIN and dispatches(type(value)) for value in values)
    return taken or mode_is_on() or bool(state.dispatchers)


def overrides(value: Any) -> bool:
    """Return whether the class of a value overrides calls."""
    kind = type(value)
    return kind not in PLAIN and _handles(kind) and state.level == ON


def _handles(kind: type) -> bool:
    handler = getattr(kind, "__torch_function__", None)
    return handler is not None and handler is not disabled


def dispatches(kind: type) -> bool:
    """Return whether a class defines ``__torch_dispatch__``."""
    known = _dispatches.get(kind)
    if known is None:
        handler = getattr(kind, "__torch_dispatch__", None)
        known = _dispatches[kind] = isinstance(handler, Callable) and handler is not disabled_dispatch  # type: ignore[arg-type]
    return known


def collect(values: Iterable[Any], found: list[Any]) -> bool:
    """Append the values whose classes override calls to ``found``, subclasses before their bases; return whether a value is of a class in
    ``FORMED``, which has functions of its own (sparse tensors)."""
    formed = False
    for value in values:
        kind = type(value)
        if kind in PLAIN:
            continue
        if _handles(kind) and kind not in FORMED:  # a named tuple may, too
            if all(kind is not type(other) for other in found):
                place = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
                found.insert(place, value)
        elif isinstance(value, (tuple, list)):
            formed = (not _plain(map(type, value)) and collect(value, found)) or formed
        elif kind is slice:
            formed = collect((value.start, value.stop, value.step), found) or formed
        elif kind is dict:
            formed = collect(value.values(), found) or formed
        elif kind in FORMED:
            formed = True
    return formed


def ask(public: Function, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``__torch_function__`` of the innermost mode, then of each overriding argument; return the first result that is not
    NotImplemented, else NotImplemented.
    """
    kinds = tuple(map(type, found))
    if mode_is_on():
        with without_innermost_mode() as mode:
            result = plain_method(mode, "__torch_function__")(public, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    for value in found:
        handler = value.__torch_function__
        if getattr(handler, "__self__", None) is value:
            warn_of_plain_method(spoken(public).startswith(_IN_PYTHON))
        result = handler(public, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def dispatch(
    public: Function, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], form: Function | None = None,
    operator: bool = False, data: bool = False, parser: Parser | None = None,
) -> Any:  # fmt: skip
    """Pass a call to its handlers if it has any, else call the function. If all handlers refuse an operator, Python tries the reflected
    operator.

    ``data``: the arguments are data, not operands, so that only modes handle the call. ``parser``: of arguments of foreign classes."""
    found: list[Any] = []
    formed = not data and (collect(args, found) | collect(kwargs.values(), found))
    if state.level != ON:
        found.clear()
    if state.skips:
        state.skips = False
        found.clear()
    elif found or mode_is_on():
        result = ask(*_as_handed_on(public, found, args, kwargs))
        if result is not NotImplemented:
            return result
        if found:
            if operator:
                return NotImplemented
            raise TypeError(_refused(public, found))
    for mapper in MAPPERS:
        result = mapper(public, function, args, kwargs)
        if result is not NotImplemented:
            return result
    if parser is not None and not formed and (any(map(_is_foreign, args)) or any(map(_is_foreign, kwargs.values()))):
        parser.check(args, kwargs)
    return (form if formed and form is not None else function)(*args, **kwargs)


def _is_foreign(value: Any) -> bool:
    """Return whether a value, or an item of a list, is of a class of neither Python nor torch that overrides nothing, as a member of an
    ``IntEnum`` is."""
    kind = type(value)
    if kind in PLAIN or isinstance(value, (*TENSORS, dict, slice)):
        return False
    if kind is tuple or kind is list:
        return any(type(item) not in LISTS and _is_foreign(item) for item in value)
    return not hasattr(kind, "__torch_function__") and not kind.__module__.startswith(_HOME)


def _as_handed_on(
    public: Function, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Function, list[Any], tuple[Any, ...], dict[str, Any]]:
    """Return the public function and the arguments as a handler receives them: functions that torch writes in Python pass on their
    arguments in a fixed form."""
    handed = _handed.get(public)
    if handed is None:
        return public, found, args, kwargs
    name, args, kwargs = handed(args, kwargs)
    if public_name(public) == "einsum" and len(args) == 2 and isinstance(args[1], (list, tuple)) and not mode_is_on():
        args = (args[0], *args[1])  # only a mode receives the list of operands as such
    return _named_forms.get(name, public), found, args, kwargs


def drawing(function: Function) -> Function:
    """Wrap a random function to follow the ``randomness`` of vmap."""

    @functools.wraps(function)
    def drawn(*args: Any, **kwargs: Any) -> TensorBase:
        return state.maps[-1].draw(drawn, args, kwargs) if state.maps else function(*args, **kwargs)

    drawn.draws = True  # type: ignore[attr-defined]
    return drawn


def for_maps(function: F) -> F:
    """Wrap a composite function, so that vmap treats it as one operation instead of applying the rules of its parts."""

    @functools.wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if state.maps:
            for mapper in MAPPERS:
                result = mapper(mapped, function, args, kwargs)
                if result is not NotImplemented:
                    return result
        return function(*args, **kwargs)

    return mapped  # type: ignore[return-value]


def offered(function: Function) -> Function:
    """Wrap an internal function to be passed to vmap and tensor subclasses, which may handle it below autograd."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> TensorBase:
        if not _plain(map(type, args)):
            for mapper in MAPPERS:
                result = mapper(function, function, args, kwargs)
                if result is not NotImplemented:
                    return result
        return function(*args, **kwargs)

    return called


_IN_PYTHON = ("torch.nn.", "torch.functional.")  # error messages of torch's Python functions differ from those of its C++ functions


def spoken(function: Function) -> str:
    """Return the qualified public name of a function or method."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, property):
        return f"torch.Tensor.{getattr(owner, '__name__', '')}.{function.__name__}"
    function = written(function)
    known = getattr(function, "spoken", None)
    if known is not None:
        return known
    module = getattr(function, "__module__", None) or ""
    home = module.removeprefix("mstorch").removeprefix("torch") if module.startswith(("mstorch", "torch")) else f".{module}"
    return f"torch{home}.{function.__qualname__}" if module.startswith(("mstorch", "torch")) else f"{module}.{function.__qualname__}"


def public_name(function: Function) -> str:
    """Return the last part of the public name: ``inv`` for ``linalg_inv``."""
    return spoken(function).rpartition(".")[2]


def _refused(public: Function, found: list[Any]) -> str:
    name = spoken(public)
    if name.startswith(_IN_PYTHON):
        return f"no implementation found for '{name}' on types that implement __torch_function__: {list(map(type, found))}"
    lines = "\n".join(f"  - tensor subclass {type(value)}" for value in found)
    return (
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n{lines}\n\n"
        "For more information, try re-running with TORCH_LOGS=not_implemented"
    )


def entry(
    function: Function, module: str, name: str, *, form: Function | None = None, data: bool = False,
    public: Callable[[], Function] | None = None, quick: Function | None = None, is_plain: Callable[[Any], bool] | None = None,
) -> Function:  # fmt: skip
    """Return the public form of a function, named ``name`` in ``module``; ``form`` handles tensors of classes in ``FORMED``.

    ``public`` returns the function that an operator is known as. ``is_plain`` returns whether a second argument of another class (a key
    with slices) holds nothing that overrides calls; ``quick`` handles some of them, and returns None for the others.
    """
    if watchers:
        function, quick, is_plain = _watched(function, module, name), None, None
    short, long = without_keywords(function), without_keywords(function, True)
    parser = Parser(function, name, lambda: spoken(known if public is None else public()), _Missing)
    calls, pairs, lists, listed = parser.calls, parser.pairs, parser.lists, parser.listed

    @functools.wraps(function)
    def entered(first: Any = _MISSING, second: Any = _MISSING, /, *rest: Any, **named: Any) -> Any:
        try:
            one, two = type(first), type(second)
            if rest or named:
                row = (one, two, *map(type, rest), *named, *map(type, named.values()))
                if (row in calls or (row in listed and listed[row].hold((first, second, *rest, *named.values())))) and (
                    not MODES or only_mirrors(first, second, rest, named)
                ):
                    if second is not _MISSING:
                        return function(first, second, *rest, **named) if named else long(first, second, *rest)
                    return function(**named) if first is _MISSING else function(first, **named)
            elif two in pairs.get(one, _NONE) and (not MODES or only_mirrors(first, second)):
                if second is not _MISSING:
                    return short(first, second)
                return short() if first is _MISSING else short(first)
            elif (items := lists.get((one, two))) is not None and items.issuperset(map(type, second if two in LISTS else first)):
                if not MODES or only_mirrors(first, second):
                    return short(first) if second is _MISSING else short(first, second)
            if (
                (not MODES or only_mirrors(first, second, rest, named))
                and (one in PLAIN or (one is tuple or one is list) and _plain(map(type, first)))
                and (two in PLAIN or (two is tuple or two is list) and _plain(map(type, second)))
            ):
                if _are_plain(rest) and _are_plain(named.values()):
                    args = () if first is _MISSING else (first,) if second is _MISSING else (first, second, *rest)
                    parser.parse(args, named)
                    return function(*args, **named) if named else long(*args) if rest else short(*args)
            elif is_plain is not None and one in PLAIN and not named and (not MODES or only_mirrors(first, second, rest)):
                found = None if quick is None else quick(first, second)
                if found is not None:
                    return found
                if is_plain(second) and _plain(map(type, rest)):
                    return function(first, second, *rest)
            args = () if first is _MISSING else (first,) if second is _MISSING else (first, second, *rest)
            return dispatch(known if public is None else public(), function, args, named, form, public is not None, data, parser)
        except (*EXPLAINED, MemoryError) as error:
            given = tuple(item for item in (first, second, *rest) if item is not _MISSING)
            again, words = other_arguments(parser.spoken, function, given, named, error, data)
            return entered(*again, **words)

    known = _as_torchs_kind(entered, function, module, name)
    return known


def entry_of_operator(
    function: Function, module: str, name: str, *, form: Function | None, public: Callable[[], Function] | None
) -> Function:
    """Return the public form of a binary operator, as ``entry`` does, with as little overhead per call as possible.

    ``function.direct``, if present, is a pair: the fast path for two row-major floating-point tensors of one dtype and shape, and its
    kernel."""
    run, kernel = getattr(function, "direct", (None, None))
    if watchers:
        function, run = _watched(function, module, name), None

    @functools.wraps(function)
    def entered(self: TensorBase, other: Any) -> Any:
        two = type(other)
        try:
            if type(self) in PLAIN and two in PLAIN and (not MODES or only_mirrors(self, other)):
                if run is not None and two in TENSORS and other._ms_shape == self._ms_shape:
                    kind = self._ms_dtype
                    if kind is other._ms_dtype and not kind.is_integral and self._ms_stride is other._ms_stride is None:
                        return run(kernel, kind, self, other, True)  # the common case
                return function(self, other)
        except (MemoryError, RuntimeError, ValueError, IndexError) as error:
            told = limit_reached(error, self, other)
            if told is None:
                told = of_eight_bits(spoken(entered if public is None else public()), error)
            if told is None:
                raise
            raise told from None
        return dispatch(entered if public is None else public(), function, (self, other), {}, form, public is not None, False)

    return _with_public_name(entered, module, name)


def _watched(function: Function, module: str, name: str) -> Function:
    for watch in watchers:
        function = watch(function, f"torch{module.removeprefix(_HOME)}.{name}")
    return function


def entry_of_one(function: Function, module: str, name: str) -> Function:
    """Return the public form of a method that dispatches on its tensor only, because its other arguments (such as the memo of a deep copy)
    are not operands."""
    told = tells_no_memory(function)

    @functools.wraps(function)
    def entered(self: TensorBase, *args: Any, **named: Any) -> Any:
        found = [self] if overrides(self) else []
        if state.skips:
            state.skips = False
        elif found or mode_is_on():
            result = ask(entered, found, (self, *args), named)
            if result is not NotImplemented:
                return result
            if found:
                raise TypeError(_refused(entered, found))
        return told(self, *args, **named)

    return _with_public_name(entered, module, name)


def _with_public_name(entered: Function, module: str, name: str) -> Function:
    home, entered.__qualname__ = homes.home(module, name)
    entered.__module__ = _shown(home)
    entered.__name__ = entered.__qualname__.rpartition(".")[2]
    entered.spoken = f"torch{module.removeprefix(_HOME)}.{name}"  # type: ignore[attr-defined]
    entered.__doc__ = homes.with_link(entered.__doc__, f"{module.removeprefix(_HOME)}.{name}")
    _entries.append(entered)
    return entered


def _as_torchs_kind(entered: Function, function: Function, module: str, name: str) -> Function:
    """Return a public function as the kind of object that torch has: a built-in function, or a Python function if torch writes it in
    Python."""
    face, _, last = (module.removeprefix(_HOME).removeprefix(".") + f".{name}").strip(".").rpartition(".")
    known = _with_public_name(entered, module, name)
    if face != "Tensor":
        if not written_in_python(face, last):
            _entries.pop()
            known = shown_built_in(entered, _HOME if face == "functional" else module, name)
    ENTRIES_OF.setdefault(inspect.unwrap(function), known)
    handed = handed_on(function, face, last)
    _named_forms[f"{face}.{last}"] = known
    if handed is not None:
        _handed[known] = handed
    return known


def shown_built_in(function: Function, module: str, name: str) -> Function:
    """Return a function as a built-in object, under torch's name for its module if ``import torch`` imports mstorch."""
    module, name = homes.home(module, name)
    known = built_in(function, name, _shown(module))
    _entries.append(known)
    return known


def without_keywords(function: Function, many: bool = False) -> Function:
    """Return the fast path for calls with at most two positional arguments, or with any number (``many``), and no keywords."""
    while getattr(function, "for_keywords", None) is function and not (many and hasattr(function, "in_place")):
        function = function.__wrapped__
    return function


_HOME = __name__.partition(".")[0]
_entries: list[Function] = [disabled]
_package = [_HOME]


def _shown(module: str) -> str:
    return _package[0] + module.removeprefix(_HOME)


def name_entries(package: str) -> None:
    """Set the ``__module__`` of all public functions to ``package``, where pickles and generated code look them up."""
    before = _package[0]
    if package != before:
        _package[0] = package
        for entered in _entries:
            entered.__module__ = package + entered.__module__.removeprefix(before)


def is_entry(value: Any) -> bool:
    """Return whether a function was made by ``entry``."""
    value = written(value)
    return isinstance(value, types.FunctionType) and "spoken" in value.__dict__


class Property(property):
    """Property of ``Tensor`` that subclasses may override: a handler is called with the property's ``__get__`` or ``__set__``."""

    __name__: str
    __qualname__: str


def entered_property(of: property, name: str) -> Property:
    """Return the public form of a property."""
    read, write, remove = of.fget, of.fset, of.fdel
    assert read is not None

    @functools.wraps(read)
    def get(self: TensorBase) -> Any:
        if type(self) in PLAIN and (not MODES or only_mirrors(self)):
            return read(self)
        return dispatch(made.__get__, read, (self,), {})

    def put(self: TensorBase, value: TensorBase | None) -> None:
        if type(self) in PLAIN and (not MODES or only_mirrors(self, value)):
            write(self, value)
        else:
            dispatch(made.__set__, write, (self, value), {})  # type: ignore[arg-type]

    def drop(self: TensorBase) -> None:
        if type(self) in PLAIN and not MODES:
            remove(self)
        else:
            dispatch(made.__delete__, remove, (self,), {})  # type: ignore[arg-type]

    made = Property(get, put if write is not None else None, drop if remove is not None else None, of.__doc__)
    made.__name__ = name
    made.__qualname__ = f"TensorBase.{name}"
    return made
