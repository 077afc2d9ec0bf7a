"""Gradients of matrix products, layers, activations and losses in terms of ATen operators."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from ..core.formats import strided
from .calling import Derived, NotInTerms, derivative
from .composites import aten

# Products


def _in_columns(matrix: Tensor) -> bool:
    rows, columns = matrix.stride()
    return rows == 1 and columns == matrix.shape[0] and matrix.layout is strided


def _gradient_of_left(grad: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Return the gradient of a matrix product for its first factor, in that factor's memory order."""
    if _in_columns(first):
        return aten("t", aten("mm", second.conj(), aten("t", grad)))
    return aten("mm", grad, aten("t", second))


def _gradient_of_right(grad: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Return the gradient of a matrix product for its second factor."""
    if _in_columns(second):
        return aten("t", aten("mm", aten("t", grad), first.conj()))
    return aten("mm", aten("t", first), grad)


@derivative("mm.default", label="MmBackward0")
def _mm(node: Derived, grad: Tensor) -> tuple[Tensor | None, ...]:
    second = _gradient_of_right(grad, node.arg(0), node.arg(1)) if node.needs(1) else None
    return _gradient_of_left(grad, node.arg(0), node.arg(1)) if node.needs(0) else None, second


@derivative("bmm.default", label="BmmBackward0")
def _bmm(node: Derived, grad: Tensor) -> tuple[Tensor | None, ...]:
    second = aten("bmm", aten("transpose.int", node.arg(0), 1, 2), grad) if node.needs(1) else None
    return aten("bmm", grad, aten("transpose.int", node.arg(1), 1, 2)) if node.needs(0) else None, second


@derivative("addmm.default", label="AddmmBackward0")
def _addmm(node: Derived, grad: Tensor) -> tuple[Tensor | None, ...]:
    alpha, beta = node.options.get("alpha", 1), node.options.get("beta", 1)
    scaled = grad if alpha == 1 else grad * alpha
    first = _gradient_of_left(scaled, node.arg(1), node.arg(2)) if node.needs(1) else None
    second = _gradient_of_right(scaled, node.arg(1), node.arg(2)) if node.needs(2) else None
    return grad if beta == 1 else grad * beta, first, second


@derivative("baddbmm.default", label="BaddbmmBackward0")
def _baddbmm(node: Derived, grad: Tensor) -> tuple[Tensor | None, ...]:
    alpha, beta = node.options.get("alpha", 1), node.options.get("beta", 1)
    scaled = grad if alpha == 1 else grad * alpha
    first = aten("bmm", scaled, aten("transpose.int", node.arg(2), 1, 2)) if node.needs(1) else None
    second = aten("bmm", aten("transpose.int", node.arg(1), 1, 2), scaled) if node.needs(2) else None
    return grad if beta == 1 else grad * beta, first, second


@derivative("mv.default", label="MvBackward0")
def _mv(node: Derived, grad: Tensor) -> Any:
    first = aten("view", grad, [node.shapes[0][0], 1]) * node.arg(1) if node.needs(0) else None
    return first, aten("mv", aten("t", node.arg(0)), grad) if node.needs(1) else None


@derivative("dot.default", label="DotBackward0")
def _dot(node: Derived, grad: Tensor) -> Any:
    first = grad * node.arg(1) if node.needs(0) else None
    return first, grad * node.arg(0) if node.needs(1) else None


# Layers


def _mask(node: Derived, *numbers: int) -> list[bool]:
    """Return the mask of the needed gradients, False for arguments that are None."""
    place, found = 0, []
    for number in numbers:
        present = node.plan[number] is not None
        found.append(present and node.needs(place))
        place += present
    return found


def _present(node: Derived, values: Sequence[Any], *numbers: int) -> list[Any]:
    return [value for value, number in zip(values, numbers) if node.plan[number] is not None]


@derivative("convolution.default", label="ConvolutionBackward0")
def _convolution(node: Derived, grad: Tensor) -> list[Tensor | None]:
    sizes = [0] if node.plan[2] is None else [node.shapes[1][0] if not node.plan[6] else node.shapes[1][1] * node.plan[8]]
    found = aten("convolution_backward", grad, node.arg(0), node.arg(1), sizes, *node.plan[3:9], _mask(node, 0, 1, 2))
    return _present(node, found, 0, 1, 2)


@derivative("native_layer_norm.default", label="NativeLayerNormBackward0")
def _layer_norm(node: Derived, grad: Tensor, *_: Tensor | None) -> list[Tensor | None]:
    found = aten("native_layer_norm_backward", grad, node.arg(0), node.plan[1], node.result(1), node.result(2), node.arg(2), node.arg(3),
                 _mask(node, 0, 2, 3))  # fmt: skip
    return _present(node, found, 0, 2, 3)


@derivative("native_group_norm.default", label="NativeGroupNormBackward0")
def _group_norm(node: Derived, grad: Tensor, *others: Any) -> list[Tensor | None]:
    if any(other is not None for other in others):
        raise NotInTerms("mstorch: the gradient of the statistics is not known in the terms of torch.ops.aten")
    found = aten("native_group_norm_backward", grad, node.arg(0), node.result(1), node.result(2), node.arg(1), *node.plan[3:7],
                 _mask(node, 0, 1, 2))  # fmt: skip
    return _present(node, found, 0, 1, 2)


@derivative("native_batch_norm.default", label="NativeBatchNormBackward0")
def _batch_norm(node: Derived, grad: Tensor, *_: None) -> list[Tensor | None]:
    wanted = _mask(node, 0, 1, 2)
    moments = [_unchecked(node, place) for place in (3, 4)]
    found = aten("native_batch_norm_backward", grad, node.arg(0), node.arg(1), *moments, node.result(1), node.result(2), node.plan[5],
                 node.plan[7], wanted)  # fmt: skip
    return _present(node, (*found, None, None), 0, 1, 2, 3, 4)


def _unchecked(node: Derived, place: int) -> Any:
    """Return a running statistic without the version check, because the operator itself modifies it."""
    plan = node.plan[place]
    return None if plan is None else node.saved[plan.number].tensor


@derivative("embedding.default", label="EmbeddingBackward0")
def _embedding(node: Derived, grad: Tensor) -> tuple[Tensor, Any]:
    return aten("embedding_dense_backward", grad, node.arg(1), node.shapes[0][0], node.option(2, -1), node.option(3, False)), None


@derivative("constant_pad_nd.default", label="ConstantPadNdBackward0")
def _pad(node: Derived, grad: Tensor) -> Tensor:
    return aten("constant_pad_nd", grad, [-width for width in node.plan[1]])


# Activations

derivative("relu.default", label="ReluBackward0")(lambda node, grad: aten("threshold_backward", grad, node.result(), 0))


@derivative("_prelu_kernel.default", label="PreluKernelBackward0")
def _prelu_kernel(node: Derived, grad: Tensor) -> Any:
    of_input, of_weight = aten("_prelu_kernel_backward", grad, node.arg(0), node.arg(1))
    dims = [dim for dim, length in enumerate(node.shapes[1]) if length == 1]
    return of_input, aten("sum.dim_IntList", of_weight, dims, True) if node.needs(1) else None


def _by_softmax(overload: str, label: str, backward: str) -> None:
    derivative(overload, label=label)(lambda node, grad: aten(backward, grad, node.result(), node.plan[1], node.kinds[0]))


_by_softmax("_safe_softmax.default", "SafeSoftmaxBackward0", "_softmax_backward_data")
_by_softmax("_softmax.default", "SoftmaxBackward0", "_softmax_backward_data")
_by_softmax("_log_softmax.default", "LogSoftmaxBackward0", "_log_softmax_backward_data")


# Indexing


@derivative("index.Tensor", label="IndexBackward0")
def _index(node: Derived, grad: Tensor) -> tuple[Tensor, Any]:
    zeros = aten("new_zeros", grad, list(node.shapes[0]), dtype=node.kinds[0], device=grad.device)
    return aten("index_put", zeros, node.arg(1), grad, True), *[None] * (len(node.shapes) - 1)


@derivative("gather.default", label="GatherBackward0")
def _gather(node: Derived, grad: Tensor) -> tuple[Tensor, Any]:
    return aten("scatter_add", aten("new_zeros", grad, list(node.shapes[0])), node.plan[1], node.arg(2), grad), None


@derivative("index_select.default", label="IndexSelectBackward0")
def _index_select(node: Derived, grad: Tensor) -> tuple[Tensor, Any]:
    zeros = aten("new_zeros", grad, list(node.shapes[0]), dtype=node.kinds[0], device=grad.device)
    return aten("index_add", zeros, node.plan[1], node.arg(2), grad), None
