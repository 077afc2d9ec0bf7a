"""Jobs of torch-geometric's examples that need pyg_lib, torch_scatter or torch_sparse, on generated clouds and graphs.

Under torch itself, without these packages, points are sampled and connected by the formulas below, and graphs are edges instead of sparse matrices.
"""
from __future__ import annotations

import math

import torch
import torch_geometric.typing as known
from torch.nn import Linear, ReLU, Sequential
from torch_geometric.data import Batch, Data
from torch_geometric.nn import (
    MLP,
    DynamicEdgeConv,
    GCNConv,
    PointNetConv,
    PointTransformerConv,
    PPFConv,
    SAGEConv,
    SchNet,
    XConv,
    fps,
    global_max_pool,
    global_mean_pool,
    knn,
    knn_graph,
    knn_interpolate,
    max_pool,
    radius,
    radius_graph,
    voxel_grid,
)
from torch_geometric.utils import scatter, softmax

_OPERATORS = (
    "fps(Tensor src, Tensor ptr, float ratio, bool random_start) -> Tensor",
    "knn(Tensor x, Tensor y, Tensor? ptr_x, Tensor? ptr_y, int k, bool cosine, int workers) -> Tensor",
    "radius(Tensor x, Tensor y, Tensor? ptr_x, Tensor? ptr_y, float r, int most, int workers, bool ignore=False) -> Tensor",
    "grid_cluster(Tensor pos, Tensor size, Tensor? start, Tensor? end) -> Tensor",
)


def _examples(ptr, points):
    bounds = [0, points.shape[0]] if ptr is None else ptr.tolist()
    return list(zip(bounds[:-1], bounds[1:]))


def _fps(src, ptr, ratio, random_start):
    chosen = []
    for start, stop in _examples(ptr, src):
        places = [start]
        for _ in range(math.ceil((stop - start) * ratio) - 1):
            far = torch.cdist(src[start:stop], src[places]).min(1).values
            places.append(start + int(far.argmax()))
        chosen += places
    return torch.tensor(chosen)


def _pairs(x, y, ptr_x, ptr_y, choose):
    pairs = []
    for (start, stop), (low, high) in zip(_examples(ptr_x, x), _examples(ptr_y, y)):
        for place in range(low, high):
            far = (x[start:stop] - y[place]).square().sum(1)
            pairs += [(place, start + other) for other in choose(far, place - low)]
    return torch.tensor(pairs).reshape(-1, 2).t().contiguous()


def _knn(x, y, ptr_x, ptr_y, k, cosine, workers):
    return _pairs(x, y, ptr_x, ptr_y, lambda far, _: far.argsort()[:k].tolist())


def _radius(x, y, ptr_x, ptr_y, r, most, workers, ignore=False):
    return _pairs(x, y, ptr_x, ptr_y, lambda far, own: [one for one in (far < r * r).nonzero().view(-1).tolist() if not ignore or one != own][:most])


def _grid(pos, size, start, end):
    low = pos.min(0).values if start is None else start
    high = pos.max(0).values if end is None else end
    cells = ((high - low) / size).long() + 1
    steps = torch.cat([cells.new_ones(1), cells.cumprod(0)[:-1]])
    return (((pos - low) / size).long() * steps).sum(1)


if not known.WITH_FPS:
    _library = torch.library.Library("pyg", "FRAGMENT")
    for _text, _function in zip(_OPERATORS, (_fps, _knn, _radius, _grid)):
        _library.define(_text)
        _library.impl(_text.partition("(")[0], _function, "CPU")
    known.WITH_FPS = known.WITH_KNN = known.WITH_RADIUS = known.WITH_GRID_CLUSTER = True


def _clouds():
    """Return three clouds of points with normals."""
    parts = []
    for count in (40, 31, 36):
        pos = torch.rand(count, 3, dtype=torch.float64)
        parts.append(Data(pos=pos, x=torch.nn.functional.normalize(pos - 0.5), y=torch.tensor([len(parts) % 2])))
    return Batch.from_data_list(parts)


