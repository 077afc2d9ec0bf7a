"""``torch.export.load`` of torch's archives: a graph, its signature, tensors and sizes."""

from __future__ import annotations

import io
import json
import operator
from typing import Any

import numpy as np

from ... import serialization
from ..._src.serialization.loaded import LoadedStorage, TypedRef
from ..._src.serialization.rebuild import strided
from ..._src.serialization.zipfile_format import ZipReader
from ...fx.graph import Graph
from ...fx.graph_module import GraphModule
from ...fx.node import Node
from ...utils._pytree import tree_unflatten
from ...utils._trees.spec import TreeSpec
from .._file import operator_of, structure_of
from ..graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from .guards import Guards
from .higher_order import CALLS
from .values import DTYPES, MAJOR, Unreadable, entry, read_argument, target_of, variant


def is_pt2(reader: ZipReader) -> bool:
    """Return whether an archive is one of torch.export."""
    return reader.has("archive_format")


class Parts:
    """The parts of a program in a file."""

    module: GraphModule
    signature: ExportGraphSignature
    structure: TreeSpec  # of the arguments
    form: TreeSpec  # of the result
    parameters: dict[str, Any]
    buffers: dict[str, Any]
    constants: dict[str, Any]
    example: tuple[tuple[Any, ...], dict[str, Any]] | None
    guards: Guards


def _json(reader: ZipReader, path: str) -> Any:
    _check_stored(reader, path)
    try:
        return json.loads(reader.read(path))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{path}: {type(error).__name__}: {error}") from None


def _check_stored(reader: ZipReader, path: str) -> None:
    if not reader.is_stored(path):
        raise Unreadable(f"PytorchStreamReader failed reading zip archive: {path} is compressed, which torch.export.save does not")


def _sizes(numbers: Any) -> tuple[int, ...]:
    found = tuple(number["as_int"] for number in numbers)
    if not all(type(number) is int for number in found):
        raise Unreadable("a size of a tensor in the file is no number")
    return found


class _Tensors:
    """The tensors of a folder of the archive; those of one record share memory."""

    def __init__(self, reader: ZipReader, folder: str) -> None:
        self._reader, self._folder = reader, folder
        self._storages: dict[str, LoadedStorage] = {}

    def all(self) -> dict[str, tuple[Any, bool]]:
        """Return a dict from names to (tensor, whether it is a parameter)."""
        path = f"{self._folder}/model_{self._folder.rpartition('/')[2]}_config.json"
        if not self._reader.has(path):
            return {}
        config = _json(self._reader, path)["config"]
        return {name: (self._tensor(meta), bool(meta["is_param"])) for name, meta in config.items()}

    def _tensor(self, meta: Any) -> Any:
        path = f"{self._folder}/{meta['path_name']}"
        _check_stored(self._reader, path)
        if meta["use_pickle"]:
            return serialization.load(io.BytesIO(self._reader.read(path)), weights_only=True)
        if path not in self._storages:
            self._storages[path] = LoadedStorage(self._reader.read_into(path, np.empty(0, np.uint8)))
        form = meta["tensor_meta"]
        dtype = entry(DTYPES, form["dtype"], "dtype")
        ref = TypedRef(self._storages[path], dtype)
        return strided(
            ref, dtype, form["storage_offset"]["as_int"], _sizes(form["sizes"]), _sizes(form["strides"]), bool(form["requires_grad"])
        )


def _graph(data: Any) -> GraphModule:
    """Return the graph of its JSON. Graphs that its calls run become its submodules."""
    graph, nodes, inner = Graph(), dict[str, Node](), dict[str, Any]()
    for number, union in enumerate(data["inputs"]):
        kind, value = variant(union)
        name = value["name"] if kind == "as_tensor" else value["as_name"] if kind.startswith("as_sym") else f"constant_{number}"
        nodes[name] = graph.create_node("placeholder", _identifier(name), (), {}, name=name)
        nodes[name].name = name  # also one of Python's own names, such as ``input``
    for item in data["nodes"]:
        _add(graph, nodes, inner, item)
    results = [read_argument(union, nodes) for union in data["outputs"]]
    graph.output(results[0] if data.get("is_single_tensor_return") and len(results) == 1 else tuple(results))
    return GraphModule(inner, graph)


