"""The base class compared with torch's: groups, hooks, state dicts, zero_grad, repr, errors."""

import pytest
import torch as reference

import mstorch

LIBRARIES = (mstorch, reference)


def _both(body):
    """Run one body with both libraries; assert that the results, or the errors' classes and messages, are equal."""
    outcomes = []
    for torch in LIBRARIES:
        try:
            outcomes.append(("result", body(torch)))
        except (TypeError, ValueError, KeyError, RuntimeError, NotImplementedError) as error:
            outcomes.append((type(error).__name__, str(error).replace("mstorch", "torch")))
    assert outcomes[0] == outcomes[1]
    return outcomes[0]


def _leaf(torch, *shape):
    return torch.ones(shape or (2,)).requires_grad_()


@pytest.mark.on_the_cpu
@pytest.mark.parametrize(
    "params",
    [
        lambda torch: torch.ones(2),
        lambda torch: [],
        lambda torch: [1],
        lambda torch: ["x"],
        lambda torch: {_leaf(torch)},
        lambda torch: [{"params": {_leaf(torch)}}],
        lambda torch: [{"params": _leaf(torch)}, 3],
        lambda torch: [_leaf(torch) * 2],
        lambda torch: [("a", _leaf(torch)), _leaf(torch)],
        lambda torch: [{"params": [("a", _leaf(torch))]}, {"params": [_leaf(torch)]}],
        lambda torch: [{"params": [_leaf(torch)]}, {"params": [("a", _leaf(torch))]}],
        lambda torch: (lambda p: [{"params": p}, {"params": p}])(_leaf(torch)),
        lambda torch: [{"lr": 1}],
    ],
)
def test_bad_params(params):
    kind, _ = _both(lambda torch: repr(torch.optim.SGD(params(torch), lr=0.1)))
    assert kind != "result" or params(reference).__class__ is set


def test_required_option():
    def body(torch):
        required = __import__(f"{torch.__name__}.optim.optimizer", fromlist=["required"]).required
        return torch.optim.Optimizer([{"params": _leaf(torch)}], {"lr": required})

    assert _both(body)[0] == "ValueError"


def test_groups_names_and_repr():
    def body(torch):
        a, b, c = (_leaf(torch) for _ in range(3))
        optimizer = torch.optim.SGD([{"params": a, "lr": 0.5}, {"params": [b], "momentum": 0.9}], lr=0.1)
        optimizer.add_param_group({"params": c, "weight_decay": 0.01})
        named = torch.optim.SGD([("x", a), ("y", b)], lr=0.1)
        shared = torch.optim.SGD([a, b], lr=0.1)
        shared.add_param_group({"params": [c]})
        return [
            repr(optimizer),
            repr(named),
            [len(group["params"]) for group in optimizer.param_groups],
            optimizer.state_dict(),
            named.state_dict(),
            shared.state_dict(),
        ]

    assert _both(body)[0] == "result"


def test_duplicates_warn():
    def body(torch):
        p = _leaf(torch)
        with pytest.warns(UserWarning, match="duplicate parameters"):
            optimizer = torch.optim.SGD([p, p], lr=0.1)
        return optimizer.state_dict()

    assert _both(body)[0] == "result"


def test_load_state_dict_checks_and_names():
    def sizes(torch):
        small = torch.optim.SGD([_leaf(torch)], lr=0.1).state_dict()
        torch.optim.SGD([_leaf(torch), _leaf(torch)], lr=0.1).load_state_dict(small)

    def groups(torch):
        small = torch.optim.SGD([_leaf(torch)], lr=0.1).state_dict()
        torch.optim.SGD([{"params": _leaf(torch)}, {"params": _leaf(torch)}], lr=0.1).load_state_dict(small)

    assert _both(sizes)[0] == _both(groups)[0] == "ValueError"

    def names(torch):
        plain = torch.optim.SGD([_leaf(torch)], lr=0.3).state_dict()
        named = torch.optim.SGD([("a", _leaf(torch))], lr=0.1)
        named.load_state_dict(plain)
        other = torch.optim.SGD([("b", _leaf(torch))], lr=0.1)
        other.load_state_dict(named.state_dict())
        return named.state_dict(), other.state_dict()

    assert _both(names)[0] == "result"