def _trained(model, inputs, targets):
    """Return the losses of three steps, what the model then gives, and its gradients."""
    model = model.double()
    optimizer, losses = torch.optim.Adam(model.parameters(), 0.01), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(*inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model(*inputs), [item.grad for item in model.parameters() if item.grad is not None]


def _network(*sizes):
    return Sequential(Linear(sizes[0], sizes[1]), ReLU(), Linear(sizes[1], sizes[2]))


class _Sampled(torch.nn.Module):
    """Farther points of each cloud, with the features of those around them."""

    def __init__(self, share, reach, features, size):
        super().__init__()
        self.share, self.reach = share, reach
        self.layer = PointNetConv(_network(features + 3, size, size), add_self_loops=False)

    def forward(self, x, pos, batch):
        chosen = fps(pos, batch, self.share, random_start=False)
        row, column = radius(pos, pos[chosen], self.reach, batch, batch[chosen], max_num_neighbors=16)
        x = self.layer((x, x[chosen]), (pos, pos[chosen]), torch.stack([column, row]))
        return x, pos[chosen], batch[chosen]


class _Clouds(torch.nn.Module):
    """PointNet++, for whole clouds or for each point."""

    def __init__(self, each):
        super().__init__()
        self.each = each
        self.first, self.second, self.back = _Sampled(0.5, 0.3, 3, 8), _Sampled(0.25, 0.6, 8, 12), _network(20, 12, 8)
        self.last = Linear(11 if each else 12, 3)

    def forward(self, x, pos, batch):
        one = self.first(x, pos, batch)
        two = self.second(*one)
        if not self.each:
            return self.last(global_max_pool(two[0], two[2]))
        middle = self.back(torch.cat([knn_interpolate(two[0], two[1], one[1], two[2], one[2], k=3), one[0]], 1))
        return self.last(torch.cat([knn_interpolate(middle, one[1], pos, one[2], batch, k=3), x], 1))


def _of_points(model, each):
    data = _clouds()
    targets = torch.arange(data.num_nodes) % 3 if each else data.y
    return _trained(model, (data.x, data.pos, data.batch), targets)


def job_pointnet2_classification():
    return _of_points(_Clouds(False), False)


def job_pointnet2_segmentation():
    return _of_points(_Clouds(True), True)


class _Neighbours(torch.nn.Module):
    """DGCNN, for whole clouds or for each point."""

    def __init__(self, each):
        super().__init__()
        self.each = each
        self.first, self.second = DynamicEdgeConv(_network(12, 8, 8), 5), DynamicEdgeConv(_network(16, 8, 8), 5)
        self.last = Linear(16, 3)

    def forward(self, x, pos, batch):
        one = self.first(torch.cat([x, pos], 1), batch)
        both = torch.cat([one, self.second(one, batch)], 1)
        return self.last(both if self.each else global_max_pool(both, batch))


def job_dgcnn_classification():
    return _of_points(_Neighbours(False), False)


def job_dgcnn_segmentation():
    return _of_points(_Neighbours(True), True)


class _Transformer(torch.nn.Module):
    """Attention to the nearest points, then to the nearest of those that are left."""

    def __init__(self):
        super().__init__()
        self.first = PointTransformerConv(3, 8, _network(3, 8, 8), _network(8, 8, 8))
        self.second = PointTransformerConv(8, 8, _network(3, 8, 8), _network(8, 8, 8))
        self.last = Linear(8, 3)

    def forward(self, x, pos, batch):
        x = self.first(x, pos, knn_graph(pos, 5, batch))
        chosen = fps(pos, batch, 0.4, random_start=False)
        to, source = knn(pos, pos[chosen], 5, batch, batch[chosen])
        x = scatter(x[source], to, 0, chosen.numel(), "max")
        x = self.second(x, pos[chosen], knn_graph(pos[chosen], 4, batch[chosen]))
        return self.last(global_mean_pool(x, batch[chosen]))


def job_point_transformer_classification():
    return _of_points(_Transformer(), False)


class _Aggregated(torch.nn.Module):
    """RandLA-Net: features of neighbours, weighted by attention."""

    def __init__(self):
        super().__init__()
        self.encode, self.score, self.last = MLP([10, 8], norm=None), Linear(11, 11, bias=False), Linear(11, 3)

    def forward(self, x, pos, batch):
        source, to = knn_graph(pos, 6, batch, loop=True)
        between = pos[source] - pos[to]
        known_of_place = torch.cat([pos[source], pos[to], between, between.norm(dim=1, keepdim=True)], 1)
        features = torch.cat([x[source], self.encode(known_of_place)], 1)
        weights = softmax(self.score(features), to, num_nodes=pos.shape[0])
        return self.last(scatter(weights * features, to, 0, pos.shape[0], "sum"))


def job_randlanet_segmentation():
    return _of_points(_Aggregated(), True)


class _Cells(torch.nn.Module):
    """Points of a plane, merged by cells."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = SAGEConv(3, 8), SAGEConv(8, 8), Linear(8, 3)

    def forward(self, x, pos, batch):
        data = Batch(x=self.first(x, radius_graph(pos, 0.4, batch)), pos=pos, batch=batch, edge_index=radius_graph(pos, 0.4, batch))
        data = max_pool(voxel_grid(pos, 0.3, batch), data)
        return self.last(global_max_pool(self.second(data.x, data.edge_index), data.batch, 3))


def job_mnist_voxel_grid():
    return _of_points(_Cells(), False)


class _Convolved(torch.nn.Module):
    """PointCNN and point pairs with normals."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = XConv(3, 8, 3, 4, hidden_channels=4), PPFConv(_network(12, 8, 8), _network(8, 8, 8)), Linear(8, 3)

    def forward(self, x, pos, batch):
        features = self.first(x, pos, batch)
        return self.last(global_mean_pool(self.second(features, pos, x, radius_graph(pos, 0.5, batch)), batch))


def job_pointcnn():
    return _of_points(_Convolved(), False)


def job_qm9_schnet():
    model, data = SchNet(16, 16, 2, 10, 4.0, max_num_neighbors=8).double(), _clouds()
    kinds, places = torch.arange(data.num_nodes) % 5 + 1, (data.pos * 5).requires_grad_()
    energies = model(kinds, places, data.batch)
    (forces,) = torch.autograd.grad(energies.sum(), places, create_graph=True)
    (energies.square().sum() + forces.square().sum()).backward()
    return energies, forces, [item.grad for item in model.parameters() if item.grad is not None]


class _Sparse(torch.nn.Module):
    """Two layers over a graph, which is a sparse matrix where torch_sparse is."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = GCNConv(3, 8), SAGEConv(8, 8), SAGEConv(8, 3, aggr="max")

    def forward(self, x, graph):
        return self.third(self.second(self.first(x, graph).relu(), graph).relu(), graph)


def job_gcn_of_a_sparse_matrix():
    data = _clouds()
    edges = torch.randint(data.num_nodes, (2, 400))
    edges = torch.cat([edges, edges.flip(0)], 1).unique(dim=1)
    graph = edges
    if known.WITH_TORCH_SPARSE:
        graph = known.SparseTensor(row=edges[1], col=edges[0], sparse_sizes=(data.num_nodes, data.num_nodes))
    return _trained(_Sparse(), (data.x, graph), torch.arange(data.num_nodes) % 3)
