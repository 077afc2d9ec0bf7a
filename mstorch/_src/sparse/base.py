"""The class of sparse tensors."""
from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from ..._tensor import Tensor
from ..backend.arrays import Array
from ..backend.raw import ON_CPU
from ..core.above import above
from ..core.auto import Auto
from ..core.device import device
from ..core.formats import layout, memory_format, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..core.modes import modes
from ..core.naming import is_torch
from ..core.overriding import FORMED, disabled
from ..core.size import Size
from ..core.sparse_parts import is_sparse
from ..core.storage import Counter, DeviceMemory, Storage
from ..core.tensor_base import SparseOperand, array_of, auto_of, is_meta, is_tracked
from ..core.warned import warn_once
from ..ops._dispatch import wrap_dim
from ..ops.memory import copying
from ..ops.memory.from_data import made
from ..tape.node import Node
from .text import text

WORDS = {
    sparse_coo: "Sparse", sparse_csr: "SparseCsr", sparse_csc: "SparseCsc", sparse_bsr: "SparseBsr", sparse_bsc: "SparseBsc",
}  # fmt: skip
COMPRESSED = (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)
BY_ROWS = (sparse_csr, sparse_bsr)
NAMES = {kind: ("crow", "col") if kind in BY_ROWS else ("ccol", "row") for kind in COMPRESSED}
BLOCKED = (sparse_bsr, sparse_bsc)


def _refused(what: str) -> Any:
    def refuse(self: Any) -> NoReturn:
        raise SparseOperand(
            f"Could not run this operation with arguments from the '{WORDS[self._layout]}CPU' backend: it has no kernel for "
            f"tensors of layout {self._layout!r}; to_dense() makes a strided tensor of them."
        )

    return property(refuse, doc=f"Raise an error: a sparse tensor has no {what}.")


