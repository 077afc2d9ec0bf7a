"""Networks of PyTorch Geometric on the emulated Ascend beside double precision on the CPU, with kernels, and reads by the line that asked:

    python -m tests.cann python -m mstorch -m tests.cann.graphs [NAME …]

torch_geometric must be installed. Points are sampled, grouped and connected by mstorch's torch_cluster, their features aggregated by its torch_scatter.
"""
from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

_CALLS = os.environ.setdefault("EMULATED_CANN_CALLS", os.path.join(tempfile.mkdtemp(), "calls"))  # before MindSpore starts the device

import mstorch as torch  # noqa: E402
from tests.cann import reads  # noqa: E402
from tests.cann.attention_networks import _apart  # noqa: E402
from tests.cann.companions import _lines  # noqa: E402

nn = torch.nn
_MORE = 2e-5
"""How much farther than three times the CPU's error in single precision a result may lie from double precision."""


def _points() -> tuple[torch.Tensor, torch.Tensor]:
    """Return places of points, and the cloud that each belongs to."""
    draw = torch.Generator().manual_seed(2)
    return torch.rand(72, 3, generator=draw), torch.arange(2).repeat_interleave(36)


def _edges() -> torch.Tensor:
    draw = torch.Generator().manual_seed(3)
    return torch.randint(40, (2, 160), generator=draw)


def _network(*sizes: int) -> Any:
    return nn.Sequential(nn.Linear(sizes[0], sizes[1]), nn.ReLU(), nn.Linear(sizes[1], sizes[2]))


class Attention(nn.Module):
    """Two layers of GATConv."""

    def __init__(self) -> None:
        from torch_geometric.nn import GATConv

        super().__init__()
        self.first, self.second = GATConv(6, 8, heads=2), GATConv(16, 3)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        """Return three numbers for each node."""
        return self.second(torch.nn.functional.elu(self.first(x, edges)), edges)


class Clouds(nn.Module):
    """PointNet++ for whole clouds: sampling by distance, groups within a radius, PointNetConv, a maximum over each cloud."""

    def __init__(self) -> None:
        from torch_geometric.nn import PointNetConv

        super().__init__()
        self.near = PointNetConv(_network(3, 16, 16), add_self_loops=False)
        self.far = PointNetConv(_network(19, 16, 16), add_self_loops=False)
        self.last = nn.Linear(16, 4)

    def forward(self, places: torch.Tensor, cloud: torch.Tensor) -> torch.Tensor:
        """Return four numbers for each cloud."""
        from torch_geometric.nn import fps, global_max_pool, radius

        features = None
        for layer, share, reach in ((self.near, 0.5, 0.4), (self.far, 0.25, 0.9)):
            chosen = fps(places, cloud, ratio=share, random_start=False)
            row, column = radius(places, places[chosen], reach, cloud, cloud[chosen], max_num_neighbors=64)
            some = None if features is None else features[chosen]
            features = layer((features, some), (places, places[chosen]), torch.stack([column, row]))
            places, cloud = places[chosen], cloud[chosen]
        return self.last(global_max_pool(features, cloud))


class Neighbours(nn.Module):
    """DGCNN: each point's nearest neighbours, found anew among features."""

    def __init__(self) -> None:
        from torch_geometric.nn import DynamicEdgeConv

        super().__init__()
        self.first, self.second = DynamicEdgeConv(_network(6, 16, 16), 6, "max"), DynamicEdgeConv(_network(32, 16, 8), 6, "mean")

    def forward(self, places: torch.Tensor, cloud: torch.Tensor) -> torch.Tensor:
        """Return eight numbers for each point."""
        return self.second(self.first(places, cloud), cloud)


NETWORKS: dict[str, tuple[type[nn.Module], Callable[[], tuple[torch.Tensor, ...]]]] = {
    "GAT": (Attention, lambda: (torch.linspace(-1, 1, 240).view(40, 6).sin(), _edges())), "PointNet++": (Clouds, _points), "DGCNN": (Neighbours, _points),
}  # fmt: skip


def _step(name: str, dtype: torch.dtype, place: Any) -> tuple[Any, dict[str, Any]]:
    kind, inputs = NETWORKS[name]
    torch.manual_seed(0)
    model = kind().to(dtype).to(place)
    found = model(*((item.to(dtype) if item.is_floating_point() else item).to(place) for item in inputs()))
    found.square().mean().backward()
    return found, {key: item.grad for key, item in model.named_parameters() if item.grad is not None}


def main(names: list[str]) -> list[str]:
    """Print a line for each network; return those that differ."""
    warnings.simplefilter("ignore")
    device, wrong = torch.accelerator.current_accelerator(), []
    for name in names or NETWORKS:
        exact, own = _step(name, torch.float64, "cpu"), _step(name, torch.float32, "cpu")
        before = len(_lines())
        with reads.counted() as lines:
            found = _step(name, torch.float32, device)
        kernels = len(_lines()) - before
        far, host = ([_apart(one[0], exact[0]), max(_apart(one[1][key], exact[1][key]) for key in exact[1])] for one in (found, own))
        print(f"{name}: result {far[0]:.1e} (the CPU's {host[0]:.1e}), gradients {far[1]:.1e} (the CPU's {host[1]:.1e}); {kernels} kernels, "
              f"{sum(lines.values())} reads", flush=True)
        for line, count in lines.items():
            print(f"    {count} {line}", flush=True)
        if any(one > 3 * other + _MORE for one, other in zip(far, host)):
            wrong.append(name)
    return wrong


if __name__ == "__main__":
    print(differing := main(sys.argv[1:]))
    sys.exit(bool(differing))
