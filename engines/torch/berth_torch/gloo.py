"""Values between devices of several processes: torch.distributed's gloo, point to point.

What goes where is known before a run: the program tells which device needs which node, and the record of
the module its tensors' types, shapes and strides. So each message is the bytes of one tensor under a number
of its own, and receives are begun before the run is. A device that fails sends zeros for what it still owes:
nobody waits for it, and the group stays whole.
"""
from __future__ import annotations

import queue
import threading
from datetime import timedelta
from typing import Any, Callable

import torch
import torch.distributed as dist

from .devices import Device, Refusal
from .moves import Move, Post
from .spaces import is_host
from .tracer import tensors_in
from .values import map_tensors

HOP_TAG = 1 << 30  # behind the tags of any program


c10d = getattr(torch._C, "_distributed_c10d", None)


class Cut(Refusal):
    """A value did not come: its sender has gone, or is too slow. What is under way cannot be called back."""

    def __init__(self, text: str):
        super().__init__("cut", text)


def check_gloo() -> None:
    """Refuses a PyTorch that was built without it."""
    if not hasattr(c10d, "ProcessGroupGloo"):
        raise Refusal("missing", "this PyTorch was built without gloo, which devices in processes need")


def empty_like(t: torch.Tensor) -> torch.Tensor:
    """A tensor of that layout on the CPU, without values."""
    return torch.empty_strided(t.size(), t.stride(), dtype=t.dtype)


def as_bytes(t: torch.Tensor) -> torch.Tensor:
    """The memory of a dense tensor, in a row."""
    return t.as_strided((t.numel(),), (1,)).view(torch.uint8)


def open_store(host: str) -> Any:
    """Where the processes of a group find each other."""
    return dist.TCPStore(host, 0, None, True, timedelta(seconds=20), wait_for_workers=False)


class Outlet(threading.Thread):
    """Sends what accelerators have copied to the CPU. A device whose copy fails has failed."""

    def __init__(self, post: "GlooPost"):
        super().__init__(daemon=True)
        self.post = post
        self.jobs: queue.SimpleQueue = queue.SimpleQueue()
        self.start()

    def run(self) -> None:
        failed: Exception | None = None
        while True:
            job = self.jobs.get()
            if isinstance(job, queue.SimpleQueue):
                job.put(failed)
                failed = None
                continue
            src, dst, key, value, event = job
            try:
                event.synchronize()
                self.post.begin_send(src, dst, key, value)
            except Exception as why:
                failed = failed or why
                self.post.fail(why)
                self.post.settle(src)
            del job, value  # not until there is another one

    def emptied(self, limit_s: float) -> Exception | None:
        """Until all is sent that it was given; what failed of it."""
        done: queue.SimpleQueue = queue.SimpleQueue()
        self.jobs.put(done)
        try:
            return done.get(timeout=limit_s)
        except queue.Empty:
            return Cut(f"{limit_s:g} s were over in waiting for copies to the CPU")


class Sent(threading.Thread):
    """Holds values until they are taken, and no longer."""

    def __init__(self, wait: Callable[[Any, str], None]):
        super().__init__(daemon=True)
        self.wait = wait
        self.jobs: queue.SimpleQueue = queue.SimpleQueue()
        self.start()

    def run(self) -> None:
        failed: Cut | None = None
        while True:
            work, value, done = self.jobs.get()
            try:
                if done is None:
                    self.wait(work, "what it sent to be taken")
            except Cut as why:
                failed = failed or why
            if done is not None:
                done.put(failed)
                failed = None
            del work, value  # not until there is another one

    def all_taken(self, limit_s: float) -> None:
        """Raises Cut where one was not."""
        done: queue.SimpleQueue = queue.SimpleQueue()
        self.jobs.put((None, None, done))
        try:
            failed = done.get(timeout=limit_s)
        except queue.Empty:
            failed = Cut(f"{limit_s:g} s were over in waiting for what it sent to be taken")
        if failed is not None:
            raise failed


