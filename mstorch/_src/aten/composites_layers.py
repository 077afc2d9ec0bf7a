"""Matrix products, layers and indexing, decomposed as torch does on the CPU."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..backend.arrays import Number
from ..core.dtype import dtype, uint8
from ..core.overriding import dispatches, state
from ..core.tensor_base import TensorBase
from ..ops.indexing import subscript
from ..ops.memory.from_data import made
from .calling import NotInTerms
from .composites import COMPOSITES, _viewed, aten, composite


@composite("matmul", "__matmul__")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Return the matrix product of two tensors by the rules of ``torch.matmul``."""
    first, second = input.dim(), other.dim()
    if first == 1 and second == 1:
        return aten("dot", input, other)
    if first == 2 and second == 1:
        return aten("mv", input, other)
    if first == 1 and second == 2:
        return aten("squeeze.dim", aten("mm", aten("unsqueeze", input, 0), other), 0)
    if first == 2 and second == 2:
        return aten("mm", input, other)
    if first >= 3 and second <= 2:
        rows = list(input.shape)
        flat = _viewed(input, [math.prod(rows[:-1]), rows[-1]])
        if second == 1:
            return aten("_unsafe_view", aten("mv", flat, other), rows[:-1])
        return aten("_unsafe_view", aten("mm", flat, other), [*rows[:-1], other.shape[1]])
    if first == 1 or second == 1 or first == 2:
        raise NotInTerms("mstorch: this product of a vector or matrix with a batch is not known in the terms of torch.ops.aten")
    lead = list(np.broadcast_shapes(tuple(input.shape[:-2]), tuple(other.shape[:-2])))
    n, m, p = input.shape[-2], input.shape[-1], other.shape[-1]
    left = _viewed(aten("expand", input, [*lead, n, m]), [math.prod(lead), n, m])
    right = _viewed(aten("expand", other, [*lead, m, p]), [math.prod(lead), m, p])
    return aten("_unsafe_view", aten("bmm", left, right), [*lead, n, p])


@composite("__rmatmul__")
def _reversed_matmul(self: Any, other: Any) -> Any:
    return matmul(other, self)


@composite("linear")
def linear(input: Any, weight: Tensor, bias: Tensor | None = None) -> Any:
    """Return ``input @ weight.T + bias``."""
    if bias is None:
        return matmul(input, aten("t", weight))
    if input.dim() == 2:
        return aten("addmm", bias, input, aten("t", weight))
    if not input.is_contiguous():
        taken = bool(state.dispatchers) or dispatches(type(bias))  # such a bias can't be added in place to another tensor
        return aten("add.Tensor" if taken else "add_.Tensor", matmul(input, aten("t", weight)), bias)
    shape = list(input.shape)
    flat = _viewed(input, [math.prod(shape[:-1]), shape[-1]])
    return aten("view", aten("addmm", bias, flat, aten("t", weight)), [*shape[:-1], weight.shape[0]])


@composite("outer", "ger")
def _outer(input: Tensor, vec2: Tensor) -> Tensor:
    return aten("mul.Tensor", aten("view", input, [input.shape[0], 1]), vec2)


@composite("norm")
def _norm(
    input: Tensor, p: float | str = "fro", dim: Sequence[int] | None = None, keepdim: bool = False, dtype: dtype | None = None,
    out: Any = None,
) -> Any:
    if isinstance(p, str) and (p != "fro" or isinstance(dim, (tuple, list)) and len(dim) > 2) or out is not None:
        return NotImplemented
    dims = dim if dim is None else [dim] if isinstance(dim, int) else list(dim)
    order = 2 if isinstance(p, str) or (p == 2 and dims is None and not keepdim) else p
    return aten("linalg_vector_norm", input, order, dims, keepdim, **({} if dtype is None else {"dtype": dtype}))


# Layers


def numbers(value: Any, count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value) * (count if len(value) == 1 else 1)


