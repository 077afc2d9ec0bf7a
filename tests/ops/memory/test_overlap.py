"""Writes to memory that the same operation reads: refused where torch refuses them, and then nothing is written."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.parametrize(
    "text",
    [
        "y[:3].copy_(y[1:4])", "y[:4].view(2, 2).t().copy_(y[:4].view(2, 2))", "y.copy_(y)", "y.copy_(y[0])", "y.fill_(y[0])",
        "torch.add(y[:3], 1, out=y[1:4])", "torch.add(y[:3], 1, out=y[:3])", "torch.sin(y[:3], out=y[1:4])", "y[1:4].mul_(y[:3])",
        "torch.pow(2.0, y[:3], out=y[1:4])", "torch.pow(y[:3], 2, out=y[1:4])", "torch.where(i > 0, y[:3], y[:3], out=y[1:4])", "torch.clamp(y[:3], 0, 1, out=y[1:4])",
        "torch.lerp(y[:3], y[:3], 0.5, out=y[1:4])", "y.add_(y[0])", "y[::2].add_(y[1::2])", "y.add_(y)", "y.masked_fill_(y > 0, y[0])",
        "y.index_add_(0, i, y[:3])", "y.index_copy_(0, i, y[:3])", "y.scatter_(0, i, y[:3])", "y.put_(i, y[:3])", "i.scatter_(0, i, i.clone())",
        "y.index_put_((i,), y[:3])", "y.__setitem__(i, y[:3])", "y.__setitem__(i[:1], y[0])", "y.index_fill_(0, i, y[0])",
        "y.__setitem__(slice(0, 3), y[1:4])", "y[1:2].__setitem__(None, y[1:2])", "y[1:2].index_copy_(0, i[:1], y[1:2])",
        "torch.stack([y[:3], y[3:]], out=y.view(2, 3))", "torch.stack([y[:2]], out=y[2:4])",
        "torch.cumsum(y[:3], 0, out=y[1:4])", "torch.outer(y[:2], y[:2], out=y[:4].view(2, 2))",
    ],
)  # fmt: skip
def test_overlapping_writes(both, text):
    def body(torch):
        y, i = torch.arange(6.0), torch.tensor([0, 1, 2])
        try:
            return eval(text, {"torch": torch, "y": y, "i": i}), y
        except RuntimeError as error:
            return str(error), y

    both(body)


@pytest.mark.parametrize("text", ["ones((3.0, 4))", "ones(2.5)", "zeros('a')", "zeros(2, 3.0)", "empty(torch.tensor([3, 3]))"])
def test_lengths_that_are_no_integers(both, text):
    both(lambda torch: eval(f"torch.{text}", {"torch": torch}))


@pytest.mark.parametrize("call", [
    lambda torch, t: torch.mul(t, t.T, out=t),
    lambda torch, t: torch.add(t.T, t, out=t),
    lambda torch, t: torch.where(t.T > 1, t, t.T, out=t),
    lambda torch, t: torch.mul(torch.ones(2, 3, 3), t, out=t),
    lambda torch, t: torch.clamp(t, torch.ones(3), out=t),
    lambda torch, t: torch.lerp(t, torch.ones(3), 0.5, out=t),
    lambda torch, t: torch.gt(t, torch.ones(3), out=t),
    lambda torch, t: torch.pow(t, torch.ones(3), out=t),
    lambda torch, t: torch.maximum(t, torch.ones(3), out=t),
    lambda torch, t: torch.add(t, 2, out=t),
    lambda torch, t: torch.mul(t, torch.ones(1), out=t),
])  # fmt: skip
def test_an_operand_that_is_the_output_does_not_grow(both, call):
    def program(torch):
        t = torch.arange(3.0).view(3, 1)
        try:
            call(torch, t)
        except RuntimeError as error:
            return str(error), t
        return "", t

    both(program)


@pytest.mark.parametrize("text", [
    "torch.clamp(x, 0, 1, out=y)", "torch.add(x, 1, out=y)", "torch.exp(x, out=y)", "torch.gt(x, 0, out=y)", "torch.sum(x, 0, out=y)",
    "torch.where(x > 0, x, x, out=y)", "torch.lerp(x, x, x, out=y)", "torch.cumsum(x, 0, out=y)", "torch.pow(x, 2, out=y)",
    "torch.nan_to_num(x, out=y)", "torch.addcmul(x, x, x, out=y)", "torch.float_power(x, 2, out=y)", "torch.softmax(x, 0, out=y)",
])  # fmt: skip
def test_an_expanded_output_that_has_another_size(both, text):
    def body(torch):
        x, y = torch.tensor(0.5, dtype=torch.float64), torch.zeros((), dtype=torch.float64).as_strided((3,), (0,))
        return eval(text, {"torch": torch, "x": x, "y": y})

    both(body)


WINDOWS = ["b.unfold(0, 2, 1)", "b.unfold(1, 3, 2)", "b.as_strided((2, 2, 2), (1, 1, 1))", "b.as_strided((4, 5), (2, 1))", "b.unfold(1, 2, 1).mT"]


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
def test_outputs_that_require_gradients_are_refused_first(name, both):
    both(lambda torch: getattr(torch, name)(torch.ones(2, 3), 4, out=torch.zeros(3).requires_grad_()))


def test_masked_scatter_of_itself_with_a_history(both):
    def body(torch):
        leaf = (torch.arange(6.0) - 2).reshape(2, 3).requires_grad_()
        t = leaf * 1
        t.masked_scatter_(t > 0, t)
        t.sum().backward()
        return t, leaf.grad, t._version

    both(body)


@pytest.mark.parametrize("text", ["t[...] = v", "t[:] = v", "t[0:2] = v", "t.fill_(v)", "t[...] = 2", "t[0] = v"])
def test_a_number_of_a_tensor_into_an_expanded_one(text, both):
    def body(torch):
        t = torch.zeros(1).expand(3)
        exec(text, {"t": t, "v": torch.tensor(1.0)})
        return t

    both(body)


@pytest.mark.parametrize("window", ["t.as_strided((3,), (0,))", "t[:, -1::3, -1]", "t[...]", "t[:1]"])
def test_sorted_into_the_input(window, both):
    def body(torch):
        t = torch.arange(8.0).reshape(2, 2, 2)
        return torch.sort(t, out=(eval(window, {"t": t}), torch.zeros(0, dtype=torch.int64)))

    both(body)


@pytest.mark.parametrize("shape", [(0,), (4, 0), (0, 2), (4, 0, 3)])
@pytest.mark.parametrize("text", ["cat([t, t], out=t)", "cat([t, t[:]], out=t[:])", "vstack([t, t], out=t)", "cat([torch.ones(2, 3), t[:0]], out=t)"])
def test_nothing_joined_into_itself(text, shape, both):
    def body(torch):
        t = torch.zeros(shape)
        try:
            return eval(f"torch.{text}", {"torch": torch, "t": t})
        except RuntimeError as error:
            return str(error)

    both(body)


@pytest.mark.parametrize("text", [
    "torch.cat([t, t], out=t)", "torch.stack([t], out=t)", "torch.cat([z, torch.ones(0, 2)], out=z)", "torch.cat([z, z], out=z)",
    "torch.index_select(t, 2, torch.tensor([0]), out=t)", "torch.cat([s], out=s)", "torch.take(s, torch.tensor([0, 1, 2]), out=s)",
])  # fmt: skip
def test_a_tensor_shares_memory_with_itself_even_if_empty(text, both):
    def body(torch):
        return eval(text, {"torch": torch, "t": torch.zeros(4, 0, 3), "z": torch.zeros(0), "s": torch.zeros(6)[::2]})

    both(body)


ARGUMENTS = {
    "index_add_ dim": lambda t, x, i: x.index_add_(5, i, t.ones(3)), "index_add_ dtype": lambda t, x, i: x.index_add_(0, i, t.ones(3).double()),
    "index_add_ range": lambda t, x, i: x.index_add_(0, i + 5, t.ones(3)), "index_add_": lambda t, x, i: x.index_add_(0, i, t.ones(3)),
    "index_reduce_ count": lambda t, x, i: x.index_reduce_(0, i[:2], t.ones(3), "amax"),
    "scatter_add_ dim": lambda t, x, i: x.scatter_add_(5, i, t.ones(3)), "scatter_add_ size": lambda t, x, i: x.scatter_add_(0, i, t.ones(1)),
    "scatter_ float": lambda t, x, i: x.scatter_(0, i.float(), t.ones(3)), "scatter_": lambda t, x, i: x.scatter_(0, i, 1.0),
    "put_ count": lambda t, x, i: x.put_(i, t.ones(2)), "put_ range": lambda t, x, i: x.put_(i + 5, t.ones(3)),
    "clamp_": lambda t, x, i: x.clamp_(), "pow_": lambda t, x, i: x.long().expand(3).pow_(-1), "div_": lambda t, x, i: x.div_(2, rounding_mode="x"),
    "lerp_": lambda t, x, i: x.lerp_(t.ones(3).double(), 1), "lerp_ of integers": lambda t, x, i: _ones(t, t.int16).lerp_(t.ones(3).short(), 0.5),
    "addmv_": lambda t, x, i: x.addmv_(t.ones(3, 2), t.ones(3)), "relu_": lambda t, x, i: _ones(t, t.bool).relu_(),
    "add_": lambda t, x, i: x.add_(t.ones(2)), "addcmul_": lambda t, x, i: x.addcmul_(t.ones(2), t.ones(3)),
    "bernoulli_": lambda t, x, i: x.bernoulli_(2.0), "sort": lambda t, x, i: t.sort(x, out=(x, t.zeros(0).long())),
}  # fmt: skip


def _ones(torch: Any, dtype: Any) -> Any:
    return torch.ones(1, dtype=dtype).expand(3)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_are_checked_before_overlap(both: Callable[..., Any], name: str) -> None:
    both(lambda torch: ARGUMENTS[name](torch, _ones(torch, torch.float32), torch.tensor([0, 1, 2])))


KEYS = {
    "negative": (lambda t: t[:, 1:], "[-1, 1]", lambda t: t[:, 1:]), "turned": (lambda t: t, "[2, 1, 0]", lambda t: t),
    "along": (lambda t: t[0], "[1, -1]", lambda t: t[0][:2]), "round": (lambda t: t, "[1, 2, 0]", lambda t: t[:]),
}  # fmt: skip


@pytest.mark.parametrize("name", KEYS)
def test_indexed_writes_of_the_same_window(both: Callable[..., Any], name: str) -> None:
    target, index, value = KEYS[name]

    def body(torch: Any) -> Any:
        t = torch.arange(9.0).reshape(3, 3)
        target(t)[torch.tensor(eval(index))] = value(t)
        return t

    both(body)


@pytest.mark.parametrize("value", ["t.tensor(float('nan'))", "t.tensor([[float('inf')]])", "t.tensor(1e30)", "t.tensor(2.5)", "t.tensor(1j)"])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "float16", "bool"])
def test_a_mask_takes_numbers_that_fit(both: Callable[..., Any], dtype: str, value: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.zeros(3, dtype=getattr(torch, dtype))
        x[torch.tensor([True, False, True])] = eval(value, {"t": torch})
        return x

    both(body)


@pytest.mark.parametrize("value", ["t[1]", "t[0]", "t[1, 1]", "t[1, 1:2]", "t", "t.clone()[1]", "3.0", "t[:, 1]", "t[:0]", "t[None, 1]"])
@pytest.mark.parametrize("key", [
    "..., short", "short", "long", ":, short", "0, short", "0, ..., short", "None, :, :, short", ":1, short", "[0, 1], short",
    "..., torch.tensor([True, False, True])", "[0, 1], torch.tensor([True, False, True])", "0, torch.tensor([True, False, True])",
])  # fmt: skip
def test_parts_of_a_tensor_put_into_it_by_a_mask(both, key, value):
    """Overlap is checked first, then the masks' shapes; a single element can be written wherever the key is a mask only."""

    def body(torch):
        names = {"torch": torch, "t": torch.zeros(2, 3), "short": torch.tensor([False, True]), "long": torch.tensor([True] * 3)}
        exec(f"t[{key}] = {value}", names)
        return names["t"]

    both(body)


