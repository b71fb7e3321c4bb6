"""Modules that predictions are held against runs of (fidelity.py): some hundred operators of a tenth of a
millisecond or more, so that it is them that a run's time is made of.
"""
import torch
from torch import nn

from models import Transformer


class Residual(nn.Module):
    """Two convolutions, and a way around them."""

    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.norm1, self.norm2, self.relu = nn.BatchNorm2d(outside), nn.BatchNorm2d(outside), nn.ReLU()
        same = stride == 1 and inside == outside
        self.around = None if same else nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False),
                                                      nn.BatchNorm2d(outside))

    def forward(self, x):
        y = self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x)))))
        return self.relu(y + (x if self.around is None else self.around(x)))


def narrow_resnet18():
    """ResNet-18 with a quarter of the channels, for images of 96 pixels."""
    blocks, inside = [], 16
    for outside, stride in ((16, 1), (32, 2), (64, 2), (128, 2)):
        blocks += [Residual(inside, outside, stride), Residual(outside, outside, 1)]
        inside = outside
    first = [nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    last = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 100)]
    return nn.Sequential(*first, *blocks, *last), (torch.randn(4, 3, 96, 96),)


def language():
    """A transformer of four blocks."""
    return Transformer(1000, 128, 4, 4), (torch.randint(0, 1000, (4, 64)),)


class Recurrent(nn.Module):
    """LSTM layers in two columns that exchange what they have, each with a way around."""

    def __init__(self, width=96, layers=4):
        super().__init__()
        self.embed = nn.Embedding(300, width)
        self.left = nn.ModuleList(nn.LSTM(width, width, batch_first=True) for _ in range(layers))
        self.right = nn.ModuleList(nn.LSTM(width, width, batch_first=True) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.out = nn.Linear(width, 40)

    def forward(self, ids):
        x = y = self.embed(ids)
        for left, right, norm in zip(self.left, self.right, self.norms):
            there, back = left(x)[0], right(y)[0]
            x, y = norm(x + back), torch.tanh(y + there)
        return self.out(x + y)


def recurrent():
    return Recurrent(), (torch.randint(0, 300, (8, 16)),)


class Branched(nn.Module):
    """Four ways of convolutions side by side, of unlike lengths."""

    def __init__(self, channels):
        super().__init__()
        each = channels // 4
        self.one = nn.Conv2d(channels, each, 1)
        self.three = nn.Sequential(nn.Conv2d(channels, each, 1), nn.ReLU(), nn.Conv2d(each, each, 3, padding=1))
        self.five = nn.Sequential(nn.Conv2d(channels, each, 1), nn.ReLU(), nn.Conv2d(each, each, 3, padding=1),
                                  nn.ReLU(), nn.Conv2d(each, each, 3, padding=1))
        self.pool = nn.Sequential(nn.AvgPool2d(3, 1, 1), nn.Conv2d(channels, each, 1))

    def forward(self, x):
        return torch.relu(torch.cat([self.one(x), self.three(x), self.five(x), self.pool(x)], 1))


def branched():
    """Five blocks of branches over images of 24 pixels."""
    blocks = [Branched(64) for _ in range(5)]
    last = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 20)]
    return nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1), *blocks, *last), (torch.randn(2, 3, 24, 24),)
