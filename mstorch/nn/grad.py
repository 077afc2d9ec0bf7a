"""torch.nn.grad: gradients of convolutions as functions."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._src.core.above import above
from .._src.core.modes import modes
from .._src.core.tensor_base import is_tracked
from .._tensor import Tensor
from ..autograd.backward import grad
from ..autograd.grad_mode import enable_grad


def _gradient(
    conv: Callable[..., Any], whole: Tensor, arguments: Callable[[Any], tuple[Any, ...]], grad_output: Tensor, others: tuple[Tensor, Tensor]
) -> Tensor:
    """Return the gradient of ``conv(*arguments(whole))`` with respect to ``whole``. It can be differentiated again if one of ``others``
    requires grad."""
    recorded = modes.grad and any(is_tracked(other) for other in others)
    with enable_grad():
        whole.requires_grad_()
        result = conv(*arguments(whole))
        (found,) = grad(result, whole, grad_output, create_graph=recorded)
    return found


def _of_input(conv: Callable[..., Any], size: tuple[int, ...], weight: Tensor, grad_output: Tensor, *options: Any) -> Tensor:
    """Return the gradient with respect to an input of shape ``size``, whose values do not matter."""
    whole = above.torch.zeros(tuple(size), dtype=weight.dtype, device=weight.device)
    return _gradient(conv, whole, lambda x: (x, weight, None, *options), grad_output, (weight, grad_output))


def _of_weight(conv: Callable[..., Any], input: Tensor, size: tuple[int, ...], grad_output: Tensor, *options: Any) -> Tensor:
    """Return the gradient with respect to a weight of shape ``size``, whose values do not matter."""
    whole = above.torch.zeros(tuple(size), dtype=grad_output.dtype, device=grad_output.device)
    return _gradient(conv, whole, lambda weight: (input, weight, None, *options), grad_output, (input, grad_output))


def conv1d_input(
    input_size: Any, weight: Tensor, grad_output: Tensor, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1, groups: int = 1
) -> Tensor:
    """Return the gradient of ``conv1d`` with respect to its input, of size ``input_size``."""
    return _of_input(above.torch.conv1d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Any, weight_size: Any, grad_output: Tensor, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1, groups: int = 1
) -> Tensor:
    """Return the gradient of ``conv1d`` with respect to its weight, of size ``weight_size``."""
    return _of_weight(above.torch.conv1d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Any, weight: Tensor, grad_output: Tensor, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1, groups: int = 1
) -> Tensor:
    """Return the gradient of ``conv2d`` with respect to its input, of size ``input_size``."""
    return _of_input(above.torch.conv2d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Any, weight_size: Any, grad_output: Tensor, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1, groups: int = 1
) -> Tensor:
    """Return the gradient of ``conv2d`` with respect to its weight, of size ``weight_size``."""
    return _of_weight(above.torch.conv2d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Any, weight: Tensor, grad_output: Tensor, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1, groups: int = 1
) -> Tensor:
    """Return the gradient of ``conv3d`` with respect to its input, of size ``input_size``."""
    return _of_input(above.torch.conv3d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Any, weight_size: Any, grad_output: Tensor, stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1, groups: int = 1
) -> Tensor:
    """Return the gradient of ``conv3d`` with respect to its weight, of size ``weight_size``."""
    return _of_weight(above.torch.conv3d, input, weight_size, grad_output, stride, padding, dilation, groups)
