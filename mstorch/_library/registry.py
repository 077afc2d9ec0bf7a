"""Registry of operators by name, with their kernels and dispatch."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._src.core.dtype import dtype
from .._src.core.schemas import Schema
from .._tensor import Tensor
from ..amp._settings import is_autocast_enabled
from ..amp.autocast_mode import _cast, autocast
from ..autograd.function import Function, FunctionCtx
from ..autograd.grad_mode import is_grad_enabled, no_grad
from ..utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from .dynamic_sizes import with_context

if TYPE_CHECKING:
    from ..utils._trees.spec import TreeSpec

_AUTOCAST = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA", "npu": "AutocastPrivateUse1"}  # the keys of kernels for autocast
_ANY_DEVICE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "")


TRANSFORMS: list[Callable[..., Any]] = []
"""Functions of ``(operator, positional, named)`` that compute calls with the tensors of a transform, or return NotImplemented."""
FAKES: dict[tuple[str, str, str], Callable[..., Any]] = {}
"""Fake functions by operator, which compute the metadata of its results."""


@dataclasses.dataclass
class Operator:
    """One overload of an operator."""

    schema: Schema
    kernels: dict[str, Callable[..., Any]] = dataclasses.field(default_factory=dict)
    backward: Callable[..., Any] | None = None
    setup_context: Callable[..., Any] | None = None
    vmap: Callable[..., Any] | None = None
    autocast: dict[str, dtype] = dataclasses.field(default_factory=dict)  # by device type
    is_custom: bool = False  # made by custom_op: autograd cannot trace its kernels

    @property
    def title(self) -> str:
        """The qualified name for torch's messages."""
        return f"{self.schema.namespace}::{self.schema.name}"

    def kernel(self, tensors: list[Tensor]) -> Callable[..., Any]:
        """Return the kernel for the tensors' device. Raise NotImplementedError if there is none."""
        kind = next((tensor.device.type for tensor in tensors), "cpu").upper()
        recorded = is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
        autograd = (f"Autograd{kind}", "Autograd") if recorded else ()
        for key in (*autograd, kind, *(("Meta",) if kind == "META" else ())):
            if key in self.kernels:
                return self.kernels[key]
        fake = FAKES.get((self.schema.namespace, self.schema.name, self.schema.overload)) if kind == "META" else None
        if fake is not None:
            return with_context(fake, self.title)
        for key in _ANY_DEVICE:
            if key in self.kernels:
                return self.kernels[key]
        raise NotImplementedError(
            f"Could not run '{self.title}' with arguments from the '{kind}' backend. This could be because the operator doesn't exist "
            f"for this backend; it has kernels for {sorted(self.kernels)}."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for kind, wanted in self.autocast.items():
            if is_autocast_enabled(kind):
                with autocast(kind, enabled=False):
                    return self(*_cast(args, kind, wanted), **kwargs)
        if any(key.startswith("Autocast") for key in self.kernels):
            kind = next((item.device.type for item in tree_leaves((args, kwargs)) if isinstance(item, Tensor)), "cpu")
            kernel = self.kernels.get(_AUTOCAST.get(kind, ""))
            if kernel is not None and is_autocast_enabled(kind):
                with autocast(kind, enabled=False):  # for the kernel's own calls of the operator
                    return kernel(*args, **kwargs)
        positional, named = self.schema.bind(args, kwargs)
        for transform in TRANSFORMS:
            found = transform(self, positional, named)
            if found is not NotImplemented:
                return found
        leaves, spec = tree_flatten((positional, named))
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        if not self.is_custom and self.backward is None:
            return self.kernel(tensors)(*positional, **named)
        if not (is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)):
            return self._run(tensors, positional, named)
        return _Recorded.apply(self, spec, None, *leaves)

    def recorded(self, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a result that is known already, with the node of the operator's gradient."""
        leaves, spec = tree_flatten(self.schema.bind(args, kwargs))
        return _Recorded.apply(self, spec, (result,), *leaves)

    def _run(self, tensors: list[Tensor], positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        result = self.kernel(tensors)(*positional, **named)
        made = _memories(result) if self.is_custom else []
        if len(set(made)) < len(made) or not set(made).isdisjoint(_memories(tensors)):
            raise RuntimeError(
                f"{self.title}: The output of this custom operator (1) must not also be an input to this custom operator and (2) may "
                "not alias any inputs to this custom operator or other returns. The most common way to trigger this error is if we "
                "have y = custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending output tensor(s)"
            )
        return result


def _alias(leaf: Any) -> Any:
    """Return another object over a tensor's memory, which gets the node."""
    return leaf.detach() if isinstance(leaf, Tensor) else leaf


def _memories(tree: Any) -> list[int]:
    """Return the identity of the memory of each tensor in a tree."""
    return [id(getattr(leaf, "_ms_storage", leaf)) for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


class _Context:
    """Context for ``setup_context`` and ``backward``: the autograd node's, with ``needs_input_grad`` in the order of the operator's
    arguments.
    """

    def __init__(self, inner: FunctionCtx, needs: tuple[bool | Sequence[bool], bool]) -> None:
        self.__dict__["_inner"] = inner
        self.__dict__["needs_input_grad"] = needs

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_inner"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_inner"], name, value)


class _Recorded(Function):
    """autograd.Function that runs a user-defined operator; backward is the formula registered for the operator, or raises."""

    @staticmethod
    def forward(ctx: Any, operator: Operator, spec: TreeSpec, known: tuple[Any] | None, *leaves: Any) -> Any:
        positional, named = tree_unflatten(leaves, spec)
        with no_grad():
            tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
            result = operator._run(tensors, positional, named) if known is None else tree_map(_alias, known[0])
        # Autograd does not support lists as results, only tensors and tuples of tensors.
        result = tuple(result) if isinstance(result, list) else result
        needs = tree_unflatten(list(ctx.needs_input_grad[3:]), spec)[0]
        ctx.operator, ctx.spec, ctx.count = operator, spec, len(leaves)
        ctx.outer = _Context(ctx, needs)
        if operator.setup_context is not None:
            if named:
                operator.setup_context(ctx.outer, positional, named, result)
            else:
                operator.setup_context(ctx.outer, positional, result)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        operator = ctx.operator
        if operator.backward is None:
            schema = operator.schema
            raise RuntimeError(
                f"Trying to backward through {schema.namespace}.{schema.name}.{schema.overload or 'default'} but no autograd formula "
                "was registered. Please use register_autograd to add one."
            )
        given = operator.backward(ctx.outer, *grads)
        given = given if isinstance(given, tuple) else (given,)
        positional, named = tree_unflatten([None] * ctx.count, ctx.spec)
        if len(given) != len(positional):
            raise RuntimeError(
                f"Expected {len(positional)} gradients for the positional arguments of {operator.title}, got {len(given)}"
            )
        leaves: list[Any] = []
        for gradient, place in zip(given, positional):
            count = len(tree_leaves(place))
            listed = isinstance(gradient, (list, tuple)) and isinstance(place, (list, tuple))
            leaves += list(gradient) if listed else [gradient] * count
        return (None, None, None, *leaves, *[None] * len(tree_leaves(named)))


operators: dict[tuple[str, str, str], Operator] = {}  # by namespace, name and overload
waiting: dict[tuple[str, str, str], dict[str, Callable[..., Any]]] = {}  # kernels that were registered before their operator
owned: set[str] = {"aten", "prim", "prims"}  # namespaces owned by a Library of kind DEF


def names(qualname: str) -> tuple[str, str, str]:
    """Split ``ns::name.overload`` into namespace, name and overload."""
    text = getattr(qualname, "_qualname", None) or str(qualname).replace(".", "::", 1) if not isinstance(qualname, str) else qualname
    namespace, separator, rest = text.partition("::")
    if not separator:
        raise ValueError(f"Expected {text} to be of the form \"namespace::name\"")
    name, _, overload = rest.partition(".")
    return namespace, name, "" if overload == "default" else overload


def add(schema: Schema, is_custom: bool = False) -> Operator:
    """Register and return a new operator. Raise RuntimeError if the name is taken."""
    key = (schema.namespace, schema.name, schema.overload)
    if key in operators:
        raise RuntimeError(
            f"Tried to register an operator ({schema}) with the same name and overload name multiple times. Each overload's schema "
            "should only be registered with a single call to def()."
        )
    operators[key] = Operator(schema, waiting.pop(key, {}), is_custom=is_custom)
    return operators[key]


def add_kernel(key: tuple[str, str, str], place: str, function: Callable[..., Any]) -> None:
    """Register a kernel for an operator, which may be defined later."""
    found = operators.get(key)
    (found.kernels if found is not None else waiting.setdefault(key, {}))[place] = function


def remove_kernel(key: tuple[str, str, str], place: str, function: Callable[..., Any]) -> None:
    """Remove a kernel, unless another one has replaced it."""
    kernels = operators[key].kernels if key in operators else waiting.get(key, {})
    if kernels.get(place) is function:
        del kernels[place]


def find(qualname: str) -> Operator:
    """Return the operator with this name. Raise RuntimeError if there is none."""
    key = names(qualname)
    if key not in operators:
        raise RuntimeError(f"operator {'::'.join(key[:2])} does not exist")
    return operators[key]
