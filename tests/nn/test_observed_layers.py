"""Layers whose fused or short ways somebody sees: subclasses of the input or of the parameters, modes, tangents, hooks, shared memory."""
from __future__ import annotations

import importlib

import pytest

LAYERS = {
    "linear": (lambda nn: nn.Linear(4, 3), [(2, 4)]),
    "linear of one": (lambda nn: nn.Linear(4, 3), [(4,)]),
    "linear, no bias": (lambda nn: nn.Linear(4, 3, bias=False), [(2, 3, 4)]),
    "bilinear": (lambda nn: nn.Bilinear(2, 3, 2), [(4, 2), (4, 3)]),
    "conv1d": (lambda nn: nn.Conv1d(2, 3, 2), [(1, 2, 5)]),
    "conv2d": (lambda nn: nn.Conv2d(2, 3, 2, padding=1), [(1, 2, 4, 4)]),
    "conv2d, reflecting": (lambda nn: nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), [(1, 2, 4, 4)]),
    "transposed": (lambda nn: nn.ConvTranspose2d(2, 3, 2, stride=2), [(1, 2, 3, 3)]),
    "batch norm": (lambda nn: nn.BatchNorm1d(3), [(4, 3)]),
    "batch norm, eval": (lambda nn: nn.BatchNorm2d(3).eval(), [(2, 3, 2, 2)]),
    "instance norm": (lambda nn: nn.InstanceNorm1d(3, affine=True), [(2, 3, 4)]),
    "group norm": (lambda nn: nn.GroupNorm(2, 4), [(2, 4, 3)]),
    "layer norm": (lambda nn: nn.LayerNorm(4), [(2, 4)]),
    "rms norm": (lambda nn: nn.RMSNorm(4), [(2, 4)]),
    "attention": (lambda nn: nn.MultiheadAttention(4, 2, batch_first=True), [(2, 3, 4)] * 3),
    "encoder": (lambda nn: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), [(2, 3, 4)]),
    "lstm": (lambda nn: nn.LSTM(3, 2), [(4, 1, 3)]),
    "lstm, both ways": (lambda nn: nn.LSTM(3, 2, 2, bidirectional=True, batch_first=True), [(2, 4, 3)]),
    "gru": (lambda nn: nn.GRU(3, 2), [(4, 1, 3)]),
    "rnn": (lambda nn: nn.RNN(3, 2), [(4, 1, 3)]),
    "lstm cell": (lambda nn: nn.LSTMCell(3, 2), [(4, 3)]),
    "gru cell": (lambda nn: nn.GRUCell(3, 2), [(4, 3)]),
    "rnn cell": (lambda nn: nn.RNNCell(3, 2), [(4, 3)]),
    "prelu": (lambda nn: nn.PReLU(3), [(2, 3)]),
    "small network": (lambda nn: nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 2), nn.LogSoftmax(-1)), [(2, 4)]),
}
# Calls that read members, or that torch's Python code makes and a call of one function replaces.
UNSEEN = {
    "__get__", "__set__", "is_floating_point", "is_complex", "dim", "size", "numel", "stride", "is_contiguous", "contiguous", "_set_grad_enabled",
    "is_grad_enabled", "is_autocast_enabled", "is_inference_mode_enabled",
}  # fmt: skip
layers = pytest.mark.parametrize("name", LAYERS)


def _module(torch, name):
    return importlib.import_module(f"{torch.__name__}.{name}")


def _layer(torch, name):
    make, shapes = LAYERS[name]
    layer = make(torch.nn)
    with torch.no_grad():
        for i, param in enumerate(layer.parameters()):
            param.copy_((torch.arange(float(param.numel())).reshape(param.shape) * 0.53 + i).cos() * 0.5)
    sizes = [torch.Size(shape) for shape in shapes]
    return layer, [(torch.arange(float(size.numel())).reshape(size) * 0.37 + 0.1).sin() for size in sizes]


