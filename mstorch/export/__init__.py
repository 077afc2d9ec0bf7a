"""torch.export: a program that can be called. Python runs: what was exported is the module itself, not a graph of operations."""
from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from .._hook import missing as _missing
from .._hook import not_yet
from .._tensor import Tensor
from ..nn.modules.module import Module
from ..utils._pytree import tree_flatten_with_path, tree_structure


class _DimHint:
    """How a size may vary, as torch is told in ``Dim.AUTO``, ``Dim.DYNAMIC`` and ``Dim.STATIC``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *, min: int | None = None, max: int | None = None) -> _DimHint:
        return self

    def __repr__(self) -> str:
        return f"Dim.{self._name}"


class Dim:
    """A size that may vary between ``min`` and ``max``, by name."""

    AUTO = _DimHint("AUTO")
    DYNAMIC = _DimHint("DYNAMIC")
    STATIC = _DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        low, high = 0 if min is None else min, max
        if high is not None and high <= low:
            raise AssertionError(f"Cannot create Dim with inconsistent min={low}, max={high}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name
        self.min = low
        self.max = high


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several ``Dim``, by their names."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ExportedProgram:
    """What ``export`` gives: ``module()`` makes the module that can be called; ``state_dict`` holds its state."""

    def __init__(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], is_dynamic: bool) -> None:
        self._module = module
        self.example_inputs = (args, kwargs)
        self._form = None if is_dynamic else _form(args, kwargs)
        self._structure = tree_structure((args, kwargs))

    @property
    def state_dict(self) -> dict[str, Any]:
        """Parameters and buffers by name."""
        return self._module.state_dict()

    def named_parameters(self) -> Any:
        """The parameters with their names."""
        return self._module.named_parameters()

    def parameters(self) -> Any:
        """The parameters."""
        return self._module.parameters()

    def named_buffers(self) -> Any:
        """The buffers with their names."""
        return self._module.named_buffers()

    def buffers(self) -> Any:
        """The buffers."""
        return self._module.buffers()

    def module(self, check_guards: bool = True) -> Module:
        """A module of its own that computes what was exported, for inputs like those that it was exported with."""
        return _Program(copy.deepcopy(self._module), self._form, self._structure)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def __getattr__(self, name: str) -> Any:
        if name in ("graph", "graph_module", "graph_signature"):
            raise AttributeError(f"mstorch: torch.export runs Python, an ExportedProgram has no {name} {not_yet()}")
        raise AttributeError(f"'ExportedProgram' object has no attribute '{name}'")


def _form(args: Any, kwargs: Any) -> list[tuple[str, Any]]:
    found, _ = tree_flatten_with_path((args, kwargs))
    return [("".join(map(str, path)), (tuple(leaf.shape), leaf.dtype)) for path, leaf in found if isinstance(leaf, Tensor)]


class _Program(Module):
    """An exported module; it refuses inputs of another form, as torch's does."""

    def __init__(self, inner: Module, form: Any, structure: Any) -> None:
        super().__init__()
        self.__dict__["_inner"], self.__dict__["_form"], self.__dict__["_structure"] = inner, form, structure
        for name in ("_parameters", "_buffers", "_modules"):
            self.__dict__[name] = inner.__dict__[name]

    def train(self, mode: bool = True) -> Any:
        """Raises NotImplementedError: the mode is that of the export."""
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self) -> Any:
        """Raises NotImplementedError: the mode is that of the export."""
        raise NotImplementedError("Calling eval() is not supported yet.")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What was exported, for these inputs. RuntimeError if they are of another form."""
        if tree_structure((args, kwargs)) != self._structure:
            raise ValueError(f"Trying to call an exported program with inputs of another structure than {self._structure}")
        if self._form is not None and _form(args, kwargs) != self._form:
            raise RuntimeError(f"Inputs of an exported program have to be like those of the export: {self._form}")
        return self._inner(*args, **kwargs)  # type: ignore[operator]


def export(
    mod: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None, *,
    dynamic_shapes: Any = None, strict: bool = False, preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:  # fmt: skip
    """A program that computes what a module does, for inputs like these; their sizes may vary where ``dynamic_shapes`` is given.

    The module runs once. Differs from torch: the program is a copy of the module and runs Python, without a graph.
    Raises ValueError for what is no module, UserError's message for arguments that are no tuple.
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise TypeError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    named = dict(kwargs or {})
    program = ExportedProgram(copy.deepcopy(mod), args, named, dynamic_shapes is not None)
    program.module()(*args, **named)
    return program


def save(ep: ExportedProgram, f: Any, **options: Any) -> None:
    """Raises NotImplementedError: torch.save and torch.jit.save write modules."""
    raise NotImplementedError(f"mstorch: torch.export.save writes graphs, and there are none {not_yet()}")


def load(f: Any, **options: Any) -> ExportedProgram:
    """Raises NotImplementedError: files of torch.export hold graphs."""
    raise NotImplementedError(f"mstorch: torch.export.load reads graphs of torch's operations {not_yet()}")


__all__ = ["Dim", "ExportedProgram", "dims", "export", "load", "save"]

__getattr__ = _missing(__name__)
