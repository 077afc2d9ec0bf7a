"""Gradients of matrix products, layers, activations and losses in terms of ATen operators."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.formats import strided
from .._tensor import Tensor
from .calling import DERIVATIVES, Derived, NotInTerms, derivative
from .composites import aten


def option(node: Derived, place: int, default: float | list[int] | None) -> Any:
    return node.plan[place] if len(node.plan) > place else default


# Products


def _in_columns(matrix: Tensor) -> bool:
    rows, columns = matrix.stride()
    return rows == 1 and columns == matrix.shape[0] and matrix.layout is strided


def _left(grad: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Return the gradient of a matrix product for its first factor, in that factor's memory order."""
    if _in_columns(first):
        return aten("t", aten("mm", second.conj(), aten("t", grad)))
    return aten("mm", grad, aten("t", second))


def _right(grad: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Return the gradient of a matrix product for its second factor."""
    if _in_columns(second):
        return aten("t", aten("mm", aten("t", grad), first.conj()))
    return aten("mm", aten("t", first), grad)


@derivative("mm.default", label="MmBackward0")
def _mm(node: Derived, grad: Tensor) -> tuple[Tensor | None, ...]:
    second = _right(grad, node.arg(0), node.arg(1)) if node.needs(1) else None
    return _left(grad, node.arg(0), node.arg(1)) if node.needs(0) else None, second


@derivative("bmm.default", label="BmmBackward0")
def _bmm(node: Derived, grad: Tensor) -> tuple[Tensor | None, ...]:
    second = aten("bmm", aten("transpose.int", node.arg(0), 1, 2), grad) if node.needs(1) else None
    return aten("bmm", grad, aten("transpose.int", node.arg(1), 1, 2)) if node.needs(0) else None, second


@derivative("addmm.default", label="AddmmBackward0")
def _addmm(node: Derived, grad: Tensor) -> tuple[Tensor | None, ...]:
    alpha, beta = node.options.get("alpha", 1), node.options.get("beta", 1)
    scaled = grad if alpha == 1 else grad * alpha
    first = _left(scaled, node.arg(1), node.arg(2)) if node.needs(1) else None
    second = _right(scaled, node.arg(1), node.arg(2)) if node.needs(2) else None
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
    return aten("embedding_dense_backward", grad, node.arg(1), node.shapes[0][0], option(node, 2, -1), option(node, 3, False)), None


@derivative("max_pool2d_with_indices.default", label="MaxPool2DWithIndicesBackward0")
def _max_pool2d(node: Derived, grad: Tensor, _: Any = None) -> Tensor:
    options = [option(node, place, default) for place, default in enumerate((None, None, [], [0, 0], [1, 1], False)) if place]
    return aten("max_pool2d_with_indices_backward", grad, node.arg(0), *options, node.result(1))


@derivative("avg_pool2d.default", label="AvgPool2DBackward0")
def _avg_pool2d(node: Derived, grad: Tensor) -> Tensor:
    options = [option(node, place, default) for place, default in enumerate((None, None, [], [0, 0], False, True, None)) if place]
    return aten("avg_pool2d_backward", grad, node.arg(0), *options)


@derivative("_adaptive_avg_pool2d.default", label="AdaptiveAvgPool2DBackward0")
def _adaptive_avg_pool2d(node: Derived, grad: Tensor) -> Tensor:
    return aten("_adaptive_avg_pool2d_backward", grad, node.arg(0))


@derivative("_scaled_dot_product_flash_attention_for_cpu.default", label="ScaledDotProductFlashAttentionForCpuBackward0")
def _attention(node: Derived, grad: Tensor, *_: None) -> tuple[Tensor, Tensor, Tensor, Any]:
    named = {"attn_mask": _named(node, "attn_mask")}
    if node.options.get("scale") is not None:
        named["scale"] = node.options["scale"]
    found = aten(
        "_scaled_dot_product_flash_attention_for_cpu_backward", grad, node.arg(0), node.arg(1), node.arg(2), node.result(0), node.result(1),
        option(node, 3, 0.0), option(node, 4, False), **named,
    )  # fmt: skip
    return (*found, None)


def _named(node: Derived, name: str) -> Any:
    plan = node.options.get(name)
    return None if plan is None else node.saved[plan.number].value(node, True)


@derivative("constant_pad_nd.default", label="ConstantPadNdBackward0")
def _pad(node: Derived, grad: Tensor) -> Tensor:
    return aten("constant_pad_nd", grad, [-width for width in node.plan[1]])


# Activations

derivative("relu.default", label="ReluBackward0")(lambda node, grad: aten("threshold_backward", grad, node.result(), 0))
derivative("tanh.default", label="TanhBackward0")(lambda node, grad: aten("tanh_backward", grad, node.result()))
derivative("sigmoid.default", label="SigmoidBackward0")(lambda node, grad: aten("sigmoid_backward", grad, node.result()))
derivative("silu.default", label="SiluBackward0")(lambda node, grad: aten("silu_backward", grad, node.arg(0)))
derivative("mish.default", label="MishBackward0")(lambda node, grad: aten("mish_backward", grad, node.arg(0)))
derivative("hardswish.default", label="HardswishBackward0")(lambda node, grad: aten("hardswish_backward", grad, node.arg(0)))
derivative("hardsigmoid.default", label="HardsigmoidBackward0")(lambda node, grad: aten("hardsigmoid_backward", grad, node.arg(0)))
derivative("gelu.default", label="GeluBackward0")(lambda node, grad: aten("gelu_backward", grad, node.arg(0), **node.options))


@derivative("leaky_relu.default", label="LeakyReluBackward0")
def _leaky_relu(node: Derived, grad: Tensor) -> Tensor:
    return aten("leaky_relu_backward", grad, node.arg(0), option(node, 1, 0.01), False)


@derivative("elu.default", label="EluBackward0")
def _elu(node: Derived, grad: Tensor) -> Tensor:
    return aten("elu_backward", grad, *(option(node, place, 1) for place in (1, 2, 3)), False, node.arg(0))


@derivative("hardtanh.default", label="HardtanhBackward0")
def _hardtanh(node: Derived, grad: Tensor) -> Tensor:
    return aten("hardtanh_backward", grad, node.arg(0), option(node, 1, -1), option(node, 2, 1))


@derivative("softplus.default", label="SoftplusBackward0")
def _softplus(node: Derived, grad: Tensor) -> Tensor:
    return aten("softplus_backward", grad, node.arg(0), option(node, 1, 1), option(node, 2, 20))


@derivative("log_sigmoid_forward.default", label="LogSigmoidBackward0")
def _log_sigmoid(node: Derived, grad: Tensor, _: Any = None) -> Tensor:
    return aten("log_sigmoid_backward", grad, node.arg(0), node.result(1))


@derivative("_prelu_kernel.default", label="PreluKernelBackward0")
def _prelu_kernel(node: Derived, grad: Tensor) -> Any:
    of_input, of_weight = aten("_prelu_kernel_backward", grad, node.arg(0), node.arg(1))
    dims = [dim for dim, length in enumerate(node.shapes[1]) if length == 1]
    return of_input, aten("sum.dim_IntList", of_weight, dims, True) if node.needs(1) else None


@derivative("_safe_softmax.default", label="SafeSoftmaxBackward0")
def _safe_softmax(node: Derived, grad: Tensor) -> Tensor:
    return aten("_softmax_backward_data", grad, node.result(), node.plan[1], node.kinds[0])


@derivative("_softmax.default", label="SoftmaxBackward0")
def _softmax(node: Derived, grad: Tensor) -> Tensor:
    return aten("_softmax_backward_data", grad, node.result(), node.plan[1], node.kinds[0])


@derivative("_log_softmax.default", label="LogSoftmaxBackward0")
def _log_softmax(node: Derived, grad: Tensor) -> Tensor:
    return aten("_log_softmax_backward_data", grad, node.result(), node.plan[1], node.kinds[0])


@derivative("rrelu_with_noise.default", label="RreluWithNoiseBackward0")
def _rrelu(node: Derived, grad: Tensor) -> tuple[Tensor, Any]:
    lower, upper, training = (option(node, *pair) for pair in ((2, 0.125), (3, 1 / 3), (4, False)))
    return aten("rrelu_with_noise_backward", grad, node.arg(0), node.arg(1), lower, upper, training, False), None


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


def _enter_in_place() -> None:
    """Register the gradients of in-place operators, which are those of the functional ones."""
    names = "add.Tensor sub.Tensor mul.Tensor div.Tensor div.Scalar relu.default tanh.default sigmoid.default exp.default neg.default "
    names += "sqrt.default rsqrt.default leaky_relu.default elu.default hardtanh.default clamp.default abs.default masked_fill.Scalar "
    names += "pow.Scalar silu.default mish.default hardswish.default hardsigmoid.default"
    for name in names.split():
        packet, _, which = name.partition(".")
        found = DERIVATIVES.get("pow.Tensor_Scalar" if packet == "pow" else name)
        if found is not None:
            DERIVATIVES[f"{packet}_.{which}"] = found


_enter_in_place()
