"""One pipeline step on one rank: it computes, and exchanges with its neighbours one batch of tensors per time slot."""
from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

import mstorch as torch

from .. import distributed_c10d as dist
from .._group import by_the_host
from ._actions import FORWARD, _Action
from ._utils import _TensorMeta
from .stage import PipelineStage, as_tuple

_BEHIND = 2
"""Maximum number of batches in flight; more would only keep sent tensors alive. A process waits only for batches that it has started."""


class _Batch:
    """Sends and receives started as one batch; their tensors are kept alive until all have completed."""

    def __init__(self, operations: list[Any]) -> None:
        self._operations = operations
        self._works = dist.batch_isend_irecv(operations) if operations else []

    def wait(self) -> None:
        """Wait for all operations, and release the tensors."""
        while self._works:
            self._works.pop().wait()
        self._operations.clear()


def _buffer(known: _TensorMeta, device: torch.device) -> torch.Tensor:
    return torch.empty(known.shape, dtype=known.dtype, device=device)


def _laid_out(tensor: torch.Tensor, known: _TensorMeta) -> torch.Tensor:
    """Return a received contiguous tensor with the strides that it had at the sender."""
    if tensor.stride() == known.stride:
        return tensor
    return torch.empty_strided(known.shape, known.stride, dtype=known.dtype, device=tensor.device).copy_(tensor)


class Run:
    """One pipeline step. ``peers`` maps stages to ranks; ``forward`` and ``backward`` compute a stage on a microbatch."""

    def __init__(
        self, stages: dict[int, PipelineStage], rank: int, peers: dict[int, int], forward: Callable[..., Any], backward: Callable[..., Any]
    ) -> None:
        self._stages, self._rank, self._peers = stages, rank, peers
        self._forward, self._backward = forward, backward
        self._any = next(iter(stages.values()))
        self._group = self._any.group
        self._coming: dict[tuple[Any, ...], tuple[_Batch, Callable[[], None]]] = {}
        self._begun: deque[_Batch] = deque()
        self._told: list[Any] = []
        self._knew = {index: stage.outputs is not None for index, stage in stages.items()}
        """For each stage, True once its output metadata has been sent to the next stage."""

    def go(self, times: list[dict[int, _Action]]) -> None:
        """Run this rank's actions, and wait until all that it sent has been read."""
        for now in times:
            operations: list[Any] = []
            mine = now.get(self._rank)
            if mine is not None:
                operations += self._compute(mine)
            arrivals = [one for rank, action in sorted(now.items()) if rank != self._rank for one in self._arrivals(action)]
            for _, buffers, peer, _ in arrivals:
                operations += [self._operation(dist.irecv, one, peer) for one in buffers]
            batch = _Batch(operations)
            self._begun.append(batch)
            while len(self._begun) > _BEHIND:
                self._begun.popleft().wait()
            for key, _, _, then in arrivals:
                self._coming[key] = (batch, then)
        for batch in self._begun:
            batch.wait()
        for work in self._told:
            work.wait()

    def _operation(self, kind: Callable[..., Any], tensor: torch.Tensor, peer: int) -> Any:
        return dist.P2POp(kind, tensor, group=self._group, group_peer=peer)

    def _compute(self, action: _Action) -> list[Any]:
        """Compute an action; pass its output to a stage on this rank, or return the tensors to send."""
        index, kind, number, _ = action
        stage = self._stages[index]
        waited = self._coming.pop((index, kind, number), None)
        if waited is not None:
            waited[0].wait()
            waited[1]()
        if kind is FORWARD:
            tensors = as_tuple(self._forward(stage, number))
            target = index + 1
        else:
            tensors = self._backward(stage, number)
            target = index - 1
        if not 0 <= target < stage.num_stages:
            return []
        peer = self._peers[target]
        if peer == self._rank:
            self._hand_over(stage, self._stages[target], kind is FORWARD, number, tensors)
            return []
        if kind is FORWARD and not self._knew[index]:
            self._knew[index] = True
            self._send_metadata(stage.outputs, peer)
        return [self._operation(dist.isend, one.detach().contiguous(), peer) for one in tensors]

    def _hand_over(self, stage: PipelineStage, target: PipelineStage, forward: bool, number: Any, tensors: tuple[Any, ...]) -> None:
        if not forward:
            target.receive_gradients(number, tensors)
            return
        if target.inputs is None:
            assert stage.outputs is not None
            target.expect(stage.outputs)
        target.receive(number, tensors)

    def _arrivals(self, action: _Action) -> list[tuple[Any, ...]]:
        """Return a list with the receive that another rank's action requires, or an empty list. A receive is a tuple (key, buffers,
        sender's rank, function to call on arrival)."""
        index, kind, number, _ = action
        target = index + 1 if kind is FORWARD else index - 1
        stage = self._stages.get(target)
        if stage is None:
            return []
        peer = self._peers[index]
        if kind is FORWARD:
            if stage.inputs is None:
                stage.expect(self._receive_metadata(peer))
            known: Any = stage.inputs
        else:
            known = [stage.outputs[place] for place in stage.output_gradients()]  # type: ignore[index]
        buffers = [_buffer(one, stage.device) for one in known]
        take: Callable[..., None] = stage.receive if kind is FORWARD else stage.receive_gradients

        def then() -> None:
            take(number, [_laid_out(one, of) for one, of in zip(buffers, known)])

        return [((target, kind, number), buffers, peer, then)]

    @by_the_host
    def _send_metadata(self, known: tuple[_TensorMeta, ...], peer: int) -> None:
        """Start to send the metadata of a stage's outputs."""
        data = torch.from_numpy(np.frombuffer(bytearray(pickle.dumps(known)), np.uint8))
        size = torch.tensor([data.numel()], dtype=torch.int64, device="cpu")
        for one in (size, data):
            self._told.append(dist.isend(one, group=self._group, group_dst=peer))

    @by_the_host
    def _receive_metadata(self, peer: int) -> tuple[_TensorMeta, ...]:
        size = torch.zeros(1, dtype=torch.int64, device="cpu")
        dist.recv(size, group=self._group, group_src=peer)
        data = torch.empty(int(size), dtype=torch.uint8, device="cpu")
        dist.recv(data, group=self._group, group_src=peer)
        return pickle.loads(data.numpy().tobytes())
