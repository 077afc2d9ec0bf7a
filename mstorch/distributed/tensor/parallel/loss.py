"""torch.distributed.tensor.parallel.loss: cross entropy of logits sharded along the class dimension."""
from __future__ import annotations

from typing import Any

import mstorch as torch

from ...._src.leaving import item_set_to
from ....autograd import Function
from ....autograd.function import FunctionCtx
from ..._group import ProcessGroup
from ..._types import ReduceOp
from .._dtensor import HANDLERS, DTensor, wrapped
from .._moves import bounds, total
from ..placement_types import Replicate, Shard


class _Losses(Function):
    """Computes each row's loss from the local classes and the other ranks' row statistics."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, logits: torch.Tensor, target: torch.Tensor, first: int, ignore_index: int, group: ProcessGroup
    ) -> torch.Tensor:
        highest = logits.max(1).values if logits.shape[1] else logits.new_full((len(logits),), float("-inf"))
        shifted = logits - total(highest, group, ReduceOp.MAX)[:, None]
        exponentials = shifted.exp()
        sums = total(exponentials.sum(1), group)
        counted = target != ignore_index
        here = counted & (target >= first) & (target < first + logits.shape[1])
        rows = here.nonzero()[:, 0]
        places = target[rows] - first
        own = torch.zeros_like(sums)
        own[rows] = shifted[rows, places]
        ctx.save_for_backward(exponentials / sums[:, None], rows, places, counted)
        return torch.where(counted, sums.log() - total(own, group), 0.0)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        found, rows, places, counted = ctx.saved_tensors
        found = found.clone()
        found[rows, places] -= 1
        return found * torch.where(counted, gradient, 0.0)[:, None], None, None, None, None


def _cross_entropy(
    input: Any, target: torch.Tensor | DTensor, weight: Any = None, size_average: bool | None = None, ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> torch.Tensor:  # fmt: skip
    mesh, placements, shape = input.__dict__["_spec"]
    if not 2 <= len(shape) or mesh.ndim != 1 or placements[0] != Shard(1):
        raise ValueError(
            f"loss_parallel() requires exactly one mesh dim to shard tensor dimension 1, but got placements {placements} with "
            f"{sum(one == Shard(1) for one in placements)} such mesh dim(s)."
        )
    if weight is not None or label_smoothing or size_average is not None or reduce is not None or target.dim() == len(shape):
        raise NotImplementedError("mstorch: loss_parallel with weights, smoothed labels or probabilities as targets")
    group, plain = mesh.get_group(), target.full_tensor() if isinstance(target, DTensor) else target
    first, _ = bounds(shape[1], group.size(), group.rank())
    rows = input.to_local().movedim(1, -1)
    losses = _Losses.apply(rows.reshape(-1, rows.shape[-1]), plain.reshape(-1), first, ignore_index, group).view(plain.shape)
    if reduction != "none":
        losses = losses.sum() / ((plain != ignore_index).sum() if reduction == "mean" else 1)
    return wrapped(losses, mesh, [Replicate()], tuple(losses.shape))


def loss_parallel() -> item_set_to:
    """Return a context manager in which ``cross_entropy`` takes logits sharded along classes without gathering them; targets may be plain.
    """
    return item_set_to(HANDLERS, "cross_entropy", _cross_entropy)


__all__ = ["loss_parallel"]
