"""parallelize_module: apply a plan of ParallelStyles to submodules."""
from __future__ import annotations

import fnmatch
from typing import Any

from ...._src.core.warned import warn
from ....nn.modules.module import Module
from ...device_mesh import DeviceMesh
from .style import ParallelStyle


def parallelize_module(
    module: Module, device_mesh: DeviceMesh | None = None, parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None, *,
    src_data_rank: int | None = 0
) -> Module:
    """Apply a ParallelStyle, or a dict of them by submodule name (with * and ?), to a module and return it. Raise TypeError for others."""
    if device_mesh is None:
        raise NotImplementedError("mstorch: parallelize_module needs a device_mesh")
    if device_mesh.ndim != 1:
        raise ValueError("parallelize_module takes a mesh of one dimension: slice it by a name")
    if parallelize_plan is None:
        warn("No parallelize_plan is provided and auto-parallel is not supported at the moment, so this parallelize_module call will do nothing.")  # fmt: skip  # noqa: E501
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, device_mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, {type(parallelize_plan)} found!")
    for path, style in parallelize_plan.items():
        parts = [module] if not path else list(_matches([module], path.split(".")))
        if not parts:
            warn(f"Parallelize plan key '{path}' could not be resolved: no submodule matching.")
        for part in parts:
            parallelize_module(part, device_mesh, style, src_data_rank=src_data_rank)
    return module


def _matches(modules: list[Any], names: list[str]) -> list[Any]:
    if not names:
        return modules
    below = [child for module in modules for name, child in module.named_children() if fnmatch.fnmatch(name, names[0])]
    return _matches(below, names[1:])


__all__ = ["parallelize_module"]
