"""Operations in place: made out of place where nobody can see the difference, left as they are elsewhere."""
import operator
from typing import Any, Callable, Dict, List, Optional

import torch
from torch import fx

from .tracer import info


def memory_of(node: fx.Node) -> fx.Node:
    """The node that made the memory that this node's first tensor lies in."""
    while "berth" in node.meta and info(node).base is not None:
        node = info(node).base  # type: ignore[assignment]
    return node


def drop_unused(graph: fx.Graph) -> None:
    """Take out what nobody uses and what has no effect."""
    for node in reversed(list(graph.nodes)):
        plain = node.op in ("call_function", "call_method", "get_attr")
        if plain and not node.users and not info(node).writes:
            graph.erase_node(node)


def comes_from(node: fx.Node, ancestor: fx.Node) -> bool:
    """Is this ancestor on the way from a view to its memory?"""
    while node is not ancestor:
        base = info(node).base
        if base is None:
            return False
        node = base
    return True


def is_seen(node: fx.Node, after: List[fx.Node]) -> bool:
    """Does a later node look at what this one overwrites, other than by its result? State is always seen."""
    for written in info(node).writes:
        memory = memory_of(written)
        if memory.op == "get_attr":
            return True
        for later in after:
            for taken in later.all_input_nodes:
                if memory_of(taken) is memory and not comes_from(taken, node):
                    return True
    return False


def keeps_type(node: fx.Node) -> bool:
    """Do all tensors that go in have the type of the result, so that nothing is promoted?"""
    types = {t.dtype for n in [node, *node.all_input_nodes] for t in info(n).tensors}
    return len(types) == 1


def other_function(target: Any) -> Optional[Callable[..., Any]]:
    """operator.add for operator.iadd, torch.relu for torch.relu_."""
    name = getattr(target, "__name__", "")
    if getattr(operator, name, None) is target and name.startswith("i"):
        return getattr(operator, name[1:], None)
    return getattr(torch, name[:-1], None) if name.endswith("_") else None


def out_of_place(node: fx.Node) -> bool:
    """Change a node to what writes into nothing. False: there is no such thing."""
    if node.kwargs.get("inplace") is True:
        node.kwargs = {**node.kwargs, "inplace": False}
        return True
    if not keeps_type(node):
        return False
    if node.op == "call_method" and node.target.endswith("_") and hasattr(torch.Tensor, node.target[:-1]):
        node.target = node.target[:-1]
        return True
    other = other_function(node.target) if node.op == "call_function" else None
    if other is not None:
        node.target = other
    return other is not None


def forget_memory(node: fx.Node) -> None:
    """The node's result is a tensor of its own now."""
    info(node).writes = []
    info(node).base = None


def make_modules_safe(graph_module: fx.GraphModule, safe: Dict[fx.Node, bool]) -> None:
    """module.inplace = False for the modules all of whose calls are safe."""
    calls: Dict[torch.nn.Module, List[fx.Node]] = {}
    for node in safe:
        if node.op == "call_module":
            calls.setdefault(graph_module.get_submodule(node.target), []).append(node)
    for module, nodes in calls.items():
        if getattr(module, "inplace", None) is True and all(safe[n] for n in nodes):
            module.inplace = False  # type: ignore[assignment]
            for node in nodes:
                forget_memory(node)


def make_safe(graph_module: fx.GraphModule) -> None:
    """Replace the operations in place whose effect only their result shows."""
    drop_unused(graph_module.graph)
    nodes = list(graph_module.graph.nodes)
    writing = [(i, n) for i, n in enumerate(nodes) if "berth" in n.meta and info(n).writes]
    safe = {n: not is_seen(n, nodes[i + 1:]) for i, n in writing}
    for node in safe:
        if node.op != "call_module" and safe[node] and out_of_place(node):
            forget_memory(node)
    make_modules_safe(graph_module, safe)
