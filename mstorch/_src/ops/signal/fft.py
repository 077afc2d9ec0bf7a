"""torch.fft: discrete Fourier transforms, derived from the complex one by padding, slicing and symmetry."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...backend.errors import nameless
from ...backend.table import kernel
from ...core.device import device
from ...core.dtype import dtype, get_default_dtype
from ...core.formats import layout
from ...core.strides import normalize
from ...core.tensor_base import TensorBase, in_order, strides_of
from ...tape.saved_values import watch
from .._autocast import FLOAT32_ON_CPU
from .._dispatch import call, finish, type_word, wrap_each
from .._memory_order import row_major
from .._named import call_node, node_called
from .._numbers import refuse_tracked
from .._operation import operation
from ..memory.creation import arange, zeros
from ..shape import views
from ..shape.join import cat, flip, roll

PUBLIC_IN = "fft"

_fft = kernel("fft")

_NORMS = (None, "backward", "ortho", "forward")




def _stored(found: TensorBase, out: TensorBase | None) -> TensorBase:
    """Return the transform, stored in ``out`` if given; a resized ``out`` is row-major."""
    return finish(found if out is None else row_major(found), out)


def _stored_real(found: TensorBase, out: TensorBase | None, name: str) -> TensorBase:
    if isinstance(out, TensorBase) and not out._ms_dtype.is_floating_point:
        raise RuntimeError(f"{name} expects a floating point output tensor, but got {type_word(out._ms_dtype)}")
    return _stored(found, out)


def _norm(norm: str | None) -> str:
    if norm not in _NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return norm or "backward"


def _floating(input: TensorBase, to_complex: bool) -> TensorBase:
    """Return the input in a floating dtype that transforms support. Raise torch's error for half precision."""
    if not isinstance(input, TensorBase):
        raise nameless(f"argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    kind = input._ms_dtype
    if kind.is_integral:
        kind = get_default_dtype()
    if kind.itemsize < 4:
        raise RuntimeError(f"Unsupported dtype {type_word(kind)}")
    if to_complex:
        kind = kind.to_complex()
    return input if input._ms_dtype is kind else input.to(kind)


def _check_real(input: TensorBase, name: str) -> None:
    if input._ms_dtype.is_complex:
        words = "real-valued input" if name == "rfftn" else "real input"
        raise RuntimeError(f"{name} expects a {words} tensor, but got {type_word(input._ms_dtype)}")


def _resized(input: TensorBase, dim: int, length: int) -> TensorBase:
    """Return the first ``length`` elements along ``dim``, padded with zeros."""
    shape = input._ms_shape
    if length < shape[dim]:
        return views.narrow(input, dim, 0, length)
    if length > shape[dim]:
        return cat((input, zeros((*shape[:dim], length - shape[dim], *shape[dim + 1 :]), dtype=input._ms_dtype, device=input.device)), dim)
    return input


def _check_length(length: int) -> None:
    if length < 1:
        raise RuntimeError(f"Invalid number of data points ({length}) specified")


def _run(input: TensorBase, dims: Sequence[int], inverse: bool, norm: str) -> TensorBase:
    return call(_fft, (input,), tuple(dims), inverse, norm, strides=_strides(input, input._ms_shape, _outer_first(input, dims)))


def _outer_first(input: TensorBase, dims: Sequence[int]) -> list[int]:
    strides = strides_of(input)
    return sorted(dims, key=lambda d: -strides[d])


def _strides(input: TensorBase, shape: Sequence[int], dims: Sequence[int]) -> tuple[int, ...] | None:
    """Return the strides of a transform's result: the transformed dimensions are innermost, in their order; the others keep the input's
    order.
    """
    strides = strides_of(input)
    others = sorted((d for d in range(len(shape)) if d not in dims), key=lambda d: -strides[d])
    found = [0] * len(shape)
    step = 1
    for d in reversed([*others, *dims]):
        found[d] = step
        step *= shape[d] if d in others else max(shape[d], 1)
    return normalize(shape, found)


def _check_rank(rank: int, dim: tuple[int, ...] | None) -> None:
    if rank == 0 and dim is not None and len(dim):
        raise IndexError(f"Dimension specified as {dim[0] if len(dim) == 1 else 0} but tensor has no dimensions")


def _dims(input: TensorBase, s: tuple[int, ...] | None, dim: int | tuple[int, ...] | None) -> tuple[list[int], list[int | None]]:
    """Return the dimensions to transform and the requested lengths (None: unchanged)."""
    rank = len(input._ms_shape)
    if isinstance(s, int):
        s = (s,)
    if isinstance(dim, int):
        dim = (dim,)
    _check_rank(rank, dim)
    if dim is not None:
        dims = list(wrap_each(dim, rank))
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError(
                "When given, dim and shape arguments must have the same length"
            )
    elif s is not None:
        if len(s) > rank:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {rank} dimensions.")
        dims = list(range(rank - len(s), rank))
    else:
        dims = list(range(rank))
    lengths: list[int | None] = [None] * len(dims) if s is None else [None if n == -1 else int(n) for n in s]
    shape = input._ms_shape
    for d, n in zip(dims, lengths):
        if n is not None or shape:
            _check_length(shape[d] if n is None else n)
    return dims, lengths


def _complex_n(
    input: TensorBase, s: tuple[int, ...] | None, dim: int | tuple[int, ...] | None, norm: str | None, inverse: bool
) -> TensorBase:
    mode = _norm(norm)
    x = _floating(input, True)
    dims, lengths = _dims(x, s, dim)
    if not dims:
        return x.clone()
    for d, n in zip(dims, lengths):
        if n is not None:
            x = _resized(x, d, n)
    return _run(x, dims, inverse, mode)


def _real_n(
    input: TensorBase, s: tuple[int, ...] | None, dim: int | tuple[int, ...] | None, norm: str | None, inverse: bool, name: str
) -> TensorBase:
    """Transform real numbers along ``dim``; return the nonnegative frequencies of the last of them, as the others follow by symmetry."""
    _check_real(input, name)
    mode = _norm(norm)
    x = _floating(input, False)
    dims, lengths = _dims(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    for d, n in zip(dims, lengths):
        if n is not None:
            x = _resized(x, d, n)
    rest, last = dims[:-1], dims[-1]
    real, shape = x, x._ms_shape
    half = shape[last] // 2 + 1
    order = _strides(x, (*shape[:last], half, *shape[last + 1 :]), [last] if inverse else [*_outer_first(x, rest), last])
    x = views.narrow(watch(_run(_floating(x, True), (last,), inverse, mode), real), last, 0, half)
    if inverse:
        x = _ordered(x, order)
        return _run(x, rest, True, mode) if rest else x
    return _ordered(_run(x, rest, False, mode) if rest else x, order)


def _ordered(x: TensorBase, strides: tuple[int, ...] | None) -> TensorBase:
    x = x.contiguous()
    return x if strides is None else in_order(x, strides)


def _to_real_n(
    input: TensorBase, s: tuple[int, ...] | None, dim: int | tuple[int, ...] | None, norm: str | None, inverse: bool, name: str
) -> TensorBase:
    """Transform back to real numbers; along the last of ``dim`` the input holds the nonnegative frequencies only."""
    mode = _norm(norm)
    x = _floating(input, True)
    if dim is not None and not isinstance(dim, int) and len(dim) == 0:
        raise RuntimeError(f"{name} must transform at least one axis")
    dims, lengths = _dims(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    last = dims[-1]
    length = lengths[-1]
    if length is None:
        length = 2 * (x._ms_shape[last] - 1)
    _check_length(length)
    for d, n in zip(dims[:-1], lengths[:-1]):
        if n is not None:
            x = _resized(x, d, n)
    x = _resized(x, last, length // 2 + 1)
    if len(dims) > 1:
        x = _run(x, dims[:-1], inverse, mode)
    mirrored = (length - 1) // 2
    shape = x._ms_shape
    order = _strides(x, (*shape[:last], length, *shape[last + 1 :]), [last])
    if mirrored:
        x = cat((x, flip(views.narrow(x, last, 1, mirrored), (last,)).conj_physical()), last)
    return _ordered(_run(x, (last,), inverse, mode).real.clone(), order)


def _one(dim: int) -> tuple[int]:
    return (dim,)


def _length(n: int | None) -> tuple[int] | None:
    if n is None:
        return None
    _check_length(n)
    return (n,)


@operation(autocast=FLOAT32_ON_CPU)
def fft(input: TensorBase, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return the transform along one dimension."""
    return _stored(_along_one(input, n, dim, norm, False), out)


@operation(autocast=FLOAT32_ON_CPU)
def ifft(input: TensorBase, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return the inverse transform along one dimension."""
    return finish(_along_one(input, n, dim, norm, True), out)


def _along_one(input: TensorBase, n: int | None, dim: int, norm: str | None, inverse: bool) -> TensorBase:
    found = _complex_n(input, _length(n), _one(dim), norm, inverse)
    if not input._ms_dtype.is_complex and found._ms_node is not None:
        call_node(found, "FftR2CBackward0")
        if n is None or n <= input._ms_shape[dim]:  # otherwise torch saves a padded copy
            watch(found, input)
    return found


@operation(autocast=FLOAT32_ON_CPU)
@node_called("FftR2CBackward0")
def rfft(input: TensorBase, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return the transform of real numbers: the nonnegative frequencies."""
    return _stored(_real_n(input, _length(n), _one(dim), norm, False, "rfft"), out)


@operation(autocast=FLOAT32_ON_CPU)
@node_called("FftC2RBackward0")
def irfft(input: TensorBase, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return the inverse of ``rfft``."""
    return _stored_real(_to_real_n(input, _length(n), _one(dim), norm, True, "irfft"), out, "irfft")


@operation(autocast=FLOAT32_ON_CPU)
@node_called("FftC2RBackward0")
def hfft(input: TensorBase, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return the real transform of a Hermitian-symmetric signal; the input is the first half of the signal."""
    return _stored_real(_to_real_n(input, _length(n), _one(dim), norm, False, "hfft"), out, "hfft")


@operation(autocast=FLOAT32_ON_CPU)
def ihfft(input: TensorBase, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: TensorBase | None = None) -> TensorBase:
    """Return the inverse of ``hfft``."""
    return finish(_real_n(input, _length(n), _one(dim), norm, True, "ihfft"), out)


@operation(autocast=FLOAT32_ON_CPU)
def fftn(
    input: TensorBase, s: tuple[int, ...] | None = None, dim: int | tuple[int, int] | None = None, norm: str | None = None, *,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the transform along several dimensions."""
    return _stored(_complex_n(input, s, dim, norm, False), out)


@operation(autocast=FLOAT32_ON_CPU)
def ifftn(
    input: TensorBase, s: tuple[int, int] | None = None, dim: int | tuple[int, int] | None = None, norm: str | None = None, *,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the inverse transform along several dimensions."""
    return _stored(_complex_n(input, s, dim, norm, True), out)


@operation(autocast=FLOAT32_ON_CPU)
@node_called("FftR2CBackward0")
def rfftn(
    input: TensorBase, s: tuple[int, ...] | None = None, dim: int | tuple[int, int] | None = None, norm: str | None = None, *,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the transform of real numbers along several dimensions, with nonnegative frequencies along the last."""
    return _stored(_real_n(input, s, dim, norm, False, "rfftn"), out)


@operation(autocast=FLOAT32_ON_CPU)
@node_called("FftC2RBackward0")
def irfftn(
    input: TensorBase, s: tuple[int, ...] | None = None, dim: int | tuple[int, int] | None = None, norm: str | None = None, *,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the inverse of ``rfftn``."""
    return _stored_real(_to_real_n(input, s, dim, norm, True, "irfftn"), out, "irfftn")


@node_called("FftC2RBackward0")
def hfftn(
    input: TensorBase, s: tuple[int, ...] | None = None, dim: int | tuple[int, int] | None = None, norm: str | None = None, *,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the real transform over several dimensions of a Hermitian-symmetric signal; the input is the half of it along the last one."""
    return _stored_real(_to_real_n(input, s, dim, norm, False, "hfftn"), out, "hfftn")


def ihfftn(
    input: TensorBase, s: tuple[int, ...] | None = None, dim: int | tuple[int, int] | None = None, norm: str | None = None, *,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the inverse of ``hfftn``."""
    return _stored(_real_n(input, s, dim, norm, True, "ihfftn"), out)


@operation(autocast=FLOAT32_ON_CPU)
def fft2(
    input: TensorBase, s: tuple[int, int] | None = None, dim: int | tuple[int, int] = (-2, -1), norm: str | None = None, *,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the transform along two dimensions."""
    return fftn(input, s, dim, norm, out=out)


@operation(autocast=FLOAT32_ON_CPU)
def ifft2(
    input: TensorBase, s: tuple[int, int] | None = None, dim: int | tuple[int, int] = (-2, -1), norm: str | None = None, *,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the inverse transform along two dimensions."""
    return ifftn(input, s, dim, norm, out=out)


@operation(autocast=FLOAT32_ON_CPU)
@node_called("FftR2CBackward0")
def rfft2(
    input: TensorBase, s: tuple[int, int] | None = None, dim: tuple[int, int] = (-2, -1), norm: str | None = None, *,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the transform of real numbers along two dimensions, with nonnegative frequencies along the last."""
    return rfftn(input, s, dim, norm, out=out)


@operation(autocast=FLOAT32_ON_CPU)
@node_called("FftC2RBackward0")
def irfft2(
    input: TensorBase, s: tuple[int, int] | None = None, dim: tuple[int, int] = (-2, -1), norm: str | None = None, *,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the inverse of ``rfft2``."""
    return irfftn(input, s, dim, norm, out=out)


@node_called("FftC2RBackward0")
def hfft2(
    input: TensorBase, s: tuple[int, int] | None = None, dim: tuple[int, int] = (-2, -1), norm: str | None = None, *,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the real transform over two dimensions of a Hermitian-symmetric signal; the input is the half of it along the last one."""
    return hfftn(input, s, dim, norm, out=out)


def ihfft2(
    input: TensorBase, s: tuple[int, int] | None = None, dim: tuple[int, int] = (-2, -1), norm: str | None = None, *,
    out: TensorBase | None = None,
) -> TensorBase:
    """Return the inverse of ``hfft2``."""
    return ihfftn(input, s, dim, norm, out=out)


def _frequencies(found: Any, requires_grad: bool, out: TensorBase | None) -> TensorBase:
    if out is not None:
        return arange(0, found._ms_shape[0], out=out).copy_(found)  # ``out`` is resized, with the same warning, as by arange
    return found.requires_grad_() if requires_grad else found


def _step(n: int, d: float) -> float:
    """Return the distance of two frequencies, which is infinite for samples that take no time."""
    return 1.0 / (n * d) if n * d else math.inf


def _real_kind(function: str, given: dtype | None) -> dtype:
    """Return the dtype of frequencies; raise RuntimeError for integers."""
    kind = given or get_default_dtype()
    if kind.is_integral:
        raise RuntimeError(f"{function} requires a floating point or complex dtype")
    return kind


def fftfreq(
    n: int, d: float = 1.0, *, out: TensorBase | None = None, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the frequencies of ``fft``'s results: first the nonnegative, then the negative frequencies."""
    refuse_tracked(d)
    kind = _real_kind("fftfreq", dtype)
    found = cat((arange(0, (n + 1) // 2, dtype=kind, device=device), arange(-(n // 2), 0, dtype=kind, device=device))) * _step(n, d)
    return _frequencies(found, requires_grad, out)


def rfftfreq(
    n: int, d: float = 1.0, *, out: TensorBase | None = None, dtype: dtype | None = None, layout: layout | None = None,
    device: device | str | int | None = None, requires_grad: bool = False,
) -> TensorBase:  # fmt: skip
    """Return the frequencies of ``rfft``'s results."""
    refuse_tracked(d)
    found = arange(0, n // 2 + 1, dtype=_real_kind("rfftfreq", dtype), device=device) * _step(n, d)
    return _frequencies(found, requires_grad, out)


def _shifted(input: TensorBase, dim: int | tuple[int, ...] | None, step: Callable[..., Any]) -> TensorBase:
    shape = input._ms_shape
    dims = range(len(shape)) if dim is None else (dim,) if isinstance(dim, int) else dim
    places = wrap_each(dims, len(shape))
    return roll(input, tuple(step(shape[d]) for d in places), places) if places else input.clone()


def fftshift(input: TensorBase, dim: int | tuple[int, ...] | None = None) -> TensorBase:
    """Move frequency zero to the centre."""
    return _shifted(input, dim, lambda length: length // 2)


def ifftshift(input: TensorBase, dim: int | tuple[int, ...] | None = None) -> TensorBase:
    """Return the inverse of ``fftshift``."""
    return _shifted(input, dim, lambda length: math.ceil(length / 2))


