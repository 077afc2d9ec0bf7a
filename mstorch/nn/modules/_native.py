"""Native MindSpore networks as children of a Module: their calls, and their parameters as torch Parameters."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any
from weakref import WeakSet

from ..._src.backend import cell as native
from ..._src.backend import cell_calls as native_calls
from ..._src.backend import tape
from ..._src.core.modes import modes
from ..._src.core.tensor_base import become, value_of
from ..._tensor import Tensor, from_mindspore
from ..parameter import Parameter
from ._hooks import HookMixin
from ._one_node import call_as_one, one_node
from ._trees import as_mstorch, as_native, holds_ours

# Running statistics of MindSpore's normalization layers: parameters in MindSpore, buffers in torch.
_BUFFERS = ("moving_mean", "moving_variance")


def as_torchs(name: str, value: Tensor | float | tuple[int, int]) -> Any:
    """Return a mindspore.Parameter that is assigned to a Module as a torch Parameter over its memory; other values unchanged."""
    if native.is_raw(value) and native.is_parameter(value):
        known = [tensor for tensor in native.tensors_of(value) if isinstance(tensor, Parameter)]
        tensor = known[0] if known else from_mindspore(value)
        if not known:
            tensor.__class__ = Parameter
        return tensor
    if isinstance(value, (list, tuple)) and value and all(map(native.is_parameter, value)):
        if not all(map(native.tensors_of, value)):
            raise TypeError(
                f"mstorch: '{name}' would hold mindspore.Parameters that are no parameters of the Module. Assign each one to an "
                f"attribute, or assign torch.nn.ParameterList(map(mstorch.from_mindspore, …))."
            )
    return value


def is_native(child: Any) -> bool:
    """Return True if a child is a MindSpore Cell but not a Module."""
    return native.is_cell(child) and not isinstance(child, HookMixin)


def adopt(module: Any, name: str) -> None:
    """Prepare a native Cell that became a child of a Module: it accepts and returns torch tensors, and its parameters become leaves."""
    child = module._modules[name]
    if is_native(child):
        for part in _native_cells(child):
            for inner, value in vars(part).items():
                _refuse_torchs(part, inner, value)
            native_calls.convert_calls(part)
        for _ in native_state(module, name):
            pass  # makes torch tensors of the parameters, which become leaves


def _native_cells(cell: Any) -> Iterator[Any]:
    """Yield a native Cell and its native descendants, each of which may be called directly."""
    yield cell
    for _, inner in native.own_cells(cell):
        if is_native(inner):
            yield from _native_cells(inner)


def _refuse_torchs(cell: Any, name: str, value: Any) -> None:
    """Raise TypeError if a native Cell's attribute is a torch Parameter, which MindSpore would neither train nor save."""
    if isinstance(value, Parameter):
        raise TypeError(
            f"mstorch: '{name}' of MindSpore's {type(cell).__name__} is a torch.nn.Parameter, which a Cell neither trains nor saves: "
            "assign mindspore.Parameter(tensor.detach().to_mindspore()), or derive the network from torch.nn.Module"
        )


def _call(plain: Callable[..., Any], cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Call a native Cell with torch tensors."""
    try:
        return _called(plain, cell, args, kwargs)
    except BaseException:
        tape.refill_dtypes()
        raise


def _called(plain: Callable[..., Any], cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    if modes.native is not None or not modes.grad:
        with native_calls.not_recorded(cell) if modes.native is None else nullcontext():
            return as_mstorch(plain(cell, *as_native(args), **as_native(kwargs)))
    if native_calls.differentiates_itself(cell) or cell in _cut:
        return call_as_one(plain, cell, args, kwargs)
    tape.start_recording()  # MindSpore's layers record only if the flag is already on
    state = native_calls.random_state()
    output = plain(cell, *as_native(args), **as_native(kwargs))
    if tape.is_recording():
        return as_mstorch(output)
    _cut.add(cell)  # mindspore.grad inside of it has ended the recording of earlier operations
    return one_node(plain, cell, args, kwargs, output, state)


_cut: WeakSet[Any] = WeakSet()  # Cells whose construct computes gradients with MindSpore


def _walk(cell: Any, prefix: str, kept: dict[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Yield the parameters of a native Cell as torch Parameters, and those of the Modules inside it."""
    for name, raw in native.own_parameters(cell):
        name = prefix + name
        tensor = kept.get(name)
        if tensor is None:
            # The Cell may be a child under another name, too: one parameter is one tensor.
            known = [tensor for tensor in native.tensors_of(raw) if isinstance(tensor, Parameter)]
            tensor = kept[name] = known[0] if known else from_mindspore(raw)
            tensor.__class__ = Parameter
        elif tensor._ms_storage.parameter is not raw or tensor._ms_dtype.ms != raw.dtype:
            become(tensor, from_mindspore(raw))
            native.share(raw, tensor)
        yield name, tensor
    for name, inner in native.own_cells(cell):
        if is_native(inner):
            yield from _walk(inner, f"{prefix}{name}.", kept)
        elif inner is not None:
            yield from inner.named_parameters(f"{prefix}{name}")
            yield from inner.named_buffers(f"{prefix}{name}")


def native_state(module: Any, child: str | None = None) -> Iterator[tuple[str, Tensor]]:
    """Yield (name, tensor) for the parameters of a module's native children, or of one child; names are relative to the module."""
    members = module.__dict__
    for name, cell in members["_modules"].items():
        if (child is None or name == child) and is_native(cell):
            yield from _walk(cell, f"{name}.", members.setdefault("_native_members", {}))


def has_native(module: Any) -> bool:
    """Return True if one of a module's children is a native Cell, which is not a Module."""
    return any(is_native(cell) for cell in module.__dict__["_modules"].values())


def is_buffer(name: str, tensor: Any) -> bool:
    """Return True if torch has a buffer where a native child has this tensor."""
    return not isinstance(tensor, Parameter) or name.rpartition(".")[2] in _BUFFERS


def apply_native(module: Any, function: Callable[[Tensor], Tensor]) -> None:
    """Apply a function to the native children, as ``Module._apply`` does."""
    for _, tensor in list(native_state(module)):
        raw = tensor._ms_storage.parameter
        if raw is not None:
            made = value_of(function(tensor.detach()))
            native.set_value(raw, made)
            if tensor._ms_dtype.ms != raw.dtype:
                become(tensor, from_mindspore(raw))
                native.share(raw, tensor)


native_calls.handle_calls(holds_ours, _call, _refuse_torchs)
