"""Each optimizer compared with torch's: parameters, state and options after some steps, and the errors of invalid options."""

import copy
import os
import pickle

import numpy as np
import pytest
import torch as reference

import mstorch
from mstorch._src.backend.onednn import library
from mstorch._src.ops.layers import optim as steps

LIBRARIES = (mstorch, reference)
# Kernels may round the last bit differently; the order of operations is the same.
ROUND_OFF = {"rtol": 3e-6, "atol": 1e-6}

CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "fused": True}),
    ("SGD", {"lr": 0.1, "foreach": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1, "amsgrad": True}),
    ("Adam", {"lr": 0.05, "betas": (0.5, 0.7), "eps": 1e-3, "maximize": True, "foreach": True}),
    ("Adam", {"lr": 0.05, "decoupled_weight_decay": True, "weight_decay": 0.1, "fused": True}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.2, "amsgrad": True, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.02, "alpha": 0.8, "weight_decay": 0.1, "momentum": 0.9, "centered": True}),
    ("RMSprop", {"centered": True, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1, "decoupled_weight_decay": True}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("RAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": (0.5, 0.9), "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "weight_decay": 0.1, "maximize": True}),
    ("ASGD", {"lr": 0.1}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 3, "weight_decay": 0.1, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (1e-2, 0.5), "maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.1, "weight_decay": 0.1, "eps": (1e-5, 1e-2), "d": 2.0, "maximize": True}),
]
TENSOR_LR = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "Adadelta", "ASGD", "Adafactor"]
ADAM_LIKE = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"]


def _plain(value):
    """Return tensors, at any depth, as (dtype, shape, array)."""
    if hasattr(value, "detach"):
        return str(value.dtype), tuple(value.shape), value.detach().numpy().copy()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item) for item in value)
    return value


def _assert_same(mine, theirs, **tolerance):
    assert type(mine) is type(theirs), (mine, theirs)
    if isinstance(theirs, dict):
        assert set(mine) == set(theirs)
        for key in theirs:
            _assert_same(mine[key], theirs[key], **tolerance)
    elif isinstance(theirs, (list, tuple)):
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            _assert_same(a, b, **tolerance)
    elif isinstance(theirs, np.ndarray):
        np.testing.assert_allclose(mine, theirs, **(tolerance or {"rtol": 0, "atol": 0}))
    else:
        assert mine == theirs


def _parameters(torch, dtype="float32", shapes=((4, 3), (5,), ())):
    rng = np.random.default_rng(0)
    params = []
    for shape in shapes:
        value = rng.standard_normal(shape)
        if dtype.startswith("complex"):
            value = value + 1j * rng.standard_normal(shape)
        params.append(torch.tensor(value, dtype=getattr(torch, dtype)).requires_grad_())
    return params


def _set_grads(torch, params, step):
    rng = np.random.default_rng(100 + step)
    for i, param in enumerate(params):
        value = rng.standard_normal(tuple(param.shape))
        if param.is_complex():
            value = value + 1j * rng.standard_normal(tuple(param.shape))
        if i == 1 and step == 1:
            param.grad = None
            continue
        param.grad = torch.tensor(value, dtype=param.dtype)


def _run(torch, name, options, steps=7, dtype="float32", **kwargs):
    params = _parameters(torch, dtype, **kwargs)
    options = {key: value(torch) if callable(value) else value for key, value in options.items()}
    optimizer = getattr(torch.optim, name)(params, **options)
    for step in range(steps):
        _set_grads(torch, params, step)
        optimizer.step()
    return _plain(params), _plain(optimizer.state_dict())


def _compare(name, options, tolerance=ROUND_OFF, **kwargs):
    mine, theirs = (_run(torch, name, options, **kwargs) for torch in LIBRARIES)
    _assert_same(mine, theirs, **tolerance)


def _same_error(body):
    outcomes = []
    for torch in LIBRARIES:
        with pytest.raises(Exception) as caught:
            body(torch)
        outcomes.append((caught.type.__name__, str(caught.value)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda x: x if isinstance(x, str) else "-".join(x) or "plain")
def test_steps(name, options):
    _compare(name, options)


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_float64(name):
    _compare(name, {"lr": 0.05}, {"rtol": 1e-12, "atol": 1e-13}, dtype="float64")


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES} - {"Adafactor"}))
def test_complex(name):
    options = {"lr": 0.05} | ({"weight_decay": 0.1} if name != "Rprop" else {})
    options |= {"RMSprop": {"momentum": 0.5, "centered": True}, "Adam": {"amsgrad": True}}.get(name, {})
    _compare(name, options, dtype="complex64")