def _convolve(count: int, transposed: bool) -> None:
    def ordinary(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1
    ) -> Tensor:
        dilation = numbers(dilation, count)
        if isinstance(padding, str):
            spans = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
            if padding == "same" and any(span % 2 for span in spans):
                raise NotInTerms("mstorch: padding='same' that is not symmetric is not known in the terms of torch.ops.aten")
            padding = [span // 2 for span in spans] if padding == "same" else 0
        return _run(input, weight, bias, stride, padding, dilation, 0, groups)

    def backwards(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | tuple[int, ...] = 1, padding: int | tuple[int, ...] = 0,
        output_padding: int | tuple[int, ...] = 0, groups: int = 1, dilation: int | tuple[int, ...] = 1,
    ) -> Tensor:  # fmt: skip
        return _run(input, weight, bias, stride, padding, dilation, output_padding, groups)

    def _run(
        input: Tensor, weight: Tensor, bias: Tensor | None, stride: int | Sequence[int], padding: int | Sequence[int],
        dilation: int | Sequence[int], extra: int | tuple[int, ...], groups: int
    ) -> Any:
        batched = input.dim() == count + 2
        given = input if batched else aten("unsqueeze", input, 0)
        steps = [numbers(value, count) for value in (stride, padding, dilation)]
        result = aten("convolution", given, weight, bias, *steps, transposed, numbers(extra, count), groups)
        return result if batched else aten("squeeze.dim", result, 0)

    COMPOSITES[f"conv_transpose{count}d" if transposed else f"conv{count}d"] = backwards if transposed else ordinary


for _count in (1, 2, 3):
    _convolve(_count, False)
    _convolve(_count, True)


@composite("layer_norm")
def _layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
    cudnn_enable: bool = True
) -> Tensor:
    return aten("native_layer_norm", input, list(normalized_shape), weight, bias, eps)[0]


@composite("group_norm", refusing=True)
def _group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5, cudnn_enabled: bool = True
) -> Tensor:
    n, c = input.shape[0], input.shape[1]
    return aten("native_group_norm", input, weight, bias, n, c, math.prod(input.shape[2:]), num_groups, eps)[0]


