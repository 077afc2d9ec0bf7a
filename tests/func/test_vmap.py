"""torch.vmap against torch."""
from __future__ import annotations

import pytest

import mstorch


def some(t, *shape):
    count = 1
    for length in shape:
        count *= length
    return t.linspace(-1, 1, count).reshape(shape)


MAPS = {
    "dot": lambda t: t.vmap(t.dot)(some(t, 4, 3), some(t, 4, 3)),
    "none": lambda t: t.vmap(t.mv, in_dims=(None, 0))(some(t, 2, 3), some(t, 4, 3)),
    "dim 1": lambda t: t.vmap(t.sin, in_dims=1, out_dims=1)(some(t, 4, 3)),
    "last": lambda t: t.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1)(some(t, 4, 2, 3)),
    "out dims": lambda t: t.vmap(lambda x: (x, x.sum()), out_dims=(1, 0))(some(t, 4, 3)),
    "trees": lambda t: t.vmap(lambda d: {"s": d["a"] + d["b"][0], "p": (d["a"] * 2,)}, in_dims=({"a": 0, "b": (1,)},))(
        {"a": some(t, 4, 3), "b": (some(t, 3, 4),)}
    ),
    "keywords": lambda t: t.vmap(lambda x, y: x + y)(some(t, 4, 3), y=some(t, 4, 3)),
    "nested": lambda t: t.vmap(t.vmap(t.dot, in_dims=(None, 0)), in_dims=(0, None))(some(t, 2, 3), some(t, 4, 3)),
    "nested dims": lambda t: t.vmap(t.vmap(t.add, in_dims=(0, None)), in_dims=(1, None))(some(t, 2, 3), t.tensor(5.0)),
    "constant": lambda t: t.vmap(lambda x: t.ones(2))(some(t, 3)),
    "number": lambda t: t.vmap(lambda x, k: x * k, in_dims=(0, None))(some(t, 3), 4),
    "integers": lambda t: t.vmap(lambda x: x + 1)(t.arange(3)),
    "index": lambda t: t.vmap(lambda x, i: x.gather(0, i))(some(t, 3, 4), t.tensor([[0, 1], [3, 2], [1, 1]])),
    "in place": lambda t: t.vmap(lambda x: x.clone().add_(1))(some(t, 3, 2)),
    "linear": lambda t: t.vmap(t.nn.functional.linear, in_dims=(0, None))(some(t, 5, 2, 3), some(t, 4, 3)),
    "conv": lambda t: t.vmap(lambda x: t.nn.functional.conv2d(x, some(t, 2, 1, 2, 2)))(some(t, 3, 2, 1, 4, 4)),
    "chunks": lambda t: t.vmap(t.sin, chunk_size=2)(some(t, 5, 2)),
    "one": lambda t: t.vmap(t.sin)(some(t, 1, 2)),
    "grad": lambda t: t.vmap(t.func.grad(lambda x: (x**3).sum()))(some(t, 4, 3)),
    "grad of sum of vmap": lambda t: t.func.grad(lambda x: t.vmap(lambda y: y.sin().sum())(x).sum())(some(t, 4, 3)),
    "hessian": lambda t: t.vmap(t.func.hessian(lambda x: (x**3).sum()))(some(t, 2, 3)),
    "jacrev": lambda t: t.vmap(t.func.jacrev(t.sin))(some(t, 2, 3)),
    "jvp": lambda t: t.vmap(lambda x, v: t.func.jvp(t.sin, (x,), (v,))[1])(some(t, 2, 3), some(t, 2, 3)),
    "vjp": lambda t: t.vmap(t.func.vjp(t.sin, some(t, 3))[1])(t.eye(3)),
    "jacobian by vmap": lambda t: t.vmap(lambda v: t.func.jvp(lambda x: x.sum() * x, (some(t, 3),), (v,))[1])(t.eye(3)),
    "none out": lambda t: t.vmap(lambda x: t.tensor(3.0), out_dims=None)(some(t, 2)),
}