class SparseTensor(Tensor):
    """A tensor that stores its specified elements and their indices."""

    __module__, __qualname__ = Tensor.__module__, Tensor.__qualname__  # as torch shows it

    __slots__ = ("_layout", "_index", "_size", "_coalesced", "_kept")
    _layout: layout
    _index: tuple[Any, ...]
    _size: tuple[int, ...]
    _coalesced: bool
    _kept: Any

    _ms_sparse = True
    __torch_function__ = disabled
    _ms_shape = _refused("shape in memory")
    _ms_storage = _refused("memory")
    _ms_array = _refused("elements in memory")

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("sparse tensors are made by torch.sparse_coo_tensor and the like")

    # Shape and type

    @property
    def shape(self) -> Size:
        """The shape, as a torch.Size."""
        return Size(self._size)

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the length of one dimension."""
        return Size(self._size) if dim is None else self._size[wrap_dim(dim, len(self._size))]

    def dim(self) -> int:
        """Return the number of dimensions."""
        return len(self._size)

    ndimension = dim
    ndim = property(dim, doc="The number of dimensions.")

    def numel(self) -> int:
        """Return the number of elements, including unspecified ones."""
        return math.prod(self._size)

    nelement = numel

    @property
    def nbytes(self) -> int:
        """Raise NotImplementedError, as torch does: use the indices' and values' nbytes."""
        raise NotImplementedError("Cannot access the nbytes of a sparse tensor: ask its indices and values")

    @property
    def device(self) -> device:
        """The device of the values."""
        return self._values_part.device

    @property
    def layout(self) -> layout:
        """The layout, such as torch.sparse_coo."""
        return self._layout

    is_sparse = property(lambda self: self._layout is sparse_coo, doc="True if the layout is sparse COO.")
    is_sparse_csr = property(lambda self: self._layout is sparse_csr, doc="True if the layout is sparse CSR.")

    is_meta = property(lambda self: is_meta(self._kept), doc="True if the tensor is on the meta device.")

    def stride(self, dim: int | None = None) -> Any:
        """Return zeros for COO. Raise RuntimeError for other layouts."""
        if self._layout is not sparse_coo:
            raise RuntimeError(f"Sparse {WORDS[self._layout][6:].upper()} tensors do not have strides")
        return (0,) * len(self._size) if dim is None else 0

    def is_contiguous(self, memory_format: memory_format | None = None) -> bool:
        """Return False for COO, which has no strides. Raise RuntimeError for other layouts."""
        if self._layout is not sparse_coo:
            raise RuntimeError(f"Sparse {WORDS[self._layout][6:].upper()} tensors do not have is_contiguous")
        return False

    def __len__(self) -> int:
        if not self._size:
            raise TypeError("len() of a 0-d tensor")
        return self._size[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    __hash__ = Tensor.__hash__

    # Methods that need dense memory

    def data_ptr(self) -> int:
        """Raise RuntimeError: a sparse tensor has no dense memory."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def tolist(self) -> Any:
        """Raise RuntimeError: a sparse tensor has no dense memory."""
        return self.data_ptr()

    def storage(self) -> Any:
        """Raise NotImplementedError: a sparse tensor has no dense memory."""
        word = "SparseTensorImpl" if self._layout is sparse_coo else "SparseCsrTensorImpl"
        raise NotImplementedError(f"Cannot access storage of {word}")

    untyped_storage = storage

    def numpy(self, *, force: bool = False) -> Array:
        """Raise TypeError: NumPy has no sparse arrays."""
        raise TypeError(f"can't convert {WORDS[self._layout]} layout tensor to numpy. Use Tensor.to_dense() first.")

    def item(self) -> Any:
        """Return the only element as a Python number."""
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self.to_dense().item()

    def __bool__(self) -> bool:
        if self.numel() == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        if self.numel() != 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        names = ("indices",) if self._layout is sparse_coo else tuple(f"{name}_indices" for name in NAMES[self._layout])
        return ("Parameter containing:\n" if getattr(self, "_is_param", False) else "") + text(self, names)

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    # Parts

    def sparse_dim(self) -> int:
        """Return the number of sparse dimensions."""
        return self._index[0]._ms_shape[0] if self._layout is sparse_coo else 2

    def dense_dim(self) -> int:
        """Return the number of dense dimensions, those of each specified element."""
        rank = self._kept.dim()
        if self._layout is sparse_coo:
            return rank - 1
        return rank - self._index[0].dim() - (2 if self._layout in BLOCKED else 0)

    def _nnz(self) -> int:
        return self._kept.shape[0] if self._layout is sparse_coo else self._index[1].shape[-1]

    # Autograd

    @property
    def _values_part(self) -> Tensor:
        """The values, through which gradients flow to the tensor."""
        if modes.grad and is_tracked(self):
            return above.sparse_gradients.recorded_values(self)
        return self._kept

    def _set_grad(self, value: Tensor | None) -> None:
        if value is not None and not isinstance(value, SparseTensor):
            raise RuntimeError("attempting to assign a gradient to a tensor that has data of a different type")
        Tensor.grad.fset(self, value)  # type: ignore[attr-defined]

    grad = property(Tensor.grad.fget, _set_grad, Tensor.grad.fdel, "The gradient that backward accumulated, of any layout, or None.")  # type: ignore[attr-defined]

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set requires_grad of a leaf; return the tensor."""
        if requires_grad == is_tracked(self):
            return self
        if requires_grad and self._ms_dtype.is_integral:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if not requires_grad and not self.is_leaf:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        auto = auto_of(self)
        auto.leaf = requires_grad
        auto.accumulator = above.sparse_gradients.End(self)
        return self

    def _made_by(self, node: Node, number: int) -> None:
        """Set the tensor's autograd node to ``node``, of which the tensor is output ``number``."""
        self._ms_node, self._ms_number = node, number

    def detach(self) -> Any:
        """Return a sparse tensor of the same elements, detached from the autograd graph."""
        return like(self, self._kept)

    def detach_(self) -> Any:
        """Detach the tensor from the autograd graph, in place."""
        auto_of(self).leaf = False
        return replace(self, self.detach())

    @property
    def data(self) -> Any:
        """A sparse tensor of the same elements, detached from the autograd graph."""
        return self.detach()

    @data.setter
    def data(self, new: Any) -> None:
        if not is_sparse(new) or (new._layout is sparse_coo) != (self._layout is sparse_coo):
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
            )
        own = self._ms_node, self._ms_number
        replace(self, new)
        self._ms_node, self._ms_number = own
        self._ms_counter.version -= 1

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
            )
        if id(self) not in memo:
            copied = like(self.detach(), self._kept.clone(), tuple(part.clone() for part in self._index))
            memo[id(self)] = copied.requires_grad_(self.requires_grad)
            copied.__dict__.update(copy.deepcopy(self.__dict__, memo))  # such as whether it is a Parameter, and the user's attributes
            if self.grad is not None:
                copied.grad = copy.deepcopy(self.grad, memo)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: int) -> tuple[Any, ...]:
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support pickling")
        found = above.plain_pickles.reduced(self) if is_torch() else NotImplemented
        if found is not NotImplemented:
            return found
        return _rebuilt, (
            self._layout, self._index, self._kept, self._size, self._coalesced, self.requires_grad
        )  # fmt: skip


