"""The base of all optimizers, and hooks on every optimizer."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from .._src.backend.cell import is_raw
from .._src.core.above import above, step_watchers
from .._src.core.dtype import dtype, float32, float64, get_default_dtype
from .._src.core.modes import MODES, grad_set_to
from .._src.core.no_memory import tells_no_memory
from .._src.core.overriding import PLAIN
from .._src.core.postponed import keep, postponed, waits_after_steps
from .._src.core.warned import warn
from .._tensor import Tensor
from ..utils._foreach_utils import _get_fused_kernels_supported_devices
from ..utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

R = TypeVar("R")

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
"""Parameters of an optimizer: tensors, groups, or pairs of a name and a parameter."""

StateDict: TypeAlias = dict[str, Any]
"""Result of ``state_dict``."""

_FUSED_DEVICES = _get_fused_kernels_supported_devices()

_global_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(optimizer, args, kwargs)`` to run before every step of every optimizer; return a removable handle."""
    return _register(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(optimizer, args, kwargs)`` to run after every step of every optimizer; return a removable handle."""
    return _register(_global_post_hooks, hook)


def _register(hooks: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any], first: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if first:
        hooks.move_to_end(handle.id, last=False)
    return handle


_INSTANCE_HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


class Optimizer:
    """Holds parameters in groups with options, and a state for each parameter; a subclass defines ``step()``.

    Raises TypeError for a bare tensor, a set or a non-tensor, ValueError for an empty list, a tensor that is not a leaf, or a parameter in
    two groups.
    """

    _optimizer_step_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_step_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for name in _INSTANCE_HOOKS:
            setattr(self, name, OrderedDict())
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + _typename(params)
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _INSTANCE_HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            options = "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
            text += f"\nParameter Group {i}\n{options}"
        return text + ")"

    def _patch_step_function(self) -> None:
        # The class's own `step` is wrapped, once, because a user's subclass does not handle hooks.
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            wrapped = self.profile_hook_step(cls.step)
            wrapped.hooked = True  # type: ignore[attr-defined]
            cls.step = wrapped  # type: ignore[method-assign]

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap ``func`` (a ``step`` method) to call the registered hooks around it."""

        for watch in step_watchers:
            func = watch(func)
        func = tells_no_memory(func)

        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            if postponed.calls is not None:
                return keep(wrapper, args, kwargs)
            self = args[0]
            for hook in chain(_global_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                replaced = hook(self, args, kwargs)
                if replaced is None:
                    continue
                if not (isinstance(replaced, tuple) and len(replaced) == 2):
                    raise RuntimeError(
                        f"{func} must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                    )
                args, kwargs = replaced
            result = func(*args, **kwargs)
            for hook in chain(self._optimizer_step_post_hooks.values(), _global_post_hooks.values()):
                hook(self, args, kwargs)
            return result

        return wrapper

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(optimizer, args, kwargs)`` to run before each step; it may return new ``(args, kwargs)``."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(optimizer, args, kwargs)`` to run after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Register ``hook(optimizer)`` to run before ``state_dict`` is built."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Register ``hook(optimizer, state_dict)`` to run on the result of ``state_dict``; it may return a replacement."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Register ``hook(optimizer, state_dict)`` to run before loading; it may return another state dict."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Register ``hook(optimizer)`` to run after loading."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def state_dict(self) -> dict[str, Any]:
        """Return `{"state": {index: …}, "param_groups": […]}`, parameters numbered over the groups."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        number: dict[int, int] = {}
        packed_groups = []
        start = 0
        for group in self.param_groups:
            # The last position counts for a parameter that is twice in a group, as in torch.
            places = {id(param): i for i, param in enumerate(group["params"], start)}
            number = places | number
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [number[id(param)] for param in group["params"]]
            packed_groups.append(packed)
            start += len(group["params"])
        state = {number[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        result = {"state": state, "param_groups": packed_groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, result)
            if replaced is not None:
                result = replaced
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load state and options; state tensors are cast to their parameter's dtype and device, except ``step``.

        Raise ValueError if the number of groups or of parameters in a group differs.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced

        saved_groups = deepcopy(state_dict["param_groups"])
        if len(saved_groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(self.param_groups, saved_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )

        owner: dict[Any, tuple[Tensor, dict[str, Any]]] = {}
        for group, saved in zip(self.param_groups, saved_groups, strict=True):
            for param, key in zip(group["params"], saved["params"], strict=True):
                owner[key] = (param, saved)
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in owner:
                param, saved = owner[key]
                state[param] = _cast_state(value, param, saved)
            else:
                state[key] = value

        for group, saved in zip(self.param_groups, saved_groups, strict=True):
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    @waits_after_steps
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients to None, or to detached zeros if ``set_to_none`` is False."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none and type(param) in PLAIN and not MODES:  # the property written out: a step of a small network is calls
                    auto = param._ms_auto
                    if auto is not None:
                        auto.grad = None
                    continue
                grad = param.grad
                if grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> float | None:
        """Update the parameters once; ``closure`` reevaluates the model and returns the loss."""
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a dict with "params" (tensors, or pairs of name and tensor) and options that override the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but "
                "the ordering of tensors in sets will change between runs. Please use a list instead."
            )
        entries = [given] if isinstance(given, Tensor) else list(given)
        names = [entry[0] for entry in entries if isinstance(entry, tuple)]
        params = [entry[1] if isinstance(entry, tuple) else entry for entry in entries]
        param_group["params"] = params
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        for param in params:
            _check_param(param, bool(self.defaults.get("differentiable")))
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        _check_beside_groups(param_group, self.param_groups)
        self.param_groups.append(param_group)


def _check_param(param: Any, differentiable: bool) -> None:
    """Raise an error unless this can be optimized."""
    if not isinstance(param, Tensor):
        raise TypeError("optimizer can only optimize Tensors, but one of the params is " + _typename(param))
    if not differentiable and not (param.is_leaf or param.retains_grad):
        raise ValueError("can't optimize a non-leaf Tensor")


def _check_beside_groups(param_group: dict[str, Any], groups: list[dict[str, Any]]) -> None:
    """Raise ValueError for a new group with parameters of another group, or with names where others have none; warn of duplicates."""
    ids = {id(param) for param in param_group["params"]}
    if len(ids) != len(param_group["params"]):
        warn(
            "optimizer contains a parameter group with duplicate parameters; "
            "in future, this will cause an error; "
            "see github.com/pytorch/pytorch/issues/40967 for more information",
        )
    for group in groups:
        if ("param_names" in param_group) != ("param_names" in group):
            kind = "with names" if "param_names" in param_group else "without names"
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {kind} to the optimizer"
            )
    if any(id(param) in ids for group in groups for param in group["params"]):
        raise ValueError("some parameters appear in more than one parameter group")


def _typename(value: Tensor | float) -> str:
    if isinstance(value, Tensor):
        return value.type()
    if is_raw(value):
        advice = "a cell that is a child of a Module has its parameters in parameters(); else take MindSpore's optimizers"
        return f"mindspore.{type(value).__name__}: {advice}"
    named = value if hasattr(value, "__qualname__") else type(value)
    return named.__qualname__ if named.__module__ == "builtins" else f"{named.__module__}.{named.__qualname__}"


def _cast_state(value: Any, param: Tensor, group: dict[str, Any], key: str | None = None) -> Any:
    if isinstance(value, Tensor):
        if key == "step":
            # A step counter keeps its dtype and stays on the host, unless the kernel needs it on the device.
            on_device = group.get("capturable", False) or group.get("fused", False)
            return value.to(dtype=float32, device=param.device) if on_device else value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {name: _cast_state(item, param, group, name) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_cast_state(item, param, group) for item in value)  # type: ignore[call-arg]
    return value


# Functions for steps, under torch's names, which optimizers in other packages import


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``step`` method to run with gradients disabled, unless the optimizer has differentiable=True."""

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        with grad_set_to(args[0].defaults["differentiable"]):
            return func(*args, **kwargs)

    return wrapper


def _default_to_fused_or_foreach(params: list[Any], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """Return the defaults of ``fused`` and ``foreach``; on a CPU, torch uses ``fused`` only on request."""
    if differentiable:
        return False, False
    fused = use_fused and all(p is None or (p.is_floating_point() and p.device.type in ("cpu", "cuda", "npu")) for p in params)
    return fused, not fused and all(p is None or p.device.type != "cpu" for p in params)


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """Raise RuntimeError unless a fused step supports the parameter."""
    devices = [name for name in _FUSED_DEVICES if name != "cuda"] if cuda_unsupported else _FUSED_DEVICES
    if p.device.type not in devices or not p.is_floating_point():
        raise RuntimeError(
            f"`fused=True` requires all the params to be floating point Tensors of supported devices: {devices} "
            f"but {p.dtype} and {p.device.type}"
        )


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Return the device types on which torch can capture a step into a graph; the CPU is not one of them."""
    return ["cuda", "xpu", "hpu", "npu"] + (["xla"] if supports_xla else [])


def _get_scalar_dtype(is_fused: bool | None = None) -> dtype:
    """Return the dtype of step counters."""
    return float64 if not is_fused and get_default_dtype() == float64 else float32


def _to_scalar(x: Tensor | float) -> Any:
    """Return a one-element tensor of any rank as a 0-d tensor, another library's scalar as a Python number."""
    if isinstance(x, Tensor):
        return x.squeeze() if x.dim() != 0 else x
    return x.item() if hasattr(x, "item") else x


def _get_value(x: Tensor | float) -> float:
    """Return the Python number of a one-element tensor; other values are returned unchanged."""
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: list[Tensor]) -> Any:
    """Return the list itself; torch stacks it in compiled code."""
    return x


def _disable_dynamo_if_unsupported(
    single_tensor_fn: Callable[..., object] | None = None,
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Return a decorator that returns the function: no part of an optimizer is excluded from graphs here."""

    def wrapper(func: Callable[..., R]) -> Callable[..., R]:
        return func

    return wrapper


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replace each complex parameter, and its states, in the lists by its view as real numbers."""
    for place, param in enumerate(params):
        if param.is_complex():
            params[place] = above.torch.view_as_real(param)
            for states in state_and_grads:
                states[place] = above.torch.view_as_real(states[place])
