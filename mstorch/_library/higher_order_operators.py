"""Operators that take functions, or that libraries write in Python: ``HigherOrderOperator``, with a rule for each way to be run.

A rule of ``vmap`` is called as in torch. Rules of ``grad`` and ``jvp`` are kept and not called: mstorch's transforms pass plain tensors, so
that the rule for autograd, whose operations are tracked, gives the derivative. Without one, the error is torch's.
"""
from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, TypeVar

from .._src.core.overriding import state
from .._src.core.tensor_base import TensorBase
from .._src.leaving import Block, values_again
from ..overrides import handle_torch_function, has_torch_function
from ..utils._pytree import tree_leaves
from .dispatch_keys import DispatchKey as Key
from .dispatch_keys import TransformType, _dispatch_tls_local_exclude_set

F = TypeVar("F", bound=Callable[..., Any])

REGISTRY: dict[str, HigherOrderOperator] = {}
"""The operators that were made, by name; the last one of a name."""

_ANY_DEVICE = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")
_BACKENDS = {"cpu": "CPU", "cuda": "CUDA", "npu": "PrivateUse1", "meta": "Meta"}


class VmapInterpreter:
    """A running ``vmap``, as a rule gets it."""

    def __init__(self, map: Any) -> None:
        self._map = map

    def key(self) -> TransformType:
        """Return the transform's type."""
        return TransformType.Vmap

    def level(self) -> int:
        """Return the transform's level, from 1."""
        return int(self._map.depth)

    def batch_size(self) -> int:
        """Return the number of slices."""
        return int(self._map.size)

    def randomness(self) -> str:
        """Return the randomness mode."""
        return str(self._map.randomness)

    def lower(self) -> Block:
        """Return a context manager in which the transform and those inside it do not run."""
        return _Below(self._map.depth)


class _Below(Block):
    def __init__(self, depth: int) -> None:
        self.depth = depth

    def __enter__(self) -> None:
        self.at_end(values_again(state, "maps"))
        state.maps = state.maps[: self.depth - 1]


class _WithoutMode(Block):
    def __enter__(self) -> Any:
        *others, mode = state.dispatchers
        self.at_end(values_again(state, "dispatchers"))
        state.dispatchers = others
        return mode


class HigherOrderOperator(abc.ABC):
    """Base of operators whose arguments may be functions; a subclass defines ``__call__``, which calls that of this class."""

    def __init__(self, name: str, *, cacheable: bool = False, supports_training_input_mutation: bool = False) -> None:
        if type(self) is HigherOrderOperator:
            raise RuntimeError("Direct instantiation of HigherOrderOperator is not allowed. Please subclass it.")
        self._name = self.__name__ = name
        self.namespace = "higher_order"
        self.__module__ = "torch.ops.higher_order"
        self._cacheable = cacheable
        self.supports_training_input_mutation = supports_training_input_mutation
        self.py_kernels: dict[Any, Callable[..., Any]] = {}
        REGISTRY[name] = self
        self.fallthrough(Key["PythonDispatcher"])
        self.fallthrough(Key["PythonTLSSnapshot"])

    def name(self) -> str:
        """Return the operator's name."""
        return self._name

    def cacheable(self) -> bool:
        """Return whether graphs with the operator may be kept."""
        return self._cacheable

    def py_impl(self, k: Any) -> Callable[[F], F]:
        """Return a decorator that registers a function for a dispatch key, a transform, a mode's class or a tensor class."""

        def register(function: F) -> F:
            assert k not in self.py_kernels, f"{k} already registered in python_key_table"
            self.py_kernels[k] = function
            return function

        return register

    def py_autograd_impl(self, fn: F) -> F:
        """Register a function for autograd on all devices."""
        return self.py_impl(Key["Autograd"])(fn)

    def py_functionalize_impl(self, fn: F) -> F:
        """Register a function for functionalization, which gets a context and the arguments."""
        return self.py_impl(Key["Functionalize"])(fn)

    def fallthrough(self, dispatch_key: Key) -> None:  # noqa: B027 - subclasses may call it
        """Let a key pass calls on; no key of mstorch stops them."""

    def has_kernel_for_dispatch_key(self, k: Any) -> bool:
        """Return whether a function is registered for a key."""
        return k in self.py_kernels

    def has_kernel_for_any_dispatch_key(self, ks: Any) -> bool:
        """Return whether a function is registered for any key of a set."""
        return any(isinstance(key, Key) and ks.has(key) for key in self.py_kernels)

    @abc.abstractmethod
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compute the operator; subclasses call this."""
        leaves = tree_leaves((args, kwargs))
        if has_torch_function(leaves):
            return handle_torch_function(self, leaves, *args, **kwargs)
        tensors = [leaf for leaf in leaves if isinstance(leaf, TensorBase)]
        if state.maps and (state.maps[-1].levels == state.levels or any(hasattr(tensor, "bdim") for tensor in tensors)):
            return self.py_kernels[TransformType.Vmap](VmapInterpreter(state.maps[-1]), *args, **kwargs)
        return self.dispatch(tensors, args, kwargs)

    def dispatch(self, tensors: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function of the first of autograd, modes, tensor classes and devices that is to be asked."""
        backend = _BACKENDS.get(tensors[0].device.type, "CPU") if tensors else ""
        if tensors and not _dispatch_tls_local_exclude_set().has(Key["AutogradCPU"]):
            return self._kernel(f"Autograd{backend}", ("Autograd", "CompositeImplicitAutograd"))(*args, **kwargs)
        if state.dispatchers:
            return self._by_mode(args, kwargs)
        for tensor in tensors:
            rule = self.py_kernels.get(type(tensor))
            result = NotImplemented if rule is None else rule(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return self._kernel(backend or _ANY_DEVICE[0], _ANY_DEVICE)(*args, **kwargs)

    def _by_mode(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with _WithoutMode() as mode:
            rule = self.py_kernels.get(type(mode))
            if rule is not None:
                return rule(mode, *args, **kwargs)
            if mode.supports_higher_order_operators:
                return mode.__torch_dispatch__(self, [], args, kwargs)
        raise NotImplementedError(
            f"There was no rule registered for HigherOrderOperator {self._name} and mode {mode}.Hint: set {mode}'s "
            "supports_higher_order_operators to True. This causes all higher order operators to pass through "
            f"{mode}'s __torch_dispatch__, so handle them accordingly by adding support for HigherOrderOperators (in this case, "
            f"{self._name}) in {mode}'s __torch_dispatch__ or returning NotImplemented when not supported."
        )

    def _kernel(self, key: str, others: tuple[str, ...]) -> Callable[..., Any]:
        for name in (key, *others):
            if Key[name] in self.py_kernels:
                return self.py_kernels[Key[name]]
        raise NotImplementedError(
            f"could not find kernel for HigherOrderOperator {self._name} at dispatch key DispatchKey.{key} "
            f"(resolved from DispatchKey.{key})"
        )
