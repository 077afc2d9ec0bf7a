"""Elementwise operations that write where they read on: one element after the other, as in torch."""
from __future__ import annotations

import pytest

KINDS = ["float64", "float32", "bfloat16", "float16", "int64"]
CASES = [
    "t.mul_(t.diagonal())", "t.sub_(t[0])", "t.sub_(t[:, :1])", "t.add_(t[0, 0])", "t.add_(t[2], alpha=2)", "t.copy_(t[0, 1])",
    "t.copy_(t[1])", "t[...] = t[:, 1]", "t[1:] = t[0]", "t.mul_(t[1, 1])", "t[::2, 1:] = t[:2, :2]", "t += t[1]", "t *= t[:, 1]",
    "torch.mul(t, t.T, out=t)", "torch.add(t.T, t, out=t)", "torch.add(t[0], t[1], out=t)", "torch.where(t > 3, t[1], t[0], out=t)",
    "torch.clamp(t, t[0], t[1], out=t)", "torch.maximum(t, t[1], out=t)", "torch.gt(t[1].expand(3, 3), t, out=t)", "t.gt_(t[1, 1])",
    "t.bitwise_xor_(t[0])", "torch.neg(t.T, out=t)", "t.addcmul_(t[0], t[:, :1])", "t.fill_(t[0, 1])", "t.diagonal().copy_(t[0])",
]  # fmt: skip


@pytest.mark.parametrize("text", CASES)
def test_elements_read_what_earlier_ones_wrote(text, both):
    def body(torch):
        found = []
        for kind in KINDS:
            for order in ("arange(9).reshape(3, 3)", "arange(9).reshape(3, 3).T"):
                t = eval(f"torch.{order}", {"torch": torch}).to(getattr(torch, kind)) % 7 + 1
                try:
                    exec(text, {"torch": torch, "t": t})
                except NotImplementedError as error:  # bitwise operations of floating point numbers
                    found.append(str(error))
                found.append((t, t._version))
        return found

    both(body)


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("name", ["exp", "sqrt", "log1p", "tanh", "neg", "sigmoid", "reciprocal", "cosh", "rsqrt"])
def test_functions_that_read_a_row_before_they_write_it(name, kind, both):
    def body(torch):
        t = (torch.arange(9) / 8 + 0.1).reshape(3, 3).to(getattr(torch, kind))
        getattr(torch, name)(t.T, out=t)
        other = t.clone()
        getattr(torch, name)(other[1:2].expand(3, 3), out=other)
        return t, other

    both(body)


@pytest.mark.parametrize("width", [2, 7])
def test_long_dependencies(width, both):
    def body(torch):
        t = torch.arange(400.0, dtype=torch.float64)
        window = t[width:].as_strided((398 // width - 1, width - 1), (width, 1), width)
        window.add_(t.as_strided(window.shape, (width, 1), 0))
        u = torch.arange(2000.0, dtype=torch.float64).reshape(40, 50)
        u -= u[0]
        v = torch.arange(2000.0).reshape(40, 50)
        v /= v[:, 3].clone()[:, None] + 1
        return t, u, v

    both(body)


def test_history_is_computed_from_the_values_before(both):
    def body(torch):
        x = torch.arange(1.0, 5.0).reshape(2, 2).requires_grad_()
        y = x * 1
        z = y + y[0]
        z.sum().backward()
        return x.grad, z.detach()

    both(body)
