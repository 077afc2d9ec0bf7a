"""The text of tensors is torch's repr, character by character."""

import contextlib
import inspect

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mstorch import _tensor_str as ours

NUMPY_NAMES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
               "uint64", "bool", "complex64", "complex128"]  # fmt: skip


def values_of(tensor):
    tensor = tensor.detach()
    if tensor.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        return tensor.float().numpy()
    if tensor.dtype == torch.complex32:
        return tensor.to(torch.complex64).numpy()
    return tensor.resolve_conj().resolve_neg().numpy()


def our_text(tensor, **more):
    return ours.format_tensor(
        None if tensor.is_meta else values_of(tensor),
        dtype_name=str(tensor.dtype).removeprefix("torch."),
        shape=tuple(tensor.shape),
        requires_grad=tensor.requires_grad,
        grad_fn_name=type(tensor.grad_fn).__name__ if tensor.grad_fn is not None else None,
        device=None if tensor.device.type == "cpu" else str(tensor.device),
        is_parameter=isinstance(tensor, torch.nn.Parameter),
        class_name=type(tensor).__name__,
        default_dtype_name=str(torch.get_default_dtype()).removeprefix("torch."),
        **more,
    )


def check(tensor):
    assert our_text(tensor) == repr(tensor)


@contextlib.contextmanager
def both_options(**options):
    before = torch._tensor_str.get_printoptions()
    torch.set_printoptions(**options)
    ours.set_printoptions(**options)
    try:
        yield
    finally:
        torch.set_printoptions(**before)
        ours.set_printoptions(**before)


@pytest.mark.parametrize(
    "values",
    [
        0.0, -0.0, 1.0, 1.5, -3.25e-5, 1e8, 1.0001e8, float("inf"), float("-inf"), float("nan"),
        [1.0, 2.0], [-0.0, 0.0], [1.0, float("nan")], [1.0, float("inf"), -float("inf")], [0.5, float("nan")],
        [1e-5, 1.0], [1.0, 1001.0], [1.0, 1000.0], [1.5, 1001.5, 1.5e3], [1e-320, 1e300], [1e10, 2.0], [0.0, 1e-6],
        [[1.0, 2.0], [3.0, 4.5]], [[[1.0], [2.0]], [[3.0], [4.0]]], [100000000.0, 1.0], [99999999.0, 99999.0],
        [0, -1, 10**12], [[True, False]], True, 7, [1 + 2j, 3 - 4.5j], 1j, [complex(0, -0.0), complex(float("nan"), 1)],
    ],
)  # fmt: skip
@pytest.mark.parametrize("sci_mode", [None, True, False])
def test_chosen_values(values, sci_mode):
    with both_options(sci_mode=sci_mode):
        check(torch.tensor(values))
        check(torch.tensor(values, dtype=torch.complex128 if "j" in str(values) else torch.float64))


@pytest.mark.parametrize("name", [*NUMPY_NAMES, "bfloat16", "complex32", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (40,), (3, 5), (2, 3, 4), (2, 1, 2, 2), (0,), (0, 3), (2, 0, 3)])
def test_every_dtype_and_shape(name, shape):
    generator = torch.Generator().manual_seed(3)
    if name.startswith("complex"):
        tensor = torch.randn(shape, dtype=torch.complex64, generator=generator).to(getattr(torch, name))
    else:
        tensor = (torch.randn(shape, generator=generator).abs() * 40).to(getattr(torch, name))
    check(tensor)


@pytest.mark.parametrize("shape", [(1001,), (1000,), (7, 200), (200, 7), (3, 400), (40, 40), (12, 10, 11), (2, 3, 400),
                                   (9, 1, 8, 20), (1, 1, 1, 1001)])  # fmt: skip
@pytest.mark.parametrize("kind", ["int64", "float32", "complex64", "float16"])
def test_summaries(shape, kind):
    count = int(np.prod(shape))
    tensor = torch.arange(count).reshape(shape)
    check(tensor.to(getattr(torch, kind)) if kind != "float16" else (tensor % 50).half() / 4)


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 0}, {"precision": 2}, {"precision": 8}, {"threshold": 5}, {"threshold": 0}, {"edgeitems": 1},
        {"edgeitems": 0, "threshold": 3}, {"linewidth": 20}, {"linewidth": 1}, {"linewidth": 200}, {"profile": "short"},
        {"profile": "full"}, {"profile": "default"}, {"profile": "full", "precision": 1}, {"sci_mode": True},
        {"profile": "unknown"}, {"edgeitems": 2, "threshold": 10, "linewidth": 30, "precision": 3, "sci_mode": False},
    ],
)  # fmt: skip
def test_options(options):
    with both_options(**options):
        assert ours.get_printoptions() == torch._tensor_str.get_printoptions()
        for tensor in (
            torch.arange(30), torch.arange(12.0).reshape(3, 4), torch.linspace(-3, 4000, 60).reshape(3, 4, 5),
            torch.tensor(2.5), torch.tensor([1 + 2.5j] * 9), torch.empty(0, 2), torch.zeros(2, 2, dtype=torch.int8),
        ):  # fmt: skip
            check(tensor)
    assert ours.get_printoptions() == torch._tensor_str.get_printoptions()


