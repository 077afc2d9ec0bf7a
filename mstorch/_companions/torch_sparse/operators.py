"""``torch.ops.torch_sparse``: what torch_geometric calls there: functions, without schemas."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

import mstorch as torch

from ..._src.backend.arrays import Array
from ..drawing import array, generator, tensor
from ..pyg_lib.partition import metis
from ..pyg_lib.sampler.choosing import chosen, edges_of, numbered
from ..pyg_lib.sampler.neighbours import Graph, Kind, Nodes, Way, induced, sample
from ..torch_cluster.rw import walked
from ..torch_scatter import scatter, scatter_max, scatter_min
from .sampling import adjacent

Tensor = torch.Tensor
_ONE: Kind = ("", "", "")


def ind2ptr(ind: Tensor, M: int) -> Tensor:
    """Return the bounds of M rows from sorted rows."""
    return torch.searchsorted(ind.contiguous(), torch.arange(M + 1, device=ind.device))


def ptr2ind(ptr: Tensor, E: int) -> Tensor:
    """Return the row of each of E elements."""
    return torch.arange(ptr.numel() - 1, device=ptr.device).repeat_interleave(ptr[1:] - ptr[:-1])


def neighbor_sample(
    colptr: Tensor, row: Tensor, input_node: Tensor, num_neighbors: list[int], replace: bool, directed: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return nodes, rows, columns and edges of a sample of neighbours; all edges between the nodes unless ``directed``."""
    graph, nodes = Graph(array(colptr), array(row)), {"": Nodes(array(input_node), 0)}
    found = sample({_ONE: graph}, nodes, {_ONE: num_neighbors}, len(num_neighbors), Way(replace, False, generator()), True)[_ONE]
    node = nodes[""].node
    expanded, other, edge = found.arrays() if directed else induced(graph, node)
    return tuple(tensor(item, input_node) for item in (node, other, expanded, edge))  # type: ignore[return-value]


def hetero_neighbor_sample(
    node_types: list[str], edge_types: list[Kind], colptr_dict: dict[str, Tensor], row_dict: dict[str, Tensor],
    input_node_dict: dict[str, Tensor], num_neighbors_dict: dict[str, list[int]], num_hops: int, replace: bool, directed: bool,
) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Tensor], dict[str, Tensor]]:  # fmt: skip
    """Return nodes by kind, and rows, columns and edges by kind of edge, of a sample of neighbours."""
    names = {tuple(kind): "__".join(kind) for kind in edge_types}
    some = next(iter(row_dict.values()))
    graphs = {kind: Graph(array(colptr_dict[name]), array(row_dict[name])) for kind, name in names.items()}
    none = np.zeros(0, np.int64)
    nodes = {name: Nodes(array(input_node_dict[name]) if name in input_node_dict else none, 0) for name in node_types}
    counts = {kind: num_neighbors_dict[name] for kind, name in names.items()}
    found = sample(graphs, nodes, counts, num_hops, Way(replace, False, generator()), True)  # type: ignore[arg-type]
    parts = {
        names[kind]: one.arrays() if directed else _between(graphs[kind], nodes[kind[2]], nodes[kind[0]]) for kind, one in found.items()
    }
    return (
        {name: tensor(one.node, some) for name, one in nodes.items()},
        *({name: tensor(own[place], some) for name, own in parts.items()} for place in (1, 0, 2)),
    )  # type: ignore[return-value]


def _between(graph: Graph, expanded: Nodes, other: Nodes) -> tuple[Array, Array, Array]:
    """Return all edges between sampled nodes of two kinds."""
    group, edge = edges_of(graph.bounds, expanded.node)
    place, fresh = numbered(other.node, graph.other[edge])
    inside = place < len(other.node)
    return group[inside], place[inside], edge[inside]


def hgt_sample(
    colptr_dict: dict[str, Tensor], row_dict: dict[str, Tensor], input_node_dict: dict[str, Tensor], num_samples_dict: dict[str, list[int]],
    num_hops: int,
) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Tensor], dict[str, Tensor]]:  # fmt: skip
    """Return nodes by kind, and rows, columns and edges by kind of edge: in each hop as many nodes of each kind, drawn with chances by the
    square of what their sampled neighbours give them, each a share of one over its number of neighbours (Hu et al. 2020)."""
    some, draw = next(iter(row_dict.values())), generator()
    kinds: dict[str, Kind] = {name: tuple(name.split("__")) for name in row_dict}
    graphs = {name: Graph(array(colptr_dict[name]), array(row_dict[name])) for name in row_dict}
    nodes = {name: Nodes(array(item), 0) for name, item in input_node_dict.items()}
    for kind in kinds.values():
        for name in (kind[0], kind[2]):
            nodes.setdefault(name, Nodes(np.zeros(0, np.int64), 0))
    budget: dict[str, dict[int, float]] = {name: {} for name in nodes}
    fresh = {name: one.node for name, one in nodes.items()}
    for hop in range(num_hops):
        for name, kind in kinds.items():
            group, edge = edges_of(graphs[name].bounds, fresh[kind[2]])
            share = 1.0 / np.bincount(group, minlength=len(fresh[kind[2]]))[group] if len(group) else np.zeros(0)
            taken = set(nodes[kind[0]].node.tolist())
            for node, part in zip(graphs[name].other[edge].tolist(), share.tolist()):
                if node not in taken:
                    budget[kind[0]][node] = budget[kind[0]].get(node, 0.0) + part
        for name, own in budget.items():
            candidates = np.array(list(own), np.int64)
            chance = np.array(list(own.values())) ** 2
            kept = chosen(np.zeros(len(candidates), np.int64), num_samples_dict[name][hop], draw, weight=chance)
            fresh[name] = candidates[kept]
            for node in fresh[name].tolist():
                del own[node]
            nodes[name].node = np.concatenate([nodes[name].node, fresh[name]])
    parts = {name: _between(graphs[name], nodes[kind[2]], nodes[kind[0]]) for name, kind in kinds.items()}
    return (
        {name: tensor(one.node, some) for name, one in nodes.items()},
        *({name: tensor(own[place], some) for name, own in parts.items()} for place in (1, 0, 2)),
    )  # type: ignore[return-value]


