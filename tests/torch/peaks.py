#!/usr/bin/python3
"""The most memory that each device's process holds in a run, against what berth predicts.

usage: peaks.py BERTH [--plans N] [--table] [MODEL...]. Two processes, random plans of a few cuts. Exit code 77
without PyTorch, 1 where a device that holds more than 16 MiB holds 1.5 times as much as was predicted.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import plans  # noqa: E402

MIB = 1 << 20


class Options:
    """Options of plans.py."""

    devices, processes, threads, timeout, double = "cpu0,cpu1", True, 1, 120, False


def predicted(berth, graph, placement, folder):
    """berth's peak of each device, in bytes."""
    names = ["cpu0", "cpu1"]
    plan = {"placement": {op["name"]: names[d] for op, d in zip(graph["ops"], placement)}}
    for name, document in (("graph", graph), ("plan", plan)):
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(document, file)
    system = os.path.join(HERE, "..", "..", "docs", "pytorch", "two_cpus.json")
    words = [berth, "simulate", "graph.json", "--on", system, "--placement", "plan.json", "--json"]
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, check=True)
    return [d["peak_memory_bytes"] for d in json.loads(done.stdout)["devices"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("--plans", type=int, default=5)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("models", nargs="*", default=["resnet18_224", "large"])
    args = parser.parse_intermixed_args()
    berth = os.path.abspath(args.berth)
    harness, wrong, rows = plans.Harness(Options), 0, []
    with tempfile.TemporaryDirectory() as folder:
        for model in args.models:
            for mode in ("inference", "training"):
                session, graph = harness.session(model, mode)
                rng, ratios, worst = random.Random(f"{model} {mode}"), [], 0
                for _ in range(args.plans):
                    placement = plans.draw_plan(session, rng, 2)
                    session.prepare(placement, None)
                    session.run(seeded=False)
                    measured = session.run().peak_bytes
                    for have, want in zip(measured, predicted(berth, graph, placement, folder)):
                        if not args.table:
                            print(f"{model} {mode}: measured {have / MIB:.1f} MiB, predicted {want / MIB:.1f}")
                        if max(have, want) > 16 * MIB:
                            ratios.append(have / want)
                            worst = max(worst, want)
                rows.append((model, mode, ratios, worst))
                wrong += any(r > 1.5 for r in ratios)
    if args.table:
        print("| model | mode | devices | predicted, at most | measured / predicted, mean | least | most |")
        print("|---|---|---:|---:|---:|---:|---:|")
        for model, mode, ratios, worst in rows:
            print(f"| {model} | {mode} | {len(ratios)} | {worst / MIB:.0f} MiB | {sum(ratios) / len(ratios):.2f} | "
                  f"{min(ratios):.2f} | {max(ratios):.2f} |")
    sys.stdout.flush()
    os._exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
