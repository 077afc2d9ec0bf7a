"""torch._C: those names of torch's compiled module that packages use and that apply to mstorch."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .._jit_internal import running as _jit
from .._jit_internal import states
from .._library import schema_types as _schema_types
from .._library.dispatch_keys import DispatchKey as DispatchKey
from .._library.dispatch_keys import DispatchKeySet as DispatchKeySet
from .._library.dispatch_keys import _AutoDispatchBelowAutograd as _AutoDispatchBelowAutograd
from .._library.dispatch_keys import _dispatch_tls_local_exclude_set as _dispatch_tls_local_exclude_set
from .._library.dispatch_keys import _ExcludeDispatchKeyGuard as _ExcludeDispatchKeyGuard
from .._library.function_schema import Argument, FunctionSchema, parse_schema
from .._library.tags import Tag as Tag
from .._src.core import determinism, overriding
from .._src.core import device as _devices
from .._src.core.above import above
from .._src.core.built_in import written
from .._src.core.device import device
from .._src.core.dtype import dtype
from .._src.core.formats import layout, memory_format
from .._src.core.generator import Generator, default_generator
from .._src.core.modes import modes
from .._src.core.size import Size
from .._src.core.warned import warn
from .._src.hook import missing as _missing
from .._src.ops._dispatch import broadcast_shape
from .._src.ops.linalg.linalg_factor import _LinAlgError
from .._src.tape.engine import running
from .._src.tape.node import Node as _GradientNode
from .._tensor import Tensor
from ..autograd import forward_ad
from ..autograd.grad_mode import is_grad_enabled, is_multithreading_enabled, is_view_replay_enabled, set_grad_enabled
from ..jit._trace_graph import State
from ..overrides import has_torch_function, has_torch_function_unary, has_torch_function_variadic
from . import _autograd, _cpu, _functions, _functorch, _nn
from ._graphs import Block, Graph, Node, Type, Value
from ._schemas import _get_schema, _jit_get_schemas_for_operator
from ._storage import StorageBase

__all__ = [
    "Argument", "Block", "DisableTorchFunction", "DisableTorchFunctionSubclass", "DispatchKey", "FunctionSchema", "Generator",
    "Graph", "Node", "Size", "StorageBase", "Type", "Value", "_LinAlgError", "_autograd", "_cpu", "_functions", "_functorch",
    "_get_schema", "_jit_get_schemas_for_operator", "_nn", "default_generator", "device", "dtype", "is_grad_enabled", "layout",
    "memory_format", "parse_schema",
]  # fmt: skip

_has_cuda = _has_cudnn = _has_cusparselt = _has_magma = _has_mps = _has_xpu = False
_debug_only_are_vmap_fallback_warnings_enabled = _functorch.are_vmap_fallback_warnings_enabled
_debug_only_display_vmap_fallback_warnings = _functorch.display_vmap_fallback_warnings
_disabled_torch_dispatch_impl = overriding.disabled_dispatch
_disabled_torch_function_impl = overriding.disabled
_has_torch_function = has_torch_function
_has_torch_function_unary = has_torch_function_unary
_has_torch_function_variadic = has_torch_function_variadic


class _Functions(type):
    def __getattr__(cls, name: str) -> Any:
        found = getattr(above.torch, name, None)
        if not callable(found) or isinstance(found, type):
            raise AttributeError(f"type object '_VariableFunctionsClass' has no attribute '{name}'")
        return found


class _VariableFunctionsClass(metaclass=_Functions):
    """Namespace of torch's functions: torch pickles ``torch.relu`` as ``torch._C._VariableFunctionsClass.relu``."""


class _TorchFunctionOff(overriding.level_set_to):
    """Context manager that disables ``__torch_function__``."""

    level: int

    def __init__(self) -> None:
        super().__init__(self.level)


class DisableTorchFunctionSubclass(_TorchFunctionOff):
    """Context manager that disables ``__torch_function__`` of classes, but not of modes."""

    level = overriding.WITHOUT_SUBCLASSES


class DisableTorchFunction(_TorchFunctionOff):
    """Context manager that disables ``__torch_function__`` of classes and modes."""

    level = overriding.OFF


