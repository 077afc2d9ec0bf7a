"""Files of exported programs: a graph as plain data, which names operators of ``torch.ops`` only, and tensors.

The file is one of ``torch.save`` that ``weights_only=True`` can load. mstorch wrote it up to 0.3; now it writes torch's ``.pt2``.
"""
from __future__ import annotations

import json
import operator
from collections.abc import Callable
from typing import Any, TypeVar

from .. import ops, serialization
from .._src.core.device import device
from .._src.core.dtype import by_name
from .._src.core.formats import by_name as format_named
from .._tensor import Tensor
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..nn.modules.module import Module
from ..ops import OpOverload
from ..utils._pytree import TreeSpec, tree_flatten, tree_unflatten, treespec_dumps, treespec_loads
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

_Program = TypeVar("_Program")
_FORM = "mstorch.export 2"
_FORMS = ("mstorch.export 1", _FORM)  # files of the first format contain structures as values


_READERS: dict[str, Callable[[str], Any]] = {"dtype": by_name, "device": device, "format": format_named}


def _read(value: Any, nodes: dict[str, Node]) -> Any:
    if isinstance(value, list):
        found = [_read(item, nodes) for item in value[1:]]
        return tuple(found) if value[0] else found
    if not isinstance(value, dict):
        return value
    ((word, text),) = value.items()
    if word == "node":
        return nodes[text]
    if word == "complex":
        return complex(*text)
    return _READERS[word](text)


def _target(text: str) -> OpOverload | Callable[..., Any]:
    """Return the operator of a name. Raise ValueError for one that torch has no schema of (a function of mstorch may be found by its name
    in ``torch.ops``, ``torch.load`` among them), and one that reads or writes files."""
    if text == "getitem":
        return operator.getitem
    namespace, packet, overload = text.split(".")
    space = getattr(ops, namespace)
    found = getattr(getattr(space, packet), overload) if isinstance(space, type(ops.aten)) else None
    if not isinstance(found, OpOverload) or found._known is None:
        raise ValueError(f"{text} is no operator of torch.ops")
    if any(argument.name == "filename" for argument in found._known.arguments):  # from_file, save
        raise ValueError(f"{text} opens files, which a program from a file must not")
    return found


def operator_of(text: str, kwargs: dict[str, Any]) -> OpOverload | Callable[..., Any]:
    """Return the operator of a call. Raise ValueError for keyword arguments that its schema does not have."""
    target = _target(text)
    known = {argument.name for argument in target._known.arguments} if isinstance(target, OpOverload) and target._known else set()
    strange = [name for name in kwargs if name not in known]
    if strange:
        raise ValueError(f"{text} has no argument {strange[0]!r}")
    return target


def check_name(name: str) -> None:
    """Raise ValueError for a name of a tensor that a module has for one of its own members."""
    if any(part != "_" and hasattr(Module, part) for part in name.split(".")):
        raise ValueError(f"{name!r} is no tensor of a program")


def _check_tensors(data: dict[str, Any]) -> None:
    """Raise ValueError for constants and state that are no tensors, or whose names a module has for its own members."""
    for kind in ("constants", "parameters", "buffers"):
        for name, value in data[kind].items():
            check_name(name)
            if not isinstance(value, Tensor):
                raise ValueError(f"{name!r} is no tensor of a program")
    for kind, _, _, _, target, _ in data["inputs"]:
        place = {"PARAMETER": "parameters", "BUFFER": "buffers"}.get(kind)
        if target is not None and (place is None or target not in data[place]):
            raise ValueError(f"the program has no {kind.lower()} {target!r}")


def text_of(form: TreeSpec) -> str:
    """Serialize a TreeSpec. Raise NotImplementedError for a type without a serialized name, or one that loading would have to import."""
    text = treespec_dumps(form)
    if _imports(json.loads(text)[1]):
        raise NotImplementedError(f"mstorch: torch.export.save has no form for {form}")
    return text


def _imports(described: dict[str, Any]) -> bool:
    """Return whether loading a TreeSpec imports a module that it names, for an enum or a defaultdict's factory."""
    context = described["context"]
    if described["type"] == "collections.defaultdict":
        return context["default_factory_module"] != "builtins" or _imports_below(described)
    return isinstance(context, str) and "__enum__" in context or _imports_below(described)


def _imports_below(described: dict[str, Any]) -> bool:
    return any(map(_imports, described["children_spec"]))


def structure_of(text: str) -> TreeSpec:
    if _imports(json.loads(text)[1]):
        raise ValueError("the file names a module to import, which torch.export.load does not")
    return treespec_loads(text)


def load(f: Any, make: Callable[..., _Program]) -> _Program:
    """Load a program, constructed by ``make`` from its parts. Raise ValueError for other files, and for damaged ones."""
    data = serialization.load(f, weights_only=True)
    if not isinstance(data, dict) or data.get("form") not in _FORMS:
        raise ValueError("the file holds no program that torch.export.save of mstorch wrote")
    try:
        return _program(data, make)
    except (LookupError, AttributeError, TypeError, RuntimeError, AssertionError, SyntaxError) as error:
        raise ValueError(f"the file holds a damaged program ({type(error).__name__}: {error})") from error


def _program(data: dict[str, Any], make: Callable[..., _Program]) -> _Program:
    _check_tensors(data)
    graph, nodes = Graph(), dict[str, Node]()
    for item in data["nodes"]:
        op, name, target = item["op"], item["name"], item["target"]
        args = _read(item["args"], nodes)
        kwargs = {key: _read(value, nodes) for key, value in item["kwargs"].items()}
        if op == "output":
            graph.output(args[0])
            continue
        if op not in ("placeholder", "get_attr", "call_function"):
            raise ValueError(f"a graph of torch.export has no nodes that are {op}")
        if op != "call_function" and (not isinstance(target, str) or kwargs):
            raise ValueError(f"{target!r} is no name of an input")
        nodes[name] = graph.create_node(op, operator_of(target, kwargs) if op == "call_function" else target, args, kwargs, name=name)
    inputs = [
        InputSpec(InputKind[kind], TensorArgument(name) if is_tensor else ConstantArgument(name, value), target, persistent)
        for kind, name, is_tensor, value, target, persistent in data["inputs"]
    ]
    outputs = [
        OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(name) if is_tensor else ConstantArgument(name, value))
        for name, is_tensor, value in data["outputs"]
    ]
    form, example = data["nested"], data["example"]
    if data["form"] == _FORM:
        form, example = structure_of(form), tree_unflatten(example[0], structure_of(example[1]))
    else:
        form = tree_flatten(form)[1]
    module, signature = GraphModule(data["constants"], graph), ExportGraphSignature(inputs, outputs)
    return make(module, signature, form, data["parameters"], data["buffers"], example)
