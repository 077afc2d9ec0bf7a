"""Pruning: entries of a parameter are masked to zero.

A pruned ``weight`` is computed before each forward from the parameter ``weight_orig`` and the buffer ``weight_mask``.
"""
from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from ..._src.core.above import above
from ..._src.core.formats import contiguous_format
from ..._tensor import Tensor
from ..modules.module import Module
from .convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod(ABC):
    """Base of pruning hooks, which mask a parameter; subclasses define ``compute_mask``.

    ``PRUNING_TYPE`` is "unstructured" (single entries), "structured" (whole channels along ``dim``) or "global".
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask (1 keeps an entry) for importance scores ``t``, within ``default_mask``."""

    def apply_mask(self, module: Module) -> Tensor:
        """Return the parameter with pruned entries set to zero."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, f"{self._tensor_name}_mask")
        original = getattr(module, f"{self._tensor_name}_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Any:
        """Prune a parameter, even if already pruned, and return the hook."""
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        before = _pop_hook(module, name)
        if before is not None:
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container
        current = getattr(module, name)
        if importance_scores is None:
            importance_scores = current
        elif importance_scores.shape != current.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got {importance_scores.shape} vs "
                f"{current.shape}"
            )
        if before is None:
            module.register_parameter(f"{name}_orig", current)
            del module._parameters[name]
            mask = above.torch.ones_like(current)
        else:
            mask = getattr(module, f"{name}_mask").detach().clone(memory_format=contiguous_format)
        try:
            module.register_buffer(f"{name}_mask", method.compute_mask(importance_scores, default_mask=mask))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if before is None:
                module.register_parameter(name, module._parameters.pop(f"{name}_orig"))
            raise
        return method

    def prune(self, t: Tensor, default_mask: Any = None, importance_scores: Any = None) -> Tensor:
        """Return a tensor with the entries that the method prunes set to zero."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {importance_scores.shape} vs {t.shape}"
            )
        return t * self.compute_mask(importance_scores, default_mask=above.torch.ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruned parameter a plain parameter again, with its zeros."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _pop_hook(module: Any, name: str) -> BasePruningMethod | None:
    """Remove a tensor's pruning hook from the module and return it."""
    keys = [
        key for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]  # fmt: skip
    if len(keys) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
        )
    return module._forward_pre_hooks.pop(keys[0]) if keys else None


class PruningContainer(BasePruningMethod):
    """Sequence of pruning methods on one tensor; each method selects among the entries that the previous ones left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a pruning method. Raise TypeError for other objects, and ValueError for a method of another tensor."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer {self}. "
                f"Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the default mask, further pruned by the last method."""
        method = self._pruning_methods[-1]
        chosen = _chosen_by(method, t, default_mask)
        mask = default_mask.to(dtype=t.dtype)
        part = method.compute_mask(t[chosen], default_mask=default_mask[chosen])
        mask[chosen] = part.to(dtype=mask.dtype)
        return mask


def _chosen_by(method: Any, t: Tensor, mask: Tensor) -> Any:
    """Return an index of the entries that are not pruned yet, as entries or as channels according to the method's PRUNING_TYPE."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * t.dim()
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError(
            'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
        )
    rank = t.dim()
    dim = method.dim + rank if method.dim < 0 else method.dim
    if dim < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {rank}")
    return _index_along(rank, dim, mask.sum(dim=[d for d in range(rank) if d != dim]) != 0)


def _index_along(rank: int, dim: int, index: Tensor) -> tuple[Any, ...]:
    """Return an index tuple that has ``index`` in one dimension and full slices in all others."""
    return tuple(index if d == dim % rank else slice(None) for d in range(rank))


class _Amount(BasePruningMethod):
    """A method that prunes a fraction (float) or a count (int) of entries or channels."""

    amount: Any

    def __init__(self, amount: float | str) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size: int) -> int:
        """Return the number of entries to prune out of ``size``."""
        count = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(count, size)
        return count


def _validate_pruning_amount_init(amount: Any) -> None:
    """Raise TypeError unless the amount is a real number, and ValueError unless it is a fraction in [0, 1] or a non-negative integer."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if float(amount) < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    """Raise ValueError if an integer amount exceeds the number of entries."""
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: float, tensor_size: int) -> int:
    """Return the number of entries given by ``amount``, a count or a fraction of the size."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


