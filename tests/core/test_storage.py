"""In-place writes, views and shared memory behave as in torch; memory is written only where that is safe."""
from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mstorch

pytestmark = pytest.mark.core


def test_writes_through_views(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        x = torch.zeros(3, 4)
        flat, turned, row = x.view(-1), x.t(), x[1]
        x[0].add_(1)
        flat[5] = 7
        turned[3].mul_(0).add_(2)
        row.copy_(torch.arange(4.0))
        x[:, ::2] *= 10
        return x, flat, turned, row, x._version == flat._version

    both(body)


def test_numpy_shares_memory() -> None:
    array = np.zeros((2, 3), np.float32)
    tensor = mstorch.from_numpy(array)
    tensor.add_(1)
    tensor[0, 1] = 5
    tensor.t()[2].zero_()
    np.testing.assert_array_equal(array, [[1, 5, 0], [1, 1, 0]])
    array[1] = 8
    assert tensor.tolist() == [[1, 5, 0], [8, 8, 8]]
    back = tensor.numpy()
    assert np.shares_memory(back, array)
    part = tensor[:, 1].numpy()
    part[0] = 3
    assert array[0, 1] == 3 and part.strides == (12,)


@pytest.mark.on_the_cpu
def test_numpy_of_a_computed_tensor_shares_memory() -> None:
    tensor = mstorch.ones(3) + 1
    array = tensor.numpy()
    tensor.mul_(3)
    np.testing.assert_array_equal(array, [6, 6, 6])
    array[0] = 1
    assert tensor.tolist() == [1, 6, 6]


@pytest.mark.on_the_cpu
def test_numpy_sharing_does_not_reach_operands() -> None:
    source = mstorch.ones(3)
    other = source.reshape(3).clone()
    array = other.numpy()
    array[:] = 9
    assert source.tolist() == [1, 1, 1]


def test_strided_arrays_are_shared() -> None:
    array = np.arange(12, dtype=np.int64).reshape(3, 4)
    tensor = mstorch.from_numpy(array[::2, 1:3])
    assert tensor.stride() == (8, 1) and tensor.tolist() == [[1, 2], [9, 10]]
    tensor.zero_()
    assert array[2, 1] == 0 and array[1, 1] == 5


def test_numpy_errors(both: Callable[..., Any]) -> None:
    both(lambda torch: torch.ones(2, requires_grad=True).numpy(), message="Can't call numpy() on Tensor that requires grad")
    both(lambda torch: torch.from_numpy([1]), message="expected np.ndarray (got list)")
    both(lambda torch: torch.from_numpy(np.array(["a"])), message="can't convert np.ndarray of type numpy.str_")
    both(lambda torch: torch.from_numpy(np.zeros(3)[::-1]), message="At least one stride in the given numpy array is negative")
    both(lambda torch: torch.from_numpy(np.zeros(3, ">f4")), message="byte order")


def test_a_write_to_a_saved_tensor_is_refused(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        weight = torch.ones(3, requires_grad=True)
        buffer = torch.arange(3.0)
        product = (weight * buffer).sum()
        buffer[1] = 100
        product.backward()

    both(body, message="one of the variables needed for gradient computation has been modified by an inplace operation")


def test_a_loop_fills_a_buffer_in_place() -> None:
    buffer = mstorch.zeros(4, 3)
    buffer[0] = 1
    address = buffer.data_ptr()
    for i in range(1, 4):
        buffer[i] = mstorch.full((3,), float(i))
    assert buffer.data_ptr() == address and buffer[:, 0].tolist() == [1, 1, 2, 3]


def test_leaf_rules(both: Callable[..., Any]) -> None:
    def leaf(torch: Any) -> Any:
        return torch.ones(2, requires_grad=True)

    both(lambda torch: leaf(torch).add_(1), message="a leaf Variable that requires grad is being used in an in-place operation")
    both(lambda torch: leaf(torch)[0].zero_(), message="a view of a leaf Variable that requires grad")

    def silent(torch: Any) -> Any:
        x = leaf(torch)
        with torch.no_grad():
            x.add_(1)
            x[0] = 5
        x.data.mul_(2)
        x.detach()[1] = 7
        return x, x.is_leaf

    both(silent)


def test_a_leaf_changed_after_its_use_is_refused(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        y = (x * x).sum()
        with torch.no_grad():
            x.add_(1)
        y.backward()

    both(body, message="one of the variables needed for gradient computation has been modified by an inplace operation")


def test_overlapping_writes_are_refused(both: Callable[..., Any]) -> None:
    both(lambda torch: torch.zeros(1, 3).expand(2, 3).add_(1), message="more than one element of the written-to tensor")


def test_shapes_of_in_place_results(both: Callable[..., Any]) -> None:
    both(lambda torch: torch.zeros(3).add_(torch.zeros(2, 3)), message="output with shape [3] doesn't match the broadcast shape [2, 3]")
    both(lambda torch: torch.zeros(2, dtype=torch.int64).add_(1.5), message="result type Float can't be cast to the desired output type Long")
    both(lambda torch: torch.zeros(2, dtype=torch.float16).add_(torch.ones(2, dtype=torch.float64)))


def test_data_can_be_replaced(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        x.data = torch.tensor([3.0, 4.0])
        first = x.tolist()
        x.data = torch.zeros(3, 2)
        (x * 2).sum().backward()
        return first, x, x.grad, x.is_leaf

    both(body)


def test_parameters_take_over_their_data(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        data = torch.zeros(2)
        parameter = torch.nn.Parameter(data)
        data.add_(1)
        with torch.no_grad():
            parameter.add_(1)
        return data, parameter, data.requires_grad, parameter.requires_grad, parameter.is_leaf

    both(body)


def test_a_leaf_with_strides(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(6.0).view(2, 3).t().requires_grad_()
        (x * x).sum().backward()
        with torch.no_grad():
            x[0] = 9
        return x, x.grad, x.is_leaf, x.stride()

    both(body, strides=False)


def test_copies(both: Callable[..., Any]) -> None:
    import copy
    import pickle

    def body(torch: Any) -> Any:
        x = torch.arange(6.0).view(2, 3).requires_grad_()
        x.grad = torch.ones(2, 3)
        deep = copy.deepcopy(x)
        thawed = pickle.loads(pickle.dumps(x))
        pair = copy.deepcopy([x.detach(), x.detach()[0]])
        pair[0].zero_()
        return deep, deep.grad, thawed, deep.is_leaf, x, pair[1]

    both(body)
    both(lambda torch: copy.deepcopy(torch.ones(2, requires_grad=True) * 2), message="Only Tensors created explicitly by the user")


def test_memory_formats(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(24.0).view(1, 2, 3, 4)
        last = x.to(memory_format=torch.channels_last)
        return (
            last, last.stride(), last.is_contiguous(), last.is_contiguous(memory_format=torch.channels_last),
            last.contiguous().stride(), (last + 1).stride(), last.clone().stride(), torch.empty_like(last).stride(),
        )  # fmt: skip

    both(body)


def test_storages_on_the_meta_device(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        storage = torch.ones(3, 2, device="meta").untyped_storage()
        own = torch.TypedStorage([1, 2, 3], dtype=torch.int16, device="meta")
        storage.fill_(1)
        found = [storage.nbytes(), storage.data_ptr(), storage.device.type, own.size(), own.clone().nbytes(), repr(own), repr(storage)]
        return [*found, storage.resize_(40).nbytes(), torch.empty(0, device="meta").set_(storage).shape]

    both(body)


@pytest.mark.parametrize("call", [lambda storage: storage[0], lambda storage: storage.cpu()], ids=["index", "cpu"])
def test_storages_on_the_meta_device_have_no_elements(both: Callable[..., Any], call: Callable[[Any], Any]) -> None:
    both(lambda torch: call(torch.UntypedStorage(4, device="meta")))


@pytest.mark.on_the_cpu
@pytest.mark.parametrize("shown", ["numpy", "asarray", "view", "ufunc", "tolist", "repr", "save"])
def test_memory_that_an_array_shows_cannot_grow(both, shown):
    """A storage cannot grow while a NumPy array shares its memory; otherwise array and tensor would silently part."""
    def body(torch):
        x = torch.arange(4.0)
        kept = {  # noqa: F841
            "numpy": lambda: x.numpy(), "asarray": lambda: np.asarray(x), "view": lambda: x[1:].numpy(), "ufunc": lambda: np.sin(x),
            "tolist": lambda: x.tolist(), "repr": lambda: repr(x), "save": lambda: torch.save(x, io.BytesIO()),
        }[shown]()  # fmt: skip
        return x.untyped_storage().resizable(), x.resize_(2).shape, x.resize_(8).shape

    both(body)


@pytest.mark.parametrize("kind", ["storage", "untyped_storage", "tensor"])
@pytest.mark.parametrize("held", [0, 1, 2, 4])
@pytest.mark.parametrize("length", [0, 2, 3])
def test_set_beyond_a_storage(both, length, held, kind):
    """``set_`` grows the storage for another shape; if the shape is unchanged, torch does nothing and raises."""

    def body(torch):
        target, source = torch.zeros(2), torch.zeros(held)
        target.set_(source if kind == "tensor" else getattr(source, kind)(), 0, (length,), (1,))
        return tuple(target.shape), source.untyped_storage().nbytes()

    both(body)


@pytest.mark.parametrize("name", ["QInt8Storage", "QUInt8Storage", "QInt32Storage", "QUInt4x2Storage", "QUInt2x4Storage"])
def test_storages_of_quantized_dtypes_hold_integers(both, name):
    def body(torch):
        kind = getattr(torch, name)
        storage = kind(4).fill_(1)
        storage[1] = 3
        storage[2:] = 7
        given = kind([1, 2])
        return storage.tolist(), storage[1], list(storage), storage.clone().tolist(), storage.nbytes(), storage.element_size(), given.tolist(), len(kind())

    both(body)
