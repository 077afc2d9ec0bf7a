"""Capture code whose inputs are not known before it has run: a block between two calls, not a function.

MindSpore's recorder asks for the inputs of a graph when it begins. Here operations are only noted while they run; the recorder gets them
when the block has ended, and the tensors that it read are the graph's inputs.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from . import tape
from .raw import Raw, instances, raw_shape
from .trace import (
    Capture,
    Graph,
    GraphBreak,
    KernelBreak,
    TraceJitContext,
    capture,
    new_node,
    reads_watched,
    set_context,
)
from .turns import LOCK

_SAME_MEMORY = frozenset(("Reshape", "ExpandDims", "Squeeze", "Flatten", "FlattenExt", "StopGradient", "Identity", "Contiguous", "View"))
"""Primitives whose result may be the memory of their first input."""


def _reporting_to(context: TraceJitContext, *blocks: AbstractContextManager[Any]) -> ExitStack:
    """Enter the blocks, and let this thread's operations and reads report to a context. Return what ends it."""
    with ExitStack() as undo:
        for block in blocks:
            undo.enter_context(block)
        undo.enter_context(reads_watched(context))
        undo.callback(set_context, None)
        set_context(context)
        return undo.pop_all()


class Recording(Capture):
    """Capture that notes the operations of a block, and becomes a graph when the block has ended."""

    def __init__(self) -> None:
        super().__init__([], differentiated=False)
        self.operations: list[tuple[Any, Any, tuple[Any, ...]]] = []
        self.entered: list[Raw] = []  # the inputs, in the order in which the block read them
        self.host: dict[int, Raw] = {}  # values of the CPU's tensors, and what was computed from them alone
        self._undo = ExitStack()

    def begin(self) -> None:
        """Note what this thread computes from now on. No other thread may call MindSpore meanwhile."""
        if tape.tracing() is not None:
            raise GraphBreak("a capture inside of a capture")
        self._undo = _reporting_to(self, LOCK, tape.native_set_to(False))

    def end(self) -> None:
        """Note no more."""
        self._undo.close()

    def note(self, prim: Any, result: Raw, args: tuple[Any, ...]) -> None:
        """Keep an operation for the graph."""
        self.operations.append((prim, result, args))

    def pass_trace_node(self, origin_obj: Any, new_obj: Any) -> None:
        """Do nothing: what MindSpore puts in the place of an argument is a number, a constant of the graph."""

    def prepare_op(self, prim_name: str, prim_res: Any, *args: Any) -> Any:
        """End the capture: MindSpore makes a node of an operation of C++ code at once."""
        self.stop(KernelBreak(f"MindSpore computes {prim_name} where only a graph that is open could note it"))

    def _enter(self, name: str, result: Raw, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Let numbers of the CPU be constants, as they are arguments of a kernel that is replayed; but not its tensors."""
        entered = super()._enter(name, result, args)
        ours = [raw for raw in instances(args, Raw) if id(raw) in self.host]
        if ours and any(id(raw) in self.depends for raw in instances((result,), Raw)):
            if any(raw_shape(raw) for raw in ours):
                self.refuse("a tensor of the CPU is used, and MindSpore's graphs compute on the device", "kernel")
        elif ours:
            self.host.update((id(raw), raw) for raw in instances((result,), Raw))
        return entered

    def enter(self, raw: Raw) -> Raw:
        """Return an input of the graph over memory from outside of the block."""
        alias = self._outside(lambda: tape.detached(raw))
        self._add(alias)
        return alias

    def draw(self, make: Callable[[], Raw]) -> Raw:
        """Return values that the host draws anew for each run of the graph, as an input of the graph."""
        raw = self._outside(make)
        self.draws.append(make)
        self.drawn.append(raw)
        self._add(raw)
        return raw

    def _add(self, raw: Raw) -> None:
        self.known[id(raw)] = raw
        self.inputs.add(id(raw))
        self.depends[id(raw)] = 1 << len(self.entered)
        self.entered.append(raw)

    def graph(self, outputs: Sequence[Raw], name: str) -> tuple[Graph | None, list[int]]:
        """Return the graph that computes values of the block, and the numbers of its inputs; None if they depend on none."""
        wanted = 0
        for raw in outputs:
            wanted |= self.depends[id(raw)]
        numbers = [number for number in range(len(self.entered)) if wanted >> number & 1]

        def body(context: Capture) -> Sequence[Raw]:
            for prim, result, args in self.operations:
                new_node(prim, result, args)
            return outputs

        return capture(body, [self.entered[number] for number in numbers], name, differentiated=False)[0], numbers

    def shared(self, outputs: Sequence[Raw]) -> list[bool]:
        """Return for each value of the block whether its memory may be an input's."""
        sharing = set(map(id, self.entered))
        for prim, result, args in self.operations:
            if prim.name in _SAME_MEMORY and args and id(args[0]) in sharing:
                sharing.add(id(result))
        return [id(raw) in sharing for raw in outputs]


class Waiting(TraceJitContext):
    """State of a thread in which the device may not be used: what it computed or read would be older than it should be."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason
        self.thread = threading.get_ident()
        self._undo = ExitStack()

    def __bool__(self) -> bool:
        return threading.get_ident() == self.thread

    def refuse(self, *what: Any) -> Any:
        """Raise GraphBreak."""
        if self:
            raise GraphBreak(self.reason)

    run_op = prepare_op = pass_trace_node = read = refuse

    def begin(self) -> None:
        """Refuse the use of the device from now on."""
        self._undo = _reporting_to(self)

    def end(self) -> None:
        """Refuse it no more."""
        self._undo.close()


def refuse_waiting() -> None:
    """End the capture of a block whose code waits for the device: nothing that it computes is there before a replay."""
    context = tape.tracing()
    if isinstance(context, Recording):
        context.refuse("the host waits for the device")
