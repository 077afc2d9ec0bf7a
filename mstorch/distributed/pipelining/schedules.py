"""Schedules: the order in which ranks run forwards and backwards of microbatches."""
from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import mstorch as torch

from ..._src.hook import missing as _missing
from ..._src.unbuilt import UnbuiltClass
from ...nn.modules.loss import _Loss
from . import _actions
from ._actions import FORWARD, FULL_BACKWARD, REDUCE_GRAD, _Action, _ComputationType
from ._run import Run
from ._utils import PipeliningMetadataError, generate_stage_to_rank_mapping
from .microbatch import TensorChunkSpec, _split_tensor, merge_chunks, split_args_kwargs_into_chunks
from .stage import PipelineStage, _PipelineStageBase

_ALONG_THE_BATCH = TensorChunkSpec(0)


def _check_list(microbatches: Sequence[Any], name: str, number: int) -> None:
    if not isinstance(microbatches, list):
        raise TypeError(f"{name} must be a list but got a {type(microbatches)}")
    if len(microbatches) != number:
        raise ValueError(f"Expecting {number} {name} but got {len(microbatches)}")


class _PipelineSchedule(ABC):
    """Base of all schedules: a batch is split, sent through the stages, and merged."""

    def __init__(
        self, n_microbatches: int, loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
        kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
        output_merge_spec: dict[str, Any] | tuple[Any] | None = None, scale_grads: bool = True,
    ) -> None:  # fmt: skip
        self._n_microbatches = n_microbatches
        self._loss_fn = loss_fn
        self.scale_grads = scale_grads
        self._args_chunk_spec, self._kwargs_chunk_spec = args_chunk_spec, kwargs_chunk_spec
        self._output_merge_spec = output_merge_spec
        self._has_backward = loss_fn is not None
        self._internal_losses: list[Any] = []
        self._known_for: bool | None = None
        """The kind of step for which stages know each other's tensor metadata: with backward (True), without (False), none yet (None)."""

    @abstractmethod
    def _local_stages(self) -> list[PipelineStage]:
        """Return the local stages."""

    @abstractmethod
    def _orders(self) -> dict[int, list[_Action | None]]:
        """Return the ordered actions of each rank."""

    def step(
        self, *args: Any, target: torch.Tensor | None = None, losses: list[Any] | None = None, return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Run a batch forward through the pipeline and, with a loss function, backward.

        ``args`` are passed on the first stage's rank, ``target`` on the last one's, which gets the outputs and, in ``losses``, the loss of
        each microbatch.
        """
        self._check_gradients()
        for stage in self._local_stages():
            stage.has_backward = self._has_backward
            stage.chunks = self._n_microbatches
            stage.clear_runtime_states()
        args_split, kwargs_split = self._split_inputs(args, kwargs)
        targets = None if target is None else list(_split_tensor(target, _ALONG_THE_BATCH, self._n_microbatches))
        self._step_microbatches(args_split, kwargs_split, targets, losses, return_outputs, loss_kwargs=loss_kwargs)
        for stage in self._local_stages():
            if stage.is_last and return_outputs:
                return self._merge_outputs(stage.output_chunks)
        return None

    def eval(self, *args: Any, target: torch.Tensor | None = None, losses: list[Any] | None = None, **kwargs: Any) -> Any:
        """Run a batch forward through the pipeline, without gradients."""
        before = self._has_backward
        try:
            self._has_backward = False
            return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            self._has_backward = before

    def _check_gradients(self) -> None:
        if self._has_backward and not torch.is_grad_enabled():
            raise RuntimeError(
                "step() requires gradients to be enabled for backward computation; it should not be used under torch.no_grad() context. "
                "Please call eval() instead."
            )

    def _check_inputs(
        self, arg_mbs: Sequence[Any] | None = None, kwarg_mbs: list[Any] | None = None, target_mbs: list[Any] | None = None,
        losses: list[Any] | None = None
    ) -> tuple[Any, Any]:
        """Check the lists of microbatches and return them, with empty ones for those that are None."""
        number = self._n_microbatches
        for given, name in ((arg_mbs, "arg_mbs"), (kwarg_mbs, "kwarg_mbs"), (target_mbs, "target_mbs")):
            if given is not None:
                _check_list(given, name, number)
        if losses is not None and not isinstance(losses, list):
            raise TypeError(f"losses must be a list but got a {type(losses)}")
        return [()] * number if arg_mbs is None else arg_mbs, [{}] * number if kwarg_mbs is None else kwarg_mbs

    def _step_microbatches(
        self, arg_mbs: Sequence[Any] | None = None, kwarg_mbs: list[Any] | None = None, target_mbs: Any = None,
        losses: list[Any] | None = None, return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Run microbatches through the pipeline."""
        arg_mbs, kwarg_mbs = self._check_inputs(arg_mbs, kwarg_mbs, target_mbs, losses)
        stages, backward = self._local_stages(), self._has_backward
        orders, peers = self._orders(), self._peers()
        if self._known_for != backward:
            for stage in stages:
                stage.begin_anew()
                if stage.is_last and backward and target_mbs is None:
                    raise PipeliningMetadataError(f"Stage {stage.stage_index}: loss_fn and target required for last stage")
            self._known_for = backward
        left = {stage.stage_index: self._n_microbatches for stage in stages}

        def forwards(stage: PipelineStage, number: int) -> Any:
            output = stage.forward_one_chunk(number, arg_mbs[number], kwarg_mbs[number], save_forward_output=return_outputs)
            if stage.is_last and self._loss_fn is not None:
                self._internal_losses.append(self._compute_loss(output, target_mbs[number], loss_kwargs))
            return output

        def backwards(stage: PipelineStage, number: int) -> tuple[Any, ...]:
            found = stage.backward_one_chunk(number, self._loss_of(stage, number))
            left[stage.stage_index] -= 1
            if not left[stage.stage_index]:
                stage.scale_grads(self._n_microbatches if self.scale_grads else 1)
            return found

        mine = {stage.stage_index: stage for stage in stages}
        try:
            Run(mine, stages[0].group_rank, peers, forwards, backwards).go(_actions.aligned(orders, stages[0].num_stages - 1, backward))
        except BaseException:
            self._internal_losses.clear()
            self._known_for = None
            raise
        self._update_losses(stages, losses)

    def _peers(self) -> dict[int, int]:
        """Return a dict from stage to rank. Raise RuntimeError unless this rank's stages are in it."""
        found: dict[int, int] = {}
        for rank, order in self._orders().items():
            for action in order:
                if action is None:
                    continue
                if action.computation_type not in (FORWARD, FULL_BACKWARD, REDUCE_GRAD):
                    raise NotImplementedError(f"mstorch: torch.distributed.pipelining has no {action.computation_type.value} ({action})")
                found[action.stage_index] = rank
        stages = self._local_stages()
        have = sorted(stage.stage_index for stage in stages)
        due = sorted(stage for stage, rank in found.items() if rank == stages[0].group_rank)
        if have != due:
            raise RuntimeError(f"process {stages[0].group_rank} of the group computes stages {due} in this schedule, and was given {have}")
        return found

    def _loss_of(self, stage: PipelineStage, number: int) -> torch.Tensor | None:
        if not stage.is_last:
            return None
        if number >= len(self._internal_losses):
            raise RuntimeError(
                f"Loss for microbatch {number} is not available. Available losses for microbatches: {self._internal_losses}"
            )
        return self._internal_losses[number]

    def _update_losses(self, stages: list[PipelineStage], losses: Any) -> None:
        """Copy the losses of a step to the caller's list."""
        several = stages if isinstance(stages, list) else [stages]
        if losses is not None and any(stage.is_last for stage in several):
            if len(self._internal_losses) != self._n_microbatches:
                raise RuntimeError(f"Expecting {self._n_microbatches} losses but got {len(self._internal_losses)}")
            losses[:] = self._internal_losses
        self._internal_losses.clear()

    def _compute_loss(self, output: torch.Tensor, target: torch.Tensor, loss_kwargs: dict[str, Any] | None = None) -> Any:
        return self._loss_fn(output, target, **(loss_kwargs or {}))

    def _split_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> tuple[list[Any], list[Any]]:
        if not args and not kwargs:
            return [()] * self._n_microbatches, [{}] * self._n_microbatches
        return split_args_kwargs_into_chunks(args, kwargs, self._n_microbatches, self._args_chunk_spec, self._kwargs_chunk_spec)

    def _merge_outputs(self, output_chunks: list[Any]) -> torch.Tensor:
        return merge_chunks(output_chunks, self._output_merge_spec)


class PipelineScheduleSingle(_PipelineSchedule):
    """Schedules with one stage per rank.

    With ``scale_grads``, gradients are divided by the number of microbatches: right for a mean loss, not for a sum.
    """

    def __init__(
        self, stage: Any, n_microbatches: int, loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
        kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
        output_merge_spec: dict[str, Any] | tuple[Any] | None = None, scale_grads: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads)
        self._stage = stage
        self._num_stages = stage.num_stages
        self.pipeline_order = self._get_pipeline_order()

    def _get_pipeline_order(self) -> dict[int, list[_Action | None]] | None:
        return None

    def _local_stages(self) -> list[PipelineStage]:
        return [self._stage]

    def _orders(self) -> dict[int, list[_Action | None]]:
        if self.pipeline_order is None:
            raise NotImplementedError(f"{type(self).__name__} tells no order")
        return self.pipeline_order


class _ScheduleForwardOnly(PipelineScheduleSingle):
    """A schedule of forwards only."""

    def _get_pipeline_order(self) -> dict[int, list[_Action | None]]:
        return {rank: [_Action(rank, FORWARD, number) for number in range(self._n_microbatches)] for rank in range(self._num_stages)}

    def _step_microbatches(
        self, arg_mbs: list[Any] | None = None, kwarg_mbs: list[Any] | None = None, target_mbs: list[Any] | None = None,
        losses: list[Any] | None = None, return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        if target_mbs is not None or losses is not None:
            raise RuntimeError("Forward-only schedule does not support loss computation")
        super()._step_microbatches(arg_mbs, kwarg_mbs, target_mbs, losses, return_outputs, loss_kwargs)


class ScheduleGPipe(PipelineScheduleSingle):
    """GPipe: all forwards, then all backwards."""

    def _get_pipeline_order(self) -> dict[int, list[_Action | None]]:
        return {rank: _actions.gpipe(rank, self._n_microbatches) for rank in range(self._num_stages)}


class Schedule1F1B(PipelineScheduleSingle):
    """1F1B: once the pipeline is full, a forward and a backward alternate."""

    def __init__(
        self, stage: _PipelineStageBase, n_microbatches: int, loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None, kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
        output_merge_spec: dict[str, Any] | tuple[Any] | None = None, scale_grads: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(stage, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads)
        if n_microbatches < self._num_stages:
            raise ValueError(
                f"Number of microbatches ({n_microbatches}) must be greater than or equal to the number of stages ({self._num_stages})."
            )

    def _get_pipeline_order(self) -> dict[int, list[_Action | None]]:
        size = self._num_stages
        return {rank: _actions.one_forward_one_backward(rank, size, self._n_microbatches) for rank in range(size)}


class PipelineScheduleMulti(_PipelineSchedule):
    """Schedules with several stages per rank; ``pipeline_order`` lists the actions of each rank.

    With ``scale_grads``, gradients are divided by the number of microbatches: right for a mean loss, not for a sum.
    """

    def __init__(
        self, stages: list[Any], n_microbatches: int, loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None, kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
        output_merge_spec: dict[str, Any] | tuple[Any] | None = None, use_full_backward: bool | None = None, scale_grads: bool = True,
        backward_requires_autograd: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads)
        self._stages = stages
        self._num_stages = stages[0].num_stages
        self.pp_group_size, self.rank = stages[0].group_size, stages[0].group_rank
        self.stage_index_to_group_rank = generate_stage_to_rank_mapping(self.pp_group_size, self._num_stages)
        self._backward_requires_autograd = backward_requires_autograd
        self.pipeline_order: dict[int, list[_Action | None]] = {}

    def _local_stages(self) -> list[PipelineStage]:
        return list(self._stages)

    def _orders(self) -> dict[int, list[_Action | None]]:
        return self.pipeline_order

    def _check_gradients(self) -> None:
        if self._backward_requires_autograd:
            super()._check_gradients()


class _PipelineScheduleRuntime(PipelineScheduleMulti):
    """Schedules whose order is known when they are created.

    ``defer_pp_recv`` has no effect: receive buffers are allocated in the time slot of the send.
    """

    def __init__(self, *args: Any, defer_pp_recv: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    def _prepare_schedule_with_comms(self, actions: dict[int, list[_Action | None]], format: str = "compute_only") -> None:
        """Set the order of actions. Raise AssertionError if the ranks would deadlock."""
        if format != "compute_only":
            raise NotImplementedError(f"format={format!r} is not implemented")
        _actions.aligned(actions, self._num_stages - 1, True)
        self.pipeline_order = actions


class ScheduleLoopedBFS(_PipelineScheduleRuntime):
    """Looped breadth-first: all microbatches through one local stage, then through the next."""

    def __init__(
        self, stages: list[Any], n_microbatches: int, loss_fn: _Loss | Callable[..., Any] | None = None,
        output_merge_spec: dict[str, Any] | tuple[Any] | None = None, scale_grads: bool = True,
        backward_requires_autograd: bool = True, defer_pp_recv: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            stages, n_microbatches, loss_fn, output_merge_spec=output_merge_spec, scale_grads=scale_grads,
            backward_requires_autograd=backward_requires_autograd, defer_pp_recv=defer_pp_recv,
        )  # fmt: skip
        size, local = self.pp_group_size, len(stages)
        self._prepare_schedule_with_comms({rank: _actions.breadth_first(rank, size, local, n_microbatches) for rank in range(size)})


class ScheduleInterleaved1F1B(_PipelineScheduleRuntime):
    """Interleaved 1F1B: microbatches go in rounds through all local stages; after the warm-up, a forward and a backward alternate."""

    def __init__(
        self, stages: list[Any], n_microbatches: int, loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None, kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
        output_merge_spec: dict[str, Any] | tuple[Any] | None = None, scale_grads: bool = True, backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads=scale_grads,
            backward_requires_autograd=backward_requires_autograd, defer_pp_recv=defer_pp_recv,
        )  # fmt: skip
        size = self.pp_group_size
        self.n_local_stages = len(stages)
        self.number_of_rounds = max(1, n_microbatches // size)
        self.microbatches_per_round = n_microbatches // self.number_of_rounds
        if n_microbatches % self.number_of_rounds:
            raise ValueError(
                f"Interleaved 1F1B requires the number of microbatches to be a multiple of the number of rounds ({self.number_of_rounds}), "
                f"but got {n_microbatches}."
            )
        self._prepare_schedule_with_comms({
            rank: _actions.interleaved(rank, size, self.n_local_stages, n_microbatches, self.microbatches_per_round) for rank in range(size)
        })


_NAMES = (
    "1F1B", "Interleaved1F1B", "GPipe", "LoopedBFS", "InterleavedZeroBubble", "PipelineScheduleSingle", "PipelineScheduleMulti",
    "ZBVZeroBubble", "DualPipeV",
)  # fmt: skip


def get_schedule_class(schedule_name: str) -> UnbuiltClass | type[Any]:
    """Return the schedule class of a name, ignoring case. Raise ValueError for an unknown one."""
    found = next((name for name in _NAMES if name.lower() == schedule_name.lower()), None)
    if found is None:
        raise ValueError(f"Unknown schedule name '{schedule_name}'. The valid options are {list(_NAMES)}")
    whole = found if found.startswith("Pipeline") else f"Schedule{found}"
    return getattr(sys.modules[__name__], whole)


__all__ = [
    "PipelineScheduleMulti", "PipelineScheduleSingle", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleLoopedBFS",
    "_ComputationType", "get_schedule_class",
]  # fmt: skip

__getattr__ = _missing(__name__, ())
