"""torch.utils.checkpoint compared with torch, and with results without checkpoints."""
from __future__ import annotations

import contextlib
import functools
import warnings

import pytest
import torch

import mstorch
from tests.against_torch import same

LIBRARIES = (torch, mstorch)


def _net(t):
    t.manual_seed(0)
    return t.nn.Sequential(
        t.nn.Linear(4, 8), t.nn.Tanh(), t.nn.Dropout(0.3), t.nn.Linear(8, 8), t.nn.Dropout(0.5), t.nn.ReLU(), t.nn.Linear(8, 2)
    )


def _plain(t, net, x):
    return net(x)


def _checkpointed(reentrant):
    return lambda t, net, x: t.utils.checkpoint.checkpoint(net, x, use_reentrant=reentrant)


def _sequential(reentrant, segments):
    return lambda t, net, x: t.utils.checkpoint.checkpoint_sequential(net, segments, x, use_reentrant=reentrant)


WAYS = {
    "reentrant": _checkpointed(True),
    "not reentrant": _checkpointed(False),
    "in 2": _sequential(False, 2),
    "in 3": _sequential(True, 3),
    "in 7": _sequential(False, 7),
    "in 1": _sequential(True, 1),
}


def _steps(t, way):
    net = _net(t)
    optimizer = t.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        x = t.randn(5, 4, requires_grad=True)
        loss = way(t, net, x).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append((loss.detach(), x.grad, t.rand(1)))
    return losses, net.state_dict()


@pytest.mark.parametrize("name", WAYS)
def test_training(name, both):
    def body(t):
        return _steps(t, WAYS[name])

    got = both(body, atol=1e-5)
    plain = _steps(mstorch, _plain)
    for (loss, grad, after), (want, want_grad, want_after) in zip(got[0], plain[0]):
        assert loss.tolist() == want.tolist() and grad.tolist() == want_grad.tolist() and after.tolist() == want_after.tolist()


def test_how_often_it_runs():
    for t in LIBRARIES:
        runs = []

        def function(x, runs=runs):
            runs.append(x.requires_grad)
            return x.sin()

        x = t.ones(2, requires_grad=True)
        for reentrant in (True, False):
            y = t.utils.checkpoint.checkpoint(function, x, use_reentrant=reentrant)
            assert len(runs) == 1
            y.sum().backward()
            assert len(runs) == 2
            runs.clear()
        with t.no_grad():
            t.utils.checkpoint.checkpoint(function, x, use_reentrant=False)
        assert len(runs) == 1


def test_trees_and_keywords(both):
    def body(t):
        weight = t.tensor([2.0, 3.0], requires_grad=True)

        def function(x, parts, *, scale, word):
            return {"a": x * weight * scale, "b": [parts[0] + x, word], "c": (x > 0, x.detach())}

        x = t.tensor([1.0, -1.0], requires_grad=True)
        z = t.tensor([5.0, 6.0], requires_grad=True)
        result = t.utils.checkpoint.checkpoint(function, x, [z, 3], scale=z.detach() * 2, word="w", use_reentrant=False)
        (result["a"].sum() + (result["b"][0] ** 2).sum()).backward()
        return [result["a"].detach(), result["b"][1], result["c"], x.grad, z.grad, weight.grad]

    both(body)


def test_what_is_not_an_argument(both):
    def body(t):
        w = t.tensor([2.0, 3.0], requires_grad=True)
        inner = w * w  # has a history of its own
        x = t.tensor([1.0, -1.0], requires_grad=True)
        y = t.utils.checkpoint.checkpoint(lambda x: x * inner, x, use_reentrant=False)
        (y * inner).sum().backward()
        return x.grad, w.grad

    both(body)


def test_grad_and_double_backward(both):
    def body(t):
        w = t.tensor([2.0, 3.0], requires_grad=True)
        x = t.tensor([1.0, -1.0], requires_grad=True)
        y = t.utils.checkpoint.checkpoint(lambda x: (x.exp() * w).sin(), x * 2, use_reentrant=False).sum()
        first = t.autograd.grad(y, (x, w), create_graph=True)
        second = t.autograd.grad(first[0].sum() + first[1].square().sum(), (x, w))
        return [v.detach() for v in first], second

    both(body, atol=1e-5)


def test_hooks(both):
    def body(t):
        seen = []
        w = t.tensor([2.0, 3.0], requires_grad=True)
        w.register_hook(lambda g: (seen.append(g.clone()), g * 10)[1])
        x = t.tensor([1.0, -1.0], requires_grad=True)
        t.utils.checkpoint.checkpoint(lambda x: x * w, x, use_reentrant=False).sum().backward()
        return seen, w.grad, x.grad

    both(body)


