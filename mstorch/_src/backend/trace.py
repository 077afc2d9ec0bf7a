"""Capture a function of raw tensors as one MindSpore graph (the recorder of ``jit(capture_mode="trace")``).

The function runs once on real values, and every operation reports its inputs and results to the recorder. Raw tensors that depend on no
input become constants of the graph. Reading the values of one that does is a host round trip: the value would be frozen into the graph, so
the capture ends with ``HostRoundTrip``.

``mindspore.jit`` itself is not used: it formats its results for a disabled debug log (15 ms per call, MindSpore 2.10), walks the whole
stack for each operation, and is left in an unusable state by an exception.
"""
from __future__ import annotations

import functools
import itertools
import linecache
import os
import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

import mindspore
from mindspore import ops

from ..leaving import Block, each
from . import tape
from .arrays import Array
from .device_memory import is_dense, primitive_window
from .geometry import contiguous_strides, flat_index
from .raw import ON_CPU, Raw, from_numpy, instances, raw_shape, raw_size, to_numpy
from .turns import LOCK

try:
    from mindspore.graph import jit_trace as _jit
except ImportError:  # MindSpore 2.7 and 2.8
    from mindspore.common import jit_trace as _jit

TraceJitContext: Any = _jit.TraceJitContext
_recorder = _jit.tr.get_instance()
_CONFIG: dict[str, Any] = getattr(_jit, "_DEFAULT_JIT_CONFIG", None) or _jit.JitConfig().jit_config_dict
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MINDSPORE = os.path.dirname(os.path.abspath(mindspore.__file__))
_FILES, _LINES = [os.path.abspath(__file__)], [1]


class GraphBreak(RuntimeError):
    """Raised for code that a graph does not support. ``reason`` is the cause, ``place`` the user's file:line."""

    def __init__(self, reason: str, place: str | None = None) -> None:
        self.reason = reason
        self.place = user_line() if place is None else place
        super().__init__(f"{reason}\n  at {self.place}")


class HostRoundTrip(GraphBreak):
    """Raised when the values of a tensor that depends on the inputs are read on the host."""


# Primitives whose output length depends on values; a graph would keep the length of the first call.
_OF_UNKNOWN_SHAPE = frozenset((
    "Unique", "Unique2", "UniqueDim", "UniqueConsecutive", "NonZero", "NonZeroExt", "MaskedSelect", "Bincount", "BincountExt",
    "RepeatInterleaveTensor",
))  # fmt: skip


class KernelBreak(GraphBreak):
    """Raised for torch features that mstorch's graphs lack or compute incorrectly: a kernel, shapes that depend on values, device tensors,
    arguments with attributes. The function then runs eagerly, even with ``fullgraph=True``."""


class StepBreak(GraphBreak):
    """Raised if the function computes gradients: it runs eagerly, and the modules that it calls run as graphs, one forward and one
    backward.
    """


# Reads of values: torch's compiler has no graph for these either. It has graphs for shapes that depend on values; mstorch lacks a kernel.
_OF_VALUES = frozenset(
    "item tolist numpy bool int float complex index array repr str format contains len iter is_nonzero equal allclose to_mindspore".split()
)


def _called_function() -> str:
    """Return the name of the mstorch function that the user's innermost stack frame called."""
    frame, name = sys._getframe(1), ""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_PACKAGE):
            known = frame.f_locals.get("function") if frame.f_code.co_name == "entered" else None
            name = getattr(known, "__name__", frame.f_code.co_name)
        elif not file.startswith((MINDSPORE, "<frozen", "<string")):
            return name
        frame = frame.f_back  # type: ignore[assignment]
    return name