@pytest.mark.parametrize("name", MAPS)
def test_maps(name, both):
    both(lambda t: MAPS[name](t), strides=False)


def test_autograd(both):
    def body(t):
        x, w = some(t, 4, 3).requires_grad_(), some(t, 3).requires_grad_()
        t.vmap(lambda x: (x * w).sin())(x).sum().backward()
        return x.grad, w.grad

    both(body)


def test_per_sample_gradients(both):
    def body(t):
        t.manual_seed(0)
        net = t.nn.Sequential(t.nn.Conv2d(1, 2, 3), t.nn.ReLU(), t.nn.Flatten(), t.nn.Linear(8, 3))
        params = {name: p.detach() for name, p in net.named_parameters()}
        x, y = t.randn(4, 1, 4, 4), t.tensor([0, 1, 2, 1])

        def loss(params, x, y):
            return t.nn.functional.cross_entropy(t.func.functional_call(net, params, (x[None],)), y[None])

        samples = t.vmap(t.func.grad(loss), in_dims=(None, 0, 0))(params, x, y)
        slow = [t.func.grad(loss)(params, a, b) for a, b in zip(x, y)]
        return samples, slow

    both(body, strides=False, atol=1e-5)


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_randomness(randomness):
    for draw in (
        lambda x: x + mstorch.rand(3),
        lambda x: mstorch.nn.functional.dropout(x + mstorch.ones(3), 0.5),
        lambda x: x + mstorch.randperm(20)[:3],
        lambda x: x + (x * 0).normal_(),
    ):
        mstorch.manual_seed(0)
        rows = mstorch.vmap(draw, randomness=randomness)(mstorch.zeros(2, 3))
        assert (rows[0] == rows[1]).all().item() == (randomness == "same")


def test_same_randomness_is_torchs(both):
    both(lambda t: (t.vmap(lambda x: x + t.rand(3), randomness="same")(t.zeros(2, 3)), t.rand(2)))


REFUSALS = {
    "randomness": lambda t: t.vmap(lambda x: x + t.rand(3))(t.zeros(2, 3)),
    "randomness name": lambda t: t.vmap(t.sin, randomness="some")(t.zeros(2, 3)),
    "no inputs": lambda t: t.vmap(t.sin)(),
    "no tensors": lambda t: t.vmap(lambda x: x, in_dims=None)(t.ones(2)),
    "sizes": lambda t: t.vmap(t.add)(t.ones(2), t.ones(3)),
    "in_dims": lambda t: t.vmap(t.sin, in_dims="0")(t.ones(2)),
    "in_dims structure": lambda t: t.vmap(t.add, in_dims=(0,))(t.ones(2), t.ones(2)),
    "in_dim range": lambda t: t.vmap(t.sin, in_dims=1)(t.ones(2)),
    "not a tensor": lambda t: t.vmap(lambda x: x)(3),
    "out not a tensor": lambda t: t.vmap(lambda x: 3)(t.ones(2)),
    "out_dims": lambda t: t.vmap(lambda x: x, out_dims="0")(t.ones(2)),
    "out_dims structure": lambda t: t.vmap(lambda x: (x, x), out_dims=(0, 0, 0))(t.ones(2)),
    "chunk_size": lambda t: t.vmap(t.sin, chunk_size=0)(t.ones(2)),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name, both):
    both(lambda t: REFUSALS[name](t), message="vmap" if "sizes" in name or "structure" in name or "no tensors" in name else None)


def test_results_that_are_views_share_memory(both):
    def body(t):
        x = some(t, 4, 3, 2)
        same = t.vmap(lambda y: y, in_dims=1, out_dims=1)(x)
        turned = t.vmap(lambda y: y.t())(x)
        picked = t.vmap(lambda y: y[1], out_dims=1)(x)
        picked[0, 2] = 7
        nested = t.vmap(t.vmap(lambda y: y[:1]))(x)
        other = some(t, 2)
        unmapped = t.vmap(lambda y: other)(x)
        return (
            same is x, turned._base is x, picked._base is x, nested.data_ptr() == x.data_ptr(), x, unmapped.stride(),
            t.vmap(lambda y: y.mul_(2))(x) is x, turned.stride(), nested.stride(),
        )  # fmt: skip

    both(body)


