"""A plan as a Python file: the user's module, its parts moved to devices, a forward with `.to()` at borders.

The file needs PyTorch and the user's own file, not berth. Names in state_dict are the module's own: build()
changes the class of the module that the user's factory makes, and nothing in it.
"""
import inspect
import os
import sys
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, Dict, List

import torch
from torch import fx

from .device_names import variables_of
from .devices import Refusal
from .forward_text import INPUT, ForwardText, Line, write_lines
from .frozen import Frozen, frozen_in
from .node_text import Names, Unwritable, printable, quoted
from .operators import works
from .parameters import module_tensors
from .placed import LOSS, output_node
from .spec import Loaded, Spec, shown
from .structure_text import head_of, result_of, result_text
from .trace import Traced, trace_loaded
from .whole_parts import join_modes, with_whole_parts

WHOLE = '''"""{title}: a plan of berth for PyTorch.

    from FILE import build      # this file's name
    model = build()             # or build({{{example}: ...}}): other devices

The module is that of {factory}() in {file}.py. Its state_dict has the same names, so that checkpoints
load both ways. Tensors go to other devices where the code says so.
"""
{imports}

DEVICES = {devices}

# The device of each parameter and buffer: the longest beginning of its name counts.
PLACES = {places}

{expect}
{forward}


def build(devices=None):
    """The module of {factory}() on its devices. devices: what torch calls some of them."""
    unknown = set(devices or {{}}) - set(DEVICES)
    if unknown:
        raise ValueError(f"no such device: {{sorted(unknown)}}; there are {{list(DEVICES)}}")
    module = {source}.{factory}()
    module = module[0] if isinstance(module, tuple) else module
    module.{placed_on} = {{**DEVICES, **(devices or {{}})}}
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        while name not in PLACES:
            name = name.rpartition(".")[0]
        tensor.data = tensor.data.to(module.{placed_on}[PLACES[name]])
{flatten}    module.__class__ = type("Placed", (type(module),), {{"forward": forward}})
    return module
'''
OWN_NAMES = ("build", "expect", "forward", "DEVICES", "F", "PLACES")  # of the file
EXPECT = '''
def expect(what, value, traced):
    """The code of the module goes another way for other values: this file has none for them."""
    if value != traced:
        raise ValueError(f"{what} is {value!r}, and {traced!r} where the plan was written: export it again")

'''
FLATTEN = '''    for part in module.modules():
        if isinstance(part, torch.nn.RNNBase):
            part.flatten_parameters()
'''


@dataclass
class Placed:
    """What is to be written. devices: names of torch by those of the plan, in the plan's order. place: device
    of each operator of the forward pass, by name; of the loss, where there is one."""

    graph: str
    system: str
    devices: Dict[str, str]
    place: Dict[str, str]


@dataclass
class Written:
    """The file. parts: called by their own code. both_modes: does it do for training and evaluation?
    changed: attributes that the module's forward sets, and the file's does not."""

    text: str
    parts: List[str]
    both_modes: bool
    changed: List[str]


def traced_for(loaded: Loaded, spec: Spec, place: Dict[str, str]) -> Traced:
    """The module traced with gradients, so that what turns them off is seen. Raises Refusal."""
    spec.gradients = True
    traced = trace_loaded(loaded, spec)
    missing = [op.name for op in traced.ops if op.name not in place]
    if missing:
        raise Refusal("model", f"the plan has no device for '{missing[0]}': it is a plan of another module")
    return traced


def check_name(spec: Spec, stem: str) -> None:
    """Another module of Python has the name of the user's file: `import` gives that one. Raises Refusal."""
    theirs = sys.modules.get(stem)
    mine = os.path.realpath(spec.path)
    if stem in sys.builtin_module_names or theirs and os.path.realpath(getattr(theirs, "__file__", "") or "") != mine:
        raise Refusal("model", f"'import {stem}' does not give {shown(spec.path)}, as Python has another module of "
                               "that name: give the file another one")


def homes_of(traced: Traced, device_of: Dict[fx.Node, str]) -> Dict[int, str]:
    """The device of each parameter and buffer, by id. Raises Refusal where two devices would have one."""
    found: Dict[int, str] = {}
    first: Dict[int, str] = {}
    state = {id(t) for t in module_tensors(traced.module)}
    calls = [n for n in works(traced.graph_module.graph) if n.op == "call_module"]
    named = dict((id(t), n) for n, t in [*traced.module.named_buffers(), *traced.module.named_parameters()])
    for node in calls:
        for t in module_tensors(traced.graph_module.get_submodule(str(node.target))):
            other = found.setdefault(id(t), device_of[node])
            if other != device_of[node]:
                raise Refusal("model", shared_text(named.get(id(t), "a tensor"), first[id(t)], other,
                                                   str(node.target), device_of[node]))
            first.setdefault(id(t), str(node.target))
    for node in works(traced.graph_module.graph):
        for taken in node.all_input_nodes:
            if taken.op == "get_attr":
                value: Any = traced.graph_module
                for part in str(taken.target).split("."):
                    value = getattr(value, part)
                for t in module_tensors(value) if isinstance(value, torch.nn.Module) else [value]:
                    if id(t) in state:  # a plain tensor goes where it is needed each time
                        found.setdefault(id(t), device_of[node])
    return found


def shared_text(name: str, a: str, at: str, b: str, there: str) -> str:
    """Why a tensor cannot be on two devices."""
    if a == b:
        return (f"'{a}' is called on {at} and on {there}: a module is on one device (place --colocate keeps its "
                "calls together)")
    return (f"'{name}' is of '{a}' on {at} and of '{b}' on {there}: tied weights are on one device "
            f"(place --colocate {a},{b})")


