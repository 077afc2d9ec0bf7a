"""Which tensors the nodes of a graph hold for backward: those that can be reached, but not through the globals of a function."""
import warnings

import mstorch as torch
from mstorch._src.compile.backward import held_by
from mstorch._src.tape.node import edge_of

BESIDE = torch.ones(3)  # a global of the hook below


class Asked:
    """An object that warns if somebody asks for its class, as ``torch.distributed.reduce_op`` does."""

    def __getattribute__(self, name):
        if name == "__class__":
            warnings.warn("asked", FutureWarning, stacklevel=1)
        return object.__getattribute__(self, name)


def test_globals_are_not_followed():
    x, inside, asked = torch.ones(3, requires_grad=True), torch.ones(3), Asked()
    y = x.exp()
    y.grad_fn.register_hook(lambda *gradients: (inside, asked, len(gradients)) and None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held = held_by({0: edge_of(y)})
    assert any(tensor is inside for tensor in held)
    assert all(tensor is not BESIDE for tensor in held)
