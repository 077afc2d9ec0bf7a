"""``torch.export.save`` in torch's format, which torch reads."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import operator
import re
from pickle import UnpicklingError
from typing import Any

from ... import serialization
from ..._src.core.device import device
from ..._src.core.dtype import dtype
from ..._src.core.formats import layout, memory_format
from ..._src.core.tensor_base import array_of
from ..._src.serialization import adapter
from ..._src.serialization.zipfile_format import ZipWriter
from ..._src.version import TORCH_API
from ..._tensor import Tensor
from ...fx.interpreter import Interpreter
from ...fx.node import Node
from ...ops import OpOverload
from ...utils._pytree import tree_flatten
from .._varying import Told, Unlike, Varying
from ..graph_signature import InputKind, OutputKind
from .values import DTYPES, FORMATS, FUNCTIONS, LAYOUTS, MAJOR

_FUNCTIONS = {function: name for name, function in FUNCTIONS.items() if function is not operator.getitem}
_NUMBERS = {name: number for table in (DTYPES, LAYOUTS, FORMATS) for number, name in table.items()}


class Unwritable(NotImplementedError):
    """Raised for a program that the format cannot hold; it names the call."""


def _size(number: int) -> dict[str, int]:
    return {"as_int": int(number)}


def _meta(tensor: Tensor) -> dict[str, Any]:
    return {
        "dtype": _NUMBERS[tensor.dtype.name],
        "sizes": list(map(_size, tensor.shape)),
        "requires_grad": tensor.requires_grad,
        "device": {"type": tensor.device.type, "index": tensor.device.index},
        "strides": list(map(_size, tensor.stride())),
        "storage_offset": _size(tensor.storage_offset()),
        "layout": 7,
    }


def _float(value: float) -> Any:
    return value if math.isfinite(value) else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


_SCALARS: dict[type, tuple[str, Any]] = {
    bool: ("as_bool", bool),
    int: ("as_int", int),
    float: ("as_float", _float),
    str: ("as_string", str),
}


class _Values(Interpreter):
    """Runs a graph, and keeps what each node computes."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.values: dict[str, Any] = {}

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        self.values[n.name] = value
        return value


