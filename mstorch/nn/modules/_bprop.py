"""A Module's ``bprop``, as MindSpore's Cells have it: the backward of its forward, one node of the tape."""
from __future__ import annotations

import functools
import inspect
from typing import Any

from ...autograd.function import Function


def is_bprop(function: Any) -> bool:
    """Whether a method takes the forward's arguments, its output and the gradient: the last two are called out and dout."""
    if not inspect.isfunction(function):
        return False
    return list(inspect.signature(function).parameters)[-2:] == ["out", "dout"]


class _Bprop(Function):
    """The node: tensors among the arguments get what ``bprop`` gives in their places."""

    @staticmethod
    def forward(ctx: Any, plain: Any, module: Any, *args: Any) -> Any:
        output = plain(module, *args)
        ctx.module, ctx.args, ctx.output = module, args, output
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        gradient = gradients if isinstance(ctx.output, tuple) else gradients[0]
        found = ctx.module.bprop(*ctx.args, ctx.output, gradient)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(ctx.args) or any(isinstance(item, (dict, tuple)) for item in found):
            raise ValueError(
                f"{type(ctx.module).__name__}.bprop returned {len(found)} values for {len(ctx.args)} inputs: one gradient for each is "
                "needed; those of parameters belong into a torch.autograd.Function"
            )
        return None, None, *found


def take_bprop(cls: Any) -> None:
    """Let the class's forward (or construct) have its ``bprop`` as backward."""
    name = "forward" if "forward" in vars(cls) else "construct"
    plain = vars(cls).get(name)
    if plain is None:
        raise TypeError(f"mstorch: {cls.__name__} defines bprop without a forward of its own")

    node: Any = type(f"{cls.__name__}.bprop", (_Bprop,), {})

    @functools.wraps(plain)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            bound = inspect.signature(plain).bind(self, *args, **kwargs)
            bound.apply_defaults()
            args = bound.args[1:]
        return node.apply(plain, self, *args)

    setattr(cls, name, forward)
