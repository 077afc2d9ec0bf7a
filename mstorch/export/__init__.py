"""torch.export: a module as a graph of ``torch.ops.aten`` calls that can be run, saved and loaded."""
from __future__ import annotations

import copy
import inspect
import io
import os
from collections.abc import Callable, Iterator, Mapping
from pickle import UnpicklingError
from typing import Any

from .._dynamo.exc import UserError
from .._src.compile.exporting import exporting
from .._src.core.modes import grad_set_to
from .._src.hook import missing as _missing
from .._src.serialization.zipfile_format import ZipReader, looks_like_zip, write_all
from .._tensor import Tensor
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..serialization import write_whole
from ..utils._pytree import register_dataclass as _register_dataclass
from ..utils._pytree import tree_flatten, tree_flatten_with_path, tree_structure, tree_unflatten
from ..utils._trees.spec import TreeSpec
from ._decomposing import decomposed
from ._file import check_name, text_of
from ._file import load as read
from ._pt2.former import is_former, read_former
from ._pt2.guards import Guards
from ._pt2.read import Parts, is_pt2
from ._pt2.read import read as read_pt2
from ._pt2.write import Texts
from ._pt2.write import write as write_pt2
from ._trace import traced
from ._varying import Unlike, Varying, traced_varying
from .dynamic_shapes import Dim, Sizes, dims
from .graph_signature import ExportGraphSignature, InputKind, OutputKind


