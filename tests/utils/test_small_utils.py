"""Small private utilities of torch: stacks as text, devices of functions, calls as text, modules as functions."""
from __future__ import annotations

import importlib
import os

import pytest
import torch as real_torch

import mstorch

LIBRARIES = (real_torch, mstorch)
each = pytest.mark.parametrize("torch", LIBRARIES, ids=lambda library: library.__name__)


@each
def test_stacks(torch):
    module = importlib.import_module(f"{torch.__name__}.utils._traceback")
    try:
        raise RuntimeError
    except RuntimeError as error:
        assert module.format_traceback_short(error.__traceback__).endswith(" in test_stacks")
    kept = module.CapturedTraceback.extract()
    assert "in test_stacks" in kept.format()[-1]
    assert len(module.CapturedTraceback.format_all([kept, module.CapturedTraceback.extract()])) == 2
    kept.cleanup()
    assert kept.format() == []


@each
def test_calls_as_text(torch):
    text = torch._utils.render_call(torch.sum, [torch.randn(100)], {"dim": 0})
    assert text == "torch.sum(tensor([...], size=(100,)), dim=0)"


@each
def test_functions_with_a_device(torch):
    set_device = importlib.import_module(f"{torch.__name__}.utils._device").set_device

    @set_device("meta")
    def made():
        return torch.empty(3)

    @set_device("meta")
    def several():
        yield torch.empty(3)
        yield torch.empty(3)

    assert [x.device.type for x in (made(), *several(), torch.empty(1))] == ["meta", "meta", "meta", "cpu"]


@each
def test_modules_as_functions(torch):
    module = importlib.import_module(f"{torch.__name__}._functorch.make_functional")
    torch.manual_seed(0)
    net = torch.nn.Linear(2, 2)
    function, params = module.make_functional(net)
    assert torch.equal(function(params, torch.ones(1, 2)), net(torch.ones(1, 2)))
    with pytest.raises(RuntimeError, match="`model` has buffers"):
        module.make_functional(torch.nn.BatchNorm1d(2))
    weights, buffers, function, names, _ = module.functional_init_with_buffers(torch.nn.BatchNorm1d, [3])(2)
    assert [tuple(x.shape) for x in weights] == [(3, 2), (3, 2)] and len(buffers) == 3 and names == ("weight", "bias")
    part = importlib.import_module(f"{torch.__name__}._functorch.eager_transforms")._slice_argnums
    assert part((1, 2, 3), (0, -1)) == (1, 3) and part((1, 2), -1) == (2,) and part((1, 2), 1, as_tuple=False) == 2


@each
def test_aliases(torch):
    x = torch.ones(2, 2)
    assert torch._C._is_alias_of(x, x.view(4)) and not torch._C._is_alias_of(x, x.clone())
    assert torch.autograd.kineto_available() in (True, False)


def test_where_cmake_is_to_look(both):
    both(lambda torch: os.path.relpath(torch.utils.cmake_prefix_path, os.path.dirname(torch.__file__)))
