"""``functionalize`` below a mode that records calls: calls that write become calls that return new values, as in torch.

The function runs on copies of its arguments, in whose memory every call has its usual effect. Beside each tensor stands its *value*, which
the modes outside see: no call writes to it. Tensors that share memory share a base; a write to one of them gives the base a new value (by
``select_scatter`` and its kin), from which the others' values are computed again when they are needed.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._src.aten import calling
from .._src.core.tensor_base import TensorBase
from .._src.core.trees import tree_map
from ..ops import aten
from ..utils._python_dispatch import TorchDispatchMode

_SCATTERED = {
    "select": "select_scatter", "slice": "slice_scatter", "diagonal": "diagonal_scatter", "as_strided": "as_strided_scatter",
}  # fmt: skip
_RESHAPED = ("view", "_unsafe_view", "_reshape_alias")


class _Step(NamedTuple):
    """A view: the operator that makes it of another tensor, its further arguments, and which of its results is meant."""

    operator: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: int | None = None

    def of(self, tensor: Any) -> Any:
        """Return the view of a tensor."""
        result = self.operator(tensor, *self.args, **self.kwargs)
        return result if self.result is None else result[self.result]

    def written(self, base: Any, part: Any) -> Any:
        """Return ``base`` with other values where the view of it is."""
        name = self.operator.overloadpacket.__name__.removesuffix("_copy")
        suffix = "_copy" if self.operator.overloadpacket.__name__.endswith("_copy") else ""
        if name in _SCATTERED:
            return getattr(aten, _SCATTERED[name])(base, part, *self.args, **self.kwargs)
        if name in _RESHAPED:
            return getattr(aten, f"view{suffix}")(part, list(base.shape))
        if name == "permute":
            order = [dim % len(base.shape) for dim in self.args[0]]
            return self.operator(part, [order.index(dim) for dim in range(len(order))])
        if name in ("detach", "alias", "lift_fresh"):
            return part
        if name in ("view_as_real", "view_as_complex"):
            return getattr(aten, "view_as_complex" if name == "view_as_real" else "view_as_real")(part)
        if name in ("t", "transpose") or name.startswith("_"):  # a lazy conjugate or negative: the view of the view
            return self.operator(part, *self.args)
        if name == "unsqueeze":
            return getattr(aten, f"squeeze{suffix}")(part, *self.args)
        if name == "squeeze":
            return self._unsqueezed(base, part, suffix)
        return self._joined(name, base, part)

    def _unsqueezed(self, base: Any, part: Any, suffix: str) -> Any:
        given = self.args[0] if self.args else range(len(base.shape))
        for dim in sorted(dim % max(len(base.shape), 1) for dim in ((given,) if isinstance(given, int) else given)):
            if base.shape[dim] == 1:
                part = getattr(aten, f"unsqueeze{suffix}")(part, dim)
        return part

    def _joined(self, name: str, base: Any, part: Any) -> Any:
        if name == "unbind":
            return aten.select_scatter(base, part, self.args[0] if self.args else 0, self.result)
        if name in ("split", "split_with_sizes"):
            assert self.result is not None
            dim = self.args[1] if len(self.args) > 1 else 0
            sizes = self.args[0]
            start = self.result * sizes if isinstance(sizes, int) else sum(sizes[: self.result])
            end = start + (sizes if isinstance(sizes, int) else sizes[self.result])
            return aten.slice_scatter(base, part, dim, start, min(end, base.shape[dim]))
        raise NotImplementedError(f"mstorch: functionalize does not write through {self.operator}")


class _Base:
    """Memory that several tensors share: its last value, and the writes that are not in that value yet."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.number = 0  # of the writes so far
        self.writes: list[tuple[Any, tuple[_Step, ...]]] = []

    def settle(self) -> None:
        """Compute the value with all writes."""
        for part, steps in self.writes:
            wholes = [self.value]
            for step in steps[:-1]:
                wholes.append(step.of(wholes[-1]))
            for step, whole in zip(reversed(steps), reversed(wholes)):
                part = step.written(whole, part)
            self.value = part
        self.writes.clear()


