"""Jobs of skrl."""

from __future__ import annotations

import gymnasium
import torch
from skrl.memories.torch import RandomMemory
from skrl.models.torch import GaussianMixin, Model


class Policy(GaussianMixin, Model):
    def __init__(self, observation_space, action_space):
        Model.__init__(self, observation_space=observation_space, action_space=action_space, device="cpu")
        GaussianMixin.__init__(self, clip_actions=True)
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ELU(), torch.nn.Linear(8, 2))
        self.log_std_parameter = torch.nn.Parameter(torch.zeros(2))

    def compute(self, inputs, role):
        return self.net(inputs["observations"]), {"log_std": self.log_std_parameter}


def job_agents():
    torch.manual_seed(0)
    policy = Policy(gymnasium.spaces.Box(-1, 1, (4,)), gymnasium.spaces.Box(-1, 1, (2,)))
    actions, outputs = policy.act({"observations": torch.randn(5, 4)}, role="policy")
    outputs["log_prob"].sum().backward()
    memory = RandomMemory(memory_size=6, num_envs=2, device="cpu")
    memory.create_tensor("states", size=4, dtype=torch.float32)
    memory.create_tensor("actions", size=1, dtype=torch.int64)
    for i in range(7):
        memory.add_samples(states=torch.randn(2, 4), actions=torch.full((2, 1), i))
    return [actions, outputs["log_prob"], policy.log_std_parameter.grad, memory.sample_all(["states", "actions"]), policy.get_entropy()]
