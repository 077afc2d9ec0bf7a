"""torch_spline_conv.weighting: features times the weights that splines choose."""
from __future__ import annotations

import mstorch as torch

Tensor = torch.Tensor
_COPIED = 1 << 22
"""Up to so many elements of weights, a matrix is copied for each row; for more, rows are sorted by their matrix."""


def spline_weighting(x: Tensor, weight: Tensor, basis: Tensor, weight_index: Tensor) -> Tensor:
    """Return for each row of ``x`` (rows, inputs) its sum of products with weights (inputs, outputs) times splines (rows, splines)."""
    rows, splines = basis.shape
    inputs, outputs = weight.shape[1:]
    if rows * splines * inputs * outputs <= _COPIED:
        products = torch.matmul(x[:, None, None, :], weight[weight_index]).squeeze(2)
        return (basis.unsqueeze(-1) * products).sum(1)
    place = weight_index.reshape(-1)
    order = place.argsort(stable=True)
    counts = torch.bincount(place, minlength=weight.shape[0]).tolist()
    row = torch.div(order, splines, rounding_mode="floor")
    scaled = (x[row] * basis.reshape(-1)[order].unsqueeze(-1)).split(counts)
    products = torch.cat([own @ weight[number] for number, own in enumerate(scaled) if own.shape[0]])
    return x.new_zeros(rows, outputs).index_add(0, row, products)


__all__ = ["spline_weighting"]
