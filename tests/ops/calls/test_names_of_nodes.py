"""Results have torch's ``grad_fn``, as ``print(loss)`` shows."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]

CALLS = """
t.addmm(t, t); t.addmv(t[0], t[0]); t.addr(t[0], t[0]); t.addcmul(t, t); t.addcdiv(t, t); t.trace(); torch.dot(t[0], t[0]); t.mv(t[0])
torch.vdot(t[0], t[0]); t @ t[0]; t[0] @ t; t[0] @ t[0]; t @ t; 1 - t; torch.rsub(t, t); 2**t; 2 / t; t % 2; t % t; torch.fmod(t, t)
torch.div(t, 2, rounding_mode="floor"); torch.div(t, t, rounding_mode="trunc"); t.round(decimals=1); t.lerp(t, 0.5); t.lerp(t, t)
t.clamp_min(0); t.clamp_max(t); t.nan_to_num(); t.copysign(1.0); t.copysign(t); torch.cdist(t, t); F.pdist(t); t.dist(t)
t.index_fill(0, j, 2.0); t.index_fill(0, j, t[0, 0]); t.masked_fill(t > 0, 1); t.masked_fill(t > 0, t[0, 0]); t.masked_scatter(t > 0, t)
t.index_put((j,), t[0]); t.scatter(0, i, 2.0); t.scatter(0, i, t); t.scatter_reduce(0, i, t, "sum"); t.scatter_add(0, i, t)
t[0].diag_embed(); t.diag(); t.diagonal_copy(); t.select_scatter(t[0], 0, 0); t.slice_scatter(t[:1], 0, 0, 1); t.expand_copy(1, 2, 2)
t.roll(1); torch.block_diag(t, t); t.logsumexp(0); t.aminmax()[0]; t.cummax(0)[0]; t.topk(1)[0]; t.max(0)[0]; t[0, 0].max(0)[0]
F.mse_loss(t, t * 2); F.mse_loss(t, t * 2, reduction="none"); F.smooth_l1_loss(t, t * 2); F.huber_loss(t, t * 2, reduction="sum")
F.binary_cross_entropy(p, p.detach()); F.soft_margin_loss(t, t.detach()); F.multi_margin_loss(t, k); F.l1_loss(t, t * 2)
F.nll_loss(t, k); F.nll_loss(t, k, reduction="sum"); F.cross_entropy(t, k); F.cross_entropy(t, k, reduction="none")
F.cross_entropy(t, k, weight=torch.ones(2)); F.cross_entropy(b, k[None, :, None].expand(1, 2, 2)); F.kl_div(t, t.detach())
F.cross_entropy(t, p.detach()); F.linear(t, t); F.linear(t, t, t[0]); F.linear(b, t); F.linear(b, t, t[0]); F.linear(t[0], t); F.rrelu(t)
F.linear(t[0], t, t[0]); F.rrelu(t, training=True)
z.real; z.imag; z.conj_physical(); (t * 1).index_put_((j,), t[0], accumulate=True); (t * 1).index_put_((j,), t[0])
F.group_norm(b, 2); F.glu(t); F.grid_sample(b, t[None, :, None].expand(1, 2, 1, 2), align_corners=False); F.interpolate(b, 4)
F.interpolate(b, 4, mode="bilinear"); F.pixel_shuffle(b.repeat(1, 2, 1, 1), 2); F.max_pool1d(b[0], 2); F.max_pool2d(b[0], 2)
F.adaptive_avg_pool2d(b[0], 2); F.adaptive_max_pool1d(b[0], 1); F.avg_pool1d(b[0], 2); F.max_pool2d(b, 2); F.embedding_bag(k[None], t)
torch.fft.rfft(t); torch.fft.irfft(torch.fft.rfft(t)); torch.linalg.solve(s, t); torch.linalg.cholesky(s); torch.linalg.pinv(t)
torch.linalg.lu(s)[1]; torch.linalg.cross(c, c); torch.cholesky_solve(t, s); torch.linalg.lstsq(s, t)[0]; torch.pinverse(t)
""".replace("\n", "; ").strip("; ").split("; ")


@pytest.mark.parametrize("call", CALLS)
def test_names(both: Both, call: str) -> None:
    def body(torch: Any) -> Any:
        t = torch.tensor([[1.5, 2.5], [0.5, 3.5]], requires_grad=True)
        names = {
            "torch": torch, "F": torch.nn.functional, "t": t, "p": t.sigmoid(), "s": t @ t.T + torch.eye(2), "i": torch.tensor([[0]]),
            "j": torch.tensor([0]), "k": torch.tensor([0, 1]), "b": t.expand(1, 2, 2, 2), "c": torch.cat([t, t[:, :1]], 1), "z": t * (1 + 2j),
        }  # fmt: skip
        return eval(call, names).grad_fn.name()

    both(body)


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16", "complex64", "complex128"])
@pytest.mark.parametrize("name", [f"conv{way}{rank}d" for way in ("", "_transpose") for rank in (1, 2, 3)])
def test_names_of_convolutions(both: Both, name: str, kind: str) -> None:
    def body(torch: Any) -> Any:
        found = []
        for channels, out, groups in ((3, 3, 1), (4, 4, 2), (3, 3, 3)):
            x = torch.ones(2, channels, *[4] * int(name[-2]), dtype=getattr(torch, kind))
            w = torch.ones(out, channels // groups, *[2] * int(name[-2]), dtype=getattr(torch, kind), requires_grad=True)
            for bias in (None, torch.ones(out, dtype=getattr(torch, kind))):
                found.append(getattr(torch.nn.functional, name)(x, w, bias, groups=groups).grad_fn.name())
        return found

    both(body)


def test_returned_inputs_keep_their_grad_fn(both: Both) -> None:
    def body(torch: Any) -> Any:
        t = torch.ones(3, 3, requires_grad=True).exp()
        return torch.roll(t, 0).sum().grad_fn.name(), t.grad_fn.name(), (t.detach() % 2).grad_fn, repr(torch.nn.functional.mse_loss(t, t * 2))

    both(body)


SHAPES = {
    "reshape": "t.reshape(6, 8)", "of columns": "t.permute(0, 2, 1).reshape(2, 4, 3, 2)", "of a part": "t[:, :1].reshape(2, 8)[:, ::2].reshape(2, 2, 2)",
    "copied": "t.permute(0, 2, 1).reshape(2, 24)", "flatten": "t.flatten(1)", "flatten a part": "t[:, :, ::2].flatten(0, 1)", "ravel": "t.ravel()",
    "unflatten": "t.permute(1, 0, 2).unflatten(2, (2, 4))", "view": "t.permute(1, 0, 2).view(3, 2, 4, 2)", "as another": "t.mT.reshape_as(torch.ones(2, 8, 1, 3))",
    "expanded": "t[:1].expand(2, 3, 8).reshape(2, 3, 2, 4)", "one row": "t[:1].permute(0, 2, 1).reshape(8, 3)", "a row of one": "t[:, :1].mT.reshape(2, 8)",
    "same shape": "t.reshape(2, 3, 8)", "nothing": "t[:0].reshape(0, 4)",
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_reshapes_say_whether_rows_follow_each_other(both: Both, name: str) -> None:
    both(lambda torch: eval(SHAPES[name], {"torch": torch, "t": torch.arange(48.0, requires_grad=True).exp().view(2, 3, 8)}).grad_fn.name())


WRITES = {
    "positions": "x[torch.tensor([0, 1])] = t[:2]", "columns": "x[:, torch.tensor([0, 2])] = t[:, :2]", "mask": "x[x > 1] = t[x > 1]",
    "mask, a number": "x[x > 1] = t[0, 0]", "row": "x[0] = t[0]", "slice": "x[1:] = t[1:]", "index_put_": "x.index_put_((torch.tensor([0]),), t[:1])",
    "masked_fill_": "x.masked_fill_(x > 1, t[0, 0])", "scatter_": "x.scatter_(0, torch.tensor([[0]]), t)", "index_copy_": "x.index_copy_(0, torch.tensor([1]), t[:1])",
    "fill_": "x.fill_(t[0, 0])", "mul_": "x.mul_(t)", "copy_": "x.copy_(t)", "put_": "x.put_(torch.tensor([1]), t[0, :1])", "diagonal": "x.fill_diagonal_(1.0); x.mul_(t)",
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("tracked", [False, True])
def test_types_of_nodes_have_their_names(both: Both, name: str, tracked: bool) -> None:
    """``type(grad_fn)`` has this name too, and so have the other nodes of the graph."""

    def body(torch: Any) -> Any:
        t = torch.arange(12.0, requires_grad=True).reshape(3, 4) * 0.25
        x = t * 1 if tracked else torch.arange(12.0).reshape(3, 4)
        exec(WRITES[name], {"torch": torch, "t": t, "x": x})
        waiting = [x.grad_fn]
        for node in waiting:
            waiting.extend(below for below, _ in node.next_functions if below is not None)
            assert type(node).__name__ == node.name().removeprefix("torch::autograd::")
        return type(x.grad_fn).__name__

    both(body)
