"""Transforms from unconstrained values to a constraint: ``biject_to`` is bijective, ``transform_to`` for optimization."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from ._transform_base import Transform
from .utils import NUMBERS


class ConstraintRegistry:
    """Maps constraint classes to factories of transforms: ``registry(constraint)``."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}
        super().__init__()

    def register(
        self, constraint: str | constraints.Constraint | type[Any], factory: Callable[..., Any] | None = None
    ) -> Callable[..., Any]:
        """Register ``factory(constraint)``, which returns a transform, for a constraint class; also a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {kind}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _shifted(inner: Transform, loc: float, scale: float) -> Transform:
    return transforms.ComposeTransform([inner, transforms.AffineTransform(loc, scale)])


def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if all(isinstance(bound, NUMBERS) for bound in (low, high)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return _shifted(transforms.SigmoidTransform(), low, high - low)


def _of_parts(registry: ConstraintRegistry) -> None:
    """Register the composed constraints, whose components the same registry looks up."""
    registry.register(
        constraints.independent,
        lambda c: transforms.IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims),
    )
    registry.register(
        constraints.cat, lambda c: transforms.CatTransform([registry(part) for part in c.cseq], c.dim, c.lengths)
    )
    registry.register(constraints.stack, lambda c: transforms.StackTransform([registry(part) for part in c.cseq], c.dim))


for _registry in (biject_to, transform_to):
    _of_parts(_registry)
    for _constraint, _factory in (
        (constraints.real, lambda c: transforms.identity_transform),
        (constraints.greater_than, lambda c: _shifted(transforms.ExpTransform(), c.lower_bound, 1)),
        (constraints.greater_than_eq, lambda c: _shifted(transforms.ExpTransform(), c.lower_bound, 1)),
        (constraints.less_than, lambda c: _shifted(transforms.ExpTransform(), c.upper_bound, -1)),
        (constraints.interval, _to_interval),
        (constraints.half_open_interval, _to_interval),
        (constraints.corr_cholesky, lambda c: transforms.CorrCholeskyTransform()),
    ):
        _registry.register(_constraint, _factory)

biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda c: transforms.PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda c: transforms.PositiveDefiniteTransform())

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]
