"""A loaded model on the engine's devices: its plans are made ready, run and compared here."""
from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Callable

import torch
from torch import fx

from .devices import Device, Refusal, whole_numbers
from .moves import Post, Stopped
from .optimizers import Update
from .placed import Space, compile_steps, model_output, output_node
from .program import link_steps, make_program, read_roles
from .resident import Resident
from .spaces import is_host, wait_for
from .trace import Traced
from .unsplit import Outcome, Unsplit, bind_inputs, record
from .tracer import tensor_bytes, tensors_in
from .values import difference
from .worker import Plan, Ran, Worker, make_plan

if TYPE_CHECKING:
    from .crew import Crew


@dataclass
class State:
    """What a training step leaves, by name: gradients (a parameter without one is missing), parameters, and
    buffers."""

    grads: dict[str, torch.Tensor] = field(default_factory=dict)
    params: dict[str, torch.Tensor] = field(default_factory=dict)
    buffers: dict[str, torch.Tensor] = field(default_factory=dict)


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
    """names: of the operators of berth's graph. workers: None for devices of other processes. crew: these
    processes, where this one is the engine's and has no devices."""

    def __init__(self, traced: Traced, names: list[str], devices: list[Device], post: Post,
                 workers: list[Worker | None], crew: "Crew | None" = None):
        self.traced, self.devices, self.post, self.crew = traced, devices, post, crew
        self.workers = [w for w in workers if w is not None]
        self.training = traced.mode == "training"
        self.optimizer = traced.spec.optimizer
        self.steps = compile_steps(traced)
        self.spaces = {w.device.space: Space(traced, self.steps, w.device.space) for w in self.workers}
        self.cpu = self.spaces.get(torch.device("cpu")) or Space(traced, self.steps, torch.device("cpu"))
        self.cpu.bind(set(range(len(self.steps))))
        self.unsplit = Unsplit(traced, self.steps, self.optimizer)
        self.record = record(traced, self.steps, self.cpu)
        self.unsplit.reset()
        if self.any_random:
            self.unsplit.check_trace()
        self.links = link_steps(self.steps, self.record.with_grad, self.record.gives)
        self.names = names
        self.roles = read_roles(self.names, self.steps)
        self.keep = set(output_node(traced).all_input_nodes)
        for w in self.workers:
            w.space = self.spaces[w.device.space]
            w.space.place_inputs(bind_inputs(traced))
        self.plan: Plan | None = None
        self.updates: dict[torch.device, Update] = {}
        self.resident = Resident()

    @property
    def any_random(self) -> bool:
        """Does a step draw random numbers?"""
        return any(s.random for s in self.steps)

    # ---- making ready ----

    def prepare(self, placement: list[int], order: list[int] | None, fine: bool = False,
                trained: int | None = None) -> Plan:
        """Make a placement ready to run. fine: each operator a piece of its own. trained: steps that there
        were of a training that goes on by it, which Training keeps; None: it is of none."""
        names, n = [d.name for d in self.devices], len(self.roles)
        placement = whole_numbers("placement", placement, len(names) - 1, n)
        order = None if order is None else whole_numbers("order", order, n - 1, n)
        program = make_program(self.roles, self.names, self.links, placement, order, names, self.keep, fine)
        self.bind(program.step_device)
        self.plan = make_plan(program, self.links, self.training, self.record, self.keep)
        self.updates = {}
        for piece in program.pieces:
            if piece.params and self.devices[piece.device].here:
                self.update_of(self.spaces[self.devices[piece.device].space]).prepare(piece.params)
        if self.crew:
            self.crew.prepare(placement, order, fine, trained)
        return self.plan

    def bind(self, step_device: list[int]) -> None:
        """Have each step where it is placed, and in no accelerator's memory elsewhere."""
        self.updates = {}
        for space in self.spaces.values():
            try:
                space.bind({k for k, d in enumerate(step_device) if self._is_in(d, space)})
            except RuntimeError as why:
                raise no_room(space.device, why) from why

    def _is_in(self, device: int, space: Space) -> bool:
        """Is it a device of this process in that space? -1: none."""
        return device >= 0 and self.devices[device].here and self.devices[device].space == space.device

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

    def run(self, seeded: bool | str = True, start: Callable[[], float] = time.perf_counter,
            fresh: bool = True) -> Sample:
        """Run the plan that was made ready, once, from the first state, or (fresh false) from that of the last
        run. start: called when the devices of this process are ready, gives the time that
        counts as 0. seeded: as in Worker.run."""
        if self.crew:
            return self.crew.run(self, seeded, fresh)
        plan = self.plan
        if fresh:
            self.reset()
        active = [w for w in self.workers if any(p.device == w.number for p in plan.program.pieces)]
        self.post.open(plan.moves)
        self._forget_peaks(seeded is True)
        try:
            ran = self._all(active, start, lambda w, begin: w.run(plan, self.updates.get(w.device.space),
                                                                  begin, seeded))
        finally:
            self.post.close()
        answers: list[Ran | None] = [None] * len(self.devices)
        for w, r in zip(active, ran):
            answers[w.number] = r
        return Sample(max((r.end_s for r in ran), default=0.0), answers, self._peaks())

    def _all(self, active: list[Worker], start: Callable[[], float], what: Callable) -> list:
        """What all of these came to, begun together; the first failure where there is one."""
        if not active:
            start()
            return []
        zero: list[float] = []
        barrier = threading.Barrier(len(active), lambda: zero.append(start()))

        def begin() -> float:
            barrier.wait(self.post.limit_s)
            return zero[0]

        for w in active:
            w.ask(lambda w=w: what(w, begin))
        answers, failed = [], None
        for w in active:
            try:
                answers.append(w.answer())
            except Exception as why:
                failed = why if failed is None or isinstance(failed, Stopped) else failed
        if failed is not None:
            failed = self.post.why or failed
            self.post.clear()
            raise failed
        return answers

    def _forget_peaks(self, first: bool) -> None:
        """first: memory of the CPU is looked at, too, which makes the run slower."""
        if first and len(self.workers) == 1 and self.workers[0].device.is_cpu:
            self.resident.begin()
        for space in self.spaces:
            if space.type == "cuda":
                torch.cuda.reset_peak_memory_stats(space)

    def _peaks(self) -> list[int | None]:
        grown, peaks = self.resident.most(), []
        for i, d in enumerate(self.devices):
            if not d.here:
                peaks.append(None)
            elif d.space.type == "cuda":
                peaks.append(torch.cuda.max_memory_allocated(d.space))
            else:
                peaks.append(None if grown is None else grown + self._bytes_before(i))
        return peaks

    def _bytes_before(self, device: int) -> int:
        """What a device holds when a run begins: parameters and buffers of its steps, the optimizer's state."""
        place, named = self.plan.program.step_device, {**self._named("parameters"), **self._named("buffers")}
        used = {n for k, s in enumerate(self.steps) if place[k] == device for n in s.params + s.buffers}
        states = [v for u in self.updates.values() for state in u.state.values() for v in state.values()]
        return sum(map(tensor_bytes, [named[n] for n in used] + states))

    def outcome(self, sample: Sample) -> Outcome:
        """What the latest run left."""
        values: dict[fx.Node, Any] = dict(bind_inputs(self.traced))
        for ran in sample.ran:
            values.update(ran.outputs if ran else {})
        outputs = tensors_in(model_output(self.traced, values.__getitem__))
        made = Outcome([t.detach() for t in outputs])
        if self.training:
            loss = next((r.loss for r in sample.ran if r and r.loss is not None), None)
            state = self.crew.state() if self.crew else self.state()
            made = Outcome(made.outputs, loss, state.grads, state.params, state.buffers)
            for n, p in self.traced.module.named_parameters():  # those that no step uses
                made.params.setdefault(n, p.detach())
            for n, b in self.traced.module.named_buffers():
                made.buffers.setdefault(n, b)
        return made

    def state(self) -> State:
        """What the latest run left on the devices of this process."""
        place, params, made = self.plan.program.step_device, self._named("parameters"), State()
        buffers = self._named("buffers")
        for k, step in enumerate(self.steps):
            if not self.devices[place[k]].here:
                continue
            space = self.spaces[self.devices[place[k]].space]
            for n in step.params:
                here = space.here(params[n])
                made.params[n] = here.detach()
                if here.grad is not None:
                    made.grads[n] = here.grad
            made.buffers.update((n, space.here(buffers[n])) for n in step.buffers)
        return made

    def _named(self, which: str) -> dict[str, torch.Tensor]:
        return dict(getattr(self.traced.module, f"named_{which}")())

    def expected(self) -> Outcome:
        """What the unsplit module comes to, random numbers drawn where the plan draws them."""
        place = self.plan.program.step_device
        return self.unsplit.outcome(lambda k: self._space_like(self.devices[place[k]]))

    def _space_like(self, d: Device) -> Space:
        """A space of this process where random numbers are drawn as on that device."""
        found = self.cpu if d.is_cpu else self.spaces.get(d.space)
        if found is None:
            raise Refusal("device", f"{d.name} draws random numbers in another process, on an accelerator: "
                                    "its outputs cannot be compared")
        return found

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
