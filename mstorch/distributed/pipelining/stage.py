"""A stage of a pipeline: the submodule that one rank computes, with its input and output buffers."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mstorch as torch

from ..._src.hook import missing as _missing
from ...nn.modules.module import Module
from ...nn.parallel import DistributedDataParallel
from ...utils._pytree import tree_map
from .. import distributed_c10d as dist
from .._group import ProcessGroup
from ..fsdp import FSDPModule
from ._utils import PipeliningMetadataError, differences, metas, normalized, warn_of


def as_tuple(output: torch.Tensor | Sequence[torch.Tensor]) -> tuple[Any, ...]:
    """Return ``output`` as a tuple, wrapped if it is not a tuple or list."""
    return tuple(output) if type(output) in (list, tuple) else (output,)


def _with_shapes(value: Any) -> Any:
    """Format arguments for an error message, with tensors as their shapes."""

    def told(one: torch.Tensor | None) -> str:
        return f"Tensor({one.shape}, grad={one.requires_grad}, dtype={one.dtype})" if isinstance(one, torch.Tensor) else str(one)

    return tree_map(told, value)


class _PipelineStageBase:
    """Base of stages, with the interface that schedules use."""

    def __init__(
        self, submodule: Module, stage_index: int, num_stages: int, device: torch.device, group: ProcessGroup | None = None,
        dw_builder: Callable[..., Any] | None = None
    ) -> None:
        if stage_index >= num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        if dw_builder is not None:
            raise NotImplementedError("mstorch: torch.distributed.pipelining computes no gradients of weights apart (dw_builder)")
        if isinstance(submodule, (DistributedDataParallel, FSDPModule)):
            raise NotImplementedError(f"mstorch: torch.distributed.pipelining has no stages of {type(submodule).__name__}")
        self.submod = submodule
        self.stage_index, self.num_stages = stage_index, num_stages
        self.device, self.group = device, group
        self.dw_builder = None
        self.group_rank, self.group_size = dist.get_rank(group), dist.get_world_size(group)
        if self.group_size > num_stages:
            raise RuntimeError(f"Pipeline group size {self.group_size} cannot be larger than number of stages {num_stages}")
        self.has_backward = False
        self.chunks: int | None = None
        self.log_prefix = f"[Stage {stage_index}]"
        self.stage_index_to_group_rank = {stage: stage % self.group_size for stage in range(num_stages)}
        self.output_chunks: list[Any] = []
        self.fwd_cache: dict[int, tuple[tuple[Any, ...], tuple[Any, ...]]] = {}
        self.activations: dict[int, tuple[Any, ...]] = {}
        """Activations received from the previous stage, by microbatch."""
        self.gradients: dict[int, tuple[Any, ...]] = {}
        """Gradients received from the next stage, by microbatch."""

    @property
    def is_first(self) -> bool:
        """True for the first stage."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """True for the last stage."""
        return self.stage_index == self.num_stages - 1

    def clear_runtime_states(self) -> None:
        """Clear the buffers of the last step."""
        for one in (self.fwd_cache, self.activations, self.gradients, self.output_chunks):
            one.clear()

    def scale_grads(self, grad_scale_factor: int) -> None:
        """Divide the gradients of the stage's parameters by ``grad_scale_factor``."""
        if grad_scale_factor == 1:
            return
        for parameter in self.submod.parameters():
            if parameter.grad is not None:
                parameter.grad.div_(grad_scale_factor)


