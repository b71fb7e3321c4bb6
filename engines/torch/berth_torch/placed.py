"""Operators made ready to run: each compiled once, with its modules in the space of the device that runs it.

The user's module stays where it is, on the CPU; CPU devices run it itself. Another space gets copies of
what it runs, tied parameters staying tied, and nothing else: what fits there can be run.
"""
from __future__ import annotations

import copy
import functools
from dataclasses import dataclass, field
from typing import Any, Callable

import torch
from torch import fx

from .losses import loss_in
from .measure import borders
from .spaces import give_back, is_host, wait_for
from .trace import Traced
from .tracer import FACTORIES
from .values import map_tensors

LOSS = "loss"


@dataclass
class Step:
    """One operator, compiled: outputs = call(*inputs).

    inputs, outputs: nodes of the traced graph. params: names of the parameters that it uses. mutates: it
    writes into an input. random: it draws random numbers (found out by running it).
    """

    name: str
    module: fx.GraphModule | None
    inputs: list[fx.Node]
    outputs: list[fx.Node]
    params: list[str] = field(default_factory=list)
    buffers: list[str] = field(default_factory=list)
    mutates: bool = False
    random: bool = False


def _subgraph(traced: Traced, nodes: list[fx.Node], inputs: list[fx.Node],
              outputs: list[fx.Node]) -> fx.GraphModule:
    """The nodes as a module of their own, from a tuple of inputs to a tuple of outputs."""
    graph, new = fx.Graph(), {}
    for i, n in enumerate(inputs):
        new[n] = graph.placeholder(f"input_{i}")
    for n in nodes:
        for a in n.all_input_nodes:
            if a.op == "get_attr" and a not in new:
                new[a] = graph.node_copy(a, lambda x: new[x])
        new[n] = graph.node_copy(n, lambda x: new[x])
    graph.output(tuple(new[n] for n in outputs))
    return fx.GraphModule(traced.graph_module, graph)


def _names(module: fx.GraphModule, known: dict[int, str], which: str) -> list[str]:
    found = [known[id(t)] for _, t in getattr(module, which)() if id(t) in known]
    return list(dict.fromkeys(found))


def output_node(traced: Traced) -> fx.Node:
    """The node of what the module returns; its argument is a tuple of nodes."""
    return next(n for n in traced.graph_module.graph.nodes if n.op == "output")


def compile_steps(traced: Traced) -> list[Step]:
    """A step for each operator, in the order of traced.ops, and one for the loss behind them where there is
    one.
    """
    params = {id(p): n for n, p in traced.module.named_parameters()}
    buffers = {id(b): n for n, b in traced.module.named_buffers()}
    steps = []
    for op in traced.ops:
        inputs, outputs = borders(op.nodes)
        module = _subgraph(traced, op.nodes, inputs, outputs)
        steps.append(Step(op.name, module, inputs, outputs, _names(module, params, "named_parameters"),
                          _names(module, buffers, "named_buffers"), bool(op.mutates)))
    if traced.mode == "training":
        inputs = [n for n in output_node(traced).all_input_nodes if n.op != "get_attr"]
        steps.append(Step(LOSS, None, inputs, []))
    return steps


def _attribute(module: fx.GraphModule, node: fx.Node) -> Any:
    """The value of a get_attr node."""
    return functools.reduce(getattr, str(node.target).split("."), module)


def model_output(traced: Traced, value_of: Callable[[fx.Node], Any]) -> Any:
    """What the module returns, put together from the values of nodes."""
    def leaf(n: fx.Node) -> Any:
        return _attribute(traced.graph_module, n) if n.op == "get_attr" else value_of(n)

    return traced.rebuild([leaf(a) if isinstance(a, fx.Node) else a for a in output_node(traced).args[0]])


def _placed_args(value: Any, device: torch.device) -> Any:
    """Arguments of a node with each device in them replaced."""
    return fx.node.map_aggregate(value, lambda a: device if isinstance(a, torch.device) else a)


def _retarget(module: fx.GraphModule, device: torch.device) -> None:
    """Let tensors that the module's code makes be made on the device."""
    makers = {getattr(torch, name) for name in FACTORIES}
    changed = False
    for n in module.graph.nodes:
        args, kwargs = _placed_args(n.args, device), dict(_placed_args(n.kwargs, device))
        if n.op == "call_function" and n.target in makers:
            kwargs["device"] = device
        if args != n.args or kwargs != dict(n.kwargs):
            n.args, n.kwargs, changed = args, kwargs, True
    if changed:
        module.recompile()


