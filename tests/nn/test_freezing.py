"""Training a part of a model: frozen parameters, detached inputs, fixed statistics, half precision."""
from __future__ import annotations

import pytest


def _net(t):
    t.manual_seed(0)
    return t.nn.Sequential(
        t.nn.Conv2d(1, 3, 3, padding=1), t.nn.BatchNorm2d(3), t.nn.ReLU(), t.nn.Conv2d(3, 4, 3, bias=False), t.nn.BatchNorm2d(4),
        t.nn.ReLU(), t.nn.Flatten(), t.nn.Linear(16, 3),
    )  # fmt: skip


def _train(t, net, steps=4, parameters=None, kind="SGD", forward=None):
    """Take a few steps; return losses, final gradients and states."""
    parameters = [p for p in net.parameters() if p.requires_grad] if parameters is None else parameters
    options = {"lr": 0.05, "weight_decay": 0.01, **({"momentum": 0.9} if kind == "SGD" else {})}
    optimizer = getattr(t.optim, kind)(parameters, **options)
    losses = []
    for _ in range(steps):
        x, y = t.randn(6, 1, 4, 4), t.randint(3, (6,))
        loss = t.nn.functional.cross_entropy((forward or net)(x).float(), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    gradients = [p.grad for p in net.parameters()]
    return losses, gradients, net.state_dict(), len(optimizer.state)


def same(both, body):
    both(body, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("frozen", [[0], [0, 1], [3, 4], [7], [1, 4], [0, 1, 3, 4]])
def test_frozen_layers(kind, frozen, both):
    def body(t):
        net = _net(t)
        for i in frozen:
            net[i].requires_grad_(False)
        flags = [p.requires_grad for p in net.parameters()]
        return flags, _train(t, net, kind=kind)

    same(both, body)


def test_frozen_parameters_in_the_optimizer(both):
    """Parameters without a gradient do not change, also with weight decay."""

    def body(t):
        net = _net(t)
        for p in net[:4].parameters():
            p.requires_grad = False
        before = net[0].weight.clone()
        found = _train(t, net, parameters=list(net.parameters()))
        return found, (before == net[0].weight).all()

    same(both, body)


def test_thawed_later(both):
    def body(t):
        net = _net(t)
        net[0].requires_grad_(False)
        optimizer = t.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
        results = []
        for step in range(4):
            if step == 2:
                net[0].requires_grad_(True)
                optimizer.add_param_group({"params": net[0].parameters(), "lr": 0.01})
            loss = net(t.randn(2, 1, 4, 4)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            results.append((loss.detach(), net[0].weight.grad is None, net[0].weight.detach().clone()))
        return results

    same(both, body)


def test_frozen_again(both):
    """An earlier gradient remains, and the optimizer uses it until it is cleared."""

    def body(t):
        net = t.nn.Linear(2, 2)
        t.nn.init.ones_(net.weight)
        optimizer = t.optim.SGD(net.parameters(), lr=0.1)
        net(t.ones(1, 2)).sum().backward()
        net.weight.requires_grad_(False)
        optimizer.step()
        moved = net.weight.clone()
        optimizer.zero_grad()
        net(t.ones(1, 2)).sum().backward()
        optimizer.step()
        return moved, net.weight, net.weight.grad, net.bias.grad

    same(both, body)


@pytest.mark.parametrize("how", ["detach", "no_grad", "inference", "data", "no_grad decorator"])
def test_detached_features(how, both):
    def body(t):
        net = _net(t)

        def features(x):
            if how == "no_grad":
                with t.no_grad():
                    return net[:5](x)
            if how == "inference":
                with t.inference_mode():
                    found = net[:5](x)
                return found.clone()
            if how == "no_grad decorator":
                return t.no_grad()(net[:5])(x)
            found = net[:5](x)
            return found.detach() if how == "detach" else found.data

        return _train(t, net, parameters=list(net.parameters()), forward=lambda x: net[5:](features(x)))

    same(both, body)


@pytest.mark.parametrize("layers", [[1], [4], [1, 4]])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_in_eval(layers, affine, both):
    """Running statistics do not change; weight and bias train unless they are frozen too."""

    def body(t):
        net = _net(t)
        _train(t, net, 1)
        net.train()
        for i in layers:
            net[i].eval()
            net[i].requires_grad_(affine)
        before = [net[i].running_mean.clone() for i in layers]
        found = _train(t, net)
        modes = [m.training for m in net.modules()]
        still = [(net[i].running_mean == b).all() for i, b in zip(layers, before)]
        net.train()
        return found, modes, still, [m.training for m in net.modules()]

    same(both, body)


def test_train_that_keeps_eval(both):
    """The usual override of ``train`` that keeps batch norms in eval mode."""

    def body(t):
        class Frozen(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = _net(t)

            def train(self, mode=True):
                super().train(mode)
                for module in self.modules():
                    if isinstance(module, t.nn.BatchNorm2d):
                        module.eval()
                return self

            def forward(self, x):
                return self.net(x)

        net = Frozen().train()
        return _train(t, net), [m.training for m in net.modules()]

    same(both, body)


def _half(t, net, kind):
    """Return a network of 16-bit floats whose batch norms stay in float32."""
    net.to(kind)
    for module in net.modules():
        if isinstance(module, t.nn.BatchNorm2d):
            module.float()
    return net


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("training", [True, False])
def test_half_with_batch_norm_in_float32(name, training, both):
    def body(t):
        kind = getattr(t, name)
        net = _half(t, _net(t), kind).train(training)
        x = t.randn(5, 1, 4, 4).to(kind).requires_grad_()
        hidden = []
        for layer in net:
            layer.register_forward_hook(lambda module, args, result: hidden.append((result.dtype, result.shape)))
        result = net(x)
        result.float().square().sum().backward()
        kinds = [p.dtype for p in net.parameters()], [b.dtype for b in net.buffers()], [p.grad.dtype for p in net.parameters()]
        return result, x.grad, hidden, kinds, net[1].running_mean, net[4].running_var, net[1].weight.grad

    both(body, rtol=5e-2, atol=5e-2)


def test_master_weights(both):
    """Training with float16 weights and a float32 copy that the optimizer updates."""

    def body(t):
        net = _half(t, _net(t), t.float16)
        masters = [p.detach().clone().float().requires_grad_() for p in net.parameters()]
        optimizer = t.optim.SGD(masters, lr=0.05, momentum=0.9)
        losses = []
        for _ in range(4):
            loss = t.nn.functional.cross_entropy(net(t.randn(6, 1, 4, 4).half()).float(), t.randint(3, (6,)))
            net.zero_grad()
            (loss * 64).backward()
            for master, p in zip(masters, net.parameters()):
                master.grad = p.grad.float() / 64
            optimizer.step()
            with t.no_grad():
                for master, p in zip(masters, net.parameters()):
                    p.copy_(master)
            losses.append(loss.detach())
        return losses, [p.dtype for p in net.parameters()], net.state_dict()

    both(body, rtol=5e-2, atol=2e-2)


def test_buffers_and_casts(both):
    def body(t):
        net = _net(t).half()
        first = {name: value.dtype for name, value in net.state_dict().items()}
        net.float()[4].double()
        net[7].to(t.bfloat16)
        return first, {name: value.dtype for name, value in net.state_dict().items()}

    both(body)


def test_gan(both):
    """Two networks, each frozen while the other trains."""

    def body(t):
        t.manual_seed(0)
        maker, judge = t.nn.Linear(2, 3), t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Tanh(), t.nn.Linear(4, 1))
        first, second = t.optim.Adam(maker.parameters(), 0.01), t.optim.Adam(judge.parameters(), 0.01)
        losses = []
        for _ in range(4):
            judge.requires_grad_(True)
            made = maker(t.randn(4, 2))
            loss = (judge(made.detach()) - judge(t.randn(4, 3))).mean()
            second.zero_grad()
            loss.backward()
            second.step()
            judge.requires_grad_(False)
            score = -judge(made).mean()
            first.zero_grad()
            score.backward()
            first.step()
            losses.append((loss.detach(), score.detach(), judge[0].weight.grad.clone(), maker.weight.grad.clone()))
        return losses, maker.state_dict(), judge.state_dict()

    same(both, body)


@pytest.mark.parametrize(
    "body",
    [
        lambda t: t.nn.Linear(2, 2).requires_grad_(False)(t.ones(1, 2)).sum().backward(),
        lambda t: t.nn.Parameter(t.ones(2), requires_grad=False).sum().backward(),
        lambda t: t.optim.SGD([t.ones(2, requires_grad=True) * 2], lr=0.1),
        lambda t: (t.ones(2, requires_grad=True) * 2).requires_grad_(False),
        lambda t: t.ones(2, dtype=t.int64).requires_grad_(),
        lambda t: t.nn.Linear(2, 2).half()(t.ones(1, 2)),
    ],
)
def test_refusals(body, both):
    both(body)
