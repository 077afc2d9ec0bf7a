"""``out=`` with autograd: torch's error, which is raised before all other checks."""
from __future__ import annotations

import pytest

CALLS = {
    "add": lambda torch, x, out: torch.add(x, x, out=out), "cat of bools": lambda torch, x, out: torch.cat([x > 0, x > 0], out=out),
    "mul of bools": lambda torch, x, out: torch.mul(x > 0, x > 0, out=out), "hstack": lambda torch, x, out: torch.hstack([x, x], out=out),
    "gather": lambda torch, x, out: torch.gather(x, 0, torch.tensor([0]), out=out), "bitwise": lambda torch, x, out: torch.bitwise_and(x > 0, x > 0, out=out),
    "alias": lambda torch, x, out: torch.absolute(x, out=out), "linalg": lambda torch, x, out: torch.linalg.det(torch.outer(x, x), out=out),
    "fft": lambda torch, x, out: torch.fft.fft(x, out=out + 0j), "special": lambda torch, x, out: torch.special.i0e(x, out=out),
    "max": lambda torch, x, out: torch.max(x, 0, out=(out, out)), "sort": lambda torch, x, out: torch.sort(x, out=(out, torch.empty(0))),
    "wrong dtype": lambda torch, x, out: torch.mode(x, 0, out=(torch.empty(0), out)), "eq": lambda torch, x, out: torch.eq(x, x, out=out),
    "logical": lambda torch, x, out: torch.logical_not(x, out=out), "isposinf": lambda torch, x, out: torch.isposinf(x, out=out),
    "signbit": lambda torch, x, out: torch.signbit(x, out=out), "isin": lambda torch, x, out: torch.isin(x, x, out=out),
    "any": lambda torch, x, out: torch.any(x, 0, out=out), "argmax": lambda torch, x, out: torch.argmax(x, 0, out=out),
    "bessel": lambda torch, x, out: torch.special.bessel_j0(x, out=out), "clamp": lambda torch, x, out: torch.clamp(x, 0, 1, out=out),
    "stack": lambda torch, x, out: torch.stack([x, x], out=out), "floor_divide": lambda torch, x, out: torch.floor_divide(x, 2, out=out),
    "full": lambda torch, x, out: torch.full((3,), 1.0, out=out), "softmax": lambda torch, x, out: torch.softmax(x, 0, out=out),
    "median": lambda torch, x, out: torch.median(x, 0, out=(out, torch.empty(0, dtype=torch.int64))),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("what", ["out", "input", "neither", "no_grad"])
def test_who_requires_gradients(both, name, what):
    def body(torch):
        x = torch.tensor([1.0, -2.0, 3.0], requires_grad=what == "input")
        out = torch.zeros(3, requires_grad=what in ("out", "no_grad"))
        with torch.set_grad_enabled(what != "no_grad"):
            CALLS[name](torch, x, out)
        return out, out.requires_grad

    both(body)


@pytest.mark.parametrize("name", ["median", "nanmedian", "mode", "max", "kthvalue"])
@pytest.mark.parametrize("part", [slice(None), slice(1), slice(1, None), 0])
def test_parts_of_the_input(both, name, part):
    """Operations that read after the first write refuse views of the input as ``out``."""
    def body(torch):
        x = torch.tensor([3.0, 1.0, 2.0])
        getattr(torch, name)(x, *((1,) if name == "kthvalue" else ()), dim=0, out=(x[part], torch.zeros(0, dtype=torch.int64)))

    both(body)
