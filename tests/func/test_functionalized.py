"""functionalize below make_fx: torch's graphs, without writes, and the function's own results and changed arguments."""
from __future__ import annotations

import warnings
from importlib import import_module

import pytest
import torch as real_torch

import mstorch


def _made(torch, rows=2):
    return torch.arange(2.0 * rows).reshape(rows, 2) - 1


def written_once(torch, x):
    y = x.clone()
    y.sin_()
    return y


def argument(torch, x):
    x.add_(1)
    return x * 2


def through_a_transposed_view(torch, x):
    y = x + 1
    y.t().mul_(2)
    return y


def column(torch, x):
    y = x.clone()
    y[:, 1].add_(2)
    return y, y.sum()


def given_memory(torch, x):
    out = torch.empty(2, 2)
    torch.add(x, x, out=out)
    return out


def copied(torch, x):
    y = torch.zeros(2, 2)
    y.copy_(x)
    return y


def one_of_unbind(torch, x):
    y = x.clone()
    a, b = y.unbind(0)
    a.mul_(2)
    return y, b


def one_of_split(torch, x):
    y = x.clone()
    a, b = y.split(1)
    b.mul_(2)
    return y, a


def diagonal(torch, x):
    y = x.clone()
    y.diagonal().add_(1)
    return y


def squeezed(torch, x):
    y = x.clone().unsqueeze(0)
    y.squeeze(0).add_(1)
    return y


def permuted(torch, x):
    y = x.clone()
    y.permute(1, 0).fill_(2.0)
    return y


def detached(torch, x):
    y = x.clone()
    y.detach().add_(1)
    return y


def clamped(torch, x):
    y = x.clone()
    y.masked_fill_(y > 0, 1.0)
    y.clamp_(0, 1)
    return y


def strided(torch, x):
    y = x.clone()
    y.as_strided((2,), (1,)).add_(1)
    return y


def chain_and_base(torch, x):
    y = x.clone()
    z = y.view(-1)[1:3]
    z.mul_(3)
    w = z + 1
    y.add_(1)
    return w, z


def two_outputs(torch, x):
    values, places = torch.empty(0), torch.empty(0, dtype=torch.long)
    torch.max(x, 0, out=(values, places))
    return values, places


def resized(torch, x):
    y = x.clone()
    y.resize_(4)
    return y


def of_an_argument(torch, x):
    z = x[0]
    x.mul_(2)
    return z


BODIES = [value for value in list(globals().values()) if callable(value) and getattr(value, "__module__", "") == __name__ and value is not _made]


def _graph(torch, body, remove):
    make_fx = import_module(f"{torch.__name__}.fx.experimental.proxy_tensor").make_fx
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_fx(torch.func.functionalize(lambda x: body(torch, x), remove=remove))(_made(torch))


@pytest.mark.filterwarnings("ignore:.*resize.*:UserWarning")
@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_graph(body, remove):
    graph = _graph(mstorch, body, remove)
    want = _graph(real_torch, body, remove).code.replace("device(type='cpu')", f"torch.device('{_made(mstorch).device}')")
    assert graph.code.split() == want.split()
    own, given = _made(mstorch), _made(mstorch)
    results, wanted = graph(own), body(mstorch, given)
    for result, want in zip(*((item if isinstance(item, (tuple, list)) else (item,)) for item in (results, wanted))):
        assert mstorch.equal(result, want)
    assert mstorch.equal(own, given)
