"""Jobs of tensordict."""
from __future__ import annotations

import torch
from tensordict import TensorDict, from_module, tensorclass
from tensordict.nn import (
    InteractionType,
    NormalParamExtractor,
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
)


@tensorclass
class Pair:
    first: torch.Tensor
    second: torch.Tensor


def job_containers():
    data = TensorDict({"a": torch.randn(4, 3), "b": {"c": torch.arange(8).reshape(4, 2)}}, batch_size=[4])
    stacked = torch.stack([data, data + 1], 0)
    pair = Pair(first=torch.randn(3, 2), second=torch.ones(3), batch_size=[3])
    data.memmap("saved")
    torch.save(data, "data.pt")
    back = torch.load("data.pt", weights_only=False)
    return (
        stacked["a"], stacked[1, 2]["b", "c"], data.reshape(2, 2)["a"], torch.cat([data, data])["b", "c"], pair[1:].first, sorted(map(str, data.keys(True, True))),
        TensorDict.load_memmap("saved")["a"], back["b", "c"], data.apply(lambda x: x * 2)["a"], data.gather(0, torch.tensor([1, 0]))["a"], str(data.shape),
    )  # fmt: skip


def job_modules():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), NormalParamExtractor())
    actor = ProbabilisticTensorDictSequential(
        TensorDictModule(net, in_keys=["x"], out_keys=["loc", "scale"]),
        ProbabilisticTensorDictModule(["loc", "scale"], ["y"], distribution_class=torch.distributions.Normal, return_log_prob=True,
                                      default_interaction_type=InteractionType.RANDOM),
    )  # fmt: skip
    out = actor(TensorDict({"x": torch.randn(5, 3)}, [5]))
    out["loc"].sum().backward()
    params = from_module(actor)
    many = torch.stack([params, params.apply(lambda p: p * 2)], 0).detach()

    def call(weights, x):
        with weights.to_module(actor):
            return actor[0](TensorDict({"x": x}, [5]))["scale"]

    mapped = torch.vmap(call, (0, None))(many, torch.ones(5, 3))
    return out["y"], out["scale"], [p.grad for p in net.parameters()], mapped