def test_loading_casts_to_the_parameter():
    def body(torch):
        p = _leaf(torch)
        p.grad = torch.ones(2)
        optimizer = torch.optim.Adam([p])
        optimizer.step()
        wide = torch.ones(2, dtype=torch.float64).requires_grad_()
        other = torch.optim.Adam([wide])
        saved = optimizer.state_dict()
        saved["state"]["extra"] = {"kept": 1}
        other.load_state_dict(saved)
        state = other.state[wide]
        return [str(state[key].dtype) for key in sorted(state)], other.state["extra"]

    assert _both(body) == ("result", (["torch.float64", "torch.float64", "torch.float32"], {"kept": 1}))


def test_zero_grad():
    def body(torch):
        p, q = _leaf(torch), _leaf(torch)
        (p * p).sum().backward()
        optimizer = torch.optim.SGD([p, q], lr=0.1)
        kept = p.grad
        optimizer.zero_grad(set_to_none=False)
        first = (p.grad is kept, kept.tolist(), q.grad)
        optimizer.zero_grad()
        return first, p.grad

    assert _both(body) == ("result", ((True, [0.0, 0.0], None), None))


def test_closure_and_hooks():
    def body(torch):
        calls = []
        p = _leaf(torch)
        optimizer = torch.optim.SGD([p], lr=0.1)
        base = __import__(f"{torch.__name__}.optim.optimizer", fromlist=["Optimizer"])
        handles = [
            base.register_optimizer_step_pre_hook(lambda *a: calls.append("global pre")),
            base.register_optimizer_step_post_hook(lambda *a: calls.append("global post")),
            optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append(("pre", len(args), sorted(kwargs)))),
            optimizer.register_step_post_hook(lambda *a: calls.append("post")),
        ]

        def closure():
            calls.append(torch.is_grad_enabled())
            return torch.tensor(3.0)

        with torch.no_grad():
            calls.append(optimizer.step(closure).item())
            calls.append(optimizer.step(closure=closure).item())
            calls.append(torch.is_grad_enabled())
        for handle in handles:
            handle.remove()
        calls.append(optimizer.step())

        def replace(o, args, kwargs):
            return (o, closure), {}

        with optimizer.register_step_pre_hook(replace):
            calls.append(optimizer.step().item())
        return calls

    assert _both(body)[0] == "result"


def test_hook_that_returns_nonsense():
    def body(torch):
        optimizer = torch.optim.SGD([_leaf(torch)], lr=0.1)
        optimizer.register_step_pre_hook(lambda *a: 3)
        optimizer.step()

    for torch in LIBRARIES:
        with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\), but got 3"):
            body(torch)


def test_state_dict_hooks():
    def body(torch):
        calls = []
        optimizer = torch.optim.SGD([_leaf(torch)], lr=0.1)
        optimizer.register_state_dict_pre_hook(lambda o: calls.append("pre 1"))
        optimizer.register_state_dict_pre_hook(lambda o: calls.append("pre 0"), prepend=True)
        optimizer.register_state_dict_post_hook(lambda o, d: d | {"extra": 1})
        optimizer.register_load_state_dict_pre_hook(lambda o, d: calls.append(sorted(d)))
        optimizer.register_load_state_dict_post_hook(lambda o: calls.append("post 1"))
        optimizer.register_load_state_dict_post_hook(lambda o: calls.append("post 0"), prepend=True)
        state = optimizer.state_dict()
        optimizer.load_state_dict(state)
        return calls, state

    assert _both(body)[0] == "result"


def test_a_users_optimizer():
    def body(torch):
        class Plain(torch.optim.Optimizer):
            def __init__(self, params, lr=0.5):
                super().__init__(params, {"lr": lr})

            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        self.state[p]["n"] = self.state[p].get("n", 0) + 1
                        p.add_(p.grad, alpha=-group["lr"])

        calls = []
        p = _leaf(torch)
        (p * 3).sum().backward()
        optimizer = Plain([p])
        optimizer.register_step_post_hook(lambda *a: calls.append(1))
        optimizer.step()
        optimizer.step()
        return p.tolist(), calls, optimizer.state_dict()

    assert _both(body)[0] == "result"


def test_base_step_is_missing():
    assert _both(lambda torch: torch.optim.Optimizer([_leaf(torch)], {}).step())[0] == "NotImplementedError"
