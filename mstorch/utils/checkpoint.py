"""torch.utils.checkpoint: activations that backward recomputes instead of keeping them."""
from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import amp, random
from .._src.core import generator
from .._src.core.tensor_base import TensorBase
from .._src.core.trees import tree_flatten
from .._src.core.warned import warn
from .._src.leaving import Block, item_set_to
from .._src.tape.passes import next_callback, running
from .._tensor import Tensor
from ..amp import _settings
from ..autograd import backward
from ..autograd.backward import checkpoints
from ..autograd.function import Function, FunctionCtx
from ..autograd.grad_mode import enable_grad, is_grad_enabled, no_grad
from ..autograd.graph import saved_tensors_hooks
from ..nn.modules.container import Sequential
from ._checkpoint_log import logs
from ._selective import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    _CachedTorchDispatchMode,
    _CachingTorchDispatchMode,
    create_selective_checkpoint_contexts,
    ignored,
)


class CheckpointError(RuntimeError):
    """Raised if the recomputed tensors differ from those of the first run."""


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tensors of a tuple detached, as new leaves with the same requires_grad."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        value.detach().requires_grad_(value.requires_grad) if isinstance(value, TensorBase) else value for value in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor requires grad."""
    if not any(value.requires_grad for value in inputs if isinstance(value, TensorBase)):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


def _accelerated(args: tuple[Tensor, ...]) -> list[Any]:
    return [leaf for leaf in tree_flatten(args)[0] if isinstance(leaf, TensorBase) and leaf.device.type != "cpu"]


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """Return the accelerators of the tensor arguments, and their RNG states."""
    ids = [tensor.get_device() for tensor in _accelerated(args)]
    return ids, [generator.device_generator().get_state() for _ in ids]


def set_device_states(devices: Sequence[int], states: Sequence[Any], *, device_type: str | None = None) -> None:
    """Restore the RNG states that ``get_device_states`` returned."""
    for _, state in zip(devices, states):
        generator.device_generator().set_state(state)


class DefaultDeviceType:
    """The device type whose RNG state is saved if no argument is on an accelerator."""

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set the device type."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """Return the device type that was set, else the current accelerator's."""
        return DefaultDeviceType._default_device_type or _settings.DEVICE


class _Surroundings:
    """The global state that a computation depends on: RNG states and autocast."""

    def __init__(self, preserve_rng_state: bool, args: Sequence[Any]) -> None:
        self.preserve = preserve_rng_state
        self.state = random.get_rng_state() if preserve_rng_state else None
        self.devices, self.device_states = get_device_states(*args) if preserve_rng_state else ([], [])
        self.autocast = [
            (name, _settings.get_autocast_dtype(name), _settings.is_autocast_enabled(name))
            for name in dict.fromkeys((_settings.DEVICE, "cpu"))
        ]
        self.cache_enabled = _settings.is_autocast_cache_enabled()

    def again(self, function: Callable[[], Any]) -> Tensor:
        """Call ``function`` with the saved state restored, and return its result."""
        with random.fork_rng(devices=self.devices, enabled=self.preserve):
            if self.preserve and self.state is not None:
                random.set_rng_state(self.state)
                set_device_states(self.devices, self.device_states)
            return self._cast(function, self.autocast)

    def _cast(self, function: Callable[[], Any], regions: Sequence[Any]) -> Tensor:
        if not regions:
            return function()
        name, dtype, enabled = regions[0]
        with amp.autocast(name, dtype=dtype, enabled=enabled, cache_enabled=self.cache_enabled):
            return self._cast(function, regions[1:])


