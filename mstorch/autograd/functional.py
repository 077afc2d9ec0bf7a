"""torch.autograd.functional: Jacobians, Hessians and their products with vectors.

``jvp`` is computed as a double backward: the gradient of a vjp with respect to its cotangent (Townsend, "A new trick for calculating
Jacobian vector products", 2017).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from .._src.core.formats import contiguous_format
from .._src.core.modes import grad_set_to, modes
from .._src.core.overriding import offered
from .._src.core.tensor_base import TensorBase
from .._src.ops.memory import creation
from .._src.ops.shape import join
from .._tensor import Tensor
from . import forward_ad
from .backward import grad
from .grad_mode import enable_grad

Tensors = tuple[Any, ...]
stack, zeros_like = offered(join.stack), offered(creation.zeros_like)
_USER = "outputs of the user-provided function"


def _as_tuple(value: Any, what: str | None = None, function: str | None = None) -> Any:
    """Return whether the value is a tuple, and the value as a tuple of tensors; without further arguments, as a tuple of anything. Raise
    TypeError for other values."""
    many = isinstance(value, tuple)
    tensors = value if many else (value,)
    if what is None and function is None:
        return tensors
    for i, item in enumerate(tensors):
        if not isinstance(item, TensorBase):
            place = f"value at index {i}" if many else f"given {what}"
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the {place} has type "
                f"{type(item)}."
            )
    return many, tensors


def _grad_preprocess(tensors: Any, create_graph: bool, need_graph: bool = True) -> Tensors:
    """Return aliases of the tensors with respect to which the function is differentiated. (The function may refer to the original tensors
    as well; these are constants.)"""
    return tuple(
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(need_graph) for t in tensors
    )


def _grad_postprocess(tensors: tuple[Tensor | tuple[Tensor, ...], ...], create_graph: bool) -> tuple[Any, ...]:
    if create_graph:
        return tensors
    return tuple(t.detach() if isinstance(t, TensorBase) else _grad_postprocess(t, create_graph) for t in tensors)


def _tuple_postprocess(tensors: Tensors, many: bool | tuple[bool, bool]) -> Any:
    """Return the tuple if ``many``, else its only item; for a tuple of tuples, ``many`` is a pair of the outer and the inner one."""
    if isinstance(many, tuple):
        many, inner = many
        tensors = tensors if inner else tuple(item[0] for item in tensors)
    return tensors if many else tensors[0]


def _construct_standard_basis_for(tensors: Tensors, tensor_numels: tuple[int, ...]) -> Tensors:
    """Return the columns of an identity matrix of size ``sum(tensor_numels)``, as one matrix for each tensor, of its dtype and device."""
    ends = list(accumulate(tensor_numels))
    chunks = tuple(tensor.new_zeros(ends[-1], count) for tensor, count in zip(tensors, tensor_numels))
    for chunk, end, count in zip(chunks, ends, tensor_numels):
        chunk.diagonal(count - end).fill_(1)
    return chunks


def _validate_v(v: Tensors, like: Tensors, many: bool) -> None:
    if len(v) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}." if many
            else "The given v should contain a single Tensor."
        )  # fmt: skip
    for i, (mine, wanted) in enumerate(zip(v, like)):
        if mine.size() != wanted.size():
            entry = f"Entry {i} in " if many else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {wanted.size()} but got {mine.size()}.")


def _vector(v: Any, function: str, like: Tensors, many: bool, create_graph: bool, missing: str) -> Tensors:
    """Return ``v`` as a tuple of tensors. ``v`` may be None if ``like`` is one tensor of one element; (None,) is returned then. Raise
    RuntimeError with the message ``missing`` if it is None otherwise."""
    if v is None:
        if len(like) != 1 or like[0].nelement() != 1:
            raise RuntimeError(missing)
        return (None,)
    vector = _grad_preprocess(_as_tuple(v, "v", function)[1], create_graph, False)
    _validate_v(vector, like, many)
    return vector


_INDEPENDENT = {
    "outputs": (
        "Output {i} of the user-provided function does not require gradients. The outputs must be computed in a differentiable "
        "manner from the input when running in strict mode."
    ),
    "grad_inputs": (
        "The gradient with respect to input {i} is independent of the inputs of the user-provided function. This is not allowed "
        "in strict mode."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
        "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
        "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for example)."
    ),
}


def _check_requires_grad(tensors: Sequence[Any], kind: str, strict: bool) -> None:
    for i, tensor in enumerate(tensors if strict else ()):
        if tensor is None:
            raise RuntimeError(
                f"The output of the user-provided function is independent of input {i}. This is not allowed in strict mode."
            )
        if not tensor.requires_grad:
            raise RuntimeError(_INDEPENDENT[kind].format(i=i))


def _autograd_grad(
    outputs: Sequence[Any], inputs: Tensors, vector: Sequence[Any] | None = None, create_graph: bool = False,
    retain_graph: bool | None = None,
) -> Tensors:
    """Return ``autograd.grad`` of the outputs that require grad; None for inputs that no output depends on."""
    pairs = [
        (output, v) for output, v in zip(outputs, vector if vector is not None else (None,) * len(outputs))
        if output is not None and output.requires_grad
    ]  # fmt: skip
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        tuple(output for output, _ in pairs), inputs, tuple(v for _, v in pairs), retain_graph=retain_graph,
        create_graph=create_graph, allow_unused=True,
    )  # fmt: skip


# The error for a missing gradient, and the order of the derivative, by the pass in which it is missing.
_MISSING = {
    "back": ("The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.", "jacobian"),
    "back_trick": (
        "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double backward "
        "trick to compute forward mode gradients. This is not allowed in strict mode.",
        "jacobian",
    ),
    "double_back": (
        "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode.", "hessian"
    ),
    "double_back_trick": (
        "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is not allowed in "
        "strict mode as it prevents from using the double backward trick to replace forward mode AD.",
        "hessian",
    ),
}  # fmt: skip


def _fill_in_zeros(gradients: Tensors, like: Tensors, strict: bool, create_graph: bool, stage: str) -> Tensors:
    """Return the gradients with zeros for None; in strict mode, raise RuntimeError for None."""
    words, name = _MISSING[stage]
    for i, gradient in enumerate(gradients if strict else ()):
        if gradient is None:
            raise RuntimeError(words.format(i=i))
        if create_graph and not gradient.requires_grad:
            raise RuntimeError(
                f"The {name} of the user-provided function is independent of input {i}. This is not allowed in strict mode when "
                "create_graph=True."
            )
    return tuple(zeros_like(t) if gradient is None else gradient for gradient, t in zip(gradients, like))


def _run(func: Callable[..., Any], inputs: Tensors, function: str, strict: bool) -> tuple[bool, Tensors]:
    many, outputs = _as_tuple(func(*inputs), _USER, function)
    _check_requires_grad(outputs, "outputs", strict)
    return many, outputs


_ONE_OUTPUT = "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
_ONE_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
)


def vjp(
    func: Callable[..., Any], inputs: Any, v: Tensor | Sequence[Tensor] | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return ``func(*inputs)`` and the product of ``v`` (like the outputs) with the Jacobian, like the inputs."""
    outer = modes.grad
    with enable_grad():
        many_inputs, inputs = _as_tuple(inputs, "inputs", "vjp")
        inputs = _grad_preprocess(inputs, create_graph)
        many, outputs = _run(func, inputs, "vjp", strict)
        vector = _vector(v, "vjp", outputs, many, create_graph, _ONE_OUTPUT)
    with grad_set_to(create_graph or outer):
        found = _fill_in_zeros(_autograd_grad(outputs, inputs, vector, create_graph), inputs, strict, create_graph, "back")
    outputs, found = _grad_postprocess(outputs, create_graph), _grad_postprocess(found, create_graph)
    return _tuple_postprocess(outputs, many), _tuple_postprocess(found, many_inputs)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Tensor | Sequence[Tensor] | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return ``func(*inputs)`` and the product of the Jacobian with ``v`` (like the inputs), like the outputs."""
    with enable_grad():
        many_inputs, inputs = _as_tuple(inputs, "inputs", "jvp")
        inputs = _grad_preprocess(inputs, create_graph)
        vector = _vector(v, "jvp", inputs, many_inputs, create_graph, _ONE_INPUT)
        many, outputs = _run(func, inputs, "jvp", strict)
        seeds = tuple(zeros_like(output, requires_grad=True) for output in outputs)
        pulled = _autograd_grad(outputs, inputs, seeds, True)
        _check_requires_grad(pulled, "grad_inputs", strict)
    with grad_set_to(create_graph or modes.grad):
        found = _fill_in_zeros(_autograd_grad(pulled, seeds, vector, create_graph), outputs, strict, create_graph, "back_trick")
    outputs, found = _grad_postprocess(outputs, create_graph), _grad_postprocess(found, create_graph)
    return _tuple_postprocess(outputs, many), _tuple_postprocess(found, many)


def _row(output: Tensor, index: int, inputs: Tensors, create_graph: bool) -> Tensors:
    seed = zeros_like(output.detach(), memory_format=contiguous_format)
    seed.view(-1)[index] = 1
    return _autograd_grad((output,), inputs, (seed,), create_graph, True)


def _jacobian(
    outputs: Tensors, inputs: Tensors, create_graph: bool, strict: bool
) -> tuple[tuple[Any, ...], ...]:
    blocks = []
    for i, output in enumerate(outputs):
        rows: list[list[Any]] = [[] for _ in inputs]
        for index in range(output.nelement()):
            for number, (gradient, tensor) in enumerate(zip(_row(output, index, inputs, create_graph), inputs)):
                if strict and gradient is None:
                    raise RuntimeError(
                        f"Output {i} of the user-provided function is independent of input {number}. This is not allowed in "
                        "strict mode."
                    )
                if strict and create_graph and not gradient.requires_grad:
                    raise RuntimeError(
                        f"The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict "
                        "mode when create_graph=True."
                    )
                rows[number].append(zeros_like(tensor) if gradient is None else gradient)
        blocks.append(
            tuple(
                stack(row).view((*output.shape, *tensor.shape)) if row else tensor.new_zeros((*output.shape, *tensor.shape))
                for row, tensor in zip(rows, inputs)
            )
        )
    return tuple(blocks)


def _forwards(func: Callable[..., Any], inputs: Tensor | tuple[Tensor, ...]) -> Sequence[Any]:
    """Return the Jacobian by forward mode, running the function once per input element."""
    many_inputs, inputs = _as_tuple(inputs, "inputs", "jacobian")
    columns: list[list[Any]] = []
    for number, tensor in enumerate(inputs):
        for index in range(tensor.nelement()):
            units = [zeros_like(other.detach(), memory_format=contiguous_format) for other in inputs]
            units[number].view(-1)[index] = 1
            with forward_ad.dual_level():
                duals = tuple(forward_ad.make_dual(other, unit) for other, unit in zip(inputs, units))
                many, outputs = _as_tuple(func(*duals), _USER, "jacobian")
                pairs = [forward_ad.unpack_dual(output) for output in outputs]
            columns.append([zeros_like(value) if slope is None else slope for value, slope in pairs])
    if not columns:
        many, outputs = _as_tuple(func(*inputs), _USER, "jacobian")
        zeros = tuple(tuple(o.new_zeros((*o.shape, *t.shape)) for t in inputs) for o in outputs)
        return _tuple_postprocess(zeros, (many, many_inputs))
    blocks = []
    for place, (value, _) in enumerate(pairs):
        parts = stack([column[place] for column in columns]).split([tensor.nelement() for tensor in inputs], 0)
        blocks.append([
            part.permute((*range(1, part.dim()), 0)).reshape((*value.shape, *tensor.shape)) for part, tensor in zip(parts, inputs)
        ])  # fmt: skip
    # As in torch, lists if there are several inputs.
    if many_inputs:
        return blocks if many else blocks[0]
    return _tuple_postprocess(tuple(block[0] for block in blocks), many)


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """Return the Jacobian of ``func``: for each output and input, a tensor of shape ``output.shape + input.shape``.

    Differs from torch: computed row by row in reverse mode, column by column in forward mode, whatever ``vectorize`` is.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
            'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
                'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        if strict:
            raise RuntimeError(
                'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together '
                '(yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
            )
        return _forwards(func, inputs)
    with enable_grad():
        many_inputs, inputs = _as_tuple(inputs, "inputs", "jacobian")
        inputs = _grad_preprocess(inputs, create_graph)
        many, outputs = _run(func, inputs, "jacobian", strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please "
                "either set `strict=False` or `vectorize=False`."
            )
        if not vectorize and not all(output.nelement() for output in outputs):
            raise RuntimeError("stack expects a non-empty TensorList")
        found = _grad_postprocess(_jacobian(outputs, inputs, create_graph, strict), create_graph)
    return _tuple_postprocess(tuple(_tuple_postprocess(block, many_inputs) for block in found), many)


