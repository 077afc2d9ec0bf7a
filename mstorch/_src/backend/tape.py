"""MindSpore's native autograd: grad mode, backward, hooks, custom functions. The only file that uses its private names.

Observed on MindSpore 2.7.2 to 2.10: recording needs ``set_grad_flag(True)``, which ``mindspore.value_and_grad`` turns off again;
``set_enable_grad`` is the grad mode. ``accumulate_grad=True`` fails for lack of a ``Clone`` kernel, so the leaves are passed as inputs and
their gradients returned. A leaf that is an input together with one of its own descendants gets None, so gradients of non-leaves are caught
by hooks.
"""
from __future__ import annotations

import functools
import operator
import sys
from collections import deque
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

import mindspore
import mindspore._c_expression as _native
from mindspore._c_expression.amp import AmpLevel, get_curr_amp_strategy

from ..leaving import END, Block, Undo, each, undoing
from .mindspore_errors import CHANGED, TWICE, meaning
from .raw import NAME_OF, Raw

try:
    from mindspore.graph.api import _pynative_executor
    from mindspore.graph.jit_context import jit_context
except ModuleNotFoundError:  # MindSpore 2.7 and 2.8 keep the executor in mindspore.common.api
    from mindspore.common.api import _pynative_executor
    from mindspore.common.jit_context import jit_context

try:
    from mindspore import _Function as _NativeFunction
except ImportError:
    from mindspore.common._grad_function import _Function as _NativeFunction



def tracing() -> Any:
    """Return the capture that this thread runs (under jit(capture_mode="trace")), or None: MindSpore has one for all threads."""
    context = jit_context()
    return context if context is None or getattr(context, "thread", None) in (None, get_ident()) else None


class _GradMode:
    """Grad mode. ``enabled`` is a copy of MindSpore's switch that is cheap to read."""

    __slots__ = ("enabled",)

    def __init__(self) -> None:
        self.enabled = True


grad_mode = _GradMode()
_set_enable_grad = _pynative_executor._executor.set_enable_grad
_set_enable_grad(True)


def set_grad_enabled(mode: bool) -> None:
    """Set MindSpore's grad mode."""
    grad_mode.enabled = mode
    _set_enable_grad(mode)


def grad_enabled_again() -> Callable[[], Any]:
    """Return a function that restores MindSpore's current grad mode."""
    before = grad_mode.enabled
    return each(functools.partial(setattr, grad_mode, "enabled", before), functools.partial(_set_enable_grad, before))


@undoing
def native_set_to(undo: Undo, enabled: bool) -> None:
    """Context manager that sets MindSpore's grad mode."""
    undo[END:] = (grad_enabled_again(),)
    set_grad_enabled(enabled)


_recording = _pynative_executor._executor.grad_flag
_set_recording = _pynative_executor._executor.set_grad_flag
_started = [False]  # whether mstorch has turned the flag on
_restarts = [0]  # how often it has done so
_running = [0]  # number of running backward passes, including nested ones


def start_recording() -> None:
    """Make MindSpore record operations for autograd; called before every operation whose gradient may be needed.

    ``mindspore.value_and_grad``, failed kernels and the end of a backward pass switch the flag off.
    """
    if not _recording():
        _set_recording(True)
        _started[0] = True
        _restarts[0] += 1


def is_recording() -> bool:
    """Return whether MindSpore records operations for autograd."""
    return _recording()


def set_recording(on: bool) -> None:
    """Restore MindSpore's grad flag (whether it records operations) after MindSpore's own code has set it."""
    _set_recording(on)


def recording_again() -> Callable[[], Any]:
    """Return a function that restores the current grad flag of MindSpore."""
    return functools.partial(_set_recording, _recording())


def stop_recording() -> None:
    """Clear MindSpore's grad flag if mstorch set it: otherwise MindSpore's own training fails to find its graph."""
    if _started[0]:
        _set_recording(False)
        _started[0] = False


def restarts() -> int | None:
    """Return a number that changes if MindSpore's recording ends and mstorch begins another one; None while nothing is recorded."""
    return _restarts[0] if _recording() else None