class CheckpointFunction(Function):
    """The reentrant variant: backward reruns the function and starts a nested backward."""

    @staticmethod
    def forward(ctx: FunctionCtx, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Tensor:
        """Run the function without keeping its activations."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state, args)
        ctx.inputs = [None if isinstance(arg, TensorBase) else arg for arg in args]
        ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, TensorBase)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: FunctionCtx, *args: Any) -> tuple[Tensor | None, ...]:
        """Run the function again and return the gradients of its arguments; gradients of other leaves are accumulated."""
        if not checkpoints.valid:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
                "the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            inputs[place] = tensor
        detached = detach_variable(tuple(inputs))
        outputs = ctx.surroundings.again(functools.partial(enable_grad()(ctx.run_function), *detached))
        outputs = (outputs,) if isinstance(outputs, TensorBase) else outputs
        pairs = [
            (output, gradient) for output, gradient in zip(outputs, args)
            if isinstance(output, TensorBase) and output.requires_grad
        ]  # fmt: skip
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([output for output, _ in pairs], [gradient for _, gradient in pairs])
        return (None, None, *(value.grad if isinstance(value, TensorBase) else None for value in detached))


def noop_context_fn() -> tuple[Any, Any]:
    """Return two null contexts, the default of ``context_fn``."""
    return contextlib.nullcontext(), contextlib.nullcontext()


_early_stop: list[bool | None] = [None]


def set_checkpoint_early_stop(enable: bool) -> item_set_to:
    """Context manager that sets whether recomputation stops once backward has all it needs (the default)."""
    return item_set_to(_early_stop, 0, enable)


_debug: list[bool | None] = [None]


def set_checkpoint_debug_enabled(enabled: bool | None) -> item_set_to:
    """Context manager that sets ``debug`` of all calls of ``checkpoint``; with None each call's own value counts."""
    return item_set_to(_debug, 0, enabled)


class GraphExecGroup(Block):
    """Context manager in which a checkpointed call is recomputed once, for all backward passes together. They must not use a saved tensor
    twice. Raise RuntimeError if it is entered inside another one."""

    def __init__(self) -> None:
        self.endings: list[Callable[[], None]] = []

    def __enter__(self) -> GraphExecGroup:
        if _GROUPS:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {_GROUPS[0]}")
        self.at_end(self._leave)
        _GROUPS.append(self)
        return self

    def _leave(self) -> None:
        _GROUPS.clear()
        endings, self.endings = self.endings, []
        for ending in endings:
            ending()

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return _GROUPS[0] if _GROUPS else None


_GROUPS: list[GraphExecGroup] = []


def _metadata(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_CHECKS: dict[str, Callable[[Any], Any]] = {"default": _metadata, "none": lambda tensor: None}


class _Stop(BaseException):
    """Raised to stop the recomputation early."""


class _Ticket:
    """Stands for a saved tensor in its node, and holds it once it has been recomputed: a node that is done drops both, also where its
    gradient did not read the tensor."""

    __slots__ = ("number", "recomputed", "__weakref__")

    def __init__(self, number: int) -> None:
        self.number = number
        self.recomputed: dict[Any, Tensor] = {}  # by backward pass: a nested pass does not get tensors that the outer one recomputed


def _forget(tickets: list[weakref.ref[_Ticket]], passes: set[Any]) -> None:
    """Free what a backward pass recomputed and did not use."""
    for waiting in tickets:
        ticket = waiting()
        if ticket is not None:
            ticket.recomputed.clear()
    passes.clear()


class _Frame:
    """One checkpointed call: the tensors saved for backward are numbered, and all recomputed at once."""

    def __init__(
        self, again: Callable[[], Any], check: Callable[[Any], Any], early_stop: bool, explain: Callable[[], str] | None = None
    ) -> None:
        self.again, self.check, self.early_stop, self.explain = again, check, early_stop, explain
        self.expected: list[Any] = []
        self.tickets: list[weakref.ref[_Ticket]] = []
        self.passes: set[Any] = set()  # the backward passes that have recomputed
        self.complete = False  # whether the function has returned: it may itself run backward through a part of the saved tensors

    def pack(self, tensor: Tensor) -> _Ticket:
        """Return what is saved in place of a tensor."""
        self.expected.append(self.check(tensor))
        ticket = _Ticket(len(self.expected) - 1)
        self.tickets.append(weakref.ref(ticket))
        return ticket

    def unpack(self, ticket: _Ticket) -> Tensor:
        """Return the tensor, recomputing if this backward pass has not done so yet."""
        if not running.passes:  # requested outside of backward: the result is not kept
            return self._recomputed()[ticket.number]
        group = _GROUPS[0] if _GROUPS else None
        key = running.passes[-1] if group is None else group
        if key not in self.passes:
            recomputed = self._recomputed()
            for waiting in self.tickets:
                held, tensor = waiting(), recomputed.pop(0)
                if held is not None:
                    held.recomputed[key] = tensor
            self.passes.add(key)
            # Not a method: it would keep the function's arguments until the pass ends.
            forget = functools.partial(_forget, self.tickets, self.passes)
            if group is None:
                next_callback(forget)
            else:
                group.endings.append(forget)
        # Each is handed out once, so that its memory is free as soon as its node is done.
        tensor = ticket.recomputed.pop(key, None)
        if tensor is None:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are calling "
                "ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with details on your use case."
            )
        return tensor

    def _recomputed(self) -> list[Any]:
        try:
            return self._recompute()
        except CheckpointError as error:
            if self.explain is None:
                raise
            raise CheckpointError(self.explain()) from error

    def _recompute(self) -> list[Any]:
        kept: list[Any] = []

        def pack(tensor: Tensor) -> Tensor:
            kept.append(tensor.detach())
            if self.early_stop and len(kept) == len(self.expected):
                raise _Stop
            return tensor

        try:
            with saved_tensors_hooks(pack, lambda tensor: tensor), enable_grad():
                self.again()
        except _Stop:
            pass
        if not self.complete:
            del kept[len(self.expected) :]
        if len(kept) != len(self.expected):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.expected)}\n"
                f"Number of tensors saved during recomputation: {len(kept)}."
            )
        found = [self.check(tensor) for tensor in kept]
        if found != self.expected:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                "forward pass.\n"
                + "\n".join(
                    f"tensor at position {i}:\nsaved metadata: {saved}\nrecomputed metadata: {new}"
                    for i, (saved, new) in enumerate(zip(self.expected, found)) if saved != new
                )
            )  # fmt: skip
        return kept


