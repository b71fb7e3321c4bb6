#!/usr/bin/python3
"""An engine that does one thing wrong: broken.py FAULT [FILE]. With FILE, it does it only until FILE exists, which its first fault makes."""
import json
import os
import signal
import sys
import time

FAULT = sys.argv[1]
ONCE = sys.argv[2] if len(sys.argv) > 2 else None
ACTIVE = not (ONCE and os.path.exists(ONCE))
ops = 0


def fault(name):
    """Is it time for this fault?"""
    global ACTIVE
    if FAULT != name or not ACTIVE:
        return False
    if ONCE:
        open(ONCE, "w").close()
        ACTIVE = False
    return True


def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def endless():
    while True:
        say("x" * 65536)


def run(q):
    n, placement = q["repeats"], q["placement"]
    if fault("crash-run"):
        print("about to fall over", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault("hang-run"):
        time.sleep(600)
    if fault("endless-run"):
        endless()
    if fault("orphan-run"):  # its child holds the channel open
        if os.fork() == 0:
            time.sleep(600)
        os._exit(4)
    if fault("no-kind"):
        return {"ok": False, "kind": "", "error": "not today"}
    if fault("half-run"):
        say('{"id":%d,"ok":true,"wall_s":[0.0' % q["id"])
        os._exit(3)
    if fault("garbage-run"):
        say("Segmentation fault (core not dumped)\n")
        return None
    if fault("binary-run"):
        sys.stdout.buffer.write(b"\xff\xfe\x1b[31m gar\xc3\xa9bage \xc3\n")
        sys.stdout.flush()
        return None
    if fault("binary-words"):
        sys.stderr.buffer.write(b"\xffodd\x00words \xf0\x9f\n")
        sys.stderr.flush()
        os._exit(3)
    if fault("long-refusal"):
        return {"ok": False, "kind": "device", "error": "x" + "\u00e9" * 300 + "\n"}
    if fault("device-gone"):
        return {"ok": False, "kind": "device", "error": "device 'b' is gone"}
    if fault("differs"):
        return dict(good(n, placement), difference=0.5, differs=True)
    answer = good(n, placement)
    if fault("other-device"):
        for s in answer["segments"]:
            s["device"] = 1 - s["device"]
    if fault("fewer-samples"):
        answer["wall_s"].pop()
    if fault("negative"):
        answer["wall_s"][0] = -1.0
    if fault("nan"):
        answer["wall_s"][0] = None
    if fault("slow-clock"):
        answer["wall_s"] = [1000.0] * n
    if fault("op-twice"):
        answer["segments"].append(dict(answer["segments"][0]))
    if fault("op-missing"):
        answer["segments"].pop()
    if fault("empty-segment"):
        answer["segments"].append(dict(answer["segments"][0], ops=[]))
    if fault("stray-segment"):
        answer["segments"].append(dict(answer["segments"][0], ops=[], device=1))
    if q.get("operators"):
        answer["operators"] = [{"device": 1 if fault("stray-kernel") else 0, "kernel": "reorder", "start_s": 0.0, "end_s": 1e-5}]
    if fault("ends-late"):
        time.sleep(0.2)
        answer["segments"][0]["end_s"] = [0.02] * n
    if fault("wrong-id"):
        answer["id"] = 77
    if fault("two-lines"):
        answer["id"] = q["id"]
        answer["ok"] = True
        say(json.dumps(answer) + "\n" + json.dumps(answer) + "\n")
        return None
    return answer


def good(n, placement):
    time.sleep(1e-4 * n)
    return {"wall_s": [1e-4] * n, "segments": [{"device": d, "ops": [i], "start_s": [0.0] * n, "end_s": [1e-4 / max(1, len(placement))] * n}
                                               for i, d in enumerate(placement)]}


def hello():
    devices = [{"name": "a", "kind": "cpu"}, {"name": "b", "kind": "cpu"}]
    if fault("no-devices"):
        devices = []
    if fault("same-devices"):
        devices[1]["name"] = "a"
    if fault("odd-devices"):
        devices[1]["name"] = 7
    if FAULT == "new-devices" and not ACTIVE:
        devices = [{"name": "a"}, {"name": "c"}]
    answer = {"protocol": 1, "engine": "broken", "devices": devices}
    if fault("odd-hello"):
        answer["fuses"] = 1
    if fault("open-files"):  # those without a name that it got, but its standard streams
        files = [n for n in os.listdir("/proc/self/fd") if int(n) > 2]
        answer["version"] = str(sum(os.path.islink(f"/proc/self/fd/{n}") and os.readlink(f"/proc/self/fd/{n}").endswith("(deleted)") for n in files))
    if fault("protocol"):
        answer["protocol"] = 9
    return answer


def profile(q):
    if fault("crash-profile"):
        sys.exit(5)
    return {"rows": [{"op": op, "wall_s": [1e-5] * q["repeats"]} for op in q["ops"] if not time.sleep(1e-5 * q["repeats"])]}


def load(q):
    global ops
    ops = len(q["graph"]["ops"])
    if fault("model"):
        return {"ok": False, "kind": "model", "error": "it cannot run operators of type 'Strange'"}
    return {"ops": ops + 1 if fault("other-ops") else ops}


for line in sys.stdin:
    q = json.loads(line)
    if fault("crash-hello"):
        sys.exit("no library to run on")
    if fault("endless-hello"):
        endless()
    if fault("hang-hello"):
        time.sleep(600)
    if FAULT == "new-devices" and q["do"] == "run" and fault("new-devices"):
        sys.exit(1)
    answer = {"hello": lambda q: hello(), "load": load, "run": run, "profile": profile}[q["do"]](q)
    if answer is not None:
        say(json.dumps({"id": q["id"], "ok": True, **answer}) + "\n")
