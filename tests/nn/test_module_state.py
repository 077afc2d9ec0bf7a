"""state_dict, load_state_dict, conversions of modules, copies of lazy modules."""
from __future__ import annotations

import copy
import gc
import importlib
import pickle

import pytest
import torch as real_torch

import mstorch


def module_of(torch):
    module = torch.nn.Module()
    module.p = torch.nn.Parameter(torch.ones(2))
    module.register_buffer("b", torch.zeros(2))
    return module


@pytest.fixture
def switches():
    """Restore the switches of both libraries at the end."""
    yield
    for library in (real_torch, mstorch):
        library.__future__.set_swap_module_params_on_conversion(False)
        library.__future__.set_overwrite_module_params_on_conversion(False)


@pytest.mark.parametrize("name", ["swap", "overwrite", "none"])
@pytest.mark.usefixtures("switches")
def test_conversions(both, name):
    def body(torch):
        if name != "none":
            getattr(torch.__future__, f"set_{name}_module_params_on_conversion")(True)
        module = module_of(torch)
        module.p.grad = torch.ones(2)
        number, gradient = id(module.p), id(module.p.grad)
        module.half()
        return module.p, module.p.grad, id(module.p) == number, id(module.p.grad) == gradient

    both(body)


@pytest.mark.parametrize("assign", [True, False])
@pytest.mark.parametrize("swap", [True, False])
@pytest.mark.usefixtures("switches")
def test_loading(both, swap, assign):
    def body(torch):
        torch.__future__.set_swap_module_params_on_conversion(swap)
        module = module_of(torch)
        number = id(module.p)
        found = module.load_state_dict({"p": torch.arange(2.0).double(), "b": torch.ones(2)}, assign=assign)
        return str(found), module.p, module.b, id(module.p) == number, isinstance(module.p, torch.nn.Parameter)

    both(body)


@pytest.mark.parametrize("more", [{"p.t": 1}, {"p": 2}, {"other": 3}])
def test_keys_and_values_that_do_not_fit(both, more):
    def body(torch):
        given = {name: torch.ones(number) if name != "p" else [1] for name, number in more.items()}
        return module_of(torch).load_state_dict({"p": torch.ones(2), "b": torch.ones(2), **given})

    both(body)


def test_loading_leaves_no_cycles(both):
    gc.collect()
    gc.freeze()  # the search must not go ten times through objects of other tests

    def collected(module, values):
        gc.collect()
        gc.disable()
        module.load_state_dict(values)
        gc.enable()
        return gc.collect()

    def body(torch):
        module = torch.nn.Linear(2, 2)
        values = module.state_dict()
        return min(collected(module, values) for _ in range(5))  # other threads of the process may leave cycles meanwhile

    both(body)


def test_a_public_hook_of_state_dict_is_not_registered_as_a_private_one(both):
    def body(torch):
        module = module_of(torch)

        def hook(*given):
            pass

        module.register_state_dict_post_hook(hook)
        module._register_state_dict_hook(hook)

    both(body)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_copies_of_lazy_modules(both, copied):
    def body(torch):
        module = copied(torch.nn.LazyLinear(3))
        before = type(module.weight).__name__, len(module._forward_pre_hooks)
        result = module(torch.ones(1, 2))
        return before, type(module).__name__, module.weight.shape, result.shape, len(module._forward_pre_hooks)

    both(body)


@pytest.mark.parametrize("library", ["torch", "mstorch"])
@pytest.mark.parametrize("call", ["add", "share", "load", "number"])
def test_parameters_without_a_size(call, library):
    torch = importlib.import_module(library)
    module = torch.nn.LazyLinear(3)
    if call == "number":
        module.half()
        module.bias.materialize(4)
        assert module.bias.dtype == torch.float16 and module.bias.shape == (4,)
        return
    kind, text = {
        "add": (ValueError, "Attempted to use an uninitialized parameter"),
        "share": (RuntimeError, "Can't share memory on an uninitialized"),
        "load": (RuntimeError, "Can't access the shape of an uninitialized"),
    }[call]
    with pytest.raises(kind, match=text):
        if call == "add":
            module.weight + 1
        elif call == "share":
            module.share_memory()
        else:
            torch.nn.Linear(2, 3).load_state_dict(module.state_dict())


def test_pickles_of_results_and_of_tensors_with_hooks(both):
    def body(torch):
        x = torch.ones(2, requires_grad=True)
        x.register_hook(torch.utils.hooks.unserializable_hook(lambda gradient: gradient))
        result = pickle.loads(pickle.dumps(x * 2))
        x.register_hook(lambda gradient: gradient)
        with pytest.warns(UserWarning, match="will not be serialized"):
            return result, pickle.loads(pickle.dumps(x))

    both(body)


def test_values_for_a_module_without_memory(both):
    def body(torch):
        with torch.device("meta"):
            module = torch.nn.Linear(3, 2)
        with pytest.warns(UserWarning, match="for weight: copying from a non-meta parameter in the checkpoint to a meta"):
            module.load_state_dict({**module.state_dict(), "weight": torch.ones(2, 3)})
        module.load_state_dict({**module.state_dict(), "weight": torch.ones(2, 3)}, assign=True)
        return module.weight

    both(body)


def test_bases_that_make_objects_too(both):
    def body(torch):
        class Kept:
            given = None

            def __new__(cls, *args, **kwargs):
                made = super().__new__(cls)
                made.given = (args, kwargs)
                return made

        class Behind(torch.nn.Module, Kept):
            def __init__(self, width=2):
                super().__init__()
                self.layer = torch.nn.Linear(width, 1)

        class Before(Kept, torch.nn.Module):
            def __init__(self, width=2):
                super().__init__()
                self.layer = torch.nn.Linear(width, 1)

        class Further(Behind):
            pass

        made = [Further(width=3), Behind(4), Before(5), copy.deepcopy(Behind())]
        return [(one.given, sum(p.numel() for p in one.parameters()), isinstance(one, Kept)) for one in made]

    both(body)


@pytest.mark.parametrize("held", ["5", "torch.zeros(2)", "torch.nn.Parameter(torch.zeros(2))", "torch.nn.Linear(1, 1)", "torch.nn.Buffer(torch.zeros(2))"])
@pytest.mark.parametrize("given", ["torch.nn.Buffer(torch.ones(2))", "torch.nn.Parameter(torch.ones(2))", "torch.nn.Linear(1, 1)", "torch.ones(2)", "None"])
def test_attributes_that_take_the_place_of_others(both, held, given):
    def body(torch):
        module = torch.nn.Module()
        module.name = eval(held, {"torch": torch})
        module.name = eval(given, {"torch": torch})
        return list(module._parameters), list(module._buffers), list(module._modules), "name" in module.__dict__

    both(body)
