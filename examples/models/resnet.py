"""ResNet-18 for small images (He et al., "Deep Residual Learning for Image Recognition", 2015)."""
import torch
import torch.nn as nn


class BasicBlock(nn.Module):
    """Two 3×3 convolutions and a shortcut around them."""

    def __init__(self, channels_in, channels_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels_out)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels_out)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or channels_in != channels_out:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels_in, channels_out, 1, stride, bias=False), nn.BatchNorm2d(channels_out)
            )

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += shortcut
        return self.relu(out)


class ResNet18(nn.Module):
    """Four stages of two blocks; ``width`` channels in the first stage, doubled in each of the next."""

    def __init__(self, classes=10, width=64, channels=3):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        )
        stages, before = [], width
        for number in range(4):
            after = width << number
            stages.append(nn.Sequential(BasicBlock(before, after, 1 if number == 0 else 2), BasicBlock(after, after, 1)))
            before = after
        self.stages = nn.Sequential(*stages)
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(before, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images):
        return self.fc(torch.flatten(self.pool(self.stages(self.stem(images))), 1))


def build():
    """A small one, and the optimizer that trains it."""
    model = ResNet18(width=8)
    return model, torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9, weight_decay=5e-4)


def batch():
    """Images and labels."""
    return torch.randn(8, 3, 16, 16), torch.randint(10, (8,))


def loss(model, images, labels):
    """The loss of a batch."""
    return nn.functional.cross_entropy(model(images), labels, label_smoothing=0.1)
