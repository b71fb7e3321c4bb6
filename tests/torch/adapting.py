#!/usr/bin/python3
"""Training that is placed anew while it goes on, against training in one process.

usage: adapting.py BERTH [--steps N]

Trains the two towers of docs/pytorch on two CPU workers by `berth adapt --train`. The second one is slowed
down to a quarter in the middle third of the steps. By the CPU's clock. Prints seconds a step in each third and
in all, without adapting, with it, and by an oracle that knows of the slow-down, as a table. The losses have to
be those of a plain loop of PyTorch in one process: exit code 1 where one differs by more than 1e-5, 77 without
PyTorch.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import textwrap

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(ROOT, "engines", "torch"))

try:
    import torch
except ImportError:
    print("no PyTorch for this Python: nothing was trained")
    sys.exit(77)

from plain import plain_losses  # noqa: E402

MODEL = os.path.join(ROOT, "docs", "pytorch", "two_towers.py") + ":build:mode=training"
LIMIT = 1e-5


def adapted(berth, steps):
    """What `berth adapt --json` tells."""
    command = [berth, "adapt", MODEL, "--on", os.path.join(ROOT, "docs", "pytorch", "two_cpus.json"), "--engine",
               "torch --devices cpu0=cpu,cpu1=cpu --threads 1 --clock cpu", "--train", "--oracle", "--steps",
               str(steps), "--slow", f"cpu1=0.25@{steps // 3}-{2 * steps // 3}", "--json", "--quiet"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"berth adapt: exit code {done.returncode}")
    return json.loads(done.stdout)


def row(name, windows, total, steps):
    """Median step of each third, and the sum."""
    thirds = [[w["step_s"] for w in windows if k * steps // 3 <= w["step"] < (k + 1) * steps // 3]
              for k in range(3)]
    cells = [f"{1e3 * statistics.median(t):.2f} ms" for t in thirds]
    return f"| {name} | {' | '.join(cells)} | {total:.2f} s |"


def worst(ours, theirs):
    """The largest relative difference of two curves."""
    return max(abs(a - b) / max(abs(a), abs(b)) for a, b in zip(ours, theirs))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.set_num_threads(1)
    told, plain = adapted(args.berth, args.steps), plain_losses(MODEL, args.steps)
    print("| | first third | slowed down | given back | all steps |\n|---|---:|---:|---:|---:|")
    print(row("without adapting", told["steps_without"], told["total_without_s"], args.steps))
    print(row("adapting", told["steps"], told["total_with_s"], args.steps))
    print(row("oracle", told["steps_oracle"], told["total_oracle_s"], args.steps))
    moves = [s for s in told["switches"] if s["done"]]
    text = (f"{len(moves)} moves, at steps {', '.join(str(s['step']) for s in moves) or '-'}: "
          f"{', '.join(str(s['moved']) for s in moves) or 'no'} operators. The loss goes from {plain[0]:.4f} to "
          f"{plain[-1]:.3g}; from the plain loop's it differs by at most {worst(told['losses'], plain):.2g} with "
          f"adapting and {worst(told['losses_without'], plain):.2g} without.")
    print("\n" + textwrap.fill(text, 108))
    good = len(told["losses"]) == args.steps and max(worst(told["losses"], plain),
                                                     worst(told["losses_without"], plain)) <= LIMIT
    return 0 if good and plain[-1] < plain[0] else 1


if __name__ == "__main__":
    sys.exit(main())
