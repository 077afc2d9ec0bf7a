"""Averaged models compared with torch's."""

import numpy as np
import pytest
import torch as reference

import mstorch

LIBRARIES = (mstorch, reference)


def _model(torch):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    _fill(torch, model, 0)
    return model


def _fill(torch, model, seed):
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for param in model.parameters():
            param.copy_(torch.tensor(rng.standard_normal(tuple(param.shape)), dtype=torch.float32))


def _close(mine, theirs):
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


OPTIONS = [
    lambda swa: {},
    lambda swa: {"use_buffers": True},
    lambda swa: {"avg_fn": swa.get_swa_avg_fn()},
    lambda swa: {"avg_fn": swa.get_ema_avg_fn(0.9)},
    lambda swa: {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9), "use_buffers": True},
    lambda swa: {"multi_avg_fn": swa.get_swa_multi_avg_fn()},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_averages(options):
    def body(torch):
        model = _model(torch)
        averaged = torch.optim.swa_utils.AveragedModel(model, **options(torch.optim.swa_utils))
        for step in range(4):
            _fill(torch, model, step)
            model(torch.ones(2, 3) * step)
            averaged.update_parameters(model)
        return [value.detach().numpy() for value in averaged.state_dict().values()], list(averaged.state_dict())

    mine, theirs = (body(torch) for torch in LIBRARIES)
    assert mine[1] == theirs[1]
    _close(mine[0], theirs[0])


def test_update_bn():
    def body(torch):
        model = _model(torch)
        rng = np.random.default_rng(1)
        batches = [torch.tensor(rng.standard_normal((5, 3)), dtype=torch.float32) for _ in range(3)]
        model.eval()
        torch.optim.swa_utils.update_bn([[batch, None] for batch in batches], model)
        assert not model.training
        assert model[1].momentum == 0.1
        return [value.numpy() for value in model.buffers()]

    _close(*(body(torch) for torch in LIBRARIES))


def test_errors():
    for torch in LIBRARIES:
        swa = torch.optim.swa_utils
        with pytest.raises(
            ValueError, match=r"Invalid decay value 2 provided. Please provide a value in \[0,1\] range."
        ):
            swa.get_ema_avg_fn(2)
        with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be provided"):
            swa.AveragedModel(_model(torch), avg_fn=len, multi_avg_fn=len)
        optimizer = torch.optim.SGD([torch.zeros(1).requires_grad_()], lr=0.1)
        with pytest.raises(ValueError, match="anneal_strategy must be one of"):
            swa.SWALR(optimizer, 0.1, anneal_strategy="no")
        with pytest.raises(ValueError, match="anneal_epochs must be equal or greater than 0, got -1"):
            swa.SWALR(optimizer, 0.1, -1)
