#!/usr/bin/python3
"""Single values from one process to another of this host: by messages alone, and by memory that both share.

usage: transfers.py [--times N]. Prints a table, medians in turns. Exit code 77 without PyTorch.
"""
import argparse
import os
import statistics
import sys

sys.dont_write_bytecode = True

import needed  # noqa: E402,F401  (first of all: PyTorch may be missing)

from berth_torch import gloo  # noqa: E402
from berth_torch.crew import Crew  # noqa: E402
from berth_torch.devices import parse_devices  # noqa: E402
from berth_torch.nursery import Nursery  # noqa: E402

KIB = 1 << 10
SIZES = [(64 * KIB, "64 KiB"), (256 * KIB, "256 KiB"), (512 * KIB, "512 KiB"), (1024 * KIB, "1 MiB"),
         (8192 * KIB, "8 MiB")]


def crew(least):
    """Two processes, in which tensors of so many bytes go by shared memory."""
    gloo.LEAST = least
    nursery = Nursery()
    told = {"threads": 1, "clock": "wall", "tf32": False}
    made = Crew(parse_devices("cpu0,cpu1", 1), nursery.child, False, 60.0, told)
    made.hello()
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=200)
    args = parser.parse_args()
    ways = [crew(1 << 60), crew(1)]
    print("| a value of | by messages | by shared memory | ratio |\n|---|---:|---:|---:|")
    for size, name in SIZES:
        took = [[], []]
        for i in range(args.times + 10):
            for way, times in zip(ways, took):
                times.append(way.hop(0, 1, size))
        a, b = (statistics.median(t[10:]) for t in took)
        print(f"| {name} | {1e6 * a:.0f} us | {1e6 * b:.0f} us | {a / b:.2f} |", flush=True)
    for way in ways:
        way.end()
    os._exit(0)


if __name__ == "__main__":
    main()
