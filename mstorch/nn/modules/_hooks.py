"""Module hooks: before and after forward, around backward, at registration."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..._src.backend import tape
from ..._src.backend.arrays import Array
from ..._src.core.device import device
from ..._src.core.dtype import dtype
from ..._src.core.formats import strided
from ..._src.core.hooks import RemovableHandle
from ..._src.core.modes import modes
from ..._src.core.nested_parts import kept, like_nested, nested_in
from ..._src.core.tensor_base import TensorBase, is_tracked
from ..._src.core.warned import warn
from ..._src.ops.memory.creation import zeros
from ..._src.tape.bare import bare_of, dressed
from ..._src.tape.native import refuse_trained
from ..._src.tape.node import Node, edge_of
from ..._src.tape.replaced import replaced
from ..._tensor import Tensor
from ...autograd.function import made_by
from ._node_hooks import hook_node

_ONE_KIND = "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
_ONE_GLOBAL_KIND = "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them."


class _GlobalHooks:
    """The global module hooks, stored under names of ``nn.modules.module``."""

    names: dict[str, Any]

    def __getitem__(self, kind: str) -> Any:
        return self.names[f"_global_{kind}"]


global_hooks = _GlobalHooks()


def _add(hooks: Any, hook: Callable[..., Any], prepend: bool = False, *marks: Any) -> RemovableHandle:
    handle = RemovableHandle(hooks, extra_dict=[m for m in marks if m is not None] or None)
    hooks[handle.id] = hook
    for mark in marks:
        if mark is not None:
            mark[handle.id] = True
    if prepend:
        rest = [(key, value) for key, value in hooks.items() if key != handle.id]
        hooks.clear()
        hooks[handle.id] = hook
        hooks.update(rest)
    return handle


class HookMixin:
    """The hooks of one module."""

    if TYPE_CHECKING:  # programs read the annotations of a Module
        forward: Callable[..., Any]

    def _mstorch_init_hooks(self) -> None:
        members = self.__dict__
        for name in (
            "_backward_pre_hooks", "_backward_hooks", "_is_full_backward_hook", "_forward_hooks", "_forward_hooks_with_kwargs",
            "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks",
            "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
        ):  # fmt: skip
            members[name] = OrderedDict()
        members["_is_full_backward_hook"] = None

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Register ``hook(module, args)`` to run before each forward; a return value other than None replaces the arguments."""
        hooks = self.__dict__
        marks = hooks["_forward_pre_hooks_with_kwargs"] if with_kwargs else None
        return _add(hooks["_forward_pre_hooks"], hook, prepend, marks)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Register ``hook(module, args, output)`` to run after each forward; a return value other than None replaces the output."""
        hooks = self.__dict__
        return _add(
            hooks["_forward_hooks"], hook, prepend, hooks["_forward_hooks_with_kwargs"] if with_kwargs else None,
            hooks["_forward_hooks_always_called"] if always_call else None,
        )  # fmt: skip

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(module, grad_input, grad_output)`` to run after the node that made the output; deprecated in favor of the full
        hook.
        """
        if self.__dict__["_is_full_backward_hook"] is True:
            raise RuntimeError(_ONE_KIND)
        object.__setattr__(self, "_is_full_backward_hook", False)
        return _add(self.__dict__["_backward_hooks"], hook)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Register ``hook(module, grad_output)`` to run when the gradients of the outputs have been computed; it may replace them."""
        return _add(self.__dict__["_backward_pre_hooks"], hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Register ``hook(module, grad_input, grad_output)`` to run when the gradients of the inputs have been computed; it may replace
        them.
        """
        if self.__dict__["_is_full_backward_hook"] is False:
            raise RuntimeError(_ONE_KIND)
        object.__setattr__(self, "_is_full_backward_hook", True)
        return _add(self.__dict__["_backward_hooks"], hook, prepend)


