"""torch.overrides: functions and methods that subclasses, classes with ``__torch_function__`` and modes may override."""
from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ._src.core import overriding
from ._src.core.built_in import written
from ._src.core.overriding import is_entry
from ._src.leaving import END, Block, each, length_again
from ._src.ops._forms import REQUIRED
from ._src.ops.memory.subclasses import UNWRAPPED
from ._tensor import Tensor

Function = Callable[..., Any]

# Functions that modes see, but that a class is not expected to override.
_IGNORED: dict[str, frozenset[str]] = {
    "torch": frozenset(
        "arange as_strided as_tensor asarray bartlett_window blackman_window cond empty empty_permuted empty_quantized empty_strided "
        "eig eye fill from_dlpack from_file from_numpy frombuffer full hamming_window hann_window kaiser_window linspace logspace "
        "lstsq lu matrix_rank normal ones pca_lowrank rand rand_like randint randint_like randn randn_like randperm range "
        "result_type scalar_tensor segment_reduce solve sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor "
        "sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor svd_lowrank symeig tensor to_dlpack tril_indices triu_indices unique "
        "vander zeros".split()
    ),
    "torch.nn.functional": frozenset(
        "grouped_mm hardsigmoid hardswish scaled_mm sigmoid tanh upsample upsample_bilinear upsample_nearest".split()
    ),
    "torch.fft": frozenset(("fftfreq", "rfftfreq")),
    "torch.Tensor": frozenset(
        "__cuda_array_interface__ __dir__ _conj _fix_weakref _neg_view "
        "eig lstsq new new_empty new_empty_strided new_full new_ones new_tensor new_zeros reinforce "
        "solve stride symeig "
        "to_padded_tensor to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr unflatten".split()
    ),
}
_HOME = __name__.partition(".")[0]
_SPACES = (".functional", "", ".nn.functional", ".nn.init", ".linalg", ".fft", ".special")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether one of the arguments, or a mode, overrides calls; plain tensors and Parameters do not."""
    if overriding.state.skips:
        overriding.state.skips = False
        return False
    if not isinstance(relevant_args, Iterable):
        raise TypeError(f"expected a sequence, got {type(relevant_args).__name__}")
    return overriding.mode_is_on() or any(map(overriding.overrides, relevant_args))


def redispatch_function(func: Function, types: Sequence[type], args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Tensor:
    """Call a function while skipping the overrides of this call only; nested calls are overridden again."""
    before, overriding.state.skips = overriding.state.skips, True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        overriding.state.skips = before


def has_torch_function_unary(tensor: int) -> bool:
    """Return ``has_torch_function`` for one argument."""
    return has_torch_function((tensor,))


def has_torch_function_variadic(*args: Any) -> bool:
    """Return ``has_torch_function`` for the arguments."""
    return has_torch_function(args)


def handle_torch_function(public_api: Function, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Return the result of a mode, or of the first ``__torch_function__`` that does not return NotImplemented, subclasses first."""
    found: list[Any] = []
    relevant = list(relevant_args)
    overriding.collect(relevant, found)
    if overriding.state.level != overriding.ON:
        found.clear()
    if overriding.state.level == overriding.ON and any(type(arg) is Tensor for arg in relevant):
        found.append(next(arg for arg in relevant if type(arg) is Tensor))  # torch includes it in the types, with the lowest precedence
    mode = overriding.state.modes[-1] if overriding.mode_is_on() else None
    result = overriding.ask(public_api, found, args, kwargs)
    if result is not NotImplemented:
        return result
    message = (
        f"no implementation found for '{public_api.__module__}.{public_api.__name__}' on types that implement "
        f"__torch_function__: {[type(arg) for arg in found]}"
    )
    raise TypeError(message if mode is None else f"{message} nor in mode {mode}")


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Function], Function]:
    """Return a decorator that makes a user's function overridable; ``dispatcher`` returns the relevant arguments."""

    def inner(func: Function) -> Function:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


