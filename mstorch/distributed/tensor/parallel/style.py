"""Parallel styles, which distribute a module's parameters, inputs and outputs over a 1-d mesh."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mstorch import Tensor, nn

from ....nn.modules.module import Module
from ...device_mesh import DeviceMesh
from .. import distribute_module
from .._dtensor import DTensor, distribute_tensor
from ..placement_types import Placement, Replicate, Shard


def _spread(value: Tensor | DTensor, layout: Placement | None, mesh: DeviceMesh) -> Any:
    """Return a plain tensor as a DTensor with the given layout."""
    if layout is None or isinstance(value, DTensor) or not isinstance(value, Tensor):
        return value
    return DTensor.from_local(value, mesh, (layout,))


def _redistributed(value: Tensor | DTensor, layout: Placement | None, mesh: DeviceMesh) -> Tensor:
    """Return a DTensor redistributed to another layout."""
    if layout is None or not isinstance(value, DTensor) or value.placements == (layout,):
        return value
    return value.redistribute(mesh, (layout,))


def _handed_out(value: Tensor, layout: Any, local: bool, mesh: DeviceMesh) -> Any:
    found = _redistributed(value, layout, mesh)
    return found.to_local() if local and isinstance(found, DTensor) else found


def _map_with_layouts(values: Any, layouts: Any, function: Callable[[Any, Any], Any]) -> Any:
    """Apply ``function`` to each value with its layout. Raise ValueError unless there are as many layouts as values."""
    if layouts is None:
        return values
    layouts = layouts if isinstance(layouts, tuple) else (layouts,)
    one = not isinstance(values, (tuple, list))
    given = (values,) if one else values
    if len(given) != len(layouts):
        raise ValueError("module inputs and input_layouts should have same length!")
    found = tuple(function(value, layout) for value, layout in zip(given, layouts))
    return found[0] if one else found


class ParallelStyle:
    """Base of parallel styles: ``_apply(module, mesh)`` distributes a module."""

    src_data_rank: int | None = 0

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        raise NotImplementedError

    def _parameter(self, module: Module, name: str, placement: Placement, mesh: DeviceMesh) -> None:
        parameter = module._parameters.get(name)
        if parameter is not None:
            spread = distribute_tensor(parameter.data, mesh, [placement], src_data_rank=self.src_data_rank)
            module.register_parameter(name, nn.Parameter(spread, parameter.requires_grad))


class _ProductParallel(ParallelStyle):
    """Base of styles that shard the weight of a Linear or Embedding."""

    def __init__(self, input_layouts: Placement, wanted: Placement, output_layouts: Placement, use_local_output: bool) -> None:
        self.input_layouts, self.desired_input_layouts = (input_layouts,), (wanted,)
        self.output_layouts, self.use_local_output = (output_layouts,), use_local_output

    _cuts: dict[type, dict[str, Any]]

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Module:
        cuts = next((cuts for kind, cuts in self._cuts.items() if isinstance(module, kind)), None)
        if cuts is None:
            raise NotImplementedError(f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!")

        def partition(name: str, part: Module, mesh: DeviceMesh) -> None:
            for key in list(part._parameters):
                self._parameter(part, key, cuts[key], mesh)

        def enter(owner: Module, inputs: Sequence[Tensor], mesh: DeviceMesh) -> tuple[Tensor, ...]:
            first = _redistributed(_spread(inputs[0], self.input_layouts[0], mesh), self._wanted(owner), mesh)
            return (first, *inputs[1:])

        def leave(owner: Module, outputs: Tensor, mesh: DeviceMesh) -> Tensor:
            return _handed_out(outputs, self._given(outputs), self.use_local_output, mesh)

        return distribute_module(module, device_mesh, partition, enter, leave)

    def _wanted(self, module: Module) -> Placement:
        return Replicate() if isinstance(module, nn.Embedding) else self.desired_input_layouts[0]

    def _given(self, outputs: Tensor) -> Any:
        layout = self.output_layouts[0]
        return Shard(outputs.dim() - 1) if layout == Shard(-1) else layout


class ColwiseParallel(_ProductParallel):
    """Shards a Linear by output features, or an Embedding by embedding dimension."""

    _cuts = {nn.Linear: {"weight": Shard(0), "bias": Shard(0)}, nn.Embedding: {"weight": Shard(1)}}

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None, use_local_output: bool = True
    ) -> None:
        super().__init__(input_layouts or Replicate(), Replicate(), output_layouts or Shard(-1), use_local_output)


class RowwiseParallel(_ProductParallel):
    """Shards a Linear by input features, or an Embedding by rows."""

    _cuts = {nn.Linear: {"weight": Shard(1), "bias": Replicate()}, nn.Embedding: {"weight": Shard(0)}}

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None, use_local_output: bool = True
    ) -> None:
        super().__init__(input_layouts or Shard(-1), Shard(-1), output_layouts or Replicate(), use_local_output)

    def _wanted(self, module: Module) -> Placement | None:
        return Replicate() if isinstance(module, nn.Embedding) else None


class SequenceParallel(ParallelStyle):
    """Runs a norm or Dropout on inputs sharded along the sequence dimension; its parameters are replicated."""

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding, self.use_local_output = (Shard(sequence_dim),), use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        layout = self.sequence_sharding[0]

        def enter(owner: Module, inputs: Sequence[Tensor], mesh: DeviceMesh) -> tuple[Tensor, ...]:
            return (_redistributed(_spread(inputs[0], layout, mesh), layout, mesh), *inputs[1:])

        def leave(owner: Module, outputs: Tensor, mesh: DeviceMesh) -> Tensor:
            return _handed_out(outputs, layout, self.use_local_output, mesh)

        return distribute_module(module, device_mesh, None, enter, leave)


class PrepareModuleInput(ParallelStyle):
    """Redistributes a module's inputs from one layout to another."""

    def __init__(
        self, *, input_layouts: Placement | tuple[Placement | None, ...] | None = None,
        desired_input_layouts: Placement | tuple[Placement | None, ...] | None = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None, use_local_output: bool = False,
    ) -> None:  # fmt: skip
        self.input_layouts, self.desired_input_layouts = input_layouts, desired_input_layouts
        self.input_kwarg_layouts, self.desired_kwarg_layouts = input_kwarg_layouts or {}, desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output

    def _prepare(self, inputs: Any, kwargs: Any, mesh: DeviceMesh) -> Any:
        found = _map_with_layouts(inputs, self.input_layouts, lambda value, layout: _spread(value, layout, mesh))
        found = _map_with_layouts(
            found, self.desired_input_layouts, lambda value, layout: _handed_out(value, layout, self.use_local_output, mesh)
        )
        named = dict(kwargs)
        for name, layout in self.input_kwarg_layouts.items():
            if name in named:
                value = _spread(named[name], layout, mesh)
                named[name] = _handed_out(value, self.desired_kwarg_layouts.get(name), self.use_local_output, mesh)
        return found, named

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        module.register_forward_pre_hook(lambda owner, inputs, kwargs: self._prepare(inputs, kwargs, device_mesh), with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Redistributes a module's outputs from one layout to another."""

    def __init__(
        self, *, output_layouts: Placement | tuple[Placement | None, ...], desired_output_layouts: Placement | tuple[Placement, ...],
        use_local_output: bool = True
    ) -> None:
        self.output_layouts, self.desired_output_layouts, self.use_local_output = output_layouts, desired_output_layouts, use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        def leave(owner: Any, inputs: Any, outputs: Any) -> Any:
            found = _map_with_layouts(outputs, self.output_layouts, lambda value, layout: _spread(value, layout, device_mesh))
            return _map_with_layouts(
                found, self.desired_output_layouts, lambda v, layout: _handed_out(v, layout, self.use_local_output, device_mesh)
            )

        module.register_forward_hook(leave)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Combines ``PrepareModuleInput`` and ``PrepareModuleOutput``."""

    def __init__(
        self, *, input_layouts: Placement | tuple[Placement | None, ...] | None = None,
        desired_input_layouts: Placement | tuple[Placement | None, ...] | None = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None, use_local_input: bool = False,
        output_layouts: Placement | tuple[Placement | None, ...], desired_output_layouts: Placement | tuple[Placement, ...],
        use_local_output: bool = True,
    ) -> None:  # fmt: skip
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts, input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts, use_local_output=use_local_input,
        )  # fmt: skip
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts, use_local_output=use_local_output
        )

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)


__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput", "RowwiseParallel",
    "SequenceParallel",
]  # fmt: skip