def _one_number(func: Callable[..., Any], inputs: Tensors, function: str, strict: bool) -> Tensor:
    """Return the function's result. Raise RuntimeError unless it is a single tensor with one element."""
    many, outputs = _run(func, inputs, function, strict)
    if many:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].nelement() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    return outputs[0]


def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """Return the Hessian of a scalar function: for each pair of inputs, a tensor of their concatenated shapes.

    ``outer_jacobian_strategy`` applies to the second derivative. Differs from torch: computed row by row, whatever ``vectorize`` is.
    """
    many, inputs = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def first(*tensors: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":  # an input that does not require grad would keep its tangent
            tensors = tuple(tensor.requires_grad_() for tensor in tensors)
        found = jacobian(lambda *inner: _one_number(func, inner, "hessian", strict).squeeze(), tensors, create_graph=True)
        _check_requires_grad(found, "jacobian", strict)
        return found

    found = jacobian(first, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if many else found[0][0]


def _hessian_product(
    name: str, stage: str, func: Callable[..., Any], inputs: Tensor | tuple[Tensor, Tensor], v: Tensor | tuple[Tensor, Tensor] | None,
    create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    """Compute ``vhp``, with error messages that name the given function and stage."""
    outer = modes.grad
    with enable_grad():
        many, inputs = _as_tuple(inputs, "inputs", name)
        inputs = _grad_preprocess(inputs, create_graph)
        vector = _vector(v, name, inputs, many, create_graph, _ONE_INPUT)
        output = _one_number(func, inputs, name, strict)
        first = _autograd_grad((output,), inputs, None, True)
        _check_requires_grad(first, "jacobian", strict)
    with grad_set_to(create_graph or outer):
        found = _fill_in_zeros(_autograd_grad(first, inputs, vector, create_graph), inputs, strict, create_graph, stage)
    return _grad_postprocess((output,), create_graph)[0], _tuple_postprocess(_grad_postprocess(found, create_graph), many)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return ``func(*inputs)``, a scalar, and the product of ``v`` (like the inputs) with its Hessian."""
    return _hessian_product("vhp", "double_back", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return ``func(*inputs)``, a scalar, and the product of its Hessian with ``v`` (like the inputs).

    Differs from torch: computed as ``vhp``, which is the same if the second derivatives are continuous.
    """
    return _hessian_product("hvp", "double_back_trick", func, inputs, v, create_graph, strict)


__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]