class _Writer:
    """Writes one graph."""

    def __init__(self, program: Any) -> None:
        self.program = program
        leaves = tree_flatten(program.example_inputs)[0]
        signature = program.graph_signature
        state = {**dict(program.named_parameters()), **dict(program.named_buffers()), **program.constants}
        inputs = iter(leaves)
        given = [next(inputs) if spec.kind is InputKind.USER_INPUT else state[spec.target] for spec in signature.input_specs]
        self.runs = [self._run(given)]
        self.values = self.runs[0]
        self.told: Told | None = None
        varying = program._varying
        if varying is not None:
            points = varying.points(leaves)
            for point in points[1:]:
                others = iter(varying.inputs(leaves, point))
                self.runs.append(
                    self._run([next(others) if spec.kind is InputKind.USER_INPUT else state[spec.target] for spec in signature.input_specs])
                )
            self.told = Told(varying, points)
        # Constants that the graph holds become inputs, as in torch's programs.
        self.constants = dict(program.graph_module.named_buffers())
        self.lifted: dict[str, str] = {}

    def _run(self, given: list[Any]) -> dict[str, Any]:
        """Return what each node computes of inputs."""
        run = _Values(self.program.graph_module)
        run.run(*(value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value for value in given))
        return run.values

    def keep(self, name: str, values: list[Any]) -> None:
        """Note a value of each run."""
        for run, value in zip(self.runs, values):
            run[name] = value

    def meta(self, name: str) -> dict[str, Any]:
        """Return the JSON of a tensor's form, with sizes that vary. Raise Unwritable if it depends on them in no known way."""
        form = _meta(self.values[name])
        if self.told is not None:
            try:
                form["sizes"], form["strides"], form["storage_offset"] = self.told.tensor([run[name] for run in self.runs])
            except Unlike as error:
                raise Unwritable(f"mstorch: torch.export.save cannot say the sizes of {name}: {error}") from None
        return form

    def size(self, name: str) -> dict[str, Any]:
        """Return the JSON of a number that a node computes."""
        if self.told is None:
            return _size(self.values[name])
        try:
            return self.told.number([run[name] for run in self.runs])
        except Unlike as error:
            raise Unwritable(f"mstorch: torch.export.save cannot say the number {name}: {error}") from None

    def argument(self, value: Any, kind: str = "") -> dict[str, Any]:
        """Return the JSON of an argument. Raise Unwritable for a value that the schema has not."""
        if value is None:
            return {"as_none": True}
        if isinstance(value, Node):
            return self._named(value)
        if type(value) in _SCALARS:
            word, read = _SCALARS[type(value)]
            if type(value) is int and kind.rstrip("?") == "float":
                word, read = "as_float", float
            return {word: read(value)}
        if isinstance(value, dtype):
            return {"as_scalar_type": _NUMBERS[value.name]}
        if isinstance(value, layout):
            return {"as_layout": _NUMBERS[value.name]}
        if isinstance(value, memory_format):
            return {"as_memory_format": _NUMBERS[value.name]}
        if isinstance(value, device):
            return {"as_device": {"type": value.type, "index": value.index}}
        if isinstance(value, complex):
            return {"as_complex": {"real": value.real, "imag": value.imag}}
        if isinstance(value, (list, tuple)):
            return self._listed(list(value), kind)
        raise Unwritable(f"mstorch: torch.export.save has no form for an argument of {type(value).__name__}")

    def _named(self, node: Node) -> dict[str, Any]:
        value = self.values[node.name]
        if isinstance(value, Tensor):
            return {"as_tensor": {"name": self.lifted.get(node.name, node.name)}}
        if type(value) in (int, bool, float):
            return {f"as_sym_{type(value).__name__}": {"as_name": node.name}}
        raise Unwritable(f"mstorch: torch.export.save has no form for {node.name}, which is {type(value).__name__}")

    def _listed(self, values: list[Any], kind: str) -> dict[str, Any]:
        kinds = {type(value) for value in values}
        if "Tensor" in kind or Node in kinds:
            if any(value is None for value in values) or kind.startswith("Tensor?"):
                return {"as_optional_tensors": [self.argument(value) for value in values]}
            parts = [self.argument(value) for value in values]
            if all("as_tensor" in part for part in parts):
                return {"as_tensors": [part["as_tensor"] for part in parts]}
            return {"as_sym_ints": [part.get("as_sym_int", part) for part in parts]}
        if kind.startswith("float") or kinds == {float}:
            return {"as_floats": [_float(float(value)) for value in values]}
        for one, word in ((bool, "as_bools"), (int, "as_ints"), (str, "as_strings")):
            if kinds <= {one}:
                return {"as_ints" if not values else word: values}
        raise Unwritable(f"mstorch: torch.export.save has no form for a list of {', '.join(sorted(one.__name__ for one in kinds))}")

    def nodes(self) -> list[dict[str, Any]]:
        """Return the JSON of the calls; an operator's results are named by the ``getitem`` that read them."""
        written = []
        for node in self.program.graph.nodes:
            if node.op == "get_attr":
                self.lifted[node.name] = f"c_{node.name}"
            if node.op != "call_function" or node.target is operator.getitem and self._reads_results(node):
                continue
            if node.target in _FUNCTIONS:
                written.append(self._arithmetic(node))
                continue
            if not isinstance(node.target, OpOverload) or node.target._known is None or str(node.target).startswith("mstorch."):
                raise Unwritable(f"mstorch: torch.export.save knows operators of torch.ops, and no {node.target} (at {node.name})")
            written.append(self._call(node))
        return written

    def _arithmetic(self, node: Node) -> dict[str, Any]:
        """Return the JSON of a call that computes with sizes."""
        inputs = [{"name": name, "arg": self.argument(value), "kind": 1} for name, value in zip("ab", node.args)]
        return {
            "target": _FUNCTIONS[node.target],
            "inputs": inputs,
            "outputs": [self._named(node)],
            "metadata": {},
            "is_hop_single_tensor_return": None,
            "name": node.name,
        }

    def _reads_results(self, node: Node) -> bool:
        return isinstance(node.args[0], Node) and isinstance(self.values[node.args[0].name], (tuple, list))

    def _call(self, node: Node) -> dict[str, Any]:
        known = node.target._known.arguments
        inputs = [{"name": one.name, "arg": self.argument(value, one.type), "kind": 1} for one, value in zip(known, node.args)]
        kinds = {one.name: one for one in known}
        for name, value in node.kwargs.items():
            inputs.append({"name": name, "arg": self.argument(value, kinds[name].type), "kind": 2 if kinds[name].kwarg_only else 1})
        return {
            "target": f"torch.ops.{node.target}",
            "inputs": inputs,
            "outputs": self._outputs(node),
            "metadata": {},
            "is_hop_single_tensor_return": None,
            "name": node.name,
        }

    def _outputs(self, node: Node) -> list[dict[str, Any]]:
        value = self.values[node.name]
        if value is None:
            return []
        if not isinstance(value, (tuple, list)):
            return [self._named(node)]
        names = {user.args[1]: user.name for user in node.users if user.target is operator.getitem}
        parts = [names.get(place, f"{node.name}_unused_{place}") for place in range(len(value))]
        for place, name in enumerate(parts):
            self.keep(name, [run[node.name][place] for run in self.runs])
        listed = re.fullmatch(r"Tensor(\(.*\))?\[\]", node.target._known.returns)
        return [{"as_tensors": [{"name": name} for name in parts]}] if listed else [{"as_tensor": {"name": name}} for name in parts]