def test_gradients_of_views(both):
    def body(t):
        x = some(t, 4, 3).requires_grad_()
        y = x * 1
        found = t.vmap(lambda row: row[1:])(y)
        (found**2).sum().backward(retain_graph=True)
        found.mul_(3)
        y.sum().backward()
        return x.grad, y

    both(body, strides=False)


def test_what_is_not_stacked_must_not_differ(both):
    both(lambda t: t.vmap(lambda x: x * 2, out_dims=None)(some(t, 3)))


DRAWS = {
    "one": lambda t, x: t.rand(3) + x,
    "two": lambda t, x: t.randn(5, 4) * t.rand(()) + x.sum(),
    "dropout": lambda t, x: t.nn.functional.dropout(t.ones(7)) * x.sum(),
    "integers": lambda t, x: t.randint(0, 90, (4,)) + x.sum(),
    "nested": lambda t, x: t.vmap(lambda y: t.rand(2) + y, randomness="different")(x),
    "nested same": lambda t, x: t.vmap(lambda y: t.rand(2) + y, randomness="same")(x),
}


@pytest.mark.parametrize("mode", ["same", "different"])
@pytest.mark.parametrize("chunk", [None, 2])
@pytest.mark.parametrize("name", DRAWS)
def test_draws(name, chunk, mode, both):
    def body(t):
        t.manual_seed(3)
        found = t.vmap(lambda x: DRAWS[name](t, x), randomness=mode, chunk_size=chunk)(t.zeros(5, 3))
        return found, t.rand(2)

    both(body, strides=False)


LAYERS = {
    "dropout": lambda t, x: t.nn.Dropout(0.5)(x[:, None].expand(4, 2) + 1),
    "dropout2d": lambda t, x: t.nn.functional.dropout2d(x.reshape(2, 2, 1) + 1),
    "gumbel": lambda t, x: t.nn.functional.gumbel_softmax(x),
    "normal": lambda t, x: t.normal(0.0, 1.0, (2,)) + x[0],
    "multinomial": lambda t, x: t.multinomial(x.abs() + 0.1, 2),
    "inner only": lambda t, x: t.vmap(lambda y: t.nn.functional.dropout(x), randomness="different")(t.ones(3)),
}


@pytest.mark.parametrize(("name", "last"), [(name, last) for name in LAYERS for last in (False, True) if name != "multinomial" or not last])
@pytest.mark.filterwarnings("ignore:dropout2d")
def test_draws_with_values(name, last, both):
    def body(t):
        t.manual_seed(3)
        given = some(t, 3, 4)
        return t.vmap(lambda x: LAYERS[name](t, x), in_dims=1 if last else 0, randomness="different")(given.t().contiguous() if last else given)

    both(body, strides=False)


def test_draws_in_place(both):
    def body(t):
        t.manual_seed(3)
        return t.vmap(lambda x: x.clone().normal_().uniform_() + t.rand(3), randomness="different")(t.zeros(5, 3))

    both(body)


@pytest.mark.parametrize("text", ["z * 2", "2 + z", "z / 2", "z ** 2", "z > 0", "z + z", "z * y", "y * z", "z % 2", "z - 1", "z.maximum(y)", "z.pow(y)"])
@pytest.mark.parametrize("shape", [(0,), (0, 2)])
def test_vmap_of_empty_dimensions_with_a_number(text, shape, both):
    def body(torch):
        y = torch.tensor(2.0)
        return torch.vmap(lambda z: eval(text, {"z": z, "y": y}))(torch.ones(shape))

    both(body)
