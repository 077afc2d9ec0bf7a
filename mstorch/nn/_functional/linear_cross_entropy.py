"""A linear layer and its cross entropy as one function, which can process the batch in chunks."""
from __future__ import annotations

import dataclasses
import math
from typing import Any

from ..._src.core.dtype import bfloat16, by_name, dtype, float16, float32, float64, int64
from ..._src.core.warned import warn
from ..._src.ops.linalg.matmul import linear
from ..._src.ops.losses.loss_class import cross_entropy
from ..._src.ops.memory.creation import zeros, zeros_like
from ..._src.ops.shape.join import cat
from ..._tensor import Tensor
from ...autograd import Function, enable_grad, grad, is_grad_enabled
from ...autograd.function import FunctionCtx

_POLICIES = ("auto", "accurate", "balanced", "compact")


def _factor(method: str) -> int | None:
    """Return the N of "aspect_ratio:N", 1 for "aspect_ratio", and None for other methods."""
    name, colon, factor = method.partition(":")
    factor = factor if colon else "1"
    return int(factor) if name == "aspect_ratio" and factor.isdigit() and int(factor) > 0 else None


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Options of ``linear_cross_entropy``, which splits the batch into chunks so that the logits of all classes never exist at once.

    Differs from torch: backward recomputes the gradients, so ``allow_retain_graph`` is not needed, and every ``acc_policy`` computes in
    ``acc_dtype`` throughout (float32 for half precision, unless given).
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: dtype | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto") and _factor(self.chunking_method) is None:
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (None, float16, bfloat16, float32, float64):
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, got "
                f"{self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically."
            )


