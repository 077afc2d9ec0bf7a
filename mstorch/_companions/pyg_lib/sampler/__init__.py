"""pyg_lib.sampler: neighbours, subgraphs and walks of graphs in compressed rows. Samples are drawn on the host."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import mstorch as torch

from ...._src.backend.arrays import Array
from ...drawing import array, generator, tensor
from ...torch_cluster.rw import walks
from .neighbours import Graph, Kind, Nodes, Way, induced, sample

Tensor = torch.Tensor
_ONE: Kind = ("", "", "")


def _optional(item: Tensor | None) -> Array | None:
    return None if item is None else array(item)


def _checked(temporal: bool, directed: bool, disjoint: bool, strategy: str, weighted: bool) -> None:
    if not directed:
        raise RuntimeError("pyg_lib samples directed graphs; the edges between sampled nodes are those of pyg_lib.sampler.subgraph")
    if temporal and not disjoint:
        raise RuntimeError("Temporal sampling needs to create disjoint subgraphs")
    if temporal and weighted:
        raise RuntimeError("Biased temporal sampling not yet supported")
    if strategy not in ("uniform", "last"):
        raise RuntimeError(f"temporal_strategy must be 'uniform' or 'last', got {strategy!r}")


def _seed_times(seed: Tensor, given: Tensor | None, node_time: Tensor | None, temporal: bool) -> Array | None:
    if given is not None:
        return array(given)
    if node_time is not None:
        return array(node_time)[array(seed)]
    if temporal:
        raise RuntimeError("Seed time needs to be specified")
    return None


def neighbor_sample(
    rowptr: Tensor, col: Tensor, seed: Tensor, num_neighbors: list[int], node_time: Tensor | None = None, edge_time: Tensor | None = None,
    seed_time: Tensor | None = None, edge_weight: Tensor | None = None, csc: bool = False, replace: bool = False, directed: bool = True,
    disjoint: bool = False, temporal_strategy: str = "uniform", return_edge_id: bool = True,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, list[int], list[int]]:  # fmt: skip
    """Return rows, columns, nodes and edges of a sample of neighbours, hop by hop, and the numbers of nodes and edges of each hop.

    A negative number of neighbours means all. With ``disjoint`` each seed has its own nodes, (seed, node). With times an edge, or a
    neighbour, must not be later than its seed.
    """
    temporal = node_time is not None or edge_time is not None
    if node_time is not None and edge_time is not None:
        raise RuntimeError("Only one of node-level or edge-level sampling is supported ")
    _checked(temporal, directed, disjoint, temporal_strategy, edge_weight is not None)
    graph = Graph(array(rowptr), array(col), _optional(edge_weight), _optional(node_time), _optional(edge_time))
    seeds = array(seed).astype(np.int64)
    nodes = {"": Nodes(seeds, 0, np.arange(len(seeds)) if disjoint else None)}
    way = Way(replace, temporal and temporal_strategy == "last", generator())
    times = _seed_times(seed, seed_time, node_time, temporal)
    found = sample({_ONE: graph}, nodes, {_ONE: num_neighbors}, len(num_neighbors), way, False, times)[_ONE]
    expanded, other, edge = (tensor(item, seed) for item in found.arrays())
    own = nodes[""]
    node = own.node if own.trees is None else np.stack([own.trees, own.node], 1)
    row, column = (other, expanded) if csc else (expanded, other)
    return row, column, tensor(node, seed), edge if return_edge_id else None, own.per_hop, found.per_hop


def _name(kind: Kind) -> str:
    return "__".join(kind)


def sample_kinds(
    node_types: list[str], edge_types: list[Kind], rowptr_dict: dict[str, Tensor], col_dict: dict[str, Tensor],
    seed_dict: dict[str, Tensor], num_neighbors_dict: dict[str, list[int]], node_time_dict: dict[str, Tensor] | None = None,
    edge_time_dict: dict[str, Tensor] | None = None,
    seed_time_dict: dict[str, Tensor] | None = None, edge_weight_dict: dict[str, Tensor] | None = None, csc: bool = False,
    replace: bool = False, directed: bool = True, disjoint: bool = False, temporal_strategy: str = "uniform", return_edge_id: bool = True,
) -> tuple[Any, ...]:  # fmt: skip
    """``torch.ops.pyg.hetero_neighbor_sample``: ``hetero_neighbor_sample`` with kinds of edges as "source__relation__target"."""
    temporal = node_time_dict is not None or edge_time_dict is not None
    _checked(temporal, directed, disjoint, temporal_strategy, edge_weight_dict is not None)
    node_times, edge_times, weights = map(_arrays, (node_time_dict, edge_time_dict, edge_weight_dict))
    graphs = {}
    for source, relation, target in edge_types:  # lists, from TorchScript
        kind = (source, relation, target)
        name, end = _name(kind), source if csc else target
        rows, columns = array(rowptr_dict[name]), array(col_dict[name])
        graphs[kind] = Graph(rows, columns, weights.get(name), node_times.get(end), edge_times.get(name))
    nodes = _seeds(node_types, seed_dict, disjoint)
    times = _times_of_kinds(node_types, seed_dict, seed_time_dict or {}, node_time_dict or {}) if temporal else None
    way = Way(replace, temporal and temporal_strategy == "last", generator())
    counts: dict[Kind, Sequence[int]] = {kind: num_neighbors_dict[_name(kind)] for kind in graphs}
    sampled = sample(graphs, nodes, counts, max(map(len, counts.values()), default=0), way, csc, times)
    some = next(iter(col_dict.values()))
    parts = {_name(kind): [tensor(item, some) for item in one.arrays()] for kind, one in sampled.items()}
    first, second = (1, 0) if csc else (0, 1)
    return (
        {name: item[first] for name, item in parts.items()},
        {name: item[second] for name, item in parts.items()},
        {name: tensor(one.node if one.trees is None else np.stack([one.trees, one.node], 1), some) for name, one in nodes.items()},
        {name: item[2] for name, item in parts.items()} if return_edge_id else None,
        {name: one.per_hop for name, one in nodes.items()},
        {_name(kind): one.per_hop for kind, one in sampled.items()},
    )


def _arrays(tensors: dict[str, Tensor] | None) -> dict[str, Array]:
    return {name: array(item) for name, item in (tensors or {}).items()}


def _seeds(node_types: list[str], seeds: dict[str, Tensor], disjoint: bool) -> dict[str, Nodes]:
    """Return the nodes of each kind to begin with. Disjoint seeds are numbered over all kinds, each the root of a tree."""
    nodes, start = {}, 0
    for name in node_types:
        own = array(seeds[name]).astype(np.int64) if name in seeds else np.zeros(0, np.int64)
        nodes[name] = Nodes(own, 0, np.arange(start, start + len(own)) if disjoint else None)
        start += len(own)
    return nodes


def _times_of_kinds(
    node_types: list[str], seeds: dict[str, Tensor], seed_times: dict[str, Tensor], node_times: dict[str, Tensor]
) -> Array | None:
    """Return the times of all seeds, in the order in which ``_seeds`` numbers them."""
    times = [_seed_times(seeds[name], seed_times.get(name), node_times.get(name), True) for name in node_types if name in seeds]
    return np.concatenate(times) if times else None  # type: ignore[arg-type]


def hetero_neighbor_sample(
    rowptr_dict: dict[Kind, Tensor], col_dict: dict[Kind, Tensor], seed_dict: dict[str, Tensor], num_neighbors_dict: dict[Kind, list[int]],
    node_time_dict: dict[str, Tensor] | None = None, edge_time_dict: dict[Kind, Tensor] | None = None,
    seed_time_dict: dict[str, Tensor] | None = None, edge_weight_dict: dict[Kind, Tensor] | None = None, csc: bool = False,
    replace: bool = False, directed: bool = True, disjoint: bool = False, temporal_strategy: str = "uniform", return_edge_id: bool = True,
) -> tuple[Any, ...]:  # fmt: skip
    """Return what ``neighbor_sample`` returns for graphs of several kinds of nodes and edges, each a dictionary by kind."""
    kinds = list(rowptr_dict)
    ends = [end for kind in kinds for end in (kind[0], kind[2])]

    def named(given: dict[Kind, Any] | None) -> dict[str, Any] | None:
        return None if given is None else {_name(kind): item for kind, item in given.items()}

    found = sample_kinds(
        list(dict.fromkeys(ends)), kinds, named(rowptr_dict), named(col_dict), seed_dict, named(num_neighbors_dict),  # type: ignore[arg-type]
        node_time_dict, named(edge_time_dict), seed_time_dict, named(edge_weight_dict), csc, replace, directed, disjoint, temporal_strategy,
        return_edge_id,
    )  # fmt: skip
    back = {_name(kind): kind for kind in kinds}
    turned = [None if item is None else {back[name]: own for name, own in item.items()} if place in (0, 1, 3, 5) else item
              for place, item in enumerate(found)]  # fmt: skip
    return tuple(turned)


def subgraph(rowptr: Tensor, col: Tensor, nodes: Tensor, return_edge_id: bool = True) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return bounds of rows, columns and edges of the graph between some nodes."""
    group, other, edge = induced(Graph(array(rowptr), array(col)), array(nodes))
    bounds = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=nodes.numel()))])
    return tensor(bounds, nodes), tensor(other, nodes), tensor(edge, nodes) if return_edge_id else None


def random_walk(rowptr: Tensor, col: Tensor, seed: Tensor, walk_length: int, p: float = 1.0, q: float = 1.0) -> Tensor:
    """Return the nodes of node2vec's walks from seeds, (seeds, length and one): ``p`` and ``q`` divide the chances of going back and on."""
    return tensor(walks(array(rowptr), array(col), array(seed), walk_length, p, q)[0], seed)


__all__ = ["hetero_neighbor_sample", "neighbor_sample", "random_walk", "sample_kinds", "subgraph"]