def is_tensor_like(inp: Any) -> bool:
    """Return whether the value is a tensor or its class defines ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Function) -> bool:
    """Return whether a function received by a handler is a method or property of Tensor."""
    return func in _methods() or func.__name__ == "__get__"


@functools.cache
def _methods() -> frozenset[Function]:
    return frozenset(value for value in vars(Tensor).values() if is_entry(value))


def _spaces() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    for place in _SPACES:
        module = sys.modules[_HOME + place]
        yield f"torch{place}", module, vars(module)
    yield "torch.Tensor", Tensor, vars(Tensor)


def _listed(space: str, name: str, value: Any) -> Function | None:
    """Return the object that a handler receives for a public name; None if it cannot be overridden."""
    if isinstance(value, overriding.Property):
        return None if name in _IGNORED.get(space, ()) else value.__get__
    if not is_entry(value) or name in _IGNORED.get(space, ()):
        return None
    return value if space == "torch.Tensor" or not name.startswith("_") and not name.endswith("_") else None


def get_overridable_functions() -> dict[Any, list[Function]]:
    """Return the functions that ``__torch_function__`` can override, by namespace; the getter for a property."""
    found: dict[Any, list[Function]] = {}
    for place, space, names in _spaces():
        for name, value in names.items():
            function = _listed(place, name, value)
            if function is not None:
                found.setdefault(value if isinstance(value, property) else space, []).append(function)
    return found


def get_ignored_functions() -> set[Function]:
    """Return the public functions that ``__torch_function__`` cannot override."""
    found: set[Function] = set()
    for place, space, names in _spaces():
        for name, value in names.items():
            known = isinstance(written(value), types.FunctionType) and (space is Tensor or name[0].islower())
            if known and _listed(place, name, value) is None and (is_entry(value) or not name.endswith("_")):
                found.add(value)
    return found


def get_testing_overrides() -> dict[Function, Function]:
    """Return for each overridable function a function with the same parameters that returns -1."""
    found = {}
    for space, functions in get_overridable_functions().items():
        for function in functions:
            found[function] = _stub((lambda self: -1) if isinstance(space, property) else function)
    package = sys.modules[_HOME]
    numbers = [value for name, value in vars(package).items() if name.startswith("_sym_") and name != "_sym_log2"]
    filling = [value for value in vars(package.nn.init).values() if is_entry(value)]
    own = [value for name, value in vars(package).items() if name.startswith("_") and is_entry(value)]
    for function in (*numbers, *filling, *own, *package.distributed._collectives.ASKING):
        found[function] = _stub(function)
    return found


# Signatures that torch's test functions use, for functions that require more arguments.
_TAKEN = {
    "where": ("condition", ("x", None), ("y", None)), "frobenius_norm": ("input", ("dim", None), ("keepdim", False), ("out", None)),
    "solve_triangular": ("input", "B", "upper", ("left", True), ("unitriangular", False)),
    "native_layer_norm": ("input", "normalized_shape", ("weight", None), ("bias", None), ("eps", 1e-05)),
}  # fmt: skip


def _signature(function: Function) -> inspect.Signature:
    """Return the signature of a function; for derived forms (in place, copy of a view) that of the original."""
    name = overriding.public_name(function)
    if name in _TAKEN:
        return inspect.Signature([
            inspect.Parameter(p, inspect.Parameter.POSITIONAL_OR_KEYWORD) if isinstance(p, str)
            else inspect.Parameter(p[0], inspect.Parameter.POSITIONAL_OR_KEYWORD, default=p[1]) for p in _TAKEN[name]
        ])  # fmt: skip
    signature = inspect.signature(written(function))
    if not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        return signature
    plain = next((name.removesuffix(end) for end in ("_copy", "_") if name.endswith(end) and not name.startswith("_")), name)
    of = vars(Tensor).get(plain)
    return inspect.signature(of) if isinstance(of, types.FunctionType) else signature


def _stub(function: Function) -> Function:
    signature = _signature(function)
    # Aliases of parameters are keywords with a default; their primary parameters have a REQUIRED default.
    parameters = [
        p.replace(default=p.empty) if isinstance(p.default, REQUIRED) else p for p in signature.parameters.values()
    ]
    signature = signature.replace(parameters=parameters)

    def stub(*args: Any, **kwargs: Any) -> int:
        signature.bind(*args, **kwargs)
        return -1

    stub.__signature__ = signature  # type: ignore[attr-defined]
    stub.__name__ = stub.__qualname__ = function.__name__
    return stub


def resolve_name(f: Function) -> str | None:
    """Return the qualified name of a function, a method or a property's ``__get__``; None for others.

    Of several namespaces the last is used: ``torch.conv1d`` is ``torch.nn.functional.conv1d``.
    """
    found = None
    for space_name, _, names in sorted(_spaces(), key=lambda item: item[0] != "torch"):
        for name, value in names.items():
            if space_name == "torch" and name.startswith("_"):
                continue
            if value is f and (found is None or name == f.__name__ or found.rpartition(".")[0] != space_name):
                found = f"{space_name}.{name}"
            if isinstance(value, property) and getattr(f, "__self__", None) is value:
                return f"{space_name}.{name}.{f.__name__}"
    if found is not None:
        return found
    return str(f) if isinstance(f, types.BuiltinFunctionType) and written(f) is f else None


def get_default_nowrap_functions() -> set[Function]:
    """Return the functions whose results the default ``Tensor.__torch_function__`` does not convert to the subclass."""
    return set(UNWRAPPED)


class TorchFunctionMode(Block):
    """Context manager whose ``__torch_function__(func, types, args, kwargs)`` receives all calls of torch's functions."""

    inner: TorchFunctionMode

    def __init__(self) -> None:
        pass

    def __torch_function__(
        self, func: Function, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Handle a call; the mode is disabled inside."""
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        modes = overriding.state.modes
        self.at_end(each(length_again(modes), overriding.MODES.pop))
        overriding.MODES[END:] = (None,)
        modes[END:] = (self,)
        return self

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        """Return a new instance."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """Mode that passes all calls through."""

    def __torch_function__(
        self, func: Function, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the function unchanged."""
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> TorchFunctionMode | None:
    modes = overriding.state.modes
    return modes[-1] if modes else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    return list(overriding.state.modes)


_enable_torch_function = overriding.enabled
_pop_mode_temporarily = overriding.without_innermost_mode


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Context manager without effect: in mstorch, ``__torch_dispatch__`` can always call operators again."""
    yield


__all__ = [
    "get_ignored_functions", "get_overridable_functions", "get_testing_overrides", "handle_torch_function", "has_torch_function",
    "resolve_name", "is_tensor_like", "is_tensor_method_or_property", "wrap_torch_function", "enable_reentrant_dispatch",
]  # fmt: skip
