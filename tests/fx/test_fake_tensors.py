"""FakeTensorMode compared with torch: shapes, dtypes, strides and devices of fake tensors, and errors where they depend on values."""
from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

import mstorch
from tests import databases

Both = Callable[..., Any]
pytestmark = pytest.mark.on_the_cpu


def _fake(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}._subclasses.fake_tensor")


def _looks(value: Any) -> Any:
    """Return the metadata of the tensors in a value."""
    if isinstance(value, (list, tuple)):
        return [_looks(part) for part in value]
    if isinstance(value, dict):
        return {key: _looks(part) for key, part in value.items()}
    if not hasattr(value, "stride"):
        return value
    return (
        type(value).__name__, repr(value) if value.grad_fn is None else "", tuple(value.shape), value.stride(), value.storage_offset(),
        str(value.dtype), str(value.device), value.requires_grad, value.is_leaf, value.grad_fn is None,
    )  # fmt: skip


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "factories": lambda torch, x: [torch.ones(2), torch.arange(5), torch.rand(2, dtype=torch.float64), torch.full((2, 2), 1), torch.eye(3)],
    "of numbers": lambda torch, x: [torch.tensor([1.0, 2.0]), torch.tensor(3).item(), (torch.tensor(3) + 1).item(), bool(torch.tensor(True))],
    "written number": lambda torch, x: torch.zeros(()).add_(2).item(),
    "views": lambda torch, x: [x.view(6, 4), x.t()[0] if x.dim() == 2 else x[0], x[..., 1:], x.transpose(0, 1), x.permute(2, 0, 1)],
    "arithmetic": lambda torch, x: [x + 1, x * x, x @ x.transpose(1, 2), x > 0, x.sum(1), x.max(1), x.double() / 2],
    "in place": lambda torch, x: [x.add_(1), x.relu_(), x.zero_()],
    "devices": lambda torch, x: [torch.empty(2, device="cuda"), torch.empty(2, device="cuda:1") * 2, torch.empty(2, device="meta").device],
    "on two devices": lambda torch, x: torch.empty(2, device="cuda") + torch.ones(2),
    "a number on another device": lambda torch, x: torch.empty(2, device="cuda") + torch.tensor(1.0),
    "svd": lambda torch, x: list(torch.linalg.svd(x)), "sort": lambda torch, x: list(x.sort()), "topk": lambda torch, x: list(x.topk(2)),
    "cat": lambda torch, x: [torch.cat([x, x], 1), torch.stack([x, x]), *torch.split(x, 2, 1)], "einsum": lambda torch, x: torch.einsum("abc,adc->bd", x, x),
    "item": lambda torch, x: x.sum().item(), "bool": lambda torch, x: bool(x.sum() > 0), "tolist": lambda torch, x: x.tolist(),
    "nonzero": lambda torch, x: x.nonzero(), "mask": lambda torch, x: x[x > 0], "masked_select": lambda torch, x: x.masked_select(x > 0),
    "equal": lambda torch, x: torch.equal(x, x), "numpy": lambda torch, x: x.numpy(), "pointer": lambda torch, x: x.data_ptr(),
    "index": lambda torch, x: x[:, torch.tensor([0, 1])], "where": lambda torch, x: torch.where(x > 0, x, 0.0),
    "copy": lambda torch, x: importlib.import_module("copy").deepcopy(x), "clone": lambda torch, x: x.clone(),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(both: Both, name: str) -> None:
    def body(torch: Any) -> Any:
        with _fake(torch).FakeTensorMode():
            return _looks(PROGRAMS[name](torch, torch.randn(2, 3, 4)))

    both(body, message="" if name in ("nonzero", "mask", "masked_select") else None)


def test_networks_and_optimizers(both: Both) -> None:
    def body(torch: Any) -> Any:
        with _fake(torch).FakeTensorMode():
            model = torch.nn.Sequential(
                torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(128, 5),
            )  # fmt: skip
            optimizers = [torch.optim.AdamW(model.parameters()), torch.optim.SGD(model.parameters(), 0.1, 0.9), torch.optim.RMSprop(model.parameters())]
            result = model(torch.randn(2, 3, 8, 8))
            torch.nn.functional.cross_entropy(result, torch.zeros(2, dtype=torch.int64)).backward()
            for optimizer in optimizers:
                optimizer.step()
            return _looks([result, [(p, p.grad) for p in model.parameters()], dict(model.state_dict()), list(optimizers[0].state.values())])

    both(body)


