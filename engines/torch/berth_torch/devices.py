"""Devices of the engine: what `--devices` says, bound to what torch has.

A device has a name of its own and lies in a *space*: the memory that torch calls by one `torch.device`.
Several CPU devices share the space `cpu`; each has cores of its own. A speed below 1 makes a device rest
after each piece.
"""
from __future__ import annotations

import os
from dataclasses import dataclass, field

import torch

from .spaces import is_host


class Refusal(Exception):
    """A question that cannot be answered; kind is "model", "device", "missing" or ""."""

    def __init__(self, kind: str, text: str):
        super().__init__(text)
        self.kind = kind


def whole_number(what: str, value: object, least: int, most: int) -> int:
    """A number of a question, by the rules of ONNX Runtime's engine. Refuses what is none in these limits."""
    if type(value) not in (int, float) or not least <= value <= most or value != int(value):
        raise Refusal("", f"{what} is {str(value)[:40]}: a whole number in {least} .. {most} was expected")
    return int(value)


def whole_numbers(what: str, values: object, most: int, n: int | None = None) -> list[int]:
    """A list of such from 0 on. n: of its entries."""
    if type(values) is not list or n not in (None, len(values)):
        raise Refusal("", f"{what}: a list of {'whole' if n is None else n} numbers was expected")
    return [whole_number(f"{what}, entry {i}", v, 0, most) for i, v in enumerate(values)]


@dataclass
class Device:
    """A device of the plan.

    name: as berth calls it. space: the torch device whose memory it computes in. speed: in (0, 1], at the
    start. cores: CPU cores that its thread is bound to; empty for accelerators. memory_bytes: most that it
    may hold, or None. at: HOST:PORT of the worker that has it; empty: this host. here: it is one of this
    process; of others, only name, speed and whether it is a CPU are known.
    """

    name: str
    space: torch.device
    speed: float = 1.0
    cores: list[int] = field(default_factory=list)
    threads: int = 1
    memory_bytes: int | None = None
    at: str = ""
    here: bool = True

    @property
    def is_cpu(self) -> bool:
        return is_host(self.space)


