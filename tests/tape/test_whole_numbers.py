"""Integers that tensors with a history were written into: torch lets them exist and refuses most of what is done with them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]

DONE = """
x + 1; x * 2; x + x; x[0]; x[[0]]; x[x > 1]; x.t(); x.view(-1); x.reshape(3, 2); x.sum(); x.max(); x.max(0); x.sort(); x.topk(1)
x.clone(); x[0, 0].item(); x // 2; x % 2; x.fmod(2); -x; x.abs(); x.cumsum(0); x.prod(); x.unique(); torch.cat([x, x]); x.unbind()
x.split(1); x.chunk(2); x.expand(2, 2, 3); x.unsqueeze(0); x.gather(0, torch.tensor([[0, 0, 0]])); x.pow(2); x.clamp(0, 1); list(x)
x.floor(); x.repeat(2, 1); x.roll(1, 0); x.diagonal(); x @ x.t(); x.median(); x.mode(); x.kthvalue(1); x[...]; x[None]; x.T; x.relu()
x.float(); x.double(); x.int(); x.bool(); x == 1; x.argmax(); x.tolist(); x.detach(); x.data + 1; str(x); repr(x); x.nonzero()
x.numpy(); x / 2; x * 1.5; x.sqrt(); torch.ones(9)[x]; torch.where(x > 1, 1.0, 2.0); x.any(); x.all(); torch.zeros(2, 3) + x
torch.nn.functional.embedding(x, torch.ones(9, 2)); copy.deepcopy(x); x.requires_grad_(); x.isnan(); x.equal(x); torch.ones_like(x)
""".replace("\n", "; ")


def tracked_integers(torch: Any) -> Any:
    """Integers with a history."""
    x = torch.arange(6).reshape(2, 3).clone()
    x[0] = torch.tensor(2.5).requires_grad_()
    return x


@pytest.mark.parametrize("expression", [part.strip() for part in DONE.split(";") if part.strip()])
@pytest.mark.parametrize("grad", [True, False])
def test_operations_on_them(both: Both, expression: str, grad: bool) -> None:
    def body(torch: Any) -> Any:
        x = tracked_integers(torch)
        with torch.set_grad_enabled(grad):
            found = eval(expression, {"torch": torch, "x": x, "copy": __import__("copy")})
        return getattr(found, "requires_grad", None), getattr(found, "grad_fn", None) is None

    both(body)


@pytest.mark.parametrize("program", [
    "x[0] = 5", "x[0].add_(1)", "x[x > 1] = 3", "x.t_()", "x.unsqueeze_(0)", "x += 1", "x.sub_(x)", "x.zero_()", "x.data[0] = 1",
    "x.detach()[0] = 3; x += 1", "x.masked_fill_(x > 1, 0)", "x.scatter_(0, torch.tensor([[0]]), 3)", "x.copy_(x + 0.0)",
    "y = torch.zeros(2, 3); y[0] = x[0].float()", "y = torch.zeros(2, 3).double(); y.copy_(x)", "x.swapaxes_(0, 1)",
    "y = torch.zeros(6, dtype=torch.int64); v = y[1:3]; y[0] = torch.tensor(1.0, requires_grad=True); w = v.float()",
    "y = torch.zeros(6, dtype=torch.int64); v = y[1:3]; y[0] = torch.tensor(1.0, requires_grad=True); v += 1",
    "y = torch.zeros(6, dtype=torch.bool); y[0] = torch.tensor(1.0, requires_grad=True); z = y.sum()",
])  # fmt: skip
def test_writes_to_them(both: Both, program: str) -> None:
    def body(torch: Any) -> Any:
        names = {"torch": torch, "x": tracked_integers(torch)}
        exec(program, names)
        tensors = {name: value for name, value in names.items() if name in ("x", "y", "v", "w", "z")}
        return {name: (value.requires_grad, value._version, value.tolist()) for name, value in tensors.items()}

    both(body)
