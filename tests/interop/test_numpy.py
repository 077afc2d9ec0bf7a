"""NumPy, DLPack and libraries on top of them: shared memory, no copies on CPU."""
from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch

DTYPES = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64",
    "complex128",
]  # fmt: skip

_TORCHS_OWN = pytest.mark.filterwarnings("ignore:__array_:DeprecationWarning")  # of real torch, on NumPy 2


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_shares_memory_both_ways(name: str) -> None:
    torch = mstorch
    array = np.arange(6).reshape(2, 3).astype(name)
    tensor = torch.from_numpy(array)
    assert tensor.data_ptr() == array.ctypes.data and str(tensor.dtype) == f"torch.{name}"
    array[0, 1] = 1 if name == "bool" else 42
    assert tensor[0, 1].item() == array[0, 1]
    tensor[1, 2] = 0
    assert array[1, 2] == 0
    back = tensor.numpy()
    assert back.ctypes.data == array.ctypes.data and back.dtype == array.dtype
    assert np.asarray(tensor).ctypes.data == array.ctypes.data


def test_views_share_with_numpy() -> None:
    def body(torch: Any) -> Any:
        array = np.arange(24, dtype=np.float32).reshape(4, 6)
        tensor = torch.from_numpy(array[1:, ::2])
        part = tensor.t()[1]
        part.add_(100)
        seen = tensor.t().numpy()
        seen[0, 0] = -1
        tensor[2] *= 2
        return tensor, array, seen, seen.strides, tensor.storage_offset()

    want, got = body(real_torch), body(mstorch)
    np.testing.assert_array_equal(got[1], want[1])
    np.testing.assert_array_equal(got[2], want[2])
    assert got[0].tolist() == want[0].tolist() and got[3:] == want[3:] and got[0].stride() == want[0].stride()


def test_training_on_shared_memory() -> None:
    def body(torch: Any) -> Any:
        array = np.ones(3, np.float32)
        leaf = torch.from_numpy(array).requires_grad_()
        optimizer = torch.optim.SGD([leaf], lr=0.5)
        for _ in range(2):
            optimizer.zero_grad()
            (leaf**2).sum().backward()
            optimizer.step()
        return array.tolist(), leaf.detach().numpy().ctypes.data == array.ctypes.data

    assert body(mstorch) == body(real_torch)


def test_errors(both: Any) -> None:
    for body in (
        lambda torch: torch.ones(2, requires_grad=True).numpy(),
        lambda torch: np.asarray(torch.ones(2, requires_grad=True)),
        lambda torch: torch.ones(2).bfloat16().numpy(),
        lambda torch: torch.from_numpy([1, 2]),
        lambda torch: torch.from_numpy(np.arange(4)[::-1]),
        lambda torch: torch.from_numpy(np.array(["a"])),
        lambda torch: torch.ones(2, requires_grad=True).__dlpack__(),
        lambda torch: torch.from_dlpack(torch.ones(2, requires_grad=True)),
        lambda torch: torch.from_dlpack(3),
        lambda torch: hasattr(torch.ones(2), "__array_interface__"),
    ):
        both(body)


