"""The base of all distributions: shapes, validation, expansion."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import deprecated

import mstorch as torch

from .._src.core.warned import warn
from .._tensor import Tensor
from . import constraints
from ._checks import holds
from .utils import broadcast_all, lazy_property


class Distribution:
    """A batch of distributions of shape ``batch_shape``, over values of shape ``event_shape``.

    A class names in ``_mstorch_expands`` its attributes that expand with the batch (tensors or distributions), each with the number of its
    last dimensions that do not, and in ``_mstorch_keeps`` those that an expanded copy shares unchanged.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args: bool = __debug__
    _mstorch_expands: dict[str, int] = {}
    _mstorch_keeps: tuple[str, ...] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set the default of ``validate_args``: whether parameters and values are checked."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Any = torch.Size(), event_shape: Sequence[int] = torch.Size(), validate_args: bool | None = None
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._mstorch_check_parameters()
        super().__init__()

    def _mstorch_begin(self, validate_args: bool | None, **parameters: Any) -> None:
        """Broadcast the parameters to the batch shape, store and check them."""
        values = broadcast_all(*parameters.values())
        for name, value in zip(parameters, values):
            setattr(self, name, value)
        Distribution.__init__(self, values[0].size(), validate_args=validate_args)

    def _mstorch_check_parameters(self) -> None:
        try:
            checks = self.arg_constraints
        except NotImplementedError:
            warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the "
                "distribution with `validate_args=False` to turn off validation.",
            )
            return
        for name, constraint in checks.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # a lazy property is computed from parameters that are checked
            value = getattr(self, name)
            if not holds(constraint, value):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """Return the distribution expanded to ``batch_shape``, without copying memory."""
        owner = self._mstorch_expandable()
        if owner is Distribution:
            raise NotImplementedError
        new = self._get_checked_instance(owner, _instance)
        batch_shape = torch.Size(batch_shape)
        self._mstorch_expand_into(new, batch_shape)
        return self._mstorch_finish_expansion(new, batch_shape)

    def _mstorch_expandable(self) -> type:
        """Return the closest class in the MRO that declares how it expands."""
        return next(cls for cls in type(self).__mro__ if "_mstorch_expands" in cls.__dict__)

    def _mstorch_expansion(self) -> dict[str, int]:
        return self._mstorch_expands

    def _mstorch_expand_into(self, new: Any, batch_shape: tuple[int, ...]) -> None:
        for name, fixed in self._mstorch_expansion().items():
            if name not in self.__dict__:
                continue
            value = self.__dict__[name]
            shape = value.batch_shape if isinstance(value, Distribution) else value.shape
            setattr(new, name, value.expand(batch_shape + shape[len(shape) - fixed :]))
        for name in self._mstorch_keeps:
            setattr(new, name, getattr(self, name))

    def _mstorch_finish_expansion(self, new: Any, batch_shape: tuple[int, ...]) -> Any:
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Any:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one value."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """A dict from parameter names to their constraints."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint on the values."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The mode."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        """Return random values of shape ``sample_shape + batch_shape + event_shape``, without gradient."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        """Return random values that are differentiable with respect to the parameters."""
        raise NotImplementedError

    @deprecated("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", category=FutureWarning)
    def sample_n(self, n: int) -> Tensor:
        """Return ``n`` random values."""
        return self.sample(torch.Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log density or log probability of values."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of values up to ``value``."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """Return the inverse of ``cdf``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values of a discrete distribution along dimension 0."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy, of the batch shape."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape: tuple[int, ...] = torch.Size()) -> tuple[int, ...]:
        return torch.Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def _validate_sample(self, value: Tensor) -> None:
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        actual, expected = value.size(), self._batch_shape + self._event_shape
        if actual[len(actual) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {actual} vs {self._event_shape}.")
        if any(i != 1 and j != 1 and i != j for i, j in zip(reversed(actual), reversed(expected))):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {actual} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the distribution "
                "with `validate_args=False` to turn off validation.",
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not holds(support, value):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _mstorch_checked(self, value: Tensor) -> Tensor:
        """Return the value, validated if validation is enabled."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must also define a "
                "custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _mstorch_full(self, value: float, like: Tensor) -> Tensor:
        """Return a tensor of the batch and event shape filled with ``value``."""
        return torch.full(self._extended_shape(), value, dtype=like.dtype, device=like.device)

    def _mstorch_counted(self, values: Tensor, expand: bool) -> Tensor:
        """Return 1-d values reshaped to (n, 1, ..., 1), which broadcasts with the batch, or with ``expand`` to (n, *batch_shape)."""
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values

    def __repr__(self) -> str:
        given = ((name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__)
        shown = ", ".join(f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in given)
        return f"{self.__class__.__name__}({shown})"


__all__ = ["Distribution"]
