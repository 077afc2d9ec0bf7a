"""In-place calls that vmap computes slice by slice, differentiated: what autograd saved of a slice stays, whatever is written after it."""
from __future__ import annotations

import warnings

import pytest

import mstorch as torch


def _written(kind, include_self):
    places = torch.tensor([0, 2])

    def function(target, source):
        target = target * 1
        target.index_reduce_(0, places, source, kind, include_self=include_self)
        return (target**2).sum()

    return function


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", ["prod", "mean", "amax", "amin"])
def test_index_reduce(kind, include_self):
    """Under vmap(grad) as slice by slice; torch refuses "prod" there, and gives these numbers for the others."""
    target, source = torch.arange(12.0).reshape(2, 3, 2) + 1, torch.arange(8.0).reshape(2, 2, 2) / 3 + 1
    gradient = torch.func.grad(_written(kind, include_self), argnums=(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = torch.vmap(gradient)(target, source)
        wanted = [torch.stack(parts) for parts in zip(*(gradient(target[row], source[row]) for row in range(2)))]
    assert all(torch.allclose(one, other) for one, other in zip(found, wanted))


@pytest.mark.parametrize("dims", [(0, 0, 0, 0), (1, 1, 1, 1), (1, 2, 1, 1)])
def test_tangents_of_arguments_are_written(dims):
    """A write to an argument of jvp under vmap writes its tangent too, however that lies in memory."""

    def written(x, y):
        part = x[0, ::2]
        x.copy_(y)
        return x, part

    def pushed(x, tangent, y, slope):
        return torch.func.jvp(written, (x, y), (tangent, slope))

    x, y = torch.zeros(3, 2, 6), torch.arange(36.0).reshape(2, 3, 6)
    given = [value.movedim(0, dim).contiguous() for value, dim in zip((x.new_zeros(2, 3, 6), x.new_ones(2, 3, 6), y, y + 1), dims)]
    values, slopes = torch.vmap(pushed, in_dims=dims)(*given)
    assert torch.equal(values[0], y) and torch.equal(slopes[0], y + 1)
    assert torch.equal(values[1], y[:, 0, ::2]) and torch.equal(slopes[1], (y + 1)[:, 0, ::2])
