#!/usr/bin/python3
"""Does an engine leave the cores alone once the unsplit model's session on all threads has run? What runs next, turn by turn, would pay for it.
idle.py ENGINE MODEL GRAPH.json: exit code 1, if the engine goes on working after its answers."""
import json
import os
import subprocess
import sys
import time

MOST_S = 0.01  # of CPU time after each run; threads that spin on take 0.03

engine, model, graph = sys.argv[1:]
process = subprocess.Popen([engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(**question):
    process.stdin.write(json.dumps({"id": 1, **question}) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    assert answer["ok"], answer
    return answer


def cpu_seconds():
    with open(f"/proc/{process.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


ask(do="hello", protocol=1)
with open(graph) as f:
    ask(do="load", model=model, graph=json.load(f))
runs, spent = 8, 0
for _ in range(runs):
    ask(do="whole", threads=0, warmup=1, repeats=3)
    before = cpu_seconds()
    time.sleep(0.1)
    spent += cpu_seconds() - before
process.stdin.close()
process.wait()
print(f"{spent / runs * 1000:.1f} ms of CPU time after a run")
sys.exit(spent / runs > MOST_S)
