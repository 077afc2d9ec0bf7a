"""In-place writes to real views of complex tensors, and the reverse, where the viewed tensor is itself a view: values and gradients."""
from __future__ import annotations

import os

import pytest

ON_DEVICE = bool(os.environ.get("MSTORCH_FAKE_DEVICE"))
FIRST = {
    "none": lambda b: b, "slice": lambda b: b[1:], "step": lambda b: b[::2], "transposed": lambda b: b.t(), "row": lambda b: b[1],
    "reshaped": lambda b: b.view(-1), "last": lambda b: b[..., 1:], "diagonal": lambda b: b.diagonal(), "expanded": lambda b: b[None],
    "twice": lambda b: b.t()[1:],
}  # fmt: skip
PARTS = {
    "real": lambda torch, b: b.real, "imag": lambda torch, b: b.imag, "view_as_real": lambda torch, b: torch.view_as_real(b),
    "part of view_as_real": lambda torch, b: torch.view_as_real(b)[..., 1], "conj": lambda torch, b: b.conj(),
    "imag of conj": lambda torch, b: b.conj().imag,
}  # fmt: skip
if ON_DEVICE:  # a device computes conjugates at once, so that no write reaches the base
    PARTS = {name: part for name, part in PARTS.items() if "conj" not in name}


def _written(torch, x, first, part):
    """Return the written view, and its base."""
    base = x.clone()
    view = part(torch, first(base))
    view.mul_(torch.arange(1.0, 1 + view.numel()).reshape(view.shape))
    return view, base


def _slopes(torch, x, first, part, which):
    out = _written(torch, x, first, part)[which]
    weights = torch.linspace(0.5, 1.5, out.numel()).reshape(out.shape)
    (out * weights).abs().sum().backward()
    return out.detach().resolve_conj(), torch.view_as_real(x.grad) if x.is_complex() else x.grad


@pytest.mark.parametrize("which", [0, 1], ids=["view", "base"])
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("first", FIRST.values(), ids=FIRST)
def test_parts_of_views(both, first, part, which):
    both(lambda torch: _slopes(
        torch, torch.complex(torch.arange(1.0, 10), torch.arange(2.0, 11)).reshape(3, 3).requires_grad_(), first, part, which
    ))  # fmt: skip


PAIRS = {
    "none": lambda b: b, "slice": lambda b: b[1:], "step": lambda b: b[::2], "row": lambda b: b[1], "exchanged": lambda b: b.transpose(0, 1),
    "twice": lambda b: b.transpose(0, 1)[1:],
}  # fmt: skip


@pytest.mark.parametrize("which", [0, 1], ids=["view", "base"])
@pytest.mark.parametrize("first", PAIRS.values(), ids=PAIRS)
def test_complex_views_of_views(both, first, which):
    both(lambda torch: _slopes(
        torch, torch.arange(1.0, 19).reshape(3, 3, 2).requires_grad_(), first, lambda torch, b: torch.view_as_complex(b), which
    ))  # fmt: skip