def user_line() -> str:
    """Return the innermost line of code outside of mstorch and MindSpore: ``file:line in function: text``."""
    frame = sys._getframe(1)
    outermost = "?"
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(("<frozen", "<string")):
            frame = frame.f_back  # type: ignore[assignment]
            continue
        place = f"{name}:{frame.f_lineno} in {frame.f_code.co_name}"
        if not name.startswith((_PACKAGE, MINDSPORE)):
            text = linecache.getline(name, frame.f_lineno).strip()
            return f"{place}: {text}" if text else place
        outermost = place
        frame = frame.f_back  # type: ignore[assignment]
    return outermost


_reshape = ops.Reshape()
_transpose = ops.Transpose()
_strided_slice = ops.StridedSlice()
_stop_gradient = ops.stop_gradient


def _broadcast(raw: Raw, shape: Sequence[int]) -> Raw:
    return ops.BroadcastTo(tuple(int(n) for n in shape))(raw)


def _exchange(raw: Raw, first: int, second: int) -> Raw:
    order = list(range(len(raw.shape)))
    order[first], order[second] = order[second], order[first]
    return _transpose(raw, tuple(order))


def _narrow(raw: Raw, dim: int, start: int, length: int) -> Raw:
    begin, end = [0] * len(raw.shape), list(raw.shape)
    begin[dim], end[dim] = start, start + length
    return _strided_slice(raw, tuple(begin), tuple(end), (1,) * len(begin))


def _sliced(raw: Raw, dim: int, start: int, end: int, step: int) -> Raw:
    length = raw.shape[dim]
    begins, ends, steps = [0] * len(raw.shape), list(raw.shape), [1] * len(raw.shape)
    begins[dim], ends[dim], steps[dim] = (start + length if start < 0 else start), min(end + length if end < 0 else end, length), step
    return _strided_slice(raw, tuple(begins), tuple(ends), tuple(steps))


_gather = ops.Gather()


def _strided(raw: Raw, shape: Sequence[int], strides: Sequence[int], offset: int) -> Raw:
    return _gather(_reshape(raw, (-1,)), from_numpy(flat_index(tuple(shape), tuple(strides), offset)), 0)


def _entry(raw: Raw, dim: int, index: int) -> Raw:
    index %= raw.shape[dim]
    shape = tuple(raw.shape)
    return _reshape(_narrow(raw, dim, index, 1), (*shape[:dim], *shape[dim + 1 :]))


# View operations have no CPU kernel in a graph (2.7.2 raises; 2.10 silently keeps their first result as a constant).
_INSTEAD: dict[str, Callable[..., Raw]] = {
    "AsStrided": _strided,
    "BroadcastToView": _broadcast,
    "TransposeExtView": _exchange,
    "TransposeView": lambda raw, order: _transpose(raw, tuple(order)),
    "NarrowView": _narrow,
    "SelectExtView": _entry,
    "SelectView": _entry,
    "SliceExt": _sliced,
    "SliceExtView": _sliced,
}


def _reports_again(frame: types.FrameType, result: Raw) -> bool:
    """Return whether the call of a generated primitive, which is running, has not got its result yet, and will report it when it has."""
    if not frame.f_code.co_filename.endswith("gen_ops_prim.py"):
        return False
    return not any(value is result for value in frame.f_locals.values())


def set_context(context: TraceJitContext | None) -> None:
    """Let MindSpore's primitives report to a capture, or to none."""
    _jit.set_jit_context.__globals__["_jit_context"] = context


def new_node(prim: Any, result: Raw, args: tuple[Any, ...]) -> None:
    """Make an operation a node of the graph that MindSpore's recorder has open."""
    _recorder.new_node(prim, (result, _FILES, _LINES, False), *args)


