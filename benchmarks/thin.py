"""Networks of thin layers, of timm where it is installed: depthwise and pointwise convolutions, batch norm, squeeze and excitation."""
from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

THIN = (
    "mobilenetv2_100", "mobilenetv3_small_100", "mobilenetv3_large_100", "efficientnet_b0", "densenet121", "regnety_004", "convnext_tiny",
    "resnet50",
) if importlib.util.find_spec("timm") else ()  # fmt: skip


def step(torch: Any, name: str, train: bool) -> Callable[[], Any]:
    """A training step, or one pass in evaluation mode, of eight images of 64 × 64."""
    net = importlib.import_module("timm").create_model(name, num_classes=10)
    images, labels = torch.randn(8, 3, 64, 64), torch.randint(0, 10, (8,))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    def trained() -> float:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        return float(loss)

    def passed() -> float:
        with torch.no_grad():
            return float(net(images)[0, 0])

    net.train(train)
    return trained if train else passed