def test_printoptions_is_undone_after_an_error():
    before = ours.get_printoptions()
    with pytest.raises(ZeroDivisionError), ours.printoptions(precision=9, sci_mode=True):
        assert ours.get_printoptions()["precision"] == 9
        raise ZeroDivisionError
    assert ours.get_printoptions() == before


def test_suffixes():
    leaf = torch.ones(3, requires_grad=True)
    long = torch.linspace(0, 1, 12, requires_grad=True)
    for tensor in (leaf, leaf + 1, long, (long * 2).double(), torch.ones((), requires_grad=True), leaf.sum(),
                   torch.empty(2, 3, device="meta"), torch.empty((), dtype=torch.int8, device="meta"),
                   torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.float64, requires_grad=True),
                   torch.ones(2, dtype=torch.complex64).conj()):  # fmt: skip
        check(tensor)
    for width in range(20, 90, 3):
        with both_options(linewidth=width):
            check(long.double() * 2)
            check(leaf.double())


def test_parameters_and_subclasses():
    class Mine(torch.Tensor):
        pass

    check(torch.nn.Parameter(torch.ones(2, 2)))
    check(torch.nn.Parameter(torch.arange(3), requires_grad=False))
    check(torch.arange(6.0).reshape(2, 3).as_subclass(Mine))


def test_device_text():
    text = ours.format_tensor(np.ones(2, np.float32), dtype_name="float32", device="npu:0")
    assert text == "tensor([1., 1.], device='npu:0')"


def test_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        for name in ("float32", "float64", "complex64", "complex128", "float16"):
            check(torch.ones(2, dtype=getattr(torch, name)))
            check(torch.ones(0, dtype=getattr(torch, name)))
    finally:
        torch.set_default_dtype(torch.float32)


def test_non_contiguous():
    base = torch.arange(24.0).reshape(2, 3, 4)
    for tensor in (base.permute(2, 0, 1), base[:, ::2], base[..., -1], torch.ones(1).expand(3, 2)):
        check(tensor)


def test_signatures():
    for name in ("set_printoptions", "get_printoptions", "printoptions"):
        mine, theirs = inspect.signature(getattr(ours, name)), inspect.signature(getattr(torch._tensor_str, name))
        assert [(p.name, p.default, p.kind) for p in mine.parameters.values()] == [
            (p.name, p.default, p.kind) for p in theirs.parameters.values()
        ]


FLOATS = st.floats(width=32) | st.integers(-2000, 2000).map(float) | st.floats(-10, 10, width=32)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.integers(0, 7), max_size=4), st.data(), st.sampled_from(NUMPY_NAMES + ["bfloat16"]),
    st.integers(1, 4), st.integers(0, 5), st.integers(0, 60), st.integers(10, 100), st.sampled_from([None, True, False]),
)  # fmt: skip
def test_random(shape, data, name, edgeitems, precision, threshold, linewidth, sci_mode):
    count = int(np.prod(shape))
    values = data.draw(st.lists(FLOATS, min_size=1, max_size=12))
    array = np.resize(np.array(values, np.float64), count).reshape(shape)
    with np.errstate(all="ignore"):
        if name == "bfloat16":
            tensor = torch.tensor(array).bfloat16()
        elif np.dtype(name).kind in "iu":
            whole = np.nan_to_num(array, posinf=9, neginf=-9).clip(-100, 100)
            tensor = torch.from_numpy(np.array(whole).astype(name))
        elif np.dtype(name).kind == "c":
            tensor = torch.tensor((array + 1j * array[..., ::-1] if array.ndim else array + 2j).astype(name))
        else:
            tensor = torch.tensor(array.astype(name))
    with both_options(
        edgeitems=edgeitems, precision=precision, threshold=threshold, linewidth=linewidth, sci_mode=sci_mode
    ):
        check(tensor)


def test_only_a_plain_tensor_is_formatted_as_its_number():
    import mstorch

    for library in (torch, mstorch):
        parameter = library.nn.Parameter(library.tensor(2.5))
        assert f"{parameter}" == repr(parameter) and f"{parameter.detach():.2f}" == "2.50" and f"{library.tensor(2)}" == "2"
        with pytest.raises(TypeError, match="unsupported format string passed to Parameter.__format__"):
            f"{parameter:.1f}"
