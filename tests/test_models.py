"""Whole models as plain torch code (examples/models): both libraries train them equally, and exchange their states as files."""
from __future__ import annotations

import pathlib
import sys
import types

import numpy as np
import pytest
import torch

import mstorch
from tests.against_torch import same

pytestmark = pytest.mark.sweep

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples" / "models"
MODELS = ("resnet", "lstm_lm", "transformer", "unet", "gpt")
STEPS = 20


def example(name, library, monkeypatch):
    """Return the example's module, whose ``import torch`` imports the library."""
    module = types.ModuleType(name)
    path = FOLDER / f"{name}.py"
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "torch", library)
        patch.setitem(sys.modules, "torch.nn", library.nn)
        patch.setitem(sys.modules, "torch.nn.functional", library.nn.functional)
        exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


def train(module, library, model, optimizer, steps):
    losses = []
    for _ in range(steps):
        loss = module.loss(model, *module.batch())
        optimizer.zero_grad()
        loss.backward()
        library.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", MODELS)
def test_training(name, monkeypatch):
    results = []
    for library in (torch, mstorch):
        module = example(name, library, monkeypatch)
        library.manual_seed(0)
        model, optimizer = module.build()
        results.append((train(module, library, model, optimizer, STEPS), model, optimizer, library.rand(3).tolist()))
    (want, theirs, _, after), (got, mine, _, mine_after) = results
    np.testing.assert_allclose(got, want, rtol=1e-4)
    assert after == mine_after, "another number of random draws"
    assert len(set(want)) == STEPS
    same(theirs.state_dict(), mine.state_dict(), rtol=1e-2, atol=2e-3)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("writer", "reader"), [(torch, mstorch), (mstorch, torch)], ids=["to mstorch", "to torch"])
def test_files(name, writer, reader, tmp_path, monkeypatch):
    file = tmp_path / "states.pt"
    sender = example(name, writer, monkeypatch)
    writer.manual_seed(1)
    model, optimizer = sender.build()
    train(sender, writer, model, optimizer, 2)
    writer.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)

    receiver = example(name, reader, monkeypatch)
    reader.manual_seed(2)
    other, other_optimizer = receiver.build()
    states = reader.load(file)
    result = other.load_state_dict(states["model"])
    assert str(result) == "<All keys matched successfully>"
    other_optimizer.load_state_dict(states["optimizer"])
    pair = (model.state_dict(), other.state_dict()) if writer is torch else (other.state_dict(), model.state_dict())
    same(*pair, rtol=0, atol=0)

    # Both continue from the same states.
    losses = []
    for module, library, trained, chosen in ((sender, writer, model, optimizer), (receiver, reader, other, other_optimizer)):
        library.manual_seed(3)
        losses.append(train(module, library, trained, chosen, 3))
        trained.eval()
        losses[-1].append(module.loss(trained, *module.batch()).item())
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)


def test_written_tokens(monkeypatch):
    written = []
    for library in (torch, mstorch):
        module = example("gpt", library, monkeypatch)
        library.manual_seed(3)
        model, _ = module.build()
        written.append(model.eval().write(library.zeros(2, 1, dtype=library.int64), 30).tolist())
    assert written[0] == written[1]