def _leaves(torch, result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [leaf for item in result or () for leaf in _leaves(torch, item)]


def _outcome(torch, layer, result):
    leaves = _leaves(torch, result)
    sum(leaf.exp().sum() for leaf in leaves).backward()
    grads = [param.grad for param in layer.parameters()]
    plain = [None if grad is None else grad.as_subclass(torch.Tensor) for grad in grads]
    return [type(leaf).__name__ for leaf in leaves], [leaf.detach().as_subclass(torch.Tensor) for leaf in leaves], plain


def _replaced(layer, change):
    for module in layer.modules():
        for name, param in module._parameters.items():
            if param is not None:
                module._parameters[name] = change(param)


def _logging(base, log):
    class Logging(base):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            word = getattr(func, "__name__", "")
            if word not in UNSEEN:
                log.append(word)
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logging


@layers
@pytest.mark.parametrize("grad", [True, False], ids=["grad", "no grad"])
@pytest.mark.parametrize("seen", ["input", "parameters", "mode"])
def test_overriding(both, name, seen, grad):
    """Handlers see the same calls, and results are of the same class."""

    def body(torch):
        layer, inputs = _layer(torch, name)
        log = []
        with torch.set_grad_enabled(grad):
            if seen == "mode":
                class Watch(_logging(_module(torch, "overrides").TorchFunctionMode, log)):
                    def __torch_function__(self, func, types, args=(), kwargs=None):
                        if getattr(func, "__name__", "") not in UNSEEN:
                            log.append(func.__name__)
                        return func(*args, **(kwargs or {}))

                with Watch():
                    result = layer(*inputs)
            elif seen == "input":
                cls = _logging(torch.Tensor, log)
                result = layer(*(value.as_subclass(cls) for value in inputs))
            else:
                cls = _logging(torch.nn.Parameter, log)
                _replaced(layer, lambda param: cls(param.detach()))
                result = layer(*inputs)
        seen_calls = [word for word in log if not word.startswith("_")]
        if not grad:
            leaves = _leaves(torch, result)
            return seen_calls, [type(leaf).__name__ for leaf in leaves], [leaf.as_subclass(torch.Tensor) for leaf in leaves]
        return seen_calls, *_outcome(torch, layer, result)

    both(body, strides=False)


@layers
@pytest.mark.parametrize("kind", ["subclass", "disabled", "parts of one tensor", "hooks"])
def test_parameters(both, name, kind):
    """Parameters of a subclass, in one memory, or with hooks."""

    def body(torch):
        layer, inputs = _layer(torch, name)
        log = []
        if kind == "subclass":
            cls = type("Own", (torch.nn.Parameter,), {})
            _replaced(layer, lambda param: cls(param.detach()))
        elif kind == "disabled":
            cls = type("Own", (torch.Tensor,), {"__torch_function__": torch._C._disabled_torch_function_impl})
            _replaced(layer, lambda param: param.detach().as_subclass(cls).requires_grad_())
        elif kind == "hooks":
            for i, param in enumerate(layer.parameters()):
                param.register_hook(lambda grad, i=i: log.append(i) or grad * 2)
                param.register_post_accumulate_grad_hook(lambda param, i=i: log.append(f"after {i}"))
            layer.register_full_backward_hook(lambda *args: log.append("layer"))
        else:
            flat = torch.cat([param.detach().flatten() for param in layer.parameters()])
            ends = torch.tensor([param.numel() for param in layer.parameters()]).cumsum(0).tolist()
            _replaced(layer, lambda param: torch.nn.Parameter(flat[(end := ends.pop(0)) - param.numel() : end].view(param.shape)))
            layer(*inputs)
            flat.mul_(0.5)
        results = _outcome(torch, layer, layer(*inputs))
        return sorted(map(str, log)), *results

    both(body, strides=False)


@layers
@pytest.mark.parametrize("grad", [True, False], ids=["tracked", "untracked"])
def test_forward_mode(both, name, grad):
    if "lstm" in name and name != "lstm cell" or name == "encoder":
        pytest.skip("torch's kernel has no forward mode")

    def body(torch):
        forward = _module(torch, "autograd.forward_ad")
        layer, inputs = _layer(torch, name)
        with forward.dual_level():
            duals = {
                key: forward.make_dual(param if grad else param.detach(), (param.detach() * 3 + i).sin())
                for i, (key, param) in enumerate(layer.named_parameters())
            }
            result = torch.func.functional_call(layer, duals, tuple(forward.make_dual(value, (value * 2).cos()) for value in inputs))
            return [forward.unpack_dual(leaf).tangent for leaf in _leaves(torch, result)]

    both(body, strides=False, rtol=1e-4, atol=1e-5)
