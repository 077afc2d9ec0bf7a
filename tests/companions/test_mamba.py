"""mamba_ssm's scans against the recurrence place by place in double precision, and its layers against their own steps."""
from __future__ import annotations

import math

import numpy as np
import pytest

import mstorch as torch
from mstorch import companions
from mstorch._companions.mamba_ssm.models.config_mamba import MambaConfig
from mstorch._companions.mamba_ssm.modules.mamba2_simple import Mamba2Simple
from mstorch._companions.mamba_ssm.modules.ssd_minimal import ssd_minimal_discrete
from mstorch._companions.mamba_ssm.ops.selective_scan_interface import mamba_inner_fn, selective_scan_fn
from mstorch._companions.mamba_ssm.ops.triton import layer_norm, layernorm_gated, ssd_combined
from mstorch._companions.mamba_ssm.ops.triton.selective_state_update import selective_state_update
from mstorch._companions.mamba_ssm.utils.generation import InferenceParams, sample

mamba, F = companions.mamba_ssm, torch.nn.functional


def _leaf(*shape: int, seed: int = 0, low: float | None = None, dtype=torch.float64) -> torch.Tensor:
    draw = np.random.default_rng([seed, *shape])
    values = draw.normal(size=shape) if low is None else draw.random(shape) + low
    return torch.tensor(values).to(dtype).requires_grad_()


def _compare(got, want, leaves, tolerance=1e-9):
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=tolerance, atol=tolerance)
    totals = [sum((item.double() * torch.linspace(-1, 1, item.numel(), dtype=torch.float64).view(item.shape)).sum() for item in items) for items in (got, want)]
    for one, other in zip(*(torch.autograd.grad(total, leaves, retain_graph=True) for total in totals)):
        torch.testing.assert_close(one, other, rtol=4 * tolerance, atol=4 * tolerance)


def _place_by_place(u, dt, A, B, C, D=None, z=None, state=None):
    """Return outputs and the last state; u, dt (batch, channels, places), B and C (batch, channels, states, places)."""
    state = torch.zeros(*u.shape[:2], A.shape[-1], dtype=torch.float64) if state is None else state
    outputs = []
    for t in range(u.shape[2]):
        state = state * torch.exp(dt[..., t, None] * A) + dt[..., t, None] * B[..., t] * u[..., t, None]
        outputs.append((state * C[..., t]).sum(-1))
    result = torch.stack(outputs, -1)
    result = result if D is None else result + D[:, None] * u
    return result if z is None else result * F.silu(z), state


@pytest.mark.parametrize("into", ["one", "by place", "groups"])
@pytest.mark.parametrize("gated", [False, True])
def test_selective_scan(into: str, gated: bool) -> None:
    u, dt, z = (_leaf(2, 4, 7, seed=i) for i in range(3))
    A, D, bias = _leaf(4, 3, low=-1.2), _leaf(4), _leaf(4, seed=1)
    B, C = ({"one": lambda i: _leaf(4, 3, seed=i), "by place": lambda i: _leaf(2, 3, 7, seed=i), "groups": lambda i: _leaf(2, 2, 3, 7, seed=i)}[into](i) for i in (4, 5))
    wide = {"one": lambda m: m[None, :, :, None].expand(2, -1, -1, 7), "by place": lambda m: m[:, None].expand(-1, 4, -1, -1),
            "groups": lambda m: m.repeat_interleave(2, 1)}[into]  # fmt: skip
    want = _place_by_place(u, F.softplus(dt + bias[:, None]), A, wide(B), wide(C), D, z if gated else None)
    got = selective_scan_fn(u, dt, A, B, C, D, z if gated else None, bias, True, True)
    _compare(got, want, [u, dt, A, B, C, D, bias, *([z] if gated else [])])