def test_tensors_with_elements(both: Both) -> None:
    def body(torch: Any) -> Any:
        fake = _fake(torch)
        mode, real = fake.FakeTensorMode(), torch.ones(2, 3)
        made, parameter = mode.from_tensor(real), mode.from_tensor(torch.nn.Parameter(torch.ones(2)))
        found = [made, made + 1, made @ made.T, made.fake_mode is mode, mode.from_tensor(real) is made, fake.is_fake(made), fake.is_fake(real), parameter]
        found.append(fake.FakeTensorMode(allow_non_fake_inputs=True).from_tensor(real) + real)
        found.append(fake.FakeTensorMode().from_tensor(made).fake_mode is mode)
        for call in (lambda: made + real, lambda: fake.FakeTensorMode().from_tensor(real) + made):
            try:
                call()
            except AssertionError as error:
                found.append(re.sub("0x[0-9a-f]+|mstorch|torch", "", str(error)))
        with mode:
            try:
                real + 1
            except AssertionError as error:
                found.append(str(error))
            with fake.unset_fake_temporarily():
                found.append((real + 1).sum().item())
        return _looks(found)

    both(body)


def test_initial_values_and_buffers(both: Both) -> None:
    def body(torch: Any) -> Any:
        init = torch.nn.init
        with _fake(torch).FakeTensorMode():
            weight, buffer = torch.nn.Parameter(torch.empty(3, 4)), torch.nn.Buffer(torch.arange(4).expand((1, -1)))
            for call in (init.eye_, init.orthogonal_, init.xavier_uniform_, init.kaiming_normal_, init.zeros_, init.ones_):
                call(weight)
            buffer.add_(1)
            return _looks([weight, buffer, torch.nn.functional.silu(weight * 1, inplace=True), 5 % buffer, 5 // buffer])

    both(body)


def test_symbols_are_absent() -> None:
    with pytest.raises(NotImplementedError, match="shape_env"):
        _fake(mstorch).FakeTensorMode(shape_env=object())


MODULES = databases.layers("Lazy|FractionalMaxPool|CTCLoss")


def _faked(torch: Any, build: Callable[[], Any], args: Any, kwargs: Any) -> Any:
    """Return the metadata of results and gradients of a layer that is constructed and called under a fake mode."""
    mode = _fake(torch).FakeTensorMode()

    def faked(value: Any) -> Any:
        return mode.from_tensor(value) if isinstance(value, torch.Tensor) else databases._mapped(value, faked)

    with mode:
        layer = build()
        result = layer(*map(faked, args), **{key: faked(value) for key, value in kwargs.items()})
        first = next(part for part in databases._flat(result) if isinstance(part, torch.Tensor))
        if first.requires_grad:
            first.sum().backward()
        grads = [None if p.grad is None else (tuple(p.grad.shape), str(p.grad.dtype), str(p.grad.device)) for p in layer.parameters()]
    return [(tuple(part.shape), part.stride(), str(part.dtype)) for part in databases._flat(result) if isinstance(part, torch.Tensor)], grads


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore")
def test_layers_of_the_database(name: str) -> None:
    info = MODULES[name]
    cls = databases.layer_of(info.module_cls)
    for sample in databases.layer_samples(info, training=True)[:3]:
        constructor, forward = sample.constructor_input, sample.forward_input
        given = (*constructor.args, *constructor.kwargs.values())
        if any(isinstance(value, torch.Tensor) or callable(value) for value in given):  # with elements, or torch's own functions
            continue
        try:
            wanted = _faked(torch, lambda: info.module_cls(*constructor.args, **constructor.kwargs), forward.args, forward.kwargs)
        except (RuntimeError, AssertionError) as error:
            assert "aten." in str(error) or "Mixing fake modes" in str(error), error  # torch cannot infer it, or its layer keeps a tensor
            continue
        built, run = (databases.ours((part.args, part.kwargs), []) for part in (constructor, forward))
        assert _faked(mstorch, lambda: cls(*built[0], **built[1]), *run) == wanted
