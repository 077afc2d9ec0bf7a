"""out= of operations with several results must be a tuple of as many tensors."""
from __future__ import annotations

import pytest

CALLS = {
    "topk": lambda t, x, out: t.topk(x, 2, out=out), "kthvalue": lambda t, x, out: t.kthvalue(x, 1, out=out), "mode": lambda t, x, out: t.mode(x, out=out),
    "median": lambda t, x, out: t.median(x, 1, out=out), "nanmedian": lambda t, x, out: t.nanmedian(x, 1, out=out),
    "cummax": lambda t, x, out: t.cummax(x, 1, out=out), "max": lambda t, x, out: t.max(x, 1, out=out), "sort": lambda t, x, out: t.sort(x, out=out),
    "eigh": lambda t, x, out: t.linalg.eigh(x @ x.T, out=out), "qr": lambda t, x, out: t.linalg.qr(x, out=out),
    "slogdet": lambda t, x, out: t.linalg.slogdet(x @ x.T, out=out), "frexp": lambda t, x, out: t.frexp(x, out=out),
    "aminmax": lambda t, x, out: t.aminmax(x, dim=0, out=out),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_one_tensor_is_not_two(both, name):
    def body(torch):
        out = torch.zeros(2, 2, dtype=torch.int64 if name in ("max", "sort") else torch.float32)
        CALLS[name](torch, torch.tensor([[3.0, 1.0], [2.0, 5.0]]), out)

    # In torch's error max and sort name their call forms.
    both(body, message=f"{name}()" if name in ("max", "sort") else "argument 'out' must be tuple of Tensors, not Tensor")


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", CALLS)
def test_another_number(both, name, count):
    both(lambda torch: CALLS[name](torch, torch.tensor([[3.0, 1.0], [2.0, 5.0]]), tuple(torch.empty(0) for _ in range(count))))
