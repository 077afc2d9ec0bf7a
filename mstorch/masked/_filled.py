"""Helpers of masked operations: the broadcast mask, and the input filled with a neutral value where it is False."""
from __future__ import annotations

from typing import Any

from .._src.core.above import above
from .._src.core.dtype import bool_, dtype, iinfo
from .._tensor import Tensor


def canonical_dims(dim: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Return nonnegative dimensions; all of them for None and ()."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(rank))
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    limit = max(rank, 1)
    found: list[int] = []
    for d in given:
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -limit <= d < limit:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {d})")
        found.append(d % limit)
    return tuple(sorted(d for d in found if d < rank))


def input_mask(input: Tensor, mask: Any) -> Tensor:
    """Return the boolean mask broadcast to the shape of the input; raise IndexError if it has more dimensions."""
    if len(mask._ms_shape) > len(input._ms_shape):
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    mask = mask if mask._ms_dtype is bool_ else mask != 0
    return mask if mask._ms_shape == input._ms_shape else mask.broadcast_to(input._ms_shape)


def lowest(name: str, kind: dtype) -> float:
    """Return the initial value of a maximum in this dtype."""
    if kind is bool_:
        raise NotImplementedError(f"identity of {name} on {kind} input")
    return float("-inf") if not kind.is_integral else iinfo(kind).min


def highest(name: str, kind: dtype) -> float:
    """Return the initial value of a minimum in this dtype."""
    if kind is bool_:
        raise NotImplementedError(f"identity of {name} on {kind} input")
    return float("inf") if not kind.is_integral else iinfo(kind).max


def filled(input: Tensor, mask: Tensor | None, neutral: float, dtype: dtype | None) -> Tensor:
    """Return the input in ``dtype`` (by default its own), with ``neutral`` where the mask is False."""
    if dtype is not None and input._ms_dtype is not dtype:
        input = input.to(dtype)
    return input if mask is None else above.torch.where(input_mask(input, mask), input, neutral)


_IN_SHAPE = frozenset("softmax log_softmax softmin normalize cumsum cumprod".split())


def _input_mask(input: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Return the boolean mask in a masked operation's arguments, broadcast to the input's shape; raise ValueError without one."""
    mask = kwargs.get("mask")
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    return input_mask(input, mask)


def _output_mask(op: Any, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return which elements of a masked operation's result depend on any unmasked element; raise ValueError for other operations."""
    if not callable(op):
        raise ValueError(f"_output_mask expected masked operation (got {type(op).__name__} object)")
    name = op.__name__
    if name in _IN_SHAPE:
        return _input_mask(input, *args, **kwargs)
    if name == "logaddexp" or getattr(above.torch.masked, name, None) is not op:
        raise ValueError(f"_output_mask expected masked operation (got callable {op.__module__}.{name})")
    if name == "norm":
        args = args[1:]
    dims = canonical_dims(args[0] if args else kwargs.get("dim"), len(input._ms_shape))
    marked = _input_mask(input, *args, **kwargs)
    return marked.any(dims, bool(kwargs.get("keepdim", False))) if dims else marked


def _where(mask: Any, input: Any, fill_value: Any) -> Any:
    """Return the input's elements where the mask is True. A sparse mask gives a tensor of its own layout, with zeros for elements that the
    input does not specify; ``fill_value`` fills strided masks, and the dense dimensions of hybrid ones.
    """
    torch = above.torch
    if mask.layout is torch.strided:
        return torch.where(mask, input, fill_value)
    if mask.layout is torch.sparse_csr:
        return _where(mask.to_sparse(), input.to_sparse(), fill_value).to_sparse_csr()
    if mask.layout is not torch.sparse_coo:
        raise ValueError(f"_where expects strided or sparse COO or sparse CSR tensor but got {mask.layout}")
    mask = mask.coalesce()
    shown = mask.values()
    rows = shown if shown.dim() == 1 else shown.flatten(1).any(1)
    index = mask.indices()[:, rows]
    values = input.to_dense()[tuple(index)]
    if shown.dim() > 1:
        values = torch.where(shown[rows], values, fill_value)
    return torch.sparse_coo_tensor(index, values, input.shape)._coalesced_(True)