def _is_torch_function_enabled() -> bool:
    """Return whether ``__torch_function__`` of classes is enabled."""
    return overriding.state.level == overriding.ON


def _is_torch_function_all_disabled() -> bool:
    """Return whether ``__torch_function__`` is disabled for both classes and modes."""
    return overriding.state.level == overriding.OFF


class _EnableTorchFunction:
    """Enables ``__torch_function__`` of classes and modes for its lifetime, whatever is disabled around it."""

    def __init__(self) -> None:
        self._before = overriding.state.level
        overriding.state.level = overriding.ON

    def __del__(self) -> None:
        overriding.state.level = self._before


def _is_torch_function_mode_enabled() -> bool:
    """Return whether the thread has an active TorchFunctionMode."""
    return overriding.mode_is_on()


def _len_torch_function_stack() -> int:
    """Return the number of the thread's TorchFunctionModes."""
    return len(overriding.state.modes)


_TensorMeta = type(Tensor)
TensorBase = Tensor
_set_grad_enabled = set_grad_enabled

def _get_tracing_state() -> State | None:
    """Return the state of the trace that ``torch.jit._get_trace_graph`` is recording, with its scopes; None outside of a trace."""
    return states[-1] if states else None


def _is_tracing() -> bool:
    """Return whether ``torch.jit.trace`` is running in this thread."""
    return _jit.traced


def _is_alias_of(first: Tensor, second: Tensor) -> bool:
    """Return whether two tensors share a storage."""
    return bool(first._ms_storage is second._ms_storage)


def _storage_address(tensor: Any) -> int:
    """Return a number that identifies a tensor's storage."""
    return id(tensor._ms_storage)


def _data_address(tensor: Any) -> int:
    """Return the address of a tensor's first element."""
    return int(tensor.data_ptr())


def _get_deterministic_fill_uninitialized_memory() -> bool:
    """Return whether uninitialized memory is filled under deterministic algorithms."""
    return determinism.state["fill"]


def _set_deterministic_fill_uninitialized_memory(mode: bool) -> None:
    """Set whether uninitialized memory is filled under deterministic algorithms."""
    determinism.state["fill"] = bool(mode)


def _warn() -> None:
    """Give a warning, for tests of warnings."""
    warn("Test message for TORCH_WARN", UserWarning)


def _warn_deprecation() -> None:
    """Give a deprecation warning, for tests of warnings."""
    warn("Test message for TORCH_WARN_DEPRECATION", DeprecationWarning)


def _log_api_usage_once(event: str) -> None:
    """Do nothing: usage is not logged."""


def _are_functorch_transforms_active() -> bool:
    """Return False: function transforms pass plain tensors to their functions."""
    return False


def _get_default_device() -> str:
    """Return the default device as text."""
    return str(_devices.current())


def _get_accelerator(check: bool | None = None) -> device:
    """Return the process's accelerator, or the CPU if there is none."""
    return device(_devices.current().type)


def _get_privateuse1_backend_name() -> str:
    """Return the default name of the PrivateUse1 backend: no package can register one."""
    return "privateuseone"


def _cuda_isInBadFork() -> bool:
    """Return False: no GPU was used before a fork."""
    return False


def _infer_size(first: Size, second: Size) -> Size:
    """Return the shape that two shapes broadcast to."""
    for number, shape in enumerate((first, second), 1):
        if not isinstance(shape, Size):
            raise RuntimeError(f"expected a torch.Size as argument {number}")
    return Size(broadcast_shape(first, second))


_enter_dual_level = forward_ad.enter_dual_level
_exit_dual_level = forward_ad.exit_dual_level
_is_fwd_grad_enabled = forward_ad._is_fwd_grad_enabled


def _set_fwd_grad_enabled(mode: bool) -> None:
    """Set whether tangents are computed."""
    modes.forward = mode


