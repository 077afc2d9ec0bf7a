"""torch.export.passes: changes of whole programs."""
from __future__ import annotations

from typing import Any

from .._src.core.device import device
from .._src.ops.memory.creation import empty
from .._tensor import Tensor
from ..fx.graph_module import GraphModule
from ..nn.parameter import Parameter
from ..utils._pytree import tree_map
from . import ExportedProgram

Location = device | str | dict[str, str]


def _place_of(current: Any, location: Location) -> device:
    """Return the device for what is on another one, with its index: a program checks the devices of tensors by it."""
    place = device(location.get(str(current), str(current)) if isinstance(location, dict) else str(location))
    return place if place.index is not None or place.type in ("cpu", "meta") else empty(0, device=place).device


def _moved(value: Any, location: Location) -> Any:
    if not isinstance(value, Tensor):
        return value
    result = value.detach().to(_place_of(value.device, location))
    return Parameter(result, value.requires_grad) if isinstance(value, Parameter) else result.requires_grad_(value.requires_grad)


def move_to_device_pass(ep: ExportedProgram, location: Location) -> ExportedProgram:
    """Move a program to a device, and return it: its tensors, its example inputs, and the devices that its calls name.

    A dict tells a device for each one that the program has. Raise NotImplementedError for a program without a graph, whose Python names
    devices.
    """
    graph_module = ep.graph_module
    for module in ep._state.modules():
        for table in (module._parameters, module._buffers, *([module.__dict__] if ep.constants else [])):
            for name, value in list(table.items()):
                if isinstance(value, Tensor):
                    table[name] = _moved(value, location)
    ep.constants = {name: _moved(value, location) for name, value in ep.constants.items()}
    args, kwargs = (tree_map(lambda value: _moved(value, location), part) for part in ep.example_inputs)
    ep.example_inputs = (args, kwargs)
    for module in graph_module.modules():
        for name, value in list(module.__dict__.items()):
            if isinstance(value, Tensor):
                module.__dict__[name] = _moved(value, location)
        for table in (module._parameters, module._buffers):
            for name, value in list(table.items()):
                if value is not None:
                    table[name] = _moved(value, location)
        for node in getattr(getattr(module, "graph", None), "nodes", ()):
            node.args = tuple(_place_of(one, location) if isinstance(one, device) else one for one in node.args)
            node.kwargs = {key: _place_of(one, location) if isinstance(one, device) else one for key, one in node.kwargs.items()}
        if isinstance(module, GraphModule):
            module.recompile()
    return ep


__all__ = ["move_to_device_pass"]
