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
    """What became of the function, told as "NAME MESSAGE"; .status is error, or limit where it took too long."""

    status = "error"


def patience(evaluations=0, time_s=0, **_):
    return time_s + max(1, time_s / 10) if time_s else 60 + (evaluations or 10000) / 100


def _start(group, work, *unused):
    """A process that does just this work, of a group, 0 for one of its own."""
    pid = os.fork()
    if pid == 0:
        try:
            for fd in unused:
                os.close(fd)
            os.setpgid(0, group)
            work()
        finally:
            os._exit(0)
    with contextlib.suppress(OSError):
        os.setpgid(pid, group or pid)  # as it does itself: whoever is first
    return pid


def _guard(parent):
    """The first process of the function's group, which all that it starts is in: it ends the group where the
    program has ended and cannot do so itself."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    _C.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    while os.getppid() == parent:  # the function may send its group one, too
        signal.sigwait({signal.SIGTERM})
    os.killpg(0, signal.SIGKILL)


def _child(parent, work, out):
    _C.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        return
    for stops in (signal.SIGTTIN, signal.SIGTTOU):  # the terminal is not its group's: reading it fails
        signal.signal(stops, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
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
    parent, (come, out), pids = os.getpid(), os.pipe(), []
    try:
        try:
            pids.append(_start(0, lambda: _guard(parent), come, out))
            pids.append(_start(pids[0], lambda: _child(parent, work, out), come))
        finally:
            os.close(out)
        data = _hear(come, pids[1], limit_s)
    finally:
        os.close(come)
        for pid in pids[:1]:
            os.killpg(pid, signal.SIGKILL)  # it has ended, or shall
        status = [os.waitpid(pid, 0)[1] for pid in pids][-1:]
    if data is None:
        late = Failed(f"did not return within {limit_s:.3g} s, and was ended (time_s gives it more)")
        late.status = "limit"
        raise late
    if not data.endswith(b"\n", 1):
        by = os.WTERMSIG(status[0]) if os.WIFSIGNALED(status[0]) else 0
        crashed = f"crashed: signal {by} ({signal.strsignal(by)})" if by else ""
        raise Failed(crashed or "ended its process instead of returning")
    try:  # its memory was the function's to write to
        fine, told = json.loads(data)
    except (ValueError, TypeError, RecursionError):
        raise Failed("wrote over its answer") from None
    if not fine:
        raise Failed("failed: " + str(told).strip().rpartition("\n")[2])
    return told
