"""Parametrizations: parameters or buffers that are computed from others on each access."""
from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence
from typing import Any

from ..._src.core.dtype import dtype
from ..._src.core.tensor_base import TensorBase
from ..._src.leaving import END, Undo, undoing, values_again
from ..._tensor import Tensor
from ...autograd.grad_mode import no_grad
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip


class _Cache:
    """Cached values of parametrized tensors, while ``cached`` contexts are open."""

    def __init__(self) -> None:
        self.open = 0
        self.values: dict[tuple[int, str], Tensor] = {}


_cache = _Cache()


@undoing
def cached(undo: Undo) -> None:
    """Context manager in which each parametrized tensor is computed once, on first access."""
    undo[END:] = (values_again(_cache, "open"), *(() if _cache.open else (_cache.values.clear,)))
    _cache.open += 1


def _put(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _set(place: Tensor, value: Any) -> None:
    if value is not place:
        place.data = value.detach()


def _same_kind(new: Any, old: Tensor | type, what: str, first: str, second: str) -> None:
    """Raise ValueError unless dtype and shape agree."""
    for member in ("dtype", "shape"):
        if getattr(new, member) != getattr(old, member):
            raise ValueError(
                f"Registering a parametrization may not change the {member} of the tensor, unless {what}`unsafe` flag is "
                f"enabled.\n{first}{member}: {getattr(old, member)}\n{second}{member}: {getattr(new, member)}"
            )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, and the original tensors that they are applied to.

    The original tensor is named ``original``; if the ``right_inverse`` of the first parametrization returns a sequence, there are several,
    named ``original0``, ``original1`` and so on. With ``unsafe``, the parametrization may change dtype and shape."""

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Any = original
        with no_grad():
            for module in reversed(list[Any](self)):
                if hasattr(module, "right_inverse"):
                    # A right_inverse that is not implemented counts as the identity.
                    with contextlib.suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, (TensorBase, Sequence)):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, TensorBase)
        self.ntensors = 1 if isinstance(new, TensorBase) else len(new)
        if isinstance(new, TensorBase):
            if new.dtype != dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            with no_grad():
                _set(original, new)
            _put(self, "original", original)
        else:
            for number, part in enumerate(new):
                self._put_part(number, part, original)
        if not unsafe:
            self._check(shape, dtype)

    def _put_part(self, number: int, part: Tensor, original: Tensor) -> None:
        if not isinstance(part, TensorBase):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                f"{number} of the sequence with type {type(part).__name__}."
            )
        made: Any = Parameter(part, original.requires_grad) if isinstance(original, Parameter) else part
        made.requires_grad_(original.requires_grad)
        _put(self, f"original{number}", made)

    def _check(self, shape: tuple[int, ...], dtype: dtype) -> None:
        result = self()
        if not isinstance(result, TensorBase):
            raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
        before: Any = type("Before", (), {"shape": shape, "dtype": dtype})
        _same_kind(result, before, "", "unparametrized ", "parametrized ")

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes ``value``, by the right inverses of the parametrizations."""
        with no_grad():
            for module in reversed(list[Any](self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, TensorBase):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                        f"{self.original.dtype}"
                    )
                _set(self.original, value)
                return
            if not isinstance(value, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length "
                    f"{len(value)}."
                )
            for number, part in enumerate(value):
                self._set_part(number, part)

    def _set_part(self, number: int, part: Any) -> None:
        place = getattr(self, f"original{number}")
        if not isinstance(part, TensorBase):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got element {number} of type {type(part).__name__}."
            )
        if part.dtype != place.dtype:
            raise ValueError(
                f"Tensor {number} returned by `right_inverse` has dtype {part.dtype} while `original{number}` has dtype "
                f"{place.dtype}"
            )
        _set(place, part)

    def _originals(self) -> list[Tensor]:
        """Return the original tensors."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def forward(self) -> Tensor:
        """Compute the parametrized tensor."""
        first, *rest = self
        value = first(*self._originals())
        for module in rest:
            value = module(value)
        return value


def _deepcopy(self: Module, memo: dict[int, Any]) -> Module:
    if id(self) in memo:
        return memo[id(self)]
    replica = type(self).__new__(type(self))
    memo[id(self)] = replica
    Module.__setstate__(replica, copy.deepcopy(Module.__getstate__(self), memo))
    return replica


def _no_state(self: Module) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _make_parametrized(module: Module) -> None:
    """Replace the module's class by a new subclass that can hold properties."""
    cls = type(module)
    members: dict[str, Any] = {"__getstate__": _no_state, "__module__": __name__}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    module.__class__ = type(cls)(f"Parametrized{cls.__name__}", (cls,), members)


def _add_property(module: Module, name: str) -> None:
    def read(self: Any) -> Tensor:
        parametrization = self.parametrizations[name]
        if not _cache.open:
            return parametrization()
        key = (id(self), name)
        if key not in _cache.values:
            _cache.values[key] = parametrization()
        return _cache.values[key]

    def write(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def _check_added(module: Any, name: str, parametrization: Any) -> None:
    """Raise ValueError if another parametrization changes dtype or shape."""
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, TensorBase):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    _same_kind(after, before, "the ", f"module.{name}.", f"parametrization(module.{name}).")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, TensorBase):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for member in ("dtype", "shape"):
        if getattr(back, member) != getattr(before, member):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {member} as module.{name}, unless the "
                f"`unsafe` flag is enabled.\nmodule.{name}.{member}: {getattr(before, member)}\n"
                f"returned {member}: {getattr(back, member)}"
            )


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make ``module.<tensor_name>`` computed by ``parametrization`` from its current tensor.

    The state_dict then holds ``parametrizations.<tensor_name>.original`` (or ``original0``, …). Raise ValueError if the module has no
    parameter or buffer of this name, or if dtype or shape change and ``unsafe`` is not set.
    """
    parametrization.train(module.training)
    owner: Any = module
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_added(module, tensor_name, parametrization)
        owner.parametrizations[tensor_name].append(parametrization)
        owner.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        holder = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _make_parametrized(module)
            owner.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        owner.parametrizations[tensor_name] = holder
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether the named tensor, or any tensor of the module, is parametrized."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized tensor a plain parameter again, with its current value or with that of the original.

    Raise ValueError if it is not parametrized, or if the original's value is requested and there are several originals.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    owner: Any = module
    holder = owner.parametrizations[tensor_name]
    if holder.is_tensor:
        left = holder.original
        if leave_parametrized:
            with no_grad():
                _set(left, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        left = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of "
            "tensors."
        )
    delattr(type(module), tensor_name)
    del owner.parametrizations[tensor_name]
    _put(module, tensor_name, left)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the module's class before parametrization."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copy the parametrizations and originals of one tensor of ``from_module``, or of all, to ``to_module``."""
    if not is_parametrized(from_module):
        return to_module
    source: Any = from_module
    target: Any = to_module
    for name in list(source.parametrizations) if tensor_name is None else [tensor_name]:
        holder = source.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in holder:
            register_parametrization(to_module, name, parametrization)
        names = ["original"] if holder.is_tensor else [f"original{i}" for i in range(holder.ntensors)]
        for original in names:
            setattr(target.parametrizations[name], original, getattr(holder, original))
    return to_module
