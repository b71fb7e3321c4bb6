"""The process of some devices: it answers the engine, which has it load a module and run its part of plans.

It loads and traces the module by itself. From the engine it takes questions, and gives tensors; all that is
read is JSON.
"""
from __future__ import annotations

import os
import queue
import socket
import sys
import threading
import time
from typing import Callable

import torch

from .devices import Device, Refusal, cap_memory, far_space, share_cores, space_of
from .digests import digests
from .engine import Engine
from .gloo import Cut, GlooPost
from .session import Sample
from .spec import parse_spec
from .training import Training
from .tracer import tensors_in
from .wire import Channel, Closed, host_id
from .worker import hop_bytes

Answer = tuple[dict, list]  # its keys, and the tensors behind it
GREETING_S = 20.0  # for an engine to say who it is


class Site:
    """model: the one that this worker was started with, as FILE.py:FACTORY with words; None: any."""

    def __init__(self, channel: Channel, model: str | None):
        self.channel, self.model = channel, model
        self.go: queue.SimpleQueue = queue.SimpleQueue()
        self.engine: Engine | None = None
        self.post: GlooPost | None = None

    # ---- who is here ----

    def hello(self, q: dict) -> Answer:
        if q["torch"] != torch.__version__:
            raise Refusal("", f"it has PyTorch {torch.__version__}, and the engine {q['torch']}")
        self.channel.set_limit(q["limit_s"])
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = q["tf32"]
        devices = [self._device(row) for row in q["devices"]]
        mine = [d for d in devices if d.here]
        cpus = [d for d in mine if d.is_cpu]
        if any(not d.cores for d in cpus):
            share_cores(cpus, q["threads"])
        if q["clock"] == "cpu" and (len(cpus) < len(mine) or any(d.threads > 1 for d in cpus)):
            raise Refusal("", "--clock cpu is of CPU devices with one thread each")
        if cpus:
            os.sched_setaffinity(0, {c for d in cpus for c in d.cores})
        cap_memory(mine)
        torch.set_num_threads(max([d.threads for d in cpus], default=1))
        sys.setswitchinterval(1e-4)
        self.post = GlooPost(devices, q["limit_s"], q["site_of"], q["site"])
        self.engine = Engine(devices, q["clock"], [], self.post)
        told = [self.engine.describe(w) for w in self.engine.workers if w is not None]
        return {"pid": os.getpid(), "host": host_id(), "devices": told}, []

    @staticmethod
    def _device(row: dict) -> Device:
        space = (space_of if row["here"] else far_space)(row["space"], row["name"])
        return Device(row["name"], space, row["speed"], row["cores"], row["threads"], row["memory_bytes"],
                      here=row["here"])

    def join(self, q: dict) -> Answer:
        host, bind = q["store"][0], q["bind"]
        if self.channel.sock.family != socket.AF_UNIX:
            host, bind = self.channel.sock.getpeername()[0], self.channel.sock.getsockname()[0]
        self.post.join((host, q["store"][1]), bind, q["group"], q["near"])
        return {}, []

    # ---- the module ----

    def load(self, q: dict) -> Answer:
        spec = q["model"]
        if self.model is not None:
            words = [w for w in spec.split(".py:")[-1].split(":")[1:]]
            spec = ":".join([self.model, *words])
            parse_spec(spec)
        self.engine.leaves = q["leaves"]
        ops = [{"name": name} for name in q["names"]]
        self.engine.load({"model": spec, "graph": {"ops": ops}})
        s = self.engine.loaded()
        return {"path": os.path.abspath(s.traced.spec.path),
                "digests": digests(s.traced, s.steps, s.record.layouts)}, []

    # ---- runs ----

    def prepare(self, q: dict) -> Answer:
        s, trained = self.engine.loaded(), q["trained"]
        if trained is None:
            self.engine.training = None
            s.prepare(q["placement"], q["order"], q["fine"])
            return {}, []
        if trained == 0:
            self.engine.training = Training(s)
        self._training(trained).prepare(q["placement"], q["order"])
        return {}, []

    def _training(self, trained: int | None = None) -> Training:
        """The one that goes on. trained: its steps so far, as the engine knows them."""
        found = self.engine.training
        if found is None or trained not in (None, found.done):
            raise Refusal("model", f"{found.done if found else 0} steps were trained here, and not {trained}")
        return found

    def run(self, q: dict) -> Answer:
        s, start = self.engine.loaded(), lambda: self._start(q["id"])
        return self._told(self._training().run(start) if q["trains"] else s.run(q["seeded"], start))

    def _start(self, question: int) -> float:
        """Tell that the devices of this process are ready, and wait for all others. The time that is 0."""
        self.channel.send({"id": question, "ready": True})
        try:
            at = self.go.get(timeout=self.post.limit_s)
        except queue.Empty:
            raise Cut("no word to begin") from None
        while (left := at - time.perf_counter()) > 0:
            time.sleep(left if left > 2e-4 else 0)
        return at

    @staticmethod
    def _told(sample: Sample) -> Answer:
        rows, tensors = [], []
        for d, ran in enumerate(sample.ran):
            if ran is None:
                continue
            rows.append({"device": d, "sent": ran.sent_bytes, "end": ran.end_s, "loss": ran.loss is not None,
                         "outputs": [n.name for n in ran.outputs],
                         "pieces": [[i, t.start_s, t.end_s, t.cpu_s] for i, t in ran.pieces.items()]})
            tensors += [t for v in ran.outputs.values() for t in tensors_in(v)]
            tensors += [ran.loss] if ran.loss is not None else []
        return {"ran": rows, "peak_bytes": sample.peak_bytes}, tensors

    def state(self, _: dict) -> Answer:
        state = self.engine.loaded().state()
        named = {"grads": state.grads, "params": state.params, "buffers": state.buffers}
        return ({key: list(of) for key, of in named.items()},
                [t for of in named.values() for t in of.values()])

    # ---- single transfers ----

    def share(self, q: dict) -> Answer:
        self.post.share_hop(q["from"], q["to"], hop_bytes(q["bytes"]))
        return {}, []

    def depart(self, q: dict) -> Answer:
        worker, size = self.engine.workers[q["from"]], hop_bytes(q["bytes"])
        self.post.owe_hop(q["from"], q["to"], size)
        try:
            value = worker.call(lambda: worker.bytes_here(size))
            start = worker.call(lambda: worker.departure(q["to"], "hop", value))
        except BaseException:
            self.post.settle(q["from"])
            raise
        finally:
            self.post.close()
        return {"at": start}, []

    def arrive(self, q: dict) -> Answer:
        worker = self.engine.workers[q["to"]]
        self.post.expect_hop(q["from"], q["to"], hop_bytes(q["bytes"]))
        self.channel.send({"id": q["id"], "ready": True})
        end = worker.call(lambda: worker.arrival("hop"))
        return {"at": end}, []

    # ---- questions ----

    def answer(self, q: dict) -> Answer:
        own: dict[str, Callable[[dict], Answer]] = {
            "hello": self.hello, "join": self.join, "load": self.load, "prepare": self.prepare,
            "run": self.run, "state": self.state, "share": self.share, "depart": self.depart, "arrive": self.arrive}
        if q["do"] in own:
            return own[q["do"]](q)
        return self.engine.answer(q), []  # profile, transfers, whole, set

    def live(self) -> None:
        """Until the engine has gone."""
        questions: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=self._listen, args=(questions,), daemon=True).start()
        while True:
            q = questions.get()
            tensors: list = []
            try:
                made, tensors = self.answer(q)
                told = dict(made, id=q["id"], ok=True)
            except Exception as why:
                told = dict(refused(why), id=q["id"], ok=False)
            self.channel.send(told, tensors)

    def _listen(self, questions: queue.SimpleQueue) -> None:
        """Answers that it lives while something is computed."""
        greeted = False
        try:
            while self.channel.waits(None if greeted else GREETING_S):
                q, _ = self.channel.receive(0)
                if (q["do"] == "hello") == greeted:
                    return  # it comes first, and once
                greeted = True
                if q["do"] == "ping":
                    self.channel.send({"alive": time.perf_counter(), "n": q["n"]})
                elif q["do"] == "go":
                    self.go.put(float(q["at"]))
                else:
                    questions.put(q)
        except (Closed, KeyError, TypeError, ValueError, OSError):
            pass
        finally:
            os._exit(0)  # whatever is under way


def refused(why: Exception) -> dict:
    """An exception in words."""
    if isinstance(why, Refusal):
        return {"kind": why.kind, "error": str(why)}
    return {"kind": "model", "error": f"{type(why).__name__}: {' '.join(str(why).split())[:400]}"}


def serve(channel: Channel, model: str | None) -> None:
    """Be the process of devices for whoever is at the other end. Does not return but by Closed."""
    Site(channel, model).live()
