"""A loaded model on the engine's devices: its plans are made ready, run and compared here."""
from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any, Callable

import torch
from torch import fx

from .devices import Device, Refusal
from .moves import Post, Stopped
from .optimizers import Update
from .placed import Space, compile_steps, model_output, output_node
from .program import link_steps, make_program, read_roles
from .spaces import is_host, wait_for
from .trace import Traced
from .unsplit import Outcome, Unsplit, bind_inputs, record
from .tracer import tensors_in
from .values import difference
from .worker import Plan, Ran, Worker, make_plan


@dataclass
class Sample:
    """One run of a plan. ran: of each device, None where it had nothing to do."""

    wall_s: float
    ran: list[Ran | None]
    peak_bytes: list[int | None] = field(default_factory=list)

    @property
    def sent_bytes(self) -> int:
        return sum(r.sent_bytes for r in self.ran if r)

    def forget(self) -> None:
        """Let go of what the model returned: it would take room beside the next run's."""
        for ran in self.ran:
            if ran:
                ran.outputs, ran.loss = {}, None


class Session:
    """names: of the operators of berth's graph."""

    def __init__(self, traced: Traced, names: list[str] | None, devices: list[Device], post: Post,
                 workers: list[Worker], make_names: Callable | None = None):
        self.traced, self.devices, self.post, self.workers = traced, devices, post, workers
        self.training = traced.mode == "training"
        self.optimizer = traced.spec.optimizer
        self.steps = compile_steps(traced)
        self.spaces = {d.space: Space(traced, self.steps, d.space) for d in devices}
        self.cpu = self.spaces.get(torch.device("cpu")) or Space(traced, self.steps, torch.device("cpu"))
        self.cpu.bind(set(range(len(self.steps))))
        self.unsplit = Unsplit(traced, self.steps, self.optimizer)
        self.record = record(traced, self.steps, self.cpu)
        self.unsplit.reset()
        if self.any_random:
            self.unsplit.check_trace()
        self.links = link_steps(self.steps, self.record.with_grad)
        self.names = make_names(traced, self.steps, self.record.with_grad) if make_names else names
        self.roles = read_roles(self.names, self.steps)
        self.keep = set(output_node(traced).all_input_nodes)
        for w in workers:
            w.space = self.spaces[w.device.space]
            w.space.place_inputs(bind_inputs(traced))
        self.plan: Plan | None = None
        self.updates: dict[torch.device, Update] = {}

    @property
    def any_random(self) -> bool:
        """Does a step draw random numbers?"""
        return any(s.random for s in self.steps)

    # ---- making ready ----

    def prepare(self, placement: list[int], order: list[int] | None, fine: bool = False) -> Plan:
        """Make a placement ready to run. fine: each operator a piece of its own."""
        names = [d.name for d in self.devices]
        program = make_program(self.roles, self.names, self.links, placement, order, names, self.keep, fine)
        self.bind(program.step_device)
        self.plan = make_plan(program, self.links, self.training, self.record.with_grad, self.keep)
        self.updates = {}
        for piece in program.pieces:
            if piece.params:
                self.update_of(self.spaces[self.devices[piece.device].space]).prepare(piece.params)
        return self.plan

    def bind(self, step_device: list[int]) -> None:
        """Have each step where it is placed, and in no accelerator's memory elsewhere."""
        self.updates = {}
        for space in self.spaces.values():
            try:
                space.bind({k for k, d in enumerate(step_device) if self.devices[d].space == space.device})
            except RuntimeError as why:
                raise no_room(space.device, why) from why

    def update_of(self, there: Space) -> Update:
        """The optimizer of the parameters in a space."""
        if there.device not in self.updates:
            params = {n: there.here(p) for n, p in self.traced.module.named_parameters() if there.has(p)}
            self.updates[there.device] = Update(self.optimizer, params)
        return self.updates[there.device]

    def reset(self) -> None:
        """Parameters, buffers and the optimizer's state as at first, everywhere."""
        self.unsplit.reset()
        with torch.no_grad():
            for space in self.spaces.values():
                for t, _ in self.unsplit.state:
                    if not is_host(space.device) and space.has(t):
                        space.here(t).copy_(t)
                        space.here(t).grad = None
                wait_for(space.device)
        for update in self.updates.values():
            update.reset()

    # ---- running ----

    def run(self, seeded: bool = True) -> Sample:
        """Run the plan that was made ready, once, from the first state."""
        plan = self.plan
        self.reset()
        active = [w for w in self.workers if any(p.device == w.number for p in plan.program.pieces)]
        zero: list[float] = []
        barrier = threading.Barrier(len(active), lambda: zero.append(time.perf_counter()))

        def begin() -> float:
            barrier.wait(30)
            return zero[0]

        self._forget_peaks()
        for w in active:
            w.ask(lambda w=w: w.run(plan, self.updates.get(w.device.space), begin, seeded))
        answers, failed = [None] * len(self.workers), None
        for w in active:
            try:
                answers[w.number] = w.answer()
            except Exception as why:
                failed = why if failed is None or isinstance(failed, Stopped) else failed
        if failed is not None:
            failed = self.post.why or failed
            self.post.clear()
            raise failed
        return Sample(max(r.end_s for r in answers if r), answers, self._peaks())

    def _forget_peaks(self) -> None:
        for space in self.spaces:
            if space.type == "cuda":
                torch.cuda.reset_peak_memory_stats(space)

    def _peaks(self) -> list[int | None]:
        spaces = [d.space for d in self.devices]
        return [torch.cuda.max_memory_allocated(s) if s.type == "cuda" else None for s in spaces]

    def outcome(self, sample: Sample) -> Outcome:
        """What the latest run left."""
        values: dict[fx.Node, Any] = dict(bind_inputs(self.traced))
        for ran in sample.ran:
            values.update(ran.outputs if ran else {})
        outputs = tensors_in(model_output(self.traced, values.__getitem__))
        made = Outcome([t.detach() for t in outputs])
        if self.training:
            place = self.plan.program.step_device
            loss = next((r.loss for r in sample.ran if r and r.loss is not None), None)
            made = Outcome(made.outputs, loss)
            for n, p in self.traced.module.named_parameters():
                here = self._owned(n, p, place, "params")
                made.params[n] = here.detach()
                if here.grad is not None:
                    made.grads[n] = here.grad
            for n, b in self.traced.module.named_buffers():
                made.buffers[n] = self._owned(n, b, place, "buffers")
        return made

    def _owned(self, name: str, t: torch.Tensor, place: list[int], which: str) -> torch.Tensor:
        """A parameter or buffer where its steps are run; one that no step uses is the user's."""
        for k, step in enumerate(self.steps):
            if name in getattr(step, which):
                return self.spaces[self.devices[place[k]].space].here(t)
        return t

    def expected(self) -> Outcome:
        """What the unsplit module comes to, random numbers drawn where the plan draws them."""
        place = self.plan.program.step_device
        return self.unsplit.outcome(lambda k: self.spaces[self.devices[place[k]].space])

    def check(self, sample: Sample) -> dict[str, float]:
        """Differences of the latest run from the unsplit module, by kind. With random numbers: of one with
        seeds.

        Parameters are compared with the optimizer's step from the run's own gradients: a first step of Adam
        is as long as the rate however small a gradient is, and one of rounding errors alone has any sign.
        """
        ours, theirs = self.outcome(sample).copied(), self.expected()
        if self.training:
            theirs = replace(theirs, params=self.unsplit.stepped(ours.grads))
        return ours.differences(theirs)

    def check_outputs(self, sample: Sample) -> float:
        """The same of the outputs alone. Not where random numbers are drawn."""
        return difference(self.outcome(sample).outputs, self.expected().outputs)


def no_room(space: torch.device, why: Exception) -> Refusal:
    kind = "device" if "out of memory" in str(why) else "model"
    return Refusal(kind, f"{space}: {' '.join(str(why).split())[:300]}")
