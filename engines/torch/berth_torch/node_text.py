"""Values, functions and modules as Python text: what the line of an operation is put together from."""
import functools
import importlib
import math
import operator
import sys
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, Callable, Dict, List, Tuple, Union

import torch
from torch import fx

from .recorded import Applied

MOST_NUMBERS = 64  # of a constant that is written out
NUMBERED = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ParameterList)
INFIX = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
         "matmul": "@", "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "eq": "==",
         "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
PREFIX = {"neg": "-", "pos": "+", "invert": "~"}
TORCH = ("torch.nn.functional", "torch", "torch.special", "torch.linalg", "torch.fft")

Key = Tuple[fx.Node, str]  # a value and its device; "": of an input, where the caller has it
Token = Union[str, Key]


@dataclass(frozen=True)
class ByMode:
    """A constant of a call that depends on whether the module of that path is in training mode."""

    path: str
    training: Any
    evaluation: Any


class Unwritable(Exception):
    """What no line of Python stands for; the text tells what."""


class Names:
    """Texts for what is imported, and the modules that this takes."""

    def __init__(self) -> None:
        self.modules: Dict[str, str] = {}  # the line of its import, by the module's name

    def of_module(self, name: str) -> str:
        """Where a module of Python is found."""
        if name == "torch.nn.functional":
            self.modules[name] = "import torch.nn.functional as F"
            return "F"
        if name == "builtins":
            return ""
        if not all(part.isidentifier() and not iskeyword(part) for part in name.split(".")):
            raise Unwritable(f"'{name}' is no name that Python imports")
        self.modules[name] = f"import {name}"
        return name

    def of(self, what: Any) -> str:
        """A function or class. Raises Unwritable."""
        for module in (*TORCH, getattr(what, "__module__", None) or ""):
            path = getattr(what, "__qualname__", None) if module not in TORCH else None
            path = path or getattr(what, "__name__", "")
            if module and path and found(module, path) is what:
                return ".".join(filter(None, [self.of_module(module), path]))
        name = torch.overrides.resolve_name(what) or ""
        module, _, path = name.partition(".")
        if path and found(module, path) is what:
            return name
        raise Unwritable(f"'{getattr(what, '__qualname__', what)}' cannot be imported")


def found(module: str, path: str) -> Any:
    """What a path in a module leads to; None: nothing."""
    try:
        holder = sys.modules.get(module) or importlib.import_module(module)
        return functools.reduce(getattr, path.split("."), holder)
    except (AttributeError, ImportError, ValueError):
        return None


def part_text(root: torch.nn.Module, target: str) -> str:
    """`self.layers[0].linear1` for "layers.0.linear1"."""
    text, holder = "self", root
    for part in target.split("."):
        if isinstance(holder, NUMBERED) and part.isdigit():
            text += f"[{part}]"
        elif part.isidentifier() and not iskeyword(part):
            text += f".{part}"
        else:
            text = f"getattr({text}, {quoted(part)})"
        holder = getattr(holder, part)
    return text


def printable(text: str) -> str:
    """A name that can stand in a docstring or a comment."""
    return "".join(c if c.isprintable() and c not in '"\\' else "?" for c in text)


def quoted(text: str) -> str:
    """A text in double quotes where it has none."""
    plain = repr(text)
    return f'"{plain[1:-1]}"' if plain[0] == "'" and '"' not in plain else plain


def literal(value: Any, device: str, names: Names) -> str:
    """A constant. device: the variable that stands for a device of torch. Raises Unwritable."""
    if isinstance(value, str):
        return quoted(value)
    if value is None or value is Ellipsis or isinstance(value, (bool, int, bytes, complex)):
        return "..." if value is Ellipsis else repr(value)
    if isinstance(value, float):
        return numbers_text(value)
    if isinstance(value, torch.device):
        return device
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return repr(value)
    if isinstance(value, torch.Tensor) and value.numel() <= MOST_NUMBERS and value.layout == torch.strided:
        return f"torch.tensor({numbers_text(value.tolist())}, dtype={value.dtype}, device={device})"
    if isinstance(value, torch.Tensor):
        raise Unwritable(f"a tensor of {value.numel()} numbers that is neither parameter nor buffer "
                         "(register_buffer makes it one)")
    if isinstance(value, type) or callable(value):
        return names.of(value)
    raise Unwritable(f"a value of the type {type(value).__name__}")


