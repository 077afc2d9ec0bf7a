"""torch.utils.checkpoint: activations thrown away after the forward pass and computed again in the backward pass."""
from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .. import amp, random
from .._backend import tape
from .._core import generator
from .._core.tensor_base import TensorBase, is_leaf, is_tracked, leaves, value_of
from .._core.trees import tree_flatten, tree_unflatten
from ..amp import _settings
from ..autograd import backward, grad
from ..autograd.backward import checkpoints
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad, is_grad_enabled, no_grad


class CheckpointError(RuntimeError):
    """What was computed again is not what was computed first."""


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of a tuple as leaves of their own, over the same values."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        value.detach().requires_grad_(value.requires_grad) if isinstance(value, TensorBase) else value for value in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor requires a gradient."""
    if not any(value.requires_grad for value in inputs if isinstance(value, TensorBase)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def _accelerated(args: Any) -> list[Any]:
    return [leaf for leaf in tree_flatten(args)[0] if isinstance(leaf, TensorBase) and leaf.device.type != "cpu"]  # type: ignore[attr-defined]


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The accelerators that the tensors among the arguments are on, and the states of their generators."""
    ids = [tensor.get_device() for tensor in _accelerated(args)]
    return ids, [generator.device_generator().get_state() for _ in ids]


def set_device_states(devices: Sequence[int], states: Sequence[Any], *, device_type: str | None = None) -> None:
    """Restore what ``get_device_states`` gave."""
    for _, state in zip(devices, states):
        generator.device_generator().set_state(state)


class DefaultDeviceType:
    """The type of device whose random state is kept if no argument is on an accelerator."""

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Choose it."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The one chosen, else the one in use."""
        return DefaultDeviceType._default_device_type or _settings.DEVICE


class _Surroundings:
    """What a computation depends on besides its arguments: random states and autocast."""

    def __init__(self, preserve_rng_state: bool, args: Any) -> None:
        self.preserve = preserve_rng_state
        self.state = random.get_rng_state() if preserve_rng_state else None
        self.devices, self.device_states = get_device_states(*args) if preserve_rng_state else ([], [])
        self.autocast = [
            (name, _settings.get_autocast_dtype(name), _settings.is_autocast_enabled(name))
            for name in dict.fromkeys((_settings.DEVICE, "cpu"))
        ]
        self.cache_enabled = _settings.is_autocast_cache_enabled()

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """The surroundings as they were, for a block."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(random.fork_rng(devices=self.devices, enabled=self.preserve))
            if self.preserve:
                random.set_rng_state(self.state)
                set_device_states(self.devices, self.device_states)
            for name, dtype, enabled in self.autocast:
                stack.enter_context(amp.autocast(name, dtype=dtype, enabled=enabled, cache_enabled=self.cache_enabled))
            yield


class CheckpointFunction(Function):
    """The reentrant variant: backward runs the function again and starts a backward within the one that is going on."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """What the function returns; its activations are not kept."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state, args)
        ctx.inputs = [None if isinstance(arg, TensorBase) else arg for arg in args]
        ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, TensorBase)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """The gradients of the arguments; those of other leaves are accumulated."""
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
        with ctx.surroundings.again(), enable_grad():
            outputs = ctx.run_function(*detached)
        outputs = (outputs,) if isinstance(outputs, TensorBase) else outputs
        pairs = [
            (output, gradient) for output, gradient in zip(outputs, args)
            if isinstance(output, TensorBase) and output.requires_grad  # type: ignore[attr-defined]
        ]  # fmt: skip
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([output for output, _ in pairs], [gradient for _, gradient in pairs])
        return (None, None, *(value.grad if isinstance(value, TensorBase) else None for value in detached))  # type: ignore[attr-defined]


def noop_context_fn() -> tuple[Any, Any]:
    """The contexts of a plain checkpoint: none around the first computation, none around the second."""
    return contextlib.nullcontext(), contextlib.nullcontext()


