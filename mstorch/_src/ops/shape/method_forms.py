"""Methods of Tensor whose parameters differ from the function's in name or order."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ...core.size import Size
from ...core.tensor_base import TensorBase, strides_of
from .._dispatch import wrap_dim
from .._two_forms import ABSENT
from ..indexing import assignment, subscript
from ..linalg import lowrank, removed
from ..reduce import count, reduce
from ..signal import spectral
from . import parts, views

PUBLIC_IN = "Tensor"


def size(self: TensorBase, dim: int | None = None) -> int | Sequence[int]:
    """Return the shape, or the length of one dimension."""
    shape = self._ms_shape
    if dim is None:
        return tuple.__new__(Size, shape)
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return shape[wrap_dim(dim, len(shape))]


def stride(self: TensorBase, dim: int | None = None) -> Any:
    """Return the strides in elements, or the stride of one dimension."""
    strides = strides_of(self)
    return strides if dim is None else strides[wrap_dim(dim, len(strides))]


def split(self: TensorBase, split_size: int | Sequence[int], dim: int = 0) -> tuple[Any, ...]:
    """Split along a dimension into chunks of one size (the last may be smaller) or of the sizes in a list."""
    return parts.split(self, split_size, dim)


def unflatten(self: TensorBase, dim: int, sizes: int | Sequence[int]) -> TensorBase:
    """Split dimension ``dim`` into several."""
    return views.unflatten(self, dim, sizes)


def unique(
    self: TensorBase, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the sorted unique elements (or slices along ``dim``); on request also the position of each element among them, and their
    counts.
    """
    return count.unique(self, sorted, return_inverse, return_counts, dim)


def unique_consecutive(
    self: TensorBase, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return each run of equal elements (or slices along ``dim``) once; on request also the number of each element's run, and the lengths
    of the runs.
    """
    return count.unique_consecutive(self, return_inverse, return_counts, dim)


def lu(self: TensorBase, pivot: bool = True, get_infos: bool = False) -> Any:
    """Return L and U in one matrix and the pivots (from 1), with ``get_infos`` also the first zero pivot (0 for none)."""
    return lowrank.lu(self, pivot, get_infos)


def stft(
    self: TensorBase, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: TensorBase | None = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> TensorBase:  # fmt: skip
    """Return the short-time Fourier transform: see ``torch.stft``."""
    return spectral.stft(
        self, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window
    )


def istft(
    self: TensorBase, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: TensorBase | None = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None, return_complex: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the inverse short-time Fourier transform: see ``torch.istft``."""
    return spectral.istft(
        self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex
    )


def to_padded_tensor(self: TensorBase, padding: float, output_size: Sequence[int] | None = None) -> TensorBase:
    """Raise NotImplementedError: the tensor is not nested."""
    raise NotImplementedError("Could not run 'aten::to_padded_tensor' with arguments from the 'CPU' backend. It takes a nested tensor.")


def _dims(dims: tuple[Any, ...]) -> Any:
    """Return the dimensions of a call such as ``(0, 1)``, ``((0, 1),)``, or without any."""
    return None if not dims else dims[0] if len(dims) == 1 else dims


def squeeze(self: TensorBase, *dims: Any, dim: int | Sequence[int] = ABSENT) -> TensorBase:
    """Return a view without the dimensions of length 1: without all of them, or those in ``dim``."""
    return views.squeeze(self, _dims(dims) if dims else dim)


def count_nonzero(self: TensorBase, *dims: Any, dim: int | None = None) -> TensorBase:
    """Return the number of nonzero elements, int64."""
    return reduce.count_nonzero(self, _dims(dims) if dims else dim)


def broadcast_to(self: TensorBase, *sizes: Any, size: tuple[int, int] | None = None) -> TensorBase:
    """Return the tensor expanded to a size."""
    return views.broadcast_to(self, size if size is not None else sizes[0] if len(sizes) == 1 else sizes)


def eig(self: TensorBase, eigenvectors: bool = False) -> NoReturn:
    """Raise RuntimeError: removed from torch in favour of ``linalg.eig``."""
    removed.eig(self, eigenvectors)


def lstsq(self: TensorBase, other: TensorBase) -> NoReturn:
    """Raise RuntimeError: removed from torch in favour of ``linalg.lstsq``."""
    removed.lstsq(self, other)


def solve(self: TensorBase, other: TensorBase) -> NoReturn:
    """Raise RuntimeError: removed from torch in favour of ``linalg.solve``."""
    removed.solve(self, other)


def symeig(self: TensorBase, eigenvectors: bool = False) -> NoReturn:
    """Raise RuntimeError: removed from torch in favour of ``linalg.eigh``."""
    removed.symeig(self, eigenvectors)


NAMED_METHODS = {"__getitem__": subscript.getitem, "__setitem__": assignment.setitem}
