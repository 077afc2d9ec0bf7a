"""The operators of torch_npu that are gradients of others, by the gradients of those."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mstorch as torch

from . import attention, layers

_F = torch.nn.functional


def through(function: Callable[..., Any], inputs: list[Any], grads: list[Any]) -> list[Any]:
    """Return the gradients of a function's results with respect to tensors (None among them is passed over), for given gradients of the
    results, of which None stands for none."""
    leaves = [None if item is None else item.detach().requires_grad_(True) for item in inputs]
    with torch.enable_grad():
        results = function(*leaves)
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        pairs = [(result, grad) for result, grad in zip(results, grads) if grad is not None]
        wanted = [leaf for leaf in leaves if leaf is not None]
        found = torch.autograd.grad([result for result, _ in pairs], wanted, [grad.to(result.dtype) for result, grad in pairs],
            allow_unused=True)
    given = iter(found)
    return [None if leaf is None else next(given) for leaf in leaves]


def _one(function: Callable[..., Any], input: torch.Tensor, grad: torch.Tensor) -> Any:
    return through(function, [input], [grad])[0]


def npu_rms_norm_backward(dy: torch.Tensor, input: torch.Tensor, gamma: torch.Tensor, rstd: Any) -> tuple[Any, Any]:
    """Return the gradients of ``npu_rms_norm`` with respect to the input and gamma; the latter in float32."""
    count = gamma.dim()
    wide, weight, grad = input.float(), gamma.float(), dy.float()
    normal = wide * rstd
    scaled = grad * weight
    mean = (scaled * normal).mean(tuple(range(-count, 0)), keepdim=True)
    rows = (grad * normal).reshape(-1, *gamma.shape).sum(0)
    return ((scaled - normal * mean) * rstd).to(input.dtype), rows


def npu_swiglu_backward(grad_output: torch.Tensor, input: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Return the gradient of ``npu_swiglu``."""
    return _one(lambda x: layers.npu_swiglu(x, dim), input, grad_output)


