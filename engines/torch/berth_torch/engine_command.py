"""The engine's command: its options, and the protocol of docs/formats.md over standard input and output."""
from __future__ import annotations

import argparse
import gc
import json
import os
import sys
from typing import TextIO

import torch

from .crew import Crew
from .devices import Device, Refusal, cap_memory, parse_devices
from .engine import Engine
from .moves import WAIT_S, Post
from .nursery import Nursery
from .output import own_output


KINDS = ("model", "device", "missing")  # of refusals, in the protocol


def loop(engine: Engine, out: TextIO) -> None:
    sys.stdin.reconfigure(errors="replace")
    for line in sys.stdin:
        number = 0
        try:
            question = json.loads(line)
            number = question["id"] if type(question["id"]) is int else 0
            answer = dict(engine.answer(question), id=number, ok=True)
        except Refusal as why:
            kind = why.kind if why.kind in KINDS else ""
            answer = {"id": number, "ok": False, "kind": kind, "error": str(why)}
        except Exception as why:
            text = f"{type(why).__name__}: {' '.join(str(why).split())[:400]}"
            answer = {"id": number, "ok": False, "kind": "model", "error": text}
        if not answer["ok"]:
            gc.collect()  # the exception and its frames hold each other, and tensors
        print(json.dumps(answer), file=out, flush=True)


def read_memory(text: str | None) -> dict[str, int]:
    """Bytes by device of NAME=BYTES,..., with K, M or G behind."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    found: dict[str, int] = {}
    for word in text.split(",") if text else []:
        name, _, size = word.partition("=")
        number, unit = (size[:-1], units[size[-1:]]) if size[-1:] in units else (size, 1)
        try:
            found[name] = int(float(number) * unit)
        except ValueError:
            raise Refusal("", f"--memory: NAME=BYTES was expected instead of '{word}'") from None
    return found


def read_options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="berth-engine-torch", allow_abbrev=False, description=(
        "An engine of berth: questions come on standard input, a JSON object a line (docs/engines.md). "
        "'berth-engine-torch graph SPEC' writes the graph of a module."))
    parser.add_argument("--devices", metavar="NAME[=SPACE[*SPEED]][@HOST:PORT],...",
                        help="cpu0,cpu1=cpu*0.5,gpu0=cuda:0: devices, what torch calls them, their speed, "
                             "the worker of another host that has them (berth-engine-torch worker --help)")
    parser.add_argument("--processes", action="store_true",
                        help="a process for each device of this host, and not a thread")
    parser.add_argument("--timeout", type=float, default=WAIT_S, metavar="SECONDS",
                        help="the longest that a device waits for another one, or the engine for a sign of "
                             "life (default: %(default)g)")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="of each CPU device")
    parser.add_argument("--memory", metavar="NAME=BYTES,...", help="most that a device may hold (gpu0=2G)")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall",
                        help="what times are: of the clock, or of the CPU")
    parser.add_argument("--leaf", action="append", default=[], metavar="CLASS",
                        help="keep modules of this class whole; may be given several times")
    parser.add_argument("--tf32", action="store_true", help="let CUDA compute products with TF32's precision")
    return parser.parse_args(words)


def clock_of(options: argparse.Namespace, devices: list[Device]) -> str:
    """The clock, if devices have it."""
    if options.clock == "cpu" and any(not d.is_cpu or d.threads > 1 for d in devices if not d.at):
        raise Refusal("", "--clock cpu is of CPU devices with one thread each")
    return options.clock


def make_engine(options: argparse.Namespace, nursery: Nursery | None) -> Engine:
    """nursery: of the processes of devices, where there are to be any."""
    if not 0 < options.timeout <= 1e6:
        raise Refusal("", "--timeout is above 0")
    devices = parse_devices(options.devices, options.threads, read_memory(options.memory))
    clock = clock_of(options, devices)
    sys.setswitchinterval(1e-4)  # threads wait for each other for microseconds
    if nursery is not None:
        told = {"threads": options.threads, "clock": clock, "tf32": options.tf32}
        crew = Crew(devices, nursery.child, not options.processes, options.timeout, told)
        return Engine(devices, clock, options.leaf, Post(devices, options.timeout), crew)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.tf32
    cap_memory(devices)
    torch.set_num_threads(max([d.threads for d in devices if d.is_cpu], default=1))
    return Engine(devices, clock, options.leaf, Post(devices, options.timeout))


def main(words: list[str]) -> int:
    """The engine, until its input ends."""
    options = read_options(words)
    apart = options.processes or "@" in (options.devices or "")
    nursery = Nursery() if apart else None
    out = own_output()
    try:
        engine = make_engine(options, nursery)
    except Refusal as why:
        print(f"berth-engine-torch: {why}; berth-engine-torch --help tells the options", file=sys.stderr)
        return 2
    loop(engine, out)
    out.flush()
    os._exit(0)  # threads that wait for work are not waited for