class GlooPost(Post):
    """site_of: the process of each device, and own that of this one."""

    def __init__(self, devices: list[Device], limit_s: float, site_of: list[int], own: int):
        super().__init__(devices, limit_s)
        self.site_of, self.own = site_of, own
        self.group: Any = None
        self.outlet: Outlet | None = None
        self.sent = Sent(self._wait)
        self.lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self.owed: dict[tuple[int, int, Any], tuple[Any, int]] = {}  # value and tag, until it is sent
        self.coming: dict[tuple[int, Any], tuple[Any, list[Any]]] = {}  # value and receives under way

    # ---- the group ----

    def join(self, store: tuple[str, int], bind: str, name: str) -> None:
        """Find the others and connect to each. Raises Cut."""
        options = c10d.ProcessGroupGloo._Options()
        options._timeout = timedelta(seconds=self.limit_s)
        n = max(self.site_of) + 1
        try:
            options._devices = [c10d.ProcessGroupGloo.create_device(hostname=bind)]
            found = dist.TCPStore(store[0], store[1], None, False, timedelta(seconds=self.limit_s))
            self.group = c10d.ProcessGroupGloo(dist.PrefixStore(name, found), self.own, n, options)
        except RuntimeError as why:
            raise Cut(f"the processes do not find each other: {' '.join(str(why).split())[:200]}") from why

    # ---- a run ----

    def open(self, moves: list[Move]) -> None:
        self._forget()
        tag = 0
        for m in moves:
            tensors = [t for t in tensors_in(m.value) if t.numel()]
            here = self.site_of[m.src] == self.own, self.site_of[m.dst] == self.own
            if here == (True, False):
                self.owed[m.src, m.dst, m.key] = m.value, tag
            elif here == (False, True):
                self.expect(m.src, m.dst, m.key, m.value, tag)
            tag += len(tensors)

    def expect(self, src: int, dst: int, key: Any, value: Any, tag: int) -> None:
        """Begin to receive a value."""
        made = map_tensors(value, empty_like)
        full = [t for t in tensors_in(made) if t.numel()]
        works = [self.group.recv([as_bytes(t)], self.site_of[src], tag + i) for i, t in enumerate(full)]
        self.coming[dst, key] = made, works

    def close(self) -> None:
        """Until all that was begun is done, of a run that failed, too: by now its devices are settled. Raises
        Cut, and what an accelerator's copy failed with."""
        failed = self.outlet.emptied(self.limit_s) if self.outlet else None
        coming = self.coming
        self._forget()
        for _, works in coming.values():
            for work in works:
                self._wait(work, "the rest of a run")
        self.sent.all_taken(self.limit_s)
        if failed is not None:
            self.clear()
            raise failed

    def settle(self, src: int) -> None:
        for (a, b, key), (value, _) in [*self.owed.items()]:
            if a == src:
                try:
                    self.begin_send(a, b, key, map_tensors(value, lambda t: empty_like(t).zero_()))
                except Cut:
                    pass  # the other side has gone, too

    def _wait(self, work: Any, what: str) -> None:
        try:
            work.wait(timedelta(seconds=self.limit_s))
        except RuntimeError as why:
            text = str(why)
            lost = "a connection was lost" if "imed out" not in text else f"{self.limit_s:g} s were over"
            raise Cut(f"{lost} in waiting for {what}") from why

    # ---- values ----

    def send(self, src: int, dst: int, key: Any, value: Any) -> None:
        if self.site_of[dst] == self.own:
            super().send(src, dst, key, value)
        elif is_host(self.devices[src].space):
            self.begin_send(src, dst, key, value)
        else:
            moved, event = self._copied_out(src, value)
            if event is None:
                self.begin_send(src, dst, key, moved)
                return
            with self.lock:
                self.outlet = self.outlet or Outlet(self)
            self.outlet.jobs.put((src, dst, key, moved, event))

    def begin_send(self, src: int, dst: int, key: Any, value: Any) -> None:
        with self.lock:
            known = self.owed.pop((src, dst, key), None)
        if known is None:
            return  # settled in the meantime
        (layout, tag), tensors = known, tensors_in(value)
        if len(tensors) != len(tensors_in(layout)):
            raise Refusal("", f"{self.devices[src].name} has other gradients to send than the record says")
        for t, wanted in zip(tensors, tensors_in(layout)):
            if not wanted.numel():
                continue
            if t.stride() != wanted.stride():
                t = empty_like(wanted).copy_(t)
            flat = as_bytes(t.detach())
            try:
                self.sent.jobs.put((self.group.send([flat], self.site_of[dst], tag), flat, None))
            except RuntimeError as why:
                raise Cut(f"{self.devices[dst].name} cannot be reached any more") from why
            tag += 1

    def receive(self, dst: int, key: Any, what: str) -> Any:
        found = self.coming.pop((dst, key), None)
        if found is None:
            return super().receive(dst, key, what)
        value, works = found
        for work in works:
            self._wait(work, f"{what}, by {self.devices[dst].name}")
        space = self.devices[dst].space
        return value if is_host(space) else map_tensors(value, lambda t: t.to(space))

    # ---- single transfers ----

    def owe_hop(self, src: int, dst: int, size: int) -> None:
        self.owed[src, dst, "hop"] = torch.empty(size, dtype=torch.uint8, device="meta"), HOP_TAG

    def expect_hop(self, src: int, dst: int, size: int) -> None:
        self.expect(src, dst, "hop", torch.empty(size, dtype=torch.uint8, device="meta"), HOP_TAG)
