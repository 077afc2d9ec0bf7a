"""New tensors compared with torch: values, dtypes, strides, errors."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

NEW = {
    "zeros": lambda torch: (torch.zeros(2, 3), torch.zeros((2,), dtype=torch.int64), torch.ones(()), torch.ones(2, dtype=torch.bool)),
    "full": lambda torch: (torch.full((2,), 3), torch.full((2,), 1.5), torch.full((), True), torch.full((2,), 2, dtype=torch.float16)),
    "arange": lambda torch: (torch.arange(5), torch.arange(1, 2, 0.25), torch.arange(5, 0, -2), torch.arange(3, dtype=torch.float64)),
    "linspace": lambda torch: (torch.linspace(0, 1, 5), torch.linspace(3, -3, 4, dtype=torch.float64),
                               torch.linspace(0, 10, 4, dtype=torch.int64)),
    "logspace": lambda torch: (torch.logspace(0, 2, 3), torch.logspace(0, 3, 4, base=2)),
    "eye": lambda torch: (torch.eye(3), torch.eye(2, 3), torch.eye(2, dtype=torch.int32)),
    "like": lambda torch: tuple(
        f(torch.ones(3, 2).t(), **kw)
        for f in (torch.zeros_like, torch.ones_like, lambda x, **k: torch.full_like(x, 3, **k))
        for kw in ({}, {"dtype": torch.int64})
    ),
    "new": lambda torch: (
        torch.ones(2).double().new_zeros(2), torch.ones(2).new_full((2,), 7), torch.ones(2).new_tensor([1, 2]),
        torch.ones(2).new_ones(3, 1),
    ),
    "requires_grad": lambda torch: (torch.zeros(2, requires_grad=True), torch.ones(1, requires_grad=True)),
    "out": lambda torch: (torch.zeros(2, out=torch.ones(2)), torch.arange(3, out=torch.zeros(3, dtype=torch.int64))),
    "tensor": lambda torch: (torch.tensor([[1, 2], [3, 4]]), torch.tensor(1.5), torch.tensor([]), torch.tensor([True]), torch.tensor(
        np.arange(3)), torch.as_tensor([1.0]), torch.from_numpy(np.ones(2)), torch.tensor([1, 2.5]), torch.tensor(1j)),
}  # fmt: skip


@pytest.mark.parametrize("name", NEW)
def test_values(both, name):
    """Values, dtypes and strides."""
    both(NEW[name])


DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 uint16 uint32 uint64".split()
MADE = {
    "arange(3)": lambda t, **k: t.arange(3, **k), "arange with steps": lambda t, **k: t.arange(2, 20, 3, **k), "arange down": lambda t, **k: t.arange(10, 0, -2, **k),
    "arange beyond float32": lambda t, **k: t.arange(2**24, 2**24 + 4, **k), "arange(0)": lambda t, **k: t.arange(0, **k),
    "arange of fractions": lambda t, **k: t.arange(0, 1, 0.25, **k), "linspace": lambda t, **k: t.linspace(0, 4, 5, **k), "logspace": lambda t, **k: t.logspace(0, 2, 3, **k),
    "eye": lambda t, **k: t.eye(3, **k), "ones": lambda t, **k: t.ones(2, 3, **k), "zeros": lambda t, **k: t.zeros(2, 3, **k), "full": lambda t, **k: t.full((2, 3), 2, **k),
    "tensor": lambda t, **k: t.tensor([1, 2], **k), "tril_indices": lambda t, **k: t.tril_indices(3, 3, **k), "randint": lambda t, **k: t.randint(1, 2, (3,), **k),
    "scalar_tensor": lambda t, **k: t.scalar_tensor(3, **k), "full_like": lambda t, **k: t.full_like(t.ones(2), 3, **k),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MADE)
def test_dtypes_of_created_tensors(both, name, dtype):
    both(lambda torch: MADE[name](torch, dtype=getattr(torch, dtype)))


def test_empty(both):
    """Sizes and strides of uninitialized tensors."""

    def body(torch):
        made = (torch.empty(2, 3), torch.empty_strided((2, 3), (1, 2)), torch.empty_like(torch.ones(2).int()))
        return [(t.shape == torch.Size(t.shape), list(t.shape), t.stride(), str(t.dtype)) for t in made]

    both(body)


ERRORS = {
    "negative": lambda torch: torch.zeros(-1),
    "step": lambda torch: torch.arange(0, 5, -1),
    "zero step": lambda torch: torch.arange(0, 5, 0),
    "steps": lambda torch: torch.linspace(0, 1, -1),
    "eye": lambda torch: torch.eye(-1),
    "ragged": lambda torch: torch.tensor([[1], [1, 2]]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(both, name):
    """Errors have torch's classes and messages."""
    both(ERRORS[name])