class ExportedProgram:
    """The result of ``export``: ``module()`` returns a callable module; ``graph`` holds its ``torch.ops.aten`` calls.

    For a module that does other operations for other sizes, or calls what aten has not, the program has no graph, and ``module()`` runs the
    original Python code.
    """

    def __init__(
        self, graph_module: GraphModule | None, signature: ExportGraphSignature | None, out_spec: TreeSpec | None, state: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any], reason: str = "", sizes: Sizes | Guards | None = None,
    ) -> None:  # fmt: skip
        self._graph_module, self._signature, self.out_spec, self._reason = graph_module, signature, out_spec, reason
        self._state = state  # a module with the parameters and buffers
        self.example_inputs = (args, kwargs)
        self._sizes = sizes
        self._varying: Varying | None = sizes.varying if isinstance(sizes, Guards) else None
        self._form = None if sizes is not None else _form(args, kwargs)  # of a program from a file
        self._structure = tree_structure((args, kwargs))
        self.constants: dict[str, Any] = {}  # tensors of the program that are no state
        self._names: list[str] = [*(f"arg_{number}" for number in range(len(args))), *kwargs]  # of the arguments

    def _made(self, value: Any, name: str) -> Any:
        if value is None:
            raise NotImplementedError(f"mstorch: this ExportedProgram has no {name}: {self._reason}")
        return value

    @property
    def graph_module(self) -> GraphModule:
        """The GraphModule, whose inputs are the parameters, the buffers and the user inputs."""
        return self._made(self._graph_module, "graph_module")

    @property
    def graph(self) -> Graph:
        """The graph of the program."""
        return self.graph_module.graph

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """Roles of the graph's inputs and outputs."""
        return self._made(self._signature, "graph_signature")

    @property
    def state_dict(self) -> dict[str, Any]:
        """A dict of parameters and buffers by name."""
        kept = self._state.state_dict()
        return {name: kept[name] for name, _ in (*self.named_parameters(), *self.named_buffers()) if name in kept}

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """Yield the parameters with their names."""
        return self._state.named_parameters(remove_duplicate=False)

    def parameters(self) -> Iterator[Any]:
        """Yield the parameters."""
        return self._state.parameters()

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers with their names."""
        return self._state.named_buffers(remove_duplicate=False)

    def buffers(self) -> Iterator[Tensor]:
        """Yield the buffers."""
        return self._state.buffers()

    def module(self, check_guards: bool = True) -> Module:
        """Return a new module that computes the program, for inputs like the example inputs."""
        return _Program(self)

    def run_decompositions(
        self, decomp_table: Mapping[Any, Callable[..., Any]] | None = None, decompose_custom_triton_ops: bool = False
    ) -> ExportedProgram:
        """Return a program with the functions of ``decomp_table`` traced in the place of its operations, by overload
        (``torch.ops.aten.gelu.default``).

        Differs from torch: there is no table of torch's core operations, so that without one nothing is replaced. ``export`` composes no
        operations in its graphs (``addmm`` for ``linear``); programs from torch's files keep theirs. Raise NotImplementedError for a
        program without a graph or with sizes that vary.
        """
        graph_module, signature = self.graph_module, self.graph_signature
        if self._varying is not None:
            raise NotImplementedError("mstorch: run_decompositions() of a program with sizes that vary, which graphs here cannot say")
        if decomp_table:
            module = _Program(self)
            places = [getattr(owner, name) for owner, name in module._places]
            leaves = tree_flatten(self.example_inputs)[0]
            graph_module, signature = decomposed(graph_module, signature, [*places, *leaves], decomp_table)
        args, kwargs = self.example_inputs
        program = ExportedProgram(graph_module, signature, self.out_spec, copy.deepcopy(self._state), args, kwargs, "", self._sizes)
        program._structure, program.constants, program._names = self._structure, dict(self.constants), list(self._names)
        program._form, program._varying = self._form, self._varying
        return program

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def __str__(self) -> str:
        if self._graph_module is None:
            return f"ExportedProgram without a graph: {self._reason}"
        text = self._graph_module.print_readable(print_output=False)
        indented = "\n".join(f"    {line}" if line else "" for line in text.splitlines())
        return f"ExportedProgram:\n{indented}\nGraph signature: {self._signature}"


def _form(args: tuple[Tensor | tuple[Tensor, Tensor], ...], kwargs: dict[Any, Any]) -> list[tuple[str, Any]]:
    """Return the properties that an input must match: shapes and dtypes of tensors, and all other values."""
    found, _ = tree_flatten_with_path((args, kwargs))
    return [("".join(map(str, path)), (tuple(leaf.shape), leaf.dtype) if isinstance(leaf, Tensor) else leaf) for path, leaf in found]


class _Program(Module):
    """An exported program as a module; like torch's, it rejects inputs of other shapes."""

    _inner: Any
    _program: Any
    _places: list[tuple[Module, str]]  # (module, name) of the parameters and buffers, in the order of the graph's inputs

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        inner = copy.deepcopy(program._state)
        self.__dict__["_inner"], self.__dict__["_program"] = inner, program
        for name in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            self.__dict__[name] = inner.__dict__[name]
        specs = [] if program._signature is None else program._signature.input_specs
        paths = [spec.target.rpartition(".") for spec in specs if spec.target is not None]
        self.__dict__["_places"] = [(inner.get_submodule(path), name) for path, _, name in paths]

    def train(self, mode: bool = True) -> Any:
        """Raise NotImplementedError: the training mode is fixed at export."""
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self) -> Any:
        """Raise NotImplementedError: the training mode is fixed at export."""
        raise NotImplementedError("Calling eval() is not supported yet.")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program. Raise ValueError or AssertionError for inputs that do not match the example inputs."""
        program, inner = self._program, self._inner
        names = list(program.example_inputs[1])
        if kwargs.keys() != set(names):
            raise ValueError(f"Ran into a kwarg keyword mismatch: Got the following keywords {list(kwargs)} but expected {names}")
        kwargs = {name: kwargs[name] for name in names}
        if tree_structure((args, kwargs)) != program._structure:
            raise ValueError(f"Trying to call an exported program with inputs of another structure than {program._structure}")
        if program._form is not None:
            for (where, own), (_, wanted) in zip(_form(args, kwargs), program._form):
                if own != wanted:
                    raise AssertionError(f"Guard failed: {where} is {own}, and {wanted} in the export")
        if program._sizes is not None:
            program._sizes.check(args, kwargs)
        if program._graph_module is None:
            return inner(*args, **kwargs)
        state = [getattr(owner, name) for owner, name in self._places]
        leaves = tree_flatten((args, kwargs))[0]
        outputs = list(program._graph_module(*state, *leaves))
        if any(spec.kind is not OutputKind.USER_OUTPUT for spec in program._signature.output_specs):
            outputs = self._written(outputs, leaves)
        return tree_unflatten(outputs, program.out_spec)

    def _written(self, outputs: list[Any], leaves: list[Any]) -> list[Any]:
        """Write the new values of buffers, parameters and inputs; return the user's outputs."""
        signature, inner, rest = self._program._signature, self._inner, []
        names = [spec.arg.name for spec in signature.input_specs if spec.kind is InputKind.USER_INPUT]
        for spec, value in zip(signature.output_specs, outputs):
            if spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION):
                path, _, name = spec.target.rpartition(".")
                with grad_set_to(False):
                    getattr(inner.get_submodule(path), name).copy_(value)
            elif spec.kind is OutputKind.USER_INPUT_MUTATION:
                leaves[names.index(spec.target)].copy_(value)
            elif spec.kind in (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT):
                rest.append(value)
        return rest


