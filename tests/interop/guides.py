"""The steps of MindSpore's migration guides, each a function of a network that returns arrays to compare."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindspore
import numpy as np
from mindspore import amp, ops
from mindspore import nn as msnn
from mindspore.common.initializer import HeNormal, initializer
from mindspore.dataset import GeneratorDataset
from mindspore.train import Callback, EarlyStopping, LossMonitor, Model, ModelCheckpoint, TimeMonitor

X = np.random.RandomState(0).uniform(-1, 1, (12, 2, 4, 4)).astype(np.float32)
Y = np.random.RandomState(1).randint(0, 3, 12).astype(np.int32)
Arrays = list[np.ndarray]
STEPS: dict[str, Callable[..., Arrays]] = {}


def step(function: Callable[..., Arrays]) -> Callable[..., Arrays]:
    """Register a step under its name."""
    STEPS[function.__name__.replace("_", " ")] = function
    return function


def inputs() -> tuple[Any, Any]:
    return mindspore.Tensor(X), mindspore.Tensor(Y)


def weights(net: Any) -> Arrays:
    return [parameter.asnumpy() for parameter in net.trainable_params()]


def data(count: int = 3) -> Any:
    return GeneratorDataset([(X[i * 4 : i * 4 + 4], Y[i * 4 : i * 4 + 4]) for i in range(count)], ["x", "y"], shuffle=False)


def loss_of(net: Any) -> Callable[..., Any]:
    return lambda x, y: ops.cross_entropy(net(x), y)


def momentum(net: Any) -> Any:
    return msnn.Momentum(net.trainable_params(), 0.1, 0.9)


def trained(net: Any, optimizer: Any, change: Callable[[Any], Any] = lambda grads: grads) -> Arrays:
    """Return the result of three steps of the functional loop."""
    net.set_train(True)
    forward = mindspore.value_and_grad(loss_of(net), None, optimizer.parameters)
    losses = []
    for _ in range(3):
        loss, grads = forward(*inputs())
        optimizer(change(grads))
        losses.append(loss.asnumpy())
    return [np.array(losses), *weights(net)]


class Losses(Callback):
    """Collects losses."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[float] = []

    def step_end(self, run_context: Any) -> None:
        self.found.append(float(run_context.original_args().net_outputs.asnumpy()))


@step
def call(net: Any, path: str) -> Arrays:
    return [net.set_train(True)(inputs()[0]).asnumpy()]


@step
def call_in_evaluation(net: Any, path: str) -> Arrays:
    return [net.set_train(False)(inputs()[0]).asnumpy()]


@step
def gradient_of_the_input(net: Any, path: str) -> Arrays:
    return [mindspore.grad(loss_of(net))(*inputs()).asnumpy()]


@step
def gradients_of_the_weights(net: Any, path: str) -> Arrays:
    value, grads = mindspore.value_and_grad(loss_of(net), None, net.trainable_params())(*inputs())
    return [value.asnumpy(), *(grad.asnumpy() for grad in grads)]


@step
def gradients_with_other_outputs(net: Any, path: str) -> Arrays:
    def forward(x: Any, y: Any) -> Any:
        logits = net(x)
        return ops.cross_entropy(logits, y), logits

    (value, logits), grads = mindspore.value_and_grad(forward, None, net.trainable_params(), has_aux=True)(*inputs())
    return [value.asnumpy(), logits.asnumpy(), *(grad.asnumpy() for grad in grads)]


@step
def grad_operation_with_weights(net: Any, path: str) -> Arrays:
    find = ops.GradOperation(get_by_list=True)
    return [grad.asnumpy() for grad in find(net, mindspore.ParameterTuple(net.trainable_params()))(inputs()[0])]


@step
def functional_training(net: Any, path: str) -> Arrays:
    return trained(net, momentum(net))


@step
def groups_with_decay(net: Any, path: str) -> Arrays:
    parameters = net.trainable_params()
    decayed = [p for p in parameters if len(p.shape) > 1]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": [p for p in parameters if len(p.shape) == 1]}, {"order_params": parameters}]
    return trained(net, msnn.SGD(groups, 0.1))


@step
def a_schedule_of_rates(net: Any, path: str) -> Arrays:
    return trained(net, msnn.Adam(net.trainable_params(), msnn.cosine_decay_lr(0.0, 0.01, 6, 2, 3)))


@step
def clipped_gradients(net: Any, path: str) -> Arrays:
    return trained(net, momentum(net), lambda grads: ops.clip_by_global_norm(grads, 0.1))


