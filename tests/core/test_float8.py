"""Float8 dtypes: every code, conversions from and to all dtypes, data movement, errors, files, products."""
from __future__ import annotations

import copy
import io
import os
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch
from tests import databases, float8, warm

KINDS = float8.KINDS
OTHERS = (
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128"
).split()
ROOT = Path(__file__).parents[2]


def _bits(tensor: Any, library: Any) -> list[int]:
    """Return the bytes of a tensor's elements, in order."""
    return tensor.contiguous().view(library.uint8).flatten().tolist()


def _codes(library: Any, kind: str) -> Any:
    return library.arange(256, dtype=library.int32).to(library.uint8).view(getattr(library, kind))


def _edges() -> np.ndarray:
    """Return numbers of single precision: all of bfloat16, their neighbours, ties, and random bits."""
    upper = np.arange(0x10000, dtype=np.uint32) << 16
    beside = [upper + step for step in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]
    random = np.random.default_rng(0).integers(0, 2**32, 300_000, dtype=np.uint32)
    return np.concatenate([*beside, random]).view(np.float32)


@pytest.mark.parametrize("kind", [*KINDS, "float4_e2m1fn_x2"])
def test_the_dtype_is_torchs(kind: str) -> None:
    want, got = getattr(real_torch, kind), getattr(mstorch, kind)
    assert repr(want) == repr(got) and type(got) is mstorch.dtype
    for attribute in "itemsize is_floating_point is_complex is_signed".split():
        assert getattr(want, attribute) == getattr(got, attribute), attribute
    assert copy.deepcopy(got) is got and pickle.loads(pickle.dumps(got)) is got
    if kind in KINDS:
        assert repr(real_torch.finfo(want)) == repr(mstorch.finfo(got))
    else:
        for library in (real_torch, mstorch):
            info = library.finfo(getattr(library, kind))
            assert info.bits == 8
            with pytest.raises(TypeError, match="bad argument type"):
                repr(info)
            with pytest.raises(NotImplementedError, match="\"lowest\" not implemented for 'Float4_e2m1fn_x2'"):
                getattr(info, "min")  # noqa: B009


