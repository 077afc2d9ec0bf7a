"""Gradient of attention on devices that have a fused kernel for it."""
from __future__ import annotations

from typing import Any, NoReturn

from ..._backend.raw import Raw
from ..._backend.table import kernel
from ..._core.tensor_base import TensorBase
from .. import vocabulary as v
from ..apply import apply, rule

_grad = kernel("attention_grad")


def _scaled_product(node: Any, g: Any) -> Any:
    (of_input, of_first, of_second), (beta, alpha) = node.edges, node.args
    scaled = g if alpha == 1 or of_first is of_second is None else v.times(g, alpha)
    return (
        None if of_input is None else v.fit(g if beta == 1 else v.times(g, beta), node.shapes[0]),
        None if of_first is None else _product(scaled, v.transpose(node.kept(g, 1))),
        None if of_second is None else _product(v.transpose(node.kept(g, 0)), scaled),
    )


def _product(a: Any, b: Any) -> Any:
    return (v.mm if len(a.shape) == 2 else v.bmm)(a, b)


addmm = rule("addmm", keep=(1, 2))(_scaled_product)
baddbmm = rule("baddbmm", keep=(1, 2))(_scaled_product)


@rule("attention", keep=(0, 1, 2, 3, "result", "result1", "result2"), label="ScaledDotProductFlashAttentionBackward0")
def attention(node: Any, gradients: list[Raw | None]) -> tuple[Raw | None, ...]:
    g = gradients[0]
    q, k, value, hidden, found, top, total = kept = [node.kept(g, place) for place in range(7)]
    if isinstance(g, TensorBase):
        return (*apply(_grad, q._ms_dtype, (g, *kept), node.args), None)
    return (*_grad[v.dtype_name(q)](g, q, k, value, hidden, found, top, total, *node.args), None)


@rule("attention_grad", label="ScaledDotProductFlashAttentionBackwardBackward0")
def attention_grad(node: Any, gradients: Any) -> NoReturn:
    raise RuntimeError("derivative for aten::_scaled_dot_product_flash_attention_backward is not implemented")
