"""How long a process of the engine lives."""
import ctypes
import os
import signal


def end_with_parent() -> None:
    """Nobody waits for what is under way when berth is killed, and it would disturb the next run."""
    pr_set_pdeathsig = 1
    parent = os.getppid()
    try:
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    except (OSError, AttributeError):
        return
    if parent != os.getppid():  # it ended before this was asked for
        os._exit(0)