def _identifier(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise Unreadable(f"{str(name)[:80]!r} is no name of a value")
    return name


def _add(graph: Graph, nodes: dict[str, Node], inner: dict[str, Any], item: Any) -> None:
    text = item["target"]
    within = CALLS.get(text) if isinstance(text, str) else None
    args, kwargs = [], {}
    for part in item["inputs"]:
        kind, value = variant(part["arg"])
        if kind == "as_graph" and within is not None:
            name = f"graph_{len(inner)}"
            inner[name] = _graph(value["graph"])
            read = graph.create_node("get_attr", name, (), {})
        else:
            read = read_argument(part["arg"], nodes)
        if part.get("kind") == 2:
            kwargs[_identifier(part["name"])] = read
        else:
            args.append(read)
    target = within or target_of(text, lambda name: operator_of(name, kwargs))
    outputs = item["outputs"]
    kind, value = variant(outputs[0]) if len(outputs) == 1 else ("", outputs)
    listed = kind in ("as_tensors", "as_optional_tensors")
    single = len(outputs) == 1 and not listed and (within is None or item.get("is_hop_single_tensor_return", True))
    if single and kind != "as_none":
        name = _name_of(outputs[0])
        nodes[name] = graph.create_node("call_function", target, tuple(args), kwargs, name=name)
        return
    title = item.get("name")
    node = graph.create_node("call_function", target, tuple(args), kwargs, name=None if title is None else _identifier(title))
    if not single:
        for place, part in enumerate(value if listed else outputs):
            if "name" not in part and variant(part)[0] == "as_none":
                continue
            own = _identifier(part["name"]) if "name" in part else _name_of(part)
            nodes[own] = graph.create_node("call_function", operator.getitem, (node, place), {}, name=own)


def _name_of(union: Any) -> str:
    kind, value = variant(union)
    if kind not in ("as_tensor", "as_sym_int", "as_sym_bool", "as_sym_float"):
        raise Unreadable(f"mstorch: a call of the program has a result of a kind that is not supported: {kind}")
    return _identifier(value["name"] if kind == "as_tensor" else value["as_name"])


_STATE = {
    "parameter": (InputKind.PARAMETER, "parameter_name"),
    "buffer": (InputKind.BUFFER, "buffer_name"),
    "tensor_constant": (InputKind.CONSTANT_TENSOR, "tensor_constant_name"),
}
_RESULTS = {
    "buffer_mutation": (OutputKind.BUFFER_MUTATION, "buffer_name"),
    "parameter_mutation": (OutputKind.PARAMETER_MUTATION, "parameter_name"),
    "user_input_mutation": (OutputKind.USER_INPUT_MUTATION, "user_input_name"),
    "loss_output": (OutputKind.LOSS_OUTPUT, None),
    "gradient_to_parameter": (OutputKind.GRADIENT_TO_PARAMETER, "parameter_name"),
    "gradient_to_user_input": (OutputKind.GRADIENT_TO_USER_INPUT, "user_input_name"),
}


def _argument(union: Any, number: int) -> Any:
    kind, value = variant(union)
    if kind == "as_tensor":
        return TensorArgument(_identifier(value["name"]))
    if kind.startswith("as_sym") and variant(value)[0] == "as_name":
        return TensorArgument(_identifier(variant(value)[1]))
    return ConstantArgument(f"constant_{number}", read_argument(union, {}))


def _signature(data: Any, names: list[str]) -> ExportGraphSignature:
    inputs, outputs = [], []
    for number, union in enumerate(data["input_specs"]):
        kind, spec = variant(union)
        if kind == "user_input":
            inputs.append(InputSpec(InputKind.USER_INPUT, _argument(spec["arg"], number), None))
        elif kind == "constant_input":
            inputs.append(InputSpec(InputKind.USER_INPUT, ConstantArgument(names[number], read_argument(spec["value"], {})), None))
        else:
            what, key = entry(_STATE, kind, "kind of input")
            inputs.append(InputSpec(what, TensorArgument(_identifier(spec["arg"]["name"])), str(spec[key]), spec.get("persistent")))
    for number, union in enumerate(data["output_specs"]):
        kind, spec = variant(union)
        if kind == "user_output":
            outputs.append(OutputSpec(OutputKind.USER_OUTPUT, _argument(spec["arg"], number)))
        else:
            what, key = entry(_RESULTS, kind, "kind of output")
            outputs.append(OutputSpec(what, TensorArgument(_identifier(spec["arg"]["name"])), None if key is None else str(spec[key])))
    return ExportGraphSignature(inputs, outputs)


def program_of(data: Any) -> Parts:
    """Return the parts of a program that its JSON tells: all but the tensors. Raise Unreadable for another version of the schema."""
    if data["schema_version"]["major"] != MAJOR:
        raise Unreadable(f"the program is of schema version {data['schema_version']['major']!r}, and mstorch reads {MAJOR}")
    parts = Parts()
    parts.module = _graph(data["graph_module"]["graph"])
    names = [node.name for node in parts.module.graph.nodes if node.op == "placeholder"]
    parts.signature = _signature(data["graph_module"]["signature"], names)
    calls = [call["signature"] for call in data["graph_module"]["module_call_graph"] if call["fqn"] == ""]
    parts.structure, parts.form = structure_of(calls[0]["in_spec"]), structure_of(calls[0]["out_spec"])
    parts.guards = Guards(data, parts.signature)
    return parts


def read(reader: ZipReader, name: str = "model") -> Parts:
    """Return the parts of the program of that name. Raise Unreadable for a damaged file, and for what mstorch does not have."""
    if reader.read("archive_format", 16) != b"pt2":
        raise Unreadable("the archive's format is not pt2")
    parts = program_of(_json(reader, f"models/{name}.json"))
    weights = _Tensors(reader, "data/weights").all()
    constants = _Tensors(reader, "data/constants").all()
    parts.parameters = {key: value for key, (value, is_parameter) in weights.items() if is_parameter}
    parts.buffers = {key: value for key, (value, is_parameter) in weights.items() if not is_parameter}
    parts.constants = {key: value for key, (value, _) in constants.items()}
    # A buffer that is not in the state_dict is among the constants.
    for spec in parts.signature.input_specs:
        if spec.kind is InputKind.BUFFER and spec.target in parts.constants:
            parts.buffers[spec.target] = parts.constants.pop(spec.target)
    parts.example = _example(reader, name, parts.structure)
    return parts


def _example(reader: ZipReader, name: str, structure: TreeSpec) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Return the arguments with which the program was made; None if the file does not tell them."""
    for path in ("data/sample_inputs/leaves.pt", f"data/sample_inputs/{name}.pt"):
        if reader.has(path):
            _check_stored(reader, path)
            example = serialization.load(io.BytesIO(reader.read(path)), weights_only=True)
            if isinstance(example, list):
                example = tree_unflatten(example, structure)
            if isinstance(example, tuple) and len(example) == 2:
                return tuple(example[0]), dict(example[1])
    return None
