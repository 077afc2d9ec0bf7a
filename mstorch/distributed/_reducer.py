"""Averaging of a module's gradients over ranks, in buckets, while backward runs."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import mstorch as torch

from .._src.backend.arrays import Array
from .._src.core.tensor_base import is_tracked, window
from .._src.ops.memory.together import can_be_laid_out, laid_out, put_back
from .._src.tape.node import Accumulate, edge_of
from .._src.tape.passes import next_callback
from ..futures import Future, deferred
from ._group import ProcessGroup, by_the_host
from ._types import ReduceOp

FIRST_BUCKET_BYTES = 1024 * 1024

_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module "
    "has parameters that were not used in producing loss. You can enable unused parameter detection by passing the keyword argument "
    "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \n"
    "making sure all `forward` function outputs participate in calculating loss. \n"
    "Parameters (by their place) without a gradient on rank {}: {}"
)
_TWICE = (
    "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a module parameter "
    "outside the `forward` function. 2) Reused parameters in multiple reentrant backward passes."
)


class GradBucket:
    """A bucket of gradients, as communication hooks receive it."""

    def __init__(self, index: int, parameters: Sequence[Any]) -> None:
        self._index, self._parameters = index, list(parameters)
        self._last = False
        self._whole: torch.Tensor | None = None
        self._parts: list[Any] = []
        self.expect()

    @property
    def _buffer(self) -> torch.Tensor:
        """The flat tensor of all gradients, which gradients that a device joins do without."""
        if self._whole is None:
            first = self._parameters[0]
            self.set_buffer(torch.zeros(sum(one.numel() for one in self._parameters), dtype=first.dtype, device=first.device))
            assert self._whole is not None
        return self._whole

    @property
    def _views(self) -> list[Any]:
        self.buffer()  # makes it
        return self._parts

    def expect(self) -> None:
        """Begin to wait for the gradients of a backward."""
        self.pending = len(self._parameters)
        self.launched: Any = None
        self.arrived: list[Any] = [None] * self.pending
        self.joined: Any = None

    def join(self) -> bool:
        """Join a device's gradients by one kernel, in the buffer's order, so that none is copied into the buffer and out of it; copy
        them into the buffer if that is not possible. Return whether they were joined."""
        if all(grad is not None for grad in self.arrived) and can_be_laid_out(self.arrived):
            self.joined = laid_out(self.arrived, 1)
            return True
        for number, grad in enumerate(self.arrived):
            if grad is not None:
                self._views[number].copy_(grad.detach())
        self.arrived = [None] * len(self._parameters)
        return False

    def _cut(self, buffer: torch.Tensor) -> list[Any]:
        views, start = [], 0
        for one in self._parameters:
            views.append(_window(buffer, start, one))
            start += one.numel()
        return views

    def index(self) -> int:
        """Return the bucket's index; bucket 0 is reduced first."""
        return self._index

    def buffer(self) -> torch.Tensor:
        """Return the flat tensor of all gradients."""
        return self._buffer

    def set_buffer(self, buffer: torch.Tensor) -> None:
        """Replace the flat tensor of the gradients."""
        self._whole, self._parts = buffer, self._cut(buffer)

    def gradients(self) -> list[Any]:
        """Return the gradients as views of the buffer."""
        return list(self._views)

    def parameters(self) -> list[Any]:
        """Return the parameters of the bucket's gradients."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Return whether this is the last bucket."""
        return self._last


def _window(buffer: torch.Tensor, start: int, like: torch.Tensor) -> torch.Tensor:
    """Return a slice of a flat tensor with a parameter's shape and strides, as a tensor that autograd does not regard as a view."""
    return window(buffer._ms_storage, buffer._ms_dtype, like.shape, torch.empty_like(like).stride(), start)


def divided(sizes: Sequence[tuple[Any, int]], limits: Sequence[int]) -> list[list[int]]:
    """Divide tensors, given as (dtype, bytes), into buckets of one dtype, each filled up to a byte limit; the last of the limits applies to
    all further buckets. Returns lists of indices.
    """
    done: list[list[int]] = []
    filling: dict[Any, tuple[list[int], int, int]] = {}
    for place, (kind, size) in enumerate(sizes):
        members, filled, step = filling.get(kind, ([], 0, 0))
        members.append(place)
        filled += size
        if filled >= limits[min(step, len(limits) - 1)]:
            done.append(members)
            filling[kind] = ([], 0, step + 1)
        else:
            filling[kind] = (members, filled, step)
    done += [members for members, _, _ in filling.values() if members]
    return sorted(done, key=min)


