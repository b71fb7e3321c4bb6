"""forward of a placed module, line by line: each operation as the user's code has it, and `.to(DEVICE)` where
a tensor goes to another device.

Variables are used again when what they hold is needed no more, so that memory is freed as early as in code
that a person writes.
"""
import operator
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Set, Tuple

import torch
from torch import fx

from .node_text import CallText, Key, Names, Token, Unwritable, part_text, printable
from .trace import Traced, copied, kept_state
from .tracer import FACTORIES, info

LETTERS = "xyzuvwabcdefghpqrst"
COUNTS = "nmkij"
INPUT = ""  # the device of what the caller gives


@dataclass
class Line:
    """targets: what is assigned, None: a member that nobody needs. device: where it is computed; INPUT:
    nowhere. unpacks: one value's members, even where there is but one target."""

    targets: List[Optional[Key]]
    tokens: List[Token]
    device: str
    unpacks: bool = False


class Kinds(fx.Interpreter):
    """What kind of value each node has: the type, and for a tuple or list its members'."""

    def __init__(self, traced: Traced) -> None:
        super().__init__(traced.graph_module)
        self.kinds: Dict[fx.Node, Any] = {}
        with kept_state(traced.module), torch.no_grad():
            self.run(*copied(traced.inputs))

    def run_node(self, n: fx.Node) -> Any:
        """Run it and note the kind."""
        value = super().run_node(n)
        self.kinds[n] = kind_of(value)
        return value


def kind_of(value: Any) -> Any:
    """"tensor", a list of kinds, or None."""
    if isinstance(value, torch.Tensor):
        return "tensor"
    return [kind_of(v) for v in value] if isinstance(value, (tuple, list)) else None


class ForwardText:
    """Makes the lines. device_of: of the nodes that compute. home: devices of parameters and buffers, by id.
    variables: of devices."""

    def __init__(self, traced: Traced, device_of: Dict[fx.Node, str], home: Dict[int, str],
                 variables: Dict[str, str], names: Names) -> None:
        self.traced, self.device_of, self.home = traced, device_of, home
        self.variables, self.names = variables, names
        self.kinds = Kinds(traced).kinds
        self.origin: Dict[fx.Node, str] = {}
        self.there: Set[Key] = set()
        self.alias: Dict[fx.Node, fx.Node] = {}
        self.lines: List[Line] = []

    # where values are

    def computes(self, node: fx.Node) -> bool:
        """Does it make or look at tensors?"""
        return bool(info(node).tensors) or bool(info(node).writes) or self.kinds.get(node) == "tensor"

    def attribute(self, node: fx.Node) -> Any:
        """The value of a get_attr node."""
        value: Any = self.traced.graph_module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        return value

    def constant(self, node: fx.Node, device: str) -> List[Token]:
        """A parameter, buffer, plain tensor, module, or a tensor that was made of numbers."""
        value, text = self.attribute(node), CallText(self.traced.module, self.names, self.taken, device)
        if str(node.target).startswith("_tensor_constant"):
            return text.value(value)
        path = part_text(self.traced.module, str(node.target))
        away = isinstance(value, torch.Tensor) and self.now not in (INPUT, self.home.get(id(value)))
        return [f"{path}.to({device})" if away else path]

    def taken(self, node: fx.Node) -> List[Token]:
        """The tokens of an argument of the node that is being written."""
        node = self.alias.get(node, node)
        if node.op == "get_attr":
            return self.constant(node, self.variables.get(self.now, "None"))
        at = self.origin[node]
        if self.now == INPUT or at == self.now or not self.has_tensors(node):
            return [(node, at)]
        key = (node, self.now)
        if key not in self.there:
            self.there.add(key)
            self.lines.append(Line([key], self.moved((node, at), self.kinds[node]), self.now))
        return [key]

    def has_tensors(self, node: fx.Node) -> bool:
        """Is there anything to move?"""
        kind = self.kinds.get(node)
        return kind == "tensor" or isinstance(kind, list) and "tensor" in str(kind)

    def moved(self, key: Key, kind: Any) -> List[Token]:
        """A value on the present device."""
        to = self.variables[self.now]
        if kind == "tensor":
            return [key, f".to({to})"]
        if all(k == "tensor" for k in kind):
            return [f"tuple(t.to({to}) for t in ", key, ")"]
        raise Unwritable(f"a nested value goes to {self.now}")

    # lines

    def make(self) -> List[Line]:
        """All lines but that of what is returned."""
        for node in self.traced.graph_module.graph.nodes:
            if node.op == "placeholder":
                self.origin[node] = INPUT
            elif node.op.startswith("call") and node not in self.alias:
                self.call(node)
        return self.lines

    def call(self, node: fx.Node) -> None:
        """The line of a node, or of several members of one."""
        self.now = self.device_of[node] if self.computes(node) else INPUT
        self.origin[node] = self.now
        device = self.variables.get(self.now, "None")
        self.written_inputs(node)
        placed = self.on_device(node, device)
        tokens = CallText(self.traced.module, self.names, self.taken, device).call(placed)
        members = self.members(node)
        if members is None:
            self.lines.append(Line([(node, self.now)] if node.users else [], tokens, self.now))
        elif len(members) == 1:
            (i, first), = members.items()
            self.lines.append(Line([(first, self.now)], [*tokens, f"[{i}]"], self.now))
        else:
            targets = [(members[i], self.now) if i in members else None for i in range(len(self.kinds[node]))]
            self.lines.append(Line(targets, tokens, self.now, True))

    def members(self, node: fx.Node) -> Optional[Dict[int, fx.Node]]:
        """The nodes that take a tuple apart, by member; None: something else looks at it, and it stays whole."""
        count = len(self.kinds[node]) if isinstance(self.kinds.get(node), list) else 0
        found: Dict[int, fx.Node] = {}
        for user in node.users:
            index = user.args[1] if user.target is operator.getitem else None
            if type(index) is not int or user.args[0] is not node or not -count <= index < count:
                return None
            first = found.setdefault(index % count, user)
            if first is not user:
                self.alias[user] = first
        for first in found.values():
            self.alias[first] = first
            self.origin[first] = self.now
        return found or None

    def written_inputs(self, node: fx.Node) -> None:
        """What the module writes into of its inputs is a copy."""
        for written in info(node).writes:
            if written.op == "placeholder" and (written, self.now) not in self.there:
                self.there.add((written, self.now))
                copy = [(written, INPUT), f".to({self.variables[self.now]}, copy=True)"]
                self.lines.append(Line([(written, self.now)], copy, self.now))

    def on_device(self, node: fx.Node, device: str) -> fx.Node:
        """The node with each device that the code names being its own."""
        makers = {getattr(torch, name) for name in FACTORIES}
        kwargs = dict(node.kwargs)
        here = torch.device("cpu")
        makes = node.op == "call_function" and node.target in makers
        if makes or isinstance(kwargs.get("device"), (str, int)):
            kwargs["device"] = here
        args, target = node.args, node.target
        if node.op == "call_method" and target in ("cpu", "cuda"):
            target, args = "to", (args[0], here)
        if node.op == "call_method" and target == "to" and len(args) > 1 and isinstance(args[1], str):
            args = (args[0], here, *args[2:])
        if args == node.args and kwargs == node.kwargs:
            return node
        return Copy(node, target, args, kwargs)

    def result(self, node: fx.Node, device: str) -> List[Token]:
        """What is returned of a node, on a device. INPUT: where it was made."""
        self.now = device
        return self.taken(node)


