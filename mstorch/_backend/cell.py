"""What a Module needs of mindspore.nn.Cell, and mindspore.Parameter."""
from __future__ import annotations

from typing import Any

from mindspore import Parameter, nn

from . import tape
from .raw import Raw

Cell = nn.Cell


def is_raw(value: Any) -> bool:
    """Whether the value is a tensor of MindSpore's own."""
    return isinstance(value, Raw)


def is_cell(value: Any) -> bool:
    """Whether the value is a network of MindSpore's own, or a Module."""
    return isinstance(value, Cell)


def as_parameter(raw: Raw, name: str, requires_grad: bool) -> Parameter:
    """A mindspore.Parameter of the same values, called ``name``; ``raw`` itself if it is one."""
    if isinstance(raw, Parameter):
        if raw.name != name:
            raw.name = name
        if raw.requires_grad != requires_grad:
            raw.requires_grad = requires_grad
        return raw
    parameter = Parameter(tape.detached(raw), name=name, requires_grad=requires_grad)
    if requires_grad:
        tape.mark_leaf(parameter)
    return parameter


def call_cell(cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """MindSpore's own way to call a network, around ``construct``."""
    return Cell.__call__(cell, *args, **kwargs)
