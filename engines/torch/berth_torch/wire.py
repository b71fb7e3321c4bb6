"""Messages between the engine and the processes of its devices: a JSON object on a line, and the bytes of the
tensors that it tells of behind it. Nothing that is read is run.
"""
from __future__ import annotations

import ctypes
import json
import select
import socket
import threading
from typing import Any, Sequence

import torch

LINE_LIMIT = 1 << 26  # bytes
DIMS_LIMIT = 64
GONE = "has ended"
KEEPALIVE = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30),
             (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10), (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)]
DTYPES = {str(d)[6:]: d for d in vars(torch).values() if isinstance(d, torch.dtype)}


class Closed(Exception):
    """The other side has gone, is silent, or does not speak this language; the text tells which."""


def closed(why: OSError) -> Closed:
    """What the system says of a connection."""
    return Closed(GONE if isinstance(why, ConnectionError) else f"cannot be reached any more: {why}")


def raw(t: torch.Tensor) -> Any:
    """The bytes of a tensor that is contiguous on the CPU, where they lie."""
    return memoryview((ctypes.c_char * (t.numel() * t.element_size())).from_address(t.data_ptr())).cast("B")


def host_id() -> str:
    """Processes that see the same clock have the same one."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return socket.gethostname()


def shape_of(sizes: list) -> list[int]:
    """The sizes of a tensor that a message tells of. Raises ValueError."""
    if len(sizes) > DIMS_LIMIT or any(type(n) is not int or not 0 <= n < 1 << 48 for n in sizes):
        raise ValueError("no shape of a tensor")
    return sizes


class Channel:
    """One end of a connection. Several threads may send; one receives.

    limit_s: how long a message that was begun may stop on its way.
    """

    def __init__(self, sock: socket.socket, limit_s: float):
        sock.settimeout(limit_s)
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for level, option, value in KEEPALIVE:
                sock.setsockopt(level, option, value)
        self.sock, self.lock, self.held = sock, threading.Lock(), bytearray()

    def set_limit(self, limit_s: float) -> None:
        self.sock.settimeout(limit_s)

    def close(self) -> None:
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other side was faster
        self.sock.close()

    def send(self, message: dict, tensors: Sequence[torch.Tensor] = ()) -> None:
        """Raises Closed."""
        flat = [t.detach().to("cpu").contiguous() for t in tensors]
        if flat:
            message = dict(message, tensors=[[str(t.dtype)[6:], list(t.shape)] for t in flat])
        line = json.dumps(message).encode() + b"\n"
        try:
            with self.lock:
                self._push(memoryview(line))
                for t in flat:
                    if t.numel():
                        self._push(raw(t))
        except OSError as why:
            raise closed(why) from why

    def _push(self, data: memoryview) -> None:
        """All of it, however long that takes while some of it is taken."""
        while data:
            data = data[self.sock.send(data):]

    def waits(self, seconds: float | None) -> bool:
        """Is there something to receive, now or within that time (None: whenever)?"""
        return bool(self.held) or bool(select.select([self.sock], [], [], seconds)[0])

    def receive(self, most: int = 1 << 48) -> tuple[dict, list[torch.Tensor]]:
        """The next message. most: bytes of tensors that are taken. Raises Closed."""
        try:
            message = json.loads(self._line())
            if not isinstance(message, dict):
                raise ValueError("no object")
            layouts = [(DTYPES[name], shape_of(sizes)) for name, sizes in message.pop("tensors", [])]
            return message, self._tensors(layouts, most)
        except OSError as why:
            raise closed(why) from why
        except (ValueError, KeyError, TypeError, RuntimeError) as why:
            raise Closed(f"says what nobody understands: {' '.join(str(why).split())[:100]}") from why

    def _tensors(self, layouts: list, most: int) -> list[torch.Tensor]:
        made = []
        for dtype, shape in layouts:
            size = torch.empty(0, dtype=dtype).element_size()
            for n in shape:
                size *= n
            most -= size
            if size < 0 or most < 0:
                raise ValueError("more bytes than are taken")
            t = torch.empty(shape, dtype=dtype)
            if size:
                self._fill(raw(t))
            made.append(t)
        return made

    def _more(self) -> None:
        got = self.sock.recv(1 << 16)
        if not got:
            raise Closed(GONE)
        self.held += got

    def _line(self) -> bytes:
        looked = 0
        while (end := self.held.find(b"\n", looked)) < 0:
            looked = len(self.held)
            if looked > LINE_LIMIT:
                raise ValueError("a line without an end")
            self._more()
        line = bytes(self.held[:end])
        del self.held[:end + 1]
        return line

    def _fill(self, into: memoryview) -> None:
        at = min(len(into), len(self.held))
        into[:at] = self.held[:at]
        del self.held[:at]
        while at < len(into):
            got = self.sock.recv_into(into[at:])
            if not got:
                raise Closed(GONE)
            at += got
