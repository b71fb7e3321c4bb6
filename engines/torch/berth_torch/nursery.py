"""Where the processes of devices come from: a process that was forked before torch computed anything, so that
its children have torch loaded, but none of its threads and no context of an accelerator.

On this host the engine asks it for a child. On another host somebody starts it by hand, as a worker that
listens: each engine that connects gets a child, one at a time.
"""
from __future__ import annotations

import argparse
import ast
import os
import select
import signal
import socket
import sys
from typing import Callable

import torch

from .devices import Refusal
from .lifetime import end_with_parent
from .site import GREETING_S, serve
from .spec import UsageError, nearest, parse_spec
from .wire import Channel, Closed


def fork_child(conn: socket.socket, others: list[socket.socket], model: str | None) -> int:
    """A process that serves this connection; its number."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        end_with_parent()
        for sock in others:
            sock.close()
        serve(Channel(conn, GREETING_S), model)
        code = 0
    except (Closed, KeyboardInterrupt):
        pass
    finally:
        sys.stderr.flush()
        os._exit(code)


class Nursery:
    """The one of this host. Is to be made before torch computes, and before there are threads."""

    def __init__(self) -> None:
        self.sock, theirs = socket.socketpair()
        if os.fork():
            theirs.close()
            return
        try:
            end_with_parent()
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.dup2(2, 1)
            self.sock.close()
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            self._tend(theirs)
        except KeyboardInterrupt:
            pass
        finally:
            os._exit(0)

    @staticmethod
    def _tend(sock: socket.socket) -> None:
        while True:
            _, fds, _, _ = socket.recv_fds(sock, 1, 1)
            if not fds:
                return
            conn = socket.socket(fileno=fds[0])
            fork_child(conn, [sock], None)
            conn.close()

    def child(self) -> socket.socket:
        """A connection to a new process. Raises Refusal."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self.sock, [b"+"], [theirs.fileno()])
            except OSError as why:
                raise Refusal("", f"no process for a device can be had: {why.strerror}") from why
        return ours


# ---- a worker that listens ----


class Listener:
    """Serves one engine after the other. say: tells the person who started it what happens."""

    def __init__(self, sock: socket.socket, model: str, say: Callable[[str], None]):
        self.sock, self.model, self.say = sock, model, say

    def live(self) -> None:
        while True:
            conn, (host, port, *_) = self.sock.accept()
            self.say(f"an engine at {host}:{port}")
            pid = fork_child(conn, [self.sock], self.model)
            self.say(f"it has gone; process {pid} {self._watch(conn, pid)}")

    def _watch(self, conn: socket.socket, pid: int) -> str:
        """Until the child ends, by itself or because its engine has gone; others are told to wait."""
        child = os.pidfd_open(pid)
        poll = select.poll()
        poll.register(child, select.POLLIN)
        poll.register(conn, select.POLLRDHUP)
        poll.register(self.sock, select.POLLIN)
        while True:
            ready = [fd for fd, _ in poll.poll()]
            if child not in ready and conn.fileno() not in ready:
                self._send_away()
                continue
            os.kill(pid, signal.SIGKILL)
            conn.close()
            os.close(child)
            status = os.waitpid(pid, 0)[1]
            return f"was ended by signal {status & 127}" if status & 127 else "has ended"

    def _send_away(self) -> None:
        conn, _ = self.sock.accept()
        try:
            Channel(conn, 1.0).send({"busy": True})
        except Closed:
            pass
        conn.close()


def address(text: str) -> tuple[str, int]:
    """HOST:PORT taken apart. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 <= int(port) < 1 << 16:
        raise ValueError(f"HOST:PORT was expected instead of '{text}'")
    return host, int(port)


def defined(tree: ast.Module) -> set[str]:
    """All names that a file's text binds, wherever, imported ones and assigned ones too."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def checked(model: str) -> str:
    """FILE.py:FACTORY of a spec: its words (mode=training) are the engine's to tell. The file is read, and
    not run. Raises UsageError."""
    spec = parse_spec(model)
    try:
        with open(spec.path, "rb") as file:
            names = defined(ast.parse(file.read(), spec.path))
    except OSError as why:
        raise UsageError(f"'{model}': {spec.path}: {why.strerror}") from why
    except (SyntaxError, ValueError) as why:
        raise UsageError(f"'{model}': {spec.path}: Python cannot read it: {why}") from why
    if spec.factory not in names and "*" not in names:
        raise UsageError(f"'{model}': {spec.path} has no '{spec.factory}'{nearest(spec.factory, sorted(names))}")
    return f"{spec.path}:{spec.factory}"


def main(words: list[str]) -> int:
    """berth-engine-torch worker FILE.py:FACTORY --listen HOST:PORT"""
    parser = argparse.ArgumentParser(prog="berth-engine-torch worker", allow_abbrev=False, description=(
        "Devices of this host for an engine on another one (--devices NAME=SPACE@HOST:PORT there). The "
        "module is run with your rights for whoever connects: docs/security.md."))
    parser.add_argument("model", metavar="FILE.py:FACTORY")
    parser.add_argument("--listen", required=True, metavar="HOST:PORT",
                        help="an address of this host; port 0: any that is free")
    options = parser.parse_args(words)
    try:
        options.model = checked(options.model)
        sock = socket.create_server(address(options.listen))
    except (UsageError, ValueError) as why:
        print(f"berth-engine-torch: worker: {why}", file=sys.stderr)
        return 2
    except OSError as why:
        print(f"berth-engine-torch: worker: {options.listen}: {why.strerror}", file=sys.stderr)
        return 5
    host, port = sock.getsockname()[:2]

    def say(text: str) -> None:
        print(f"{host}:{port}: {text}", flush=True)

    say(f"waiting for an engine that runs {options.model} with PyTorch {torch.__version__}; "
        f"--devices NAME=cpu@{host}:{port}")
    try:
        Listener(sock, options.model, say).live()
    except KeyboardInterrupt:
        return 0