class Holder:
    """An object with DLPack's methods only."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def test_arrays_of_other_libraries_become_tensors() -> None:
    for torch in (real_torch, mstorch):
        array = np.arange(4.0)
        for tensor in (torch.as_tensor(Holder(array)), torch.asarray(Holder(array)), torch.as_tensor(array)):
            assert tensor.data_ptr() == array.ctypes.data and tensor.dtype is torch.float64
        assert torch.as_tensor(Holder(array), dtype=torch.float32).dtype is torch.float32
        copy = torch.tensor(Holder(array))
        array[0] = 9
        assert tensor[0].item() == 9 and copy[0].item() == 0


@_TORCHS_OWN
def test_numpys_functions_on_tensors() -> None:
    x = np.random.RandomState(0).randn(3, 4)

    def results(torch: Any) -> list[Any]:
        t = torch.from_numpy(x.copy())
        ints = torch.arange(5)
        return [
            np.mean(x) and np.asarray(np.sin(t)), np.asarray(np.add(t, 1)), np.asarray(np.multiply(t, t)), np.dot(np.asarray(t), np.asarray(t).T),
            np.concatenate([t, t]), np.stack([t, t + 1]), np.linalg.norm(t), np.where(t > 0, t, 0), np.argsort(t), np.median(t),
            np.array(t), np.array(ints, dtype=np.float32), np.histogram(t, 4)[0], np.isfinite(np.asarray(t)), np.allclose(t, x),
            np.einsum("ij,kj->ik", t, t), np.unique(ints), x[ints[:3]], x @ np.asarray(t.t()), float(np.float64(t[0, 0])), list(range(5))[ints[2]],
        ]  # fmt: skip

    for want, got in zip(results(real_torch), results(mstorch)):
        np.testing.assert_allclose(got, want)


@_TORCHS_OWN
def test_numpy_operands_and_ufuncs_give_tensors() -> None:
    def kinds(torch: Any) -> list[str]:
        t = torch.ones(2, 2)
        return [type(value).__name__ for value in (np.sin(t), np.add(t, t), t + np.float32(1), t * np.ones((2, 2), np.float32), np.greater(t, 0))]

    assert kinds(mstorch) == kinds(real_torch)


_BINARY = "+ - * / // % ** @ & | ^ << >> == != < <= > >=".split()


@_TORCHS_OWN
@pytest.mark.parametrize("kind", ["int32", "float32", "complex64", "bool"])
@pytest.mark.parametrize("operator", _BINARY)
def test_operators_of_tensors_and_arrays(both: Any, operator: str, kind: str) -> None:
    """NumPy computes operations for which tensors return NotImplemented, with its dtypes; torch converts an array for ``==`` only."""

    def body(torch: Any, text: str, array: Any) -> Any:
        t = torch.tensor([1, 2]).to(getattr(torch, kind))
        try:
            found = eval(text, {"t": t, "a": array})
        except TypeError as error:
            return "TypeError", str(error).split(" not supported for")[0].split("loop with")[0]
        return type(found).__name__, found

    for dtype in ("int16", "int64", "float64", "complex64", "bool", "U1"):
        for array in (np.array([1, 3]).astype(dtype), np.array(2).astype(dtype)):
            for text in (f"t {operator} a", f"a {operator} t"):
                both(lambda torch: body(torch, text, array), message="")


@_TORCHS_OWN
def test_in_place_operators_of_tensors_and_arrays(both: Any) -> None:
    def body(torch: Any, text: str) -> Any:
        names = {"t": torch.ones(2), "a": np.full(2, 3.0), "n": np.float64(2), "torch": torch}
        exec(text, names)
        return type(names["t"]).__name__, names["t"], type(names["a"]).__name__

    for operator in ("+", "-", "*", "/", "//", "%", "**"):
        for text in (f"t {operator}= a", f"a {operator}= t", f"t {operator}= n", f"t = n {operator} t"):
            both(lambda torch: body(torch, text), message="")
    for text in ("t = t.requires_grad_() * a", "t = a * t.requires_grad_()", "t = t.requires_grad_() * n", "t = (t.requires_grad_() == a)"):
        both(lambda torch: body(torch, text), message="")


# DLPack


def test_dlpack_to_and_from_torch() -> None:
    kept = []
    for name in (*DTYPES, "bfloat16"):
        for here, there in ((mstorch, real_torch), (real_torch, mstorch)):
            tensor = here.arange(6).reshape(2, 3).to(getattr(here, name))
            other = there.from_dlpack(tensor)
            assert str(other.dtype) == f"torch.{name}" and other.data_ptr() == tensor.data_ptr()
            tensor[0, 0] = 1
            assert complex(other[0, 0]) == 1, name
            other[1, 2] = 0
            assert complex(tensor[1, 2]) == 0, name
            kept.append(other)
            del tensor
    gc.collect()
    assert [complex(other[0, 0]) for other in kept] == [1] * len(kept), "the memory lives on"


@pytest.mark.parametrize("name", ["int32", "float32", "complex64"])
def test_dlpack_to_and_from_numpy(name: str) -> None:
    tensor = mstorch.arange(6).to(getattr(mstorch, name)).reshape(2, 3)
    array = np.from_dlpack(tensor)
    assert array.ctypes.data == tensor.data_ptr()
    source = np.arange(6).astype(name).reshape(2, 3)
    ours = mstorch.from_dlpack(source)
    source[1, 1] = 7
    assert complex(ours[1, 1]) == 7
    ours[0, 0] = 5
    assert source[0, 0] == 5


def test_dlpack_keeps_strides_and_offsets() -> None:
    for make in (lambda t: t.t(), lambda t: t[1:, ::2], lambda t: t[2], lambda t: t[1, 3], lambda t: t[:0], lambda t: t[0].expand(3, 6)):
        ours, real = make(mstorch.arange(24.0).reshape(4, 6)), make(real_torch.arange(24.0).reshape(4, 6))
        for got in (real_torch.from_dlpack(ours), mstorch.from_dlpack(real)):
            assert tuple(got.shape) == tuple(real.shape) and got.tolist() == real.tolist()
            assert got.stride() == real.stride() or not got.numel()


def test_dlpack_capsules() -> None:
    torch = mstorch
    x = torch.arange(3)
    assert x.__dlpack_device__() == real_torch.arange(3).__dlpack_device__()
    capsule = torch.utils.dlpack.to_dlpack(x)
    assert type(capsule).__name__ == "PyCapsule"
    other = torch.utils.dlpack.from_dlpack(capsule)
    assert other.data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="consumed only once"):
        torch.from_dlpack(capsule)
    assert real_torch.utils.dlpack.from_dlpack(torch.to_dlpack(x)).tolist() == [0, 1, 2]
    assert torch.utils.dlpack.DLDeviceType.__members__.keys() == real_torch.utils.dlpack.DLDeviceType.__members__.keys()
    copy = torch.from_dlpack(x, copy=True)
    assert copy.data_ptr() != x.data_ptr() and torch.from_dlpack(np.arange(3), copy=True).tolist() == [0, 1, 2]
    assert torch.from_dlpack(x.__dlpack__(copy=True)).data_ptr() != x.data_ptr()


def test_dlpack_memory_is_given_back() -> None:
    from mstorch._src.core.dlpack import _kept

    before = len(_kept)
    for _ in range(3):
        mstorch.to_dlpack(mstorch.ones(3))  # no library overrides it
        other = real_torch.from_dlpack(mstorch.ones(4))
        ours = mstorch.from_dlpack(mstorch.ones(4).__dlpack__())
        del other, ours
    gc.collect()
    assert len(_kept) == before


# Libraries built on NumPy


def test_scipy() -> None:
    pytest.importorskip("scipy")
    import scipy.linalg
    import scipy.optimize
    import scipy.sparse
    import scipy.special

    torch = mstorch
    x = torch.tensor([[4.0, 1.0], [1.0, 3.0]], dtype=torch.float64)
    np.testing.assert_allclose(scipy.linalg.solve(x, torch.tensor([1.0, 2.0])), np.linalg.solve(x.numpy(), [1, 2]))
    assert scipy.sparse.csr_matrix(x.numpy()).nnz == 4
    np.testing.assert_allclose(scipy.special.expit(x), torch.sigmoid(x).numpy())

    def objective(values: np.ndarray) -> tuple[float, np.ndarray]:
        leaf = torch.from_numpy(values.copy()).requires_grad_()
        loss = ((leaf - torch.tensor([1.0, -2.0], dtype=torch.float64)) ** 2).sum()
        loss.backward()
        return loss.item(), leaf.grad.numpy()

    found = scipy.optimize.minimize(objective, torch.zeros(2, dtype=torch.float64), jac=True)
    np.testing.assert_allclose(found.x, [1.0, -2.0], atol=1e-6)


def test_scikit_learn() -> None:
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score

    torch = mstorch
    x = torch.cat([torch.randn(30, 2) - 2, torch.randn(30, 2) + 2])
    y = torch.cat([torch.zeros(30), torch.ones(30)]).long()
    assert accuracy_score(y, LogisticRegression().fit(x, y).predict(x)) > 0.9


def test_matplotlib() -> None:
    pytest.importorskip("matplotlib")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    x = mstorch.linspace(0, 1, 5)
    (line,) = axes.plot(x, x**2)
    assert list(line.get_ydata()) == (x**2).tolist()
    axes.imshow(mstorch.rand(3, 3))
    axes.hist(x)
    pyplot.close(figure)
