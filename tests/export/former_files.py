"""Files of exported programs in mstorch's own former format, which ``torch.export.load`` still reads."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from mstorch import serialization
from mstorch._src.core.device import device
from mstorch._src.core.dtype import dtype
from mstorch._src.core.formats import memory_format
from mstorch.export._file import _FORM, text_of
from mstorch.export.graph_signature import TensorArgument
from mstorch.fx.node import Node
from mstorch.utils._pytree import tree_flatten

_WORDS: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "node": (Node, lambda node: node.name), "dtype": (dtype, lambda kind: kind.name), "device": (device, str),
    "format": (memory_format, lambda value: str(value).rpartition(".")[2]), "complex": (complex, lambda value: [value.real, value.imag]),
}  # fmt: skip


def _written(value: Any) -> Any:
    """Return an argument as plain data. Raise NotImplementedError for a value without a file format."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [type(value) is tuple, *map(_written, value)]
    for word, (kind, text) in _WORDS.items():
        if isinstance(value, kind):
            return {word: text(value)}
    raise NotImplementedError(f"mstorch: torch.export.save has no form for an argument of {type(value).__name__}")


def _node_data(node: Node) -> dict[str, Any]:
    target = node.target if isinstance(node.target, str) else "getitem" if node.target is operator.getitem else str(node.target)
    return {
        "op": node.op, "name": node.name, "target": target, "args": _written(tuple(node.args)),
        "kwargs": {key: _written(value) for key, value in node.kwargs.items()},
    }  # fmt: skip


def _argument(arg: TensorArgument) -> tuple[str, bool, Any]:
    """Return an argument of a signature as (name, whether it is a tensor, its value if not)."""
    return arg.name, isinstance(arg, TensorArgument), getattr(arg, "value", None)


def save(program: Any, f: Any) -> None:
    """Write a program with its tensors to a path or a file, in the former format."""
    module, signature = program.graph_module, program.graph_signature
    inputs = [(spec.kind.name, *_argument(spec.arg), spec.target, spec.persistent) for spec in signature.input_specs]
    outputs = [_argument(spec.arg) for spec in signature.output_specs]
    nodes = [_node_data(node) for node in module.graph.nodes]
    leaves, form = tree_flatten(program.example_inputs)
    serialization.save({
        "form": _FORM, "nodes": nodes, "constants": dict(module.named_buffers()),
        "parameters": {name: value.detach() for name, value in program.named_parameters()}, "buffers": dict(program.named_buffers()),
        "inputs": inputs, "outputs": outputs, "example": (leaves, text_of(form)), "nested": text_of(program.out_spec),
    }, f)  # fmt: skip
