"""Samples, walks, pairs and parts of graphs by torch_cluster, torch_sparse and pyg_lib: what must hold of each draw, and what is not drawn."""
from __future__ import annotations

import importlib
import math
import pickle

import numpy as np
import pytest

import mstorch as torch
from mstorch import companions

cluster, sparse, pyg = companions.torch_cluster, companions.torch_sparse, companions.pyg_lib
NODES = 30


def _graph(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, set[tuple[int, int]]]:
    """Return bounds of rows and columns of an undirected graph, and its edges."""
    draw = np.random.default_rng(seed)
    edges = {(int(a), int(b)) for a, b in draw.integers(0, NODES, (90, 2)) if a != b}
    edges |= {(b, a) for a, b in edges}
    row, col = torch.tensor(sorted(edges)).t()
    return torch.searchsorted(row.contiguous(), torch.arange(NODES + 1)), col, edges


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("disjoint", [False, True])
@pytest.mark.parametrize("counts", [[-1, -1], [2, 3], [1], [0, 2]])
def test_neighbours(counts: list[int], disjoint: bool, replace: bool) -> None:
    bounds, col, edges = _graph()
    seed = torch.tensor([3, 7, 11])
    row, column, node, edge, per_node, per_edge = pyg.sampler.neighbor_sample(bounds, col, seed, counts, replace=replace, disjoint=disjoint)
    own = node[:, 1] if disjoint else node
    assert own[:3].tolist() == [3, 7, 11] and sum(per_node) == len(own) and sum(per_edge) == len(edge)
    assert len({tuple(one) if disjoint else one for one in node.tolist()}) == len(node)
    for one, other, place in zip(row.tolist(), column.tolist(), edge.tolist()):
        pair = (int(own[one]), int(own[other]))
        assert pair in edges and int(col[place]) == pair[1] and int(bounds[pair[0]]) <= place < int(bounds[pair[0] + 1])
        assert not disjoint or int(node[one, 0]) == int(node[other, 0])
    degrees = torch.bincount(row, minlength=3)[:3].tolist()
    whole = [int(bounds[place + 1] - bounds[place]) for place in (3, 7, 11)]
    first = counts[0]
    if len(counts) == 1 or first == 0:
        assert degrees == [first if replace else min(first, size) for size in whole]
    if counts == [-1, -1] and not disjoint:
        near = {b for a, b in edges if a in (3, 7, 11)} | {3, 7, 11}
        assert set(own.tolist()) == near | {b for a, b in edges if a in near}
        assert not replace or len(set(edge.tolist())) == len(edge)


def test_a_sample_is_repeated_by_the_seed_and_even() -> None:
    bounds, col = torch.tensor([0, 4, 4, 4, 4, 4]), torch.tensor([1, 2, 3, 4])
    drawn = []
    for seed in (0, 0, *range(1, 1000)):
        torch.manual_seed(seed)
        drawn.append(tuple(pyg.sampler.neighbor_sample(bounds, col, torch.tensor([0]), [2])[3].tolist()))
    assert drawn[0] == drawn[1]
    counts = [sum(one in pair for pair in drawn[1:]) for one in range(4)]
    assert min(counts) > 430 and max(counts) < 570  # 500 each, with a standard deviation of 16


def test_times_and_weights() -> None:
    bounds, col = torch.tensor([0, 4, 4, 4, 4, 4]), torch.tensor([1, 2, 3, 4])
    time = torch.tensor([2, 0, 1, 2, 3])
    sample = pyg.sampler.neighbor_sample
    node = sample(bounds, col, torch.tensor([0]), [-1], node_time=time, disjoint=True)[2]
    assert node.tolist() == [[0, 0], [0, 1], [0, 2], [0, 3]]
    node = sample(bounds, col, torch.tensor([0]), [2], node_time=time, disjoint=True, temporal_strategy="last")[2]
    assert node.tolist() == [[0, 0], [0, 2], [0, 3]]
    weight = torch.tensor([0.0, 0.0, 1.0, 0.0])
    assert {sample(bounds, col, torch.tensor([0]), [1], edge_weight=weight)[2].tolist()[1] for _ in range(20)} == {3}
    with pytest.raises(RuntimeError, match="disjoint"):
        sample(bounds, col, torch.tensor([0]), [1], node_time=time)


