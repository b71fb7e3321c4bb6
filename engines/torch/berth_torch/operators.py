"""Nodes put together to operators, the units that stand on one device."""
import re
from dataclasses import dataclass
from typing import Dict, Iterable, List, Set, Tuple

from torch import fx

from .inplace import memory_of
from .op_types import function_name, type_of
from .tracer import info


@dataclass
class Op:
    """What runs as a unit on one device: nodes in order. mutates: some of them write into what is there."""

    name: str
    nodes: List[fx.Node]
    type: str
    mutates: bool = False


def works(graph: fx.Graph) -> List[fx.Node]:
    """The nodes that do something: no placeholders, parameters and output."""
    return [n for n in graph.nodes if n.op.startswith("call")]


def stands_alone(node: fx.Node) -> bool:
    """Does this node make tensors of its own? Views, tuples' members, sizes and numbers do not."""
    seen = info(node)
    return bool(seen.writes) or (bool(seen.tensors) and seen.base is None)


def find_homes(graph: fx.Graph) -> Dict[fx.Node, int]:
    """For each node the position of the one whose operator it belongs to; never before that of its inputs."""
    home: Dict[fx.Node, int] = {}
    nodes = works(graph)
    for i, node in enumerate(nodes):
        given = [home[n] for n in node.all_input_nodes if n in home]
        base = info(node).base
        if stands_alone(node) or node.op == "call_module" and not given:
            home[node] = i
        elif base is not None and base in home:
            home[node] = home[base] if home[base] == max(given) else i
        elif base is None and given:
            home[node] = max(given)
    for i in reversed(range(len(nodes))):
        if nodes[i] not in home:
            home[nodes[i]] = home_at_user(nodes[i], i, home)
    return home


def home_at_user(node: fx.Node, position: int, home: Dict[fx.Node, int]) -> int:
    """The home of what inputs and parameters alone make: its only user's; of a number, the first one's. One
    that only the output has, or nobody: that of who uses what it is taken from."""
    users = {home[u] for u in node.users if u in home}
    if not users and not info(node).tensors:
        users = {home[u] for source in sources(node, home) for u in source.users if u in home}
    if not users or info(node).base is not None and len(users) > 1:
        return position
    return min(users)


def sources(node: fx.Node, home: Dict[fx.Node, int]) -> List[fx.Node]:
    """All that a node is made of up to the inputs, what has a home aside."""
    found: Dict[fx.Node, None] = {}
    todo = [node]
    while todo:
        for taken in todo.pop().all_input_nodes:
            if taken not in found and taken not in home:
                found[taken] = None
                todo.append(taken)
    return list(found)


def written_sets(graph: fx.Graph) -> List[Set[fx.Node]]:
    """For each memory that is written into: the nodes that make it, look at it or write into it."""
    written = {memory_of(w) for n in works(graph) for w in info(n).writes}
    sets = []
    for memory in written:
        touching = {n for n in works(graph) if memory_of(n) is memory
                    or any(memory_of(i) is memory for i in n.all_input_nodes)}
        sets.append(touching)
    return sets


def reach(start: Iterable[int], to: Dict[int, Set[int]]) -> Set[int]:
    """All units that are reached from some."""
    seen: Set[int] = set(start)
    todo = list(seen)
    while todo:
        for unit in to[todo.pop()]:
            if unit not in seen:
                seen.add(unit)
                todo.append(unit)
    return seen


def neighbours(home: Dict[fx.Node, int]) -> Tuple[Dict[int, Set[int]], Dict[int, Set[int]]]:
    """Users and producers of each unit."""
    after: Dict[int, Set[int]] = {unit: set() for unit in home.values()}
    before: Dict[int, Set[int]] = {unit: set() for unit in home.values()}
    for node, unit in home.items():
        for taken in node.all_input_nodes:
            if taken in home and home[taken] != unit:
                after[home[taken]].add(unit)
                before[unit].add(home[taken])
    return after, before


def merge(home: Dict[fx.Node, int], units: Set[int]) -> None:
    """Make some units one, with all that lies on ways between them, so that no cycle comes about."""
    after, before = neighbours(home)
    between = reach(units, after) & reach(units, before)
    for node in home:
        if home[node] in between:
            home[node] = min(between)


def in_order(home: Dict[fx.Node, int]) -> List[int]:
    """The units in topological order, the one of the first node first."""
    after, before = neighbours(home)
    ready = sorted(u for u in before if not before[u])
    order: List[int] = []
    while ready:
        unit = ready.pop(0)
        order.append(unit)
        for user in after[unit]:
            before[user].discard(unit)
            if not before[user]:
                ready.append(user)
        ready.sort()
    return order


def name_of(node: fx.Node, used: Dict[str, int]) -> str:
    """A unique name: the module's, or the function's inside the module whose code calls it."""
    if node.op == "call_module":
        name = str(node.target)
    else:
        function = function_name(node.target)
        scope = info(node).scope
        name = (scope + "." if scope else "") + re.sub(r"\W", "_", function)
    name = name or "module"
    if name.endswith(("/grad", "/update")):  # of the graph's own operators
        name += "_"
    while name in used:
        used[name] += 1
        name = f"{name}_{used[name]}"
    used[name] = 0
    return name


def reserved(graph_module: fx.GraphModule) -> Dict[str, int]:
    """Names that no operator has: the loss's, and parameters', which name their updates."""
    return dict.fromkeys(["loss", *(name for name, _ in graph_module.named_parameters())], 0)


def make_operators(graph_module: fx.GraphModule) -> Tuple[List[Op], Dict[fx.Node, int]]:
    """The operators of a graph in topological order, and the one of each node that belongs to one."""
    home = find_homes(graph_module.graph)
    for touching in written_sets(graph_module.graph):
        merge(home, {home[n] for n in touching})
    nodes = works(graph_module.graph)
    members: Dict[int, List[fx.Node]] = {}
    for node in nodes:
        members.setdefault(home[node], []).append(node)
    ops, op_of, used = [], {}, reserved(graph_module)
    for number, unit in enumerate(in_order(home)):
        alone = [n for n in members[unit] if stands_alone(n)] or members[unit]
        mutates = any(info(n).writes for n in members[unit])
        ops.append(Op(name_of(alone[0], used), members[unit], type_of(alone[0], graph_module), mutates))
        op_of.update((n, number) for n in members[unit])
    return ops, op_of
