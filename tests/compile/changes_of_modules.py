"""Programs that compile a function and change something between two calls: modules, tensors, modes."""
from __future__ import annotations

from typing import Any

import mstorch as torch
from mstorch import nn
from mstorch.nn import functional as F
from tests.compile.changes import RESTORE, Case, case


def _doubled(module: Any, args: Any, result: Any) -> Any:
    return result * 2


def _entered(block: Any) -> None:
    block.__enter__()
    RESTORE.append(lambda: block.__exit__(None, None, None))


class Net(nn.Module):
    factor = 2.0

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.register_buffer("scale", torch.full((3,), 2.0))
        self.offset = nn.Parameter(torch.ones(3))
        self.rate = 0.5
        self.active = torch.tanh

    def forward(self, x: Any) -> Any:
        return self.active(self.second(self.first(x)) * self.scale + self.offset) * self.rate * self.factor


@case
def module_number() -> Case:
    net = Net()
    return net, lambda: setattr(net, "rate", 3.0)


@case
def module_function() -> Case:
    net = Net()
    return net, lambda: setattr(net, "active", torch.sigmoid)


@case
def module_class_attribute() -> Case:
    class Local(Net):
        factor = 2.0

    return Local(), lambda: setattr(Local, "factor", 3.0)


@case
def module_forward_patched() -> Case:
    net = Net()
    return net, lambda: setattr(net, "forward", lambda x: x * 9)


@case
def module_forward_of_the_class() -> Case:
    class Local(Net):
        def forward(self, x: Any) -> Any:
            return x * 2

    return Local(), lambda: setattr(Local, "forward", lambda self, x: x * 3)


@case
def module_child_replaced() -> Case:
    net = Net()
    return net, lambda: setattr(net, "second", nn.Linear(3, 3))


@case
def module_child_added() -> Case:
    net = nn.Sequential(nn.Linear(3, 3))
    return net, lambda: net.append(nn.Linear(3, 3))


@case
def module_children_exchanged() -> Case:
    net = Net()

    def change() -> None:
        net.first, net.second = net.second, net.first

    return net, change


@case
def module_parameter_replaced() -> Case:
    net = Net()
    return net, lambda: setattr(net, "offset", nn.Parameter(torch.zeros(3)))


@case
def module_parameter_written() -> Case:
    net = Net()
    return net, lambda: net.offset.data.add_(1)


@case
def module_parameter_data_replaced() -> Case:
    net = Net()
    return net, lambda: setattr(net.offset, "data", torch.full((3,), 4.0))


@case
def module_parameter_swapped() -> Case:
    net = Net().requires_grad_(False)  # as in torch, swap_tensors fails while a graph is alive
    return net, lambda: torch.utils.swap_tensors(net.offset, nn.Parameter(torch.full((3,), 4.0), requires_grad=False))


@case
def module_converted_by_swaps() -> Case:
    net = Net().requires_grad_(False)

    def change() -> None:
        torch.__future__.set_swap_module_params_on_conversion(True)
        RESTORE.append(lambda: torch.__future__.set_swap_module_params_on_conversion(False))
        net.to(torch.bfloat16)
        net.float()
        net.offset.data.mul_(2)

    return net, change


@case
def module_buffer_replaced() -> Case:
    net = Net()
    return net, lambda: setattr(net, "scale", torch.full((3,), 5.0))


@case
def module_buffer_removed() -> Case:
    class Local(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scale", torch.full((3,), 2.0))

        def forward(self, x: Any) -> Any:
            return x * self.scale if self.scale is not None else x

    net = Local()
    return net, lambda: setattr(net, "scale", None)


@case
def module_state_loaded() -> Case:
    net, other = Net(), Net()
    return net, lambda: net.load_state_dict(other.state_dict())


@case
def module_to_double() -> Case:
    net = nn.Linear(3, 3)
    return lambda x: net(x.to(net.weight.dtype)), net.double


@case
def training_mode() -> Case:
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).eval()
    return net, net.train


@case
def training_mode_of_a_child() -> Case:
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).eval()
    return net, lambda: net[1].train()


@case
def momentum_of_a_layer() -> Case:
    net = nn.LayerNorm(3)
    return net, lambda: setattr(net, "eps", 1.0)


@case
def forward_hook() -> Case:
    net = Net()
    return net, lambda: net.register_forward_hook(lambda module, args, result: result * 2)


@case
def forward_pre_hook_of_a_child() -> Case:
    net = Net()
    return net, lambda: net.first.register_forward_pre_hook(lambda module, args: (args[0] + 1,))


@case
def hook_removed() -> Case:
    net = Net()
    handle = net.register_forward_hook(lambda module, args, result: result * 2)
    return net, handle.remove


