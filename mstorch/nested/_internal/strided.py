"""Strided nested tensors: components of any sizes in one buffer, each a strided view of it."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ..._src.backend.arrays import Array
from ..._src.backend.geometry import contiguous_strides
from ..._src.core.device import device
from ..._src.core.dtype import dtype
from ..._src.core.formats import memory_format
from ..._src.core.tensor_base import array_of
from ..._src.core.warned import warn_once
from ..._src.ops._dispatch import wrap_dim
from ..._src.ops.memory import creation
from ..._src.ops.memory.from_data import made, tensor
from ..._src.ops.shape import join
from ..._tensor import Tensor
from .base import Nested, new

Table = Array  # of int64


class StridedNested(Nested):
    """A nested tensor whose ``_values`` are a 1-d buffer; host tables hold each component's size, strides and offset."""

    __module__, __qualname__ = Tensor.__module__, Tensor.__qualname__  # as torch shows it

    _sizes: Table  # (components, dimensions of a component); so has the next
    _steps: Table
    _starts: Table  # (parts,)

    def _like(self, values: Tensor) -> Tensor:
        return in_buffer(values, self._sizes, self._steps, self._starts)

    def _take(self, other: Any) -> None:
        self._values.data = other.contiguous()._values

    def _seed(self, gradient: Any) -> Any:
        """Return a gradient's elements, arranged like this tensor's buffer."""
        if same_places(self, gradient) or gradient._sizes.shape != self._sizes.shape:
            return gradient._values
        buffer = creation.zeros_like(self._values.detach())
        for place, part in zip(parts(self._like(buffer)), parts(gradient)):
            place.copy_(part)
        return buffer

    # Queries of metadata

    def dim(self) -> int:
        """Return the number of dimensions, including the batch dimension."""
        return 1 + self._sizes.shape[1]

    def size(self, dim: int | None = None) -> int:
        """Return the length of a dimension in which all components agree. Raise RuntimeError for others, and if ``dim`` is None."""
        if dim is None:
            raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")
        length = length_of(self, wrap_dim(dim, self.dim()))
        if length is None:
            raise RuntimeError(f"Given dimension {wrap_dim(dim, self.dim())} is irregular and does not have a size.")
        return length

    def stride(self, dim: int | None = None) -> NoReturn:
        """Raise RuntimeError: each component has its own strides."""
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support strides. Please file an issue.")

    def numel(self) -> int:
        """Return the number of elements in all components."""
        return int(self._sizes.prod(1).sum())

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self.numel() * self._ms_dtype.itemsize

    def is_contiguous(self, memory_format: memory_format | None = None) -> bool:
        """Return whether the components are contiguous and packed back to back."""
        steps, starts = in_rows(self._sizes)
        return bool((self._steps == steps).all() and (self._starts == starts).all())

    def is_same_size(self, other: Any) -> bool:
        """Return whether the components have the same sizes."""
        nested = hasattr(self, "_sizes"), hasattr(other, "_sizes")
        if not all(nested):
            words = ["nested" if each else "not nested" for each in nested]
            raise RuntimeError(f"Expected both self and other to be nested tensors. Self is {words[0]}. While Other is {words[1]}.")
        return np.array_equal(self._sizes, other._sizes)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        shown = [part.detach().requires_grad_(self.requires_grad) for part in parts(self)]
        lines = ",\n".join("\n".join(f"  {line}" for line in repr(part).split("\n")) for part in shown)
        node = self.grad_fn
        tail = f", grad_fn=<{node.name()}>" if node is not None else ", requires_grad=True" if self.requires_grad else ""
        return f"nested_tensor([\n{lines}\n]{tail})"

    def _nested_tensor_size(self) -> Tensor:
        return made(self._sizes.copy())

    def _nested_tensor_strides(self) -> Tensor:
        return made(self._steps.copy())

    def _nested_tensor_storage_offsets(self) -> Tensor:
        return made(self._starts.copy())

    def values(self) -> Any:
        """Return a view of the buffer."""
        return alias(self._values)

    def unbind(self, dim: int = 0) -> tuple[Any, ...]:
        """Return the components as views of the buffer."""
        if wrap_dim(dim, self.dim()) != 0:
            raise RuntimeError("NestedTensor can only be unbound along dimension 0 got dimension " f"{wrap_dim(dim, self.dim())} instead.")
        return parts(self)

    def contiguous(self, memory_format: memory_format | None = None) -> Any:
        """Return self if contiguous, else a contiguous copy."""
        return self if self.is_contiguous() else of_parts(parts(self))

    def _packed(self) -> Any:
        """Return a contiguous nested tensor whose buffer has no elements besides its own; the tensor itself if this is the case already."""
        rows, count = self.contiguous(), self.numel()
        return rows if rows._values.numel() == count else in_buffer(rows._values.narrow(0, 0, count), self._sizes)

    def stored(self) -> tuple[Any, ...]:
        """Return the parts of the tensor that a file stores."""
        return self._values.detach(), self._nested_tensor_size(), self._nested_tensor_strides(), self._nested_tensor_storage_offsets()


