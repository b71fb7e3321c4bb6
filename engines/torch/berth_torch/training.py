"""Training that goes on from run to run: parameters, buffers and the optimizer's state stay as the last step
left them, and move with the operators where the placement changes.

Between two plans all of it is on the CPU, of each process what its devices have used: parameters and buffers
in the user's module, the optimizer's state here. What another process is to use goes there, from one to the
other. Of random numbers nothing moves: each step draws them from seeds of its own.
"""
from __future__ import annotations

import time
from typing import Callable

import torch

from .gloo import GlooPost
from .moves import Move
from .optimizers import zero_state
from .program import step_devices
from .session import Sample, Session
from .spaces import is_host, wait_for


class Training:
    """Steps from the module as the factory gave it. done: how many there were. place: the device of each
    step of the module that the state is at; None: nobody has changed any yet."""

    def __init__(self, session: Session):
        self.session, self.done = session, 0
        self.optimizer_state: dict[str, dict] = {}
        self.place: list[int] | None = None
        session.reset()
        session.updates = {}  # of another run

    def prepare(self, placement: list[int], order: list[int] | None) -> None:
        """Go on by this placement."""
        s = self.session
        place = step_devices(s.roles, placement, s.steps, [d.name for d in s.devices])
        self._take()
        if self.place is not None and isinstance(s.post, GlooPost):
            self._exchange(s.post, self.place, place)
        self.place = place
        s.prepare(placement, order, trained=self.done)
        self._give()

    def step(self) -> tuple[Sample, float]:
        """One step, and its loss before it."""
        sample = self.run()
        return sample, float(next(r.loss for r in sample.ran if r and r.loss is not None))

    def run(self, start: Callable[[], float] = time.perf_counter) -> Sample:
        """One step. Random numbers are drawn by the names of operators and the step's number, so that they do
        not depend on the placement. start: as in Session.run."""
        s = self.session
        for space in s.spaces.values():
            for p in s.traced.module.parameters():
                if space.has(p):
                    space.here(p).grad = None
        sample = s.run(seeded=f"step {self.done}", start=start, fresh=False)
        self.done += 1
        return sample

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

    def _exchange(self, post: GlooPost, before: list[int], after: list[int]) -> None:
        """Parameters, buffers and the optimizer's state to the processes that go on with them."""
        moves = [m for m in self._moves(before, after) if post.site_of[m.src] != post.site_of[m.dst]]
        post.open(moves)
        try:
            for m in moves:
                if post.site_of[m.src] == post.own:
                    post.begin_send(m.src, m.dst, m.key, [t.detach().contiguous() for t in self._state(m.key)])
            for m in moves:
                if post.site_of[m.dst] == post.own:
                    self._take_in(m.key, post.receive(m.dst, m.key, f"the state of '{m.key}'"))
        except BaseException:
            for i, site in enumerate(post.site_of):
                if site == post.own:
                    post.settle(i)
            raise
        finally:
            post.close()

    def _moves(self, before: list[int], after: list[int]) -> list[Move]:
        """What changes its device: the same in all processes."""
        steps, moves = self.session.steps, {}
        for k, (old, new) in enumerate(zip(before, after)):
            for name in (*steps[k].params, *steps[k].buffers) if old != new else ():
                layouts = [torch.empty(t.shape, dtype=t.dtype, device="meta") for t in self._state(name)]
                moves[name] = Move(old, new, name, layouts)
        return list(moves.values())

    def _state(self, name: str) -> list[torch.Tensor]:
        """A parameter with its optimizer's state, or a buffer, on the CPU."""
        s = self.session
        found = {**dict(s.traced.module.named_buffers()), **dict(s.traced.module.named_parameters())}[name]
        if not found.requires_grad:
            return [found]
        state = self.optimizer_state.setdefault(name, zero_state(s.optimizer, found))
        return [found, *(state[key] for key in sorted(state))]

    def _take_in(self, name: str, values: list[torch.Tensor]) -> None:
        with torch.no_grad():
            for mine, value in zip(self._state(name), values):
                mine.copy_(value)

    def _give(self) -> None:
        """The optimizer's state to the devices of the new plan; parameters and buffers are there."""
        with torch.no_grad():
            for update in self.session.updates.values():
                for name, state in update.state.items():
                    for key, value in self.optimizer_state.get(name, {}).items():
                        state[key].copy_(value)
        for space in self.session.spaces:
            wait_for(space)
