"""Private names of torch that packages use: torch._C, torch._utils, torch.types, symbolic numbers."""
from __future__ import annotations

import importlib

import pytest


def part(torch, name):
    return importlib.import_module(f"{torch.__spec__.name}.{name}")


def test_c(both):
    def body(torch):
        c = part(torch, "_C")
        parse = c._nn._parse_to
        c._log_api_usage_once("nothing")
        before = c._jit_set_profiling_mode(False)
        c._jit_set_profiling_mode(before)
        return [
            parse("cpu"), parse(torch.float64), parse("cpu", torch.float16, True), parse(torch.ones(1, dtype=torch.float64)),
            parse(device="cpu", non_blocking=True), parse(torch.float32, False), parse(memory_format=torch.channels_last),
            c._get_tracing_state() is None, c._are_functorch_transforms_active(), isinstance(torch.default_generator, c.Generator),
            isinstance(torch.Tensor, c._TensorMeta), issubclass(c._LinAlgError, RuntimeError), c.DispatchKey.CPU.name,
            c.DispatchKeySet(c.DispatchKey.CPU).has(c.DispatchKey.CPU), str(c._get_default_device()),
        ]  # fmt: skip

    both(body)


def test_utils(both):
    def body(torch):
        utils = part(torch, "_utils")
        tensors = [torch.arange(4.0).view(2, 2), torch.ones(3)]
        flat = utils._flatten_dense_tensors(tensors)
        results = [flat, utils._unflatten_dense_tensors(flat * 2, tensors), utils._element_size(torch.float64)]
        results += [utils._get_device_index("cpu", allow_cpu=True), utils._get_device_index(3)]
        results += [[len(group) for group in utils._take_tensors([torch.ones(4)] * 5 + [torch.ones(2, dtype=torch.int64)], 40)]]
        for kind in (ValueError, KeyError):
            try:
                raise kind("words")
            except kind:
                wrapper = utils.ExceptionWrapper(where="in a test")
            try:
                wrapper.reraise()
            except kind as error:
                text = str(error)
                results += [text.splitlines()[0], text.splitlines()[-1], "Original Traceback" in text]

        class Home:
            @utils.classproperty
            def name(cls):
                return cls.__name__

        return [*results, Home.name, Home().name]

    both(body)


@pytest.mark.parametrize("device", ["cpu", "cuda", None])
def test_device_index(both, device):
    both(lambda torch: part(torch, "_utils")._get_device_index(device))


def test_symbols(both):
    def body(torch):
        return [
            isinstance(3, torch.SymInt), torch.sym_int(2.7), torch.sym_float(2), torch.sym_max(1, 2.0), torch.sym_max(3, 2.0),
            torch.sym_min(1, 2), torch.sym_not(True), torch.sym_sum([1, 2, 3]), torch.sym_ite(True, 1, 2), torch._sym_sqrt(4),
            torch.SymFloat.__name__, torch.SymBool.__name__,
        ]  # fmt: skip

    both(body)


def test_types(both):
    def body(torch):
        types = part(torch, "types")
        return [types.__all__, isinstance(True, types.Number), types._Number, types._size is not None, types._device is torch.device,
                types._dtype is torch.dtype, types.py_sym_types == (torch.SymInt, torch.SymFloat, torch.SymBool)]  # fmt: skip

    both(body)


def test_default_to_fused_or_foreach(both):
    def body(torch):
        choose = part(torch, "optim.optimizer")._default_to_fused_or_foreach
        weights = [torch.nn.Parameter(torch.ones(2))]
        return [choose(weights, False), choose(weights, False, use_fused=True), choose(weights, True, use_fused=True)]

    both(body)


def test_softmax_as_operators(both):
    def body(torch):
        x = torch.linspace(-1, 1, 6).reshape(2, 3)
        return [
            torch._softmax(x, 1, False), torch._log_softmax(x, 0, False), torch._safe_softmax(x, 1),
            torch._softmax_backward_data(x, x.softmax(1), 1, torch.float32),
            torch._log_softmax_backward_data(x, x.log_softmax(1), 1, torch.float32), torch._adaptive_avg_pool2d(torch.ones(1, 1, 4, 4), (2, 2)),
        ]  # fmt: skip

    both(body, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["Value", "Node", "Block", "Type"])
def test_types_of_graphs(both, name):
    """The types are used in annotations only, and cannot be constructed."""
    both(lambda torch: isinstance(getattr(torch._C, name), type))
    both(lambda torch: getattr(torch._C, name)())


def test_names_that_programs_take_from_torchs_private_modules(both):
    def body(torch):
        inner = importlib.import_module(f"{torch.__name__}._ops")
        add = torch.ops.aten.add
        return [
            inner.ops.aten.add(torch.ones(2), 1), isinstance(add, inner.OpOverloadPacket), isinstance(add.Tensor, inner.OpOverload),
            torch.cuda._initialized,
        ]  # fmt: skip

    both(body)
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec("from mstorch._src.ops import nothing")
