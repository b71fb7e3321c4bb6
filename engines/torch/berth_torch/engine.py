"""berth's engine for PyTorch modules: the questions of docs/formats.md, answered."""
from __future__ import annotations

import gc
import math
import os
import time
from statistics import median
from typing import Callable

import torch

from .alone import Alone
from .clock import replay
from .crew import Crew
from .devices import Device, Refusal, describe, taken_by_torch, whole_number, whole_numbers
from .moves import Post
from .program import UPDATE
from .session import Sample, Session
from .spec import SpecError, UsageError
from .trace import trace
from .training import Training
from .worker import HOP_LIMIT, Timed, Worker

TOLERANCE = 1e-3  # a difference above is no rounding
MOST_RUNS, MOST_THREADS = 1000000, 1024  # of a question
NUMBERS = {"run": ("warmup", "repeats"), "whole": ("warmup", "repeats", "threads"), "set": ("device",),
           "profile": ("warmup", "repeats", "device", "ops"),
           "transfers": ("warmup", "repeats", "from", "to", "bytes")}


class Engine:
    """Answers questions. Everything that torch computes for them happens in its workers' threads, or in the
    processes of a crew. workers: None for devices of other processes."""

    def __init__(self, devices: list[Device], clock: str, leaves: list[str], post: Post | None = None,
                 crew: Crew | None = None):
        self.devices, self.clock, self.leaves, self.crew = devices, clock, leaves, crew
        self.post = post or Post(devices)
        self.workers = [Worker(i, d, None, self.post) if d.here else None for i, d in enumerate(devices)]
        self.session: Session | None = None
        self.training: Training | None = None  # until another question than for a step of it

    # ---- questions ----

    def hello(self, _: dict) -> dict:
        return {"protocol": 1, "engine": "torch", "version": torch.__version__, "clock": self.clock,
                "devices": self.crew.hello() if self.crew else [self.describe(w) for w in self.workers]}

    def describe(self, worker: Worker) -> dict:
        """The device, and of a capped one the memory that is left to tensors."""
        d, told = worker.device, describe(worker.device)
        if d.memory_bytes is not None and d.space.type == "cuda":
            taken = worker.call(lambda: taken_by_torch(d.space, d.memory_bytes))
            told["memory_bytes"] = max(0, d.memory_bytes - taken)
        return told

    def load(self, q: dict) -> dict:
        self.session = None
        gc.collect()
        spec = ":".join([q["model"], *q.get("dims", [])])
        names = [op["name"] for op in q["graph"]["ops"]]
        self.types = [op.get("type", "") for op in q["graph"]["ops"]]
        if self.crew:
            question = {"model": spec, "leaves": self.leaves, "names": names}
            self.session = self.crew.load(question, lambda: self._session(spec, names))
        else:
            self.session = self._session(spec, names)
        return {"ops": len(names)}

    def _session(self, spec: str, names: list[str]) -> Session:
        try:
            traced = trace(spec, self.leaves)
        except (SpecError, UsageError) as why:
            raise Refusal("model", str(why)) from why
        return Session(traced, names, self.devices, self.post, self.workers, self.crew)

    def _speed(self, device: int) -> float:
        if self.crew:
            return self.crew.speeds[device]
        worker = self.workers[device]
        return worker.speed if worker else 1.0  # another process's, which has no piece here

    def run(self, q: dict) -> dict:
        s = self.loaded()
        ready_s = self._timed(lambda: s.prepare(q["placement"], q.get("order")))
        samples, worst = [], 0.0
        for i in range(q["warmup"] + q["repeats"]):
            samples.append(s.run(seeded=i == 0))
            if i == 0:
                worst = max(s.check(samples[-1]).values())
            elif not s.any_random:
                worst = max(worst, s.check_outputs(samples[-1]))
            samples[-1].forget()
        peaks = [max(known, default=None) for known in
                 ([b for b in of if b is not None] for of in zip(*(x.peak_bytes for x in samples)))]
        samples = samples[q["warmup"]:]
        answer = dict(self._answer(s, samples), peak_bytes=peaks, ready_s=ready_s)
        answer["difference"] = min(worst, 1e300)  # infinity is no JSON
        answer["differs"] = worst > TOLERANCE
        if q.get("operators"):
            answer["operators"] = self._operators(q)
        return answer

    def _timed(self, what: Callable[[], object]) -> float:
        """Seconds of something done in this thread, by the engine's clock."""
        clock = time.thread_time if self.clock == "cpu" else time.perf_counter
        start = clock()
        what()
        return clock() - start

    def _train(self, q: dict) -> dict:
        """Steps of a training that goes on."""
        s = self.loaded()
        if not s.training:
            raise Refusal("model", "there is nothing to train: the word mode=training is missing")
        training, self.training = self.training or Training(s), None  # lost, unless all of it succeeds
        ready_s = self._timed(lambda: training.prepare(q["placement"], q.get("order")))
        samples, losses = [], []
        for _ in range(q["repeats"]):
            sample, loss = training.step()
            sample.forget()
            samples.append(sample)
            losses.append(loss if math.isfinite(loss) else None)
        self.training = training
        return dict(self._answer(s, samples), ready_s=ready_s, loss=losses,
                    trained=training.done)

    def _answer(self, s: Session, samples: list[Sample]) -> dict:
        pieces = s.plan.program.pieces
        runs = [self._times(s, x) for x in samples]
        rows = []
        for i, p in enumerate(pieces):
            row = {"device": p.device, "ops": p.ops, "start_s": [r[i].start_s for r in runs],
                   "end_s": [r[i].end_s for r in runs]}
            if all(r[i].cpu_s is not None for r in runs):
                row["cpu_s"] = [r[i].cpu_s for r in runs]
            rows.append(row)
        answer = {"wall_s": self._lasted(samples, runs), "segments": rows, "sent_bytes": samples[-1].sent_bytes}
        if all("cpu_s" in row for row in rows):
            answer["cpu_s"] = [sum(t.cpu_s for t in r.values()) for r in runs]
            answer["strain"] = [self._strain(pieces, r, x) for r, x in zip(runs, samples)]
        return answer

    def _times(self, s: Session, sample: Sample) -> dict[int, Timed]:
        ran = {i: t for r in sample.ran if r for i, t in r.pieces.items()}
        if self.clock != "cpu":
            return ran
        program = s.plan.program
        return replay([p.device for p in program.pieces], program.needs, ran,
                      [self._speed(i) for i in range(len(self.devices))])

    def _strain(self, pieces: list, times: dict[int, Timed], sample: Sample) -> float:
        """Wall seconds of the pieces, their rests taken off, for each second of the CPU."""
        if self.clock == "cpu":
            return 1.0
        wall = sum((t.end_s - t.start_s) * self._speed(pieces[i].device) for i, t in times.items())
        cpu = sum(t.cpu_s for t in times.values())
        return wall / cpu if cpu > 0 else 1.0

    def _operators(self, q: dict) -> list[dict]:
        """One run more, in which each operator is a piece."""
        s = self.loaded()
        s.prepare(q["placement"], q.get("order"), fine=True)
        times = self._times(s, s.run(seeded=False))
        return [{"op": p.ops[0], "device": p.device, "kernel": self.types[p.ops[0]],
                 "start_s": times[i].start_s, "end_s": times[i].end_s}
                for i, p in enumerate(s.plan.program.pieces)]

    def whole(self, q: dict) -> dict:
        """The module by itself on the device where it is fastest."""
        here = {d.space for d in self.devices if d.here or (self.crew and d.is_cpu and not d.at)}
        found = [times for space in here if (times := self._alone_in(space, q))]
        for at, numbers in self.crew.groups if self.crew else ():
            if at or not all(self.devices[i].is_cpu for i in numbers):
                try:
                    found.append(self.crew.ask(numbers[0], q)["wall_s"])
                except Refusal as why:
                    if why.kind != "device":  # there is no room there
                        raise
        if not found:
            raise Refusal("device", "the whole model fits on no device")
        return {"wall_s": min(found, key=lambda times: sorted(times)[len(times) // 2])}

    def _alone_in(self, space: torch.device, q: dict) -> list[float]:
        """Seconds of the module's runs in a space; none where it does not fit."""
        s, before = self.loaded(), torch.get_num_threads()
        s.bind([-1] * len(s.steps))
        try:
            torch.set_num_threads(q["threads"] or len(os.sched_getaffinity(0)))
            return s.unsplit.time(space, q["warmup"], q["repeats"])
        except RuntimeError as why:
            if "out of memory" not in str(why):
                raise Refusal("model", f"{space}: {' '.join(str(why).split())[:300]}") from why
            return []
        finally:
            torch.set_num_threads(before)

    def profile(self, q: dict) -> dict:
        s, worker = self.loaded(), self.workers[q["device"]]
        if self.crew:
            return self.crew.ask(q["device"], q)
        found = self._profile_in_run(s, worker, q) if worker.device.is_cpu else None
        if found is not None:
            return found
        rows = [self._profile_op(s, worker, op, q["warmup"], q["repeats"]) for op in q["ops"]]
        s.reset()
        return dict(self._overheads(s, q["device"], rows), rows=rows)

    def _profile_in_run(self, s: Session, worker: Worker, q: dict) -> dict | None:
        """Times of operators in runs of all of them on this device, each a piece: with the caches as the
        others leave them, and with what autograd keeps. None: they cannot be run so.

        What a piece takes beside its operators is in them, too, and is taken off: by runs in as few pieces as
        can be. It is another for forward and backward passes and for updates."""
        try:
            few, whole = self._runs_alone(s, worker.number, q, False)
            fine, _ = self._runs_alone(s, worker.number, q, True)
        except (Refusal, RuntimeError):
            return None
        finally:
            self.post.clear()
        overhead = {part: max(0.0, busy(fine, part) - busy(few, part)) / max(1, len(fine[part]) - len(few[part]))
                    for part in fine}
        net_of = {op: (part, of) for part, pieces in fine.items() for op, of in pieces.items()}
        rows = []
        for op in q["ops"]:
            part, own = net_of[op]
            row = {"op": op, "wall_s": [net(t.end_s - t.start_s, overhead[part]) for t in own]}
            if all(t.cpu_s is not None for t in own):
                row["cpu_s"] = [net(t.cpu_s, overhead[part] * worker.speed) for t in own]
            rows.append(row)
        spent = sum(o * (len(fine[part]) - len(few[part])) for part, o in overhead.items())
        more = sum(len(fine[part]) - len(few[part]) for part in fine)
        return {"rows": rows, "segment_overhead_s": spent / max(1, more),
                "run_overhead_s": max(0.0, median(whole) - sum(busy(few, part) for part in few))}

    def _runs_alone(self, s: Session, device: int, q: dict, fine: bool) -> tuple[dict, list[float]]:
        """Runs of all operators on one device. Times of the pieces in each, by their part and their first
        operator; seconds of the runs."""
        s.prepare([device] * len(s.roles), None, fine)
        samples = [s.run(seeded=False) for _ in range(q["warmup"] + q["repeats"])][q["warmup"]:]
        runs, made = [self._times(s, x) for x in samples], {}
        for i, p in enumerate(s.plan.program.pieces):
            made.setdefault(p.part, {})[p.ops[0]] = [run[i] for run in runs]
        return made, self._lasted(samples, runs)

    def _lasted(self, samples: list[Sample], runs: list[dict[int, Timed]]) -> list[float]:
        """Seconds of whole runs."""
        if self.clock == "cpu":
            return [max(t.end_s for t in r.values()) for r in runs]
        return [x.wall_s for x in samples]

    def _overheads(self, s: Session, device: int, rows: list[dict]) -> dict:
        """What a run takes beside the operators, and what each piece adds: from runs on this device alone in
        as few pieces as can be, and with each operator a piece. Nothing where times are of the CPU, where
        not all operators were asked for, or the whole does not fit.
        """
        alone = [median(r["wall_s"]) for r in rows if "wall_s" in r]
        if self.clock == "cpu" or len(alone) < len(s.roles):
            return {}
        try:
            few, pieces = self._run_alone(s, device, False)
            fine, parts = self._run_alone(s, device, True)
        except (Refusal, RuntimeError):
            return {}
        finally:
            self.post.clear()
        segment = max(0.0, (fine - few) / (parts - pieces)) if parts > pieces else 0.0
        rest = few - sum(alone) - pieces * segment
        return {"run_overhead_s": max(0.0, rest), "segment_overhead_s": segment}

    def _run_alone(self, s: Session, device: int, fine: bool) -> tuple[float, int]:
        """Seconds of a run of all operators on one device, and its pieces."""
        s.prepare([device] * len(s.roles), None, fine)
        return median([s.run(seeded=False).wall_s for _ in range(9)][2:]), len(s.plan.program.pieces)

    def _profile_op(self, s: Session, worker: Worker, op: int, warmup: int, repeats: int) -> dict:
        role = s.roles[op]
        try:
            worker.space.bind_only(role.step)
            update = None
            if role.part == UPDATE:
                s.updates.clear()
                update = s.update_of(worker.space)
                update.prepare(role.params)
            name, inputs = s.steps[role.step].name, s.record.inputs[role.step]
            grads = s.record.grads[role.step]
            alone = Alone(worker, role, inputs, grads, s.training, name, update)
            wall, cpu = worker.call(lambda: alone.times(warmup, repeats))
        except (RuntimeError, TypeError, ValueError, NotImplementedError) as why:
            return {"op": op, "cannot": " ".join(str(why).split())[:200] or type(why).__name__}
        finally:
            self.post.clear()
        row = {"op": op, "wall_s": cpu_times(cpu, worker.speed) if self.clock == "cpu" and cpu else wall}
        return dict(row, cpu_s=cpu) if cpu else row

    def transfers(self, q: dict) -> dict:
        a, b = q["from"], q["to"]
        if self.crew and self.crew.member_of(a) is self.crew.member_of(b):
            return self.crew.ask(a, q)
        rows = []
        for size in q["bytes"]:  # threads, streams and pinned memory are made with the first
            self._hop(a, b, size)
        for size in q["bytes"]:
            times = [median([self._hop(a, b, size) for _ in range(3)])
                     for _ in range(q["warmup"] + q["repeats"])]
            rows.append({"bytes": size, "wall_s": times[q["warmup"]:]})
        return {"rows": rows}

    def _hop(self, src: int, dst: int, size: int) -> float:
        """Seconds from the sending of so many bytes until the receiver can use them."""
        if self.clock == "cpu":
            return 0.0
        if self.crew:
            return self.crew.hop(src, dst, size)
        a, b = self.workers[src], self.workers[dst]
        value = a.call(lambda: a.bytes_here(size))
        b.ask(lambda: b.arrival("hop"))
        start = a.call(lambda: a.departure(b.number, "hop", value))
        return max(0.0, b.answer() - start)

    def set(self, q: dict) -> dict:
        device = self.devices[q["device"]]
        if not 0 < q["speed"] <= 1:
            raise Refusal("", "a speed is above 0 and at most 1")
        if not device.is_cpu:
            raise Refusal("device", f"{device.name}: only the speed of CPU devices can be changed")
        if self.crew:
            self.crew.set_speed(q["device"], q["speed"])
        else:
            self.workers[q["device"]].speed = device.speed * q["speed"]
        return {}

    def loaded(self) -> Session:
        if self.session is None:
            raise Refusal("", "no graph was loaded")
        return self.session

    def _checked(self, q: dict) -> dict:
        """The question, its numbers in their limits. Refuses it else. Placements are checked where they are
        made ready."""
        last = len(self.devices) - 1
        limits = {"warmup": (0, MOST_RUNS), "repeats": (1, MOST_RUNS), "threads": (0, MOST_THREADS),
                  "device": (0, last), "from": (0, last), "to": (0, last)}
        found = dict(q)
        for key in NUMBERS.get(q["do"], ()):
            if key in limits:
                found[key] = whole_number(key, q.get(key), *limits[key])
            else:
                most = HOP_LIMIT if key == "bytes" else len(self.loaded().roles) - 1
                found[key] = whole_numbers(key, q.get(key), most)
        return found

    def answer(self, q: dict) -> dict:
        known = {"hello": self.hello, "load": self.load, "run": self.run, "whole": self.whole,
                 "profile": self.profile, "transfers": self.transfers, "set": self.set}
        if q.get("do") not in known:
            raise Refusal("", f"no such question: {q.get('do')}")
        q = self._checked(q)
        if q.get("train") and q["do"] == "run":
            return self._train(q)
        if q["do"] not in ("hello", "set", "transfers"):
            self.training = None
        return known[q["do"]](q)


def busy(pieces: dict[str, dict[int, list[Timed]]], part: str) -> float:
    """Seconds of all pieces of a part of the step, in the median of the runs."""
    of = pieces.get(part, {}).values()
    return median([sum(t.end_s - t.start_s for t in run) for run in zip(*of)]) if of else 0.0


def net(seconds: float, overhead: float) -> float:
    """A time without what is not the operator's, of which it keeps a tenth at least."""
    return max(seconds - overhead, seconds / 10)


def cpu_times(cpu: list[float], speed: float) -> list[float]:
    """What a device of that speed takes, by the CPU's clock."""
    return [c / speed for c in cpu]
