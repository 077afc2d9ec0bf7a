"""Operators that the text calls: ATen's by the overload that fits the arguments, and TorchScript's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ... import ops
from ..._library.registry import operators as registered
from ..._src.aten.overloads import all_overloads
from ..._src.core.declared import declared
from ..._src.core.device import device
from ..._src.core.generator import Generator
from ..._src.core.modes import modes
from ..._src.core.schemas import Argument, Schema
from ..._src.core.size import Size
from ..._src.ops.memory.from_data import as_tensor, tensor
from ..._src.ops.shape.join import broadcast_shapes
from ..._tensor import Tensor
from .numbers import dtype_of, format_of, layout_of, number_of
from .scalars import OF_ALL, OF_CONTAINERS, PLAIN, Operator, greatest, least
from .types import Damaged, described

_NUMBERS = (int, float, complex, bool)
def _number(value: Any) -> Any:
    """Return a bool as an int: TorchScript's operators take no bool for a number, and promote as with an int."""
    return int(value) if type(value) is bool else value


_READ: dict[str, Callable[[Any], Any]] = {"ScalarType": dtype_of, "Layout": layout_of, "MemoryFormat": format_of, "Scalar": _number}
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, Tensor),
    "int": lambda value: type(value) is int,
    "SymInt": lambda value: type(value) is int,
    "float": lambda value: type(value) in (float, int),
    "bool": lambda value: type(value) is bool,
    "str": lambda value: type(value) is str,
    "Scalar": lambda value: type(value) in _NUMBERS,
    "ScalarType": lambda value: type(value) is int,
    "Layout": lambda value: type(value) is int,
    "MemoryFormat": lambda value: type(value) is int,
    "Device": lambda value: isinstance(value, device),
    "complex": lambda value: type(value) in _NUMBERS,
    "Generator": lambda value: isinstance(value, Generator),
    "Dimname": lambda value: type(value) is str,
}
_LISTED = re.compile(r"(.*)\[(\d*)\]")


def _check_of(kind: str) -> Callable[[Any], bool]:
    """Return the check of whether a value fits a parameter's type."""
    if kind.endswith("?"):
        inner = _check_of(kind[:-1])
        return lambda value: value is None or inner(value)
    listed = _LISTED.fullmatch(kind)
    if listed is None:
        return _CHECKS.get(kind, lambda value: True)
    inner, one = _check_of(listed[1]), bool(listed[2])
    # A list of a fixed length accepts one number for all.
    return lambda value: type(value) in (list, tuple) and all(map(inner, value)) or one and inner(value) and type(value) in (int, float)


