"""Modes after a backward whose hooks left them on, or that was interrupted at any bytecode."""
from __future__ import annotations

import sys
from typing import Any

import pytest

import mstorch
from mstorch._src.core.modes import modes
from mstorch._src.tape import engine, passes
from mstorch.autograd import grad_mode

ENTERED = ("no_grad", "inference_mode", "saved_tensors_hooks")


def _context(name: str) -> Any:
    kind = mstorch.autograd.graph.saved_tensors_hooks
    return kind(lambda x: x, lambda x: x) if name == "saved_tensors_hooks" else getattr(mstorch, name)()


@pytest.mark.parametrize("name", ENTERED)
def test_contexts_entered_by_an_unpack_hook_end_with_backward(name):
    """As in torch, which is not run here: in torch, contexts that are never left would remain active in later tests."""
    entered = []

    def unpack(x):
        entered.append(_context(name))
        entered[-1].__enter__()
        return x

    x = mstorch.ones(2, requires_grad=True)
    with mstorch.autograd.graph.saved_tensors_hooks(lambda x: x, unpack):
        y = (x * x).exp()
    before = _state()
    y.sum().backward()
    assert entered and _state() == before
    assert x.grad.tolist() == pytest.approx([2 * 2.718281828] * 2)


def _state() -> tuple[Any, ...]:
    running = passes.running
    return modes.grad, modes.inference, modes.marks, len(modes.saved_hooks), len(running.passes), len(running.accumulates)


def _injected(function: Any, place: int, codes: tuple[Any, ...] = (engine.run.__code__, engine._walk.__code__)) -> bool:
    """Call the function with an interrupt at a bytecode of these functions; return whether there were so many bytecodes."""
    left = [place]

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code not in codes:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and not _restores(frame):
            if not left[0]:
                sys.settrace(None)
                left[0] = -1
                raise KeyboardInterrupt
            left[0] -= 1
        return trace

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # Python 3.12 reports bytecodes where a frame requested them before
    sys.settrace(trace)
    try:
        function()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return left[0] == -1


def _restores(frame: Any) -> bool:
    """Return whether a frame executes the lines that restore modes, during which no signal handler runs."""
    return frame.f_lineno is None or (frame.f_code is engine.run.__code__ and frame.f_lineno >= _RESTORING)


def _line_of(text: str) -> int:
    with open(engine.__file__, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


_RESTORING = _line_of("modes.grad, modes.inference, modes.marks = mode, inference, marks")


def test_an_interrupt_anywhere_in_backward_leaves_no_mode():
    before = _state()
    place = 0
    while True:
        x = mstorch.ones(2, requires_grad=True)
        y = (x * x).exp().sum() + x.sum()
        reached = _injected(y.backward, place)
        assert _state() == before, place
        if not reached:
            break
        place += 1
    assert place > 100
    mstorch.ones(2, requires_grad=True).sum().backward()


@pytest.mark.parametrize("kind", [mstorch.no_grad, mstorch.inference_mode, mstorch.enable_grad])
def test_an_interrupt_anywhere_in_a_mode_ends_with_the_decorated_function(kind):
    decorated = kind()(lambda: None)
    codes = tuple(function.__code__ for function in (kind.__enter__, kind._enter, grad_mode._set))  # __exit__ is built in
    before = _state()
    place = 0
    while _injected(decorated, place, codes):
        assert _state() == before, place
        place += 1
    assert place > 20
