"""What the operators of a traced module take: operations, and what autograd keeps, found by running them.

Operators run one after the other on the CPU, cut off from each other, so no more is held than a run without
gradients holds, and what one operator keeps for its backward pass.
"""
import functools
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple

import torch
from torch import fx

from .dims import Seen
from .flops import Counter, least_macs
from .spec import SpecError, tell
from .structure import flatten
from .trace import Traced, copied, kept_state
from .tracer import info, is_tensor, storage_of, tensor_bytes, tensors_in


@dataclass
class Measured:
    """An operator, or the loss.

    inputs, outputs   nodes of other operators that it takes (placeholders too), its own that others take
    flops, macs       forward, and grad_ those of its backward pass
    work              the same of what the shape of its work is made of
    kept              nodes among both whose tensors autograd keeps for the backward pass
    kept_bytes        of what it keeps beside them
    has_grad          it has a backward pass
    gives             inputs that get a gradient from it; what only a loss that passes it by would give is out
    written           buffers that it writes into, by name
    """

    inputs: List[fx.Node]
    outputs: List[fx.Node]
    flops: int = 0
    macs: int = 0
    grad_flops: int = 0
    grad_macs: int = 0
    work: Seen = field(default_factory=Seen)
    grad_work: Seen = field(default_factory=Seen)
    kept: List[fx.Node] = field(default_factory=list)
    kept_bytes: int = 0
    has_grad: bool = False
    gives: List[fx.Node] = field(default_factory=list)
    written: List[str] = field(default_factory=list)


@dataclass
class Step:
    """All operators, the loss (None: inference), and the nodes that require a gradient."""

    ops: List[Measured]
    loss: Optional[Measured]
    with_grad: Set[fx.Node]


def attribute(traced: Traced, node: fx.Node) -> Any:
    """The value of a get_attr node."""
    return functools.reduce(getattr, str(node.target).split("."), traced.graph_module)


def borders(nodes: List[fx.Node]) -> Tuple[List[fx.Node], List[fx.Node]]:
    """Nodes from outside that these take, parameters and buffers aside, and their own that others take."""
    own = set(nodes)
    taken = dict.fromkeys(a for n in nodes for a in n.all_input_nodes if a not in own and a.op != "get_attr")
    return list(taken), [n for n in nodes if any(u not in own for u in n.users)]


def cut_off(value: Any, with_grad: bool) -> Any:
    """The value with its tensors as leaves of a new autograd graph."""
    tensors, rebuild = flatten(value, is_tensor)

    def leaf(t: torch.Tensor) -> torch.Tensor:
        floating = t.is_floating_point() or t.is_complex()
        return t.detach().requires_grad_(with_grad and floating)

    return rebuild([leaf(t) for t in tensors]) if tensors else value


def storage_size(tensor: torch.Tensor) -> int:
    """Bytes of the memory that a tensor lies in."""
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage().nbytes()
    return tensor.storage().nbytes()


class Saved:
    """What autograd saves inside: memory that a tensor is of, with its bytes."""

    def __init__(self) -> None:
        self.memory: Dict[int, Tuple[int, int]] = {}
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self.pack, lambda t: t)

    def pack(self, tensor: torch.Tensor) -> torch.Tensor:
        """Note a tensor. A number that autograd keeps becomes a tensor, which a Counter can look at."""
        if tensor.dim() == 0:
            tensor = torch.tensor(tensor.item(), dtype=tensor.dtype)
        size = min(storage_size(tensor), max(tensor_bytes(tensor), 1))
        before = self.memory.get(storage_of(tensor), (0, 0))
        self.memory[storage_of(tensor)] = (max(before[0], size), storage_size(tensor))
        return tensor