SparseTensor.__name__ = Tensor.__name__


def _rebuilt(
    kind: layout, index: tuple[Tensor, ...], values: Tensor, size: tuple[int, int], coalesced: bool, requires_grad: bool
) -> Tensor:
    return sparse(kind, index, values, size, coalesced).requires_grad_(requires_grad)


def sparse(kind: layout, index: Sequence[Any], values: Tensor, size: Sequence[int], coalesced: bool = False) -> Any:
    """Return a sparse tensor of indices and values that fit together. It shares their memory, and gradients flow to the values."""
    if kind is not sparse_coo:
        warn_once(
            f"Sparse {WORDS[kind].removeprefix('Sparse').upper()} tensor support is in beta state. If you miss a functionality in the "
            "sparse tensor support, please submit a feature request to https://github.com/pytorch/pytorch/issues.",
            key="sparse compressed tensors",
        )  # fmt: skip
    tensor: Any = object.__new__(SparseTensor)
    tensor._ms_dtype = values._ms_dtype
    tensor._ms_raw = tensor._ms_at = tensor._ms_node = None
    tensor._ms_number = 0
    tensor._ms_auto = Auto()
    tensor._kept = values.detach() if is_tracked(values) else values
    tensor._ms_counter = Counter()
    tensor._ms_stride = (0,) * len(size)
    tensor._ms_offset = 0
    tensor._layout = kind
    # Indices are on the values' device, which keeps the host array that they were made of, so that reading them does not wait.
    beside = not ON_CPU and values._ms_storage.__class__ is DeviceMemory or is_meta(values)
    tensor._index = tuple(part.to(values.device) if beside and part._ms_storage.__class__ is Storage else part for part in index)
    tensor._size = tuple(int(length) for length in size)
    if math.prod(tensor._size) >= 2**63:
        raise RuntimeError("numel: integer multiplication overflow")
    # A single element is in order.
    tensor._coalesced = coalesced or (kind is sparse_coo and values.shape[0] < 2)
    if modes.grad and is_tracked(values):
        above.sparse_gradients.follow_values(tensor, values)
    return tensor


def like(input: Any, values: Any, index: tuple[Tensor, ...] | None = None) -> Any:
    """Return a sparse tensor of other values at the indices of ``input``."""
    return sparse(input._layout, input._index if index is None else index, values, input._size, input._coalesced)


def replace(tensor: Tensor, other: Tensor) -> Tensor:
    """Replace a sparse tensor's contents by another's, as in-place operations do, and return it."""
    tensor._ms_counter.version += 1
    for name in ("_ms_dtype", "_ms_stride", "_ms_offset", "_layout", "_index", "_size", "_coalesced", "_kept", "_ms_node", "_ms_number"):
        setattr(tensor, name, getattr(other, name))
    return tensor


FORMED.add(SparseTensor)


def host(tensor: Tensor) -> Array:
    """Return indices as a host array."""
    return np.asarray(array_of(tensor))


def index_tensor(array: Array, beside: Tensor | None = None) -> Any:
    """Return an array as an int64 tensor on another tensor's device."""
    found = made(np.ascontiguousarray(array, np.int64))
    return found if beside is None else copying.to(found, beside.device)


def layout_word(tensor: Any) -> str:
    """Return the layout's name in torch's messages."""
    return WORDS[tensor._layout] if is_sparse(tensor) else "Strided"
