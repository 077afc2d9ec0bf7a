"""torch.library: user-defined operators, under ``torch.ops.<namespace>.<name>``.

Differs from torch: kernels and fakes may be registered before their operator.
"""
from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import repeat
from typing import Any

from typing_extensions import deprecated

from . import ops as _ops
from ._library import registry
from ._library.dispatch_keys import DispatchKey
from ._library.dynamic_sizes import get_ctx
from ._library.opcheck import USUAL, checked
from ._library.schema import infer_schema
from ._library.triton import wrap_triton
from ._src.aten.calling import RULES
from ._src.core.dtype import dtype
from ._src.core.schemas import Schema, parse
from ._src.core.warned import warn
from ._src.hook import missing as _missing
from ._src.leaving import END, Undo, undoing
from .amp import is_autocast_available

_DEVICES = {"cpu": "CPU", "cuda": "CUDA", "npu": "NPU", "default": "CompositeExplicitAutograd"}
device_types_t = str | Sequence[str] | None


def fallthrough_kernel() -> None:
    """Placeholder for a missing kernel; raise NotImplementedError when called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Library:
    """Operators of a namespace (``DEF``, ``FRAGMENT``), or kernels for those of another (``IMPL``). Both are removed when the library is
    deleted."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns == "prim" and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            if ns in registry.owned:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your definitions in "
                    "a single TORCH_LIBRARY block."
                )
            registry.owned.add(ns)
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._defined: list[tuple[str, str, str]] = []
        self._kernels: list[tuple[tuple[str, str, str], str, Callable[..., Any]]] = []
        weakref.finalize(self, _remove, ns if kind == "DEF" else None, self._defined, self._kernels).atexit = False

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator; return its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError("mstorch: a Library of kind IMPL defines no operators")
        operator = registry.add(parse(self.ns, schema))
        self._defined.append((self.ns, operator.schema.name, operator.schema.overload))
        return operator.schema.name

    def impl(
        self, op_name: str, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False, allow_override: bool = True
    ) -> None:
        """Register an operator's kernel for a key: ``CPU``, ``CUDA``, ``CompositeImplicitAutograd``, ``Autograd`` …"""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if with_keyset:
            raise NotImplementedError("mstorch: torch.library has no sets of dispatch keys")
        name = op_name if isinstance(op_name, str) else str(op_name).partition(".")[2]
        if self.dispatch_key and dispatch_key not in ("", self.dispatch_key):
            raise RuntimeError(
                f'impl("{name}", ...): Explicitly provided dispatch key ({dispatch_key}) is inconsistent with the dispatch key of the '
                f"enclosing TORCH_LIBRARY_IMPL block ({self.dispatch_key}).  Please declare a separate TORCH_LIBRARY_IMPL block for this "
                "dispatch key and move your impl() there."
            )
        if fn is fallthrough_kernel:
            return
        qualname = f"{self.ns}::{name.rpartition('::')[2]}"
        key = registry.names(qualname)
        if self.ns in _OWN and key not in registry.operators:
            warn(f"mstorch: the kernel registered for {qualname} is never called, because mstorch computes this operator itself")
        self._kernels.append((key, dispatch_key or self.dispatch_key, fn))
        registry.add_kernel(*self._kernels[-1])

    def _destroy(self) -> None:
        """Remove the operators and kernels that this library registered."""
        _remove(self.ns if self.kind == "DEF" else None, self._defined, self._kernels)


_OWN = ("aten", "prim", "prims")


def _remove(owned: str | None, defined: Sequence[tuple[str, str, str]], kernels: Iterable[tuple[Any, str, Callable[..., Any]]]) -> None:
    """Remove operators and kernels, and free the namespace ``owned``."""
    for key, place, function in kernels:
        registry.remove_kernel(key, place, function)
    for key in defined:
        registry.operators.pop(key, None)
    if owned is not None:
        registry.owned.discard(owned)


@undoing
def _scoped_library(undo: Undo, ns: str, kind: str, dispatch_key: str = "") -> Library:
    """Context manager that yields a ``Library`` and destroys it at the end."""
    if kind != "DEF" or ns not in registry.owned:
        undo[END:] = (partial(registry.owned.discard, ns),)
    made = Library(ns, kind, dispatch_key)
    undo[END:] = (partial(deque, map(registry.operators.pop, made._defined, repeat(None)), 0),)  # removes the operators that it has defined
    return made


def _registering(library: Library, name: str, dispatch_key: str) -> Callable[..., Any]:
    """Return a decorator that registers a kernel in a library."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        library.impl(name, function, dispatch_key)
        return function

    return register


def define(qualname: str | Library, schema: str, alias_analysis: str = "", *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Define an operator ``ns::name`` with a schema such as ``(Tensor x) -> Tensor``. With a library in place of the name, and the name in
    the schema, return a decorator that also registers a kernel."""
    if isinstance(qualname, Library):
        return _registering(qualname, qualname.define(schema, alias_analysis, tags=tags), "")
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, name, overload = registry.names(qualname)
    registry.add(parse(namespace, f"{name}{f'.{overload}' if overload else ''}{schema}"))


