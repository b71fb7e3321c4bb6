"""The processes that have the devices, as the engine sees them: they are asked, timed, and given up.

Each wait has a limit: who says nothing for so long, though asked whether it lives, has stopped. What one of
them fails with names it. Where values were under way that will not come, all of them are given up, and the
next question begins with new ones.
"""
from __future__ import annotations

import os
import queue
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Sequence

import torch

from .devices import Device, Refusal
from .digests import digests
from .gloo import check_gloo, open_store
from .values import map_tensors
from .wire import Channel, Closed, host_id
from .worker import Ran, Timed

if TYPE_CHECKING:
    from .session import Sample, Session, State

VERSION = torch.__version__
LEAD_S = 5e-4  # a run begins so much after the word for it has come to all
SILENT = "has said nothing for {:g} s: it has stopped, or cannot be reached"

Answer = tuple[dict, list[torch.Tensor]]


class Gone(Refusal):
    """A process has ended, has stopped, or cannot be reached."""

    def __init__(self, text: str):
        super().__init__("lost", text)


class Pending:
    """An answer that is to come."""

    def __init__(self, member: "Member"):
        self.member, self.said = member, queue.SimpleQueue()

    def _next(self) -> Answer:
        message, tensors = self.said.get()
        if message is None:
            raise Gone(self.member.gone)
        if message.get("ready") or message["ok"]:
            return message, tensors
        where = "" if message["error"].startswith(self.member.devices) else f"{self.member.name}: "
        raise Refusal(message["kind"], where + message["error"])

    def ready(self) -> None:
        """Until it is about to begin."""
        if not self._next()[0].get("ready"):
            raise Gone(f"{self.member.name} did not begin")

    def answer(self) -> Answer:
        return self._next()


class Member:
    """One process. devices: their names. name: of it, for messages."""

    def __init__(self, channel: Channel, devices: Sequence[str], at: str, limit_s: float):
        self.channel, self.devices, self.at, self.limit_s = channel, tuple(devices), at, limit_s
        self.name = ", ".join(devices) + (f" (the worker at {at})" if at else "")
        self.pid, self.trip_s, self.offset_s, self.gone = 0, 0.0, 0.0, ""
        self.lock, self.pending, self.asked = threading.Lock(), {}, 0
        self.alive: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    # ---- questions ----

    def begin(self, do: str, **words: Any) -> Pending:
        """Ask; the answer is to be taken later."""
        made = Pending(self)
        with self.lock:
            self.asked += 1
            number = self.asked
            self.pending[number] = made
            if self.gone:
                made.said.put((None, []))
                return made
        self._send(dict(words, do=do, id=number))
        return made

    def ask(self, do: str, **words: Any) -> Answer:
        return self.begin(do, **words).answer()

    def _send(self, message: dict) -> None:
        try:
            self.channel.send(message)
        except Closed as why:
            self.lose(str(why))

    def start_at(self, at: float) -> None:
        """A run begins then, by the engine's clock."""
        self._send({"do": "go", "at": at - self.offset_s})

    # ---- its life ----

    def lose(self, how: str) -> None:
        """It is not to be asked any more."""
        with self.lock:
            self.gone = self.gone or f"{self.name} {how}"
            waiting, self.pending = self.pending, {}
        for p in waiting.values():
            p.said.put((None, []))
        self.alive.put(None)

    def end(self) -> None:
        """Let it go, or end it where it is of this host."""
        self.channel.close()
        if self.pid and not self.at:
            try:
                os.kill(self.pid, signal.SIGKILL)  # it may have been stopped
            except ProcessLookupError:
                pass

    def _listen(self) -> None:
        heard = time.perf_counter()
        try:
            while not self.gone:
                if not self.channel.waits(self.limit_s / 4):
                    if not self.pending:
                        heard = time.perf_counter()
                    elif time.perf_counter() - heard > self.limit_s:
                        self.lose(SILENT.format(self.limit_s))
                    else:
                        self._send({"do": "ping", "n": 0})
                    continue
                self._hear(*self.channel.receive())
                heard = time.perf_counter()
        except Closed as why:
            self.lose(str(why))
        except Exception:  # whoever waits for it has to be told
            self.lose("says what nobody understands")

    def _hear(self, message: dict, tensors: list[torch.Tensor]) -> None:
        if message.get("busy"):
            self.lose("serves another engine")
        elif "alive" in message:
            if message["n"]:
                self.alive.put(float(message["alive"]))
        else:
            with self.lock:
                found = self.pending.get(message["id"]) if message.get("ready") else \
                    self.pending.pop(message["id"], None)
            if found is not None:
                found.said.put((message, tensors))

    def set_clock(self, host: str) -> None:
        """The way to it and back, by the quickest of some answers; how far its clock is behind the engine's,
        where it has one of its own, by half of that."""
        self.trip_s = float("inf")
        for n in range(1, 11):
            start = time.perf_counter()
            there = self._ping(n)
            end = time.perf_counter()
            if end - start < self.trip_s:
                self.trip_s, offset_s = end - start, (start + end) / 2 - there
        if host != host_id():
            self.offset_s = offset_s

    def _ping(self, n: int) -> float:
        """Its clock, as it answers."""
        self._send({"do": "ping", "n": n})
        try:
            there = self.alive.get(timeout=self.limit_s)
        except queue.Empty:
            self.lose(SILENT.format(self.limit_s))
            there = None
        if there is None:
            raise Gone(self.gone)
        return there


