"""vmap: applies a function of single examples to batches, in steps that packages such as tensordict replace."""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from .._src.core import generator
from .._src.core.overriding import PLAIN, WITHOUT_SUBCLASSES, dispatches, level_set_to, state
from .._src.core.tensor_base import TensorBase
from .._src.core.trees import TreeSpec, broadcast_to, tree_flatten, tree_unflatten
from .._tensor import Tensor as Tensor
from ..func import (
    _batched_composed,
    _batched_function,
    _batched_index,
    _batched_operators,
    _batched_products,
    _batched_views,
)
from ..func._batched import Map, batched, is_of, outside, public, wrapped
from ..func._batched_layers import draw

P = ParamSpec("P")
R = TypeVar("R")

# Importing the modules registers the rules.
RULE_ROOMS = (_batched_composed, _batched_function, _batched_index, _batched_operators, _batched_products, _batched_views)
_MODES = ("error", "different", "same")


def _get_name(func: Callable[..., Any]) -> str:
    """Return a function's name for messages."""
    if isinstance(func, functools.partial):
        return f"functools.partial({_get_name(func.func)}, ...)"
    return getattr(func, "__name__", None) or repr(func)


def _is_none(value: object) -> bool:
    return value is None


def _broadcast_to_and_flatten(
    tree: Any, treespec: TreeSpec, is_leaf: Callable[[Any], bool] | None = None
) -> list[Any] | None:
    """Repeat each leaf of a tree that is a prefix of a TreeSpec for all leaves below it; return None if it is not a prefix."""
    return broadcast_to(tree, treespec, lambda value: value is None or (is_leaf is not None and is_leaf(value)))


def _batch_size(leaves: list[Any], dims: list[Any]) -> int:
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension"
        )
    return sizes[0]