def test_kinds() -> None:
    bounds, col = {("a", "to", "b"): torch.tensor([0, 2, 3])}, {("a", "to", "b"): torch.tensor([1, 0, 1])}
    row, column, node, edge, per_node, per_edge = pyg.sampler.hetero_neighbor_sample(
        bounds, col, {"b": torch.tensor([0])}, {("a", "to", "b"): [-1]}, csc=True
    )  # fmt: skip
    kind = ("a", "to", "b")
    assert node["a"].tolist() == [1, 0] and node["b"].tolist() == [0]
    assert row[kind].tolist() == [0, 1] and column[kind].tolist() == [0, 0] and edge[kind].tolist() == [0, 1]
    assert per_node == {"a": [0, 2], "b": [1, 0]} and per_edge == {kind: [2]}


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.25, 4.0)])
def test_walks(p: float, q: float) -> None:
    bounds, col, edges = _graph()
    row = torch.arange(NODES).repeat_interleave(bounds[1:] - bounds[:-1])
    node, edge = cluster.random_walk(row, col, torch.arange(NODES), 8, p, q, return_edge_indices=True)
    for walk, places in zip(node.tolist(), edge.tolist()):
        for one, other, place in zip(walk, walk[1:], places):
            assert (one, other) in edges and int(col[place]) == other if place >= 0 else one == other


def test_a_walk_goes_back_as_often_as_node2vec_says() -> None:
    # a path: from its middle, a walk goes back with the chance (1 / p) / (1 / p + 1 / q)
    row, col = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    torch.manual_seed(0)
    node = cluster.random_walk(row, col, torch.zeros(4000, dtype=torch.int64), 2, 0.5, 2.0)
    assert abs(float((node[:, 2] == 0).double().mean()) - 2 / 2.5) < 0.03


@pytest.mark.parametrize("weighted", [False, True])
def test_pairs(weighted: bool) -> None:
    bounds, col, edges = _graph()
    row = torch.arange(NODES).repeat_interleave(bounds[1:] - bounds[:-1])
    pair = cluster.graclus_cluster(row, col, torch.rand(len(col)) if weighted else None, NODES).tolist()
    for name in set(pair):
        own = [node for node in range(NODES) if pair[node] == name]
        assert min(own) == name and (len(own) == 1 or len(own) == 2 and tuple(own) in edges)
    alone = [node for node in range(NODES) if pair.count(pair[node]) == 1]
    assert not any((one, other) in edges for one in alone for other in alone)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_parts_are_even_and_of_neighbours(count: int) -> None:
    side = 12
    grid = [(a * side + b, c * side + d) for a in range(side) for b in range(side)
            for c, d in ((a + 1, b), (a - 1, b), (a, b + 1), (a, b - 1)) if 0 <= c < side and 0 <= d < side]  # fmt: skip
    row, col = torch.tensor(sorted(grid)).t()
    matrix = sparse.SparseTensor(row=row, col=col, sparse_sizes=(side * side, side * side))
    ordered, bounds, perm = matrix.partition(count)
    sizes = (bounds[1:] - bounds[:-1]).tolist()
    assert sum(sizes) == side * side and max(sizes) <= side * side / count * 1.03 + 1 and sorted(perm.tolist()) == list(range(side * side))
    part = torch.searchsorted(bounds, torch.arange(side * side), right=True) - 1
    rows, columns, _ = ordered.coo()
    assert int((part[rows] != part[columns]).sum()) <= 4 * side * (count - 1)  # straight cuts have 2 * side each


def test_products_by_segment() -> None:
    x, weight = torch.randn(9, 4, dtype=torch.float64), torch.randn(3, 4, 5, dtype=torch.float64)
    want = torch.stack([row @ weight[kind] for row, kind in zip(x, [0, 0, 2, 2, 2, 2, 2, 2, 2])])
    torch.testing.assert_close(pyg.ops.segment_matmul(x, torch.tensor([0, 2, 2, 9]), weight), want)
    with pytest.raises(ValueError, match="segments"):
        pyg.ops.segment_matmul(x, torch.tensor([0, 9]), weight)


def test_both_ways_of_weighting_agree(monkeypatch) -> None:
    weighting = companions.torch_spline_conv.weighting
    x, weight, basis = (torch.randn(*shape, dtype=torch.float64) for shape in ((7, 3), (5, 3, 4), (7, 2)))
    place = torch.randint(5, (7, 2))
    small = weighting.spline_weighting(x, weight, basis, place)
    monkeypatch.setattr(weighting, "_COPIED", 0)
    torch.testing.assert_close(weighting.spline_weighting(x, weight, basis, place), small)


def test_places_of_keys() -> None:
    for dtype, number in ((torch.int16, 2), (torch.int32, 3), (torch.int64, 4)):
        key = torch.tensor([0, 10, 30, 20], dtype=dtype)
        own = torch.classes.pyg.CPUHashMap(key, 16)
        assert own.get(torch.tensor([30, 10, 20, 40], dtype=dtype)).tolist() == [2, 1, 3, -1] and own.get(key).dtype is torch.int64
        assert own.size() == 4 and own.dtype() == number and own.device() == torch.device("cpu") and torch.equal(own.keys(), key)
        assert torch.equal(pickle.loads(pickle.dumps(own)).get(key), torch.arange(4))
    assert torch.classes.pyg.CPUHashMap(torch.empty(0, dtype=torch.int64)).get(torch.tensor([3])).tolist() == [-1]
    for key, message in ((torch.tensor([1, 1]), "duplicated"), (torch.tensor([1.5]), "not implemented"), (torch.tensor([[1]]), "1-dim")):
        with pytest.raises(RuntimeError, match=message):
            torch.classes.pyg.CPUHashMap(key)
    with pytest.raises(RuntimeError, match="does not exist"):
        torch.classes.pyg.CUDAHashMap()