@pytest.mark.parametrize("name", TENSOR_LR)
@pytest.mark.parametrize("shape", [(), (1,)])
def test_tensor_lr(name, shape):
    _compare(name, {"lr": lambda torch: torch.full(shape, 0.05)})


def test_tensor_betas():
    options = {
        "lr": lambda torch: torch.tensor(0.05),
        "betas": lambda torch: (torch.tensor(0.8), torch.tensor([0.9])),
        "weight_decay": 0.1,
    }
    _compare("Adam", options)


@pytest.mark.parametrize("nesterov", [True, False])
@pytest.mark.parametrize("adjust", [None, "match_rms_adamw"])
def test_muon(nesterov, adjust):
    # bfloat16 keeps 8 bits, so that one rounding may move a result by 1/256 of it.
    shapes = ((4, 3), (3, 5))
    options = {"lr": 0.1, "nesterov": nesterov, "adjust_lr_fn": adjust}
    mine, theirs = (_run(torch, "Muon", options, shapes=shapes) for torch in LIBRARIES)
    _assert_same(mine[1], theirs[1], **ROUND_OFF)
    _assert_same(mine[0], theirs[0], rtol=1e-2, atol=5e-3)


@pytest.mark.parametrize(
    "options", [{"lr": 0.1}, {"line_search_fn": "strong_wolfe"}, {"history_size": 2, "max_iter": 30}]
)
def test_lbfgs(options):
    def body(torch):
        x = torch.tensor([-1.5, 2.0], dtype=torch.float64, requires_grad=True)
        y = torch.tensor([[0.5]], dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.LBFGS([x, y], **options)

        def closure():
            optimizer.zero_grad()
            loss = (1 - x[0]) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2 + (y * y * y * y).sum() + (x.sum() - y.sum()) ** 2
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(2)]
        state = optimizer.state_dict()["state"][0]
        counts = {key: state[key] for key in ("n_iter", "func_evals")}
        return [losses, _plain([x, y]), counts, sorted(state), len(state["old_dirs"])]

    mine, theirs = (body(torch) for torch in LIBRARIES)
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-4, atol=1e-6)
    _assert_same(mine[1], theirs[1], rtol=1e-3, atol=1e-4)
    assert mine[2:] == theirs[2:]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": -1.0}),
        ("SGD", {"momentum": -1.0}),
        ("SGD", {"weight_decay": -1.0}),
        ("SGD", {"nesterov": True}),
        ("SGD", {"fused": True, "foreach": True}),
        ("SGD", {"fused": True, "differentiable": True}),
        ("SGD", {"lr": lambda torch: torch.ones(2)}),
        ("Adam", {"lr": -1.0}),
        ("Adam", {"eps": -1.0}),
        ("Adam", {"betas": (1.0, 0.9)}),
        ("Adam", {"betas": (0.9, -0.1)}),
        ("Adam", {"betas": (0, 0.9)}),
        ("Adam", {"weight_decay": -1.0}),
        ("Adam", {"fused": True, "foreach": True}),
        ("Adam", {"lr": lambda torch: torch.tensor(0.1), "foreach": True}),
        ("Adam", {"betas": lambda torch: (torch.tensor(0.9), torch.ones(2) / 2)}),
        ("RMSprop", {"alpha": -1.0}),
        ("RMSprop", {"momentum": -1.0}),
        ("Adagrad", {"lr_decay": -1.0}),
        ("Adagrad", {"initial_accumulator_value": -1.0}),
        ("Adamax", {"betas": (1.0, 0.9)}),
        ("NAdam", {"momentum_decay": -1.0}),
        ("RAdam", {"eps": -1.0}),
        ("Adadelta", {"rho": 2.0}),
        ("ASGD", {"weight_decay": -1.0}),
        ("Rprop", {"etas": (1.5, 1.2)}),
        ("Adafactor", {"beta2_decay": 1.0}),
        ("Adafactor", {"d": 0.5}),
        ("Adafactor", {"eps": (-1.0, 1.0)}),
        ("Adafactor", {"lr": -1.0}),
        ("Muon", {}),
        ("Muon", {"adjust_lr_fn": "no"}),
        ("LBFGS", {"lr": -1.0}),
    ],
)
def test_bad_options(name, options):
    _same_error(lambda torch: _run(torch, name, options, steps=0))


