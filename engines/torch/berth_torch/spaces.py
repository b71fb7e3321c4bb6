"""What differs between kinds of torch devices."""
from __future__ import annotations

import torch


def is_host(space: torch.device) -> bool:
    """Is it the CPU's memory, where the user's module lies?"""
    return space.type == "cpu"


def has_streams(space: torch.device) -> bool:
    """Has it streams and events, and copies that go on by themselves?"""
    return space.type in ("cuda", "xpu")


def give_back(space: torch.device) -> None:
    """Let memory that torch keeps for later be used for anything."""
    if space.type == "cuda":
        torch.cuda.empty_cache()


def wait_for(space: torch.device) -> None:
    """Until all work that was begun in the space is done."""
    api = getattr(torch, space.type, None)
    if space.type != "cpu" and hasattr(api, "synchronize"):
        api.synchronize()
