"""Jobs of torch_geometric that call pyg_lib, torch_sparse and torch_scatter.

They are recorded with none of these installed, by torch_geometric's own ways without them or by formulas of all pairs of points: with all
neighbours asked for, samples are the whole graph."""
from __future__ import annotations

import itertools

import torch
import torch_geometric.nn as pyg
from torch_geometric.data import Data
from torch_geometric.loader import ClusterData, ClusterLoader, NeighborLoader
from torch_geometric.typing import WITH_PYG_LIB, SparseTensor
from torch_geometric.utils import add_self_loops, softmax, to_undirected

NODES, KINDS = 40, 3


def _graph() -> Data:
    draw = torch.Generator().manual_seed(1)
    edges = to_undirected(torch.randint(NODES, (2, 90), generator=draw))
    x, y = torch.randn(NODES, 8, generator=draw, dtype=torch.float64), torch.randint(KINDS, (NODES,), generator=draw)
    return Data(x=x, edge_index=edges, y=y)


def _points(count: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(2)
    return torch.rand(count, 3, generator=draw, dtype=torch.float64), torch.arange(count) // (count // 2)


def _trained(model: torch.nn.Module, call, steps: int = 3) -> list:
    model.double()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    told = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = call(model)
        loss.backward()
        optimizer.step()
        told.append(float(loss.detach()))
    return told


def _nearest(pos: torch.Tensor, k: int, batch: torch.Tensor) -> torch.Tensor:
    """Return edges from each point's nearest to it, itself among them."""
    far = torch.cdist(pos, pos).masked_fill(batch[:, None] != batch, torch.inf)
    near = far.sort(dim=1, stable=True).indices[:, :k]
    return torch.stack([near.reshape(-1), torch.arange(len(pos)).repeat_interleave(k)])


def job_gat() -> object:
    data = _graph()
    torch.manual_seed(0)
    model = pyg.GAT(8, 16, 2, KINDS, heads=2)
    return _trained(model, lambda net: torch.nn.functional.cross_entropy(net(data.x, data.edge_index), data.y))


def job_sage_of_neighbours() -> object:
    data = _graph()
    torch.manual_seed(0)
    model = pyg.GraphSAGE(8, 16, 2, KINDS)
    if not WITH_PYG_LIB:
        return _trained(model, lambda net: torch.nn.functional.cross_entropy(net(data.x, data.edge_index)[:10], data.y[:10]))
    batch = next(iter(NeighborLoader(data, [-1, -1], torch.arange(10), batch_size=10)))
    return _trained(model, lambda net: torch.nn.functional.cross_entropy(net(batch.x, batch.edge_index)[:10], batch.y[:10]))


def job_clusters() -> object:
    data = _graph()
    if not WITH_PYG_LIB:
        return {"nodes": NODES, "x": float(data.x.sum()), "whole": data.edge_index.shape[1], "largest": True}
    clusters = ClusterData(data, 4, log=False)
    batches = list(ClusterLoader(clusters, batch_size=1))
    whole = next(iter(ClusterLoader(clusters, batch_size=4)))
    sizes = [batch.num_nodes for batch in batches]
    return {"nodes": sum(sizes), "x": sum(float(batch.x.sum()) for batch in batches), "whole": whole.edge_index.shape[1], "largest": max(sizes) <= 12}


def job_pointnet() -> object:
    pos, batch = _points()
    torch.manual_seed(0)
    model = pyg.PointNetConv(torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)), add_self_loops=False)
    if WITH_PYG_LIB:
        index = pyg.fps(pos, batch, 0.25, random_start=False)
        row, col = pyg.radius(pos, pos[index], 0.4, batch, batch[index], max_num_neighbors=64)
    else:
        chosen = []
        for start in (0, 16):
            own, far = [start], (pos[start : start + 16] - pos[start]).square().sum(1)
            for _ in range(3):
                own.append(start + int(far.argmax()))
                far = torch.minimum(far, (pos[start : start + 16] - pos[own[-1]]).square().sum(1))
            chosen += own
        index = torch.tensor(chosen)
        row, col = ((torch.cdist(pos[index], pos) < 0.4) & (batch[index][:, None] == batch)).nonzero().t()
    edges = torch.stack([col, row])
    return {"fps": index.tolist(), "edges": edges, "losses": _trained(model, lambda net: net((None, None), (pos, pos[index]), edges).square().mean())}


