"""A U-Net for segmentation (Ronneberger et al., "U-Net: Convolutional Networks for Biomedical Image Segmentation", 2015)."""
import torch
import torch.nn as nn


def double_convolution(channels_in, channels_out):
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False), nn.BatchNorm2d(channels_out), nn.ReLU(inplace=True),
        nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False), nn.BatchNorm2d(channels_out), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    """Down through max pooling and up again, each level joined with the one at the same size."""

    def __init__(self, channels=1, classes=2, width=8, depth=3):
        super().__init__()
        widths = [width << level for level in range(depth)]
        self.down = nn.ModuleList(
            double_convolution(before, after) for before, after in zip([channels, *widths], widths)
        )
        self.pool = nn.MaxPool2d(2)
        self.drop = nn.Dropout2d(0.2)
        self.ups = nn.ModuleDict()
        self.joins = nn.ModuleDict()
        for level in reversed(range(depth - 1)):
            # The lowest level learns how to grow, the others interpolate.
            grow = nn.ConvTranspose2d(widths[level + 1], widths[level], 2, stride=2)
            smooth = nn.Sequential(
                nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
                nn.Conv2d(widths[level + 1], widths[level], 1),
            )
            self.ups[str(level)] = grow if level == depth - 2 else smooth
            self.joins[str(level)] = double_convolution(2 * widths[level], widths[level])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        kept = []
        for number, block in enumerate(self.down):
            x = block(x if number == 0 else self.pool(x))
            kept.append(x)
        x = self.drop(kept.pop())
        while kept:
            level = str(len(kept) - 1)
            x = self.joins[level](torch.cat([kept.pop(), self.ups[level](x)], dim=1))
        return self.head(x)


def build():
    """A small one, and the optimizer that trains it."""
    model = UNet()
    return model, torch.optim.Adam(model.parameters(), lr=2e-3)


def batch():
    """Noisy images of a disc each, and which pixels are in it."""
    centre = torch.rand(4, 2, 1, 1) * 8 + 4
    rows, columns = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    inside = (rows - centre[:, 0]) ** 2 + (columns - centre[:, 1]) ** 2 < 12
    return inside.unsqueeze(1).float() + torch.randn(4, 1, 16, 16) * 0.3, inside.long()


def loss(model, images, mask):
    """Cross entropy, and what is missing to a perfect overlap (Dice)."""
    logits = model(images)
    inside = logits.softmax(1)[:, 1]
    overlap = 2 * (inside * mask).sum() / (inside.sum() + mask.sum())
    return nn.functional.cross_entropy(logits, mask) + 1 - overlap
