"""Module: torch's bookkeeping of parameters, buffers and children, on a MindSpore Cell."""
from __future__ import annotations

import abc
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from typing_extensions import Self

from ..._src.backend.cell import init_cell, is_raw, keep_whole
from ..._src.core.no_memory import limit_reached
from ..._src.core.postponed import waits_after_steps
from ..._src.core.settings import typename
from ..._src.core.tensor_base import TensorBase
from ..._tensor import Tensor
from ..parameter import Buffer, Parameter
from ._behind import hides_bases
from ._bprop import take_words
from ._hooks import (
    forward_with_hooks,
    global_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._making import made
from ._names import torchs_name
from ._native import adopt, as_torchs
from ._parts import Cell, ModuleParts
from ._state import _EXTRA as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401 - a name of torch's
from ._state import _IncompatibleKeys, _WrappedHook  # noqa: F401 - names that pickles have

_MEMBERS = ("_parameters", "_buffers", "_modules")

__all__ = [
    "register_module_forward_pre_hook", "register_module_forward_hook", "register_module_full_backward_pre_hook",
    "register_module_backward_hook", "register_module_full_backward_hook", "register_module_buffer_registration_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook", "Module",
]  # fmt: skip


# The hooks of all modules. They have torch's names in this module, because programs reset them by assignment.
_global_backward_pre_hooks: dict[int, Any] = OrderedDict()
_global_backward_hooks: dict[int, Any] = OrderedDict()
_global_is_full_backward_hook: bool | None = None
_global_forward_pre_hooks: dict[int, Any] = OrderedDict()
_global_forward_hooks: dict[int, Any] = OrderedDict()
_global_forward_hooks_always_called: dict[int, bool] = OrderedDict()
_global_forward_hooks_with_kwargs: dict[int, bool] = OrderedDict()
_global_buffer_registration_hooks: dict[int, Any] = OrderedDict()
_global_module_registration_hooks: dict[int, Any] = OrderedDict()
_global_parameter_registration_hooks: dict[int, Any] = OrderedDict()
global_hooks.names = globals()


def _addindent(text: str, spaces: int) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])


