"""Training that goes on from run to run: parameters, buffers and the optimizer's state stay as the last step
left them, and move with the operators where the placement changes.

Between two plans all of it is in the user's module, on the CPU, but for the optimizer's state, which is here.
"""
from __future__ import annotations

import torch

from .session import Sample, Session
from .spaces import is_host, wait_for


class Training:
    """Steps from the module as the factory gave it. done: how many there were."""

    def __init__(self, session: Session):
        self.session, self.done = session, 0
        self.optimizer_state: dict[str, dict] = {}
        session.reset()
        session.updates = {}  # of another run

    def prepare(self, placement: list[int], order: list[int] | None) -> None:
        """Go on by this placement."""
        self._take()
        self.session.prepare(placement, order)
        self._give()

    def step(self) -> tuple[Sample, float]:
        """One step, and its loss before it. Random numbers are drawn by the names of operators and the step's
        number, so that they do not depend on the placement."""
        s = self.session
        for space in s.spaces.values():
            for p in s.traced.module.parameters():
                if space.has(p):
                    space.here(p).grad = None
        sample = s.run(seeded=f"step {self.done}", fresh=False)
        self.done += 1
        return sample, float(next(r.loss for r in sample.ran if r and r.loss is not None))

    def _take(self) -> None:
        """What the last plan left, out of the devices' memory."""
        s = self.session
        for update in s.updates.values():
            self.optimizer_state.update(update.state)
        with torch.no_grad():
            for space in s.spaces.values():
                for t, _ in s.unsplit.state if self.done and not is_host(space.device) else []:
                    if space.has(t):
                        t.copy_(space.here(t))

    def _give(self) -> None:
        """The optimizer's state to the devices of the new plan; parameters and buffers are there."""
        with torch.no_grad():
            for update in self.session.updates.values():
                for name, state in update.state.items():
                    for key, value in self.optimizer_state.get(name, {}).items():
                        state[key].copy_(value)
        for space in self.session.spaces:
            wait_for(space)