def export(
    mod: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None, *,
    dynamic_shapes: dict[str, Any] | tuple[Any, ...] | list[Any] | None = None, strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (), prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:  # fmt: skip
    """Export a module as a program for inputs like the given ones; a size is dynamic if ``dynamic_shapes`` declares it.

    The module runs once. Calls with undeclared sizes raise AssertionError. Differs from torch: the graph has the operations that
    autograd calls (``addmm`` for ``linear``), and writes are in place. With dynamic shapes the module runs for further sizes too, from
    which the graph's computations of sizes are found; if it does other operations for other sizes, the program has no graph. Raise
    ValueError if ``mod`` is not a Module, GuardOnDataDependentSymNode if it reads values of tensors.
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    named = dict(kwargs or {})
    sizes = Sizes(mod.forward, args, named, {} if dynamic_shapes is None else dynamic_shapes)
    parts: tuple[Any, ...] = None, None, None
    varying = None
    try:
        parts, varying = _graph_of(mod, args, named, sizes)
        reason = ""
    except (NotImplementedError, Unlike) as error:
        reason = f"its sizes may vary, and {error}" if isinstance(error, Unlike) else str(error)
    graph_module, signature, form = parts
    program = ExportedProgram(graph_module, signature, form, copy.deepcopy(mod), args, named, reason, sizes)
    program._varying = varying
    program._names = [*_positional(mod, args), *named]
    if reason:
        with exporting():
            program.module()(*args, **named)
    return program


def _positional(mod: Module, args: tuple[Any, ...]) -> list[str]:
    """Return the names of a call's positional arguments: those of ``*values`` are ``values_0`` and so on."""
    signature, names = inspect.signature(mod.forward), list[str]()
    for name, value in signature.bind_partial(*args).arguments.items():
        several = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        names += [f"{name}_{number}" for number in range(len(value))] if several else [name]
    return names


def _graph_of(mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any], sizes: Sizes) -> tuple[tuple[Any, ...], Varying | None]:
    """Return the parts of a module's graph, and the sizes that vary. Raise Unlike if no graph stands for all sizes."""
    varying = sizes.varying(args, kwargs, False)
    if not varying.names:
        return traced(mod, args, kwargs), None
    try:
        return traced_varying(mod, args, kwargs, varying), varying
    except Unlike:
        together = sizes.varying(args, kwargs, True)
        if together.names == varying.names:
            raise
        return traced_varying(mod, args, kwargs, together), together