@pytest.mark.parametrize("write", [
    "i.index_fill_(0, i, 0)", "i.index_fill_(0, i[:1], 0)", "i[:2].index_fill_(0, i[2:], 0)", "i.index_fill_(0, i.clone(), i[0])",
    "i.index_put_((i,), i.clone())", "i.index_put_((i,), i.clone(), True)", "i.index_put_((i.clone(),), i, True)",
    "y.index_put_((i,), y[0], True)", "y.index_put_((i,), y[3:], True)", "y.index_put_((i,), y[:3], True)", "i[i] = 0", "i[i] = i.clone()",
    "i[i[:2]] = 1", "i[i[0]] = 5", "i[i > 0] = i[0]", "i[i] += 1", "i[:2][i[2:]] = 0", "f[i] = f", "f[:, i] = f[0]", "f[i, i] = f[0]",
    "f[0][i] = f[1]", "m[m] = False", "m[m] = m[0]", "i[[0, 1]] = i[1]", "i.put_(i, i.clone())", "i.scatter_(0, i, 5)",
])  # fmt: skip
def test_indices_in_the_memory_that_they_choose_from(both, write):
    def body(torch):
        names = {"i": torch.tensor([2, 1, 0]), "y": torch.arange(6.0), "f": torch.arange(9.0).view(3, 3), "m": torch.tensor([True, False])}
        exec(write, names)
        return [names[name] for name in "iyfm"]

    both(body)
