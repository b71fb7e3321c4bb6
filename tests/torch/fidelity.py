#!/usr/bin/python3
"""The simulator against real runs of PyTorch modules: inference and training steps on two unlike CPU workers.

usage: fidelity.py BERTH [--placements N] [MODEL...]

`berth compare --fidelity` for each module of fidelity_models.py in both modes: a process for each worker, the
second one at half of its speed, by the CPU's clock, so that other work on the machine counts little. Prints a
table, and how many rows meet each must: a median error of 15 %, a tau of 0.8, a regret in turns of 5 %. Exit
code 77 without PyTorch.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True

from needed import HERE, ROOT  # noqa: E402  (first of all: PyTorch may be missing)

SYSTEM = os.path.join(ROOT, "docs", "pytorch", "two_cpus.json")
ENGINE = "torch --devices cpu0=cpu,cpu1=cpu*0.5 --threads 1 --processes --clock cpu"
MODELS = ["narrow_resnet18", "language", "recurrent", "branched"]
ERROR, TAU, REGRET = 0.15, 0.8, 0.05


def compared(berth, model, mode, placements):
    """What berth tells of one module."""
    spec = f"{os.path.join(HERE, 'fidelity_models.py')}:{model}:mode={mode}"
    command = [berth, "compare", spec, "--on", SYSTEM, "--fidelity", "--placements", str(placements), "--engine",
               ENGINE, "--json", "-q"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{model}, {mode}: berth compare: exit code {done.returncode}")
    return json.loads(done.stdout)["fidelity"][0]


def median_error(told, kind):
    """Of |predicted - measured| / measured."""
    return statistics.median(abs(p - m) / m for p, m in zip(told[f"{kind}_s"], told["measured_s"]))


def cells(told):
    """A row: range, then as profiled and calibrated."""
    made = [str(told["test_placements"]), f"{told['predicted_most_s'] / told['predicted_least_s']:.2f}"]
    for kind in ("profiled", "calibrated"):
        made += [f"{100 * median_error(told, kind):.1f} %", f"{told[kind]['tau']:.3f}"]
    regret = told["regret_in_turns"]
    return made + ["-" if regret is None else f"{100 * regret:.1f} %", f"{100 * told['calibrated']['regret']:.1f} %"]


def met(rows):
    """How many rows meet each must, in words."""
    error = sum(median_error(r, "calibrated") <= ERROR for r in rows)
    order = sum(r["calibrated"]["tau"] >= TAU for r in rows)
    regret = sum((r["regret_in_turns"] or 0) <= REGRET for r in rows)
    return (f"Of {len(rows)} rows, {error} meet the must for the median error ({100 * ERROR:.0f} %), {order} that for "
            f"the order (a tau of {TAU}), {regret} that for the regret in turns ({100 * REGRET:.0f} %).")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("--placements", type=int, default=200)
    parser.add_argument("models", nargs="*", default=MODELS)
    args = parser.parse_intermixed_args()
    rows = []
    print("| model | mode | tests | range | as profiled | tau | calibrated | tau | regret in turns | "
          "by medians |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for model in args.models:
        for mode in ("inference", "training"):
            rows.append(compared(os.path.abspath(args.berth), model, mode, args.placements))
            print(f"| {model} | {mode} | {' | '.join(cells(rows[-1]))} |", flush=True)
    print("\n" + met(rows))


if __name__ == "__main__":
    main()
