"""Modules that cannot be used, or that do what modules should not. tests/torch/modules.py tells what is said of them.
"""
import os
import random
import sys

import torch
from torch import nn


class Gate(nn.Module):
    """Which way it goes depends on values."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        y = self.a(x)
        if y.sum() > 0:
            return self.b(y)
        return y


class Net(nn.Module):
    """Two of those."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.out = Gate(), Gate(), nn.Linear(4, 2)

    def forward(self, x):
        return self.out(self.second(self.first(x)))


def gate():
    return Net(), (torch.randn(3, 4),)


def item():
    class Item(nn.Module):
        def forward(self, x):
            return torch.stack([x[i] for i in range(x.max().item())])
    return nn.Sequential(Item()), (torch.tensor([1, 2]),)


class Opaque(nn.Module):
    """Runs, but looks into what stands for a tensor."""

    def forward(self, x):
        return torch.from_numpy(x.numpy() + 1)


def opaque():
    return nn.Sequential(nn.Flatten(), Opaque()), (torch.randn(2, 3),)


def shapes():
    return Net(), (torch.randn(3, 5),)


def no_inputs():
    return Net()


def raises():
    return 1 / 0


def reads():
    return torch.load("no/such/weights.pt")


def leaves():
    sys.exit(3)


def wrong():
    return 3


def many():
    return 1, 2, 3, 4, 5


def dict_args():
    return Net(), {"x": torch.randn(3, 4)}


def empty():
    return nn.Sequential(), (torch.randn(2),)


def no_loss():
    return nn.Linear(4, 4), (torch.randn(3, 4),), {}, lambda y: y


def loss_fails():
    return nn.Linear(4, 4), (torch.randn(3, 4),), {}, lambda y: y.view(7, 7)


def whole_numbers():
    return nn.Linear(4, 4), (torch.randn(3, 4),), {}, lambda y: y.argmax()


def frozen():
    module = nn.Linear(4, 4).requires_grad_(False)
    return module, (torch.randn(3, 4),)


def talks():
    """Prints, in other ways too, and forks."""
    print("from Python")
    os.system("echo from a child")
    os.write(1, b"from the system\n")
    if os.fork() == 0:
        return wrong()
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU()), (torch.randn(3, 4),)


class Around(nn.Module):
    """Does something around its operations that they do not show."""

    def __init__(self, what):
        super().__init__()
        self.a, self.what = nn.Linear(4, 4), what
        self.register_buffer("mean", torch.zeros(4))
        self.made = torch.zeros(4)

    def forward(self, x):
        return self.what(self, self.a(x))


def autocast():
    def what(self, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.a(y)
    return nn.Sequential(Around(what)), (torch.randn(3, 4),)


def hook():
    def what(self, y):
        y.register_hook(lambda grad: 2 * grad)
        return self.a(y)
    return nn.Sequential(Around(what)), (torch.randn(3, 4),)


def normal():
    return nn.Sequential(Around(lambda self, y: y + torch.normal(0.0, 1.0, (4,)))), (torch.randn(3, 4),)


def other_random():
    return nn.Sequential(Around(lambda self, y: y * random.random())), (torch.randn(3, 4),)


def assigns():
    def what(self, y):
        self.mean = 0.9 * self.mean + y.detach().mean(0)
        return y - self.mean
    return nn.Sequential(Around(what)), (torch.randn(3, 4),)


def writes():
    def what(self, y):
        self.made += y.detach().mean(0)
        return y - self.made
    return nn.Sequential(Around(what)), (torch.randn(3, 4),)


def forbids():
    class Own(BaseException):
        pass
    raise Own("one line\nanother")


def replaces():
    """Puts other numbers into a tensor by a way that no trace sees."""
    def what(self, y):
        y = nn.functional.dropout(y, 0.5)
        y.data = torch.ones(3, 4)
        return self.a(y)
    return nn.Sequential(Around(what)), (torch.randn(3, 4),)


def unreadable():
    module = nn.Sequential()
    module.add_module("a\n\udcff", nn.Linear(4, 4))
    return module, (torch.randn(3, 4),)


value = 3
made = nn.Linear(4, 4)
