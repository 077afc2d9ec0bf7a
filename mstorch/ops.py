"""torch.ops: operators such as ``torch.ops.aten.add.Tensor(a, b)``.

Differs from torch: one function computes all overloads of an operator, whichever of them is named."""
from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any

from . import _companions as companions
from ._library import aten as aten_only
from ._library import aten_checks, function_schema, higher_order_operators, registry
from ._library.instead import INSTEAD
from ._library.tags import Tag
from ._src import unbuilt
from ._src.aten import calling
from ._src.aten.overloads import all_overloads, overload
from ._src.core import overriding
from ._src.core.above import above
from ._src.core.schemas import Schema, parse
from ._src.ops.layers import native
from ._tensor import Tensor

_HOME = __name__.partition(".")[0]


class OpOverload:
    """Overload of an operator, which calls the operator.

    Differs from torch: overloads share one function, so that an overload accepts another's arguments.
    """

    def __init__(self, packet: OpOverloadPacket, name: str) -> None:
        self.overloadpacket = self._overloadpacket = packet
        self._overloadname = name
        self._opname = packet.__name__
        self.namespace = packet._namespace
        self.__name__ = f"{packet.__name__}.{name}"
        self.__module__ = packet.__module__
        self._shown = f"{packet}.{name}"
        known, tags = all_overloads(packet.__name__).get(name, (None, ())) if self.namespace == "aten" else (None, ())
        if self.namespace == "aten":
            known = overload(packet.__name__, name) or known
        elif self.namespace == _HOME:
            known = parse(_HOME, f"{packet.__name__}(...) -> Any")
        self._known = known
        self.tags = self._tags = list(map(_TAGS.__getitem__, tags))
        self._nondeterministic_seeded = any(tag.name == "nondeterministic_seeded" for tag in self.tags)
        self._is_in_place = known is not None and bool(known.arguments) and known.arguments[0].is_write
        self._is_view = known is not None and "(a" in known.returns and not self._is_in_place and packet.__name__ not in _NO_VIEWS
        self._is_detached = packet.__name__ in ("detach", "detach_") or (known is not None and _makes_tensors(known))
        self._lists = 0  # the place of a list of tensors behind a tensor, for which a tensor stands for its rows
        for place, one in enumerate(known.arguments[1:] if known is not None else (), 1):
            self._lists = self._lists or (place if one.type in ("Tensor?[]", "Tensor[]") else 0)
        self._outs = [one.name for one in known.arguments if one.kwarg_only and one.is_write] if known is not None else []

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if calling.active(args, kwargs):
            if self._lists and any(isinstance(value, Tensor) for value in args[self._lists : self._lists + 1]):
                args = (*args[: self._lists], list(aten.unbind.int(args[self._lists])), *args[self._lists + 1 :])
            return calling.call(self, *args, **kwargs)
        if len(self._outs) > 1 or self._outs and self._outs != ["out"]:
            kwargs = self._with_one_out(kwargs)
        return calling.compute(self, self.overloadpacket._function, args, kwargs)

    def _with_one_out(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments with the ``out`` tensors, which have separate names in an overload, as the function's single ``out``."""
        targets = tuple(kwargs[name] for name in self._outs if name in kwargs)
        rest = {key: value for key, value in kwargs.items() if key not in self._outs}
        return {**rest, "out": targets if len(self._outs) > 1 else targets[0]} if targets else rest

    def compute(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute the operator's result without any handler."""
        with calling.unseen():
            return self.overloadpacket._function(*args, **kwargs)

    def recorded(self, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result, which a handler gave without the operator, with an autograd node. The operator runs for it."""
        return self.compute(args, kwargs)

    @functools.cached_property
    def gradient(self) -> OpOverload:
        """Operator that computes the gradient of this operator, for handlers of calls below autograd; torch has no such operator."""
        return whole(functools.partial(_gradient_of, self), f"{self._opname}_backward")

    def before(self, tensor: Tensor) -> Tensor:
        """Return a copy of an argument before it is modified in place."""
        return aten.clone.default(tensor)

    @functools.cached_property
    def _schema(self) -> function_schema.FunctionSchema:
        """The overload's schema; raise AttributeError if it is unknown."""
        if self._known is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '_schema' (mstorch knows none of {self})")
        return function_schema.FunctionSchema(self._known, as_written=self.namespace == "aten")

    def name(self) -> str:
        """Return the qualified name, for example ``aten::add.Tensor``."""
        return self._name

    @property
    def op(self) -> OpOverload:
        """The callable, which is the overload itself."""
        return self

    @property
    def is_view(self) -> bool:
        """True if the results are views of an argument."""
        shared = [argument for argument in self._known.arguments if argument.alias] if self._known is not None else []
        return bool(shared) and not any(argument.is_write for argument in shared)

    @property
    def _namespace(self) -> str:
        return self.namespace

    @property
    def _name(self) -> str:
        ending = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.namespace}::{self._opname}{ending}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return self._shown

    def __deepcopy__(self, memo: Any = None) -> OpOverload:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.namespace, self._opname, self._overloadname)


def _rebuilt(namespace: str, name: str, which: str) -> Any:
    return getattr(getattr(_Namespace(namespace) if namespace not in globals() else globals()[namespace], name), which)


_TAGS: dict[int, Any] = {int(tag): tag for tag in vars(Tag)["_member_map_"].values()}
# Further overloads of operations that are not in aten.
_MORE_OVERLOADS = {("profiler", "_record_function_exit"): ["_RecordFunction"]}
_NO_VIEWS = frozenset(("lift_fresh",))  # operators that return the tensor itself


def _makes_tensors(schema: Schema) -> bool:
    """Return whether an overload is a factory (``zeros``, ``zeros_like``, ``new_zeros``), whose result autograd does not track."""
    types = {argument.name: argument.type for argument in schema.arguments}
    others = [name for name, kind in types.items() if kind.startswith("Tensor") and name != "self"]
    return "pin_memory" in types and "non_blocking" not in types and not others


class OpOverloadPacket:
    """Operator with all its overloads."""

    def __init__(self, namespace: str, name: str, function: Callable[..., Any]) -> None:
        self.__name__ = name
        self.__module__ = f"torch._ops.{namespace}"  # torch's name; generated code looks up torch.ops
        self._namespace = namespace
        self._function = function

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._function is aten_only.index and calling.active(args, kwargs):  # Python's indexing would read 0-d tensors
            return self.Tensor(*args, **kwargs)
        return self._function(*args, **kwargs)

    def overloads(self) -> list[str]:
        """Return the names of the overloads."""
        more = _MORE_OVERLOADS.get((self._namespace, self.__name__))
        return ["default", *more] if more else list(all_overloads(self.__name__)) if self._namespace == "aten" else ["default"]

    @property
    def _overload_names(self) -> list[str]:
        return ["" if name == "default" else name for name in self.overloads()]

    @property
    def _qualified_op_name(self) -> str:
        return f"{self._namespace}::{self.__name__}"

    @property
    def _schemas(self) -> dict[str, Any]:
        return {name: getattr(self, name or "default")._schema for name in self._overload_names}

    def __deepcopy__(self, memo: Any = None) -> OpOverloadPacket:
        return self  # tables with operators as keys, as counters of operations keep them, are copied and then asked for the same operators

    def __getattr__(self, name: str) -> OpOverload:
        known: Any = all_overloads(self.__name__) if self._namespace == "aten" else ()
        private = name.startswith("_") and name not in known and name not in _MORE_OVERLOADS.get((self._namespace, self.__name__), ())
        if private or known and name not in known:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        made = self.__dict__[name] = OpOverload(self, name)
        return made

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"


def whole(function: Callable[..., Any], name: str) -> OpOverload:
    """Return an OpOverload for a function that has no ATen decomposition, so that handlers see one call."""
    return OpOverloadPacket(_HOME, name.replace(" ", "_"), function).default


def _gradient_of(operator: OpOverload, gradients: list[Any], args: list[Any], options: dict[str, Any], wanted: list[bool]) -> list[Any]:
    """Return the gradients of an operator's tensors by recomputing it."""
    leaves: list[Any] = []

    def leaf(value: Tensor | float | Sequence[Tensor]) -> Any:
        if isinstance(value, (tuple, list)):
            return [leaf(item) for item in value]
        if not isinstance(value, above.torch.Tensor):
            return value
        leaves.append(value.detach().requires_grad_(wanted[len(leaves)]))
        return leaves[-1]

    given, named = leaf(args), dict(zip(options, leaf(list(options.values()))))
    with above.torch.enable_grad():
        found = operator(*given, **named)
    outputs = list(found) if isinstance(found, (tuple, list)) else [found]
    pairs = [(out, grad) for out, grad in zip(outputs, gradients) if grad is not None and getattr(out, "requires_grad", False)]
    inputs = [one for one, want in zip(leaves, wanted) if want]
    roots, seeds = [out for out, _ in pairs], [grad for _, grad in pairs]
    slopes = above.torch.autograd.grad(roots, inputs, seeds, allow_unused=True) if roots else [None] * len(inputs)
    return [above.torch.zeros_like(one) if slope is None else slope for one, slope in zip(inputs, slopes)]


class CustomPacket(OpOverloadPacket):
    """User-defined operator (``torch.library``) with all its overloads."""

    def __init__(self, namespace: str, name: str, defined: dict[str, registry.Operator]) -> None:
        super().__init__(namespace, name, defined[min(defined)])
        self._qualname = f"{namespace}::{name}"
        self._defined = defined

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if overriding.mode_is_on():
            return overriding.ask(self, [], args, kwargs)
        if len(self._defined) == 1:
            if calling.active(args, kwargs):
                return getattr(self, next(iter(self._defined)) or "default")(*args, **kwargs)
            return self._function(*args, **kwargs)
        return getattr(self, self._taken(args, kwargs) or "default")(*args, **kwargs)

    def _taken(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Return the name of the first overload that takes a call; the first one's if none does, which then says why."""
        for name, operator in self._defined.items():
            try:
                operator.schema.bind(args, kwargs)
            except RuntimeError:
                continue
            return name
        return min(self._defined)

    def overloads(self) -> list[str]:
        """Return the names of the overloads."""
        return [name or "default" for name in self._defined]

    def __getattr__(self, name: str) -> OpOverload:
        found = self._defined.get("" if name == "default" else name)
        if found is None:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        overload = self.__dict__[name] = CustomOverload(self, name, found)
        return overload


class CustomOverload(OpOverload):
    """Overload of a user-defined operator."""

    def __init__(self, packet: OpOverloadPacket, name: str, operator: registry.Operator) -> None:
        super().__init__(packet, name)
        self._operator = operator
        self._known = operator.schema
        self._qualname = operator.title + (f".{operator.schema.overload}" if operator.schema.overload else "")

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if overriding.mode_is_on():
            return overriding.ask(self, [], args, kwargs)
        if calling.active(args, kwargs):
            return calling.call(self, *args, **kwargs)
        return calling.compute(self, self._operator, args, kwargs)

    def recorded(self, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result, which a handler gave without the operator, with an autograd node; a gradient of its own needs no run."""
        if self._operator.backward is None:
            return self.compute(args, kwargs)
        with calling.unseen():
            return self._operator.recorded(result, args, kwargs)

    def compute(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute the operator's result without any handler."""
        with calling.unseen():
            return self._operator(*args, **kwargs)


_MODULES = {"profiler": "profiler", "_c10d_functional": "c10d_functional", "c10d_functional": "c10d_functional", "quantized": "quantized"}
"""Modules of operators of namespaces other than ``aten``: ``OPERATORS`` lists the names of their functions, or is a dict of functions."""


class _Namespace:
    """Operators of one library: torch's in ``aten``, user-defined ones elsewhere."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._custom: dict[str, CustomPacket] = {}

    def __getattr__(self, name: str) -> OpOverloadPacket:
        defined = {overload: op for (space, own, overload), op in registry.operators.items() if (space, own) == (self._name, name)}
        if defined:
            known = self._custom.get(name)
            if known is None or known._defined != defined:  # an operator is one object as long as its overloads are the same
                known = self._custom[name] = CustomPacket(self._name, name, defined)
            return known
        if self._name == "higher_order" and name in higher_order_operators.REGISTRY:
            return higher_order_operators.REGISTRY[name]  # type: ignore[return-value]
        if self._name in _MODULES:
            module = vars(importlib.import_module(f"mstorch._library.{_MODULES[self._name]}"))
            listed = module["OPERATORS"]
            function = (listed if isinstance(listed, dict) else module)[name] if name in listed else None
        else:
            function = None if self._name != "aten" or name.startswith("__") and name not in _OPERATORS_OF_PYTHON else _find(name)
        if function is None:
            function = unbuilt.operator(self._name, name, known=self._name == "aten" and _is_operator(name))
        if function is None:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        packet = self.__dict__[name] = OpOverloadPacket(self._name, name, function)
        return packet

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self._name}' from 'torch.ops'>"


_OPERATORS_OF_PYTHON = frozenset(f"__{turned}{name}__" for name in ("and", "or", "xor", "lshift", "rshift") for turned in ("", "i"))


def _is_operator(name: str) -> bool:
    """Return whether torch has an operator of that name whose types are supported (some of TorchScript's are not)."""
    try:
        told = [function_schema.FunctionSchema(schema, as_written=True) for schema, _ in all_overloads(name).values()]
        return all(schema.arguments or schema.returns for schema in told) and bool(told)
    except RuntimeError:
        return False


def _find(name: str) -> Callable[..., Any] | None:
    """Return the function or method of that name."""
    package = above.torch
    layers = importlib.import_module("mstorch._library.aten_layers")
    losses, windows = importlib.import_module("mstorch._library.aten_losses"), importlib.import_module("mstorch._library.aten_windows")
    for prefix, room in (("special_", package.special), ("linalg_", package.linalg), ("fft_", package.fft)):
        if name.startswith(prefix) and callable(vars(room).get(name.removeprefix(prefix))):
            return vars(room)[name.removeprefix(prefix)]
    composites = importlib.import_module("mstorch._library.aten_composites")
    places = (
        aten_only, aten_checks, layers, losses, windows, composites,
        package.nested._internal.functions, package, native, package.nn.functional,
    )  # fmt: skip
    for place in (*map(vars, places), dict(vars(package.Tensor))):
        found = place.get(name)
        if callable(found) and not isinstance(found, type):
            return found
    return importlib.import_module("mstorch._library.gradients").gradient_operator(name, _find)


aten = _Namespace("aten")
loaded_libraries: set[str] = set()


def load_library(path: str | os.PathLike[str]) -> None:
    """Load mstorch's operators in place of those of a library (torchvision's). Raise OSError for other libraries compiled for torch."""
    module = companions.replacement(os.fspath(path))
    if module is None:
        raise OSError(
            f"Could not load this library: {os.path.realpath(path)} (compiled for torch's C++ library, which is not here; {INSTEAD})"
        )
    importlib.import_module(module)
    loaded_libraries.add(os.path.realpath(path))


def __getattr__(name: str) -> Any:
    if name == "HigherOrderOperator":
        return higher_order_operators.HigherOrderOperator
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
    return globals().setdefault(name, _Namespace(name))
