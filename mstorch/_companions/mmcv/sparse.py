"""mmcv's sparse convolutions: sites of a grid that have features, in two to four dimensions, without the grid.

Pairs (taps, 2, sites) hold for each tap of a kernel the places of input and output sites that it connects, in the order of the inputs,
then -1; beside them stands how many there are. Of what lies outside nothing is stored.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import mstorch as torch

from ..drawing import array

Tensor = torch.Tensor
_Numbers = Sequence[int]


def _ravel(batch: Tensor, sites: Tensor, shape: _Numbers) -> Tensor:
    """Return the numbers of sites (…, dimensions) of a batch of grids in row-major order."""
    number = batch.long()
    for axis, length in enumerate(shape):
        number = number * length + sites[..., axis]
    return number


def _unravel(numbers: Tensor, shape: _Numbers) -> Tensor:
    """Return rows of the batch's entry and the site."""
    columns = []
    for length in reversed(shape):
        columns.append(numbers % length)
        numbers = numbers // length
    return torch.stack((numbers, *reversed(columns)), 1).to(torch.int32)


def _reached(
    sites: Tensor, shape: _Numbers, kernel: _Numbers, numbers: tuple[_Numbers, _Numbers, _Numbers], transpose: bool
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield, a tap after the other, the output sites that input sites (sites, dimensions) reach, and which of them exist."""
    stride, padding, dilation = (torch.tensor(list(part), device=sites.device) for part in numbers)
    bound = torch.tensor(list(shape), device=sites.device)
    for tap in itertools.product(*map(range, kernel)):
        shift = torch.tensor(tap, device=sites.device) * dilation
        if transpose:
            found = sites * stride - padding + shift
            exists = (found >= 0) & (found < bound)
        else:
            moved = sites + padding - shift
            found = torch.div(moved, stride, rounding_mode="floor")
            exists = (moved >= 0) & (found < bound) & (moved % stride == 0)
        yield found, exists.all(1)


def _places(sorted_numbers: Tensor, order: Tensor | None, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Return where numbers stand in a sorted list (by ``order``, before it was sorted), and which of them do."""
    at = torch.searchsorted(sorted_numbers, wanted).clamp(max=max(sorted_numbers.shape[0] - 1, 0))
    known = sorted_numbers[at] == wanted
    return at if order is None else order[at], known


def _pairs(outputs: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
    """Return the pairs for output places (taps, sites), of which ``valid`` ones count, and how many there are for each tap."""
    taps, count = outputs.shape
    place = torch.where(valid, valid.long().cumsum(1) - 1, count)
    inputs = torch.arange(count, device=outputs.device).expand(taps, -1)
    rows = [torch.full((taps, count + 1), -1, device=outputs.device).scatter(1, place, item)[:, :count] for item in (inputs, outputs)]
    return torch.stack(rows, 1).to(torch.int32), valid.sum(1).to(torch.int32)


def _indice_pairs(
    indices: Tensor, out_shape: _Numbers, kernel: _Numbers, stride: _Numbers, padding: _Numbers, dilation: _Numbers, sub: bool, turned: bool
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the output sites with their batch entries, sorted, the pairs, and the pairs' counts. With ``sub`` outputs are the inputs."""
    dimensions = len(kernel)
    if indices.shape[1] != dimensions + 1:
        raise RuntimeError(f"indices must have {dimensions + 1} columns, got {indices.shape[1]}")
    if sub:
        stride, padding, turned = [1] * dimensions, [length // 2 for length in kernel], False
    batch, sites = indices[:, 0], indices[:, 1:].long()
    reached = list(_reached(sites, out_shape, kernel, (stride, padding, dilation), turned))
    valid = torch.stack([exists for _, exists in reached])
    numbers = torch.stack([_ravel(batch, found, out_shape) for found, _ in reached])
    if sub:
        own, order = _ravel(batch, sites, out_shape).sort()
        outputs, known = _places(own, order, numbers)
        return indices, *_pairs(outputs, valid & known)
    present = numbers[valid].unique()
    outputs, _ = _places(present, None, numbers) if present.shape[0] else (torch.zeros_like(numbers), valid)
    return _unravel(present, out_shape), *_pairs(outputs, valid)


def get_indice_pairs_3d_forward(
    indices: Tensor, batchSize: int, outSpatialShape: _Numbers, spatialShape: _Numbers, kernelSize: _Numbers, stride: _Numbers,
    padding: _Numbers, dilation: _Numbers, outPadding: _Numbers, _subM: int, _transpose: int,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return output sites (sites, 1 + dimensions), pairs (taps, 2, input sites) and the pairs' counts of a convolution (``_transpose``: of
    a transposed one). With ``_subM`` the outputs are the inputs, the stride is 1 and the padding half a kernel."""
    return _indice_pairs(indices, outSpatialShape, kernelSize, stride, padding, dilation, bool(_subM), bool(_transpose))


get_indice_pairs_2d_forward = get_indice_pairs_4d_forward = get_indice_pairs_3d_forward


def get_indice_pairs_3d_backward(
    indices: Tensor, gridOut: Tensor, batchSize: int, outSpatialShape: _Numbers, spatialShape: _Numbers, kernelSize: _Numbers,
    stride: _Numbers, padding: _Numbers, dilation: _Numbers, outPadding: _Numbers, _subM: int, _transpose: int,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the same; the grid, memory that is used again for the next call, is not needed here."""
    return _indice_pairs(indices, outSpatialShape, kernelSize, stride, padding, dilation, bool(_subM), bool(_transpose))


get_indice_pairs_2d_backward = get_indice_pairs_3d_backward


def _connected(pairs: Tensor, counts: Tensor, inverse: bool) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Yield taps that connect sites, with the places of the sites that are read and of those that are written."""
    for tap, count in enumerate(array(counts).tolist()):
        if count:
            yield tap, pairs[tap, int(inverse), :count].long(), pairs[tap, int(not inverse), :count].long()


def indice_conv_forward(
    features: Tensor, filters: Tensor, indicePairs: Tensor, indiceNum: Tensor, numActOut: int, _inverse: int, _subM: int
) -> Tensor:  # fmt: skip
    """Return the outputs (sites, channels out) of features (sites, channels in) by filters (*kernel, in, out)."""
    flat = filters.reshape(-1, *filters.shape[-2:])
    result = features.new_zeros(int(numActOut), flat.shape[2])
    for tap, read, written in _connected(indicePairs, indiceNum, bool(_inverse)):
        result.index_add_(0, written, features[read] @ flat[tap])
    return result


def fused_indice_conv_forward(
    features: Tensor, filters: Tensor, bias: Tensor, indicePairs: Tensor, indiceNum: Tensor, numActOut: int, _inverse: int, _subM: int
) -> Tensor:  # fmt: skip
    """Return the outputs plus a bias."""
    return indice_conv_forward(features, filters, indicePairs, indiceNum, numActOut, _inverse, _subM) + bias


def indice_conv_backward(
    features: Tensor, filters: Tensor, outGrad: Tensor, indicePairs: Tensor, indiceNum: Tensor, _inverse: int, _subM: int
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the gradients of features and filters."""
    flat = filters.reshape(-1, *filters.shape[-2:])
    of_features, of_filters = torch.zeros_like(features), torch.zeros_like(flat)
    for tap, read, written in _connected(indicePairs, indiceNum, bool(_inverse)):
        slopes = outGrad[written]
        of_features.index_add_(0, read, slopes @ flat[tap].t())
        of_filters[tap] = features[read].t() @ slopes
    return of_features, of_filters.reshape(filters.shape)


def indice_maxpool_forward(features: Tensor, indicePairs: Tensor, indiceNum: Tensor, numAct: int) -> Tensor:
    """Return the largest feature of each output site, or 0 if all of them are negative."""
    result = features.new_zeros(int(numAct), features.shape[1])
    for _, read, written in _connected(indicePairs, indiceNum, False):
        result.index_reduce_(0, written, features[read], "amax")
    return result


def indice_maxpool_backward(features: Tensor, outFeatures: Tensor, outGrad: Tensor, indicePairs: Tensor, indiceNum: Tensor) -> Tensor:
    """Return the features' gradients; each feature that equals its output's has that one's."""
    result = torch.zeros_like(features)
    for _, read, written in _connected(indicePairs, indiceNum, False):
        result.index_add_(0, read, torch.where(features[read] == outFeatures[written], outGrad[written], 0))
    return result


__all__ = [
    "fused_indice_conv_forward", "get_indice_pairs_2d_backward", "get_indice_pairs_2d_forward", "get_indice_pairs_3d_backward",
    "get_indice_pairs_3d_forward", "get_indice_pairs_4d_forward", "indice_conv_backward", "indice_conv_forward",
    "indice_maxpool_backward", "indice_maxpool_forward",
]  # fmt: skip