@hides_bases
class Module(ModuleParts):
    """The base of all networks. Subclasses assign parameters and child modules as attributes and define ``forward``.

    The same object is a ``mindspore.nn.Cell``: MindSpore's optimizers, ``value_and_grad``, ``Model`` and checkpoints see its parameters
    under their dotted torch names. Cell's own attribute names may still be used for any attribute.
    """

    dump_patches: bool = False
    _version: int = 1
    call_super_init: bool = False
    __call__: Callable[..., Any]
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _backward_pre_hooks: dict[int, Callable[..., Any]]
    _backward_hooks: dict[int, Callable[..., Any]]
    _is_full_backward_hook: bool | None
    _forward_hooks: dict[int, Callable[..., Any]]
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]
    _forward_pre_hooks: dict[int, Callable[..., Any]]
    _forward_pre_hooks_with_kwargs: dict[int, bool]
    _state_dict_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: dict[int, Callable[..., Any]]
    _modules: dict[str, Module | None]
    _compiled_call_impl: Callable[..., Any] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        take_words(cls, Module)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        abstract: Any = getattr(cls, "__abstractmethods__", None)
        if abstract:
            # Cell's constructor does not check abstract methods: a class with the same ones raises Python's error.
            abc.ABCMeta(cls.__name__, (), dict.fromkeys(abstract, abc.abstractmethod(lambda self: None)))()
        return made(cls, Module, args, kwargs)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("auto_prefix", None)  # an argument of Cell, without effect: a Module's parameters have torch's names
        if self.call_super_init is False and kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if self.call_super_init is False and args:
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        init_cell(self)
        members = self.__dict__
        members["training"] = True
        members["_parameters"] = {}
        members["_buffers"] = {}
        members["_non_persistent_buffers_set"] = set()
        self._mstorch_init_hooks()
        members["_modules"] = {}
        if self.call_super_init:
            behind = next(kind for kind in type(self).__mro__ if kind not in Module.__mro__[:-1] and not issubclass(kind, Module))
            behind.__init__(self, *args, **kwargs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_modules" not in self.__dict__:
            Module.__init__(self)
        fresh = dict(self.__dict__)
        self.__dict__.clear()
        self.__dict__.update({**state, **{name: value for name, value in fresh.items() if name not in state}})
        for name in self.__dict__.get("_modules", ()):
            adopt(self, name)

    # Calls

    def forward(self, *input: Any) -> Any:
        """Compute the module's result; each subclass defines this (or ``construct``, as in MindSpore)."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__
        if (
            own["_forward_pre_hooks"] or own["_forward_hooks"] or own["_backward_pre_hooks"] or own["_backward_hooks"]
            or _global_forward_hooks or _global_forward_pre_hooks or _global_backward_hooks or _global_backward_pre_hooks
        ):  # fmt: skip
            return forward_with_hooks(self, args, kwargs)
        try:
            return self.forward(*args, **kwargs)
        except (MemoryError, RuntimeError) as error:
            told = limit_reached(error)
            if told is None:
                raise
            raise told from None

    # Registration

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is part of the module's state but not a parameter; a persistent buffer is in the state_dict."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name("buffer", name)
        if self._mstorch_taken(name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, TensorBase):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        if _global_buffer_registration_hooks:
            tensor = _hooked(_global_buffer_registration_hooks, self, name, tensor)
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter; it is then available as an attribute."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name("parameter", name)
        if self._mstorch_taken(name) and name not in self._parameters:
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To express "
                f"'{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        if param is not None:  # hooks see no empty places of parameters, but those of buffers and modules
            if _global_parameter_registration_hooks:
                param = _hooked(_global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a child module; it is then available as an attribute."""
        if module is not None and not isinstance(module, Cell):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {typename(name)}")
        if self._mstorch_taken(name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        if _global_module_registration_hooks:
            module = _hooked(_global_module_registration_hooks, self, name, module)
        self._modules[name] = module
        adopt(self, name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Register a child module; an alias of ``add_module``."""
        self.add_module(name, module)

    def __getattr__(self, name: str) -> Tensor | Module:
        for kind in _MEMBERS:
            members = self.__dict__.get(kind)
            if members is not None and name in members:
                return members[name]
        own = torchs_name(self, name)
        if own is not None:
            return getattr(self, own)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        members = self.__dict__
        parameters = members.get("_parameters")
        own = torchs_name(self, name)
        if own is not None and not self._mstorch_has(name):
            if is_raw(value) or type(self).__module__.startswith(("torch.", "mstorch.")):
                name = own  # not in a user's subclass, where a Parameter with that name is an additional one
        if is_raw(value) and self._mstorch_set_data(name, value):
            return
        value = as_torchs(name, value)
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._mstorch_forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
            return
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
            return
        modules = members.get("_modules")
        if isinstance(value, Cell):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._mstorch_forget(name, "_parameters", "_buffers")
            if _global_module_registration_hooks:
                value = _hooked(_global_module_registration_hooks, self, name, value)
            modules[name] = value
            adopt(self, name)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            if _global_module_registration_hooks:
                value = _hooked(_global_module_registration_hooks, self, name, value)
            modules[name] = value
            return
        buffers = members.get("_buffers")
        if isinstance(value, Buffer):
            _set_buffer(self, name, value)
            return
        if buffers is not None and name in buffers:
            if value is not None and not isinstance(value, TensorBase):
                raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
            if _global_buffer_registration_hooks:
                value = _hooked(_global_buffer_registration_hooks, self, name, value)
            buffers[name] = value
            return
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for kind in _MEMBERS:
            if name in self.__dict__.get(kind, {}):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    # Members

    def _named_members(
        self, get_members_fn: Callable[[Module], Any], prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for module_prefix, module in modules:
            for name, value in get_members_fn(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield module_prefix + ("." if module_prefix else "") + name, value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the unique parameters."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters with their dotted names."""
        yield from self._named_members(Module._mstorch_own_parameters, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the unique buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers with their dotted names."""
        yield from self._named_members(Module._mstorch_own_buffers, prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """Yield the unique direct children."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the direct children with their names."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield this module and all descendants, by default without duplicates."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield this module and all descendants with their dotted names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if isinstance(module, Module):
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    def get_submodule(self, target: str) -> Module:
        """Return the module at a dotted name."""
        module: Any = self
        for part in target.split(".") if target else ():
            if not hasattr(module, part):
                raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
            module = getattr(module, part)
            if not isinstance(module, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replace the module at a dotted name; with ``strict``, the name has to exist."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        parent_name, _, name = target.rpartition(".")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(parent_name)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a dotted name."""
        return self._mstorch_member_at(target, Parameter, "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a dotted name."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return module._buffers[name]  # type: ignore[return-value]

    # Modes and conversions

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call ``fn`` on every child, then on this module; return the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode (dropout, batch norm) on this module and its descendants; return the module."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            if isinstance(module, Module):
                module.train(mode)
            else:
                module.set_train(mode)  # a MindSpore Cell
        return self

    def eval(self) -> Self:
        """Set evaluation mode on this module and its descendants; return the module."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set requires_grad of all parameters; return the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    @waits_after_steps
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zero."""
        for parameter in self.parameters():
            if parameter.grad is not None:
                if set_to_none:
                    parameter.grad = None
                else:
                    parameter.grad.detach_()
                    parameter.grad.zero_()

    # Text

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return text that the module's repr contains besides the names of its children."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        text = self._get_name() + "("
        if extra_lines or child_lines:
            if len(extra_lines) == 1 and not child_lines:
                text += extra_lines[0]
            else:
                text += "\n  " + "\n  ".join(extra_lines + child_lines) + "\n"
        return text + ")"

    def __str__(self) -> str:
        return repr(self)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def _hooked(hooks: Mapping[int, Callable[..., Any]], module: Module, name: str, value: Any) -> Any:
    """Return what the global hooks make of a value that is registered."""
    for hook in hooks.values():
        replacement = hook(module, name, value)
        value = value if replacement is None else replacement
    return value


def _set_buffer(module: Module, name: str, value: Any) -> None:
    if "_buffers" not in module.__dict__:
        raise AttributeError("cannot assign buffer before Module.__init__() call")
    if name in module.__dict__:
        raise KeyError(f"attribute '{name}' already exists")
    module._mstorch_forget(name, "_parameters", "_modules")
    if type(module).register_buffer is Module.register_buffer:
        module.register_buffer(name, value, value.persistent)
    else:
        _register_by_subclass(module, name, value)


def _register_by_subclass(module: Module, name: str, buffer: Any) -> None:
    """Call a subclass's ``register_buffer``, which may not accept ``persistent``."""
    known = inspect.signature(module.register_buffer).parameters
    if "persistent" in known:
        module.register_buffer(name, buffer, persistent=buffer.persistent)
    elif not buffer.persistent:
        raise RuntimeError(
            "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without the persistent "
            "argument is not allowed."
        )
    else:
        module.register_buffer(name, buffer)


keep_whole(Module)


def _check_name(what: str, name: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{what} name should be a string. Got {typename(name)}")
    if "." in name:
        raise KeyError(f'{what} name can\'t contain "."')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')
