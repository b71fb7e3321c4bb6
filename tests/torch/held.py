#!/usr/bin/python3
"""What a run of a plan holds beside the next one (nothing), which gradients operators are timed with, in runs
and alone, and what training that goes on keeps.

usage: held.py. A device with a cap has room for one run. Exit code 1 where something is held, 77 without
PyTorch.
"""
import os
import sys
import weakref

sys.dont_write_bytecode = True

from needed import HERE  # noqa: E402  (first of all: PyTorch may be missing)

import torch  # noqa: E402
from berth_torch.devices import Refusal, parse_devices  # noqa: E402
from berth_torch.engine import Engine  # noqa: E402
from berth_torch.graph import make_graph  # noqa: E402
from berth_torch.spec import load, parse_spec  # noqa: E402
from berth_torch.trace import trace_loaded  # noqa: E402
from berth_torch.tracer import tensors_in  # noqa: E402
from plain import plain_losses  # noqa: E402


class Watch:
    """Notes what a session's runs return, and how much of it is alive when the next one begins."""

    def __init__(self, session):
        self.session, self.run, self.seen, self.held = session, session.run, [], []
        session.run = self.watched

    def alive(self):
        return sum(ref() is not None for ref in self.seen)

    def watched(self, *args, **kwargs):
        self.held.append(self.alive())
        sample = self.run(*args, **kwargs)
        made = [t for ran in sample.ran if ran for v in ran.outputs.values() for t in [v]]
        self.seen += [weakref.ref(t) for t in made if isinstance(t, torch.Tensor)]
        return sample


def wrong_gradients():
    """Gradients that backward passes are timed with against those of the module's own backward pass."""
    text = f"{os.path.join(HERE, 'models.py')}:lstm:mode=training:optimizer=sgd"
    spec = parse_spec(text)
    traced = trace_loaded(load(spec), spec)
    graph = make_graph(traced)
    engine = Engine(parse_devices("cpu0", 1), "wall", [])
    engine.load({"model": text, "graph": graph})
    s = engine.loaded()
    out = s.traced.module(*s.traced.args, **s.traced.kwargs)
    tensor = tensors_in(out)[0]
    tensor.retain_grad()
    s.traced.loss(out).backward()
    near = [g for grads in s.record.grads for g in grads if g is not None and g.shape == tensor.shape]
    return not any(torch.allclose(g, tensor.grad) for g in near)


def wrong_profile():
    """Times of operators out of runs of all of them, and, where these fail, of single ones."""
    text = f"{os.path.join(HERE, 'models.py')}:mixed:mode=training"
    spec = parse_spec(text)
    graph, told = make_graph(trace_loaded(load(spec), spec)), []
    engine = Engine(parse_devices("cpu0,cpu1", 1), "cpu", [])
    engine.load({"model": text, "graph": graph})
    ops = list(range(0, len(graph["ops"]), 2))
    question = {"do": "profile", "device": 1, "ops": ops, "warmup": 1, "repeats": 3}
    in_runs = engine.answer(question)

    def fail(*_, **__):
        raise Refusal("device", "no room")

    engine.session.run = fail
    alone = engine.answer(question)
    for kind, answer in (("in runs", in_runs), ("alone", alone)):
        rows = answer["rows"]
        if [r["op"] for r in rows] != ops or not all(len(r["wall_s"]) == 3 and min(r["wall_s"]) > 0 for r in rows):
            told.append(f"operators timed {kind}: {rows}")
    if "segment_overhead_s" not in in_runs or "segment_overhead_s" in alone:
        told.append("operators are not timed in runs, or not alone where these fail")
    return told


def wrong_training(name, optimizer, plain):
    """Ten steps with a move in the middle: losses as of a plain loop (plain), or as on one device alone where
    operators draw random numbers; and from the beginning again after another question."""
    text = f"{os.path.join(HERE, 'models.py')}:{name}:mode=training:optimizer={optimizer}"
    spec = parse_spec(text)
    graph = make_graph(trace_loaded(load(spec), spec))
    engine = Engine(parse_devices("cpu0,cpu1", 1), "wall", [])
    engine.load({"model": text, "graph": graph})
    groups = {op.get("colocate", op["name"]): i for i, op in enumerate(graph["ops"])}
    apart = [groups[op.get("colocate", op["name"])] % 2 for op in graph["ops"]]
    other, alone, steps = [1 - d for d in apart], [0] * len(apart), 10

    def losses(first, second):
        engine.answer({"do": "run", "placement": alone, "warmup": 0, "repeats": 1})
        halves = [engine.answer({"do": "run", "train": True, "placement": p, "warmup": 0, "repeats": steps // 2})
                  for p in (first, second)]
        return halves[0]["loss"] + halves[1]["loss"], halves[1]["trained"]

    wanted = plain_losses(text, steps) if plain else losses(alone, alone)[0]
    (found, trained), (again, _) = losses(apart, other), losses(apart, other)
    worst = max(abs(a - b) / abs(b) for a, b in zip(found, wanted))
    told = []
    if len(found) != steps or trained != steps or not worst <= 1e-5 or len(set(found)) < steps:
        told.append(f"{name}: losses {found} instead of {wanted}")
    if again[0] != found[0]:
        told.append(f"{name}: training that begins anew has the loss {again[0]} at first, not {found[0]}")
    return told


def main():
    text = f"{os.path.join(HERE, 'models.py')}:transformer:mode=inference"
    spec = parse_spec(text)
    graph = make_graph(trace_loaded(load(spec), spec))
    engine = Engine(parse_devices("cpu0,cpu1", 1), "wall", [])
    engine.load({"model": text, "graph": graph})
    watch = Watch(engine.loaded())
    place = [i % 2 for i in range(len(graph["ops"]))]
    answer = engine.run({"placement": place, "warmup": 1, "repeats": 2})
    wrong = [f"run {i} began beside {n} outputs of others" for i, n in enumerate(watch.held) if n]
    if not watch.seen or answer["differs"]:
        wrong.append("nothing was run, or wrongly")
    if wrong_gradients():
        wrong.append("backward passes are timed with other gradients than those of a run")
    wrong += wrong_profile()
    wrong += wrong_training("lstm", "adam", True) + wrong_training("mixed", "momentum", False)
    print("; ".join(wrong) or f"{len(watch.held)} runs, nothing held")
    sys.stdout.flush()
    os._exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
