"""Two towers side by side over one input, their example input, and their loss."""
import torch
from torch import nn


def tower(width):
    """Three layers."""
    return nn.Sequential(nn.Linear(64, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 8))


class Towers(nn.Module):
    """The sum of what both towers give."""

    def __init__(self, width=384):
        super().__init__()
        self.left, self.right = tower(width), tower(width)

    def forward(self, x):
        return self.left(x) + self.right(x)


def build():
    """What berth calls: the module, args, kwargs and the loss of what the module returns."""
    x, wanted = torch.randn(64, 64), torch.randn(64, 8)
    return Towers(), (x,), {}, lambda y: nn.functional.mse_loss(y, wanted)
