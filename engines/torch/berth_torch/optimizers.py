"""The optimizer's part of a training step: torch.optim's own classes over the parameters of a piece.

States are there before the first step, full of zeros, as after a step's first half; so the first step takes
as long as any.
"""
from __future__ import annotations

import torch

RATES = {"sgd": 1e-2, "momentum": 1e-2, "adam": 1e-3}


def make_optimizer(kind: str, params: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """kind: sgd, momentum or adam, with torch's defaults but for the rate and a momentum of 0.9."""
    if kind == "adam":
        return torch.optim.Adam(params, lr=RATES[kind])
    return torch.optim.SGD(params, lr=RATES[kind], momentum=0.9 if kind == "momentum" else 0.0)


def zero_state(kind: str, p: torch.Tensor) -> dict:
    """Of a parameter, before the first step."""
    if kind == "adam":
        return {"step": torch.tensor(0.0), "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
    return {"momentum_buffer": torch.zeros_like(p)} if kind == "momentum" else {}


class Update:
    """The optimizers of one device. params: its parameters by name."""

    def __init__(self, kind: str, params: dict[str, torch.nn.Parameter]):
        self.kind, self.params = kind, params
        self.made: dict[tuple, torch.optim.Optimizer] = {}
        self.state: dict[str, dict] = {}

    def prepare(self, names: list[str]) -> None:
        """Make the optimizer of a piece."""
        used = [n for n in dict.fromkeys(names) if self.params[n].requires_grad]
        if not used:
            return
        optimizer = make_optimizer(self.kind, [self.params[n] for n in used])
        for n in used:
            state = self.state.setdefault(n, zero_state(self.kind, self.params[n]))
            if state:
                optimizer.state[self.params[n]] = state
        self.made[tuple(names)] = optimizer

    def reset(self) -> None:
        """States as before the first step, and no gradients."""
        for state in self.state.values():
            for t in state.values():
                t.zero_()
        for p in self.params.values():
            p.grad = None

    def step(self, names: list[str]) -> None:
        optimizer = self.made.get(tuple(names))
        if optimizer is not None:
            optimizer.step()
