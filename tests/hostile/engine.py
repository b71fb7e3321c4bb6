#!/usr/bin/python3
"""An engine with hostile words: engine.py FAULT. "none" answers, with hostile names; "refuse" refuses runs; "words" writes to standard error and leaves;
"garbage" writes what is no answer; "key" and "value" answer wrongly."""
import json
import os
import sys

import names

FAULT = sys.argv[1]
WORDS = " ".join(names.CLASSES)
graph = None


def run(q):
    n = q["repeats"]
    if FAULT == "refuse":
        return {"ok": False, "kind": "model", "error": WORDS}
    if FAULT == "words":
        sys.stderr.buffer.write(b"\xff\xc3" + WORDS.encode() + b"\x1b[31m\xe2\x80\xae\xe2\x80")
        sys.stderr.flush()
        os._exit(3)
    if FAULT == "garbage":
        sys.stdout.buffer.write(b"\x1b[31m\x9b\xff" + WORDS.replace("\n", " ").encode() + b"\n")
        sys.stdout.flush()
        os._exit(3)
    segments = [{"device": d, "ops": [op], "start_s": [op * 1e-3] * n, "end_s": [(op + 1) * 1e-3] * n} for op, d in enumerate(q["placement"])]
    if FAULT == "value":
        segments[0]["device"] = WORDS
    return {"differs": False, "difference": 0, "wall_s": [len(segments) * 1e-3] * n, "strain": [1.0] * n, "segments": segments}


def answer(q):
    global graph
    if q["do"] == "hello":
        kind = {WORDS: 1} if FAULT == "key" else {}
        return {"protocol": 1, "engine": WORDS, "version": WORDS, "clock": WORDS, "devices": [{"name": d, **kind} for d in names.DEVICES]}
    if q["do"] == "load":
        graph = q["graph"]
        return {"ops": len(graph["ops"])}
    if q["do"] == "profile":
        return {"rows": [{"op": op, "wall_s": [1e-3] * q["repeats"]} for op in q["ops"]]}
    if q["do"] == "transfers":
        return {"rows": [{"bytes": b, "wall_s": [5e-6 + b / 1e10] * q["repeats"]} for b in q["bytes"]]}
    if q["do"] == "whole":
        return {"wall_s": [len(graph["ops"]) * 1e-3] * q["repeats"]}
    return run(q)


for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({"ok": True, **answer(question), "id": question["id"]}), flush=True)
