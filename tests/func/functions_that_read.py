"""Functions of a vector of three elements that read its values, and transformations under which they run."""
from __future__ import annotations


def functions(torch):
    """Return functions by name."""
    return {**_expressions(torch), **_writes(torch), **_programs(torch), **_draws(torch)}


def _custom(torch):
    class Cube(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3 if x.isfinite().all() else x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 3 * ctx.saved_tensors[0] ** 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 3 * ctx.saved_tensors[0] ** 2

    return Cube


def _expressions(torch):
    F = torch.nn.functional
    constant = torch.tensor([0.5, -1.0, 2.0])
    Cube = _custom(torch)
    return {
        "branch": lambda x: x * 2 if x.sum() > 0 else x**3,
        "item": lambda x: x * x * x.sum().item(),
        "item_of_element": lambda x: x.sin() * x[0].item(),
        "float": lambda x: x.exp() * float(x.max()),
        "int": lambda x: x.pow(2 + int(abs(x[0]) > 0.1)),
        "index": lambda x: x[int(x.argmax())] * x,
        "mask": lambda x: x[x > 0] ** 2,
        "nonzero": lambda x: x[x.nonzero(as_tuple=True)] ** 2,
        "nonzero_rows": lambda x: x[(x > 0).nonzero()].sum(1) ** 3,
        "where_alone": lambda x: x[torch.where(x > 0)[0]].exp(),
        "masked_select": lambda x: x.masked_select(x > 0).sin(),
        "masked_scatter": lambda x: x.masked_scatter(x > 0, x * x),
        "unique": lambda x: torch.unique((x > 0).long()).sum() * x**2,
        "any_all": lambda x: x.sin() if (x > 0).any() and not (x > 0).all() else x.cos(),
        "equal": lambda x: x**2 if torch.equal(x, x) else x,
        "allclose": lambda x: x**3 if torch.allclose(x, x * 1.0) else x,
        "isnan": lambda x: x.sqrt() if not torch.isnan(x).any() and bool((x >= 0).all()) else x**2,
        "median": lambda x: x * (x - x.median()).abs(),
        "sort": lambda x: x.sort()[0][: int((x < 0).sum()) + 1] ** 2,
        "bincount": lambda x: torch.bincount((x > 0).long(), minlength=2).float() * x.sum() ** 2,
        "repeat_interleave": lambda x: torch.repeat_interleave(x, (x > 0).long() + 1) ** 2,
        "closure": lambda x: x * constant if constant.sum() > 0 else x,
        "constant": lambda x: x.sin() if bool(torch.ones(()) > 0) else x,
        "tolist": lambda x: x * x * sum(x.tolist()),
        "detached": lambda x: x * x * x.detach().sum().item(),
        "formatted": lambda x: x * float(f"{x[0]:.3f}"),
        "slices": lambda x: x[: int(x.abs().argmax()) + 1].prod() * x,
        "length": lambda x: x.sum() ** len(x[x > 0]),
        "shape": lambda x: x[x > 0].shape[0] * x**2,
        "argmax": lambda x: F.one_hot(x.argmax(), 3) * x**2,
        "embedding": lambda x: F.embedding((x > 0).long(), torch.outer(x, x)[:2]).sum(0),
        "max_pool": lambda x: F.max_pool1d(x[None], 2, 1)[0] ** 2,
        "searchsorted": lambda x: torch.searchsorted(x.detach().sort()[0], x).float() * x**2,
        "complex": lambda x: torch.complex(x, x * x).abs() if x[1] < 0 else x,
        "key": lambda x: {True: x**2, False: x**3}[bool(x[0] > 0)],
        "cross_entropy": lambda x: F.cross_entropy(x[None], x.argmax()[None]) * x,
        "scatter_add": lambda x: torch.zeros(3).scatter_add(0, x.argsort(), x**2),
        "index_put": lambda x: torch.zeros(3).index_put((x.argsort(),), x**3),
        "histc": lambda x: torch.histc(x.detach(), 3, -2, 2) * x,
        "where": lambda x: torch.where(x > x.mean().item(), x**2, x**3),
        "isfinite": lambda x: x.abs().sqrt() if x.isfinite().all() else x,
        "custom": lambda x: Cube.apply(x) * 2,
    }


def _named(*functions):
    return {function.__name__: function for function in functions}


def _writes(torch):
    def mask_written(x):
        y = x.clone()
        y[y > 0] = 0.5
        return y * x

    def mask_written_by_tensor(x):
        y = x.clone() * 2
        y[x < 0] = (x * x)[x < 0]
        return y

    def in_place(x):
        y = x.clone()
        y.mul_(2)
        y[0] = y[1] * y[2]
        return y.exp()

    def filled(x):
        y = torch.zeros(3)
        y[0] = x[1] ** 2
        y[1:] = x[:2] * x[2]
        return y * x

    def filled_like(x):
        y = torch.zeros_like(x)
        y[0] = x[1] ** 2
        y += x.sin()
        return y.exp()

    def filled_by_values(x):
        y = x.new_empty(3)
        for i in range(3):
            y[i] = x[i] ** (i + 1) if x[i] > 0 else x[i]
        return y

    return _named(mask_written, mask_written_by_tensor, in_place, filled, filled_like, filled_by_values)


def _programs(torch):
    def loop(x):
        y, count = x, 0
        while y.norm() < 10 and count < 20:
            y, count = y * 1.5, count + 1
        return y * y

    def newton(x):
        root = x.abs() + 1
        for _ in range(20):
            step = (root * root - x.abs() - 1) / (2 * root)
            root = root - step
            if step.abs().max() < 1e-6:
                break
        return root

    def elements(x):
        total = 0
        for element in x:
            total = total + (element * element if element > 0 else -element)
        return total

    def assertion(x):
        assert (x == x).all()
        return x.tanh()

    def clipped(x):
        length = x.norm()
        return x / length * 0.5 if length > 0.5 else x * 1

    def solve(x):
        matrix = torch.outer(x, x) + 3 * torch.eye(3)
        return torch.linalg.solve(matrix, x) if torch.linalg.det(matrix) > 0 else x

    def cholesky(x):
        factor, info = torch.linalg.cholesky_ex(torch.outer(x, x) + 3 * torch.eye(3))
        return factor @ x if info.item() == 0 else x

    def topk(x):
        values, places = x.topk(2)
        return values * x[places].sin() * int(places[0])

    def max_of_rows(x):
        values, places = torch.outer(x, x).max(1)
        return values * x[places]

    def inner_grad(x):
        gradient = torch.func.grad(lambda y: (y**3).sum())(x)
        return gradient if gradient.sum() > 0 else -gradient

    def inner_vmap(x):
        mapped = torch.vmap(lambda element: element * element.sin())(x)
        return mapped if mapped.sum() > 0 else x

    return _named(loop, newton, elements, assertion, clipped, solve, cholesky, topk, max_of_rows, inner_grad, inner_vmap)


def _draws(torch):
    named = {}
    for name, draw in {
        "dropout": lambda x: torch.nn.functional.dropout(x, 0.5), "rand_like": torch.rand_like, "randn": lambda x: torch.randn(3),
        "bernoulli": lambda x: torch.bernoulli(x.abs().clamp(0, 1)),
    }.items():  # fmt: skip

        def drawn(x, draw=draw):
            torch.manual_seed(0)
            return draw(x) * x**2

        named[name] = drawn
    return named


def transformations(torch):
    """Return functions of a function and a vector, by name."""
    f = torch.func
    ones = torch.ones(3)
    rows = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 2, -1]])

    def total(function):
        return lambda x: function(x).sum()

    def pulled(function, x):
        output, pull = f.vjp(function, x)
        return output, pull(torch.ones_like(output))

    def grads_batched(function, x):
        leaf = x.clone().requires_grad_()
        return torch.autograd.grad(total(function)(leaf).expand(2), leaf, torch.eye(2), is_grads_batched=True)

    return {
        "grad": lambda g, x: f.grad(total(g))(x),
        "grad_grad": lambda g, x: f.grad(lambda y: f.grad(total(g))(y).pow(2).sum())(x),
        "vjp": pulled,
        "jvp": lambda g, x: f.jvp(g, (x,), (ones,)),
        "jvp_grad": lambda g, x: f.jvp(f.grad(total(g)), (x,), (ones,)),
        "jacrev": lambda g, x: f.jacrev(g)(x),
        "jacrev_chunks": lambda g, x: f.jacrev(g, chunk_size=2)(x),
        "jacfwd": lambda g, x: f.jacfwd(g)(x),
        "jacfwd_same": lambda g, x: f.jacfwd(g, randomness="same")(x),
        "jacfwd_different": lambda g, x: f.jacfwd(g, randomness="different")(x),
        "hessian": lambda g, x: f.hessian(total(g))(x),
        "hessian_of_vector": lambda g, x: f.hessian(g)(x),
        "jacrev_jacrev": lambda g, x: f.jacrev(f.jacrev(g))(x),
        "jacfwd_jacfwd": lambda g, x: f.jacfwd(f.jacfwd(g))(x),
        "jacrev_jacfwd": lambda g, x: f.jacrev(f.jacfwd(g))(x),
        "vmap": lambda g, x: torch.vmap(g)(torch.stack([x, x + 1, -x])),
        "vmap_same": lambda g, x: torch.vmap(g, randomness="same")(torch.stack([x, x + 1, -x])),
        "vmap_beside": lambda g, x: torch.vmap(lambda y, z: g(y) + z.sum(), in_dims=(None, 0))(x, rows),
        "vmap_jvp": lambda g, x: torch.vmap(lambda v: f.jvp(g, (x,), (v,)))(rows),
        "vmap_jvp_of_slices": lambda g, x: torch.vmap(lambda y: f.jvp(g, (y,), (ones,))[1])(rows),
        "vmap_vjp": lambda g, x: torch.vmap(lambda v: f.vjp(total(g), x)[1](v.sum())[0])(rows),
        "vmap_of_pull": lambda g, x: torch.vmap(f.vjp(total(g), x)[1])(rows.sum(1)),
        "vmap_grad": lambda g, x: torch.vmap(lambda v: f.grad(lambda y: g(y).sum() * v.sum())(x))(rows),
        "vmap_grad_of_slices": lambda g, x: torch.vmap(f.grad(total(g)))(torch.stack([x, x + 1, -x])),
        "grad_vmap": lambda g, x: f.grad(lambda y: torch.vmap(lambda v: g(y).sum() * v.sum())(rows).sum())(x),
        "grad_vmap_of_slices": lambda g, x: f.grad(lambda y: torch.vmap(g)(torch.stack([y, y])).sum())(x),
        "vmap_hvp": lambda g, x: torch.vmap(lambda v: f.jvp(f.grad(total(g)), (x,), (v,))[1])(rows),
        "vmap_jacrev": lambda g, x: torch.vmap(lambda v: f.jacrev(g)(x) * v.sum())(rows),
        "vmap_jacfwd": lambda g, x: torch.vmap(f.jacfwd(g))(torch.stack([x, -x])),
        "jacobian": lambda g, x: torch.autograd.functional.jacobian(g, x),
        "jacobian_forward": lambda g, x: torch.autograd.functional.jacobian(g, x, strategy="forward-mode", vectorize=True),
        "jacobian_at_once": lambda g, x: torch.autograd.functional.jacobian(g, x, vectorize=True),
        "functional_hessian": lambda g, x: torch.autograd.functional.hessian(total(g), x),
        "functional_hessian_forward": lambda g, x: torch.autograd.functional.hessian(
            total(g), x, vectorize=True, outer_jacobian_strategy="forward-mode"
        ),
        "grads_batched": grads_batched,
    }