class PipelineStage(_PipelineStageBase):
    """Stage ``stage_index`` of ``num_stages``: ``submodule``, on ``device``, on a rank of ``group``.

    Tensors between stages have the shapes and dtypes of the first microbatch; each stage tells the next. ``input_args`` and ``output_args``
    are expectations: a mismatch warns.
    """

    def __init__(
        self, submodule: Module, stage_index: int, num_stages: int, device: torch.device,
        input_args: torch.Tensor | tuple[torch.Tensor, ...] | None = None,
        output_args: torch.Tensor | tuple[torch.Tensor, ...] | None = None,
        output_grads: torch.Tensor | tuple[torch.Tensor | None, ...] | None = None,
        input_grads: torch.Tensor | tuple[torch.Tensor | None, ...] | None = None, group: ProcessGroup | None = None,
        dw_builder: Callable[..., Any] | None = None, get_mesh: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(submodule, stage_index, num_stages, device, group, dw_builder)
        if get_mesh is not None:
            raise NotImplementedError("mstorch: torch.distributed.pipelining sends no DTensor between stages (get_mesh)")
        self._expected_inputs, self._expected_outputs = metas(normalized(input_args)), metas(normalized(output_args))
        normalized(input_grads, allow_none=True)
        normalized(output_grads, allow_none=True)
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget the metadata of the exchanged tensors; the next microbatch sets it again."""
        self.inputs: tuple[Any, ...] | None = None
        self.outputs: tuple[Any, ...] | None = None

    def expect(self, inputs: tuple[Any, ...]) -> None:
        """Set the metadata of the inputs, as the previous stage sent it."""
        warn_of(f"Stage {self.stage_index} input", self._expected_inputs, inputs)
        self.inputs = inputs

    def _wanted(self, known: tuple[Any, ...] | None) -> list[int]:
        """Return the indices of the tensors that receive gradients from another stage."""
        return [number for number, one in enumerate(known or ()) if one.requires_grad] if self.has_backward else []

    def input_gradients(self) -> list[int]:
        """Return the indices of the inputs whose gradients are sent to the previous stage."""
        return self._wanted(self.inputs)

    def output_gradients(self) -> list[int]:
        """Return the indices of the outputs whose gradients the next stage sends."""
        return self._wanted(self.outputs)

    def receive(self, number: int, tensors: Sequence[torch.Tensor]) -> None:
        """Store the inputs that the previous stage sent for a microbatch."""
        self.activations[number] = tuple(tensors)

    def receive_gradients(self, number: int, tensors: Sequence[torch.Tensor]) -> None:
        """Store the gradients that the next stage sent for a microbatch."""
        self.gradients[number] = tuple(tensors)

    def _arguments(self, number: int, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.is_first:
            if self.inputs is None:
                self.expect(metas(normalized(args)))
            return args
        came = self.activations.pop(number)
        wanted = self.input_gradients() if torch.is_grad_enabled() else []
        return tuple(one.detach().requires_grad_(place in wanted) for place, one in enumerate(came))

    def forward_one_chunk(
        self, fwd_chunk_id: int, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, save_forward_output: bool = True
    ) -> Any:
        """Run the stage on a microbatch. ``args`` are used by the first stage only, ``kwargs`` by all stages."""
        named = kwargs or {}
        given = self._arguments(fwd_chunk_id, args)
        foretold = self._expected_inputs is not None and self._expected_outputs is not None
        try:
            output = self.submod(*given, **named)
        except Exception as error:
            if self.outputs is None and not foretold:
                raise
            raise RuntimeError(
                f"\n            {self.log_prefix} failed to run forward:\n            args: {_with_shapes(given)}\n"
                f"            kwargs: {_with_shapes(named)}\n            "
            ) from error
        self._check_outputs(output, foretold)
        if self.is_last and save_forward_output:
            self.output_chunks.append(output)
        if self.has_backward:
            self.fwd_cache[fwd_chunk_id] = (as_tuple(output), given)
        return output

    def _check_outputs(self, output: torch.Tensor | tuple[Any, ...], foretold: bool) -> None:
        """Check that the outputs match those of the first microbatch, as the next stage expects."""
        if self.is_last and foretold:
            return
        outputs = metas(normalized(output))
        if outputs is None:
            raise PipeliningMetadataError(f"Stage {self.stage_index}: output metadata is required for forward inference.")
        if self.outputs is None:
            warn_of(f"Stage {self.stage_index} output", self._expected_outputs, outputs)
            self.outputs = outputs
        elif not self.is_last:
            for place, text in differences(f"Stage {self.stage_index} forward outputs", self.outputs, outputs):
                raise PipeliningMetadataError(f"{place}: {text}")

    def backward_one_chunk(self, bwd_chunk_id: int, loss: Any = None) -> tuple[Any, ...]:
        """Run the backward of a microbatch: gradients of parameters accumulate, gradients of inputs are returned."""
        outputs, inputs = self.fwd_cache.pop(bwd_chunk_id)
        if self.is_last:
            output, gradients, pairs = loss, None, [(loss, None)]
        else:
            came = dict(zip(self.output_gradients(), self.gradients.pop(bwd_chunk_id)))
            output, gradients = outputs, tuple(came.get(place) for place in range(len(outputs)))
            pairs = list(zip(outputs, gradients))
        pairs = [(one, gradient) for one, gradient in pairs if one.requires_grad]
        try:
            torch.autograd.backward([one for one, _ in pairs], grad_tensors=[gradient for _, gradient in pairs])
        except Exception as error:
            raise RuntimeError(
                f"\n        Failed to run stage backward:\n        Stage output: {_with_shapes(output)}\n"
                f"        Output gradient: {_with_shapes(gradients)}\n        Input: {_with_shapes(list(inputs))}\n        "
            ) from error
        if self.is_last and not self.is_first:
            for one in outputs:
                if not one._is_view():
                    one.detach_()
        if self.is_first:
            return ()
        found = []
        for place in self.input_gradients():
            gradient, inputs[place].grad = inputs[place].grad, None
            found.append(torch.zeros_like(inputs[place]) if gradient is None else gradient)
        return tuple(found)


__all__ = ["PipelineStage"]

__getattr__ = _missing(__name__, ())
