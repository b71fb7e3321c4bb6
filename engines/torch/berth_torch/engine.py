"""berth's engine for PyTorch modules: the protocol of docs/formats.md over standard input and output."""
from __future__ import annotations

import argparse
import gc
import json
import os
import sys
from statistics import median
from typing import TextIO

import torch

from .alone import Alone
from .clock import replay
from .devices import Device, Refusal, cap_memory, describe, parse_devices, taken_by_torch
from .moves import Post
from .output import own_output
from .program import UPDATE
from .session import Sample, Session
from .spec import SpecError, UsageError
from .trace import trace
from .worker import Timed, Worker

TOLERANCE = 1e-3  # a difference above is no rounding


class Engine:
    """Answers questions. Everything that torch computes for them happens in its workers' threads."""

    def __init__(self, devices: list[Device], clock: str, leaves: list[str]):
        self.devices, self.clock, self.leaves = devices, clock, leaves
        self.post = Post(devices)
        self.workers = [Worker(i, d, None, self.post) for i, d in enumerate(devices)]
        self.session: Session | None = None

    # ---- questions ----

    def hello(self, _: dict) -> dict:
        return {"protocol": 1, "engine": "torch", "version": torch.__version__, "clock": self.clock,
                "devices": [self._describe(w) for w in self.workers]}

    def _describe(self, worker: Worker) -> dict:
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
        try:
            traced = trace(spec, self.leaves)
        except (SpecError, UsageError) as why:
            raise Refusal("model", str(why)) from why
        names = [op["name"] for op in q["graph"]["ops"]]
        self.types = [op.get("type", "") for op in q["graph"]["ops"]]
        self.session = Session(traced, names, self.devices, self.post, self.workers)
        return {"ops": len(names)}

    def run(self, q: dict) -> dict:
        s = self.loaded()
        plan = s.prepare(q["placement"], q.get("order"))
        samples, worst = [], 0.0
        for i in range(q["warmup"] + q["repeats"]):
            samples.append(s.run(seeded=i == 0))
            if i == 0:
                worst = max(s.check(samples[-1]).values())
            elif not s.any_random:
                worst = max(worst, s.check_outputs(samples[-1]))
            samples[-1].forget()
        samples = samples[q["warmup"]:]
        answer = self._answer(s, samples)
        answer["difference"] = min(worst, 1e300)  # infinity is no JSON
        answer["differs"] = worst > TOLERANCE
        if q.get("operators"):
            answer["operators"] = self._operators(q)
        return answer

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
        wall = [x.wall_s for x in samples]
        if self.clock == "cpu":
            wall = [max(t.end_s for t in r.values()) for r in runs]
        answer = {"wall_s": wall, "segments": rows, "sent_bytes": samples[-1].sent_bytes,
                  "peak_bytes": samples[-1].peak_bytes}
        if all("cpu_s" in row for row in rows):
            answer["cpu_s"] = [sum(t.cpu_s for t in r.values()) for r in runs]
            answer["strain"] = [self._strain(pieces, r, x) for r, x in zip(runs, samples)]
        return answer

    def _times(self, s: Session, sample: Sample) -> dict[int, Timed]:
        ran = {i: t for r in sample.ran if r for i, t in r.pieces.items()}
        if self.clock != "cpu":
            return ran
        program = s.plan.program
        return replay([p.device for p in program.pieces], program.needs, ran, [w.speed for w in self.workers])

    def _strain(self, pieces: list, times: dict[int, Timed], sample: Sample) -> float:
        """Wall seconds of the pieces, their rests taken off, for each second of the CPU."""
        if self.clock == "cpu":
            return 1.0
        wall = sum((t.end_s - t.start_s) * self.workers[pieces[i].device].speed for i, t in times.items())
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
        s = self.loaded()
        best: list[float] | None = None
        before = torch.get_num_threads()
        s.bind([-1] * len(s.steps))
        try:
            torch.set_num_threads(q.get("threads") or len(os.sched_getaffinity(0)))
            for space in s.spaces:
                try:
                    times = s.unsplit.time(space, q["warmup"], q["repeats"])
                except RuntimeError as why:
                    if "out of memory" not in str(why):
                        raise Refusal("model", f"{space}: {' '.join(str(why).split())[:300]}") from why
                    continue
                if best is None or sorted(times)[len(times) // 2] < sorted(best)[len(best) // 2]:
                    best = times
        finally:
            torch.set_num_threads(before)
        if best is None:
            raise Refusal("device", "the whole model fits on no device")
        return {"wall_s": best}

    def profile(self, q: dict) -> dict:
        s, worker = self.loaded(), self.workers[q["device"]]
        rows = [self._profile_op(s, worker, op, q["warmup"], q["repeats"]) for op in q["ops"]]
        s.reset()
        return dict(self._overheads(s, q["device"], rows), rows=rows)

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
        a, b = self.workers[q["from"]], self.workers[q["to"]]
        rows = []
        for size in q["bytes"]:  # threads, streams and pinned memory are made with the first
            self._hop(a, b, size)
        for size in q["bytes"]:
            times = [median([self._hop(a, b, size) for _ in range(3)])
                     for _ in range(q["warmup"] + q["repeats"])]
            rows.append({"bytes": size, "wall_s": times[q["warmup"]:]})
        return {"rows": rows}

    def _hop(self, a: Worker, b: Worker, size: int) -> float:
        """Seconds from the sending of so many bytes until the receiver can use them."""
        if self.clock == "cpu":
            return 0.0
        value = a.call(lambda: a.bytes_here(size))
        b.ask(lambda: b.arrival("hop"))
        start = a.call(lambda: a.departure(b.number, "hop", value))
        return max(0.0, b.answer() - start)

    def set(self, q: dict) -> dict:
        worker = self.workers[q["device"]]
        if not 0 < q["speed"] <= 1:
            raise Refusal("", "a speed is above 0 and at most 1")
        if not worker.device.is_cpu:
            raise Refusal("device", f"{worker.device.name}: only the speed of CPU devices can be changed")
        worker.speed = worker.device.speed * q["speed"]
        return {}

    def loaded(self) -> Session:
        if self.session is None:
            raise Refusal("", "no graph was loaded")
        return self.session

    def answer(self, q: dict) -> dict:
        known = {"hello": self.hello, "load": self.load, "run": self.run, "whole": self.whole,
                 "profile": self.profile, "transfers": self.transfers, "set": self.set}
        if q.get("do") not in known:
            raise Refusal("", f"no such question: {q.get('do')}")
        return known[q["do"]](q)


def cpu_times(cpu: list[float], speed: float) -> list[float]:
    """What a device of that speed takes, by the CPU's clock."""
    return [c / speed for c in cpu]


# ---- the loop ----


def loop(engine: Engine, out: TextIO) -> None:
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = dict(engine.answer(question), id=question["id"], ok=True)
        except Refusal as why:
            answer = {"id": question["id"], "ok": False, "kind": why.kind, "error": str(why)}
        except Exception as why:
            text = f"{type(why).__name__}: {' '.join(str(why).split())[:400]}"
            answer = {"id": question["id"], "ok": False, "kind": "model", "error": text}
        if not answer["ok"]:
            gc.collect()  # the exception and its frames hold each other, and tensors
        print(json.dumps(answer), file=out, flush=True)


def read_memory(text: str | None) -> dict[str, int]:
    """Bytes by device of NAME=BYTES,..., with K, M or G behind."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    found: dict[str, int] = {}
    for word in text.split(",") if text else []:
        name, _, size = word.partition("=")
        number, unit = (size[:-1], units[size[-1:]]) if size[-1:] in units else (size, 1)
        try:
            found[name] = int(float(number) * unit)
        except ValueError:
            raise Refusal("", f"--memory: NAME=BYTES was expected instead of '{word}'") from None
    return found


def read_options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="berth-engine-torch", allow_abbrev=False, description=(
        "An engine of berth: questions come on standard input, a JSON object a line (docs/engines.md). "
        "'berth-engine-torch graph SPEC' writes the graph of a module."))
    parser.add_argument("--devices", metavar="NAME[=SPACE[*SPEED]],...",
                        help="cpu0,cpu1=0.5,gpu0=cuda:0: devices, what torch calls them, and their speed")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="of each CPU device")
    parser.add_argument("--memory", metavar="NAME=BYTES,...", help="most that a device may hold (gpu0=2G)")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall",
                        help="what times are: of the clock, or of the CPU")
    parser.add_argument("--leaf", action="append", default=[], metavar="CLASS",
                        help="keep modules of this class whole; may be given several times")
    parser.add_argument("--tf32", action="store_true", help="let CUDA compute products with TF32's precision")
    return parser.parse_args(words)


def make_engine(options: argparse.Namespace) -> Engine:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.tf32
    devices = parse_devices(options.devices, options.threads, read_memory(options.memory))
    if options.clock == "cpu" and any(not d.is_cpu or d.threads > 1 for d in devices):
        raise Refusal("", "--clock cpu is of CPU devices with one thread each")
    cap_memory(devices)
    torch.set_num_threads(max([d.threads for d in devices if d.is_cpu], default=1))
    sys.setswitchinterval(1e-4)  # threads wait for each other for microseconds
    return Engine(devices, options.clock, options.leaf)


def main(words: list[str]) -> int:
    options = read_options(words)
    out = own_output()
    try:
        engine = make_engine(options)
    except Refusal as why:
        print(f"berth-engine-torch: {why}; berth-engine-torch --help tells the options", file=sys.stderr)
        return 2
    loop(engine, out)
    out.flush()
    os._exit(0)  # threads that wait for work are not waited for
