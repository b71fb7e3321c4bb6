"""What two processes that are to run one module have to agree on, in a few characters each."""
from __future__ import annotations

import hashlib
from typing import Any, Iterable

import torch

from .placed import Step
from .trace import Traced
from .tracer import tensors_in
from .wire import raw


def _digest(parts: Iterable[Any]) -> str:
    made = hashlib.sha256()
    for part in parts:
        made.update(part if isinstance(part, memoryview) else repr(part).encode() + b"\n")
    return made.hexdigest()[:24]


def _bytes(tensors: Iterable[torch.Tensor]) -> Iterable[Any]:
    for t in tensors:
        held = t.detach().to("cpu").contiguous()
        yield str(held.dtype), tuple(held.shape)
        if held.numel():
            yield raw(held)


def file_digest(path: str) -> str:
    """Of the text of a file."""
    with open(path, "rb") as file:
        return _digest([memoryview(file.read())])


def digests(traced: Traced, steps: list[Step], layouts: dict) -> dict[str, str]:
    """By what they are of, in the order in which they are to be compared. layouts: of each node."""
    rows = [(s.name, [n.name for n in s.inputs], [(n.name, _shapes(layouts[n])) for n in s.outputs], s.params,
             s.buffers) for s in steps]
    state = [*traced.module.parameters(), *traced.module.buffers()]
    return {"file": file_digest(traced.spec.path), "graph": _digest(rows),
            "parameters": _digest(_bytes(state)), "inputs": _digest(_bytes(traced.inputs))}


def _shapes(value: Any) -> list:
    return [(tuple(t.shape), str(t.dtype)) for t in tensors_in(value)]
