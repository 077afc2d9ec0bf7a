"""Compiled training of networks: losses equal those of eager mode and of torch."""
from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch
from tests.compile.networks import NETWORKS, digits, losses, tensors

pytestmark = pytest.mark.slow


def graphs(model: Any) -> list[Any]:
    """Return the graphs of a compiled module; None for kinds of arguments that run without one."""
    return [entry.graph for entries in model.__dict__["_compiled"].entries.values() for entry in entries]


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("network", list(NETWORKS))
def test_compiled_training_has_the_losses_of_eager_and_of_torch(network: str, optimizer: str) -> None:
    compiled = losses(mstorch, network, compiled=True, optimizer=optimizer, fullgraph=True)
    np.testing.assert_allclose(compiled, losses(mstorch, network, compiled=False, optimizer=optimizer), rtol=0, atol=1e-4)
    np.testing.assert_allclose(compiled, losses(real_torch, network, compiled=False, optimizer=optimizer), rtol=0, atol=1e-4)
    assert max(compiled) - min(compiled) > 0.02


@pytest.mark.parametrize("network", list(NETWORKS))
def test_one_graph_serves_all_steps(network: str) -> None:
    torch = mstorch
    model = torch.compile(NETWORKS[network](torch), fullgraph=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    images, labels = tensors(torch, *digits())
    for step in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images[step : step + 8]), labels[step : step + 8]).backward()
        optimizer.step()
    assert len(graphs(model)) == 1 and graphs(model)[0] is not None


@pytest.mark.parametrize("network", list(NETWORKS))
def test_gradients_flow_to_inputs_and_parameters(network: str) -> None:
    images, labels = digits()

    def gradients(torch: Any, compiled: bool) -> list[Any]:
        model = NETWORKS[network](torch)
        run = torch.compile(model, fullgraph=True) if compiled else model
        x, named = tensors(torch, images[:8].copy(), labels[:8])
        torch.nn.functional.cross_entropy(run(x.requires_grad_()), named).backward()
        return [x.grad.numpy(), *(p.grad.numpy() for p in model.parameters())]

    for want, got in zip(gradients(real_torch, False), gradients(mstorch, True)):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_modules_and_modes_get_graphs_of_their_own() -> None:
    torch = mstorch
    model = NETWORKS["cnn"](torch)
    model.insert(9, torch.nn.Dropout(0.5))
    plain = NETWORKS["cnn"](torch).eval()
    compiled = torch.compile(model, backend="mindspore")
    x = torch.rand(4, 1, 8, 8)
    compiled(x)
    compiled(x)
    assert len(graphs(compiled)) == 1
    compiled(torch.rand(6, 1, 8, 8))
    assert len(graphs(compiled)) == 2, "another shape"
    compiled.eval()
    np.testing.assert_allclose(compiled(x).detach().numpy(), plain(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert not model.training and len(graphs(compiled)) == 3, "another mode"
    with torch.no_grad():
        out = compiled(x)
    assert not out.requires_grad and len(graphs(compiled)) == 4, "without gradients"
    compiled.train()
    compiled(x)
    assert len(graphs(compiled)) == 4 and None not in graphs(compiled), "known again"


def test_dropout_draws_torchs_masks_in_each_call() -> None:
    def outputs(torch: Any, compiled: bool) -> list[Any]:
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Dropout(0.5))
        run = torch.compile(model, fullgraph=True) if compiled else model
        x = torch.linspace(-1, 1, 8).reshape(2, 4)
        return [run(x).detach().numpy() for _ in range(3)] + [torch.rand(2).numpy()]

    want, got = outputs(real_torch, False), outputs(mstorch, True)
    for one, other in zip(want, got):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(want[0], want[1])


def test_running_statistics_are_kept_up() -> None:
    def state(torch: Any, compiled: bool) -> dict[str, Any]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU())
        run = torch.compile(model) if compiled else model
        for seed in range(3):
            torch.manual_seed(seed)
            run(torch.rand(5, 1, 8, 8)).sum().backward()
        return {name: value.detach().numpy() for name, value in model.state_dict().items()}

    want, got = state(real_torch, False), state(mstorch, True)
    assert list(want) == list(got) and want["1.num_batches_tracked"] == got["1.num_batches_tracked"] == 3
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_writes_to_parameters_are_seen() -> None:
    torch = mstorch
    model = torch.nn.Linear(3, 2)
    compiled = torch.compile(model, fullgraph=True)
    x = torch.ones(1, 3)
    compiled(x)
    with torch.no_grad():
        model.weight.fill_(2.0)
        model.bias.zero_()
    assert compiled(x).tolist() == [[6.0, 6.0]]
    model.load_state_dict({"weight": torch.ones(2, 3), "bias": torch.ones(2)})
    assert compiled(x).tolist() == [[4.0, 4.0]]
    model.weight.data[0, 0] = 5.0
    assert compiled(x).tolist() == [[8.0, 4.0]]
    model.bias = torch.nn.Parameter(torch.tensor([10.0, 20.0]))
    assert compiled(x).tolist() == [[17.0, 23.0]]
    model.weight.requires_grad_(False)
    compiled(x).sum().backward()
    assert model.weight.grad is None and model.bias.grad.tolist() == [1.0, 1.0]


