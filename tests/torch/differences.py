#!/usr/bin/python3
"""What counts as a difference between two runs' tensors. Exit code 77 without PyTorch."""
import math
import sys

sys.dont_write_bytecode = True

import needed  # noqa: E402,F401  (first of all: PyTorch may be missing)

import torch  # noqa: E402
from berth_torch.values import difference  # noqa: E402

INF, NAN = math.inf, math.nan
CASES = [  # ours, theirs, the difference
    ([1.0, 2.0], [1.0, 2.0], 0), ([1.0, 2.5], [1.0, 2.0], 0.25), ([], [], 0), ([0.0], [0.0], 0),
    ([INF, 1.0], [INF, 1.0], 0), ([NAN, 1.0], [NAN, 1.0], 0), ([INF, 1.5], [INF, 1.0], 0.5),
    ([INF], [-INF], INF), ([NAN], [INF], INF), ([INF], [NAN], INF), ([1.0], [NAN], INF), ([NAN], [1.0], INF),
    ([1.0], [1.0, 2.0], INF),
]
wrong = 0
for ours, theirs, expected in CASES:
    got = difference([torch.tensor(ours)], [torch.tensor(theirs)])
    if got != expected:
        print(f"{ours} and {theirs} differ by {got}, not {expected}")
        wrong += 1
wrong += difference([torch.ones(1)], [torch.ones(1).double()]) != INF
wrong += difference([torch.ones(1)], []) != INF
print(f"{len(CASES) + 2} differences, {wrong} wrong")
sys.exit(wrong != 0)