@pytest.mark.on_the_cpu
@pytest.mark.parametrize(
    "text",
    [
        "torch.tensor([torch.ones(1), torch.ones(1)])", "torch.tensor([[torch.ones(1)], [torch.ones(1, 1)]])",
        "torch.tensor([torch.ones(1).double(), 2])", "torch.tensor([2, torch.ones(1).double()])", "torch.tensor([1.0, np.float64(1)])",
        "torch.tensor([True, torch.tensor(2, dtype=torch.int8)])", "torch.tensor([[np.ones(2, np.float32)], [np.ones(2)]])",
        "torch.tensor([[2, 3], [torch.ones(2), 3]])", "torch.tensor([1, [2, 3]])", "torch.tensor({1: 2})",
        "torch.tensor(torch.arange(3.0).untyped_storage(), dtype=torch.float32)", "torch.tensor(torch.arange(3.0).untyped_storage())",
        "torch.tensor(torch.arange(4.0).storage(), dtype=torch.float64)", "torch.as_tensor(torch.arange(3.0).storage())",
        "torch.asarray(bytearray(b'12345678'))", "torch.asarray(memoryview(np.arange(4)), dtype=torch.int64)",
        "torch.asarray(torch.utils.dlpack.to_dlpack(torch.ones(2)))", "torch.asarray([1, 2], copy=False)",
        "torch.asarray(torch.ones(2), dtype=torch.float64, copy=False)", "torch.asarray(np.float64(3), copy=False)",
        "torch.asarray(torch.ones(2, requires_grad=True), copy=True)", "torch.asarray([1, 2], requires_grad=True)",
        "torch.frombuffer([1, 2], dtype=torch.int64)", "torch.frombuffer(bytearray(9), dtype=torch.int64)",
        "torch.frombuffer(bytearray(9), dtype=torch.int64, offset=9)", "torch.frombuffer(bytearray(9), dtype=torch.int64, count=0)",
        "torch.frombuffer(bytearray(9), dtype=torch.int64, count=2)", "torch.empty([2, 4, 2**29, 2**29])",
        "torch.FloatTensor(2, 3, device='cpu').shape", "torch.FloatTensor(device='cuda')", "torch.Tensor(device='cuda')",
        "torch.cat([torch.empty(0), torch.empty(0).int()], dim=1)", "torch.polar(torch.ones(2), torch.ones(2), out=torch.ones(2))",
        "torch.Storage is torch.FloatStorage and torch.Storage([1, 2]).tolist()",
    ],
)  # fmt: skip
def test_sources(both, text):
    both(lambda torch: eval(text, {"torch": torch, "np": np}))


@pytest.mark.on_the_cpu
def test_asarray_shares_memory(both):
    def body(torch):
        buffer, array, tensor = bytearray(8), np.zeros(2), torch.zeros(2)
        torch.asarray(buffer, dtype=torch.float32).fill_(1)
        torch.asarray(array, copy=False)[0] = 1
        torch.asarray(torch.utils.dlpack.to_dlpack(tensor), copy=False)[0] = 1
        return list(buffer), array, tensor

    both(body)


@pytest.mark.parametrize("name, args", [("arange", (0, 4)), ("range", (0, 3)), ("linspace", (0, 4, 4)), ("logspace", (0, 4, 4))])
@pytest.mark.parametrize("width", [2, 3])
def test_ranges_fill_a_view(both, name, args, width):
    def body(torch):
        base = torch.zeros(2, 3)
        found = getattr(torch, name)(*args, out=base.narrow(1, 0, width))
        return found, base

    both(body)


