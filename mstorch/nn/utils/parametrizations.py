"""Parametrizations that keep a weight orthogonal or bound its norm."""
from __future__ import annotations

from typing import Any

from ..._src.core.above import above
from ..._src.core.dtype import finfo
from ..._src.core.formats import contiguous_format
from ..._src.core.tensor_base import TensorBase
from ..._tensor import Tensor
from ...autograd.grad_mode import no_grad
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from .parametrize import register_parametrization
from .weight_norm import scaled_weight

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = ("matrix_exp", "cayley", "householder")


def _is_orthogonal(matrix: Tensor) -> bool:
    n, k = matrix.size(-2), matrix.size(-1)
    one = above.torch.eye(k, dtype=matrix.dtype, device=matrix.device)
    return bool(above.torch.allclose(matrix.mH @ matrix, one, atol=10.0 * n * finfo(matrix.dtype).eps))


def _made_orthogonal(matrix: Tensor) -> Tensor:
    """Return the orthogonal factor of the QR decomposition with a positive diagonal."""
    factors, tau = above.torch.geqrf(matrix)
    return above.torch.linalg.householder_product(factors, tau) * factors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """Maps an unconstrained matrix to a matrix with orthonormal columns (or rows, if the matrix is wide).

    The map is the matrix exponential or the Cayley map of a skew-symmetric matrix, or Householder reflections (Lezcano-Casado and
    Martínez-Rubio, "Cheap orthogonal constraints in neural networks", arXiv:1901.08428). ``base`` is the matrix around which the map is
    taken: the weight at registration.
    """

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer: (*, n, k) → (*, n, k)."""
        wide = x.size(-2) < x.size(-1)
        if wide:
            x = x.mT
        n, k = x.size(-2), x.size(-1)
        if self.orthogonal_map == "householder":
            lower = x.tril(-1)
            tau = 2.0 / (1.0 + (lower * lower).sum(dim=-2))
            q = above.torch.linalg.householder_product(lower, tau) * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            lower = x.tril()
            if n != k:
                lower = above.torch.cat([lower, lower.new_zeros(n, n - k).expand(*lower.shape[:-2], -1, -1)], dim=-1)
            skew = lower - lower.mH
            if self.orthogonal_map == "matrix_exp":
                q = above.torch.linalg.matrix_exp(skew)
            else:
                one = above.torch.eye(n, dtype=skew.dtype, device=skew.device)
                q = above.torch.linalg.solve(one.add(skew, alpha=-0.5), one.add(skew, alpha=0.5))
            if n != k:
                q = q[..., :k]
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    @no_grad()
    def right_inverse(self, q: Tensor) -> Tensor:
        """Return a matrix that ``forward`` maps to ``q``, orthogonalized first if needed."""
        if q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}.")
        given = q
        wide = q.size(-2) < q.size(-1)
        if wide:
            q = q.mT
        n, k = q.size(-2), q.size(-1)
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            factors, tau = above.torch.geqrf(q)
            factors.diagonal(dim1=-2, dim2=-1).sign_()
            factors.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
            return factors.mT if wide else factors
        if n != k:
            q = _made_orthogonal(above.torch.cat([q, above.torch.randn(*q.size()[:-2], n, n - k, dtype=q.dtype, device=q.device)], dim=-1))
        else:
            q = q.clone() if _is_orthogonal(q) else _made_orthogonal(q)
        self.base = q
        start = above.torch.zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def _weight_of(module: Module, name: str) -> Any:
    weight = getattr(module, name, None)
    if not isinstance(weight, TensorBase):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a weight (*, m, n) orthogonal: with orthonormal columns, or rows if m < n; return the module.

    ``orthogonal_map`` is "matrix_exp", "cayley" or "householder"; by default (None) it is "matrix_exp" for square and complex weights, else
    "householder". Raise ValueError for another map, for fewer than two dimensions, and if the module has no tensor of this name.
    """
    weight = _weight_of(module, name)
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """Return ``weight_v`` scaled to the norms ``weight_g``."""
        return scaled_weight(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Any, Any]:
        """Return the norms, and the weight itself as the direction."""
        return above.torch.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Parametrize a weight as a direction times its norm over all dimensions but ``dim`` (https://arxiv.org/abs/1602.07868).

    ``parametrizations.weight.original0`` holds the norms, ``original1`` the directions. Return the module.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: Any, prefix: str, *rest: Any) -> None:
        """Rename the keys of the deprecated ``weight_norm`` in a state dict, so that it loads."""
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for number, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{number}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """Divides a weight by its largest singular value, estimated by power iteration in training mode."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        rank = weight.dim()
        if not -rank <= dim < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % rank
        self.eps = eps
        if rank > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._as_matrix(weight)
            rows, columns = matrix.size()
            first = matrix.new_empty(rows).normal_(0, 1)
            second = matrix.new_empty(columns).normal_(0, 1)
            self.register_buffer("_u", F.normalize(first, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(second, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _as_matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    @no_grad()
    def _iterate(self, matrix: Tensor, count: int) -> None:
        for _ in range(count):
            self._u.copy_(F.normalize(above.torch.mv(matrix, self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(above.torch.mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """Apply the layer; the result has the shape of the input."""
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u = self._u.clone(memory_format=contiguous_format)
        v = self._v.clone(memory_format=contiguous_format)
        return weight / above.torch.vdot(u, above.torch.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the value unchanged: it may have any norm."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Keep a weight's spectral norm at 1 (https://arxiv.org/abs/1802.05957); return the module.

    ``dim`` is the output dimension: 0, or 1 for transposed convolutions.
    """
    weight = _weight_of(module, name)
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
