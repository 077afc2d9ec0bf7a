"""``torch.onnx.export`` and the ONNXProgram that it returns."""
from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._src.core.trees import tree_flatten, tree_unflatten
from .._src.core.varying_dims import dims_of
from .._src.ops.memory.from_data import tensor
from .._tensor import Tensor
from ._errors import OnnxExporterError
from ._exporting import model_of, package

DEFAULT_OPSET = 18
OPSETS = range(13, 22)
_exporting = [False]


def is_in_onnx_export() -> bool:
    """Return whether a model is being exported."""
    return _exporting[0]


class ONNXProgram:
    """An exported model: ``model_proto`` is its ``onnx.ModelProto``; calling it runs it in ``onnxruntime``."""

    def __init__(self, model_proto: Any, result: Any) -> None:
        self.model_proto = model_proto
        self._form = tree_flatten(result)[1]
        self._session: Any = None

    @property
    def model(self) -> Any:
        """The ``onnx.ModelProto``."""
        return self.model_proto

    def save(
        self, destination: Any, *, include_initializers: bool = True, keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None
    ) -> None:
        """Write the model to a file. With ``external_data``, the weights go to a separate file, by default if they exceed 1.5 GiB."""
        onnx = package("onnx")
        if not include_initializers or keep_initializers_as_inputs:
            raise NotImplementedError("mstorch: an ONNX program is saved with its weights, which export() may let be inputs, too")
        apart = external_data if external_data is not None else self.model_proto.ByteSize() > 3 << 29
        if not apart:
            onnx.save_model(self.model_proto, destination)
            return
        copied = onnx.ModelProto()
        copied.CopyFrom(self.model_proto)  # writing external data removes the weights from the model
        name = os.path.basename(os.fspath(destination)) + ".data"
        onnx.save_model(copied, destination, save_as_external_data=True, location=name, size_threshold=0)

    def initialize_inference_session(self, initializer: Callable[[Any], Any] | None = None) -> None:
        """Create the session that runs the program; ``initializer`` creates a session from the bytes of the model."""
        data = self.model_proto.SerializeToString()
        self._session = initializer(data) if initializer else package("onnxruntime").InferenceSession(data)

    def release(self) -> None:
        """Release the session."""
        self._session = None

    def __call__(self, *args: Any, **kwargs: Any) -> Sequence[Tensor]:
        """Run the model by ``onnxruntime`` and return its result."""
        if self._session is None:
            self.initialize_inference_session()
        given = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, Tensor)]
        feed = {one.name: value.detach().cpu().numpy() for one, value in zip(self._session.get_inputs(), given)}
        found = [tensor(one) for one in self._session.run(None, feed)]
        return tree_unflatten(found, self._form) if self._form.num_leaves == len(found) else tuple(found)

    def __repr__(self) -> str:
        graph = self.model_proto.graph
        return f"ONNXProgram({len(graph.node)} nodes, {len(graph.initializer)} constants, opset {self.model_proto.opset_import[0].version})"


def _called(model: Any) -> list[str]:
    return list(inspect.signature(getattr(model, "forward", model)).parameters)


def export(
    model: Any, args: tuple[Any, ...] = (), f: Any = None, *, kwargs: dict[str, Any] | None = None, verbose: bool | None = None,
    input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None, opset_version: int | None = None,
    dynamo: bool = True, external_data: bool = True, dynamic_shapes: Any = None,
    custom_translation_table: dict[Callable[..., Any], Callable[..., Any]] | None = None, report: bool = False, optimize: bool = True,
    verify: bool = False, profile: bool = False, dump_exported_program: bool = False, artifacts_dir: Any = ".", export_params: bool = True,
    keep_initializers_as_inputs: bool = False, dynamic_axes: Any = None, training: Any = None, operator_export_type: Any = None,
    do_constant_folding: bool = True, custom_opsets: Mapping[str, int] | None = None, export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
) -> ONNXProgram | None:  # fmt: skip
    """Write a model in ONNX.

    ``model`` is run in evaluation on ``args`` and ``kwargs``, whose tensors are the inputs, named ``input_names``. With ``f``, a path
    or a file that is open for writing, the model is saved there. ``dynamic_axes`` (``{"x": {0: "batch"}}``) or ``dynamic_shapes``
    (in the form of the arguments) say which sizes vary; a size that both inputs call by one name is the same. ``opset_version``: 13 to
    21, 18 by default. ``verify``: compare with ``onnxruntime``. Returns an ``ONNXProgram``, with ``dynamo=False`` nothing.

    Raises ``OnnxExporterError`` for a model that ONNX cannot express, ``UnsupportedOperatorError`` for an operation without translation.
    Differs from torch: ``dynamo`` chooses the result alone; there is no report, profile or table of translations.
    """
    _refuse_unbuilt(custom_translation_table or custom_opsets or export_modules_as_functions, export_params, training)
    opset = DEFAULT_OPSET if opset_version is None else opset_version
    if opset not in OPSETS:
        raise ValueError(f"Unsupported ONNX opset version: {opset}")
    if isinstance(args, Tensor):
        args = (args,)
    given = dict(kwargs or {})
    if not given and args and isinstance(args[-1], dict) and dynamo is False:
        args, given = tuple(args[:-1]), args[-1]  # the form of arguments of the older exporter
    parameters = _called(model)
    names = _named_inputs(list(input_names or ()), args, given, parameters)
    dims = dims_of((args, given), names, dynamic_axes, dynamic_shapes, parameters, OnnxExporterError)
    _exporting[0] = True
    try:
        proto, result = model_of(model, tuple(args), given, names, list(output_names or ()), opset, dims, keep_initializers_as_inputs)
    finally:
        _exporting[0] = False
    package("onnx").checker.check_model(proto)
    program = ONNXProgram(proto, result)
    if verify:
        _verify(program, tuple(args), given, result)
    if f is not None:
        _write(program, f, external_data)
    return program if dynamo else None


def _refuse_unbuilt(has_translations: Any, export_params: bool, training: Any) -> None:
    if has_translations:
        raise NotImplementedError("mstorch: torch.onnx.export takes no translations, opsets or functions of a program's own")
    if not export_params:
        raise NotImplementedError("mstorch: torch.onnx.export writes a model with its parameters")
    if getattr(training, "value", 0):
        raise NotImplementedError("mstorch: torch.onnx.export writes a model in evaluation")


def _named_inputs(names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any], parameters: list[str]) -> list[str]:
    """Return a name for each tensor among the arguments: the caller's, then the parameter's if each argument is one tensor, or a number."""
    count = len([leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, Tensor)])
    plain = all(isinstance(one, Tensor) for one in (*args, *kwargs.values()))
    own = [*parameters[: len(args)], *kwargs] if plain else []
    return names + [own[number] if number < len(own) else f"input_{number}" for number in range(len(names), count)]


def _write(program: ONNXProgram, f: Any, external_data: bool) -> None:
    if hasattr(f, "write"):
        f.write(program.model_proto.SerializeToString())
    else:
        program.save(f, external_data=None if external_data else False)


def _verify(program: ONNXProgram, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    found = tree_flatten(program(*args, **kwargs))[0]
    for one, other in zip(found, (leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, Tensor))):
        far = (one.double() - other.detach().cpu().double()).abs().max().item() if one.numel() else 0.0
        if far > 1e-3 * max(1.0, other.detach().abs().max().item()):
            raise OnnxExporterError(f"the exported model's result differs from the model's by {far}")
    program.release()