@step
def accumulated_gradients(net: Any, path: str) -> Arrays:
    optimizer = momentum(net)
    sums = optimizer.parameters.clone(prefix="sum", init="zeros")
    forward = mindspore.value_and_grad(loss_of(net), None, optimizer.parameters)
    for _ in range(2):
        for total, grad in zip(sums, forward(*inputs())[1]):
            ops.assign_add(total, grad)
    optimizer(tuple(sums))
    return weights(net)


@step
def frozen_layers(net: Any, path: str) -> Arrays:
    for parameter in net.trainable_params()[:2]:
        parameter.requires_grad = False
    left = len(net.trainable_params())
    trained(net, momentum(net))
    return [np.array(left), *(parameter.asnumpy() for parameter in net.get_parameters() if "moving" not in parameter.name)][:4]


@step
def initial_values(net: Any, path: str) -> Arrays:
    mindspore.set_seed(4)
    for parameter in net.trainable_params():
        parameter.set_data(initializer(HeNormal() if len(parameter.shape) > 1 else "ones", parameter.shape, parameter.dtype))
    return [*weights(net), net(inputs()[0]).asnumpy()]


@step
def cells_of_loss_and_step(net: Any, path: str) -> Arrays:
    whole = msnn.WithLossCell(net, msnn.CrossEntropyLoss())
    once = msnn.TrainOneStepCell(whole, momentum(net)).set_train()
    return [*(once(*inputs()).asnumpy() for _ in range(3)), *weights(net)]


@step
def forward_value_and_grad(net: Any, path: str) -> Arrays:
    whole = msnn.WithLossCell(net, msnn.CrossEntropyLoss())
    found = msnn.ForwardValueAndGrad(whole, mindspore.ParameterTuple(net.trainable_params()), get_by_list=True)(*inputs())
    return [found[0].asnumpy(), *(grad.asnumpy() for grad in found[1])]


@step
def a_step_with_scaled_loss(net: Any, path: str) -> Arrays:
    whole = msnn.WithLossCell(net, msnn.CrossEntropyLoss())
    scale = msnn.FixedLossScaleUpdateCell(loss_scale_value=64)
    once = msnn.TrainOneStepWithLossScaleCell(whole, momentum(net), scale_sense=scale).set_train()
    return [*(once(*inputs())[0].asnumpy() for _ in range(3)), *weights(net)]


@step
def model_train(net: Any, path: str) -> Arrays:
    losses = Losses()
    Model(net, msnn.CrossEntropyLoss(), momentum(net)).train(1, data(), [losses, TimeMonitor()], dataset_sink_mode=False)
    return [np.array(losses.found), *weights(net)]


@step
def model_fit_with_callbacks(net: Any, path: str) -> Arrays:
    model = Model(net, msnn.CrossEntropyLoss(), momentum(net), metrics={"accuracy", "loss"})
    callbacks = [LossMonitor(), EarlyStopping("loss", patience=1), ModelCheckpoint(directory=path)]
    model.fit(3, data(), data(), callbacks=callbacks, dataset_sink_mode=False)
    return weights(net)


@step
def model_eval(net: Any, path: str) -> Arrays:
    found = Model(net, msnn.CrossEntropyLoss(), momentum(net), metrics={"accuracy", "loss"}).eval(data(), dataset_sink_mode=False)
    return [np.array([found["accuracy"], found["loss"]])]


@step
def model_predict(net: Any, path: str) -> Arrays:
    return [Model(net).predict(inputs()[0]).asnumpy()]


@step
def model_with_fixed_loss_scale(net: Any, path: str) -> Arrays:
    scale = mindspore.FixedLossScaleManager(128, drop_overflow_update=False)
    optimizer = msnn.Momentum(net.trainable_params(), 0.1, 0.9, loss_scale=128)
    Model(net, msnn.CrossEntropyLoss(), optimizer, loss_scale_manager=scale).train(1, data(), dataset_sink_mode=False)
    return weights(net)


@step
def model_with_dynamic_loss_scale(net: Any, path: str) -> Arrays:
    model = Model(net, msnn.CrossEntropyLoss(), momentum(net), amp_level="O2", loss_scale_manager=mindspore.DynamicLossScaleManager(128))
    model.train(1, data(), dataset_sink_mode=False)
    return weights(net)


@step
def loss_scaler(net: Any, path: str) -> Arrays:
    scaler = amp.StaticLossScaler(64)
    optimizer = momentum(net)
    forward = mindspore.value_and_grad(lambda x, y: scaler.scale(loss_of(net)(x, y)), None, optimizer.parameters)
    loss, grads = forward(*inputs())
    grads = scaler.unscale(grads)
    finite = amp.all_finite(grads)
    optimizer(grads)
    return [scaler.unscale(loss).asnumpy(), np.array(bool(finite)), *weights(net)]