@pytest.mark.on_the_cpu
def test_arrays_keep_their_order(both):
    a = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    for array in (a.transpose(2, 0, 1), a[:, ::2], a.T[:, :1], a[:1].T, np.asfortranarray(np.ones((2, 3), bool)), np.zeros((0, 3))):
        both(lambda torch: [torch.tensor(array), torch.tensor(array, dtype=torch.float32), torch.Tensor(array.astype("f"))])
        both(lambda torch: torch.ones(1).new_tensor(array))
        both(lambda torch: torch.tensor(torch.from_numpy(array.copy("K"))))
    both(lambda torch: torch.tensor(a[::-1]))
    both(lambda torch: torch.tensor(a.astype(">i4")))


@pytest.mark.parametrize(
    "call",
    ["arange(4, out=x)", "linspace(0, 3, 4, out=x)", "zeros(4, out=x)", "full((4,), 2.0, out=x)", "eye(2, out=x)", "rand(4, out=x)",
     "randn(4, out=x)", "empty(4, out=x)", "randint(4, (4,), out=x)", "randperm(4, out=x)", "normal(0.0, 1.0, (4,), out=x)"],
)  # fmt: skip
@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("recorded", [True, False])
def test_out_that_requires_gradients(both, call, leaf, recorded):
    def body(torch):
        x = torch.ones(3, requires_grad=True)
        x = x if leaf else x * 2
        told = None
        with torch.set_grad_enabled(recorded):
            try:
                eval(f"torch.{call}", {"torch": torch, "x": x})
            except RuntimeError as error:
                told = str(error)
        node = type(x.grad_fn).__name__
        return told, x.requires_grad, x.is_leaf, x._version, tuple(x.shape), node, None if call.startswith("empty") else x.detach()

    both(body)


@pytest.mark.parametrize("call", ["arange(4, out=x)", "linspace(0, 1, 4, out=x)"])
def test_rows_of_truth_values_are_refused(both, call):
    both(lambda torch: eval(f"torch.{call}", {"torch": torch, "x": torch.ones(3, dtype=torch.bool)}))


@pytest.mark.on_the_cpu
@pytest.mark.parametrize(
    "make",
    ["from_numpy(a)", "as_tensor(a)", "asarray(a)", "tensor(a)", "asarray(a, copy=True)", "frombuffer(a, dtype=torch.float64)",
     "from_numpy(a).clone()", "from_numpy(a)[1:]"],
)  # fmt: skip
def test_memory_of_others_does_not_grow(both, make):
    def body(torch):
        x = eval(f"torch.{make}", {"torch": torch, "a": np.ones(3)})
        told = [x.untyped_storage().resizable()]
        for grow in (lambda: x.resize_(2), lambda: x.resize_(9), lambda: torch.add(torch.ones(7, dtype=torch.float64), 1, out=x)):
            try:
                told.append(tuple(grow().shape))
            except RuntimeError as error:
                told.append(str(error))
        return told

    both(body)


PINNED = {
    "ones": lambda torch, **pin: torch.ones(2, **pin), "tensor": lambda torch, **pin: torch.tensor([1.0], **pin),
    "rand": lambda torch, **pin: torch.rand(2, **pin), "like": lambda torch, **pin: torch.zeros_like(torch.ones(2), **pin),
    "new": lambda torch, **pin: torch.ones(2).new_ones(2, **pin), "arange": lambda torch, **pin: torch.arange(3, **pin),
    "window": lambda torch, **pin: torch.hann_window(3, **pin), "triangle": lambda torch, **pin: torch.tril_indices(2, 2, **pin),
    "meta": lambda torch, **pin: torch.ones(2, device="meta", **pin).shape, "strided": lambda torch, **pin: torch.empty_strided((0,), (1,), **pin).shape,
}  # fmt: skip


@pytest.mark.parametrize("name", PINNED)
def test_pinned_memory(both, name):
    """Pinning raises without an accelerator."""
    both(lambda torch: PINNED[name](torch, pin_memory=True))
    both(lambda torch: PINNED[name](torch, pin_memory=False).shape if name not in ("meta", "strided") else None)