class lent(Block):
    """Context manager for mstorch code that MindSpore calls. If MindSpore is recording for autograd on entry, the code in the block cannot
    stop the recording. Otherwise a recording that the block starts is stopped on exit."""

    def __enter__(self) -> None:
        if _recording():
            self.at_end(functools.partial(operator.setitem, _started, 0, _started[0]))
            _started[0] = False
        else:  # stop_recording() made of built-in functions: turn the flag off if mstorch turned it on
            stop: Callable[[], Any] = functools.partial(deque, map(_set_recording, map(operator.not_, filter(None, _started))), 0)
            self.at_end(each(stop, functools.partial(operator.setitem, _started, 0, False)))


@undoing
def own_dtypes(undo: Undo) -> None:
    """Context manager in which operations keep their dtypes, whatever ``Cell.to_float`` requests."""
    set_type = _pynative_executor._executor.set_mixed_precision_type
    none = _native.MixedPrecisionType.NOTSET
    end = functools.partial(set_type, none, False)
    undo[END:] = (end,)  # directly before the change that it undoes, so that no interrupt comes between
    set_type(none, True)


def in_own_dtypes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function whose body is one ``with`` statement with ``own_dtypes``: ``refill_dtypes`` finds its frames."""
    _in_own_dtypes.add(function.__code__)
    return function


_in_own_dtypes: set[Any] = set()
_complex_call = getattr(getattr(mindspore.nn.Cell, "_complex_call", None), "__code__", None)


def refill_dtypes() -> None:
    """Make MindSpore's stack of dtypes (of ``Cell.to_float``) that of the calls that are running, after an exception.

    MindSpore clears the stack after some errors and not after others, and leaves its own entries there; to take one from an empty stack
    ends the process with a segmentation fault. So nothing is taken away here: an entry without effect covers what is left, and above it the
    running calls get an entry each, which they will take away.
    """
    push = _pynative_executor._executor.set_mixed_precision_type
    none = _native.MixedPrecisionType.NOTSET
    kinds: list[Any] = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _complex_call:
            kinds.append(frame.f_locals["self"].mixed_precision_type)
        elif frame.f_code in _in_own_dtypes:
            kinds.append(none)
        frame = frame.f_back
    push(none, True)
    wanted = [kind for kind in reversed(kinds) if kind is not None]
    for kind in wanted:
        push(kind, True)
    # A Cell of MindSpore's own that lets the exception pass leaves its entry there: the next entry from MindSpore looks after it.
    _dirty[0] = any(kind is not none for kind in wanted)


def settle_dtypes() -> None:
    """Cover the entries that Cells have left on MindSpore's stack of dtypes after an exception."""
    if _dirty[0]:
        refill_dtypes()


_dirty = [False]


def give_up(cell: Any) -> None:
    """Drop the operations that MindSpore records for a Cell whose call has raised, if the recording began with that call.

    ``value_and_grad`` sets ``requires_grad`` of a Cell for the call, and keeps the old value in a variable.
    """
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "_pynative_func_grad_forward" and frame.f_locals.get("fn") is cell:
            cell.requires_grad = frame.f_locals.get("requires_grad", cell.requires_grad)
        frame = frame.f_back
    if cell.is_top_cell:
        cell.is_top_cell = False
        if not _pynative_executor._executor.high_order():
            forget()
            _started[0] = False


def auto_dtype() -> str | None:
    """Return the dtype in which level "auto" of mindspore.amp computes this call, or None."""
    strategy = get_curr_amp_strategy()
    if strategy is None or strategy.get_amp_level() != AmpLevel.AmpAuto:
        return None
    return NAME_OF[strategy.get_amp_dtype()]


def wait_for_launches() -> None:
    """Wait until MindSpore has launched all kernels, not until they are done; raise the error of a launch that failed."""
    _pynative_executor.sync()


def forget() -> None:
    """Drop the operations that MindSpore has recorded for autograd: after an error they would corrupt its next gradients."""
    _pynative_executor.clear_res()


