"""Values between devices of several processes: torch.distributed's gloo, point to point.

What goes where is known before a run: the program tells which device needs which node, and the record of
the module its tensors' types, shapes and strides. So each message is the bytes of one tensor under a number
of its own, and receives are begun before the run is. A device that fails sends zeros for what it still owes:
nobody waits for it, and the group stays whole. Between processes of this host, large tensors lie in memory that
both have (shared.py), and their message is one byte.
"""
from __future__ import annotations

import os
import queue
import threading
from datetime import timedelta
from typing import Any, Callable, Sequence

import torch
import torch.distributed as dist

from .devices import Device, Refusal
from .moves import Move, Post
from .shared import LEAST, Segment, made as new_segment, opened
from .spaces import is_host
from .tracer import tensors_in
from .values import map_tensors

HOP_TAG = 1 << 30  # behind the tags of any program
SHARE_TAG = HOP_TAG + 1


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
        self.near: set[int] = set()  # sites of this host, but for this one
        # memory shared with a site, and its size; None: there is none to be had. places: of the tensors that
        # go through it in this run, by source, destination, key and number
        self.out: dict[int, tuple[int, Segment | None]] = {}
        self.into: dict[int, tuple[int, Segment | None]] = {}
        self.places: dict[tuple[int, int, Any, int], int] = {}
        self._forget()

    def _forget(self) -> None:
        self.owed: dict[tuple[int, int, Any], tuple[Any, int]] = {}  # value and tag, until it is sent
        # value, receives under way, and what is then to be copied to where
        self.coming: dict[tuple[int, Any], tuple[Any, list[Any], list[tuple[torch.Tensor, torch.Tensor]]]] = {}

    # ---- the group ----

    def join(self, store: tuple[str, int], bind: str, name: str, near: Sequence[int] = ()) -> None:
        """Find the others and connect to each. near: sites that share memory. Raises Cut."""
        self.near = set(near) - {self.own} if self.own in near else set()
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
        self.share(moves)
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
        made, works, copies = map_tensors(value, empty_like), [], []
        for i, t in enumerate(t for t in tensors_in(made) if t.numel()):
            into, at = as_bytes(t), self.places.get((src, dst, key, i))
            if at is not None:
                copies.append((self.into[self.site_of[src]][1].part(at, into.numel()), into))
                into = torch.empty(1, dtype=torch.uint8)
            works.append(self.group.recv([into], self.site_of[src], tag + i))
        self.coming[dst, key] = made, works, copies

    # ---- shared memory ----

    def share(self, moves: list[Move]) -> None:
        """Give the large tensors of these values places in memory that is shared with other processes of this
        host. All of them come here at one time, and find the same places. Raises Cut."""
        wanted, coming, going = self._lay_out(moves)
        grown = [{site: size * 5 // 4 for site, size in sizes.items() if site not in have or have[site][0] < size}
                 for sizes, have in ((coming, self.into), (going, self.out))]
        if any(grown):
            self._agree(*grown)
        self.places = {place: at for place, (site, ours, at) in wanted.items()
                       if (self.out if ours else self.into)[site][1] is not None}

    def _agree(self, coming: dict[int, int], going: dict[int, int]) -> None:
        """Make memory for so many bytes from these sites, and open that of those that so many go to."""
        for site, size in coming.items():
            segment = new_segment(size)
            self.into[site] = size, segment
            self._tell(site, SHARE_TAG, [os.getpid(), segment.fd if segment else -1])
        for site, size in going.items():
            pid, fd = self._hear(site, SHARE_TAG, 2)
            segment = opened(pid, fd, size) if fd >= 0 else None
            self.out[site] = size, segment
            self._tell(site, SHARE_TAG + 1, [int(segment is not None)])
        for site, size in coming.items():
            if self._hear(site, SHARE_TAG + 1, 1) == [0]:
                self.into[site] = size, None
        self.sent.all_taken(self.limit_s)

    def _tell(self, site: int, tag: int, numbers: list[int]) -> None:
        told = torch.tensor(numbers)
        self.sent.jobs.put((self.group.send([told], site, tag), told, None))

    def _hear(self, site: int, tag: int, n: int) -> list[int]:
        heard = torch.empty(n, dtype=torch.int64)
        self._wait(self.group.recv([heard], site, tag), "word of shared memory")
        return heard.tolist()

    def _lay_out(self, moves: list[Move]) -> tuple[dict, dict[int, int], dict[int, int]]:
        """The other site, whether this one sends, and the place of each large tensor; how many bytes come
        from each site, and go to it."""
        wanted: dict[tuple, tuple[int, bool, int]] = {}
        coming: dict[int, int] = {}
        going: dict[int, int] = {}
        for m in moves:
            a, b = self.site_of[m.src], self.site_of[m.dst]
            other, sizes = (b, going) if a == self.own else (a, coming)
            if a == b or self.own not in (a, b) or other not in self.near:
                continue
            for i, t in enumerate(t for t in tensors_in(m.value) if t.numel()):
                size = t.numel() * t.element_size()
                if size >= LEAST:
                    at = sizes.get(other, 0)
                    wanted[m.src, m.dst, m.key, i] = other, a == self.own, at
                    sizes[other] = at + (size + 63) // 64 * 64
        return wanted, coming, going

    def close(self) -> None:
        """Until all that was begun is done, of a run that failed, too: by now its devices are settled. Raises
        Cut, and what an accelerator's copy failed with."""
        failed = self.outlet.emptied(self.limit_s) if self.outlet else None
        coming = self.coming
        self._forget()
        for _, works, _ in coming.values():
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
        full = [(t, wanted) for t, wanted in zip(tensors, tensors_in(layout)) if wanted.numel()]
        for i, (t, wanted) in enumerate(full):
            if t.stride() != wanted.stride():
                t = empty_like(wanted).copy_(t)
            flat, at = as_bytes(t.detach()), self.places.get((src, dst, key, i))
            if at is not None:
                self.out[self.site_of[dst]][1].part(at, flat.numel()).copy_(flat)
                flat = torch.zeros(1, dtype=torch.uint8)
            try:
                self.sent.jobs.put((self.group.send([flat], self.site_of[dst], tag), flat, None))
            except RuntimeError as why:
                raise Cut(f"{self.devices[dst].name} cannot be reached any more") from why
            tag += 1

    def receive(self, dst: int, key: Any, what: str) -> Any:
        found = self.coming.pop((dst, key), None)
        if found is None:
            return super().receive(dst, key, what)
        value, works, copies = found
        for work in works:
            self._wait(work, f"{what}, by {self.devices[dst].name}")
        for shared, own in copies:
            own.copy_(shared)
        space = self.devices[dst].space
        return value if is_host(space) else map_tensors(value, lambda t: t.to(space))

    # ---- single transfers ----

    def owe_hop(self, src: int, dst: int, size: int) -> None:
        self.owed[src, dst, "hop"] = torch.empty(size, dtype=torch.uint8, device="meta"), HOP_TAG

    def expect_hop(self, src: int, dst: int, size: int) -> None:
        self.expect(src, dst, "hop", torch.empty(size, dtype=torch.uint8, device="meta"), HOP_TAG)

    def share_hop(self, src: int, dst: int, size: int) -> None:
        self.share([Move(src, dst, "hop", torch.empty(size, dtype=torch.uint8, device="meta"))])
