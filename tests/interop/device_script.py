"""Networks with parameters on the device of the first argument, trained by MindSpore and together with Cells; prints numbers as JSON."""
import json
import sys

import mindspore as ms
import numpy as np

import mstorch as torch
from mstorch import nn

DEVICE = sys.argv[1]
X = np.random.default_rng(0).standard_normal((16, 4)).astype("float32")
Y = np.arange(16).astype("int32") % 3
found = {}


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).to(DEVICE)


def numbers(net):
    return [parameter.detach().cpu().flatten().tolist() for parameter in net.parameters()]


loss = ms.nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

net = network()
optimizer = ms.nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = ms.value_and_grad(lambda x, y: loss(net(x), y), None, net.trainable_params())
for _ in range(3):
    optimizer(step(ms.Tensor(X), ms.Tensor(Y))[1])
found["value_and_grad"] = numbers(net)

with torch.no_grad():  # either side sees the other's writes
    net[0].weight[1:].mul_(2)
found["ours"] = float(net.trainable_params()[0].asnumpy().sum()), float(net[0].weight.sum())
net.trainable_params()[0].set_data(ms.Tensor(np.ones((8, 4), "float32")))
found["theirs"] = float(net[0].weight.sum())

net = network()
optimizer = ms.nn.Adam(net.trainable_params(), 0.1)
cell = ms.nn.TrainOneStepCell(ms.nn.WithLossCell(net, loss), optimizer)
found["losses"] = [float(cell(ms.Tensor(X), ms.Tensor(Y)).asnumpy()) for _ in range(3)]
found["one step"] = numbers(net)

net = network()
model = ms.train.Model(net, loss, ms.nn.SGD(net.trainable_params(), 0.1))
rows = [(X[i : i + 8], Y[i : i + 8]) for i in (0, 8)]  # whole batches: on NumPy 2 MindSpore's datasets refuse NumPy's scalars
model.train(2, ms.dataset.GeneratorDataset(rows, ["x", "y"], shuffle=False), dataset_sink_mode=False)
found["model"] = numbers(net)

native = ms.nn.Dense(8, 3, weight_init="ones", bias_init="zeros")
net = nn.Sequential(nn.Linear(4, 8), native).to(DEVICE)
with torch.no_grad():
    net[0].weight.fill_(0.5)
    net[0].bias.zero_()
net(torch.tensor(X, device=DEVICE)).square().sum().backward()
found["a Cell within"] = [parameter.grad.cpu().flatten().tolist() for _, parameter in sorted(net.named_parameters())]
assert all(parameter.grad.device == parameter.device for parameter in net.parameters())
found["devices"] = sorted({parameter.device.type for parameter in net[0].parameters()})
print(json.dumps(found))
