"""A module's graph in MindIR format."""
from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from .._src.backend import tape, trace
from .._src.backend.cell import is_raw, with_plain_tensors
from .._src.backend.raw import Raw
from .._src.compile import verify
from .._src.compile.compiled import _states, inside
from .._src.compile.functional import exchanged, stand_in
from .._src.compile.guards import Guards
from .._src.compile.memory import state_value
from .._src.compile.trees import flatten
from .._src.core.generator import streams_aside
from .._src.core.tensor_base import TensorBase, value_of
from .._src.serialization.atomic import replacing
from .._tensor import from_mindspore
from ..autograd.grad_mode import no_grad
from ..nn.modules.module import Module


def export_mindir(module: Callable[..., Any], *inputs: Any, path: str | os.PathLike[str]) -> str:
    """Export a module's graph for inputs like these to a .mindir file, and return its path.

    ``mindspore.nn.GraphCell(mindspore.load(path))`` computes the same. The inputs (tensors of either library) give shapes and dtypes;
    weights become constants. Raise RuntimeError if the module reads values of tensors, draws random numbers or changes its state: call
    ``eval()`` first.
    """
    given = [from_mindspore(value) if is_raw(value) else value for value in inputs]
    for value in given:
        if not isinstance(value, TensorBase):
            raise TypeError(f"export_mindir expects tensors as inputs, not {type(value).__name__}")
    target = os.fspath(path)
    if not target.endswith(".mindir"):
        target += ".mindir"
    function = module._call_impl if isinstance(module, Module) else module
    with streams_aside(), no_grad(), inside:
        graph, raws, _ = _captured(function, given)
        wanted: list[Any] = []
        flatten(function(*given), wanted)
        for tensor, got in zip(wanted, graph(raws)):
            verify.same(value_of(tensor), got, "value")
    with replacing(target) as file:
        file.write(graph.mindir())
    return target


def _captured(function: Callable[..., Any], given: Sequence[Any]) -> tuple[trace.Graph, list[Raw], int]:
    guards = Guards(function, strict=False)
    states = _states(guards)
    # Plain tensors: a mindspore.Parameter would be written without its values.
    state_raws = [tape.detached(state_value(tensor)) for tensor in states]
    raws = [tape.detached(value_of(tensor)) for tensor in given]

    def body(context: trace.Capture) -> Sequence[Raw]:
        with exchanged(states, state_raws) as block:
            outputs: list[Any] = []
            flatten(function(*map(stand_in, given, raws)), outputs)
            found = [value_of(tensor) for tensor in outputs]
            if any(block.cell(tensor._ms_storage, tensor._ms_dtype.np).raw is not raw for tensor, raw in zip(states, state_raws)):
                raise RuntimeError("export_mindir: the module changes its buffers or parameters; call eval() first")
        if not found or any(id(raw) not in context.depends for raw in found):
            raise RuntimeError("export_mindir: every output must be a tensor that depends on the inputs")
        return found

    with with_plain_tensors(guards.natives):
        graph, context = trace.capture(body, raws, "mindir")
    if context.draws:
        raise RuntimeError("export_mindir: the module draws random numbers; call eval() first")
    assert graph is not None
    return graph, raws, graph.outputs