def test_a_graph_that_is_sampled_again() -> None:
    bounds, col, seed = torch.tensor([0, 2, 4, 6]), torch.tensor([1, 2, 0, 2, 1, 0]), torch.tensor([0, 2])
    graph = torch.classes.pyg.NeighborSampler(bounds, col, None, None, None)
    row, column, node, edge, batch, nodes, edges = graph.sample([-1], seed, disjoint=True)
    assert batch.tolist() == [0, 1, 0, 0, 1, 1] and node[:2].tolist() == [0, 2] and nodes == [2, 4] and edges == [4]
    assert torch.equal(col[edge], node[column]) and row.tolist() == [0, 0, 1, 1]
    assert graph.sample([1], seed)[4] is None
    with pytest.raises(NotImplementedError, match="torch.ops.pyg.hetero_neighbor_sample"):
        torch.classes.pyg.HeteroNeighborSampler([], [])


def test_operators_by_bounds_of_examples() -> None:
    x, y = torch.randn(9, 2), torch.randn(6, 2)
    ptr_x, ptr_y, batch_x, batch_y = (torch.tensor(item) for item in ([0, 4, 9], [0, 3, 6], [0] * 4 + [1] * 5, [0] * 3 + [1] * 3))
    call = torch.ops.torch_cluster
    assert torch.equal(call.knn(x, y, ptr_x, ptr_y, 2, False, 1), cluster.knn(x, y, 2, batch_x, batch_y))
    assert torch.equal(call.radius(x, y, ptr_x, ptr_y, 0.8, 32, 1, False), cluster.radius(x, y, 0.8, batch_x, batch_y))
    assert torch.equal(call.nearest(x, y, ptr_x, ptr_y), cluster.nearest(x, y, batch_x, batch_y))
    assert torch.equal(call.fps(x, ptr_x, torch.tensor(0.5), False), cluster.fps(x, batch_x, 0.5, False))
    assert torch.equal(call.grid(x, torch.ones(2), None, None), cluster.grid_cluster(x, torch.ones(2)))
    rows = torch.ops.pyg.sampled_op(x, y, torch.tensor([1, 1]), torch.tensor([0, 5]), "sub")
    assert torch.equal(rows, pyg.ops.sampled_sub(x, y, torch.tensor([1, 1]), torch.tensor([0, 5]))) and torch.equal(rows, x[[1, 1]] - y[[0, 5]])
    scatter, splines = companions.torch_scatter, companions.torch_spline_conv
    assert torch.equal(torch.ops.torch_scatter.scatter_max(x, batch_x, 0, None, None)[1], scatter.scatter_max(x, batch_x, 0)[1])
    assert torch.equal(torch.ops.torch_scatter.segment_sum_csr(x, ptr_x, None), scatter.segment_csr(x, ptr_x))
    arguments = torch.rand(4, 2), torch.tensor([3, 3]), torch.tensor([1, 0], dtype=torch.uint8), 1
    assert torch.equal(torch.ops.torch_spline_conv.spline_basis(*arguments)[0], splines.spline_basis(*arguments)[0])
    assert {getattr(torch.ops, name).cuda_version() for name in ("torch_cluster", "torch_scatter", "torch_sparse", "torch_spline_conv")} == {-1}


def test_products_by_their_names() -> None:
    dense, other = torch.randn(4, 5).relu(), torch.randn(5, 3)
    matrix, products = sparse.SparseTensor.from_dense(dense), importlib.import_module(f"{sparse.__name__}.matmul")
    torch.testing.assert_close(products.spmm_add(matrix, other), dense @ other)
    torch.testing.assert_close(products.spspmm_add(matrix, matrix.t()).to_dense(), dense @ dense.t())
    terms = dense[:, :, None] * other
    for call, limit in ((products.spmm_max, -math.inf), (products.spmm_min, math.inf)):
        values, places = call(matrix, other)
        want = torch.where(dense[:, :, None] > 0, terms, limit)
        torch.testing.assert_close(values, want.amax(1) if limit < 0 else want.amin(1))
        torch.testing.assert_close(matrix.storage.value()[places] * other[matrix.storage.col()[places], torch.arange(3)], values)
    torch.testing.assert_close(products.spmm_mean(matrix, other), dense @ other / (dense > 0).sum(1, keepdim=True))