@composite("batch_norm")
def _batch_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5, cudnn_enabled: bool | None = None,
) -> Tensor:  # fmt: skip
    if cudnn_enabled is not None:  # torch.batch_norm, which takes the weight first
        running_mean, running_var, weight, bias = weight, bias, running_mean, running_var
    aten("empty.memory_format", [0], dtype=uint8, device=input.device)
    return aten("native_batch_norm", input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@composite("softmax")
def _softmax(input: Tensor, dim: int | None = None, *rest: Any, dtype: dtype | None = None, _stacklevel: int = 3) -> Tensor:
    return _normalised("_softmax", input, dim, rest, dtype)


@composite("log_softmax")
def _log_softmax(input: Tensor, dim: int | None = None, *rest: Any, dtype: dtype | None = None, _stacklevel: int = 3) -> Tensor:
    return _normalised("_log_softmax", input, dim, rest, dtype)


def _normalised(name: str, input: Tensor, dim: int | None, rest: tuple[dtype | None, ...], dtype: dtype | None) -> Tensor:
    kind = next((value for value in rest if value is not None and not isinstance(value, int)), dtype)
    if dim is None:
        dim = 0 if input.dim() in (0, 1, 3) else 1
    if kind is not None and kind is not input.dtype:
        input = aten("_to_copy", input, dtype=kind)
    return aten(name, input, dim, False)


@composite("max_pool2d")
def _max_pool2d(
    input: Tensor, kernel_size: int | tuple[int, int], stride: int | tuple[int, int] | None = None, padding: int | tuple[int, int] = 0,
    dilation: int = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    steps = [] if stride is None or stride == [] else numbers(stride, 2)
    options = steps, numbers(padding, 2), numbers(dilation, 2), ceil_mode
    found = aten("max_pool2d_with_indices", input, numbers(kernel_size, 2), *options)
    return tuple(found) if return_indices else found[0]


@composite("avg_pool2d")
def _avg_pool2d(
    input: Tensor, kernel_size: int | tuple[int, int], stride: int | tuple[int, int] | None = None, *args: Any, **kwargs: Any
) -> Any:
    if args or kwargs or stride is not None:
        return NotImplemented
    return aten("avg_pool2d", input, numbers(kernel_size, 2))


@composite("adaptive_avg_pool2d")
def _adaptive_avg_pool2d(input: Tensor, output_size: int | tuple[int, int]) -> Tensor:
    wanted = (None, None) if output_size is None else numbers(output_size, 2)
    sizes = [input.shape[i - 2] if n is None else n for i, n in enumerate(wanted)]
    if sizes == [1, 1]:
        return aten("mean.dim", input, [-1, -2], True)
    return aten("_adaptive_avg_pool2d", input, sizes)


@composite("embedding")
def _embedding(
    input: Tensor, weight: Tensor, padding_idx: Any = None, max_norm: Any = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:  # fmt: skip
    if max_norm is not None or not isinstance(weight, TensorBase) or sparse:
        return NotImplemented
    if not weight.dtype.is_floating_point:
        input, weight = weight, input  # torch.embedding takes the weight first
    place = -1 if padding_idx is None else padding_idx % weight.shape[0]
    return aten("embedding", weight, input, place, scale_grad_by_freq)


@composite("relu6")
def _relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return NotImplemented if inplace else aten("hardtanh", input, 0, 6)


def _activation(name: str, *defaults: float) -> None:
    def function(input: Tensor, *args: Any, inplace: bool = False, **kwargs: Any) -> Any:
        inplace = inplace or len(args) > len(defaults) and args[-1]
        values = [*args[: len(defaults)], *kwargs.values()]
        return aten(f"{name}_" if inplace else name, input, *values, *defaults[len(values) :])

    COMPOSITES[name] = function


for _word in ("relu", "silu", "mish", "hardswish", "hardsigmoid"):
    _activation(_word)
_activation("leaky_relu", 0.01)
_activation("elu", 1.0)
_activation("hardtanh", -1.0, 1.0)
_activation("softplus", 1, 20)


@composite("logsigmoid")
def _logsigmoid(input: Tensor) -> Tensor:
    return aten("log_sigmoid_forward", input)[0]


@composite("__getitem__")
def _getitem(self: Tensor, key: Any) -> Tensor:
    items = list(key) if isinstance(key, tuple) else [key]
    if isinstance(key, list) and any(isinstance(item, (slice, type(None), type(Ellipsis), TensorBase, list)) for item in key):
        raise NotInTerms("mstorch: indexing by a list of such parts is not known in the terms of torch.ops.aten")
    taken = sum(_dims_taken(item) for item in items)
    current, dim, indices = self, 0, {}
    for item in items:
        if item is Ellipsis:
            dim += self.dim() - taken
        elif item is None:
            current = aten("unsqueeze", current, dim)
            dim += 1
        elif isinstance(item, bool):
            raise NotInTerms("mstorch: indexing by True or False is not known in the terms of torch.ops.aten")
        elif isinstance(item, slice):
            current = _cut(current, dim, item)
            dim += 1
        elif _is_index(item):
            indices[dim] = _index_tensor(item)
            dim += _dims_taken(indices[dim])
        else:
            current = aten("select.int", current, dim, int(item))
    if not indices:
        return aten("alias", current) if current is self else current
    return aten("index.Tensor", current, [indices.get(i) for i in range(max(indices) + 1)])


def _dims_taken(item: Any) -> int:
    """Return how many of the tensor's dimensions an item of a key stands for: a mask as many as it has, None and Ellipsis none."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    return item.dim() if isinstance(item, TensorBase) and item.dtype.name in ("bool", "uint8") else 1


def _is_index(item: Any) -> bool:
    """Return whether an item is an index of places or a mask; a tensor that is one integer selects, as a number does."""
    if isinstance(item, TensorBase):
        return not (item.dim() == 0 and item.dtype.category == 1)
    return isinstance(item, (list, np.ndarray, range))


def _index_tensor(item: Any) -> Any:
    if isinstance(item, TensorBase):
        return item
    return aten("lift_fresh", subscript.as_index(list(item) if isinstance(item, range) else item))


_LAST = (1 << 63) - 1


def _cut(current: Tensor, dim: int, item: slice) -> Tensor:
    start, stop, step = (None if part is None else int(part) for part in (item.start, item.stop, item.step))
    if (start is None or start == 0) and stop is None and step in (None, 1):
        return current
    values = [dim, start or 0, _LAST if stop is None else stop, 1 if step is None else step]
    return aten("slice.Tensor", current, *(values if values[3] != 1 else values[:3]))


@composite("__setitem__")
def _setitem(self: Tensor, key: Tensor | int | tuple[Tensor, slice], value: Tensor | Number) -> None:
    items = key if isinstance(key, tuple) else (key,)
    if any(isinstance(item, (TensorBase, list, np.ndarray, range)) for item in items):
        if len(items) != 1 or not isinstance(items[0], TensorBase):
            raise NotInTerms("mstorch: writing to these places is not known in the terms of torch.ops.aten")
        source = value if isinstance(value, TensorBase) else aten("lift_fresh", made(np.asarray(value, self.dtype.np)))
        aten("index_put_", self, [items[0]], source)
        return
    source = value if isinstance(value, TensorBase) else aten("lift_fresh", made(np.asarray(value, self.dtype.np)))
    part = _getitem(self, key)
    if isinstance(value, TensorBase) or part is not self and not part.dim():
        aten("copy_", part, source)
    else:
        aten("fill_.Tensor", part, source)


@composite("rms_norm", refusing=True)
def _rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    small = float(np.finfo(input.dtype.np).eps) if eps is None else eps
    mean = aten("mean.dim", aten("pow.Tensor_Scalar", input, 2), dims, True)
    result = aten("mul.Tensor", input, aten("rsqrt", aten("add_.Scalar", mean, small)))
    return result if weight is None else aten("mul.Tensor", result, weight)


@composite("pad", refusing=True)
def _pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Number | None = None) -> Tensor:
    if mode != "constant":
        return COMPOSITES["pad_like"](input, pad, mode)
    return aten("constant_pad_nd", input, list(pad), 0.0 if value is None else value)
