"""Times of single operators, each alone on a device with real inputs.

On an accelerator the runs follow each other without a stop between events, as in a piece: where giving a
kernel to the device takes longer than running it, that is the time.
"""
from __future__ import annotations

import time
from typing import Any, Callable

import torch

from .optimizers import Update
from .placed import LOSS
from .program import FORWARD, GRAD, Role
from .tracer import tensors_in
from .values import differentiable, map_tensors
from .worker import Worker


class Alone:
    """Runs one operator of the graph on a worker's device.

    inputs, grads: of its step, and of the tensors that it gives, on the CPU. Both are those of a real run:
    products of numbers near 0 may take ten times as long as others.
    """

    def __init__(self, worker: Worker, role: Role, inputs: list[Any], grads: list[torch.Tensor | None],
                 training: bool, name: str, update: Update | None):
        self.worker, self.role, self.training, self.update = worker, role, training, update
        self.is_loss = name == LOSS
        self.call = worker.space.calls[role.step]
        self.args = [map_tensors(v, self._input) for v in inputs]
        self.grads = [g if g is None or role.part != GRAD else g.to(worker.device.space) for g in grads]

    def _input(self, t: torch.Tensor) -> torch.Tensor:
        moved = t.to(self.worker.device.space)
        return moved.detach().requires_grad_() if self.training and differentiable(t) else moved

    def _forward(self) -> tuple:
        args = [map_tensors(a, torch.clone) for a in self.args] if self.training else self.args
        return self.call(*args)

    def _backward(self) -> Callable[[], None]:
        """The backward pass of a new run, ready to go."""
        made = [(t, None if self.is_loss else g) for t, g in zip(tensors_in(self._forward()), self.grads)
                if t.requires_grad and g is not None]
        roots, grads = [t for t, _ in made], [g for _, g in made]
        for t in (t for a in self.args for t in tensors_in(a)):
            t.grad = None
        self._forget_grads()
        return lambda: torch.autograd.backward(roots, grads) if roots else None

    def _forget_grads(self) -> None:
        module = getattr(self.call, "__self__", None)
        for p in module.parameters() if isinstance(module, torch.nn.Module) else ():
            p.grad = None

    def _update(self) -> Callable[[], None]:
        for n in self.role.params:
            self.update.params[n].grad = torch.ones_like(self.update.params[n])
        return lambda: self.update.step(self.role.params)

    def once(self) -> Callable[[], Any]:
        """What is to be timed."""
        if self.role.part == FORWARD:
            return self._forward
        return self._backward() if self.role.part == GRAD else self._update()

    def times(self, warmup: int, repeats: int) -> tuple[list[float], list[float] | None]:
        """Seconds by the clock, and of the CPU where that can be told. In the worker's thread."""
        streams = self.worker.streams
        with torch.set_grad_enabled(self.training):
            if streams is None:
                return self._by_clock(warmup, repeats)
            marks = []
            for _ in range(warmup + repeats):
                work = self.once()
                start = streams.record(streams.work, True)
                work()
                marks.append((start, streams.record(streams.work, True)))
            streams.work.synchronize()
        return [a.elapsed_time(b) / 1e3 for a, b in marks[warmup:]], None

    def _by_clock(self, warmup: int, repeats: int) -> tuple[list[float], list[float] | None]:
        wall, cpu = [], []
        for _ in range(warmup + repeats):
            work = self.once()
            start, used = time.perf_counter(), time.thread_time()
            work()
            self.worker.finish(start)
            wall.append(time.perf_counter() - start)
            cpu.append(time.thread_time() - used)
        return wall[warmup:], cpu[warmup:] if self.worker.device.threads == 1 else None