def impl(
    qualname: str | Library, types: str | Sequence[str], func: Any = None, *, lib: Library | None = None
) -> Callable[..., Any] | None:
    """Register an operator's kernel for device types (``cpu``, ``cuda``, ``default``) or dispatch keys; also a decorator. With a library
    in place of the qualified name, return a decorator; the other arguments are the operator's name and a dispatch key."""
    if isinstance(qualname, Library):
        return _registering(qualname, str(types), func or "")
    if func is None:
        return lambda function: (impl(qualname, types, function), function)[1]
    for kind in [types] if isinstance(types, str) else types:
        registry.add_kernel(registry.names(qualname), _DEVICES.get(kind, kind), func)
    return None


def register_kernel(
    op: CustomOpDef, device_types: device_types_t, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register an operator's kernel for device types, or for all; also a decorator."""
    if func is None:
        return lambda function: (register_kernel(op, device_types, function), function)[1]
    return impl(_qualname(op), "default" if device_types is None else device_types, func)


def _qualname(op: str | CustomOpDef) -> str:
    return op if isinstance(op, str) else op._qualname


def register_fake(
    op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None, _stacklevel: int = 1, allow_override: bool = True
) -> Callable[..., Any]:
    """Register a function that computes the metadata of an operator's results, for fake tensors; also a decorator."""
    if func is None:
        return lambda function: register_fake(op, function)
    registry.FAKES[registry.names(_qualname(op))] = func
    return func


@deprecated(
    "`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use that instead; we will remove "
    "`torch.library.impl_abstract` in a future version of PyTorch.",
    category=FutureWarning,
)
def impl_abstract(qualname: str, func: Callable[..., Any] | None = None, *, lib: Library | None = None, _stacklevel: int = 1) -> Any:
    """Register a fake function; deprecated name of ``register_fake``."""
    return register_fake(qualname, func)


def register_autograd(
    op: CustomOpDef, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Library | None = None
) -> None:
    """Register an operator's gradient: ``backward(ctx, *grads)``, using what ``setup_context(ctx, inputs, output)`` saves."""
    operator = registry.find(_qualname(op))
    if any(argument.is_write for argument in operator.schema.arguments):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {operator.title} with schema {operator.schema}. Please create "
            "a functional operator and register an autograd formula for that."
        )
    operator.backward, operator.setup_context = backward, setup_context


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Register an operator's batching rule: ``func(info, in_dims, *args)`` returns the output and ``out_dims``; also a decorator."""
    if not isinstance(op, (str, CustomOpDef)) and not hasattr(op, "_schema"):
        raise ValueError(f"register_vmap({op}): got unexpected type for op: {type(op)}")
    namespace, name, overload = registry.names(_qualname(op) if isinstance(op, (str, CustomOpDef)) else op)
    if func is None:
        return lambda function: (register_vmap(op, function), function)[1]
    operator = registry.operators.get((namespace, name, overload))
    if operator is None:
        raise AttributeError(f"'_OpNamespace' '{namespace}' object has no attribute '{name}'")
    operator.vmap = func
    return None


def register_autocast(op: Any, device_type: str, cast_inputs: dtype, /, *, lib: Library | None = None) -> None:
    """Within autocast of a device type, run an operator with autocast disabled and with floating tensors, except float64, cast to
    ``cast_inputs``. Raise ValueError for a device type without autocast."""
    if not isinstance(op, (str, CustomOpDef)) and not hasattr(op, "_schema"):
        raise ValueError(f"register_autocast({op}): got unexpected type for op: {type(op)}")
    if not is_autocast_available(device_type):
        raise ValueError(f"Device type '{device_type}' does not support autocast.")
    registry.find(_qualname(op) if isinstance(op, (str, CustomOpDef)) else op).autocast.setdefault(device_type, cast_inputs)