def test_gradients_accumulate_over_calls() -> None:
    torch = mstorch
    model = torch.nn.Linear(3, 1)
    compiled = torch.compile(model)
    for _ in range(2):
        compiled(torch.ones(4, 3)).sum().backward()
    assert model.weight.grad.tolist() == [[8.0, 8.0, 8.0]]


def test_second_derivatives_are_refused_as_in_torch() -> None:
    for torch in (real_torch, mstorch):
        x = torch.ones(3, requires_grad=True)
        out = torch.compile(lambda value: (value**3).sum(), backend="aot_eager")(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(RuntimeError, match="does not currently support double backward"):
                (grad,) = torch.autograd.grad(out, x, create_graph=True)
                grad.sum().backward()


def test_a_compiled_module_and_its_state() -> None:
    def body(torch: Any) -> Any:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())
        compiled = torch.compile(model, backend="aot_eager")
        compiled.note = 3
        return (
            list(compiled.state_dict()), [name for name, _ in compiled.named_parameters()], compiled._orig_mod is model,
            compiled.training, compiled.eval().training, model.training, model.note, len(compiled), isinstance(compiled, torch.nn.Module),
        )  # fmt: skip

    assert body(mstorch) == body(real_torch)


def test_module_compile() -> None:
    torch = mstorch
    model = NETWORKS["cnn"](torch)
    x = torch.rand(2, 1, 8, 8)
    want = model(x)
    model.compile(fullgraph=True)
    got = model(x)
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-5, atol=1e-6)
    got.sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    assert list(model.state_dict()) == list(NETWORKS["cnn"](torch).state_dict())


def test_the_default_on_a_cpu_is_eager() -> None:
    torch = mstorch
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    compiled = torch.compile(model)
    x = torch.rand(2, 3, requires_grad=True)
    (slope,) = torch.autograd.grad(compiled(x).sum(), x, create_graph=True)
    slope.sum().backward()
    assert not graphs(compiled) and x.grad is not None, "a graph could not be differentiated twice"
    assert not graphs(pickle.loads(pickle.dumps(compiled))) and torch.compile(lambda x: x.item())(torch.ones(1)) == 1.0


def test_a_step_runs_its_modules_as_graphs() -> None:
    torch = mstorch
    model, other = (NETWORKS["cnn"](torch) for _ in range(2))
    images, labels = tensors(torch, *(array[:16] for array in digits()))

    def step_of(net: Any) -> Any:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def step() -> Any:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(images), labels)
            loss.backward()
            optimizer.step()
            return loss.item()

        return step

    run = torch.compile(step_of(model), backend="mindspore")
    with pytest.warns(UserWarning, match="gradients are cleared.*the modules that it calls are graphs"):
        found = [run() for _ in range(3)]
    np.testing.assert_allclose(found, [step() for step in [step_of(other)] * 3], rtol=1e-5, atol=1e-5)
    entries = [entry for kind in model.__dict__["_graphs"].entries.values() for entry in kind]
    assert len(entries) == 1 and entries[0].graph is not None
    with pytest.raises(RuntimeError, match="gradients are cleared"):
        torch.compile(step_of(model), fullgraph=True)()


def test_orders_of_memory_histories_and_padding_are_captured() -> None:
    nn, functional = mstorch.nn, mstorch.nn.functional
    mstorch.manual_seed(0)
    lstm, table = nn.LSTM(8, 6, batch_first=True), nn.Embedding(5, 8, padding_idx=1)
    rows, tokens = mstorch.randn(2, 5, 8, requires_grad=True), mstorch.tensor([[0, 1, 4], [1, 2, 1]])
    cases = {
        "lstm": (lambda x: lstm(x)[0], rows), "dropout": (lambda x: functional.dropout(x.transpose(0, 1), 0.3), rows),
        "padding": (table, tokens), "view": (lambda x: x.view(10, 8), rows), "noise": (lambda x: x + mstorch.empty_like(x).normal_(), rows),
    }  # fmt: skip
    for name, (function, given) in cases.items():
        results = []
        for run in (function, mstorch.compile(function, fullgraph=True)):
            mstorch.manual_seed(1)
            for leaf in (rows, table.weight):
                leaf.grad = None
            out = run(given)
            out.sin().sum().backward()
            leaf = table.weight if given is tokens else rows
            results.append((out.detach().numpy(), leaf.grad.numpy(), out.stride()))
        np.testing.assert_allclose(results[1][0], results[0][0], rtol=1e-5, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(results[1][1], results[0][1], rtol=1e-5, atol=1e-6, err_msg=name)
        assert results[0][2] == results[1][2], name
    lstm.compile(backend="mindspore")
    np.testing.assert_allclose(lstm(rows)[0].detach().numpy(), lstm.forward(rows)[0].detach().numpy(), rtol=1e-5, atol=1e-6)
