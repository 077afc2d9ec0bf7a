"""A small convolutional network on 8×8 handwritten digits: python -m mstorch examples/digits_cnn.py"""
import torch.nn as nn
from digits_data import parse_options, train


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, images):
        return self.classifier(self.features(images))


if __name__ == "__main__":
    train(CNN, parse_options(__doc__, epochs=10, lr=0.05))
