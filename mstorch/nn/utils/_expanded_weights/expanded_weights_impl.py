"""torch.nn.utils._expanded_weights.expanded_weights_impl: ExpandedWeight, and the functions that accept expanded weights."""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ...._tensor import Tensor

_HOME = __name__.partition(".")[0]
RECURRENT = ("rnn_tanh", "rnn_relu", "gru", "lstm")
# The functions for which torch has per-sample gradients.
_LAYERS = ("linear", "embedding", "layer_norm", "group_norm", "instance_norm", *(f"conv{rank}d" for rank in (1, 2, 3)))

RUNNERS: dict[bool, Callable[..., Any]] = {}  # by whether the layer is recurrent: the function that runs it (_per_sample.py)


@cache
def _taken() -> frozenset[Callable[..., Any]]:
    torch = sys.modules[_HOME]
    layers = (getattr(space, name) for name in _LAYERS for space in (torch, torch.nn.functional) if hasattr(space, name))
    return frozenset((*layers, *(getattr(torch, name) for name in RECURRENT)))


class ExpandedWeight(Tensor):
    """A weight that behaves as ``orig_weight`` in layers; a backward pass sets ``orig_weight.grad_sample``, which has a gradient for each
    sample."""

    orig_weight: Tensor
    batch_size: int
    loss_reduction: str
    batch_first: bool
    allow_smaller_batches: bool

    def __new__(cls, orig_weight: Tensor, batch_size: int, loss_reduction: str) -> ExpandedWeight:
        if not isinstance(orig_weight, Tensor):
            raise RuntimeError(f"Can only make Expanded Weights of Tensors, got {type(orig_weight).__name__}")
        if not orig_weight.requires_grad:
            raise RuntimeError("Can only build ExpandedWeights objects of tensors that requires_grad")
        return Tensor._make_subclass(cls, orig_weight, True)

    def __init__(self, orig_weight: Tensor, batch_size: int, loss_reduction: str) -> None:
        self.orig_weight, self.batch_size, self.loss_reduction = orig_weight, batch_size, loss_reduction
        self.batch_first, self.allow_smaller_batches = True, False

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run a layer's function and record per-sample gradients. Raise RuntimeError for functions whose batch dimension is unknown."""
        if func in _taken():
            return RUNNERS[func.__name__ in RECURRENT](func, tuple(args), kwargs or {})
        if func.__name__ == "_cudnn_rnn_flatten_weight":
            return None
        raise RuntimeError(f"Expanded Weights encountered but cannot handle function {func.__name__}")

    @property
    def dtype(self) -> Any:
        """The dtype of the original weight."""
        return self.orig_weight.dtype

    @property
    def data(self) -> Tensor:
        """The ``data`` of the original weight."""
        return self.orig_weight.data

    @property
    def shape(self) -> Any:
        """The shape of the original weight."""
        return self.orig_weight.shape

    @property
    def device(self) -> Any:
        """The device of the original weight."""
        return self.orig_weight.device

    @property
    def is_cuda(self) -> bool:
        """True if the original weight is on a GPU."""
        return self.orig_weight.is_cuda

    def data_ptr(self) -> int:
        """Return the address of the original weight."""
        return self.orig_weight.data_ptr()

    def get_device(self) -> int:
        """Return the device index of the original weight."""
        return self.orig_weight.get_device()

    def set_allow_smaller_batches(self, is_allow_smaller_batches: bool) -> None:
        """Allow inputs with fewer samples than ``batch_size``, or disallow them."""
        self.allow_smaller_batches = is_allow_smaller_batches

    def set_batch_first(self, is_batch_first: bool = True) -> None:
        """Set the batch dimension of inputs: 0 if True, else 1."""
        self.batch_first = is_batch_first
