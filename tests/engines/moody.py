#!/usr/bin/python3
"""An engine whose times are made up, for trying out adaptation: moody.py [WORD=VALUE...]. An operator lasts its flops over the speed of its device.
  worse=X       any other placement than the first one lasts X times as long as it should
  ready=S       making a placement ready takes S seconds, the first time in a process
  crash=N,...   the engine crashes in its N-th run question, as FILE counts them
  file=FILE     a line for each run question: repeats and devices used
  cold=X        the first run question of a placement in a row lasts X times as long
  tells=S       it tells that making a placement ready takes S seconds
  speeds=A,B    of the devices at the start
  clock=wall    answers take as long as they say
Training that goes on has the loss 1 / (1 + steps so far), and begins anew where a run is none of it.
"""
import json
import os
import sys
import time

words = dict(w.split("=", 1) for w in sys.argv[1:])
LOG = words.get("file")
CLOCK = words.get("clock", "made up")
START = [float(x) for x in words.get("speeds", "1,1").split(",")]
speed, graph, ready, first, last = list(START), None, set(), None, None
trained = 0


def seconds(op, device):
    return graph["ops"][op].get("flops", 0) / 1e9 / speed[device]


def note(text):
    if LOG:
        with open(LOG, "a") as f:
            print(text, file=f)


def asked():
    return sum(1 for _ in open(LOG)) if LOG and os.path.exists(LOG) else 0


def run(q):
    global first, last
    n, placement = q["repeats"], q["placement"]
    used = sorted(set(placement))
    if str(asked() + 1) in words.get("crash", "").split(","):
        note("crash")
        os._exit(7)
    note("%d %s %s" % (n, "".join(map(str, used)), "slow" if speed != START else "full"))
    if tuple(placement) not in ready:
        ready.add(tuple(placement))
        time.sleep(float(words.get("ready", 0)))
    first = first or placement
    more = float(words.get("worse", 1)) if placement != first else 1
    more *= float(words.get("cold", 1)) if last and placement != last else 1
    last = placement
    free, segments = [0.0, 0.0], []
    for op in q.get("order") or range(len(placement)):
        d = placement[op]
        start = free[d]
        free[d] += more * seconds(op, d)
        segments.append({"device": d, "ops": [op], "start_s": [start] * n, "end_s": [free[d]] * n})
    told = {"ready_s": float(words["tells"])} if "tells" in words else {}
    return dict(training(q), **told, wall_s=[max(free)] * n, segments=segments)


def training(q):
    global trained
    if not q.get("train"):
        trained = 0
        return {}
    losses = [1 / (1 + trained + i) for i in range(q["repeats"])]
    trained += q["repeats"]
    return {"loss": losses, "trained": trained}


def answer(q):
    global graph
    n = q.get("repeats")
    if q["do"] == "hello":
        return {"protocol": 1, "engine": "moody", "clock": CLOCK, "devices": [{"name": "a"}, {"name": "b"}]}
    if q["do"] == "load":
        graph = q["graph"]
        return {"ops": len(graph["ops"])}
    if q["do"] == "set":
        speed[q["device"]] = START[q["device"]] * q["speed"]
        return {}
    if q["do"] == "profile":
        return {"rows": [{"op": op, "wall_s": [seconds(op, q["device"])] * n} for op in q["ops"]]}
    if q["do"] == "transfers":
        return {"rows": [{"bytes": b, "wall_s": [1e-6 + b / 1e10] * n} for b in q["bytes"]]}
    return run(q)


def take_time(told):
    """As long as an answer says."""
    for row in [told, *told.get("rows", [])] if CLOCK == "wall" else []:
        time.sleep(sum(row.get("wall_s", [])))


for line in sys.stdin:
    question = json.loads(line)
    told = answer(question)
    take_time(told)
    print(json.dumps(dict(told, id=question["id"], ok=True)), flush=True)
