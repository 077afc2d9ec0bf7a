"""Functions with private names in torch that torch's tests and libraries call: gradient scaling, memory overlap, checks."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._tensor import Tensor
from ...amp._scaling import unscale, update_scale
from ..core.dtype import bool_, float32, int32
from ..core.modes import grad_set_to
from ..core.strides import dense_order, overlaps
from ..core.tensor_base import strides_of
from ..ops._dispatch import type_word
from ..ops.layers.grid import grid_sampler_2d


def _expect_one(name: str, tensor: Tensor, kind: Any, words: str) -> None:
    if tensor.numel() != 1:
        raise RuntimeError(f"{name} must be a 1-element tensor.")
    if tensor.dtype is not kind:
        raise RuntimeError(f"{name} must be {words} tensor.")


def _amp_foreach_non_finite_check_and_unscale_(self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiply tensors by ``inv_scale`` in place; ``found_inf`` becomes 1 where an element is infinite or NaN."""
    if not self:
        return
    _expect_one("inv_scale", inv_scale, float32, "a float")
    _expect_one("found_inf", found_inf, float32, "a float")
    with grad_set_to(False):
        for tensor in self:
            if not tensor.dtype.is_floating_point:
                word = type_word(tensor.dtype)
                raise NotImplementedError(f'"_amp_foreach_non_finite_check_and_unscale_cpu" not implemented for \'{word}\'')
            unscale(tensor, inv_scale, found_inf)


def _amp_update_scale_(
    self: Tensor, growth_tracker: Tensor, found_inf: Tensor, scale_growth_factor: float, scale_backoff_factor: float, growth_interval: int
) -> Tensor:
    """Update a scale in place: it becomes smaller after an infinite gradient, and larger after ``growth_interval`` steps without one;
    returns the scale.
    """
    _expect_one("growth_tracker", growth_tracker, int32, "an int")
    _expect_one("current_scale", self, float32, "a float")
    _expect_one("found_inf", found_inf, float32, "a float")
    with grad_set_to(False):
        update_scale(self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval)
    return self


def _debug_has_internal_overlap(self: Tensor) -> int:
    """Return 0 if no two elements share memory, 1 if some do, and 2 if a quick test cannot decide."""
    strides = strides_of(self)
    if dense_order(self._ms_shape, strides) is not None:
        return 0
    return 1 if overlaps(self._ms_shape, strides) else 2


def _test_check_tensor(self: Tensor) -> Tensor:
    """Return a copy of a bool tensor; raise RuntimeError unless all elements are true."""
    if not bool(self.all()):
        raise RuntimeError("Test message for TORCH_CHECK_TENSOR_ALL")
    return self.clone()


def _grid_sampler_2d_cpu_fallback(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """Return ``grid_sampler_2d`` of the arguments."""
    return grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners)


def _masked_softmax(self: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None) -> Tensor:
    """Return the softmax along ``dim`` without the elements where the mask is True, which are 0 in the result.

    The mask's shape is (L, L) for ``mask_type`` 0, (B, L) for 1, that of the input for 2."""
    if mask.dtype is not bool_:
        raise RuntimeError("Mask should be a boolean tensor")
    kind = 2 if mask_type is None else mask_type
    if kind not in (0, 1, 2):
        raise RuntimeError("Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 (default_mask)")
    shape = tuple(self.shape)
    wanted = {0: (shape[2:], "(L, L)"), 1: ((shape[0], shape[-1]), "(B, L)")}.get(kind)
    if wanted is not None and tuple(mask.shape) != wanted[0]:
        raise RuntimeError(f"For mask_type == {kind} mask shape should be {wanted[1]}")
    if kind == 2 and tuple(mask.shape) != shape:
        raise RuntimeError("For mask_type == 2 mask shape should match input shape")
    wide = mask.view(shape[0], 1, 1, shape[-1]) if kind == 1 else mask
    found = self.masked_fill(wide, float("-inf")).softmax(self.dim() - 1 if dim is None else dim)
    hidden = wide.expand(shape).all(self.dim() - 1 if dim is None else dim, keepdim=True)
    return found.masked_fill(wide & ~hidden, 0.0)


def _add_relu(self: Tensor, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Tensor:
    """Return ``relu(self + alpha * other)``."""
    found = (self + other if alpha == 1 else self + other * alpha).relu()
    return found if out is None else out.resize_(found.shape).copy_(found)


def _add_relu_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Compute ``relu(self + alpha * other)`` in place; return the tensor."""
    return self.copy_(_add_relu(self, other, alpha=alpha))


FUNCTIONS = {
    function.__name__: function for function in (
        _amp_foreach_non_finite_check_and_unscale_, _amp_update_scale_, _debug_has_internal_overlap, _test_check_tensor,
        _grid_sampler_2d_cpu_fallback, _masked_softmax, _add_relu, _add_relu_,
    )
}  # fmt: skip
