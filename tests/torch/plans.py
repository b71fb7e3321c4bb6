#!/usr/bin/python3
"""Random plans of modules, run and compared with the unsplit module.

usage: plans.py [--devices LIST] [--processes] [--threads N] [--plans N] [--seconds S] [--seed N]
                [--mode MODE]... [--tolerance X] [--timeout S] [--double] [MODEL...]

Each plan is drawn in one of three ways: each operator anywhere (zigzags), a few cuts, or two devices in
turn. It has to give what the unsplit module gives: outputs, and in training the loss, gradients, updated
parameters and buffers, within the tolerance; and it has to send as many bytes as the graph's cut tensors
have, each once to a device. Half of the plans are run with an order of their own, drawn at random among
those that the operators allow. Exit code 1 where a plan does not, 77 without PyTorch.
"""
import argparse
import os
import random
import sys
import time

sys.dont_write_bytecode = True

from needed import HERE  # noqa: E402  (first of all: PyTorch may be missing)

import torch  # noqa: E402
from berth_torch.crew import Crew  # noqa: E402
from berth_torch.devices import parse_devices  # noqa: E402
from berth_torch.graph import make_graph  # noqa: E402
from berth_torch.moves import Post  # noqa: E402
from berth_torch.nursery import Nursery  # noqa: E402
from berth_torch.program import needs_of  # noqa: E402
from berth_torch.session import Session  # noqa: E402
from berth_torch.trace import trace  # noqa: E402
from berth_torch.worker import Worker  # noqa: E402

MODELS = ["resnet18", "transformer", "lstm", "tied", "mixed"]


class Harness:
    """Devices with their threads or processes, on which one model after the other is tried."""

    def __init__(self, args):
        nursery = Nursery() if args.processes or "@" in args.devices else None
        self.devices, self.use_double = parse_devices(args.devices, args.threads), args.double
        self.post = Post(self.devices, args.timeout)
        told = {"threads": args.threads, "clock": "wall", "tf32": False}
        self.crew = Crew(self.devices, nursery.child, not args.processes, args.timeout, told) if nursery else None
        torch.set_num_threads(max(d.threads for d in self.devices))
        self.workers = [Worker(i, d, None, self.post) if d.here else None for i, d in enumerate(self.devices)]

    def session(self, model, mode):
        """The module on the devices, and its graph."""
        factory = model + "_double" * self.use_double
        text = f"{os.path.join(HERE, 'models.py')}:{factory}:mode={mode}:optimizer=sgd"
        traced = trace(text)
        graph = make_graph(traced)
        names = [op["name"] for op in graph["ops"]]

        def session():
            return Session(traced, names, self.devices, self.post, self.workers, self.crew)

        if not self.crew:
            return session(), graph
        return self.crew.load({"model": text, "leaves": [], "names": names}, session), graph


def groups_of(session):
    """For each step the first of those that share what a training step changes with it."""
    first = list(range(len(session.steps)))

    def root(k):
        while first[k] != k:
            k = first[k]
        return k

    owner = {}
    for k, s in enumerate(session.steps if session.training else []):
        for name in s.params + s.buffers:
            first[root(k)] = root(owner.setdefault(name, k))
    return [root(k) for k in range(len(first))]


def draw_plan(session, rng, n_devices):
    """A placement of all operators of the graph, parts of one step on one device."""
    n, groups = len(session.steps), groups_of(session)
    way = rng.randrange(3)
    if way == 0:
        place = [rng.randrange(n_devices) for _ in range(n)]
    elif way == 1:
        cuts = sorted(rng.randrange(n + 1) for _ in range(rng.randrange(1, 5)))
        place = [sum(k >= c for c in cuts) % n_devices for k in range(n)]
    else:
        place = [k % n_devices for k in range(n)]
    place = [place[groups[k]] for k in range(n)]
    return [place[r.step] for r in session.roles]


def draw_order(session, rng):
    """One of the orders in which the operators could run one by one."""
    needs = [set(x) for x in needs_of(session.roles, session.links)]
    order, free = [], [i for i, x in enumerate(needs) if not x]
    users = {}
    for i, x in enumerate(needs):
        for p in x:
            users.setdefault(p, []).append(i)
    while free:
        op = free.pop(rng.randrange(len(free)))
        order.append(op)
        for u in users.get(op, ()):
            needs[u].discard(op)
            if not needs[u]:
                free.append(u)
    return order


def cut_bytes(graph, placement):
    """Bytes that berth's simulator has sent: of each tensor, once to each other device that takes it."""
    place = {op["name"]: d for op, d in zip(graph["ops"], placement)}
    cut = {(e["from"], e["tensor"], place[e["to"]]): e["bytes"] for e in graph["edges"]
           if place[e["from"]] != place[e["to"]]}
    return sum(cut.values())


def try_plan(session, rng, graph):
    """Run one plan. The differences, bytes sent and to be sent, and the number of pieces."""
    placement = draw_plan(session, rng, len(session.devices))
    order = draw_order(session, rng) if rng.random() < 0.5 else None
    session.prepare(placement, order)
    sample = session.run()
    pieces = len(session.plan.program.pieces)
    return session.check(sample), sample.sent_bytes, cut_bytes(graph, placement), pieces


def try_model(harness, model, mode, args):
    session, graph = harness.session(model, mode)
    rng = random.Random(f"{args.seed} {model} {mode}")
    worst, wrong, pieces, sent_all, tried = {}, 0, 0, 0, 0
    start = time.time()
    for i in range(args.plans):
        if args.seconds and time.time() - start > args.seconds:
            break
        tried += 1
        found, sent, wanted, n = try_plan(session, rng, graph)
        bad = [f"{k} by {d:.3g}" for k, d in found.items() if not d <= args.tolerance]
        if sent != wanted:
            bad.append(f"{sent} bytes sent instead of {wanted}")
        if bad:
            wrong += 1
            print(f"{model} {mode}, plan {i}: {', '.join(bad)}", flush=True)
        worst = {k: max(d, worst.get(k, 0.0)) for k, d in found.items()}
        pieces, sent_all = pieces + n, sent_all + sent
    told = ", ".join(f"{k} {d:.2g}" for k, d in worst.items())
    print(f"{model} {mode}: {tried} plans of {len(session.roles)} operators, "
          f"{pieces / tried:.0f} pieces and {sent_all / tried / 1e6:.2f} MB sent each; "
          f"{wrong} wrong; largest differences: {told}; {time.time() - start:.1f} s", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices", default="cpu0,cpu1,cpu2")
    parser.add_argument("--processes", action="store_true")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--plans", type=int, default=5)
    parser.add_argument("--seconds", type=float, help="begin no plan of a model in a mode after these")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", action="append")
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--double", action="store_true")
    parser.add_argument("models", nargs="*", default=MODELS)
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    harness = Harness(args)
    wrong = sum(try_model(harness, m, mode, args) for m in args.models
                for mode in args.mode or ["inference", "training"])
    sys.stdout.flush()
    os._exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