def register_torch_dispatch(
    op: Any, torch_dispatch_class: type, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register what a class with ``__torch_dispatch__``, of modes or of tensors, does for an operator; also a decorator.

    ``func(mode or class, op, types, args, kwargs)`` returns the result.
    """
    if not isinstance(op, (str, CustomOpDef)) and not hasattr(op, "_schema"):
        raise ValueError(f"register_torch_dispatch({op}): got unexpected type for op: {type(op)}")
    if func is None:
        return lambda function: (register_torch_dispatch(op, torch_dispatch_class, function, lib=lib), function)[1]
    name = _qualname(op) if isinstance(op, (str, CustomOpDef)) else op.name()
    RULES[name, torch_dispatch_class] = func
    return None


class _SafeKernelFunction:
    """The kernel that an operator had for a dispatch key when ``get_kernel`` was called."""

    def __init__(self, overload: Any, kernel: Callable[..., Any]) -> None:
        self.op_handle, self._kernel = overload, kernel

    def call_boxed(self, keyset: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel; the set of keys is not needed to find it."""
        return self._kernel(*args, **kwargs)

    def __repr__(self) -> str:
        return f"SafeKernelFunction(debug='{self.op_handle}')"


def get_kernel(op: Any, dispatch_key: str | DispatchKey) -> _SafeKernelFunction:
    """Return the kernel of an operator for a dispatch key, to be called by a kernel that replaces it: the registered one, else the
    operator's own. Raise RuntimeError for an operator that does not exist, ValueError for a key that does not.
    """
    if not isinstance(op, (str, CustomOpDef)) and not hasattr(op, "_schema"):
        raise ValueError(f"get_kernel({op}): got unexpected type for op: {type(op)}")
    key = dispatch_key if isinstance(dispatch_key, str) else dispatch_key.name
    if not hasattr(DispatchKey, key):
        raise ValueError(f"Invalid dispatch key: {key}")
    name = _qualname(op) if isinstance(op, (str, CustomOpDef)) else op.name()
    namespace, own, overload = registry.names(name) if "::" in name else ("", "", "")
    packet = getattr(getattr(_ops, namespace), own, None) if own else None
    if packet is None or (overload or "default") not in packet.overloads():
        raise RuntimeError(f"operator {name} does not exist")
    found = getattr(packet, overload or "default")
    operator = registry.operators.get((namespace, own, overload))
    return _SafeKernelFunction(found, found if operator is None else operator.kernels.get(key, found))


def opcheck(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *, test_utils: str | Sequence[str] = USUAL,
    raise_exception: bool = True, atol: float | None = None, rtol: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return for each test whether an operator passes it with these arguments: "SUCCESS" or the error.

    ``test_schema``: only arguments that the schema names are written to or share memory with results; ``test_autograd_registration``:
    there is a gradient where results are tracked; ``test_faketensor``: the fake function gives the shapes, dtypes and strides of the
    results; ``test_aot_dispatch_dynamic``: results and gradients are the same in ``torch.compile``. Raise OpCheckError for the first that
    fails unless ``raise_exception`` is False, and ValueError for a value that is not an operator."""
    op = op._opoverload if isinstance(op, CustomOpDef) else op.default if isinstance(op, _ops.OpOverloadPacket) else op
    if not isinstance(op, _ops.OpOverload):
        raise ValueError(
            f"opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got {type(op)}"
        )
    names = (test_utils,) if isinstance(test_utils, str) else test_utils
    return checked(op, tuple(args), kwargs or {}, names, raise_exception, atol, rtol)


class CustomOpDef:
    """Operator made from a Python function: call it, or register kernels, a gradient, and a fake function."""

    def __init__(self, namespace: str, name: str, schema: Schema, fn: Callable[..., Any]) -> None:
        self._namespace = namespace
        self._name = name
        self._qualname = f"{namespace}::{name}"
        self._schema = schema
        self._init_fn = fn
        self._operator = registry.add(schema, is_custom=True)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types: device_types_t, fn: Callable[..., Any] | None = None, /) -> Callable[..., Any]:
        """Register the kernel for device types; also a decorator."""
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register a function that computes the metadata of the results."""
        return register_fake(self, fn)

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None) -> None:
        """Register the operator's gradient."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_autocast(self, device_type: str, cast_inputs: dtype) -> None:
        """Let the operator run on cast tensors within autocast."""
        register_autocast(self, device_type, cast_inputs)

    @property
    def _opoverload(self) -> Any:
        """The operator as ``torch.ops`` has it."""
        return getattr(getattr(_ops, self._namespace), self._name).default

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Register the operator's batching rule; also a decorator."""
        return register_vmap(self, func)


def custom_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str], device_types: device_types_t = None,
    schema: str | None = None, tags: Any = None,
) -> CustomOpDef | Callable[..., Any]:  # fmt: skip
    """Make a function the operator ``ns::name``, with the schema of its annotations; also a decorator."""
    if fn is None:
        return lambda function: custom_op(
            name, function, mutates_args=mutates_args, device_types=device_types, schema=schema, tags=tags
        )
    namespace, own, _ = registry.names(name)
    text = schema if schema is not None else infer_schema(fn, mutates_args=mutates_args)
    made = CustomOpDef(namespace, own, parse(namespace, own + text), fn)
    made.register_kernel(device_types, fn)
    return made


def triton_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None
) -> CustomOpDef | Callable[..., Any]:
    """Make a function that launches kernels of Triton's the operator ``ns::name``; also a decorator.

    A launch raises here (``wrap_triton``): register a kernel of your own for the device by ``register_kernel``.
    """
    if fn is None:
        return lambda function: triton_op(name, function, mutates_args=mutates_args, schema=schema)
    # As in torch, the schema is always inferred, and the function computes the metadata, too.
    operator = custom_op(name, fn, mutates_args=mutates_args)
    assert isinstance(operator, CustomOpDef)
    operator.register_fake(fn)
    return operator


__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "impl", "impl_abstract", "infer_schema", "opcheck",
    "get_kernel", "register_autocast", "register_autograd", "register_fake", "register_kernel", "register_torch_dispatch", "register_vmap",
    "triton_op", "wrap_triton",
]  # fmt: skip

__getattr__ = _missing(__name__)
