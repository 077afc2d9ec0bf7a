"""Tensor metadata that stages exchange, and the rank of each stage."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mstorch as torch

from ..tensor import DTensor


class PipeliningMetadataError(RuntimeError):
    """Raised when tensors between stages have unexpected metadata."""


@dataclass(frozen=True)
class _TensorMeta:
    """The metadata a rank needs to receive a tensor."""

    shape: Any
    stride: tuple[int, ...]
    dtype: Any
    requires_grad: bool

    @staticmethod
    def from_tensor(tensor: torch.Tensor | DTensor) -> _TensorMeta:
        if isinstance(tensor, DTensor):
            raise NotImplementedError("mstorch: torch.distributed.pipelining sends no DTensor between stages")
        return _TensorMeta(tensor.shape, tensor.stride(), tensor.dtype, tensor.requires_grad)

    def get_diff(self, other: _TensorMeta) -> list[str]:
        """Return the differences from another; ``requires_grad`` is not compared."""
        found = []
        for field in ("shape", "stride", "dtype"):
            mine, others = getattr(self, field), getattr(other, field)
            if mine != others:
                found.append(f"{field} mismatch: {mine} vs {others}")
        return found


def normalized(args: torch.Tensor | int | Sequence[Any] | None, allow_none: bool = False) -> tuple[Any, ...] | None:
    """Return a stage's arguments as a tuple of tensors. Raise PipeliningMetadataError for other types."""
    if args is None:
        return None
    if isinstance(args, torch.Tensor):
        return (args,)
    if not isinstance(args, (tuple, list)):
        raise PipeliningMetadataError(f"Stage args must be a tensor, tuple, or list of tensors, got {type(args).__name__}.")
    for number, arg in enumerate(args):
        if arg is None and not allow_none:
            raise PipeliningMetadataError(f"Stage arg[{number}] is None. Stage args must be tensors. Use kwargs for optional values.")
        if arg is not None and not isinstance(arg, torch.Tensor):
            raise PipeliningMetadataError(
                f"Stage arg[{number}] has type {type(arg).__name__}. "
                "All stage args must be tensors. Use kwargs for non-tensor inputs."
            )
    return tuple(args)


def metas(tensors: Sequence[torch.Tensor] | None) -> Any:
    """Return the metadata of each tensor."""
    return None if tensors is None else tuple(None if one is None else _TensorMeta.from_tensor(one) for one in tensors)


def differences(what: str, expected: tuple[Any, ...], actual: tuple[Any, ...]) -> list[tuple[str, str]]:
    """Return (place, difference) for tensors that do not match the expected metadata."""
    if len(expected) != len(actual):
        return [(what, f"expected {len(expected)} tensors, got {len(actual)}")]
    found = []
    for number, (want, got) in enumerate(zip(expected, actual)):
        several = want.get_diff(got) if want is not None and got is not None else []
        if several:
            found.append((f"{what}[{number}]", "; ".join(several)))
    return found


def warn_of(what: str, expected: Any, actual: Any) -> None:
    """Warn if tensors do not match the metadata that the user gave; the tensors' own metadata is used."""
    if not expected or not actual:
        return
    for place, text in differences(what, expected, actual):
        told = f"{place}: {text}" if place == what else f"{place}: Metadata mismatch. {text}. Using dynamically inferred metadata instead."
        warnings.warn(told, UserWarning, stacklevel=3)


def generate_stage_to_rank_mapping(pp_size: int, num_stages: int, style: str = "loop") -> dict[int, int]:
    """Return the rank of each stage, assigned round-robin ("loop") or back and forth ("v")."""
    if style == "loop":
        return {stage: stage % pp_size for stage in range(num_stages)}
    if style != "v":
        raise ValueError(f"Style {style} is not supported.")
    if num_stages % pp_size:
        raise ValueError(f"num_stages {num_stages} must be evenly divisible by pp_size {pp_size} for V schedules")
    found = {}
    for stage in range(num_stages):
        turn, place = divmod(stage, pp_size)
        found[stage] = pp_size - 1 - place if turn % 2 else place
    return found


def generate_rank_to_stage_mapping(pp_size: int, num_stages: int, style: str = "loop") -> dict[int, list[int]]:
    """Return the stages of each rank, in order."""
    found: dict[int, list[int]] = {}
    for stage, rank in generate_stage_to_rank_mapping(pp_size, num_stages, style).items():
        found.setdefault(rank, []).append(stage)
    return found


__all__ = [
    "PipeliningMetadataError", "differences", "generate_rank_to_stage_mapping", "generate_stage_to_rank_mapping", "metas", "normalized",
    "warn_of",
]  # fmt: skip
