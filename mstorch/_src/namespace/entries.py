"""Publication of functions and methods: wraps each name of a torch namespace, and of class Tensor, in its entry."""
from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from ..._tensor import Tensor
from ..core.in_python import written_in_python
from ..core.one_device import on_one_device
from ..core.overriding import (
    drawing,
    entered_property,
    entry,
    entry_of_one,
    entry_of_operator,
    is_entry,
    shown_built_in,
)
from ..ops._operation import record_of
from ..ops.indexing._keys import has_plain_items
from ..ops.indexing.subscript import window_of
from ..ops.memory.subclasses import UNWRAPPED
from ..sparse.dispatch import FORMS, FUNCTION_FORMS, FUNCTIONAL_FORMS, STRIDED_METHOD_FORMS
from .out_history import refusing_history

Function = Callable[..., Any]

_HOME = __name__.partition(".")[0]
_FACES = (_HOME, f"{_HOME}.functional")
_FORMS_OF = {f"{_HOME}.nn.functional": FUNCTIONAL_FORMS}
_ROOMS = tuple(f"{_HOME}.{room}" for room in ("_src.ops", "_src.namespace", "_src.sparse", "_src.quantized", "nn._functional"))
_NOT_OPERATIONS = tuple(f"{_HOME}.{room}" for room in ("_src.namespace.process", "_src.namespace.control", "_src.namespace.checks"))
_NOT_ENTERED = frozenset({"is_tensor", "broadcast_shapes", "sym_fresh_size", "quantized_lstm", "quantized_gru", *(
    "assert_int_or_pair boolean_dispatch handle_torch_function has_torch_function has_torch_function_unary "
    "has_torch_function_variadic".split()
)})  # fmt: skip
# Functions whose arguments are data, not operands: as in torch, only modes handle their calls.
_OF_DATA = frozenset("tensor as_tensor asarray from_numpy frombuffer from_file scalar_tensor from_dlpack".split())
# The functions of torch.nn.init that handlers see; the others are composed of these and of methods.
_INIT = ("constant_", "kaiming_uniform_", "normal_", "uniform_")

# Private functions of torch that classes may override: those in these files.
_ENTERED_FILES = ("view_copies", "absent", "inner", "native_attention", "packed_matrices")
_ENTERED_ROOMS = tuple(f"{_HOME}._src.namespace.{file}" for file in _ENTERED_FILES)
_CHECKS = f"{_HOME}._src.namespace.checks"

_NOT_ENTERED_METHODS = frozenset(
    "__new__ __init__ __init_subclass__ __class__ __hash__ __iter__ __delitem__ __getattribute__ __setattr__ __delattr__ __subclasshook__ "
    "__torch_function__ as_subclass _make_subclass _make_wrapper_subclass _typed_storage to_mindspore".split()
)
# Methods whose other arguments are not operands.
_OF_ONE = frozenset(("__deepcopy__",))
# The method as which handlers see a call of an operator.
_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div",
    "__mod__": "remainder", "__pow__": "pow", "__matmul__": "matmul", "__ne__": "ne", "__lt__": "lt", "__le__": "le",
    "__gt__": "gt", "__ge__": "ge", "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_", "__imod__": "remainder_", "__ipow__": "pow_", "__neg__": "neg", "__pos__": "positive",
    "__abs__": "abs", "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor",
    **{name: name for name in (
        "__rsub__", "__floordiv__", "__rfloordiv__", "__rmod__", "__rpow__", "__rmatmul__", "__eq__", "__and__", "__or__",
        "__xor__", "__lshift__", "__rshift__", "__rlshift__", "__rrshift__", "__iand__", "__ior__", "__ixor__", "__ilshift__",
        "__irshift__",
    )},
    "__rtruediv__": "__rdiv__",
}  # fmt: skip


# Functions that torch.nn.functional shares with torch (torch.linalg.det is not torch.det).
_shared: dict[Function, Function] = {}
_built: dict[Function, Function] = {}


def enter_functional(namespace: dict[str, Any]) -> None:
    """Wrap the functions of torch.nn.functional in their public form. This is done before ``nn.modules``, which uses them as defaults, is
    imported."""
    face = vars(sys.modules[_HOME])
    both = {
        name: value for name, value in namespace.items()
        if face.get(name) is value and written_in_python("", name) == written_in_python("nn.functional", name)
    }  # fmt: skip
    enter_namespace(both, _HOME, _shared)
    namespace.update(both)
    enter_namespace(namespace, f"{_HOME}.nn.functional", _shared)


