"""torch.distributed.tensor: DTensor, tensors sharded or replicated over ranks."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mstorch as torch

from ..._src.backend.arrays import Number
from ..._src.hook import missing as _missing
from ..._src.serialization.safe_globals import add_safe_globals
from ...nn.modules.module import Module
from ..device_mesh import DeviceMesh, init_device_mesh
from ..device_mesh import _again as _mesh_again
from . import placement_types
from ._dtensor import DTensor, distribute_tensor
from ._dtensor import _rebuilt as _tensor_again
from .placement_types import Partial, Placement, Replicate, Shard, _StridedShard

# Classes in the pickle of a DTensor: importing this module allows them under ``weights_only``, as in torch.
add_safe_globals([DTensor, DeviceMesh, Shard, _StridedShard, Replicate, Partial, _tensor_again, _mesh_again])


def distribute_module(
    module: Module, device_mesh: DeviceMesh, partition_fn: Callable[..., None] | None = None, input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> Module:  # fmt: skip
    """Convert a module's parameters to DTensors: ``partition_fn(name, submodule, mesh)`` shards them, the rest is replicated. Return the
    module.
    """
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, device_mesh)
        for key, parameter in list(part._parameters.items()):
            if parameter is not None and not isinstance(parameter, DTensor):
                spread = torch.nn.Parameter(distribute_tensor(parameter.data, device_mesh), parameter.requires_grad)
                part.register_parameter(key, spread)
        for key, buffer in list(part._buffers.items()):
            if buffer is not None and not isinstance(buffer, DTensor):
                part._buffers[key] = distribute_tensor(buffer, device_mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda owner, inputs: input_fn(owner, inputs, device_mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda owner, inputs, outputs: output_fn(owner, outputs, device_mesh))
    return module


def _factory(make: Callable[..., Any]) -> Callable[..., DTensor]:
    def function(
        *size: int, dtype: torch.dtype | None = None, layout: torch.layout | None = None, requires_grad: bool = False,
        device_mesh: DeviceMesh,
        placements: Sequence[Placement] | None = None,
        **more: Any,
    ) -> DTensor:  # fmt: skip
        shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        made = make(shape, dtype=dtype, requires_grad=requires_grad, device=device_mesh.device_type, **more)
        return distribute_tensor(made, device_mesh, placements)

    function.__name__ = function.__qualname__ = make.__name__
    function.__doc__ = f"Return ``torch.{make.__name__}`` as a DTensor on a mesh."
    return function


empty, ones, zeros = _factory(torch.empty), _factory(torch.ones), _factory(torch.zeros)
rand, randn = _factory(torch.rand), _factory(torch.randn)


def full(size: Sequence[int], fill_value: Number, **more: Any) -> DTensor:
    """Return a DTensor filled with ``fill_value``."""
    kind, mesh = ({} if more.get("dtype") is None else {"dtype": more["dtype"]}), more["device_mesh"]
    return distribute_tensor(torch.full(tuple(size), fill_value, device=mesh.device_type, **kind), mesh, more.get("placements"))


def _number(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if value.dim():
        raise RuntimeError("linspace only supports 0-dimensional start and end tensors")
    return value.item()


def linspace(
    start: Any, end: Any, steps: int, *, dtype: torch.dtype | None = None, layout: torch.layout = torch.strided,
    requires_grad: bool = False, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None,
) -> DTensor:  # fmt: skip
    """Return ``steps`` evenly spaced numbers as a DTensor (torch 2.14); ``start`` and ``end`` may be 0-d tensors."""
    made = torch.linspace(
        _number(start), _number(end), steps, dtype=dtype, layout=layout, requires_grad=requires_grad, device=device_mesh.device_type
    )
    return distribute_tensor(made, device_mesh, placements)


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: torch.dtype | None = None, layout: torch.layout = torch.strided,
    requires_grad: bool = False, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None,
) -> DTensor:  # fmt: skip
    """Return ``base`` raised to evenly spaced powers as a DTensor (torch 2.14)."""
    made = torch.logspace(
        _number(start), _number(end), steps, base, dtype=dtype, layout=layout, requires_grad=requires_grad, device=device_mesh.device_type
    )
    return distribute_tensor(made, device_mesh, placements)


__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty", "full",
    "init_device_mesh", "linspace", "logspace", "ones", "placement_types", "rand", "randn", "zeros",
]  # fmt: skip

__getattr__ = _missing(__name__, ("_utils", "device_mesh", "experimental", "parallel"))