@pytest.mark.on_the_cpu
@pytest.mark.parametrize("kind", KINDS)
def test_every_code_in_every_dtype(kind: str) -> None:
    for other in (*OTHERS, *KINDS):
        want = _codes(real_torch, kind).to(getattr(real_torch, other))
        got = _codes(mstorch, kind).to(getattr(mstorch, other))
        assert _bits(want, real_torch) == _bits(got, mstorch), other
    assert str(_codes(real_torch, kind)) == str(_codes(mstorch, kind))
    assert str(_codes(real_torch, kind).tolist()) == str(_codes(mstorch, kind).tolist())
    assert str([code.item() for code in _codes(real_torch, kind)]) == str([code.item() for code in _codes(mstorch, kind)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", "float32 bfloat16 float16 float64 int64 int32 int8 uint8 int16 bool complex64".split())
def test_numbers_of_every_dtype_in_codes(kind: str, other: str) -> None:
    edges = real_torch.from_numpy(_edges())
    if other in ("float32", "bfloat16", "float64", "complex64"):
        source = edges.to(getattr(real_torch, other))
    elif other == "float16":
        source = real_torch.arange(0x10000, dtype=real_torch.int32).to(real_torch.int16).view(real_torch.float16)
    else:
        numbers = real_torch.arange(-70000, 70000)
        source = real_torch.cat([numbers, numbers * 2**20, numbers * 2**44]).to(getattr(real_torch, other))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of imaginary parts
        mine = mstorch.from_numpy(source.view(real_torch.int16).numpy()).view(mstorch.bfloat16) if other == "bfloat16" else (
            mstorch.from_numpy(source.numpy())
        )  # fmt: skip
        want, got = source.to(getattr(real_torch, kind)), mine.to(getattr(mstorch, kind))
    wrong = np.flatnonzero(want.view(real_torch.uint8).numpy() != got.view(mstorch.uint8).numpy())
    assert not wrong.size, [(source[i], want.view(real_torch.uint8)[i]) for i in wrong[:5]]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_that_fill(kind: str) -> None:
    values = (
        0, 0.0, -0.0, 1, -1, -1.0, True, 2.0, 240, 241, 448, 449, 464, 500.0, 57344, 1e9, 2.0**127, 3e38, 2.0**-127, 1e-45, float("inf"),
        float("nan"), 2 + 0j,
    )  # fmt: skip

    def filled(library: Any, value: Any, count: int) -> Any:
        for make in (
            lambda: library.full((count,), value, dtype=getattr(library, kind)),
            lambda: library.tensor([value], dtype=getattr(library, kind)),
            lambda: library.zeros(count, dtype=getattr(library, kind)).fill_(value),
        ):
            try:
                yield _bits(make(), library)
            except (RuntimeError, TypeError) as error:
                yield str(error)

    for value in values:
        for count in (1, 2):
            assert list(filled(real_torch, value, count)) == list(filled(mstorch, value, count)), (value, count)


def test_promotion() -> None:
    for first in KINDS:
        for second in (*OTHERS, *KINDS):
            found = []
            for library in (real_torch, mstorch):
                pair = getattr(library, first), getattr(library, second)
                for call in (library.promote_types, lambda a, b: library.result_type(library.ones(2).to(a), library.ones(2).to(b))):
                    for a, b in (pair, pair[::-1]):
                        try:
                            found.append(str(call(a, b)))
                        except RuntimeError as error:
                            found.append(str(error))
                found.append(str([library.can_cast(*pair), library.can_cast(*pair[::-1])]))
            assert found[:5] == found[5:], (first, second)


def moved(library: Any, kind: str, place: str = "cpu") -> list[Any]:
    """Return the bytes of float8 codes after several data movements."""
    kind = getattr(library, kind)
    x = library.arange(24, dtype=library.uint8).mul(9).reshape(4, 6).to(place).view(kind)
    index, mask = library.tensor([2, 0], device=place), (library.arange(24, device=place) % 5 == 0).reshape(4, 6)
    y = x.clone()
    y[1:3, ::2] = x[0:2, 1::2]
    z = x.t().contiguous()
    z.view(library.uint8)[0] = 7
    z[:, 1].copy_(x[0])
    found = [
        y, z, x[::2], x[1, 2], x[None, ..., 1], x[index], x[mask], x[:, index], x.index_select(1, index), x.reshape(3, 8), x.permute(1, 0),
        library.cat([x, x], 1), library.stack([x, x]), x.repeat(2, 1), x.roll(1, 0), x.expand(2, 4, 6).clone(), library.where(mask, x, y),
        x.unfold(1, 3, 2), x.chunk(3, 1)[1], x.split(2)[1], x.unbind(1)[2], x.flip(0), x.view(-1)[3:9].view(2, 3), x.narrow(0, 1, 2),
        x.movedim(0, 1).clone(), library.zeros_like(x), x.new_zeros(3), x.diagonal().clone(), x.repeat_interleave(2, 0), x.tile(2),
        library.empty_like(x).copy_(x), x.detach().clone(), x.squeeze().unsqueeze(0), x.masked_select(mask), library.hstack([x, x]),
        x.float().to(kind), x.double().to(kind), x.to(library.bfloat16).to(kind), copy.deepcopy(x),
    ]  # fmt: skip
    return [(tuple(item.shape), item.stride(), str(item.dtype), str(item.device), _bits(item.cpu(), library)) for item in found] + [
        (item.cpu().tolist(), str(item.dtype)) for item in (x == x, x.ne(y), x == 1.0, x.isnan(), x.float().eq(x.float()))
    ]  # fmt: skip


@pytest.mark.on_the_cpu
@pytest.mark.parametrize("kind", KINDS)
def test_movements(kind: str) -> None:
    for number, (want, got) in enumerate(zip(moved(real_torch, kind), moved(mstorch, kind))):
        assert want == got, number


@pytest.mark.on_the_cpu
@pytest.mark.parametrize("kind", KINDS)
def test_files_go_both_ways(kind: str) -> None:
    for source, target in ((real_torch, mstorch), (mstorch, real_torch), (mstorch, mstorch)):
        file = io.BytesIO()
        whole = _codes(source, kind)
        source.save({"whole": whole, "part": whole[10:20].reshape(2, 5).t()}, file)
        file.seek(0)
        found = target.load(file)
        for name, stride in (("whole", (1,)), ("part", (1, 5))):
            assert str(found[name].dtype) == f"torch.{kind}" and found[name].stride() == stride
        assert _bits(found["whole"], target) == list(range(256))
        assert found["part"].untyped_storage().data_ptr() == found["whole"].untyped_storage().data_ptr()
    assert _bits(pickle.loads(pickle.dumps(_codes(mstorch, kind))), mstorch) == list(range(256))


@pytest.mark.parametrize("kind", KINDS)
def test_safetensors(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    from safetensors.torch import save_file

    save_file({"x": _codes(real_torch, kind).clone()}, tmp_path / "x.safetensors")
    got = mstorch.load(tmp_path / "x.safetensors")["x"]
    assert str(got.dtype) == f"torch.{kind}" and _bits(got, mstorch) == list(range(256))


@pytest.mark.parametrize("kind", KINDS)
def test_dlpack(kind: str) -> None:
    for source, target in ((real_torch, mstorch), (mstorch, real_torch)):
        got = target.from_dlpack(_codes(source, kind).__dlpack__())
        assert str(got.dtype) == f"torch.{kind}" and _bits(got, target) == list(range(256))


def test_gradients_go_through_the_conversion() -> None:
    found = []
    for library in (real_torch, mstorch):
        x = library.linspace(-3, 3, 13, requires_grad=True)
        y = x.to(library.float8_e4m3fn)
        assert y.requires_grad
        (y.float() * library.linspace(0, 1, 13)).sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]


def products(library: Any) -> list[Any]:
    """Return products of matrices of codes, plain and scaled, as bytes; errors as texts."""
    numbers = np.random.default_rng(1).standard_normal((3, 16, 32)).astype(np.float32)
    a, b = (library.from_numpy(part.copy()).to(library.float8_e4m3fn) for part in numbers[:2])
    scale, other = library.tensor(0.3), library.tensor(0.7)
    rows, columns = library.from_numpy(np.abs(numbers[2, :, :1]).copy()), library.from_numpy(np.abs(numbers[2, :1, :16]).copy())
    bias = library.from_numpy(numbers[2, 0, :16].copy())
    small = bias.to(a.dtype)
    mm = library._scaled_mm
    calls = (
        lambda: a @ b.t(), lambda: library.addmm(small, a, b.t(), beta=0.5, alpha=2), lambda: library.nn.functional.linear(a, b, small),
        lambda: a * b, lambda: a.abs(), lambda: a * 2, lambda: mm(a, b.t(), scale, other), lambda: mm(a, b.t(), rows, columns),
        lambda: mm(a, b.t(), scale, other, bias=bias), lambda: mm(a, b.t(), scale, other, out_dtype=library.bfloat16),
        lambda: mm(a, b.t(), scale, other, scale_result=scale, use_fast_accum=True), lambda: mm(a, b.t(), rows, other),
        lambda: mm(a, b.t(), scale, library.tensor(1)), lambda: mm(a.float(), b.t(), scale, other), lambda: mm(a, b, scale, other),
        lambda: mm(a, b.t(), scale, other, bias=bias[:3]), lambda: mm(a, b.t(), scale, other, out_dtype=library.int32),
        lambda: mm(a, b.t()[:, 0], scale, other), lambda: mm(a.to(library.float8_e5m2), b.t(), scale, other),
    )  # fmt: skip
    found: list[Any] = []
    for call in calls:
        try:
            result = call()
            found.append((str(result.dtype), _bits(result, library)))
        except (RuntimeError, ValueError, NotImplementedError) as error:
            found.append((type(error).__name__, str(error)))
    for kind in (library.float32, library.float64):
        found.append(np.asarray(mm(a, b.t(), scale, other, out_dtype=kind).tolist()))
    return found


def _uses_onednn() -> bool:
    """Return whether torch computes scaled products by oneDNN, as on processors with AMX, where it takes fewer dtypes and rounds later."""
    codes, one = real_torch.ones(16, 16).to(real_torch.float8_e4m3fn), real_torch.tensor(1.0)
    try:
        real_torch._scaled_mm(codes, codes.t(), one, one, out_dtype=real_torch.float64)
    except RuntimeError:
        return True
    return False


@pytest.mark.on_the_cpu
@pytest.mark.skipif(_uses_onednn(), reason="torch's products on this processor are oneDNN's; mstorch gives those of torch's own kernel")
def test_products() -> None:
    *want, wide, wider = products(real_torch)
    *got, mine, mine_wider = products(mstorch)
    for number, (first, second) in enumerate(zip(want, got)):
        assert first == second, number
    np.testing.assert_allclose(mine, wide, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(mine_wider, wider, rtol=1e-6, atol=1e-6)


@pytest.mark.on_the_cpu
def test_pairs_of_four_bits_are_moved_and_no_more() -> None:
    def tried(library: Any) -> list[Any]:
        x = library.arange(6, dtype=library.uint8).view(library.float4_e2m1fn_x2)
        calls = (
            lambda: repr(x), lambda: x.clone(), lambda: library.cat([x, x]), lambda: library.stack([x, x]), lambda: x[1:3], lambda: x == x,
            lambda: x.isnan(), lambda: x.reshape(2, 3).t().contiguous(), lambda: library.zeros(3, dtype=x.dtype), lambda: x.float(),
            lambda: library.ones(2).to(x.dtype), lambda: x[0].item(), lambda: x.tolist(), lambda: x.numpy(), lambda: x + x,
            lambda: library.where(library.tensor([True] * 6), x, x), lambda: copy.deepcopy(x), lambda: x.type(),
        )  # fmt: skip
        found: list[Any] = []
        for call in calls:
            try:
                value = call()
                found.append(_bits(value, library) if isinstance(value, library.Tensor) else value)
            except Exception as error:  # noqa: BLE001  # what torch refuses, in torch's words
                found.append((type(error).__name__, str(error)))
        return found

    for number, (want, got) in enumerate(zip(tried(real_torch), tried(mstorch))):
        assert want == got, number


def test_graphs_leave_codes_alone() -> None:
    kind = mstorch.float8_e5m2
    x = mstorch.arange(4.0)
    for function, given in ((lambda t: mstorch.cat([t, t]), x.to(kind)), (lambda t: t + mstorch.ones(4, dtype=kind).float(), x)):
        with pytest.warns(UserWarning, match="runs without a graph"):
            got = mstorch.compile(function, backend="mindspore")(given)
        want = function(given)
        assert got.dtype is want.dtype and got.tolist() == want.tolist()


def on_device() -> None:
    """Compare data movement, conversions and products on a device's tensors with the CPU's; run by a process of the stand-in device."""
    for kind in KINDS:
        there, here = moved(mstorch, kind, "npu"), moved(mstorch, kind)
        for number, (want, got) in enumerate(zip(here, there)):
            plain = [part if part != "npu:0" else "cpu" for part in got]
            assert list(want) == plain, (kind, number)
        x = mstorch.linspace(-4, 4, 9, device="npu", requires_grad=True)
        y = x.to(getattr(mstorch, kind))
        assert y.device.type == "npu" and str(y.dtype) == f"torch.{kind}"
        y.float().sum().backward()
        assert x.grad is not None and x.grad.tolist() == [1.0] * 9
        assert mstorch.ones(2, dtype=y.dtype, device="npu").tolist() == [1.0, 1.0]
        with pytest.raises(NotImplementedError, match=f"\"add_stub\" not implemented for '{kind.capitalize()}'"):
            y.detach() + y.detach()


@pytest.mark.slow
def test_on_the_stand_in_device() -> None:
    environment = {**os.environ, "MSTORCH_FAKE_DEVICE": "Ascend", "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    program = "from tests.core.test_float8 import on_device; on_device()"
    done = warm.done("-c", program, environment=environment)
    assert done.returncode == 0, done.stderr[-3000:]


# Composed operations that compute where torch raises, or raise another class of error.
ELSEWHERE = frozenset((
    "matrix_exp einsum inner tensordot hash_tensor triu_indices tril_indices nn.functional.linear_cross_entropy.chunked "
    "nn.functional.linear_cross_entropy.chunked_none nn.functional.rrelu logit svd_lowrank pca_lowrank renorm norm.nuc "
    "native_dropout_backward nn.functional.embedding_bag linalg.eig linalg.eigvals linalg.matrix_norm linalg.vander linalg.tensorinv "
    "index_reduce.prod nn.functional.pdist chalf linalg.multi_dot nn.functional.local_response_norm nn.functional.threshold "
    "nn.functional.hardtanh"
).split())  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_operators_of_torchs_database(kind: str) -> None:
    wrong, tried, renamed = {}, 0, 0
    for label, op in databases.operators():
        found, samples, names = float8.differences(op, kind)
        tried, renamed = tried + samples, renamed + names
        if found and label not in ELSEWHERE:
            wrong[label] = found
    assert tried > 2000 and not wrong
    assert renamed < tried / 10  # nine times in ten the error names torch's kernel


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_the_only_element_selected(both, dtype):
    for index in ([0], 0):
        both(lambda torch: torch.tensor(3.0).to(getattr(torch, dtype)).index_select(0, torch.tensor(index)).float())
