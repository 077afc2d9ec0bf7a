"""Graphs of blocks of code, as CUDA graphs are: what a block computes once is computed again from the same memory into the same memory.

A block runs eagerly while its operations are noted (``backend/recording.py``). Meanwhile values stand for all memory, so that tensors from
outside keep their values; tensors made inside get memory when the block has ended, with the values that it has computed. A replay
reads the memory that the block has read, runs one graph of MindSpore's, and copies its results into the memory that the block has written
or made.
"""
from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend.raw import Raw, from_numpy, raw_shape
from ..backend.recording import Recording
from ..backend.tape import native_set_to
from ..backend.trace import Graph, GraphBreak
from ..backend.turns import LOCK
from ..core.generator import put_states, states_of_streams
from ..core.modes import modes
from ..core.storage import DeviceMemory, NativeBlock, Storage, Value
from ..core.tensor_base import TensorBase
from ..tape.node import Node, numbers_ahead
from .memory import copy_of
from .verify import same

_numbers = itertools.count()


class _Block(NativeBlock):
    """Block in which the memory of a tensor becomes an input of the graph when it is used."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(captured=True, follows=True, steps=True)
        self.recording = recording
        self.outside: list[tuple[DeviceMemory, Value, Raw]] = []  # memory, what stands for it, and the input
        self.host: list[tuple[Value, Raw]] = []

    def cell(self, storage: Storage, kind: np.dtype[Any], leaf: TensorBase | None = None) -> Value:
        """Return the value that stands for a storage."""
        if storage.__class__ is DeviceMemory and id(storage) not in self._cells:
            raw = self.recording.enter(storage.base)
            self.outside.append((storage, self.put(storage, raw), raw))
        if storage.__class__ is Storage and id(storage) not in self._cells and not kind.names:
            size = kind.itemsize
            raw = from_numpy(storage.memory[: storage.nbytes // size * size].view(kind).copy())
            self.recording.host[id(raw)] = raw
            self.host.append((self.put(storage, raw), raw))
        return super().cell(storage, kind, leaf)


class _Past(Node):
    """Node of a tensor of a block whose gradients were not computed in the block: what it would need is not there in a replay."""

    __slots__ = ()

    label = "CapturedBackward"

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Raise RuntimeError."""
        raise RuntimeError(
            "mstorch: a tensor made in a graph of the device has no gradient outside of it: call backward() in the block, or use "
            "make_graphed_callables"
        )


class Segment:
    """Graph of a block: the memory that it reads and writes."""

    def __init__(self) -> None:
        self.graph: Graph | None = None
        self.inputs: list[DeviceMemory | Callable[[], Raw]] = []
        # The memory, and the number of its new value, or that value if it is constant.
        self.results: list[tuple[DeviceMemory, int | Raw]] = []
        self.copied: list[bool] = []  # which results may be the memory of an input
        self.draws: list[Callable[[], Raw]] = []

    def run(self) -> None:
        """Compute the block anew."""
        with LOCK, native_set_to(False):
            drawn = {id(make): make() for make in self.draws}  # all of them, in the order of the block: also those that nothing needs
            raws: Sequence[Raw] = ()
            if self.graph is not None:
                raws = self.graph([memory.base if isinstance(memory, DeviceMemory) else drawn[id(memory)] for memory in self.inputs])
                raws = [copy_of(raw) if copied else raw for raw, copied in zip(raws, self.copied)]
            for memory, source in self.results:
                raw = raws[source] if isinstance(source, int) else source
                memory.write(raw, raw_shape(raw), None, 0, False)
                memory.version += 1


class Recorder:
    """The recording of a block, between its begin and its end."""

    def __init__(self) -> None:
        if modes.native is not None:
            raise GraphBreak("a capture inside of a capture")
        gc.collect()
        self._recording = Recording()
        self._block = _Block(self._recording)
        self._first = numbers_ahead()
        self._streams = states_of_streams()
        self._recording.begin()
        try:
            self._block.__enter__()
        except BaseException:
            self._recording.end()
            raise

    def abandon(self) -> None:
        """End the block without a graph; the tensors that it has made keep their values."""
        self._leave()
        self._settle()

    def _leave(self) -> None:
        self._block.__exit__()
        self._recording.end()

    def finish(self) -> Segment:
        """End the block, and return its graph. Raise GraphBreak for code that no graph can hold."""
        self._leave()
        made = self._settle()
        recording = self._recording
        if recording.broken is not None:
            raise recording.broken
        if any(value.raw is not raw for value, raw in self._block.host):
            raise GraphBreak("a tensor of the CPU is written")
        results: list[tuple[DeviceMemory, Raw]] = [(memory, value.raw) for value, memory in made]
        for storage, value, raw in self._block.outside:
            if value.raw is not raw:
                results.append((storage, value.raw))
        segment = Segment()
        self._connect(segment, results)
        return segment

    def _settle(self) -> list[tuple[Value, DeviceMemory]]:
        """Give tensors that were made in the block memory, and take back what it has drawn. Return their values and memory."""
        recording = self._recording
        after = states_of_streams()
        put_states(self._streams)
        with native_set_to(False):
            for make in recording.draws:
                make()
        if states_of_streams() != after and recording.broken is None:
            recording.broken = GraphBreak("random numbers are drawn in a way that no graph can repeat")
        put_states(self._streams)
        gc.collect()
        inside: dict[int, tuple[Value, list[TensorBase]]] = {}
        cells = {id(value) for value in self._block.values()}
        for tensor in [held for held in gc.get_objects() if issubclass(type(held), TensorBase)]:
            node = getattr(tensor, "_ms_node", None)
            if node is not None and node.sequence >= self._first:
                tensor._ms_node, tensor._ms_number = _Past(()), 0
            storage = getattr(tensor, "_ms_storage", None)
            if storage.__class__ is Value and id(storage) not in cells and recording.known.get(id(storage.raw), storage.raw) is storage.raw:
                inside.setdefault(id(storage), (storage, []))[1].append(tensor)
        with native_set_to(False):
            return [(value, _in_memory(value, tensors)) for value, tensors in inside.values()]

    def _connect(self, segment: Segment, results: Sequence[tuple[DeviceMemory, Raw]]) -> None:
        recording = self._recording
        outputs = list({id(raw): raw for _, raw in results if id(raw) in recording.depends}.values())
        places = {id(raw): number for number, raw in enumerate(outputs)}
        segment.results = [(memory, places.get(id(raw), raw)) for memory, raw in results]
        segment.copied = recording.shared(outputs)
        segment.draws = recording.draws
        if not outputs:
            return
        segment.graph, numbers = recording.graph(outputs, f"block_{next(_numbers)}")
        owners: dict[int, Any] = {id(raw): storage for storage, _, raw in self._block.outside}
        owners.update((id(raw), make) for raw, make in zip(recording.drawn, recording.draws))
        entered = [recording.entered[number] for number in numbers]
        segment.inputs = [owners[id(raw)] for raw in entered]
        assert segment.graph is not None
        with LOCK, native_set_to(False):
            for want, raw in zip(outputs, segment.graph(entered)):
                same(want, raw, "value")


def _in_memory(value: Value, tensors: Sequence[TensorBase]) -> DeviceMemory:
    """Return memory with a value of a block, and put the tensors over it into that memory."""
    memory = DeviceMemory(copy_of(value.raw))
    memory.version = value.version
    for tensor in tensors:
        tensor._ms_storage = memory
        if tensor._ms_counter is value:
            tensor._ms_counter = memory
        tensor._ms_array = tensor._ms_raw = tensor._ms_at = None
    return memory
