"""Attributes that a module's own code reads or sets: the first stand in a written forward as numbers, what is
set is not kept by it.

The module runs once with classes that note each look at a plain number or text. Modules of PyTorch's own and
parts that are called whole are not watched; neither are objects that are no modules, such as a configuration.
"""
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, Dict, List, Tuple

import torch

from .node_text import Names, literal, part_text, quoted
from .trace import Traced, kept_state
from .values import map_tensors

PLAIN = (bool, int, float, str)
Part = Tuple[str, torch.nn.Module]


@dataclass
class Frozen:
    """read: attributes as text, such as self.blocks[0].heads, and their values. changed: those that forward
    sets."""

    read: Dict[str, Any]
    changed: List[str]

    def checks(self) -> List[str]:
        """Lines that hold attributes against their values."""
        return [f"expect({quoted(text)}, {text}, {literal(value, 'None', Names())})"
                for text, value in self.read.items()]


def attribute_text(text: str, name: str) -> str:
    """An attribute of what a text stands for."""
    plain = name.isidentifier() and not iskeyword(name)
    return f"{text}.{name}" if plain else f"getattr({text}, {quoted(name)})"


def own_parts(traced: Traced) -> List[Part]:
    """The user's modules whose code is written out, with their texts."""
    nodes = traced.graph_module.graph.nodes
    whole = tuple(f"{n.target}." for n in nodes if n.op == "call_module")
    return [(part_text(traced.module, name) if name else "self", part)
            for name, part in traced.module.named_modules()
            if not type(part).__module__.startswith("torch.") and not f"{name}.".startswith(whole)]


def watching(own: type, text: str, read: Dict[str, Any]) -> type:
    """A class like own that notes which plain attributes are looked at. text: of its module."""
    usual = vars(torch.nn.Module())

    def look(self: Any, name: str) -> Any:
        value = own.__getattribute__(self, name)
        if type(value) in PLAIN and name not in usual and name in object.__getattribute__(self, "__dict__"):
            read.setdefault(attribute_text(text, name), value)
        return value

    return type(own.__name__, (own,), {"__getattribute__": look})


def is_same(a: Any, b: Any) -> bool:
    """Is it the same value, or an equal number?"""
    return a is b or type(a) is type(b) and type(a) in PLAIN and a == b


def run_watched(traced: Traced, parts: List[Part], read: Dict[str, Any]) -> None:
    """Run the module with classes that watch. One that cannot be derived from stays."""
    classes = [type(part) for _, part in parts]
    try:
        for (text, part), own in zip(parts, classes):
            try:
                part.__class__ = watching(own, text, read)
            except TypeError:
                pass
        args, kwargs = map_tensors((traced.args, traced.kwargs), torch.clone)
        traced.module(*args, **kwargs)
    finally:
        for (_, part), own in zip(parts, classes):
            part.__class__ = own


def frozen_in(traced: Traced) -> Frozen:
    """What forward reads and sets."""
    made, parts = Frozen({}, []), own_parts(traced)
    with kept_state(traced.module), torch.no_grad():
        before = [dict(vars(part)) for _, part in parts]
        run_watched(traced, parts, made.read)
        for (text, part), was in zip(parts, before):
            made.changed += [attribute_text(text, name) for name, value in vars(part).items()
                             if name not in was or not is_same(value, was[name])]
    made.read = {text: v for text, v in made.read.items() if text not in made.changed and v == v}
    return made


__all__ = ["Frozen", "frozen_in"]
