"""make_fx of functions that torch writes in Python: their computation is recorded in the graph, or raises; it is never a constant of the
traced run."""
from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mstorch
from mstorch import nn

Function = Callable[..., Any]
rnn, parametrizations, prune = nn.utils.rnn, nn.utils.parametrizations, nn.utils.prune
make_fx = importlib.import_module("mstorch.fx.experimental.proxy_tensor").make_fx


def _clipped(clip: Function, bound: float) -> Function:
    def function(x: Any) -> Any:
        parameter = nn.Parameter(mstorch.zeros(4, 3))
        parameter.grad = x.clone()
        clip([parameter], bound)
        return parameter.grad

    return function


def _layer(made: Function, name: str, **options: Any) -> Function:
    """Return the output of a layer whose weight a function parametrizes, as a function of the parameter."""
    mstorch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of functions that have a successor
        layer = made(nn.Linear(3, 4), **options).eval()
    return lambda x: mstorch.func.functional_call(layer, {name: x}, (mstorch.ones(2, 3),))


def _pruned(method: Function, *args: Any) -> Function:
    layer = nn.Linear(3, 4)

    def function(x: Any) -> Any:
        layer.weight = nn.Parameter(x.detach().clone())
        found = method(layer, "weight", *args).weight.clone()
        prune.remove(layer, "weight")
        return found

    return function


def _padded(x: Any) -> Any:
    return rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [3, 1, 1], enforce_sorted=False))[0]


FUNCTIONS: dict[str, Function] = {
    "clip_grad_norm_": _clipped(nn.utils.clip_grad_norm_, 0.5), "clip_grad_value_": _clipped(nn.utils.clip_grad_value_, 0.1),
    "get_total_norm": lambda x: nn.utils.get_total_norm([x, x.sin()]),
    "parameters_to_vector": lambda x: nn.utils.parameters_to_vector([x, x.t().contiguous()]),
    "pad_sequence": lambda x: rnn.pad_sequence([x, x[:2]]), "pack_sequence": lambda x: rnn.pack_sequence([x, x[:2]]).data,
    "pack_padded_sequence": lambda x: rnn.pack_padded_sequence(x.unsqueeze(-1), [4, 2, 1]).data,
    "pad_packed_sequence": lambda x: _padded(x.unsqueeze(-1)),
    "weight_norm": _layer(parametrizations.weight_norm, "parametrizations.weight.original1"), "weight_norm by a hook": _layer(nn.utils.weight_norm, "weight_v"),
    "spectral_norm": _layer(parametrizations.spectral_norm, "parametrizations.weight.original"), "spectral_norm by a hook": _layer(nn.utils.spectral_norm, "weight_orig"),
    "orthogonal": _layer(parametrizations.orthogonal, "parametrizations.weight.original"),
    "cayley": _layer(
        parametrizations.orthogonal, "parametrizations.weight.original", orthogonal_map="cayley", use_trivialization=False
    ),
    "l1_unstructured": _pruned(prune.l1_unstructured, 0.5), "ln_structured": _pruned(prune.ln_structured, 0.5, 2, 0),
    "deepcopy": lambda x: importlib.import_module("copy").deepcopy(nn.Parameter(x.detach())) * 1,
    "hessian": lambda x: mstorch.func.hessian(lambda y: y.sin().sum())(x[0]),
    "jacfwd": lambda x: mstorch.func.jacfwd(lambda y: y.sin())(x[0]),
    "masked sum": lambda x: mstorch.masked.sum(x, 1, mask=x > 0), "masked var": lambda x: mstorch.masked.var(x, 1, False, mask=x > -1),
    "masked softmax": lambda x: mstorch.masked.softmax(x, 1, mask=x > 0), "masked norm": lambda x: mstorch.masked.norm(x, 2, 1, mask=x > 0),
    "masked normalize": lambda x: mstorch.masked.normalize(x, 2.0, 1, mask=x > 0),
    "masked cumsum": lambda x: mstorch.masked.cumsum(x, 1, mask=x > 0), "masked median": lambda x: mstorch.masked.median(x, 1, mask=x > 0),
    "masked amax": lambda x: mstorch.masked.amax(x, 1, mask=x > 0),
    "normalize": nn.functional.normalize, "cosine_similarity": lambda x: nn.functional.cosine_similarity(x, x.sin()),
    "tensordot": lambda x: mstorch.tensordot(x, x.sin(), 2), "cdist": lambda x: mstorch.cdist(x, x.sin()),
    "meshgrid": lambda x: mstorch.meshgrid(x[0], x[1], indexing="ij")[0], "block_diag": lambda x: mstorch.block_diag(x, x[:1]),
    "entropy": lambda x: mstorch.distributions.Normal(x, x.exp(), validate_args=False).entropy(),
    "log_prob": lambda x: mstorch.distributions.Gamma(x.exp(), x.cosh(), validate_args=False).log_prob(x.exp()),
}  # fmt: skip
REFUSED = {"orthogonal", "cayley", "ln_structured", "hessian", "jacfwd"}
"""Functions with operators that are not known in the terms of torch.ops.aten, places that are written to, or forward mode."""


