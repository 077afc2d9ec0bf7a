"""torch.npu.graphs: what a block of code computes on the device as one graph, which is replayed from the same memory into the same memory.

A block runs once, when it is captured; the tensors made in it then hold what it has computed, and tensors from outside are as before. Each
tensor that a replay writes costs a copy. Memory is MindSpore's: pools have numbers and no effect.
"""
from __future__ import annotations

import itertools
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from .._src.backend import runtime
from .._src.backend.recording import Waiting
from .._src.backend.trace import GraphBreak
from .._src.compile.device_graphs import Recorder, Segment
from .._src.core.above import above
from .._src.core.tensor_base import TensorBase
from .._src.core.warned import warn, warn_once
from .streams import Stream, current_stream, default_stream
from .streams import stream as _stream

_pools = itertools.count(1)
_MODES = ("global", "thread_local", "relaxed")


class _Here(threading.local):
    """What this thread captures, the graph whose task group it replaces, and the graph that waits in the middle of a replay."""

    own: weakref.ref[NPUGraph] | None = None
    updated: tuple[NPUTaskGroupHandle, Recorder] | None = None
    suspended: _Suspension | None = None

    @property
    def capturing(self) -> NPUGraph | None:
        """The graph that is being captured. A program that drops it ends its capture."""
        return None if self.own is None else self.own()

    @capturing.setter
    def capturing(self, graph: NPUGraph | None) -> None:
        self.own = None if graph is None else weakref.ref(graph)


_here = _Here()


class NPUTaskGroupHandle:
    """Part of a graph that ``graph_task_update_begin`` replaces."""

    def __init__(self) -> None:
        self.segment: Segment | None = None

    def _play(self, graph: NPUGraph) -> bool:
        assert self.segment is not None
        self.segment.run()
        return True


class _Part:
    """Part of a graph that is never replaced."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment

    def _play(self, graph: NPUGraph) -> bool:
        self._segment.run()
        return True


class _Suspension(Waiting):
    """Replay that waits for an event which is recorded later."""

    def __init__(self, graph: NPUGraph) -> None:
        super().__init__("the device is used while a replay waits for an ExternalEvent, which is to be recorded first")
        self.graph = graph


class ExternalEvent:
    """Event between a graph and what is outside of it: a replay waits for it until it is recorded."""

    def __init__(self) -> None:
        self._recorded = False

    def _note(self, action: Callable[[NPUGraph], bool]) -> bool:
        """Make an action a part of the graph that is being captured; return whether there is one."""
        if _here.capturing is None:
            return False
        _here.capturing._append(action)
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Record the event: a replay that waits for it goes on."""
        if self._note(self._record):
            return
        self._recorded = True
        if _here.suspended is not None:
            _here.suspended.graph._go_on()

    def wait(self, stream: Stream | None = None) -> None:
        """Wait for the event. Outside of a capture it must have been recorded: nothing else could record it."""
        if not self._note(lambda graph: self._recorded) and not self._recorded:
            raise RuntimeError("mstorch: a stream would wait for an ExternalEvent that is not recorded")

    def reset(self, stream: Stream | None = None) -> None:
        """Make the event one that is not recorded."""
        if not self._note(self._reset):
            self._recorded = False

    def _record(self, graph: NPUGraph) -> bool:
        self._recorded = True
        return True

    def _reset(self, graph: NPUGraph) -> bool:
        self._recorded = False
        return True


