"""Module as a MindSpore Cell: parameters with dotted names, calls with MindSpore tensors, graphs."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from ..._src.backend import tape
from ..._src.backend.cell import call_cell, graph_mode, is_raw
from ..._src.core.above import above
from ..._src.core.modes import modes
from ..._src.core.storage import NativeBlock
from ..._tensor import Tensor
from ..parameter import native_parameter
from . import _precision
from ._native import adopt, as_torchs
from ._trees import as_mstorch, as_native


def _unreadable(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(
        "mstorch: MindSpore's graph compiler cannot read a torch module. mstorch.interop.export_mindir writes its graph to a "
        "file; a call of the module itself is captured in graph mode too; train.Model, value_and_grad and Cells around a module "
        "need mindspore.set_context(mode=mindspore.PYNATIVE_MODE)."
    )


_checked = [0]  # number of running calls by MindSpore, in which it checks the parameters' names


class _Children(OrderedDict[str, Any]):
    """The children of a module, for MindSpore's tools: what they put in becomes a child as by ``add_module``."""

    def __init__(self, module: Any) -> None:
        super().__init__(module.__dict__.get("_modules", {}))
        self._ms_module = module

    def __setitem__(self, name: str, child: Any) -> None:
        super().__setitem__(name, child)
        module = self.__dict__.get("_ms_module")
        if module is not None:
            module.__dict__["_modules"][name] = child
            adopt(module, name)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        del self._ms_module.__dict__["_modules"][name]


def _has_hooks(parameter: Tensor) -> bool:
    auto = parameter._ms_auto
    return auto is not None and bool(auto.hooks or auto.post)