class _WeakTensorRef:
    """Weak reference to a tensor."""

    def __init__(self, tensor: Any) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Return whether the tensor has been freed."""
        return self._reference() is None


def _current_graph_task_id() -> int:
    """Return the number of the running backward pass; -1 outside of one."""
    return running.passes[-1].number if running.passes else -1


def _current_autograd_node() -> Any:
    """Return the node that is running in a backward pass, or None."""
    return running.current


def _current_graph_task_execution_order() -> list[Any]:
    """Return the nodes of the running backward pass in execution order."""
    if not running.passes:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    if is_multithreading_enabled():
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed with multithreading disabled, e.g. by "
            "running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n...     torch.autograd.grad(...)\n"
        )
    return running.passes[-1].order()


def _will_engine_execute_node(node: Any) -> bool:
    """Return whether the running backward pass executes a node."""
    if not isinstance(node, _GradientNode):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    if not running.passes:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    return running.passes[-1].runs(node)


_cached: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_caching = [False]


def _set_cached_tensors_enabled(enabled: bool) -> None:
    """Set whether tensors may be registered as those of a cache that outlives the program's own references."""
    _caching[0] = bool(enabled)


def _add_cached_tensor(tensor: Tensor) -> None:
    """Register a tensor as one of a cache, as the outputs of recorded graphs are."""
    if not _caching[0]:
        raise RuntimeError("tensors are registered after _set_cached_tensors_enabled(True)")
    _cached[id(tensor)] = tensor


def _remove_cached_tensor(tensor: Tensor) -> None:
    """Take a tensor out of the cache, however often it was registered."""
    if not _caching[0]:
        raise RuntimeError("tensors are taken out after _set_cached_tensors_enabled(True)")
    _cached.pop(id(tensor), None)


def _is_cached_tensor(tensor: Tensor) -> bool:
    """Return whether a tensor is registered as one of a cache."""
    return _caching[0] and _cached.get(id(tensor)) is tensor


def _set_view_replay_enabled(enabled: bool) -> None:
    """Set whether a view whose base was written gets the view's own node again."""
    modes.replay = bool(enabled)


_is_view_replay_enabled = is_view_replay_enabled


_jit_settings: dict[str, Any] = {}


def _jit_setting(name: str, default: bool) -> Callable[..., Any]:
    def function(value: Any) -> Any:
        before = _jit_settings.get(name, default)
        _jit_settings[name] = value
        return before

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Store an option of TorchScript's executor, without effect; return its previous value."
    return function


(_jit_set_profiling_mode, _jit_set_profiling_executor, _jit_set_texpr_fuser_enabled, _jit_override_can_fuse_on_cpu,
 _jit_override_can_fuse_on_gpu, _jit_set_nvfuser_enabled, _jit_set_nvfuser_guard_mode) = (
    _jit_setting(name, default) for name, default in (
        ("_jit_set_profiling_mode", True), ("_jit_set_profiling_executor", True), ("_jit_set_texpr_fuser_enabled", True),
        ("_jit_override_can_fuse_on_cpu", False), ("_jit_override_can_fuse_on_gpu", False), ("_jit_set_nvfuser_enabled", False),
        ("_jit_set_nvfuser_guard_mode", True),
    ))  # fmt: skip


_emit_hooks: list[Any] = [None, None]


def _jit_set_emit_hooks(module_hook: Callable[..., Any] | None, function_hook: Callable[..., Any] | None) -> None:
    """Store the hooks for modules and functions compiled by TorchScript, which are never called."""
    _emit_hooks[:] = module_hook, function_hook


def _jit_get_emit_hooks() -> tuple[Any, Any]:
    """Return the hooks given to ``_jit_set_emit_hooks``: for modules and for functions."""
    return _emit_hooks[0], _emit_hooks[1]


def _jit_clear_class_registry() -> None:
    """Do nothing: no classes are compiled by TorchScript."""


def _jit_can_fuse_on_cpu() -> bool:
    """Return False: mstorch has no TorchScript compiler."""
    return False


_jit_can_fuse_on_gpu = _jit_can_fuse_on_cpu
_JIT_TYPES = {name: value for name, value in vars(_schema_types).items() if name.endswith("Type")}


def __getattr__(name: str) -> Any:
    """Return the schema types, which ``torch`` has as well."""
    found = vars(above.torch).get(name)
    if written(found) is not found or name in ("has_lapack", "has_mkl", "has_openmp", "has_spectral"):
        return found  # compiled functions, which torch has in both modules
    return _JIT_TYPES[name] if name in _JIT_TYPES else _absent(name)


_absent = _missing("mstorch._C")