class NPUGraph:
    """Graph of the device: ``capture_begin``, the block, ``capture_end``; then ``replay``.

    A tensor of the block that requires grad has no gradient outside of it: ``backward()`` belongs into the block.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        runtime_required()
        self._parts: list[Callable[[NPUGraph], bool]] = []
        self._recorder: Recorder | None = None
        self._group: NPUTaskGroupHandle | None = None
        self._captured = False
        self._place = 0
        self._pool = (0, 0)

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Begin to capture what this thread computes, in a stream that is not the default one."""
        if self._captured or self._recorder is not None:
            raise RuntimeError(
                "This NPUGraph instance already owns a captured graph. To capture a new graph, create a new instance."
            )
        if capture_error_mode not in _MODES:
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {capture_error_mode}"
            )
        if current_stream() == default_stream():
            raise RuntimeError(
                "NPU graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them on the default "
                "stream.)"
            )
        if _here.suspended is not None:
            _here.suspended.refuse("")
        self._pool = graph_pool_handle() if pool is None else tuple(pool)
        self._recorder = Recorder()
        _here.capturing = self

    def capture_end(self) -> None:
        """End the capture. Raise RuntimeError for a block that no graph can hold, with the reason and its line."""
        if self._recorder is None or _here.capturing is not self:
            raise RuntimeError("mstorch: NPUGraph.capture_end() without capture_begin() in this thread")
        if self._group is not None:
            self._abandon()
            raise RuntimeError("mstorch: graph_task_group_end() is missing in a captured block")
        self._close(lambda segment: _Part(segment)._play)
        _here.capturing = None
        self._captured = True
        if not self._parts:
            warn(
                "The NPU Graph is empty. This usually means that the graph was attempted to be captured on wrong device or stream.",
                UserWarning,
            )

    def _close(self, part: Callable[[Segment], Callable[[NPUGraph], bool]]) -> None:
        """Make what was noted since the last part one more part."""
        recorder, self._recorder = self._recorder, None
        assert recorder is not None
        try:
            segment = recorder.finish()
        except BaseException:
            self._abandon()
            raise
        if segment.results:
            self._parts.append(part(segment))

    def _append(self, action: Callable[[NPUGraph], bool]) -> None:
        """Append something that is no computation."""
        if self._group is not None:
            raise RuntimeError("mstorch: an event or a call of the host in a group of tasks of a graph")
        self._close(lambda segment: _Part(segment)._play)
        self._parts.append(action)
        self._recorder = Recorder()

    def _abandon(self) -> None:
        """Give up a capture: nothing stays open, and the graph is as a new one."""
        recorder, self._recorder, self._group = self._recorder, None, None
        self._parts = []
        if _here.capturing in (self, None):  # None while the graph is being dropped
            _here.capturing = None
        if recorder is not None:
            recorder.abandon()

    def _begin_group(self) -> None:
        if self._group is not None:
            raise RuntimeError("mstorch: a group of tasks within another")
        self._close(lambda segment: _Part(segment)._play)
        self._group, self._recorder = NPUTaskGroupHandle(), Recorder()

    def _end_group(self) -> NPUTaskGroupHandle:
        handle, self._group = self._group, None
        if handle is None:
            raise RuntimeError("mstorch: graph_task_group_end() without graph_task_group_begin()")

        def part(segment: Segment) -> Callable[[NPUGraph], bool]:
            handle.segment = segment
            return handle._play

        self._close(part)
        self._recorder = Recorder()
        return handle

    def replay(self) -> None:
        """Compute the block anew: from the memory that it has read, into the memory that it has written or made."""
        if not self._captured:
            raise RuntimeError("Called NPUGraph::replay without a preceding successful capture.")
        if _here.capturing is not None:
            raise GraphBreak("a graph is replayed in a capture")
        if _here.suspended is not None:
            _here.suspended.refuse("")
        self._place = 0
        self._go_on()

    def _go_on(self) -> None:
        """Play the parts from the current one on, up to a wait for an event that is not recorded."""
        if _here.suspended is not None:
            _here.suspended.end()
            _here.suspended = None
        while self._place < len(self._parts):
            if not self._parts[self._place](self):
                _here.suspended = _Suspension(self)
                _here.suspended.begin()
                return
            self._place += 1

    def reset(self) -> None:
        """Forget the graph; a replay that waits ends."""
        if _here.suspended is not None and _here.suspended.graph is self:
            _here.suspended.end()
            _here.suspended = None
        self._abandon()
        self._captured = False

    def pool(self) -> tuple[int, int]:
        """Return the number of the graph's pool, which has no effect."""
        if not self._captured:
            raise RuntimeError("Called NPUGraph::pool() without a preceding successful capture.")
        return self._pool

    def enable_debug_mode(self) -> None:
        """Do nothing, with a warning: MindSpore writes its graphs where its environment variables say so."""
        warn_once("NPUGraph.enable_debug_mode() has no effect: MS_DEV_SAVE_GRAPHS makes MindSpore write its graphs")

    def debug_dump(self, debug_path: str | None = None) -> None:
        """Raise NotImplementedError: MindSpore writes its graphs itself."""
        raise NotImplementedError("mstorch: torch.npu.NPUGraph.debug_dump(): MS_DEV_SAVE_GRAPHS makes MindSpore write its graphs")

    def update(self, cpu_update_input: Any) -> None:
        """Raise NotImplementedError: no operator's lists are noted to be changed later."""
        raise NotImplementedError("mstorch: torch.npu.NPUGraph.update(): write graph_task_update_begin")

    def __del__(self) -> None:
        if getattr(self, "_recorder", None) is not None and not sys.is_finalizing():
            self._abandon()


