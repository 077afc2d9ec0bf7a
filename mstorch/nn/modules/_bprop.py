"""Modules written like MindSpore Cells: ``construct`` is the forward and ``bprop`` its backward; both are one node of the autograd graph.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..._src.backend.cell import is_raw
from ..._src.core.tensor_base import TensorBase, is_tracked
from ...autograd.function import Function, FunctionCtx
from ._trees import changed, holds_ours


def take_words(cls: Any, base: type[Any]) -> None:
    """Adapt a subclass of ``base`` that is written like a MindSpore Cell. If it has a ``construct`` and no ``forward``, its own or
    inherited, ``construct`` becomes its ``forward``. If it has a ``bprop``, that becomes the backward pass of ``forward``."""
    own = vars(cls)
    # If forward is another method, ``construct`` is an ordinary method of the program; forward need not be a function.
    inherits = cls.forward is not base.forward and getattr(cls.forward, "__name__", "") != "construct"
    if inspect.isfunction(own.get("construct")) and "forward" not in own and not inherits:
        cls.forward = own["construct"]
        cls.construct = _either_side(own["construct"], base.construct)
    forward = cls.forward
    if forward is not base.forward and not hasattr(forward, "_mstorch_node") and _is_bprop(getattr(cls, "bprop", None), forward):
        cls.forward = _one_node(cls, forward)


def _either_side(plain: Callable[..., Any], border: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``construct`` that calls ``border`` if the arguments hold MindSpore tensors and no mstorch tensors, else ``plain``."""

    @functools.wraps(plain)
    def construct(self: object, *args: Any, **kwargs: Any) -> Any:
        raw = any(map(is_raw, (*args, *kwargs.values())))
        return border(self, *args, **kwargs) if raw and not holds_ours((args, kwargs)) else plain(self, *args, **kwargs)

    return construct


def _is_bprop(function: Callable[..., Any] | None, forward: Callable[..., Any]) -> bool:
    """Return whether a method accepts ``forward``'s arguments, the output, and the output's gradient, like MindSpore's ``bprop``."""
    if not inspect.isfunction(function) or not inspect.isfunction(forward):
        return False
    names = list(inspect.signature(function).parameters)
    return names[-2:] == ["out", "dout"] or len(names) == len(inspect.signature(forward).parameters) + 2


class _Bprop(Function):
    """The autograd node: each tensor argument gets the gradient that ``bprop`` returns in its position."""

    @staticmethod
    def forward(ctx: FunctionCtx, plain: Callable[..., Any], module: object, *args: Any) -> Any:
        output = plain(module, *args)
        outputs = output if isinstance(output, tuple) else (output,)
        ctx.module, ctx.single = module, not isinstance(output, tuple)
        ctx.args = [None if isinstance(arg, TensorBase) else arg for arg in args]
        ctx.places = [place for place, arg in enumerate(args) if isinstance(arg, TensorBase)]
        ctx.save_for_backward(*[args[place] for place in ctx.places], *outputs)
        return output

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: TensorBase) -> tuple[TensorBase | None, ...]:
        args, count = list(ctx.args), len(ctx.places)
        saved = ctx.saved_tensors
        for place, tensor in zip(ctx.places, saved):
            args[place] = tensor
        found = ctx.module.bprop(*args, *((saved[count], gradients[0]) if ctx.single else (tuple(saved[count:]), gradients)))
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(args) or any(isinstance(item, (dict, tuple)) for item in found):
            raise ValueError(
                f"{type(ctx.module).__name__}.bprop returned {len(found)} values for {len(args)} inputs: one gradient for each is "
                "needed; those of parameters belong into a torch.autograd.Function"
            )
        return None, None, *[gradient if place in ctx.places else None for place, gradient in enumerate(found)]


def _one_node(cls: type[Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    node: Any = type(f"{cls.__name__}.bprop", (_Bprop,), {})
    signature = inspect.signature(plain)

    @functools.wraps(plain)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(f"{cls.__name__}.bprop: {', '.join(bound.kwargs)} has to be a positional argument of forward")
        inside: list[Any] = []
        for arg in bound.args[1:]:
            if not isinstance(arg, TensorBase):
                changed(arg, lambda leaf: inside.append(leaf) if isinstance(leaf, TensorBase) and is_tracked(leaf) else None)
        if inside:
            raise TypeError(f"{cls.__name__}.bprop: tensors that require gradients have to be arguments of their own, not inside of others")
        return node.apply(plain, *bound.args)

    forward._mstorch_node = True  # type: ignore[attr-defined]  # told apart by subclasses
    return forward