class _Entry:
    """A tensor of the function: its value, and its place in its base."""

    def __init__(self, tensor: Any, value: Any, base: _Base, steps: tuple[_Step, ...]) -> None:
        self.tensor, self.value, self.base, self.steps, self.number = tensor, value, base, steps, 0

    def current(self) -> Any:
        """Return the value, computed again if something that shares its memory was written."""
        if self.number != self.base.number:
            self.base.settle()
            self.value = self.base.value
            for step in self.steps:
                self.value = step.of(self.value)
            self.number = self.base.number
        return self.value

    def write(self, value: Any) -> None:
        """Take a new value, as does the base."""
        self.value = value
        self.base.writes.append((value, self.steps))
        self.base.number += 1
        self.current()


class FunctionalMode(TorchDispatchMode):
    """Gives the modes outside calls that do not write, and lets every call have its effect in the function's own memory."""

    def __init__(self, views: bool) -> None:
        super().__init__()
        self.views = views
        self._by_id: dict[int, _Entry] = {}
        self._by_place: dict[Any, _Entry] = {}

    def taken(self, value: Any) -> Any:
        """Return a copy of an argument, with the argument as its value."""
        if not isinstance(value, TensorBase):
            return value
        with calling.unseen():
            copy = value.clone()
        self._enter(copy, value, _Base(value), ())
        return copy

    def value_of(self, tensor: Any) -> Any:
        """Return the value of a tensor; one that the function did not make is its own."""
        entry = self._find(tensor) if isinstance(tensor, TensorBase) else None
        return tensor if entry is None else entry.current()

    def give_back(self, argument: Any, copy: Any) -> None:
        """Write the last value of a copy into the argument, if the function wrote to it."""
        if isinstance(argument, TensorBase):
            value = self.value_of(copy)
            if value is not argument:
                if tuple(value.shape) != tuple(argument.shape):
                    aten.resize_(argument, list(value.shape))
                aten.copy_(argument, value)

    def _enter(self, tensor: Any, value: Any, base: _Base, steps: tuple[_Step, ...]) -> _Entry:
        entry = _Entry(tensor, value, base, steps)
        self._by_id[id(tensor)] = self._by_place[_place(tensor)] = entry
        return entry

    def _find(self, tensor: Any) -> _Entry | None:
        entry = self._by_id.get(id(tensor))
        return entry if entry is not None and entry.tensor is tensor else self._by_place.get(_place(tensor))

    def _entry_of(self, tensor: Any) -> _Entry:
        return self._find(tensor) or self._enter(tensor, tensor, _Base(tensor), ())

    def __torch_dispatch__(self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Compute a call in the function's memory and, for the modes outside, without writes."""
        kwargs = kwargs or {}
        if func is aten._local_scalar_dense.default:
            return func(*tree_map(self.value_of, args))
        written = _written(func)
        if not written and func is aten.lift_fresh.default:  # a constant becomes a tensor of its own
            self._pair(args[0], aten.lift_fresh_copy(args[0]))
            return args[0]
        if not written and func._is_view:
            return self._view(func, args, kwargs)
        if not written:
            value = func(*tree_map(self.value_of, args), **tree_map(self.value_of, kwargs))
            if func._nondeterministic_seeded:
                result = tree_map(_copied, value)
            else:
                result = _in_memory(func, args, kwargs)
            self._pair(result, value)
            return result
        return self._write(func, args, kwargs, written)

    def _pair(self, results: Any, values: Any) -> None:
        if isinstance(results, TensorBase):
            self._enter(results, values, _Base(values), ())
        elif isinstance(results, (tuple, list)):
            for result, value in zip(results, values):
                self._pair(result, value)

    def _form(self, func: Any) -> Any:
        """Return the operator by which a view is made: with ``mutations_and_views``, one that copies."""
        packet = func.overloadpacket.__name__
        copying = getattr(aten, f"{packet}_copy", None) if self.views else None
        return func if copying is None else getattr(copying, func._overloadname)

    def _view(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        source = self._entry_of(args[0])
        operator = self._form(func)
        value = operator(source.current(), *args[1:], **kwargs)
        result = _in_memory(func, args, kwargs)
        if isinstance(result, TensorBase):
            self._enter(result, value, source.base, (*source.steps, _Step(operator, args[1:], kwargs)))
        else:
            for number, (part, own) in enumerate(zip(result, value)):
                self._enter(part, own, source.base, (*source.steps, _Step(operator, args[1:], kwargs, number)))
        return result

    def _write(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], written: list[str]) -> Any:
        name = func.overloadpacket.__name__
        if name in ("resize_", "t_", "transpose_", "squeeze_", "unsqueeze_", "as_strided_"):
            return self._reshape(func, name, args, kwargs)
        plain = _without_writes(func, written)
        targets = [kwargs[word] if word in kwargs else args[0] for word in written]
        left = {word: value for word, value in kwargs.items() if word not in written or plain.takes(word)}
        values = plain.operator(*tree_map(self.value_of, args), **tree_map(self.value_of, left))
        entries = [self._entry_of(target) for target in targets]
        result = _in_memory(func, args, kwargs)
        for entry, value in zip(entries, values if isinstance(values, (tuple, list)) else (values,)):
            entry.write(value)
            self._by_place[_place(entry.tensor)] = entry
        return result

    def _reshape(self, func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Give a tensor another shape, as an in-place call does."""
        entry = self._entry_of(args[0])
        if name == "resize_":
            size = list(args[1])
            grown = aten.resize(entry.current(), size, **kwargs)
            if math.prod(size) > math.prod(entry.current().shape):
                result = _in_memory(func, args, kwargs)
                entry.write(grown)
                self._by_place[_place(entry.tensor)] = entry
                return result
            strides = [math.prod(size[dim + 1 :]) for dim in range(len(size))]
            step = _Step(self._form(aten.as_strided.default), (size, strides), {})
        else:
            step = _Step(self._form(getattr(getattr(aten, name[:-1]), func._overloadname)), args[1:], kwargs)
        entry.value = step.of(entry.current())
        entry.steps = (*entry.steps, step)
        result = _in_memory(func, args, kwargs)
        self._by_place[_place(entry.tensor)] = entry
        return result


def _written(func: Any) -> list[str]:
    """Return the names of the arguments to which an operator writes."""
    if getattr(func, "_known", None) is None:
        return []
    return [one.name for one in func._schema.arguments if one.alias_info is not None and one.alias_info.is_write]


class _Plain(NamedTuple):
    operator: Any
    takes: Callable[[str], bool]


def _without_writes(func: Any, written: list[str]) -> _Plain:
    """Return the operator that computes what another one writes."""
    packet, overload = func.overloadpacket.__name__, func._overloadname
    if func._is_in_place:
        plain = getattr(aten, packet[:-1], None)
        if plain is not None and overload in plain.overloads():
            return _Plain(getattr(plain, overload), lambda word: True)
    else:
        wanted = [(one.name, str(one.type)) for one in func._schema.arguments if one.name not in written]
        for name in func.overloadpacket.overloads():
            other = getattr(func.overloadpacket, name)
            if [(one.name, str(one.type)) for one in other._schema.arguments] == wanted:
                return _Plain(other, lambda word: False)
    raise NotImplementedError(f"mstorch: functionalize knows no operator that computes what {func} writes")


def _in_memory(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with calling.unseen():
        return func(*args, **kwargs)


def _copied(value: Any) -> Any:
    with calling.unseen():
        return value.clone() if isinstance(value, TensorBase) else value


def _place(tensor: Any) -> tuple[Any, ...]:
    return id(tensor._ms_storage), tensor._ms_offset, tensor._ms_shape, tensor._ms_stride, tensor._ms_dtype
