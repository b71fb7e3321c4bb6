"""Memory that two processes of a host share: what one has to send to the other lies there, and a message of one
byte tells that it does.

The receiver makes it, as a file without a name, and the sender opens it by the receiver's number. So nothing is
left of it when both have ended. It is filled before the first run, so that it is no part of a run's peak.
"""
from __future__ import annotations

import mmap
import os

import torch

LEAST = 1 << 18  # bytes of a tensor; below, messages by themselves are as fast (docs/pytorch.md)


class Segment:
    """So many bytes. fd: of the file; it is closed with the memory."""

    def __init__(self, fd: int, size: int):
        try:
            self.memory = mmap.mmap(fd, size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        except BaseException:
            os.close(fd)
            raise
        self.fd, self.size = fd, size
        self.bytes = torch.frombuffer(self.memory, dtype=torch.uint8)

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            os.close(self.fd)

    def part(self, at: int, size: int) -> torch.Tensor:
        return self.bytes[at:at + size]


def made(size: int) -> Segment | None:
    """A new one; None: the system has none to give."""
    try:
        fd = os.memfd_create("berth", os.MFD_CLOEXEC)
    except OSError:
        return None
    try:
        os.ftruncate(fd, size)
    except OSError:
        os.close(fd)
        return None
    try:
        return Segment(fd, size)
    except (OSError, ValueError):
        return None


def opened(pid: int, fd: int, size: int) -> Segment | None:
    """That of another process; None: it cannot be opened."""
    try:
        return Segment(os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR | os.O_CLOEXEC), size)
    except (OSError, ValueError):
        return None