def save(
    ep: ExportedProgram, f: Any, *, extra_files: dict[str, Any] | None = None, opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Save a program to a path or a file, as ``.pt2`` that torch reads too. A path is replaced when the file is complete.

    Raise NotImplementedError for a program without a graph, or with what the format cannot hold; nothing is written then.
    """
    if opset_version is not None:
        raise NotImplementedError("mstorch: torch.export.save takes no opset_version")
    content = io.BytesIO()
    texts = Texts(text_of(ep._structure), text_of(ep._made(ep.out_spec, "graph")), list(ep._names))
    write_pt2(ep, texts, content, extra_files)
    if isinstance(f, (str, os.PathLike)):
        write_whole(os.path.abspath(os.fspath(f)), lambda file: write_all(file, content.getvalue()))
    else:
        f.write(content.getvalue())


def load(f: Any, *, extra_files: dict[str, Any] | None = None, expected_opset_version: dict[str, int] | None = None) -> ExportedProgram:
    """Load a program that ``save`` of torch or of mstorch wrote; fill the values of ``extra_files``. Raise ValueError for other files."""
    path = isinstance(f, (str, os.PathLike))
    file = open(f, "rb") if path else f
    try:
        if hasattr(file, "seek") and looks_like_zip(file):
            if is_former(file):
                return _of_former(file, extra_files)
            reader = ZipReader(file)
            if is_pt2(reader):
                return _of_archive(reader, extra_files)
            file.seek(0)
        if extra_files is not None:
            raise NotImplementedError("mstorch: torch.export.load takes no extra_files for a file of mstorch's own format")
        return read(file, _of_file)
    finally:
        if path:
            file.close()


_DAMAGES = (
    LookupError, AttributeError, TypeError, AssertionError, SyntaxError, RecursionError, UnicodeDecodeError, UnpicklingError, OverflowError,
    RuntimeError,
)  # fmt: skip


def _of_archive(reader: ZipReader, extra_files: dict[str, Any] | None) -> ExportedProgram:
    try:
        parts = read_pt2(reader)
        program = _of_parts(parts)
    except _DAMAGES as error:
        raise ValueError(f"the file holds a damaged program ({type(error).__name__}: {error})") from error
    for name in extra_files or {}:
        if reader.has(f"extra/{name}"):
            extra_files[name] = reader.read(f"extra/{name}").decode("utf-8")  # type: ignore[index]
    return program


def _of_former(file: Any, extra_files: dict[str, Any] | None) -> ExportedProgram:
    try:
        return _of_parts(read_former(file, extra_files))
    except _DAMAGES as error:
        raise ValueError(f"the file holds a damaged program ({type(error).__name__}: {error})") from error


def _of_parts(parts: Parts) -> ExportedProgram:
    signature = parts.signature
    places = [spec.target for spec in signature.input_specs if spec.target is not None]
    tensors = {**parts.parameters, **parts.buffers, **parts.constants}
    for name in (*tensors, *places):
        check_name(name)
        if not isinstance(tensors.get(name), Tensor):
            raise ValueError(f"the program has no tensor {name!r}")
    if parts.example is None:
        raise ValueError("mstorch: the program has no sample inputs")
    args, kwargs = parts.example
    state = _state_of(parts.parameters, parts.buffers, signature)
    for name, value in parts.constants.items():
        owner, last = _owner(state, name)
        owner.__dict__[last] = value
    program = ExportedProgram(parts.module, signature, parts.form, state, args, kwargs, sizes=parts.guards)
    program._structure, program.constants = parts.structure, dict(parts.constants)
    return program


def _state_of(parameters: dict[str, Any], buffers: dict[str, Any], signature: ExportGraphSignature) -> Module:
    """Return a module with these parameters and buffers."""
    state = Module()
    for name, value in parameters.items():
        owner, last = _owner(state, name)
        owner.register_parameter(last, value if isinstance(value, Parameter) else Parameter(value.detach(), value.requires_grad))
    kept = {spec.target: bool(spec.persistent) for spec in signature.input_specs}
    for name, value in buffers.items():
        owner, last = _owner(state, name)
        owner.register_buffer(last, value, kept.get(name, True))
    return state


def _of_file(
    module: GraphModule, signature: ExportGraphSignature, form: TreeSpec, parameters: dict[str, Any], buffers: dict[str, Any],
    example: tuple[tuple[Tensor, ...], dict[Any, Any]]
) -> ExportedProgram:
    state = _state_of({name: Parameter(value) for name, value in parameters.items()}, buffers, signature)
    args, kwargs = example
    return ExportedProgram(module, signature, form, state, tuple(args), dict(kwargs))


def _owner(module: Module, name: str) -> tuple[Module, str]:
    """Return the module that owns a dotted name, creating it if needed, and the name's last component."""
    *path, last = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, Module())
        module = getattr(module, part)
    return module, last


def register_dataclass(cls: type, *, serialized_type_name: str | None = None) -> None:
    """Let exported programs take and return objects of a dataclass."""
    _register_dataclass(cls, serialized_type_name=serialized_type_name)


__all__ = ["Dim", "ExportGraphSignature", "ExportedProgram", "dims", "export", "load", "register_dataclass", "save"]

__getattr__ = _missing(__name__)
