"""A function in a process of its own, which is ended where it does not return: a crash or a loop is the
function's. As api/own_method.c does it for shared objects, with the same patience."""

import os
import pickle
import select
import signal
import sys
import time
import traceback


class Failed(Exception):
    """What became of the function, told as "NAME MESSAGE"."""


def patience(evaluations=0, time_s=0, **_):
    return time_s + max(1, time_s / 10) if time_s else 60 + (evaluations or 10000) / 100


def _child(work, out):
    try:
        told = True, work()
    except BaseException:
        told = False, traceback.format_exc()
    sys.stdout.flush()
    with os.fdopen(out, "wb") as f:
        pickle.dump(told, f)


def _hear(fd, limit_s):
    """All that comes, or None where it takes longer."""
    data, end = b"", time.monotonic() + limit_s
    while True:
        if not select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
            return None
        more = os.read(fd, 1 << 16)
        if not more:
            return data
        data += more


def run(work, limit_s):
    """What work() returns."""
    sys.stdout.flush()
    come, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(come)
            _child(work, out)
        finally:
            os._exit(0)
    os.close(out)
    try:
        data = _hear(come, limit_s)
    finally:
        os.close(come)
        os.kill(pid, signal.SIGKILL)  # it has ended, or shall
        status = os.waitpid(pid, 0)[1]
    if data is None:
        raise Failed(f"did not return within {limit_s:.3g} s, and was ended (time_s gives it more)")
    if not data:
        by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        crashed = f"crashed: signal {by} ({signal.strsignal(by)})" if by else ""
        raise Failed(crashed or "ended its process instead of returning")
    fine, told = pickle.loads(data)
    if not fine:
        raise Failed("failed: " + told.strip().splitlines()[-1])
    return told
