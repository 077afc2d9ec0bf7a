"""From runs of a model to an ONNX graph."""
from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._src.core.trees import tree_flatten, tree_unflatten
from .._src.core.varying_dims import Dims
from .._src.leaving import END, Undo, undoing
from .._src.ops.memory.from_data import tensor
from .._tensor import Tensor
from ..autograd import no_grad
from ..nn.modules.module import Module
from ._capture import Run, Step, Value, captured
from ._converters import CONVERTERS
from ._errors import OnnxExporterError, UnsupportedOperatorError
from ._sizes import merged
from ._writer import NUMBERS, Writer, array, word


def package(name: str) -> Any:
    """Import the optional package ``onnx`` or ``onnxruntime``. Raise ImportError that says what to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"torch.onnx needs the package {name}: pip install {name}") from error


def _names_of(model: Any) -> dict[int, str]:
    if not isinstance(model, Module):
        return {}
    return {id(one): name for name, one in itertools.chain(model.named_buffers(), model.named_parameters())}


def _runs(
    model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], dims: Dims
) -> tuple[list[Run], list[Any], list[list[int]]]:
    """Run the model on its arguments, then once for each dynamic size with that size doubled; return the runs and their sizes.

    Doubling keeps divisions exact. A size of 1, which models may treat specially, becomes 2 and 4 in the runs.
    """
    leaves, form = tree_flatten((args, kwargs))
    tensors = [place for place, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    words = list(dict.fromkeys(name for _, _, name in dims))
    base = [next(leaves[tensors[number]].shape[axis] for number, axis, name in dims if name == one) for one in words]
    single = {one for one, size in zip(words, base) if size == 1}
    for number, axis, name in dims:
        if name in single:
            leaves[tensors[number]] = _longer(leaves[tensors[number]], axis)
    base = [max(size, 2) for size in base]
    names, runs, results, sizes = _names_of(model), [], [], []
    if words:
        model(*args, **kwargs)  # state that a model keeps from its first call has to exist in all runs
    for changed in [None, *range(len(words))]:
        given, wanted = list(leaves), list(base)
        if changed is not None:
            wanted[changed] *= 2
            for number, axis, name in dims:
                if name == words[changed]:
                    place = tensors[number]
                    given[place] = _longer(given[place], axis)
        copied = [leaf.clone() if isinstance(leaf, Tensor) else leaf for leaf in given]
        now = tree_unflatten(copied, form)
        try:
            run, result = captured(model, now[0], now[1], names, CONVERTERS)
        except OnnxExporterError:
            raise
        except NotImplementedError as error:  # a call that is not visible as an operator
            raise UnsupportedOperatorError("a call of the model", f": {error}") from error
        except Exception as error:
            if changed is None:
                raise
            raise OnnxExporterError(f"mstorch: the model does not run where {words[changed]!r} is {wanted[changed]}: {error}") from error
        runs.append(run)
        results.append(result)
        sizes.append(wanted)
    return runs, results, sizes


def _longer(x: Any, axis: int) -> Any:
    return tensor(np.concatenate([array(x)] * 2, axis), dtype=x.dtype)


def _merged_runs(runs: Sequence[Run], sizes: Sequence[Sequence[int]]) -> None:
    """Merge the runs into the steps of the first run: numbers that differ become Sizes, and constants that differ are marked."""
    steps = [run.steps for run in runs]
    for same in itertools.zip_longest(*steps):
        names = [step.name if step else "nothing" for step in same]
        if len(set(names)) > 1:
            raise OnnxExporterError(
                "mstorch: torch.onnx.export takes models that do the same operations for all sizes that vary; where one size does "
                f"{names[0]}, another does {' or '.join(names[1:])}"
            )
    for same in zip(*steps):
        first = same[0]
        _check_constants(same)
        first.arguments = {key: merged([one.arguments[key] for one in same], sizes) for key in first.arguments}
        for place, value in enumerate(first.results):
            value.shape = tuple(merged([one.results[place].shape for one in same], sizes))
            if not first.depends:
                others = [one.results[place].array for one in same]
                if any(other.shape != others[0].shape or not _equal(other, others[0]) for other in others[1:]):
                    value.array = None
    for place, value in enumerate(runs[0].inputs):
        value.shape = tuple(merged([run.inputs[place].shape for run in runs], sizes))


def _check_constants(same: Sequence[Step]) -> None:
    """Raise if a tensor that no operation made is not the same in all runs: it would depend on a dynamic size."""
    for leaves in zip(*(tree_flatten(step.arguments)[0] for step in same)):
        first = leaves[0]
        if isinstance(first, Value) and first.step is None and first.array is not None and not first.name:
            if any(one.shape != first.shape or not _equal(one.array, first.array) for one in leaves[1:]):
                raise OnnxExporterError(
                    f"mstorch: torch.onnx.export met a constant of {same[0].name} that depends on the sizes that vary: make it of an "
                    "input's shape by operations"
                )


def _equal(first: Any, second: Any) -> bool:
    one, two = array(first), array(second)
    return bool(((one == two) | ((one != one) & (two != two))).all())


def _needed(steps: Sequence[Step], outputs: Sequence[Value]) -> set[Step]:
    """Return the steps that the outputs depend on, without constants."""
    wanted = {id(value) for value in outputs}
    needed = set()
    for step in reversed(steps):
        if any(id(value) in wanted and value.array is None for value in step.results):
            needed.add(step)
            wanted |= {id(leaf) for leaf in tree_flatten(step.arguments)[0] if isinstance(leaf, Value)}
    return needed


def _emit(writer: Writer, step: Step) -> None:
    converter = CONVERTERS.get(step.name)
    if converter is None:
        raise UnsupportedOperatorError(f"aten.{step.name}")
    arguments = {("step_" if key == "step" else key): value for key, value in step.arguments.items()}
    found = converter(writer, step, **arguments)
    names = found if isinstance(found, list) else [found]
    for value, name in zip(step.results, names):
        if name:
            writer.bind(value, name)


@undoing
def _in_evaluation(undo: Undo, model: Any) -> None:
    """Context manager in which a module and its descendants are in eval mode; their modes are restored afterwards."""
    training = [part for part in model.modules() if part.training] if isinstance(model, Module) else []
    undo[END:] = [partial(setattr, part, "training", True) for part in training]
    if training:
        try:
            model.eval()
        except NotImplementedError:  # an exported program, whose mode is that of its export
            for part in training:
                part.training = False


def _end_shape(name: str, shape: Sequence[Any], words: Sequence[str]) -> list[Any]:
    """Return an output's shape: numbers, and for dynamic sizes the name of the input's dimension with the same size, or ``NAME_dim_AXIS``
    for a computed one."""
    found: list[Any] = []
    for axis, size in enumerate(shape):
        if isinstance(size, int):
            found.append(size)
        else:
            same = len(size.dims) == 1 and (size.factor, size.offset, size.divisor) == (1, 0, 1)
            found.append(words[size.dims[0]] if same else f"{name}_dim_{axis}")
    return found


def _shapes(runs: Sequence[Run], results: Sequence[Any], sizes: Sequence[Sequence[int]]) -> list[Any]:
    """Return the outputs' shapes, with dynamic sizes."""
    tensors = [[leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, Tensor)] for result in results]
    return [merged([run.value_of(leaf).shape for run, leaf in zip(runs, same)], sizes) for same in zip(*tensors)]