class _Overload:
    """An overload with the checks of its parameters, and what converts their values."""

    def __init__(self, schema: Schema, call: Operator) -> None:
        self.schema, self.call = schema, call
        self.free = [argument for argument in schema.arguments if not argument.kwarg_only]
        self.named = {argument.name: argument for argument in schema.arguments}
        self.checks = {argument.name: _check_of(argument.type) for argument in schema.arguments}
        self.readers = {argument.name: read for argument in schema.arguments if (read := _reader(argument)) is not None}

    def fits(self, args: list[Any], kwargs: dict[str, Any]) -> bool:
        if len(args) > len(self.free) or any(name not in self.named for name in kwargs):
            return False
        for argument, value in zip(self.free, args):
            if argument.name in kwargs or not self.checks[argument.name](value):
                return False
        for name, value in kwargs.items():
            if not self.checks[name](value):
                return False
        supplied = {argument.name for argument in self.free[: len(args)]} | set(kwargs)
        return all(argument.has_default or argument.name in supplied for argument in self.schema.arguments)

    def gathered(self, args: list[Any]) -> list[Any] | None:
        """Return the arguments with numbers that are told one by one as a list, if the last parameter without a default is one."""
        places = [place for place, one in enumerate(self.free) if one.type in ("int[]", "SymInt[]")]
        if len(places) != 1 or len(args) <= places[0] or not all(type(one) is int for one in args[places[0] :]):
            return None
        return [*args[: places[0]], args[places[0] :]]

    def converted(self, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments with tensors of one element as numbers, where the overload takes numbers."""
        values = [_implied(value, argument.type) for argument, value in zip(self.free, args)] + args[len(self.free) :]
        return values, {name: _implied(value, self.named[name].type) if name in self.named else value for name, value in kwargs.items()}

    def apply(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if self.readers:
            places = zip(self.free, args)
            args = [
                read(value) if (read := self.readers.get(argument.name)) and value is not None else value for argument, value in places
            ]
            kwargs = {
                name: read(value) if (read := self.readers.get(name)) and value is not None else value for name, value in kwargs.items()
            }
        return self.call(*args, **kwargs)


_IMPLIED: dict[str, Callable[[Any], Any]] = {"int": int, "SymInt": int, "float": float, "Scalar": lambda number: number, "bool": bool}


def _implied(value: Any, kind: str) -> Any:
    """Return a tensor of one element as a number, if the type is one; a list of such tensors as numbers."""
    kind = kind.rstrip("?")
    if isinstance(value, Tensor) and kind in _IMPLIED and value.numel() == 1:
        return _IMPLIED[kind](value.item())
    listed = _LISTED.fullmatch(kind)
    if listed is not None and listed[1] in _IMPLIED and type(value) is list:
        return [_implied(item, listed[1]) for item in value]
    return value


def _reader(argument: Argument) -> Callable[[Any], Any] | None:
    return _READ.get(argument.type.rstrip("?"))


def _result(value: Any) -> Any:
    """Return an operator's result as a value of TorchScript."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Size):
        return list(value)
    if isinstance(value, tuple):
        return tuple(map(_result, value))
    if isinstance(value, list):
        return list(map(_result, value))
    return number_of(value) if type(value).__name__ in ("dtype", "layout", "memory_format") else value


def _sized(call: Operator, schema: Schema) -> Operator:
    """Return an operator that returns lists where its schema says ``Tensor[]``."""
    return (lambda *args, **kwargs: list(call(*args, **kwargs))) if re.fullmatch(r"Tensor(\(.*\))?\[\]", schema.returns) else call


def _overloads(space: str, name: str) -> list[_Overload]:
    """Return the overloads of an operator. Raise Damaged for one that opens files, and for unknown ones."""
    if space != "aten":
        found = {own: op for (home, title, own), op in registered.items() if (home, title) == (space, name)}
        return [_Overload(op.schema, _sized(op, op.schema)) for op in found.values()]
    try:
        schemas = all_overloads(name)
    except RuntimeError:  # schemas of operators on dicts, which are TorchScript's own
        return []
    listed = []
    for which, (schema, _) in schemas.items():
        if any(argument.name == "filename" for argument in schema.arguments):
            raise Damaged(f"aten::{name} opens files, which a program from a file must not")
        try:
            listed.append(_Overload(schema, _sized(getattr(getattr(ops.aten, name), which), schema)))
        except AttributeError:
            return []
    return listed


def _has_tensor(values: Any) -> bool:
    for value in values:
        if isinstance(value, Tensor) or type(value) in (list, tuple) and _has_tensor(value):
            return True
    return False


def _turned(name: str) -> Operator:
    return lambda tensor, number: operator("aten", name)(tensor, number)


_TURNED: dict[str, Operator] = {
    **{name: _turned(name) for name in ("add", "mul", "eq", "ne")},
    **{name: _turned(name) for name in ("__and__", "__or__", "__xor__")},
    **{name: _turned(other) for name, other in (("lt", "gt"), ("le", "ge"), ("gt", "lt"), ("ge", "le"), ("sub", "rsub"))},
    "div": lambda tensor, number: tensor.reciprocal() * number,
    "floor_divide": lambda tensor, number: (tensor.new_full([], number) // tensor),
}
"""Operators of a number and a tensor, as functions of the tensor and the number."""


_known: dict[tuple[str, str], Operator] = {}


def operator(space: str, name: str) -> Operator:
    """Return the operator of a name: a function of TorchScript's values. Raise Damaged if mstorch has none."""
    if space == "prim":
        if name not in PRIM:
            raise Damaged(f"Unknown builtin op: prim::{name}.\nCould not find any similar ops to prim::{name}.")
        return PRIM[name]
    key = (space, name)
    if key not in _known or space != "aten":  # a user's operators may be defined anew
        _known[key] = _operator(space, name)
    return _known[key]


def _operator(space: str, name: str) -> Operator:
    whole = OWN.get(name, OF_ALL.get(name)) if space == "aten" else None
    if whole is not None:
        return whole
    if (space, name) == ("aten", "floordiv"):
        divide, of_numbers = operator("aten", "floor_divide"), PLAIN["floordiv"]
        return lambda a, b: divide(a, b) if _has_tensor((a, b)) else of_numbers(a, b)
    if (space, name) == ("aten", "remainder"):
        remain = _of_overloads(space, name)
        return lambda a, *b, **named: OF_ALL["percentFormat"](a, *b) if type(a) is str else remain(a, *b, **named)
    return _of_overloads(space, name)


def _of_overloads(space: str, name: str) -> Operator:
    plain, held = (PLAIN.get(name), OF_CONTAINERS.get(name)) if space == "aten" else (None, None)
    try:
        listed = _overloads(space, name)
    except NotImplementedError:
        listed = []
    if not listed and plain is None and held is None:
        raise Damaged(
            f"\nUnknown builtin op: {space}::{name}.\nCould not find any similar ops to {space}::{name}. This op may not exist "
            "or may not be currently supported in TorchScript."
        )
    writes = name.endswith("_") and not name.endswith("__")

    def apply(*args: Any, **kwargs: Any) -> Any:
        if held is not None and args and type(args[0]) in (list, dict, str):
            return held(*args, **kwargs)
        if plain is not None and not _has_tensor(args):
            return plain(*args, **kwargs)
        values = list(args)
        for one in listed:
            if one.fits(values, kwargs):
                result = one.apply(values, kwargs)
                return result if isinstance(result, Tensor) else _result(result)
        for one in listed:
            sizes = one.gathered(values)
            if sizes is not None and one.fits(sizes, kwargs):
                return _result(one.apply(sizes, kwargs))
        for one in listed:
            numbers, options = one.converted(values, kwargs)
            if one.fits(numbers, options):
                return _result(one.apply(numbers, options))
        if writes and values and not isinstance(values[0], Tensor) and plain is not None:
            return plain(*args, **kwargs)
        if space == "aten" and len(values) == 2 and type(values[0]) in _NUMBERS and isinstance(values[1], Tensor) and name in _TURNED:
            return _TURNED[name](values[1], values[0])
        told = ", ".join([*map(described, args), *(f"{key}={described(value)}" for key, value in kwargs.items())])
        forms = "".join(f"\n  {one.schema.namespace}::{one.schema.text}" for one in listed)
        raise RuntimeError(f"Arguments for call are not valid: {space}::{name}({told}).\nThe following variants are available:{forms}")

    return apply


OWN: dict[str, Operator] = {"is_grad_enabled": lambda: modes.grad}
"""Operators that torch's functions of the same names are not."""


@declared(OWN, "tensor")
def _tensor(data: Any, *, dtype: int | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    kind = None if dtype is None else dtype_of(dtype)
    return tensor(data, dtype=kind, device=device, requires_grad=requires_grad)


@declared(OWN, "as_tensor")
def _as_tensor(data: Any, *, dtype: int | None = None, device: Any = None) -> Tensor:
    return as_tensor(data, dtype=None if dtype is None else dtype_of(dtype), device=device)


@declared(OWN, "Int")
def _int(value: Any) -> int:
    return int(value.item()) if isinstance(value, Tensor) else int(value)


@declared(OWN, "Float")
def _float(value: Any) -> float:
    return float(value.item()) if isinstance(value, Tensor) else float(value)


@declared(OWN, "Bool")
def _bool(value: Any) -> bool:
    return bool(value.item()) if isinstance(value, Tensor) else bool(value)


@declared(OWN, "Complex")
def _complex(*values: Any) -> complex:
    return complex(*(value.item() if isinstance(value, Tensor) else value for value in values))


@declared(OWN, "tolist")
def _to_list(value: Tensor, *_: Any) -> Any:
    return value.tolist()


@declared(OWN, "set_grad_enabled")
def _set_grad(enabled: bool) -> None:
    modes.grad = enabled


PRIM: dict[str, Operator] = {
    "dtype": lambda value: number_of(value.dtype),
    "device": lambda value: value.device,
    "layout": lambda value: number_of(value.layout),
    "shape": lambda value: list(value.shape),
    "data": lambda value: value.detach(),
    "grad": lambda value: value.grad,
    "requires_grad": lambda value: value.requires_grad,
    "is_leaf": lambda value: value.is_leaf,
    "is_cuda": lambda value: value.is_cuda,
    "is_cpu": lambda value: value.device.type == "cpu",
    "is_xpu": lambda value: False,
    "is_ipu": lambda value: False,
    "is_mps": lambda value: False,
    "is_hpu": lambda value: False,
    "is_vulkan": lambda value: False,
    "is_xla": lambda value: False,
    "is_mtia": lambda value: False,
    "is_maia": lambda value: False,
    "is_meta": lambda value: value.is_meta,
    "is_nested": lambda value: value.is_nested,
    "is_mkldnn": lambda value: False,
    "is_sparse": lambda value: value.is_sparse,
    "is_sparse_csr": lambda value: value.is_sparse_csr,
    "is_quantized": lambda value: value.is_quantized,
    "itemsize": lambda value: value.itemsize,
    "nbytes": lambda value: value.nbytes,
    "name": lambda value: None,
    "ndim": lambda value: value.dim(),
    "T": lambda value: value.T,
    "mT": lambda value: value.mT,
    "H": lambda value: value.H,
    "mH": lambda value: value.mH,
    "names": lambda value: [None] * value.dim(),
    "type": lambda value: value.type,
    "index": lambda value: value.index,
    "NumToTensor": lambda value: tensor(value),
    "unchecked_unwrap_optional": lambda value: value,
    "min": least,
    "max": greatest,
    "abs": abs,
    "rangelist": lambda count: list(range(count)),
    "TupleIndex": lambda value, place: value[place],
    "TupleUnpack": lambda value: value,
    "id": lambda value: id(value),
    "tolist": _to_list,
    "EnumName": lambda value: value.name,
    "EnumValue": lambda value: value.value,
    "BroadcastSizes": lambda *sizes: list(broadcast_shapes(*sizes)),
    "ModuleContainerIndex": lambda module, key, *_: module._ms_children()[key],
    "isinstance": isinstance,
    "is_grad_enabled": lambda: modes.grad,
}
_NO_PROPERTIES = {
    "NumToTensor", "unchecked_unwrap_optional", "min", "max", "abs", "rangelist", "TupleIndex", "TupleUnpack", "id", "tolist", "isinstance",
}  # fmt: skip
PROPERTIES = {name for name in PRIM if name not in _NO_PROPERTIES} | {"real", "imag"}
"""Names that archives may read as attributes of tensors and devices."""
