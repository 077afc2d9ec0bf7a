"""Jobs of torch-geometric."""
from __future__ import annotations

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, global_mean_pool


def _graph():
    edges = torch.tensor([[0, 1, 1, 2, 3, 0, 4], [1, 0, 2, 1, 0, 3, 2]])
    return Data(x=torch.randn(5, 4), edge_index=edges, y=torch.tensor([0, 1, 0, 1, 1]))


def job_layers():
    data = _graph()
    results = []
    for layer in (GCNConv(4, 3), GATConv(4, 3, heads=2), SAGEConv(4, 3)):
        out = layer(data.x, data.edge_index)
        out.square().sum().backward()
        results += [out, [p.grad for p in layer.parameters() if p.grad is not None]]
    return results


def job_training():
    graphs = [_graph() for _ in range(4)]
    first, last = GCNConv(4, 8), torch.nn.Linear(8, 2)
    optimizer = torch.optim.Adam([*first.parameters(), *last.parameters()], 0.02)
    losses = []
    for _ in range(3):
        for batch in DataLoader(graphs, 2, shuffle=True):
            optimizer.zero_grad()
            out = last(global_mean_pool(first(batch.x, batch.edge_index).relu(), batch.batch))
            loss = torch.nn.functional.cross_entropy(out, torch.tensor([0, 1]))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses, Batch.from_data_list(graphs).num_nodes, repr(graphs[0])
