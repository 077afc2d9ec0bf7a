"""Jobs of torchrl."""
from __future__ import annotations

import torch
from tensordict import TensorDict
from tensordict.nn import NormalParamExtractor, TensorDictModule
from torchrl.data import LazyTensorStorage, ReplayBuffer, TensorDictReplayBuffer
from torchrl.data.replay_buffers.samplers import SamplerWithoutReplacement
from torchrl.modules import MLP, ProbabilisticActor, QValueActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss, DQNLoss, SoftUpdate
from torchrl.objectives.value import GAE


def _batch():
    torch.manual_seed(1)
    return TensorDict({
        "observation": torch.randn(2, 6, 4), "next": {
            "observation": torch.randn(2, 6, 4), "reward": torch.randn(2, 6, 1), "done": torch.zeros(2, 6, 1, dtype=torch.bool),
            "terminated": torch.zeros(2, 6, 1, dtype=torch.bool),
        },
    }, [2, 6])  # fmt: skip


def job_ppo():
    torch.manual_seed(0)
    policy = TensorDictModule(torch.nn.Sequential(MLP(4, 4, num_cells=[16]), NormalParamExtractor()), ["observation"], ["loc", "scale"])
    actor = ProbabilisticActor(policy, in_keys=["loc", "scale"], distribution_class=TanhNormal, return_log_prob=True)
    value = ValueOperator(MLP(4, 1, num_cells=[16]), in_keys=["observation"])
    batch = _batch()
    with torch.no_grad():
        batch.update(actor(batch.select("observation")))
    GAE(gamma=0.9, lmbda=0.8, value_network=value, average_gae=True)(batch)
    loss_of = ClipPPOLoss(actor, value)
    optimizer, losses = torch.optim.Adam(loss_of.parameters(), 1e-2), []
    for _ in range(3):
        torch.manual_seed(2)
        loss = loss_of(batch.reshape(-1))
        total = loss["loss_objective"] + loss["loss_critic"] + loss["loss_entropy"]
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        losses.append(total.item())
    return losses, batch["advantage"], batch["value_target"]


def job_dqn():
    torch.manual_seed(0)
    actor = QValueActor(MLP(4, 3, num_cells=[16]), in_keys=["observation"], action_space="categorical")
    loss_of = DQNLoss(actor, action_space="categorical", delay_value=True)
    target, batch = SoftUpdate(loss_of, eps=0.9), _batch().reshape(-1)
    batch["action"] = torch.randint(0, 3, (12,))
    optimizer, losses = torch.optim.SGD(loss_of.parameters(), 0.1), []
    for _ in range(3):
        loss = loss_of(batch)["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        target.step()
        losses.append(loss.item())
    torch.save(loss_of.state_dict(), "loss.pt")
    loss_of.load_state_dict(torch.load("loss.pt"))
    return losses, loss_of(batch)["loss"]


def job_replay():
    torch.manual_seed(0)
    plain = ReplayBuffer(storage=LazyTensorStorage(20), batch_size=5)
    plain.extend(torch.arange(12))
    once = ReplayBuffer(storage=LazyTensorStorage(20), sampler=SamplerWithoutReplacement(), batch_size=4)
    once.extend(torch.arange(8))
    found = [plain.sample(), once.sample(), once.sample()]
    rows = TensorDictReplayBuffer(storage=LazyTensorStorage(20), batch_size=4)
    rows.extend(TensorDict({"x": torch.randn(9, 2)}, [9]))
    return found, rows.sample()["x"], len(rows)
