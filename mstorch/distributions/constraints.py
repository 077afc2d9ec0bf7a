"""Constraints: regions of values, with tests whether a value satisfies them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mstorch as torch

from .._src.backend.arrays import Array
from .._tensor import Tensor


class Constraint:
    """A region of values: ``check(value)`` returns whether each value is in it; a value has ``event_dim`` dimensions."""

    is_discrete: Any = False
    event_dim: Any = 0
    _mstorch_shown: tuple[str, ...] = ()

    def check(self, value: Any) -> Any:
        """Return a bool tensor of the batch shape: True for values that satisfy the constraint."""
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self._mstorch_shown)
        return f"{self.__class__.__name__[1:]}({shown})"


class _Dependent(Constraint):
    """A constraint that depends on other values, and cannot be checked by itself."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    def _known(self, name: str) -> Any:
        value = getattr(self, "_" + name)
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    @property
    def is_discrete(self) -> bool:
        return self._known("is_discrete")

    @property
    def event_dim(self) -> Any:
        return self._known("event_dim")

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x: Tensor) -> Any:
        """Raise ValueError: a dependent constraint cannot be checked."""
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Constraint) -> bool:
    """Return whether a constraint depends on other values."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that returns a constraint: on the class a dependent constraint, on an instance the constraint itself."""

    def __init__(
        self, fn: Callable[..., Any] | None = None, *, is_discrete: bool | None = NotImplemented, event_dim: int | None = NotImplemented
    ) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def _all_of(checked: Tensor | Array, kept: int) -> Any:
    """Reduce by ``all`` over the dimensions after the first ``kept``."""
    return checked.reshape(checked.shape[:kept] + (-1,)).all(-1)


class _Wrapper(Constraint):
    """A constraint that wraps another."""

    base_constraint: Any

    def _wrap(self, base_constraint: _GreaterThan | _Real) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim


class _IndependentConstraint(_Wrapper):
    """``base_constraint`` on events: its last ``reinterpreted_batch_ndims`` batch dimensions are event dimensions."""

    def __init__(self, base_constraint: _GreaterThan | _Real, reinterpreted_batch_ndims: int) -> None:
        self._wrap(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            raise AssertionError(
                f"reinterpreted_batch_ndims must be an int, got {type(reinterpreted_batch_ndims).__name__}"
            )
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        checked = self.base_constraint.check(value)
        if len(checked.shape) < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_of(checked, len(checked.shape) - self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Wrapper):
    """Constraint for the support of a mixture: a value has to be in the support of every component."""

    def __init__(self, base_constraint: Any) -> None:
        self._wrap(base_constraint)
        super().__init__()

    def check(self, value: Tensor) -> Any:
        checked = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return _all_of(checked, value.dim() - self.event_dim)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_constraint!r})"


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor | Array) -> Any:
        return (value == 0) | (value == 1)


class _OneHot(_Boolean):
    event_dim = 1

    def check(self, value: Tensor | Array) -> Any:
        return super().check(value).all(-1) & (value.sum(-1) == 1)


class _Above(Constraint):
    """Constraint with a lower bound."""

    _mstorch_shown: tuple[str, ...] = ("lower_bound",)

    def __init__(self, lower_bound: Tensor | float) -> None:
        self.lower_bound = lower_bound
        super().__init__()


class _Below(Constraint):
    """Constraint with an upper bound."""

    _mstorch_shown: tuple[str, ...] = ("upper_bound",)

    def __init__(self, upper_bound: Tensor | float) -> None:
        self.upper_bound = upper_bound
        super().__init__()


class _Between(Constraint):
    """Constraint with two bounds."""

    _mstorch_shown = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: float, upper_bound: Tensor | float) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()


class _IntegerInterval(_Between):
    is_discrete = True

    def check(self, value: Tensor | Array) -> Any:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Below):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    is_discrete = True

    def check(self, value: Tensor | Array) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    def check(self, value: Array) -> Any:
        return value == value  # NaN is not a real number


class _GreaterThan(_Above):
    def check(self, value: Array) -> Any:
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    def check(self, value: Tensor | Array) -> Any:
        return self.lower_bound <= value


class _LessThan(_Below):
    def check(self, value: Tensor | Array) -> Tensor | Array:
        return value < self.upper_bound


class _Interval(_Between):
    def check(self, value: Tensor | Array) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    def check(self, value: Tensor | Array) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Array) -> Any:
        return (value >= 0).all(-1) & (abs(value.sum(-1) - 1) < 1e-6)


class _Multinomial(_Below):
    is_discrete = True
    event_dim = 1
    _mstorch_shown = ()

    def check(self, x: Tensor | Array) -> Any:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return _all_of(value.tril() == value, value.dim() - 2)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value: Tensor) -> Tensor:
        tolerance = torch.finfo(value.dtype).eps * value.size(-1) * 10
        lengths = torch.linalg.vector_norm(value.detach(), dim=-1)
        return super().check(value) & (lengths - 1.0).abs().le(tolerance).all(dim=-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return torch.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        square = super().check(value)
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1) if square.all() else square


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        even = super().check(value)
        return torch.linalg.eigvalsh(value).ge(0).all(-1) if even.all() else even


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        even = super().check(value)
        return torch.linalg.cholesky_ex(value).info.eq(0) if even.all() else even


class _Parts(Constraint):
    """Several constraints, each on a slice of the value along one dimension."""

    cseq: list[Any]
    dim: int

    def _take(self, cseq: Sequence[Any], dim: int) -> None:
        if not all(isinstance(part, Constraint) for part in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq = list(cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> bool:
        return any(part.is_discrete for part in self.cseq)

    @property
    def event_dim(self) -> int:
        return max(part.event_dim for part in self.cseq)

    def _check_dim(self, value: Tensor) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Parts):
    def __init__(self, cseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self._take(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        parts = value.narrow(self.dim, 0, sum(self.lengths)).split(self.lengths, self.dim)
        return torch.cat([constraint.check(part) for constraint, part in zip(self.cseq, parts)], self.dim)


class _Stack(_Parts):
    def __init__(self, cseq: Sequence[Any], dim: int = 0) -> None:
        self._take(cseq, dim)
        super().__init__()

    @property
    def event_dim(self) -> int:
        dim = max(part.event_dim for part in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        return torch.stack([part.check(v) for v, part in zip(value.unbind(self.dim), self.cseq)], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval", "is_dependent",
    "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot",
    "positive", "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex", "square",
    "stack", "symmetric", "unit_interval",
]  # fmt: skip
