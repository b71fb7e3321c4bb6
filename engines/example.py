#!/usr/bin/python3
"""A small engine for berth: the protocol of docs/formats.md in one file, to copy from.

It runs any berth graph, in its way: an operator is a matrix product with about as many operations as the operator has flops (at most a few
million), really computed. Two devices, unlike each other: "single" computes in single precision, "double" in double precision, which takes about
twice as long. A tensor that goes to the other device is copied, byte by byte as many as it has (at most a megabyte). Products are OpenBLAS's where
the library is installed, else plain Python's. One thread a device; OpenBLAS runs outside the interpreter's lock, plain Python does not.
"""
import array
import ctypes
import ctypes.util
import json
import sys
import threading
import time

DEVICES = [{"name": "single", "kind": "cpu"}, {"name": "double", "kind": "cpu"}]
MAX_N = 160
MAX_BYTES = 1 << 20


class Refusal(Exception):
    """A question that cannot be answered; kind is "model", "device" or ""."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def load_blas():
    name = ctypes.util.find_library("openblas")
    if not name:
        return None
    lib = ctypes.CDLL(name)
    lib.openblas_set_num_threads(1)
    return lib


BLAS = load_blas()


def multiply(n, double):
    """The trace of a product of two fixed n x n matrices, from really multiplying them."""
    code, real = ("d", ctypes.c_double) if double else ("f", ctypes.c_float)
    a = array.array(code, (0.5 + (i % 7) / 8 for i in range(n * n)))
    b = array.array(code, (0.25 + (i % 5) / 4 for i in range(n * n)))
    if BLAS is None:
        return sum(sum(a[i * n + k] * b[k * n + i] for k in range(n)) for i in range(n) for _ in range(1 + double))
    c = array.array(code, bytes(n * n * a.itemsize))
    pointers = [ctypes.c_void_p(m.buffer_info()[0]) for m in (a, b, c)]
    gemm = BLAS.cblas_dgemm if double else BLAS.cblas_sgemm
    gemm(101, 111, 111, n, n, n, real(1), pointers[0], n, pointers[1], n, real(0), pointers[2], n)
    return sum(c[i * n + i] for i in range(n))


class Model:
    def __init__(self, graph):
        self.ops = graph["ops"]
        index = {op["name"]: i for i, op in enumerate(self.ops)}
        self.size = [max(2, min(MAX_N, round((op.get("flops", 0) / 2) ** (1 / 3)))) for op in self.ops]
        self.inputs = [[] for _ in self.ops]  # (producer, bytes)
        for edge in graph.get("edges", []):
            self.inputs[index[edge["to"]]].append((index[edge["from"]], min(MAX_BYTES, int(edge["bytes"]))))
        self.order = self.topological()
        self.expected = [multiply(n, True) for n in self.size]

    def topological(self):
        order, seen = [], set()
        while len(order) < len(self.ops):
            for i in range(len(self.ops)):
                if i not in seen and all(p in seen for p, _ in self.inputs[i]):
                    order.append(i)
                    seen.add(i)
        return order


class Engine:
    def __init__(self):
        self.model = None
        self.speed = [1.0 for _ in DEVICES]  # fractions of what they are at the start

    def work(self, op, device):
        """Run one operator; a device that was slowed down does it again until its share is used up."""
        start = time.perf_counter()
        value = multiply(self.model.size[op], device == 1)
        if self.speed[device] < 1:
            time.sleep((time.perf_counter() - start) * (1 / self.speed[device] - 1))
        return value

    def run_once(self, placement, order):
        n = len(self.model.ops)
        lock = threading.Condition()
        value, start, end, cpu = [None] * n, [0.0] * n, [0.0] * n, [0.0] * n
        begin = time.perf_counter()

        def fetch(op):
            for producer, size in self.model.inputs[op]:
                if placement[producer] != placement[op]:
                    bytes(bytearray(size))

        def device_thread(device):
            for op in order:
                if placement[op] != device:
                    continue
                with lock:
                    lock.wait_for(lambda: all(value[p] is not None for p, _ in self.model.inputs[op]))
                start[op], used = time.perf_counter() - begin, time.thread_time()
                fetch(op)
                result = self.work(op, device)
                end[op], cpu[op] = time.perf_counter() - begin, time.thread_time() - used
                with lock:
                    value[op] = result
                    lock.notify_all()

        threads = [threading.Thread(target=device_thread, args=(d,)) for d in range(len(DEVICES))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        wall = time.perf_counter() - begin
        worst = max((abs(v - e) / abs(e) for v, e in zip(value, self.model.expected)), default=0.0)
        return wall, start, end, cpu, worst

    # the questions

    def hello(self, _):
        return {"protocol": 1, "engine": "example", "version": "1", "devices": DEVICES}

    def load(self, q):
        self.model = Model(q["graph"])
        return {"ops": len(self.model.ops)}

    def run(self, q):
        placement = q["placement"]
        order = q.get("order") or self.model.order
        runs = [self.run_once(placement, order) for _ in range(q["warmup"] + q["repeats"])][q["warmup"]:]
        segments = [{"device": placement[op], "ops": [op], "start_s": [r[1][op] for r in runs], "end_s": [r[2][op] for r in runs],
                     "cpu_s": [r[3][op] for r in runs]} for op in order]
        worst = max(r[4] for r in runs)
        answer = {"wall_s": [r[0] for r in runs], "cpu_s": [sum(r[3]) for r in runs], "segments": segments, "difference": worst, "differs": worst > 1e-3}
        if q.get("operators"):
            last = runs[-1]
            answer["operators"] = [{"op": op, "device": placement[op], "kernel": self.model.ops[op].get("type", ""), "start_s": last[1][op], "end_s": last[2][op]}
                                   for op in order]
        return answer

    def whole(self, q):
        """By itself, this engine would run all on its faster device."""
        answer = self.run({"placement": [0] * len(self.model.ops), "warmup": q["warmup"], "repeats": q["repeats"]})
        return {"wall_s": answer["wall_s"], "cpu_s": answer["cpu_s"]}

    def profile(self, q):
        rows = []
        for op in q["ops"]:
            wall, cpu = [], []
            for _ in range(q["warmup"] + q["repeats"]):
                t, c = time.perf_counter(), time.thread_time()
                self.work(op, q["device"])
                wall.append(time.perf_counter() - t)
                cpu.append(time.thread_time() - c)
            rows.append({"op": op, "wall_s": wall[q["warmup"]:], "cpu_s": cpu[q["warmup"]:]})
        return {"rows": rows}

    def transfers(self, q):
        rows = []
        for size in q["bytes"]:
            data, wall = bytearray(size), []
            for _ in range(q["warmup"] + q["repeats"]):
                t = time.perf_counter()
                bytes(data)
                wall.append(time.perf_counter() - t)
            rows.append({"bytes": size, "wall_s": wall[q["warmup"]:]})
        return {"rows": rows}

    def set(self, q):
        if not 0 < q["speed"] <= 1:
            raise Refusal("", "a speed is above 0 and at most 1")
        self.speed[q["device"]] = q["speed"]
        return {}

    def answer(self, q):
        known = {"hello": self.hello, "load": self.load, "run": self.run, "whole": self.whole, "profile": self.profile,
                 "transfers": self.transfers, "set": self.set}
        if q["do"] not in known:
            raise Refusal("", "no such question: " + q["do"])
        if self.model is None and q["do"] not in ("hello", "load", "transfers", "set"):
            raise Refusal("", "no graph was loaded")
        return known[q["do"]](q)


def main():
    engine = Engine()
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = dict(engine.answer(question), id=question["id"], ok=True)
        except Refusal as refusal:
            answer = {"id": question["id"], "ok": False, "kind": refusal.kind, "error": str(refusal)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
