#!/usr/bin/env python3
"""Random plans in one session of ONNX Runtime across the CPU and the test's second device: does each operator
run where the plan says, and does the model compute the same?
    spread.py ENGINE SECOND GRAPH MODEL PLANS SEED
ENGINE: berth-engine-ort; SECOND: the library of the second device; GRAPH: the model's graph as JSON. At
optimisation level "none" each operator has to have a kernel of its own on its device; at "all" those that are
not fused. Outputs may differ from the unsplit model's by 1e-5. Prints a line. Leaves with 1 where it is not so.
"""
import json
import random
import subprocess
import sys

engine, second, graph_file, model, plans, seed = sys.argv[1:7]
graph = json.load(open(graph_file))
n = len(graph["ops"])
draw = random.Random(int(seed))


class Engine:
    def __init__(self, level):
        words = [engine, "--providers", "cpu=CPUExecutionProvider,second=Second", "--provider-library",
                 "Second=" + second, "--threads", "1", "--optimize", level]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.asked = 0

    def ask(self, **question):
        self.asked += 1
        self.process.stdin.write(json.dumps({"id": self.asked, **question}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["ok"], (question["do"], answer)
        return answer

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


def bodies(op):
    return op["type"] in ("If", "Loop", "Scan")


def check(level):
    e = Engine(level)
    e.ask(do="hello", protocol=1)
    e.ask(do="load", model=model, graph=graph)
    own = fused = copies = elsewhere = 0
    worst = 0
    for plan in range(int(plans)):
        share = draw.random()  # of the second device
        placement = [0 if bodies(op) or draw.random() >= share else 1 for op in graph["ops"]]
        a = e.ask(do="run", placement=placement, warmup=0, repeats=1, operators=True)
        worst = max(worst, a["difference"])
        assert a["difference"] <= 1e-5 and not a["differs"], (plan, a["difference"])
        assert sorted(o for s in a["segments"] for o in s["ops"]) == list(range(n))
        assert all(placement[o] == s["device"] for s in a["segments"] for o in s["ops"])
        ran = {o["op"]: o for o in a["operators"] if "op" in o}
        for i, op in enumerate(graph["ops"]):
            o = ran.get(i)
            if o and "in" not in o:
                assert o["device"] == placement[i], (level, plan, op["name"])
                own += 1
            else:
                assert level != "none", (plan, op["name"])
                fused += 1
        elsewhere += len(a.get("elsewhere", []))
        copies += sum(o["kernel"].startswith("Memcpy") for o in a["operators"])
    e.end()
    return own, fused, elsewhere, copies, worst


told = []
for level in "none", "all":
    own, fused, elsewhere, copies, worst = check(level)
    told.append(f"{level}: {own} in their place, {fused} fused or folded ({elsewhere} elsewhere), {copies} copies, "
                f"difference {worst:.1e}")
    assert copies > 0 or n < 3
print(f"{graph['name']}, {n} operators, {plans} plans; " + "; ".join(told))
