"""A Function with a generated vmap rule, in forward mode and in reverse, compared with one that defines its own."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.against_torch import both

Both = Callable[..., Any]


def _functions(torch: Any) -> dict[str, Any]:
    class Generated(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y, k=2):
            return x * y * k, x + y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[2] if len(inputs) > 2 else 2
            ctx.save_for_backward(*inputs[:2])
            ctx.save_for_forward(*inputs[:2])

        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensors
            return g * y * ctx.k + h, g * x * ctx.k + h, None

        @staticmethod
        def jvp(ctx, t, s, *rest):
            x, y = ctx.saved_tensors
            return (t * y + s * x) * ctx.k, t + s

    class Written(Generated):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info, dims, x, y, k=2):
            whole = [
                item.expand(info.batch_size, *item.shape) if dim is None else item.movedim(dim, 0) for item, dim in zip((x, y), dims)
            ]
            return Generated.apply(*whole, k), (0, 0)

    class NoForward(Generated):
        jvp = torch.autograd.Function.jvp

    return {"generated": Generated, "written": Written, "no forward": NoForward}


USES: dict[str, Callable[..., Any]] = {
    "jacfwd": lambda f, N, u, b: f.jacfwd(lambda a: N.apply(a, a)[0])(u),
    "jacfwd of the other": lambda f, N, u, b: f.jacfwd(lambda a: N.apply(a, u.sin(), 3)[1])(u),
    "hessian": lambda f, N, u, b: f.hessian(lambda a: N.apply(a, a)[0].sum())(u),
    "jvp within": lambda f, N, u, b: f.vmap(lambda a, t: f.jvp(lambda a: N.apply(a, u), (a,), (t,)))(b, b + 1),
    "jvp around": lambda f, N, u, b: f.jvp(lambda x: f.vmap(lambda a: N.apply(a, u))(x), (b,), (b + 1,)),
    "jvp around columns": lambda f, N, u, b: f.jvp(
        lambda x: f.vmap(lambda a: N.apply(a, u), in_dims=1, out_dims=1)(x), (b.T,), (b.T + 1,)
    ),
    "jvp, other order": lambda f, N, u, b: f.jvp(lambda x: f.vmap(lambda a: N.apply(u, a))(x), (b,), (b + 1,)),
    "reverse of forward": lambda f, N, u, b: f.jacrev(f.jacfwd(lambda a: N.apply(a, a)[0]))(u),
    "forward of reverse": lambda f, N, u, b: f.jacfwd(f.jacrev(lambda a: N.apply(a, a)[0]))(u),
    "maps of forward": lambda f, N, u, b: f.vmap(f.jacfwd(lambda a: N.apply(a, u)))(b),
    "maps of gradients": lambda f, N, u, b: f.vmap(f.grad(lambda a, c: N.apply(a, c)[0].sum()), chunk_size=3)(b, b),
    "two maps": lambda f, N, u, b: f.vmap(lambda a: f.vmap(lambda c: N.apply(a, c))(b))(b),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["generated", "written", "no forward"])
@pytest.mark.parametrize("use", USES)
def test_uses(use: str, kind: str) -> None:
    def body(torch: Any) -> Any:
        given = torch.tensor([0.3, -1.2, 0.7]), torch.linspace(-1, 2, 12).view(4, 3)
        return USES[use](torch.func, _functions(torch)[kind], *given)

    both(body)
