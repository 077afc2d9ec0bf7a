"""torch._functorch.autograd_function: contexts that wrap the context of an ``autograd.Function``."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.function import FunctionCtx


class WrappedCtx:
    """Context that wraps another one, and passes on access to all attributes but its own."""

    _pt_reserved_attrs: tuple[str, ...] = ("_pt_reserved_attrs", "_pt_inner_ctx")

    def __init__(self, ctx: FunctionCtx) -> None:
        names = type(self)._pt_reserved_attrs
        if not isinstance(ctx, WrappedCtx) and any(hasattr(ctx, name) for name in names):
            raise RuntimeError(
                f"PyTorch reserves the {names} field on ctx. Please name your fields on ctx something else to avoid name collision."
            )
        self._pt_inner_ctx = ctx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pt_inner_ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self)._pt_reserved_attrs:
            self.__dict__[name] = value
        else:
            setattr(self._pt_inner_ctx, name, value)


class CtxWithSavedTensors(WrappedCtx):
    """Context that replaces the saved tensors of another context."""

    _pt_reserved_attrs = ("_pt_new_saved_tensors", *WrappedCtx._pt_reserved_attrs)

    def __init__(self, ctx: FunctionCtx, new_saved_tensors: Sequence[Any]) -> None:
        super().__init__(ctx)
        self._pt_new_saved_tensors = new_saved_tensors

    @property
    def saved_tensors(self) -> Sequence[Any]:
        """The given saved tensors."""
        return self._pt_new_saved_tensors
