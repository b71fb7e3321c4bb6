"""berth's graph of a traced module: docs/formats.md, "Graph".

Inference: an operator each. Training, one step as autograd runs it:

    OP           the forward pass of an operator
    loss         the loss of what the module returns, and loss/grad
    OP/grad      the backward pass of OP: gradients of its inputs and of its parameters
    OP/update    the optimizer's step on the parameters that OP has to itself
    PARAM/update the same for a parameter that several operators share

All of an operator's parts share a colocation group, and so do operators that share what a step changes. A
tensor is named by the node of the traced graph that makes it. What autograd keeps has an edge to the backward
operator: the tensor itself, or `kept` for what only autograd has. A gradient goes from the backward operator
of each consumer to that of the producer, under the tensor's name.
"""
import os
from typing import Any, Dict, List, Optional

from torch import fx

from .dims import Seen, rows_of
from .measure import Measured, Step, measure
from .parameters import Groups, Parameter, parameters_of
from .trace import Traced
from .tracer import info

COPIES = {"sgd": 1, "momentum": 2, "adam": 3}  # of a parameter in state_bytes: its gradient and the state
UPDATE_FLOPS = {"sgd": 2, "momentum": 4, "adam": 12}  # for each element

Row = Dict[str, Any]


def bytes_of(node: fx.Node) -> int:
    """Bytes of all tensors that a node gives."""
    return sum(t.bytes for t in info(node).tensors)


