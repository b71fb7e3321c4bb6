"""Devices that are names alone: which operation takes tensors of two of them, where there is the CPU only.

build({"gpu0": Tag("gpu0")}) of an exported file, under Borders: `.to(Tag)` copies and notes the name, and
each operation hands it on. One that takes tensors of two names raises, as PyTorch would with two devices, and
so does one that takes tensors of another device than the comment above its line in forward says. A tensor of no
dimensions is let through where it is the CPU's, as in PyTorch.
"""
import sys
from typing import Any, Dict, List, Optional, Set

import torch
from torch.overrides import TorchFunctionMode

from .node_text import printable
from .tracer import storage_of, tensors_in

ANYWHERE = ("copy_", "type_as", "__get__", "is_floating_point", "dim", "size")
FOLLOWS = "*"  # made where another tensor is


class Tag(str):
    """The name of a device, in place of what torch calls it."""


class TwoDevices(Exception):
    """An operation took tensors of two devices; the text tells which."""


def devices_of_lines(text: str, devices: Dict[str, str]) -> Dict[int, str]:
    """The device of each line of forward, by its comments."""
    made: Dict[int, str] = {}
    words, now = {f"# {printable(d)}": d for d in devices}, None
    for number, line in enumerate(text.split("\n"), 1):
        now = None if line.startswith("def ") else words.get(line.strip(), now)
        if now is not None and not line.lstrip().startswith("return"):
            made[number] = now
    return made


class Borders(TorchFunctionMode):
    """Watches operations. name: of the file, text: of it, devices: of its comments, with what torch calls
    them. moves: how many copies to a device were made; operations: how many there were."""

    def __init__(self, name: str, text: str, devices: Dict[str, str]) -> None:
        super().__init__()
        self.name, self.devices = name, devices_of_lines(text, devices)
        self.cpus = {None, *(d for d, theirs in devices.items() if theirs == "cpu")}
        self.tags: Dict[int, str] = {}  # by the address of the memory
        self.alive: List[torch.Tensor] = []  # so that no address comes again
        self.moves = self.operations = 0

    def tag(self, t: torch.Tensor) -> Optional[str]:
        """Where a tensor is; None: where the caller has it."""
        return self.tags.get(storage_of(t))

    def found_in(self, value: Any) -> Set[Optional[str]]:
        """Where the tensors of a value are that have to be together."""
        at = [(self.tag(t), t.dim()) for t in tensors_in(value)]
        return {tag for tag, dims in at if dims or tag not in self.cpus} - {FOLLOWS}

    def look_at(self, name: str, found: Set[Optional[str]]) -> None:
        """Raises TwoDevices where an operation takes tensors that it should not."""
        told = " and ".join(sorted(str(f) for f in found))
        if len(found) > 1:
            raise TwoDevices(f"{name} takes tensors of {told}")
        wanted = self.wanted()
        if found and wanted is not None and found != {wanted}:
            raise TwoDevices(f"{name} takes tensors of {told} on a line of {wanted}")

    def wanted(self) -> Optional[str]:
        """The device of the line of forward that runs."""
        frame = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename == self.name and frame.f_code.co_name == "forward":
                return self.devices.get(frame.f_lineno)
            frame = frame.f_back
        return None

    def mark(self, value: Any, tag: Optional[str]) -> Any:
        """Note where the tensors of a value are."""
        for t in tensors_in(value):
            if tag is not None:
                self.tags[storage_of(t)] = tag
            self.alive.append(t)
        return value

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", str(func))
        tag = next((a for a in (*args, *kwargs.values()) if isinstance(a, Tag)), None)
        if name == "to" and tag is not None:
            self.moves += 1
            return self.mark(args[0].clone(), tag)
        if tag is not None:
            kwargs["device"] = "cpu"
            return self.mark(func(*args, **kwargs), tag)
        if name == "__set__":
            value = func(*args, **kwargs)
            self.mark(args[0], self.tag(args[1]) if isinstance(args[1], torch.Tensor) else None)
            return value
        if isinstance(kwargs.get("device"), torch.device) and not tensors_in((args, kwargs)):
            return self.mark(func(*args, **kwargs), FOLLOWS)  # device=x.device
        found = self.found_in((args, kwargs))
        if name not in ANYWHERE:
            self.look_at(name, found)
        self.operations += name not in ANYWHERE
        made = func(*args, **kwargs)
        return self.mark(made, found.pop() if len(found) == 1 else None)


__all__ = ["Borders", "Tag", "TwoDevices"]