def model_of(
    model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], input_names: Sequence[str], output_names: Sequence[str],
    opset: int, dims: Dims, keep_initializers: bool,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the model as an ONNX ModelProto, and the result of the run on its arguments."""
    onnx = package("onnx")
    with _in_evaluation(model), no_grad():
        runs, results, sizes = _runs(model, args, kwargs, dims)
    shapes = _shapes(runs, results, sizes)
    _merged_runs(runs, sizes)
    run = runs[0]
    names = list(input_names) + [f"input_{number}" for number in range(len(input_names), len(run.inputs))]
    words = list(dict.fromkeys(name for _, _, name in dims))
    where = [next((names[number], axis) for number, axis, name in dims if name == one) for one in words]
    writer = Writer(onnx, opset, where)
    for value, name in zip(run.inputs, names):
        writer.bind(value, writer.free(name))
    outputs = [run.value_of(leaf) for leaf in tree_flatten(results[0])[0] if isinstance(leaf, Tensor)]
    needed = _needed(run.steps, outputs)
    for step in run.steps:
        if step in needed:
            _emit(writer, step)
    given = list(output_names) + [f"output_{number}" for number in range(len(output_names), len(outputs))]
    for value, name in zip(outputs, given):
        writer.nodes.append(onnx.helper.make_node("Identity", [writer.t(value)], [name]))
    axes = {(number, axis): name for number, axis, name in dims}
    inputs = [
        _info(onnx, name, value, [axes.get((number, axis), size) for axis, size in enumerate(_plain(value.shape))])
        for number, (value, name) in enumerate(zip(run.inputs, names))
    ]  # fmt: skip
    ends = [_info(onnx, name, value, _end_shape(name, shape, words)) for value, name, shape in zip(outputs, given, shapes)]
    weights = list(writer.initializers.values())
    if keep_initializers:
        inputs += [onnx.helper.make_tensor_value_info(one.name, one.data_type, list(one.dims)) for one in weights]
    graph = onnx.helper.make_graph(writer.nodes, type(model).__name__, inputs, ends, weights)
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], producer_name="mstorch")
    made.ir_version = min(made.ir_version, 10)
    return made, results[0]


def _plain(shape: Sequence[Any]) -> list[int]:
    return [size if isinstance(size, int) else size.values[0] for size in shape]


def _info(onnx: Any, name: str, value: Value, shape: Sequence[Any]) -> Any:
    return onnx.helper.make_tensor_value_info(name, NUMBERS[word(value.dtype)], list(shape))
