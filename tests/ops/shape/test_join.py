"""Joining, repeating, reversing and rolling, compared with torch."""
from __future__ import annotations

import numpy as np
import pytest

X = np.arange(12, dtype=np.float32).reshape(3, 4)
Y = X[::-1] * 0.5
DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()

OF_TWO = {
    "cat": lambda torch, x, y: torch.cat([x, y]),
    "cat columns": lambda torch, x, y: torch.cat((x, y), dim=-1),
    "cat axis": lambda torch, x, y: torch.cat((x, y, x), axis=1),
    "cat one": lambda torch, x, y: torch.cat([x]),
    "cat skips": lambda torch, x, y: torch.cat([x, torch.zeros(0, dtype=x.dtype), y[:0]]),
    "concat": lambda torch, x, y: torch.concat([x, y[:1]]),
    "stack": lambda torch, x, y: torch.stack([x, y]),
    "stack last": lambda torch, x, y: torch.stack([x, y], -1),
    "hstack": lambda torch, x, y: torch.hstack([x, y]),
    "hstack vectors": lambda torch, x, y: torch.hstack([x[0], y[0], y[1, 2]]),
    "vstack": lambda torch, x, y: torch.vstack([x, y[0]]),
    "dstack": lambda torch, x, y: torch.dstack([x, y]),
    "column_stack": lambda torch, x, y: torch.column_stack([x[:, 0], y]),
    "block_diag": lambda torch, x, y: torch.block_diag(x, y[0], y[0, 0]),
    "broadcast_tensors": lambda torch, x, y: torch.broadcast_tensors(x[:, :1], y[:1]),
}
OF_ONE = {
    "repeat": lambda torch, x: x.repeat(2, 1, 3),
    "repeat none": lambda torch, x: x.repeat(1, 0),
    "repeat once": lambda torch, x: x.repeat(1, 1),
    "tile": lambda torch, x: (torch.tile(x, (2,)), x.tile(2, 1)),
    "repeat_interleave": lambda torch, x: x.repeat_interleave(2),
    "repeat_interleave dim": lambda torch, x: torch.repeat_interleave(x, 3, dim=1),
    "repeat_interleave counts": lambda torch, x: torch.repeat_interleave(x, torch.tensor([1, 0, 2]), dim=0),
    "flip": lambda torch, x: (torch.flip(x, (0,)), x.flip(0, 1), x.flip([-1]), x.flip(())),
    "fliplr": lambda torch, x: (x.fliplr(), torch.flipud(x)),
    "roll": lambda torch, x: (x.roll(1), torch.roll(x, (1, -2), (0, 1)), x.roll(5, 0), x.roll(3, -1)),
    "rot90": lambda torch, x: tuple(torch.rot90(x, k, (0, 1)) for k in range(-1, 5)),
    "meshgrid": lambda torch, x: torch.meshgrid(x[0], x[:, 1], indexing="ij") + torch.meshgrid([x[0], x[:, 1]], indexing="xy"),
    "cartesian_prod": lambda torch, x: torch.cartesian_prod(x[0], x[1], x[2]),
    "combinations": lambda torch, x: (
        torch.combinations(x[0]), torch.combinations(x[0], 3), torch.combinations(x[0], 2, True), torch.combinations(x[0], 5),
    ),
    "atleast": lambda torch, x: (
        torch.atleast_1d(x[0, 0], x), torch.atleast_2d(x[0, 0]), torch.atleast_2d(x[0], x), torch.atleast_3d(x),
        torch.atleast_3d(x[0]), torch.atleast_3d((x[0, 0], x)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_TWO)
def test_two(both, with_gradients, name):
    """Values, strides and gradients of contiguous and of transposed tensors."""
    body = OF_TWO[name]
    with_gradients(body, X, Y.copy())
    if "vectors" not in name:
        both(lambda torch: body(torch, torch.tensor(X.T.copy()).t(), torch.tensor(Y.copy())))


@pytest.mark.parametrize("name", OF_ONE)
def test_one(both, with_gradients, name):
    """The same for functions of one tensor."""
    body = OF_ONE[name]
    with_gradients(body, X)
    both(lambda torch: body(torch, torch.tensor(X.T.copy()).t()))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(both, dtype):
    """Every dtype is copied exactly."""

    def body(torch):
        x = torch.tensor(X).to(getattr(torch, dtype))
        return [torch.cat([x, x], 1), torch.stack([x, x]), x.repeat(2, 2), x.flip(1), x.roll(1, 0), torch.cat([x[:0], x[:0]])]

    both(body)


def test_promotion_and_out(both):
    """Mixed dtypes promote; ``out=`` is filled, resized and cast."""
    both(lambda torch: torch.cat([torch.ones(2), torch.ones(2, dtype=torch.float64), torch.arange(2)]))
    both(lambda torch: torch.stack([torch.ones(2, dtype=torch.int32), torch.ones(2, dtype=torch.bool)]))

    def out(torch):
        target = torch.zeros(0)
        found = torch.cat([torch.ones(2), torch.zeros(1)], out=target)
        return found is target, target, torch.stack([torch.arange(2), torch.arange(2)], out=torch.zeros(2, 2))

    both(out)
    both(lambda torch: torch.cat([torch.ones(2)], out=torch.zeros(2, dtype=torch.int64)))


def test_channels_last(both):
    """Channels-last images are joined in the same memory format."""
    def body(torch):
        x = torch.arange(48.0).reshape(2, 3, 2, 4).to(memory_format=torch.channels_last)
        return torch.cat([x, x], 1), torch.cat([x, x.contiguous()], 1)

    both(body)


def test_grid_default_warns_nothing_else(both):
    """The default of ``indexing`` is "ij"."""
    both(lambda torch: torch.meshgrid(torch.arange(2), torch.arange(3)))
    both(lambda torch: torch.broadcast_shapes((2, 1), (3,), 1))


ERRORS = {
    "empty": lambda torch, x: torch.cat([]),
    "ranks": lambda torch, x: torch.cat([x, torch.zeros(2)]),
    "sizes": lambda torch, x: torch.cat([x, torch.zeros(3, 5)]),
    "dim": lambda torch, x: torch.cat([x, x], 2),
    "0-d": lambda torch, x: torch.cat([torch.tensor(1.0), x]),
    "not a list": lambda torch, x: torch.cat(x),
    "not tensors": lambda torch, x: torch.cat([x, 1]),
    "stack empty": lambda torch, x: torch.stack([]),
    "stack sizes": lambda torch, x: torch.stack([x, torch.zeros(2)]),
    "stack dim": lambda torch, x: torch.stack([x, x], 3),
    "repeat": lambda torch, x: x.repeat(2),
    "interleave": lambda torch, x: torch.repeat_interleave(x, torch.tensor([1, 2]), 0),
    "negative": lambda torch, x: torch.repeat_interleave(x, torch.tensor([1, 2, -1]), 0),
    "flip twice": lambda torch, x: torch.flip(x, [0, 0]),
    "flip int": lambda torch, x: torch.flip(x, 0),
    "fliplr": lambda torch, x: torch.fliplr(x[0]),
    "roll": lambda torch, x: torch.roll(x, (1, 2), 0),
    "rot90": lambda torch, x: torch.rot90(x, 1, [0, 0]),
    "meshgrid": lambda torch, x: torch.meshgrid(x[0], x[0].double()),
    "cartesian": lambda torch, x: torch.cartesian_prod(x),
    "block_diag": lambda torch, x: torch.block_diag(x.reshape(1, 3, 4)),
    "broadcast": lambda torch, x: torch.broadcast_tensors(x, x[:, :2]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(both, name):
    """Errors have torch's classes and messages."""
    both(lambda torch: ERRORS[name](torch, torch.tensor(X)))


def test_entries_repeated_by_a_tensor_are_no_view(both):
    both(lambda torch: [torch.ones(2, 2).repeat_interleave(torch.tensor(counts), 0)._is_view() for counts in ([2], [1, 2])])