class _Entries(_Amount):
    PRUNING_TYPE = "unstructured"

    def _pruned(self, entries: Any, count: int) -> Any:
        """Return the row-major indices of the ``count`` entries to prune."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with the selected entries set to 0."""
        count = self._count(t.numel())
        mask = default_mask.clone(memory_format=contiguous_format)
        if count:
            mask.view(-1)[self._pruned(t.detach(), count)] = 0
        return mask


class _Channels(_Amount):
    PRUNING_TYPE = "structured"
    dim: int

    def _channels(self, t: Tensor) -> int:
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        return t.shape[self.dim]

    def _kept(self, t: Tensor, index: Tensor, default_mask: Tensor) -> Tensor:
        mask = above.torch.zeros_like(t.detach())
        mask[_index_along(t.dim(), self.dim, index)] = 1
        mask *= default_mask.to(dtype=mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing, but installs mask and hook."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask unchanged."""
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> Any:
        """Install the mask of a parameter."""
        return super().apply(module, name)


class RandomUnstructured(_Entries):
    """Prunes entries at random."""

    def _pruned(self, entries: Tensor, count: int) -> Tensor:
        return above.torch.topk(above.torch.rand_like(entries).view(-1), k=count).indices

    @classmethod
    def apply(cls, module: Module, name: str, amount: float) -> Any:
        """Prune entries of a parameter at random; return the hook."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Entries):
    """Prunes the entries of smallest absolute value."""

    def _pruned(self, entries: Tensor, count: int) -> Tensor:
        return above.torch.topk(above.torch.abs(entries).view(-1), k=count, largest=False).indices

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Any:
        """Prune the entries of smallest absolute value, or score; return the hook."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class RandomStructured(_Channels):
    """Prunes channels along ``dim`` at random."""

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with random channels set to 0."""
        channels = self._channels(t)
        count = self._count(channels)
        if count == 0:
            return default_mask
        chances = above.torch.rand(channels)
        return self._kept(t, chances > above.torch.kthvalue(chances, k=count).values, default_mask)

    @classmethod
    def apply(cls, module: Module, name: str, amount: int, dim: int = -1) -> Any:
        """Prune channels of a parameter at random; return the hook."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Channels):
    """Prunes the channels along ``dim`` with the smallest n-norm."""

    def __init__(self, amount: float, n: int, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with the channels of smallest norm set to 0."""
        channels = self._channels(t)
        count = self._count(channels)
        if count == 0:
            return default_mask
        sizes = above.torch.norm(t.detach(), p=self.n, dim=[d for d in range(t.dim()) if d != self.dim % t.dim()])
        return self._kept(t, above.torch.topk(sizes, k=channels - count, largest=True).indices, default_mask)

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, n: int, dim: int, importance_scores: Any = None) -> Any:
        """Prune the channels of a parameter with the smallest n-norm; return the hook."""
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the product of both masks."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> Any:
        """Prune a parameter by a mask; return the hook."""
        return super().apply(module, name, mask=mask)


def identity(module: Module, name: str) -> Module:
    """Add the pruning reparametrization to a parameter with a mask of ones; return the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune entries at random, a fraction (float) or a count (int); return the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prune the entries of smallest absolute value (or score), a fraction (float) or a count (int); return the module."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: int, dim: int) -> Module:
    """Prune channels along ``dim`` at random; return the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: float, n: int, dim: int, importance_scores: Any = None) -> Module:
    """Prune the channels along ``dim`` with the smallest n-norm; return the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(parameters: Any, pruning_method: type[Any], importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune entries of several parameters, given as (module, name), as if they were one tensor."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    flat = parameters_to_vector([scores.get((module, name), getattr(module, name)) for module, name in pairs])
    default = parameters_to_vector(
        [getattr(module, f"{name}_mask", above.torch.ones_like(getattr(module, name))) for module, name in pairs]
    )
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    mask = PruningContainer(method).compute_mask(flat, default)
    place = 0
    for module, name in pairs:
        parameter = getattr(module, name)
        custom_from_mask(module, name, mask=mask[place : place + parameter.numel()].view_as(parameter))
        place += parameter.numel()


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Any:
    """Prune a parameter where ``mask`` is 0; return the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter a plain parameter again, with its zeros. Raise ValueError if it is not pruned."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Return whether a parameter of the module or its descendants is pruned."""
    return any(
        isinstance(hook, BasePruningMethod) for below in module.modules() for hook in below._forward_pre_hooks.values()
    )