def runtime_required() -> None:
    """Raise RuntimeError where MindSpore computes on no device."""
    current_stream()


class graph:
    """Context manager that captures its block into an NPUGraph, in a stream of its own unless ``stream`` is another one."""

    default_capture_stream: Stream | None = None

    def __init__(
        self, npu_graph: NPUGraph, pool: Any = None, stream: Stream | None = None, auto_dispatch_capture: bool = False,
        capture_error_mode: str = "global",
    ) -> None:  # fmt: skip
        if auto_dispatch_capture:
            raise NotImplementedError(
                "mstorch: torch.npu.graph(auto_dispatch_capture=True): no operator's lists are noted to be changed later"
            )
        if stream is None and graph.default_capture_stream is None:
            graph.default_capture_stream = Stream()
        self.npu_graph, self.pool, self.capture_error_mode = npu_graph, () if pool is None else (pool,), capture_error_mode
        self.capture_stream = stream or graph.default_capture_stream
        self._undo = ExitStack()

    def __enter__(self) -> None:
        runtime.synchronize()
        with ExitStack() as undo:
            undo.callback(runtime.synchronize)
            undo.enter_context(_stream(self.capture_stream))
            self.npu_graph.capture_begin(*self.pool, capture_error_mode=self.capture_error_mode)
            self._undo = undo.pop_all()

    def __exit__(self, *error: Any) -> None:
        with self._undo:
            if error[0] is None:
                self.npu_graph.capture_end()
            else:
                self.npu_graph._abandon()


def graph_pool_handle() -> tuple[int, int]:
    """Return the number of a new pool, which has no effect."""
    return 0, next(_pools)


def is_current_stream_capturing() -> bool:
    """Return whether this thread captures a graph of the device."""
    return _here.capturing is not None


def _launch_host_func(op_stream: Stream, fn: Callable[[Any], Any], user_data: Any) -> None:
    """Call ``fn(user_data)`` when a stream has done its work: at once, which waits; in a capture, at that place of each replay."""

    def call(graph: NPUGraph) -> bool:
        runtime.synchronize()
        fn(user_data)
        return True

    if _here.capturing is not None:
        _here.capturing._append(call)
    else:
        op_stream.synchronize()
        fn(user_data)


def _subscribe_report(op_stream: Stream) -> None:
    """Do nothing: calls of the host need no thread that waits for them."""


_unsubscribe_report = _subscribe_report


def graph_task_group_begin(stream: Stream) -> None:
    """Begin a part of a captured block that can be replaced later."""
    if _here.capturing is None:
        raise RuntimeError("mstorch: graph_task_group_begin() outside of a capture")
    _here.capturing._begin_group()