class CellMixin:
    """The part of Module that MindSpore uses, derived from torch's dicts."""

    _mstorch_float_type = None
    if TYPE_CHECKING:  # programs read the annotations of a Module
        _compiled_call_impl: Callable[..., Any] | None = None
        _call_impl: Callable[..., Any]
        named_parameters: Callable[..., Any]
        named_modules: Callable[..., Any]
        parameters: Callable[..., Any]
        train: Callable[..., Any]
        register_parameter: Callable[..., Any]
        add_module: Callable[..., Any]
        _mstorch_own_buffers: Callable[[], Any]
        _non_persistent_buffers_set: set[str]

    @property
    def _params(self) -> Mapping[str, Any]:
        """The parameters and persistent buffers, for a Cell that contains this module."""
        members = self.__dict__
        found = OrderedDict(
            (name, native_parameter(parameter, name))
            for name, parameter in members.get("_parameters", {}).items()
            if parameter is not None
        )
        for name, buffer in members.get("_buffers", {}).items():
            if buffer is not None and name not in members["_non_persistent_buffers_set"]:
                found[name] = native_parameter(buffer, name)
        return found

    @_params.setter
    def _params(self, value: Any) -> None:
        """Ignore the empty dict that Cell's constructor sets."""

    @property
    def _cells(self) -> Mapping[str, Any]:
        return _Children(self)

    @_cells.setter
    def _cells(self, value: Any) -> None:
        """Ignore the empty dict that Cell's constructor sets."""

    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield mindspore.Parameters with their dotted names, for MindSpore's tools.

        Persistent buffers are included, as MindSpore includes running statistics; they do not require grad.
        """
        if expand and not _checked[0]:
            tape.settle_dtypes()
            tape.stop_recording()  # MindSpore's optimizers and trainers start with this list, and turn recording on themselves
        for name, parameter in self.named_parameters(name_prefix, expand):
            yield name, native_parameter(parameter, name)
        modules = self.named_modules(prefix=name_prefix) if expand else [(name_prefix, self)]
        seen: set[int] = set()
        for prefix, module in modules:
            for name, buffer in module._mstorch_own_buffers():
                if buffer is not None and id(buffer) not in seen and name not in module._non_persistent_buffers_set:
                    seen.add(id(buffer))
                    name = f"{prefix}.{name}" if prefix else name
                    yield name, native_parameter(buffer, name)

    def insert_param_to_cell(self, param_name: str, param: Any, check_name_contain_dot: bool = True) -> None:
        """Register a parameter, under MindSpore's name of ``register_parameter``; in torch, a parameter's name has no dots."""
        self.register_parameter(param_name, as_torchs(param_name, param))

    def insert_child_to_cell(self, child_name: str, child_cell: Any) -> None:
        """Add a child module, under MindSpore's name of ``add_module``."""
        self.add_module(child_name, child_cell)

    def add_flags(self, **flags: Any) -> Self:
        """Set MindSpore's flags of a network; MindSpore's trainers do so before they record gradients."""
        tape.stop_recording()
        return super().add_flags(**flags)  # Cell's method, which this mixin overrides

    def recompute(self, **kwargs: Any) -> None:
        """Raise NotImplementedError: torch recomputes activations by ``checkpoint``."""
        raise NotImplementedError(
            f"mstorch: {type(self).__name__}.recompute() is of MindSpore's Cells; call the module in forward by "
            "torch.utils.checkpoint.checkpoint(module, input, use_reentrant=False)"
        )

    def _add_mixed_precision_flag(self, **flags: Any) -> None:
        """Record the compute dtype that Cell's ``to_float`` sets on each network."""
        kind = _precision.wanted(flags)
        if kind is not None:
            self.__dict__["_mstorch_float_type"] = kind

    def set_train(self, mode: bool = True) -> Self:
        """Set the training mode, under MindSpore's name of ``train``."""
        tape.stop_recording()  # as in add_flags
        tape.settle_dtypes()
        return self.train(mode)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if args and args[0].__class__ is not Tensor and is_raw(args[0]):
            # The graph compiler parses the source of a Cell, and does not support a Module's: graphs are captured instead.
            if graph_mode():
                return self.construct(*args, **kwargs)
            _checked[0] += 1
            try:
                return call_cell(self, args, kwargs)
            except BaseException:
                tape.give_up(self)
                tape.refill_dtypes()
                raise
            finally:
                _checked[0] -= 1
        # In the instance's dict, because the class's own names, which a Cell also has, are looked up in Python.
        if self._compiled_call_impl is None and self.__dict__.get("_mstorch_float_type") is None and not graph_mode():
            return self._call_impl(*args, **kwargs)
        return self._mstorch_run(args, kwargs)

    @tape.in_own_dtypes
    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` on MindSpore tensors: the entry point of MindSpore's tools."""
        if tape.is_recording() and not modes.grad and tape.tracing() is None:  # (a capture cuts what is computed without gradients)
            tape.forget()
            raise RuntimeError("In no_grad context, MindSpore cannot compute gradients of a module: leave torch.no_grad() before.")
        tape.settle_dtypes()
        recording = tape.restarts()
        if recording is not None and modes.native is None and any(map(_has_hooks, self.parameters())):
            raise RuntimeError("mstorch: a module with hooks of its parameters cannot be trained by MindSpore itself")
        with tape.lent(), tape.own_dtypes(), _precision.auto(), NativeBlock():
            try:
                result = as_native(self._mstorch_run(as_mstorch(args), as_mstorch(kwargs)))
                if recording is not None and tape.restarts() != recording:
                    # MindSpore would look for what it has dropped, and end the process with a segmentation fault.
                    raise RuntimeError(
                        "mstorch: an error inside of the module, which its forward caught, has made MindSpore drop what it had recorded: "
                        "there are no gradients of this call"
                    )
                return result
            except BaseException:
                tape.refill_dtypes()
                raise

    # The graph compiler parses the source of the wrapped function, which raises an error that explains what to do instead.
    construct.__wrapped__ = _unreadable  # type: ignore[attr-defined]

    def _mstorch_run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        """Run a call, as a graph if ``compile()`` or MindSpore's graph mode requests it."""
        if self._mstorch_float_type is not None:
            return _precision.run(self, self._mstorch_run_as_is, args, kwargs)
        return self._mstorch_run_as_is(*args, **kwargs)

    def _mstorch_run_as_is(self, *args: Any, **kwargs: Any) -> Tensor:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        if graph_mode():
            return above.compiler.graph_mode_call(self, args, kwargs)  # only Modules have this mixin
        return self._call_impl(*args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Make calls of this module run as graphs; the arguments are those of ``torch.compile``."""
        self.__dict__["_compiled_call_impl"] = above.compiler.compile(self._call_impl, *args, **kwargs)
