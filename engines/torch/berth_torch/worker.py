"""A device at work: a thread that runs its part of a program.

Forward, a unit's inputs are cut off from autograd and its outputs kept; backward, the unit gets the
gradients of its outputs and passes on those of its inputs. A gradient of a tensor from another device is
sent for each operator that used it, as in berth's graph; those of the device's own are summed where they
are.
"""
from __future__ import annotations

import os
import queue
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable

import torch
from torch import fx

from .devices import Device, Refusal, whole_number
from .moves import Move, Post, Stopped
from .optimizers import Update
from .placed import LOSS, Space, Step
from .program import FORWARD, GRAD, Links, Piece, Program, Unit
from .seeds import seeded
from .spaces import wait_for
from .tracer import tensors_in
from .unsplit import Record
from .values import bytes_of, leaf_of, map_tensors

HOP_LIMIT = 1 << 30  # bytes


@dataclass
class Timed:
    """When a piece ran in one run, in seconds from its start; cpu_s None: not known."""

    start_s: float
    end_s: float
    cpu_s: float | None


@dataclass
class Kept:
    """What a unit keeps from forward to backward.

    leaves: tensors that stand for its inputs, by node and operator (None: all of the unit's). roots: its
    outputs by node.
    """

    leaves: dict[tuple[fx.Node, int | None], list[torch.Tensor]] = field(default_factory=dict)
    roots: dict[fx.Node, list[torch.Tensor]] = field(default_factory=dict)


@dataclass
class Plan:
    """A program made ready: what all devices know of it.

    users: devices other than its own that a node goes to, [node]. keep: nodes that the model returns.
    drop: nodes that a device needs no more after a piece (step None) or after a step in it, [(device, piece,
    step)]. moves: all that goes from device to device.
    """

    program: Program
    links: Links
    training: bool
    with_grad: set[fx.Node]
    keep: set[fx.Node]
    users: dict[fx.Node, list[int]] = field(default_factory=dict)
    drop: dict[tuple[int, int, int | None], list[fx.Node]] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)


def make_plan(program: Program, links: Links, training: bool, record: Record, keep: set[fx.Node]) -> Plan:
    """What a program needs beside itself."""
    plan = Plan(program, links, training, record.with_grad, keep)
    last: dict[tuple[int, fx.Node], tuple[int, int | None]] = {}
    for i, p in enumerate(program.pieces):
        for u in p.units if p.part == FORWARD else []:
            last.update(last_uses(p.device, i, u, links.steps, last))
            for n in u.inputs:
                made = links.producer.get(n)
                if made is not None and program.step_device[made] != p.device:
                    devices = plan.users.setdefault(n, [])
                    if p.device not in devices:
                        devices.append(p.device)
    for (d, n), (i, k) in last.items():
        if n not in keep:
            plan.drop.setdefault((d, i, k), []).append(n)
    plan.moves = [m for k in range(len(links.steps)) for m in moves_of(plan, k, record.layouts)]
    return plan


def last_uses(device: int, piece: int, unit: Unit, steps: list[Step], before: dict) -> dict:
    """The place of the last use, so far, of what a unit takes and makes. What is made in this piece and goes
    out of its unit stays until the piece has sent it."""
    made = {n: (piece, None) for n in unit.outputs}
    for k in unit.steps:
        for n in steps[k].inputs:
            if n not in unit.outputs and before.get((device, n)) != (piece, None):
                made[n] = (piece, k)
    return {(device, n): place for n, place in made.items()}


def moves_of(plan: Plan, k: int, layouts: dict[fx.Node, Any]) -> list[Move]:
    """Where outputs of a step go, and where gradients of them come from."""
    place, links = plan.program.step_device, plan.links
    moves = [Move(place[k], d, n, layouts[n]) for n in links.steps[k].outputs for d in plan.users.get(n, ())]
    for n in links.steps[k].outputs if plan.training else ():
        for u in grad_senders(plan, n):
            given = zip(tensors_in(layouts[n]), links.gives[n, u])
            moves.append(Move(place[u], place[k], (n, u), [t if wanted else None for t, wanted in given]))
    return moves