def npu_gelu_backward(grad_output: torch.Tensor, input: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """Return the gradient of ``npu_gelu``."""
    return torch.ops.aten.gelu_backward(grad_output, input, approximate=approximate)


def npu_fast_gelu_backward(grad: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    """Return the gradient of ``npu_fast_gelu``."""
    return _one(layers.npu_fast_gelu, input, grad)


def npu_silu_backward(grad_output: torch.Tensor, x0: Any, x1: torch.Tensor) -> torch.Tensor:
    """Return the gradient of ``npu_silu``; ``x1`` is its result, which is not needed."""
    return _one(_F.silu, x0, grad_output)


def npu_mish_backward(grad: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    """Return the gradient of ``npu_mish``."""
    return _one(_F.mish, input, grad)


def npu_geglu_grad(
    grad_output: torch.Tensor, input: torch.Tensor, gelu: Any, dim: int = -1, approximate: int = 1, activate_left: bool = False
) -> torch.Tensor:  # fmt: skip
    """Return the gradient of ``npu_geglu``'s first result; ``gelu``, its second one, is not needed."""
    return _one(lambda x: layers.npu_geglu(x, dim, approximate, activate_left)[0], input, grad_output)


def npu_rotary_mul_backward(grad: torch.Tensor, input: torch.Tensor, r1: Any, r2: Any, rotary_mode: str = "half") -> tuple[Any, Any, Any]:
    """Return the gradients of ``npu_rotary_mul`` with respect to its three tensors."""
    return tuple(through(lambda x, a, b: layers.npu_rotary_mul(x, a, b, rotary_mode), [input, r1, r2],
        [grad]))


def npu_linear_backward(grad: torch.Tensor, input: torch.Tensor, weight: Any) -> tuple[Any, Any]:
    """Return the gradients of ``npu_linear`` with respect to the input and the weight."""
    return grad @ weight, grad.flatten(0, -2).t() @ input.flatten(0, -2)


def npu_dtype_cast_backward(grad: torch.Tensor, dtype: Any, grad_dtype: Any = None, input_dtype: Any = None) -> torch.Tensor:
    """Return the gradient in the input's dtype."""
    return grad.to(dtype)


def npu_confusion_transpose_backward(grad: torch.Tensor, perm: Any, shape: Any, transpose_first: bool) -> torch.Tensor:
    """Return the gradient of ``npu_confusion_transpose`` for an input of a shape."""
    shape = list(shape)
    if transpose_first:
        back = [list(perm).index(place) for place in range(len(perm))]
        return grad.reshape([shape[place] for place in perm]).permute(back).contiguous()
    back = [list(perm).index(place) for place in range(len(perm))]
    return grad.permute(back).reshape(shape)


def npu_scaled_masked_softmax_backward(y_grad: torch.Tensor, y: torch.Tensor, mask: Any, scale: Any, fixed_triu_mask: bool) -> torch.Tensor:
    """Return the gradient of ``npu_scaled_masked_softmax`` with respect to its input."""
    grad, result = y_grad.float(), y.float()
    found = (grad - (grad * result).sum(-1, keepdim=True)) * result * scale
    hidden = _causal(found) if fixed_triu_mask else mask.bool()
    return found.masked_fill(hidden, 0.0).to(y.dtype)


def _causal(scores: torch.Tensor) -> Any:
    return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)


def npu_scaled_masked_softmax(x: torch.Tensor, mask: Any, scale: Any = 1, fixed_triu_mask: bool = False) -> torch.Tensor:
    """Return ``softmax(scale * x)`` over the last dimension without the places where the mask is True (or those above the diagonal)."""
    scores = (x.float() * scale).masked_fill(_causal(x) if fixed_triu_mask else mask.bool(), -10000.0)
    return torch.softmax(scores, -1).to(x.dtype)


# Attention


def _attention_grads(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dy: torch.Tensor, head_num: int, input_layout: str, options: dict[str,
    Any], keep_prob: float, ropes: tuple[Any, Any]
) -> list[Any]:  # fmt: skip
    if keep_prob < 1.0:
        raise NotImplementedError("mstorch: npu_fusion_attention_grad() with keep_prob below 1; autograd's backward has the mask")
    attention.refuse("npu_fusion_attention_grad", padding_mask=options.pop("padding_mask"))
    pse, sink = options.pop("pse"), options.pop("sink")

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, shift: Any, q_rope: Any, k_rope: Any, sunk: Any) -> Any:
        return attention.npu_fusion_attention_v2(
            q, k, v, head_num, input_layout, pse=shift, query_rope=q_rope, key_rope=k_rope, sink=sunk, **options
        )[0]  # fmt: skip

    return through(run, [query, key, value, pse, *ropes, sink], [dy])


def _or_empty(item: Any, like: Any) -> Any:
    return torch.empty(0, dtype=like.dtype, device=like.device) if item is None else item


def npu_fusion_attention_grad(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dy: torch.Tensor, head_num: int, input_layout: str, *, pse: Any = None,
    padding_mask: Any = None,
    atten_mask: Any = None, softmax_max: Any = None, softmax_sum: Any = None, softmax_in: Any = None, attention_in: Any = None,
    scale_value: float = 1.0, keep_prob: float = 1.0, pre_tockens: int = 2147483647, next_tockens: int = 2147483647, inner_precise: int = 0,
    seed: int = 0, offset: int = 0, numels: int = 0, prefix: Any = None, actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None,
    sparse_mode: int = 0, gen_mask_parallel: bool = True, sync: bool = False, softmax_layout: str = "", sink: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the gradients of ``npu_fusion_attention`` with respect to query, key, value, pse and sink (empty where there is none). The
    results of the forward that are given (``softmax_max`` and others) are computed again."""
    options = {
        "pse": pse, "padding_mask": padding_mask, "atten_mask": atten_mask, "scale": scale_value, "pre_tokens": pre_tockens,
        "next_tokens": next_tockens, "prefix": prefix, "actual_seq_qlen": actual_seq_qlen, "actual_seq_kvlen": actual_seq_kvlen,
        "sparse_mode": sparse_mode, "sink": sink,
    }  # fmt: skip
    grads = _attention_grads(query, key, value, dy, head_num, input_layout, options, keep_prob, (None, None))
    return *grads[:3], _or_empty(grads[3], query), _or_empty(grads[6], query)


def npu_fusion_attention_grad_v2(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dy: torch.Tensor, head_num: int, input_layout: str, *, pse: Any = None,
    padding_mask: Any = None,
    atten_mask: Any = None, softmax_max: Any = None, softmax_sum: Any = None, softmax_in: Any = None, attention_in: Any = None,
    query_rope: Any = None, key_rope: Any = None, scale_value: float = 1.0, keep_prob: float = 1.0, pre_tokens: int = 2147483647,
    next_tokens: int = 2147483647, inner_precise: int = 0, seed: int = 0, offset: int = 0, numels: int = 0, prefix: Any = None,
    actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None, sparse_mode: int = 0, gen_mask_parallel: bool = True, sync: bool = False,
    pse_type: int = 1, q_start_idx: Any = None, kv_start_idx: Any = None, softmax_layout: str = "", sink: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the gradients of ``npu_fusion_attention_v2`` with respect to query, key, value, pse, the two ropes and sink."""
    options = {
        "pse": pse, "padding_mask": padding_mask, "atten_mask": atten_mask, "scale": scale_value, "pre_tokens": pre_tokens,
        "next_tokens": next_tokens, "prefix": prefix, "actual_seq_qlen": actual_seq_qlen, "actual_seq_kvlen": actual_seq_kvlen,
        "sparse_mode": sparse_mode, "sink": sink, "pse_type": pse_type, "q_start_idx": q_start_idx, "kv_start_idx": kv_start_idx,
    }  # fmt: skip
    grads = _attention_grads(query, key, value, dy, head_num, input_layout, options, keep_prob, (query_rope, key_rope))
    return *grads[:3], *(_or_empty(item, query) for item in grads[3:])