@pytest.mark.on_the_cpu
@pytest.mark.parametrize("name", [*ADAM_LIKE, "RMSprop", "Adadelta", "ASGD", "Rprop"])
def test_capturable_needs_an_accelerator(name):
    for torch in LIBRARIES:
        with pytest.raises(AssertionError, match="If capturable=True, params"):
            _run(torch, name, {"capturable": True}, steps=1)


def test_fused_needs_floating_point():
    for torch in LIBRARIES:
        for name in ("SGD", "Adam", "Adagrad"):
            with pytest.raises(RuntimeError, match="requires all the params to be floating point Tensors"):
                _run(torch, name, {"fused": True}, steps=1, dtype="complex64")


def test_differentiable_steps():
    def body(torch, name):
        start = torch.tensor([1.0, -2.0], requires_grad=True)
        rate = torch.tensor(0.1, requires_grad=True)
        param = start.clone()
        optimizer = getattr(torch.optim, name)([param], lr=rate, differentiable=True)
        for step in range(2):
            param.grad = torch.tensor([0.5, 0.25 + step])
            optimizer.step()
        (param * param).sum().backward()
        return _plain([param, start.grad, rate.grad])

    for name in ("SGD", "Adam"):
        mine, theirs = (body(torch, name) for torch in LIBRARIES)
        _assert_same(mine, theirs, **ROUND_OFF)


@pytest.mark.parametrize(
    ("name", "options"), CASES[::2], ids=lambda x: x if isinstance(x, str) else "-".join(x) or "plain"
)
def test_state_dict_goes_on(name, options):
    def body(torch):
        params = _parameters(torch)
        first = getattr(torch.optim, name)(params, **options)
        for step in range(3):
            _set_grads(torch, params, step)
            first.step()
        copies = [param.detach().clone().requires_grad_() for param in params]
        second = getattr(torch.optim, name)(copies, **options)
        second.load_state_dict(copy.deepcopy(first.state_dict()))
        for step in range(3, 6):
            for optimizer, group in ((first, params), (second, copies)):
                _set_grads(torch, group, step)
                optimizer.step()
        return _plain(params), _plain(copies), _plain(second.state_dict())

    mine, theirs = (body(torch) for torch in LIBRARIES)
    _assert_same(mine[0], mine[1])
    _assert_same(mine, theirs, **ROUND_OFF)


def test_old_checkpoints_with_plain_steps():
    def body(torch, name):
        params = _parameters(torch)
        optimizer = getattr(torch.optim, name)(params)
        _set_grads(torch, params, 0)
        optimizer.step()
        saved = optimizer.state_dict()
        for state in saved["state"].values():
            state["step"] = 1
        for group in saved["param_groups"]:
            for key in ("foreach", "maximize", "differentiable"):
                group.pop(key, None)
        optimizer.load_state_dict(saved)
        _set_grads(torch, params, 2)
        optimizer.step()
        return _plain(params), _plain(optimizer.state_dict())

    for name in ("Adam", "AdamW", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "Adadelta", "Rprop", "ASGD"):
        mine, theirs = (body(torch, name) for torch in LIBRARIES)
        _assert_same(mine, theirs, **ROUND_OFF)


def test_copy_and_pickle():
    for make in (copy.deepcopy, lambda optimizer: pickle.loads(pickle.dumps(optimizer))):
        outcomes = []
        for torch in LIBRARIES:
            params = _parameters(torch)
            optimizer = torch.optim.Adam(params, lr=0.1)
            _set_grads(torch, params, 0)
            optimizer.step()
            other = make(optimizer)
            copies = other.param_groups[0]["params"]
            _set_grads(torch, copies, 2)
            other.step()
            outcomes.append((_plain(copies), _plain(params), _plain(other.state_dict())))
        _assert_same(*outcomes, **ROUND_OFF)


LONG_SHAPES = [(300, 1001), (7,), (1 << 18,), (3, 5)]


def _long_parameters(torch, shared):
    rng = np.random.default_rng(4)
    params = [torch.nn.Parameter(torch.from_numpy(rng.standard_normal(shape).astype(np.float32))) for shape in LONG_SHAPES]
    for param in params:
        param.grad = torch.from_numpy(rng.standard_normal(tuple(param.shape)).astype(np.float32))
    if shared:  # one memory in two places, and another parameter as the gradient
        again = torch.nn.Parameter(params[2].detach())
        again.grad = params[2].grad * 2
        last = torch.nn.Parameter(torch.zeros_like(params[0]))
        last.grad = params[0].detach()
        params += [again, last]
    return params


