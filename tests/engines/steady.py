#!/usr/bin/python3
"""An engine whose times are made up of the graph alone, so that two trainings can be compared to the bit: steady.py LOG [FAULT N]. LOG gets a line for each placement that
it runs. With FAULT it does that in its N-th run (0: in all): "differs", "model", "device" or "odd" (refusals), or "fast-alone": all on cpu1 is faster than any profile tells;
"cpu-clock": its times are those of the CPU's clock."""
import json
import sys
import time

LOG = sys.argv[1]
FAULT, NTH = (sys.argv[2], int(sys.argv[3])) if len(sys.argv) > 2 else ("", 0)
SPEED = [1e11, 4e10]
graph, index, inputs = None, {}, []
n_runs = 0


def seconds(op, device):
    return 1e-6 * (1 + device) + (op.get("flops", 0) / 2 + op.get("read_bytes", 0)) / SPEED[device]


def finish(placement, order):
    """Ends of operators, and their starts: in order, a cut costs a little."""
    end, start, free = {}, {}, [0.0, 0.0]
    for op in order:
        device = placement[op]
        start[op] = max([free[device]] + [end[p] + (0 if placement[p] == device else 7e-6) for p in inputs[op]])
        end[op] = free[device] = start[op] + seconds(graph["ops"][op], device)
    return start, end


def run(q):
    global n_runs
    n_runs += 1
    n, placement = q["repeats"], q["placement"]
    order = q.get("order") or range(len(placement))
    start, end = finish(placement, order)
    with open(LOG, "a") as log:
        print("run", file=log)
    time.sleep(0 if FAULT else 0.1)  # time to be killed in
    faulty = FAULT and NTH in (0, n_runs)
    if faulty and FAULT in ("model", "device", "odd"):
        return {"ok": False, "kind": FAULT, "error": "it will not run this placement"}
    if faulty and FAULT == "fast-alone" and all(placement):
        start, end = ({op: t / 10 for op, t in times.items()} for times in (start, end))
    differs = bool(faulty and FAULT == "differs")
    return {"differs": differs, "difference": 0.5 * differs, "wall_s": [max(end.values())] * n, "strain": [1.0] * n,
            "segments": [{"device": placement[op], "ops": [op], "start_s": [start[op]] * n, "end_s": [end[op]] * n} for op in order]}


def answer(q):
    global graph, index, inputs
    n = q.get("repeats")
    if q["do"] == "hello":
        return {"protocol": 1, "engine": "steady", "version": "1", "clock": "cpu" if FAULT == "cpu-clock" else "made up", "devices": [{"name": "cpu0"}, {"name": "cpu1"}]}
    if q["do"] == "load":
        graph = q["graph"]
        index = {op["name"]: i for i, op in enumerate(graph["ops"])}
        inputs = [[] for _ in graph["ops"]]
        for e in graph["edges"]:
            inputs[index[e["to"]]].append(index[e["from"]])
        return {"ops": len(inputs)}
    if q["do"] == "profile":
        return {"rows": [{"op": op, "wall_s": [seconds(graph["ops"][op], q["device"])] * n} for op in q["ops"]]}
    if q["do"] == "transfers":
        return {"rows": [{"bytes": b, "wall_s": [5e-6 + b / 1e10] * n} for b in q["bytes"]]}
    if q["do"] == "whole":
        return {"wall_s": [sum(seconds(op, 0) for op in graph["ops"])] * n}
    return run(q)


for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({"ok": True, **answer(question), "id": question["id"]}), flush=True)
