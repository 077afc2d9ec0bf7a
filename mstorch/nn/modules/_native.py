"""Networks of MindSpore's own as children of a Module: their calls, and their parameters as torch's."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..._backend import cell as native
from ..._core.tensor_base import TensorBase, become, value_of
from ..._tensor import Tensor, from_mindspore
from ..parameter import Parameter
from ._hooks import HookMixin

# The running statistics of MindSpore's normalisations: parameters there, buffers here.
_BUFFERS = ("moving_mean", "moving_variance")


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        items = [_changed(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [_changed(item, change) for item in value]
    if isinstance(value, dict):
        return {key: _changed(item, change) for key, item in value.items()}
    return change(value)


def as_mstorch(value: Any) -> Any:
    """A tree of tuples, lists and dictionaries with MindSpore's tensors as torch's."""
    return _changed(value, lambda leaf: from_mindspore(leaf) if native.is_raw(leaf) else leaf)


def as_native(value: Any) -> Any:
    """A tree with torch's tensors as MindSpore's."""
    return _changed(value, lambda leaf: leaf.to_mindspore() if isinstance(leaf, TensorBase) else leaf)


def _holds_ours(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds_ours(item) for item in value)
    if isinstance(value, dict):
        return any(_holds_ours(item) for item in value.values())
    return isinstance(value, TensorBase)


def as_torchs(name: str, value: Any) -> Any:
    """A mindspore.Parameter that is assigned to a Module, as the Parameter of torch's over its memory; all else as it is."""
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
    """Whether a child is a Cell that is no Module."""
    return native.is_cell(child) and not isinstance(child, HookMixin)


def adopt(module: Any, name: str) -> None:
    """Let a native Cell that became a child of a Module take and give torch's tensors too, and its parameters get gradients."""
    child = module._modules[name]
    if is_native(child):
        native.convert_calls(child, _holds_ours, as_native, as_mstorch)
        for _ in native_state(module, name):
            pass  # makes torch's tensors of the parameters, which backward then knows as leaves


def _walk(cell: Any, prefix: str, kept: dict[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """The parameters of a native Cell as torch's, and those of the Modules inside of it."""
    for name, raw in native.own_parameters(cell):
        name = prefix + name
        tensor = kept.get(name)
        if tensor is None:
            tensor = kept[name] = from_mindspore(raw)
            tensor.__class__ = Parameter
        elif tensor._storage.parameter is not raw or tensor._dtype.ms != raw.dtype:
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
    """What the native children of a module (or one of them) keep, with names below the module."""
    members = module.__dict__
    for name, cell in members["_modules"].items():
        if (child is None or name == child) and is_native(cell):
            yield from _walk(cell, f"{name}.", members.setdefault("_native_members", {}))


def has_native(module: Any) -> bool:
    """Whether a module has native children."""
    return any(is_native(cell) for cell in module.__dict__["_modules"].values())


def is_buffer(name: str, tensor: Any) -> bool:
    """Whether one of the things that a native child keeps is a buffer for torch."""
    return not isinstance(tensor, Parameter) or name.rpartition(".")[2] in _BUFFERS


def apply_native(module: Any, function: Callable[[Tensor], Tensor]) -> None:
    """``Module._apply`` for the native children."""
    for _, tensor in list(native_state(module)):
        raw = tensor._storage.parameter
        if raw is not None:
            made = value_of(function(tensor.detach()))
            native.set_value(raw, made)
            if tensor._dtype.ms != raw.dtype:
                become(tensor, from_mindspore(raw))
                native.share(raw, tensor)
