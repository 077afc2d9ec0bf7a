"""vmap: a function of single examples applied to batches."""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from .._core import generator
from .._core.tensor_base import TensorBase
from .._core.trees import broadcast_to, tree_flatten, tree_unflatten
from . import _batched_composed, _batched_function, _batched_index, _batched_products, _batched_views
from ._batched import Map, batched, is_of, public, wrapped
from ._batched_layers import draw

P = ParamSpec("P")
R = TypeVar("R")

# Rules are entered where they are defined.
RULE_ROOMS = (_batched_composed, _batched_function, _batched_index, _batched_products, _batched_views)
_MODES = ("error", "different", "same")


def _is_none(value: Any) -> bool:
    return value is None


def _input_dims(name: str, in_dims: Any, args: tuple[Any, ...]) -> tuple[list[Any], list[Any], Any]:
    """The leaves of the arguments, the dimension of each (None: not mapped over), and their structure."""
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
        rank = len(leaf._shape)
        if not -rank <= dim < rank:
            raise ValueError(
                f"{words}{dim} for some input, but that input is a Tensor of dimensionality {rank} so expected in_dim to "
                f"satisfy -{rank} <= in_dim < {rank}."
            )
        dims[i] = dim % rank
    return leaves, dims, spec


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


def mapped_size(func: Callable[..., Any], in_dims: Any, args: tuple[Any, ...]) -> int:
    """How many slices ``vmap`` would find in the arguments; ValueError with torch's words for arguments that it refuses."""
    leaves, dims, _ = _input_dims(getattr(func, "__name__", repr(func)), in_dims, args)
    return _batch_size(leaves, dims)


def _output_dims(name: str, out_dims: Any, spec: Any, single: bool) -> list[Any]:
    own = tree_flatten(out_dims, _is_none)[0]
    if not all(dim is None or isinstance(dim, int) for dim in own):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear."
        )
    if single and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return [out_dims[0]]
    dims = broadcast_to(out_dims, spec, _is_none)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. "
            f"out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return dims


def _unwrapped(name: str, value: Any, dim: Any, map: Map) -> Any:
    """A result with the mapped dimension in its place."""
    if dim is None:
        if is_of(value, map):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return value
    if not isinstance(value, TensorBase):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you mean to set out_dims= to None for "
            "output?"
        )
    if not is_of(value, map):
        shape = value._shape
        place = wrapped(dim, len(shape) + 1)
        return value.unsqueeze(place).expand(*shape[:place], map.size, *shape[place:])
    place = wrapped(dim, len(value._shape) + 1)
    batched: Any = value
    return batched.value if place == batched.bdim else batched.value.movedim(batched.bdim, place)


def vmap(
    func: Callable[P, R], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable[P, R]:
    """A function that applies ``func`` to each slice of its positional arguments along ``in_dims`` and stacks the results.

    ``func`` runs once, on tensors that hide the mapped dimension: it cannot branch on their values. ``in_dims`` and ``out_dims``
    are ints or trees like the arguments' and the results'; None: not mapped over. ``randomness``: random operations are an
    error, draw the "same" numbers for each slice, or "different" ones. ``chunk_size``: at most so many slices at once.
    """
    if randomness not in _MODES:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    def run(leaves: list[Any], dims: list[Any], spec: Any, kwargs: dict[str, Any], size: int) -> tuple[list[Any], list[Any], Any]:
        refusing = generator.randomness("error") if randomness == "error" else contextlib.nullcontext()
        with Map(size, randomness, draw) as map, refusing:
            values = [leaf if dim is None else batched(leaf, dim, map) for leaf, dim in zip(leaves, dims)]
            result = func(*tree_unflatten(values, spec), **kwargs)
        flat, out_spec = tree_flatten(result)
        dims_out = _output_dims(name, out_dims, out_spec, isinstance(result, TensorBase))
        return [_unwrapped(name, value, dim, map) for value, dim in zip(flat, dims_out)], dims_out, out_spec

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        leaves, dims, spec = _input_dims(name, in_dims, args)
        size = _batch_size(leaves, dims)
        if chunk_size is None or chunk_size >= size:
            found, _, out_spec = run(leaves, dims, spec, kwargs, size)
            return tree_unflatten(found, out_spec)
        source = generator.default_generator
        before = source.get_state() if randomness == "same" else None
        chunks = []
        for start in range(0, size, chunk_size):
            # "same" numbers are the same in all chunks.
            if before is not None:
                source.set_state(before)
            count = min(chunk_size, size - start)
            parts = [leaf if dim is None else leaf.narrow(dim, start, count) for leaf, dim in zip(leaves, dims)]
            found, dims_out, out_spec = run(parts, dims, spec, kwargs, count)
            chunks.append(found)
        return tree_unflatten([_whole(parts, dim) for parts, dim in zip(zip(*chunks), dims_out)], out_spec)

    return wrapper


def _whole(parts: Sequence[Any], dim: int | None) -> Any:
    return parts[0] if dim is None else public("cat")(list(parts), dim)


__all__ = ["mapped_size", "vmap"]
