"""``__torch_dispatch__`` modes and tensors: the operators' names, arguments and order are torch's."""
from __future__ import annotations

import importlib
import re

import pytest
import torch as real_torch

import mstorch
from tests.against_torch import same


def _show(value, torch):
    if isinstance(value, torch.Tensor):
        return f"T{tuple(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_show(item, torch) for item in value)}]"
    return str(value)


def _log(torch):
    mode = importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode

    class Log(mode):
        def __init__(self):
            super().__init__()
            self.lines = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            named = [f"{key}={_show(value, torch)}" for key, value in (kwargs or {}).items()]
            self.lines.append(f"{func}({', '.join([_show(arg, torch) for arg in args] + named)})")
            return result

    return Log()


def _inputs(torch, shapes):
    torch.manual_seed(0)
    return [(torch.rand(shape) + 0.1).requires_grad_() for shape in shapes]


# Autograd's own calls: it saves detached results, and copies gradients that are referenced elsewhere.
_OWN = re.compile(r"aten\.(detach\.default|new_empty_strided|ones\.default|ones_like|copy_\.default\((T\([^)]*\)), \2\))")


def _seen(torch, function, shapes):
    inputs = _inputs(torch, shapes)
    log = _log(torch)
    with log:
        result = function(torch, *inputs)
        if result.requires_grad:
            result.backward(torch.ones(result.shape))
    lines = [re.sub(r", (layout|device|pin_memory)=[\w.]+", "", line) for line in log.lines if not _OWN.match(line)]
    return lines, [result.detach(), *(x.grad for x in inputs)]