def ego_k_hop_sample_adj(
    rowptr: Tensor, col: Tensor, idx: Tensor, depth: int, num_neighbors: int, replace: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return bounds of rows, columns, nodes and edges of the graphs around each node of ``idx`` (all edges between the nodes of a sample of
    ``depth`` hops), the bounds of the graphs, and the place of each one's own node. A graph's nodes ascend."""
    graph, draw = Graph(array(rowptr), array(col)), generator()
    nodes, columns, edges, counts, bounds, roots = [], [], [], [], [0], []
    for root in array(idx).tolist():
        own = np.array([root], np.int64)
        last = own
        for _ in range(depth):
            group, edge = edges_of(graph.bounds, last)
            reached = graph.other[edge[chosen(group, num_neighbors, draw, replace)]]
            last = np.setdiff1d(reached, own)
            own = np.concatenate([own, last])
        own = np.sort(own)
        group, other, edge = induced(graph, own)
        nodes.append(own)
        columns.append(other + bounds[-1])
        edges.append(edge)
        counts.append(np.bincount(group, minlength=len(own)))
        roots.append(bounds[-1] + int(np.searchsorted(own, root)))
        bounds.append(bounds[-1] + len(own))
    ends = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *counts]))])
    parts = [np.concatenate([np.zeros(0, np.int64), *items]) for items in (columns, nodes, edges)]
    return tuple(tensor(np.asarray(item), idx) for item in (ends, *parts, bounds, roots))  # type: ignore[return-value]


def saint_subgraph(idx: Tensor, rowptr: Tensor, row: Tensor, col: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return rows, columns and edges between some nodes."""
    return tuple(tensor(item, idx) for item in induced(Graph(array(rowptr), array(col)), array(idx)))  # type: ignore[return-value]


def partition(rowptr: Tensor, col: Tensor, optional_value: Tensor | None, num_parts: int, recursive: bool) -> Tensor:
    """Return the part of each node."""
    return metis(rowptr, col, num_parts, None, optional_value, recursive)


def partition2(
    rowptr: Tensor, col: Tensor, optional_value: Tensor | None, optional_node_weight: Tensor | None, num_parts: int, recursive: bool
) -> Tensor:
    """Return the part of each node, parts of about equal weight."""
    return metis(rowptr, col, num_parts, optional_node_weight, optional_value, recursive)


def random_walk(rowptr: Tensor, col: Tensor, start: Tensor, walk_length: int) -> Tensor:
    """Return the nodes of walks."""
    return walked(rowptr, col, start, walk_length)[0]


def _multiplied(reduce: str) -> Callable[..., object]:
    def call(rowptr: Tensor, col: Tensor, value: Tensor | None, mat: Tensor) -> object:
        row, dim = ptr2ind(rowptr, col.numel()), mat.dim() - 2
        terms = mat.index_select(dim, col)
        terms = terms if value is None else terms * value.unsqueeze(-1)
        extreme = {"min": scatter_min, "max": scatter_max}.get(reduce)
        rows = rowptr.numel() - 1
        return scatter(terms, row, dim, None, rows, reduce) if extreme is None else extreme(terms, row, dim, None, rows)

    return call


def _sum(
    row: Tensor | None, rowptr: Tensor, col: Tensor, value: Tensor | None, colptr: Tensor | None, csr2csc: Tensor | None, mat: Tensor
) -> object:
    return _multiplied("sum")(rowptr, col, value, mat)


def _mean(
    row: Tensor | None, rowptr: Tensor, col: Tensor, value: Tensor | None, rowcount: Tensor | None, colptr: Tensor | None,
    csr2csc: Tensor | None, mat: Tensor,
) -> object:  # fmt: skip
    return _multiplied("mean")(rowptr, col, value, mat)


def register() -> None:
    """Show the functions in ``torch.ops.torch_sparse``."""
    functions = (
        ind2ptr, ptr2ind, neighbor_sample, hetero_neighbor_sample, hgt_sample, ego_k_hop_sample_adj, saint_subgraph, partition, partition2,
        random_walk,
    )  # fmt: skip
    for function in functions:
        setattr(torch.ops.torch_sparse, function.__name__, function)
    others = {
        "sample_adj": adjacent, "spmm_sum": _sum, "spmm_mean": _mean, "spmm_min": _multiplied("min"), "spmm_max": _multiplied("max"),
        "cuda_version": lambda: -1,
    }  # fmt: skip
    for name, other in others.items():
        setattr(torch.ops.torch_sparse, name, other)


__all__ = ["register"]