def test_complex_states_are_real_ones_in_pairs() -> None:
    u, dt = _leaf(2, 3, 5), _leaf(2, 3, 5, low=0.1)
    rates, turns = _leaf(3, 2, low=-1.5), _leaf(3, 2, seed=1)
    B, C = (_leaf(2, 2, 10, seed=i) for i in (2, 3))
    A = torch.complex(rates, turns)
    both = torch.cat([A, A.conj()], -1)
    wide = [torch.view_as_complex(m.unflatten(-1, (5, 2)).contiguous())[:, None].expand(-1, 3, -1, -1) for m in (B, C)]
    wide = [torch.cat([m, m.conj()], 2) for m in wide]
    state, outputs = torch.zeros(2, 3, 4, dtype=torch.complex128), []
    for t in range(5):
        state = state * torch.exp(dt[..., t, None] * both) + dt[..., t, None] * wide[0][..., t] * u[..., t, None]
        outputs.append((state * wide[1][..., t]).sum(-1).real)
    _compare([selective_scan_fn(u, dt, A, B, C)], [torch.stack(outputs, -1)], [u, dt, rates, turns, B, C])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_states_are_wide(dtype: torch.dtype) -> None:
    u, dt, B, C = (_leaf(*shape, dtype=dtype) for shape in ((1, 4, 300), (1, 4, 300), (1, 3, 300), (1, 3, 300)))
    A = -torch.rand(4, 3)
    got, last = selective_scan_fn(u, dt, A, B, C, delta_softplus=True, return_last_state=True)
    want = selective_scan_fn(*(item.double() for item in (u, dt, A, B, C)), delta_softplus=True)
    assert got.dtype is dtype and last.dtype is torch.float32
    torch.testing.assert_close(got.double(), want, rtol=0.02, atol=0.02) if dtype is not torch.float32 else torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-4)


def test_second_derivatives_and_shapes() -> None:
    inputs = [_leaf(1, 2, 4), _leaf(1, 2, 4, low=0.1), _leaf(2, 2, low=-1.1), _leaf(1, 2, 4), _leaf(1, 2, 4, seed=1)]
    assert torch.autograd.gradcheck(selective_scan_fn, inputs)
    assert torch.autograd.gradgradcheck(selective_scan_fn, inputs)
    with pytest.raises(RuntimeError, match="must both be"):
        selective_scan_fn(inputs[0], inputs[1][..., 1:], *inputs[2:])
    with pytest.raises(RuntimeError, match="B must be"):
        selective_scan_fn(*inputs[:3], inputs[3][..., 1:], inputs[4])
    with pytest.raises(RuntimeError, match="A must be"):
        selective_scan_fn(*inputs[:2], inputs[2][1:], *inputs[3:])


def _heads(x, dt, A, B, C, D, z, initial, sequences):
    """Return outputs and states place by place: x (batch, places, heads, size)."""
    state, outputs, states = initial, [], []
    before = torch.zeros(x.shape[0], dtype=torch.int64)
    for t in range(x.shape[1]):
        if sequences is not None:
            state = state * (sequences[:, t] == before)[:, None, None, None]
            before = sequences[:, t]
        state = state * torch.exp(dt[:, t] * A)[..., None, None] + (dt[:, t, :, None] * x[:, t])[..., None] * B[:, t, :, None]
        states.append(state)
        outputs.append((state * C[:, t, :, None]).sum(-1))
    result = torch.stack(outputs, 1) + (D if D.dim() == 2 else D[:, None]) * x
    return (result if z is None else result * F.silu(z)), state, torch.stack(states, 1)


@pytest.mark.parametrize("chunk", [1, 3, 4, 16])
@pytest.mark.parametrize("several", [False, True])
def test_scan_by_chunks(chunk: int, several: bool) -> None:
    x, z, initial = _leaf(2, 11, 4, 3), _leaf(2, 11, 4, 3, seed=1), _leaf(2, 4, 3, 5)
    dt, A, D, bias = _leaf(2, 11, 4), _leaf(4, low=-1.2), _leaf(4, 3), _leaf(4)
    B, C = (_leaf(2, 11, 2, 5, seed=i) for i in (2, 3))
    sequences = torch.tensor([[0] * 4 + [1] * 3 + [2] * 4, [0] * 11]) if several else None
    steps = F.softplus(dt + bias).clamp(0.1, 2.0)
    want = _heads(x, steps, A, B.repeat_interleave(2, 2), C.repeat_interleave(2, 2), D, z, initial, sequences)[:2]
    got = ssd_combined.mamba_chunk_scan_combined(x, dt, A, B, C, chunk, D, z, bias, initial, sequences, None, True, (0.1, 2.0), True)
    _compare(got, want, [x, z, initial, dt, A, D, bias, B, C])


def test_states_after_each_sequence() -> None:
    x, dt, A, B, C, D = _leaf(1, 10, 2, 3), _leaf(1, 10, 2, low=0.1), _leaf(2, low=-1.2), _leaf(1, 10, 1, 4), _leaf(1, 10, 1, 4, seed=1), _leaf(2)
    ends, numbers = torch.tensor([0, 3, 4, 10], dtype=torch.int32), torch.tensor([[0] * 3 + [1] + [2] * 6], dtype=torch.int32)
    none = torch.zeros(1, 2, 3, 4, dtype=torch.float64)
    want = _heads(x, dt, A, B.expand(-1, -1, 2, -1), C.expand(-1, -1, 2, -1), D, None, none, numbers)
    got = ssd_combined.mamba_chunk_scan_combined(x, dt, A, B, C, 4, D, seq_idx=numbers, cu_seqlens=ends, return_varlen_states=True)
    _compare(got, [want[0], want[2][0][ends[1:].long() - 1]], [x, dt, A, B, C, D])
    with pytest.raises(AssertionError, match="cu_seqlens"):
        ssd_combined.mamba_chunk_scan_combined(x, dt, A, B, C, 4, return_varlen_states=True)
    with pytest.raises(RuntimeError, match="B and C must be"):
        ssd_combined.mamba_chunk_scan_combined(x, dt, A, B[:, 1:], C, 4)


