"""Cases of workers.py that no run of a plan on two CPUs comes to: values of accelerators, slow links, workers
that say nothing or nonsense, strangers.
"""
import json
import os
import runpy
import select
import socket
import sys
import threading
import time

import torch
from berth_torch.crew import LEAD_S, Crew, Member
from berth_torch.devices import Device, Refusal, parse_devices
from berth_torch.engine import Engine
from berth_torch.gloo import GlooPost, open_store
from berth_torch.moves import Move
from berth_torch.wire import Channel, host_id

LIMIT_S = 10.0
OPTIONS = {"threads": 1, "clock": "wall", "tf32": False}
PROGRAM = os.path.join(os.path.dirname(__file__), "..", "..", "engines", "torch", "berth-engine-torch")


# ---- values of accelerators ----


class Late:
    """The event behind a copy, which takes its time, or fails."""

    def __init__(self, fails):
        self.fails = fails

    def synchronize(self):
        time.sleep(0.02)
        if self.fails:
            raise RuntimeError("the copy failed")


class LatePost(GlooPost):
    """Of a device whose values are copied to the CPU behind its work, as those of an accelerator are."""

    fails = False

    def _copied_out(self, src, value):
        return value, Late(self.fails)


def outlet(tests):
    """What an accelerator sends last comes, though the run ends; what it cannot copy is told."""
    store = open_store("127.0.0.1")
    posts = [LatePost([Device("gpu0", torch.device("mps"), here=k == 0),
                       Device("cpu0", torch.device("cpu"), here=k == 1)], LIMIT_S, [0, 1], k) for k in (0, 1)]
    joining = threading.Thread(target=posts[1].join, args=(("127.0.0.1", store.port), "127.0.0.1", "late"))
    joining.start()
    posts[0].join(("127.0.0.1", store.port), "127.0.0.1", "late")
    joining.join()
    for fails, wanted in ((False, 1.0), (True, 0.0), (False, 1.0)):
        for p in posts:
            p.fails = fails
            p.open([Move(0, 1, "x", torch.empty(4, device="meta"))])
        posts[0].send(0, 1, "x", torch.ones(4))
        try:
            posts[0].close()
            told = ""
        except RuntimeError as why:
            told = str(why)
        got = posts[1].receive(1, "x", "x").tolist()
        posts[1].close()
        tests.expect("the last value of an accelerator", got == [wanted] * 4, str(got))
        tests.expect("a copy that fails is told", told == ("the copy failed" if fails else ""), told)
        tests.expect("nobody is stopped behind it", not posts[0].failed.is_set())


# ---- slow links, and workers that say nothing or nonsense ----


def pair(limit_s):
    """A member and the other end of its connection."""
    ours, theirs = socket.socketpair()
    return Member(Channel(ours, limit_s), ["cpu1"], "far:1", limit_s), theirs


def pong(theirs, wait_s):
    """Answer pings, each so much later."""
    with theirs.makefile("rb") as lines:
        for line in lines:
            time.sleep(wait_s)
            theirs.sendall(json.dumps({"alive": 0.0, "n": json.loads(line)["n"]}).encode() + b"\n")


def slow(tests):
    """A run begins when the word for it has come to all, the one of this host among them."""
    member, theirs = pair(LIMIT_S)
    threading.Thread(target=pong, args=(theirs, 2e-3), daemon=True).start()
    member.set_clock(host_id())
    tests.expect("the way to a worker and back", member.trip_s >= 2e-3 and member.offset_s == 0)
    crew, begun = Crew.__new__(Crew), []
    crew.members, crew.groups, crew.devices = [member, member], [], []
    member.trip_s, member.start_at = 4.0, begun.append
    member.begin = lambda *_, **__: type("Asked", (), {"ready": lambda _: None})()
    crew.take = lambda _: []
    before = time.perf_counter()
    try:
        crew.run(type("Nothing", (), {"keep": []}), False)
    except ValueError:
        pass  # no devices
    tests.expect("when a run begins", len(begun) == 2 and begun[0] >= before + 2 + LEAD_S, str(begun))


def silent(tests):
    """Nobody waits without a limit."""
    member, _theirs = pair(0.05)
    waiting = threading.Thread(target=lambda: tests.refused(
        "a worker that answers no ping", ["cpu1", "has said nothing for 0.05 s"],
        lambda: member.set_clock("elsewhere")), daemon=True)
    waiting.start()
    waiting.join(LIMIT_S)
    tests.expect("an answer to what is not answered", not waiting.is_alive())
    for what in ('"tensors": [["float32", [1e999]]]', '"tensors": [["float32", [-1]]]',
                 '"tensors": [["float32", [true]]]', '"tensors": 1', '"alive": "x", "n": 1'):
        member, theirs = pair(LIMIT_S)
        asked = member.begin("hello")
        theirs.sendall(b'{"id": 1, "ok": true, %s}\n' % what.encode())
        waiting = threading.Thread(target=lambda: tests.refused(
            f"a worker that says {what}", ["says what nobody understands"], asked.answer), daemon=True)
        waiting.start()
        waiting.join(LIMIT_S)
        tests.expect(f"an answer to {what}", not waiting.is_alive())