@step
def checkpoints(net: Any, path: str) -> Arrays:
    mindspore.save_checkpoint(net, f"{path}/net.ckpt")
    kept = weights(net)
    for parameter in net.trainable_params():
        parameter.set_data(mindspore.Tensor(np.zeros(parameter.shape, np.float32)))
    missing = mindspore.load_param_into_net(net, mindspore.load_checkpoint(f"{path}/net.ckpt"))
    return [np.array([len(part) for part in missing]), *weights(net), *kept]


@step
def chosen_parts_of_a_checkpoint(net: Any, path: str) -> Arrays:
    mindspore.save_checkpoint(net, f"{path}/net.ckpt", choice_func=lambda name: name.startswith("head"))
    found = mindspore.load_checkpoint(f"{path}/net.ckpt")
    again = mindspore.load_checkpoint(f"{path}/net.ckpt", net, choice_func=lambda name: name.endswith("bias"))
    return [np.array(sorted(found)), np.array(sorted(again)), *weights(net)]


@step
def to_float(net: Any, path: str) -> Arrays:
    net.to_float(mindspore.float16)
    output = net(inputs()[0])
    return [np.array(str(output.dtype)), output.astype(mindspore.float32).asnumpy()]


@step
def automatic_mixed_precision(net: Any, path: str) -> Arrays:
    found = amp.auto_mixed_precision(net, "O2")
    return [found.set_train()(inputs()[0]).astype(mindspore.float32).asnumpy()]


@step
def automatic_mixed_precision_O1(net: Any, path: str) -> Arrays:
    return [amp.auto_mixed_precision(net, "O1").set_train()(inputs()[0]).astype(mindspore.float32).asnumpy()]


@step
def a_function_under_jit(net: Any, path: str) -> Arrays:
    net.set_train(False)

    def twice(x: Any) -> Any:
        return net(x) * 2

    return [mindspore.jit(twice)(inputs()[0]).asnumpy()]


@step
def a_step_under_jit(net: Any, path: str) -> Arrays:
    optimizer = momentum(net)
    forward = mindspore.value_and_grad(loss_of(net), None, optimizer.parameters)

    @mindspore.jit
    def once(x: Any, y: Any) -> Any:
        loss, grads = forward(x, y)
        return ops.depend(loss, optimizer(grads))

    return [once(*inputs()).asnumpy(), *weights(net)]


@step
def graph_mode(net: Any, path: str) -> Arrays:
    net.set_train(False)
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    try:
        return [net(inputs()[0]).asnumpy()]
    finally:
        mindspore.set_context(mode=mindspore.PYNATIVE_MODE)


@step
def export(net: Any, path: str) -> Arrays:
    mindspore.export(net.set_train(False), inputs()[0], file_name=f"{path}/net", file_format="MINDIR")
    return [msnn.GraphCell(mindspore.load(f"{path}/net.mindir"))(inputs()[0]).asnumpy()]


@step
def parameters_by_name(net: Any, path: str) -> Arrays:
    found = net.parameters_dict()
    return [np.array(sum(p.size for p in net.trainable_params())), np.array(sorted(n for n in found if n.startswith("head")))]


@step
def cells_by_name(net: Any, path: str) -> Arrays:
    return [np.array([name for name, _ in net.cells_and_names()]), np.array(list(net.name_cells()))]


@step
def a_hook_of_the_forward(net: Any, path: str) -> Arrays:
    seen: Arrays = []
    handle = net.features.register_forward_hook(lambda cell, args, output: seen.append(np.array(output.tolist())) and None)
    net.set_train(False)(inputs()[0])
    handle.remove()
    net(inputs()[0])
    return seen


@step
def a_recomputed_part(net: Any, path: str) -> Arrays:
    net.features.recompute()
    return [grad.asnumpy() for grad in mindspore.value_and_grad(loss_of(net), None, net.trainable_params())(*inputs())[1]]


@step
def a_pipeline_in_a_loop(net: Any, path: str) -> Arrays:
    optimizer, net = momentum(net), net.set_train()
    forward = mindspore.value_and_grad(loss_of(net), None, optimizer.parameters)
    for x, y in data().create_tuple_iterator():
        optimizer(forward(x, y)[1])
    return weights(net)


@step
def the_exponential_average_of_weights(net: Any, path: str) -> Arrays:
    parameters = mindspore.ParameterTuple(net.trainable_params())
    averages = parameters.clone("ema", "same")
    trained(net, momentum(net))
    for average, parameter in zip(averages, parameters):
        ops.assign(average, 0.9 * average + 0.1 * parameter)
    return [average.asnumpy() for average in averages]