def _rows(options: LinearCrossEntropyOptions, batch: int, features: int, classes: int, half: bool) -> int:
    """Return the number of rows per chunk."""
    method, given = options.chunking_method, options.batch_chunk_size
    if method == "auto":
        method = None if given is not None else "aspect_ratio" if half else "aspect_ratio:2"
    if method is None:
        return max(1, batch if given is None else min(given, batch))
    wanted = -(-batch // -(-classes // features))
    size = min((1 << (wanted - 1).bit_length()) // (_factor(method) or 1), batch)
    if given is not None and min(given, batch) != size:
        raise ValueError(
            f"batch_chunk_size (={given}) and chunking_method ('{method}') give different chunk sizes ({given} vs {size}); "
            "pass only one."
        )
    return max(1, size)


class _Chunked(Function):
    """The loss, computed in chunks of ``rows`` rows; backward recomputes the logits of each chunk."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, input: Tensor, matrix: Tensor, bias: Tensor | None, target: Tensor,
        settings: tuple[Tensor | None, str, int, int, dtype]
    ) -> Tensor:
        ctx.save_for_backward(input, matrix, bias)
        ctx.target, ctx.settings = target, settings
        weight, reduction, ignore_index, rows, kind = settings
        parts = [
            _losses(input[i : i + rows], matrix, bias, target[i : i + rows], settings)
            for i in range(0, target.shape[0], rows)
        ]
        losses = cat(parts) if parts else zeros(0, dtype=kind, device=input.device)
        if reduction == "none":
            return losses.to(input.dtype)
        total = losses.sum()
        if reduction == "mean":
            counted = target != ignore_index
            ctx.share = counted.sum().to(kind) if weight is None else (weight[target * counted] * counted).sum().to(kind)
            total = total / ctx.share
        return total.to(input.dtype)

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        input, matrix, bias = ctx.saved_tensors
        _, reduction, _, rows, kind = ctx.settings
        again = is_grad_enabled()
        seed = gradients[0].to(kind)
        if reduction == "mean":
            seed = seed / ctx.share
        matrix_sum = zeros_like(matrix, dtype=kind)
        bias_sum = None if bias is None else zeros_like(bias, dtype=kind)
        inputs = []
        for i in range(0, ctx.target.shape[0], rows):
            given = [t for t in (input[i : i + rows], matrix, bias) if t is not None]
            # Copies, which autograd tracks only if the gradients are to be differentiated again.
            leaves = [t.to(kind, copy=True) if again else t.detach().to(kind, copy=True) for t in given]
            leaves = [t if t.requires_grad else t.requires_grad_() for t in leaves]
            part = ctx.target[i : i + rows]
            with enable_grad():
                losses = _losses(leaves[0], leaves[1], leaves[2] if bias is not None else None, part, ctx.settings)
            chunk = seed[i : i + rows] if reduction == "none" else seed.expand(losses.shape)
            found = grad(losses, leaves, chunk, create_graph=again)
            inputs.append(found[0])
            matrix_sum = matrix_sum + found[1]
            if bias_sum is not None:
                bias_sum = bias_sum + found[2]
        input_grad = cat(inputs).to(input.dtype) if inputs else zeros_like(input)
        bias_grad = None if bias_sum is None else bias_sum.to(bias.dtype)
        return input_grad, matrix_sum.to(matrix.dtype), bias_grad, None, None


def _losses(
    input: Tensor, matrix: Tensor, bias: Tensor | None, target: Tensor, settings: tuple[Tensor | None, str, int, int, dtype]
) -> Tensor:
    weight, _, ignore_index, _, kind = settings
    logits = linear(input.to(kind), matrix.to(kind), None if bias is None else bias.to(kind))
    scale = None if weight is None else weight.to(kind)
    return cross_entropy(logits, target, scale, ignore_index=ignore_index, reduction="none")


def _check(input: Tensor, matrix: Tensor, bias: Tensor | None) -> None:
    if not 1 <= input.dim() <= 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if matrix.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {matrix.dim()}")
    if input.shape[-1] != matrix.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {input.shape[-1]} and {matrix.shape[-1]}, respectively"
        )
    if bias is not None and tuple(bias.shape) != tuple(matrix.shape[:-1]):
        raise RuntimeError(f"expected linear_bias shape {tuple(matrix.shape[:-1])}, got {tuple(bias.shape)}")
    if matrix.dim() > 2 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(matrix.shape)} requires batched input, "
            f"(N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )


def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None, label_smoothing: float = 0.0, options: LinearCrossEntropyOptions | None = None,
) -> Tensor:  # fmt: skip
    """Return ``cross_entropy(linear(input, linear_weight, linear_bias), target, …)``, with ``options`` chunk by chunk.

    ``input`` is (in_features) or (N, in_features), ``linear_weight`` (C, *, in_features), ``target`` classes (N, *) or probabilities (N, C,
    *).
    """
    _check(input, linear_weight, linear_bias)
    classes, *rest, features = linear_weight.shape
    logits_shape = (*input.shape[:-1], classes, *rest)
    if tuple(target.shape) == logits_shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignore_index = -100 if ignore_index is None else ignore_index
    if options is not None:
        if not rest and reduction in ("mean", "sum", "none") and label_smoothing == 0.0 and target.dtype is int64:
            single = input.dim() == 1
            wide, classes_of = (input.unsqueeze(0), target.unsqueeze(0)) if single else (input, target)
            half = input.dtype in (float16, bfloat16)
            kind = float32 if half else input.dtype
            if options.acc_dtype is not None:
                kind = by_name(str(options.acc_dtype).replace("torch.", ""))
            rows = _rows(options, wide.shape[0], features, classes, half)
            settings = (weight, reduction, ignore_index, rows, kind)
            result = _Chunked.apply(wide, linear_weight, linear_bias, classes_of, settings)
            return result.squeeze(0) if single and reduction == "none" else result
        warn(
            "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, "
            "label_smoothing == 0, target.dtype == int64, out_features == (). Got "
            f"reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype={target.dtype}, "
            f"out_features={tuple(rest)}, tracing=False, linear_bias.shape="
            f"{tuple(linear_bias.shape) if linear_bias is not None else None}.",
        )
    count = math.prod(rest, start=classes)
    bias = linear_bias.reshape(count) if linear_bias is not None else None
    logits = linear(input, linear_weight.reshape((count, features)), bias).reshape(logits_shape)
    return cross_entropy(
        logits, target, weight=weight, reduction=reduction, ignore_index=ignore_index, label_smoothing=label_smoothing
    )
