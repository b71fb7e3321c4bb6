"""The CPU's clock: what a run would take on a quiet machine with instant hand-overs.

Each piece lasts as long as it used its core, over the device's speed; the run is put together from the
pieces.
"""
from __future__ import annotations

from .worker import Timed


def replay(device: list[int], needs: list[set[int]], ran: dict[int, Timed],
           speeds: list[float]) -> dict[int, Timed]:
    """When each piece starts and ends. device, needs: of each piece, behind those that it needs."""
    free: dict[int, float] = {}
    end: dict[int, float] = {}
    made: dict[int, Timed] = {}
    for i in range(len(device)):
        start = max([free.get(device[i], 0.0)] + [end[p] for p in needs[i]])
        used = ran[i].cpu_s or 0.0
        end[i] = free[device[i]] = start + used / speeds[device[i]]
        made[i] = Timed(start, end[i], used)
    return made
