"""MindSpore checkpoint files of torch modules: weights under the names of the corresponding MindSpore network."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .._src.backend import checkpoint
from .._src.backend.raw import NP_DTYPE, Raw, from_numpy
from .._src.core.tensor_base import array_of, value_of, wrap
from .._src.ops.memory.copying import copy_
from .._src.ops.shape import views
from .._tensor import Tensor, from_mindspore
from ..autograd.grad_mode import no_grad
from ..nn import modules as layers
from ..nn.modules._names import RUNNING, names_of
from ..nn.modules._native import native_state
from ..nn.modules._state import _IncompatibleKeys, loaded_keys
from ..nn.modules.module import Module

Names = Mapping[str, str] | Callable[[str], str] | None

_BATCH_NORM_3D = {
    "weight": ("bn2d.gamma",), "bias": ("bn2d.beta",), "running_mean": ("bn2d.moving_mean",),
    "running_var": ("bn2d.moving_variance",),
}  # fmt: skip
_ALONE = {"moving_mean": "mean", "moving_variance": "variance", "w": "a"}
_FILL = {"weight": 1.0, "bias": 0.0, "running_mean": 0.0, "running_var": 1.0}


def _layer_names(module: Module) -> Mapping[str, tuple[str, ...]]:
    """Return MindSpore's names for a layer's tensors: the first is written, all are read."""
    return _BATCH_NORM_3D if isinstance(module, layers.BatchNorm3d) else names_of(type(module))


_INSTANCE_NORMS = (layers.InstanceNorm1d, layers.InstanceNorm2d, layers.InstanceNorm3d)
_FLAT = (layers.Conv1d, layers.ConvTranspose1d)
_CHILDREN = {
    layers.TransformerEncoderLayer: {"linear1": "dense1", "linear2": "dense2"},
    layers.TransformerDecoderLayer: {"linear1": "dense1", "linear2": "dense2"},
}  # fmt: skip


class _Place:
    """Tensor of a module: its torch name, its MindSpore names, and its shape in MindSpore."""

    __slots__ = ("name", "names", "tensor", "lifted", "optional", "fill")

    def __init__(self, name: str, names: tuple[str, ...], tensor: Any, lifted: bool, optional: bool, fill: Any = None) -> None:
        self.name = name
        self.names = names
        self.tensor = tensor
        self.lifted = lifted  # stored with a dimension of length 1 before the last
        self.optional = optional
        self.fill = fill  # (shape, value) of an entry that MindSpore has and the module lacks


def _places(module: Module, prefix: str = "", native: str = "") -> Iterator[_Place]:
    names = _layer_names(module)
    own: dict[str, Any] = dict(module._parameters.items())
    own.update((name, value) for name, value in module._buffers.items() if name not in module._non_persistent_buffers_set)
    for name, tensor in own.items():
        known = names.get(name, (name,))
        if not native:
            known = tuple(dict.fromkeys((*(_ALONE.get(one, one) for one in known), *known)))
        if tensor is None:
            if name in _FILL and name in names:
                yield _Place(prefix + name, tuple(native + one for one in known), None, False, True, (_width(module), _FILL[name]))
            continue
        lifted = name == "weight" and isinstance(module, _FLAT)
        yield _Place(
            prefix + name, (*(native + one for one in known), prefix + name), tensor, lifted, name == "num_batches_tracked"
        )
    if isinstance(module, _INSTANCE_NORMS) and "running_mean" not in own:
        for name in RUNNING:
            yield _Place(prefix + name, tuple(native + one for one in RUNNING[name]), None, False, True, (_width(module), _FILL[name]))
    renamed = next((found for cls, found in _CHILDREN.items() if isinstance(module, cls)), {})
    for name, child in module._modules.items():
        if isinstance(child, Module):
            yield from _places(child, f"{prefix}{name}.", f"{native}{renamed.get(name, name)}.")
        elif child is not None:
            for inner, tensor in native_state(module, name):
                yield _Place(prefix + inner, (native + inner,), tensor, False, False)


def _width(module: Any) -> tuple[int, ...]:
    for name in ("num_features", "num_channels"):
        if hasattr(module, name):
            return (int(getattr(module, name)),)
    return tuple(module.normalized_shape)


def _renamer(names: Names) -> Callable[[str], str | None]:
    if names is None:
        return lambda name: None
    if callable(names):
        return names
    return names.get


def mindspore_names(module: Module) -> dict[str, str]:
    """Return by torch name the names of the module's tensors in the corresponding MindSpore network."""
    return {place.name: place.names[0] for place in _places(module) if place.tensor is not None}


def save_mindspore_checkpoint(module: Module, path: str | os.PathLike[str], names: Names = None) -> None:
    """Write a module's state to a MindSpore .ckpt file, which ``mindspore.load_param_into_net`` reads into the corresponding network.

    Names become MindSpore's (``weight`` of a BatchNorm2d is ``gamma``); the weight of a Conv1d gets MindSpore's fourth dimension. ``names``
    overrides them: a mapping or function from torch names to names in the file.
    """
    rename = _renamer(names)
    found: dict[str, Raw] = {}
    for place in _places(module):
        if place.tensor is None:
            shape, value = place.fill
            found.setdefault(place.names[0], from_numpy(np.full(shape, value, NP_DTYPE["float32"])))
            continue
        tensor = place.tensor.detach()
        if place.lifted:
            tensor = views.unsqueeze(tensor, -2)
        # A copy: the file may be written after the next training step.
        found[rename(place.name) or place.names[0]] = from_numpy(np.array(array_of(tensor), order="C", copy=True))
    checkpoint.save(os.fspath(path), found)


def load_mindspore_checkpoint(
    module: Module, path: str | os.PathLike[str], strict: bool = True, names: Names = None
) -> _IncompatibleKeys:
    """Load a MindSpore .ckpt file into a module; return the torch names missing from the file (``missing_keys``) and its surplus names
    (``unexpected_keys``).

    Both MindSpore's and torch's names are accepted, so files that ``mindspore.save_checkpoint`` wrote from a native network or from a
    module load alike. ``names`` overrides them: a mapping or function from torch names to names in the file. With ``strict``, raise
    RuntimeError for missing and unexpected names; for other sizes always.
    """
    rename = _renamer(names)
    given = checkpoint.load(os.fspath(path))
    missing: list[str] = []
    errors: list[str] = []
    used: set[str] = set()
    for place in _places(module):
        own = rename(place.name)
        name = next((one for one in ((own,) if own else place.names) if one in given), None)
        if name is None:
            if not place.optional:
                missing.append(place.name)
            continue
        used.add(name)
        if place.tensor is None:
            continue
        value = _plain(given[name])
        if place.lifted and value.dim() == place.tensor.dim() + 1:
            value = views.squeeze(value, -2)
        if tuple(value.shape) != tuple(place.tensor.shape):
            errors.append(
                f"size mismatch for {place.name}: copying a param with shape {value.shape} from checkpoint, the shape in "
                f"current model is {place.tensor.shape}."
            )
            continue
        with no_grad():
            copy_(place.tensor, value)
    unexpected = [name for name in given if name not in used]
    return loaded_keys(module, "the MindSpore checkpoint", "the checkpoint", missing, unexpected, errors, strict)


def _plain(raw: Any) -> Tensor:
    return wrap(value_of(from_mindspore(raw).detach()))
