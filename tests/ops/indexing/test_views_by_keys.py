"""Views by ints, slices, None and Ellipsis: elements, strides, offset, aliasing, the node's name and the gradient, for all short keys."""
from __future__ import annotations

import itertools
from typing import Any

import pytest

ITEMS = (0, -1, None, slice(None), slice(1, None), slice(0, 100), slice(None, None, 2), ...)
KEYS = [..., 0, 1, -1, slice(0, 100), *(key for count in range(4) for key in itertools.product(ITEMS, repeat=count) if key.count(...) < 2)]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4)], ids=str)
def test_views_by_keys(both: Any, shape: tuple[int, ...], turned: bool) -> None:
    def body(torch: Any) -> list[Any]:
        found = []
        for key in KEYS:
            leaf = torch.arange(24.0)[: torch.Size(shape).numel()].reshape(shape).requires_grad_()
            x = leaf.mT if turned and len(shape) > 1 else leaf
            try:
                part = x[key]
            except IndexError as error:
                found.append(str(error))
                continue
            part.sum().backward()
            base = x.detach().clone()
            base[key].add_(1)
            name = type(part.grad_fn).__name__
            found.append((part.detach(), part.stride(), part.storage_offset(), part._is_view(), name, leaf.grad.tolist(), base))
        return found

    both(body)
