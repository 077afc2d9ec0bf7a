"""torch_spline_conv.basis: values of B-splines of degree 1, 2 and 3, products over the dimensions."""
from __future__ import annotations

import mstorch as torch

Tensor = torch.Tensor


def _pieces(v: Tensor, degree: int) -> list[Tensor]:
    """Return the values at ``v`` in [0, 1) of the degree + 1 splines that are not zero there."""
    if degree == 1:
        return [1 - v, v]
    if degree == 2:
        return [0.5 * v * v - v + 0.5, -v * v + v + 0.5, 0.5 * v * v]
    if degree == 3:
        return [(1 - v) ** 3 / 6, (3 * v**3 - 6 * v**2 + 4) / 6, (-3 * v**3 + 3 * v**2 + 3 * v + 1) / 6, v**3 / 6]
    raise ValueError(f"B-splines are of degree 1, 2 or 3 here, not {degree}")


def spline_basis(pseudo: Tensor, kernel_size: Tensor, is_open_spline: Tensor, degree: int = 1) -> tuple[Tensor, Tensor]:
    """Return values and places of the (degree + 1)^dimensions splines that are not zero at each point (points, dimensions) in [0, 1]. The
    first dimension varies fastest."""
    scale = kernel_size - degree * is_open_spline.to(kernel_size.dtype)
    v = pseudo * scale.to(pseudo.dtype)
    low = v.detach().floor()
    values = torch.stack(_pieces(v - low, degree), 2)
    places = (low.long().unsqueeze(2) + torch.arange(degree + 1, device=v.device)) % kernel_size.view(-1, 1)
    basis, place, step = values[:, 0], places[:, 0], kernel_size[0]
    for axis in range(1, pseudo.shape[1]):  # all pairs of what is there and the next dimension's pieces, which vary slower
        basis = (basis.unsqueeze(1) * values[:, axis].unsqueeze(2)).flatten(1)
        place = (place.unsqueeze(1) + places[:, axis].unsqueeze(2) * step).flatten(1)
        step = step * kernel_size[axis]
    return basis, place


__all__ = ["spline_basis"]