def places_of(traced: Traced, homes: Dict[int, str]) -> Dict[str, str]:
    """Devices by the beginnings of names; "" for all that is not told."""
    tensors = [*traced.module.named_parameters(), *traced.module.named_buffers()]
    known = {name: homes[id(t)] for name, t in tensors if id(t) in homes}
    counts = list(known.values())
    usual = max(dict.fromkeys(counts), key=counts.count) if counts else next(iter(homes.values()), "")
    table = {"": usual}

    def visit(prefix: str, names: List[str]) -> None:
        devices = {known[n] for n in names}
        if len(devices) == 1:
            if devices != {usual}:
                table[prefix] = devices.pop()
            return
        start = len(prefix) + 1 if prefix else 0
        groups: Dict[str, List[str]] = {}
        for n in names:
            groups.setdefault(n[:n.find(".", start)] if "." in n[start:] else n, []).append(n)
        for group, members in groups.items():
            visit(group, members)

    if known:
        visit("", list(known))
    return table


class FileText:
    """Puts the file together."""

    def __init__(self, spec: Spec, traced: Traced, device_of: Dict[fx.Node, str], placed: Placed,
                 frozen: Frozen) -> None:
        self.spec, self.traced, self.placed, self.names, self.frozen = spec, traced, placed, Names(), frozen
        self.placed_on = "placed_on"
        while hasattr(traced.module, self.placed_on):
            self.placed_on += "_"
        self.stem = os.path.splitext(os.path.basename(spec.path))[0]
        check_name(spec, self.stem)
        self.imported = self.stem.isidentifier() and not iskeyword(self.stem) and self.stem not in OWN_NAMES
        parameters = inspect.signature(traced.module.forward).parameters
        self.variables = variables_of(placed.devices, {*parameters, *OWN_NAMES, self.stem})
        self.homes = homes_of(traced, device_of)
        self.maker = ForwardText(traced, device_of, self.homes, self.variables, self.names)

    def forward(self, one_mode: bool) -> List[str]:
        """The lines of forward."""
        head = head_of(self.traced, self.names)
        lines = self.maker.make()
        at = self.placed.place.get(LOSS, INPUT) if self.spec.training else INPUT
        nodes = output_node(self.traced).args[0]
        leaves = [self.maker.result(n, at) for n in nodes]
        result = result_text(result_of(self.traced, len(nodes)), leaves, self.names)
        lines.append(Line([], ["return ", *result], at))
        graph = self.traced.graph_module.graph
        inputs = dict(zip((n for n in graph.nodes if n.op == "placeholder"), head.inputs))
        reserved = {"self", "torch", "F", "_", "expect", *self.variables.values(), self.stem,
                    *(p.strip("*").split("=")[0] for p in head.parameters.split(", "))}
        body = write_lines(lines, inputs, reserved, self.maker.kinds)
        head.checks += self.frozen.checks()
        if one_mode:
            head.checks.insert(0, f'expect("training", self.training, {self.spec.training})')
        used = [n for n in self.placed.devices if any(self.variables[n] in line for line in body)]
        told = [f"{', '.join(self.variables[n] for n in used)} = "
                f"{', '.join(f'self.{self.placed_on}[{quoted(n)}]' for n in used)}"] if used else []
        return [f"def forward({head.parameters}):", *("    " + t for t in [*head.checks, *told, *body])]

    def imports(self) -> List[str]:
        """Of PyTorch, of the user's file, and of what forward calls."""
        own = f"import {self.stem}" if self.imported else ""
        lines = {"import torch", *self.names.modules.values()} - {own}
        if not own:
            lines.add("import importlib")
        return [*sorted(lines), "", own or f"module_file = importlib.import_module({quoted(self.stem)})"]

    def text(self, one_mode: bool) -> str:
        """The whole file."""
        forward = "\n".join(self.forward(one_mode))
        devices = [printable(d) for d in self.placed.devices]
        rnn = any(isinstance(m, torch.nn.RNNBase) for m in self.traced.module.modules())
        return WHOLE.format(
            title=f"{printable(self.placed.graph)} on {', '.join(devices)}", example=quoted(devices[0]),
            factory=self.spec.factory, file=printable(self.stem), imports="\n".join(self.imports()),
            devices=table_text(self.placed.devices), places=table_text(places_of(self.traced, self.homes)),
            expect=EXPECT if "expect(" in forward else "", forward=forward,
            source=self.stem if self.imported else "module_file", placed_on=self.placed_on, flatten=FLATTEN if rnn else "")


def table_text(table: Dict[str, str]) -> str:
    """A dict, over several lines where it is long."""
    rows = [f"{quoted(k)}: {quoted(v)}" for k, v in table.items()]
    one = "{" + ", ".join(rows) + "}"
    return one if len(one) < 90 else "{\n" + "".join(f"    {r},\n" for r in rows) + "}"


def write_placed(loaded: Loaded, spec: Spec, placed: Placed) -> Written:
    """The file of a plan. Raises Refusal, SpecError."""
    fine = traced_for(loaded, spec, placed.place)
    device_of = {n: placed.place[fine.ops[o].name] for n, o in fine.op_of.items()}
    traced, devices, parts = with_whole_parts(loaded, spec, fine, device_of)
    try:
        frozen = frozen_in(traced)
        text = FileText(spec, traced, devices, placed, frozen)
        both = join_modes(loaded, spec, traced, parts)
        return Written(text.text(not both), parts, both, frozen.changed)
    except Unwritable as error:
        raise Refusal("model", f"the plan cannot be written as Python: {error}") from error


__all__ = ["Placed", "Written", "write_placed"]
