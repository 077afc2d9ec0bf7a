"""The private names of MindSpore that mstorch relies on. A failure here names the release that changed them."""
from __future__ import annotations

import mindspore
import mindspore._c_expression as native
import numpy as np
import pytest
from mindspore import ops

from mstorch._src.backend import tape
from mstorch._src.backend.raw import MS_DTYPE, NP_DTYPE, from_numpy

pytestmark = pytest.mark.core


def _leaf(values: list[float]) -> mindspore.Tensor:
    raw = mindspore.Tensor(np.array(values, np.float32))
    tape.mark_leaf(raw)
    tape.start_recording()
    return raw


def _backward(root: mindspore.Tensor, inputs: list[mindspore.Tensor], keep: bool = False, create: bool = False) -> list[np.ndarray]:
    gradient = mindspore.Tensor(np.ones(root.shape, np.float32))
    found = tape.run_backward([root], [gradient], inputs, keep, create)
    return [None if g is None else g.asnumpy() for g in found]


def test_native_names() -> None:
    assert callable(native.run_backward)
    for name in ("set_grad_flag", "set_enable_grad"):
        assert hasattr(tape._pynative_executor, name)


def test_gradients_of_leaves_and_none_for_the_unreached() -> None:
    x, y = _leaf([1, 2, 3]), _leaf([4, 5, 6])
    gx, gy = _backward(ops.Mul()(x, x), [x, y])
    np.testing.assert_array_equal(gx, [2, 4, 6])
    assert gy is None


def test_double_backward() -> None:
    x = _leaf([1, 2, 3])
    root = ops.Mul()(ops.Mul()(x, x), x)
    (first,) = tape.run_backward([root], [mindspore.Tensor(np.ones(3, np.float32))], [x], True, True)
    np.testing.assert_allclose(_backward(first, [x])[0], [6, 12, 18])


def test_a_second_backward_is_refused() -> None:
    x = _leaf([1, 2])
    root = ops.Mul()(x, x)
    _backward(root, [x])
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        _backward(root, [x])


def test_a_write_after_a_save_is_refused() -> None:
    x = _leaf([1, 2])
    root = ops.Mul()(x, x)
    with tape.native_set_to(False):
        x.copy_(mindspore.Tensor(np.array([5, 6], np.float32)))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        _backward(root, [x])


def test_a_counted_write_after_a_save_is_refused() -> None:
    x = _leaf([1, 2])
    root = ops.Mul()(x, x)
    x.asnumpy()[:] = 7
    tape.bump_versions([x])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        _backward(root, [x])


def test_recording_survives_value_and_grad() -> None:
    weight = mindspore.Parameter(mindspore.Tensor(np.ones(2, np.float32)), name="w")
    mindspore.value_and_grad(lambda x: (x * weight).sum(), None, [weight])(mindspore.Tensor(np.ones(2, np.float32)))
    x = _leaf([1, 2])
    tape.start_recording()
    np.testing.assert_array_equal(_backward(ops.Mul()(x, x), [x])[0], [2, 4])


def test_the_flag_is_left_as_it_was() -> None:
    executor = tape._pynative_executor._executor
    tape.stop_recording()
    executor.set_grad_flag(False)
    x = _leaf([1, 2])
    _backward(ops.Mul()(x, x), [x])
    assert not executor.grad_flag(), "MindSpore's TrainOneStepCell finds no graph of its own where the flag is on"
    executor.set_grad_flag(True)
    _backward(ops.Mul()(x, x), [x])
    assert executor.grad_flag()
    executor.set_grad_flag(False)


def test_nothing_is_recorded_without_grad_mode() -> None:
    x = _leaf([1, 2])
    tape.set_grad_enabled(False)
    try:
        result = ops.Mul()(x, x)
    finally:
        tape.set_grad_enabled(True)
    assert not tape.is_recorded(result)


def test_detached_shares_memory() -> None:
    x = _leaf([1, 2])
    other = tape.detached(x)
    assert np.shares_memory(other.asnumpy(), x.asnumpy()) and not other._requires_grad


def test_hooks_see_and_change_gradients() -> None:
    x = _leaf([1, 2])
    middle = ops.Mul()(x, x)
    seen = []

    def hook(gradient: mindspore.Tensor) -> mindspore.Tensor:
        seen.append(gradient.asnumpy().tolist())
        return ops.Mul()(gradient, mindspore.Tensor(np.float32(10)))

    tape.register_hook(middle, hook)
    np.testing.assert_array_equal(_backward(ops.Mul()(middle, mindspore.Tensor(np.float32(3))), [x])[0], [60, 120])
    assert seen == [[3, 3]]


def test_function_nodes() -> None:
    def forward(ctx: object, raw: mindspore.Tensor) -> mindspore.Tensor:
        ctx.save_for_backward(raw)  # type: ignore[attr-defined]
        return ops.Mul()(raw, raw)

    def backward(ctx: object, gradient: mindspore.Tensor) -> mindspore.Tensor:
        (raw,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return ops.Mul()(gradient, raw)

    x = _leaf([1, 2])
    np.testing.assert_array_equal(_backward(tape.function_node("Half", forward, backward)(x), [x])[0], [1, 2])


@pytest.mark.parametrize("name", list(MS_DTYPE))
@pytest.mark.parametrize("shape", [(), (3,), (0, 2)])
def test_numpy_memory_is_shared(name: str, shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, NP_DTYPE[name])
    raw = from_numpy(array)
    assert raw.dtype == MS_DTYPE[name] and tuple(raw.shape) == shape
    if array.size:
        assert np.shares_memory(raw.asnumpy(), array)


def test_bfloat16_is_read_in_all_layouts() -> None:
    """NumPy's array of a whole tensor, a slice, a transposed tensor, an empty one and a single element; MindSpore itself has no such dtype
    on NumPy 2."""
    array = np.arange(12).astype(NP_DTYPE["bfloat16"]).reshape(3, 4)
    raw = from_numpy(array.copy())
    for got, want in (
        (raw, array), (mindspore.mint.narrow(raw, 1, 1, 2), array[:, 1:3]), (mindspore.mint.narrow(raw, 0, 1, 2), array[1:]),
        (ops.transpose(raw, (1, 0)), array.T), (from_numpy(array[:0].copy()), array[:0]), (mindspore.Parameter(raw), array),
        (mindspore.Tensor(1.5, mindspore.bfloat16), np.asarray(1.5, array.dtype)),
    ):  # fmt: skip
        found = got.asnumpy()
        assert found.dtype == array.dtype and found.shape == want.shape
        np.testing.assert_array_equal(found.astype(np.float32), want.astype(np.float32))