def _plain_tensors(module: torch.nn.Module) -> list[torch.Tensor]:
    """Tensors that are attributes of the module, but neither parameters nor buffers."""
    return [v for m in module.modules() for v in vars(m).values() if isinstance(v, torch.Tensor)]


class Space:
    """Steps that can run in one space.

    calls: what runs a step, by its number: a tuple of outputs of its inputs. inputs: the model's inputs here.
    """

    def __init__(self, traced: Traced, steps: list[Step], device: torch.device):
        self.traced, self.steps, self.device = traced, steps, device
        self.loss = loss_in(traced.loss, device)
        self.calls: dict[int, Callable[..., tuple]] = {}
        self.inputs: dict[fx.Node, Any] = {}
        self.copies: dict[int, Any] = {}  # by the id of what was copied
        self.originals: dict[int, torch.Tensor] = {}  # of tensors in copies
        self.used: dict[int, set[int]] = {}  # ids of the tensors that a step uses
        self.present: set[int] = set()  # ids of the tensors whose copies hold anything

    def bind(self, wanted: set[int]) -> None:
        """Have these steps here. In a space other than the CPU's, the tensors of no others take room."""
        for k in sorted(wanted - self.calls.keys()):
            module = self.steps[k].module
            if module is not None and not is_host(self.device):
                module = self._copy(k, module)
            self.calls[k] = module.forward if module is not None else self._loss
        if not is_host(self.device):
            self._fill(set().union(*(self.used.get(k, set()) for k in wanted)))
            wait_for(self.device)

    def bind_only(self, step: int) -> None:
        """Have one step here; on the CPU, where all are, nothing changes."""
        self.bind(set(self.calls) if is_host(self.device) else {step})

    def _copy(self, k: int, module: fx.GraphModule) -> fx.GraphModule:
        """The step's module with tensors of its own, which are empty."""
        tensors = [*module.parameters(), *module.buffers(), *_plain_tensors(module)]
        self.used[k] = {id(t) for t in tensors}
        for t in tensors:
            if id(t) not in self.copies:
                self.originals[id(t)] = t
                empty = torch.empty(0, dtype=t.dtype, device=self.device)
                self.copies[id(t)] = torch.nn.Parameter(empty, t.requires_grad) if is_parameter(t) else empty
        root: dict[str, Any] = {}
        for n in module.graph.nodes:
            if n.op == "call_module":
                root[n.target] = copy.deepcopy(module.get_submodule(n.target), self.copies)
            elif n.op == "get_attr":
                root[n.target] = copy.deepcopy(_attribute(module, n), self.copies)
        graph = fx.Graph()
        graph.output(graph.graph_copy(module.graph, {}))
        made = fx.GraphModule(root, graph)
        made.training = module.training
        _retarget(made, self.device)
        return made

    def _fill(self, wanted: set[int]) -> None:
        """Give the wanted tensors their values, and empty the others."""
        with torch.no_grad():
            for i in self.present - wanted:
                self.copies[i].grad = None
                self.copies[i].data = torch.empty(0, dtype=self.copies[i].dtype, device=self.device)
            self.present &= wanted
            give_back(self.device)
            for i in wanted - self.present:
                self.copies[i].data = self.originals[i].detach().to(self.device, copy=True)
                self.present.add(i)
        for call in self.calls.values():
            owner = getattr(call, "__self__", None)
            for m in owner.modules() if isinstance(owner, fx.GraphModule) else ():
                if isinstance(m, torch.nn.RNNBase) and all(p.numel() for p in m.parameters()):
                    m.flatten_parameters()

    def _loss(self, *values: Any) -> tuple:
        have = dict(zip(self.steps[-1].inputs, values))
        return (self.loss(model_output(self.traced, have.__getitem__)),)

    def here(self, t: torch.Tensor) -> torch.Tensor:
        """The copy of a parameter or buffer of the user's module."""
        return t if is_host(self.device) else self.copies[id(t)]

    def has(self, t: torch.Tensor) -> bool:
        """Is a parameter or buffer of the user's module here?"""
        return is_host(self.device) or id(t) in self.present

    def place_inputs(self, inputs: dict[fx.Node, Any]) -> None:
        """Have the model's inputs here."""
        self.inputs = {n: map_tensors(v, lambda t: t.to(self.device)) for n, v in inputs.items()}
        wait_for(self.device)


def is_parameter(t: torch.Tensor) -> bool:
    """Is it a parameter?"""
    return isinstance(t, torch.nn.Parameter)
