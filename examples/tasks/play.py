"""Reinforcement learning: a policy gradient learns the way to the goal in a grid world: python -m mstorch play.py [--device npu]"""
import argparse

import torch
import torch.nn as nn
from torch.distributions import Categorical

SIDE, MOVES = 4, torch.tensor([[0, 1], [1, 0], [0, -1], [-1, 0]])


def play(policy, games, length, device):
    """Logarithms of the probabilities of moves (length, games) and what each move brought."""
    places = torch.randint(SIDE - 1, (games, 2))
    ended = torch.zeros(games, dtype=torch.bool)
    chances, rewards = [], []
    for _ in range(length):
        seen = torch.cat([torch.eye(SIDE)[places[:, 0]], torch.eye(SIDE)[places[:, 1]]], 1)
        choice = Categorical(logits=policy(seen.to(device)).cpu())
        move = choice.sample()
        places = torch.where(ended[:, None], places, (places + MOVES[move]).clamp(0, SIDE - 1))
        arrived = (places == SIDE - 1).all(1) & ~ended
        chances.append(torch.where(ended, 0.0, choice.log_prob(move)))
        rewards.append(torch.where(ended, 0.0, arrived.float() - 0.1))
        ended = ended | arrived
    return torch.stack(chances), torch.stack(rewards)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(2 * SIDE, 32), nn.Tanh(), nn.Linear(32, 4)).to(options.device)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-2)
    for step in range(options.steps):
        chances, rewards = play(policy, 64, 12, options.device)
        returns = rewards.flip(0).cumsum(0).flip(0)
        loss = -(chances * (returns - returns.mean())).sum(0).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step + 1}: reward of a game {rewards.sum(0).mean().item():.4f}")


if __name__ == "__main__":
    main()