@pytest.mark.on_the_cpu
@pytest.mark.parametrize("array", ["np.ones((3, 2))[:, :1]", "np.ones((1, 3)).T", "np.ones((4, 2, 1)).transpose(2, 0, 1)", "np.ones((1, 3))"])
def test_steps_of_arrays_are_kept(both, array):
    both(lambda torch: [torch.from_numpy(eval(array, {"np": np})), torch.as_tensor(eval(array, {"np": np}))])


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_rows_of_truth_values(both, steps):
    """Only the shortest rows are tested."""
    both(lambda torch: torch.arange(0, steps, dtype=torch.bool))
    both(lambda torch: torch.arange(0, steps, dtype=torch.complex64))
    both(lambda torch: torch.linspace(0, 1, steps, dtype=torch.bool))
    both(lambda torch: torch.logspace(0, 1, steps, dtype=torch.bool))


ARRAYS = {
    "alone": lambda np: [np.array(1.0)], "first": lambda np: [np.array(1), 2], "first, deeper": lambda np: [[np.array(True)], [np.array(False)]],
    "later": lambda np: [1.0, np.array(2.0)], "after a list": lambda np: [[1.0], [np.array(2.0)]], "rows": lambda np: [np.ones(2), np.zeros(2)],
    "a row and a list": lambda np: [np.ones(2), [3.0, 4.0]], "a list and a row": lambda np: ([3.0, 4.0], np.ones(2)),
    "deeper": lambda np: [[np.ones(2)], [np.ones(2)]], "of two lengths": lambda np: [np.ones(2), np.ones(1)], "empty": lambda np: [np.ones(0)],
    "numbers of NumPy": lambda np: [np.float32(1), np.float64(2)],
}  # fmt: skip


@pytest.mark.parametrize("way", ["tensor", "as_tensor", "Tensor", "DoubleTensor", "new_tensor"])
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_in_lists(both, name, way):
    """0-d arrays are numbers unless they come first; any array causes torch's warning about slowness."""

    def body(torch):
        torch.set_warn_always(True)
        try:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                made = (torch.ones(1).new_tensor if way == "new_tensor" else getattr(torch, way))(ARRAYS[name](np))
        finally:
            torch.set_warn_always(False)
        return made, {str(each.message).split(" (Triggered")[0] for each in seen}

    both(body)


TO_META = {
    "to": lambda x: x.to("meta"), "to, dtype": lambda x: x.to("meta", dtype=x.double().dtype), "columns": lambda x: x.T.to("meta"),
    "expanded": lambda x: x.expand(2, 2, 3).to("meta"), "gaps": lambda x: x[:, ::2].to("meta"), "integers": lambda x: x.long().to("meta"),
    "no history": lambda x: x.detach().to("meta"), "like a tensor": lambda x: x.to(x.detach().to("meta")),
    "type of a tensor": lambda x: x.type_as(x.detach().double().to("meta")), "a keyword": lambda x: x.to(tensor=x.detach().to("meta")),
    "there already": lambda x: x.to("meta").to(x.to("meta")),
}  # fmt: skip


@pytest.mark.parametrize("name", TO_META)
def test_copies_to_the_meta_device(both, name):
    """Such copies are recorded, and their gradients cannot be copied back."""

    def body(torch):
        made = TO_META[name](torch.ones(2, 3, requires_grad=True))
        return str(made.device), made.shape, made.stride(), str(made.dtype), made.requires_grad, made.is_leaf

    both(body)
    both(lambda torch: TO_META[name](torch.ones(2, 3, requires_grad=True)).sum().backward())


def test_a_module_goes_where_a_tensor_is(both):
    both(lambda torch: str(torch.nn.Linear(2, 2).to(torch.ones(1, device="meta")).weight.device))


@pytest.mark.parametrize("name", ["tensor", "as_tensor"])
def test_a_list_that_contains_itself(both, name):
    def body(torch):
        values = [0]
        values.append(values)
        getattr(torch, name)(values)

    both(body)
