"""autograd.Function on nested tensors: applied to the tensors that hold the elements of all components."""
from __future__ import annotations

from typing import Any

from .._src.core.nested_parts import kept, like_nested
from .._tensor import Tensor
from ._context import FunctionCtx


class _Context:
    """The context that a Function receives: it converts between nested tensors and the tensors that hold their elements."""

    def __init__(self, inner: FunctionCtx) -> None:
        self.__dict__["inner"] = inner
        self.__dict__["forms"] = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.inner, name, value)

    def save_for_backward(self, *tensors: Tensor) -> None:
        """Save tensors for backward."""
        self.__dict__["forms"] = tensors
        self.inner.save_for_backward(*kept(tensors))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that forward saved."""
        return tuple(map(like_nested, self.forms, self.inner.saved_tensors))

    def mark_dirty(self, *tensors: Any) -> None:
        """Mark the inputs that were modified in place."""
        self.inner.mark_dirty(*kept(tensors))

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Mark the outputs that have no gradient."""
        self.inner.mark_non_differentiable(*kept(tensors))


def apply(cls: type[Any], base: type[Any], args: tuple[Any, ...], apart: bool) -> Any:
    """Return ``cls.apply`` for arguments with nested tensors among them; with ``apart``, ``setup_context`` fills the context."""
    seen: dict[str, Any] = {}

    def forward(ctx: Any, *values: Any) -> Any:
        given = tuple(map(like_nested, args, values))
        seen["context"] = context = _Context(ctx)
        output = cls.forward(*given) if apart else cls.forward(context, *given)
        if apart:
            cls.setup_context(context, given, output)
        seen["output"] = output
        return kept(output) if isinstance(output, (tuple, list)) else kept((output,))[0]

    def backward(ctx: Any, *gradients: Tensor) -> Any:
        outputs = seen["output"] if isinstance(seen["output"], (tuple, list)) else (seen["output"],)
        found = cls._mstorch_backward(seen["context"], *map(like_nested, outputs, gradients))
        return kept(found if isinstance(found, (tuple, list)) else (found,))

    flat: Any = type(cls.__name__, (base,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
    found = flat.apply(*kept(args))
    if not isinstance(found, tuple):
        return like_nested(seen["output"], found)
    return tuple(map(like_nested, seen["output"], found))