def mark_leaf(raw: Raw) -> None:
    """Make a MindSpore tensor require grad in MindSpore's autograd."""
    raw.requires_grad_(True)


def is_recorded(raw: Raw) -> bool:
    """Return whether an operation that MindSpore's autograd tracks made this tensor."""
    return raw._grad_node is not None


def is_end(raw: Raw) -> bool:
    """Return whether a tensor is a leaf that requires grad."""
    return raw._requires_grad and raw._is_leaf


def _identity(node: Any) -> Any:
    """Return a key that identifies a node; MindSpore 2.7 has no ids, but leaf names and sequence numbers."""
    unique = getattr(node, "_unique_id", None)
    return (node.name(), node._sequence_nr()) if unique is None else unique()


def leaf_identity(raw: Raw) -> int | None:
    """Return the identity of a leaf in MindSpore's autograd graph, as in ``ends_below``; None if no operation has used the leaf."""
    node = raw._grad_node
    return None if node is None else _identity(node)


def ends_below(raws: Sequence[Raw]) -> set[Any]:
    """Return the identities of the leaves in MindSpore's autograd graph that tensors depend on."""
    waiting = [raw._grad_node for raw in raws]
    seen: set[Any] = set()
    ends: set[Any] = set()
    while waiting:
        node = waiting.pop()
        key = None if node is None else _identity(node)
        if key is None or key in seen:
            continue
        seen.add(key)
        if node.is_leaf():
            ends.add(key)
        waiting.extend(below for below, _ in node.next_functions)
    return ends


def run_backward(
    roots: Sequence[Raw], gradients: Sequence[Raw], inputs: Sequence[Raw], keep_graph: bool, create_graph: bool
) -> tuple[Raw | None, ...]:
    """Return the gradients of the inputs, in order; None for an input on which the roots do not depend."""
    refuse_in_trace("gradients are computed")
    start_recording()
    enabled = grad_mode.enabled
    set_grad_enabled(create_graph)
    _running[0] += 1
    try:
        return _native.run_backward(
            tuple(roots), tuple(gradients), keep_graph, create_graph, tuple(inputs), True, accumulate_grad=False
        )
    except RuntimeError as error:
        about = meaning(error)
        if about is TWICE:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they have "
                "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or "
                "if you need to access saved tensors after calling backward."
            ) from None
        if about is CHANGED:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                + str(error).split("\n", 1)[0]
            ) from None
        raise
    finally:
        set_grad_enabled(enabled)
        _running[0] -= 1
        if not _running[0]:
            stop_recording()


def register_hook(raw: Raw, hook: Callable[[Raw], Raw | None]) -> Any:
    """Register ``hook`` on the gradient of a tensor in MindSpore's autograd graph; a returned value other than None replaces the gradient.
    """
    refuse_in_trace("a hook of a tensor is registered")
    return raw.register_hook(hook)


if hasattr(_native, "_unsafe_set_version_counter"):

    def bump_versions(raws: Sequence[Raw]) -> None:
        """Increment the version counters of these tensors in MindSpore's autograd, so that a backward that needs the old values raises."""
        _native._unsafe_set_version_counter(list(raws), [raw._version + 1 for raw in raws])

else:  # MindSpore 2.7: copying a tensor onto itself counts as a write

    def bump_versions(raws: Sequence[Raw]) -> None:
        """Increment the version counters of these tensors in MindSpore's autograd, so that a backward that needs the old values raises."""
        enabled = grad_mode.enabled
        set_grad_enabled(False)
        for raw in raws:
            raw.copy_(raw)
        set_grad_enabled(enabled)


detached = mindspore.ops.stop_gradient  # returns a detached alias of a raw tensor


class Function(_NativeFunction):
    """Node of MindSpore's autograd with a backward of its own, on MindSpore tensors.

    ``forward(ctx, *args)`` and ``backward(ctx, *gradients)`` are static methods; ``ctx.save_for_backward(*raws)`` saves tensors,
    ``ctx.saved_tensors`` returns them.
    """


