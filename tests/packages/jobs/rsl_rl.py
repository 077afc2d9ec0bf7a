"""Jobs of rsl_rl."""

from __future__ import annotations

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict


def job_ppo():
    torch.manual_seed(0)
    groups = {"actor": ["policy"], "critic": ["policy"]}
    obs = TensorDict({"policy": torch.randn(6, 5)}, [6])
    gaussian = {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"}
    actor = MLPModel(obs, groups, "actor", 2, [16, 8], obs_normalization=True, distribution_cfg=gaussian)
    critic = MLPModel(obs, groups, "critic", 1, [16, 8])
    algorithm = PPO(actor, critic, RolloutStorage("rl", 6, 8, obs, [2]), num_learning_epochs=2, num_mini_batches=2)
    algorithm.train_mode()
    with torch.inference_mode():
        for _ in range(8):
            actions = algorithm.act(obs)
            obs = TensorDict({"policy": torch.randn(6, 5) + actions.mean()}, [6])
            algorithm.process_env_step(obs, actions.sum(1), torch.zeros(6), {})
        algorithm.compute_returns(obs)
    return [algorithm.update(), list(actor.parameters())]