class Reducer:
    """Averages gradients over the ranks as they arrive: buckets are reduced in order, as soon as they are full, in the group's thread.

    With ``static``, every backward is assumed to use the parameters of the first. With ``find_unused``, the graph is searched from the
    outputs for the parameters that are used.
    """

    def __init__(
        self, parameters: Sequence[Any], group: ProcessGroup, first_bytes: int, bucket_bytes: Sequence[int], find_unused: bool,
        as_view: bool,
        static: bool,
    ) -> None:  # fmt: skip
        self.parameters, self.group = list(parameters), group
        self.find_unused, self.as_view, self.static = find_unused, as_view, static
        self.limits = [first_bytes, *bucket_bytes]
        self.hook: tuple[Any, Callable[[Any, GradBucket], Any]] | None = None
        self.divisor = group.size()
        self.may_rebuild = not find_unused or static
        self.arrived: list[int] = []
        self.expecting = False
        self.queued = False
        self.unused: set[int] = set()
        self.counts: dict[int, int] | None = None  # with ``static``: how often each parameter was used in the first backward
        self.used: Array | None = None
        self.fired = [0] * len(self.parameters)
        self.deferred: list[Any] = []  # futures of communication hooks, completed when they are waited for
        sizes = [(one.dtype, one.numel() * one.element_size()) for one in self.parameters]
        self._build(list(reversed(divided(sizes, self.limits))))
        self.handles = [
            one.register_post_accumulate_grad_hook(lambda _, place=place: self._arrive(place)) for place, one in enumerate(self.parameters)
        ]

    def _build(self, places: list[list[int]]) -> None:
        self.buckets = [GradBucket(number, [self.parameters[place] for place in part]) for number, part in enumerate(places)]
        self.buckets[-1]._last = True
        self.where = {place: (bucket, number) for bucket, part in zip(self.buckets, places) for number, place in enumerate(part)}
        if self.as_view:
            for place, one in enumerate(self.parameters):
                if one.grad is not None:
                    self._into_view(place, one)

    def remove(self) -> None:
        """Remove the hooks from the parameters."""
        for handle in self.handles:
            handle.remove()

    # An iteration

    def prepare(self, outputs: torch.Tensor | Sequence[torch.Tensor] | dict[str, torch.Tensor] | None = None) -> None:
        """Prepare to average the next backward, after a forward. Raise RuntimeError if gradients of the last one are missing."""
        self.finished()
        self._rebuild()
        self.expecting, self.queued, self.next = True, False, 0
        self.ready: set[int] = set()
        self.fired = [0] * len(self.parameters)
        for bucket in self.buckets:
            bucket.expect()
        self.unused = set()
        if self.static and self.counts is not None:
            self.unused = {place for place in range(len(self.parameters)) if not self.counts.get(place)}
        elif outputs is not None and not self.static:
            used = _reached(outputs)
            self.unused = {place for place, one in enumerate(self.parameters) if id(one) not in used}

    def prepare_for_backward(self, outputs: Any) -> None:
        """Prepare to average gradients in the next backward, even after a forward in ``no_sync``; for given outputs, find the parameters
        that they do not use.
        """
        self.prepare(outputs or None)

    def finished(self) -> None:
        """Raise RuntimeError if a backward began and some gradients did not arrive."""
        if self.expecting and self.queued:
            missing = sorted(set(range(len(self.parameters))) - self.ready)
            self.expecting = False
            raise RuntimeError(_UNFINISHED.format(self.group.rank(), " ".join(map(str, missing))))

    def _arrive(self, place: int) -> None:
        """Mark a parameter's gradient as arrived and start the buckets that are full."""
        if not self.expecting:
            return
        if not self.queued:
            self.queued = True
            next_callback(self._end)
            for unused in sorted(self.unused):
                self._mark(unused)
        self.fired[place] += 1
        if self.static:
            if self.counts is None or self.fired[place] != self.counts.get(place):
                return
        elif place in self.ready and place not in self.unused:
            raise RuntimeError(_TWICE)
        if place not in self.ready:
            self._mark(place)

    def _mark(self, place: int) -> None:
        self.ready.add(place)
        self.arrived.append(place)
        parameter = self.parameters[place]
        bucket, number = self.where[place]
        with torch.no_grad():
            if parameter.grad is None:
                bucket._views[number].zero_()
            elif self._joins and can_be_laid_out((parameter.grad,)):
                bucket.arrived[number] = parameter.grad
            elif parameter.grad._ms_storage is not bucket._views[number]._ms_storage:
                bucket._views[number].copy_(parameter.grad.detach())
        if self.as_view and parameter.grad is not None:
            parameter.grad = bucket._views[number]
        bucket.pending -= 1
        while self.next < len(self.buckets) and not self.buckets[self.next].pending:
            self._launch(self.buckets[self.next])
            self.next += 1

    def _into_view(self, place: int, parameter: torch.Tensor) -> None:
        bucket, number = self.where[place]
        view = bucket._views[number]
        with torch.no_grad():
            view.copy_(parameter.grad)
        parameter.grad = view

    @property
    def _joins(self) -> bool:
        """Whether gradients may become parts of one memory: nothing else asks for the buffer, and all of them are used, here at least."""
        return self.hook is None and not self.as_view and not self.unused

    def _launch(self, bucket: GradBucket) -> None:
        if self.hook is None:
            with torch.no_grad():
                whole = bucket.joined if bucket.join() else bucket._buffer
                if self.divisor > 1:
                    whole.div_(self.divisor)
            bucket.launched = self.group.allreduce([whole], ReduceOp.SUM)
        else:
            state, function = self.hook
            deferred.pending = self.deferred
            try:
                bucket.launched = function(state, bucket)
            finally:
                deferred.pending = None
            if not isinstance(bucket.launched, Future):
                raise RuntimeError(f"callback must return a torch.futures.Future object, but got {type(bucket.launched)}")

    def _end(self) -> None:
        """At the end of backward, wait for the buckets and set the parameters' gradients."""
        if self.static and self.counts is None:
            self.counts = {place: count for place, count in enumerate(self.fired) if count}
            for place in range(len(self.parameters)):
                if place not in self.ready:
                    self._mark(place)
        elif self.find_unused and not self.static:  # outputs without a gradient: parameters that only they depend on are unused
            for place in range(len(self.parameters)):
                if place not in self.ready:
                    self.unused.add(place)
                    self._mark(place)
        if self.next < len(self.buckets):
            return  # the next forward raises
        self.expecting = False
        used = self._used_somewhere()
        for bucket in self.buckets:
            self._collect(bucket)
        for place, parameter in enumerate(self.parameters):
            if used is None or used[place]:
                self._deliver(place, parameter)

    @by_the_host
    def _used_somewhere(self) -> Array | None:
        """Return which parameters any rank used, or None if all were used; with ``static`` the ranks communicate this only once."""
        if self.static and self.used is not None:
            return self.used
        if not self.find_unused and not self.static:
            return None
        unused = self.unused if self.counts is None else {place for place in range(len(self.parameters)) if place not in self.counts}
        own = torch.tensor([place not in unused for place in range(len(self.parameters))], dtype=torch.int32, device="cpu")
        self.group.allreduce([own], ReduceOp.SUM).wait()
        self.used = own.numpy()
        return self.used

    def _collect(self, bucket: GradBucket) -> None:
        self._wait_for_hooks()
        found = bucket.launched.wait()
        if isinstance(bucket.launched, Future):
            value = found[0] if isinstance(found, (list, tuple)) else found
            if value is not bucket._buffer:
                with torch.no_grad():
                    bucket._buffer.copy_(value.detach().reshape(bucket._buffer.shape))
        if bucket.joined is not None:
            put_back(bucket.joined, bucket.arrived, True, 1)

    def _wait_for_hooks(self) -> None:
        """Wait for device work that communication hooks started."""
        deferred.pending = self.deferred
        try:
            deferred.bring()
        finally:
            deferred.pending = None

    def _deliver(self, place: int, parameter: torch.Tensor) -> None:
        bucket, number = self.where[place]
        view = bucket._views[number] if bucket.joined is None else bucket.arrived[number]
        if self.as_view:
            parameter.grad = view
        elif parameter.grad is view:
            pass
        elif parameter.grad is None:
            parameter.grad = view.clone()
        else:
            with torch.no_grad():
                parameter.grad.copy_(view)

    @by_the_host
    def _rebuild(self) -> None:
        """Reorder the buckets, once, by the order of gradients in rank 0's first backward."""
        if not self.may_rebuild or not self.arrived:
            return
        self.may_rebuild = False
        order = torch.tensor(list(dict.fromkeys(self.arrived)), device="cpu")
        if order.numel() != len(self.parameters):
            return
        self.group.broadcast([order], 0).wait()
        places = order.tolist()
        sizes = [(self.parameters[place].dtype, self.parameters[place].numel() * self.parameters[place].element_size()) for place in places]
        self.buckets, self.where = [], {}  # before the new ones are made: both together would be the peak of a step
        self._build([[places[number] for number in part] for part in divided(sizes, self.limits)])

    @by_the_host
    def shadow(self) -> None:
        """Take part in the other ranks' all-reduces with zeros."""
        for bucket in self.buckets:
            bucket.expect()
            bucket._buffer.zero_()
            self._launch(bucket)
        if self.used is None and self.static or self.find_unused and not self.static:
            self.group.allreduce([torch.zeros(len(self.parameters), dtype=torch.int32, device="cpu")], ReduceOp.SUM).wait()
        self._wait_for_hooks()
        for bucket in self.buckets:
            bucket.launched.wait()


def _tensors_in(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif hasattr(value, "__dataclass_fields__"):
        value = [getattr(value, name) for name in value.__dataclass_fields__]
    elif not isinstance(value, (list, tuple)):
        return []
    return itertools.chain.from_iterable(map(_tensors_in, value))


def _reached(outputs: Any) -> set[int]:
    """Return the ids of the leaves that the outputs depend on."""
    waiting = [edge_of(tensor) for tensor in _tensors_in(outputs) if is_tracked(tensor)]
    nodes = [edge[0] for edge in waiting if edge is not None]
    seen, found = set(nodes), set()
    while nodes:
        node = nodes.pop()
        if node.__class__ is Accumulate:
            found.add(id(node.tensor))
        for edge in node.edges:
            if edge is not None and edge[0] not in seen:
                seen.add(edge[0])
                nodes.append(edge[0])
    return found