_ROLES = {InputKind.PARAMETER: "parameter", InputKind.BUFFER: "buffer", InputKind.CONSTANT_TENSOR: "tensor_constant"}
_RESULTS = {
    OutputKind.BUFFER_MUTATION: ("buffer_mutation", "buffer_name"),
    OutputKind.USER_INPUT_MUTATION: ("user_input_mutation", "user_input_name"),
    OutputKind.PARAMETER_MUTATION: ("parameter_mutation", "parameter_name"),
}


def _program(program: Any, structure: str, form: str, names: list[str]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return a program's JSON, and its constants."""
    writer = _Writer(program)
    nodes = writer.nodes()
    values = writer.values
    inputs: list[Any] = []
    specs: list[Any] = []
    constants = dict(program.constants)
    for spec in program.graph_signature.input_specs:
        tensor = isinstance(values[spec.arg.name], Tensor)
        if spec.kind is not InputKind.USER_INPUT:
            role = _ROLES[spec.kind]
            more = {"persistent": bool(spec.persistent)} if role == "buffer" else {}
            specs.append({role: {"arg": {"name": spec.arg.name}, f"{role}_name": spec.target, **more}})
            inputs.append({"as_tensor": {"name": spec.arg.name}})
        elif tensor:
            specs.append({"user_input": {"arg": {"as_tensor": {"name": spec.arg.name}}}})
            inputs.append({"as_tensor": {"name": spec.arg.name}})
        else:
            value = writer.argument(spec.arg.value)
            specs.append({"constant_input": {"name": spec.arg.name, "value": value}})
            inputs.append(value)
    place = sum(spec.kind is not InputKind.USER_INPUT for spec in program.graph_signature.input_specs)
    for node, name in writer.lifted.items():
        target = next(one for one in program.graph.nodes if one.name == node).target
        constants[f"lifted_{target}"] = writer.constants[target]
        writer.keep(name, [writer.constants[target]] * len(writer.runs))
        specs.insert(place, {"tensor_constant": {"arg": {"name": name}, "tensor_constant_name": f"lifted_{target}"}})
        inputs.insert(place, {"as_tensor": {"name": name}})
        place += 1
    results = next(node for node in program.graph.nodes if node.op == "output").args[0]
    outputs = [writer.argument(result) for result in results]
    told = []
    for spec, result in zip(program.graph_signature.output_specs, outputs):
        if spec.kind is OutputKind.USER_OUTPUT:
            told.append({"user_output": {"arg": result}})
        else:
            word, key = _RESULTS[spec.kind]
            told.append({word: {"arg": result["as_tensor"], key: spec.target}})
    graph = {
        "inputs": inputs,
        "outputs": outputs,
        "nodes": nodes,
        "tensor_values": {name: writer.meta(name) for name, value in values.items() if isinstance(value, Tensor)},
        "sym_int_values": {name: writer.size(name) for name, value in values.items() if type(value) is int},
        "sym_bool_values": {},
        "is_single_tensor_return": False,
        "custom_obj_values": {},
        "sym_float_values": {},
    }
    call = {"inputs": [], "outputs": [], "in_spec": structure, "out_spec": form, "forward_arg_names": names}
    return {
        "graph_module": {
            "graph": graph,
            "signature": {"input_specs": specs, "output_specs": told},
            "module_call_graph": [{"fqn": "", "signature": call}],
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": {"aten": 10},
        "range_constraints": _ranges(program._varying),
        "schema_version": {"major": MAJOR, "minor": 1},
        "verifiers": ["TRAINING"],
        "torch_version": TORCH_API,
        "guards_code": [],
    }, constants


def _ranges(varying: Varying | None) -> dict[str, dict[str, int | None]]:
    """Return the JSON of the ranges of the sizes that vary."""
    if varying is None:
        return {}
    return {name: {"min_val": least, "max_val": most} for name, (least, most) in zip(varying.names, varying.ranges)}


def _tensors(kind: str, prefix: str, tensors: dict[str, Tensor], parameters: set[str]) -> dict[str, bytes]:
    """Return the records of a folder of tensors; those that are one tensor share a record."""
    config, records, paths = {}, {}, dict[int, str]()
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().contiguous()
        path = paths.get(id(tensor))
        if path is None:
            path = paths[id(tensor)] = f"{prefix}_{len(paths)}"
            records[f"data/{kind}/{path}"] = bytes(adapter.cell_bytes(array_of(plain)))
        form = {**_meta(plain), "requires_grad": tensor.requires_grad, "storage_offset": _size(0)}
        config[name] = {"path_name": path, "is_param": name in parameters, "use_pickle": False, "tensor_meta": form}
    return {**records, f"data/{kind}/model_{kind}_config.json": json.dumps({"config": config}).encode()}


@dataclasses.dataclass
class Texts:
    """The TreeSpecs of a program as texts, and the names of its arguments."""

    structure: str
    form: str
    names: list[str]


def write(program: Any, texts: Texts, file: Any, extra_files: dict[str, Any] | None) -> None:
    """Write a program to a file. Raise Unwritable, before anything is written, for one that the format cannot hold."""
    data, constants = _program(program, texts.structure, texts.form, texts.names)
    parameters = dict(program.named_parameters())
    kept = program.state_dict
    buffers = dict(program.named_buffers())
    constants |= {name: value for name, value in buffers.items() if name not in kept}
    state = {**parameters, **{name: value for name, value in buffers.items() if name in kept}}
    example = io.BytesIO()
    serialization.save(program.example_inputs, example)
    leaves: dict[str, bytes] = {}
    try:
        serialization.load(io.BytesIO(example.getvalue()), weights_only=True)
    except UnpicklingError:  # classes of the caller, which torch.export.load imports and mstorch does not: its structure is told apart
        plain = io.BytesIO()
        serialization.save(tree_flatten(program.example_inputs)[0], plain)
        leaves["data/sample_inputs/leaves.pt"] = plain.getvalue()
    records = {
        **leaves,
        **_tensors("weights", "weight", state, set(parameters)),
        **_tensors("constants", "tensor", constants, set()),
        "models/model.json": json.dumps(data).encode(),
        "data/sample_inputs/model.pt": example.getvalue(),
        **{f"extra/{name}": text.encode() if isinstance(text, str) else bytes(text) for name, text in (extra_files or {}).items()},
        "archive_format": b"pt2",
        "archive_version": b"0",
        "byteorder": b"little",
    }
    writer = ZipWriter(file, "archive")
    for name, content in records.items():
        writer.record(name, content)
    writer.close()
