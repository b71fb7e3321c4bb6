#!/usr/bin/python3
"""In the place of a Python that has PyTorch (BERTH_PYTHON): graphs and plans of modules, made up. The factory of FILE.py:FACTORY names
what is wrong: "dies", "killed", "half", "binary", "nonsense", "list", "keys", "deep", "two", "hostile", "words"; any other name: nothing."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hostile"))
sys.dont_write_bytecode = True
import names


def answer(verb, fault):
    words = names.name if fault in ("hostile", "words") else lambda what, i: f"{what}{i}"
    ops = [{"name": words("op", i), "type": words("Linear", i), "flops": 1e9, "param_bytes": 1000, "output_bytes": 1000} for i in range(4)]
    edges = [{"from": a["name"], "to": b["name"], "bytes": 1000} for a, b in zip(ops, ops[1:])]
    good = {"file": "# placed\n", "notes": [words("note", 1)]}
    if verb == "graph":
        good = {"format": "berth-graph", "version": 1, "name": words("module", 0), "ops": ops, "edges": edges}
    if fault == "words":
        sys.stderr.buffer.write(b"\xff" + words("refused", 3).encode() + b"\n")
        sys.stderr.flush()
        os._exit(4)
    text = json.dumps(good) + "\n"
    other = {"half": text[:len(text) // 2], "nonsense": "Segmentation fault (core not dumped)\n", "list": "[1, 2]\n", "two": 2 * text,
             "keys": json.dumps({key: 7 for key in good}) + "\n", "deep": "[" * 100000 + "\n", "dies": "", "killed": text[:9]}
    return other.get(fault, text).encode() if fault != "binary" else b"\xff\xfe\x00\x1b[31m\n"


if "-c" in sys.argv:  # is it a Python?
    print(42)
    sys.exit()
verb, _, spec = sys.argv[-3:]
fault = spec.split(":")[1]
if verb == "place":
    json.loads(sys.stdin.read())
sys.stdout.buffer.write(answer(verb, fault))
sys.stdout.flush()
if fault == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(3 if fault == "dies" else 0)