def test_nested(both):
    def body(t):
        c = t.utils.checkpoint.checkpoint
        w = t.tensor([2.0, 3.0], requires_grad=True)
        x = t.tensor([1.0, -1.0], requires_grad=True)
        for reentrant in (True, False):
            inner = lambda x: c(lambda x: (x * w).sin(), x, use_reentrant=reentrant) + x
            c(inner, x, use_reentrant=reentrant).sum().backward()
        return x.grad, w.grad

    both(body)


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("layer", ["BatchNorm1d(3)", "BatchNorm1d(3, momentum=None)", "InstanceNorm1d(3, track_running_stats=True)", "Dropout(0.5)"])
def test_running_statistics_move_with_each_computation(both, layer, reentrant, early_stop):
    """A layer's side effects are complete even if the second computation ends early."""

    def body(torch):
        torch.manual_seed(0)
        checkpoint = torch.utils.checkpoint
        made = eval(f"nn.{layer}", {"nn": torch.nn})
        x = torch.randn(4, 3, 5, requires_grad=True)
        with checkpoint.set_checkpoint_early_stop(early_stop):
            for _ in range(2):
                checkpoint.checkpoint(made, x, use_reentrant=reentrant).pow(3).sum().backward()
        return x.grad, made.state_dict(), torch.rand(2)

    both(body)


@pytest.mark.parametrize("early_stop", [True, False])
def test_backward_within_the_function(both, early_stop):
    """A part of the saved tensors is needed before the function has saved all."""

    def body(torch):
        checkpoint = torch.utils.checkpoint

        def function(x):
            (inner,) = torch.autograd.grad(x.sin().exp().sin(), x)
            return x.sin() * inner

        def nested(x):
            return checkpoint.checkpoint(function, x, use_reentrant=False)

        x = torch.tensor(0.3, requires_grad=True)
        with checkpoint.set_checkpoint_early_stop(early_stop):
            return [torch.autograd.grad(checkpoint.checkpoint(f, x, use_reentrant=False), x) for f in (function, nested)]

    both(body)


def test_autocast(both):
    def body(t):
        net = _net(t)
        x = t.randn(3, 4, requires_grad=True)
        kinds = []
        net.register_forward_hook(lambda module, args, result: kinds.append(result.dtype))
        for reentrant in (True, False):
            with t.autocast("cpu"), t.utils.checkpoint.set_checkpoint_early_stop(False):
                y = t.utils.checkpoint.checkpoint(net, x, use_reentrant=reentrant)
            y.float().sum().backward()
        return kinds, x.grad

    both(body, rtol=2e-2, atol=2e-2)


def test_contexts(both):
    def body(t):
        seen = []

        @contextlib.contextmanager
        def around(name):
            seen.append(name)
            yield

        x = t.ones(2, requires_grad=True)
        y = t.utils.checkpoint.checkpoint(t.sin, x, use_reentrant=False, context_fn=lambda: (around("one"), around("two")))
        seen.append("between")
        y.sum().backward()
        with t.utils.checkpoint.set_checkpoint_early_stop(False):
            t.utils.checkpoint.checkpoint(t.sin, x, use_reentrant=False).sum().backward()
        return seen, x.grad, [c is None for c in t.utils.checkpoint.noop_context_fn()]

    both(body)


def test_another_result_the_second_time():
    for t in LIBRARIES:
        sizes = iter((2, 3))
        x = t.ones(3, requires_grad=True)
        y = t.utils.checkpoint.checkpoint(lambda x: (x[: next(sizes)] ** 2).exp(), x, use_reentrant=False)
        with pytest.raises(t.utils.checkpoint.CheckpointError, match="have different metadata than during the forward pass"):
            y.sum().backward()


def _reentrant(t, x, function=None):
    return t.utils.checkpoint.checkpoint(function or t.sin, x, use_reentrant=True)


@pytest.mark.parametrize(
    "body",
    [
        lambda t: t.autograd.grad(_reentrant(t, t.ones(2, requires_grad=True)).sum(), t.ones(2, requires_grad=True)),
        lambda t: (lambda x: _reentrant(t, x).sum().backward(inputs=[x]))(t.ones(2, requires_grad=True)),
        lambda t: _reentrant(t, t.ones(2, requires_grad=True), lambda x: x.detach()).sum().backward(),
        lambda t: t.utils.checkpoint.checkpoint(t.sin, t.ones(2), use_reentrant=True, word=3),
        lambda t: t.utils.checkpoint.checkpoint(t.sin, t.ones(2), use_reentrant=True, debug=True),
        lambda t: t.utils.checkpoint.checkpoint(t.sin, t.ones(2), use_reentrant=False, determinism_check="some"),
        lambda t: t.utils.checkpoint.checkpoint_sequential([t.sin], 1, t.ones(2), use_reentrant=False, word=3),
        lambda t: t.utils.checkpoint.detach_variable([3]),
        lambda t: t.utils.checkpoint.get_device_states(t.ones(2)),
    ],
)
def test_refusals(body, both):
    both(body)


def test_warnings():
    for make in (
        lambda t: t.utils.checkpoint.checkpoint(t.sin, t.ones(2, requires_grad=True)),
        lambda t: t.utils.checkpoint.checkpoint_sequential([t.sin, t.cos], 2, t.ones(2, requires_grad=True)),
        lambda t: _reentrant(t, t.ones(2)),
        lambda t: t.utils.checkpoint.check_backward_validity([t.ones(2)]),
    ):
        seen = []
        for t in LIBRARIES:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                make(t)
            seen.append([(w.category, str(w.message)) for w in caught])
        assert seen[0] == seen[1] and seen[0]