@pytest.mark.sweep
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("name", "options"), [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}), ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("Adam", {}), ("AdamW", {"weight_decay": 0.3}), ("AdamW", {"maximize": True}),
])  # fmt: skip
def test_long_parameters_on_threads(name, options, threads, shared):
    results = []
    before = mstorch.get_num_threads()
    try:
        mstorch.set_num_threads(threads)
        for torch in LIBRARIES:
            params = _long_parameters(torch, shared)
            optimizer = getattr(torch.optim, name)(params, foreach=False, **options)
            for _ in range(3):
                optimizer.step()
            results.append([(param.detach().numpy(), param._version) for param in params])
    finally:
        mstorch.set_num_threads(before)
    for (ours, version), (theirs, their_version) in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, **ROUND_OFF)
        assert version == their_version


@pytest.mark.skipif(not library.FOUND, reason="MindSpore's package holds no oneDNN here")
@pytest.mark.skipif("ONEDNN_MAX_CPU_ISA" in os.environ, reason="oneDNN is told to compute as another processor would, as on the stand-in device")
@pytest.mark.parametrize("options", [{"lr": 0.1}, {"lr": 0.1, "momentum": 0.9}, {"lr": 0.0}])
def test_descent_rounds_as_torch(options):
    conjugated = [torch.ones(2, dtype=torch.complex64, device="cpu").conj() for torch in LIBRARIES]  # lazy conjugates elsewhere stay

    def steps(torch):
        rng = np.random.default_rng(5)
        params = [torch.nn.Parameter(torch.from_numpy(rng.standard_normal(size).astype(np.float32))) for size in (1, 7, 513, 70001)]
        optimizer = torch.optim.SGD(params, **options)
        for _ in range(3):
            for param in params:
                param.grad = torch.from_numpy(rng.standard_normal(len(param)).astype(np.float32))
            params[1].grad[3] = float("inf")
            optimizer.step()
        return [param.detach().numpy() for param in params]

    for ours, theirs in zip(*map(steps, LIBRARIES), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert all(one.is_conj() for one in conjugated)


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_updates_are_done_in_portions(name, monkeypatch):
    from_whole, from_parts = [], []
    for most, found in ((1 << 22, from_whole), (1000, from_parts)):
        monkeypatch.setattr(steps, "_MOST", most)
        params = _long_parameters(mstorch, False)
        optimizer = getattr(mstorch.optim, name)(params, weight_decay=0.1)
        optimizer.step()
        found += [(param.detach().numpy(), param._version) for param in params]
    for (whole, version), (parts, other) in zip(from_whole, from_parts, strict=True):
        np.testing.assert_array_equal(whole, parts)
        assert version == other


@pytest.mark.on_the_cpu
@pytest.mark.parametrize("torch", LIBRARIES)
def test_adagrads_sums_are_shared(torch):
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adagrad([weight])
    assert not optimizer.state[weight]["sum"].is_shared()
    assert optimizer.share_memory() is None
    assert optimizer.state[weight]["sum"].is_shared()


@pytest.mark.parametrize("shape", [(4,), (12,), (2, 2), (3, 2, 1), (1,), (5, 3, 2, 2)])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_gradients_of_another_shape(name, shape):
    """A gradient that does not broadcast to its parameter raises as in torch, before a kernel writes beyond its memory."""

    def stepped(torch, **options):
        parameter = torch.ones(3, 2, 2).requires_grad_()
        parameter.sum().backward()
        parameter.data = torch.ones(shape)
        optimizer = getattr(torch.optim, name)([parameter], lr=0.5, **options)
        try:
            optimizer.step()
        except RuntimeError:
            return "raises"
        return parameter.tolist()

    for options in ({}, {"momentum": 0.9}, {"weight_decay": 0.1}) if name == "SGD" else ({},):
        assert stepped(mstorch, **options) == stepped(reference, **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *CASES,
        *(("LBFGS", options) for options in ({}, {"max_iter": 1}, {"max_iter": 2, "history_size": 2}, {"line_search_fn": "strong_wolfe"}, {"tolerance_change": 100.0})),
    ],
)
def test_order_of_the_state(name, options):
    """Checkpoints preserve the order of the entries."""

    def orders(torch):
        x = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3) / 7 - 0.3)
        optimizer = getattr(torch.optim, name)([x], **options)

        def closure():
            optimizer.zero_grad()
            loss = (x * x).sum() + x.sin().sum()
            loss.backward()
            return loss

        found = []
        for _ in range(3):
            optimizer.step(closure)
            state = optimizer.state_dict()
            found.append([list(state), list(state["state"].get(0, ())), list(state["param_groups"][0])])
        return found

    assert orders(mstorch) == orders(reference)
