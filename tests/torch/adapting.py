#!/usr/bin/python3
"""Training that is placed anew while it goes on, against training in one process.

usage: adapting.py BERTH [--steps N] [--runs N]

Trains the two towers of docs/pytorch on two CPU workers, a process each, by `berth adapt --train`. The second
one is slowed down to a quarter in the middle third of the steps. By the CPU's clock. Prints seconds a step in
each third and in all, without adapting, with it, and by an oracle that knows of the slow-down, as a table, in
the median of the runs; and of the run in the middle what was moved. The losses of all have to be those of a
plain loop of PyTorch in one process: exit code 1 where one differs by more than 1e-5, 77 without PyTorch.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import textwrap

sys.dont_write_bytecode = True

from needed import ROOT  # noqa: E402  (first of all: PyTorch may be missing)

import torch  # noqa: E402
from plain import plain_losses  # noqa: E402

MODEL = os.path.join(ROOT, "docs", "pytorch", "two_towers.py") + ":build:mode=training"
LIMIT = 1e-5


def adapted(berth, steps):
    """What `berth adapt --json` tells."""
    command = [berth, "adapt", MODEL, "--on", os.path.join(ROOT, "docs", "pytorch", "two_cpus.json"), "--engine",
               "torch --devices cpu0=cpu,cpu1=cpu --threads 1 --processes --clock cpu", "--train", "--oracle",
               "--steps", str(steps), "--slow", f"cpu1=0.25@{steps // 3}-{2 * steps // 3}", "--json", "--quiet"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"berth adapt: exit code {done.returncode}")
    return json.loads(done.stdout)


def third(windows, k, steps):
    """Median step of a third."""
    return statistics.median(w["step_s"] for w in windows if k * steps // 3 <= w["step"] < (k + 1) * steps // 3)


def row(name, runs, which, steps):
    """Of each third and in all, in the median of the runs."""
    cells = [f"{1e3 * statistics.median(third(r['steps' + which], k, steps) for r in runs):.2f} ms"
             for k in range(3)]
    total = statistics.median(r[f"total{which or '_with'}_s"] for r in runs)
    return f"| {name} | {' | '.join(cells)} | {total:.2f} s |"


def move(switch):
    """A move in words."""
    way = "back, " if switch["back"] else ""
    return f"step {switch['step']}, {way}{switch['moved']} operators"


def worst(ours, theirs):
    """The largest relative difference of two curves."""
    return max(abs(a - b) / max(abs(a), abs(b)) for a, b in zip(ours, theirs))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--runs", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    plain, steps = plain_losses(MODEL, args.steps), args.steps
    runs = sorted((adapted(args.berth, steps) for _ in range(args.runs)), key=lambda r: r["total_with_s"])
    print("| | first third | slowed down | given back | all steps |\n|---|---:|---:|---:|---:|")
    print(row("without adapting", runs, "_without", steps))
    print(row("adapting", runs, "", steps))
    print(row("oracle", runs, "_oracle", steps))
    told = runs[len(runs) // 2]
    moves = [s for s in told["switches"] if s["done"]]
    apart = [max(worst(r[k], plain) for r in runs) for k in ("losses", "losses_without")]
    text = (f"{len(moves)} moves: {'; '.join(map(move, moves)) or 'none'}. {told['solved']} times it was solved "
            f"while steps went on, in {1e3 * told['solve_s']:.1f} ms; they stood still for "
            f"{1e3 * told['waited_s']:.1f} ms of it. The loss goes from {plain[0]:.4f} to {plain[-1]:.3g}; from the "
            f"plain loop's it differs by at most {apart[0]:.2g} with adapting and {apart[1]:.2g} without.")
    print("\n" + textwrap.fill(text, 108))
    good = all(len(r["losses"]) == steps for r in runs) and max(apart) <= LIMIT
    return 0 if good and plain[-1] < plain[0] else 1


if __name__ == "__main__":
    sys.exit(main())