class GraphMaker:
    """Makes the document of one module."""

    def __init__(self, traced: Traced, step: Step) -> None:
        self.traced, self.step = traced, step
        self.training = traced.spec.training
        self.names = [op.name for op in traced.ops]
        self.producer = traced.op_of
        self.params = parameters_of(traced)
        self.groups = self.grouped()
        self.ops: List[Row] = []
        self.edges: List[Row] = []

    # what belongs together

    def grouped(self) -> Dict[int, int]:
        """Operators that share what a training step changes: the first of the group, by operator."""
        groups = Groups(len(self.names))
        written = {name for m in self.step.ops for name in m.written}
        for p in self.params:
            if self.training and (p.trainable or p.name in written):
                groups.join(p.users)
        return groups.several()

    def group(self, op: int) -> Optional[str]:
        """The colocation group of an operator's parts."""
        if op in self.groups:
            return self.names[self.groups[op]]
        parts = self.training and (self.step.ops[op].has_grad or self.own(op, True))
        return self.names[op] if parts else None

    def own(self, op: int, trainable: bool) -> int:
        """Bytes of the parameters that an operator has to itself; of those that are trained, or of all."""
        mine = [p for p in self.params if p.users == [op]]
        return sum(p.bytes for p in mine if p.trainable or not trainable)

    def used(self, op: int, trainable: bool) -> int:
        """Bytes of all parameters that an operator reads."""
        return sum(p.bytes for p in self.params if op in p.users and (p.trainable or not trainable))

    def shared(self) -> List[Parameter]:
        """Parameters of several operators."""
        return [p for p in self.params if len(p.users) > 1]

    # operators

    def add(self, name: str, kind: str, group: Optional[str], **figures: Any) -> None:
        """A row; what is 0 is left out."""
        row: Row = {"name": name, "type": kind}
        row.update({key: value for key, value in figures.items() if value})
        if group is not None:
            row["colocate"] = group
        self.ops.append(row)

    def forward(self, op: int, output: fx.Node) -> None:
        """An operator's forward pass."""
        seen = self.step.ops[op]
        leaves = [n for n in seen.outputs if n in output.all_input_nodes]
        state = (COPIES[self.traced.spec.optimizer] * self.own(op, True)) if self.training else 0
        self.add(self.names[op], self.traced.ops[op].type, self.group(op),
                 **self.shape(op, seen.work, seen.macs), flops=seen.flops, macs=seen.macs,
                 read_bytes=sum(map(bytes_of, seen.inputs)) + self.used(op, False),
                 write_bytes=self.written(op), param_bytes=self.own(op, False), state_bytes=state,
                 output_bytes=sum(map(bytes_of, leaves)))

    def shape(self, op: int, work: Seen, macs: int) -> Row:
        """What it computes in, and the shape of its work; of a view that of what it gives."""
        given = [t.shape for n in self.step.ops[op].outputs for t in info(n).tensors if 0 not in t.shape]
        dims = work.dims(macs) or (rows_of(given[0]) if given and not macs else None)
        return {"dtype": work.precision(), "dims": dims}

    def written(self, op: int) -> int:
        """Bytes that an operator writes: its nodes' own tensors, views of them aside."""
        made = [n for n in self.traced.ops[op].nodes if info(n).tensors and info(n).base is None]
        return sum(map(bytes_of, made or self.step.ops[op].outputs))

    def backward(self, op: int) -> None:
        """An operator's backward pass."""
        seen = self.step.ops[op]
        outputs = sum(bytes_of(n) for n in seen.outputs if n in self.step.with_grad)
        inputs = sum(map(bytes_of, seen.gives))
        kept = sum(map(bytes_of, seen.kept)) + seen.kept_bytes
        self.add(self.names[op] + "/grad", self.traced.ops[op].type, self.group(op),
                 **self.shape(op, seen.grad_work, seen.grad_macs), flops=seen.grad_flops, macs=seen.grad_macs,
                 read_bytes=outputs + kept + self.used(op, False),
                 write_bytes=inputs + self.used(op, True), backward=True)

    def update(self, name: str, size: int, group: Optional[str], state: int) -> None:
        """The optimizer's step on some bytes of parameters."""
        optimizer = self.traced.spec.optimizer
        copies = COPIES[optimizer]
        dims = rows_of([1, size // 4]) if size >= 4 else None
        self.add(name + "/update", "OptimizerUpdate", group, dims=dims,
                 flops=UPDATE_FLOPS[optimizer] * (size // 4), read_bytes=(copies + 1) * size,
                 write_bytes=copies * size, state_bytes=state, backward=True)

    def loss(self) -> None:
        """The loss and its backward pass, which starts the whole one."""
        seen = self.step.loss
        assert seen is not None
        taken = sum(map(bytes_of, seen.inputs))
        self.add("loss", "Loss", "loss", dims=seen.work.dims(seen.macs), flops=seen.flops, macs=seen.macs,
                 read_bytes=taken, write_bytes=4, output_bytes=4)
        self.add("loss/grad", "Loss", "loss", dims=seen.grad_work.dims(seen.grad_macs), flops=seen.grad_flops,
                 macs=seen.grad_macs, read_bytes=sum(map(bytes_of, seen.kept)) + seen.kept_bytes,
                 write_bytes=taken, backward=True)

    # edges

    def edge(self, start: str, end: str, tensor: str, size: int) -> None:
        """A row."""
        self.edges.append({"from": start, "to": end, "bytes": size, "tensor": tensor})

    def edges_of(self, name: str, seen: Measured) -> None:
        """What an operator takes, what its backward pass needs again, and the gradients that it gives."""
        for node in seen.inputs:
            if node in self.producer:
                self.edge(self.names[self.producer[node]], name, node.name, bytes_of(node))
        if not self.training or not seen.has_grad:
            return
        back = name + "/grad"
        for node in seen.kept:
            maker = self.names[self.producer[node]]
            self.edge(maker, back, node.name, bytes_of(node))
        self.edge(name, back, "kept", seen.kept_bytes)
        for node in seen.gives:
            if node in self.producer:
                self.edge(back, self.names[self.producer[node]] + "/grad", node.name, bytes_of(node))

    def updates(self) -> None:
        """Updates of own and of shared parameters, each after the backward passes that make its gradient."""
        for op, seen in enumerate(self.step.ops):
            if self.own(op, True) and seen.has_grad:
                self.update(self.names[op], self.own(op, True), self.group(op), 0)
                self.edge(self.names[op] + "/grad", self.names[op] + "/update", "gradient", 0)
        for p in self.shared():
            users = [op for op in p.users if self.step.ops[op].has_grad]
            if p.trainable and users:
                state = COPIES[self.traced.spec.optimizer] * p.bytes
                self.update(p.name, p.bytes, self.group(users[0]), state)
                for op in users:
                    self.edge(self.names[op] + "/grad", p.name + "/update", f"gradient of {p.name}", 0)

    # the document

    def make(self) -> Row:
        """The whole graph."""
        output = next(n for n in self.traced.graph_module.graph.nodes if n.op == "output")
        for op, seen in enumerate(self.step.ops):
            self.forward(op, output)
            self.edges_of(self.names[op], seen)
        if self.training:
            self.loss()
            assert self.step.loss is not None
            self.edges_of("loss", self.step.loss)
            for op in reversed(range(len(self.names))):
                if self.step.ops[op].has_grad:
                    self.backward(op)
            self.updates()
        shared = [{"name": p.name, "bytes": p.bytes, "ops": [self.names[u] for u in p.users]}
                  for p in self.shared()]
        stem = os.path.splitext(os.path.basename(self.traced.spec.path))[0]
        return {"format": "berth-graph", "version": 1, "name": f"{stem}:{self.traced.spec.factory}",
                "ops": self.ops, **({"params": shared} if shared else {}), "edges": self.edges}


def make_graph(traced: Traced) -> Row:
    """The document of a traced module. Raises SpecError."""
    return GraphMaker(traced, measure(traced)).make()
