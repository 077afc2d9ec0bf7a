"""PowerSGD: communicates gradient matrices as low-rank factors (https://arxiv.org/abs/1905.13727)."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import mstorch as torch

from ....futures import Future
from ..._group import ProcessGroup
from ..._reducer import GradBucket
from ..._world import chosen
from . import default_hooks


def _orthogonalize(matrices: torch.Tensor, epsilon: float = 0) -> None:
    """Make the columns of each matrix orthonormal, in place."""
    rank = matrices.shape[2]
    if rank > 2 and matrices.dtype not in (torch.float16, torch.bfloat16):
        matrices.copy_(torch.linalg.qr(matrices)[0])
        return
    for place in range(rank):
        column, rest = matrices[:, :, place : place + 1], matrices[:, :, place + 1 :]
        column /= torch.norm(column, dim=1, keepdim=True) + epsilon
        if rest.shape[2]:
            rest -= torch.sum(column * rest, dim=1, keepdim=True) * column


class PowerSGDState:
    """Settings and buffers of ``powerSGD_hook``. Raises ValueError for a start before iteration 3 with error feedback or warm start."""

    def __init__(
        self, process_group: ProcessGroup | None, matrix_approximation_rank: int = 1, start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True, warm_start: bool = True, orthogonalization_epsilon: float = 0, random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000, batch_tensors_with_same_shape: bool = False,
    ) -> None:  # fmt: skip
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD can only be applied "
                "after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank, self.start_powerSGD_iter = matrix_approximation_rank, start_powerSGD_iter
        self.min_compression_rate, self.use_error_feedback, self.warm_start = min_compression_rate, use_error_feedback, warm_start
        self.orthogonalization_epsilon, self.batch_tensors_with_same_shape = orthogonalization_epsilon, batch_tensors_with_same_shape
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, Any] = {}
        self.p_memory_dict: dict[int, Any] = {}
        self.q_memory_dict: dict[int, Any] = {}
        self.iter = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.next_stats_report = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = chosen(None)
        vars(self).update(state)

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count an iteration at its last bucket."""
        if bucket.is_last():
            self.iter += 1

    def compression_stats(self) -> tuple[float, int, int]:
        """Return (compression rate, number of elements before compression, number after)."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after > 0 else 0), before, after

    def _counted(self, before: int, after: int) -> None:
        self.total_numel_before_compression += before
        self.total_numel_after_compression += after

    def _with_error(self, key: int, flat: torch.Tensor) -> torch.Tensor | None:
        """Add the error of the last approximation to the gradients; return a copy of the sum, None without error feedback."""
        if not self.use_error_feedback:
            return None
        if key in self.error_dict:
            flat.add_(self.error_dict[key])
        return flat.detach().clone()

    def _finish(self, bucket: GradBucket, key: int, wanted: torch.Tensor | None, flat: torch.Tensor) -> None:
        if wanted is not None:
            self.error_dict[key] = wanted - flat
        if not self.warm_start:
            self.p_memory_dict.clear()
            self.q_memory_dict.clear()
        self.maybe_increase_iter(bucket)

    def _fill(self, matrices: list[Any]) -> None:
        """Fill matrices with random numbers that are equal on all ranks and new in each iteration."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.rng.randint(1_000_000_000))
            for one in matrices:
                one.copy_(torch.randn(*one.shape, dtype=one.dtype, device="cpu"))
                _orthogonalize(one, self.orthogonalization_epsilon)


def _total(group: ProcessGroup, tensor: torch.Tensor) -> None:
    group.allreduce([tensor]).wait()


def _future(value: torch.Tensor) -> Any:
    done: Future[Any] = Future()
    done.set_result(value)
    return done


def _windows(memory: torch.Tensor, matrices: list[Any], dim: int, rank: int) -> list[Any]:
    """Return views of a flat tensor as the low-rank factors of the matrices, back to back."""
    found, start = [], 0
    for one in matrices:
        width = min(*one.shape[1:], rank)
        size = one.shape[0] * one.shape[dim] * width
        found.append(memory[start : start + size].view(one.shape[0], one.shape[dim], width))
        start += size
    return found