def _process_batched_inputs(
    in_dims: Any, args: tuple[Any, ...], func: Callable[..., Any]
) -> tuple[int, list[Any], list[Any], Any]:
    """Return the batch size, the batch dimension of each leaf of the arguments (None: not batched), the leaves, and their TreeSpec."""
    name = _get_name(func)
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple "
            f"matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function "
            "with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = broadcast_to(in_dims, spec, _is_none)
    if dims is None:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. in_dims "
            f"has structure {tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    words = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim="
    for i, (leaf, dim) in enumerate(zip(leaves, dims)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(f"{words}{dim} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(leaf, TensorBase):
            raise ValueError(
                f"{words}{dim} for an input but the input is of type {type(leaf)}. We cannot vmap over non-Tensor arguments, "
                "please use None as the respective in_dim"
            )
        rank = len(leaf._ms_shape)
        if not -rank <= dim < rank:
            raise ValueError(
                f"{words}{dim} for some input, but that input is a Tensor of dimensionality {rank} so expected in_dim to "
                f"satisfy -{rank} <= in_dim < {rank}."
            )
        dims[i] = dim % rank
    return _batch_size(leaves, dims), dims, leaves, spec


def mapped_size(func: Callable[..., Any], in_dims: Any, args: tuple[Any, ...]) -> int:
    """Return the batch size that ``vmap`` would find in the arguments; raise ValueError with torch's message for invalid ones."""
    return _process_batched_inputs(in_dims, args, func)[0]


def _add_batch_dim(self: Tensor, batch_dim: int, level: int) -> Tensor:
    """Return a BatchedTensor of the vmap at ``level`` whose batch dimension is ``batch_dim``."""
    return batched(_without_overriding(self), batch_dim % len(self._ms_shape), state.maps[level - 1])


def _without_overriding(tensor: Any) -> Any:
    """Return a plain tensor for one of a class that overrides calls: what is mapped has that class only if the function gives it."""
    kind = type(tensor)
    if kind in PLAIN or dispatches(kind) or not issubclass(kind, Tensor):
        return tensor
    with level_set_to(WITHOUT_SUBCLASSES):
        return tensor.as_subclass(Tensor)


def _remove_batch_dim(self: Any, level: int, batch_size: int, out_dim: int) -> Tensor:
    """Return the tensor inside a BatchedTensor of the vmap at ``level``, with its batch dimension at ``out_dim``; a tensor that is not
    batched is expanded.
    """
    map = state.maps[level - 1]
    shape = self._ms_shape
    place = wrapped(out_dim, len(shape) + 1)
    with outside(map.depth):
        if not is_of(self, map):
            return self.unsqueeze(place).expand(*shape[:place], batch_size, *shape[place:])
        return self.value if place == self.bdim else self.value.movedim(self.bdim, place)


def _create_batched_inputs(flat_in_dims: list[Any], flat_args: list[Any], vmap_level: int, args_spec: TreeSpec) -> tuple[Any, ...]:
    """Return the arguments for the mapped function: BatchedTensors for those with an in_dim, others unchanged."""
    values = [arg if dim is None else _add_batch_dim(arg, dim, vmap_level) for dim, arg in zip(flat_in_dims, flat_args)]
    return tree_unflatten(values, args_spec)


def _maybe_remove_batch_dim(name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None) -> Tensor:
    """Return a result with its batch dimension moved to ``out_dim``."""
    if out_dim is None:
        if is_of(batched_output, state.maps[vmap_level - 1]):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return batched_output
    if not isinstance(batched_output, TensorBase):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did you mean to set out_dims= to "
            "None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _output_dims(name: str, out_dims: Any, spec: TreeSpec, single: bool) -> list[Any]:
    if single and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return [out_dims[0]]
    dims = broadcast_to(out_dims, spec, _is_none)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. "
            f"out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return dims


def _unwrap_batched(
    batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Callable[..., Any]
) -> Any:
    """Return the mapped function's result with the batch dimensions moved to ``out_dims``."""
    name = _get_name(func)
    flat, spec = tree_flatten(batched_outputs)
    dims = _output_dims(name, out_dims, spec, isinstance(batched_outputs, TensorBase))
    return tree_unflatten([_maybe_remove_batch_dim(name, one, vmap_level, batch_size, dim) for one, dim in zip(flat, dims)], spec)


def _check_out_dims(out_dims: Any, func: Callable[..., Any]) -> None:
    if isinstance(out_dims, int) or out_dims is None:
        return
    if not all(dim is None or isinstance(dim, int) for dim in tree_flatten(out_dims, _is_none)[0]):
        raise ValueError(
            f"vmap({_get_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear."
        )


def restore_vmap(func: Callable[..., Any], in_dims: Any, batch_size: int, randomness: str) -> Callable[..., Any]:
    """Return a function that runs within a vmap of ``batch_size``, and returns its results, each with its batch dimension, or None if it is
    not batched.
    """

    def inner(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        with Map(batch_size, randomness, draw) as map:
            flat, spec = tree_flatten(args)
            dims = broadcast_to(in_dims, spec, _is_none)
            if dims is None:
                raise RuntimeError("restore_vmap: in_dims do not fit the arguments")
            outputs = func(*_create_batched_inputs(dims, flat, map.depth, spec), **kwargs)
            return unwrap_batched(outputs, map.depth)

    return inner


def unwrap_batched(args: Any, level: int) -> tuple[Any, Any]:
    """Return the tensors that the given level's BatchedTensors wrap, and their batch dimensions (None for other values)."""
    flat, spec = tree_flatten(args)
    own = state.maps[level - 1]
    parts = [(one.value, one.bdim) if is_of(one, own) else (one, None) for one in flat]
    return tree_unflatten([value for value, _ in parts], spec), tree_unflatten([dim for _, dim in parts], spec)


def vmap(
    func: Callable[P, R], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
    chunk_size: int | None = None
) -> Callable[P, R]:
    """Return a function that applies ``func`` to each slice of its positional arguments along ``in_dims`` and stacks the results.

    ``func`` runs once, on tensors that hide the batch dimension: it cannot branch on their values. ``in_dims`` and ``out_dims`` are ints or
    trees like the arguments and the results; None: not batched. ``randomness``: random operations raise ("error"), draw the "same" numbers
    for each slice, or "different" ones. ``chunk_size``: the maximum number of slices at once.
    """
    if randomness not in _MODES:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def run(leaves: list[Any], dims: list[Any], spec: Any, kwargs: dict[str, Any], size: int) -> Any:
        refusing = generator.randomness("error") if randomness == "error" else contextlib.nullcontext()
        with Map(size, randomness, draw) as map, refusing:
            result = func(*_create_batched_inputs(dims, leaves, map.depth, spec), **kwargs)
            return _unwrap_batched(result, out_dims, map.depth, size, func)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(out_dims, func)
        size, dims, leaves, spec = _process_batched_inputs(in_dims, args, func)
        if chunk_size is None or chunk_size >= size:
            return run(leaves, dims, spec, kwargs, size)
        source = generator.default_generator
        before = source.get_state() if randomness == "same" else None
        chunks = []
        for start in range(0, size, chunk_size):
            # "same" numbers are the same in all chunks.
            if before is not None:
                source.set_state(before)
            count = min(chunk_size, size - start)
            parts = [leaf if dim is None else leaf.narrow(dim, start, count) for leaf, dim in zip(leaves, dims)]
            chunks.append(run(parts, dims, spec, kwargs, count))
        return _joined(chunks, out_dims)

    return wrapper


def _joined(chunks: list[Any], out_dims: Any) -> Any:
    flat, spec = tree_flatten(chunks[0])
    dims = _output_dims("", out_dims, spec, isinstance(chunks[0], TensorBase))
    parts = zip(flat, *(tree_flatten(chunk)[0] for chunk in chunks[1:]))
    return tree_unflatten([one[0] if dim is None else public("cat")(list(one), dim) for one, dim in zip(parts, dims)], spec)


__all__ = ["mapped_size", "vmap"]
