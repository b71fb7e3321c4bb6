"""Parameters and buffers of operators, tied ones too, and what has to stand together because of them."""
from dataclasses import dataclass
from typing import Dict, List

import torch
from torch import fx

from .measure import attribute
from .trace import Op, Traced
from .tracer import tensor_bytes


@dataclass
class Parameter:
    """A parameter or buffer with the numbers of the operators that use it."""

    name: str
    bytes: int
    trainable: bool
    users: List[int]


def module_tensors(module: torch.nn.Module) -> List[torch.Tensor]:
    """All parameters and buffers of a module."""
    return [*module.parameters(), *module.buffers()]


def tensors_of(traced: Traced, op: Op) -> List[torch.Tensor]:
    """The parameters, buffers and constants that an operator uses, each once."""
    found: Dict[int, torch.Tensor] = {}
    for node in op.nodes:
        if node.op == "call_module":
            module = traced.graph_module.get_submodule(str(node.target))
            found.update((id(t), t) for t in module_tensors(module))
        for taken in node.all_input_nodes:
            value = attribute(traced, taken) if taken.op == "get_attr" else None
            if isinstance(value, torch.nn.Module):
                found.update((id(t), t) for t in module_tensors(value))
            if isinstance(value, torch.Tensor):
                found[id(value)] = value
    return list(found.values())


def names_of(traced: Traced) -> Dict[int, str]:
    """Names by identity: the first of a tied parameter's, and those of constants."""
    names: Dict[int, str] = {}
    for name, tensor in [*traced.module.named_parameters(), *traced.module.named_buffers()]:
        names.setdefault(id(tensor), name)
    for node in traced.graph_module.graph.nodes:
        if node.op == "get_attr" and isinstance(node, fx.Node):
            names.setdefault(id(attribute(traced, node)), str(node.target))
    return names


def parameters_of(traced: Traced) -> List[Parameter]:
    """All that operators use, in the order of the first use."""
    names, found = names_of(traced), {}
    for number, op in enumerate(traced.ops):
        for tensor in tensors_of(traced, op):
            if id(tensor) not in found:
                name = names.get(id(tensor), f"constant_{len(found)}")
                trainable = isinstance(tensor, torch.nn.Parameter) and tensor.requires_grad
                found[id(tensor)] = Parameter(name, tensor_bytes(tensor), trainable, [])
            found[id(tensor)].users.append(number)
    return list(found.values())


class Groups:
    """Operators that have to stand on one device, by union of pairs."""

    def __init__(self, count: int) -> None:
        self.root = list(range(count))

    def find(self, i: int) -> int:
        """The first operator of a group."""
        while self.root[i] != i:
            i = self.root[i]
        return i

    def join(self, members: List[int]) -> None:
        """Make the groups of all members one."""
        roots = sorted(self.find(m) for m in members)
        for root in roots[1:]:
            self.root[root] = roots[0]

    def several(self) -> Dict[int, int]:
        """The first operator of each group of more than one, by member."""
        first = [self.find(i) for i in range(len(self.root))]
        return {i: f for i, f in enumerate(first) if first.count(f) > 1}


__all__ = ["Groups", "Parameter", "parameters_of"]
