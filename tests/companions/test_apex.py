"""apex: its layers and optimizers against formulas in float64 and torch's optimizers, and its mixed precision in small trainings."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch as real_torch

import mstorch as torch
from mstorch import companions

apex, amp_C = companions.apex, companions.amp_C
F = apex.transformer.functional
norms = apex.normalization.fused_layer_norm
DTYPES = ["float64", "float32", "bfloat16", "float16"]
TOLERANCE = {"float64": 1e-10, "float32": 2e-5, "bfloat16": 4e-2, "float16": 5e-3}


def _draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def _close(got: torch.Tensor, want: np.ndarray, tolerance: float) -> None:
    np.testing.assert_allclose(got.detach().double().numpy(), want, rtol=tolerance, atol=tolerance)


# Normalization


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weights", ["same", "float32"])
@pytest.mark.parametrize("kind", ["FusedLayerNorm", "FusedRMSNorm", "MixedFusedLayerNorm", "MixedFusedRMSNorm"])
def test_norms(kind: str, weights: str, dtype: str) -> None:
    """Values and gradients are those of the formula; the result has the input's dtype, or the weight's where the form is mixed."""
    layer = getattr(apex.normalization, kind)((3, 5), eps=0.01).to(
        getattr(torch, dtype if weights == "same" else "float32")
    )
    x = torch.tensor(_draw(4, 3, 5)).to(getattr(torch, dtype)).requires_grad_()
    with torch.no_grad():
        for number, parameter in enumerate(layer.parameters()):
            parameter.copy_(torch.tensor(_draw(3, 5, seed=number + 1)))
    result = layer(x)
    assert result.dtype is (layer.weight.dtype if "Mixed" in kind else x.dtype)
    (result.double() * torch.tensor(_draw(4, 3, 5, seed=7))).sum().backward()
    want_x, *parameters = (
        real_torch.tensor(item.detach().double().numpy(), requires_grad=True) for item in (x, *layer.parameters())
    )
    centred = want_x - want_x.mean((1, 2), keepdim=True) if "Layer" in kind else want_x
    want = centred / (centred.square().mean((1, 2), keepdim=True) + 0.01).sqrt() * parameters[0] + (
        parameters[1] if "Layer" in kind else 0
    )
    (want * real_torch.tensor(_draw(4, 3, 5, seed=7))).sum().backward()
    tolerance = max(TOLERANCE[dtype], TOLERANCE[dtype if weights == "same" else "float32"])
    _close(result, want.detach().numpy(), tolerance)
    for one, other in zip((x, *layer.parameters()), (want_x, *parameters)):
        assert one.grad is not None and one.grad.dtype is one.dtype
        _close(one.grad, other.grad.numpy(), 6 * tolerance)


def test_functions_of_norms() -> None:
    x, weight, bias = (torch.tensor(_draw(*shape, seed=number)) for number, shape in enumerate([(2, 5), (5,), (5,)]))
    centred = x - x.mean(1, keepdim=True)
    layer, rms = (
        centred / (centred.square().mean(1, keepdim=True) + 1e-6).sqrt(),
        x / (x.square().mean(1, keepdim=True) + 1e-6).sqrt(),
    )
    pairs = [
        (norms.fused_layer_norm(x, 5), layer), (norms.fused_layer_norm_affine(x, weight, bias, (5,)), layer * weight + bias),
        (norms.fused_rms_norm(x, 5), rms), (norms.fused_rms_norm_affine(x, weight, 5), rms * weight),
        (norms.manual_rms_norm(x, (5,), weight, 1e-6), rms * weight),
    ]  # fmt: skip
    for got, want in pairs:
        torch.testing.assert_close(got, want, rtol=1e-10, atol=1e-10)
    half = x.half()
    assert norms.mixed_dtype_fused_layer_norm_affine(half, weight.float(), bias.float(), 5).dtype is torch.float32
    assert norms.mixed_dtype_fused_rms_norm_affine(half, weight.float(), 5).dtype is torch.float32
    assert norms.fused_rms_norm_affine(half, weight.float(), 5).dtype is torch.float16
    assert apex.normalization.FusedRMSNorm(4, elementwise_affine=False).weight is None


# Optimizers

SHAPES = [(3, 4), (5,), (1,)]


def _run(optimizer: str, options: dict, steps: int = 4, dtype: str = "float64") -> list[np.ndarray]:
    parameters = [
        torch.nn.Parameter(torch.tensor(_draw(*shape, seed=n)).to(getattr(torch, dtype)))
        for n, shape in enumerate(SHAPES)
    ]
    made = getattr(apex.optimizers, optimizer)(parameters, **options)
    for step in range(steps):
        for number, parameter in enumerate(parameters):
            parameter.grad = torch.tensor(_draw(*SHAPES[number], seed=10 * step + number + 20)).to(parameter.dtype)
        before = [parameter.grad.clone() for parameter in parameters]
        made.step()
        assert all(torch.equal(parameter.grad, grad) for parameter, grad in zip(parameters, before))
    assert all(parameter.dtype is getattr(torch, dtype) for parameter in parameters)
    return [parameter.detach().double().numpy() for parameter in parameters]


def _drawn() -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    return [_draw(*shape, seed=n) for n, shape in enumerate(SHAPES)], [
        [_draw(*shape, seed=10 * step + n + 20) for n, shape in enumerate(SHAPES)] for step in range(4)
    ]


TORCHS = [
    ("FusedAdam", {"lr": 0.1, "weight_decay": 0.2}, "AdamW", {}),
    ("FusedAdam", {"lr": 0.1}, "AdamW", {"weight_decay": 0.0}),
    ("FusedAdam", {"lr": 0.1, "weight_decay": 0.2, "adam_w_mode": False, "betas": (0.5, 0.7), "eps": 0.1}, "Adam", {}),
    ("FusedSGD", {"lr": 0.1, "weight_decay": 0.2}, "SGD", {}),
    ("FusedSGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.2}, "SGD", {}),
    ("FusedSGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.2}, "SGD", {}),
]


@pytest.mark.parametrize("case", range(len(TORCHS)))
def test_optimizers_that_torch_has(case: int) -> None:
    name, options, theirs, more = TORCHS[case]
    values, slopes = _drawn()
    parameters = [real_torch.nn.Parameter(real_torch.tensor(value)) for value in values]
    optimizer = getattr(real_torch.optim, theirs)(
        parameters, **{key: value for key, value in options.items() if key != "adam_w_mode"}, **more
    )
    for step in slopes:
        for parameter, slope in zip(parameters, step):
            parameter.grad = real_torch.tensor(slope)
        optimizer.step()
    for got, want in zip(_run(name, options), parameters):
        np.testing.assert_allclose(got, want.detach().numpy(), rtol=1e-10, atol=1e-12)
    for got, want in zip(_run(name, options, dtype="bfloat16"), parameters):
        np.testing.assert_allclose(got, want.detach().numpy(), rtol=0.05, atol=0.08)


def test_sgd_with_weight_decay_after_momentum() -> None:
    values, slopes = _drawn()
    for number, value in enumerate(values):
        buffer = np.zeros_like(value)
        for step in slopes:
            buffer = 0.9 * buffer + step[number]
            value -= 0.1 * (buffer + 0.2 * value)
    for got, want in zip(
        _run("FusedSGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.2, "wd_after_momentum": True}), values
    ):
        np.testing.assert_allclose(got, want, rtol=1e-10)


LAMBS = [
    {}, {"weight_decay": 0.0}, {"weight_decay": 0.0, "use_nvlamb": True}, {"adam_w_mode": False}, {"grad_averaging": False},
    {"bias_correction": False, "max_grad_norm": 1e9}, {"max_grad_norm": 0.0},
]  # fmt: skip


@pytest.mark.parametrize("options", LAMBS, ids=str)
def test_lamb(options: dict) -> None:
    values, slopes = _drawn()
    decay, limit, decoupled = (
        options.get("weight_decay", 0.01),
        options.get("max_grad_norm", 1.0),
        options.get("adam_w_mode", True),
    )
    m, v = [0.0] * 3, [0.0] * 3
    for t, step in enumerate(slopes, 1):
        norm = math.sqrt(sum((slope**2).sum() for slope in step))
        clip = max(norm / limit, 1.0) if limit else 1.0
        for n, slope in enumerate(step):
            g = slope / clip + (0 if decoupled else decay * values[n])
            m[n] = 0.9 * m[n] + (0.1 if options.get("grad_averaging", True) else 1.0) * g
            v[n] = 0.999 * v[n] + 0.001 * g**2
            first, second = (1 - 0.9**t, 1 - 0.999**t) if options.get("bias_correction", True) else (1, 1)
            update = m[n] / first / (np.sqrt(v[n] / second) + 1e-6) + (decay * values[n] if decoupled else 0)
            ratio = np.linalg.norm(values[n]) / np.linalg.norm(update) if decay or options.get("use_nvlamb") else 1.0
            values[n] = values[n] - 0.1 * ratio * update
    for got, want in zip(_run("FusedLAMB", {"lr": 0.1, **options}), values):
        np.testing.assert_allclose(got, want, rtol=1e-9)


NOVOGRADS = [
    {}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "reg_inside_moment": True}, {"norm_type": 0}, {"init_zero": True}, {"grad_averaging": False},
    {"bias_correction": False},
]  # fmt: skip


@pytest.mark.parametrize("options", NOVOGRADS, ids=str)
def test_novograd(options: dict) -> None:
    values, slopes = _drawn()
    decay, inside = options.get("weight_decay", 0.0), options.get("reg_inside_moment", False)
    m, v = [0.0] * 3, [0.0] * 3
    for t, step in enumerate(slopes, 1):
        for n, g in enumerate(step):
            norm = np.abs(g).max() if options.get("norm_type") == 0 else np.linalg.norm(g)
            before = v[n] if t > 1 else 0.0 if options.get("init_zero") else norm
            v[n] = (
                0.9 * before + 0.1 * norm
                if options.get("norm_type") == 0
                else math.sqrt(0.9 * before**2 + 0.1 * norm**2)
            )
            first, second = (1 - 0.5**t, 1 - 0.9**t) if options.get("bias_correction", True) else (1, 1)
            divisor = v[n] / math.sqrt(second) + 1e-8
            entry = g / divisor + decay * values[n] if inside else g
            m[n] = 0.5 * m[n] + (0.5 if options.get("grad_averaging", True) else 1.0) * entry
            update = m[n] / first if inside else m[n] / first / divisor + decay * values[n]
            values[n] = values[n] - 0.1 * update
    for got, want in zip(_run("FusedNovoGrad", {"lr": 0.1, "betas": (0.5, 0.9), **options}), values):
        np.testing.assert_allclose(got, want, rtol=1e-9)


@pytest.mark.parametrize("name", ["FusedAdam", "FusedLAMB", "FusedSGD", "FusedNovoGrad"])
def test_states_are_saved(name: str) -> None:
    """Training goes on after a load as without it, and the state of half precision is in float32."""
    options = {"lr": 0.1, **({"momentum": 0.9} if name == "FusedSGD" else {})}
    one = torch.nn.Parameter(torch.tensor(_draw(4)).bfloat16())
    optimizer = getattr(apex.optimizers, name)([one], **options)
    one.grad = torch.tensor(_draw(4, seed=1)).bfloat16()
    optimizer.step()
    assert {value.dtype for value in optimizer.state[one].values()} == {torch.float32}
    other = torch.nn.Parameter(one.detach().clone())
    loaded = getattr(apex.optimizers, name)([other], **options)
    loaded.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert {value.dtype for value in loaded.state[other].values()} == {torch.float32}
    other.grad = one.grad.clone()
    optimizer.step(), loaded.step()
    assert torch.equal(one, other)
    optimizer.zero_grad()
    assert one.grad is None if name != "FusedSGD" else one.grad.count_nonzero() == 0


def test_larc() -> None:
    for clip in (True, False):
        value, slope = _draw(4), _draw(4, seed=1)
        parameter = torch.nn.Parameter(torch.tensor(value))
        optimizer = apex.parallel.LARC(
            torch.optim.SGD([parameter], lr=0.1, weight_decay=0.3), trust_coefficient=0.02, clip=clip
        )
        parameter.grad = torch.tensor(slope)
        optimizer.step()
        rate = 0.02 * np.linalg.norm(value) / (np.linalg.norm(slope) + 0.3 * np.linalg.norm(value) + 1e-8)
        rate = min(rate / 0.1, 1) if clip else rate
        _close(parameter, value - 0.1 * rate * (slope + 0.3 * value), 1e-10)
        assert optimizer.param_groups[0]["weight_decay"] == 0.3


# Lists of tensors, rotary embeddings, softmax, batch norm


def test_functions_of_lists() -> None:
    apply, flag = apex.multi_tensor_apply.multi_tensor_applier, torch.zeros(1, dtype=torch.int32)
    first, second = (
        [torch.tensor(_draw(3)).float(), torch.tensor(_draw(2, 2)).float()],
        [torch.ones(3), torch.ones(2, 2)],
    )
    outs = [torch.empty(3), torch.empty(2, 2)]
    apply(amp_C.multi_tensor_scale, flag, [first, outs], 0.5)
    assert all(torch.equal(out, x * 0.5) for out, x in zip(outs, first))
    apply(amp_C.multi_tensor_axpby, flag, [first, second, outs], 2.0, 3.0, -1)
    assert all(torch.allclose(out, x * 2 + 3) for out, x in zip(outs, first)) and flag.item() == 0
    whole, each = apply(amp_C.multi_tensor_l2norm, flag, [first], True)
    torch.testing.assert_close(whole, torch.cat([x.view(-1) for x in first]).norm().view(1))
    torch.testing.assert_close(each, torch.stack([x.norm() for x in first]))
    apply(amp_C.multi_tensor_scale, flag, [[torch.tensor([1.0, math.inf])], [torch.empty(2)]], 1.0)
    assert flag.item() == 1


def test_rotary_embeddings() -> None:
    t, freqs = _draw(6, 2, 3, 8), _draw(6, 1, 1, 4, seed=1)
    freqs = np.concatenate([freqs[..., :2]] * 2, -1)
    want = t.copy()
    for index in range(2):  # each pair of elements is turned
        a, b = t[..., index].copy(), t[..., index + 2].copy()
        cos, sin = np.cos(freqs[..., index]), np.sin(freqs[..., index])
        want[..., index], want[..., index + 2] = a * cos - b * sin, b * cos + a * sin
    x, angles = torch.tensor(t), torch.tensor(freqs)
    _close(F.fused_apply_rotary_pos_emb(x, angles), want, 1e-10)
    _close(F.fused_apply_rotary_pos_emb_cached(x, angles.cos(), angles.sin(), True), want, 1e-10)
    packed = torch.cat((x[:4, 0], x[:2, 1]))
    _close(
        F.fused_apply_rotary_pos_emb_thd(packed, torch.tensor([0, 4, 6], dtype=torch.int32), angles),
        np.concatenate((want[:4, 0], want[:2, 1])),
        1e-10,
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_softmax(dtype: str) -> None:
    scores = torch.tensor(_draw(2, 3, 4, 4)).to(getattr(torch, dtype))
    wide, mask = scores.double().numpy(), np.zeros((2, 1, 4, 4), bool)
    mask[0, 0, 1, 2:], mask[1, 0, 2] = True, True  # the last is a whole row
    later = np.triu(np.ones((4, 4), bool), 1)

    def formula(hidden: np.ndarray) -> np.ndarray:
        weights = np.exp(wide * 0.5) * ~np.broadcast_to(hidden, wide.shape)
        total = weights.sum(-1, keepdims=True)
        return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)

    _close(F.scaled_masked_softmax(scores, torch.tensor(mask), 0.5), formula(mask), TOLERANCE[dtype])
    _close(
        F.scaled_upper_triang_masked_softmax(scores.view(6, 4, 4), None, 0.5),
        formula(later).reshape(6, 4, 4),
        TOLERANCE[dtype],
    )
    kinds = apex.transformer.enums.AttnMaskType
    for kind, hidden in ((kinds.padding, mask), (kinds.causal, later)):
        half = dtype == "bfloat16"
        layer = F.FusedScaleMaskSoftmax(False, half, kind, True, lambda x, m: x.masked_fill(m, -10000.0), True, 0.5)
        got = layer(scores, torch.tensor(hidden))
        assert got.dtype is scores.dtype
        some = np.broadcast_to(~hidden.all(-1), got.shape[:-1])  # without fusion a whole row is even
        np.testing.assert_allclose(
            got.double().numpy()[some], formula(hidden)[some], rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
        )


def test_batch_norm() -> None:
    x, z = torch.tensor(_draw(4, 5, 2, 3)).float(), torch.tensor(_draw(4, 5, 2, 3, seed=1)).float()
    model = torch.nn.Sequential(
        torch.nn.Conv2d(5, 5, 1), torch.nn.Sequential(torch.nn.BatchNorm2d(5)), torch.nn.InstanceNorm2d(5)
    )
    want = model(x)
    weight = model[1][0].weight
    model = apex.parallel.convert_syncbn_model(model)
    assert (
        type(model[1][0]) is apex.parallel.SyncBatchNorm
        and model[1][0].weight is weight
        and type(model[2]) is torch.nn.InstanceNorm2d
    )
    torch.testing.assert_close(model(x), want)
    layer, last = apex.parallel.SyncBatchNorm(5, fuse_relu=True), apex.parallel.SyncBatchNorm(5, channel_last=True)
    plain = torch.nn.BatchNorm2d(5)(x)
    torch.testing.assert_close(layer(x, z), (plain + z).relu())
    torch.testing.assert_close(last(x.movedim(1, -1)), plain.movedim(1, -1))


# Mixed precision


def _net() -> tuple[torch.nn.Module, torch.Tensor, torch.Tensor]:
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    with torch.no_grad():
        for number, parameter in enumerate(net.parameters()):
            parameter.copy_(torch.tensor(_draw(*parameter.shape, seed=number + 5)) * 0.3 + 0.1)
    return net, torch.tensor(_draw(16, 6)).float(), torch.tensor(_draw(16, 2, seed=1)).float()


def _train(
    level: str | None, backward: int = 1, **options
) -> tuple[list[float], torch.nn.Module, torch.optim.Optimizer]:
    net, x, y = _net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    if level is not None:
        net, optimizer = apex.amp.initialize(net, optimizer, opt_level=level, verbosity=0, **options)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        for _ in range(backward):
            out = net(x)
            assert out.dtype is torch.float32
            loss = torch.nn.functional.mse_loss(out, y) / backward
            if level is None:
                loss.backward()
            else:
                with apex.amp.scale_loss(loss, optimizer) as scaled:
                    scaled.backward()
        optimizer.step()
        losses.append(loss.item() * backward)
    return losses, net, optimizer


@pytest.mark.parametrize("backward", [1, 2])
@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_levels_of_mixed_precision(level: str, backward: int) -> None:
    """Losses follow those of float32, also where gradients of several backward passes add up."""
    want, _, _ = _train(None)
    got, net, optimizer = _train(level, backward)
    np.testing.assert_allclose(got, want, rtol=1e-5 if level == "O0" else 0.02)
    half = {"O0": [], "O1": [], "O2": [0, 3], "O3": [0, 1, 3]}[level]
    assert [index for index in (0, 1, 3) if net[index].weight.dtype is torch.float16] == half
    assert {parameter.dtype for parameter in apex.amp.master_params(optimizer)} == {
        torch.float16 if level == "O3" else torch.float32
    }
    scale = apex.amp.state_dict()["loss_scaler0"]
    assert scale == {
        "loss_scale": 65536.0 if level in ("O1", "O2") else 1.0,
        "unskipped": 6 * backward if level in ("O1", "O2") else 0,
    }
    if level == "O2":
        assert torch.equal(net[0].weight, optimizer.param_groups[0]["params"][0].half())


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NumPy's, of products with infinity
def test_overflow() -> None:
    """The step is skipped and the scale halved, once; the state is saved and loaded."""
    net, x, y = _net()
    net, optimizer = apex.amp.initialize(net, torch.optim.SGD(net.parameters(), lr=0.05), opt_level="O2")
    before = net[0].weight.detach().clone()
    for factor, moves in ((math.inf, False), (1.0, True)):
        with apex.amp.scale_loss(net(x).sub(y).square().mean() * factor, optimizer) as scaled:
            scaled.backward()
        optimizer.step()
        optimizer.zero_grad()
        assert torch.equal(net[0].weight, before) is not moves
    saved = apex.amp.state_dict()
    assert saved == {"loss_scaler0": {"loss_scale": 32768.0, "unskipped": 1}}
    apex.amp.initialize(*_net()[:1], opt_level="O2")
    apex.amp.load_state_dict(saved)
    assert apex.amp.state_dict() == saved


def test_options_of_initialize() -> None:
    net, optimizer = _train("O2", loss_scale="128.0", keep_batchnorm_fp32="False", master_weights=False)[1:]
    assert apex.amp.state_dict()["loss_scaler0"]["loss_scale"] == 128.0
    assert net[1].weight.dtype is torch.float16 and next(apex.amp.master_params(optimizer)).dtype is torch.float16
    got, net, _ = _train("O2", enabled=False)
    np.testing.assert_allclose(got, _train(None)[0], rtol=1e-6)
    with pytest.raises(RuntimeError, match="Unexpected optimization level O4"):
        apex.amp.initialize(net, opt_level="O4")


ABSENT = [
    (apex, "RNN", "torch.nn.LSTM"), (apex, "fp16_utils", "torch.autocast"), (apex.optimizers, "FusedAdagrad", "torch.optim.Adagrad"),
    (apex.parallel, "Reducer", "all_reduce"), (apex.amp, "half_function", "custom_fwd"), (apex.transformer, "parallel_state", "tensor.parallel"),
    (amp_C, "multi_tensor_adam", "apex.optimizers"),
]  # fmt: skip


@pytest.mark.parametrize("place, name, instead", ABSENT)
def test_what_is_absent_says_what_to_write(place, name, instead) -> None:
    with pytest.raises(NotImplementedError, match=f"{name} is not here; write .*{instead}"):
        getattr(place, name)()
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        place.nothing  # noqa: B018


def test_optimizers_refuse_what_they_lack() -> None:
    x = torch.nn.Parameter(torch.ones(2))
    for name in ("FusedAdam", "FusedLAMB", "FusedNovoGrad"):
        with pytest.raises(RuntimeError, match="AMSGrad"):
            getattr(apex.optimizers, name)([x], amsgrad=True)
    with pytest.raises(NotImplementedError, match="O2"):
        apex.optimizers.FusedAdam([x], master_weights=True)
    with pytest.raises(NotImplementedError, match="gradient_average=False"):
        apex.parallel.DistributedDataParallel(torch.nn.Linear(1, 1), gradient_average=False)