_early_stop: list[bool | None] = [None]


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether the second computation may end when all that backward needs is there. Here it always runs to its end."""
    before, _early_stop[0] = _early_stop[0], enable
    try:
        yield
    finally:
        _early_stop[0] = before


def _metadata(tensor: Any) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_CHECKS: dict[str, Callable[[Any], Any]] = {"default": _metadata, "none": lambda tensor: None}


class _Recomputed(Function):
    """The variant that is not reentrant: the gradients of all that the result depends on are returned, not accumulated."""

    @staticmethod
    def forward(ctx: Any, again: Callable[..., list[Any]], check: Callable[[Any], Any], results: list[Any], *tensors: Any) -> Any:
        """The results, which were computed before; ``tensors`` are those that they depend on."""
        ctx.again, ctx.check = again, check
        ctx.expected = [check(result) for result in results]
        ctx.save_for_backward(*tensors)
        return tuple(result.detach() for result in results)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Run the function again and differentiate it."""
        tensors = ctx.saved_tensors
        create = is_grad_enabled()
        with enable_grad():
            outputs, inputs = ctx.again(tensors, create)
        found = [ctx.check(output) for output in outputs]
        if found != ctx.expected:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                "forward pass.\n"
                + "\n".join(
                    f"tensor at position {i}:\nsaved metadata: {saved}\nrecomputed metadata: {new}"
                    for i, (saved, new) in enumerate(zip(ctx.expected, found)) if saved != new
                )
                + ("" if len(found) == len(ctx.expected) else f"\n{len(ctx.expected)} results before, {len(found)} now")
            )  # fmt: skip
        pairs = [(output, gradient) for output, gradient in zip(outputs, gradients) if output.requires_grad]
        hooks = [value.__dict__.pop("_hooks", None) for value in inputs]  # they run where the gradients get in the end
        try:
            # What the function takes from outside of its arguments may have a history that is needed again.
            back = grad(
                [output for output, _ in pairs], inputs, [gradient for _, gradient in pairs], retain_graph=True,
                create_graph=create, allow_unused=True,
            )  # fmt: skip
        finally:
            for value, own in zip(inputs, hooks):
                if own is not None:
                    value.__dict__["_hooks"] = own
        return (None, None, None, *back)


def _ends_below(results: Sequence[Any]) -> list[Any]:
    """The leaves alive that the results depend on."""
    below = tape.ends_below([value_of(result) for result in results])
    found = []
    for leaf in leaves():
        end = tape.leaf_identity(value_of(leaf))
        if end is not None and end in below:
            found.append(leaf)
    return found


def _not_reentrant(
    function: Callable[..., Any], preserve: bool, context_fn: Callable[[], tuple[Any, Any]], determinism_check: str,
    args: tuple[Any, ...], kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    first, second = context_fn()
    surroundings = _Surroundings(preserve, args)
    if not is_grad_enabled():
        return function(*args, **kwargs)
    places = [i for i, arg in enumerate(args) if isinstance(arg, TensorBase) and is_tracked(arg)]
    # The tape has no hook for what it saves. So the function is recorded, with arguments that are leaves of their own, to
    # see which leaves it depends on, and the record is dropped with all that it keeps.
    inside = list(args)
    for place in places:
        inside[place] = args[place].detach().requires_grad_()
    with first:
        result = function(*inside, **kwargs)
    flat, spec = tree_flatten(result)
    chosen = [i for i, leaf in enumerate(flat) if isinstance(leaf, TensorBase) and is_tracked(leaf)]
    own = {id(inside[place]) for place in places}
    passed = {id(inside[place]): args[place] for place in places}
    # An argument that comes back as it is, is itself.
    flat = [passed.get(id(leaf), leaf) for leaf in flat]
    chosen = [i for i in chosen if not is_leaf(flat[i]) and id(flat[i]) not in {id(arg) for arg in args}]
    if not chosen:
        return tree_unflatten(flat, spec)
    others = [leaf for leaf in _ends_below([flat[i] for i in chosen]) if id(leaf) not in own]

    def again(tensors: Sequence[Any], create: bool) -> tuple[list[Any], list[Any]]:
        values = list(args)
        for place, tensor in zip(places, tensors):
            values[place] = tensor.view_as(tensor) if create and is_tracked(tensor) else tensor.detach().requires_grad_()
        with surroundings.again(), second:
            outputs = tree_flatten(function(*values, **kwargs))[0]
        tracked = [outputs[i] for i in chosen if i < len(outputs) and isinstance(outputs[i], TensorBase)]
        return tracked, [values[place] for place in places] + others

    made = _Recomputed.apply(again, _CHECKS[determinism_check], [flat[i] for i in chosen], *(args[p] for p in places), *others)
    for i, tensor in zip(chosen, made):
        flat[i] = tensor
    return tree_unflatten(flat, spec)


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn, determinism_check: str = "default", debug: bool = False,
    early_stop: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """``function(*args, **kwargs)``, whose activations backward computes again, with the same random numbers.

    Differs from torch: with ``use_reentrant=False`` the activations are kept until ``function`` ends, the check compares
    results and not saved tensors, and the second computation always runs to its end; there is no ``debug=True``.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
            "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
            "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
            "differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant:
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if debug:
        raise NotImplementedError("mstorch: torch.utils.checkpoint has no debug=True")
    return _not_reentrant(function, preserve, context_fn, determinism_check, args, kwargs)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """The functions (or the layers of a Sequential) one after the other, with a checkpoint for each segment but the last."""
    from ..nn import Sequential

    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In version "
            "2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you need "
            "to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
            "differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    layers = list(functions.children()) if isinstance(functions, Sequential) else functions

    def segment(first: int, last: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
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
    "get_device_states", "set_device_states", "noop_context_fn", "set_checkpoint_early_stop", "DefaultDeviceType",
]  # fmt: skip