StridedNested.__name__ = Tensor.__name__


def restored(buffer: Tensor, sizes: Tensor, strides: Tensor, storage_offsets: Tensor) -> Tensor:
    """Rebuild a nested tensor from a file. Raise RuntimeError for tables that do not fit each other or the buffer."""
    tables = [np.array(array_of(table), np.int64) for table in (sizes, strides, storage_offsets)]
    counts, steps, starts = tables
    fits = counts.ndim == 2 and counts.shape == steps.shape and starts.shape == counts.shape[:1] and buffer.dim() == 1
    if not fits or any((table < 0).any() for table in tables):
        raise RuntimeError("a nested tensor in the file has tables of sizes, strides and starts that do not fit each other")
    ends = starts + ((counts - 1) * steps).sum(1) + 1
    if (ends[counts.prod(1) > 0] > buffer.numel()).any():
        raise RuntimeError("a nested tensor in the file has parts outside of its buffer")
    return in_buffer(buffer, *tables)


StridedNested.restorer = staticmethod(restored)


def alias(values: Tensor) -> Tensor:
    """Return a view of all elements, which has its own autograd node."""
    return values.view_as(values)


# Tables


def in_rows(sizes: Table) -> tuple[Table, Table]:
    """Return the strides and offsets of contiguous components packed back to back."""
    steps = np.array([contiguous_strides(tuple(row)) for row in sizes.tolist()], np.int64).reshape(sizes.shape)
    counts = sizes.prod(1) if len(sizes) else np.zeros(0, np.int64)
    return steps, np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)[: len(sizes)]


def length_of(input: Any, dim: int) -> int | None:
    """Return the length of a dimension; None if it differs between components."""
    if dim == 0:
        return len(input._sizes)
    column = input._sizes[:, dim - 1]
    return int(column[0]) if len(column) and (column == column[0]).all() else None


def last_length(input: Any) -> int:
    """Return the length of the last dimension. Raise RuntimeError if the components differ in it."""
    length = length_of(input, input.dim() - 1)
    if length is None:
        column = input._sizes[:, -1]
        number = int((column != column[0]).argmax())
        raise RuntimeError(
            "Expected all tensors in nested tensor to have the same trailing dimension, instead last dimension equals: "
            f"{column[number]}"
        )
    return length


def same_places(one: Any, other: Any) -> bool:
    """Return whether two nested tensors have equal offsets, sizes and strides, and buffers of equal length."""
    return one is other or (
        np.array_equal(one._sizes, other._sizes) and np.array_equal(one._steps, other._steps)
        and np.array_equal(one._starts, other._starts) and one._values.shape == other._values.shape
    )  # fmt: skip