def forward_with_hooks(module: HookMixin, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a module that has hooks (or any module while global hooks exist)."""
    members = module.__dict__
    called: set[int] = set()
    try:
        return _hooked_call(module, members, args, kwargs, called)
    except Exception:
        _call_always_called(module, members, args, kwargs, called)
        raise


def _call_always_called(
    module: HookMixin, members: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]
) -> None:
    """After an error, run those forward hooks registered with ``always_call`` that have not run; errors in these hooks become warnings."""
    kinds: tuple[Any, ...] = (
        ("global module", global_hooks["forward_hooks"], global_hooks["forward_hooks_always_called"], {}),
        ("module", members["_forward_hooks"], members["_forward_hooks_always_called"], members["_forward_hooks_with_kwargs"]),
    )
    result = None
    for kind, hooks, always, with_kwargs in kinds:
        for key, hook in list(hooks.items()):
            if key not in always or key in called:
                continue
            try:
                given = hook(module, args, kwargs, result) if key in with_kwargs else hook(module, args, result)
                result = result if given is None else given
            except Exception as error:  # noqa: BLE001 - whatever a hook of the user raises
                warn(
                    f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced as another error was "
                    f"raised in forward: {error}",
                )


def _hooked_call(
    module: HookMixin, members: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]
) -> Any:
    # Backward hooks that are registered by forward hooks take effect in the next call.
    pre = [*global_hooks["backward_pre_hooks"].values(), *members["_backward_pre_hooks"].values()]
    of_node: list[Any] = []
    after: list[Any] = []
    (after if global_hooks["is_full_backward_hook"] else of_node).extend(global_hooks["backward_hooks"].values())
    (after if members["_is_full_backward_hook"] else of_node).extend(members["_backward_hooks"].values())
    for key, hook in [*global_hooks["forward_pre_hooks"].items(), *members["_forward_pre_hooks"].items()]:
        if key in members["_forward_pre_hooks_with_kwargs"]:
            given = hook(module, args, kwargs)
            if given is not None:
                if not (isinstance(given, tuple) and len(given) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {given}."
                    )
                args, kwargs = given
        else:
            given = hook(module, args)
            if given is not None:
                args = given if isinstance(given, tuple) else (given,)
    around = _BackwardHooks(module, pre, after) if (pre or after) and modes.grad else None
    if around is not None:
        args = around.watch_inputs(args)
    result = module.forward(*args, **kwargs)
    for key, hook in [*global_hooks["forward_hooks"].items(), *members["_forward_hooks"].items()]:
        called.add(key)
        with_kwargs = key in members["_forward_hooks_with_kwargs"] or key in global_hooks["forward_hooks_with_kwargs"]
        given = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if given is not None:
            result = given
    if around is not None:
        result = around.watch_outputs(result)
    if of_node:
        refuse_trained("a module with backward hooks")
        hook_node(module, args, result, of_node)
    return result


class _BackwardHooks:
    """Calls backward hooks when the gradients of a module's outputs, and later those of its inputs, have been computed."""

    def __init__(self, module: HookMixin, pre: list[Any], after: list[Any]) -> None:
        self.module = module
        self.pre = pre
        self.after = after
        self.grad_outputs: tuple[Any, ...] | None = None
        self.positions: list[int] = []
        self.count = 0

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments, passed through a node before the module."""
        self.count = len(args)
        self.positions = [i for i, a in enumerate(args) if isinstance(a, TensorBase) and is_tracked(a)]
        if not self.positions:
            return args
        passed = _aliased([args[i] for i in self.positions], self._inputs_reached)
        changed = list(args)
        for position, tensor in zip(self.positions, passed):
            changed[position] = tensor
        return tuple(changed)

    def watch_outputs(self, result: Any) -> Any:
        """Return the result, passed through a node after the module."""
        if not isinstance(result, (TensorBase, tuple)):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
            )
            return result
        items: list[Any] = list(result) if isinstance(result, tuple) else [result]
        positions = [i for i, item in enumerate(items) if isinstance(item, TensorBase) and is_tracked(item)]
        if not positions:
            return result
        self.outputs = len(items)
        self.output_positions = positions
        passed = _aliased([items[i] for i in positions], self._outputs_reached)
        for position, tensor in zip(positions, passed):
            items[position] = tensor
        if not isinstance(result, tuple):
            return items[0]
        return tuple(items) if type(result) is tuple else type(result)(*items)

    def _outputs_reached(self, gradients: list[Any]) -> list[Any]:
        full: list[Any] = [None] * self.outputs
        for position, gradient in zip(self.output_positions, gradients):
            full[position] = gradient
        grads = tuple(full)
        for hook in self.pre:
            given = hook(self.module, grads)
            if given is not None:
                if len(given) != self.outputs:
                    raise RuntimeError(
                        f"Backward pre hook returned an invalid number of grad_output, got {len(given)}, but expected {self.outputs}"
                    )
                grads = given
        self.grad_outputs = grads
        if not self.positions:
            self._call_without_inputs(grads)
        return [grads[position] for position in self.output_positions]

    def _call_without_inputs(self, grads: tuple[Tensor, ...]) -> None:
        """Call the hooks of a module none of whose inputs requires grad."""
        warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
            "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
            "register_full_backward_hook for more details.",
        )
        for hook in self.after:
            given = hook(self.module, (None,) * self.count, grads)
            if given is not None and not (isinstance(given, tuple) and all(item is None for item in given)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
                )
        self.grad_outputs = None

    def _inputs_reached(self, gradients: list[Any]) -> list[Any]:
        if self.grad_outputs is None:
            return gradients  # gradients reached the inputs but not the outputs, as in double backward
        full: list[Any] = [None] * self.count
        for position, gradient in zip(self.positions, gradients):
            full[position] = gradient
        grads = tuple(full)
        for hook in self.after:
            given = hook(self.module, grads, self.grad_outputs)
            if given is not None:
                if len(given) != self.count:
                    raise RuntimeError(
                        f"Backward hook returned an invalid number of grad_input, got {len(given)}, but expected {self.count}"
                    )
                grads = given
        self.grad_outputs = None
        return [grads[position] for position in self.positions]


def _aliased(tensors: list[Any], reached: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """Return aliases of the tensors, whose backward pass applies ``reached`` to the list of their gradients."""
    tape.refuse_in_trace("a module has backward hooks")
    refuse_trained("a module with backward hooks")
    node = _Reaching([edge_of(tensor) for tensor in tensors])
    nested = nested_in(tensors)  # hooks of nested tensors receive nested gradients
    node.reached = (lambda given: kept(reached(list(map(like_nested, tensors, given))))) if nested else reached
    node.likes = [(tensor._ms_shape, tensor._ms_dtype, tensor.device) if tensor.layout is strided else None for tensor in kept(tensors)]
    # Views that refuse in-place writes, like the inputs that an autograd Function returns.
    made = [made_by(tensor, node, number, False, tensor.layout is strided, len(tensors)) for number, tensor in enumerate(kept(tensors))]
    return list(map(like_nested, tensors, made)) if nested else made


class _Reaching(Node):
    """The node of BackwardHookFunctionBackward, which passes gradients to a module's hooks."""

    __slots__ = ("reached", "likes")
    in_the_open = True
    reached: Any
    likes: list[Any]

    label = "BackwardHookFunctionBackward"

    def run(self, gradients: Sequence[Tensor | Array], recorded: bool) -> Any:
        """Run the hooks and return the gradients, or the hooks' replacements. A hook gets None for an unused output, whose gradient
        is zeros.
        """
        full = [None if gradient is None else dressed(gradient) for gradient in gradients]
        full += [None] * (len(self.likes) - len(gradients))
        made = [after if before is None else replaced("hook", before, after) for before, after in zip(full, self.reached(list(full)))]
        whole = [gradient if gradient is not None or like is None else _zeros_like(like) for gradient, like in zip(made, self.likes)]
        return [None if gradient is None else bare_of(gradient, recorded) for gradient in whole]


def _zeros_like(like: tuple[tuple[int, ...], dtype, device]) -> TensorBase:
    shape, kind, place = like
    return zeros(shape, dtype=kind, device=place)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, args)`` to run before every module's forward; a return value other than None replaces the arguments."""
    return _add(global_hooks["forward_pre_hooks"], hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Register ``hook(module, args, output)`` to run after every module's forward; a return value other than None replaces the output."""
    return _add(
        global_hooks["forward_hooks"], hook, False, global_hooks["forward_hooks_with_kwargs"] if with_kwargs else None,
        global_hooks["forward_hooks_always_called"] if always_call else None,
    )  # fmt: skip


def _add_backward(hook: Callable[..., Any], full: bool) -> RemovableHandle:
    if global_hooks["is_full_backward_hook"] is (not full):
        raise RuntimeError(_ONE_GLOBAL_KIND)
    global_hooks.names["_global_is_full_backward_hook"] = full
    return _add(global_hooks["backward_hooks"], hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, grad_input, grad_output)`` to run after the node of every module's output; deprecated in favor of the full
    hook.
    """
    return _add_backward(hook, False)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, grad_input, grad_output)`` to run when the gradients of any module's inputs are known."""
    return _add_backward(hook, True)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, grad_output)`` to run when the gradients of any module's outputs are known."""
    return _add(global_hooks["backward_pre_hooks"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, name, child)`` to run when a child is added to any module; a return value other than None replaces the child.
    """
    return _add(global_hooks["module_registration_hooks"], hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, name, parameter)`` to run when a parameter is added to any module; a return value other than None replaces
    the parameter.
    """
    return _add(global_hooks["parameter_registration_hooks"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, name, buffer)`` to run when a buffer is added to any module; a return value other than None replaces the
    buffer.
    """
    return _add(global_hooks["buffer_registration_hooks"], hook)