@case
def global_forward_hook() -> Case:
    handles: list[Any] = []
    net = nn.Linear(3, 3)

    def change() -> None:
        handles.append(nn.modules.module.register_module_forward_hook(_doubled))
        RESTORE.append(handles[0].remove)

    return lambda x: net(x), change  # a compiled module is a module, whose hook runs once more


@case
def parametrization() -> Case:
    net = nn.Linear(3, 3)

    class Double(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    return net, lambda: nn.utils.parametrize.register_parametrization(net, "weight", Double())


@case
def requires_grad_of_a_parameter() -> Case:
    net = nn.Linear(3, 3)
    return lambda x: net(x) * (2.0 if net.weight.requires_grad else 1.0), lambda: net.weight.requires_grad_(False)


@case
def tensor_of_a_closure_written() -> Case:
    held = torch.ones(3)
    return lambda x: x * held, lambda: held.mul_(3)


@case
def tensor_of_a_closure_through_numpy() -> Case:
    held = torch.ones(3)
    return lambda x: x * held, lambda: held.numpy().__setitem__(0, 8.0)


@case
def view_of_a_closure_written() -> Case:
    held = torch.ones(2, 3)
    row = held[0]
    return lambda x: x * row, lambda: held.mul_(3)


@case
def gradient_of_a_tensor() -> Case:
    held = torch.ones(3, requires_grad=True)
    held.grad = torch.ones(3)
    return lambda x: x * held.grad, lambda: setattr(held, "grad", torch.full((3,), 4.0))


@case
def gradient_appears() -> Case:
    held = torch.ones(3, requires_grad=True)
    return lambda x: x if held.grad is None else x * 2, lambda: (held * 2).sum().backward()


@case
def attribute_of_a_tensor() -> Case:
    held = torch.ones(3)
    held.factor = 2.0
    return lambda x: x * held * held.factor, lambda: setattr(held, "factor", 3.0)


@case
def grad_mode() -> Case:
    return lambda x: x * (2.0 if torch.is_grad_enabled() else 3.0), lambda: _entered(torch.no_grad())


@case
def inference_mode() -> Case:
    return lambda x: x * (3.0 if torch.is_inference_mode_enabled() else 2.0), lambda: _entered(torch.inference_mode())


@case
def autocast() -> Case:
    net = nn.Linear(3, 3)
    return lambda x: net(x), lambda: _entered(torch.autocast("cpu", dtype=torch.bfloat16))


@case
def default_dtype() -> Case:
    RESTORE.append(lambda: torch.set_default_dtype(torch.float32))
    return lambda x: x + torch.ones(3), lambda: torch.set_default_dtype(torch.float64)


@case
def default_device() -> Case:
    RESTORE.append(lambda: torch.set_default_device(None))
    return lambda x: x * (2.0 if torch.get_default_device().type == "cpu" else 3.0), lambda: torch.set_default_device("meta")


@case
def device_as_a_context() -> Case:
    return lambda x: x * (2.0 if torch.get_default_device().type == "cpu" else 3.0), lambda: _entered(torch.device("meta"))


@case
def deterministic_algorithms() -> Case:
    RESTORE.append(lambda: torch.use_deterministic_algorithms(False))
    return lambda x: x * (3.0 if torch.are_deterministic_algorithms_enabled() else 2.0), lambda: torch.use_deterministic_algorithms(True)


@case
def matmul_precision() -> Case:
    RESTORE.append(lambda: torch.set_float32_matmul_precision("highest"))
    return lambda x: x * len(torch.get_float32_matmul_precision()), lambda: torch.set_float32_matmul_precision("medium")


@case
def number_of_threads() -> Case:
    before = torch.get_num_threads()
    RESTORE.append(lambda: torch.set_num_threads(before))
    return lambda x: x * torch.get_num_threads(), lambda: torch.set_num_threads(before + 1)


@case
def function_mode() -> Case:
    class Doubles(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            return result * 2 if func is torch.tanh else result

    return lambda x: torch.tanh(x), lambda: _entered(Doubles())


@case
def function_of_torch_patched() -> Case:
    before = F.relu
    RESTORE.append(lambda: setattr(F, "relu", before))
    return lambda x: F.relu(x), lambda: setattr(F, "relu", lambda x: x * 5)


@case
def module_of_torch_uses_a_patched_function() -> Case:
    before = F.relu
    RESTORE.append(lambda: setattr(F, "relu", before))
    net = nn.ReLU()
    return lambda x: net(x), lambda: setattr(F, "relu", lambda x, inplace=False: x * 5)


@case
def method_of_tensor_patched() -> Case:
    before = torch.Tensor.tanh
    RESTORE.append(lambda: setattr(torch.Tensor, "tanh", before))
    return lambda x: x.tanh(), lambda: setattr(torch.Tensor, "tanh", lambda self: self * 5)
