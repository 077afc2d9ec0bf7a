"""The chi-squared distribution."""
from __future__ import annotations

from .._tensor import Tensor
from . import constraints
from .gamma import Gamma


class Chi2(Gamma):
    """The sum of ``df`` squared standard normal variables: a gamma distribution."""

    arg_constraints = {"df": constraints.positive}
    _mstorch_expands = dict(Gamma._mstorch_expands)

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2


__all__ = ["Chi2"]
