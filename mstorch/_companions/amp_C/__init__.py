"""amp_C: apex's compiled functions of lists of tensors, as far as scripts call them: scales, sums and norms."""

from __future__ import annotations

from typing import Any

import mstorch as torch

from .. import absent

Tensor = torch.Tensor


def _mark(flag: Tensor, tensors: list[Tensor]) -> None:
    """Set a flag if a tensor has an inf or NaN."""
    if tensors:
        finite = torch.stack([torch.isfinite(tensor).all() for tensor in tensors]).all()
        flag.copy_(torch.where(finite, flag, torch.ones_like(flag)))


@torch.no_grad()
def multi_tensor_scale(chunk_size: int, noop_flag: Tensor, tensor_lists: list[list[Tensor]], scale: float) -> None:
    """Write the first list's tensors times a scale to the second's; set the flag at an inf or NaN."""
    inputs, outputs = tensor_lists
    _mark(noop_flag, inputs)
    for value, out in zip(inputs, outputs):
        out.copy_(value.to(torch.promote_types(value.dtype, torch.float32)) * scale)


@torch.no_grad()
def multi_tensor_axpby(
    chunk_size: int, noop_flag: Tensor, tensor_lists: list[list[Tensor]], a: float, b: float, arg_to_check: int
) -> None:
    """Write a times the first list's tensors plus b times the second's to the third's; set the flag at an inf or NaN in one (-1: both)."""
    first, second, outputs = tensor_lists
    _mark(noop_flag, first + second if arg_to_check == -1 else tensor_lists[arg_to_check])
    for x, y, out in zip(first, second, outputs):
        wide = torch.promote_types(x.dtype, torch.float32)
        out.copy_(x.to(wide) * a + y.to(wide) * b)


@torch.no_grad()
def multi_tensor_l2norm(
    chunk_size: int, noop_flag: Tensor, tensor_lists: list[list[Tensor]], per_tensor: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Return the norm of all tensors together, and with ``per_tensor`` of each."""
    norms = torch.stack(
        [tensor.to(torch.promote_types(tensor.dtype, torch.float32)).norm() for tensor in tensor_lists[0]]
    )
    return norms.norm().view(1), norms if per_tensor else None


def __getattr__(name: str) -> Any:
    if name.startswith("multi_tensor_"):
        return absent(f"amp_C.{name}", "write torch's operations, or apex.optimizers for steps of optimizers")
    raise AttributeError(f"module 'amp_C' has no attribute '{name}'")


__all__ = ["multi_tensor_axpby", "multi_tensor_l2norm", "multi_tensor_scale"]
