"""A multi-layer perceptron on 8×8 handwritten digits: python -m mstorch examples/digits_mlp.py"""
import torch.nn as nn
from digits_data import parse_options, train


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)
        )

    def forward(self, images):
        return self.layers(images)


if __name__ == "__main__":
    train(MLP, parse_options(__doc__, epochs=10, lr=0.05))
