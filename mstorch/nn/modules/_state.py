"""state_dict and load_state_dict of modules."""
from __future__ import annotations

import functools
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

from ... import __future__ as switches
from ..._src.backend.cell import is_raw
from ..._src.core.hooks import RemovableHandle
from ..._src.core.swap import swap_tensors
from ..._src.core.tensor_base import TensorBase, is_tracked
from ..._src.core.warned import warn
from ..._tensor import Tensor, from_mindspore
from ...autograd.grad_mode import no_grad
from ..parameter import Parameter, is_lazy
from ._native import is_native, native_state

_EXTRA = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The missing and unexpected keys of ``load_state_dict``."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _WrappedHook:
    """A hook with a weak reference to its module."""

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        functools.update_wrapper(self, hook)
        self.hook = hook
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        return {**state, "module": self.module()} if self.with_module else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


def complete(state: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    """Return a pickled layer's attributes, in their order, and behind them those that files of early versions of torch lack."""
    return {**state, **{name: value for name, value in defaults.items() if name not in state}}


class StateMixin:
    """Saving and loading of parameters and persistent buffers by dotted name."""

    _version: int

    def get_extra_state(self) -> Any:
        """Return the extra state that a subclass adds to its ``state_dict``."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
        )

    def set_extra_state(self, state: Any) -> None:
        """Restore the state that ``get_extra_state`` returned."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
        )

    def _mstorch_has_extra(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(StateMixin, name)

    def _register_state_dict_hook(self, hook: Any) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        handle = RemovableHandle(self.__dict__["_state_dict_hooks"])
        self.__dict__["_state_dict_hooks"][handle.id] = hook
        return handle

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Register ``hook(module, state_dict, prefix, local_metadata)`` to run after state_dict is filled."""
        hook._from_public_api = True
        handle = RemovableHandle(self.__dict__["_state_dict_hooks"])
        self.__dict__["_state_dict_hooks"][handle.id] = hook
        return handle

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(module, prefix, keep_vars)`` to run before state_dict is filled."""
        handle = RemovableHandle(self.__dict__["_state_dict_pre_hooks"])
        self.__dict__["_state_dict_pre_hooks"][handle.id] = hook
        return handle

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)`` to run before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> RemovableHandle:
        handle = RemovableHandle(self.__dict__["_load_state_dict_pre_hooks"])
        self.__dict__["_load_state_dict_pre_hooks"][handle.id] = _WrappedHook(hook, self if with_module else None)
        return handle

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(module, incompatible_keys)`` to run after loading."""
        handle = RemovableHandle(self.__dict__["_load_state_dict_post_hooks"])
        self.__dict__["_load_state_dict_post_hooks"][handle.id] = hook
        return handle

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        members = self.__dict__
        for name, parameter in members["_parameters"].items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        for name, buffer in members["_buffers"].items():
            if buffer is not None and name not in members["_non_persistent_buffers_set"]:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        for name, tensor in native_state(self):
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if self._mstorch_has_extra("get_extra_state"):
            destination[prefix + _EXTRA] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """Return a dict of parameters and persistent buffers by dotted name; the tensors share the module's memory."""
        if args:
            warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
            )
        for value, name in zip(args, ("destination", "prefix", "keep_vars")):
            destination = value if name == "destination" else destination
            prefix = value if name == "prefix" else prefix
            keep_vars = value if name == "keep_vars" else keep_vars
        members = self.__dict__
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in members["_state_dict_pre_hooks"].values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in members["_modules"].items():
            if isinstance(module, StateMixin):
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook in members["_state_dict_hooks"].values():
            given = hook(self, destination, prefix, local_metadata)
            if given is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = given
        return destination

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[Any, Any], strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        members = self.__dict__
        for hook in list(members["_load_state_dict_pre_hooks"].values()):
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = {name: (value, members["_parameters"]) for name, value in members["_parameters"].items() if value is not None}
        for name, value in members["_buffers"].items():
            if value is not None and name not in members["_non_persistent_buffers_set"]:
                own[name] = (value, members["_buffers"])
        native = dict(native_state(self))
        own.update((name, (value, None)) for name, value in native.items())
        assign = bool(local_metadata.get("assign_to_params_buffers", False))
        for name, (value, holder) in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            _load_one(self, key, name, value, state_dict[key], holder is not None, assign, error_msgs)
        extra_key = prefix + _EXTRA
        if self._mstorch_has_extra("set_extra_state"):
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    first, *rest = key[len(prefix) :].split(".", 1)
                    known = first in members["_modules"] if rest else first in own
                    if rest and is_native(members["_modules"].get(first)):
                        known = key[len(prefix) :] in native
                    if not known:
                        unexpected_keys.append(key)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copy values by dotted name into parameters and buffers; with ``strict``, names must match exactly.

        Raise RuntimeError listing missing and unexpected keys and size mismatches. Return the missing and unexpected keys.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata

        _load_tree(self, "", state, metadata, assign, (missing, unexpected, errors))
        return loaded_keys(self, "state_dict", "state_dict", missing, unexpected, errors, strict)


