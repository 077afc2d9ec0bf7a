"""The bilinear form."""
from __future__ import annotations

from ...core.tensor_base import TensorBase, is_tracked
from ...tape.saved_values import watch
from .._autocast import WIDEST_ON_DEVICES
from .._dispatch import cpp_word
from .._operation import operation
from ..elementwise.elementwise import add, mul
from ..linalg.matmul import mm
from ..reduce.reduce import sum as sum_of
from ..shape import views


@operation(autocast=WIDEST_ON_DEVICES)
def bilinear(input1: TensorBase, input2: TensorBase, weight: TensorBase, bias: TensorBase | None = None) -> TensorBase:
    """Return ``x1 @ weight[k] @ x2 + bias[k]`` for each k: (*, in1), (*, in2), weight (out, in1, in2) → (*, out)."""
    a, b, w = input1._ms_shape, input2._ms_shape, weight._ms_shape
    if len(a) != len(b):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(a)} and {len(b)}")
    for i, (m, n) in enumerate(zip(a[:-1], b[:-1])):
        if m != n:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {m} and {n}")
    if a[-1] != w[1]:
        raise RuntimeError(
            f"bilinear(): input1 size does not match weight size: got {a[-1]} but expected {w[1]}"
        )
    if b[-1] != w[2]:
        raise RuntimeError(
            f"bilinear(): input2 size does not match weight size: got {b[-1]} but expected {w[2]}"
        )
    if bias is not None and bias._ms_shape != w[:1]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias._ms_shape[0]} but expected {w[0]}")
    given = {"input1": input1, "input2": input2, "weight": weight, **({} if bias is None else {"bias": bias})}
    if any(tensor._ms_dtype is not input1._ms_dtype for tensor in given.values()):
        raise RuntimeError(
            "All tensors must have the same dtype, got "
            + ", ".join(f"{name}: {cpp_word(tensor._ms_dtype)}" for name, tensor in given.items())
        )
    first, second = views.reshape(input1, (-1, a[-1])), views.reshape(input2, (-1, b[-1]))
    columns = views.reshape(views.permute(weight, (1, 0, 2)), (w[1], w[0] * w[2]))
    mixed = views.reshape(mm(first, columns), (-1, w[0], w[2]))
    result = sum_of(mul(mixed, views.unsqueeze(second, 1)), 2, dtype=mixed._ms_dtype)
    result = views.reshape(result, (*a[:-1], w[0]))
    factors = input1, input2, weight
    watch(result, *(one for one in factors if any(other is not one and is_tracked(other) for other in factors)))
    return result if bias is None else add(result, bias)
