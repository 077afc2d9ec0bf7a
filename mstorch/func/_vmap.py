"""vmap: a function of single examples applied to batches."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core import generator
from .._core.formats import strided
from .._core.tensor_base import TensorBase, array_of, recording
from .._core.trees import broadcast_to, tree_flatten, tree_unflatten
from .._ops.creation import zeros
from .._ops.join import stack
from .._ops.views import movedim, select
from .._tape.node import on_host
from .._tape.windows import window_of_all

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
        rank = len(leaf.shape)  # type: ignore[attr-defined]
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


def _joined(name: str, results: list[list[Any]], dims: list[Any], empty: bool) -> list[Any]:
    """The results of the examples, each stacked along its dimension."""
    joined = []
    for values, dim in zip(zip(*results), dims):
        if dim is None:
            values = tuple(value.part if isinstance(value, _Given) else value for value in values)
            _check_alike(name, values)
            joined.append(values[0])
            continue
        for value in values:
            if not isinstance(value, (TensorBase, _Given)):
                raise ValueError(
                    f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you mean to set "
                    "out_dims= to None for output?"
                )
        first = values[0]
        if isinstance(first, _Given) and all(
            isinstance(value, _Given) and value.leaf is first.leaf and value.dim == first.dim for value in values
        ):
            joined.append(first.leaf if first.dim == dim else movedim(first.leaf, first.dim, dim))
            continue
        values = tuple(value.part if isinstance(value, _Given) else value for value in values)
        whole = zeros((0, *values[0].shape), dtype=values[0].dtype) if empty else _whole(values)
        joined.append(whole if dim == 0 else movedim(whole, 0, dim))
    return joined


class _Given(NamedTuple):
    """A result that is the slice of an argument itself: the whole result is that argument."""

    leaf: Any
    dim: int
    part: Any


def _whole_of(result: Any, values: Sequence[Any], leaves: Sequence[Any], dims: Sequence[Any]) -> Any:
    for value, leaf, dim in zip(values, leaves, dims):
        if result is value and dim is not None:
            return _Given(leaf, dim, value)
    return result


def _check_alike(name: str, values: Sequence[Any]) -> None:
    """What is not stacked must be the same for all examples."""
    first = values[0]
    for value in values[1:]:
        if isinstance(value, TensorBase) and value is not first and not _equal(value, first):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")


def _equal(one: Any, other: Any) -> bool:
    if not isinstance(other, TensorBase) or one.shape != other.shape or not (on_host(one) and on_host(other)):
        return False
    return np.array_equal(array_of(one), array_of(other), equal_nan=one._dtype.category >= 2)


def _whole(values: Sequence[Any]) -> Any:
    """The results of the examples, stacked: where they are views, a view of the same memory."""
    if any(value.layout is not strided for value in values):
        return stack(values)
    found = window_of_all(values)
    if found is None:
        return stack(values)
    if recording(values):
        made = stack(values)
        found._node, found._number = made._node, made._number
    return found


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """A function that applies ``func`` to each slice of its positional arguments along ``in_dims`` and stacks the results.

    ``in_dims`` and ``out_dims`` are ints or trees like the arguments' and the results'; None: not mapped over. ``randomness``:
    random operations are an error, draw the "same" numbers for each slice, or "different" ones. Differs from torch: ``func``
    runs once for each slice, on tensors that are what they seem, so that it may branch on values and call ``.item()``; a
    change in place of something that is not mapped over happens for each slice; "different" numbers that are drawn with
    values of a slice are drawn slice after slice, all others for ``chunk_size`` slices at once, as in torch.
    """
    if randomness not in _MODES:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        leaves, dims, spec = _input_dims(name, in_dims, args)
        size = _batch_size(leaves, dims)
        results: list[list[Any]] = []
        out_spec: Any = None
        step = min(chunk_size or size, size) or 1
        source = generator.default_generator
        before = source.get_state() if step < size and randomness == "same" else None
        for start in range(0, max(size, 1), step):
            # Each chunk draws for itself, and "same" numbers are the same in all of them.
            count = min(step, max(size, 1) - start)
            if before is not None:
                source.set_state(before)
            with generator.randomness(randomness, count) as begin_slice:
                for i in range(start, start + count):
                    begin_slice()
                    values = [_slice(leaf, dim, i, size) for leaf, dim in zip(leaves, dims)]
                    result = func(*tree_unflatten(values, spec), **kwargs)
                    flat, out_spec = tree_flatten(result)
                    results.append([_whole_of(item, values, leaves, dims) for item in flat])
        single = isinstance(result, TensorBase)
        dims_out = _output_dims(name, out_dims, out_spec, single)
        return tree_unflatten(_joined(name, results, dims_out, size == 0), out_spec)

    return wrapper


def _slice(leaf: Any, dim: int | None, index: int, size: int) -> Any:
    if dim is None:
        return leaf
    if size == 0:  # one run on zeros tells the shapes of the results
        shape = leaf.shape
        return zeros((*shape[:dim], *shape[dim + 1 :]), dtype=leaf.dtype)
    return select(leaf, dim, index)


__all__ = ["vmap"]
