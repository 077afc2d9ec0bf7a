"""torch_spline_conv.basis: values of B-splines of degree 1, 2 and 3, products over the dimensions."""
from __future__ import annotations

import itertools

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
    inside = v - low
    values = [_pieces(inside[:, axis], degree) for axis in range(pseudo.shape[1])]
    sizes = kernel_size.tolist()
    whole = low.long()
    basis, places = [], []
    for numbers in itertools.product(range(degree + 1), repeat=pseudo.shape[1]):
        product, place, step = None, torch.zeros_like(whole[:, 0]), 1
        for axis, number in enumerate(reversed(numbers)):
            own = values[axis][number]
            product = own if product is None else product * own
            place = place + (whole[:, axis] + number) % sizes[axis] * step
            step *= sizes[axis]
        assert product is not None
        basis.append(product)
        places.append(place)
    return torch.stack(basis, 1), torch.stack(places, 1)


__all__ = ["spline_basis"]
