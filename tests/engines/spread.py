#!/usr/bin/env python3
"""Random plans in one session of ONNX Runtime across two providers: does each operator run where the plan says,
and does the model compute the same?
    spread.py ENGINE PROVIDERS GRAPH MODEL PLANS SEED [TOLERANCE [LEVEL...]]
ENGINE: berth-engine-ort; PROVIDERS: its options that name two devices, the CPU's first; GRAPH: the model's graph
as JSON. What the second device does not take alone stays on the CPU; so does, from then on, what is refused in a
plan. At optimisation level "none" each operator has to have a kernel of its own on its device; at "all" those that
are not fused. Outputs may differ from the unsplit model's by TOLERANCE (1e-5). Prints a line. Leaves with 1 where
it is not so.
"""
import json
import random
import re
import shlex
import subprocess
import sys

engine, providers, graph_file, model, plans, seed = sys.argv[1:7]
tolerance = float(sys.argv[7]) if len(sys.argv) > 7 else 1e-5
graph = json.load(open(graph_file))
n = len(graph["ops"])
draw = random.Random(int(seed))


class Engine:
    def __init__(self, level):
        words = [*shlex.split(engine), *shlex.split(providers), "--optimize", level]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.asked = 0

    def ask(self, **question):
        self.asked += 1
        self.process.stdin.write(json.dumps({"id": self.asked, **question}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "placement" not in question:
            assert answer["ok"], (question["do"], answer)
        return answer

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


def bodies(op):
    return op["type"] in ("If", "Loop", "Scan")


def not_taken(e):
    """Operators that the second device refuses alone. One of a kind is asked for."""
    kind = {i: tuple(op.get(key) for key in ("type", "flops", "read_bytes", "write_bytes")) for i, op in enumerate(graph["ops"])}
    asked = list({k: i for i, k in reversed(kind.items())}.values())
    rows = e.ask(do="profile", device=1, ops=asked, warmup=0, repeats=1)["rows"]
    refused = {kind[row["op"]] for row in rows if "cannot" in row}
    return {i for i, k in kind.items() if k in refused}


def run(e, share, stays):
    """A random plan that the engine takes. The second device takes `share` of what it can."""
    wanted = [not bodies(op) and draw.random() < share for op in graph["ops"]]
    while True:
        placement = [int(w and i not in stays) for i, w in enumerate(wanted)]
        a = e.ask(do="run", placement=placement, warmup=0, repeats=1, operators=True)
        if a["ok"]:
            return placement, a
        named = re.match(r"operator '(.*)' \(", a["error"])
        refused = {i for i, op in enumerate(graph["ops"]) if named and op["name"] == named[1]} - stays
        assert refused, a
        stays |= refused


def check(level):
    e = Engine(level)
    e.ask(do="hello", protocol=1)
    e.ask(do="load", model=model, graph=graph)
    alone = not_taken(e)
    stays = set(alone)
    told = {"own": 0, "fused": 0, "elsewhere": 0, "copies": 0, "second": 0, "difference": 0}
    for plan in range(int(plans)):
        placement, a = run(e, draw.random(), stays)
        told["difference"] = max(told["difference"], a["difference"])
        assert a["difference"] <= tolerance and not a["differs"], (plan, a["difference"])
        assert sorted(o for s in a["segments"] for o in s["ops"]) == list(range(n))
        assert all(placement[o] == s["device"] for s in a["segments"] for o in s["ops"])
        ran = {o["op"]: o for o in a["operators"] if "op" in o}
        for i, op in enumerate(graph["ops"]):
            o = ran.get(i)
            if o and "in" not in o and o["kernel"] == op["type"]:
                assert o["device"] == placement[i], (level, plan, op["name"])
                told["own"] += 1
                told["second"] += placement[i]
            else:
                assert level != "none", (plan, op["name"], o)
                told["fused"] += 1
        told["elsewhere"] += len(a.get("elsewhere", []))
        told["copies"] += sum(o["kernel"].startswith("Memcpy") for o in a["operators"])
    e.end()
    told["alone"], told["refused"] = len(alone), len(stays) - len(alone)
    return told


lines = []
for level in sys.argv[8:] or ("none", "all"):
    t = check(level)
    lines.append(f"{level}: {t['own']} in their place ({t['second']} on the second device), {t['fused']} fused or folded "
                 f"({t['elsewhere']} elsewhere), {t['copies']} copies, difference {t['difference']:.1e}; not taken "
                 f"{t['alone']} alone, {t['refused']} in a plan")
    assert t["copies"] > 0 or n < 3 or t["alone"] + t["refused"] == n
print(f"{graph['name']}, {n} operators, {plans} plans; " + "; ".join(lines))