def test_minimal_scan() -> None:
    x, A, B, C = _leaf(2, 8, 2, 3), _leaf(2, 8, 2, low=-1.2), _leaf(2, 8, 2, 4), _leaf(2, 8, 2, 4, seed=1)
    got = ssd_minimal_discrete(x, A, B, C, 4)
    one = torch.ones(2, dtype=torch.float64)
    steps = A / one
    want = _heads(x / steps[..., None], steps, one, B, C, 0 * one, None, torch.zeros(2, 2, 3, 4, dtype=torch.float64), None)[:2]
    _compare(got, want, [x, A, B, C])


@pytest.mark.parametrize("heads", [False, True])
def test_one_step(heads: bool) -> None:
    shape = (3, 4, 6) if heads else (3, 6)
    with torch.no_grad():
        state, x, dt, z = _leaf(*shape, 5), _leaf(*shape), _leaf(*shape, seed=1), _leaf(*shape, seed=2)
        A, D, bias = -torch.rand(*shape[1:], 5, dtype=torch.float64), _leaf(*shape[1:]), _leaf(*shape[1:], seed=1)
        B, C = ((_leaf(3, 2, 5, seed=i) if heads else _leaf(3, 5, seed=i)) for i in (3, 4))
        wide = [m.repeat_interleave(2, 1)[:, :, None] if heads else m[:, None] for m in (B, C)]
        steps = F.softplus(dt + bias)
        after = state * torch.exp(steps[..., None] * A) + (steps * x)[..., None] * wide[0]
        want = ((after * wide[1]).sum(-1) + D * x) * F.silu(z)
        kept = torch.zeros(5, *state.shape[1:], dtype=torch.float64)
        rows = torch.tensor([4, 0, 2])
        kept[rows] = state
        torch.testing.assert_close(selective_state_update(state, x, dt, A, B, C, D, z, bias, True), want)
        torch.testing.assert_close(state, after)
        torch.testing.assert_close(selective_state_update(kept, x, dt, A, B, C, D, z, bias, True, state_batch_indices=rows), want)
        torch.testing.assert_close(kept[rows], after)
        with pytest.raises(RuntimeError, match="dt must be"):
            selective_state_update(state, x, dt[1:], A, B, C)


