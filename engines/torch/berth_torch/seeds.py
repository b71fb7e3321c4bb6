"""Random numbers that do not depend on the split: an operator that draws some has a seed of its own, made
of its name.

The unsplit module that a run is compared with is run with the same seeds, each such operator on the same
kind of device, since the generators of kinds of devices differ.
"""
from __future__ import annotations

import threading
import zlib
from contextlib import contextmanager
from typing import Iterator

import torch

_one_at_a_time = threading.Lock()  # the CPU's generator is one for all threads


def seed_of(name: str) -> int:
    return zlib.crc32(name.encode())


@contextmanager
def seeded(name: str, space: torch.device) -> Iterator[None]:
    """Random numbers of the operator `name` in here."""
    if space.type == "cuda":
        torch.cuda.default_generators[space.index].manual_seed(seed_of(name))
        yield
    elif space.type == "cpu":
        with _one_at_a_time:
            before = torch.get_rng_state()
            torch.default_generator.manual_seed(seed_of(name))
            try:
                yield
            finally:
                torch.set_rng_state(before)
    else:
        torch.manual_seed(seed_of(name))
        yield
