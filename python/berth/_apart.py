"""A function in a process of its own, which is ended where it does not return, with all that it started: a crash
or a loop is the function's. As api/own_method.c does it for shared objects, with the same patience."""

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time
import traceback

_C, _PR_SET_PDEATHSIG = ctypes.CDLL(None), 1


class Failed(Exception):
    """What became of the function, told as "NAME MESSAGE"."""


def patience(evaluations=0, time_s=0, **_):
    return time_s + max(1, time_s / 10) if time_s else 60 + (evaluations or 10000) / 100


def _child(parent, work, out):
    os.setsid()  # what it starts can be ended with it
    _C.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        return
    try:
        told = True, work(lambda: os.write(out, b"\n"))
    except BaseException:
        told = False, traceback.format_exc()
    sys.stdout.flush()
    with os.fdopen(out, "wb") as f:
        f.write(b"%s\n" % json.dumps(told).encode())


def _hear(fd, pid, limit_s):
    """The empty line that tells of the beginning, and the answer's, for which there is so long from there on; less
    where the process ends before; None where it takes longer."""
    data, end, poll = b"", None, select.poll()
    poll.register(fd, select.POLLIN)
    while not data.endswith(b"\n", 1):
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if poll.poll(0 if ended else 50):
            more = os.read(fd, 1 << 16)
            data += more
            if not more:
                poll.unregister(fd)
        elif ended:
            break
        if end is None:
            end = time.monotonic() + limit_s if data else None
        elif time.monotonic() > end:
            return None
    return data


def run(work, limit_s):
    """What work(begin) returns, as JSON has it; from its call of begin() on it may take so long."""
    sys.stdout.flush()
    parent, (come, out) = os.getpid(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(come)
            _child(parent, work, out)
        finally:
            os._exit(0)
    os.close(out)
    try:
        data = _hear(come, pid, limit_s)
    finally:
        os.close(come)
        for kill in os.killpg, os.kill:  # it has ended, or shall; before setsid() it has no group
            with contextlib.suppress(ProcessLookupError):
                kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
    if data is None:
        raise Failed(f"did not return within {limit_s:.3g} s, and was ended (time_s gives it more)")
    if not data.endswith(b"\n", 1):
        by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        crashed = f"crashed: signal {by} ({signal.strsignal(by)})" if by else ""
        raise Failed(crashed or "ended its process instead of returning")
    try:  # its memory was the function's to write to
        fine, told = json.loads(data)
    except (ValueError, TypeError, RecursionError):
        raise Failed("wrote over its answer") from None
    if not fine:
        raise Failed("failed: " + str(told).strip().rpartition("\n")[2])
    return told