def test_activations_are_freed():
    """Between forward and backward only the arguments are kept."""
    import gc
    import weakref

    kept = []

    def function(x):
        middle = x.exp()
        kept.append(weakref.ref(middle))
        return middle.sin()

    x = mstorch.ones(4, requires_grad=True)
    for reentrant in (True, False):
        y = mstorch.utils.checkpoint.checkpoint(function, x, use_reentrant=reentrant)
        gc.collect()
        assert kept.pop()() is None
        assert y.requires_grad


def test_selective_checkpoints_keep_the_results_of_some_operators():
    def program(t):
        checkpoint = t.utils.checkpoint
        t.manual_seed(0)
        x, w = t.rand(4, 3, requires_grad=True), t.rand(3, 3, requires_grad=True)
        computed = []

        def body(a):
            y = a @ w
            y.register_hook(lambda grad: None)
            computed.append(y.shape)
            a, b = t.var_mean(t.nn.functional.gelu(y).exp() * y.view(-1)[0].sin())
            return (a * b).sin()

        found = []
        for chosen in ([t.ops.aten.mm.default, t.ops.aten.var_mean.correction], lambda ctx, op, *args, **kwargs: (
            checkpoint.CheckpointPolicy.MUST_SAVE if op is t.ops.aten.exp.default else checkpoint.CheckpointPolicy.PREFER_RECOMPUTE
        )):  # fmt: skip
            seen = functools.partial(checkpoint.create_selective_checkpoint_contexts, chosen)
            result = checkpoint.checkpoint(body, x, use_reentrant=False, context_fn=seen)
            found += [result, *t.autograd.grad(result, (x, w))]
        return found

    def plain(t):
        t.manual_seed(0)
        x, w = t.rand(4, 3, requires_grad=True), t.rand(3, 3, requires_grad=True)
        y = x @ w
        a, b = t.var_mean(t.nn.functional.gelu(y).exp() * y.view(-1)[0].sin())
        result = (a * b).sin()
        return [result, *t.autograd.grad(result, (x, w))] * 2

    want, got, expected = program(torch), program(mstorch), plain(torch)
    for one, two, three in zip(want, got, expected):
        same(one, two, strides=False)
        same(three, two, strides=False)


def test_selective_checkpoints_refuse_policies_for_non_overloads():
    for t in LIBRARIES:
        create = t.utils.checkpoint.create_selective_checkpoint_contexts
        with pytest.raises(ValueError, match="Expected op in `op_list` to be an OpOverload but got: 2"):
            create([2])
        with pytest.raises(ValueError, match="update the OpOverloadPacket to a specific OpOverload"):
            create([t.ops.aten.sin])
        with pytest.raises(TypeError, match="either a function or a list of ops"):
            create(2)
        x = t.randn(3, requires_grad=True)
        keep = functools.partial(create, [t.ops.aten.sin.default])
        result = t.utils.checkpoint.checkpoint(lambda x: x.sin().mul_(2).cos().exp(), x, use_reentrant=False, context_fn=keep)
        with pytest.raises(RuntimeError, match="has been mutated"):
            result.sum().backward()


def test_one_recomputation_for_several_backward_passes(both):
    def body(t):
        runs = []

        def function(x):
            runs.append(1)
            return x.sin().exp()

        x = t.ones(2, requires_grad=True)
        for group in (contextlib.nullcontext(), t.utils.checkpoint.GraphExecGroup()):
            with group:
                first, second = t.utils.checkpoint.checkpoint(lambda x: (function(x), function(x * 2)), x, use_reentrant=False)
                first.sum().backward()
                second.sum().backward()
        return len(runs), x.grad

    both(body)
    with pytest.raises(RuntimeError, match="cannot be nested"), mstorch.utils.checkpoint.GraphExecGroup(), mstorch.utils.checkpoint.GraphExecGroup():
        pass
    assert mstorch.utils.checkpoint.GraphExecGroup._get_current_group() is None


@pytest.mark.parametrize("how", ["argument", "context"])
def test_debug_names_the_operators_of_both_runs(both, how):
    def body(t):
        runs = []

        def function(x):
            runs.append(1)
            return x.sin().exp() if len(runs) == 1 else x.exp()

        with t.utils.checkpoint.set_checkpoint_debug_enabled(True if how == "context" else None):
            y = t.utils.checkpoint.checkpoint(function, t.ones(2, requires_grad=True), use_reentrant=False, debug=how == "argument")
        with pytest.raises(t.utils.checkpoint.CheckpointError) as caught:
            y.sum().backward()
        text = str(caught.value)
        assert all(word in text for word in ("aten.sin.default", "aten.exp.default", "test_checkpoint.py", "the original forward"))
        return None

    both(body)


def test_debug_has_contexts_of_its_own(both):
    both(lambda t: t.utils.checkpoint.checkpoint(t.sin, t.ones(2), use_reentrant=False, debug=True, context_fn=lambda: (None, None)))
