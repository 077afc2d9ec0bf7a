"""Causal masks for ``scaled_dot_product_attention``, aligned to the upper left or lower right corner."""
from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

import mstorch as torch

from ..._src.core.device import device
from ..._src.core.warned import warn
from ..._tensor import Tensor


class CausalVariant(IntEnum):
    """The corner that a causal mask's diagonal is aligned to."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(torch.Tensor):
    """A causal mask of shape (``seq_len_q``, ``seq_len_kv``), a bool tensor."""

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: Any, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        """Return a bool tensor that is True where a key is not masked. Warn if a mask aligned to the lower right corner has more queries
        than keys: all keys of its first rows are masked."""
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        lower = variant == CausalVariant.LOWER_RIGHT
        if lower and seq_len_q > seq_len_kv:
            warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!"
            )
        every = torch.ones(seq_len_q, seq_len_kv, dtype=torch.bool)
        made = torch.tril(every, diagonal=seq_len_kv - seq_len_q if lower else 0).as_subclass(cls)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        return made

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        pass  # __new__ has done it

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Give attention the mask's values, so that its result is not a mask; other functions return masks."""
        kwargs = kwargs or {}
        if func is not torch.nn.functional.scaled_dot_product_attention:
            return super().__torch_function__(func, types, args, kwargs)
        if kwargs.get("is_causal", args[5] if len(args) > 5 else False):
            raise ValueError("CausalBias should not be used with causal=True")
        with torch._C.DisableTorchFunctionSubclass():
            named = {key: _plain(value) for key, value in kwargs.items()}
            return func(*map(_plain, args), **named)

    def _materialize(self, device: device | str | int | None = None) -> Tensor:
        return self.as_subclass(torch.Tensor).to(device or "cpu")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return repr(self._materialize())


def _plain(value: Any) -> Any:
    return value._materialize(value.device) if isinstance(value, CausalBias) else value


def _made(name: str, variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return CausalBias(variant, *size)


def causal_upper_left(*size: int) -> CausalBias:
    """Return the causal mask whose diagonal starts in the upper left corner."""
    return _made("causal_upper_left", CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """Return the causal mask whose diagonal ends in the lower right corner."""
    return _made("causal_lower_right", CausalVariant.LOWER_RIGHT, size)


__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]