def grad_senders(plan: Plan, n: fx.Node) -> list[int]:
    """Steps on other devices that send gradients of a node."""
    place, made = plan.program.step_device, plan.links.producer[n]
    return [u for u in sorted(plan.links.grad_from[made])
            if place[u] != place[made] and plan.links.gives_grad(n, u)]


def hop_bytes(size: int) -> int:
    """The bytes of a single transfer, which no message is without. Refuses what no link needs to be timed."""
    return max(1, whole_number("the size of a single transfer", size, 0, HOP_LIMIT))


class Worker:
    """A device with its thread. All that it does is asked for by `ask`."""

    def __init__(self, number: int, device: Device, space: Space | None, post: Post):
        self.number, self.device, self.space, self.post = number, device, space, post
        self.doing = ""
        self.speed = device.speed
        self.streams = post.streams[number]
        self.jobs: queue.SimpleQueue = queue.SimpleQueue()
        self.done: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=self._live, daemon=True).start()

    # ---- the thread ----

    def ask(self, what: Callable[[], Any]) -> None:
        self.jobs.put(what)

    def answer(self) -> Any:
        """What was asked for came to; raises what it raised."""
        value, why = self.done.get()
        if why is not None:
            raise why
        return value

    def call(self, what: Callable[[], Any]) -> Any:
        self.ask(what)
        return self.answer()

    def stop(self) -> None:
        self.jobs.put(None)

    def _live(self) -> None:
        if self.device.cores:
            try:
                os.sched_setaffinity(0, self.device.cores)
            except OSError:
                pass  # cores that were taken away since: it runs where it may
            torch.set_num_threads(self.device.threads)  # of this thread; of all where MKL computes
        while (what := self.jobs.get()) is not None:
            try:
                if self.streams:
                    with self.streams.api.stream(self.streams.work):
                        self.done.put((what(), None))
                else:
                    self.done.put((what(), None))
            except Exception as why:
                self.post.fail(why)
                self.done.put((None, why))

    # ---- single transfers and operators ----

    def bytes_here(self, size: int) -> torch.Tensor:
        """So many bytes in the device's memory, there."""
        value = torch.zeros(hop_bytes(size), dtype=torch.uint8, device=self.device.space)
        self._settle()
        return value

    def departure(self, to: int, key: Any, value: torch.Tensor) -> float:
        """Send a value; when that began."""
        start = time.perf_counter()
        self.post.send(self.number, to, key, value)
        return start

    def arrival(self, key: Any) -> float:
        """Wait for a value; when it can be used."""
        self.post.receive(self.number, key, "a transfer")
        self._settle()
        return time.perf_counter()

    def _settle(self) -> None:
        if self.streams:
            self.streams.work.synchronize()
        else:
            wait_for(self.device.space)

    def finish(self, start: float) -> None:
        """The end of work that began at start, on a device without streams."""
        wait_for(self.device.space)
        self._rest(start)

    # ---- a run ----

    def run(self, plan: Plan, update: Update | None, begin: Callable[[], float],
            seeded_: bool | str) -> "Ran":
        """Run this device's part once. begin: waits for all devices and gives the time that counts as 0.
        seeded_: random numbers by the names of operators; a text: and by that."""
        self.seeding, self.loss = seeded_, None
        self.plan, self.values, self.grads, self.kept = plan, dict(self.space.inputs), {}, {}
        self.update, self.sent_bytes = update, 0
        mine = [(i, p) for i, p in enumerate(plan.program.pieces) if p.device == self.number]
        try:
            return self._run(plan, mine, begin())
        except BaseException:
            self.post.settle(self.number)
            raise
        finally:
            self.values, self.grads, self.kept, self.stand_ins = {}, {}, {}, {}

    def _run(self, plan: Plan, mine: list[tuple[int, Piece]], zero: float) -> "Ran":
        base = self.streams.record(self.streams.work, True) if self.streams else None
        with torch.set_grad_enabled(plan.training):
            marks = [self._piece(i, p) for i, p in mine]
        self._settle()
        end = time.perf_counter() - zero
        times = [self._timed(m, base, zero) for m in marks]
        kept = {n: self.values[n] for n in plan.keep if n in self.values and n not in self.space.inputs}
        return Ran(dict(zip((i for i, _ in mine), times)), kept, self.sent_bytes, end, self.loss)

    def _timed(self, mark: tuple, base: Any, zero: float) -> Timed:
        start, end, cpu = mark
        if base is not None:
            return Timed(base.elapsed_time(start) / 1e3, base.elapsed_time(end) / 1e3, None)
        return Timed(start - zero, end - zero, cpu)

    def _mark(self) -> Any:
        if self.streams:
            return self.streams.record(self.streams.work, True)
        return time.perf_counter()

    def _piece(self, number: int, piece: Piece) -> tuple:
        """Run a piece; its start, its end and the CPU time of this thread in it."""
        try:
            return self._run_piece(number, piece)
        except (Refusal, Stopped):
            raise
        except Exception as why:
            raise self._refusal(piece, why) from why

    def _refusal(self, piece: Piece, why: Exception) -> Refusal:
        where = f"{self.device.name}: {self.doing}"
        if "out of memory" in str(why):
            return Refusal("device", f"{where}: out of memory: {str(why).splitlines()[0][:200]}")
        return Refusal("model", f"{where}: {type(why).__name__}: {' '.join(str(why).split())[:300]}")

    def _run_piece(self, number: int, piece: Piece) -> tuple:
        self.doing, self.piece = piece.part, number
        for unit in piece.units:
            self._receive(unit, piece.part)
        start, cpu = self._mark(), time.thread_time()
        for unit in piece.units:
            if piece.part == FORWARD:
                self._forward(unit)
            else:
                self._backward(unit)
        if piece.params:
            self.doing = "the optimizer"
            self.update.step(piece.params)
        used = time.thread_time() - cpu
        if not self.streams:
            self.finish(start)
        end = self._mark()
        for unit in piece.units:
            if piece.part == FORWARD:
                self._send(unit)
            elif piece.part == GRAD:
                self._pass_on(unit)
        self._drop(None, self.values)
        return start, end, used if self.device.threads == 1 else None

    def _drop(self, step: int | None, *held: dict[fx.Node, Any]) -> None:
        """Let go of what is needed no more after a step, or after the piece."""
        for n in self.plan.drop.get((self.number, self.piece, step), ()):
            for values in held:
                values.pop(n, None)

    def _rest(self, start: Any) -> None:
        """A device that is slowed down has a share of the time only."""
        if self.speed < 1:
            time.sleep((time.perf_counter() - start) * (1 / self.speed - 1))

    # ---- forward ----

    def _receive(self, unit: Unit, part: str) -> None:
        """Wait for what other devices send to a unit."""
        place, links = self.plan.program.step_device, self.plan.links
        if part == FORWARD:
            for n in unit.inputs:
                made = links.producer.get(n)
                if n not in self.values and place[made] != self.number:
                    what = f"the output of '{links.steps[made].name}'"
                    self.values[n] = self.post.receive(self.number, n, what)
            return
        for n in unit.outputs:
            for k in grad_senders(self.plan, n) if n in self.plan.with_grad else ():
                grads = self.post.receive(self.number, (n, k), f"the gradient from '{links.steps[k].name}'")
                self._add_grads(n, grads)

    def _leaf(self, unit: Unit, kept: Kept, n: fx.Node, step: int) -> Any:
        """What an operator of the unit takes for a node from outside."""
        value = self.values[n]
        if not self.plan.training or n not in self.plan.with_grad:
            return value
        own = self.plan.program.step_device[self.plan.links.producer[n]] == self.number
        key = (n, None if own else step)
        if key not in kept.leaves:
            made = map_tensors(value, leaf_of)
            kept.leaves[key] = tensors_in(made)
            self.stand_ins[key] = made
        return self.stand_ins[key]

    def _forward(self, unit: Unit) -> None:
        steps, kept = self.plan.links.steps, Kept()
        local: dict[fx.Node, Any] = {}
        self.stand_ins: dict[Any, Any] = {}
        inside = {n for k in unit.steps for n in steps[k].outputs}
        for k in unit.steps:
            step = steps[k]
            self.doing = f"'{step.name}'"
            args = [local[n] if n in inside else self._leaf(unit, kept, n, k) for n in step.inputs]
            if step.mutates:
                args = [a if n in inside else map_tensors(a, torch.clone) for n, a in zip(step.inputs, args)]
            outs = self._call(k, args)
            local.update(zip(step.outputs, outs))
            if step.name == LOSS:
                kept.roots[LOSS] = [outs[0]]
                self.loss = outs[0].detach()
            del args, outs
            self._drop(k, local, self.values)
        self._keep(unit, kept, local)

    def _call(self, k: int, args: list) -> tuple:
        step = self.plan.links.steps[k]
        if step.random and self.seeding:
            name = step.name if self.seeding is True else f"{step.name} {self.seeding}"
            with seeded(name, self.device.space):
                return self.space.calls[k](*args)
        return self.space.calls[k](*args)

    def _keep(self, unit: Unit, kept: Kept, local: dict[fx.Node, Any]) -> None:
        for n in unit.outputs:
            if self.plan.training and n in self.plan.with_grad:
                kept.roots[n] = tensors_in(local[n])
            self.values[n] = map_tensors(local[n], torch.Tensor.detach) if self.plan.training else local[n]
        if self.plan.training:
            self.kept[id(unit)] = kept

    def _send(self, unit: Unit) -> None:
        for n in unit.outputs:
            for dst in self.plan.users.get(n, ()):
                self.post.send(self.number, dst, n, self.values[n])
                self.sent_bytes += bytes_of(self.values[n])

    # ---- backward ----

    def _add_grads(self, n: fx.Node, grads: list[torch.Tensor | None]) -> None:
        have = self.grads.get(n)
        if have is None:
            self.grads[n] = list(grads)
            return
        for i, g in enumerate(grads):
            if g is not None:
                have[i] = g if have[i] is None else have[i] + g

    def _backward(self, unit: Unit) -> None:
        kept = self.kept[id(unit)]
        self.doing = f"the backward pass of '{self.plan.links.steps[unit.steps[-1]].name}'"
        roots, grads = [], []
        for n, tensors in kept.roots.items():
            given = [None] * len(tensors) if n == LOSS else self.grads.pop(n, [None] * len(tensors))
            for t, g in zip(tensors, given):
                if t.requires_grad and (g is not None or n == LOSS):
                    roots.append(t)
                    grads.append(g)
        kept.roots = {}
        if roots:
            torch.autograd.backward(roots, grads)
        for (n, k), leaves in kept.leaves.items():
            if k is None:
                self._add_grads(n, [t.grad for t in leaves])

    def _pass_on(self, unit: Unit) -> None:
        kept, place = self.kept.pop(id(unit)), self.plan.program.step_device
        for (n, k), leaves in kept.leaves.items():
            if k is None or not self.plan.links.gives_grad(n, k):
                continue
            grads = [t.grad for t in leaves]
            self.sent_bytes += bytes_of(grads)
            self.post.send(self.number, place[self.plan.links.producer[n]], (n, k), grads)


@dataclass
class Ran:
    """What a device came to in a run. pieces: by their number in the program. outputs: what the model
    returns of it.
    """

    pieces: dict[int, Timed]
    outputs: dict[fx.Node, Any]
    sent_bytes: int
    end_s: float
    loss: torch.Tensor | None