def in_buffer(values: Tensor, sizes: Table, steps: Table | None = None, starts: Table | None = None) -> Any:
    """Return a nested tensor that views a buffer; by default, its components are contiguous and packed back to back."""
    warn_once(
        "The PyTorch API of nested tensors is in prototype stage and will change in the near future. We recommend specifying "
        "layout=torch.jagged when constructing a nested tensor, as this layout receives active development, has better operator coverage, "
        "and works with torch.compile."
    )
    nested = new(StridedNested, values)
    if steps is None or starts is None:
        steps, starts = in_rows(sizes)
    nested._sizes, nested._steps, nested._starts = sizes, steps, starts
    return nested


def viewed(input: Any, sizes: Table, steps: Table, starts: Table | None = None) -> Tensor:
    """Return another nested view of the same buffer, of some components or slices of them."""
    made = in_buffer(alias(input._values), sizes, steps, input._starts if starts is None else starts)
    made.__dict__["_view_of"] = input.__dict__.get("_view_of", input)
    return made


def parts(input: Any) -> tuple[Any, ...]:
    """Return the components as strided views of the buffer."""
    base = input._values.storage_offset()
    return tuple(
        input._values.as_strided(size, steps, base + start)
        for size, steps, start in zip(input._sizes.tolist(), input._steps.tolist(), input._starts.tolist())
    )


def of_parts(tensors: Sequence[Any]) -> Tensor:
    """Return a nested tensor of copies of the components; gradients flow back to them."""
    if not tensors:
        return in_buffer(creation.empty(0), np.zeros((0, 0), np.int64))
    sizes = np.array([tuple(part.shape) for part in tensors], np.int64).reshape(len(tensors), tensors[0].dim())
    return in_buffer(join.cat([part.reshape(-1) for part in tensors]), sizes)


def by_part(function: Callable[..., Any], *operands: Any) -> Tensor:
    """Return the results of a function for each component; operands that are not nested are passed unchanged."""
    count = next(len(item._sizes) for item in operands if isinstance(item, StridedNested))
    columns = [parts(item) if isinstance(item, StridedNested) else (item,) * count for item in operands]
    return of_parts([function(*row) for row in zip(*columns)])


def from_list(tensors: Sequence[Any], dtype: dtype | None = None, device: device | str | int | None = None) -> Tensor:
    """Return a nested tensor of copies of the tensors; gradients flow back to them. Raise RuntimeError if their ranks differ."""
    for index, one in enumerate(tensors[1:], 1):
        if one.dim() != tensors[index - 1].dim():
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. "
                f"Found dimension {one.dim()} for Tensor at index {index} and dimension {tensors[index - 1].dim()} for Tensor at index "
                f"{index - 1}."
            )
    kind = dtype if dtype is not None else tensors[0].dtype if tensors else None
    return moved(of_parts([one.to(kind) for one in tensors]), kind, device)


def moved(input: Tensor, dtype: dtype | None, device: device | str | int | None) -> Tensor:
    """Return a nested tensor converted to a dtype and moved to a device; None means no change."""
    return input.to(device=input.device if device is None else device, dtype=input.dtype if dtype is None else dtype)


def leaf_of(data: Sequence[Any], dtype: dtype | None, device: device | str | int | None, requires_grad: bool, pin_memory: bool) -> Tensor:
    """Return a leaf with copies of tensors, or of data that ``torch.tensor`` accepts."""
    tensors = [item.detach() if isinstance(item, Tensor) else tensor(item, dtype=dtype) for item in data]
    input = from_list(tensors, dtype, device).detach()
    if pin_memory:
        input = input.pin_memory()
    return input.requires_grad_(requires_grad) if requires_grad else input


def sizes_of(shape: Sequence[int], count: int) -> Table:
    """Return the table of sizes of ``count`` equal components."""
    return np.tile(np.array(tuple(shape), np.int64), (count, 1)).reshape(count, len(shape))
