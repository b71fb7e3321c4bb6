#!/usr/bin/python3
"""Devices as processes: plans over two of them, training that goes on in them, and what is told of a process
that dies, stops, or is another than it should be.

usage: workers.py. Exit code 1 where something is wrong, 77 without PyTorch.
"""
import contextlib
import io
import os
import random
import signal
import socket
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import plans  # noqa: E402
import crew_cases  # noqa: E402  (behind plans, which knows where the package is)
from plain import plain_losses  # noqa: E402
from berth_torch import crew as crew_module  # noqa: E402
from berth_torch import engine_command, gloo  # noqa: E402
from berth_torch.crew import Crew  # noqa: E402
from berth_torch.devices import Refusal, parse_devices  # noqa: E402
from berth_torch.engine import Engine  # noqa: E402
from berth_torch.nursery import Listener, Nursery  # noqa: E402

LIMIT_S = 10.0
ARGS = dict(devices="cpu0,cpu1", processes=True, threads=1, timeout=LIMIT_S, double=False, seed=1,
            seconds=None, tolerance=1e-6)
OPTIONS = {"threads": 1, "clock": "wall", "tf32": False}


class Args:
    """Options of plans.py."""

    def __init__(self, **words):
        vars(self).update(ARGS, **words)


class Tests:
    """Counts what is wrong."""

    def __init__(self):
        self.wrong = self.done = 0
        self.files = tempfile.TemporaryDirectory()
        os.environ["BERTH_TEST_BREAKS"] = os.path.join(self.files.name, "breaks")
        gloo.LEAST = 64  # small tensors go by shared memory, too, but for the smallest
        self.nursery = Nursery()
        self.without = []  # processes that cannot have any, or not each other's
        for name in ("new_segment", "opened"):
            known = getattr(gloo, name)
            setattr(gloo, name, lambda *_: None)
            self.without.append(Nursery())
            setattr(gloo, name, known)

    def expect(self, what, condition, told=""):
        self.done += 1
        if not condition:
            self.wrong += 1
            print(f"WRONG: {what}: {told}", flush=True)

    def refused(self, what, words, action):
        """The action is refused, with all these words in what is told."""
        start = time.monotonic()
        try:
            action()
            told = "no refusal"
        except Refusal as why:
            told = str(why)
        self.expect(what, all(w in told for w in words), told)
        self.expect(f"{what}: no hang", time.monotonic() - start < 9 * LIMIT_S)
        return told


def unshared(tests):
    """Where there is no memory to share, all values go by messages."""
    for nursery in tests.without:
        harness = plans.Harness(Args(processes=False))
        harness.crew = Crew(parse_devices("cpu0,cpu1", 1), nursery.child, False, LIMIT_S, OPTIONS)
        harness.devices, harness.workers = harness.crew.devices, [None, None]
        tests.expect("plans without shared memory",
                     plans.try_model(harness, "mixed", "training", Args(plans=1)) == 0)
        tests.expect("a transfer without it", harness.crew.hop(0, 1, 1000) > 0)
        harness.crew.end()