LAYERS = {
    "Mamba": lambda: mamba.Mamba(16, d_state=5, layer_idx=0), "Mamba with biases": lambda: mamba.Mamba(16, d_conv=3, bias=True, dt_init="constant", layer_idx=0),
    "Mamba2": lambda: mamba.Mamba2(32, d_state=8, headdim=16, chunk_size=4, layer_idx=0),
    "Mamba2, groups": lambda: mamba.Mamba2(32, d_state=8, headdim=16, ngroups=2, D_has_hdim=True, norm_before_gate=True, chunk_size=4, layer_idx=0),
    "Mamba2, part": lambda: mamba.Mamba2(32, d_state=8, headdim=16, d_ssm=32, rmsnorm=False, chunk_size=4, layer_idx=0),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_steps_of_a_layer_are_its_places(name: str) -> None:
    torch.manual_seed(0)
    layer = LAYERS[name]().double()
    x = _leaf(2, 9, layer.d_model)
    want = layer(x)
    params = InferenceParams(9, 2)
    parts = [layer(x[:, :4], inference_params=params)]
    params.seqlen_offset = 4
    with torch.no_grad():
        for t in range(4, 9):
            parts.append(layer(x[:, t : t + 1], inference_params=params))
            params.seqlen_offset += 1
    torch.testing.assert_close(torch.cat(parts, 1), want, rtol=1e-5, atol=1e-6)  # the recurrence's rates are in single precision, as mamba_ssm's are
    assert all(slope is not None for slope in torch.autograd.grad(want.sum(), list(layer.parameters())))


def test_sequences_that_share_a_row() -> None:
    torch.manual_seed(0)
    layer = Mamba2Simple(32, d_state=8, headdim=16, chunk_size=4)
    x = torch.randn(1, 10, 32)
    numbers = torch.tensor([[0] * 6 + [1] * 4], dtype=torch.int32)
    torch.testing.assert_close(layer(x, seq_idx=numbers), torch.cat((layer(x[:, :6]), layer(x[:, 6:])), 1), rtol=1e-4, atol=1e-5)


def test_inner_function_is_the_layer() -> None:
    torch.manual_seed(0)
    layer = mamba.Mamba(8)
    x = torch.randn(2, 5, 8)
    xz = layer.in_proj(x).transpose(1, 2)
    rest = [layer.conv1d.weight, layer.conv1d.bias, layer.x_proj.weight, layer.dt_proj.weight, layer.out_proj.weight, None, -layer.A_log.exp()]
    torch.testing.assert_close(mamba_inner_fn(xz, *rest, D=layer.D, delta_bias=layer.dt_proj.bias), layer(x))
    with pytest.raises(AssertionError, match="checkpoint_lvl"):
        mamba_inner_fn(xz, *rest, checkpoint_lvl=2)


@pytest.mark.parametrize("squares", [False, True])
def test_normalization(squares: bool) -> None:
    x, weight, bias, residual, z = _leaf(3, 8), _leaf(8), _leaf(8, seed=1), _leaf(3, 8, seed=2), _leaf(3, 8, seed=3)

    def norm(values, size=8):
        parted = values.unflatten(-1, (-1, size))
        parted = parted if squares else parted - parted.mean(-1, keepdim=True)
        return (parted / (parted.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()).flatten(-2) * weight + bias

    got = layer_norm.layer_norm_fn(x, weight, bias, residual, prenorm=True, is_rms_norm=squares)
    _compare(got, [norm(x + residual), x + residual], [x, weight, bias, residual])
    for before in (False, True):
        want = norm(x, 4) * F.silu(z) if before else norm(x * F.silu(z), 4)
        _compare([layernorm_gated.layernorm_fn(x, weight, bias, z, 1e-6, 4, before, squares)], [want], [x, weight, bias, z])
    with pytest.raises(AssertionError, match="group_size"):
        layernorm_gated.rmsnorm_fn(x, weight, None, group_size=3)


@pytest.mark.parametrize("kind", ["Mamba1", "Mamba2"])
def test_language_model(kind: str, tmp_path) -> None:
    torch.manual_seed(0)
    options = {"layer": kind, **({"headdim": 16, "d_state": 8} if kind == "Mamba2" else {})}
    config = MambaConfig(d_model=32, n_layer=2, d_intermediate=48 if kind == "Mamba2" else 0, vocab_size=45, ssm_cfg=options)
    model = mamba.MambaLMHeadModel(config)
    words = torch.randint(0, 45, (2, 5))
    logits = model(words).logits
    assert logits.shape == (2, 5, 48)
    loss = F.cross_entropy(logits.flatten(0, 1), words.flatten())
    assert math.isfinite(float(loss)) and all(slope is not None for slope in torch.autograd.grad(loss, list(model.parameters())))
    got = model.generate(words, 9, return_dict_in_generate=True, output_scores=True)
    longer = words
    with torch.no_grad():
        while longer.shape[1] < 9:
            longer = torch.cat((longer, model(longer).logits[:, -1:].argmax(-1)), 1)
    assert torch.equal(got.sequences, longer) and len(got.scores) == 4
    model.save_pretrained(str(tmp_path))
    assert torch.equal(mamba.MambaLMHeadModel.from_pretrained(str(tmp_path))(words).logits, logits)


def test_words_are_drawn_within_limits() -> None:
    torch.manual_seed(0)
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]])).expand(2000, -1)
    assert sample(logits).unique().tolist() == [0]
    assert sample(logits, top_k=2).unique().tolist() == [0, 1]
    assert sample(logits, top_k=0, top_p=0.7).unique().tolist() == [0, 1]
    assert sample(logits, top_k=0, min_p=0.2).unique().tolist() == [0, 1, 2]
    shares = sample(logits, top_k=0).bincount() / 2000
    torch.testing.assert_close(shares, torch.tensor([0.5, 0.3, 0.15, 0.05]), rtol=0, atol=0.04)


def test_what_is_left_out_says_so() -> None:
    with pytest.raises(NotImplementedError, match="write Mamba2"):
        mamba.Mamba3(8)
    with pytest.raises(NotImplementedError, match="process"):
        mamba.Mamba2(32, headdim=16, process_group=object())
    with pytest.raises(NotImplementedError, match="MultiheadAttention"):
        mamba.MambaLMHeadModel(MambaConfig(d_model=16, n_layer=1, attn_layer_idx=[0]))
