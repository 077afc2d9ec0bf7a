"""Sizes that depend on values, in fake functions: ``torch.library.get_ctx().new_dynamic_size()``."""
from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_META = (
    "{}: You're trying to run this operator with meta Tensors (as opposed to FakeTensors), but this operator may return an output Tensor "
    "with data-dependent shape. Meta Tensors don't support operators with outputs that have data-dependent shapes but FakeTensors do. If "
    "your operator does not return an output with data-dependent shape, make sure the FakeTensor and/or meta kernel does not call "
    "torch.library.get_ctx(). Otherwise, please use FakeTensors."
)
_SUPPOSED: ContextVar[int | None] = ContextVar("supposed", default=None)  # what such sizes are supposed to be
_CURRENT: ContextVar[FakeImplCtx | None] = ContextVar("current", default=None)


class DynamicSizeError(RuntimeError):
    """Raised where a fake function asks for a size that depends on values."""


class FakeImplCtx:
    """Context of a fake function's call, which makes sizes that depend on values."""

    def __init__(self, title: str) -> None:
        self._title = title

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """Return a size that depends on values. There are no symbols here: it is a number while ``opcheck`` supposes one, else
        DynamicSizeError is raised, as torch raises for a meta tensor."""
        if min < 0:
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, ...): expected min to be greater than or equal to 0: this API can only create "
                "non-negative sizes."
            )
        supposed = _SUPPOSED.get()
        if supposed is None:
            raise DynamicSizeError(_META.format(self._title))
        return supposed + min

    def create_unbacked_symint(self, *, min: int = 2, max: int | None = None) -> int:
        """Return what ``new_dynamic_size`` does; torch's older name."""
        return self.new_dynamic_size(min=min, max=max)


def get_ctx() -> FakeImplCtx | None:
    """Return the context of the fake function that is being called; None outside of one."""
    return _CURRENT.get()


def with_context(fake: Callable[..., Any], title: str) -> Callable[..., Any]:
    """Return a fake function that finds a context by ``get_ctx``."""

    def call(*args: Any, **kwargs: Any) -> Any:
        token = _CURRENT.set(FakeImplCtx(title))
        try:
            return fake(*args, **kwargs)
        finally:
            _CURRENT.reset(token)

    return call


def supposing(size: int, call: Callable[[], Any]) -> Any:
    """Return what a call gives if sizes that depend on values are this number, or as much above their minimum."""
    token = _SUPPOSED.set(size)
    try:
        return call()
    finally:
        _SUPPOSED.reset(token)


__all__ = ["DynamicSizeError", "FakeImplCtx", "get_ctx", "supposing", "with_context"]
