"""Jobs of bindsnet."""

from __future__ import annotations

import torch
from bindsnet.encoding import poisson
from bindsnet.learning import PostPre
from bindsnet.network import Network
from bindsnet.network.monitors import Monitor
from bindsnet.network.nodes import Input, LIFNodes
from bindsnet.network.topology import Connection


def job_spikes():
    torch.manual_seed(0)
    network = Network(dt=1.0)
    network.add_layer(Input(n=12, traces=True), name="X")
    network.add_layer(LIFNodes(n=5, traces=True), name="Y")
    network.add_connection(
        Connection(
            network.layers["X"],
            network.layers["Y"],
            w=torch.rand(12, 5) * 5,
            update_rule=PostPre,
            nu=(1e-3, 1e-2),
            wmin=0,
            wmax=10,
            norm=15.0,
        ),
        "X",
        "Y",
    )
    network.add_monitor(Monitor(network.layers["Y"], ["s", "v"], time=40), "Y")
    network.run({"X": poisson(torch.rand(12) * 120, time=40)}, time=40)
    network.save("net.pt")
    return [network.monitors["Y"].get("s").sum(), network.monitors["Y"].get("v"), network.connections[("X", "Y")].w]