def stops(tests):
    """The limit is of a stop on the way, not of the whole message."""
    ours, theirs = socket.socketpair()
    sent, limit_s = torch.zeros(1 << 22, dtype=torch.uint8), 1.0

    def take():
        slow_until, got = time.monotonic() + 1.5 * limit_s, 0
        while got < sent.numel():
            is_slow = time.monotonic() < slow_until
            got += len(theirs.recv(1 << 14 if is_slow else 1 << 20))
            time.sleep(0.01 if is_slow else 0)

    taking = threading.Thread(target=take, daemon=True)
    taking.start()
    tests.refused("a message that is taken slowly", ["no refusal"], lambda: send(ours, limit_s, sent))
    taking.join(LIMIT_S)


def send(sock, limit_s, tensor):
    """Raises Refusal instead of Closed."""
    try:
        Channel(sock, limit_s).send({"ok": True}, [tensor])
    except Exception as why:
        raise Refusal("", str(why)) from why


# ---- several at once ----


class Failed:
    """An answer that is a refusal."""

    def __init__(self, kind):
        self.kind = kind

    def answer(self):
        raise Refusal(self.kind, self.kind)


def failures(tests):
    """A value that is lost breaks the crew, whatever else went wrong; no room somewhere refuses nothing."""
    for kinds, told, broken in ((["model", "cut"], "model", True), (["lost", "model"], "lost", True),
                                (["model", "device"], "model", False)):
        crew = Crew.__new__(Crew)
        crew.broken = False
        tests.refused(f"{kinds}", [told], lambda: crew.take([Failed(k) for k in kinds]))
        tests.expect(f"{kinds} break the crew", crew.broken == broken)

    devices = [Device("cpu0", torch.device("cpu"), here=False),
               Device("gpu0", torch.device("cuda:0"), here=False, at="far:1")]
    crew = Crew(devices, lambda: None, True, LIMIT_S, OPTIONS)
    one = Engine(devices, "wall", [], None, crew)
    one._alone_in = lambda space, q: [0.2] if str(space) == "cpu" else []
    for kind, wanted in (("device", [0.2]), ("model", None)):
        crew.ask = lambda device, q: Failed(kind).answer()
        try:
            found = one.whole({})["wall_s"]
        except Refusal:
            found = None
        tests.expect(f"the whole beside a refusal ({kind})", found == wanted, str(found))


# ---- strangers ----


def ask(sock, lines, **words):
    """What a process says to a question; nothing where it has gone."""
    sock.sendall(json.dumps(words).encode() + b"\n")
    line = lines.readline()
    return json.loads(line) if line else None


def strangers(tests):
    """Who connects says hello first, and once; single transfers have a limit."""
    row = {"name": "x", "space": "cpu", "speed": 1.0, "threads": 1, "cores": [], "memory_bytes": None,
           "here": True}
    hello = dict(OPTIONS, id=1, do="hello", torch=torch.__version__, limit_s=20, site=0, site_of=[0],
                 devices=[row])
    with tests.nursery.child() as sock, sock.makefile("rb") as lines:
        tests.expect("a ping before the hello", ask(sock, lines, do="ping", n=1) is None)
    sock = tests.nursery.child()
    lines = sock.makefile("rb")
    tests.expect("a hello", (ask(sock, lines, **hello) or {}).get("ok") is True)
    for size in (1 << 40, -1, 1.5):
        for do, sizes in (("depart", size), ("arrive", size), ("transfers", [size])):
            answer = ask(sock, lines, id=2, do=do, **{"from": 0, "to": 0, "bytes": sizes, "warmup": 0,
                                                      "repeats": 1})
            tests.expect(f"{do} of {size} bytes", "whole number" in (answer or {}).get("error", ""), str(answer))
    tests.expect("a second hello", ask(sock, lines, **hello) is None)


def outlives(tests):
    """A worker serves on when the shell that started it has ended. Before anything is computed here: a process
    that is forked behind that may wait for ever for a lock of another thread."""
    said, says = os.pipe()
    starts, start = os.pipe()
    shell = os.fork()
    if not shell:
        worker = os.fork()
        if not worker:
            os.dup2(says, 1)
            sys.stdout = os.fdopen(1, "w")
            sys.argv = [PROGRAM, "worker", os.path.join(os.path.dirname(__file__), "models.py") + ":branches",
                        "--listen", "127.0.0.1:0"]
            runpy.run_path(PROGRAM, run_name="__main__")
        os.close(says)
        os.write(start, worker.to_bytes(4, "little"))
        time.sleep(600)
    os.close(says)
    worker = int.from_bytes(os.read(starts, 4), "little")
    with os.fdopen(said) as lines:
        at = lines.readline().split(": ")[0] if select.select([lines], [], [], 6 * LIMIT_S)[0] else ""
        os.kill(shell, 9)
        os.waitpid(shell, 0)
        try:
            host, port = at.split(":")
            with socket.create_connection((host, int(port)), LIMIT_S):
                told = lines.readline()
            os.kill(worker, 9)
        except (OSError, ValueError) as why:
            told = str(why)
    tests.expect("a worker whose shell has ended", "an engine at" in told, told)


def all_cases(tests):
    for case in (outlet, slow, silent, stops, failures, strangers):
        case(tests)
