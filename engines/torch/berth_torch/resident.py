"""How much memory a process comes to hold, as the kernel counts it: pages that it has touched."""
from __future__ import annotations

import ctypes

RESET_PEAK = "5"  # proc(5), clear_refs
M_MMAP_THRESHOLD = -3  # mallopt(3)
OWN_PAGES, USUAL = 1 << 14, 1 << 25  # bytes


def _field(name: str) -> int | None:
    """Bytes of a line of /proc/self/status."""
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) << 10
    return None


def _elsewhere() -> int:
    """Bytes of pages that belong to files, or to other processes as well."""
    return (_field("RssFile") or 0) + (_field("RssShmem") or 0)


class Resident:
    """Memory that is taken from begin on. What was freed before is given back first: it would be taken again
    unseen, and what runs next is slower by that. Pages of programs that the kernel brings back do not count.
    """

    def __init__(self) -> None:
        self.base: int | None = None
        self.elsewhere = 0

    def begin(self) -> None:
        try:
            libc = ctypes.CDLL(None)
            libc.mallopt(M_MMAP_THRESHOLD, OWN_PAGES)
            libc.malloc_trim(0)
            with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
                file.write(RESET_PEAK)
            self.base, self.elsewhere = _field("VmRSS"), _elsewhere()
        except (OSError, AttributeError):
            self.base = None  # no Linux, or no leave

    def most(self) -> int | None:
        """Bytes at the worst moment since then beside those at begin; None: not known. Asked for once."""
        base, self.base = self.base, None
        if base is not None:
            ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, USUAL)
        top = _field("VmHWM") if base is not None else None
        if top is None or base is None:
            return None
        return max(0, top - base - max(0, _elsewhere() - self.elsewhere))