class Crew:
    """All of them. new_child: a connection to a new process of this host. together: the devices of this host
    share one process. options: what all have to know (threads, clock, tf32)."""

    def __init__(self, devices: list[Device], new_child: Callable[[], socket.socket], together: bool,
                 limit_s: float, options: dict):
        self.devices, self.new_child, self.limit_s, self.options = devices, new_child, limit_s, options
        self.groups: list[tuple[str, list[int]]] = []  # HOST:PORT or nothing, and the numbers of devices
        for i, d in enumerate(devices):
            d.here = False
            same = next((g for at, g in self.groups if at == d.at and (d.at or together)), None)
            if same is None:
                self.groups.append((d.at, [i]))
            else:
                same.append(i)
        self.members: list[Member] = []
        self.told: list[dict] = []
        self.speeds = [d.speed for d in devices]
        self.model: dict | None = None
        self.digests: dict[str, str] = {}
        self.joined = 0
        self.store: Any = None  # stays open: a process that has lost it looks for it without a rest
        self.broken = False

    # ---- their life ----

    def member_of(self, device: int) -> Member:
        return self.members[self._site_of(device)]

    def _site_of(self, device: int) -> int:
        return next(k for k, (_, g) in enumerate(self.groups) if device in g)

    def hello(self) -> list[dict]:
        """The devices as their processes describe them. New processes where there are none, or where one was
        lost."""
        if self.broken or any(m.gone for m in self.members):
            self.end()
        if not self.members:
            check_gloo()
            try:
                self._start()
                if self.model is not None:
                    self._compare(self.all(lambda k: self.model), "the engine's")
            except BaseException:
                self.end()
                raise
        return self.told

    def end(self) -> None:
        for m in self.members:
            m.end()
        self.members, self.broken, self.store = [], False, None

    def _start(self) -> None:
        self.members = []
        for at, numbers in self.groups:
            names = [self.devices[i].name for i in numbers]
            self.members.append(Member(self._connect(at, names[0]), names, at, self.limit_s))
        site_of = [self._site_of(i) for i in range(len(self.devices))]
        answers = self.all(lambda k: dict(self.options, do="hello", torch=VERSION, site=k,
                                          site_of=site_of, limit_s=self.limit_s, devices=self._rows(k)))
        told: dict[str, dict] = {}
        for m, (a, _) in zip(self.members, answers):
            m.pid = a["pid"]
            m.set_clock(a["host"])
            told.update((row["name"], row) for row in a["devices"])
        self.told = [told[d.name] for d in self.devices]
        self._join()
        for i, d in enumerate(self.devices):
            if self.speeds[i] != d.speed:
                self.set_speed(i, self.speeds[i] / d.speed)

    def _rows(self, site: int) -> list[dict]:
        return [{"name": d.name, "space": str(d.space), "speed": d.speed, "threads": d.threads,
                 "cores": d.cores, "memory_bytes": d.memory_bytes, "here": i in self.groups[site][1]}
                for i, d in enumerate(self.devices)]

    def _connect(self, at: str, device: str) -> Channel:
        if not at:
            return Channel(self.new_child(), self.limit_s)
        host, _, port = at.rpartition(":")
        try:
            return Channel(socket.create_connection((host, int(port)), self.limit_s), self.limit_s)
        except OSError as why:
            raise Gone(f"{device}: nobody answers at {at} ({why.strerror or why}); there, "
                       f"'berth-engine-torch worker FILE.py:FACTORY --listen {at}' has to run") from why

    def _join(self) -> None:
        """Have them connect to each other, where there are several."""
        if len(self.members) < 2:
            return
        far = next((m for m in self.members if m.at), None)
        bind = far.channel.sock.getsockname()[0] if far else "127.0.0.1"
        self.store = store = open_store(bind)
        self.joined += 1
        self.all(lambda k: {"do": "join", "store": [bind, store.port], "bind": bind,
                            "group": f"berth{self.joined}",
                            "near": [i for i, (at, _) in enumerate(self.groups) if not at]})

    # ---- questions ----

    def all(self, question: Callable[[int], dict]) -> list[Answer]:
        """Ask each; what is lost in it breaks the crew."""
        return self.take([m.begin(**question(k)) for k, m in enumerate(self.members)])

    def take(self, pending: Sequence[Pending]) -> list[Answer]:
        """All answers. Of several failures, the one that is the others' cause."""
        answers, failures = [], []
        for p in pending:
            try:
                answers.append(p.answer())
            except Refusal as why:
                failures.append(why)
        self.broken |= any(f.kind in ("lost", "cut") for f in failures)
        if failures:
            raise min(failures, key=lambda f: {"lost": 0, "cut": 2}.get(f.kind, 1))
        return answers

    def load(self, q: dict, session: Callable[[], "Session"]) -> "Session":
        """Have them load a model while the engine does. Refuses those that have loaded another."""
        self.model = None
        self.hello()
        pending = [m.begin(**dict(q, do="load")) for m in self.members]
        try:
            made = session()
        finally:
            answers = self.take(pending)
        self.digests = digests(made.traced, made.steps, made.record.layouts)
        self._compare(answers, os.path.abspath(made.traced.spec.path))
        self.model = dict(q, do="load")
        return made

    def _compare(self, answers: list[Answer], path: str) -> None:
        for m, (a, _) in zip(self.members, answers):
            theirs = a["digests"]
            other = next((kind for kind, ours in self.digests.items() if theirs.get(kind) != ours), None)
            if other == "file":
                raise Refusal("model", f"{m.name}: {a['path']} there is not the text of {path} here")
            if other == "graph":
                raise Refusal("model", f"{m.name}: {a['path']} is another model there, by files that it "
                                       "imports: other operators or other shapes")
            if other is not None:
                raise Refusal("model", f"{m.name}: the factory makes other {other} there; they have to come "
                                       "from torch's random numbers, or from a file")

    # ---- runs ----

    def prepare(self, placement: list[int], order: list[int] | None, fine: bool, trained: int | None) -> None:
        self.hello()
        self.all(lambda k: {"do": "prepare", "placement": placement, "order": order, "fine": fine,
                            "trained": trained})

    def run(self, session: "Session", seeded: bool | str, fresh: bool = True) -> "Sample":
        """A run of the plan that all have made ready; fresh false: as a step of the training that goes on."""
        from .session import Sample
        pending = [m.begin("run", seeded=seeded, trains=not fresh) for m in self.members]
        try:
            for p in pending:
                p.ready()
        except Refusal:
            self.broken = True  # the others wait for a word that does not come
            raise
        at = time.perf_counter() + LEAD_S + max(m.trip_s for m in self.members) / 2
        for m in self.members:
            m.start_at(at)
        nodes = {n.name: n for n in session.keep}
        ran: list[Ran | None] = [None] * len(self.devices)
        peaks: list[int | None] = [None] * len(self.devices)
        for (a, tensors), (_, numbers) in zip(self.take(pending), self.groups):
            for i in numbers:
                peaks[i] = a["peak_bytes"][i]
            rest = iter(tensors)
            for row in a["ran"]:
                outputs = {nodes[n]: map_tensors(session.record.layouts[nodes[n]], lambda _: next(rest))
                           for n in row["outputs"]}
                times = {i: Timed(start, end, cpu) for i, start, end, cpu in row["pieces"]}
                loss = next(rest) if row["loss"] else None
                ran[row["device"]] = Ran(times, outputs, row["sent"], row["end"], loss)
        return Sample(max(r.end_s for r in ran if r), ran, peaks)

    def state(self) -> "State":
        """What the latest run left, of all of them."""
        from .session import State
        made = State()
        for a, tensors in self.all(lambda k: {"do": "state"}):
            rest = iter(tensors)
            for kind in ("grads", "params", "buffers"):
                getattr(made, kind).update((n, next(rest)) for n in a[kind])
        return made

    # ---- single devices ----

    def ask(self, device: int, q: dict) -> dict:
        """A question of the protocol that is one device's."""
        self.hello()
        return self.take([self.member_of(device).begin(**{k: v for k, v in q.items() if k != "id"})])[0][0]

    def set_speed(self, device: int, speed: float) -> None:
        """speed: as a part of the one at the start."""
        self.ask(device, {"do": "set", "device": device, "speed": speed})
        self.speeds[device] = self.devices[device].speed * speed

    def hop(self, a: int, b: int, size: int) -> float:
        """Seconds from the sending of so many bytes until the receiver can use them."""
        src, dst = self.member_of(a), self.member_of(b)
        self.all(lambda k: {"do": "share", "from": a, "to": b, "bytes": size})
        coming = dst.begin("arrive", **{"from": a, "to": b, "bytes": size})
        try:
            coming.ready()
        except Refusal:
            self.broken = True
            raise
        going = src.begin("depart", **{"from": a, "to": b, "bytes": size})
        (end, _), (start, _) = self.take([coming, going])
        return max(0.0, end["at"] + dst.offset_s - start["at"] - src.offset_s)
