"""ATen's backward operators, by autograd of the forward functions."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .._src.aten.overloads import schemas_of
from .._src.core.above import above
from .._src.core.overriding import state
from .._src.core.schemas import Argument
from .._src.core.tensor_base import TensorBase
from .._src.ops.memory import creation
from .._tensor import Tensor
from ..autograd.backward import grad as gradients_of
from ..autograd.grad_mode import enable_grad


def derived(function: Callable[..., Any], grad: Tensor, *inputs: Any, mask: Sequence[bool] | None = None) -> tuple[Any, ...]:
    """Return the gradients of ``function(*inputs)`` for the tensor inputs, given the result's gradient; None for inputs that ``mask``
    excludes and for others."""
    wanted = [isinstance(x, TensorBase) and (mask is None or mask[i]) for i, x in enumerate(inputs)]
    if any(wanted) and (state.maps or state.levels):
        return _within_transforms(function, grad, inputs, wanted)
    with enable_grad():
        # New leaves: the walk ends at them, and the graph that the caller has made of the inputs is not walked.
        leaves = [x.detach().requires_grad_() if want else x for x, want in zip(inputs, wanted)]
        result = function(*leaves)
        found = iter(gradients_of(result, [leaf for leaf, want in zip(leaves, wanted) if want], grad) if any(wanted) else ())
    return tuple(next(found) if want else None for want in wanted)


def _within_transforms(function: Callable[..., Any], grad: Tensor, inputs: Sequence[Any], wanted: Sequence[bool]) -> tuple[Any, ...]:
    """Return the gradients for the ``wanted`` inputs where ``requires_grad_`` is refused."""

    def of_wanted(*tensors: Tensor) -> Any:
        given = iter(tensors)
        return function(*(next(given) if want else x for x, want in zip(inputs, wanted)))

    found = iter(above.torch.func.vjp(of_wanted, *(x for x, want in zip(inputs, wanted) if want))[1](grad))
    return tuple(next(found) if want else None for want in wanted)


def gradient_operator(name: str, find: Callable[[str], Callable[..., Any] | None]) -> Callable[..., Any] | None:
    """Return the backward operator ``name`` (``gelu_backward``), which differentiates the forward function that ``find`` returns. Return
    None if the schemas do not match or there is no function."""
    forward, backward = schemas_of(name)
    function = find(forward.name) if forward is not None else None
    if forward is None or backward is None or function is None:
        return None
    signature = inspect.Signature([
        inspect.Parameter(
            argument.name, inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=argument.default if argument.has_default else inspect.Parameter.empty,
        ) for argument in backward.arguments
    ])  # fmt: skip
    # Schemas do not name the arguments whose gradients a backward operator returns; they are the first ones, in their order.
    differentiated = forward.arguments[: max(1, backward.returns.count("Tensor"))]

    def gradient(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = bound.arguments
        grad = values[backward.arguments[0].name]
        if values.get("is_result"):
            raise NotImplementedError(f"mstorch: aten.{name} takes the input, not the result")
        if "input_size" in values:
            # Operators that get sizes in place of the input are linear: their gradient is the same at every input.
            values["self"] = creation.zeros(tuple(values["input_size"]), dtype=grad.dtype, device=grad.device)
        values.setdefault("self", values.get("self_or_result"))

        def value(argument: Argument) -> Any:
            if argument.name == "output_size" and "output_size" not in values:
                return tuple(grad.shape[-int(argument.type[-2]) :])  # the type, ``SymInt[2]``, says how many
            found = values.get(argument.name, argument.default)
            return None if isinstance(found, (list, tuple)) and not found else found

        def first_result(*inputs: Tensor) -> Tensor:
            given = [*inputs, *(value(argument) for argument in others if not argument.kwarg_only)]
            found = function(*given, **{argument.name: value(argument) for argument in others if argument.kwarg_only})
            return found[0] if isinstance(found, tuple) else found

        found = derived(first_result, grad, *(values[argument.name] for argument in differentiated))
        return found if len(found) > 1 else found[0]

    others = forward.arguments[len(differentiated) :]
    gradient.__name__, gradient.__doc__ = name, f"Return the gradient of ``{forward.name}``."
    gradient.__signature__ = signature  # type: ignore[attr-defined]
    return gradient
