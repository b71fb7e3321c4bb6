"""How values get from device to device, each at most once to a destination.

A receiver waits for a value by its key. Between CPU devices of one process a value is handed over as it is.
From an accelerator it is copied into pinned memory by a stream of its own, behind an event of the work; to
an accelerator by a thread of the link, from pinned memory. So copies overlap with work. Every wait has a
limit.
"""
from __future__ import annotations

import queue
import threading
from dataclasses import dataclass
from typing import Any

import torch

from .devices import Device, Refusal
from .spaces import has_streams, is_host
from .tracer import tensors_in
from .values import map_tensors

WAIT_S = 60.0  # the longest that anybody waits for anybody, where --timeout does not say


class Stopped(Exception):
    """Another device failed; its own exception tells why."""


@dataclass
class Move:
    """A value that goes from device to device: the output of a step (key: its node), or gradients from a step
    (key: node and step). value: as it is, with tensors that tell types, shapes and strides alone."""

    src: int
    dst: int
    key: Any
    value: Any


class Streams:
    """Streams of an accelerator: of its work, and of copies in each direction."""

    def __init__(self, space: torch.device):
        self.api = getattr(torch, space.type)
        self.work, self.into, self.out = (self.api.Stream(space) for _ in range(3))

    def record(self, stream: Any, timed: bool = False) -> Any:
        event = self.api.Event(enable_timing=timed)
        event.record(stream)
        return event


class Box:
    """Values on their way to one device. A value comes with the event after which it is there, or None."""

    def __init__(self, device: Device, failed: threading.Event, limit_s: float):
        self.device, self.failed, self.limit_s = device, failed, limit_s
        self.ready = threading.Condition()
        self.held: dict[Any, tuple[Any, Any]] = {}

    def put(self, key: Any, value: Any, event: Any = None) -> None:
        with self.ready:
            self.held[key] = (value, event)
            self.ready.notify_all()

    def take(self, key: Any, what: str) -> tuple[Any, Any]:
        """Wait for a value and take it out. what: for the message, where it does not come in time."""
        with self.ready:
            if not self.ready.wait_for(lambda: key in self.held or self.failed.is_set(), self.limit_s):
                raise Refusal("", f"{self.device.name} waited {self.limit_s:g} s for {what}")
            if key not in self.held:
                raise Stopped()
            return self.held.pop(key)

    def wake(self) -> None:
        with self.ready:
            self.ready.notify_all()


def _pinned(t: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(t, device="cpu", pin_memory=True)


class Link(threading.Thread):
    """The thread that copies to an accelerator."""

    def __init__(self, post: "Post", to: int):
        super().__init__(daemon=True)
        self.post, self.to = post, to
        self.jobs: queue.SimpleQueue = queue.SimpleQueue()
        self.start()

    def run(self) -> None:
        while (job := self.jobs.get()) is not None:
            try:
                self._copy(*job)
            except Exception as why:  # told by the device that waits for it
                self.post.fail(why)

    def _copy(self, key: Any, value: Any, event: Any) -> None:
        streams, space = self.post.streams[self.to], self.post.devices[self.to].space
        if event is not None:
            event.synchronize()
        with streams.api.stream(streams.into):
            moved = map_tensors(value, lambda t: self._one(t, space))
            there = streams.record(streams.into)
        self.post.boxes[self.to].put(key, moved, there)

    @staticmethod
    def _one(t: torch.Tensor, space: torch.device) -> torch.Tensor:
        if is_host(t.device) and not t.is_pinned():
            t = _pinned(t).copy_(t)
        return torch.empty_like(t, device=space).copy_(t, non_blocking=True)


class Post:
    """Moves values between the devices of one process. limit_s: of each wait."""

    def __init__(self, devices: list[Device], limit_s: float = WAIT_S):
        self.devices, self.limit_s = devices, limit_s
        self.failed = threading.Event()
        self.why: Exception | None = None
        self.boxes = [Box(d, self.failed, limit_s) for d in devices]
        self.streams = [Streams(d.space) if d.here and has_streams(d.space) else None for d in devices]
        self.links: dict[tuple[int, int], Link] = {}

    def fail(self, why: Exception) -> None:
        """Let everybody who waits stop. The first cause is kept."""
        if not self.failed.is_set() and not isinstance(why, Stopped):
            self.why = why
        self.failed.set()
        for box in self.boxes:
            box.wake()

    def clear(self) -> None:
        """Forget what was sent and not taken."""
        self.failed.clear()
        self.why = None
        for box in self.boxes:
            box.held.clear()

    # of devices in several processes alone (gloo.py)

    def open(self, moves: list[Move]) -> None:
        """A run begins, in which these values go from device to device."""

    def settle(self, src: int) -> None:
        """A device has failed, and sends nothing more by itself."""

    def close(self) -> None:
        """The run has ended."""

    def send(self, src: int, dst: int, key: Any, value: Any) -> None:
        """From the thread of src, behind the work that it has begun."""
        a, b = self.devices[src].space, self.devices[dst].space
        if a == b and is_host(a):
            self.boxes[dst].put(key, value)
        elif is_host(b):
            self.boxes[dst].put(key, *self._copied_out(src, value))
        elif self.streams[dst] is None:
            self.boxes[dst].put(key, map_tensors(value, lambda t: t.to(b)))
        elif a == b:
            self.boxes[dst].put(key, value, self._behind_work(src))
        else:
            link = self.links.get((src, dst)) or self.links.setdefault((src, dst), Link(self, dst))
            link.jobs.put((key, value, self._behind_work(src)))

    def _behind_work(self, src: int) -> Any:
        streams = self.streams[src]
        return streams.record(streams.work) if streams else None

    def _copied_out(self, src: int, value: Any) -> tuple[Any, Any]:
        """An accelerator's value on the CPU, and the event after which it is there, or None."""
        streams = self.streams[src]
        if streams is None:
            return map_tensors(value, lambda t: t.cpu()), None
        streams.out.wait_event(self._behind_work(src))
        with streams.api.stream(streams.out):
            moved = map_tensors(value, lambda t: _pinned(t).copy_(t, non_blocking=True))
            for t in tensors_in(value):
                t.record_stream(streams.out)
            return moved, streams.record(streams.out)

    def receive(self, dst: int, key: Any, what: str) -> Any:
        """Wait for a value, in the thread of dst; the work of an accelerator waits by itself."""
        value, event = self.boxes[dst].take(key, what)
        streams = self.streams[dst]
        if event is not None and streams is None:
            event.synchronize()
        elif event is not None:
            streams.work.wait_event(event)
            for t in tensors_in(value):
                t.record_stream(streams.work)
        return value

    def stop(self) -> None:
        for link in self.links.values():
            link.jobs.put(None)