class Copy:
    """A node with other arguments."""

    def __init__(self, node: fx.Node, target: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        self.op, self.target, self.args, self.kwargs, self.name = node.op, target, args, kwargs, node.name


@dataclass
class Variables:
    """Names of variables, used again when what they hold is needed no more."""

    taken: Set[str]
    names: Dict[Key, str] = field(default_factory=dict)

    def free(self, letters: str) -> str:
        """The first name that is free."""
        number = 0
        while True:
            for letter in letters:
                name = letter + (str(number) if number else "")
                if name not in self.taken:
                    return name
            number += 1

    def text(self, token: Token) -> str:
        """A token as it is written."""
        return token if isinstance(token, str) else self.names[token]

    def give_up(self, key: Key) -> None:
        """What a key names is needed no more; an input stays the caller's."""
        if key[1] != INPUT or key[0].op != "placeholder":
            self.taken.discard(self.names[key])


def last_uses(lines: List[Line]) -> Dict[Key, int]:
    """The last line that needs each value."""
    last: Dict[Key, int] = {}
    for i, line in enumerate(lines):
        for key in (*line.targets, *line.tokens):
            if key is not None and not isinstance(key, str):
                last[key] = i
    return last


def write_lines(lines: List[Line], inputs: Dict[fx.Node, str], reserved: Set[str],
                kinds: Dict[fx.Node, Any]) -> List[str]:
    """The lines as text, with a comment where the device changes. inputs: texts of the inputs."""
    last, variables = last_uses(lines), Variables(set(reserved) | set(inputs.values()))
    variables.names = {(n, INPUT): text for n, text in inputs.items()}
    made: List[str] = []
    device = INPUT
    for i, line in enumerate(lines):
        right = "".join(map(variables.text, line.tokens))
        if line.device not in (INPUT, device):
            device = line.device
            made.append(f"# {printable(device)}")
        dying = [k for k in dict.fromkeys(line.tokens) if not isinstance(k, str) and last[k] == i]
        wish = [variables.names[k] for k in dying if k[0].op != "placeholder" or k[1] != INPUT]
        for key in dying:
            variables.give_up(key)
        left = [name_of(key, wish, variables, kinds) for key in line.targets]
        for key in line.targets:
            if key is not None and last[key] == i:  # nobody needs it
                variables.give_up(key)
        comma = "," if line.unpacks and len(left) == 1 else ""
        made.append(f"{', '.join(left)}{comma} = {right}" if left else right)
    return made


def name_of(key: Optional[Key], wish: List[str], variables: Variables, kinds: Dict[fx.Node, Any]) -> str:
    """The variable of a target: that of what its line uses up, else a free one."""
    if key is None:
        return "_"
    letters = COUNTS if kinds.get(key[0]) is None else LETTERS
    fit = [w for w in wish if w not in variables.taken and w[0] in letters]
    name = fit[0] if fit else variables.free(letters)
    variables.taken.add(name)
    variables.names[key] = name
    return name


__all__ = ["ForwardText", "write_lines"]