PROGRAMS = {
    "add": (lambda torch, a, b: a + b, [(2, 3), (3,)]),
    "numbers": (lambda torch, a: 1 - (a * 2 + 1) / 3, [(2,)]),
    "mul": (lambda torch, a, b: a * b, [(2, 3), (3,)]),
    "div": (lambda torch, a, b: a / b + 1 / a, [(2,), (2,)]),
    "powers": (lambda torch, a, b: a**2 + a**b + 2**a + a.square(), [(2,), (2,)]),
    "elementwise": (lambda torch, a: a.exp().log().sqrt().rsqrt().sin().cos().tanh().sigmoid().abs().neg(), [(3,)]),
    "clamp": (lambda torch, a: a.clamp(0, 0.5) + a.clamp(min=0.3), [(4,)]),
    "reductions": (lambda torch, a: a.sum(1) + a.mean(-1) + a.var(-1) + a.std(-1) + a.amax(1) + a.max(1)[0] + a.logsumexp(1), [(2, 3)]),
    "whole": (lambda torch, a: a.sum() * a.mean() + a.var() + a.max() + torch.norm(a), [(2, 3)]),
    "comparisons": (lambda torch, a, b: torch.where(a > 0.5, a, b) + a.masked_fill(a == 1, 0.0) + torch.maximum(a, b), [(3,), (3,)]),
    "matmul": (lambda torch, a, b: a @ b, [(2, 3), (3, 4)]),
    "matmul of a batch": (lambda torch, a, b: (a @ b) @ b.mT, [(2, 2, 2, 3), (2, 2, 3, 4)]),
    "matmul of a batch and a matrix": (lambda torch, a, b: a @ b, [(4, 2, 3), (3, 4)]),
    "vectors": (lambda torch, a, b: (a @ b) * torch.dot(b, b) + torch.outer(b, b)[0, 0], [(2, 3), (3,)]),
    "linear": (lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), [(4, 3), (2, 3), (2,)]),
    "linear of a batch": (lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), [(5, 4, 3), (2, 3), (2,)]),
    "linear without bias": (lambda torch, x, w: torch.nn.functional.linear(x, w), [(5, 4, 3), (2, 3)]),
    "einsum": (lambda torch, a, b: torch.einsum("bij,bkj->bik", a, b), [(2, 3, 4), (2, 5, 4)]),
    "views": (lambda torch, a: a.view(6).reshape(3, 2).t().transpose(0, 1).permute(1, 0).unsqueeze(0).squeeze(0).expand(4, 2, 3).flatten(1),
              [(2, 3)]),
    "reshape with a copy": (lambda torch, a: a.t().reshape(6).unflatten(0, (3, 2)), [(2, 3)]),
    "parts": (lambda torch, a: torch.cat([*a.chunk(3, -1), a.split([1, 2], -1)[1], torch.stack(a.unbind(0))], 1), [(2, 3)]),
    "indexing": (lambda torch, a: a[0] + a[:, 1:].sum() + a[None, :, 0].sum() + a[torch.tensor([0, 1])].sum() + a.narrow(1, 0, 2).sum(), [(2, 3)]),
    "gather": (lambda torch, a: a.gather(1, torch.tensor([[0], [1]])) + a.index_select(0, torch.tensor([1])), [(2, 3)]),
    "softmax": (lambda torch, a: a.softmax(-1) + torch.nn.functional.log_softmax(a, 1), [(2, 3)]),
    "cross_entropy": (lambda torch, a: torch.nn.functional.cross_entropy(a, torch.tensor([0, 1])), [(2, 3)]),
    "losses": (lambda torch, a, b: sum(getattr(torch.nn.functional, name)(a, b) for name in (
        "mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits")), [(3,), (3,)]),
    "activations": (lambda torch, a: sum(getattr(torch.nn.functional, name)(a) for name in (
        "relu", "gelu", "silu", "leaky_relu", "elu", "softplus", "hardtanh", "relu6", "mish", "hardswish", "hardsigmoid")), [(3,)]),
    "layer_norm": (lambda torch, a, w, b: torch.nn.functional.layer_norm(a, (3,), w, b), [(2, 3), (3,), (3,)]),
    "group_norm": (lambda torch, a, w, b: torch.nn.functional.group_norm(a, 2, w, b), [(2, 4, 3), (4,), (4,)]),
    "batch_norm": (lambda torch, a, w, b: torch.nn.functional.batch_norm(a, torch.zeros(3), torch.full((3,), 1.0), w, b, True), [(4, 3), (3,), (3,)]),
    "rms_norm": (lambda torch, a, w: torch.nn.functional.rms_norm(a, (3,), w), [(2, 3), (3,)]),
    "conv2d": (lambda torch, x, w, b: torch.nn.functional.conv2d(x, w, b, padding=1), [(1, 2, 4, 4), (3, 2, 3, 3), (3,)]),
    "conv_transpose2d": (lambda torch, x, w: torch.nn.functional.conv_transpose2d(x, w, stride=2), [(1, 2, 4, 4), (2, 3, 3, 3)]),
    "pooling": (lambda torch, x: sum(f(x, 2) for f in (
        torch.nn.functional.max_pool2d, torch.nn.functional.avg_pool2d, torch.nn.functional.adaptive_avg_pool2d)), [(1, 2, 4, 4)]),
    "embedding": (lambda torch, w: torch.nn.functional.embedding(torch.tensor([0, 2]), w), [(4, 3)]),
    "attention": (lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True), [(2, 2, 4, 8)] * 3),
    "attention by parts": (lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True), [(2, 4, 8)] * 3),
    "dropout": (lambda torch, a: torch.nn.functional.dropout(a, 0.4), [(5,)]),
    "in place": (lambda torch, a: (a * 1).add_(1).mul_(2).sub_(0.5).relu_(), [(3,)]),
    "triangle": (lambda torch, a: a.tril() + a.triu(1) + a.cumsum(0) + a.flip(0) + a.roll(1, 0) + a.repeat(1, 1), [(3, 3)]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_mode_sees_torchs_operators_forward_and_backward(name):
    program, shapes = PROGRAMS[name]
    want, expected = _seen(real_torch, program, shapes)
    got, found = _seen(mstorch, program, shapes)
    assert got == want
    for value, other in zip(expected, found):
        same(value, other, strides=False)


def test_tensors_in_a_mode_keep_their_history():
    for torch in (real_torch, mstorch):
        x = torch.ones(2, requires_grad=True)
        with _log(torch):
            y = x * 2
            view = y.view(2, 1)
            z = view.sin().sum()
        assert (y.grad_fn.name(), view.grad_fn.name(), z.grad_fn.name()) == ("MulBackward0", "ViewBackward0", "SumBackward0")
        assert view._is_view() and view._base is y
        (first,) = torch.autograd.grad(z, x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        assert abs(float(second[0]) + 4 * float(torch.tensor(2.0).sin())) < 1e-5


def test_what_a_mode_returns_is_the_result():
    def program(torch):
        mode = importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode

        class Zeros(mode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return torch.zeros(2) if func is torch.ops.aten.mul.Tensor else func(*args, **(kwargs or {}))

        x = torch.ones(2, requires_grad=True)
        with Zeros():
            y = x * 3
        y.sum().backward()
        return y, x.grad

    for value, other in zip(program(real_torch), program(mstorch)):
        same(value, other)


def test_an_operator_without_parts_is_seen_as_one():
    lines = []
    for torch in (real_torch, mstorch):
        with _log(torch) as log:
            torch.linalg.qr(torch.ones(2, 2))
        lines.append([line.partition("(")[0] for line in log.lines if "ones" not in line])
    assert lines[0] == lines[1] == ["aten.linalg_qr.default"]


def test_what_was_recorded_before_raises():
    x = mstorch.ones(2, requires_grad=True)
    y = x * 2
    with _log(mstorch), pytest.raises(NotImplementedError, match="recorded before the mode was entered"):
        y.sum().backward()
    assert x.grad is None


def test_modes_nest_and_are_off_inside_of_themselves():
    for torch in (real_torch, mstorch):
        outer, inner = _log(torch), _log(torch)
        with outer, inner:
            torch.ones(2) + 1
        assert [line.split("(")[0] for line in outer.lines] == [line.split("(")[0] for line in inner.lines]
        assert inner.lines[-1].startswith("aten.add.Tensor")


# Tensors that keep their elements elsewhere


def _scaled(torch):
    """Return a class of tensors that hold a quarter of their values."""
    tree_map = importlib.import_module(f"{torch.__name__}.utils._pytree").tree_map

    class Scaled(torch.Tensor):
        @staticmethod
        def __new__(cls, inner, requires_grad=False):
            made = torch.Tensor._make_wrapper_subclass(
                cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=inner.device, requires_grad=requires_grad
            )
            made.inner = inner.detach() / 4
            return made

        seen = []

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.seen.append(str(func))
            args, kwargs = tree_map(lambda x: x.inner * 4 if isinstance(x, cls) else x, (args, kwargs or {}))
            result = func(*args, **kwargs)
            return tree_map(lambda x: cls(x) if isinstance(x, torch.Tensor) else x, result)

        def __repr__(self):
            return f"Scaled({self.inner})"

    return Scaled


def test_wrapper_subclasses_compute_and_have_gradients():
    def program(torch):
        scaled = _scaled(torch)
        torch.manual_seed(0)
        x = scaled(torch.rand(4, 3), requires_grad=True)
        w = scaled(torch.rand(2, 3), requires_grad=True)
        loss = torch.nn.functional.cross_entropy(torch.nn.functional.linear(x, w).relu(), torch.tensor([0, 1, 0, 1]))
        names = [name for name in scaled.seen if "detach" not in name]
        loss.backward()
        assert type(loss) is type(x.grad) is type(w.grad) is scaled
        return [loss.inner, x.grad.inner, w.grad.inner], names, loss.grad_fn.name()

    want, got = program(real_torch), program(mstorch)
    assert want[1:] == got[1:]
    for value, other in zip(want[0], got[0]):
        same(value.detach(), other.detach(), strides=False)


def test_wrapper_subclasses_as_weights():
    def program(torch):
        scaled = _scaled(torch)
        torch.manual_seed(0)
        layer = torch.nn.Linear(3, 2)
        layer.weight = torch.nn.Parameter(scaled(layer.weight.detach()), requires_grad=False)
        result = layer(torch.rand(4, 3))
        assert type(result) is scaled
        return result.inner.detach()

    same(program(real_torch), program(mstorch))


def test_overloads():
    for torch in (real_torch, mstorch):
        add = torch.ops.aten.add
        assert str(add.Tensor) == "aten.add.Tensor" and add.Tensor.name() == "aten::add.Tensor" and add.Tensor.overloadpacket is add
        assert add.Tensor is torch.ops.aten.add.Tensor and torch.ops.aten.mm.default._schema.name in ("aten::mm", "mm")
        assert not hasattr(torch.ops.aten.mm, "nothing")
        assert torch.equal(torch.ops.aten.sum.dim_IntList(torch.ones(2, 3), [1]), torch.full((2,), 3.0))


def test_classes_that_are_asked_below_are_not_asked_above():
    for torch in (real_torch, mstorch):
        tree_map = importlib.import_module(f"{torch.__name__}.utils._pytree").tree_map

        class Left(torch.Tensor):
            @staticmethod
            def __new__(cls, held):
                made = torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)
                made.held = held
                return made

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                args, kwargs = tree_map(lambda x: x.held if isinstance(x, cls) else x, (args, kwargs or {}))
                return func(*args, **kwargs)

            def __repr__(self):
                return super().__repr__(tensor_contents=f"held={self.held.tolist()}")

        x = Left(torch.ones(2))
        assert type(x * 2) is type(x.view(2)) is type(x.detach()) is torch.Tensor
        assert repr(x) == "Left(held=[1.0, 1.0])"
        with pytest.raises(RuntimeError, match=r"requires that detach\(\) returns an instance of the same type"):
            torch.nn.Parameter(x)


def test_redispatched_functions_are_asked_inside():
    for torch in (real_torch, mstorch):
        calls = []

        class Seen(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                calls.append(func.__name__)
                return torch.overrides.redispatch_function(func, types, args, kwargs)

        def product(a, b):
            if torch.overrides.has_torch_function((a, b)):
                return torch.overrides.handle_torch_function(product, (a, b), a, b)
            return a * b + 1

        result = product(torch.ones(1).as_subclass(Seen), torch.ones(1).as_subclass(Seen))
        assert calls == ["product", "mul"] and type(result) is torch.Tensor


def test_data_has_a_version_of_its_own(both):
    def body(torch):
        with _log(torch):
            x = torch.ones(3, dtype=torch.float64, requires_grad=True)
            y = x.sin()
            x.data.add_(1)
            y.sum().backward()
            z = torch.zeros(3)
            z.data.add_(1)
            seen = z._version
            z.detach().add_(1)
            leaf = torch.ones(2, dtype=torch.float64, requires_grad=True)
            return x.grad, x._version, seen, z._version, torch.autograd.gradcheck(lambda a: a.sin(), (leaf,))

    both(body)


def test_detach_in_place_is_seen_by_no_one(both):
    """``detach_`` changes the tensor itself: neither class nor mode is called, and the tensor's own attributes change."""

    def body(torch):
        seen = []

        class Wrapper(torch.Tensor):
            @staticmethod
            def __new__(cls, value):
                made = torch.Tensor._make_wrapper_subclass(cls, value.shape, dtype=value.dtype, requires_grad=value.requires_grad)
                made.value = value
                return made

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                seen.append(str(func))
                found = func(*[one.value if isinstance(one, cls) else one for one in args], **(kwargs or {}))
                return cls(found) if isinstance(found, torch.Tensor) else found

        leaf, made = Wrapper(torch.ones(3, requires_grad=True)), Wrapper(torch.ones(3, requires_grad=True)) * 2
        told = [(t.detach_() is t, t.requires_grad, t.is_leaf, t.grad_fn) for t in (leaf, made)]
        return told, seen

    both(body)


WRITES = """
x.add_(1) | x.mul_(x) | x.zero_() | x.fill_(3) | x.copy_(torch.ones(2, 3)) | x.clamp_(0, 1) | x.normal_() | x.uniform_() | x.t_() | x.unsqueeze_(0) | x.relu_() |
x.masked_fill_(x > 1, 0) | x.index_fill_(0, torch.tensor([0]), 2.0) | x.scatter_(0, torch.tensor([[0]]), 4.0) | x.exp_() | x.lerp_(x, 0.5) | x.__iadd__(1) |
torch.add(x, 1, out=x) | torch.relu_(x) | torch.nn.init.ones_(x) | torch.nn.init.zeros_(x) | torch.nn.init.constant_(x, 2.0) | torch.nn.init.uniform_(x) |
x.addmm_(torch.ones(2, 2), torch.ones(2, 3)) | x.tril_() | x.cumsum_(0) | x.sub_(x, alpha=2) | x.pow_(2) | x.bernoulli_(0.5)
"""


@pytest.mark.parametrize("write", [write.strip() for write in WRITES.replace("\n", " ").split("|")])
def test_writes_give_the_tensor_itself(both, write):
    """If a handler returns another tensor for an in-place operation, the caller gets the tensor that was written to. Conversions return the
    other one."""

    def body(torch):
        seen = []

        class Wrapper(torch.Tensor):
            @staticmethod
            def __new__(cls, value):
                made = torch.Tensor._make_wrapper_subclass(cls, value.shape, dtype=value.dtype, strides=value.stride())
                made.value = value
                return made

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                seen.append(str(func))
                bare = torch.utils._pytree.tree_map(lambda one: one.value if isinstance(one, cls) else one, (args, kwargs or {}))
                return torch.utils._pytree.tree_map(lambda one: cls(one) if isinstance(one, torch.Tensor) else one, func(*bare[0], **bare[1]))

        x = Wrapper(torch.arange(6.0).reshape(2, 3))
        found = eval(write, {"torch": torch, "x": x})
        other = x.type(torch.int32)
        return found is x, x.value, seen, type(other).__name__, other.dtype, other.value, other.type()

    both(body)


def _direct(torch, handle):
    """Return a subclass with memory of its own whose ``__torch_dispatch__`` calls ``handle`` and counts the calls."""

    class Direct(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl
        calls: list[str] = []

        @staticmethod
        def __new__(cls, data):
            return torch.Tensor._make_subclass(cls, data, data.requires_grad)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(str(func))
            return handle(cls, Direct, func, types, args, kwargs)

    return Direct


def _inherited(torch, cls, own, func, types, args, kwargs):
    return super(own, cls).__torch_dispatch__(func, types, args, kwargs)


def _within_no_dispatch(torch, cls, own, func, types, args, kwargs):
    with importlib.import_module(f"{torch.__name__}.utils._mode_utils").no_dispatch():
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("handle", [_inherited, _within_no_dispatch])
@pytest.mark.parametrize("call", [
    lambda x: x.neg(), lambda x: x + x, lambda x: x.sum(), lambda x: x[0], lambda x: x.add_(1), lambda x: x.view(-1), lambda x: 2 * x.exp(),
])  # fmt: skip
def test_a_direct_subclass_hands_calls_on(both, handle, call):
    def body(torch):
        kind = _direct(torch, lambda *given: handle(torch, *given))
        result = call(kind(torch.arange(4.0).reshape(2, 2)))
        return type(result).__name__, kind.calls, result.detach().as_subclass(torch.Tensor) if type(result) is kind else result

    both(body)


def test_the_handler_of_plain_tensors(both):
    def body(torch):
        class Sub(torch.Tensor):
            pass

        plain = torch._C._disabled_torch_dispatch_impl
        return [kind.__torch_dispatch__ is plain for kind in (torch.Tensor, torch.nn.Parameter, Sub)]

    both(body)
    both(lambda torch: torch.Tensor._make_wrapper_subclass(type("Sub", (torch.Tensor,), {}), (2, 2)))


@pytest.mark.parametrize("room, name, handler", [
    ("utils._python_dispatch", "TorchDispatchMode", "__torch_dispatch__"), ("overrides", "TorchFunctionMode", "__torch_function__"),
])  # fmt: skip
def test_a_mode_whose_handler_is_a_classmethod(both, room, name, handler):
    def body(torch):
        base = getattr(importlib.import_module(f"{torch.__name__}.{room}"), name)
        mode = type("Mode", (base,), {handler: classmethod(lambda cls, func, types, args=(), kwargs=None: func(*args, **(kwargs or {})))})
        x = torch.ones(2)
        with mode():
            return x + x

    both(body)


_FACTORIES = {
    "empty": lambda torch, **named: torch.empty(2, 3, **named), "zeros": lambda torch, **named: torch.zeros((2, 3), **named),
    "ones": lambda torch, **named: torch.ones(2, **named), "full": lambda torch, **named: torch.full((2,), 1.5, **named),
    "rand": lambda torch, **named: torch.rand(2, **named), "randn": lambda torch, **named: torch.randn(2, **named),
    "randint": lambda torch, **named: torch.randint(0, 5, (2,), **named), "randperm": lambda torch, **named: torch.randperm(4, **named),
    "arange": lambda torch, **named: torch.arange(1, 9, 2, **named), "eye": lambda torch, **named: torch.eye(2, **named),
    "linspace": lambda torch, **named: torch.linspace(0, 1, 3, **named), "logspace": lambda torch, **named: torch.logspace(0, 1, 3, **named),
    "empty_strided": lambda torch, **named: torch.empty_strided((2, 2), (1, 2), **named),
}  # fmt: skip


@pytest.mark.parametrize("name", _FACTORIES)
def test_factories_below_a_mode_are_on_the_default_device(name):
    """The mode inside and outside of the block of a device, with a device of the call's own, and a dtype."""

    def lines(torch):
        make, logs = _FACTORIES[name], [_log(torch) for _ in range(4)]
        with torch.device("meta"), logs[0]:
            devices = [make(torch).device.type, make(torch, dtype=torch.float64).device.type]
        with logs[1], torch.device("meta"):
            devices.append(make(torch).device.type)
        with torch.device("meta"), logs[2]:
            devices.append(make(torch, device="cpu").device.type)
        with logs[3]:
            devices.append(make(torch).device.type)
        return devices, [log.lines for log in logs]

    assert lines(mstorch) == lines(real_torch)