def lose(tests, harness, session, do, words):
    """A process of cpu1 that is stopped when a run begins, and what is then done to it; and the next run."""
    member = harness.crew.member_of(1)
    begin = member.start_at

    def start_at(at):
        os.kill(member.pid, signal.SIGSTOP)
        begin(at)
        do(member.pid)

    member.start_at = start_at
    tests.refused(f"a worker that {words[-1]}", words, session.run)
    session.prepare(session.plan.program.placement, None)
    sample = session.run()
    tests.expect("the run behind it", max(session.check(sample).values()) <= 1e-6)
    tests.expect("a new process", harness.crew.member_of(1).pid != member.pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(member.pid, 0)
        with open(f"/proc/{member.pid}/stat", encoding="ascii") as stat:
            tests.expect("the old one is gone", stat.read().split()[2] == "Z")


def broken(tests, harness):
    """An operator that fails in one process: the run ends everywhere, and the processes stay."""
    session, _ = harness.session("fragile", "training")
    session.prepare([0 if r.step % 2 else 1 for r in session.roles], None)
    pids = [m.pid for m in harness.crew.members]
    with open(os.environ["BERTH_TEST_BREAKS"], "w", encoding="utf-8"):
        tests.refused("an operator that fails", ["cpu", "ValueError: it broke"], session.run)
    os.remove(os.environ["BERTH_TEST_BREAKS"])
    tests.expect("the run behind it", max(session.check(session.run()).values()) <= 1e-6)
    tests.expect("the same processes", [m.pid for m in harness.crew.members] == pids)


def training(tests, name, plain):
    """Steps that go on from each other in processes, with moves between them: losses as of a plain loop
    (plain), or as on one device alone where operators draw random numbers. A process that dies has lost the
    training, which is told; the next one begins at first."""
    text = f"{os.path.join(HERE, 'models.py')}:{name}:mode=training:optimizer=adam"
    steps, graph = 4, plans.make_graph(plans.trace(text))
    crew = Crew(parse_devices("cpu0,cpu1", 1), tests.nursery.child, False, LIMIT_S, OPTIONS)
    engine = Engine(crew.devices, "wall", [], None, crew)
    engine.load({"model": text, "graph": graph})
    groups = {op.get("colocate", op["name"]): i for i, op in enumerate(graph["ops"])}
    apart = [groups[op.get("colocate", op["name"])] % 2 for op in graph["ops"]]
    alone, other = [0] * len(apart), [1 - d for d in apart]

    def train(place, n=steps):
        return engine.answer({"do": "run", "train": True, "placement": place, "warmup": 0, "repeats": n})

    wanted = plain_losses(text, 4 * steps) if plain else train(alone, 4 * steps)["loss"]
    engine.answer({"do": "run", "placement": alone, "warmup": 0, "repeats": 1})
    answers = [train(place) for place in (apart, other, alone, apart)]
    found = [x for a in answers for x in a["loss"]]
    worst = max(abs(a - b) / abs(b) for a, b in zip(found, wanted))
    tests.expect(f"training of {name} in processes", worst <= 1e-5 and len(set(found)) == 4 * steps and
                 answers[-1]["trained"] == 4 * steps, f"{found} instead of {wanted}")
    os.kill(crew.member_of(1).pid, signal.SIGKILL)
    tests.refused("training with a dead worker", ["cpu1", "has ended"], lambda: train(apart))
    answer = train(apart, 1)
    tests.expect("training that begins anew", answer["trained"] == 1 and answer["loss"] == found[:1], str(answer))
    crew.end()


def idle(tests, harness):
    """Processes that are asked nothing compute nothing: no thread of them turns round and round."""
    for m in harness.crew.members:
        tests.expect("a process that rests", any(not runs(m.pid) for _ in range(400)), str(m.pid))


def runs(pid):
    """Is one of its threads running, or about to?"""
    time.sleep(0.005)
    states = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii") as stat:
            states.append(stat.read().rsplit(")", 1)[1].split()[0])
    return "R" in states


def listener(tests, model):
    """A worker that listens, in a process of its own, and where."""
    sock = socket.create_server(("127.0.0.1", 0))
    pid = os.fork()
    if not pid:
        with contextlib.suppress(BaseException):
            sys.stdout = io.StringIO()
            Listener(sock, model, lambda text: None).live()
        os._exit(0)
    port = sock.getsockname()[1]
    sock.close()
    return pid, f"127.0.0.1:{port}"


def crew_of(tests, at):
    return Crew(parse_devices(f"cpu0,cpu1=cpu@{at}", 1), tests.nursery.child, True, LIMIT_S, OPTIONS)


def far(tests):
    """Workers that are reached by an address."""
    models = os.path.join(HERE, "models.py")
    other = os.path.join(tests.files.name, "models.py")
    with open(models, encoding="utf-8") as file, open(other, "w", encoding="utf-8") as copy:
        copy.write(file.read() + "\n# another text\n")
    for path, words in ((models, None), (other, ["cpu1", "worker at 127.0.0.1", "is not the text of"])):
        pid, at = listener(tests, f"{path}:branches")
        harness = plans.Harness(Args(processes=False))
        harness.crew = crew_of(tests, at)
        harness.devices, harness.workers = harness.crew.devices, [None, None]
        if words:
            tests.refused("another file", words, lambda: harness.session("branches", "training"))
        else:
            session, graph = harness.session("branches", "training")
            found, sent, cut, _ = plans.try_plan(session, random.Random(1), graph)
            tests.expect("a plan with a worker that listens", max(found.values()) <= 1e-6 and sent == cut,
                         f"{found} {sent} {cut}")
            tests.refused("a worker that serves another", ["cpu1", "serves another engine"],
                          crew_of(tests, at).hello)
        harness.crew.end()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    tests.refused("nobody there", ["cpu1", at, "nobody answers"], crew_of(tests, at).hello)


def engine(tests):
    """The engine's command, in a process that has torch already; nothing of it is left when it is killed."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        ours.close()
        os.dup2(theirs.fileno(), 0)
        os.dup2(theirs.fileno(), 1)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        engine_command.main(["--devices", "cpu0,cpu1", "--processes"])
    theirs.close()
    with ours, ours.makefile("r") as answers:
        ours.sendall(b'nonsense\n\xff\n[]\n{"id": [], "do": {}}\n{"id": 1, "do": "hello"}\n')
        told = [answers.readline() for _ in range(4)]
        tests.expect("questions that are none", all('"id": 0, "ok": false' in a for a in told), str(told))
        answer = answers.readline()
        tests.expect("hello of the engine", '"ok": true' in answer and '"cpu1"' in answer, answer)
        group = [int(p) for p in descendants(pid)]
        tests.expect("three processes beside it", len(group) == 3, str(group))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    end = time.monotonic() + 6 * LIMIT_S
    while (left := [p for p in group if alive(p)]) and time.monotonic() < end:
        time.sleep(0.02)
    tests.expect("all of them end with it", not left, str(left))


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def descendants(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = file.read().split()
    return children + [c for child in children for c in descendants(child)]


def main():
    tests = Tests()
    crew_cases.outlives(tests)
    harness = plans.Harness(Args())
    tests.expect("plans", plans.try_model(harness, "mixed", "training", Args(plans=3)) == 0)
    tests.expect("a transfer", harness.crew.hop(1, 0, 1000) > 0)
    idle(tests, harness)
    unshared(tests)
    broken(tests, harness)
    session, _ = harness.session("branches", "training")
    session.prepare([0 if r.step % 2 else 1 for r in session.roles], None)
    tests.expect("peak memory of each process", all(b is not None for b in session.run().peak_bytes))
    lose(tests, harness, session, lambda pid: os.kill(pid, signal.SIGKILL), ["cpu1", "has ended"])
    lose(tests, harness, session, lambda pid: None, ["cpu1", "has said nothing"])
    harness.crew.end()
    crew_module.VERSION = "0.9"
    tests.refused("another version of PyTorch", ["cpu0", "the engine 0.9"], harness.crew.hello)
    crew_module.VERSION = plans.torch.__version__
    training(tests, "lstm", True)
    training(tests, "mixed", False)
    far(tests)
    engine(tests)
    crew_cases.all_cases(tests)
    print(f"{tests.done} checks, {tests.wrong} wrong", flush=True)
    os._exit(1 if tests.wrong else 0)


if __name__ == "__main__":
    main()
