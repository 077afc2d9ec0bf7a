"""Layers, losses and products with tensors of several dtypes: torch's error, or torch's result."""
from __future__ import annotations

import pytest

KINDS = ("float32", "float64", "float16", "bfloat16", "int64")


def _made(torch, kind, *shape):
    return None if kind is None else torch.ones(*shape).to(getattr(torch, kind))


def _norm(torch, name, kind, weight, bias):
    F, x = torch.nn.functional, _made(torch, kind, 2, 4, 3)
    weight, bias = _made(torch, weight, 4), _made(torch, bias, 4)
    if name == "layer_norm":
        return F.layer_norm(_made(torch, kind, 2, 4), (4,), weight, bias)
    if name == "group_norm":
        return F.group_norm(x, 2, weight, bias)
    if name == "instance_norm":
        return F.instance_norm(x, weight=weight, bias=bias)
    if name == "batch_norm":
        return F.batch_norm(x, _made(torch, kind, 4), _made(torch, kind, 4), weight, bias, training=True)
    return F.batch_norm(x, weight, bias, None, None, training=name == "running, in training")


@pytest.mark.parametrize("weight", [None, *KINDS])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "instance_norm", "batch_norm", "running", "running, in training"])
def test_normalisations(both, name, kind, weight):
    for bias in (None, "float32", "float64", "float16", "int64"):
        both(lambda torch: str(_norm(torch, name, kind, weight, bias).dtype))


CALLS = {
    "rms_norm": lambda F, made, a, b: F.rms_norm(made(a, 2, 4), (4,), made(b, 4)),
    "linear": lambda F, made, a, b: F.linear(made(a, 2, 4), made(a, 3, 4), made(b, 3)),
    "linear of a vector": lambda F, made, a, b: F.linear(made(a, 4), made(a, 3, 4), made(b, 3)),
    "bilinear": lambda F, made, a, b: F.bilinear(made(a, 2, 3), made(b, 2, 3), made(a, 1, 3, 3)),
    "bilinear bias": lambda F, made, a, b: F.bilinear(made(a, 2, 3), made(a, 2, 3), made(a, 1, 3, 3), made(b, 1)),
    "nll_loss": lambda F, made, a, b: F.nll_loss(made(a, 2, 3), made("int64", 2), made(b, 3)),
    "nll_loss of images": lambda F, made, a, b: F.nll_loss(made(a, 2, 3, 2, 2), made("int64", 2, 2, 2), made(b, 3)),
    "cross_entropy": lambda F, made, a, b: F.cross_entropy(made(a, 2, 3), made("int64", 2), made(b, 3)),
    "cross_entropy of shares": lambda F, made, a, b: F.cross_entropy(made(a, 2, 3), made(b, 2, 3)),
    "multi_margin_loss": lambda F, made, a, b: F.multi_margin_loss(made(a, 2, 3), made("int64", 2), weight=made(b, 3)),
    "multilabel_margin_loss": lambda F, made, a, b: F.multilabel_margin_loss(made(a, 2, 3), made(b, 2, 3)),
    "grid_sample": lambda F, made, a, b: F.grid_sample(made(a, 1, 1, 2, 2), made(b, 1, 2, 2, 2), align_corners=False),
    "grid_sample of volumes": lambda F, made, a, b: F.grid_sample(made(a, 1, 1, 2, 2, 2), made(b, 1, 2, 2, 2, 3), align_corners=False),
    "dropout": lambda F, made, a, b: F.dropout(made(a, 2, 3), 0.5).shape,
    "attention mask": lambda F, made, a, b: F.scaled_dot_product_attention(*[made(a, 1, 1, 2, 4)] * 3, made(b, 2, 2)),
}
NEEDS = {"cross_entropy of shares", "multilabel_margin_loss", "bilinear", "grid_sample", "grid_sample of volumes"}


@pytest.mark.parametrize("b", [None, *KINDS])
@pytest.mark.parametrize("a", KINDS)
@pytest.mark.parametrize("name", CALLS)
def test_functions(both, name, a, b):
    if (name == "linear" and a == "int64") or (b is None and name in NEEDS):
        pytest.skip("a second operand is needed, or the kernel for whole numbers has another name")

    def body(torch):
        found = CALLS[name](torch.nn.functional, lambda kind, *shape: _made(torch, kind, *shape), a, b)
        return str(getattr(found, "dtype", found))

    both(body)


@pytest.mark.parametrize("kind", KINDS)
def test_products_and_layers(both, kind):
    def tried(call):
        try:
            return str(call().dtype)
        except (RuntimeError, ValueError) as error:
            return type(error).__name__, str(error).split("\n")[0]

    both(lambda torch: tried(lambda: torch.linalg.vecdot(torch.ones(2, 3), _made(torch, kind, 2, 3))))
    both(lambda torch: tried(lambda: torch.addmv(_made(torch, kind, 2), torch.ones(2, 3), torch.ones(3))))
    both(lambda torch: tried(lambda: torch.nn.LSTM(4, 3)(_made(torch, kind, 2, 1, 4))[0]))
    both(lambda torch: tried(lambda: torch.nn.functional.binary_cross_entropy(torch.ones(2), torch.ones(2), _made(torch, kind, 2))))


FACTORS = (
    "linalg.cholesky linalg.inv linalg.det linalg.slogdet linalg.svd linalg.svdvals linalg.qr geqrf linalg.eig linalg.eigvals linalg.eigh "
    "linalg.eigvalsh linalg.lu linalg.lu_factor linalg.cond linalg.ldl_factor cholesky_inverse cholesky"
).split()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "int64", "bool"])
@pytest.mark.parametrize("name", FACTORS)
def test_matrices_of_other_numbers(both, name, kind):
    if name in ("linalg.eig", "linalg.eigvals") and kind in ("int64", "bool"):
        pytest.skip("torch speaks of a complex type that there is not")

    def body(torch):
        function = torch
        for part in name.split("."):
            function = getattr(function, part)
        return function(torch.eye(2).to(getattr(torch, kind)))

    both(body)