class _NoNode:
    """The ``ctx`` of a traced forward, which saves nothing."""

    def save_for_backward(self, *raws: Raw) -> None:
        """Do nothing."""


_add = mindspore.ops.Add()


def _in_own_memory(gradient: Raw | None) -> Raw | None:
    return _add(gradient, 0) if isinstance(gradient, Raw) and gradient._requires_grad else gradient


def eager_node(name: str, forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a raw operation from ``forward(ctx, *args)`` and ``backward(ctx, *gradients)``; not for traces.

    From 2.7.2 to 2.10, MindSpore's engine loses the graph of a gradient that is a view: double backward through Reshape, Transpose,
    BroadcastTo, ReduceSum or ReduceMean silently gives None, or a part of the sum. Tracked calls of these therefore use nodes of mstorch,
    and a gradient that may be differentiated again is copied into memory of its own.
    """

    def ending(ctx: Function, *gradients: Raw) -> Any:
        found = backward(ctx, *gradients)
        if not grad_mode.enabled:
            return found
        return tuple(map(_in_own_memory, found)) if isinstance(found, tuple) else _in_own_memory(found)

    made: Any = type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(ending)})
    return made.apply


def function_node(name: str, forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``eager_node``, of which a trace captures only ``forward``: a graph is differentiated operation by operation."""
    recorded = eager_node(name, forward, backward)

    def apply(*args: Any) -> Raw:
        return recorded(*args) if tracing() is None else forward(_NoNode(), *args)

    return apply


explained: list[Any] = []
"""The recorder of ``torch._dynamo.explain``, while one runs; else empty."""


def refuse_in_trace(what: str, kind: str = "graph") -> None:
    """Abort the current capture, if any: a graph does not support ``what``.

    ``kind``: "graph", or "kernel" for features that MindSpore's graphs lack, or "step" for gradients, around which the rest may run as
    graphs.
    """
    context = tracing()
    if context is not None and hasattr(context, "refuse"):
        context.refuse(what, kind)


def refuse_cpu_in_trace(what: str) -> None:
    """Abort the current capture on a device, if any: MindSpore would compute CPU tensors on the device."""
    refuse_in_trace(f"{what}, and MindSpore's graphs compute on the device", "kernel")


_zeros_like = mindspore.ops.ZerosLike()


def zeros_like(raw: Raw) -> Raw:
    """Return zeros of the same shape and dtype."""
    return _zeros_like(raw) if raw.size else raw


def pull(
    function: Callable[..., Sequence[Raw]], raws: Sequence[Raw], places: Sequence[int], seeds: Sequence[Raw]
) -> tuple[Raw | None, ...]:
    """Return the gradients of ``function(*raws)``, weighted by ``seeds``, with respect to the inputs at ``places``.

    The function runs once, with gradients enabled. If an input is tracked already, by a surrounding ``pull``, the gradients can be
    differentiated again.
    """
    deep = _running_pulls[0] > 0 and any(raw._requires_grad for raw in (*raws, *seeds))
    inputs = list(raws)
    for place in places:
        if not (deep and raws[place]._requires_grad):
            inputs[place] = detached(raws[place])
            mark_leaf(inputs[place])
    if not deep:
        inputs = [detached(raw) if raw._requires_grad and place not in places else raw for place, raw in enumerate(inputs)]
        seeds = [detached(raw) if raw._requires_grad else raw for raw in seeds]
    enabled = grad_mode.enabled
    flag = _recording()
    _running_pulls[0] += 1
    set_grad_enabled(True)
    start_recording()
    try:
        outputs = function(*inputs)
        followed = [i for i, raw in enumerate(outputs) if raw._requires_grad]
        if not followed:
            return (None,) * len(places)
        return run_backward(
            [outputs[i] for i in followed], [seeds[i] for i in followed], [inputs[place] for place in places], deep, deep
        )
    finally:
        _running_pulls[0] -= 1
        set_grad_enabled(enabled)
        if not flag and not _running_pulls[0]:
            _set_recording(False)


_running_pulls = [0]
