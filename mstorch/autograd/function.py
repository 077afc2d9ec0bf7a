"""autograd.Function: operations with a backward of their own."""
from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from .._backend import tape
from .._core.tensor_base import TensorBase, check_writable, grad_mode, is_tracked, recording, value_of, wrap
from .._ops.creation import zeros
from .grad_mode import no_grad


class FunctionCtx:
    """What ``forward`` hands on to ``backward``."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.materialize_grads = True
        self._saved: tuple[Any, ...] = ()
        self._outputs: dict[int, tuple[weakref.ref[Any], Any]] = {}
        self._dirty: tuple[Any, ...] = ()
        self._non_differentiable: tuple[Any, ...] = ()
        self._freed = False

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (inputs or outputs, or None) for backward."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, TensorBase):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {tensors.index(tensor)} is of type "
                    f"{type(tensor).__name__}"
                )
        self._saved = tensors

    save_for_forward = save_for_backward

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that ``save_for_backward`` kept."""
        kept = []
        for tensor in self._saved:
            found = self._outputs.get(id(tensor)) if tensor is not None else None
            if found is not None:
                alive = found[0]()
                tensor = wrap(found[1]) if alive is None else alive
            kept.append(tensor)
        return tuple(kept)

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs forward changed in place; they have to be returned too."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which outputs have no gradient."""
        self._non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (the default) or None for outputs that were not used."""
        self.materialize_grads = value


class Function:
    """The base of operations with their own backward.

    A subclass has static methods ``forward(ctx, *args)`` (or ``forward(*args)`` and ``setup_context(ctx, inputs, output)``)
    and ``backward(ctx, *grad_outputs)``, which returns one gradient, or None, for each argument. Call ``apply``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them "
            "on the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; defined by each subclass."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep what backward needs, where ``forward`` takes no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients of the arguments; defined by each subclass."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` on the arguments and record its backward."""
        needs = tuple(isinstance(a, TensorBase) and is_tracked(a) for a in args)
        ctx = FunctionCtx(needs)
        positions = [i for i, needed in enumerate(needs) if needed]
        recorded = bool(positions) and recording([args[i] for i in positions])
        before = {id(a): value_of(a) for a in args if isinstance(a, TensorBase)}
        with no_grad():
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args, **kwargs)
            else:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
        if not recorded:
            return output
        tape.refuse_in_trace(f"{cls.__name__} has a backward of its own")
        for tensor in ctx._dirty:
            check_writable(tensor)
        tape.start_recording()  # forward may have looked at values with gradients enabled
        return _record(cls, ctx, [args[i] for i in positions], positions, before, output, len(args))


def _record(
    cls: type[Function], ctx: FunctionCtx, inputs: list[Any], positions: list[int], before: dict[int, Any], output: Any,
    arity: int,
) -> Any:  # fmt: skip
    single = not isinstance(output, tuple)
    outputs = [output] if single else list(output)
    excluded = {id(t) for t in ctx._non_differentiable}
    chosen = [
        i for i, t in enumerate(outputs)
        if isinstance(t, TensorBase) and id(t) not in excluded and t._dtype.category >= 2
    ]  # fmt: skip
    if not chosen:
        return output
    raws = [value_of(outputs[i]) for i in chosen]
    shapes = [(tuple(raw.shape), outputs[i]._dtype) for raw, i in zip(raws, chosen)]

    def forward(native: Any, *inputs_: Any) -> Any:
        results = tuple(tape.detached(raw) for raw in raws)
        return results[0] if len(results) == 1 else results

    def backward(native: Any, *gradients: Any) -> Any:
        full: list[Any] = [None] * len(outputs)
        for position, gradient, (shape, kind) in zip(chosen, gradients, shapes):
            if gradient is not None:
                full[position] = wrap(gradient, grad_mode.enabled and tape.is_recorded(gradient))
            elif ctx.materialize_grads:
                full[position] = zeros(shape, dtype=kind)
        given = cls.backward(ctx, *full)
        given = given if isinstance(given, tuple) else (given,)
        if len(given) < arity or any(g is not None for g in given[arity:]):
            raise RuntimeError(
                f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {arity}, got {len(given)})"
            )
        results = []
        for position, tensor in zip(positions, inputs):
            gradient = given[position]
            if gradient is not None and tuple(gradient.shape) != tuple(value_of(tensor).shape):
                gradient = gradient.sum_to_size(value_of(tensor).shape)
            results.append(None if gradient is None else value_of(gradient))
        return results[0] if len(results) == 1 else tuple(results)

    # The node starts from the values that the inputs had before forward changed any of them.
    node = tape.function_node(cls.__name__, forward, backward)
    result = node(*(before[id(tensor)] for tensor in inputs))
    made = result if isinstance(result, tuple) else (result,)
    dirty = {id(t) for t in ctx._dirty}
    for position, raw in zip(chosen, made):
        original = outputs[position]
        if id(original) in dirty:
            original._storage.value = raw
            original._storage.tracked = True
            final = original
        else:
            final = wrap(raw, True)
            final.__dict__["_node_name"] = f"{cls.__name__}Backward"
        ctx._outputs[id(original)] = (weakref.ref(final), tape.detached(raw))
        if id(original) not in dirty:
            # ``saved_tensors`` looks outputs up by identity: the tensor of forward must live as long as the context.
            ctx.__dict__.setdefault("_kept", []).append(original)
        outputs[position] = final
    return outputs[0] if single else tuple(outputs)


class NestedIOFunction(Function):
    """The base of operations of the time before static methods: like torch's, it cannot be called any more."""

    def forward_extended(self, *input: Any) -> None:
        """Compute the result; defined by each subclass."""
        raise NotImplementedError

    def backward_extended(self, *grad_output: Any) -> None:
        """Compute the gradients; defined by each subclass."""
        raise NotImplementedError


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Make a backward that cannot be differentiated again."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            return fn(ctx, *args)

    return wrapper
