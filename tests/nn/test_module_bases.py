"""Base classes of layers: programs use ``isinstance(layer, nn.Conv2d)``, tools also torch's private bases."""
from __future__ import annotations

import importlib

import pytest
import torch as real_torch

from mstorch import nn
from tests.against_torch import both

LAYERS = sorted(
    name for name, value in vars(real_torch.nn).items()
    if isinstance(value, type) and issubclass(value, real_torch.nn.Module) and hasattr(nn, name)
)  # fmt: skip


def _bases(kind, library):
    return [base.__name__ for base in kind.__mro__ if base.__module__.startswith(f"{library}.nn.modules")]


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_derived_from_what_torchs_is(name):
    want = _bases(getattr(real_torch.nn, name), "torch")
    ours = _bases(getattr(nn, name), "mstorch")
    assert [base for base in ours if base in want] == want


@pytest.mark.parametrize("layer, base", [
    ("padding.ReflectionPad2d", "_ReflectionPadNd"), ("padding.ReplicationPad1d", "_ReplicationPadNd"), ("pooling.AvgPool1d", "_AvgPoolNd"),
    ("padding.ZeroPad2d", "ConstantPad2d"), ("conv.LazyConv2d", "_LazyConvXdMixin"),
])  # fmt: skip
def test_bases_are_in_torchs_modules(layer, base):
    where, name = layer.split(".")

    def body(torch):
        module = importlib.import_module(f"{torch.__name__}.nn.modules.{where}")
        return issubclass(getattr(module, name), getattr(module, base)), issubclass(torch.nn.Conv2d, getattr(module, base))

    both(body)


def test_layers_with_more_bases_work_as_before():
    def body(torch):
        torch.manual_seed(0)
        image = torch.arange(32.0).reshape(1, 2, 4, 4)
        line = torch.arange(12.0).reshape(1, 2, 6)
        layers = [
            (torch.nn.ZeroPad1d(2), line), (torch.nn.ZeroPad2d((1, 0, 2, 1)), image), (torch.nn.AvgPool1d(2, padding=1), line),
            (torch.nn.AvgPool2d(2, divisor_override=3), image), (torch.nn.ReflectionPad2d(1), image), (torch.nn.ReplicationPad1d(1), line),
            (torch.nn.LazyConv2d(3, 2), image), (torch.nn.LazyConv1d(2, 3, bias=False), line), (torch.nn.LazyConvTranspose2d(2, 2, 2), image),
        ]  # fmt: skip
        results = []
        for layer, given in layers:
            before = repr(layer), isinstance(layer, torch.nn.Conv2d), sorted(vars(layer).get("__constants__", ()))
            results.append((before, layer(given), repr(layer), type(layer).__name__, isinstance(layer, torch.nn.Conv2d)))
        return results

    both(body, rtol=1e-5)


class Mixed:
    """A base of no Module, which takes arguments."""

    def __init__(self, given=1, *, key=2):
        super().__init__()
        self.given, self.key = given, key


@pytest.mark.parametrize("calls", [True, False])
@pytest.mark.parametrize("args, options", [((), {}), ((7,), {}), ((), {"key": 3}), ((7,), {"key": 3}), ((7, 8), {})])
def test_call_super_init(both, calls, args, options):
    """Bases after Module are initialized too where the class asks for it, with all arguments."""

    def body(torch):
        class Both(torch.nn.Module, Mixed):
            call_super_init = calls

            def __init__(self, *args, **options):
                super().__init__(*args, **options)
                self.layer = torch.nn.Linear(1, 1)

        module = Both(*args, **options)
        return getattr(module, "given", None), getattr(module, "key", None), [name for name, _ in module.named_parameters()]

    both(body)


def test_call_super_init_without_other_bases(both):
    def body(torch, *args):
        return type(type("Plain", (torch.nn.Module,), {"call_super_init": True})(*args)).__name__

    both(body)
    both(lambda torch: body(torch, 1))