def _not_reentrant(
    function: Callable[..., Any], preserve: bool, context_fn: Callable[[], tuple[Any, Any]], determinism_check: str,
    early_stop: bool, debug: bool, args: tuple[Any, ...], kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    explain = None
    if debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        context_fn, explain = logs()
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    first, second = context_fn()
    surroundings = _Surroundings(preserve, args)
    if not is_grad_enabled():
        return function(*args, **kwargs)

    def again() -> Tensor:
        with second:
            return function(*args, **kwargs)

    frame = _Frame(functools.partial(surroundings.again, again), _CHECKS[determinism_check], early_stop, explain)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        result = function(*args, **kwargs)
    frame.complete = True
    return result


def checkpoint(
    function: Callable[..., Any] | None = None, *args: Any, use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn, determinism_check: str = "default", debug: bool = False,
    early_stop: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call ``function(*args, **kwargs)`` without keeping its activations, which backward recomputes with the same RNG state.

    With ``debug`` the error of a recomputation that differs names the operators of both runs. Without a function it is a decorator
    (torch 2.14).
    """
    if function is None:
        if args:
            raise TypeError("'NoneType' object is not callable")
        options = {name: kwargs.pop(name) for name in ("preserve_rng_state",) if name in kwargs}
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        return _decorator({
            **options, "use_reentrant": use_reentrant, "context_fn": context_fn, "determinism_check": determinism_check, "debug": debug,
            "early_stop": early_stop,
        })
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
            "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
            "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
            "differences between the two variants.",
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant:
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    return _not_reentrant(
        function, preserve, context_fn, determinism_check, early_stop if _early_stop[0] is None else _early_stop[0],
        debug if _debug[0] is None else _debug[0], args, kwargs,
    )  # fmt: skip


def _decorator(options: dict[str, Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checkpointed(*args: Any, **kwargs: Any) -> Any:
            return checkpoint(function, *args, **options, **kwargs)

        return checkpointed

    return decorate


def checkpoint_sequential(
    functions: Any, segments: int, input: Tensor, use_reentrant: bool | None = None, **kwargs: Any
) -> Tensor:
    """Run functions (or the layers of a Sequential) in sequence, with each segment but the last checkpointed."""
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In version "
            "2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you need "
            "to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
            "differences between the two variants.",
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    layers = list(functions.children()) if isinstance(functions, Sequential) else functions

    def segment(first: int, last: int) -> Callable[[Any], Any]:
        def run(value: Tensor) -> Any:
            for layer in layers[first:last]:
                value = layer(value)
            return value

        return run

    size = len(layers) // segments
    start = 0
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(segment(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return segment(start + size if size * (segments - 1) else 0, len(layers))(input)


__all__ = [
    "checkpoint", "checkpoint_sequential", "CheckpointError", "CheckpointFunction", "check_backward_validity", "detach_variable",
    "get_device_states", "set_device_states", "noop_context_fn", "set_checkpoint_early_stop",
    "set_checkpoint_debug_enabled", "GraphExecGroup", "DefaultDeviceType",
    "CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts", "SAC_IGNORED_OPS",  # noqa: F822
    "_CachedTorchDispatchMode", "_CachingTorchDispatchMode",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return ``SAC_IGNORED_OPS``, which is built on first access because it refers to operators."""
    if name == "SAC_IGNORED_OPS":
        return ignored()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