def _stacked(state: PowerSGDState, matrices: list[Any]) -> list[list[Any]]:
    """Return batches of matrices that are approximated together."""
    shapes: dict[Any, list[Any]] = {}
    for one in matrices:
        shapes.setdefault(one.shape, []).append(one)
    if state.batch_tensors_with_same_shape:
        return list(shapes.values())
    return [[one] for same in shapes.values() for one in same]


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Any:
    """Return a future of the bucket's mean, each matrix approximated by low-rank factors; exact before the start iteration."""
    group, flat = chosen(state.process_group), bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(group, bucket)
    key, rank = bucket.index(), state.matrix_approximation_rank
    wanted = state._with_error(key, flat)
    matrices: list[Any] = []
    rest: list[Any] = []
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0], -1)
        rows, columns = matrix.shape
        thin = (rows + columns) * min(rows, columns, rank)
        worth = thin * state.min_compression_rate < matrix.numel()
        (matrices if worth else rest).append(matrix if worth else gradient)
        state._counted(matrix.numel(), thin if worth else matrix.numel())
    groups = _stacked(state, matrices)
    stacks = [torch.stack(same) if len(same) > 1 else same[0].unsqueeze(0) for same in groups]
    fresh = not state.warm_start or key not in state.p_memory_dict
    if fresh:
        sizes = [sum(one.shape[0] * one.shape[dim] * min(*one.shape[1:], rank) for one in stacks) for dim in (1, 2)]
        state.p_memory_dict[key], state.q_memory_dict[key] = (flat.new_empty(size) for size in sizes)
    p_memory, q_memory = state.p_memory_dict[key], state.q_memory_dict[key]
    lefts, rights = _windows(p_memory, stacks, 1, rank), _windows(q_memory, stacks, 2, rank)
    if fresh:
        state._fill(rights)
    else:
        for right in rights:
            _orthogonalize(right, state.orthogonalization_epsilon)
    for stack, left, right in zip(stacks, lefts, rights):
        left.copy_(torch.bmm(stack, right))
    if rest:
        plain = torch.cat([one.reshape(-1) for one in rest])
        _total(group, plain)
        for one, part in zip(rest, plain.div_(group.size()).split([one.numel() for one in rest])):
            one.copy_(part.view_as(one))
    _total(group, p_memory)
    for stack, left, right in zip(stacks, lefts, rights):
        _orthogonalize(left, state.orthogonalization_epsilon)
        right.copy_(torch.bmm(stack.transpose(1, 2), left))
    _total(group, q_memory)
    q_memory.div_(group.size())
    for same, left, right in zip(groups, lefts, rights):
        for one, product in zip(same, torch.bmm(left, right.transpose(1, 2))):
            one.copy_(product)
    state._finish(bucket, key, wanted, flat)
    return _future(flat)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Any:
    """Return a future of the bucket's mean, the whole bucket approximated as one square matrix by low-rank factors."""
    group, flat = chosen(state.process_group), bucket.buffer()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(group, bucket)
    key, rank, length = bucket.index(), state.matrix_approximation_rank, flat.numel()
    side = math.ceil(math.sqrt(length))
    state._counted(length, side * rank * 2)
    padded = torch.cat([flat, flat.new_zeros(side * side - length)])
    wanted = state._with_error(key, padded)
    square = padded.view(side, side)
    if not state.warm_start or key not in state.p_memory_dict:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(state.rng.randint(1_000_000_000))
            state.q_memory_dict[key] = torch.randn(side, rank, dtype=flat.dtype, device="cpu").to(flat.device)
    right = state.q_memory_dict[key]
    _orthogonalize(right[None])
    left = state.p_memory_dict[key] = square @ right
    _total(group, left)
    _orthogonalize(left[None])
    right = state.q_memory_dict[key] = square.t() @ left
    _total(group, right)
    right.div_(group.size())
    square.copy_(left @ right.t())
    flat.copy_(padded[:length])
    state._finish(bucket, key, wanted, padded)
    return _future(flat)


__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]
