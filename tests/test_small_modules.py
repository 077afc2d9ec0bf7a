"""Small modules: torch.export, ao.quantization, nn.quantized, utils.weak, utils.cpp_extension, __future__, futures, onnx."""
from __future__ import annotations

import copy
import gc
import importlib
import pickle
import threading
import unittest
import warnings

import pytest
import torch as real_torch

import mstorch
from tests.against_torch import both


def _module(torch, name):
    return importlib.import_module(f"{torch.__name__}.{name}")


def test_export():
    def body(torch):
        net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
        program = torch.export.export(net, (torch.ones(4, 3),))
        made = program.module()
        x = torch.randn(4, 3)
        torch.nn.init.zeros_(net[0].bias)
        return list(program.state_dict), made(x).shape, (made(x) - program.module()(x)).abs().max(), isinstance(made, torch.nn.Module)

    both(body)
    both(lambda torch: torch.export.export(len, (torch.ones(1),)))
    both(lambda torch: torch.export.export(torch.nn.ReLU(), (torch.ones(1),))(torch.ones(1)))
    both(lambda torch: torch.export.export(torch.nn.ReLU(), (torch.ones(1),)).module().eval())
    both(lambda torch: torch.export.Dim("x", min=3, max=2))
    both(lambda torch: [d.__name__ for d in torch.export.dims("a", "b")])
    program = mstorch.export.export(mstorch.nn.ReLU(), (mstorch.ones(2),)).module()
    with pytest.raises(AssertionError, match="Guard failed"):
        program(mstorch.ones(3))
    flexible = mstorch.export.export(mstorch.nn.ReLU(), (mstorch.ones(2),), dynamic_shapes=({0: mstorch.export.Dim.AUTO},))
    assert flexible.module()(mstorch.ones(3)).shape == (3,)


def test_quantization_names():
    def body(torch):
        quantization = _module(torch, "ao.quantization")
        functional = torch.nn.quantized.FloatFunctional()
        x = torch.tensor([-1.0, 2.0])
        return [
            quantization.QuantStub()(x), quantization.DeQuantStub()(x), functional.add(x, x), functional.mul(x, x), functional.cat([x, x], 0),
            functional.add_relu(x, x), functional.add_scalar(x, 2), functional.mul_scalar(x, 2), list(functional.state_dict()),
            quantization.QConfig(activation=int, weight=float)[0],
        ]  # fmt: skip

    both(body)
    both(lambda torch: torch.nn.quantized.FloatFunctional()(1))


def test_weak_dictionaries():
    def body(torch):
        weak = _module(torch, "utils.weak")
        first, second = torch.ones(2), torch.ones(2)
        table = weak.WeakTensorKeyDictionary({first: 1})
        table[second] = 2
        found = [table[first], table[second], len(table), first in table, torch.ones(2) in table, 3 in table]
        reference = weak.TensorWeakRef(second)
        found.append(reference() is second)
        del second
        gc.collect()
        return [*found, len(table), reference() is None, [value for value in table.values()]]  # noqa: C416

    both(body)


def test_futures():
    def body(torch):
        futures = _module(torch, "futures")
        one, two = futures.Future(), futures.Future()
        seen = []
        one.add_done_callback(lambda future: seen.append(future.value()))
        later = one.then(lambda future: future.wait() + 1)
        together = futures.collect_all([one, two])
        threading.Timer(0.01, two.set_result, ["b"]).start()
        one.set_result(3)
        results = [one.done(), one.wait(), later.wait(), [future.wait() for future in together.wait()], futures.wait_all([one, two]), seen]
        broken = futures.Future()
        broken.set_exception(ValueError("a"))
        for call in (broken.wait, lambda: futures.wait_all([one, broken]), lambda: one.set_result(4), lambda: one.set_exception(3)):
            try:
                call()
            except (ValueError, RuntimeError, AssertionError) as error:
                results.append((type(error), str(error).split("\n")[0]))
        return results

    both(body)


@pytest.mark.parametrize("fails", [lambda future: 1 / 0, lambda: 1, lambda future: future.missing])
def test_errors_of_callbacks_stay_in_the_log(fails):
    def body(torch):
        future, seen = torch.futures.Future(), []
        future.add_done_callback(fails)
        future.add_done_callback(lambda done: seen.append(done.value()))
        later = future.then(lambda done: done.value() + 1)
        future.set_result(5)
        future.add_done_callback(fails)
        wrong = torch.futures.Future()
        wrong.add_done_callback(fails)
        wrong.set_exception(KeyError("own"))
        return seen, future.wait(), later.wait()

    with unittest.TestCase().assertLogs("mstorch.futures", "ERROR") as logs:
        both(body)
    assert [record.getMessage().split(":")[0] for record in logs.records] == ["Got the following error when running the callback"] * 3


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_futures_are_not_copied(copied):
    both(lambda torch: copied(torch.futures.Future()))


def test_what_raises():
    assert not mstorch.onnx.is_in_onnx_export()
    both(lambda torch: _module(torch, "__future__").get_swap_module_params_on_conversion())


def test_names_of_aten():
    def body(torch):
        aten = torch.ops.aten
        x = torch.arange(6.0).view(2, 3)
        return [
            aten.slice.Tensor(x, 1, 0, 3, 2), aten.index.Tensor(x, [None, torch.tensor([0, 2])]), aten._to_copy.default(x, dtype=torch.int32),
            aten.alias.default(x), aten._local_scalar_dense.default(x[1, 1]), aten.add.Tensor(x, x, alpha=2), aten.sym_size.int(x, 1),
        ]  # fmt: skip

    both(body)


def test_unions_of_weak_dictionaries(both):
    def body(t):
        weak = importlib.import_module(f"{t.__name__}.utils.weak")
        a, b = t.ones(1), t.zeros(1)
        first, second = weak.WeakIdKeyDictionary({a: 1}), weak.WeakIdKeyDictionary({b: 2, a: 3})
        joined, text = first | second, repr(first).partition(" at")[0]
        first |= second
        return joined[a], joined[b], (second | {b: 5})[b], ({b: 7} | first)[b], first[a], text, len(first.copy()), len(first.keyrefs())

    both(body)


def test_compiled_classes_are_not_there(both):
    both(lambda torch: torch.classes.library.Kind)
    both(lambda torch: (sorted(torch.classes.loaded_libraries), torch.classes.library.name))
    for torch in (real_torch, mstorch):
        with pytest.raises(OSError, match="Could not load this library"):
            torch.classes.load_library("/nowhere/library.so")


@pytest.mark.parametrize("name", ["has_cuda", "has_cudnn", "has_mkldnn", "has_mps"])
def test_features_that_older_programs_ask_about(name):
    heard = []
    for torch in (real_torch, mstorch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert isinstance(getattr(torch, name), bool)
        heard.append([(str(warning.message), warning.category) for warning in caught])
    assert heard[0] == heard[1]


def test_older_names_of_private_modules(both):
    def of(torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compiling = torch._utils.is_compiling()
        enabled = [torch.autograd._profiler_enabled()]
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
            enabled.append(torch.autograd._profiler_enabled())
        same = torch.autograd.function._ContextMethodMixin is torch.autograd.function.FunctionCtx
        return compiling, [str(warning.message) for warning in caught], enabled, same

    both(of)