def enter_namespace(namespace: dict[str, Any], module: str, known: dict[Function, Function]) -> None:
    """Wrap the functions of a namespace in their public form; a function in ``known``, from another namespace, keeps its own.

    Each name in the torch namespace has a public form of its own, as in torch (``arctan`` is not ``atan``); in other namespaces aliases
    share one form, preferably under the function's own name.
    """
    names = [name for name, value in namespace.items() if _is_operation(name, value)]
    entered: set[Function] = set()
    for name in sorted(names, key=lambda name: namespace[name].__name__ != name):
        function = namespace[name]
        form = {**FORMS, **FUNCTION_FORMS}.get(name) if module in _FACES else _FORMS_OF.get(module, {}).get(name)
        if module == _HOME and function in entered:
            form = form or {**FORMS, **FUNCTION_FORMS}.get(function.__name__)
            namespace[name] = entry(_of_face(function, name, module), module, name, form=form, data=name in _OF_DATA)
            continue
        if function not in known:
            known[function] = entry(_of_face(function, name, module), module, name, form=form, data=name in _OF_DATA)
        namespace[name] = known[function]
        entered.add(function)


def build_in(namespace: dict[str, Any], module: str) -> None:
    """Replace Python functions in a namespace by built-in function objects if torch's functions of these names are written in C."""
    face = module.removeprefix(_HOME).removeprefix(".")
    for name, value in list(namespace.items()):
        if isinstance(value, types.FunctionType) and value.__module__.startswith(f"{_HOME}."):
            if name.startswith("_foreach_") or not written_in_python(face, name):
                namespace[name] = _built.setdefault(value, shown_built_in(value, module, name))


def _drawing(function: Function) -> Function:
    """Wrap a random function to follow vmap's ``randomness``; return any other function unchanged."""
    return drawing(function) if record_of(function).draws else function


def _of_face(function: Function, name: str, module: str) -> Function:
    return refusing_history(on_one_device(_drawing(function), name), module.removeprefix(_HOME).removeprefix("."))


def _is_operation(name: str, value: Any) -> bool:
    if not isinstance(value, types.FunctionType) or name in _NOT_ENTERED or is_entry(value):
        return False
    if name.startswith("_"):
        return value.__module__ in _ENTERED_ROOMS or name == "_assert_async" and value.__module__ == _CHECKS
    if value.__module__ == f"{_HOME}.init":
        return name in _INIT
    return value.__module__.startswith(_ROOMS) and not value.__module__.startswith(_NOT_OPERATIONS)


_KEYED = {"__getitem__": (window_of, has_plain_items), "__setitem__": (None, has_plain_items)}


def enter_class() -> None:
    """Wrap the methods and properties of Tensor in their public form."""
    for name, value in list(vars(Tensor).items()):
        if name in _NOT_ENTERED_METHODS:
            continue
        if name in _OF_ONE:
            setattr(Tensor, name, entry_of_one(value, _HOME, f"Tensor.{name}"))
        elif isinstance(value, types.FunctionType) and not is_entry(value):
            form = STRIDED_METHOD_FORMS.get(name)
            if getattr(value, "of_two", False):
                setattr(Tensor, name, entry_of_operator(value, _HOME, f"Tensor.{name}", form=form, public=_known_as(name)))
                continue
            shown = on_one_device(_drawing(value), name)
            quick, is_plain = _KEYED.get(name, (None, None))
            entered: Any = entry(shown, _HOME, f"Tensor.{name}", form=form, public=_known_as(name), quick=quick, is_plain=is_plain)
            if hasattr(entered, "__signature__"):
                entered.__signature__ = _of_method(entered.__signature__)
            setattr(Tensor, name, entered)
        elif isinstance(value, property):
            setattr(Tensor, name, entered_property(value, name))
    UNWRAPPED.update(vars(Tensor)[name].__get__ for name in ("_base", "grad"))


def _of_method(shown: inspect.Signature) -> inspect.Signature:
    """Return a method's signature: the first parameter has no default, and a later parameter named ``self`` is removed."""
    first, *rest = shown.parameters.values()
    if first.kind is not first.POSITIONAL_OR_KEYWORD:
        return shown
    return shown.replace(parameters=[first.replace(default=first.empty), *(p for p in rest if p.name != "self")])


def _known_as(operator: str) -> Callable[[], Function] | None:
    name = _OPERATORS.get(operator)
    return None if name is None else lambda: vars(Tensor).get(name) or vars(Tensor)[operator]


def enter(faces: dict[str, dict[str, Any]]) -> None:
    """Wrap the functions of these modules (name → namespace) and the methods of Tensor in their public form."""
    for module, namespace in faces.items():
        enter_namespace(namespace, module, _shared if module in _FACES else {})
    enter_class()
    for module in (_HOME, f"{_HOME}.sparse"):
        build_in(vars(sys.modules[module]), module)