def torch_spaces() -> list[str]:
    """The spaces that this torch has, the CPU first."""
    found = ["cpu"]
    if torch.cuda.is_available():
        found += [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    xpu = getattr(torch, "xpu", None)
    if xpu is not None and xpu.is_available():
        found += [f"xpu:{i}" for i in range(xpu.device_count())]
    mps = getattr(torch.backends, "mps", None)
    return found + (["mps"] if mps is not None and mps.is_available() else [])


def _one(text: str) -> tuple[str, str, float, str]:
    """Name, space, speed and host of NAME[=SPACE][*SPEED][@HOST:PORT] or NAME=SPEED."""
    word, _, at = text.partition("@")
    name, _, rest = word.partition("=")
    space, _, speed = rest.partition("*")
    if space.replace(".", "", 1).isdigit():
        space, speed = "", space
    if not name:
        raise Refusal("", f"--devices: '{text}' has no name")
    if at and not (at.rpartition(":")[0] and at.rpartition(":")[2].isdigit()):
        raise Refusal("", f"--devices: HOST:PORT is expected behind the @ of '{text}'")
    try:
        fast = float(speed) if speed else 1.0
    except ValueError:
        fast = 0.0
    if not 0 < fast <= 1:
        raise Refusal("", f"--devices: the speed in '{text}' is above 0 and at most 1")
    return name, space or "cpu", fast, at


def space_of(text: str, of: str) -> torch.device:
    """The space of that name. of: the device, for the message."""
    have = torch_spaces()
    text = "cuda:0" if text == "cuda" else "xpu:0" if text == "xpu" else text
    if text not in have:
        raise Refusal("device", f"--devices: '{of}' is to be {text}, but this torch "
                                f"({torch.__version__}) has {', '.join(have)}")
    return torch.device(text)


def far_space(text: str, of: str) -> torch.device:
    """The space of that name on another host, whose worker tells whether it is there."""
    try:
        return torch.device(text)
    except RuntimeError:
        raise Refusal("", f"--devices: '{of}' is to be '{text}', which is no device of torch") from None


def _default_text() -> str:
    """All accelerators beside one CPU device; a CPU device a core (at most 8) where there are none."""
    others = torch_spaces()[1:]
    if others:
        kinds = [s.split(":")[0].replace("cuda", "gpu") for s in others]
        return ",".join(["cpu0=cpu"] + [f"{kind}{i}={s}" for i, (kind, s) in enumerate(zip(kinds, others))])
    return ",".join(f"cpu{i}" for i in range(min(8, len(os.sched_getaffinity(0)))))


def parse_devices(text: str | None, threads: int = 0, memory: dict[str, int] | None = None) -> list[Device]:
    """The devices of NAME[=SPACE[*SPEED]][@HOST:PORT],... This host's cores are shared out evenly among its
    CPU devices, in their order. Spaces of other hosts are not looked at.

    threads: of each CPU device; 0: as many as it has cores. Threads are a setting of the whole process in
    torch, so that all CPU devices have the same number.
    """
    words = [_one(w) for w in (text or _default_text()).split(",")]
    devices = [Device(name, (far_space if at else space_of)(space, name), speed, at=at)
               for name, space, speed, at in words]
    names = [d.name for d in devices]
    for d in devices:
        if names.count(d.name) > 1:
            raise Refusal("", f"--devices: there are two of the name '{d.name}'")
    for name in memory or {}:
        if name not in names:
            raise Refusal("", f"--memory: there is no device '{name}'; the devices are {', '.join(names)}")
    for d in devices:
        d.memory_bytes = (memory or {}).get(d.name)
    share_cores([d for d in devices if d.is_cpu and not d.at], threads)
    return devices


def share_cores(cpus: list[Device], threads: int) -> None:
    """Give each CPU device of this host as many of its cores."""
    cores = sorted(os.sched_getaffinity(0))
    each = max(1, len(cores) // max(1, len(cpus)))
    for i, d in enumerate(cpus):
        d.cores = [cores[(i * each + k) % len(cores)] for k in range(each)]
        d.threads = threads or each


def cpu_model(core: int) -> str:
    """What /proc/cpuinfo calls the core's processor; empty where it does not tell."""
    here = False
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as f:
            for line in f:
                key, _, value = (part.strip() for part in line.partition(":"))
                if key == "processor":
                    here = value == str(core)
                elif here and key == "model name":
                    return value
    except OSError:
        pass
    return ""


def describe(d: Device) -> dict:
    """The device as `hello` tells it: all that decides how fast it is."""
    if d.is_cpu:
        text = {"name": d.name, "kind": "cpu", "model": cpu_model(d.cores[0]), "threads": d.threads}
    elif d.space.type == "cuda":
        p = torch.cuda.get_device_properties(d.space)
        text = {"name": d.name, "kind": "gpu", "model": p.name, "memory_bytes": p.total_memory}
    else:
        text = {"name": d.name, "kind": "gpu", "model": str(d.space)}
    if d.memory_bytes is not None:
        text["memory_bytes"] = d.memory_bytes
    if d.speed < 1:
        text["speed"] = d.speed
    return text


def taken_by_torch(space: torch.device, cap: int) -> int:
    """Bytes of a CUDA device that torch keeps for its own work (of cuBLAS above all), forward and backward,
    and may lose between tensors: it takes memory in pieces of 20 MiB, or of 2 for what is small, and pieces
    do not fill up (a fiftieth). Asked for in the thread and on the stream that will compute."""
    with torch.enable_grad():
        layer = torch.nn.Linear(64, 64, device=space)
        (layer(torch.ones(64, 64, device=space)) @ layer.weight).sum().backward()
    del layer
    torch.cuda.synchronize(space)
    torch.cuda.empty_cache()
    return torch.cuda.memory_reserved(space) + (24 << 20) + cap // 50


def cap_memory(devices: list[Device]) -> None:
    """Let torch take no more of a CUDA device than it may hold, and less for its own work there."""
    if any(d.memory_bytes is not None and d.space.type == "cuda" for d in devices):
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:2:16:8")  # 8 MiB, and not 32
        os.environ.setdefault("CUBLASLT_WORKSPACE_SIZE", "4096")  # KiB
    for d in devices:
        if d.memory_bytes is not None and d.space.type == "cuda":
            total = torch.cuda.get_device_properties(d.space).total_memory
            torch.cuda.set_per_process_memory_fraction(min(1.0, d.memory_bytes / total), d.space)
