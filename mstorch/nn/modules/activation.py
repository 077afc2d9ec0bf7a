"""Activation layers."""
from __future__ import annotations

from typing import Any

from ... import init
from ..._src.core.device import device
from ..._src.core.dtype import dtype
from ..._src.core.warned import warn
from ..._tensor import Tensor
from .. import functional as F
from ._looked_up import LookedUp
from ._made import parameter_of
from ._names import SLOPE, called
from ._own_init import own_init
from ._state import complete
from .attention import MultiheadAttention as MultiheadAttention
from .module import Module


def _in_place_text(module: Module) -> str:
    return "inplace=True" if module.inplace else ""


class Threshold(Module):
    """Returns ``x`` where it is above ``threshold``, else ``value``."""

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"threshold={self.threshold}, value={self.value}{', inplace=True' if self.inplace else ''}"


class ReLU(Module):
    """Applies ``max(0, x)`` elementwise."""

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return F.relu(input, self.inplace)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return _in_place_text(self)


class RReLU(Module):
    """Leaky ReLU whose slope is drawn from [lower, upper) in training, and is the mean of the bounds in evaluation
    (https://arxiv.org/abs/1505.00853).
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"lower={self.lower}, upper={self.upper}{', inplace=True' if self.inplace else ''}"


class Hardtanh(Module):
    """Applies ``min(max(min_val, x), max_val)`` elementwise."""

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if min_value is not None:
            warn(
                "keyword argument `min_value` is deprecated and renamed to `min_val`", FutureWarning
            )
            min_val = min_value
        if max_value is not None:
            warn(
                "keyword argument `max_value` is deprecated and renamed to `max_val`", FutureWarning
            )
            max_val = max_value
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val must be larger than min_val, got max_val={max_val}, min_val={min_val}")

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"min_val={self.min_val}, max_val={self.max_val}{', inplace=True' if self.inplace else ''}"


class ReLU6(Hardtanh):
    """Applies ``min(max(0, x), 6)`` elementwise."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return _in_place_text(self)


class _InPlace(Module):
    """Base of activations without parameters that can work in place."""

    __constants__ = ["inplace"]
    _function: Any

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return type(self)._function(input, self.inplace)


class _InPlaceShown(_InPlace):
    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return _in_place_text(self)


@own_init
class Hardsigmoid(_InPlace):
    """Applies ``relu6(x + 3) / 6`` elementwise."""

    _function = LookedUp("hardsigmoid")


@own_init
class Hardswish(_InPlace):
    """Applies ``x * relu6(x + 3) / 6`` elementwise (https://arxiv.org/abs/1905.02244)."""

    _function = LookedUp("hardswish")


@own_init
class SiLU(_InPlaceShown):
    """Applies ``x * sigmoid(x)`` elementwise."""

    _function = LookedUp("silu")


@own_init
class Mish(_InPlaceShown):
    """Applies ``x * tanh(softplus(x))`` elementwise (https://arxiv.org/abs/1908.08681)."""

    _function = LookedUp("mish")


@own_init
class SELU(_InPlaceShown):
    """Applies the activation of self-normalizing networks (https://arxiv.org/abs/1706.02515)."""

    _function = LookedUp("selu")


class _WithAlpha(Module):
    __constants__ = ["alpha", "inplace"]
    _function: Any

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return type(self)._function(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"alpha={self.alpha}{', inplace=True' if self.inplace else ''}"


@own_init
class ELU(_WithAlpha):
    """Returns ``x`` where it is positive, else ``alpha * (exp(x) - 1)`` (https://arxiv.org/abs/1511.07289)."""

    _function = LookedUp("elu")


@own_init
class CELU(_WithAlpha):
    """Applies ``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`` elementwise (https://arxiv.org/abs/1704.07483)."""

    _function = LookedUp("celu")


class _Plain(Module):
    """Base of activations without parameters."""

    _function: Any

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return type(self)._function(input)


class Sigmoid(_Plain):
    """Applies ``1 / (1 + exp(-x))`` elementwise."""

    _function = LookedUp("sigmoid")


class Tanh(_Plain):
    """Applies the hyperbolic tangent elementwise."""

    _function = LookedUp("tanh")


class LogSigmoid(_Plain):
    """Applies ``log(sigmoid(x))`` elementwise."""

    _function = LookedUp("logsigmoid")


class Softsign(_Plain):
    """Applies ``x / (1 + |x|)`` elementwise."""

    _function = LookedUp("softsign")


class Tanhshrink(_Plain):
    """Applies ``x - tanh(x)`` elementwise."""

    _function = LookedUp("tanhshrink")


class GLU(Module):
    """Multiplies the first half along ``dim`` by the sigmoid of the second half (https://arxiv.org/abs/1612.08083)."""

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (*, 2n, *) → (*, n, *)."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"dim={self.dim}"


class GELU(Module):
    """Multiplies ``x`` by the standard normal CDF at ``x`` (https://arxiv.org/abs/1606.08415)."""

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"approximate={self.approximate!r}"


class _Shrink(Module):
    __constants__ = ["lambd"]
    _function: Any

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return type(self)._function(input, self.lambd)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return str(self.lambd)


@own_init
class Hardshrink(_Shrink):
    """Returns ``x``, but 0 where ``|x| <= lambd``."""

    _function = LookedUp("hardshrink")


@own_init
class Softshrink(_Shrink):
    """Moves ``x`` towards 0 by ``lambd``; returns 0 where ``|x| <= lambd``."""

    _function = LookedUp("softshrink")


class LeakyReLU(Module):
    """Returns ``x`` where it is positive, else ``negative_slope * x``."""

    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"negative_slope={self.negative_slope}{', inplace=True' if self.inplace else ''}"


class Softplus(Module):
    """Applies ``log(1 + exp(beta * x)) / beta`` elementwise."""

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"beta={self.beta}, threshold={self.threshold}"


@called(SLOPE)
class PReLU(Module):
    """Returns ``x`` where it is positive, else ``weight * x``, with a learned weight (https://arxiv.org/abs/1502.01852)."""

    __constants__ = ["num_parameters"]

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: int | str | device | None = None, dtype: dtype | None = None
    ) -> None:
        self.num_parameters = num_parameters
        super().__init__()
        self.init = init
        self.weight = parameter_of(1, num_parameters, device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to its initial value."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (*) → (*); with several weights (N, C, *)."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"num_parameters={self.num_parameters}"


class _AlongDim(Module):
    __constants__ = ["dim"]
    _function: Any

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(complete(state, dim=None))  # early files lack it

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        return type(self)._function(input, self.dim)

    def extra_repr(self) -> str:
        """Return the arguments shown in the module's repr."""
        return f"dim={self.dim}"


@own_init
class Softmax(_AlongDim):
    """Divides ``exp(x)`` by its sum along ``dim``."""

    _function = LookedUp("softmax")


@own_init
class Softmin(_AlongDim):
    """Applies softmax to ``-x``."""

    _function = LookedUp("softmin")


@own_init
class LogSoftmax(_AlongDim):
    """Applies the logarithm of softmax."""

    _function = LookedUp("log_softmax")


class Softmax2d(Module):
    """Applies softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer: (N, C, H, W) → (N, C, H, W), or unbatched."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


__all__ = [
    "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid", "LogSoftmax",
    "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmax2d",
    "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip
