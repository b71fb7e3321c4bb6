#!/usr/bin/python3
"""What people use to run a model on several devices, as programs for berth's simulator: cuts, and a device for each
operator of the cut program.

    baselines.py MODEL.onnx[:dim=N...] SYSTEM [--training] [--microbatches M]    as JSON, for each: its latency in
                                                          seconds and its peak of memory, or why there is none
    baselines.py BERTH --check                                        hold them against what is known of them

M is 4 where it is not given; M times the parts have to divide the batch. SYSTEM is a file, or
system:NAME. berth has to be in PATH, but for --check. What they are:

  data       Each device has all weights and a part of the batch; gradients are summed by all-reduce.
  tensor     Products with weights by columns and along what is summed in turn (Shoeybi et al., arXiv 1909.08053,
             section 3), in the form of Korthikanti et al. (MLSys 2023, section 4.2.2).
  gpipe      Stages of neighbouring operators, a device each, and M micro-batches: all forward, then all backward
             (Huang et al., NeurIPS 2019, section 2.2). Gradients add up, and weights are updated once.
  1f1b       The same, where a stage goes backward as soon as it can (Narayanan et al., SOSP 2019, section 3.2, with
             the flush of Narayanan et al., SC 2021, section 2.2.1).
  two-level  Stages by a dynamic program over operators, each on a mesh of d x t devices: the batch in d parts,
             products in t (after Zheng et al., OSDI 2022, sections 4 and 5, and Narayanan et al., SC 2021). All
             shapes (stages, d, t) of the devices are simulated, by both schedules; the best that fits counts. Unlike
             Alpa's, meshes of one program have one shape, and a stage's operators are cut by one rule, not by a
             linear program.

Stages are chosen so that the longest takes least, by rooflines. Shares are equal where devices are alike, else by
peak speed. Memory is what the simulator counts: a program that does not fit is told so.
"""
import heapq
import json
import os
import re
import subprocess
import sys
import tempfile

PIECE = re.compile(r"[/ ](?:piece |sum |joined |all_reduce |update |grad_sum |\d+:\d+-\d+ )(\d+) of (\d+)")


class Refused(Exception):
    """What berth says of a model, a system or a word."""


def berth(*words, fine=(0,)):
    done = subprocess.run(["berth", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in fine:
        raise Refused(done.stderr.strip() or f"berth {' '.join(words)}: exit code {done.returncode}")
    return done.stdout


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class System:
    def __init__(self, on, folder):
        self.on = on
        berth("show", on, "-q", "-o", f"{folder}/system.json")
        devices = load(f"{folder}/system.json")["devices"]
        # a CPU beside accelerators takes no part
        self.workers = [d for d in devices if not d["name"].startswith("cpu")] or devices
        for d in self.workers:
            if isinstance(d["peak_flops"], dict):  # by precision
                d["peak_flops"] = d["peak_flops"]["f32"]
        self.names = [d["name"] for d in self.workers]

    def learn(self, path):
        """What operators of a graph take."""
        told = json.loads(berth("show", path, "--on", self.on, "--times", "--json", "--quiet"))
        self.times = {(t["op"], t["device"]): t["time_s"] for t in told["times"]}

    def seconds(self, op, worker):
        return self.times[op["name"], self.names[worker]]


class Graph:
    def __init__(self, path):
        self.path, graph = path, load(path)
        self.ops = graph["ops"]
        self.at = {o["name"]: i for i, o in enumerate(self.ops)}
        self.before = [[] for _ in self.ops]
        self.after = [[] for _ in self.ops]
        for e in graph["edges"]:
            a, b = self.at[e["from"]], self.at[e["to"]]
            self.before[b].append(a)
            self.after[a].append(b)
        self.topo = self.sorted([0] * len(self.ops))

    def sorted(self, key):
        """Operators in a topological order, those of the smallest key first."""
        waits = [len(b) for b in self.before]
        ready = [(key[i], i) for i, w in enumerate(waits) if not w]
        heapq.heapify(ready)
        order = []
        while ready:
            _, i = heapq.heappop(ready)
            order.append(i)
            for k in self.after[i]:
                waits[k] -= 1
                if not waits[k]:
                    heapq.heappush(ready, (key[k], k))
        return order


def numbers(name):
    """Pieces of pieces that a name tells: [(i, k), ...], i from 0 on."""
    return [(int(i) - 1, int(k)) for i, k in PIECE.findall(name)]


def base(name):
    """The operator, or its output, that a piece or what stands between pieces belongs to."""
    return re.split(r"/piece |/sum |/joined|/\d+:\d+-", name)[0]


class Trial:
    """Programs of one model on one system."""

    def __init__(self, model, on, training, folder):
        self.model, self.training, self.folder, self.made = model, training, folder, 0
        self.why = None  # the last cut that came to nothing
        self.system = System(on, folder)
        self.whole = self.graph(model, None)
        self.system.learn(self.whole.path)

    def file(self, suffix):
        self.made += 1
        return f"{self.folder}/{self.made}.{suffix}"

    def graph(self, model, replicas):
        out = self.file("json")
        step = (["--training"] + (["--replicas", str(replicas)] if replicas else [])) if self.training else []
        berth("show", model, *step, "-q", "-o", out)
        return Graph(out)

    def split(self, model, style, parts):
        """The model with pieces; itself where it has one part. None: it cannot be cut."""
        if parts in (1, "1"):
            return model
        out = self.file("onnx")
        done = subprocess.run(["berth", "split", model, "--style", style, "--parts", str(parts), "-q", "-o", out],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            self.why = done.stderr.strip().removeprefix("berth: ")
        return out if done.returncode == 0 else None

    def shares(self, workers):
        speeds = [self.system.workers[w]["peak_flops"] for w in workers]
        return len(speeds) if len(set(speeds)) == 1 else ",".join(f"{s:g}" for s in speeds)

    def place(self, graph, told):
        """A device for each operator: told(op's name) or None; others go where their colocation group or what they
        take is, or what takes them."""
        dev = [told(o["name"]) for o in graph.ops]
        group = {}
        for i, o in enumerate(graph.ops):
            if o.get("colocate") and dev[i] is not None:
                group.setdefault(o["colocate"], dev[i])
        for i in graph.topo:
            if dev[i] is None:
                near = [dev[b] for b in graph.before[i] if dev[b] is not None]
                dev[i] = group.get(graph.ops[i].get("colocate"), near[0] if near else None)
            if graph.ops[i].get("colocate"):
                dev[i] = group.setdefault(graph.ops[i]["colocate"], dev[i] or 0)
        for i in reversed(graph.topo):
            if dev[i] is None:
                near = [dev[a] for a in graph.after[i]]
                dev[i] = near[0] if near else 0
        return dev

    def simulate(self, graph, dev, order=None):
        """Latency in seconds and the largest peak in bytes; None where it does not fit."""
        plan = {"format": "berth-placement", "version": 1,
                "placement": {o["name"]: self.system.names[d] for o, d in zip(graph.ops, dev)}}
        if order:
            plan["order"] = [graph.ops[i]["name"] for i in order]
        path = self.file("json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(plan, file)
        told = json.loads(berth("simulate", graph.path, "--on", self.system.on, "--placement", path, "--bound", "fast",
                                "--json", "--quiet", fine=(0, 3)))
        os.unlink(path)
        return (told["latency_s"] if told["feasible"] else None), told["peak_memory_bytes"]

    # ---- one way each ----

    def spread(self, style, workers):
        """Piece i of all on the i-th worker."""
        model = self.split(self.model, style, self.shares(workers))
        if not model:
            return None
        graph = self.graph(model, None)

        def told(name):
            n = numbers(name)
            return workers[n[-1][0]] if n else None

        return self.simulate(graph, self.place(graph, told))

    def stages(self, workers):
        """Neighbouring operators for each worker, so that the longest stage takes least: base name -> stage. The
        forward pass alone is looked at."""
        forward = [self.whole.ops[i] for i in self.whole.topo if not self.whole.ops[i].get("backward") and
                   self.whole.ops[i].get("type") != "SoftmaxCrossEntropyLoss"]
        times = [[0.0] for _ in workers]
        for o in forward:
            for k, w in enumerate(workers):
                times[k].append(times[k][-1] + self.system.seconds(o, w))
        n, stages = len(forward), len(workers)
        best = [times[0][:]]
        cuts = []
        for k in range(1, stages):
            row, cut, at = [], [], 0
            for end in range(n + 1):
                # the best cut moves on with the end
                cost = lambda i: max(best[k - 1][i], times[k][end] - times[k][i])
                while at < end and cost(at + 1) <= cost(at):
                    at += 1
                row.append(cost(at))
                cut.append(at)
            best.append(row)
            cuts.append(cut)
        stage, end = {}, n
        for k in reversed(range(stages)):
            start = cuts[k - 1][end] if k else 0
            for o in forward[start:end]:
                stage[o["name"]] = k
            end = start
        stage["loss"] = stages - 1
        return stage

    def pipeline(self, stages, d, t, micro, schedules=("gpipe", "1f1b")):
        """Stages on meshes of d x t workers: the latency and peak by each schedule. micro: micro-batches."""
        mesh = lambda s: list(range(s * d * t, (s + 1) * d * t))
        cut = self.split(self.model, "tensor", t)
        cut = cut and self.split(cut, "data", d * micro)
        if not cut:
            return {}
        # pieces of the batch come last in names; without them pieces by tokens are no micro-batches
        graph = self.graph(cut, d if d * micro > 1 else None)
        stage = self.stages([mesh(s)[0] for s in range(stages)])
        where = [None] * len(graph.ops)  # stage and micro-batch of an operator

        def told(name):
            i = graph.at[name]
            n = numbers(name)
            s = stage.get(base(name))
            if s is None:
                return None
            batch = n[-1] if n and d * micro > 1 else (0, 1)
            if batch[1] != d * micro:  # not cut along the batch: behind all micro-batches
                where[i] = (s, 0 if graph.ops[i].get("backward") else micro - 1)
                return mesh(s)[n[0][0] if t > 1 and n and n[0][1] == t else 0]
            part = n[0][0] if t > 1 and n and n[0][1] == t and (len(n) > 1 or d * micro == 1) else 0
            replica = batch[0] // micro
            where[i] = (s, batch[0] % micro)
            return mesh(s)[replica * t + part]

        self.name_backward(graph, stage)
        dev = self.place(graph, told)
        for i in graph.topo:
            if where[i] is None:
                near = [where[b] for b in graph.before[i] if where[b]]
                where[i] = max(near) if near else (0, 0)
        out = {}
        for schedule in schedules if stages > 1 else schedules[:1]:
            order = self.order(graph, where, stages, micro, schedule) if stages > 1 else None
            out[schedule] = self.simulate(graph, dev, order)
        return out

    def name_backward(self, graph, stage):
        """Names of derived operators begin with those that they come from."""
        for o in graph.ops:
            name = base(o["name"])
            if name not in stage:
                short = re.sub(r"/(grad_input|grad_weight|grad_sum|update|recompute).*$", "", name)
                if short in stage:
                    stage[name] = stage[short]

    def order(self, graph, where, stages, micro, schedule):
        """All operators in the order of the schedule's tasks (stage, micro-batch, backward)."""
        plan = []
        for s in range(stages):
            ahead = micro if schedule == "gpipe" or not self.training else min(stages - s, micro)
            tasks = [(s, m, False) for m in range(ahead)]
            for m in range(micro if self.training else 0):
                tasks.append((s, m, True))
                if ahead + m < micro:
                    tasks.append((s, ahead + m, False))
            plan.append(tasks)
        done, turn, at = {}, 0, [0] * stages
        while any(at[s] < len(plan[s]) for s in range(stages)):
            started = []
            for s in range(stages):
                if at[s] == len(plan[s]):
                    continue
                task = plan[s][at[s]]
                _, m, back = task
                needs = ([(s + 1, m, True)] if s + 1 < stages else []) + [(s, m, False)] if back else \
                        ([(s - 1, m, False)] if s else [])
                if all(n in done for n in needs):
                    started.append((s, task))
            for s, task in started:
                done[task] = turn
                turn += 1
                at[s] += 1
        last = turn
        depth = [0] * len(graph.ops)
        for i in graph.topo:
            for k in graph.after[i]:
                depth[k] = max(depth[k], depth[i] + 1)
        key = []
        for i, o in enumerate(graph.ops):
            s, m = where[i]
            update = o.get("type") in ("OptimizerUpdate", "AllReduce")
            task = last if update else done.get((s, m, bool(o.get("backward"))), last)
            # what others wait for goes before what waits for others
            key.append((task, depth[i]))
        return graph.sorted(key)


def shapes(n):
    """(stages, d, t) that use n devices."""
    return [(s, d, n // s // d) for s in range(1, n + 1) if n % s == 0 for d in range(1, n // s + 1) if n // s % d == 0]


def tell(result, why):
    """What is told of a trial; why: the last reason why a cut came to nothing."""
    if not result:
        return {"latency_s": None, "peak_memory_bytes": None, "why": why or "it cannot be cut so"}
    latency, peak = result
    return {"latency_s": latency, "peak_memory_bytes": peak,
            "why": "it does not fit into the memory of the devices" if latency is None else None}


def run(model, on, training, micro):
    """Latencies by name; None: it does not fit, or cannot be cut so."""
    return {name: r["latency_s"] for name, r in results(model, on, training, micro).items()}


def results(model, on, training, micro):
    """What is told of each, by name."""
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(model, on, training, folder)
        workers = list(range(len(trial.system.workers)))
        alike = len({d["peak_flops"] for d in trial.system.workers}) == 1
        out = {style: tell(trial.spread(style, workers), trial.why) for style in ("data", "tensor")}
        pipes = trial.pipeline(len(workers), 1, 1, micro)
        for s in ("gpipe", "1f1b"):
            # one stage has one schedule
            out[s] = tell(pipes.get(s), "there is one device" if pipes else trial.why)
        tried = list(out.values())
        for stages, d, t in shapes(len(workers)) if alike else []:
            if stages in (1, len(workers)) and (d == 1 or t == 1):
                continue
            for result in trial.pipeline(stages, d, t, micro if stages > 1 else 1).values():
                tried.append(tell(result, None))
        fit = [t for t in tried if t["latency_s"] is not None]
        none = {"latency_s": None, "peak_memory_bytes": None, "why": "no mesh fits, or can be cut so"}
        out["two-level"] = min(fit, key=lambda t: t["latency_s"], default=none)
        return out


def check(folder):
    """A step of a small GPT on four like GPUs."""
    import large_models

    model = os.path.join(folder, "model.onnx")
    large_models.build("gpt2-xl:layers=4:batch=16:seq=256:tied=0").write(model)
    trial = Trial(model, "system:4gpu", True, folder)
    workers = list(range(4))
    work = sum(trial.system.seconds(o, 0) for o in trial.whole.ops)
    data, tensor = trial.spread("data", workers), trial.spread("tensor", workers)
    pipes = trial.pipeline(4, 1, 1, 8)
    mesh = trial.pipeline(2, 2, 1, 4)["1f1b"]
    told = {"data": data, "tensor": tensor, "mesh": mesh, **pipes}
    print(f"one device: {1e3 * work:.2f} ms")
    for name, (latency, peak) in told.items():
        print(f"{name}: {1e3 * latency:.2f} ms, {peak / 2**20:.0f} MiB")
        assert latency > work / 4 * 0.9, f"{name}: quicker than four devices can be"
        assert latency < work, f"{name}: slower than one device"
    assert pipes["1f1b"][1] < pipes["gpipe"][1], "1F1B keeps as many activations as GPipe"
    assert tensor[1] < data[1], "weights that are cut take as much memory as copies of them"


def read_words(words):
    """Model, system, training, micro-batches."""
    training, micro, rest = False, 4, []
    words = iter(words)
    for word in words:
        if word == "--training":
            training = True
        elif word == "--microbatches":
            text = next(words, "")
            if not text.isdecimal() or int(text) < 1:
                sys.exit(f"baselines.py: --microbatches: '{text}': expected a whole number from 1 on")
            micro = int(text)
        elif word.startswith("-"):
            sys.exit(f"baselines.py: unknown option {word} (--help lists them)")
        else:
            rest.append(word)
    if len(rest) != 2:
        sys.exit("baselines.py: expected MODEL.onnx and SYSTEM (--help says more)")
    return *rest, training, micro


if __name__ == "__main__":
    if {"--help", "-h"} & set(sys.argv[1:]):
        print(__doc__.strip())
        sys.exit()
    if sys.argv[2:] == ["--check"]:
        os.environ["PATH"] = f"{os.path.dirname(os.path.abspath(sys.argv[1]))}:{os.environ['PATH']}"
        with tempfile.TemporaryDirectory() as folder:
            check(folder)
        sys.exit()
    try:
        print(json.dumps(results(*read_words(sys.argv[1:])), indent=2))
    except Refused as bad:
        sys.exit(str(bad))
    except FileNotFoundError:
        sys.exit("baselines.py: berth is not in PATH")