def numbers_text(value: Any) -> str:
    """Nested lists of numbers."""
    if isinstance(value, list):
        return "[" + ", ".join(map(numbers_text, value)) + "]"
    return f'float("{value}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)


class CallText:
    """Texts of a node's call. argument: the tokens of another node as this one takes it."""

    def __init__(self, root: torch.nn.Module, names: Names, argument: Callable[[fx.Node], List[Token]],
                 device: str) -> None:
        self.root, self.names, self.argument, self.device = root, names, argument, device

    def value(self, value: Any) -> List[Token]:
        """An argument, nodes in it being tokens."""
        if isinstance(value, fx.Node):
            return self.argument(value)
        if isinstance(value, ByMode):
            return self.by_mode(value)
        if isinstance(value, slice):
            parts = [[] if p is None else self.value(p) for p in (value.start, value.stop, value.step)]
            tokens = [*parts[0], ":", *parts[1]] + ([":", *parts[2]] if parts[2] else [])
            return tokens
        if isinstance(value, dict):
            rows = [[*self.value(k), ": ", *self.value(v)] for k, v in value.items()]
            return ["{", *joined(rows), "}"]
        if isinstance(value, (tuple, list)):
            inner = joined([self.value(v) for v in value])
            if isinstance(value, list):
                return ["[", *inner, "]"]
            return ["(", *inner, ",)" if len(value) == 1 else ")"]
        return [literal(value, self.device, self.names)]

    def by_mode(self, value: ByMode) -> List[Token]:
        """`self.training`, or a choice by it."""
        asked = (part_text(self.root, value.path) if value.path else "self") + ".training"
        if (value.training, value.evaluation) == (True, False):
            return [asked]
        return ["(", *self.value(value.training), f" if {asked} else ", *self.value(value.evaluation), ")"]

    def operand(self, value: Any) -> List[Token]:
        """An argument beside an operator's sign."""
        plain = isinstance(value, fx.Node) or isinstance(value, (int, float)) and value >= 0
        return self.value(value) if plain else ["(", *self.value(value), ")"]

    def inside(self, value: Any) -> List[Token]:
        """What stands in the brackets behind a tensor."""
        if isinstance(value, tuple) and value:
            return joined([self.value(v) for v in value]) + ([","] if len(value) == 1 else [])
        return self.value(value)

    def listed(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> List[Token]:
        """Arguments in parentheses."""
        rows = [self.value(a) for a in args] + [[f"{k}=", *self.value(v)] for k, v in kwargs.items()]
        return ["(", *joined(rows), ")"]

    def call(self, node: fx.Node) -> List[Token]:
        """The whole call of a node."""
        args, kwargs = node.args, dict(node.kwargs)
        if node.op == "call_module":
            return [part_text(self.root, str(node.target)), *self.listed(args, kwargs)]
        if node.op == "call_method":
            return [*self.operand(args[0]), f".{node.target}", *self.listed(args[1:], kwargs)]
        target = node.target
        if isinstance(target, Applied):
            return [self.names.of(target.function), ".apply", *self.listed(args, kwargs)]
        name = getattr(target, "__name__", "")
        if getattr(operator, name, None) is target and not kwargs:
            return self.operation(name, args)
        if target is getattr:
            return [*self.operand(args[0]), f".{args[1]}"]
        return [self.names.of(target), *self.listed(args, kwargs)]

    def operation(self, name: str, args: Tuple[Any, ...]) -> List[Token]:
        """A function of Python's module operator."""
        if name in INFIX:
            return [*self.operand(args[0]), f" {INFIX[name]} ", *self.operand(args[1])]
        if name in PREFIX:
            return [PREFIX[name], *self.operand(args[0])]
        if name == "getitem":
            return [*self.operand(args[0]), "[", *self.inside(args[1]), "]"]
        if name == "setitem":
            return [*self.operand(args[0]), "[", *self.inside(args[1]), "] = ", *self.value(args[2])]
        return [f"{self.names.of_module('operator')}.{name}", *self.listed(args, {})]


def joined(rows: List[List[Token]]) -> List[Token]:
    """Rows with commas between them."""
    tokens: List[Token] = []
    for row in rows:
        tokens += [", ", *row] if tokens else row
    return tokens