def _agree(one: Any, other: Any) -> None:
    np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), 1e-4, 1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.on_the_cpu
@pytest.mark.filterwarnings("ignore")
def test_functions_with_other_arguments(name: str) -> None:
    mstorch.manual_seed(1)
    first, second = mstorch.randn(4, 3), mstorch.randn(4, 3)
    try:
        graph = make_fx(FUNCTIONS[name])(first)
    except NotImplementedError as error:
        assert name in REFUSED, error
        return
    _agree(graph(second), FUNCTIONS[name](second))


def _masks() -> dict[str, Any]:
    hidden = mstorch.tensor([[False, False, True], [False, True, True]])
    square = mstorch.tensor([[False, True, True], [False, False, True], [False, False, False]])
    return {
        "padding": ({"src_key_padding_mask": hidden}, {"src_key_padding_mask": hidden.flip(0)}),
        "bool mask": ({"src_mask": square}, {"src_mask": mstorch.zeros(3, 3, dtype=mstorch.bool)}),
        "float mask": ({"src_mask": mstorch.zeros(3, 3)}, {"src_mask": mstorch.randn(3, 3)}),
        "both": ({"src_mask": square, "src_key_padding_mask": hidden},
                 {"src_mask": square.t(), "src_key_padding_mask": mstorch.zeros(2, 3, dtype=mstorch.bool)}),
    }  # fmt: skip


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", ["padding", "bool mask", "float mask", "both"])
@pytest.mark.on_the_cpu
@pytest.mark.filterwarnings("ignore")
def test_masks_are_arguments_of_the_graph(name: str, training: bool) -> None:
    mstorch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True).train(training)
    x, (first, second) = mstorch.randn(2, 3, 4), _masks()[name]

    def call(x: Any, masks: Any) -> Any:
        return layer(x, **masks)

    _agree(make_fx(call)(x, first)(x, second), call(x, second))


@pytest.mark.on_the_cpu
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", [
    lambda x, n: rnn.pack_padded_sequence(x, n).data,
    lambda x, n: nn.TransformerEncoder(nn.TransformerEncoderLayer(3, 1, 4), 1)(x, mask=n.expand(4, -1).float()[:, :1].expand(4, 4)),
])  # fmt: skip
def test_lengths_and_masks_that_decide_are_not_read(call: Function) -> None:
    with pytest.raises(RuntimeError, match="get value out of a tracing tensor"):
        make_fx(call)(mstorch.randn(4, 3, 3), mstorch.tensor([4, 2, 1]))


@pytest.mark.on_the_cpu
@pytest.mark.parametrize("name", ["silu", "mish", "hardswish", "hardsigmoid", "attention in groups", "floor of a quotient", "remainder"])
def test_composite_functions_are_traced_as_in_torch(name: str) -> None:
    functional = {library: library.nn.functional for library in (torch, mstorch)}
    calls: dict[str, Function] = {
        "attention in groups": lambda library, q, k: functional[library].scaled_dot_product_attention(q, k, k, enable_gqa=True),
        "floor of a quotient": lambda library, q, k: 5 // (q.detach().abs() + 1) + q, "remainder": lambda library, q, k: 5 % (q.detach().abs() + 1) + q,
    }  # fmt: skip
    found = []
    for library in (torch, mstorch):
        library.manual_seed(0)
        q, k = library.randn(1, 4, 3, 8, requires_grad=True), library.randn(1, 2, 3, 8)
        call = calls.get(name, lambda library, q, k: getattr(functional[library], name)(q * 1, inplace=True))
        made = importlib.import_module(f"{library.__name__}.fx.experimental.proxy_tensor").make_fx(
            lambda q, k: library.autograd.grad(call(library, q, k).sum(), q)[0]
        )(q, k)
        found.append((made(q, k).detach().numpy(), [str(node.target) for node in made.graph.nodes if node.op == "call_function"]))
    np.testing.assert_allclose(found[0][0], found[1][0], 1e-5, 1e-6)
    for operator in ("silu_", "mish_", "hardswish_", "hardsigmoid_", "floor_divide", "remainder", "flash"):
        assert sum(operator in target for target in found[0][1]) == sum(operator in target for target in found[1][1])
