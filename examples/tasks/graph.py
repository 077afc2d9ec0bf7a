"""A graph network finds the communities of a made-up graph from a few labels: python -m mstorch graph.py [--device npu]"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

NODES, GROUPS = 120, 3


def graph():
    """Edges (2, count), both ways, and each node's community: edges are likelier within one."""
    labels = torch.arange(NODES) % GROUPS
    likely = torch.where(labels[:, None] == labels, 0.15, 0.01)
    upper = torch.triu(torch.rand(NODES, NODES) < likely, 1).nonzero().T
    return torch.cat([upper, upper.flip(0)], 1), labels


class Layer(nn.Module):
    """Sums what neighbours say, each divided by the roots of both degrees."""

    def __init__(self, wide, narrow):
        super().__init__()
        self.linear = nn.Linear(wide, narrow)

    def forward(self, x, edges):
        source, target = edges
        ones = torch.ones(len(source), device=x.device)
        degree = torch.ones(len(x), device=x.device).scatter_add(0, target, ones)
        weight = (degree[source] * degree[target]).rsqrt()
        said = self.linear(x)
        heard = torch.zeros_like(said).index_add(0, target, said[source] * weight[:, None])
        return heard + said / degree[:, None]


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Embedding(NODES, 16)
        self.first, self.second = Layer(16, 32), Layer(32, GROUPS)

    def forward(self, edges):
        return self.second(F.relu(self.first(self.features.weight, edges)), edges)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    torch.manual_seed(0)
    edges, labels = (item.to(options.device) for item in graph())
    known = torch.arange(30, device=options.device)
    model = Network().to(options.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
    for step in range(options.steps):
        loss = F.cross_entropy(model(edges)[known], labels[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step + 1}: loss {loss.item():.4f}")
    right = (model(edges).argmax(1) == labels)[30:]
    print(f"right for {right.float().mean().item():.0%} of the other nodes")


if __name__ == "__main__":
    main()
