"""Adaptive softmax over many classes (https://arxiv.org/abs/1609.04309)."""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from ..._src.core.above import above
from ..._src.core.dtype import dtype
from ..._src.ops.shape.join import cat
from ..._tensor import Tensor
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities by adaptive softmax: frequent classes directly, rare ones in clusters delimited by ``cutoffs``."""

    in_features: int
    n_classes: int
    cutoffs: list[int]

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False,
        device: Any = None, dtype: dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(cutoffs) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs) or any(int(c) != c for c in cutoffs)
        ):  # fmt: skip
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
                "between 1 and n_classes-1"
            )
        made = {"device": device, "dtype": dtype}
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            inner = int(in_features // (div_value ** (i + 1)))
            outer = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(Linear(in_features, inner, bias=False, **made), Linear(inner, outer, bias=False, **made))
            )

    def reset_parameters(self) -> None:
        """Initialize all parameters."""
        self.head.reset_parameters()
        for pair in self.tail:
            first: Any
            second: Any
            first, second = pair
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> Any:
        """Apply the layer: (N, in_features), classes (N), or unbatched → log-probabilities of the targets (N), and the mean loss."""
        rank = target_.dim()
        if rank == 1:
            if input_.size(0) != target_.size(0):
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.dim() != 2:
                raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with size {input_.size()}")
        elif rank == 0:
            if input_.dim() != 1:
                raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with size {input_.size()}")
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        x = input_ if rank else input_.unsqueeze(0)
        target = target_ if rank else target_.unsqueeze(0)
        output = above.torch.zeros(target.size(0), dtype=x.dtype, device=x.device)
        place = above.torch.empty(target.size(0), dtype=target.dtype, device=target.device)
        used = 0
        bounds = [0, *self.cutoffs]
        for i in range(len(bounds) - 1):
            rows = ((target >= bounds[i]) & (target < bounds[i + 1])).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            used += rows.numel()
            if i == 0:
                place.index_copy_(0, rows, target.index_select(0, rows))
                continue
            logs = F.log_softmax(self.tail[i - 1](x.index_select(0, rows)), dim=1)
            inside = (target.index_select(0, rows) - bounds[i]).unsqueeze(1)
            place.index_fill_(0, rows, self.shortlist_size + i - 1)
            output = output.index_copy(0, rows, logs.gather(1, inside).squeeze(1))
        if used != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                f"{target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(x), dim=1)
        output = output + head.gather(1, place.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if rank else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i in range(self.n_clusters):
            inside = F.log_softmax(self.tail[i](input), dim=1)
            parts.append(inside + head[:, self.shortlist_size + i].unsqueeze(1))
        return cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities of all classes: (N, in_features) → (N, n_classes)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each row: (N, in_features) → (N)."""
        head = self.head(input)
        best = head.argmax(dim=1)
        rare = best >= self.shortlist_size
        if not rare.any():
            return best
        if rare.all():
            return self._get_full_log_prob(input, head).argmax(dim=1)
        best[rare] = self._get_full_log_prob(input[rare], head[rare]).argmax(dim=1)
        return best


__all__ = ["AdaptiveLogSoftmaxWithLoss"]