def job_dgcnn() -> object:
    pos, batch = _points()
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    if WITH_PYG_LIB:
        return _trained(pyg.DynamicEdgeConv(net, 5), lambda model: model(pos, batch).square().mean())
    return _trained(pyg.EdgeConv(net, "max"), lambda model: model(pos, _nearest(pos, 5, batch)).square().mean())


def job_spline() -> object:
    data, draw = _graph(), torch.Generator().manual_seed(3)
    pseudo = torch.rand(data.edge_index.shape[1], 2, generator=draw, dtype=torch.float64)
    weight = torch.randn(25, 8, 4, generator=draw, dtype=torch.float64)
    root = torch.randn(8, 4, generator=draw, dtype=torch.float64)
    if WITH_PYG_LIB:
        layer = pyg.SplineConv(8, 4, 2, 5, aggr="mean", bias=False).double()
        with torch.no_grad():
            layer.weight.copy_(weight)
            layer.lin.weight.copy_(root.t())
        return layer(data.x, data.edge_index, pseudo)
    place = pseudo * 4
    low, terms = place.floor().long(), 0
    for corner in itertools.product((0, 1), repeat=2):
        share = torch.stack([(place - low)[:, d] if corner[d] else 1 - (place - low)[:, d] for d in range(2)]).prod(0)
        own = weight[(low[:, 0] + corner[0]) % 5 + (low[:, 1] + corner[1]) % 5 * 5]
        terms = terms + share[:, None] * torch.einsum("ei,eio->eo", data.x[data.edge_index[0]], own)
    total = torch.zeros(NODES, 4, dtype=torch.float64).index_add(0, data.edge_index[1], terms)
    count = torch.bincount(data.edge_index[1], minlength=NODES).clamp(min=1)
    return total / count[:, None] + data.x @ root


def job_relations() -> object:
    data, draw = _graph(), torch.Generator().manual_seed(4)
    kinds = torch.randint(4, (data.edge_index.shape[1],), generator=draw).sort().values
    torch.manual_seed(0)
    return _trained(pyg.RGCNConv(8, KINDS, 4), lambda net: torch.nn.functional.cross_entropy(net(data.x, data.edge_index, kinds), data.y))


def job_linear_of_kinds() -> object:
    draw = torch.Generator().manual_seed(5)
    x, kinds = torch.randn(30, 6, generator=draw, dtype=torch.float64), torch.randint(3, (30,), generator=draw)
    torch.manual_seed(0)
    return _trained(pyg.HeteroLinear(6, 4, 3), lambda net: net(x, kinds).square().mean())


def job_voxels() -> object:
    pos, batch = _points()
    x = torch.cat([pos, pos.square()], 1)
    if WITH_PYG_LIB:
        cluster = pyg.voxel_grid(pos, 0.5, batch, start=0.0, end=1.0)
    else:
        cell = (torch.cat([pos, batch.double()[:, None]], 1) / torch.tensor([0.5, 0.5, 0.5, 1])).long()
        cluster = cell @ torch.tensor([1, 3, 9, 27])
    pooled, own = pyg.max_pool_x(cluster, x, batch)
    return {"pooled": pooled, "batch": own}


def job_sparse_tensor() -> object:
    data = _graph()
    torch.manual_seed(0)
    model = pyg.GraphConv(8, KINDS, aggr="add")
    edges = data.edge_index
    if WITH_PYG_LIB:
        edges = SparseTensor.from_edge_index(data.edge_index, sparse_sizes=(NODES, NODES)).t()
    return _trained(model, lambda net: torch.nn.functional.cross_entropy(net(data.x, edges), data.y))


def job_softmax_of_segments() -> object:
    data = _graph()
    edges, _ = add_self_loops(data.edge_index)
    order = edges[1].argsort(stable=True)
    index = edges[1][order]
    scores = data.x[:, :2].repeat(8, 1)[: index.numel()].clone().requires_grad_()
    scores = torch.cat([scores, scores[: index.numel() - scores.shape[0]]]) if scores.shape[0] < index.numel() else scores
    bounds = torch.searchsorted(index, torch.arange(NODES + 1))
    found = softmax(scores, ptr=bounds) if WITH_PYG_LIB else softmax(scores, index, num_nodes=NODES)
    return {"softmax": found, "sum": float((found * data.x.sum()).sum().detach())}
