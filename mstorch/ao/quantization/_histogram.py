"""Histograms of observed values, and the bounds that minimize the squared quantization error."""
from __future__ import annotations

from typing import Any

import mstorch as torch
from mstorch._src.core.warned import warn

from ..._tensor import Tensor

_STEP = 1e-5  # the fraction of the values by which the bounds move per step


class Histograms:
    """The histogram of a ``HistogramObserver``: equal bins over the range of all observed values."""

    histogram: Any
    min_val: Any
    max_val: Any
    bins: int
    dst_nbins: int
    upsample_rate: int

    # Counting

    def _count(self, x: Tensor) -> None:
        low, high = torch.aminmax(x)
        if low == -torch.inf or high == torch.inf:
            warn("torch.inf detected in input tensor, ignoring input")
            x = x[x.abs() != torch.inf]
            if x.numel() == 0:
                return
            low, high = torch.aminmax(x)
        if self.min_val == float("inf") or self.max_val == float("-inf"):
            self.reset_histogram(x, low, high)
            return
        before = self.min_val, self.max_val
        low, high = torch.minimum(before[0], low), torch.maximum(before[1], high)
        counted = _counts(x, self.bins, low, high).to(self.histogram.device)
        if low == before[0] and high == before[1]:
            self._put(self.histogram, self.histogram + counted)
            return
        self._put(self.histogram, self._combine_histograms(self.histogram, *before, counted, low, high))
        self._put(self.min_val, low)
        self._put(self.max_val, high)

    def reset_histogram(self, x: Tensor, min_val: Tensor, max_val: Tensor) -> None:
        """Discard the histogram, and count a tensor's values between the given bounds."""
        self._put(self.min_val, min_val)
        self._put(self.max_val, max_val)
        if min_val.numel() != 1 or max_val.numel() != 1:
            raise AssertionError("histogram min/max values must be scalar.")
        self._put(self.histogram, _counts(x, self.bins, min_val, max_val))

    @staticmethod
    def _put(own: Tensor, new: Tensor) -> None:
        own.detach_().resize_(new.shape)
        own.copy_(new)

    def _combine_histograms(
        self, orig_hist: Tensor, orig_min: Tensor, orig_max: Tensor, update_hist: Tensor, update_min: Tensor, update_max: Tensor
    ) -> Tensor:
        """Return the sum of a new histogram and an old one, which is extended to the wider bounds."""
        if update_min == orig_min and update_max == orig_max:
            return orig_hist + update_hist
        if orig_min == orig_max:  # all observed values are equal
            return _counts(orig_min, self.bins, update_min, update_max) * torch.sum(orig_hist) + update_hist
        if update_min > orig_min:
            raise AssertionError("update_min must be <= orig_min")
        if update_max < orig_max:
            raise AssertionError("update_max must be >= orig_max")
        return update_hist + self._upscale_histogram(orig_hist, orig_min, orig_max, update_min, update_max)

    def _upscale_histogram(self, histogram: Tensor, orig_min: Tensor, orig_max: Tensor, update_min: Tensor, update_max: Tensor) -> Tensor:
        """Return a histogram redistributed to bins over wider bounds; each old bin is split into equal pieces, which are counted at their
        centres.
        """
        fine = self.bins * self.upsample_rate
        parts = histogram.repeat_interleave(self.upsample_rate) / self.upsample_rate
        half = 0.5 * ((orig_max - orig_min) / fine)
        middles = torch.linspace(orig_min, orig_max, fine + 1, device=orig_min.device)[:-1].to(histogram.device) + half
        edges = torch.linspace(update_min, update_max, self.bins + 1, device=update_min.device).to(histogram.device)
        places = torch.clamp(torch.bucketize(middles, edges, right=True) - 1, 0, self.bins - 1)
        return torch.bincount(places, weights=parts, minlength=self.bins)

    # Selection of bounds

    @staticmethod
    def _get_norm(delta_begin: Tensor, delta_end: Tensor, density: Tensor) -> Tensor:
        """Return the squared error of values of uniform density between two distances from their quantized value."""
        return density * ((delta_end * delta_end * delta_end - delta_begin * delta_begin * delta_begin) / 3)

    def _compute_quantization_error(self, next_start_bin: int, next_end_bin: int) -> float:
        """Return the squared error of quantizing between two bins."""
        width = (self.max_val.item() - self.min_val.item()) / self.bins
        step = width * (next_end_bin - next_start_bin + 1) / self.dst_nbins
        if step == 0.0:
            return 0.0
        begin = (torch.arange(self.bins, device=self.histogram.device) - next_start_bin) * width
        end = begin + width
        first, last = (
            torch.clamp(torch.div(place, step, rounding_mode="floor"), 0, self.dst_nbins - 1) for place in (begin, end)
        )
        density = self.histogram / width
        edge = step / 2
        error = torch.zeros(self.bins, device=self.histogram.device)
        error = error + self._get_norm(begin - (first + 0.5) * step, torch.ones(self.bins, device=self.histogram.device) * edge, density)
        error = error + (last - first - 1) * self._get_norm(torch.tensor(-edge), torch.tensor(edge), density)
        error = error + self._get_norm(torch.tensor(-edge), end - (last * step + edge), density)
        return error.sum().item()

    def _non_linear_param_search(self) -> tuple[Any, Any]:
        """Return the bounds of least error: those of all values, narrowed at the end with the sparser bins while the error decreases."""
        if self.histogram.size()[0] != self.bins:
            raise AssertionError("bins mismatch")
        width = (self.max_val - self.min_val) / self.bins
        total = torch.sum(self.histogram).item()
        sums = torch.cumsum(self.histogram, dim=0)
        below = _Shares(sums)
        low, high, start, end, least = 0.0, 1.0, 0, self.bins - 1, float("inf")
        while low < high:
            next_low, next_high = low + _STEP, high - _STEP
            left = below.first_from(start, end, next_low * total)
            right = below.last_until(end, start, next_high * total)
            next_start, next_end = start, end
            if left - start > end - right:
                next_start, low = left, next_low
            else:
                next_end, high = right, next_high
            if next_start == start and next_end == end:
                continue
            error = self._compute_quantization_error(next_start, next_end)
            if error > least:
                break
            least, start, end = error, next_start, next_end
        return self.min_val + width * start, self.min_val + width * (end + 1)


class _Shares:
    """Cumulative sums of counts, compared with fractions of the total in float32, as tensors compare with numbers."""

    def __init__(self, sums: Tensor) -> None:
        self._sums = sums.cpu().numpy()

    def first_from(self, start: int, end: int, bound: float) -> int:
        """Return the first bin, from ``start`` on, whose cumulative sum reaches a bound; ``end`` if none does."""
        place, limit = start, self._sums.dtype.type(bound)
        while place < end and self._sums[place] < limit:
            place += 1
        return place

    def last_until(self, end: int, start: int, bound: float) -> int:
        """Return the last bin up to ``end`` whose cumulative sum does not exceed a bound; ``start`` if there is none."""
        place, limit = end, self._sums.dtype.type(bound)
        while place > start and self._sums[place] > limit:
            place -= 1
        return place


def _counts(x: Tensor, bins: int, low: Tensor, high: Tensor) -> Tensor:
    return torch.histc(x, bins, min=low.item(), max=high.item())
