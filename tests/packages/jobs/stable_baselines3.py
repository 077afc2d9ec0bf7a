"""Jobs of stable-baselines3."""
from __future__ import annotations

import torch
from stable_baselines3 import DQN, PPO


def job_ppo():
    torch.set_num_threads(1)
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=32, batch_size=16, n_epochs=2, seed=0, device="cpu", policy_kwargs={"net_arch": [8]})
    model.learn(96)
    model.save("ppo")
    back = PPO.load("ppo")
    observation = model.env.reset() * 0 + 0.1
    return [p for p in model.policy.parameters()], model.predict(observation, deterministic=True)[0].tolist(), back.predict(observation, deterministic=True)[0].tolist()  # noqa: C416


def job_dqn():
    model = DQN("MlpPolicy", "CartPole-v1", learning_starts=16, train_freq=4, batch_size=8, seed=0, device="cpu", policy_kwargs={"net_arch": [8]})
    model.learn(60)
    return [p for p in model.policy.parameters()]  # noqa: C416
