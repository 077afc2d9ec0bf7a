"""A module's graph in MindIR format."""
from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from .._src.backend import tape, trace
from .._src.backend.cell import is_cell, is_raw, with_plain_tensors
from .._src.backend.mindir import SizesError, merged, run_file
from .._src.backend.raw import Raw
from .._src.compile import verify
from .._src.compile.compiled import _states, inside
from .._src.compile.functional import exchanged, stand_in
from .._src.compile.guards import Guards
from .._src.compile.memory import state_value
from .._src.compile.trees import flatten
from .._src.core.generator import streams_aside
from .._src.core.tensor_base import TensorBase, value_of
from .._src.core.varying_dims import Dims, dims_of
from .._src.ops.shape.join import cat
from .._src.serialization.atomic import replacing
from .._tensor import from_mindspore
from ..autograd.grad_mode import no_grad
from ..nn.modules.module import Module


def export_mindir(
    module: Callable[..., Any], *inputs: Any, path: str | os.PathLike[str], dynamic_shapes: Any = None, dynamic_axes: Any = None
) -> str:
    """Export a module's graph for inputs like these to a .mindir file, and return its path.

    ``mindspore.nn.GraphCell(mindspore.load(path))`` computes the same. The inputs (tensors of either library) give shapes and dtypes;
    weights become constants. ``dynamic_shapes`` (``({0: "batch"}, None)``, for each input or by the name of ``forward``'s argument) or
    ``dynamic_axes`` (``{"x": {0: "batch"}}``) say which sizes vary, as in ``torch.onnx.export``; sizes of one name are the same. The module
    runs on inputs of further sizes then, and the file is compared with it for sizes that it was not made of. Raise RuntimeError if the
    module reads values of tensors, draws random numbers or changes its state: call ``eval()`` first; or if it computes something for sizes
    that vary that a graph cannot express.
    """
    given = [from_mindspore(value) if is_raw(value) else value for value in inputs]
    for value in given:
        if not isinstance(value, TensorBase):
            raise TypeError(f"export_mindir expects tensors as inputs, not {type(value).__name__}")
    target = os.fspath(path)
    if not target.endswith(".mindir"):
        target += ".mindir"
    if is_cell(module) and not isinstance(module, Module):
        module = _Holder(module)
    function = module._call_impl if isinstance(module, Module) else module
    names = _names(module, len(given)) if dynamic_shapes is not None or dynamic_axes else []
    dims = dims_of(given, names, dynamic_axes, dynamic_shapes, names, RuntimeError)
    with streams_aside(), no_grad(), inside:
        data = _varying(function, given, dims) if dims else _checked(function, given)
    with replacing(target) as file:
        file.write(data)
    return target


class _Holder(Module):
    """A Module of one native Cell, which takes and gives torch's tensors as its child."""

    def __init__(self, cell: Any) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, *inputs: Any) -> Any:
        return self.cell(*inputs)


def _names(module: Callable[..., Any], count: int) -> list[str]:
    """Return the names of inputs: those of the arguments, and ``input_NUMBER`` for those without."""
    parameters = inspect.signature(getattr(module, "forward", module)).parameters.values()
    names = [one.name for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)][:count]
    return names + [f"input_{number}" for number in range(len(names), count)]


def _graph(function: Callable[..., Any], given: Sequence[Any]) -> bytes:
    """Return the graph of a function for inputs of one size, after it was compared with the function."""
    graph, raws, _ = _captured(function, given)
    _compare(function, given, graph(raws))
    return graph.mindir()


def _checked(function: Callable[..., Any], given: Sequence[Any]) -> bytes:
    """Return the graph after its file was compared with the function: MindSpore writes no values of what it has only on the way."""
    data = _graph(function, given)
    try:
        _compare(function, given, _run(data, given))
    except (RuntimeError, ValueError, TypeError) as error:
        raise RuntimeError(f"export_mindir: the file differs from the module: {error}") from error
    return data


def _run(data: bytes, inputs: Sequence[Any]) -> list[Raw]:
    """Return what MindSpore computes of a file."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "graph.mindir")
        with open(file, "wb") as stream:
            stream.write(data)
        return run_file(file, [tape.detached(value_of(tensor)) for tensor in inputs])


def _compare(function: Callable[..., Any], given: Sequence[Any], results: Sequence[Raw]) -> None:
    wanted: list[Any] = []
    flatten(function(*given), wanted)
    for tensor, got in zip(wanted, results):
        verify.same(value_of(tensor), got, "value")


def _varying(function: Callable[..., Any], given: Sequence[Any], dims: Dims) -> bytes:
    """Return the graph for sizes that vary, of graphs for the inputs' sizes, and for each size doubled."""
    words = list(dict.fromkeys(name for _, _, name in dims))
    first = [next((number, axis) for number, axis, name in dims if name == word) for word in words]
    for number, axis, name in dims:
        if given[number].shape[axis] != given[first[words.index(name)][0]].shape[first[words.index(name)][1]]:
            raise RuntimeError(f"export_mindir: the sizes called {name!r} differ")
    # A size of 1, which broadcasting treats otherwise, becomes 2 and 4.
    base = [2 if given[number].shape[axis] == 1 else 1 for number, axis in first]
    graphs, sizes = [], []
    for changed in (None, *range(len(words))):
        times = [factor * (1 + (place == changed)) for place, factor in enumerate(base)]
        inputs = _longer(given, dims, words, times)
        graphs.append(_graph(function, inputs))
        sizes.append([inputs[number].shape[axis] for number, axis in first])
    try:
        data = merged(graphs, sizes, first)
    except SizesError as error:
        raise RuntimeError(f"export_mindir: no graph for sizes that vary: {error}") from None
    # The file itself is compared, for sizes that no graph was made of, and for a size of 1.
    for inputs in (_longer(given, dims, words, [3 + place for place in range(len(words))]), _longer(given, dims, words, None)):
        try:
            _compare(function, inputs, _run(data, inputs))
        except (RuntimeError, ValueError, TypeError) as error:
            shown = ", ".join(f"{word} = {inputs[number].shape[axis]}" for word, (number, axis) in zip(words, first))
            raise RuntimeError(f"export_mindir: the graph for sizes that vary differs from the module for {shown}: {error}") from error
    return data


def _longer(given: Sequence[Any], dims: Dims, words: Sequence[str], times: Sequence[int] | None) -> list[Any]:
    """Return the inputs with each size that varies so many times as long; None: 1 long."""
    inputs = list(given)
    for number, axis, name in dims:
        if times is None:
            inputs[number] = inputs[number].narrow(axis, 0, 1).clone()
        elif times[words.index(name)] > 1:
            inputs[number] = cat([inputs[number]] * times[words.index(name)], axis)
    return inputs


def _captured(function: Callable[..., Any], given: Sequence[Any]) -> tuple[trace.Graph, list[Raw], int]:
    guards = Guards(function, strict=False)
    for cell in list(guards.natives):
        for _, part in cell.cells_and_names():
            if isinstance(part, Module):  # within a native Cell: its parameters are inputs of the capture, too
                guards.look(part, type(part).__name__)
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