class Measurer:
    """Runs the operators of a traced module in order."""

    def __init__(self, traced: Traced) -> None:
        self.traced = traced
        self.training = traced.spec.training
        self.values: Dict[fx.Node, Any] = {}
        self.with_grad: Set[fx.Node] = set()
        self.uses: Dict[fx.Node, int] = {}
        self.outside: Set[int] = set()  # memory of inputs that was counted
        module = traced.graph_module
        self.resident = {storage_of(t) for t in [*module.parameters(), *module.buffers()]}
        self.buffers = dict(traced.module.named_buffers())

    def step(self) -> Step:
        """Measure all. Raises SpecError."""
        nodes = [n for n in self.traced.graph_module.graph.nodes if n.op == "placeholder"]
        self.values.update(zip(nodes, copied(self.traced.inputs)))
        parts = [borders(op.nodes) for op in self.traced.ops]
        output = next(n for n in self.traced.graph_module.graph.nodes if n.op == "output")
        for inputs in [*(p[0] for p in parts), output.all_input_nodes]:
            for node in inputs:
                self.uses[node] = self.uses.get(node, 0) + 1
        ops = [self.operator(op.nodes, *part) for op, part in zip(self.traced.ops, parts)]
        loss = self.loss(output) if self.training else None
        if loss is not None:
            self.drop_dead(ops, loss)
        return Step(ops, loss, self.with_grad)

    @staticmethod
    def drop_dead(ops: List[Measured], loss: Measured) -> None:
        """No operator gives gradients that gets none."""
        live = set(loss.gives)
        for seen in reversed(ops):
            if live.isdisjoint(seen.outputs):
                seen.gives = []
            live.update(seen.gives)

    def operator(self, nodes: List[fx.Node], inputs: List[fx.Node], outputs: List[fx.Node]) -> Measured:
        """Run one operator, and its backward pass."""
        seen = Measured(inputs, outputs)
        before = {name: b._version for name, b in self.buffers.items()}

        def run(env: Dict[fx.Node, Any]) -> List[Any]:
            for node in nodes:
                env[node] = self.run_node(node, env)
            return [env[n] for n in outputs]

        given = self.measure(seen, run)
        seen.written = [name for name, b in self.buffers.items() if b._version != before[name]]
        self.values.update((n, cut_off(v, False)) for n, v in zip(outputs, given))
        seen.macs = max(seen.macs, sum(self.hidden_macs(n) for n in nodes))
        seen.flops = max(seen.flops, 2 * seen.macs)
        if seen.has_grad:
            seen.grad_macs = max(seen.grad_macs, 2 * sum(self.hidden_macs(n) for n in nodes))
            seen.grad_flops = max(seen.grad_flops, 2 * seen.grad_macs)
        self.release(inputs)
        return seen

    def loss(self, output: fx.Node) -> Measured:
        """Run the loss on what the module returns. Raises SpecError where it fails or has no gradient."""
        inputs = [n for n in output.all_input_nodes if n.op != "get_attr"]
        seen = Measured(inputs, [])

        def run(env: Dict[fx.Node, Any]) -> List[Any]:
            leaves = [self.value_in(a, env) if isinstance(a, fx.Node) else a for a in output.args[0]]
            try:
                return [self.traced.loss(self.traced.rebuild(leaves))]
            except Exception as error:
                raise tell(self.traced.spec, "the loss failed", error) from error

        value = self.measure(seen, run)[0]
        here = f"{self.traced.spec.path}: the loss of {self.traced.spec.factory}()"
        if not is_tensor(value) or value.numel() != 1:
            what = f"a tensor of shape {tuple(value.shape)}" if is_tensor(value) else type(value).__name__
            raise SpecError(f"{here} is {what}; one number was expected")
        if not seen.has_grad:
            raise SpecError(f"{here} depends on no parameter; there is nothing to train")
        return seen

    def measure(self, seen: Measured, run: Callable[[Dict[fx.Node, Any]], List[Any]]) -> List[Any]:
        """Run without gradients, and for training with; fill in what is found."""
        counter = Counter()
        with torch.no_grad(), counter:
            given = run({n: self.values[n] for n in seen.inputs})
        seen.flops, seen.macs, seen.work = counter.flops, counter.macs, counter.seen
        return self.with_backward(seen, run) if self.training else given

    def with_backward(self, seen: Measured, run: Callable[[Dict[fx.Node, Any]], List[Any]]) -> List[Any]:
        """Run again with leaves for inputs, for what autograd keeps and does."""
        env = {n: cut_off(self.values[n], n in self.with_grad) for n in seen.inputs}
        saved = Saved()
        with torch.enable_grad(), saved.hooks:
            given = run(env)
        roots = [t for v in given for t in tensors_in(v) if t.requires_grad]
        seen.has_grad = bool(roots)
        for node, value in zip(seen.outputs, given):
            if any(t.requires_grad for t in tensors_in(value)):
                self.with_grad.add(node)
        if roots:
            self.keep(seen, saved, env, given)
            self.backward(seen, roots)
            leaves = {n: tensors_in(env[n]) for n in seen.inputs if n in self.with_grad}
            seen.gives = [n for n, tensors in leaves.items() if any(t.grad is not None for t in tensors)]
        return given

    def backward(self, seen: Measured, roots: List[torch.Tensor]) -> None:
        """Count the backward pass. Gradients of parameters are taken and dropped."""
        params = [p for p in self.traced.graph_module.parameters() if p.requires_grad]
        held = [p.grad for p in params]
        counter = Counter()
        grads = [torch.ones_like(t) for t in roots]
        try:
            with counter:
                torch.autograd.backward(roots, grads)
        finally:
            for p, grad in zip(params, held):
                p.grad = grad
        seen.grad_flops, seen.grad_macs, seen.grad_work = counter.flops, counter.macs, counter.seen

    def keep(self, seen: Measured, saved: Saved, env: Dict[fx.Node, Any], given: List[Any]) -> None:
        """Whose memory the saved tensors are in: an input's, an output's, a parameter's, or their own."""
        owner: Dict[int, List[Tuple[int, fx.Node]]] = {}
        for node, value in [*((n, env[n]) for n in seen.inputs), *zip(seen.outputs, given)]:
            for t in tensors_in(value):
                owner.setdefault(storage_of(t), []).append((tensor_bytes(t), node))
        for memory, (size, whole) in saved.memory.items():
            if memory in self.resident:
                continue
            fitting = [n for bytes_, n in owner.get(memory, []) if bytes_ >= size]
            if not fitting:
                seen.kept_bytes += whole
            elif fitting[0].op == "placeholder":
                seen.kept_bytes += 0 if memory in self.outside else whole
                self.outside.add(memory)
            elif fitting[0] not in seen.kept:
                seen.kept.append(fitting[0])

    def run_node(self, node: fx.Node, env: Dict[fx.Node, Any]) -> Any:
        """What a node gives."""
        args, kwargs = (fx.node.map_arg(x, lambda n: self.value_in(n, env)) for x in (node.args, node.kwargs))
        if node.op == "call_function":
            return node.target(*args, **kwargs)
        if node.op == "call_method":
            return getattr(args[0], str(node.target))(*args[1:], **kwargs)
        return self.traced.graph_module.get_submodule(str(node.target))(*args, **kwargs)

    def value_in(self, node: fx.Node, env: Dict[fx.Node, Any]) -> Any:
        """The value of a node, a parameter's or buffer's too."""
        return attribute(self.traced, node) if node.op == "get_attr" else env[node]

    def hidden_macs(self, node: fx.Node) -> int:
        """What a fused kernel of torch.nn computes, which the counter may not see."""
        if node.op != "call_module":
            return 0
        shapes = [t.shape for n in node.all_input_nodes for t in info(n).tensors]
        return least_macs(self.traced.graph_module.get_submodule(str(node.target)), shapes)

    def release(self, nodes: Iterable[fx.Node]) -> None:
        """Drop values that nobody takes any more."""
        for node in nodes:
            self.uses[node] -= 1
            if not self.uses[node]:
                del self.values[node]


def measure(traced: Traced) -> Step:
    """Run every operator once, forward and, for training, backward. Raises SpecError."""
    params = list(traced.module.parameters())
    held = [p.grad for p in params]
    for p in params:
        p.grad = None
    try:
        with kept_state(traced.module):
            return Measurer(traced).step()
    finally:
        for p, grad in zip(params, held):
            p.grad = grad


__all__ = ["Measured", "Step", "borders", "measure"]
