"""Calls under vmap without a batching rule: computed slice by slice, or refused."""
from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, cast

from .._src.core.generator import randomness
from .._src.core.modes import modes
from .._src.core.tensor_base import TensorBase, is_tracked
from .._src.core.trees import tree_flatten, tree_unflatten
from .._src.core.warned import warn
from .._tensor import Tensor
from ._batched import NO_BRANCH, NO_ITEM, BatchedTensor, Map, Op, batched, core, front, is_of, public

# Options of ``torch._C._functorch``: whether such calls are allowed, and whether they warn.
fallback = {"enabled": True, "warned": True}
loops: dict[str, int] = {}  # how often each function was computed slice by slice


def unmapped_error(op: Op) -> RuntimeError:
    """Return the RuntimeError of writing batched values into an unbatched tensor."""
    name = _IN_PLACE_WORDS.get(op.name) or f"aten::{op.name}"
    where = f"at level {op.map.depth}" if name.startswith("aten::") else "in a vmap"
    return RuntimeError(
        f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements "
        f"than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over {where}. Please try to use "
        f"out-of-place operators instead of {name}. If said operator is being called inside the PyTorch framework, please file a bug "
        "report instead."
    )


_IN_PLACE_WORDS = {
    **dict.fromkeys(
        "__setitem__ add_ sub_ mul_ div_ copy_ masked_fill_ __iadd__ __isub__ __imul__ __itruediv__".split(), "inplace arithmetic"
    ),
    **{name: name for name in ("index_put_", "index_add_", "fill_")},
}  # fmt: skip


def is_in_place(name: str) -> bool:
    """Return whether a function of this name modifies its first argument in place."""
    return name.endswith("_") and not name.endswith("__") or name in ("__setitem__", *_IN_PLACE_OPERATORS)


_IN_PLACE_OPERATORS = (
    "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__iand__", "__ior__", "__ixor__",
    "__ilshift__", "__irshift__",
)  # fmt: skip


def _slice_of(value: Tensor | float, map: Map, index: int) -> Any:
    """Return one slice of a value."""
    if isinstance(value, BatchedTensor):
        if value.map is not map:
            return value
        if map.size:
            return value.value.select(value.bdim, index)
        return value.value.new_zeros(value._ms_shape)  # a run on zeros shows the shapes of the results
    if isinstance(value, (tuple, list)):
        items = [_slice_of(item, map, index) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if type(value) is slice:
        return slice(*(_slice_of(item, map, index) for item in (value.start, value.stop, value.step)))
    return {key: _slice_of(item, map, index) for key, item in value.items()} if type(value) is dict else value


def stacked(op: Op, parts: Sequence[Any]) -> Tensor:
    """Stack the results of the slices to a batched tensor; results that are not tensors must be equal in all slices."""
    first = parts[0]
    if isinstance(first, TensorBase):
        whole = public("stack")(list(parts))
        return batched(whole if op.map.size else whole[:0], 0, op.map)
    for part in parts[1:]:
        if part != first:
            raise RuntimeError(NO_BRANCH if isinstance(first, bool) else NO_ITEM)
    return first


def by_slices(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute the call slice by slice."""
    if kwargs.get("out") is not None:
        raise RuntimeError(f"Batching rule not implemented for aten::{op.name}.out; the fallback path doesn't work on out= or view ops.")
    if not fallback["enabled"]:
        raise RuntimeError(f"aten::{op.name} hit the vmap fallback which is currently disabled")
    target = args[0] if args and is_in_place(op.name) else None
    if target is not None and not is_of(target, op.map):
        raise unmapped_error(op)
    if fallback["warned"]:
        warn(
            "There is a performance drop because we have not yet implemented the batching rule for "
            f"aten::{op.name}. Please file us an issue on GitHub so that we can prioritize its implementation.",
            UserWarning,
        )  # fmt: skip
    return looped(op, args, kwargs, target)


def looped(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], target: Tensor | None = None) -> Any:
    """Compute the call slice by slice, with random numbers drawn according to the vmap's randomness."""
    map = op.map
    count = map.size or 1
    results = []
    spec: Any = None
    # A slice written in its place would change what autograd saved of the slices before it: they share the target's version.
    apart = target is not None and modes.grad and is_tracked(core(target))
    drawing = randomness(map.randomness, count) if map.randomness != "error" else contextlib.nullcontext(_nothing)
    with drawing as begin_slice:
        for index in range(count):
            begin_slice()
            given = [_slice_of(value, map, index) for value in args]
            named = {name: _slice_of(value, map, index) for name, value in kwargs.items()}
            if apart:
                given[0] = given[0].clone()
            flat, spec = tree_flatten(op(*given, **named))
            results.append(flat)
    loops[op.key] = loops.get(op.key, 0) + 1
    if apart and target is not None:
        whole = public("stack")([flat[0] for flat in results])
        front(cast(Any, target)).copy_(whole if map.size else whole[:0])
    if target is not None:
        return target
    return tree_unflatten([stacked(op, parts) for parts in zip(*results)], spec)



def _nothing() -> None:
    """Do nothing: the slice draws no random numbers."""


def expanded(tensor: Any, map: Map) -> Any:
    """Return the values with the batch dimension in front, expanded if the tensor is not batched."""
    return front(tensor) if is_of(tensor, map) else tensor.expand(map.size, *tensor._ms_shape)
