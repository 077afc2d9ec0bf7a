"""Views compared with torch: shapes, strides, shared writes, gradients, errors."""
from __future__ import annotations

import numpy as np
import pytest

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

VIEWS = {
    "view": lambda torch, x: (x.view(6, 4), x.view(-1), x.view((4, -1)), x.view_as(torch.zeros(4, 6))),
    "reshape": lambda torch, x: (x.reshape(4, 6), torch.reshape(x, (-1,)), x.reshape_as(torch.zeros(3, 8))),
    "flatten": lambda torch, x: (x.flatten(), torch.flatten(x, 1), x.flatten(0, 1), x.flatten(1, 1)),
    "unflatten": lambda torch, x: (x.unflatten(2, (2, 2)), torch.unflatten(x, -1, (-1, 2))),
    "permute": lambda torch, x: (x.permute(2, 0, 1), torch.permute(x, (0, -1, 1)), x.movedim(0, -1), x.movedim((0, 1), (1, 2))),
    "transpose": lambda torch, x: (x.transpose(0, 2), x[0].t(), torch.swapaxes(x, axis0=0, axis1=1), x.swapdims(1, -1)),
    "squeeze": lambda torch, x: (x[:1].squeeze(), x[:1].squeeze(0), x.squeeze(1), x[:1, :1].squeeze((0, 1)), x.unsqueeze(-1)),
    "expand": lambda torch, x: (x[:1].expand(2, -1, 4), x.expand(5, 2, 3, 4), x[:1].expand_as(x), x[0].broadcast_to((2, 3, 4))),
    "narrow": lambda torch, x: (x.narrow(1, 1, 2), torch.narrow(x, -1, -2, 1), x.select(1, 2), torch.select(x, -1, -1)),
    "split": lambda torch, x: (*x.split(2, 2), *torch.split(x, [1, 2], 1), *x.chunk(3, -1), *x.unbind(1)),
    "diagonal": lambda torch, x: (x.diagonal(), torch.diagonal(x, 1, 1, 2), x.diagonal(-1, 0, 2), x.unfold(2, 2, 1), x.unfold(1, 2, 2)),
    "as_strided": lambda torch, x: (x.as_strided((2, 2), (1, 3)), torch.as_strided(x, (3,), (2,), 5)),
    "slices": lambda torch, x: (x[0], x[..., 1], x[:, ::2], x[None, 1, :, None], x[1, 2, 3], x[:, 1:1]),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_values_strides_gradients(both, with_gradients, name):
    """Contiguous and permuted tensors."""
    body = VIEWS[name]
    with_gradients(body, CUBE)
    if name not in ("view", "as_strided"):
        both(lambda torch: body(torch, torch.tensor(CUBE.transpose(0, 2, 1).copy()).transpose(1, 2)))


@pytest.mark.parametrize("name", VIEWS)
def test_writes_reach_the_base(both, name):
    """A write to the first view changes the tensor."""

    def body(torch):
        x = torch.tensor(CUBE)
        view = VIEWS[name](torch, x)[0]
        if name != "expand":
            view.add_(100)
        x.mul_(2)
        return x, view

    both(body)


ERRORS = {
    "view": lambda torch, x: x.view(5, 5),
    "view strides": lambda torch, x: x.transpose(0, 1).view(-1),
    "two unknown": lambda torch, x: x.view(-1, -1),
    "permute": lambda torch, x: x.permute(0, 0, 1),
    "transpose": lambda torch, x: x.transpose(0, 3),
    "expand": lambda torch, x: x.expand(2, 5, 4),
    "narrow": lambda torch, x: x.narrow(0, 1, 2),
    "select": lambda torch, x: x.select(0, 5),
    "index": lambda torch, x: x[7],
    "t": lambda torch, x: x.t(),
    "split": lambda torch, x: x.split([1, 1], 1),
    "chunk": lambda torch, x: x.chunk(0),
    "diagonal": lambda torch, x: x.diagonal(0, 1, 1),
    "unfold": lambda torch, x: x.unfold(0, 5, 1),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(both, name):
    """Errors have torch's classes and messages."""
    both(lambda torch: ERRORS[name](torch, torch.tensor(CUBE)))


@pytest.mark.parametrize("key", [
    "torch.tensor([0, -1, -1]), :2, :, :2:3", "torch.tensor([0, 1]), ::2, :, :2:3", "torch.tensor([0]), :1", "..., torch.tensor([0]), :2:3",
])  # fmt: skip
def test_steps_along_single_elements(both, key):
    both(lambda torch: eval(f"t[{key}]", {"torch": torch, "t": torch.arange(36).reshape(2, 3, 3, 2)}))
    both(lambda torch: eval(f"t.permute(3, 1, 0, 2)[{key}]", {"torch": torch, "t": torch.arange(36).reshape(2, 3, 3, 2)}))


def test_roll_of_empty_tensors(both):
    both(lambda torch: [torch.zeros(2, 2, 2).narrow(1, 1, 0).roll(*a) for a in ((1, 0), (1,), ((1, 2), (0, 1)))])


KEYS = {
    ":": lambda torch, x: np.s_[:], ":, :": lambda torch, x: np.s_[:, :], "...": lambda torch, x: np.s_[...],
    ":, 2:4": lambda torch, x: np.s_[:, 2:4], "2:3, :": lambda torch, x: np.s_[2:3, :], "..., :": lambda torch, x: np.s_[..., :],
    "..., 2:3": lambda torch, x: np.s_[..., 2:3], ":, None": lambda torch, x: np.s_[:, None], "0:4": lambda torch, x: np.s_[0:4],
    "0:4, 0:5": lambda torch, x: np.s_[0:4, 0:5], ":, 0": lambda torch, x: np.s_[:, 0],
    ":, index": lambda torch, x: np.s_[:, torch.tensor([0, 1])], "..., index": lambda torch, x: np.s_[..., torch.tensor([0])],
    "2:, index": lambda torch, x: np.s_[2:, torch.tensor([0, 1])], ":, :, mask": lambda torch, x: np.s_[:, :, x[0, 0] > 0],
    "mask": lambda torch, x: x > 0, ":, None, index": lambda torch, x: np.s_[:, None, torch.tensor([0])],
}  # fmt: skip


def _histories(tensor):
    """Return the names of the nodes that made a tensor, along the first operands."""
    node, found = tensor.grad_fn, []
    while node is not None:
        found.append(node.name().split("::")[-1])
        node = node.next_functions[0][0] if node.next_functions else None
    return found


# A device fills under a mask with one kernel, whose node has the mask and the value before the tensor.
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.on_the_cpu) if "mask" in name else name for name in KEYS])
def test_a_key_is_the_nodes_that_torch_makes_of_it(both, name):
    """A full slice in a key adds no node."""

    def body(torch):
        x = torch.arange(120.0).sub(60).reshape(4, 5, 6).requires_grad_()
        key = KEYS[name](torch, x)
        found = [_histories(x[key])]
        for value in (1.0, torch.ones((), requires_grad=True)):
            y, z = x * 1, torch.zeros(4, 5, 6)
            y[key] = z[key] = value
            found += [_histories(y), _histories(z), z._version]
        return found

    both(body)