class Capture(TraceJitContext):
    """A run of a function under the recorder: tracks which MindSpore tensors depend on inputs, which come from outside, and which values
    are read.
    """

    def __init__(
        self, inputs: Sequence[Raw], raise_at_reads: bool = True, for_file: bool = False, differentiated: bool = True
    ) -> None:  # fmt: skip
        super().__init__()
        self.differentiated = differentiated  # whether MindSpore's autograd will be asked for gradients of the graph
        self.folded: dict[int, Raw] | None = {} if for_file else None
        self.inputs = {id(raw) for raw in inputs}
        self.known: dict[int, Raw] = {id(raw): raw for raw in inputs}
        # The inputs that each dependent tensor depends on, as bits.
        self.depends: dict[int, int] = {id(raw): 1 << i for i, raw in enumerate(inputs)}
        self.foreign: dict[int, Raw] = {}
        self.replaced: dict[int, Any] = {}
        self.uncut: set[int] = set()
        self.cuts: dict[int, Raw] = {}
        self.draws: list[Callable[[], Raw]] = []
        self.given: list[Raw] = []
        self.drawn: list[Raw] = []
        self.reads: list[str] = []
        self.closed: dict[int, Raw] = {}  # values of which nothing more may be computed: calls wait that change them
        self.broken: GraphBreak | None = None
        self.raise_at_reads = raise_at_reads
        self.watching = True
        self.outside = False  # whether what is computed is no part of the graph
        # While gradients are computed to find out what they need: the tensors of before, and those of them that were used.
        self.before: frozenset[int] = frozenset()
        self.needed: dict[int, Raw] | None = None
        self.thread = threading.get_ident()

    def __bool__(self) -> bool:
        """Return whether this thread runs the capture: MindSpore's primitives report to its ``jit_context`` if that is true."""
        return threading.get_ident() == self.thread

    # Methods that MindSpore calls while its ``jit_context`` is this object

    def run_op(self, prim: Any, prim_res: Raw, *args: Any) -> Raw:
        """Record an operation called from Python; return its result, or the value that replaces it."""
        if self.outside:
            return prim_res
        key = id(prim_res)
        if key in self.replaced:
            return self.replaced[key]
        if key in self.known:
            return prim_res  # generated primitives report each call twice
        name = prim.name
        instead = _INSTEAD.get(name)
        if instead is not None:
            made = instead(*args)
            self.known[key] = prim_res
            self.replaced[key] = made
            # MindSpore's C++ drops a reference too many of what it is told to return in place of its own result (2.10), which ended the
            # process in a later garbage collection. Where the primitive's own code reports it once more, it is told only then.
            return prim_res if _reports_again(sys._getframe(1), prim_res) else made
        if any(key.startswith("side_effect") for key in prim.attrs):  # the recorder gives such a node no result
            self.stop(KernelBreak(f"MindSpore's {name} has no form in a graph"))
        args = self._enter(name, prim_res, args)
        if any(id(raw) in self.depends for raw in instances((prim_res,), Raw)):
            if name in _OF_UNKNOWN_SHAPE and self.raise_at_reads:  # a torch.jit trace keeps the shape of the first run, as in torch
                self.refuse(f"the shape of what {name} gives depends on values", "kernel")
            self.note(prim, prim_res, args)
        else:
            # A constant of the graph: MindSpore cannot export constants that it folds itself (2.10).
            for raw in instances((prim_res,), Raw):
                self.known.pop(id(raw), None)
        return prim_res

    def note(self, prim: Any, result: Raw, args: tuple[Any, ...]) -> None:
        """Make an operation a node of the graph."""
        new_node(prim, result, args)

    def prepare_op(self, prim_name: str, prim_res: Any, *args: Any) -> Any:
        """Record an operation that C++ code calls, before the operation runs."""
        args = self._enter(prim_name, prim_res, args)
        return prim_res, _FILES, _LINES, args

    def _exportable(self, arg: Any) -> Any:
        """Return an argument; a copy, which is a constant of the graph, for a Parameter, of which a file would hold no values, and for the
        result of an operation on constants: MindSpore folds those, and writes no file of what it folded (``weight.astype`` of its
        LayerNorm; 2.10)."""
        key = id(arg)
        if self.folded is None or not isinstance(arg, Raw) or key in self.depends:
            return arg
        if not isinstance(arg, mindspore.Parameter) and (key in self.foreign or key not in self.known):
            return arg
        if key not in self.folded:
            self.known[key] = arg  # lives as long as its id is a key
            self.folded[key] = from_numpy(to_numpy(arg).copy())
        return self.folded[key]

    def _enter(self, name: str, result: Raw, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if name.endswith("View") or name.startswith(("Inplace", "Assign")):
            self.stop(KernelBreak(f"MindSpore's {name} has no form in a graph"))
        if self.differentiated and tape.grad_mode.enabled and self.uncut:
            args = self._detach_without_grad(args)
        if self.folded is not None:
            args = tuple(map(self._exportable, args))
        bits = 0
        for raw in instances(args, Raw):
            key = id(raw)
            if key in self.closed:
                self.refuse("parameters or gradients are read after the optimizer's step", "step")
            if self.needed is not None and key in self.before:
                self.needed[key] = raw
            found = self.depends.get(key)
            if found is not None:
                bits |= found
            elif key not in self.known:
                self.foreign[key] = self.known[key] = raw
        for raw in instances((result,), Raw):
            self.known[id(raw)] = raw
            if bits:
                self.depends[id(raw)] = bits
                if not tape.grad_mode.enabled:
                    self.uncut.add(id(raw))
        return tuple(_jit._convert_arg_for_operators(arg, name) for arg in args)

    def _detach_without_grad(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Detach arguments made under ``no_grad``, because the graph is differentiated as a whole."""

        def cut(value: Any) -> Any:
            if isinstance(value, Raw) and id(value) in self.uncut:
                found = self.cuts.get(id(value))
                if found is None:
                    tape.grad_mode.enabled = False
                    try:
                        found = self.cuts[id(value)] = _stop_gradient(value)
                    finally:
                        tape.grad_mode.enabled = True
                    self.uncut.discard(id(found))
                return found
            if isinstance(value, (list, tuple)):
                return type(value)(cut(item) for item in value)
            return value

        return tuple(cut(arg) for arg in args)

    def stop(self, reason: GraphBreak) -> None:
        """Abort the capture; the first reason is kept even if the user's code swallows the exception."""
        if self.broken is None:
            self.broken = reason
        raise reason

    def refuse(self, what: str, kind: str = "graph") -> None:
        """Abort the capture because a graph does not support ``what`` (for ``kind`` see ``tape.refuse_in_trace``)."""
        self.stop({"graph": GraphBreak, "kernel": KernelBreak, "step": StepBreak}[kind](what))

    def read(self, raw: Raw, how: str) -> None:
        """Handle a read of the values of ``raw`` on the host. If they depend on the inputs, end the capture with an error
        (``raise_at_reads``), or else add the location to ``reads``."""
        if not self.watching or threading.get_ident() != self.thread or id(raw) not in self.depends:
            return
        if self.raise_at_reads:
            name = _called_function()
            if name and name.strip("_") not in _OF_VALUES:
                self.stop(KernelBreak(f"the values of a tensor are read on the host by the kernel of {name}"))
            self.stop(HostRoundTrip(f"the values of a tensor are read on the host ({how})"))
        self.reads.append(f"{how} at {user_line()}, {_inner_line()}")

    def draw(self, make: Callable[[], Raw]) -> Raw:
        """Return values that the host draws anew for each run of the graph, in the order of capture, as an input of the graph."""
        position = len(self.draws)
        self.draws.append(make)
        raw = self.given[position] if position < len(self.given) else self._outside(make)
        if position >= len(self.given):
            self.foreign[id(raw)] = self.known[id(raw)] = raw
        self.drawn.append(raw)
        return raw

    def _outside(self, make: Callable[[], Raw]) -> Raw:
        """Return ``make()``, whose operations are no part of the graph: some draw by kernels that have no form in one."""
        self.outside = True
        try:
            return make()
        finally:
            self.outside = False


def _inner_line() -> str:
    """Return ``file:line`` of the innermost stack frame in mstorch, this module's own aside."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(_PACKAGE) and name != _FILES[0]:
            return f"{os.path.relpath(name, _PACKAGE)}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return "?"


def current() -> Capture | None:
    """Return the current capture, or None."""
    context = tape.tracing()
    return context if isinstance(context, Capture) else None


def depends(raw: Raw) -> bool:
    """Return whether a raw tensor depends on the inputs of the current capture, so that its values are unknown."""
    context = current()
    return context is not None and id(raw) in context.depends


def drawn(make: Callable[[], Any], raw_of: Callable[[Any], Raw]) -> Array | float:
    """Return ``make()``. In a capture, ``raw_of(make())`` becomes an input of the graph, and is computed anew for each run."""
    context = current()
    return make() if context is None else context.draw(lambda: raw_of(make()))


_READERS = tuple(
    name
    for name in ("asnumpy", "numpy", "item", "tolist", "__bool__", "__int__", "__float__", "__index__", "__array__")
    if hasattr(mindspore.Tensor, name)
)


class reads_watched(Block):
    """Context manager that aborts the capture when a mindspore.Tensor's values are read; it patches the methods that read."""

    def __init__(self, context: TraceJitContext) -> None:
        self._context = context

    def __enter__(self) -> None:
        kind, context = mindspore.Tensor, self._context
        watched = {name: _watched(context, name, getattr(kind, name)) for name in _READERS}
        again = each(
            functools.partial(_jit.set_jit_context.__globals__.update, _jit_context=None),
            *[
                functools.partial(setattr, kind, name, vars(kind)[name]) if name in vars(kind) else functools.partial(delattr, kind, name)
                for name in _READERS
            ],
        )
        self.at_end(again)
        try:
            for name, reader in watched.items():
                setattr(kind, name, reader)
        except BaseException:
            again()
            raise


def _watched(context: TraceJitContext, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def read(raw: Raw, *args: Any, **kwargs: Any) -> Any:
        context.read(raw, name)
        return method(raw, *args, **kwargs)

    return read


_numbers = itertools.count()


class Graph:
    """Captured graph, callable with raw tensors of the captured shapes and dtypes."""

    __slots__ = ("phase", "outputs", "windows", "__weakref__")

    def __init__(self, phase: str, outputs: int) -> None:
        self.phase = phase
        self.outputs = outputs
        self.windows: set[int] = set()  # numbers of the inputs that have been windows

    def __call__(self, raws: Sequence[Raw]) -> tuple[Raw, ...]:
        return self.run(raws if ON_CPU else self.shown(raws))

    def shown(self, raws: Sequence[Raw]) -> list[Raw]:
        """Return the inputs as this graph can read them.

        MindSpore (2.10) keeps the offset and strides of an input that was a window, and reads the next one by them unless that has some of
        its own: from then on this input is always a window."""
        raws = list(raws)
        for place, raw in enumerate(() if ON_CPU else raws):
            if not is_dense(raw):
                self.windows.add(place)
            elif place in self.windows and raw_size(raw):
                shape = raw_shape(raw)
                raws[place] = primitive_window(raw, shape, contiguous_strides(shape), 0)
        return raws

    def run(self, raws: Sequence[Raw]) -> tuple[Raw, ...]:
        """Return the graph's outputs for the result of ``shown``."""
        result = _recorder.run_graph(self.phase, _CONFIG, tuple(raws))
        return result if isinstance(result, tuple) else (result,)

    def mindir(self) -> bytes:
        """Return the graph in MindIR format."""
        return bytes(_jit.JitExecutor_.get_instance().get_func_graph_proto(self.phase, "mind_ir"))


def _begin(context: Capture, name: str, inputs: Sequence[Raw], differentiated: bool = True) -> str:
    # MindSpore compiles a backward graph for a phase whose name ends in "grad", whatever is recorded during the capture.
    name = "".join(character if character.isalnum() else "_" for character in name)
    phase = f"{name}.{next(_numbers)}{'.grad' * differentiated}"
    _jit.set_jit_context(context)
    _recorder.begin_graph(name, phase, _FILES, _LINES, *inputs)
    return phase


def _abandon(first: Raw) -> None:
    """Forget what was recorded since ``_begin``, whose first input is ``first``.

    The recorder has no function for this. It forgets everything before it refuses a graph within a graph, which the last item announces;
    releases that don't know the item end the operations as a graph without useful outputs, which fails if one of them can't be compiled.
    """
    try:
        _recorder.new_fg_node((None, _FILES, _LINES, "", True))
    except RuntimeError:
        return
    except TypeError:
        _recorder.end_graph(_FILES, _LINES, _CONFIG, first)


def _dummy_input() -> Raw:
    """Return the dummy input of a graph that has none, because MindSpore requires an input."""
    return mindspore.Tensor(0)


def capture(
    function: Callable[[Capture], Sequence[Raw]], inputs: Sequence[Raw], name: str = "mstorch", given: Sequence[Raw] = (),
    differentiated: bool = True,
) -> tuple[Graph | None, Capture]:  # fmt: skip
    """Return the graph of a function of ``inputs`` that returns raw tensors, and the capture's observations.

    ``inputs`` and ``given`` (the values for ``drawn``, in order) are new raw tensors without other owners. The function receives the
    capture and returns the outputs, all of which depend on inputs; the graph is None if it returns none. Raise GraphBreak for code that a
    graph does not support, and the function's own exceptions. MindSpore's recorder takes operations of any thread: others that need
    MindSpore's kernels wait, others that compute on the host go on. ``differentiated``: MindSpore's autograd will be asked for gradients of
    the graph.
    """
    with LOCK, tape.native_set_to(differentiated and tape.grad_mode.enabled):
        return _captured(function, inputs, name, given, differentiated)


def _captured(
    function: Callable[[Capture], Sequence[Raw]], inputs: Sequence[Raw], name: str, given: Sequence[Raw], differentiated: bool
) -> tuple[Graph | None, Capture]:
    if tape.tracing() is not None:
        raise GraphBreak("a capture inside of a capture")
    context = Capture([*inputs, *given], for_file=name == "mindir", differentiated=differentiated)
    context.given = list(given)
    every = [*inputs, *given] or [_dummy_input()]
    finished = False
    phase = ""
    if differentiated:
        tape.start_recording()
    try:
        phase = _begin(context, name, every, differentiated)
        with reads_watched(context):
            outputs = list(function(context))
        if context.broken is not None:
            raise context.broken
        if outputs:
            _jit.set_jit_context(context)
            _recorder.end_graph(_FILES, _LINES, _CONFIG, *outputs)
            finished = True
    finally:
        set_context(None)
        if phase and not finished:
            _abandon(every[0])
        tape.stop_recording()
    return (Graph(phase, len(outputs)) if finished else None), context


def round_trips(function: Callable[..., Any], inputs: Sequence[Raw]) -> list[str]:
    """Return a text for each place where a function reads values of tensors that depend on its inputs; an empty list if it reads none."""
    with LOCK:
        return _round_trips(function, inputs)


def _round_trips(function: Callable[..., Any], inputs: Sequence[Raw]) -> list[str]:
    fresh = [tape.detached(raw) for raw in inputs]
    context = Capture(fresh, raise_at_reads=False)
    every = fresh or [_dummy_input()]
    phase = ""
    try:
        phase = _begin(context, "round_trips", every)
        with reads_watched(context):
            function(*fresh)
    except GraphBreak as reason:
        context.reads.append(str(reason))
    finally:
        if phase:
            _abandon(every[0])
        _jit.set_jit_context(None)
    return context.reads