def graph_task_group_end(stream: Stream) -> NPUTaskGroupHandle:
    """End such a part, and return its handle."""
    if _here.capturing is None:
        raise RuntimeError("mstorch: graph_task_group_end() outside of a capture")
    return _here.capturing._end_group()


def graph_task_update_begin(stream: Stream, handle: NPUTaskGroupHandle) -> None:
    """Begin the block that replaces a part of a graph. It writes into the memory that the part has written (``out=``)."""
    if _here.capturing is not None or _here.updated is not None:
        raise GraphBreak("a capture inside of a capture")
    if _here.suspended is not None:
        _here.suspended.end()
    _here.updated = handle, Recorder()


def graph_task_update_end(stream: Stream) -> None:
    """End that block: later replays, and one that waits for an event, compute it in place of the part."""
    if _here.updated is None:
        raise RuntimeError("mstorch: graph_task_update_end() without graph_task_update_begin()")
    (handle, recorder), _here.updated = _here.updated, None
    try:
        handle.segment = recorder.finish()
    finally:
        if _here.suspended is not None:
            _here.suspended.begin()


def make_graphed_callables(
    callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False, pool: Any = None
) -> Any:
    """Return functions, or modules, whose calls run as two graphs, forward and backward: those of ``torch.compile(fullgraph=True)``,
    captured for the shapes of ``sample_args``.

    Unlike torch's, their results are new tensors at each call, and capturing leaves a module's buffers and the random stream as they are.
    """
    torch = above.torch
    if torch.is_autocast_enabled() and torch.is_autocast_cache_enabled():
        raise RuntimeError("make_graphed_callables does not support the autocast caching. Please set `cache_enabled=False`.")
    if isinstance(callables, tuple):
        return tuple(_graphed(function, args) for function, args in zip(callables, sample_args))
    return _graphed(callables, sample_args)


def _graphed(function: Any, sample: tuple[Any, ...]) -> Any:
    torch = above.torch
    leaves = torch.utils._pytree.tree_leaves
    is_module = isinstance(function, torch.nn.Module)
    if is_module and (function._backward_hooks or function._forward_hooks or function._forward_pre_hooks):
        raise AssertionError(
            "Modules must not have hooks registered at the time they are passed. However, registering hooks on modules after passing them "
            "through make_graphed_callables is allowed."
        )
    if is_module and any(buffer.requires_grad for buffer in function.buffers()):
        raise AssertionError(
            "In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only parameters may be trainable. All buffers "
            "must have ``requires_grad=False``."
        )
    flat = leaves(sample)
    if not all(isinstance(arg, TensorBase) for arg in flat):
        raise AssertionError(
            "In the beta API, sample_args for each callable must contain only Tensors. Other types are not allowed."
        )
    wanted = [(arg.shape, arg.dtype, arg.requires_grad) for arg in flat]
    original = function.forward if is_module else function
    compiled = torch.compile(original, fullgraph=True)
    training = is_module and function.training

    def call(*args: Any) -> Any:
        if [(arg.shape, arg.dtype, arg.requires_grad) for arg in leaves(args)] != wanted:
            raise RuntimeError(f"mstorch: a graphed callable takes tensors as its sample_args: {wanted}")
        return compiled(*args)

    buffers = [(buffer, buffer.clone()) for buffer in function.buffers()] if is_module else []
    streams = torch.npu.get_rng_state()
    call(*sample)  # captures both graphs, and raises where there are none
    torch.npu.set_rng_state(streams)
    for buffer, before in buffers:
        buffer.copy_(before)
    if not is_module:
        return call

    def forward(*args: Any) -> Any:
        return call(*args) if function.training == training else original(*args)

    function.forward = forward
    return function


__all__ = [
    "ExternalEvent", "NPUGraph", "graph", "graph_pool_handle", "graph_task_group_begin", "graph_task_group_end", "graph_task_update_begin",
    "graph_task_update_end", "is_current_stream_capturing", "make_graphed_callables",
]  # fmt: skip