def _load_tree(module: Any, prefix: str, state: Any, metadata: Any, assign: bool, found: tuple[list[str], ...]) -> None:
    """Load the entries with a prefix into a module and its descendants."""
    local = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local = {**local, "assign_to_params_buffers": True}
    module._load_from_state_dict(state, prefix, local, True, *found)
    for name, child in module.__dict__["_modules"].items():
        if isinstance(child, StateMixin):
            child_prefix = prefix + name + "."
            below = {key: value for key, value in state.items() if key.startswith(child_prefix)}
            _load_tree(child, child_prefix, below, metadata, assign, found)
    keys = _IncompatibleKeys(*found[:2])
    for hook in module.__dict__["_load_state_dict_post_hooks"].values():
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
                "incompatible_keys need to be modified, it should be done inplace."
            )


def loaded_keys(
    module: Any, kind: str, source: str, missing: list[str], unexpected: list[str], errors: list[str], strict: bool
) -> _IncompatibleKeys:
    """Return the missing and unexpected keys of a load. Raise RuntimeError with torch's message for errors and, if ``strict``, for these
    keys.
    """
    if strict:
        if unexpected:
            errors.insert(0, f"Unexpected key(s) in {source}: {_quoted(unexpected)}. ")
        if missing:
            errors.insert(0, f"Missing key(s) in {source}: {_quoted(missing)}. ")
    if errors:
        text = "\n\t".join(errors)
        raise RuntimeError(f"Error(s) in loading {kind} for {type(module).__name__}:\n\t{text}")
    return _IncompatibleKeys(missing, unexpected)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def _load_one(
    module: Any, key: str, name: str, value: Tensor, given: Tensor, own: bool, assign: bool, errors: list[str]
) -> None:
    if is_raw(given):  # a Cell around the module may be given MindSpore's tensors
        given = from_mindspore(given)
    if not isinstance(given, TensorBase):
        errors.append(
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but '
            f"received {type(given)}"
        )
        return
    if not is_lazy(value):
        if len(value.shape) == 0 and len(given.shape) == 1 and given.shape[0] == 1:
            given = given[0]  # files of torch 0.3 contain 0-d values as vectors
        if tuple(given.shape) != tuple(value.shape):
            errors.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current model "
                f"is {value.shape}."
            )
            return
    if value.is_meta and not given.is_meta and not assign and not is_lazy(value):
        warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a no-op. "
            "(Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in the module instead "
            "of copying them in place?)", UserWarning,
        )  # fmt: skip
    swap = own and switches.get_swap_module_params_on_conversion()
    try:
        with no_grad():
            if swap:
                _swap_in(value, given, assign)
            elif assign and own:
                setattr(module, name, _as_parameter(given, value) if isinstance(value, Parameter) else given)
            else:
                value.copy_(given)
    except Exception as error:  # noqa: BLE001 - all of them go into one message
        errors.append(
            f'While {"swapping" if swap else "copying"} the parameter named "{key}", whose dimensions in the model are '
            f"{value.size()} and whose dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
        )


def _as_parameter(given: Tensor, value: Tensor) -> Tensor:
    """Return ``given`` as a Parameter, with the requires_grad of ``value``."""
    if isinstance(given, Parameter):
        return given.requires_grad_(is_tracked(value))
    return Parameter(given, requires_grad=is_tracked(value))


def _swap_in(value: Tensor, given: Tensor, assign: bool) -> None:
    """Swap ``value`` with the tensor that ``value.module_load(given)`` returns. Raise RuntimeError if this tensor is ``value`` or ``given``
    itself."""
    loaded = value.module_load(given, assign=assign)
    if loaded is given or loaded is value:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs in module_load"
        )
    swap_tensors(value, _as_parameter(loaded, value) if isinstance(value, Parameter) else loaded)
